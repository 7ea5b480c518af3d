"""Counts: rows of each class -> the mass they justify, and its uncertainty."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from hedgerow.belief.masses.frame import LARGEST_FRAME, Floats
from hedgerow.belief.masses.goodman import goodman_mass, ordinal_goodman_mass
from hedgerow.belief.masses.uncertainty import checked_share


def mass_from_counts(
    counts: ArrayLike, model: str = "idm", *, caution: float = 1.0, alpha: float = 0.05, ordinal: bool = False
) -> Floats:
    """The mass that counts of classes justify, (..., K) -> (..., 2^K).

    Without rows the mass is vacuous: all of it is on the frame.

    Parameters
    ----------
    counts : array-like (..., K), >= 0
        Rows of each class; they need not be integers.
    model : {"idm", "dabt", "multinomial"}, default "idm"
        "idm" is the imprecise Dirichlet model: m({k}) = n_k/(n + caution), the rest on the frame. "dabt" is
        Dempster's approach to Bernoulli trials, for two classes: the same with caution 1. "multinomial" is the
        largest belief below the lower probabilities of Goodman's confidence intervals (Denœux 2006). It has a
        closed form for up to three classes; for more, a linear programme is solved (once for each sorted count
        vector), and its cost grows quickly with the number of different counts.
    caution : float >= 0, default 1.0
        Only for "idm": the number of unseen rows.
    alpha : float in (0, 1), default 0.05
        Only for "multinomial": one minus the confidence level.
    ordinal : bool, default False
        Only for "multinomial": whether the classes are ordered. Then only runs of neighbouring classes have mass,
        and a closed form gives it.

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
            raise ValueError(f"model 'dabt' must have two classes, got {n_classes}; use 'idm', its extension to more")
        return mass_from_focal(idm_focal_mass(table, 1.0))
    if model != "multinomial":
        raise ValueError(f"model must be 'idm', 'dabt' or 'multinomial', got {model!r}; choose one of them")
    if not 0 < alpha < 1:
        raise ValueError(f"alpha must lie between 0 and 1, got {alpha!r}; 0.05 is a confidence of 95 %")
    solve = ordinal_goodman_mass if ordinal else goodman_mass
    mass = solve(table.reshape(-1, n_classes), float(alpha))
    return mass.reshape(*table.shape[:-1], 1 << n_classes)


def total_uncertainty_from_counts(counts: ArrayLike, lam: float, caution: float = 1.0) -> Floats:
    """Total uncertainty of the "idm" mass of counts, (..., K) -> (...), in closed form for any number of classes.

    It equals `total_uncertainty` of `mass_from_counts`, but does not need the 2^K subsets. With caution s it is
    (1 - lam) s log2(K)/(n + s) - lam/(n + s) sum of n_k log2((K n_k + s)/(K (n + s))).

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
    n_classes, reserve = table.shape[-1], _checked_caution(caution)
    room = table.sum(axis=-1, keepdims=True) + reserve
    kept = np.divide(table, room, out=np.zeros_like(table), where=room > 0)
    open_share = np.divide(reserve, room, out=np.ones_like(room), where=room > 0)
    pignistic = np.where(kept > 0, kept + open_share / n_classes, 1.0)
    discord = -(kept * np.log2(np.minimum(pignistic, 1.0))).sum(axis=-1)
    bits: Floats = (1.0 - share) * open_share[..., 0] * np.log2(n_classes) + share * discord
    return bits


def idm_focal_mass(counts: Floats, caution: float) -> Floats:
    """(..., K) counts -> (..., K + 1): the masses of single classes and of the frame; all other sets have mass 0."""
    room = counts.sum(axis=-1, keepdims=True) + caution
    single = np.divide(counts, room, out=np.zeros_like(counts), where=room > 0)
    return np.concatenate([single, np.divide(caution, room, out=np.ones_like(room), where=room > 0)], axis=-1)


def mass_from_focal(focal: Floats) -> Floats:
    """(..., K + 1): masses of single classes and of the frame -> (..., 2^K)."""
    n_classes = focal.shape[-1] - 1
    mass = np.zeros((*focal.shape[:-1], 1 << n_classes))
    mass[..., 1 << np.arange(n_classes)] = focal[..., :-1]
    mass[..., -1] += focal[..., -1]
    return mass


def _checked_counts(counts: ArrayLike) -> Floats:
    """Array-like -> float64 (..., K); refused unless it holds counts of 1 to 16 classes."""
    table = np.asarray(counts, dtype=np.float64)
    _refuse_bad_counts(table)
    if table.shape[-1] > LARGEST_FRAME:
        raise ValueError(
            f"counts must be of at most {LARGEST_FRAME} classes for a mass over their subsets, got {table.shape[-1]}; "
            "merge rare classes, or use hedgerow.combine, which needs no subsets"
        )
    return table


def _refuse_bad_counts(table: Floats) -> None:
    """Raise an error unless (..., K) holds counts."""
    if table.ndim == 0 or table.shape[-1] == 0:
        raise ValueError(f"counts must have the classes on their last axis, got shape {table.shape}; give (..., K)")
    if not np.isfinite(table).all() or (table < 0).any():
        raise ValueError(f"counts must be finite and >= 0, got {table.min(initial=0.0)}; a class without rows has 0")


def _checked_caution(caution: float) -> float:
    """Caution -> the same; refused unless it is a number >= 0."""
    if not (np.isfinite(caution) and caution >= 0):
        raise ValueError(f"caution must be finite and at least 0, got {caution!r}; 0 trusts the counts fully")
    return float(caution)
