"""Masses of class counts, and their uncertainty."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache, reduce
from itertools import groupby, product
from math import comb

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array, kron
from scipy.special import chdtri

from hedgerow.belief.masses.frame import LARGEST_FRAME, Floats, row_products, subset_differences, subset_members
from hedgerow.belief.masses.uncertainty import checked_share


def mass_from_counts(
    counts: ArrayLike, model: str = "idm", *, caution: float = 1.0, alpha: float = 0.05, ordinal: bool = False
) -> Floats:
    """Return the mass (..., 2^K) of class counts (..., K).

    Without rows the mass is vacuous: all of it is on the frame.

    Parameters
    ----------
    counts : array-like (..., K), >= 0
        Rows per class; they need not be integers.
    model : {"idm", "dabt", "multinomial"}, default "idm"
        "idm" is the imprecise Dirichlet model: m({k}) = n_k/(n + caution), the rest on the frame. "dabt" is
        Dempster's approach to Bernoulli trials, for two classes: the same with caution 1. "multinomial" is the
        largest belief below the lower probabilities of Goodman's confidence intervals (Denœux 2006). It has a
        closed form for up to three classes. For more, it solves a linear programme per sorted count vector, whose cost
        grows quickly with the number of different counts.
    caution : float >= 0, default 1.0
        Only for "idm": pseudo-count *s* of the imprecise Dirichlet model.
    alpha : float in (0, 1), default 0.05
        Only for "multinomial": one minus the confidence level.
    ordinal : bool, default False
        Only for "multinomial": whether the classes are ordered. Then only runs of neighbouring classes have mass, in
        closed form.

    Returns
    -------
    float64 (..., 2^K)

    Examples
    --------
    >>> mass_from_counts([3, 0], caution=1.0).tolist()
    [0.0, 0.75, 0.0, 0.25]
    >>> mass_from_counts([8, 1, 1], "multinomial").round(4).tolist()
    [0.0, 0.4257, 0.0133, 0.0829, 0.0133, 0.0829, 0.0177, 0.3643]
    """
    table = _checked_counts(counts)
    n_classes = table.shape[-1]
    if model == "idm":
        return mass_from_focal(idm_focal_mass(table, _checked_caution(caution)))
    if model == "dabt":
        if n_classes != 2:
            raise ValueError(f"model='dabt' must have two classes, got {n_classes}. Use 'idm' for more.")
        return mass_from_focal(idm_focal_mass(table, 1.0))
    if model != "multinomial":
        raise ValueError(f"model must be 'idm', 'dabt' or 'multinomial', got {model!r}.")
    if not 0 < alpha < 1:
        raise ValueError(f"alpha must lie between 0 and 1, got {alpha!r}. 0.05 is a confidence of 95%.")
    solve = ordinal_goodman_mass if ordinal else goodman_mass
    mass = solve(table.reshape(-1, n_classes), float(alpha))
    return mass.reshape(*table.shape[:-1], 1 << n_classes)


def total_uncertainty_from_counts(counts: ArrayLike, lam: float, caution: float = 1.0) -> Floats:
    """Return the total uncertainty (...) of the "idm" mass of counts (..., K).

    It equals `total_uncertainty` of `mass_from_counts`, but has a closed form for any number of classes. With caution s
    it is (1 - lam) s log2(K)/(n + s) - lam/(n + s) sum of n_k log2((K n_k + s)/(K (n + s))).

    Parameters
    ----------
    counts : array-like (..., K), >= 0
    lam : float in [0, 1]
        The share of discord.
    caution : float >= 0, default 1.0

    Returns
    -------
    float64 (...)

    Examples
    --------
    >>> float(total_uncertainty_from_counts([0, 0], lam=0.5)), float(total_uncertainty_from_counts([3, 0], lam=0.0))
    (0.5, 0.25)
    """
    table, share = np.asarray(counts, dtype=np.float64), checked_share(lam)
    _refuse_bad_counts(table)
    n_classes, pseudo_count = table.shape[-1], _checked_caution(caution)
    total = table.sum(axis=-1, keepdims=True) + pseudo_count
    kept = np.divide(table, total, out=np.zeros_like(table), where=total > 0)
    open_share = np.divide(pseudo_count, total, out=np.ones_like(total), where=total > 0)
    pignistic = np.where(kept > 0, kept + open_share / n_classes, 1.0)
    discord = -(kept * np.log2(np.minimum(pignistic, 1.0))).sum(axis=-1)
    bits: Floats = (1.0 - share) * open_share[..., 0] * np.log2(n_classes) + share * discord
    return bits


def idm_focal_mass(counts: Floats, caution: float) -> Floats:
    """Return the masses (..., K + 1) of single classes and of the frame."""
    total = counts.sum(axis=-1, keepdims=True) + caution
    single = np.divide(counts, total, out=np.zeros_like(counts), where=total > 0)
    return np.concatenate([single, np.divide(caution, total, out=np.ones_like(total), where=total > 0)], axis=-1)


def mass_from_focal(focal: Floats) -> Floats:
    """Spread masses (..., K + 1) of single classes and the frame to all sets."""
    n_classes = focal.shape[-1] - 1
    mass = np.zeros((*focal.shape[:-1], 1 << n_classes))
    mass[..., 1 << np.arange(n_classes)] = focal[..., :-1]
    mass[..., -1] += focal[..., -1]
    return mass


def _checked_counts(counts: ArrayLike) -> Floats:
    """Return counts as float64 (..., K); raise unless they are of 1 to 16 classes."""
    table = np.asarray(counts, dtype=np.float64)
    _refuse_bad_counts(table)
    if table.shape[-1] > LARGEST_FRAME:
        raise ValueError(
            f"counts must have at most {LARGEST_FRAME} classes for a mass over their subsets, got {table.shape[-1]}. "
            "Merge rare classes, or use hedgerow.combine, which needs no subsets."
        )
    return table


def _refuse_bad_counts(table: Floats) -> None:
    """Raise unless the table (..., K) has counts."""
    if table.ndim == 0 or table.shape[-1] == 0:
        raise ValueError(f"counts must have the shape (..., K), got {table.shape}.")
    if not np.isfinite(table).all() or (table < 0).any():
        raise ValueError(f"counts must be finite and non-negative, got {table.min(initial=0.0)}.")


def _checked_caution(caution: float) -> float:
    """Return caution; raise unless it is a finite non-negative number."""
    if not (np.isfinite(caution) and caution >= 0):
        raise ValueError(f"caution must be finite and non-negative, got {caution!r}. 0 collapses the intervals.")
    return float(caution)


# ---- Masses within Goodman's simultaneous confidence intervals (Denœux 2006) -----------------------------------------


#: Tolerances of the HiGHS solver, whose default is 1e-7.
PRECISE = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}


def goodman_bounds(counts: ArrayLike, alpha: float = 0.05) -> tuple[Floats, Floats]:
    """Return Goodman's simultaneous confidence intervals of class probabilities.

    All intervals hold jointly with probability about 1 - alpha. With q the chi-square quantile of order 1 - alpha/K
    and D = q (q + 4 n_k (n - n_k)/n), the bounds are (q + 2 n_k -/+ sqrt(D))/(2 (n + q)). Without rows they are [0, 1].

    Parameters
    ----------
    counts : array-like (..., K), >= 0
    alpha : float in (0, 1), default 0.05

    Returns
    -------
    lower, upper : float64 (..., K)

    Examples
    --------
    >>> lower, upper = goodman_bounds([8, 1, 1])
    >>> lower.round(4).tolist(), upper.round(4).tolist()
    ([0.4257, 0.0133, 0.0133], [0.9557, 0.4782, 0.4782])
    """
    table = np.asarray(counts, dtype=np.float64)
    total = table.sum(axis=-1, keepdims=True)
    quantile = chdtri(1, alpha / table.shape[-1])
    rest = table * np.divide(total - table, total, out=np.zeros_like(table), where=total > 0)
    root = np.sqrt(quantile * (quantile + 4.0 * rest))
    # q + 2 n_k - sqrt(D), multiplied and divided by q + 2 n_k + sqrt(D): no digits cancel for small counts
    shares = np.divide(table, total, out=np.zeros_like(table), where=total > 0)
    lower: Floats = 2.0 * table * shares / (quantile + 2.0 * table + root)
    upper: Floats = np.minimum((quantile + 2.0 * table + root) / (2.0 * (total + quantile)), 1.0)
    return lower, upper


def goodman_mass(counts: Floats, alpha: float) -> Floats:
    """Return masses (n, 2^K): in closed form for K <= 3, else by a linear programme."""
    if counts.shape[1] <= 3:
        return _closed(subset_differences(goodman_lower(counts, alpha)))
    order = np.argsort(-counts, axis=1, kind="stable")
    distinct, back = np.unique(np.take_along_axis(counts, order, axis=1), axis=0, return_inverse=True)
    solved = np.zeros((len(distinct), 1 << counts.shape[1]))
    for row, vector in enumerate(distinct.tolist()):
        codes, _ = _set_types(_equal_runs(vector))
        solved[row] = mass_of_types(tuple(vector), alpha)[codes]
    mass = np.zeros((len(counts), solved.shape[1]))
    masks = (1 << order) @ subset_members(counts.shape[1]).T.astype(np.int64)
    np.put_along_axis(mass, masks, solved[back.reshape(-1)], axis=1)
    return mass


def ordinal_goodman_mass(counts: Floats, alpha: float) -> Floats:
    """Return masses (n, 2^K) of ordered classes: only runs of neighbours are focal."""
    n_classes = counts.shape[1]
    lower = goodman_lower(counts, alpha)
    mass = np.zeros_like(lower)
    for i, j in product(range(n_classes), repeat=2):
        if i <= j:
            whole, tail, head, middle = _run(i, j), _run(i + 1, j), _run(i, j - 1), _run(i + 1, j - 1)
            mass[:, whole] = lower[:, whole] - lower[:, tail] - lower[:, head] + lower[:, middle]
    return _closed(mass)


def goodman_lower(counts: Floats, alpha: float) -> Floats:
    """Return P(A) = max(sum of lower bounds in A, 1 - sum of upper bounds outside)."""
    lower, upper = goodman_bounds(counts, alpha)
    members = subset_members(counts.shape[1]).T
    within, outside = row_products(lower, members), row_products(upper, members)[:, ::-1]
    bound: Floats = np.maximum(within, 1.0 - outside)
    bound[:, 0], bound[:, -1] = 0.0, 1.0
    return bound


@lru_cache(maxsize=1 << 14)
def mass_of_types(counts: tuple[float, ...], alpha: float) -> Floats:
    """Return the mass of one set of each type, by a linear programme.

    It maximises sum Bel(A), subject to Bel <= P, sum m = 1 and m >= 0.

    `counts` (K,) are in falling order. Classes of equal count can be exchanged, and the mean of a solution over all
    such exchanges is a solution too. Sets with equally many classes of each count (sets of one type) therefore share
    one variable. This picks the symmetric solution, and keeps the programme small if most classes have no rows.
    """
    from scipy.optimize import linprog  # here, because the import takes 50 ms

    groups = _equal_runs(counts)
    codes, n_sets = _set_types(groups)
    bound = np.empty(len(n_sets))
    bound[codes] = goodman_lower(np.array([counts]), alpha)[0]
    within = reduce(lambda left, right: kron(left, right, format="csr"), [_within(size) for size in groups])
    sizes = np.array([sum(set_type) for set_type in product(*(range(size + 1) for size in groups))])
    solution = linprog(
        -(0.5 ** sizes[1:]),
        A_ub=csr_array(within)[1:-1, 1:],
        b_ub=bound[1:-1],
        A_eq=np.ones((1, len(n_sets) - 1)),
        b_eq=[1.0],
        method="highs",
        options=PRECISE,
    )
    if solution.status != 0:
        raise RuntimeError(
            f"linear programme of the multinomial mass failed: {solution.message}. "
            "Use model='idm' and report the counts."
        )
    of_type = np.maximum(np.append(0.0, solution.x), 0.0)
    mass: Floats = of_type / of_type.sum() / n_sets
    mass.setflags(write=False)
    return mass


def _equal_runs(counts: Sequence[float]) -> tuple[int, ...]:
    """Return the numbers of classes with the largest count, the second largest, ..."""
    return tuple(len(list(run)) for _, run in groupby(counts))


@lru_cache(maxsize=32)
def _set_types(groups: tuple[int, ...]) -> tuple[NDArray[np.int64], Floats]:
    """Return the type of each subset (2^K,), and the number of subsets of each type."""
    members = subset_members(sum(groups)).astype(np.int64)
    codes = np.zeros(len(members), dtype=np.int64)
    for start, size in zip(np.cumsum([0, *groups[:-1]]), groups, strict=True):
        codes = codes * (size + 1) + members[:, start : start + size].sum(axis=1)
    return codes, np.bincount(codes).astype(np.float64)


def _within(size: int) -> csr_array:
    """Return the share of sets of u classes that lie within t classes of a group."""
    return csr_array([[comb(t, u) / comb(size, u) for u in range(size + 1)] for t in range(size + 1)])


def _run(i: int, j: int) -> int:
    """Return the bit mask of classes i to j; 0 if there are none."""
    return ((1 << (j + 1)) - (1 << i)) if i <= j else 0


def _closed(mass: Floats) -> Floats:
    """Normalise masses (n, 2^K) without rounding errors below zero."""
    kept = np.maximum(mass, 0.0)
    total: Floats = kept.sum(axis=1, keepdims=True)
    return kept / total
