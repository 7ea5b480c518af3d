"""The fit of an estimator, which never changes, and the values that are learned out of bag later."""

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
from hedgerow.forest.importance import impurity_importance
from hedgerow.forest.rows import Provenance
from hedgerow.forest.target import TargetInfo
from hedgerow.forest.training import Fingerprint, TrainingRows
from hedgerow.forest.walk import RegressionTree, Tree
from hedgerow.table import Schema
from hedgerow.table.bins import EXACT_ROWS, Bins
from hedgerow.table.codebook import Codebook

_Value = TypeVar("_Value")
_Model = TypeVar("_Model")


@dataclass(frozen=True, eq=False, repr=False)
class FitMetrics:
    """Metrics and choices of a fit; None for those that were not computed.

    Parameters
    ----------
    oob_score : float
        How good the forest is on out-of-bag rows.
    oob_answers : (n, K) or (n,) float64
        Out-of-bag probabilities or predictions for the training rows.
    max_features, max_features_errors : int, dict
        The number of features that was chosen on out-of-bag rows, and the errors with all numbers that were tried.
    label_shares : (n, K) float64
        Expected shares of the classes, if labels were uncertain.
    tuning : list of (float, dict)
        Scores of the settings that `tune` has tried.
    """

    oob_score: float | None = None
    oob_predictions: NDArray[np.float64] | None = None
    max_features: int | None = None
    max_features_errors: dict[int, float] | None = None
    label_shares: NDArray[np.float64] | None = None
    tuning: list[tuple[float, dict[str, Any]]] | None = None


class Learned:
    """What was chosen on out-of-bag rows, under a key: the parameters for which it was chosen. Threads may share it.

    Nothing has to be invalidated by hand, because other parameters have another key.
    """

    def __init__(self, known: dict[str, tuple[Any, Any]] | None = None) -> None:
        self._known = dict(known or {})
        self._lock = RLock()
        #: How often something was learned.
        self.n_changes = 0
        #: Held while another fit is made from this one, so that two threads do not start from the same fit.
        self.changing = RLock()

    def get(self, what: str, key: Any, make: Callable[[], _Value]) -> _Value:
        """What was learned under this key; `make` is called if nothing was."""
        found = self._known.get(what)
        if found is not None and found[0] == key:
            return found[1]  # type: ignore[no-any-return]
        with self._lock:
            found = self._known.get(what)
            if found is None or found[0] != key:
                found = (key, make())
                self._known[what] = found
                self.n_changes += 1
            return found[1]

    def put(self, what: str, key: Any, value: Any) -> None:
        """Store something that has been learned elsewhere."""
        with self._lock:
            self._known[what] = (key, value)
            self.n_changes += 1

    def last(self, what: str) -> tuple[Any, Any] | None:
        """The key and the value that were learned last; None if there are none yet."""
        return self._known.get(what)

    def without(self, *what: str) -> Learned:
        """The same without some of its entries."""
        return Learned({name: found for name, found in self._known.items() if name not in what})

    def __reduce__(self) -> tuple[Any, ...]:
        return Learned, (dict(self._known),)


@dataclass(frozen=True, eq=False, repr=False)
class Fitted:
    """A fitted model. An estimator holds one, and a fit replaces it by another in one assignment.

    Parameters
    ----------
    schema, bins : Schema, Bins
        The columns, and how their values become codes.
    about : About
        The classes and their shares, or the range of the numbers.
    forest : Forest
        The trees.
    criterion : Criterion or str
        The criterion of the splits.
    seed : int
        The seed of all draws.
    fingerprint : Fingerprint or None
        The fingerprint of the rows and bags of all trees; None if trees were grown on different ones.
    origins : tuple of Origin
        The rows that trees have counted; empty if no rows can be added.
    rows : TrainingRows or None
        The training rows, if they have been kept.
    figures, learned : Figures, Learned
        What the fit reports, and what has been learned on out-of-bag rows.
    outputs : tuple of Fitted
        If y has several columns, a fit for each column: the same trees, with the leaves and figures of this
        output, and what is learned of it. Empty for a single output.
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
        """The training rows, if some of them are out-of-bag; otherwise None."""
        return self.rows if self.rows is not None and self.rows.has_bags else None

    @cached_property
    def wanted_features(self) -> NDArray[np.uint8] | None:
        """(p,): which features some tree uses, if the table is wide; None means all."""
        if self.schema.n_features <= 64:
            return None
        wanted = np.zeros(self.schema.n_features, dtype=np.uint8)
        wanted[self.forest.used_features] = 1
        return wanted

    @cached_property
    def codebook(self) -> Codebook:
        """The meaning of the codes of the table."""
        rows = EXACT_ROWS + 1 if self.fingerprint is None else self.fingerprint.n_rows
        if self.origins:  # later rows do not change the cuts
            rows = self.origins[0].bag_rows
        return Codebook(self.bins, self.schema, exact=rows <= EXACT_ROWS)

    @cached_property
    def cache(self) -> Cache:
        """Predictors under the parameters used last."""
        return Cache()

    @property
    def twin(self) -> Fitted:
        """The same fit with another cache, for predictors, to which this fit refers.

        Without a cycle, memory is free as soon as an estimator is.
        """
        return self.cache.get("twin", lambda: replace(self))

    @property
    def version(self) -> int | tuple[int, ...]:
        """How often something was learned; one number for each output, if there are several."""
        if not self.outputs:
            return self.learned.n_changes
        return tuple(output.learned.n_changes for output in self.outputs)

    def tree(self, number: int) -> Tree:
        """One of the trees, as an object to read and walk through."""
        if self.forest.values is not None:
            return RegressionTree(
                self.forest, number, self.bins, self.schema, self.criterion, self.impurities_in(number)
            )
        return Tree(self.forest, number, self.bins, self.schema, self.info.names, self.criterion)

    def trees(self) -> list[Tree]:
        """All trees."""
        return [self.tree(number) for number in range(self.forest.n_trees)]

    def alone(self, number: int) -> Fitted:
        """The fit of a single tree, which shares the arrays of the forest; it has no rows and no figures."""
        learned, impurities = Learned(), self.impurities_in(number)
        if impurities is not None:
            learned.put("impurities", None, impurities)
        forest = trees_between(self.forest, number, number + 1)
        told = (self.schema, self.bins, self.info, forest, self.criterion, self.seed, self.fingerprint)
        return Fitted(*told, learned=learned).with_outputs()

    def without_rows(self) -> Fitted:
        """The fit as a pickle or a file stores it: without the training rows and what can be computed again."""
        outputs = tuple(output.without_rows() for output in self.outputs)
        return replace(self, rows=None, outputs=outputs)

    @property
    def impurities(self) -> NDArray[np.float64] | None:
        """The impurity of every node, end to end, if it cannot be computed from leaves and is known."""
        known = self.learned.last("impurities")
        return None if known is None else known[1]

    def impurities_in(self, number: int) -> NDArray[np.float64] | None:
        """The same for the nodes of one tree."""
        known = self.impurities
        return None if known is None else known[slice(*self.forest.node_start[number : number + 2])]

    def importances(self) -> NDArray[np.float64]:
        """(T, p): how much splits on each feature decrease the impurity, as shares of each tree."""
        return impurity_importance(self.forest, self.schema.n_features, self.criterion, self.impurities)

    def with_outputs(self) -> Fitted:
        """The same with a fit for each output, if there are several."""
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


def fitted_of(model: Any) -> Fitted:
    """A fitted estimator of hedgerow -> its `Fitted`."""
    fitted: Fitted | None = model.__dict__.get("_fitted")
    if fitted is None:
        check_is_fitted(model)
        raise TypeError(f"model must be a fitted estimator of hedgerow, got {type(model).__name__}")
    return fitted


def publish(model: _Model, fitted: Fitted) -> _Model:
    """Publish a fit: the one assignment that makes an estimator a fitted one."""
    model._fitted = fitted  # type: ignore[attr-defined]
    return model


def update_fitted(model: _Model, change: Callable[[Fitted | None], Fitted]) -> _Model:
    """Replace the fit of an estimator by one that `change` makes of it; `change` gets None if there is no fit yet.

    If several threads change an estimator, one waits for the other and starts from its result.
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
