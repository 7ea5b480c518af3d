"""Combination of leaf counts without a forest."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hedgerow.belief.opinion import Opinion, concatenate
from hedgerow.rules.base import Rule, Setting, merge_states, resolve_rule

Floats = NDArray[np.float64]

CELLS = 1 << 22  # numbers of states in memory at once
#: Positive counts lie between these, which keeps their squares from overflowing.
LEAST_COUNT, MOST_COUNT = 1e-100, 1e100


def combine(
    counts: ArrayLike,
    rule: str | Rule = "average",
    *,
    prior: ArrayLike | None = None,
    weights: ArrayLike | None = None,
    caution: float = 1.0,
) -> Opinion:
    """Combine the leaf counts of all trees into one opinion about each sample.

    Parameters
    ----------
    counts : array-like (n, T, K)
        Rows per class in the leaf of each tree; real numbers, 0 or between 1e-100 and 1e100. A row
        of zeros is an empty leaf.
    rule : str or Rule, default "average"
        A rule or its name; `hedgerow.rules` lists them.
    prior : array-like (K,), optional
        Class probabilities before any evidence; they are normalised. Uniform by default. Only for
        "eva", and for "dempster" and "cautious" with ``prior="log"``.
    weights : array-like (T,), optional
        Tree weights >= 0. They multiply the states, so they need a rule that adds states. An average depends only
        on their ratios; under a rule that adds evidence, a tree of weight 2 counts twice.
    caution : float, default 1.0
        Pseudo-count *s* of the imprecise Dirichlet model. More caution widens the intervals.

    Returns
    -------
    Opinion

    Examples
    --------
    >>> opinion = combine([[[4, 0], [10, 40]]], caution=1.0)
    >>> opinion.probability
    array([[0.6, 0.4]])
    >>> opinion.lower.round(4)
    array([[0.498 , 0.3922]])
    """
    rule = resolve_rule(rule)
    table = _checked_counts(counts)
    n, n_trees, n_classes = table.shape
    check_prior(prior, rule)
    setting = Setting.of(n_classes, caution, prior)
    tree_weights = checked_weights(weights, rule, n_trees)
    block = max(1, CELLS // max(1, n_trees * rule.width(setting)))
    parts = []
    for start in range(0, max(n, 1), block):
        states = _states(table[start : start + block], rule, setting, tree_weights)
        parts.append(rule.finish(merge_states(states, rule.merge), setting))
    return concatenate(parts)


def _states(counts: Floats, rule: Rule, setting: Setting, weights: Floats | None) -> Floats:
    """Return states (n, T, S) of counts (n, T, K), times the tree weights."""
    n, n_trees, n_classes = counts.shape
    width = rule.width(setting)
    states = np.zeros((n, n_trees, width))
    if states.size:
        states[:] = rule.lift(counts.reshape(-1, n_classes), setting).reshape(n, n_trees, width)
    return states if weights is None else states * weights[:, None]


def _checked_counts(counts: ArrayLike) -> Floats:
    """Return counts as float64 (n, T, K); raise if they are invalid."""
    given = np.asarray(counts)
    if given.dtype.kind == "c":
        raise ValueError(f"counts must be real numbers, got dtype {given.dtype}.")
    table = given.astype(np.float64, copy=False)
    if table.ndim != 3 or table.shape[2] == 0:
        raise ValueError(
            f"counts must have the shape (samples, trees, classes), got {table.shape}. Pass one sample as counts[None]."
        )
    if not np.isfinite(table).all() or (table < 0).any():
        raise ValueError(f"counts must be finite and non-negative, got {table[~(table >= 0) | np.isinf(table)][0]}.")
    too_extreme = (table > MOST_COUNT) | ((table > 0) & (table < LEAST_COUNT))
    if too_extreme.any():
        raise ValueError(
            f"counts must be 0, or lie between {LEAST_COUNT:g} and {MOST_COUNT:g}, got {table[too_extreme][0]}."
        )
    return table


def check_prior(prior: ArrayLike | None, rule: Rule) -> None:
    """Raise if a prior is passed to a rule that ignores it."""
    if prior is not None and not rule.uses_prior:
        raise ValueError(
            f"prior must be None for {rule!r}, which ignores it, got {prior!r}. "
            "Use rule='eva', or Dempster or Cautious with prior='log'."
        )


def checked_weights(weights: ArrayLike | None, rule: Rule, n_trees: int) -> Floats | None:
    """Return tree weights (T,) or None; raise if the rule does not allow them."""
    if weights is None:
        if rule.needs_weights:
            raise ValueError(f"{rule!r} requires tree weights. Learn them with hedgerow.belief.learn_tree_weights.")
        return None
    if not rule.weighable:
        raise ValueError(
            f"weights must be None for the rule {rule.name!r}, which does not add states, got {weights!r}. "
            "Omit them, or choose a rule that adds."
        )
    values = np.asarray(weights, dtype=np.float64)
    if values.shape != (n_trees,) or not np.isfinite(values).all() or (values < 0).any():
        raise ValueError(
            f"weights must be {n_trees} finite non-negative numbers, one per tree, got {weights!r}. "
            "A weight of 0 excludes a tree."
        )
    return values
