"""Fitted models: immutable fits, and choices learned out of bag later."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from functools import cached_property
from threading import Lock, RLock
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from hedgerow.forest.cache import Cache
from hedgerow.forest.forest import Forest, trees_between
from hedgerow.forest.grow import Fingerprint, TrainingRows
from hedgerow.forest.rows import Provenance
from hedgerow.forest.target import TargetInfo
from hedgerow.forest.walk import RegressionTree, Tree, impurity_importance
from hedgerow.params.table import TreeEstimator
from hedgerow.table import Schema
from hedgerow.table.bins import EXACT_ROWS, Bins, Codebook

_Value = TypeVar("_Value")
_Model = TypeVar("_Model", bound=TreeEstimator)


@dataclass(frozen=True, eq=False, repr=False)
class FitMetrics:
    """Metrics and choices of a fit; None for those that were not computed.

    Parameters
    ----------
    oob_score : float
        Out-of-bag score.
    oob_predictions : (n, K) or (n,) float64
        Out-of-bag probabilities or predictions for the training rows.
    max_features, max_features_errors : int, dict
        Number of features chosen on out-of-bag rows, and the error of each number tried.
    leaf_size, leaf_size_errors : int, dict
        Leaf size chosen on out-of-bag rows, and the error of each size tried.
    label_shares : (n, K) float64
        Expected class shares of uncertain labels.
    tuning : list of (float, dict)
        Scores and parameters that `tune` has tried.
    """

    oob_score: float | None = None
    oob_predictions: NDArray[np.float64] | None = None
    max_features: int | None = None
    max_features_errors: dict[int, float] | None = None
    leaf_size: int | None = None
    leaf_size_errors: dict[int, float] | None = None
    label_shares: NDArray[np.float64] | None = None
    tuning: list[tuple[float, dict[str, Any]]] | None = None


class Learned:
    """Choices made on out-of-bag rows, keyed by the parameters that they depend on.

    Other parameters have another key, so nothing needs to be invalidated. Threads may share an instance.
    """

    def __init__(self, known: dict[str, tuple[Any, Any]] | None = None) -> None:
        self._known = dict(known or {})
        self._lock = RLock()
        #: Number of changes, which invalidate predictors.
        self.n_changes = 0
        #: Held while a thread derives another fit from this one, so that updates are serialised.
        self.changing = RLock()

    def get(self, what: str, key: object, make: Callable[[], _Value]) -> _Value:
        """Return the value learned under this key, computed by `make` if there is none."""
        found = self._known.get(what)
        if found is not None and found[0] == key:
            value: _Value = found[1]
            return value
        with self._lock:
            found = self._known.get(what)
            if found is None or found[0] != key:
                found = (key, make())
                self._known[what] = found
                self.n_changes += 1
            return found[1]

    def put(self, what: str, key: object, value: object) -> None:
        """Store a value learned elsewhere."""
        with self._lock:
            self._known[what] = (key, value)
            self.n_changes += 1

    def last(self, what: str) -> tuple[Any, Any] | None:
        """Return the last key and value; None if there are none."""
        return self._known.get(what)

    def without(self, *what: str) -> Learned:
        """Return a copy without some entries."""
        return Learned({name: found for name, found in self._known.items() if name not in what})

    def __reduce__(self) -> tuple[Any, ...]:
        return Learned, (dict(self._known),)


@dataclass(frozen=True, eq=False, repr=False)
class Fitted:
    """A fitted model, which `fit` assigns to an estimator in one step.

    Parameters
    ----------
    schema, bins : Schema, Bins
        The columns, and the bins of their values.
    info : TargetInfo
        The classes and their shares, or the range of the targets.
    forest : Forest
        The trees.
    criterion : Criterion or str
        Split criterion.
    seed : int
        Seed of all draws.
    fingerprint : Fingerprint or None
        Fingerprint of the rows and bags of all trees; None if trees were grown on different ones.
    origins : tuple of Provenance
        The rows that trees have counted; empty if no rows can be added.
    rows : TrainingRows or None
        The training rows, if they have been kept.
    figures, learned : FitMetrics, Learned
        Metrics of the fit, and choices made on out-of-bag rows.
    outputs : tuple of Fitted
        For a multi-output model, a fit per column of y: the same trees, with leaves, metrics and choices of this
        output. Empty for a single output.
    """

    schema: Schema
    bins: Bins
    info: TargetInfo
    forest: Forest
    criterion: Any
    seed: int
    fingerprint: Fingerprint | None
    origins: tuple[Provenance, ...] = ()
    rows: TrainingRows | None = None
    figures: FitMetrics = field(default_factory=FitMetrics)
    learned: Learned = field(default_factory=Learned)
    outputs: tuple[Fitted, ...] = ()

    @property
    def oob_rows(self) -> TrainingRows | None:
        """Training rows, if some of them are out-of-bag; otherwise None."""
        return self.rows if self.rows is not None and self.rows.has_bags else None

    @property
    def counts_groups(self) -> bool:
        """Whether leaves count groups in place of rows."""
        return any(origin.leaf_counts == "groups" for origin in self.origins)

    @cached_property
    def wanted_features(self) -> NDArray[np.uint8] | None:
        """Mask (p,) of the features that trees use, if the table is wide; None means all."""
        if self.schema.n_features <= 64:
            return None
        wanted = np.zeros(self.schema.n_features, dtype=np.uint8)
        wanted[self.forest.used_features] = 1
        return wanted

    @cached_property
    def codebook(self) -> Codebook:
        """Meaning of the codes of the table."""
        rows = EXACT_ROWS + 1 if self.fingerprint is None else self.fingerprint.n_rows
        if self.origins:  # later rows do not change the bin edges
            rows = self.origins[0].bag_rows
        return Codebook(self.bins, self.schema, exact=rows <= EXACT_ROWS)

    @cached_property
    def cache(self) -> Cache:
        """Cache of predictors by parameters."""
        return Cache()

    @property
    def twin(self) -> Fitted:
        """A copy with another cache, for the predictors in the cache of this fit.

        This avoids a reference cycle, so memory is freed with the estimator.
        """
        return self.cache.get("twin", lambda: replace(self))

    @property
    def version(self) -> int | tuple[int, ...]:
        """Number of changes of `learned`; for multi-output models, one number per output."""
        if not self.outputs:
            return self.learned.n_changes
        return tuple(output.learned.n_changes for output in self.outputs)

    def tree(self, number: int) -> Tree:
        """Return one of the trees as an object to inspect and traverse."""
        if self.forest.values is not None:
            return RegressionTree(
                self.forest, number, self.bins, self.schema, self.criterion, self.impurities_in(number)
            )
        return Tree(self.forest, number, self.bins, self.schema, self.info.names, self.criterion)

    def trees(self) -> list[Tree]:
        """Return all trees."""
        return [self.tree(number) for number in range(self.forest.n_trees)]

    def alone(self, number: int) -> Fitted:
        """Return the fit of a single tree, without rows and metrics.

        It shares the arrays of the forest.
        """
        learned, impurities = Learned(), self.impurities_in(number)
        if impurities is not None:
            learned.put("impurities", None, impurities)
        forest = trees_between(self.forest, number, number + 1)
        shared = (self.schema, self.bins, self.info, forest, self.criterion, self.seed, self.fingerprint)
        return Fitted(*shared, learned=learned).with_outputs()

    def without_rows(self) -> Fitted:
        """Return the fit as pickles and files store it, without training rows."""
        outputs = tuple(output.without_rows() for output in self.outputs)
        return replace(self, rows=None, outputs=outputs)

    @property
    def impurities(self) -> NDArray[np.float64] | None:
        """Impurities of all nodes, if they are known and cannot be computed from leaves."""
        known = self.learned.last("impurities")
        return None if known is None else known[1]

    def impurities_in(self, number: int) -> NDArray[np.float64] | None:
        """Return the impurities of the nodes of one tree, if they are known."""
        known = self.impurities
        return None if known is None else known[slice(*self.forest.node_start[number : number + 2])]

    def importances(self) -> NDArray[np.float64]:
        """Return the normalised decrease in impurity of each tree by feature, (T, p)."""
        return impurity_importance(self.forest, self.schema.n_features, self.criterion, self.impurities)

    def with_outputs(self) -> Fitted:
        """Return a copy with a fit per output for a multi-output model; otherwise itself."""
        if not self.info.outputs:
            return self
        each = zip(self.info.outputs, self.forest.outputs(), strict=True)
        outputs = [replace(self, info=one, forest=forest, origins=(), learned=Learned()) for one, forest in each]
        if self.rows is not None:
            targets = self.rows.target.outputs
            outputs = [
                replace(output, rows=replace(self.rows, target=target))
                for output, target in zip(outputs, targets, strict=True)
            ]
        return replace(self, outputs=tuple(outputs))


def fitted_of(model: object) -> Fitted:
    """Return the `Fitted` of a fitted estimator of hedgerow."""
    fitted: Fitted | None = model.__dict__.get("_fitted")
    if fitted is None:
        check_is_fitted(model)
        raise TypeError(f"model must be a fitted estimator of hedgerow, got {type(model).__name__}.")
    return fitted


def publish(model: _Model, fitted: Fitted) -> _Model:
    """Assign a fit to an estimator and return the estimator."""
    model._fitted = fitted
    return model


def update_fitted(model: _Model, change: Callable[[Fitted | None], Fitted]) -> _Model:
    """Replace the fit of an estimator by the result of `change`.

    `change` gets None for an unfitted estimator. Threads that update the same estimator wait for each other.
    """
    while True:
        before: Fitted | None = model.__dict__.get("_fitted")
        with nullcontext() if before is None else before.learned.changing:
            if model.__dict__.get("_fitted") is not before:
                continue
            after = change(before)
            with _PUBLISHING:
                if model.__dict__.get("_fitted") is before:
                    return publish(model, after)


#: Held while the fit of an estimator is compared and replaced.
_PUBLISHING = Lock()
