"""Later: forests that can take in rows that arrive later -> more evidence, more trees, signs of drift."""

from __future__ import annotations

from functools import partial
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from hedgerow.estimators.trees import TreesEstimator, figure, or_not_there
from hedgerow.fit.later import grow_more
from hedgerow.fit.parameters import require_count
from hedgerow.fit.progress import with_callbacks
from hedgerow.fit.run import Task
from hedgerow.forest.walk import impurity_importance
from hedgerow.judge.drift import Drift
from hedgerow.judge.fitted import Fitted, changed, fitted_of
from hedgerow.judge.newcomers import compare, newcomers

Floats = NDArray[np.float64]


def leaves_are_sums(model: Any) -> bool:
    """Whether leaves are plain sums of their rows, as `partial_fit` needs them; as scikit-learn asks."""
    fitted: Fitted | None = model.__dict__.get("_fitted")
    if (model.criterion if fitted is None else fitted.criterion) == "absolute_error":
        raise AttributeError(
            "partial_fit needs leaves that are means, got medians; use criterion='squared_error' for rows to be added"
        )
    if model.monotonic_cst is not None:
        raise AttributeError("partial_fit needs monotonic_cst=None, got constraints, which new rows may break")
    return True


class LaterEstimator(TreesEstimator):
    """What classifiers and regressors share: figures of rows outside bags, and rows that arrive later."""

    __takes_rows__: ClassVar[bool] = True
    #: What a fit does in its own way for what is to be predicted.
    __task__: ClassVar[Task]

    @with_callbacks
    def grow_more(self, n: int, X: Any = None, y: Any = None, sample_weight: Any = None) -> Self:
        """Add trees that are grown on all rows seen so far.

        Where no `partial_fit` came between, the forest is the one that a fit with all the trees would have grown, bit
        for bit. ``n_estimators`` becomes the number of trees there are.

        Parameters
        ----------
        n : int
            How many.
        X, y, sample_weight : default=None
            All rows seen so far, in the order in which they came. They need not be given to a forest that was fitted
            here, which still has them in bins (a byte or two per cell); one that was unpickled, loaded or merged has
            not.

        Returns
        -------
        self

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from hedgerow import RandomForestClassifier
        >>> X, y = load_iris(return_X_y=True)
        >>> forest = RandomForestClassifier(10, random_state=0).fit(X, y).grow_more(5)
        >>> at_once = RandomForestClassifier(15, random_state=0).fit(X, y)
        >>> (forest.predict_proba(X) == at_once.predict_proba(X)).all()
        np.True_
        """
        after = changed(self, partial(grow_more, self, n, X, y, sample_weight))
        self.n_estimators = after.forest_.n_trees
        return self

    def drift(
        self,
        X: Any,
        y: Any = None,
        *,
        reference: Any = None,
        min_rows: int = 20,
        n_permutations: int = 199,
        random_state: Any = 0,
    ) -> Drift:
        """Whether new rows are of the same kind as those the forest was fitted to.

        New rows are compared with the training rows leaf by leaf, each training row in the trees that have not seen it.
        Where they go, and with `y` which labels they have there, is compared with what relabelling old and new rows at
        random would give.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
            New rows.
        y : array-like of shape (n_samples,), default=None
            Their labels or targets.
        reference : X or (X, y), default=None
            Old rows to compare with that were not used to grow the trees: needed where the forest draws no bags, or
            was unpickled, loaded or merged.
        min_rows : int, default=20
            A branch that fewer rows reach, old and new together, is looked at as one leaf.
        n_permutations : int, default=199
            Random relabellings; the smallest p-value is one over one more than this.
        random_state : int or Generator, default=0
            Of the relabellings.

        Returns
        -------
        Drift
            ``p_value``, and which features and leaves it is about; ``print`` it.
        """
        now = self.__answers__()
        require_count("min_rows", min_rows)
        require_count("n_permutations", n_permutations)
        classes = self.__task__.drift_classes(now.fitted, y)
        new = self._newcomers(now, X, y, classes)
        old = None
        if reference is not None:
            pair = isinstance(reference, tuple) and len(reference) == 2
            if y is not None and not pair:
                raise ValueError("reference must be a pair (X, y) where y is given, got X alone; hand in its labels")
            X, y_old = reference if pair else (reference, None)
            old = self._newcomers(now, X, None if y is None else y_old, classes)
        options = {"min_rows": int(min_rows), "n_permutations": int(n_permutations), "random_state": random_state}
        return compare(now, new, old, classes, **options)

    @property
    def oob_score_(self) -> float:
        """How good the forest is on rows its trees have not seen, with ``oob_score``."""
        return float(figure(fitted_of(self).figures.oob_score, "oob_score_", "after a fit with oob_score"))

    @property
    def oob_trace_(self) -> Floats:
        """(n_trees,): out-of-bag error of the forest after each tree; the last is that of the forest.

        Of a classifier under its rule, where rules that learn tree weights weigh all trees alike; of a regressor
        squared, or absolute if trees reduce that. Computed in one pass when first asked for.
        """
        with or_not_there():
            return np.array(self.__answers__().oob_trace())

    @property
    def feature_importances_(self) -> Floats:
        """(n_features,): share of the decrease in impurity, measured on the evidence in the leaves.

        Of a regressor in squared error (in deviance, with criterion="poisson"). Features with many values look more
        important than they are; permutation importance does not have this bias.
        """
        fitted = fitted_of(self)
        n_features, criterion = fitted.schema.n_features, fitted.criterion
        mean = np.mean([impurity_importance(tree, n_features, criterion) for tree in fitted.trees()], axis=0)
        return np.asarray(mean / mean.sum() if mean.sum() > 0 else mean)

    @property
    def max_features_(self) -> int:
        """How many features a split looks at, as ``max_features="oob"`` has chosen."""
        return int(figure(fitted_of(self).figures.max_features, "max_features_", "after a fit with max_features='oob'"))

    @property
    def max_features_errors_(self) -> dict[int, float]:
        """The out-of-bag errors of all numbers tried."""
        errors = fitted_of(self).figures.max_features_errors
        return figure(  # type: ignore[no-any-return]
            errors, "max_features_errors_", "after a fit with max_features='oob'"
        )

    def _newcomers(self, now: Any, X: Any, y: Any, classes: NDArray[Any] | None) -> Any:
        codes = now.read(X)
        return newcomers(codes, None if y is None else self.__task__.drift_labels(y, codes.shape[1], classes))
