"""Base: a table and labels -> a fitted forest, and everything one can ask it."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from hedgerow.bins import Bins, Codes, encode, find_bins
from hedgerow.criteria import Criterion
from hedgerow.decide import resolve_decision
from hedgerow.estimators.bagging import BaggingMixin, grow_until_flat
from hedgerow.estimators.criteria import choose_lam
from hedgerow.estimators.evidence import Evidence, Trial, choose_caution, score_sets, try_out
from hedgerow.estimators.labels import make_labels, read_classes, read_weights, weigh_rows
from hedgerow.estimators.opinions import Bagged
from hedgerow.estimators.parameters import check_opinion, check_switches, most_trees, resolve_settings, thread_count
from hedgerow.estimators.progress import CallbackSupport, batches, has_callbacks, progress_bar, with_callbacks
from hedgerow.estimators.structure import StructureMixin
from hedgerow.fold import StateCache
from hedgerow.grow import GrowSettings, Labels, grow_forest
from hedgerow.oob import stages
from hedgerow.prune import prune_forest
from hedgerow.table import Schema, Table, check_table, read_table, read_training_table, remember_features
from hedgerow.tree import Forest, Tree, decision_path, impurity_importance, join_forests

#: What one fit leaves behind and the next must not inherit.
_OF_ONE_FIT = (
    "oob_score_",
    "oob_decision_function_",
    "caution_",
    "tuning_",
    "tree_weights_",
    "max_features_",
    "max_features_errors_",
    "_bagged",
    "_traced",
    "_calibrated",
    "_learned",
)
#: Fingerprint of a forest whose trees were grown on different rows or bags.
MIXED = ("mixed",)
#: Rows are numbered in 32 bits.
MAX_ROWS = 2**31
#: Below this many rows one thread reads the trees: starting a second costs more than it saves.
_ROWS_PER_THREAD = 500


@dataclass(frozen=True)
class _Training:
    """A training table on its way through `fit`."""

    table: Table
    kept: NDArray[np.uint32] | None  # rows with weight above zero, None for all
    classes: NDArray[Any]
    labels: Labels
    settings: GrowSettings
    bag: object = None  # what two fits must share for the bags of one to be known to the other

    @property
    def prior(self) -> NDArray[np.float64]:
        """(K,): shares of the classes; one whose rows all weigh nothing counts as half a row."""
        counts = np.maximum(np.bincount(self.labels.numbers, minlength=len(self.classes)), 0.5)
        return np.asarray(counts / counts.sum(), dtype=np.float64)


class TreesClassifier(BaggingMixin, StructureMixin, ClassifierMixin, CallbackSupport, BaseEstimator):  # type: ignore[misc]
    """What all tree and forest classifiers share; the public classes are presets of it."""

    _splitter: ClassVar[str] = "best"
    _one_tree: ClassVar[bool] = False

    classes_: NDArray[Any]
    n_classes_: int
    n_features_in_: int
    forest_: Forest
    criterion_: Criterion

    @with_callbacks
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Grow the trees.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
            Numbers, booleans, categories or text; NaN, None and null are missing, infinities are values.
        y : array-like of shape (n_samples,)
            Labels.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights change splits and shares, never the amount of evidence: three rows are three rows.

        Returns
        -------
        self
        """
        check_switches(self)
        earlier = self._earlier_model()
        training = self._read_training(X, y, sample_weight, earlier)
        n_threads = thread_count(getattr(self, "n_jobs", None))
        bins = earlier._bins if earlier else find_bins(training.table, rows=training.kept, n_threads=n_threads)
        all_codes = encode(training.table, bins, n_threads=n_threads)
        codes = all_codes if training.kept is None else np.ascontiguousarray(all_codes[:, training.kept])
        training = replace(training, bag=self._bag_of(training, codes, earlier))
        training = self._settle_criterion(training, bins, codes, earlier, n_threads)
        training, chosen = self._choose_features(training, bins, codes, earlier is not None, n_threads)
        forest = self._grow(X, y, training, bins, codes, earlier, n_threads)
        judged = self._judge_out_of_bag(forest, all_codes, codes, training, n_threads)
        self._remember(training, bins, forest, judged | chosen)
        return self

    def predict(self, X: Any, return_set: bool = False) -> Any:
        """The most probable class of each sample.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
            Samples.
        return_set : bool, default=False
            Whether to return the set of classes that remain as well; pipelines pass this on.

        Returns
        -------
        y : ndarray of shape (n_samples,)
        chosen : bool ndarray of shape (n_samples, n_classes)
            As in `predict_set`; only with ``return_set=True``.
        """
        if not return_set:
            probability = self.predict_proba(X)
            return np.asarray(self.classes_[probability.argmax(axis=1)])
        opinion = self._opinion(self._codes(X))
        return np.asarray(self.classes_[opinion.probability.argmax(axis=1)]), self._decide(opinion)

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """One distribution per sample: with the rule "average", the mean of the class shares in the leaves reached.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        probability : ndarray of shape (n_samples, n_classes)
            Rows sum to one; columns as in ``classes_``.
        """
        codes = self._codes(X)
        if self._averages():
            return self.forest_.probability(codes, self._reading_threads(codes.shape[1]))
        return self._opinion(codes).probability

    def predict_log_proba(self, X: Any) -> NDArray[np.float64]:
        """Logarithm of `predict_proba`; minus infinity where a class has no share.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        log_probability : ndarray of shape (n_samples, n_classes)
        """
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(self.predict_proba(X)))

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
        return [
            Tree(self.forest_, number, self._bins, self._schema, self.classes_)
            for number in range(self.forest_.n_trees)
        ]

    @property
    def feature_importances_(self) -> NDArray[np.float64]:
        """(n_features,): share of the decrease in impurity, measured on the evidence in the leaves.

        Features with many values look more important than they are; permutation importance does not have this
        bias.
        """
        check_is_fitted(self)
        criterion = self.criterion_
        mean = np.mean([impurity_importance(tree, self.n_features_in_, criterion) for tree in self.trees_], axis=0)
        return np.asarray(mean / mean.sum() if mean.sum() > 0 else mean)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = True
        return tags

    # ---- stages of fit ------------------------------------------------------------

    def _earlier_model(self) -> _Earlier | None:
        """What a warm start builds upon."""
        if not getattr(self, "warm_start", False) or not hasattr(self, "forest_"):
            return None
        return _Earlier(self.forest_, self._bins, self._schema, self.classes_, self._seed, self._bag)

    def _bag_of(self, training: _Training, codes: Codes, earlier: _Earlier | None) -> object:
        """A fingerprint of rows and bags; a warm start on others cannot give out-of-bag figures."""
        settings = training.settings
        rows = (
            (zlib.crc32(training.labels.numbers.data), zlib.crc32(codes.data))
            if getattr(self, "warm_start", False)
            else None
        )
        bag = (rows, codes.shape[1], settings.bag_mean, settings.leaf_counts)
        asked = getattr(self, "oob_score", False) or isinstance(self.caution, str)
        if earlier and earlier.bag != bag and asked:
            raise ValueError(
                "X, y, bootstrap, max_samples and leaf_counts must be those of the first fit for out-of-bag figures in"
                " a warm start, got others; fit all trees at once, or without oob_score and caution='auto'"
            )
        return bag if not earlier or earlier.bag == bag else MIXED

    def _read_training(self, X: Any, y: Any, sample_weight: Any, earlier: _Earlier | None) -> _Training:
        """Check and read everything the user handed in; nothing of the estimator changes."""
        if earlier:
            table = read_table(X, earlier.schema)
        else:
            table = read_training_table(X, categorical_features=getattr(self, "categorical_features", None))
        if table.n_rows >= MAX_ROWS:
            raise ValueError(f"X must have fewer than 2**31 rows, got {table.n_rows}; train on a sample of them")
        classes, numbers = read_classes(y, table.n_rows)
        if earlier and not np.array_equal(classes, earlier.classes):
            raise ValueError(f"y must hold the classes of the first fit in a warm start, got {classes[:10]}")
        class_weight = getattr(self, "class_weight", None)
        weights = weigh_rows(numbers, classes, read_weights(sample_weight, table.n_rows), class_weight)
        kept = None
        if weights is not None and (weights == 0).any():
            kept = np.flatnonzero(weights).astype(np.uint32)
            numbers, weights = numbers[kept], weights[kept]
        balance_bag = isinstance(class_weight, str) and class_weight == "balanced_subsample"
        labels = make_labels(numbers, len(classes), weights, balance_bag=balance_bag)
        check_opinion(self)
        settings = resolve_settings(self, len(numbers), table.n_features, table.schema.names, len(classes))
        if earlier:  # trees go on as if all had been grown at once
            settings = replace(settings, seed=earlier.seed)
        if settings.monotonic and any(
            sign and nominal for sign, nominal in zip(settings.monotonic, table.schema.nominal, strict=True)
        ):
            raise ValueError("monotonic_cst must be 0 for nominal features, got a constraint on one")
        return _Training(table, kept, classes, labels, settings)

    def _settle_criterion(
        self, training: _Training, bins: Bins, codes: Codes, earlier: _Earlier | None, n_threads: int
    ) -> _Training:
        """Choose what the criterion leaves open; a warm start goes on with what was chosen."""
        settings = training.settings
        if settings.criterion.is_settled:
            return training
        if earlier:
            return replace(training, settings=replace(settings, criterion=self.criterion_))
        n_trees = 1 if self._one_tree else most_trees(self.n_estimators)
        criterion = choose_lam(codes, bins, training.labels, settings, n_trees, n_threads)
        return replace(training, settings=replace(settings, criterion=criterion))

    def _grow(
        self,
        X: Any,
        y: Any,
        training: _Training,
        bins: Bins,
        codes: Codes,
        earlier: _Earlier | None,
        n_threads: int,
    ) -> Forest:
        """Codes and labels -> the forest, with the trees of an earlier fit in front."""
        wanted = 1 if self._one_tree else most_trees(self.n_estimators)
        there = earlier.forest.n_trees if earlier else 0
        if wanted < there:
            raise ValueError(
                f"n_estimators must not be below the {there} trees there are in a warm start, got {wanted}"
            )
        if wanted == there and earlier:
            return earlier.forest
        grow = partial(self._grow_and_prune, training, bins, codes, n_threads)
        watch = None if self._one_tree else self._watch(training, codes, n_threads)
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

    def _grow_and_prune(self, training: _Training, bins: Bins, codes: Codes, n_threads: int, **which: Any) -> Forest:
        """Some of the trees, pruned."""
        settings = training.settings
        forest = grow_forest(codes, bins, training.labels, settings, n_threads=n_threads, **which)
        alpha = getattr(self, "ccp_alpha", 0.0)
        return prune_forest(forest, bins, training.table.schema, training.classes, settings.criterion, alpha)

    def _grow_with_callbacks(
        self,
        X: Any,
        y: Any,
        training: _Training,
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

    def _fitted_attributes(self, training: _Training, bins: Bins, forest: Forest) -> dict[str, Any]:
        """Everything that makes an estimator a fitted one."""
        schema = training.table.schema
        attributes: dict[str, Any] = {
            "classes_": training.classes,
            "n_classes_": len(training.classes),
            "n_features_in_": schema.n_features,
            "forest_": forest,
            "_bins": bins,
            "_schema": schema,
            "criterion_": training.settings.criterion,
            "_seed": training.settings.seed,
            "_bag": training.bag,
            "_prior": training.prior,
            "_cache": StateCache(),
        }
        if schema.names is not None:
            attributes["feature_names_in_"] = np.array(schema.names, dtype=object)
        return attributes

    def _judge_out_of_bag(
        self, forest: Forest, all_codes: Codes, codes: Codes, training: _Training, n_threads: int
    ) -> dict[str, Any]:
        """What is chosen and reported by looking at rows through the trees that have not seen them."""
        settings, labels = training.settings, training.labels.numbers
        if settings.bag_mean == 0 or training.bag == MIXED:
            return {}
        counted = settings.leaf_counts in ("all", "oob")
        bagged = Bagged(codes, labels, settings.seed, settings.bag_mean, counted)
        judged: dict[str, Any] = {"_bagged": bagged}
        rule, caution = self._rule, 1.0 if isinstance(self.caution, str) else float(self.caution)
        evidence = Evidence(forest, codes, rule, caution, training.prior, bagged.out_of_bag, n_threads)
        if isinstance(self.caution, str):
            caution = judged["caution_"] = choose_caution(evidence, training.classes, labels, self.decision)
        decision = resolve_decision(self.decision)
        if not (getattr(self, "oob_score", False) or rule.needs_weights or decision.needs_calibration):
            return judged
        trial, seen = try_out(evidence, labels, rule, caution, decision)
        if rule.needs_weights:
            judged |= {"tree_weights_": trial.weights, "_learned": (caution, trial.weights)}
        if decision.needs_calibration:
            judged["_calibrated"] = ((repr(decision), repr(rule), caution), trial.decision)
        if getattr(self, "oob_score", False):
            judged |= self._score_out_of_bag(replace(evidence, caution=caution), trial, seen, all_codes, training)
        return judged

    def _score_out_of_bag(
        self, evidence: Evidence, trial: Trial, seen: NDArray[np.bool_], all_codes: Codes, training: _Training
    ) -> dict[str, Any]:
        """``oob_score_``, on the rows that some tree can judge, and ``oob_decision_function_``, for all."""
        metric, classes = self.oob_score, training.classes
        y = classes[training.labels.numbers][seen]
        probability = evidence.combine(weights=trial.weights).probability[seen]
        if callable(metric):
            score = float(metric(y, classes[probability.argmax(axis=1)]))
        else:
            score = score_sets("accuracy" if metric is True else metric, classes, y, trial.opinion, trial.sets)
        whole = evidence.forest.probability(all_codes, evidence.n_threads)  # rows without weight: no tree has seen them
        kept = np.arange(len(whole)) if training.kept is None else training.kept
        whole[kept] = 1 / len(classes)
        whole[kept[seen]] = probability
        return {"oob_decision_function_": whole, "oob_score_": score}

    def _remember(self, training: _Training, bins: Bins, forest: Forest, judged: dict[str, Any]) -> None:
        """The only place where a fit changes the estimator: after everything has succeeded."""
        for name in _OF_ONE_FIT:
            self.__dict__.pop(name, None)
        for name, value in (self._fitted_attributes(training, bins, forest) | judged).items():
            setattr(self, name, value)
        remember_features(self, training.table.schema)

    def __getstate__(self) -> dict[str, Any]:
        """Without the binned training table and what can be computed again."""
        state: dict[str, Any] = super().__getstate__()
        return {name: value for name, value in state.items() if name not in ("_bagged", "_cache")}

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
        if n_rows < 2 * _ROWS_PER_THREAD:
            return 1
        allowed = thread_count(getattr(self, "n_jobs", None))
        return max(1, min(allowed, n_rows // _ROWS_PER_THREAD))


@dataclass(frozen=True)
class _Earlier:
    """The model a warm start adds trees to."""

    forest: Forest
    _bins: Bins
    schema: Schema
    classes: NDArray[Any]
    seed: int
    bag: object
