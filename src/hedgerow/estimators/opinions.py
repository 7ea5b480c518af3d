"""Opinions: a fitted forest and samples -> bounds, sets, and how much is not known."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from hedgerow.belief import Opinion, Rule, resolve_rule
from hedgerow.belief.rules import Average
from hedgerow.decide import Decision, decide, resolve_decision
from hedgerow.fit.parameters import check_caution
from hedgerow.forest.fold import StateCache
from hedgerow.forest.forest import Forest
from hedgerow.forest.rows import Bags, Judges
from hedgerow.judge.evidence import CAUTIONS, Evidence, calibrated, choose_caution, score_sets, try_out
from hedgerow.table.bins import Codes

if TYPE_CHECKING:
    from hedgerow.explain import Explanation
    from hedgerow.explain.report import Report

Floats = NDArray[np.float64]


class UncertaintyOf(NamedTuple):
    """How uncertain a forest is about each of n samples, (n,) each.

    ``total`` = ``aleatoric`` + ``epistemic`` is the entropy in bits of the mean distribution, split into the mean
    entropy of the leaves and the rest. ``conflict`` and ``vacuity`` are those of the forest's rule.
    ``relative_aleatoric`` and ``relative_epistemic`` are the means over trees of the relative-likelihood pair u_a, u_e.
    """

    total: Floats
    aleatoric: Floats
    epistemic: Floats
    conflict: Floats
    vacuity: Floats
    relative_aleatoric: Floats
    relative_epistemic: Floats


@dataclass(frozen=True, eq=False, repr=False)
class Bagged:
    """The binned training table of a bootstrapped forest: what out-of-bag evidence is made from.

    It stays with the fitted estimator (a byte or two per cell) and is left out of pickles and model files.
    """

    codes: Codes
    labels: NDArray[np.uint16]
    seed: int
    bag_mean: float
    counted: bool  # whether leaves count rows outside the bag, and so the row itself
    own: Floats | None = None  # with uncertain labels: what each row adds to its leaf
    known: NDArray[np.bool_] | None = None  # with uncertain labels: rows of certain class

    @property
    def judges(self) -> Judges:
        """Which trees may judge a row."""
        bags, own = Bags(self.seed, self.bag_mean, self.codes.shape[1]), self.labels if self.own is None else self.own
        return Judges(bags, own if self.counted else None, self.known)


class OpinionMixin:
    """What a forest can say beyond a probability. `rule`, `caution` and `decision` change nothing that was fitted."""

    forest_: Forest
    classes_: NDArray[Any]
    rule: Any
    caution: Any
    decision: Any

    def predict_set(self, X: Any) -> NDArray[np.bool_]:
        """The classes that cannot be told apart.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        chosen : bool ndarray of shape (n_samples, n_classes)
            At least one class per row; more where the evidence does not decide.
        """
        return self._decide(self._opinion(self._codes(X)))

    def predict_bounds(self, X: Any) -> Floats:
        """Lower and upper probability (belief and plausibility) of each class.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        bounds : ndarray of shape (n_samples, n_classes, 2)
        """
        opinion = self._opinion(self._codes(X))
        return np.stack([opinion.lower, opinion.upper], axis=2)

    def predict_mass(self, X: Any, model: str = "idm", *, alpha: float = 0.05, ordinal: bool = False) -> Floats:
        """Mass functions over all subsets of the classes: the mean of those of the leaves reached.

        The mean is that of beliefs and plausibilities too, whatever the rule: with ``model="idm"`` the belief and
        plausibility of single classes are the bounds of the rule "average". A leaf without rows is vacuous.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
            Samples.
        model : {"idm", "dabt", "multinomial"}, default="idm"
            What a leaf's counts justify; see `hedgerow.belief.mass_from_counts`. "idm" keeps the estimator's
            caution in reserve, "dabt" (two classes) one row, "multinomial" what confidence intervals leave open.
        alpha : float, default=0.05
            For "multinomial": one minus the confidence level.
        ordinal : bool, default=False
            For "multinomial": whether the classes are ordered, so that only runs of neighbours have mass.

        Returns
        -------
        mass : ndarray of shape (n_samples, 2**n_classes)
            Index = bit mask of the set: ``mass[:, 5]`` is of the first and third of ``classes_``. At most 16 classes.
        """
        return self._evidence(self._codes(X)).mass(model, alpha=alpha, ordinal=ordinal)

    def predict_uncertainty(self, X: Any) -> UncertaintyOf:
        """How much is not known, and of which kind.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        UncertaintyOf
            total, aleatoric, epistemic, conflict, vacuity, relative_aleatoric, relative_epistemic: one array each.
        """
        codes = self._codes(X)
        parts, opinion = self._evidence(codes).uncertainty(), self._opinion(codes)
        return UncertaintyOf(
            parts.total,
            parts.aleatoric,
            parts.epistemic,
            opinion.conflict,
            opinion.vacuity,
            parts.relative_aleatoric,
            parts.relative_epistemic,
        )

    def evidence(self, X: Any) -> Evidence:
        """The leaves the samples reach and what they hold, to be combined under any rule.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        Evidence
            With ``leaves`` (n, T), ``counts`` (n, T, K) and ``combine(rule, caution=...)``.
        """
        return self._evidence(self._codes(X))

    def explain(self, X: Any, **asked: Any) -> list[Explanation]:
        """Why each sample is what it is, and what would settle those of which several classes remain.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
            Samples.
        **asked
            ``train``, ``y_train``, ``cases``, ``shap``, ``immutable``, ``increasing``, ``decreasing``, ``wanted`` and
            ``time_limit``, as in `hedgerow.explain.explain`.

        Returns
        -------
        list of hedgerow.explain.Explanation
            With ``sentence``, ``to_text()``, ``to_dict()`` and ``to_html()``.
        """
        from hedgerow.explain import explain  # lies above the estimators

        return explain(self, X, **asked)

    def report(self, X: Any, y: Any = None, *, names: Any = None, **options: Any) -> Report:
        """One page that can be e-mailed: metrics, where the undecided cases live, and each case with live sliders.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
            Rows the forest has not been trained on.
        y : array-like of shape (n_samples,), default=None
            Their classes; without them the report has no metrics.
        names : array-like of shape (n_samples,), default=None
            What to call the rows; None takes their numbers, from 0.
        **options
            ``title``, ``max_cases``, ``seconds``, ``train``, ``y_train`` and ``first``, as in
            `hedgerow.explain.report.make_report`.

        Returns
        -------
        hedgerow.explain.report.Report
            With ``html``, ``figures`` and ``save(path)``.
        """
        from hedgerow.explain.report import make_report  # lies above the estimators

        return make_report(self, X, y, names=names, **options)

    @property
    def oob_evidence_(self) -> Evidence:
        """Evidence about the training rows from trees that have not seen them, without the rows' own counts."""
        bagged = self._require_bagged()
        return self._evidence(bagged.codes, bagged.judges)

    def tune(self, metric: Any = "u65", over: dict[str, Any] | None = None) -> Self:
        """Choose rule, caution or decision by how well they do on out-of-bag evidence; no tree is grown again.

        Parameters
        ----------
        metric : str or callable, default="u65"
            A name `hedgerow.metrics.scorer` knows, "accuracy", or ``metric(y, sets)``; larger is better.
        over : dict of str to list, default={"caution": [0, 0.25, 0.5, 1, 1.5, 2, 3, 4, 5]}
            Values of ``rule``, ``caution`` and ``decision`` to try, in all combinations.

        Returns
        -------
        self
            With the best combination set as parameters, and ``tuning_``, a list of (score, parameters), best first.
        """
        grid = {"caution": list(CAUTIONS)} if over is None else over
        unknown = [name for name in grid if name not in ("rule", "caution", "decision")]
        if unknown or not grid or not all(len(values) for values in grid.values()):
            raise ValueError(
                f"over must map 'rule', 'caution' or 'decision' to non-empty lists, got {over!r}; other parameters"
                " need trees to be grown again, as in GridSearchCV"
            )
        for caution in grid.get("caution", []):
            if not (isinstance(caution, int | float | np.number) and caution >= 0):
                raise ValueError(f"caution in over must be a number >= 0, got {caution!r}; list numbers to try")
        evidence, labels = self.oob_evidence_, self._bagged.labels
        results = []
        for values in product(*grid.values()):
            setting = dict(zip(grid, values, strict=True))
            rule = resolve_rule(setting.get("rule", self.rule))
            caution = float(setting.get("caution", self._caution))
            trial, judged = try_out(evidence, labels, rule, caution, setting.get("decision", self.decision))
            y = self.classes_[labels[judged]]
            results.append((score_sets(metric, self.classes_, y, trial.opinion, trial.sets), setting))
        results.sort(key=lambda result: -result[0])
        self.set_params(**results[0][1])  # type: ignore[attr-defined]
        self.tuning_ = results
        return self

    # ---- behind the scenes ----------------------------------------------------------------

    @property
    def _caution(self) -> float:
        """The caution in force; "auto" is resolved when first needed, and again for another rule or decision."""
        if not isinstance(self.caution, str) or self.caution != "auto":
            return check_caution(self.caution, or_auto=True)
        key = self._cautious_key()
        changed = getattr(self, "_cautious", key) != key and hasattr(self, "_bagged")
        if changed or not hasattr(self, "caution_"):
            bagged = self._require_bagged()
            evidence = Evidence(self.forest_, bagged.codes, self._rule, 1.0, self._prior, bagged.judges)
            self.caution_ = choose_caution(evidence, self.classes_, bagged.labels, self.decision)
            self._cautious = key
        return float(self.caution_)

    def _cautious_key(self) -> tuple[str, ...]:
        """What a caution is chosen for: rule and decision; names stay names, as writing out objects takes its time."""
        return tuple(each if isinstance(each, str) else repr(each) for each in (self.rule, self.decision))

    @property
    def _rule(self) -> Rule:
        return resolve_rule(self.rule)

    def _averages(self) -> bool:
        """Whether probabilities are the plain mean of leaf shares, which the core reads from the counts."""
        return type(self._rule) is Average

    def _evidence(self, codes: Codes, judges: Judges | None = None) -> Evidence:
        if not hasattr(self, "_cache"):
            self._cache = StateCache()
        threads = self._reading_threads(codes.shape[1])  # type: ignore[attr-defined]
        return Evidence(self.forest_, codes, self._rule, self._caution, self._prior, judges, threads, self._cache)

    def _opinion(self, codes: Codes) -> Opinion:
        rule = self._rule
        return self._evidence(codes).combine(rule, weights=self._tree_weights(rule, self._caution))

    def _decide(self, opinion: Opinion) -> NDArray[np.bool_]:
        return decide(opinion, self._decision())

    def _decision(self) -> Decision:
        """The decision in force, calibrated on out-of-bag evidence where it makes a promise."""
        decision = resolve_decision(self.decision)
        if not decision.needs_calibration or hasattr(decision, "threshold_"):
            return decision
        key = (repr(decision), repr(self._rule), self._caution)
        if getattr(self, "_calibrated", (None, None))[0] != key:
            labels = self._require_bagged().labels if hasattr(self, "_bagged") else None
            if labels is None:
                return calibrated(decision, None, np.empty(0))
            trial, _ = try_out(self.oob_evidence_, labels, self._rule, self._caution, decision)
            self._calibrated = (key, trial.decision)
        return self._calibrated[1]

    def _require_bagged(self) -> Bagged:
        check_is_fitted(self)
        bagged: Bagged | None = getattr(self, "_bagged", None)
        if bagged is None:
            raise AttributeError(
                "oob_evidence_ must be asked of a forest fitted here with bootstrap=True, got one without a bootstrap,"
                " unpickled or loaded, or warm-started on other rows or bags; fit it again"
            )
        return bagged

    def _tree_weights(self, rule: Rule, caution: float) -> Floats | None:
        """Learned weights for a rule that needs them, on out-of-bag evidence; None for the others."""
        if not rule.needs_weights:
            return None
        if getattr(self, "_learned", (None, None))[0] != caution:
            weights = self.oob_evidence_.learn_weights(self._require_bagged().labels, caution)
            self._learned = (caution, weights)
            self.tree_weights_ = weights
        return self._learned[1]

    _bagged: Bagged
    _cautious: tuple[str, ...]
    _prior: Floats
    _codes: Any
