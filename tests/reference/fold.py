"""Fold, slowly: training rows, bags and the leaves they share -> counts without the row itself -> opinion.

Nothing here looks into the leaves of the model: what they hold is counted again from the rows that reach them.
"""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow import Opinion, _core, combine
from hedgerow.belief import concatenate
from hedgerow.inference.fitted import fitted_of
from hedgerow.rules import Rule, resolve_rule

Floats = NDArray[np.float64]


def multiplicities(forest: Any, n_rows: int, mean: float = 1.0) -> NDArray[np.int64]:
    """-> (n, T): how often each row is in the bag of each tree."""
    bags = [_core.bag(fitted_of(forest).seed, tree, n_rows, mean) for tree in range(forest.n_estimators)]
    return np.stack(bags, axis=1).astype(np.int64)


def out_of_bag_counts(forest: Any, X: Any, y: NDArray[Any], weights: Floats | None = None) -> tuple[Floats, Any]:
    """Training rows -> evidence (n, T, K) without the row itself, and which trees have not seen the row (n, T).

    Rows that carry a weight share the amount of evidence, n - 1 rows, by weight. What is taken out of the weights is
    the mean weight of the leaf's rows of that class.
    """
    leaves, bag = forest.apply(X), multiplicities(forest, len(y))
    times = {"all": np.ones_like(bag), "inbag": bag, "distinct": bag > 0, "oob": bag == 0}[forest.leaf_counts]
    is_class = (y[:, None] == forest.classes_).astype(float)
    evidence = np.zeros((*leaves.shape, len(forest.classes_)))
    for tree in range(leaves.shape[1]):
        together = (leaves[:, None, tree] == leaves[None, :, tree]) * times[None, :, tree]
        own = (np.diagonal(together)[:, None] > 0) * is_class
        rows = together @ is_class
        rest = rows - own
        shares = rest
        if weights is not None:
            shares = together @ (is_class * weights[:, None]) * np.where(rows > 0, rest / np.maximum(rows, 1), 0.0)
        total = shares.sum(axis=1, keepdims=True)
        evidence[:, tree] = rest.sum(axis=1, keepdims=True) * shares / np.where(total > 0, total, 1.0)
    return evidence, bag == 0


def combine_seen(counts: Floats, seen: NDArray[np.bool_], rule: Rule, weights: Any = None, **options: Any) -> Opinion:
    """Counts (n, T, K), the trees that may speak about each row (n, T) -> opinion as if there were no other trees."""
    how_many = seen.sum(axis=1)
    parts, places = [], []
    for number in np.unique(how_many):  # rows that equally many trees speak about fit into one array
        rows = np.flatnonzero(how_many == number)
        trees = np.nonzero(seen[rows])[1].reshape(len(rows), number)
        spoken = np.take_along_axis(counts[rows], trees[:, :, None], axis=1)
        if weights is None:
            parts.append(combine(spoken, rule, **options))
        else:
            parts += [combine(spoken[i : i + 1], rule, weights=weights[trees[i]], **options) for i in range(len(rows))]
        places.append(rows)
    return concatenate(parts)[np.argsort(np.concatenate(places))]


def prior_for(rule: str | Rule, prior: Floats) -> Floats | None:
    """The prior, if the rule uses one: it is an error for any other."""
    return prior if resolve_rule(rule).uses_prior else None


def assert_same_opinion(actual: Opinion, expected: Opinion, tolerance: float = 1e-12) -> None:
    """Every number to the tolerance (relative where it is large), every set exactly."""
    for field in fields(Opinion):
        one, other = getattr(actual, field.name), getattr(expected, field.name)
        assert (one is None) == (other is None), field.name
        if field.name == "chosen":
            np.testing.assert_array_equal(one, other, err_msg=field.name)
        elif one is not None:
            np.testing.assert_allclose(one, other, rtol=tolerance, atol=tolerance, err_msg=field.name)


def assert_same_bits(actual: Opinion, expected: Opinion) -> None:
    """Every number and every set, to the bit."""
    for field in fields(Opinion):
        np.testing.assert_array_equal(getattr(actual, field.name), getattr(expected, field.name), err_msg=field.name)
