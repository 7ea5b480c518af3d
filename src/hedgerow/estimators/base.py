"""Base: a table and labels -> a fitted classifier, and everything one can ask it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal, Self, overload

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from hedgerow.decide import resolve_decision
from hedgerow.estimators.bagging import BaggingMixin
from hedgerow.estimators.later import LaterClassifier
from hedgerow.estimators.opinions import Bagged
from hedgerow.estimators.trees import (
    MAX_ROWS,
    MIXED,
    Earlier,
    Growing,
    Seen,
    TreesEstimator,
    bag_of,
    schema_attributes,
)
from hedgerow.fit.checkpoint import Checkpoint
from hedgerow.fit.parameters import (
    check_opinion,
    check_switches,
    most_trees,
    resolve_max_features,
    resolve_settings,
    thread_count,
)
from hedgerow.fit.progress import with_callbacks
from hedgerow.fit.refine import Blurred, own_weights, refine, settings_for_shares, weigh_blurred
from hedgerow.forest.fold import StateCache
from hedgerow.forest.forest import Forest
from hedgerow.forest.grow import GrowSettings
from hedgerow.forest.prune import prune
from hedgerow.forest.rows import Origin, weight_steps
from hedgerow.forest.walk import Tree, impurity_importance
from hedgerow.judge.choose import choose_lam
from hedgerow.judge.evidence import Evidence, Trial, choose_caution, score_sets, try_out
from hedgerow.table import Table, read_table, read_training_table
from hedgerow.table.bins import Bins, Codes, encode, find_bins
from hedgerow.target.base import Labels
from hedgerow.target.classes import (
    among_classes,
    labels_as_given,
    make_labels,
    read_classes,
    read_uncertain,
    read_weights,
    weigh_rows,
)
from hedgerow.target.criteria import Criterion
from hedgerow.target.uncertain import read_labels


@dataclass(frozen=True)
class _Training:
    """A training table on its way through `fit`."""

    table: Table
    kept: NDArray[np.uint32] | None  # rows with weight above zero, None for all
    classes: NDArray[Any]
    labels: Labels
    settings: GrowSettings
    weights: NDArray[np.float64] | None = None  # of the rows that are kept, as given, times those of their classes
    blurred: Blurred | None = None  # rows whose labels are uncertain
    shares: NDArray[np.float64] | None = None  # (n, K) expected shares of their classes, once known
    bag: object = None  # what two fits must share for the bags of one to be known to the other

    @property
    def prior(self) -> NDArray[np.float64]:
        """(K,): shares of the classes; one whose rows all weigh nothing counts as half a row."""
        if self.shares is not None:
            counts = np.maximum(self.shares.sum(axis=0), 0.5)
        else:
            counts = np.maximum(np.bincount(self.labels.numbers, minlength=len(self.classes)), 0.5)
        return np.asarray(counts / counts.sum(), dtype=np.float64)

    def origin(self, n_trees: int, first_tree: int) -> Origin:
        """What trees that were grown on these rows know of them."""
        settings, labels = self.settings, self.labels
        n_rows, scale = len(self.numbers), 1.0
        if self.shares is None:
            rows = np.bincount(labels.numbers, minlength=len(self.classes)).astype(np.float64)
        else:
            rows = self.shares.sum(axis=0)
        if self.weights is not None:
            held = None if labels.weights is None or labels.rows is not None else labels.weights * labels.weight_unit
            scale = 1.0 if held is not None and np.array_equal(held, self.weights) else float(self.weights.max())
        return Origin(
            n_trees,
            first_tree,
            settings.seed,
            settings.bag_mean,
            settings.leaf_counts,
            n_rows,
            n_rows,
            tuple(rows.tolist()),
            scale,
            weight_steps(labels.weights, labels.weight_unit),
        )

    @property
    def identity(self) -> NDArray[Any]:
        """What two trainings with the same labels share."""
        return self.labels.numbers if self.shares is None else self.shares

    @property
    def numbers(self) -> NDArray[np.uint16]:
        """(n,): the class of each row, the most probable one where it is uncertain."""
        return self.labels.numbers if self.shares is None else self.shares.argmax(axis=1).astype(np.uint16)

    def with_seed(self, seed: int) -> _Training:
        """The same, grown with another seed."""
        return replace(self, settings=replace(self.settings, seed=seed))

    def bagged(self, codes: Codes) -> Bagged:
        """Codes (p, n) of the rows -> which trees have seen them, and what they added to their leaves."""
        settings = self.settings
        counted = settings.leaf_counts in ("all", "oob")
        bagged = Bagged(codes, self.numbers, settings.seed, settings.bag_mean, counted)
        if self.blurred is None:
            return bagged
        return replace(bagged, own=own_weights(self.labels, codes.shape[1]), known=self.blurred.labels.certain)


class TreesClassifier(BaggingMixin, LaterClassifier, ClassifierMixin, TreesEstimator):  # type: ignore[misc]
    """What all tree and forest classifiers share; the public classes are presets of it."""

    _of_one_fit = (
        "oob_score_",
        "oob_decision_function_",
        "caution_",
        "_cautious",
        "tuning_",
        "tree_weights_",
        "max_features_",
        "max_features_errors_",
        "label_shares_",
        "_bagged",
        "_seen",
        "_traced",
        "_calibrated",
        "_learned",
    )
    _not_pickled = ("_bagged", "_seen", "_cache", "_cautious")

    classes_: NDArray[Any]
    n_classes_: int
    criterion_: Criterion

    @with_callbacks
    def fit(self, X: Any, y: Any, sample_weight: Any = None, *, checkpoint: Any = None) -> Self:
        """Grow the trees.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
            Numbers, booleans, categories or text; NaN, None and null are missing, infinities are values.
        y : array-like of shape (n_samples,), or UncertainLabels
            Labels. Where they are uncertain: sets of possible classes, or what `hedgerow.labels` makes of
            plausibilities and masses.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights change splits and shares, never the amount of evidence: three rows are three rows.
        checkpoint : str or path, default=None
            A folder that keeps trees as they are grown: the same call goes on after an interruption and ends with the
            same forest, bit for bit.

        Returns
        -------
        self
        """
        return self._fit(X, y, sample_weight, checkpoint=checkpoint)

    def _fit(self, X: Any, y: Any, sample_weight: Any, *, checkpoint: Any = None, classes: Any = None) -> Self:
        """The flow: check, table, bins, grow, count. Classes that are declared need not all occur."""
        check_switches(self)
        saved = None if checkpoint is None else Checkpoint(checkpoint)
        earlier = self._earlier_model()
        training = self._read_training(X, y, sample_weight, earlier, classes)
        if saved:
            training = training.with_seed(saved.seed(self.random_state, training.settings.seed))
        n_threads = thread_count(getattr(self, "n_jobs", None))
        bins = earlier._bins if earlier else find_bins(training.table, rows=training.kept, n_threads=n_threads)
        all_codes = encode(training.table, bins, n_threads=n_threads)
        codes = all_codes if training.kept is None else np.ascontiguousarray(all_codes[:, training.kept])
        training = self._with_shares(training, bins, codes, n_threads)
        training = replace(training, bag=self._bag_of(training, codes, earlier))
        self._finish_fit(X, y, training, bins, (codes, all_codes), earlier, Growing(checkpoint=saved))
        return self

    def _finish_fit(
        self,
        X: Any,
        y: Any,
        training: _Training,
        bins: Bins,
        both_codes: tuple[Codes, Codes],
        earlier: Earlier | None,
        how: Growing,
    ) -> None:
        """From codes, of the rows that have weight and of all, to a fitted forest."""
        codes, all_codes = both_codes
        n_threads = thread_count(getattr(self, "n_jobs", None))
        training = self._settle_criterion(training, bins, codes, earlier, n_threads)
        training, chosen = self._choose_features(training, bins, codes, earlier is not None, n_threads)
        forest = self._grow(X, y, training, bins, codes, earlier, n_threads, how)
        judged = self._judge_out_of_bag(forest, all_codes, codes, training, n_threads)
        if not self._one_tree and training.bag != MIXED:
            judged["_seen"] = Seen.of(training, codes, all_codes)
        if self._can_be_added_to:
            judged["_origins"] = self._origins_after(training, forest, earlier)
        self._remember(training, bins, forest, judged | chosen)

    @overload
    def predict(self, X: Any, return_set: Literal[False] = False) -> NDArray[Any]: ...
    @overload
    def predict(self, X: Any, return_set: Literal[True]) -> tuple[NDArray[Any], NDArray[np.bool_]]: ...
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

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Accuracy of `predict`; of uncertain labels, how plausible they find what is predicted.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
            Samples.
        y : array-like of shape (n_samples,), or UncertainLabels
            Labels as in `fit`.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the samples in the mean.

        Returns
        -------
        score : float
            The share of right predictions; where a label is a set, of predictions in the set.
        """
        labels = read_labels(y)
        if labels is None:
            return float(super().score(X, labels_as_given(y), sample_weight))
        return float(np.average(labels.plausibility_of(self.predict(X)), weights=sample_weight))

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

    @classmethod
    def _tree_shape(cls, n_classes: int) -> tuple[int, int | None]:
        """K -> classes that a leaf counts, and how many trees there must be (None: any number)."""
        return n_classes, 1 if cls._one_tree else None

    # ---- stages of fit ------------------------------------------------------------

    def _bag_of(self, training: _Training, codes: Codes, earlier: Earlier | None) -> object:
        """A fingerprint of rows and bags; a warm start on others cannot give out-of-bag figures."""
        warm_start = getattr(self, "warm_start", False)
        bag = bag_of(training.identity, codes, training.settings, warm_start=warm_start)
        asked = getattr(self, "oob_score", False) or isinstance(self.caution, str)
        if earlier and earlier.bag != bag and asked:
            raise ValueError(
                "X, y, bootstrap, max_samples and leaf_counts must be those of the first fit for out-of-bag figures in"
                " a warm start, got others; fit all trees at once, or without oob_score and caution='auto'"
            )
        return bag if not earlier or earlier.bag == bag else MIXED

    def _read_training(
        self, X: Any, y: Any, sample_weight: Any, earlier: Earlier | None, declared: Any = None
    ) -> _Training:
        """Check and read everything the user handed in; nothing of the estimator changes."""
        if earlier:
            table = read_table(X, earlier.schema)
        else:
            table = read_training_table(X, categorical_features=getattr(self, "categorical_features", None))
        if table.n_rows >= MAX_ROWS:
            raise ValueError(f"X must have fewer than 2**31 rows, got {table.n_rows}; train on a sample of them")
        uncertain = read_labels(y)
        if uncertain is None:
            classes, numbers = read_classes(y, table.n_rows)
        else:
            classes, numbers = read_uncertain(uncertain, table.n_rows)
        if declared is not None:
            classes, numbers = declared, among_classes(classes, declared)[numbers]
        if earlier and not np.array_equal(classes, earlier.classes):
            raise ValueError(f"y must hold the classes of the first fit in a warm start, got {classes[:10]}")
        class_weight = getattr(self, "class_weight", None)
        weights = read_weights(sample_weight, table.n_rows)
        blurred: Blurred | None = None
        if uncertain is None or uncertain.certain.all():
            weights = weigh_rows(numbers, classes, weights, class_weight)
        else:
            weights, blurred = weigh_blurred(uncertain, weights, class_weight)
        kept = None
        if weights is not None and (weights == 0).any():
            kept = np.flatnonzero(weights).astype(np.uint32)
            numbers, weights = numbers[kept], weights[kept]
            blurred = blurred.of_rows(kept) if blurred else None
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
        return _Training(table, kept, classes, labels, settings, weights, blurred)

    def _with_shares(self, training: _Training, bins: Bins, codes: Codes, n_threads: int) -> _Training:
        """Rows of uncertain class get expected shares of the classes, and with them labels to grow trees on."""
        if training.blurred is None:
            return training
        blurred, settings = training.blurred, settings_for_shares(training.settings, codes.shape[1])
        shares = refine(blurred, codes, bins, settings, self.label_rounds, n_threads)
        return replace(training, shares=shares, labels=blurred.spread(shares), settings=settings)

    def _settle_criterion(
        self, training: _Training, bins: Bins, codes: Codes, earlier: Earlier | None, n_threads: int
    ) -> _Training:
        """Choose what the criterion leaves open; a warm start goes on with what was chosen."""
        settings = training.settings
        if settings.criterion.is_settled:
            return training
        if earlier:
            return replace(training, settings=replace(settings, criterion=self.criterion_))
        n_trees = 1 if self._one_tree else most_trees(self.n_estimators)
        n_features = settings.max_features or resolve_max_features("sqrt", codes.shape[0])  # not chosen yet
        tried = replace(settings, max_features=n_features)
        criterion = choose_lam(codes, bins, training.labels, tried, n_trees, n_threads)
        return replace(training, settings=replace(settings, criterion=criterion))

    def _tree(self, number: int) -> Tree:
        return Tree(self.forest_, number, self._bins, self._schema, self.classes_)

    def _prune(self, forest: Forest, bins: Bins, training: _Training) -> Forest:
        def tree_of(trees: Forest, number: int) -> Tree:
            return Tree(trees, number, bins, training.table.schema, training.classes)

        return prune(forest, tree_of, training.settings.criterion, getattr(self, "ccp_alpha", 0.0))

    def _fitted_attributes(self, training: _Training, bins: Bins, forest: Forest) -> dict[str, Any]:
        """Everything that makes an estimator a fitted one."""
        schema = training.table.schema
        attributes: dict[str, Any] = {
            "classes_": training.classes,
            "n_classes_": len(training.classes),
            "forest_": forest,
            "_bins": bins,
            "_schema": schema,
            "criterion_": training.settings.criterion,
            "_seed": training.settings.seed,
            "_bag": training.bag,
            "_prior": training.prior,
            "_cache": StateCache(),
        }
        if training.shares is not None:
            attributes["label_shares_"] = training.shares
        return attributes | schema_attributes(schema)

    def _judge_out_of_bag(
        self, forest: Forest, all_codes: Codes, codes: Codes, training: _Training, n_threads: int
    ) -> dict[str, Any]:
        """What is chosen and reported by looking at rows through the trees that have not seen them."""
        settings, labels = training.settings, training.numbers
        if settings.bag_mean == 0 or training.bag == MIXED:
            return {}
        bagged = training.bagged(codes)
        judged: dict[str, Any] = {"_bagged": bagged}
        rule, caution = self._rule, 1.0 if isinstance(self.caution, str) else float(self.caution)
        evidence = Evidence(forest, codes, rule, caution, training.prior, bagged.judges, n_threads)
        if isinstance(self.caution, str):
            caution = judged["caution_"] = choose_caution(evidence, training.classes, labels, self.decision)
            judged["_cautious"] = self._cautious_key()
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
        y = classes[training.numbers][seen]
        probability = evidence.combine(weights=trial.weights).probability
        if callable(metric):
            score = float(metric(y, classes[probability[seen].argmax(axis=1)]))
        else:
            score = score_sets("accuracy" if metric is True else metric, classes, y, trial.opinion, trial.sets)
        whole = np.where(evidence.judged[:, None], probability, 1 / len(classes))
        if training.kept is not None:  # rows without weight: no tree has seen them, so all judge them
            everyone = replace(evidence, codes=all_codes, judges=None)
            of_kept, whole = whole, everyone.combine(weights=trial.weights).probability
            whole[training.kept] = of_kept
        return {"oob_decision_function_": whole, "oob_score_": score}
