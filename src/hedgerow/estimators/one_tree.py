"""Size and pruning of single trees."""

from __future__ import annotations

from typing import Any

from sklearn.base import clone

from hedgerow.forest.prune import PruningPath, path_of
from hedgerow.inference.fitted import fitted_of


class SingleTreeMixin:
    """Mixin for estimators of a single tree."""

    tree_: Any

    def cost_complexity_pruning_path(self, X: Any, y: Any, sample_weight: Any = None) -> PruningPath:
        """Grow the whole tree and list the values of ``ccp_alpha`` at which branches are cut.

        Parameters
        ----------
        X, y, sample_weight
            As in `fit`. The estimator itself is not changed.

        Returns
        -------
        PruningPath
            ``ccp_alphas`` are the costs of a leaf at which branches are cut, ``impurities`` those of the leaves that
            remain.

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
        """Length of the longest path from the root to a leaf."""
        return int(self.tree_.depth)

    def get_n_leaves(self) -> int:
        """Number of leaves."""
        return int(self.tree_.n_leaves)
