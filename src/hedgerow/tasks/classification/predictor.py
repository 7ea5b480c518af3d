"""Predictor of classifiers, and groups of its decisions."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from hedgerow.belief.calibrate import Calibration, Views, learn_calibrator
from hedgerow.belief.entropies import check_few_classes, generalised_hartley, lower_entropy, upper_entropy
from hedgerow.belief.opinion import Opinion, across
from hedgerow.decisions import Decision, decide, resolve_decision
from hedgerow.decisions.base import columns_from_labels
from hedgerow.forest.cache import Cache
from hedgerow.forest.fold import FoldPlan
from hedgerow.forest.grow import TrainingRows
from hedgerow.forest.rows import OobMask
from hedgerow.forest.target import among_classes
from hedgerow.forest.walk import Tree, node_evidence
from hedgerow.inference.batch import Batch, UnseenValues, widened
from hedgerow.inference.completions import Completions, opinion_over_completions, values_over_completions
from hedgerow.inference.evidence import (
    CredalUncertainty,
    Evidence,
    PredictionUncertainty,
    Trial,
    calibrated,
    checked_caution,
    choose_caution,
    try_out,
)
from hedgerow.inference.fitted import Fitted
from hedgerow.inference.novelty import PredictionNovelty
from hedgerow.inference.oob import (
    BootstrapErrors,
    CrossCalibration,
    Trace,
    bootstrap_errors,
    calibration_obstacle,
    ensemble_error,
)
from hedgerow.inference.predictor import Predictor
from hedgerow.inference.variance import SamplingVariance, forest_variance
from hedgerow.metrics import SetTally, tally_sets
from hedgerow.rules import Calibrated, Rule, Setting, Uncertainty, resolve_rule
from hedgerow.rules.calibrated import Viewed
from hedgerow.rules.combine import checked_weights
from hedgerow.rules.uncertainty import UncertaintyWith
from hedgerow.table import NamedColumns
from hedgerow.table.bins import Codes
from hedgerow.tasks.classification.evaluation import (
    ClassificationColumns,
    ClassificationEvaluation,
    classification_columns,
    evaluate_classifier,
)
from hedgerow.tasks.classification.oob import (
    NOT_ASKED,
    calibration_of,
    discount_factor,
    discounted,
    needs_trial,
    oob_metrics,
    rule_key,
    soft_label_metrics,
    views_for,
)
from hedgerow.tasks.classification.target import ClassInfo, read_classes
from hedgerow.util.runtime import cluster_numbers, computed, halves, lazy_property, thread_count

Floats = NDArray[np.float64]


class ClassificationPredictor(Predictor):
    """Predictor of a classifier under its rule, caution and decision.

    Opinions widen for out-of-support values and are discounted for novel rows. Caution, calibrator, tree weights and
    decision are resolved when first needed, because probabilities, for instance, do not depend on caution.
    """

    kind = "classes"
    predicts = True
    combines_leaves = True
    takes_uncertain = True

    # ---- predictions ------------------------------------------------------------------------

    def probability(self, batch: Batch) -> Floats:
        """Return probabilities, (n, K), averaged over completions of uncertain cells."""
        plain = self.plain_probability(batch.codes)
        if not batch.uncertain:
            return plain
        mean_of = self.plain_probability
        return values_over_completions(plain, self.fitted, batch, lambda those: those.mean(mean_of(those.codes)))

    predicted = probability

    def labels(self, batch: Batch) -> NDArray[Any]:
        """Return the most probable classes, (n,)."""
        return self.named(self.probability(batch))

    def confidence(self, batch: Batch) -> Floats:
        """Return the probability of the label, (n,).

        It is that of the adjusted opinion for rows that are novel or have out-of-support values.
        """
        sure, rows = np.asarray(across(self.probability(batch), "max")[:, 0]), self.adjusted_rows(batch)
        if rows is not None:
            sure[rows] = self.opinion(batch).probability[rows].max(axis=1)
        return sure

    def opinion(self, batch: Batch) -> Opinion:
        """Return the opinion of the forest, over all completions of uncertain cells."""
        opinion = self.adjusted(self.combined(batch.codes), batch)
        if not batch.uncertain:
            return opinion
        if self.novelty_level is not None:
            raise ValueError(f"novelty must be None for uncertain cells, got {self.novelty_level!r}.")

        def opinion_of(those: Completions) -> Opinion:
            return self._widened(self.combined(those.codes), those.codes, those.unknown(batch.unseen))

        return opinion_over_completions(opinion, self.fitted, batch, opinion_of)

    def decide(self, opinion: Opinion) -> NDArray[np.bool_]:
        """Return the prediction sets of an opinion, (n, K)."""
        return decide(opinion, self.decision)

    def class_sets(self, opinion: Opinion) -> NDArray[np.bool_]:
        """Return the prediction sets of an opinion, (n, K); those of interval dominance if actions are chosen."""
        return decide(opinion, "dominance") if self.decision.has_actions else self.decide(opinion)

    def actions(self, opinion: Opinion) -> list[list[str]] | None:
        """Return the names of the actions chosen for an opinion, n lists; None if classes are chosen."""
        if not self.decision.has_actions:
            return None
        names = self.decision.actions
        return [[names[a] for a in np.flatnonzero(row)] for row in self.decide(opinion)]

    def sets(self, batch: Batch) -> NDArray[np.bool_]:
        """Return prediction sets, (n, K)."""
        return self.decide(self.opinion(batch))

    def labels_and_sets(self, batch: Batch) -> tuple[NDArray[Any], NDArray[np.bool_]]:
        """Return the most probable classes, (n,), and prediction sets, (n, K)."""
        opinion = self.opinion(batch)
        return self.named(opinion.probability), self.decide(opinion)

    def bounds(self, batch: Batch) -> Floats:
        """Return lower and upper probabilities, (n, K, 2)."""
        opinion = self.opinion(batch)
        both = np.empty((*opinion.lower.shape, 2))
        both[:, :, 0], both[:, :, 1] = opinion.lower, opinion.upper
        return both

    def uncertainty(self, batch: Batch) -> PredictionUncertainty:
        """Return the uncertainty of n samples by source."""
        rule, codes = self.plain_rule, batch.codes
        if self.has_gaps or rule.merge != "add" or rule.needs_weights:
            opinion, parts = self.opinion(batch), self.evidence(codes).uncertainty()
        else:  # calibration changes neither conflict nor vacuity
            opinion, parts = self._with_threads(codes, self._uncertainty_plan).answer(codes)
            if self.adjusted_rows(batch) is not None:
                opinion = self.opinion(batch)
        entropy = (parts.total, parts.aleatoric, parts.epistemic)
        relative = (parts.relative_aleatoric, parts.relative_epistemic)
        return PredictionUncertainty(*entropy, opinion.conflict, opinion.vacuity, *relative)

    def credal_uncertainty(self, batch: Batch) -> CredalUncertainty:
        """Return the uncertainty of n samples as sets of distributions."""
        check_few_classes(len(self.classes))
        opinion = self.opinion(batch)
        bounds = opinion.lower, opinion.upper
        largest, smallest = upper_entropy(*bounds), lower_entropy(*bounds)
        tree_largest, tree_smallest, tree_hartley = self.evidence(batch.codes).uncertainty_of_trees().T
        of_bounds = (largest, smallest, largest - smallest, generalised_hartley(*bounds))
        return CredalUncertainty(*of_bounds, tree_largest, tree_smallest, tree_largest - tree_smallest, tree_hartley)

    def klir_score(self, batch: Batch) -> Floats:
        """Return half the non-specificity plus half the discord of the mass of the bounds, (n,).

        A class has its lower probability as mass, the frame has the rest.
        """
        lower, n_classes = self.opinion(batch).lower, len(self.classes)
        rest = np.maximum(1.0 - lower.sum(axis=1), 0.0)
        pignistic = lower + rest[:, None] / n_classes
        discord = -(lower * np.log2(np.where(lower > 0, pignistic, 1.0))).sum(axis=1)
        return np.asarray((rest * np.log2(n_classes) + discord) / 2)

    def uncertainty_score(self, batch: Batch) -> Floats:
        """Return one minus the difference between the two largest probabilities, (n,)."""
        ordered = np.sort(self.probability(batch), axis=1)
        return np.asarray(1 - ordered[:, -1] + (ordered[:, -2] if ordered.shape[1] > 1 else 0))

    def mass(self, codes: Codes, model: str, alpha: float, ordinal: bool) -> Floats:
        """Return the masses of all sets of classes, (n, 2**K)."""
        return self.evidence(codes).mass(model, alpha=alpha, ordinal=ordinal)

    def belief_between(self, codes: Codes, interval: Any, weights: str) -> Floats:
        """Return belief and plausibility that probabilities lie in an interval, (n, K, 2)."""
        return self.evidence(codes).belief_between(interval, weights=weights)

    def evidence(self, codes: Codes, oob_mask: OobMask | None = None) -> Evidence:
        """Return the evidence of the leaves that samples reach."""
        fitted, threads = self.fitted, self.threads(codes.shape[1])
        groups = groups_in(fitted, codes, self.given_decision)
        how = (self.rule, self.caution, self.info.prior, oob_mask, threads, fitted.forest.cache, groups)
        return Evidence(fitted.forest, codes, *how)

    def variance(self, codes: Codes) -> SamplingVariance:
        """Return the variance of probabilities over training tables."""
        rows = self.oob_rows()
        threads = self.threads(codes.shape[1])
        return forest_variance(self.forest, codes, rows.codes, rows.target.labels, rows.bags, threads)

    def columns(self, X: Any, coverage: float | None = None) -> ClassificationColumns:
        """Return predictions as columns; `coverage` is ignored."""
        return classification_columns(self, X)

    def under(self, rule: Any = None, caution: float | None = None) -> Self:
        """Return a predictor of the same fit under another rule or caution."""
        given = {"rule": rule, "caution": caution}
        params = replace(self.params, **{name: value for name, value in given.items() if value is not None})
        return type(self)(self.fitted, params, self.estimator)

    # ---- predictions compared with the truth --------------------------------------------------

    def score(self, y: NDArray[Any], predicted: Floats) -> float:
        """Return the accuracy of probabilities (n, K), given classes (n,)."""
        return float((self.named(predicted) == y).mean())

    @staticmethod
    def whole_score(y: NDArray[Any], predicted: NDArray[Any]) -> float:
        """Return the share of rows whose classes (n, m) are all correct."""
        return float((y == predicted).all(axis=1).mean())

    def tally(self, X: Any, y: Any, coverage: float | None = None) -> SetTally:
        """Tally labels and prediction sets."""
        if coverage is not None:
            raise ValueError(f"coverage must be None for a classifier, got {coverage!r}.")
        opinion = self.opinion(self.read(X))
        return tally_sets(y, self.named(opinion.probability), self.class_sets(opinion), classes=self.classes)

    def evaluate(self, table: NamedColumns, y: NDArray[Any], coverage: float | None = None) -> ClassificationEvaluation:
        """Return predictions for rows, with their true classes, to compute metrics from."""
        return evaluate_classifier(self, table, y)

    # ---- classes and training rows --------------------------------------------------------------

    @property
    def info(self) -> ClassInfo:
        """Classes and their shares in the training rows."""
        return self.fitted.info  # type: ignore[return-value]

    @property
    def classes(self) -> NDArray[Any]:
        """Classes, (K,)."""
        return self.fitted.info.names

    @property
    def known_rows(self) -> TrainingRows | None:
        """Training rows, if some are out of bag; otherwise None."""
        return self.fitted.oob_rows

    @property
    def immutable(self) -> tuple[int | str, ...]:
        """Features, by index or name, that counterfactuals must not change."""
        return tuple(self.params.immutable_features or ())

    @property
    def wanted_features(self) -> NDArray[np.uint8] | None:
        """Features to encode in a wide table, (p,); None means all."""
        wanted = self.fitted.wanted_features
        column = None if wanted is None else group_column(self.fitted, self.given_decision)
        return wanted if wanted is None or column is None else np.maximum(wanted, np.arange(len(wanted)) == column)

    def named(self, probability: Floats) -> NDArray[Any]:
        """Return the most probable classes, (n,), of probabilities (n, K)."""
        return np.asarray(self.classes[probability.argmax(axis=1)])

    def named_truth(self, truth: NDArray[Any]) -> NDArray[Any]:
        """Return the classes of class numbers, (n,)."""
        return np.asarray(self.classes[truth])

    def training_groups(self) -> NDArray[Any]:
        """Return the class numbers of the training rows, (n,)."""
        return np.asarray(self.oob_rows().target.labels)

    def groups(self, codes: Codes, y: Any = None) -> NDArray[Any]:
        """Return the class numbers of samples, (n,); the predicted ones if `y` is None."""
        return np.asarray(self.predicted(Batch(codes)).argmax(axis=1)) if y is None else self.info.numbers_of(y)

    def drift_classes(self, y: Any) -> NDArray[Any]:
        """Return the known classes, followed by new classes in `y`.

        A new class is drift, not an error.
        """
        if y is None:
            return self.classes
        known = self.classes.tolist()
        new = [name for name in read_classes(y, len(y))[0].tolist() if name not in set(known)]
        return np.array([*known, *new], dtype=object) if new else self.classes

    def drift_labels(self, y: Any, n_rows: int, classes: NDArray[Any]) -> NDArray[Any]:
        """Return the indices of the labels of n rows in `classes`, (n,)."""
        found, labels = read_classes(y, n_rows)
        return np.asarray(among_classes(found, classes)[labels])

    # ---- from leaves to opinions ----------------------------------------------------------------

    def plain_probability(self, codes: Codes) -> Floats:
        """Return probabilities, (n, K), as if every cell were certain."""
        if self.plain_rule.plain_mean:  # the core computes the mean of the shares from the counts
            threads, views = self.threads(codes.shape[1]), self.calibration.views
            if views is not None:
                return self.calibration.of(self.forest.viewed(views, threads).probability(codes, threads))
            return self.calibration.of(self.forest.probability(codes, threads))
        return self.combined(codes).probability

    def combined(self, codes: Codes) -> Opinion:
        """Return the evidence of the leaves, combined by the rule."""
        opinion: Opinion = self._with_threads(codes, self._opinion_plan).answer(codes)
        groups = groups_in(self.fitted, codes, self.given_decision)
        return opinion if groups is None else replace(opinion, groups=groups)

    def adjusted(self, opinion: Opinion, batch: Batch) -> Opinion:
        """Widen an opinion for out-of-support values, and discount it for novelty."""
        opinion, novelty = self._widened(opinion, batch.codes, batch.unseen), self.novelty(batch)
        return opinion if novelty is None else discounted(opinion, discount_factor(novelty, self.novelty_level))

    def adjusted_rows(self, batch: Batch) -> NDArray[np.bool_] | None:
        """Return which rows `adjusted` may change, (n,); None for no rows."""
        unseen, novelty = batch.unseen, self.novelty(batch)
        if unseen is None and novelty is None:
            return None
        rows = np.zeros(len(batch), dtype=bool)
        if novelty is not None:
            rows = discount_factor(novelty, self.novelty_level) < 1
        if unseen is not None:
            rows[unseen.rows] = True
        return rows

    @property
    def novelty_level(self) -> float | None:
        """The p-value below which opinions are discounted; None for no discounting."""
        return self.params.novelty

    def novelty(self, batch: Batch) -> PredictionNovelty | None:
        """Return the novelty of a batch, if opinions are discounted."""
        return None if self.novelty_level is None else batch.novelty

    def _widened(self, opinion: Opinion, codes: Codes, unseen: UnseenValues | None) -> Opinion:
        """Widen an opinion about codes (p, n) for out-of-support values."""
        return opinion if unseen is None else widened(opinion, codes, unseen, self.fitted, self.combined)

    @lazy_property
    def _opinion_plan(self) -> FoldPlan[Opinion]:
        """Fold from leaves to opinions."""
        weights = checked_weights(self.weights, self.rule, self.forest.n_trees)
        return self._plan(self.rule, self.rule.key(), weights)

    @lazy_property
    def _uncertainty_plan(self) -> FoldPlan[Any]:
        """Fold from leaves to opinions and uncertainty, for additive unweighted rules."""
        return self._plan(UncertaintyWith(self.plain_rule), (Uncertainty, self.plain_rule.key()), None)

    def _plan(self, what: Any, key: Any, weights: Floats | None) -> FoldPlan[Any]:
        """Return the fold of a reducer whose leaf states are cached under a key."""
        return FoldPlan(self.forest, what, self.setting, None, weights, self.forest.cache, key)

    def _with_threads(self, codes: Codes, plan: FoldPlan[Any]) -> FoldPlan[Any]:
        """Return the plan with a number of threads suited to the number of rows."""
        threads = self.threads(codes.shape[1])
        return plan if threads == plan.n_threads else plan.with_threads(threads)

    # ---- single leaves and nodes ----------------------------------------------------------------

    @property
    def is_mean(self) -> bool:
        """Whether uncalibrated probabilities are means of leaf values."""
        return "probability" in self.plain_rule.adds_up and not self.plain_rule.needs_weights

    @property
    def skips_empty(self) -> bool:
        """Whether empty leaves are skipped."""
        return self.rule.skips_empty

    def leaf_states(self) -> Floats:
        """Return the state of every leaf under the rule, (L, S).

        Those of a rule with views end with the probabilities of the views (L, V · K), which are also added over trees.
        """
        forest = self.forest
        evidence = (forest.evidence_in(tree) for tree in range(forest.n_trees))
        states, views = np.concatenate([self.rule.lift(counts, self.setting) for counts in evidence]), self.rule.views
        return states if views is None else np.hstack([states, forest.viewed(views).leaf_states(0, forest.n_trees)])

    @property
    def has_gaps(self) -> bool:
        """Whether uncertain training labels widen bounds."""
        return self.forest.evidence.masses is not None

    @property
    def wide_rule(self) -> Rule:
        """Rule for the evidence of `Forest.widened`, with the gaps of uncertain labels."""
        return self.rule.with_gaps() if self.has_gaps else self.rule

    @property
    def plain_wide_rule(self) -> Rule:
        """`wide_rule` without calibration."""
        return self.plain_rule.with_gaps() if self.has_gaps else self.plain_rule

    def node_predictions(self, tree: Tree) -> list[Floats]:
        """Return probability, lower and upper bound of every node, (N, K) each.

        Nodes are treated as leaves; the values are uncalibrated.
        """
        rule = self.plain_rule
        parts = rule.parts(rule.lift(node_evidence(tree), self.setting), self.setting)
        return [parts[name] for name in ("probability", "lower", "upper")]

    # ---- rule, calibration, caution and decision ---------------------------------------------------

    @property
    def given_rule(self) -> str | Rule:
        """Combination rule as the user set it."""
        return self.params.rule  # type: ignore[return-value]

    @property
    def given_decision(self) -> str | Decision:
        """Decision rule as the user set it, uncalibrated."""
        return self.params.decision  # type: ignore[return-value]

    @lazy_property
    def rule(self) -> Rule:
        """Combination rule; includes the calibrator, if there is one."""
        return Calibrated(self.plain_rule, self.calibration) if self.is_calibrated else self.plain_rule

    @lazy_property
    def plain_rule(self) -> Rule:
        """Combination rule without calibration."""
        return resolve_rule(self.given_rule)

    @lazy_property
    def calibration(self) -> Calibration:
        """Calibrator, fitted when first needed, or the reason why there is none."""
        if self.params.calibration != "oob":
            return NOT_ASKED
        return calibration_of(self.fitted, self.given_rule, self.plain_rule, self.threads, self._calibrated_views)

    @lazy_property
    def viewed_rule(self) -> Rule:
        """Uncalibrated combination rule, with the views of the forest that its calibrator acts on."""
        views = self.calibration.views
        return self.plain_rule if views is None else Viewed(self.plain_rule, views)

    @computed
    def is_calibrated(self) -> bool:
        """Whether probabilities are calibrated on out-of-bag rows."""
        return not self.calibration.why

    @lazy_property
    def caution(self) -> float:
        """Caution in use; "auto" is resolved when first needed, per rule and decision.

        A model without its training rows keeps its caution.
        """
        return self._resolve_caution(self.cross_calibration())

    @lazy_property
    def setting(self) -> Setting:
        """Number of classes, caution and prior."""
        return Setting.of(self.forest.n_classes, self.caution, self.info.prior)

    @lazy_property
    def weights(self) -> Floats | None:
        """Tree weights learned out of bag, (T,); None unless the rule needs them."""
        if not self.rule.needs_weights:
            return None
        return self.fitted.learned.get("weights", self.weights_key(self.caution), self._learn_weights)

    def weights_key(self, caution: float) -> float | tuple[Any, ...]:
        """Return the key of learned tree weights: the caution, with the objective unless it is the default."""
        how = self.rule.weight_learning
        known = {"objective": "votes", "gamma": 0.1, "lam": 0.1}
        return caution if how in ({}, known) else (caution, *(how.get(name) for name in known))

    @lazy_property
    def decision(self) -> Decision:
        """Decision rule under the combination rule, calibrated out of bag if necessary."""
        decision = resolve_decision(self.given_decision).under(self.plain_rule)
        if decision.is_ready:
            return decision
        return self.fitted.learned.get("decision", self._decision_key(decision), self._calibrate_decision)

    def calibrated_on(self, X: Any, y: Any, groups: Any) -> Fitted:
        """Return the fit with calibrator and decision learned on held-out rows, each on half of them if it has both."""
        resolved, batch = resolve_decision(self.given_decision), self.read(X)
        labels, _ = columns_from_labels(y, len(self.classes), self.classes)
        if len(labels) != len(batch):
            raise ValueError(f"y must have one label for each of the {len(batch)} rows, got {len(labels)}.")
        together = cluster_numbers(groups, len(batch))
        recalibrates = self.params.calibration == "oob" and not calibration_obstacle(self.plain_rule)
        if not recalibrates and resolved.is_ready:
            raise ValueError(
                "calibrate requires calibration='oob' and a rule whose probabilities are calibrated, or a decision such"
                f" as Coverage, got calibration={self.params.calibration!r}, rule={self.given_rule!r} and"
                f" decision={self.given_decision!r}."
            )
        learned = self.fitted.learned.without("decision")
        found = type(self)(replace(self.fitted, learned=learned), self.params, self.estimator)
        parts = [np.arange(len(batch))] * 2 if not recalibrates or resolved.is_ready else halves(len(batch), together)
        of_parts = [None if together is None else together[part] for part in parts]
        if recalibrates:
            calibration = learn_calibrator(
                self._given_to_calibrator(batch[parts[0]].codes),
                labels[parts[0]],
                None,
                of_parts[0],
                views=self._calibrated_views,
            )
            if calibration.why:
                raise ValueError(f"calibrate requires more rows: {calibration.why}.")
            learned.put("calibration", rule_key(self.given_rule), calibration)
        if not resolved.is_ready:
            held_out = batch[parts[1]]
            decision = calibrated(
                resolved.under(found.plain_rule),
                found.opinion(held_out),
                self.classes[labels[parts[1]]],
                self.classes,
                of_parts[1],
            )
            learned.put("decision", found.decision_key(), decision)
        return found.fitted

    def _given_to_calibrator(self, codes: Codes) -> Floats:
        """Return uncalibrated probabilities (n, K) or those of all views (n, V · K)."""
        threads, views = self.threads(codes.shape[1]), self._calibrated_views
        if views is not None:
            return self.forest.viewed(views, threads).probability(codes, threads)
        if self.plain_rule.plain_mean:
            return self.forest.probability(codes, threads)
        return replace(self.evidence(codes), rule=self.plain_rule).combine().probability

    @property
    def _calibrated_views(self) -> Views | None:
        """Views that a calibrator acts on; None for the mean alone, and with the gaps of uncertain labels."""
        reads_views = self.plain_rule.plain_mean and not self.has_gaps
        return views_for(self.params.splitter, self.forest.n_classes) if reads_views else None

    def learn(self) -> None:
        """Resolve caution, tree weights, calibrator and decision now."""
        _ = self.calibration, self.caution, self.weights, self.decision

    def decision_key(self) -> Any:
        """Return the key under which a calibrated decision is stored."""
        return self._decision_key(resolve_decision(self.given_decision))

    def _decision_key(self, decision: Decision) -> Any:
        return repr(decision), repr(self.rule), self.caution

    def _resolve_caution(self, calibrator: CrossCalibration | None) -> float:
        """Return the caution in use; trials of "auto" share the calibrator."""
        caution = self.params.caution
        if not isinstance(caution, str) or caution != "auto":
            return checked_caution(caution)
        learned, rows = self.fitted.learned, self.fitted.oob_rows
        last = learned.last("caution")
        if last is not None and rows is None:
            return float(last[1])
        # Names are keys as they are; the `repr` of an object takes time.
        ways = (self.given_rule, self.given_decision)
        key = tuple(each if isinstance(each, str) else repr(each) for each in ways)
        return float(learned.get("caution", key, lambda: self._choose_caution(calibrator)))

    def _choose_caution(self, calibrator: CrossCalibration | None) -> float:
        rows = self.oob_rows()
        prior, threads = self.info.prior, self.threads(rows.n_rows)
        evidence = Evidence(self.forest, rows.codes, self.plain_rule, 1.0, prior, rows.oob_mask, threads)
        tried = partial(self.try_out, evidence, self.plain_rule, calibrator=calibrator)
        return choose_caution(tried, self.classes, self.given_decision)

    def _learn_weights(self) -> Floats:
        target = self.oob_rows().target
        return self.oob_evidence().certain(target).learn_weights(target.labels, self.caution)

    def _calibrate_decision(self) -> Decision:
        decision, rows = resolve_decision(self.given_decision), self.fitted.oob_rows
        if rows is None:
            return calibrated(decision, None, np.empty(0), self.classes)
        trial = self.try_out(self.oob_evidence(), self.plain_rule, self.caution, decision)
        return trial.decision

    # ---- out of bag ----------------------------------------------------------------------------

    def evaluate_oob(self, metric: Any) -> Fitted:
        """Return the fit with choices made out of bag and, given a `metric`, its metrics."""
        fitted, rows = self.fitted, self.fitted.oob_rows
        if rows is None:
            return fitted
        decision, calibrator = resolve_decision(self.given_decision), self.cross_calibration()
        _, caution = self.calibration, self._resolve_caution(calibrator)
        if not (metric or self.rule.needs_weights or decision.needs_calibration):
            return fitted
        evidence = replace(self.oob_evidence(), n_threads=thread_count(self.n_jobs), cache=Cache())
        by_shares = rows.target.expected is not None
        needs_opinions = needs_trial(metric) or by_shares or self.calibration.views is not None
        if not (needs_opinions or self.rule.needs_weights or decision.needs_calibration):
            probability = evidence.as_forest().probability()
            score, answers = soft_label_metrics(metric, self.classes, rows, evidence, probability, self.calibration)
            return replace(fitted, figures=replace(fitted.figures, oob_score=score, oob_predictions=answers))
        trial = self.try_out(evidence, self.plain_rule, caution, decision, calibrator=calibrator)
        if self.rule.needs_weights:
            fitted.learned.put("weights", self.weights_key(caution), trial.weights)
        if decision.needs_calibration:
            fitted.learned.put("decision", self._decision_key(decision), trial.decision)
        if not metric:
            return fitted
        score, answers = oob_metrics(metric, self.classes, rows, evidence, trial, self.calibration)
        return replace(fitted, figures=replace(fitted.figures, oob_score=score, oob_predictions=answers))

    def oob_evidence(self) -> Evidence:
        """Return out-of-bag evidence about the training rows, without their own counts."""
        rows = self.oob_rows()
        return replace(self.evidence(rows.codes, rows.oob_mask), rule=self.viewed_rule)

    def cross_calibration(self) -> CrossCalibration | None:
        """Return a calibrator that trials can share; None without calibration."""
        return CrossCalibration() if self.params.calibration == "oob" else None

    def try_out(
        self,
        evidence: Evidence,
        rule: Rule,
        caution: float,
        decision: str | Decision,
        *,
        calibrator: CrossCalibration | None = None,
    ) -> Trial:
        """Try a rule, caution and decision out of bag.

        The trial is calibrated if this model is. Trials may share a `calibrator`.
        """
        rows = self.oob_rows()
        target = rows.target
        evidence = replace(evidence, groups=groups_in(self.fitted, evidence.codes, decision))
        if rule is self.plain_rule and not self.is_calibrated:
            calibrator = None
        elif calibrator is None:
            calibrator = self.cross_calibration()
        if rule.plain_mean and self.calibration.views is not None:
            rule = Viewed(rule, self.calibration.views)
        how = (target, rule, caution, decision)
        return try_out(evidence, *how, calibrator=calibrator, classes=self.classes, clusters=rows.groups)

    def oob_errors(self) -> BootstrapErrors:
        """Return in-bag and out-of-bag error rates of the forest and its trees."""
        rows = self.oob_rows()
        threads = self.threads(rows.n_rows)
        ensemble = ensemble_error(
            self.forest, rows, self.plain_rule, self.setting, weights=self.weights, n_threads=threads
        )
        return bootstrap_errors(self.forest, rows, ensemble, threads)

    def oob_trace(self) -> Floats:
        """Return the out-of-bag error after each tree, (T,), computed in one pass."""

        def make() -> Floats:
            rows = self.oob_rows()
            trace = Trace(rows, self.plain_rule, self.setting)
            trace.extend(self.forest, self.threads(rows.n_rows))
            return np.array(trace.errors)

        return self.fitted.learned.get("trace", (repr(self.plain_rule), self.caution), make)

    def for_file(self) -> Fitted:
        """Return the fit without its training rows, with the calibrator fitted on them."""
        with suppress(ValueError, TypeError):  # invalid parameters are stored as they are
            _ = self.calibration
        return super().for_file()


# ---- groups of decisions -------------------------------------------------------------------------------------------


#: Largest number of distinct values of a group column; more leave too few rows per group.
MOST_GROUPS = 100


def groups_in(fitted: Fitted, codes: Codes, decision: str | Decision) -> NDArray[np.str_] | None:
    """Return the group of each row as text, (n,), "" if missing; None without groups."""
    column = group_column(fitted, decision)
    if column is None:
        return None
    codebook, n_values = fitted.codebook, int(fitted.bins.n_bins[column])
    names = [str(codebook.value_of_code(column, code)) for code in range(n_values)]
    found: NDArray[np.str_] = np.array([*names, ""])[np.minimum(codes[column], n_values)]
    return found


def group_column(fitted: Fitted, decision: str | Decision) -> int | None:
    """Return the index of the group column of a decision; None without groups."""
    groups = None if isinstance(decision, str) else resolve_decision(decision).groups
    if groups is None:
        return None
    column = _column_of(fitted, groups)
    if fitted.bins.n_bins[column] > MOST_GROUPS:
        raise ValueError(
            f"groups must name a column with at most {MOST_GROUPS} distinct values, got {groups!r} with"
            f" {int(fitted.bins.n_bins[column])}. Add a column that bins its values, and refit."
        )
    return column


def _column_of(fitted: Fitted, groups: Any) -> int:
    """Return the index of a column given by name or index."""
    names, n_features = fitted.codebook.names, fitted.schema.n_features
    if isinstance(groups, str) and groups in names:
        return names.index(groups)
    if isinstance(groups, int | np.integer) and not isinstance(groups, bool) and 0 <= groups < n_features:
        return int(groups)
    known = ", ".join(map(repr, names[:10])) + (" …" if len(names) > 10 else "")
    raise ValueError(f"groups must be the name or index of one of the {n_features} columns ({known}), got {groups!r}.")
