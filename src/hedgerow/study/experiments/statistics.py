"""Ranks, tests and stars."""

from __future__ import annotations

from itertools import combinations

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]

LEVELS = (0.05, 0.01, 0.001)


def stars(p_value: float) -> str:
    """Return the stars of a p-value, one for each of `LEVELS` above it.

    Examples
    --------
    >>> stars(0.2), stars(0.03), stars(0.0005)
    ('', '*', '***')
    """
    return "*" * sum(p_value < level for level in LEVELS)


def t_test(one: ArrayLike, other: ArrayLike) -> float:
    """Return the p-value of Student's t-test for equal means of two samples.

    It is 1 where both samples are constant and equal.

    Examples
    --------
    >>> t_test([1.0, 2.0, 3.0], [1.0, 2.0, 3.0])
    1.0
    """
    from scipy.stats import ttest_ind

    first, second = np.asarray(one, dtype=np.float64), np.asarray(other, dtype=np.float64)
    if np.ptp(first) == 0 and np.ptp(second) == 0:
        return float(first[0] == second[0])
    return float(ttest_ind(first, second).pvalue)


def pairwise_wins(scores: ArrayLike) -> tuple[Floats, Floats]:
    """Return wins of rows over columns (M, M) and p-values, from scores (sets, M).

    A tie counts half. P-values are Wilcoxon's, Bonferroni-corrected: multiplied by the number of pairs.

    Examples
    --------
    >>> wins, p_values = pairwise_wins([[0.9, 0.8], [0.7, 0.9], [0.5, 0.4]])
    >>> wins.tolist()
    [[0.0, 2.0], [1.0, 0.0]]
    """
    table = np.asarray(scores, dtype=np.float64)
    n_methods = table.shape[1]
    wins, p_values = np.zeros((n_methods, n_methods)), np.ones((n_methods, n_methods))
    pairs = n_methods * (n_methods - 1) // 2
    for row, column in combinations(range(n_methods), 2):
        gap = table[:, row] - table[:, column]
        ties = 0.5 * (gap == 0).sum()
        wins[row, column], wins[column, row] = (gap > 0).sum() + ties, (gap < 0).sum() + ties
        p_values[row, column] = p_values[column, row] = min(1.0, pairs * _signed_rank(gap))
    return wins, p_values


def _signed_rank(gap: Floats) -> float:
    """Return the p-value of Wilcoxon's signed-rank test, exact if there are no ties."""
    from scipy.stats import wilcoxon

    if not gap.any():
        return 1.0
    distinct = (gap != 0).all() and len(np.unique(np.abs(gap))) == len(gap)
    return float(wilcoxon(gap, method="exact" if distinct and len(gap) <= 50 else "asymptotic").pvalue)
