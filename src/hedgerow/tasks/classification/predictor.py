"""Answer: a fitted model with its current parameters, and samples -> opinions, sets and figures."""

from __future__ import annotations

from contextlib import suppress
from copy import copy
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow.belief.calibrate import Calibration
from hedgerow.belief.opinion import Opinion, across, opinion_from_bounds
from hedgerow.decisions import Decision, decide, resolve_decision
from hedgerow.forest.fold import FoldPlan
from hedgerow.forest.rows import OobMask
from hedgerow.forest.states import StateCache
from hedgerow.forest.target import among_classes
from hedgerow.forest.training import TrainingRows
from hedgerow.forest.walk import Tree, node_evidence
from hedgerow.inference.batch import Batch
from hedgerow.inference.completions import Completions, opinion_over_completions, values_over_completions
from hedgerow.inference.evidence import (
    Evidence,
    PredictionUncertainty,
    Trial,
    calibrated,
    checked_caution,
    choose_caution,
    try_out,
)
from hedgerow.inference.fitted import Fitted, Settled
from hedgerow.inference.novelty import PredictionNovelty
from hedgerow.inference.oob import BootstrapErrors, Trace, bootstrap_errors, ensemble_error
from hedgerow.inference.predictor import Predictor
from hedgerow.inference.unseen import UnseenValues, opened
from hedgerow.inference.variance import SamplingVariance, forest_variance
from hedgerow.metrics import SetTally, tally_sets
from hedgerow.rules import Calibrated, Rule, Setting, Uncertainty, resolve_rule
from hedgerow.rules.combine import checked_weights
from hedgerow.rules.uncertainty import UncertaintyWith
from hedgerow.table.bins import Codes
from hedgerow.tasks.classification.calibration import NOT_ASKED, CrossCalibration, calibration_of
from hedgerow.tasks.classification.oob import group_column, groups_in, needs_trial, oob_metrics, soft_label_metrics
from hedgerow.tasks.classification.target import ClassInfo, read_classes
from hedgerow.util.blocks import with_rows
from hedgerow.util.threads import thread_count

Floats = NDArray[np.float64]


class ClassificationPredictor(Predictor):
    """The answers of a classifier under its rule, caution and decision."""

    kind = "classes"
    predicts = True
    combines_leaves = True
    #: Whether opinions are discounted where rows are strangers, and the p-value below which they are.
    discounts = False
    level: float | None = None

    def __init__(self, model: Any, fitted: Fitted | None = None) -> None:
        super().__init__(model, fitted)
        self._asked = (model.rule, model.caution, model.decision)
        #: Features, by number or name, that advice must not change.
        self.immutable: tuple[int | str, ...] = tuple(model.immutable_features or ())
        self._maps = CrossCalibration() if model.calibration == "oob" else None
        #: What follows from the parameters; see `Fitted.settled`.
        self.settled = self.fitted.settled((*self._asked, model.calibration))

    # ---- rule, caution and decision --------------------------------------------------------

    @property
    def info(self) -> ClassInfo:
        """The classes, and their shares in the training rows."""
        return self.fitted.info  # type: ignore[return-value]

    @property
    def classes(self) -> NDArray[Any]:
        """(K,): the labels."""
        return self.fitted.info.names

    @property
    def known_rows(self) -> TrainingRows | None:
        """The training rows, if bags leave rows out that trees can judge; otherwise None."""
        return self.fitted.oob_rows

    @Settled
    def rule(self) -> Rule:
        """How leaves are combined, and how probabilities are mapped if a map was learned."""
        return Calibrated(self.plain_rule, self.calibration) if self.is_calibrated else self.plain_rule

    @Settled
    def plain_rule(self) -> Rule:
        """How leaves are combined, before any map."""
        return resolve_rule(self._asked[0])

    @Settled
    def calibration(self) -> Calibration:
        """The map of probabilities, learned on out-of-bag rows when first needed, or the reason why it cannot be."""
        if self._maps is None:
            return NOT_ASKED
        return calibration_of(self.fitted, self._asked[0], self.plain_rule, self.threads)

    @property
    def is_calibrated(self) -> bool:  # type: ignore[override]
        """Whether probabilities are mapped by what was learned on out-of-bag rows."""
        return not self.calibration.why

    @property
    def asked_decision(self) -> Any:
        """The decision as the user set it, before any calibration."""
        return self._asked[2]

    @Settled
    def caution(self) -> float:
        """The caution in force; "auto" is chosen when first needed, and again for another rule or decision.

        A model that has lost its training rows keeps the caution it has.
        """
        rule, caution, decision = self._asked
        if not isinstance(caution, str) or caution != "auto":
            return checked_caution(caution)
        learned, rows = self.fitted.learned, self.fitted.oob_rows
        last = learned.last("caution")
        if last is not None and rows is None:
            return float(last[1])
        # A name is its own key; making the text of an object takes time.
        key = tuple(each if isinstance(each, str) else repr(each) for each in (rule, decision))
        return float(learned.get("caution", key, self._choose_caution))

    @Settled
    def setting(self) -> Setting:
        """What rules must know besides counts."""
        return Setting.of(self.forest.n_classes, self.caution, self.info.prior)

    @Settled
    def weights(self) -> Floats | None:
        """(T,): tree weights, learned on out-of-bag evidence, for a rule that needs them; otherwise None."""
        if not self.rule.needs_weights:
            return None
        return self.fitted.learned.get("weights", self.caution, self._learn_weights)

    @Settled
    def decision(self) -> Decision:
        """The decision under the rule, calibrated on out-of-bag evidence if it needs calibration."""
        decision = resolve_decision(self._asked[2]).under(self.plain_rule)
        if decision.is_ready:
            return decision
        return self.fitted.learned.get("decision", self._decision_key(decision), self._calibrate)

    def under(self, rule: Any = None, caution: float | None = None) -> ClassificationPredictor:
        """The same fit under another rule or caution."""
        other = copy(self)
        other.settled = {}
        for name, value in vars(ClassificationPredictor).items():
            if isinstance(value, Settled):
                other.__dict__.pop(name, None)
        now = (rule, caution, None)
        other._asked = tuple(old if new is None else new for new, old in zip(now, self._asked, strict=True))
        return other

    def for_file(self) -> Fitted:
        """The fit without its training rows, with the map that these would have taught."""
        with suppress(ValueError, TypeError):  # parameters that are wrong are kept as they are
            _ = self.calibration
        return super().for_file()

    def learn(self) -> None:
        """Choose caution, tree weights and calibration now, if the current parameters need them."""
        _ = self.calibration, self.caution, self.weights, self.decision

    def key(self) -> Any:
        """The key under which a calibrated decision is stored."""
        return self._decision_key(resolve_decision(self._asked[2]))

    # ---- answers about samples ---------------------------------------------------------------

    @property
    def wanted_features(self) -> NDArray[np.uint8] | None:
        """(p,): which features are encoded, if the table is wide; None means all."""
        wanted = self.fitted.wanted_features
        column = None if wanted is None else group_column(self.fitted, self._asked[2])
        return wanted if wanted is None or column is None else np.maximum(wanted, np.arange(len(wanted)) == column)

    def evidence(self, codes: Codes, oob_mask: OobMask | None = None) -> Evidence:
        """Codes (p, n) -> the evidence of the leaves that samples reach."""
        fitted, threads = self.fitted, self.threads(codes.shape[1])
        groups = groups_in(fitted, codes, self._asked[2])
        how = (self.rule, self.caution, self.info.prior, oob_mask, threads, fitted.cache, groups)
        return Evidence(fitted.forest, codes, *how)

    def probability(self, batch: Batch) -> Floats:
        """(n, K): probabilities."""
        return self.plain_probability(batch.codes)

    said = probability  # the predicted probabilities

    def plain_probability(self, codes: Codes) -> Floats:
        """Codes (p, n) -> (n, K): probabilities, as if every cell were certain."""
        if self.plain_rule.plain_mean:  # the core computes the mean of the shares from the counts
            return self.calibration.of(self.forest.probability(codes, self.threads(codes.shape[1])))
        return self.combined(codes).probability

    def confidence(self, batch: Batch) -> Floats:
        """(n,): the probability of the label."""
        return np.asarray(across(self.probability(batch), "max")[:, 0])

    def doubt(self, batch: Batch) -> Floats:
        """(n,): one minus the difference between the two largest probabilities."""
        ordered = np.sort(self.probability(batch), axis=1)
        return np.asarray(1 - ordered[:, -1] + (ordered[:, -2] if ordered.shape[1] > 1 else 0))

    def score(self, y: NDArray[Any], said: Floats) -> float:
        """Classes (n,), probabilities (n, K) -> accuracy."""
        return float((self.named(said) == y).mean())

    @staticmethod
    def whole_score(y: NDArray[Any], said: NDArray[Any]) -> float:
        """Classes of several outputs (n, m) -> the share of rows for which all outputs are correct."""
        return float((y == said).all(axis=1).mean())

    def training_groups(self) -> NDArray[Any]:
        """(n,): class numbers of the training rows."""
        return np.asarray(self.oob_rows().target.labels)

    def groups(self, codes: Codes, y: Any = None) -> NDArray[Any]:
        """Codes (p, n), perhaps their classes (n,) -> (n,): class numbers; the predicted ones if none are given."""
        return np.asarray(self.said(Batch(codes)).argmax(axis=1)) if y is None else self.info.numbers_of(y)

    def opinion(self, batch: Batch) -> Opinion:
        """The opinion of the forest."""
        return self.trusted(self.combined(batch.codes), batch)

    def trusted(self, opinion: Opinion, batch: Batch) -> Opinion:
        """What leaves say about a batch -> what is left of it, given its unseen values and its novelty."""
        return opinion

    def novelty(self, batch: Batch) -> PredictionNovelty | None:
        """How unusual rows are, if opinions are discounted for it."""
        return None

    def combined(self, codes: Codes) -> Opinion:
        """Codes (p, n) -> what the leaves say, combined by the rule."""
        opinion: Opinion = self._plan_for(codes, self._combining).answer(codes)
        groups = groups_in(self.fitted, codes, self._asked[2])
        return opinion if groups is None else replace(opinion, groups=groups)

    @Settled
    def _combining(self) -> FoldPlan[Opinion]:
        """How to get opinions from leaves."""
        weights = checked_weights(self.weights, self.rule, self.forest.n_trees)
        return self._plan(self.rule, self.rule.key(), weights)

    @Settled
    def _doubting(self) -> FoldPlan[Any]:
        """How to get the uncertainty and the doubt of opinions from leaves, under a rule that adds without weights."""
        return self._plan(UncertaintyWith(self.plain_rule), (Uncertainty, self.plain_rule.key()), None)

    def _plan(self, what: Any, key: Any, weights: Floats | None) -> FoldPlan[Any]:
        """What is asked of leaves, and the key of their states -> how to answer it."""
        return FoldPlan(self.forest, what, self.setting, None, weights, self.fitted.cache, key)

    def _plan_for(self, codes: Codes, plan: FoldPlan[Any]) -> FoldPlan[Any]:
        """The plan with the threads that so many rows repay."""
        threads = self.threads(codes.shape[1])
        return plan if threads == plan.n_threads else plan.with_threads(threads)

    def doubted(self, batch: Batch) -> NDArray[np.bool_] | None:
        """(n,): the rows whose opinions are not those of the leaves; None if no row can be such a one."""
        return None

    def chosen(self, opinion: Opinion) -> NDArray[np.bool_]:
        """An opinion -> (n, K): the classes that remain."""
        return decide(opinion, self.decision)

    def named(self, probability: Floats) -> NDArray[Any]:
        """Probabilities (n, K) -> (n,): the most probable class."""
        return np.asarray(self.classes[probability.argmax(axis=1)])

    def named_truth(self, truth: NDArray[Any]) -> NDArray[Any]:
        """Class numbers (n,) -> (n,): the classes."""
        return np.asarray(self.classes[truth])

    def labels(self, batch: Batch) -> NDArray[Any]:
        """(n,): the most probable class."""
        return self.named(self.probability(batch))

    def labels_and_sets(self, batch: Batch) -> tuple[NDArray[Any], NDArray[np.bool_]]:
        """(n,), (n, K): the most probable class, and the classes that remain."""
        opinion = self.opinion(batch)
        return self.named(opinion.probability), self.chosen(opinion)

    def sets(self, batch: Batch) -> NDArray[np.bool_]:
        """(n, K): the classes that remain."""
        return self.chosen(self.opinion(batch))

    def bounds(self, batch: Batch) -> Floats:
        """(n, K, 2): lower and upper probability of each class."""
        opinion = self.opinion(batch)
        both = np.empty((*opinion.lower.shape, 2))
        both[:, :, 0], both[:, :, 1] = opinion.lower, opinion.upper
        return both

    def mass(self, codes: Codes, model: str, alpha: float, ordinal: bool) -> Floats:
        """Codes (p, n) -> (n, 2**K): masses of all sets of classes."""
        return self.evidence(codes).mass(model, alpha=alpha, ordinal=ordinal)

    # ---- answers of single leaves --------------------------------------------------------------

    @property
    def is_mean(self) -> bool:
        """Whether probabilities, before any map, are the mean of values of the leaves."""
        return "probability" in self.plain_rule.adds_up and not self.plain_rule.needs_weights

    @property
    def skips_empty(self) -> bool:
        """Whether leaves without rows are left out."""
        return self.rule.skips_empty

    def leaf_states(self) -> Floats:
        """-> (L, S): the state of every leaf under the rule; leaves are numbered over all trees."""
        forest = self.forest
        evidence = (forest.evidence_in(tree) for tree in range(forest.n_trees))
        return np.concatenate([self.rule.lift(counts, self.setting) for counts in evidence])

    def node_answers(self, tree: Tree) -> list[Floats]:
        """-> (N, K) each: probability, lower and upper bound of every node, as if it were a leaf, before any map."""
        rule = self.plain_rule
        parts = rule.parts(rule.lift(node_evidence(tree), self.setting), self.setting)
        return [parts[name] for name in ("probability", "lower", "upper")]

    def uncertainty(self, batch: Batch) -> PredictionUncertainty:
        """How much is not known, and of which kind."""
        rule, codes = self.plain_rule, batch.codes
        if rule.merge != "add" or rule.needs_weights:
            said, parts = self.opinion(batch), self.evidence(codes).uncertainty()
        else:  # a map changes neither conflict nor vacuity
            said, parts = self._plan_for(codes, self._doubting).answer(codes)
            if self.doubted(batch) is not None:
                said = self.opinion(batch)
        entropy = (parts.total, parts.aleatoric, parts.epistemic)
        relative = (parts.relative_aleatoric, parts.relative_epistemic)
        return PredictionUncertainty(*entropy, said.conflict, said.vacuity, *relative)

    def tally(self, X: Any, y: Any, coverage: float | None = None) -> SetTally:
        """Samples and their classes -> how many labels and sets are right."""
        if coverage is not None:
            raise ValueError(f"coverage must be None for a classifier, which has no intervals, got {coverage!r}")
        return tally_sets(y, *self.labels_and_sets(self.read(X)), classes=self.classes)

    # ---- out of bag ----------------------------------------------------------------------------

    def oob_evidence(self) -> Evidence:
        """Evidence about the training rows from trees whose bags do not hold them, without their own counts."""
        rows = self.oob_rows()
        return replace(self.evidence(rows.codes, rows.oob_mask), rule=self.plain_rule)

    def try_out(
        self, evidence: Evidence, rule: Rule, caution: float, decision: str | Decision
    ) -> tuple[Trial, NDArray[np.bool_]]:
        """Out-of-bag evidence, a rule, a caution and a decision -> the trial, mapped if this model is."""
        target = self.oob_rows().target
        evidence = replace(evidence, groups=groups_in(self.fitted, evidence.codes, decision))
        how = (target.labels, rule, caution, decision)
        maps = None if rule is self.plain_rule and not self.is_calibrated else self._maps
        return try_out(evidence, *how, maps=maps, row_weights=target.sure_weights)

    def oob_errors(self) -> BootstrapErrors:
        """How often the forest and its trees are wrong about rows inside and outside the bags."""
        rows = self.oob_rows()
        threads = self.threads(rows.n_rows)
        ensemble = ensemble_error(
            self.forest, rows, self.plain_rule, self.setting, weights=self.weights, n_threads=threads
        )
        return bootstrap_errors(self.forest, rows, ensemble, threads)

    def oob_trace(self) -> Floats:
        """(T,): out-of-bag error of the forest after each tree, computed in one pass when first needed."""

        def make() -> Floats:
            rows = self.oob_rows()
            trace = Trace(rows, self.plain_rule, self.setting)
            trace.extend(self.forest, self.threads(rows.n_rows))
            return np.array(trace.errors)

        return self.fitted.learned.get("trace", (repr(self.plain_rule), self.caution), make)

    def drift_classes(self, y: Any) -> NDArray[Any]:
        """Labels of new rows -> the known classes, followed by new ones: a new class is drift, not an error."""
        if y is None:
            return self.classes
        known = self.classes.tolist()
        new = [name for name in read_classes(y, len(y))[0].tolist() if name not in set(known)]
        return np.array([*known, *new], dtype=object) if new else self.classes

    def drift_labels(self, y: Any, n_rows: int, classes: NDArray[Any]) -> NDArray[Any]:
        """Labels of n rows -> (n,): their positions among the classes."""
        found, labels = read_classes(y, n_rows)
        return np.asarray(among_classes(found, classes)[labels])

    def variance(self, codes: Codes) -> SamplingVariance:
        """Codes (p, n) -> how much probabilities would differ with another training table."""
        rows = self.oob_rows()
        threads = self.threads(codes.shape[1])
        return forest_variance(self.forest, codes, rows.codes, rows.target.labels, rows.bags, threads)

    def judged(self) -> Fitted:
        """The fit, with everything that is chosen and reported on out-of-bag rows."""
        fitted, rows, metric = self.fitted, self.fitted.oob_rows, self._model.oob_score
        if rows is None:
            return fitted
        decision = resolve_decision(self._asked[2])
        _, caution = self.calibration, self.caution
        if not (metric or self.rule.needs_weights or decision.needs_calibration):
            return fitted
        evidence = replace(self.oob_evidence(), n_threads=thread_count(self.n_jobs), cache=StateCache())
        if not (needs_trial(metric) or self.rule.needs_weights or decision.needs_calibration):
            score, answers = soft_label_metrics(metric, self.classes, rows, evidence, self.calibration)
            return replace(fitted, figures=replace(fitted.figures, oob_score=score, oob_answers=answers))
        trial, judged = self.try_out(evidence, self.plain_rule, caution, decision)
        if self.rule.needs_weights:
            fitted.learned.put("weights", caution, trial.weights)
        if decision.needs_calibration:
            fitted.learned.put("decision", self._decision_key(decision), trial.decision)
        if not metric:
            return fitted
        score, answers = oob_metrics(metric, self.classes, rows, evidence, trial, judged, self.calibration)
        return replace(fitted, figures=replace(fitted.figures, oob_score=score, oob_answers=answers))

    # ---- what is learned --------------------------------------------------------------------

    def _choose_caution(self) -> float:
        rows = self.oob_rows()
        prior, threads = self.info.prior, self.threads(rows.n_rows)
        evidence = Evidence(self.forest, rows.codes, self.plain_rule, 1.0, prior, rows.oob_mask, threads)
        tried = partial(self.try_out, evidence, self.plain_rule)
        return choose_caution(tried, self.classes, rows.target, self._asked[2])

    def _learn_weights(self) -> Floats:
        return self.oob_evidence().learn_weights(self.oob_rows().target.labels, self.caution)

    def _calibrate(self) -> Decision:
        decision, rows = resolve_decision(self._asked[2]), self.fitted.oob_rows
        if rows is None:
            return calibrated(decision, None, np.empty(0))
        return self.try_out(self.oob_evidence(), self.plain_rule, self.caution, decision)[0].decision

    def _decision_key(self, decision: Decision) -> Any:
        return repr(decision), repr(self.rule), self.caution


class DiscountingPredictor(ClassificationPredictor):
    """The answers of a classifier whose opinions are open where it cannot know."""

    takes_uncertain = True

    def __init__(self, model: Any, fitted: Fitted | None = None) -> None:
        super().__init__(model, fitted)
        self.level = model.novelty

    @property
    def discounts(self) -> bool:  # type: ignore[override]
        """Whether opinions are discounted where rows are strangers."""
        return self.level is not None

    def doubted(self, batch: Batch) -> NDArray[np.bool_] | None:
        """(n,): the rows whose opinions are not those of the leaves; None if no row can be such a one."""
        unseen, novelty = batch.unseen, self.novelty(batch)
        if unseen is None and novelty is None:
            return None
        found = np.zeros(len(batch), dtype=bool) if novelty is None else trust(novelty, self.level) < 1
        if unseen is not None:
            found[unseen.rows] = True
        return found

    def novelty(self, batch: Batch) -> PredictionNovelty | None:
        """How unusual rows are, if opinions are discounted for it."""
        return None if self.level is None else batch.novelty

    def opinion(self, batch: Batch) -> Opinion:
        """The opinion of the forest, open where values are unknown or rows are strangers."""
        said = super().opinion(batch)
        if not batch.uncertain:
            return said
        if self.level is not None:
            raise ValueError(f"novelty must be None for uncertain cells, got {self.level!r}; set it to None")

        def ask(worlds: Completions) -> Opinion:
            return self._opened(self.combined(worlds.codes), worlds.codes, worlds.unknown(batch.unseen))

        return opinion_over_completions(said, self.fitted, batch, ask)

    def probability(self, batch: Batch) -> Floats:
        """(n, K): probabilities; of rows with uncertain cells the mean over what these may be."""
        said = self.plain_probability(batch.codes)
        if not batch.uncertain:
            return said
        mean_of = self.plain_probability
        return values_over_completions(said, self.fitted, batch, lambda worlds: worlds.mean(mean_of(worlds.codes)))

    said = probability  # the predicted probabilities

    def trusted(self, opinion: Opinion, batch: Batch) -> Opinion:
        """What leaves say about a batch -> what is left of it, given its unseen values and its novelty."""
        opinion, novelty = self._opened(opinion, batch.codes, batch.unseen), self.novelty(batch)
        return opinion if novelty is None else discounted(opinion, trust(novelty, self.level))

    def _opened(self, opinion: Opinion, codes: Codes, unseen: UnseenValues | None) -> Opinion:
        """What leaves say about codes (p, n) -> the same, wider where values are unseen."""
        return opinion if unseen is None else opened(opinion, codes, unseen, self.fitted, self.combined)

    def confidence(self, batch: Batch) -> Floats:
        """(n,): the probability of the label, lower where values are unknown or rows are strangers."""
        sure, rows = super().confidence(batch), self.doubted(batch)
        if rows is not None:
            sure[rows] = self.opinion(batch).probability[rows].max(axis=1)
        return sure


def trust(novelty: PredictionNovelty, level: float | None) -> Floats:
    """How unusual rows are -> (n,): how far opinions about them are trusted, from 0 to 1.

    It is the p-value divided by the level. A table of few rows has no small p-values, so beyond its strangest row trust
    falls with the square of the distance.
    """
    if level is None:
        return np.ones(len(novelty.p_value))
    return np.minimum(novelty.p_value * novelty.within**2 / level, 1.0)


def discounted(opinion: Opinion, trusted: Floats) -> Opinion:
    """An opinion about n samples, how far each is trusted (n,) -> the opinion that is left."""
    rows = np.flatnonzero(trusted < 1)
    if not len(rows):
        return opinion
    of_rows, share = opinion[rows], trusted[rows, None]
    score, chosen = of_rows.score, of_rows.chosen
    weak = opinion_from_bounds(
        share * of_rows.probability + (1 - share) / opinion.n_classes,
        share * of_rows.lower,
        1 - share * (1 - of_rows.upper),
        of_rows.conflict,
        score=None if score is None else score * (share if score.ndim > 1 else share[:, 0]),
        chosen=None if chosen is None else chosen | (share < 0.5),
    )
    return with_rows(opinion, rows, weak)
