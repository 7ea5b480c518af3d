"""Plots of the formulas of this package."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from hedgerow.theory.averages import averaged_variance, inclusion_probability
from hedgerow.theory.juries import condorcet, plurality
from hedgerow.theory.ranks import compare_methods, groups_alike

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def plot_condorcet(
    p: Sequence[float] = (0.4, 0.5, 0.55, 0.6, 0.7), *, n_voters: int = 101, ax: Axes | None = None
) -> Axes:
    """Plot how often a jury is right, against its size.

    It tends to 1 if jurors are better than chance, and to 0 if they are worse.

    Parameters
    ----------
    p : sequence of float
        Probabilities that one juror is right, one line each.
    n_voters : int, default=101
        Largest jury; only odd sizes are drawn.
    ax : matplotlib Axes, default=None
        Axes to draw on; None creates a figure.

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> axes = plot_condorcet([0.6], n_voters=11)
    >>> axes.lines[0].get_ydata()[:3].round(4)
    array([0.6   , 0.648 , 0.6826])
    """
    ax, sizes = _axes(ax), np.arange(1, n_voters + 1, 2)
    for each in p:
        ax.plot(sizes, condorcet(each, sizes), label=f"p = {each:g}")
    return _finished(ax, "jurors", "probability that the majority is right", "Condorcet's jury", (0, 1))


def plot_plurality(
    p: float = 0.4, *, n_classes: Sequence[int] = (2, 3, 5, 10), n_voters: int = 51, ax: Axes | None = None
) -> Axes:
    """Plot how often the plurality is right, against the number of voters.

    Parameters
    ----------
    p : float, default=0.4
        Probability that one voter is right; the other answers are equally likely.
    n_classes : sequence of int
        Numbers of answers, one line each.
    n_voters : int, default=51
        Largest number of voters; only odd numbers are drawn.
    ax : matplotlib Axes, default=None
        Axes to draw on; None creates a figure.

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> axes = plot_plurality(0.4, n_classes=[3], n_voters=5)
    >>> axes.lines[0].get_ydata().round(4)
    array([0.4  , 0.424, 0.447])
    """
    ax, sizes = _axes(ax), np.arange(1, n_voters + 1, 2)
    for each in n_classes:
        right = np.array([plurality(p, int(size), each) for size in sizes])
        ax.plot(sizes, right, label=f"{each} answers")
    return _finished(ax, "voters", "probability that the plurality is right", f"Plurality, p = {p:g}", (0, 1))


def plot_averaged_error(
    rho: Sequence[float] = (0.0, 0.1, 0.3, 0.6), *, sigma2: float = 1.0, n_learners: int = 100, ax: Axes | None = None
) -> Axes:
    """Plot the error of a mean of learners against their number; its limit is ρσ².

    Parameters
    ----------
    rho : sequence of float
        Correlations of the errors of two learners, one line each.
    sigma2 : float, default=1.0
        Squared error of one learner.
    n_learners : int, default=100
        Largest number of learners.
    ax : matplotlib Axes, default=None
        Axes to draw on; None creates a figure.

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> axes = plot_averaged_error([0.5], n_learners=4)
    >>> axes.lines[0].get_ydata().round(4)
    array([1.    , 0.75  , 0.6667, 0.625 ])
    """
    ax, sizes = _axes(ax), np.arange(1, n_learners + 1)
    for each in rho:
        ax.plot(sizes, averaged_variance(sigma2, each, sizes), label=f"ρ = {each:g}")
    return _finished(ax, "learners", "expected squared error of their mean", "ρσ² + (1 − ρ)σ²/B", (0, None))


def plot_inclusion(n_rows: int = 50, *, ax: Axes | None = None) -> Axes:
    """Plot the probability that a row is in a bootstrap sample.

    Its limit is 1 − 1/e.

    Parameters
    ----------
    n_rows : int, default=50
        Largest table.
    ax : matplotlib Axes, default=None
        Axes to draw on; None creates a figure.

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> axes = plot_inclusion(3)
    >>> axes.lines[0].get_ydata().round(4)
    array([1.    , 0.75  , 0.7037])
    """
    ax, sizes = _axes(ax), np.arange(1, n_rows + 1)
    ax.plot(sizes, inclusion_probability(sizes), marker=".", label="1 − (1 − 1/N)^N")
    limit = float(inclusion_probability(1, poisson=True))
    ax.axhline(limit, color="grey", linestyle="--", label=f"1 − 1/e = {limit:.3f}")
    return _finished(ax, "rows N", "probability of being in the bag", "Bootstrap inclusion", (0.6, 1.02))


def plot_critical_difference(
    scores: ArrayLike, names: Sequence[str] | None = None, *, alpha: float = 0.05, ax: Axes | None = None
) -> Axes:
    """Plot mean ranks, with bars where Nemenyi's test finds no difference.

    Parameters
    ----------
    scores : array-like of shape (n_sets, n_methods)
        Score of each method on each data set; larger is better.
    names : sequence of str, default=None
        Names of the methods; None numbers them.
    alpha : float, default=0.05
        Significance level of the test.
    ax : matplotlib Axes, default=None
        Axes to draw on; None creates a figure.

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> axes = plot_critical_difference([[3, 2, 1], [3, 2, 1], [3, 1, 2], [3, 2, 1]], ["a", "b", "c"])
    >>> [text.get_text() for text in axes.get_yticklabels()]
    ['a', 'b', 'c']
    """
    found = compare_methods(scores, alpha=alpha)
    named = [str(number) for number in range(len(found.ranks))] if names is None else [str(name) for name in names]
    if len(named) != len(found.ranks):
        raise ValueError(f"names must have one name for each of the {len(found.ranks)} methods, got {len(named)}.")
    ax, order = _axes(ax), np.argsort(found.ranks, kind="stable")
    places = np.arange(len(order))
    ax.plot(found.ranks[order], places, "o")
    for first, last in groups_alike(found.ranks, found.critical_difference):
        ends = found.ranks[order[[first, last]]]
        ax.hlines(places[first : last + 1].mean(), *ends, linewidth=3, alpha=0.4)
    ax.set_yticks(places, [named[place] for place in order])
    ax.invert_yaxis()
    ax.set_xlabel("mean rank")
    ax.set_title(f"Friedman p = {found.p_value:.2g}, critical difference {found.critical_difference:.2f}")
    return ax


def _axes(ax: Axes | None) -> Axes:
    """Return the axes, or those of a new figure."""
    if ax is not None:
        return ax
    try:
        from matplotlib import pyplot
    except ImportError as error:
        raise ImportError(
            "plots require matplotlib. Install it with pip install matplotlib.", name="matplotlib"
        ) from error
    return pyplot.subplots(figsize=(7, 4.5), layout="constrained")[1]


def _finished(ax: Axes, x: str, y: str, title: str, limits: tuple[float, float | None]) -> Axes:
    """Add labels, limits and a legend to the axes."""
    ax.set(xlabel=x, ylabel=y, title=title, ylim=limits)
    ax.grid(alpha=0.3)
    ax.legend(frameon=False)
    return ax
