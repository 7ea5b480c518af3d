"""Plots of survival curves with their bounds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol, Self

import numpy as np
from numpy.typing import ArrayLike

from hedgerow.export.svg import colour_of
from hedgerow.plot.canvas import Display, Floats, calm, cut, percent_axis
from hedgerow.table.frames import index_names

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Legends have at most this many names.
MOST_NAMED = 12


class SurvivalModel(Protocol):
    """Fitted survival tree or forest, as the display uses it."""

    @property
    def event_times_(self) -> Floats: ...
    def predict_survival_function(self, X: object, times: object = None) -> Floats: ...
    def predict_bounds(self, X: object, times: object = None) -> Floats: ...


class SurvivalDisplay(Display):
    """Survival curve of each row, with a band between its lower and upper curve.

    Parameters
    ----------
    times : float64 (t,)
        Ascending times.
    survival : float64 (n, t)
        Survival probabilities of n rows.
    lower, upper : float64 (n, t), default=None
        Bounds of the bands.
    names : list of str
        Names of the rows.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
        Axes and figure of the plot.

    Examples
    --------
    >>> display = SurvivalDisplay.from_predictions([0, 1, 2], [[1.0, 0.8, 0.5]], names=["patient"])
    >>> display.ax_.get_ylabel()
    'survival'
    """

    def __init__(
        self, times: Floats, survival: Floats, lower: Floats | None, upper: Floats | None, names: list[str]
    ) -> None:
        self.times, self.survival, self.lower, self.upper, self.names = times, survival, lower, upper, names

    @classmethod
    def from_estimator(
        cls, forest: SurvivalModel, X: object, *, names: Sequence[object] | None = None, ax: Axes | None = None
    ) -> Self:
        """Plot the curves and bounds of a survival forest.

        Parameters
        ----------
        forest : fitted survival model of hedgerow
            Its caution and calibration are used.
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
            A few rows.
        names : array-like of shape (n_samples,), default=None
            Names of the rows; None uses the index of a pandas frame, or their numbers.
        ax : matplotlib Axes, default=None
            Axes to draw on; None creates a figure.

        Returns
        -------
        SurvivalDisplay
        """
        times = np.unique(np.concatenate([[0.0], forest.event_times_]))
        bounds = forest.predict_bounds(X, times)
        return cls.from_predictions(
            times,
            forest.predict_survival_function(X, times),
            bounds[..., 0],
            bounds[..., 1],
            names=index_names(X) if names is None else names,
            ax=ax,
        )

    @classmethod
    def from_predictions(
        cls,
        times: ArrayLike,
        survival: ArrayLike,
        lower: ArrayLike | None = None,
        upper: ArrayLike | None = None,
        *,
        names: Sequence[object] | None = None,
        ax: Axes | None = None,
    ) -> Self:
        """Plot existing curves.

        Parameters
        ----------
        times : array-like of shape (n_times,)
            Ascending times.
        survival : array-like of shape (n_samples, n_times)
            Survival probabilities.
        lower, upper : array-like of shape (n_samples, n_times), default=None
            Bounds of the bands; None draws none.
        names : array-like of shape (n_samples,), default=None
            Names of the rows; None uses their numbers.
        ax : matplotlib Axes, default=None
            Axes to draw on; None creates a figure.

        Returns
        -------
        SurvivalDisplay
        """
        at, curves = np.asarray(times, dtype=np.float64), np.asarray(survival, dtype=np.float64)
        if at.ndim != 1 or (np.diff(at) <= 0).any():
            raise ValueError("times must be a list of ascending numbers.")
        if (lower is None) != (upper is None):
            raise ValueError("lower and upper must both be given, or neither.")
        ends = [None if each is None else np.asarray(each, dtype=np.float64) for each in (lower, upper)]
        for name, each in (("survival", curves), ("lower", ends[0]), ("upper", ends[1])):
            if each is not None and (each.ndim != 2 or each.shape != (len(curves), len(at))):
                raise ValueError(f"{name} must have shape (n, {len(at)}), one column per time, got {each.shape}.")
        called = [f"row {row}" for row in range(len(curves))] if names is None else [cut(name) for name in names]
        return cls(at, curves, ends[0], ends[1], called).plot(ax)

    def _draw(self, ax: Axes) -> None:
        for row, (curve, name) in enumerate(zip(self.survival, self.names, strict=True)):
            colour = colour_of(row)
            if self.lower is not None and self.upper is not None:
                band = (self.times, self.lower[row], self.upper[row])
                ax.fill_between(*band, step="post", color=colour, alpha=0.2, linewidth=0)
            ax.step(self.times, curve, where="post", color=colour, linewidth=1.6, label=name)
        ax.set_xlim(self.times[0], self.times[-1])
        ax.set_ylim(0, 1.02)
        ax.set_xlabel("time")
        ax.set_ylabel("survival")
        percent_axis(ax.yaxis)
        calm(ax, grid="y")
        if len(self.names) <= MOST_NAMED:
            ax.legend(frameon=False, loc="lower left", bbox_to_anchor=(0, 1), ncols=min(max(len(self.names), 1), 4))
