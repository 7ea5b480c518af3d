"""Sentences of explanations."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from hedgerow.belief.leaf import class_shares
from hedgerow.explain.cases import amount, class_words, number, number_or_date, value_words
from hedgerow.explain.question import Floats, Question, labels_of
from hedgerow.explain.sources import CAUSES

if TYPE_CHECKING:
    from hedgerow.explain.explanation import Explanation

#: The name of each cause.
NAMES = {
    "few": "too few similar cases",
    "overlap": "classes that really overlap",
    "disagree": "trees that disagree",
    "missing": "missing or unseen values",
    "outside": "values outside the range of the training data",
}
#: Name at most this many classes, and count the rest.
NAMED_CLASSES = 4


def sentence_words(explanation: Explanation) -> str:
    """An explanation -> what is unknown or strange about the sample, the set, and where the doubt comes from."""
    text, strange = [_answer_words(explanation)], explanation.strange
    if explanation.unknown:
        text.insert(0, f"No training row has such a value of {joined(name_few(explanation.unknown), 'or')}.")
    if strange is not None:
        p_value = f"p = {number(float(f'{strange.p_value:.2g}'))}"
        text.insert(0, f"It is unlike the training rows ({p_value}), above all in {strange.feature}.")
    return " ".join(text)


def _answer_words(explanation: Explanation) -> str:
    """An explanation -> one sentence: the set, and where the doubt comes from."""
    percent = percents([each.share for each in explanation.doubt])
    causes = [
        f"{NAMES[each.cause]} ({share} %)" for each, share in zip(explanation.doubt, percent, strict=True) if share > 0
    ]
    if len(explanation.set) == 1:
        best = explanation.classes.index(explanation.set[0])
        bounds = f"{explanation.lower[best]:.0%} to {explanation.upper[best]:.0%}".replace("%", " %")
        start = f"It is {class_words(explanation.set[0])}, with a probability of {bounds}"
        return (
            f"{start}; the remaining doubt comes from {joined(causes)}." if causes else f"{start}, without any doubt."
        )
    start = f"It could be {joined(name_few([class_words(label) for label in explanation.likely]), 'or')}"
    return f"{start}: the doubt comes from {joined(causes)}." if causes else f"{start}: they are equally probable."


def cause_words(question: Question, row: int, excess: Floats) -> dict[str, str]:
    """One sample, and how far its values lie outside the training data (p,) -> words for each cause."""
    predictor, counts = question.predictor, question.counts[row]
    names = predictor.codebook.names
    missing = [names[feature] for feature in question.missing(row)]
    out_of_range = [_range_words(question, row, int(feature)) for feature in np.flatnonzero(excess > 0)]
    figures = {
        "few": _few_words(counts, predictor.setting.caution),
        "overlap": f"similar cases are {_mixture_words(counts, labels_of(predictor))}",
        "disagree": _leaning_words(counts, labels_of(predictor)),
        "missing": joined(name_few(missing, 6)) if missing else "none",
        "outside": joined(out_of_range[:4]) if out_of_range else "none",
    }
    return {cause: f"{NAMES[cause]}: {figures[cause]}" for cause in CAUSES}


def percents(shares: Iterable[float]) -> list[int]:
    """Shares with sum one -> whole percentages with sum 100, each off by less than one; zeros stay zeros."""
    exact = 100 * np.asarray(list(shares), dtype=np.float64)
    whole = np.floor(exact + 1e-9)
    rest = round(float(exact.sum())) - int(whole.sum())
    for position in np.argsort(whole - exact, kind="stable")[: max(rest, 0)]:
        whole[position] += 1
    return [int(each) for each in whole]


def joined(words: list[str], last: str = "and") -> str:
    """``a``, ``a and b``, ``a, b and c``."""
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} {last} {words[-1]}" if words else "nothing"


def name_few(values: list[Any], most: int = NAMED_CLASSES) -> list[str]:
    """Values -> text; if there are many, the first few and how many others."""
    text = [str(value) for value in values]
    return text if len(text) <= most + 1 else [*text[:most], f"{len(text) - most:,} others"]


def cases_words(count: int, label: Any) -> str:
    """``one further case confirmed to be yes``."""
    return f"{count:,} further case{'' if count == 1 else 's'} like this one, confirmed to be {class_words(label)}"


def remedy_words(explanation: Explanation) -> list[str]:
    """An explanation -> what would settle it, one line each."""
    remedies = explanation.settle
    if remedies is None:
        return []
    lines = []
    if explanation.unknown:
        lines.append(f"a value of {joined(name_few(explanation.unknown))} like those of the training rows")
    if (explanation.unknown or explanation.strange) and not (remedies.confirmed or remedies.change):
        return lines + _measure_words(remedies.measure)  # what leaves say is not the doubt
    if remedies.confirmed:
        (label, count), *others = remedies.confirmed
        more = f" (or {joined([f'{n:,} to be {class_words(each)}' for each, n in others[:3]], 'or')})" if others else ""
        lines.append(cases_words(count, label) + more)
    else:
        lines.append("no number of further cases of one class, up to 1,000")
    return [*lines, *_measure_words(remedies.measure), *change_words(remedies.change)]


def change_words(change: dict[str, Any] | None) -> list[str]:
    """The smallest change -> one line, and whether it is certainly the smallest; none if nothing was found in time."""
    if change is None or not (change["found"] or change["optimal"]):
        return []
    if not change["found"]:
        return ["no change of its values within the training data and the given limits"]
    moves = joined([_move_words(move) for move in change["changes"]])
    promise = "no smaller change does" if change["optimal"] else "a smaller change may do as well"
    return [f"{moves}: then {class_words(change['label'])} ({promise})"]


def _move_words(move: dict[str, Any]) -> str:
    return f"{move['feature']} {value_words(move['to'])} instead of {value_words(move['from'])}"


def _measure_words(measure: list[tuple[str, float, Any]]) -> list[str]:
    """Missing values -> which to measure first."""
    if not measure:
        return []
    feature, share, label = measure[0]
    if share == 0:
        return [f"no single missing value; {feature} would help most"]
    most = f", mostly {class_words(label)}" if label is not None and share < 1 else ""
    return [f"measuring {feature} first: {share:.0%} of its possible values leave one class{most}".replace("%", " %")]


def _few_words(counts: Floats, caution: float) -> str:
    """Counts (T, K) -> how many similar rows the trees find."""
    found = float(np.median(counts.sum(axis=1)))
    if len(counts) == 1:
        return f"the tree finds {amount(found)}, and keeps {number(caution)} unseen in reserve"
    return f"half of the trees find {amount(found)} or fewer, and keep {number(caution)} unseen in reserve"


def _mixture_words(counts: Floats, labels: list[Any]) -> str:
    """Counts (T, K) -> shares of the commonest classes in the leaves, averaged over trees."""
    shares = class_shares(counts).mean(axis=0)
    order = np.argsort(-shares, kind="stable")[:3]
    return joined([f"{shares[k]:.0%} {class_words(labels[k])}".replace("%", " %") for k in order if shares[k] >= 0.005])


def _leaning_words(counts: Floats, labels: list[Any]) -> str:
    """Counts (T, K) -> how many trees lean to which class."""
    best = counts.max(axis=1, keepdims=True)
    sure = ((counts == best).sum(axis=1) == 1) & (best[:, 0] > 0)
    votes = np.bincount(counts[sure].argmax(axis=1), minlength=counts.shape[1])
    order = [k for k in np.argsort(-votes, kind="stable").tolist() if votes[k]][:3]
    text = [f"{votes[k]:,} {'' if place else 'lean '}to {class_words(labels[k])}" for place, k in enumerate(order)]
    if not sure.all():
        text.append(f"{int((~sure).sum()):,} to none")
    return joined(text)


def _range_words(question: Question, row: int, feature: int) -> str:
    low, high = question.predictor.codebook.range_of(feature)
    kind = question.predictor.codebook.schema.kinds[feature]
    value, least, most = (number_or_date(each, kind) for each in (float(question.columns[feature][row]), low, high))
    return f"{question.predictor.codebook.names[feature]} is {value}, trained on {least} to {most}"
