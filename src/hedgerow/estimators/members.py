"""Single trees as estimators, and as members of a forest.

Forests define `len`, indexing and iteration by the functions below; single trees must not have them.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone

from hedgerow.forest.prune import PruningPath, path_of
from hedgerow.inference.fitted import fitted_of, publish
from hedgerow.params.checks import parameters_of
from hedgerow.table.schema import TableLike, TargetLike


class SingleTreeMixin:
    """Mixin for estimators of a single tree."""

    tree_: Any

    def cost_complexity_pruning_path(
        self, X: TableLike, y: TargetLike, sample_weight: ArrayLike | None = None
    ) -> PruningPath:
        """Compute the values of ``ccp_alpha`` at which branches are pruned.

        Parameters
        ----------
        X, y, sample_weight
            As in `fit`. The estimator itself is not changed.

        Returns
        -------
        PruningPath
            ``ccp_alphas``, and ``impurities``, the total impurity of the leaves of each pruned tree.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from hedgerow import DecisionTreeClassifier
        >>> X, y = load_iris(return_X_y=True)
        >>> tree = DecisionTreeClassifier(max_depth=3, random_state=0)
        >>> tree.cost_complexity_pruning_path(X, y).ccp_alphas.round(4)
        array([0.    , 0.0042, 0.0297, 0.2598, 0.3333])
        """
        whole = clone(self).set_params(ccp_alpha=0.0).fit(X, y, sample_weight)
        fitted = fitted_of(whole)
        return path_of(whole.tree_, fitted.criterion, fitted.impurities)

    def get_depth(self) -> int:
        """Return the length of the longest path from the root to a leaf."""
        return int(self.tree_.depth)

    def get_n_leaves(self) -> int:
        """Return the number of leaves."""
        return int(self.tree_.n_leaves)


def members(forest: Any) -> list[Any]:
    """Return a fitted estimator for each tree; they share the arrays of the forest.

    The mean of their predictions is the uncalibrated prediction of the forest. Unlike in scikit-learn, their classes
    are those of the forest, not class numbers.
    """
    trees: list[Any] = member_at(forest, slice(None))
    return trees


def how_many(forest: Any) -> int:
    """Return the number of trees."""
    return fitted_of(forest).forest.n_trees


def member_at(forest: Any, number: Any) -> Any:
    """Return the tree of this number, or a list of trees for a slice."""
    fitted = fitted_of(forest)
    chosen = range(fitted.forest.n_trees)[number]
    if isinstance(chosen, range):
        return [publish(template_of(forest), fitted.alone(each)) for each in chosen]
    return publish(template_of(forest), fitted.alone(chosen))


def each_member(forest: Any) -> Iterator[Any]:
    """Iterate over the trees."""
    return iter(members(forest))


def samples_of(forest: Any) -> list[NDArray[np.int32]]:
    """Return the row numbers of each bootstrap sample, repeated by multiplicity."""
    fitted = fitted_of(forest)
    rows, drawn, n_trees = fitted.rows, fitted.fingerprint, fitted.forest.n_trees
    if rows is None and drawn is not None and drawn.bag_mean == 0:
        return [np.arange(drawn.n_rows, dtype=np.int32)] * n_trees
    if rows is None:
        raise AttributeError("estimators_samples_ requires the training rows. Fit the forest in this process.")
    places = np.arange(rows.n_rows, dtype=np.int32) if rows.kept is None else rows.kept.astype(np.int32)
    return [np.repeat(places, rows.bags.times(tree)) for tree in range(n_trees)]


def template_of(forest: Any) -> Any:
    """Return an unfitted single tree with the parameters of the forest."""
    single = forest._tree_class
    of_forest = parameters_of(forest)
    return single(**{name: getattr(forest, name) for name in parameters_of(single) if name in of_forest})
