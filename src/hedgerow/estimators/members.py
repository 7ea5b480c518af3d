"""Trees of a forest as estimators, and the rows of their bootstrap samples.

Forests define `len`, indexing and iteration by these functions; single trees must not have them.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow.inference.fitted import fitted_of, publish
from hedgerow.params.checks import parameters_of


def members(forest: Any) -> list[Any]:
    """A fitted single tree for each tree of the forest; they share its arrays.

    Their mean is the answer of the forest before any map of probabilities. Unlike in scikit-learn, their classes are
    those of the forest, not numbers.
    """
    return member_at(forest, slice(None))  # type: ignore[no-any-return]


def how_many(forest: Any) -> int:
    """Number of trees."""
    return fitted_of(forest).forest.n_trees


def member_at(forest: Any, number: Any) -> Any:
    """Tree number `number`, or a list of trees for a slice."""
    fitted = fitted_of(forest)
    chosen = range(fitted.forest.n_trees)[number]
    if isinstance(chosen, range):
        return [publish(template_of(forest), fitted.alone(each)) for each in chosen]
    return publish(template_of(forest), fitted.alone(chosen))


def each_member(forest: Any) -> Iterator[Any]:
    """The trees, one after the other."""
    return iter(members(forest))


def samples_of(forest: Any) -> list[NDArray[np.int32]]:
    """For each tree, the numbers of the training rows in its bag, each as often as the bag holds it."""
    fitted = fitted_of(forest)
    rows, drawn, n_trees = fitted.rows, fitted.fingerprint, fitted.forest.n_trees
    if rows is None and drawn is not None and drawn.bag_mean == 0:
        return [np.arange(drawn.n_rows, dtype=np.int32)] * n_trees
    if rows is None:
        raise AttributeError("estimators_samples_ is there after a fit, got a forest that was loaded or joined")
    places = np.arange(rows.n_rows, dtype=np.int32) if rows.kept is None else rows.kept.astype(np.int32)
    return [np.repeat(places, rows.bags.times(tree)) for tree in range(n_trees)]


def template_of(forest: Any) -> Any:
    """A single tree that is not fitted, with those parameters of the forest that a single tree has."""
    single = forest._tree_class
    known = parameters_of(forest)
    return single(**{name: getattr(forest, name) for name in parameters_of(single) if name in known})
