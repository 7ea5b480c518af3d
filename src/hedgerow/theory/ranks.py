"""Friedman's and Nemenyi's tests of methods on data sets."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]


class Comparison(NamedTuple):
    """Friedman's test of several methods, and Nemenyi's critical difference.

    ``ranks`` (M,) is the mean rank of each method, 1 for the best; ``p_value`` that of Friedman's test that all methods
    are equally good. Two methods differ if their ranks are more than ``critical_difference`` apart.
    """

    ranks: Floats
    p_value: float
    critical_difference: float


def compare_methods(scores: ArrayLike, *, alpha: float = 0.05) -> Comparison:
    """Compare methods over data sets by Friedman's and Nemenyi's tests.

    Demšar (2006) recommends them.

    Parameters
    ----------
    scores : array-like of shape (n_sets, n_methods)
        Score of each method on each data set; larger is better.
    alpha : float, default=0.05
        Significance level of the critical difference.

    Returns
    -------
    Comparison

    Examples
    --------
    >>> scores = [[0.9, 0.8, 0.7], [0.8, 0.7, 0.6], [0.7, 0.6, 0.9], [0.9, 0.7, 0.6], [0.8, 0.7, 0.5]]
    >>> found = compare_methods(scores)
    >>> found.ranks, round(found.p_value, 4), round(found.critical_difference, 3)
    (array([1.2, 2.2, 2.6]), 0.0743, 1.482)
    """
    from scipy.stats import friedmanchisquare, studentized_range

    table = np.asarray(scores, dtype=np.float64)
    if table.ndim != 2 or table.shape[0] < 2 or table.shape[1] < 3 or not np.isfinite(table).all():
        raise ValueError(
            f"scores must be finite, with at least 2 data sets and 3 methods, got shape {table.shape}."
            " Use Wilcoxon's test for two methods."
        )
    if not 0 < alpha < 1:
        raise ValueError(f"alpha must lie strictly between 0 and 1, got {alpha!r}. 0.05 is usual.")
    n_sets, n_methods = table.shape
    same = (table == table[:, :1]).all()  # the statistic is 0/0
    p_value = 1.0 if same else float(friedmanchisquare(*table.T).pvalue)
    quantile = float(studentized_range.ppf(1 - alpha, n_methods, np.inf)) / np.sqrt(2)
    return Comparison(mean_ranks(table), p_value, float(quantile * np.sqrt(n_methods * (n_methods + 1) / (6 * n_sets))))


def groups_alike(ranks: ArrayLike, critical_difference: float) -> list[tuple[int, int]]:
    """Return the longest runs of methods, by rank, within the critical difference.

    Returns
    -------
    list of (int, int)
        First and last place of each run of two methods or more, in the order of the ranks.

    Examples
    --------
    >>> groups_alike([1.0, 3.0, 1.5, 3.2], 1.0)
    [(0, 1), (2, 3)]
    """
    ordered = np.sort(np.asarray(ranks, dtype=np.float64))
    last = np.searchsorted(ordered, ordered + critical_difference + 1e-12, side="right") - 1
    runs = [(first, int(end)) for first, end in enumerate(last) if end > first]
    return [run for i, run in enumerate(runs) if i == 0 or run[1] > runs[i - 1][1]]


def mean_ranks(scores: ArrayLike) -> Floats:
    """Return mean ranks of methods, 1 for the largest score; ties share ranks.

    Examples
    --------
    >>> mean_ranks([[0.9, 0.8, 0.8], [0.7, 0.9, 0.1]])
    array([1.5 , 1.75, 2.75])
    """
    from scipy.stats import rankdata

    table = np.asarray(scores, dtype=np.float64)
    ranks: Floats = rankdata(-table, axis=1).mean(axis=0)
    return ranks
