"""Trees: what all trees and forests share, whatever they predict: growing, remembering, finding leaves."""

from __future__ import annotations

import zlib
from abc import ABC, abstractmethod
from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from hedgerow.estimators.bagging import grow_until_flat
from hedgerow.estimators.structure import StructureMixin
from hedgerow.fit.checkpoint import Checkpoint
from hedgerow.fit.parameters import check_n_jobs, most_trees, thread_count
from hedgerow.fit.progress import CallbackSupport, batches, has_callbacks, progress_bar
from hedgerow.forest.forest import Forest, join_forests
from hedgerow.forest.grow import GrowSettings, grow_forest
from hedgerow.forest.rows import Origin
from hedgerow.forest.walk import Tree, decision_path
from hedgerow.judge.oob import stages
from hedgerow.table import Schema, check_table, remember_features
from hedgerow.table.bins import Bins, Codes, encode
from hedgerow.table.schema import ListedColumns

#: Fingerprint of a forest whose trees were grown on different rows or bags.
MIXED = ("mixed",)
#: Rows are numbered in 32 bits.
MAX_ROWS = 2**31
#: Below this many rows one thread reads the trees: starting a second costs more than it saves.
_ROWS_PER_THREAD = 500


class TreesEstimator(StructureMixin, CallbackSupport, BaseEstimator, ABC):  # type: ignore[misc]
    """What classifiers and regressors share; see `TreesClassifier` and `TreesRegressor`."""

    _splitter: ClassVar[str] = "best"
    _one_tree: ClassVar[bool] = False
    #: What one fit leaves behind and the next must not inherit.
    _of_one_fit: ClassVar[tuple[str, ...]] = ()
    #: The binned training table, and what can be computed again.
    _not_pickled: ClassVar[tuple[str, ...]] = ()

    n_features_in_: int
    forest_: Forest
    _bins: Bins
    _schema: Schema
    _seed: int
    _bag: Any
    _origins: tuple[Origin, ...]

    def apply(self, X: Any) -> NDArray[np.int32]:
        """The leaf each sample reaches, as the number of the node within its tree.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        leaves : ndarray of shape (n_samples, n_trees), or (n_samples,) for a single tree
        """
        codes = self._codes(X)
        nodes = self.forest_.leaf_nodes(codes, self._reading_threads(codes.shape[1]))
        return nodes[:, 0] if self._one_tree else nodes

    def decision_path(self, X: Any) -> Any:
        """The nodes each sample passes.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        indicator : sparse array of shape (n_samples, n_nodes)
            1 where a sample passes a node; the nodes of all trees stand side by side.
        n_nodes_ptr : ndarray of shape (n_trees + 1,)
            Where each tree's nodes begin. Not returned for a single tree.
        """
        codes = self._codes(X)
        nodes = self.forest_.leaf_nodes(codes, self._reading_threads(codes.shape[1]))
        path: sparse.csr_array = decision_path(self.forest_, self.trees_, nodes)
        return path if self._one_tree else (path, self.forest_.node_start.copy())

    @property
    def trees_(self) -> list[Tree]:
        """The trees, to look at and to walk."""
        check_is_fitted(self)
        return [self._tree(number) for number in range(self.forest_.n_trees)]

    def to_sklearn(self) -> Any:
        """The same trees as an estimator of scikit-learn; see `hedgerow.exchange.export.to_sklearn`.

        Returns
        -------
        estimator of scikit-learn
            With equal predictions; all features must be numeric.
        """
        from hedgerow.exchange.export.sklearn import to_sklearn

        return to_sklearn(self)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = True
        return tags

    # ---- stages of fit ------------------------------------------------------------

    def _earlier_model(self) -> Earlier | None:
        """What a warm start builds upon."""
        if not getattr(self, "warm_start", False) or not hasattr(self, "forest_"):
            return None
        classes = getattr(self, "classes_", None)
        return Earlier(self.forest_, self._bins, self._schema, classes, self._seed, self._known_bag())

    def _known_bag(self) -> object:
        """The fingerprint of rows and bags; that of the rows is found from them where they have been kept."""
        seen: Seen | None = getattr(self, "_seen", None)
        if seen is None or self._bag == MIXED:
            return self._bag
        return (rows_of(seen.training.identity, seen.codes), *self._bag[1:])

    def _grow(
        self,
        X: Any,
        y: Any,
        training: Any,
        bins: Bins,
        codes: Codes,
        earlier: Earlier | None,
        n_threads: int,
        how: Growing,
    ) -> Forest:
        """Codes and labels -> the forest, with the trees of an earlier fit in front."""
        there = earlier.forest.n_trees if earlier else 0
        wanted = how.n_trees or (1 if self._one_tree else most_trees(self.n_estimators))
        if wanted < there:
            raise ValueError(
                f"n_estimators must not be below the {there} trees there are in a warm start, got {wanted}"
            )
        if wanted == there and earlier:
            return earlier.forest
        grow: Callable[..., Forest] = partial(self._grow_and_prune, training, bins, codes, n_threads)
        if how.checkpoint:
            made_of = (training.labels, codes, bins, training.settings, getattr(self, "ccp_alpha", 0.0))
            grow = how.checkpoint.around(grow, type(self).__name__, *made_of, n_threads=n_threads)
        watch = None if self._one_tree or how.n_trees else self._watch(training, codes, n_threads)
        if has_callbacks(self):
            spans = list(stages()) if watch else batches(there, wanted, n_threads)
            forest = self._grow_with_callbacks(X, y, training, bins, grow, spans, watch)
        else:
            with progress_bar(getattr(self, "verbose", 0), wanted - there) as progress:
                if watch:
                    forest = grow_until_flat(grow, watch, progress)
                else:
                    forest = grow(first_tree=there, n_trees=wanted - there, progress=progress)
        return join_forests(earlier.forest, forest) if earlier else forest

    def _grow_and_prune(self, training: Any, bins: Bins, codes: Codes, n_threads: int, **which: Any) -> Forest:
        """Some of the trees, pruned."""
        forest = grow_forest(codes, bins, training.labels, training.settings, n_threads=n_threads, **which)
        return self._prune(forest, bins, training)

    def _grow_with_callbacks(
        self,
        X: Any,
        y: Any,
        training: Any,
        bins: Bins,
        grow: Callable[..., Forest],
        spans: list[tuple[int, int]],
        watch: Callable[[Forest], bool] | None,
    ) -> Forest:
        """Grow in batches and tell scikit-learn's callbacks after each; one that says stop ends it there."""
        context = self._init_callback_context(max_subtasks=len(spans))
        context.call_on_fit_task_begin(estimator=self, X=X, y=y)
        forest: Forest | None = None
        for first, last in spans:
            step = context.subcontext(task_name="trees").call_on_fit_task_begin(estimator=self, X=X, y=y)
            grown = grow(first_tree=first, n_trees=last - first)
            forest = join_forests(forest, grown) if forest else grown
            so_far = partial(self._fitted_attributes, training, bins, forest)
            if step.call_on_fit_task_end(estimator=self, X=X, y=y, reconstruction_attributes=so_far):
                break
            if watch and watch(forest):
                break
        assert forest is not None
        so_far = partial(self._fitted_attributes, training, bins, forest)
        context.call_on_fit_task_end(estimator=self, X=X, y=y, reconstruction_attributes=so_far)
        return forest

    def _remember(self, training: Any, bins: Bins, forest: Forest, judged: dict[str, Any]) -> None:
        """The only place where a fit changes the estimator: after everything has succeeded."""
        for name in self._of_one_fit:
            self.__dict__.pop(name, None)
        for name, value in (self._fitted_attributes(training, bins, forest) | judged).items():
            setattr(self, name, value)
        remember_features(self, training.table.schema)

    def __copy__(self) -> Self:
        """All of it: what pickles leave out to be small, a copy in memory need not lose."""
        copied = type(self).__new__(type(self))
        copied.__dict__.update(self.__dict__)
        return copied

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        """The same with arrays of its own, but for states that are computed again when asked for."""
        copied = type(self).__new__(type(self))
        memo[id(self)] = copied
        for name, value in self.__dict__.items():
            if name != "_cache":
                copied.__dict__[name] = deepcopy(value, memo)
        return copied

    def __getstate__(self) -> dict[str, Any]:
        """Without the binned training table and what can be computed again."""
        state: dict[str, Any] = super().__getstate__()
        return {name: value for name, value in state.items() if name not in self._not_pickled}

    # ---- what classifiers and regressors do in their own way -------------------------

    @abstractmethod
    def _tree(self, number: int) -> Tree:
        """A tree of the fitted forest."""

    @abstractmethod
    def _prune(self, forest: Forest, bins: Bins, training: Any) -> Forest:
        """Cut the branches that are not worth ``ccp_alpha`` a leaf."""

    def _watch(self, training: Any, codes: Codes, n_threads: int) -> Callable[[Forest], bool] | None:
        """What looks at a growing forest and says when it is large enough; None where the number of trees is given."""
        return None

    @abstractmethod
    def _fitted_attributes(self, training: Any, bins: Bins, forest: Forest) -> dict[str, Any]:
        """Everything that makes an estimator a fitted one."""

    # ---- reading ------------------------------------------------------------------

    def _codes(self, X: Any) -> Codes:
        """Samples -> codes (p, n); of a wide table only the features that some tree looks at."""
        check_is_fitted(self)
        table = check_table(self, X, self._schema)
        wanted = None
        if table.n_features > 64:
            wanted = np.zeros(table.n_features, dtype=np.uint8)
            wanted[self.forest_.used_features] = 1
        return encode(table, self._bins, wanted=wanted, n_threads=self._reading_threads(table.n_rows))

    def _reading_threads(self, n_rows: int) -> int:
        """More rows, more threads, up to what `n_jobs` allows."""
        check_n_jobs(getattr(self, "n_jobs", None))
        if n_rows < 2 * _ROWS_PER_THREAD:
            return 1
        allowed = thread_count(getattr(self, "n_jobs", None))
        return max(1, min(allowed, n_rows // _ROWS_PER_THREAD))


@dataclass(frozen=True)
class Growing:
    """What a call says about growing that no parameter does.

    Parameters
    ----------
    n_trees : int or None
        Trees there shall be in all; None for what the parameters say.
    checkpoint : Checkpoint or None
        Where trees are kept as they are grown.
    """

    n_trees: int | None = None
    checkpoint: Checkpoint | None = None


@dataclass(frozen=True, eq=False, repr=False)
class Seen:
    """The binned rows a forest has counted, for trees that are to be grown on them later.

    They stay with the fitted forest (a byte or two per cell) and are left out of pickles and model files.
    """

    training: Any  # without the values of its table
    codes: Codes
    all_codes: Codes  # rows without weight among them

    @classmethod
    def of(cls, training: Any, codes: Codes, all_codes: Codes) -> Seen:
        """What is worth keeping of a training table."""
        bare = replace(training.table, columns=ListedColumns([], training.table.n_rows), unseen=None)
        return cls(replace(training, table=bare), codes, all_codes)


@dataclass(frozen=True)
class Earlier:
    """The model a warm start adds trees to."""

    forest: Forest
    _bins: Bins
    schema: Schema
    classes: Any  # the labels of a classifier
    seed: int
    bag: object


def bag_of(labels: NDArray[Any], codes: Codes, settings: GrowSettings, *, warm_start: bool) -> object:
    """A fingerprint of rows and bags, which two fits must share for the bags of one to be known to the other."""
    rows = rows_of(labels, codes) if warm_start else None
    return (rows, codes.shape[1], settings.bag_mean, settings.leaf_counts)


def rows_of(labels: NDArray[Any], codes: Codes) -> tuple[int, int]:
    """Labels (n,) or (n, K), codes (p, n) -> their checksums."""
    return zlib.crc32(np.ascontiguousarray(labels).data), zlib.crc32(np.ascontiguousarray(codes).data)


def schema_attributes(schema: Schema) -> dict[str, Any]:
    """What scikit-learn expects to be known of the features."""
    attributes: dict[str, Any] = {"n_features_in_": schema.n_features}
    if schema.names is not None:
        attributes["feature_names_in_"] = np.array(schema.names, dtype=object)
    return attributes
