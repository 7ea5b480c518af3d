"""Explanations of classifiers."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from hedgerow.decisions import decision_in_force
from hedgerow.explain.cases import Case, KnownRows, Label, leaf_rules, nearest_cases, training_rows
from hedgerow.explain.change import Change, Limits, Space, smallest_change
from hedgerow.explain.explanation import (
    Cause,
    Counterfactual,
    ExplainRequest,
    Explanation,
    Move,
    Remedies,
    RowNovelty,
    ShapOf,
    check_numbers,
)
from hedgerow.explain.question import Floats, Question, labels_of, only_class, questions
from hedgerow.explain.remedies import Confirmed, calm_caution, confirmed_cases, measure_first, tells_by_absence
from hedgerow.explain.shap import ShapValues, shap_values_of_each
from hedgerow.explain.sources import CAUSES, Marginals, UncertaintySources, excess_of, uncertainty_sources
from hedgerow.explain.words import cause_words
from hedgerow.inference.batch import Batch
from hedgerow.inference.predictor import predictor_of
from hedgerow.rules import resolve_rule
from hedgerow.tasks.classification.oob import discount_factor
from hedgerow.tasks.classification.predictor import ClassificationPredictor
from hedgerow.util.text import listed

if TYPE_CHECKING:
    from sklearn.base import BaseEstimator

    from hedgerow.table.schema import TableLike

#: By default counterfactuals are searched for up to this many samples, for this many seconds each.
FEW_SAMPLES, SECONDS = 10, 1.0
#: By default SHAP values are computed for all of up to this many samples, and for undecided ones if there are more.
SOME_SAMPLES = 100
#: By default larger forests have no SHAP values, because every node is visited for each sample.
MOST_NODES = 1_000_000


def explain_classes(forest: BaseEstimator, X: TableLike, request: ExplainRequest) -> list[Explanation]:
    """Explain the predictions of a classifier."""
    for name in ("coverage", "time"):
        if getattr(request, name) is not None:
            raise ValueError(f"{name} must be None for a classifier, got {getattr(request, name)!r}.")
    predictor: ClassificationPredictor = predictor_of(forest)
    batch = predictor.read(X, all_features=True)
    limits = limits_of(predictor, request.immutable, request.increasing, request.decreasing)
    return explain_batch(
        forest,
        predictor,
        batch,
        training_rows(predictor, request.train, request.y_train),
        cases=request.cases,
        time_limit=request.time_limit,
        shap=request.shap,
        limits=limits,
        wanted=request.wanted,
    )


def explain_batch(
    forest: BaseEstimator,
    predictor: ClassificationPredictor,
    batch: Batch,
    training: KnownRows | None,
    *,
    cases: int,
    time_limit: float | None,
    shap: bool | None = None,
    limits: Limits | None = None,
    wanted: Any = None,
) -> list[Explanation]:
    """Explain each sample of a batch that was read with all features."""
    check_numbers(cases, time_limit)
    n_samples = len(batch)
    seconds = time_limit if time_limit is not None else SECONDS if n_samples <= FEW_SAMPLES else 0.0
    request = _Request(
        names=_names_of(forest),
        training=training,
        marginals=Marginals(predictor, None if training is None else training.codes),
        cases=cases,
        limits=limits or Limits(),
        wanted=_label_of(predictor, wanted),
        seconds=float(seconds),
        predictor=predictor,
        shap=_shap_for(predictor, shap, n_samples),
    )
    found: list[Explanation] = []
    for first, question in questions(predictor, batch):
        found += _explain_block(request, question, first)
    return found


def _shap_for(predictor: ClassificationPredictor, shap: bool | None, n_samples: int) -> str:
    """Choose the samples with SHAP values: "all", "undecided" or "none"."""
    if shap is None:
        small = len(predictor.forest.nodes) <= MOST_NODES
        return "none" if not small else "all" if n_samples <= SOME_SAMPLES else "undecided"
    return "all" if shap else "none"


@dataclass
class _Request:
    """Checked arguments, and state shared by all samples."""

    names: tuple[str, str]  # names of rule and decision
    training: KnownRows | None
    marginals: Marginals
    cases: int
    limits: Limits
    wanted: int | None
    seconds: float
    predictor: ClassificationPredictor
    shap: str  # samples with SHAP values: "all", "undecided" or "none"
    space: Space | None = None


@dataclass(frozen=True)
class _Contributions:
    """Feature contributions to the label and to the width of its interval."""

    place: dict[int, int]  # index of each sample in the values
    label: ShapValues
    width: ShapValues | None
    unit: str


def _explain_block(request: _Request, question: Question, first: int) -> list[Explanation]:
    """Explain a block of samples."""
    excess = excess_of(question)
    uncertainty = uncertainty_sources(question, request.marginals, excess)
    near: list[list[Case]] | None = None
    if request.training is not None and request.cases:
        near = nearest_cases(question, request.training, request.cases)
    remedies, contributions = _remedies(request, question), _contributions(request, question)
    actions = request.predictor.actions(question.opinion)
    return [
        _one(
            request, question, row, first, uncertainty, excess[:, row], near, remedies.get(row), contributions, actions
        )
        for row in range(question.n_samples)
    ]


def _one(
    request: _Request,
    question: Question,
    row: int,
    first: int,
    uncertainty: UncertaintySources,
    excess: Floats,
    near: list[list[Case]] | None,
    remedies: Remedies | None,
    contributions: _Contributions | None,
    actions: list[list[str]] | None,
) -> Explanation:
    """Assemble the explanation of one sample."""
    predictor, opinion = request.predictor, question.opinion
    labels, label = labels_of(predictor), int(question.label[row])
    return Explanation(
        row=first + row,
        label=labels[label],
        set=[labels[k] for k in np.flatnonzero(question.chosen[row])],
        classes=labels,
        probability=opinion.probability[row].tolist(),
        lower=opinion.lower[row].tolist(),
        upper=opinion.upper[row].tolist(),
        caution=predictor.setting.caution,
        rule=request.names[0],
        decision=request.names[1],
        values=question.values(row),
        uncertainty=_causes(question, row, uncertainty, excess),
        cases=None if near is None else near[row],
        rules=leaf_rules(question, row),
        shap=_shap_of(predictor, contributions, row, label),
        remedies=remedies,
        novelty=_novelty(question, row),
        out_of_support=_out_of_support(question, row),
        actions=None if actions is None else actions[row],
    )


def _novelty(question: Question, row: int) -> RowNovelty | None:
    """Return the novelty of one sample if its opinion is discounted."""
    predictor = question.predictor
    novelty = predictor.novelty(question.batch)
    if novelty is None:
        return None
    trust = float(discount_factor(novelty, predictor.novelty_level)[row])
    if trust >= 1:
        return None
    return RowNovelty(float(novelty.p_value[row]), predictor.codebook.names[novelty.feature[row]], trust)


def _out_of_support(question: Question, row: int) -> list[str]:
    """List the features of one sample with out-of-support values."""
    unseen, names = question.batch.unseen, question.predictor.codebook.names
    return [] if unseen is None else [names[feature] for feature in unseen.features_of(row)]


def _causes(question: Question, row: int, uncertainty: UncertaintySources, excess: Floats) -> list[Cause]:
    """List the sources of uncertainty about one sample, the largest first."""
    words, shares = cause_words(question, row, excess), uncertainty.shares[row]
    order = np.argsort(-shares, kind="stable")
    return [Cause(CAUSES[i], float(shares[i]), float(uncertainty.amounts[row, i]), words[CAUSES[i]]) for i in order]


def _remedies(request: _Request, question: Question) -> dict[int, Remedies]:
    """Find remedies for each undecided sample, and counterfactuals of decided ones that lead to the class asked for.

    If the leaves alone decide a novel sample, or one with out-of-support values, then more cases, less caution or
    other values would not help, so only measurements are suggested.
    """
    predictor, rows = request.predictor, np.flatnonzero(question.is_open)
    labels, names = labels_of(predictor), predictor.codebook.names
    widened = predictor.adjusted_rows(question.batch) is not None and len(rows) > 0
    views = None if question.views is None else question.views[rows]
    sure = only_class(predictor, question.counts[rows], views) >= 0 if widened else np.zeros(len(rows), dtype=bool)
    unsure = rows[~sure]
    by_cases = dict(zip(unsure.tolist(), confirmed_cases(question, unsure), strict=True))
    calm = dict(zip(unsure.tolist(), calm_caution(question, unsure), strict=True))
    found = {}
    for row in rows.tolist():
        measured = measure_first(question, row, request.marginals) if question.missing(row) else []
        less = calm.get(row)
        found[row] = Remedies(
            confirmed=[_confirmed(each, labels) for each in by_cases.get(row, [])],
            caution=None if less is None else (less.caution, labels[less.label]),
            measure=[
                (names[f], share, None if k is None else labels[k])
                for f, share, k in measured
                if request.training is None or not tells_by_absence(request.training, f, predictor)
            ],
            counterfactual=_counterfactual(request, question, row) if request.seconds > 0 and row in by_cases else None,
        )
    if request.wanted is not None and request.seconds > 0:
        for row in np.flatnonzero(~question.is_open & (question.label != request.wanted)).tolist():
            found[row] = Remedies([], None, [], _counterfactual(request, question, row))
    return found


def _confirmed(each: Confirmed, labels: list[Label]) -> tuple[Label, int]:
    return labels[each.label], each.number


def _counterfactual(request: _Request, question: Question, row: int) -> Counterfactual:
    """Search for the counterfactual of one sample."""
    predictor = request.predictor
    if request.space is None:
        request.space = Space(predictor)
    values = [float(column[row]) for column in question.columns]
    found = smallest_change(
        request.space, question.codes[:, row], values, request.limits, time_limit=request.seconds, wanted=request.wanted
    )
    return _with_values(predictor, question, row, found)


def _with_values(predictor: ClassificationPredictor, question: Question, row: int, change: Change) -> Counterfactual:
    """Convert bin indices and labels of a change to values and classes."""
    moves: list[Move] = [
        {
            "feature": predictor.codebook.names[feature],
            "from": predictor.codebook.value(feature, question.columns[feature][row]),
            "to": predictor.codebook.value_of_code(feature, code),
        }
        for feature, code in sorted(change.codes.items())
    ]
    return {
        "found": change.cost is not None,
        "changes": moves,
        "label": None if change.label is None else labels_of(predictor)[change.label],
        "cost": change.cost,
        "bound": change.bound,
        "gap": change.gap,
        "optimal": change.optimal,
        "seconds": change.seconds,
    }


def _contributions(request: _Request, question: Question) -> _Contributions | None:
    """Compute Shapley values of the label's probability or log-odds, and of the width, if they are sums over trees."""
    rows = {"all": np.arange(question.n_samples), "undecided": np.flatnonzero(question.is_open)}.get(request.shap)
    if rows is None or not len(rows):
        return None
    codes, place = np.ascontiguousarray(question.codes[:, rows]), {row: at for at, row in enumerate(rows.tolist())}
    for unit in ("probability", "log_odds", "lower"):
        has_width = not (request.predictor.has_gaps and request.predictor.is_calibrated)
        whats = (unit, "width") if has_width and unit != "log_odds" else (unit,)
        try:
            found = shap_values_of_each(request.predictor, codes, whats)
        except ValueError:  # not a sum over trees under this rule
            continue
        return _Contributions(place, found[0], found[1] if len(found) > 1 else None, unit)
    return None


def _shap_of(
    predictor: ClassificationPredictor, contributions: _Contributions | None, row: int, label: int
) -> ShapOf | None:
    """Return the feature contributions of one sample; None if they were not computed."""
    if contributions is None or row not in contributions.place:
        return None
    at, width = contributions.place[row], contributions.width
    return ShapOf(
        features=list(predictor.codebook.names),
        label=contributions.label.values[at, :, label].tolist(),
        width=None if width is None else width.values[at, :, label].tolist(),
        unit=contributions.unit,
        base={
            "label": float(contributions.label.base[label]),
            "width": None if width is None else float(width.base[label]),
        },
    )


def _names_of(forest: BaseEstimator) -> tuple[str, str]:
    """Return the names of rule and decision, or their representations if they are objects."""
    rule = forest.rule if isinstance(forest.rule, str) else repr(forest.rule)
    return rule, decision_in_force(forest.decision, resolve_rule(forest.rule))


def limits_of(
    predictor: ClassificationPredictor,
    immutable: Iterable[int | str] | None,
    increasing: Iterable[int | str] = (),
    decreasing: Iterable[int | str] = (),
) -> Limits:
    """Check the constraints of a counterfactual.

    None means the immutable features of the model.
    """
    immutable = predictor.immutable if immutable is None else immutable
    up, down = _features(predictor, increasing, "increasing"), _features(predictor, decreasing, "decreasing")
    for feature in up | down:
        if predictor.fitted.bins.nominal[feature]:
            raise ValueError(
                "increasing and decreasing must contain numeric features, got the categorical"
                f" {predictor.codebook.names[feature]!r}. Pass it as immutable instead."
            )
    both = up & down
    return Limits(_features(predictor, immutable, "immutable") | both, up - both, down - both)


def _features(predictor: ClassificationPredictor, features: Iterable[int | str], what: str) -> frozenset[int]:
    """Convert names of features to their numbers."""
    given = [features] if isinstance(features, str | int) else list(features)
    place = {name: number for number, name in enumerate(predictor.codebook.names)}
    found = set()
    for feature in given:
        number = place.get(feature, -1) if isinstance(feature, str) else int(feature)
        if not 0 <= number < len(place):
            raise ValueError(
                f"{what} must contain names or numbers of features, got {feature!r}. Known features:"
                f" {listed(predictor.codebook.names, 5)}."
            )
        found.add(number)
    return frozenset(found)


def _label_of(predictor: ClassificationPredictor, wanted: Any) -> int | None:
    """Return the index of a class."""
    if wanted is None:
        return None
    if wanted not in labels_of(predictor):
        raise ValueError(f"wanted must be None or one of the classes {labels_of(predictor)[:10]}, got {wanted!r}.")
    return labels_of(predictor).index(wanted)
