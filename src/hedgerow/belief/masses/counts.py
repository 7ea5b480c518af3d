"""Masses of class counts, and their uncertainty."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from hedgerow.belief.masses.frame import LARGEST_FRAME, Floats
from hedgerow.belief.masses.goodman import goodman_mass, ordinal_goodman_mass
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
