"""Sentences of explanations; the script of the report writes the same ones."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from hedgerow.belief.leaf import class_shares
from hedgerow.explain.cases import Label, Value, amount, class_words, number, number_or_date, value_words
from hedgerow.explain.question import Floats, Question, certain_counts, labels_of
from hedgerow.explain.sources import CAUSES

if TYPE_CHECKING:
    from hedgerow.explain.explanation import Counterfactual, Explanation

#: The name of each source of uncertainty.
NAMES = {
    "few": "too few similar training rows",
    "overlap": "class overlap",
    "disagree": "tree disagreement",
    "missing": "missing values or new categories",
    "out_of_range": "values outside the training range",
}
#: Name at most this many classes, and count the rest.
NAMED_CLASSES = 4


def sentence_words(explanation: Explanation) -> str:
    """Describe the prediction and the sources of its uncertainty.

    Begin with novelty, values that no training row has, and actions.
    """
    text, novelty = [_prediction_words(explanation)], explanation.novelty
    if explanation.actions is not None:
        text.insert(0, action_words(explanation.actions))
    far = next((each for each in explanation.uncertainty if each.cause == "out_of_range" and each.amount > 0), None)
    if far is not None:
        text.insert(0, f"{far.text[0].upper()}{far.text[1:]}.")
    if explanation.out_of_support:
        text.insert(0, f"No training row has such a value of {joined(name_few(explanation.out_of_support), 'or')}.")
    if novelty is not None:
        p_value = f"p = {number(float(f'{novelty.p_value:.2g}'))}"
        text.insert(0, f"Novel row ({p_value}), most unusual in {novelty.feature}.")
    return " ".join(text)


def action_words(actions: Sequence[str]) -> str:
    """Name the action, or the actions that are not ruled out."""
    one = len(actions) == 1
    return f"{'Action' if one else 'Actions not ruled out'}: {joined(name_few(actions))}."


def _prediction_words(explanation: Explanation) -> str:
    """Describe the prediction set and the sources of uncertainty."""
    percent = percents([each.share for each in explanation.uncertainty])
    pairs = zip(explanation.uncertainty, percent, strict=True)
    causes = [f"{NAMES[each.cause]} {share}%" for each, share in pairs if share > 0]
    if len(explanation.set) == 1:
        best = explanation.classes.index(explanation.set[0])
        bounds = f"{explanation.lower[best]:.0%} to {explanation.upper[best]:.0%}"
        start = f"Decided: {class_words(explanation.set[0])}, probability {bounds}."
        return f"{start} Remaining uncertainty: {', '.join(causes)}." if causes else f"{start} No uncertainty."
    start = f"Undecided between {joined(name_few([class_words(label) for label in explanation.likely]))}."
    return f"{start} Uncertainty: {', '.join(causes)}." if causes else f"{start} They are equally probable."


def cause_words(question: Question, row: int, excess: Floats) -> dict[str, str]:
    """Describe each source of uncertainty about one sample; `excess` (p,) is 0 for values within their range."""
    predictor = question.predictor
    counts = question.counts[row, :, : predictor.forest.n_classes]
    names = predictor.codebook.names
    certain, _ = certain_counts(predictor, question.counts[row])
    missing = [names[feature] for feature in question.missing(row)]
    out_of_range = [_range_words(question, row, int(feature)) for feature in np.flatnonzero(excess > 0)]
    details = {
        "few": _few_words(counts, certain, predictor.setting.caution, of_groups=predictor.fitted.counts_groups),
        "overlap": f"similar training rows: {_mixture_words(counts, labels_of(predictor))}",
        "disagree": _vote_words(counts, labels_of(predictor)),
        "missing": joined(name_few(missing, 6)) if missing else "none",
        "out_of_range": joined(out_of_range[:4]) if out_of_range else "none",
    }
    return {cause: f"{NAMES[cause]}: {details[cause]}" for cause in CAUSES}


def percents(shares: Iterable[float]) -> list[int]:
    """Round shares that sum to one to percentages that sum to 100.

    Each is off by less than one, and zeros stay zeros.
    """
    exact = 100 * np.asarray(list(shares), dtype=np.float64)
    whole = np.floor(exact + 1e-9)
    rest = round(float(exact.sum())) - int(whole.sum())
    for position in np.argsort(whole - exact, kind="stable")[: max(rest, 0)]:
        whole[position] += 1
    return [int(each) for each in whole]


def joined(words: list[str], last: str = "and") -> str:
    """Join words: ``a``, ``a and b``, ``a, b and c``."""
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} {last} {words[-1]}" if words else "nothing"


def name_few(values: Sequence[Value], most: int = NAMED_CLASSES) -> list[str]:
    """Convert values to text: all, or if there are many the first few and the number of others."""
    text = [str(value) for value in values]
    return text if len(text) <= most + 1 else [*text[:most], f"{len(text) - most:,} others"]


def cases_words(count: int, label: Label) -> str:
    """Count labelled rows: ``1 more training row in the same leaf of every tree, labelled yes``."""
    rows = "row" if count == 1 else "rows"
    return f"{count:,} more training {rows} in the same leaf of every tree, labelled {class_words(label)}"


def remedy_words(explanation: Explanation) -> list[str]:
    """List what would decide a sample, one line each."""
    remedies = explanation.remedies
    if remedies is None:
        return []
    if explanation.is_determinate:
        return counterfactual_words(remedies.counterfactual)
    lines = []
    if explanation.out_of_support:
        lines.append(f"a value of {joined(name_few(explanation.out_of_support))} that occurs in training")
    if (explanation.out_of_support or explanation.novelty) and not (remedies.confirmed or remedies.counterfactual):
        return lines + _measure_words(remedies.measure)  # the leaves are sure, so neither cases nor values would help
    if remedies.confirmed:
        (label, count), *others = remedies.confirmed
        more = f" (or {joined([f'{n:,} labelled {class_words(each)}' for each, n in others[:3]], 'or')})"
        lines.append(cases_words(count, label) + (more if others else ""))
    else:
        lines.append("not even 1,000 more training rows of one class in the same leaf of every tree")
    return [*lines, *_measure_words(remedies.measure), *counterfactual_words(remedies.counterfactual)]


def remedy_title(explanation: Explanation) -> str:
    """Return the title of the remedies; those of a decided sample lead to the wanted class."""
    return "What would change it" if explanation.is_determinate else "What would decide it"


def counterfactual_words(counterfactual: Counterfactual | None) -> list[str]:
    """Describe a counterfactual in one line.

    An empty list if the time was too short to find one.
    """
    if counterfactual is None or not (counterfactual["found"] or counterfactual["optimal"]):
        return []
    if not counterfactual["found"]:
        return ["no counterfactual within the training data and the given constraints"]
    changes = counterfactual["changes"]
    moves = [f"{move['feature']} {value_words(move['to'])} instead of {value_words(move['from'])}" for move in changes]
    label = counterfactual["label"]
    proof = "smallest change" if counterfactual["optimal"] else "a smaller change may exist"
    leads = "" if label is None else f": {class_words(label)}"
    return [f"counterfactual: {joined(moves)} would change the prediction{leads} ({proof})"]


def _measure_words(measure: list[tuple[str, float, Label | None]]) -> list[str]:
    """Name the missing value that would decide most often, and the class it would mostly leave."""
    if not measure:
        return []
    feature, share, label = measure[0]
    if share == 0:
        return []  # no value of a single feature would decide it
    most = f", mostly {class_words(label)}" if label is not None and share < 1 else ""
    return [f"{feature}, which is missing: {share:.0%} of its values in training would leave one class{most}"]


def _few_words(counts: Floats, certain: Floats, caution: float, *, of_groups: bool) -> str:
    """Describe the sizes of the leaves (T, K), in rows and certain ones, in relation to the caution."""
    found = amount(float(np.median(counts.sum(axis=1))))
    if of_groups:
        found += " group" if found == "1" else " groups"
    share = 1 - certain.sum() / max(counts.sum(), 1e-300)
    uncertain = f", {share:.0%} of uncertain class" if share >= 0.005 else ""
    return f"{found}{uncertain} in the {'leaf' if len(counts) == 1 else 'median leaf'}, caution {number(caution)}"


def _mixture_words(counts: Floats, labels: list[Label]) -> str:
    """List the shares of the commonest classes in the leaves (T, K), averaged over trees."""
    shares = class_shares(counts).mean(axis=0)
    order = np.argsort(-shares, kind="stable")[:3]
    return ", ".join([f"{shares[k]:.0%} {class_words(labels[k])}" for k in order if shares[k] >= 0.005])


def _vote_words(counts: Floats, labels: list[Label]) -> str:
    """Count the trees whose leaves (T, K) favour each class."""
    best = counts.max(axis=1, keepdims=True)
    sure = ((counts == best).sum(axis=1) == 1) & (best[:, 0] > 0)
    votes = np.bincount(counts[sure].argmax(axis=1), minlength=counts.shape[1])
    order = [k for k in np.argsort(-votes, kind="stable").tolist() if votes[k]][:3]
    votes_words = [
        f"{votes[k]:,}{'' if place else ' vote' if votes[k] == 1 else ' votes'} for {class_words(labels[k])}"
        for place, k in enumerate(order)
    ]
    return joined(votes_words if sure.all() else [*votes_words, f"{int((~sure).sum()):,} tied"])


def _range_words(question: Question, row: int, feature: int) -> str:
    """Describe a value and the training range that it is outside of."""
    low, high = question.predictor.codebook.range_of(feature)
    kind = question.predictor.codebook.schema.kinds[feature]
    value, least, most = (number_or_date(each, kind) for each in (float(question.columns[feature][row]), low, high))
    return f"{question.predictor.codebook.names[feature]} = {value} (training range {least} to {most})"
