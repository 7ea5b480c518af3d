"""Explanations of classifiers."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from hedgerow.decisions import decision_in_force
from hedgerow.explain.cases import Case, KnownRows, leaf_rules, nearest_cases, training_rows
from hedgerow.explain.change import Change, Limits, smallest_change
from hedgerow.explain.explanation import Cause, Explanation, NovelFeature, Remedy, ShapOf
from hedgerow.explain.question import Floats, Question, labels_of, only_class, questions
from hedgerow.explain.remedies import Confirmed, calm_caution, confirmed_cases, measure_first
from hedgerow.explain.request import ExplainRequest, check_numbers
from hedgerow.explain.shap import ShapValues, shap_values_of_each
from hedgerow.explain.sources import CAUSES, Marginals, UncertaintySources, excess_of, uncertainty_sources
from hedgerow.explain.space import Space
from hedgerow.explain.words import cause_words
from hedgerow.inference.batch import Batch
from hedgerow.inference.predictor import predictor_of
from hedgerow.rules import resolve_rule
from hedgerow.tasks.classification.discounting import discount_factor
from hedgerow.tasks.classification.predictor import ClassificationPredictor

#: By default the smallest change is searched for up to this many samples, and for this many seconds each.
FEW_SAMPLES, SECONDS = 10, 1.0
#: By default SHAP values are computed for all of up to this many samples; if there are more, only for undecided ones.
SOME_SAMPLES = 100
#: By default there are no SHAP values of a larger forest: every node is visited for each sample.
MOST_NODES = 1_000_000


def explain_classes(forest: Any, X: Any, request: ExplainRequest) -> list[Explanation]:
    """Explain the predictions of a classifier; `coverage`, which is about intervals, is refused."""
    if request.coverage is not None:
        raise ValueError(f"coverage must be None for a classifier, got {request.coverage!r}; it is for regressors")
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
    forest: Any,
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
    """Samples with the codes of all features, and what is wanted -> an explanation of each."""
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
    """For which samples SHAP values are computed: "all", "open" or "none"."""
    if shap is None:
        small = len(predictor.forest.nodes) <= MOST_NODES
        return "none" if not small else "all" if n_samples <= SOME_SAMPLES else "open"
    return "all" if shap else "none"


@dataclass
class _Request:
    """Checked arguments, and state that all samples share."""

    names: tuple[str, str]  # names of rule and decision
    training: KnownRows | None
    marginals: Marginals
    cases: int
    limits: Limits
    wanted: int | None
    seconds: float
    predictor: ClassificationPredictor
    shap: str  # for which samples: "all", "open" or "none"
    space: Space | None = None


@dataclass(frozen=True)
class _Added:
    """What features add to the label and to the width, for some samples."""

    place: dict[int, int]  # sample -> its place in the values
    label: ShapValues
    width: ShapValues | None
    unit: str


def _explain_block(request: _Request, question: Question, first: int) -> list[Explanation]:
    """A block of samples -> their explanations."""
    excess = excess_of(question)
    uncertainty = uncertainty_sources(question, request.marginals, excess)
    near: list[list[Case]] | None = None
    if request.training is not None and request.cases:
        near = nearest_cases(question, request.training, request.cases)
    remedy, added = _remedies(request, question), _what_features_add(request, question)
    return [
        _one(request, question, row, first, uncertainty, excess[:, row], near, remedy.get(row), added)
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
    remedy: Remedy | None,
    added: _Added | None,
) -> Explanation:
    """Everything found about one sample -> its explanation."""
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
        doubt=_causes(question, row, uncertainty, excess),
        cases=None if near is None else near[row],
        rules=leaf_rules(question, row),
        shap=None if added is None or row not in added.place else _shap_of(predictor, added, added.place[row], label),
        settle=remedy,
        strange=_novelty(question, row),
        unknown=_unknown(question, row),
    )


def _novelty(question: Question, row: int) -> NovelFeature | None:
    """One sample -> that it is a stranger, if it is trusted less than others."""
    predictor = question.predictor
    novelty = predictor.novelty(question.batch)
    if novelty is None:
        return None
    trusted = float(discount_factor(novelty, predictor.novelty_level)[row])
    if trusted >= 1:
        return None
    return NovelFeature(float(novelty.p_value[row]), predictor.codebook.names[novelty.feature[row]], trusted)


def _unknown(question: Question, row: int) -> list[str]:
    """One sample -> the features whose values no training row had."""
    unknown = question.batch.unseen
    return (
        [] if unknown is None else [question.predictor.codebook.names[feature] for feature in unknown.features_of(row)]
    )


def _causes(question: Question, row: int, uncertainty: UncertaintySources, excess: Floats) -> list[Cause]:
    """The causes of doubt about one sample, the largest first."""
    words, shares = cause_words(question, row, excess), uncertainty.shares[row]
    order = np.argsort(-shares, kind="stable")
    return [Cause(CAUSES[i], float(shares[i]), float(uncertainty.amounts[row, i]), words[CAUSES[i]]) for i in order]


def _remedies(request: _Request, question: Question) -> dict[int, Remedy]:
    """Samples -> what would settle each undecided one.

    If leaves are sure of a sample, but a value is unknown or the sample is strange, they have no advice: more cases,
    less caution or other values would change what the leaves say, and that is not the doubt.
    """
    predictor, rows = request.predictor, np.flatnonzero(question.is_open)
    labels, names = labels_of(predictor), predictor.codebook.names
    widened = predictor.adjusted_rows(question.batch) is not None and len(rows) > 0
    sure = only_class(predictor, question.counts[rows]) >= 0 if widened else np.zeros(len(rows), dtype=bool)
    unsure = rows[~sure]
    by_cases = dict(zip(unsure.tolist(), confirmed_cases(question, unsure), strict=True))
    calm = dict(zip(unsure.tolist(), calm_caution(question, unsure), strict=True))
    found = {}
    for row in rows.tolist():
        measured = measure_first(question, row, request.marginals) if question.missing(row) else []
        less = calm.get(row)
        found[row] = Remedy(
            confirmed=[_confirmed(each, labels) for each in by_cases.get(row, [])],
            caution=None if less is None else (less.caution, labels[less.label]),
            measure=[(names[f], share, None if k is None else labels[k]) for f, share, k in measured],
            change=_change(request, question, row) if request.seconds > 0 and row in by_cases else None,
        )
    return found


def _confirmed(each: Confirmed, labels: list[Any]) -> tuple[Any, int]:
    return labels[each.label], each.number


def _change(request: _Request, question: Question, row: int) -> dict[str, Any]:
    """One sample -> its smallest change, in plain values."""
    predictor = request.predictor
    if request.space is None:
        request.space = Space(predictor)
    values = [float(column[row]) for column in question.columns]
    found = smallest_change(
        request.space, question.codes[:, row], values, request.limits, time_limit=request.seconds, wanted=request.wanted
    )
    return _change_words(predictor, question, row, found)


def _change_words(predictor: ClassificationPredictor, question: Question, row: int, change: Change) -> dict[str, Any]:
    """A change in codes -> the keys of ``settle.change``."""
    moves = [
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


def _what_features_add(request: _Request, question: Question) -> _Added | None:
    """Shapley values of the label's probability or log-odds, and of the width, if these are sums over trees."""
    rows = {"all": np.arange(question.n_samples), "open": np.flatnonzero(question.is_open)}.get(request.shap)
    if rows is None or not len(rows):
        return None
    codes, place = np.ascontiguousarray(question.codes[:, rows]), {row: at for at, row in enumerate(rows.tolist())}
    for unit in ("probability", "log_odds", "lower"):
        whats = (unit,) if unit == "log_odds" else (unit, "width")
        try:
            found = shap_values_of_each(request.predictor, codes, whats)
        except ValueError:  # not a sum over trees under this rule
            continue
        return _Added(place, found[0], found[1] if len(found) > 1 else None, unit)
    return None


def _shap_of(predictor: ClassificationPredictor, added: _Added, row: int, label: int) -> ShapOf:
    """One sample -> what each feature adds to its label."""
    width = added.width
    return ShapOf(
        features=list(predictor.codebook.names),
        label=added.label.values[row, :, label].tolist(),
        width=None if width is None else width.values[row, :, label].tolist(),
        unit=added.unit,
        base={
            "label": float(added.label.base[label]),
            "width": None if width is None else float(width.base[label]),
        },
    )


def _names_of(forest: Any) -> tuple[str, str]:
    """Rule and decision as text: their names, or how Python writes the objects."""
    rule = forest.rule if isinstance(forest.rule, str) else repr(forest.rule)
    return rule, decision_in_force(forest.decision, resolve_rule(forest.rule))


def limits_of(
    predictor: ClassificationPredictor,
    immutable: Iterable[int | str] | None,
    increasing: Iterable[int | str] = (),
    decreasing: Iterable[int | str] = (),
) -> Limits:
    """Features by number or name -> the limits of a change; None means those that the model does not let change."""
    immutable = predictor.immutable if immutable is None else immutable
    up, down = _features(predictor, increasing, "increasing"), _features(predictor, decreasing, "decreasing")
    for feature in up | down:
        if predictor.fitted.bins.nominal[feature]:
            raise ValueError(
                f"increasing and decreasing must name numeric features, got {predictor.codebook.names[feature]!r},"
                " which is nominal; make it immutable or leave it free"
            )
    both = up & down
    return Limits(_features(predictor, immutable, "immutable") | both, up - both, down - both)


def _features(predictor: ClassificationPredictor, features: Iterable[int | str], what: str) -> frozenset[int]:
    """Features by number or name -> features by number."""
    listed = [features] if isinstance(features, str | int) else list(features)
    place = {name: number for number, name in enumerate(predictor.codebook.names)}
    found = set()
    for feature in listed:
        number = place.get(feature, -1) if isinstance(feature, str) else int(feature)
        if not 0 <= number < len(place):
            raise ValueError(
                f"{what} must hold names or numbers of features, got {feature!r}; the first are"
                f" {', '.join(map(repr, predictor.codebook.names[:5]))}"
            )
        found.add(number)
    return frozenset(found)


def _label_of(predictor: ClassificationPredictor, wanted: Any) -> int | None:
    """A class -> its label."""
    if wanted is None:
        return None
    if wanted not in labels_of(predictor):
        raise ValueError(
            f"wanted must be one of the classes {labels_of(predictor)[:10]}, got {wanted!r}; None allows any"
        )
    return labels_of(predictor).index(wanted)
