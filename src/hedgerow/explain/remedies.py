"""Remedies for undecided samples: more cases, less caution, a measurement."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hedgerow.explain.question import BLOCK_CELLS, Bools, Floats, Question, counts_of, only_class, tree_shares
from hedgerow.explain.sources import COMPLETIONS, Marginals, complete, uncertainty_from_counts
from hedgerow.tasks.classification.predictor import ClassificationPredictor

#: Most confirmed cases that are tried.
MOST_CASES = 1000
#: Up to this many, numbers of cases are tried one by one; above, by bisection.
ONE_BY_ONE = 16
#: Most classes of a set that are tried, the most probable first.
MOST_CLASSES = 8
#: The caution is searched in this many steps, then in this many bisections.
STEPS, HALVINGS = 16, 8
#: So many halvings are decided by one question about all points that they may need, if the rule allows it.
AT_ONCE = 4


class Confirmed(NamedTuple):
    """With `number` further cases of a class in every leaf the sample reaches, only that class remains."""

    label: int
    number: int


class Calm(NamedTuple):
    """The largest caution below the forest's at which one class remains, and this class."""

    caution: float
    label: int


class Measurement(NamedTuple):
    """A missing value: the share of its possible values that leave one class, and the class most of these leave."""

    feature: int
    resolves: float
    label: int | None


def confirmed_cases(question: Question, rows: NDArray[np.int64]) -> list[list[Confirmed]]:
    """The smallest number of further cases, confirmed to be of a class, after which only this class remains.

    A confirmed case is like the sample: it reaches the same leaf of every tree. Trees are not grown again.

    Parameters
    ----------
    question : Question
    rows : (m,) int64
        Undecided samples.

    Returns
    -------
    list of m lists of Confirmed
        Fewest first; a class that `MOST_CASES` cases do not settle is left out. Numbers up to `ONE_BY_ONE` are tried
        one by one, larger ones by bisection. Bisection is exact if each case adds to the margin of its class, as under
        every mean and under belief.
    """
    pairs = [(row, label) for row in rows.tolist() for label in question.likely(row)[:MOST_CLASSES]]
    if not pairs:
        return [[] for _ in rows]
    sample, label = np.array(pairs).T
    number = _fewest(question.predictor, question.counts, sample, label)
    found: dict[int, list[Confirmed]] = {row: [] for row in rows.tolist()}
    for row, which, cases in zip(sample.tolist(), label.tolist(), number.tolist(), strict=True):
        if cases <= MOST_CASES:
            found[row].append(Confirmed(which, cases))
    return [sorted(found[row], key=lambda each: each.number) for row in rows.tolist()]


def calm_caution(question: Question, rows: NDArray[np.int64]) -> list[Calm | None]:
    """The largest caution below the forest's at which one class remains; None if there is no such caution.

    Cautions are tried in `STEPS` equal steps from 0, then by bisection between the last that leaves one class and the
    next.

    Parameters
    ----------
    question : Question
    rows : (m,) int64
        Undecided samples.

    Returns
    -------
    list of m Calm or None
    """
    predictor, counts = question.predictor, question.counts[rows]
    low, label = np.zeros(len(rows)), np.full(len(rows), -1)
    step = predictor.setting.caution / STEPS
    tried = np.arange(STEPS if step > 0 and len(rows) else 0) * step
    for caution, alone in zip(tried, _alone_at(predictor, counts, np.tile(tried, (len(rows), 1))).T, strict=True):
        label, low = np.where(alone >= 0, alone, label), np.where(alone >= 0, caution, low)
    found = np.flatnonzero(label >= 0)
    high = low + step
    open_samples = AT_ONCE if predictor.rule.scale_free else 1
    grid = np.arange(1, 2**open_samples) / 2**open_samples  # all points that so many halvings may ask for
    for _ in range(0, HALVINGS if len(found) else 0, open_samples):
        width = (high - low)[found]
        alone, at = _alone_at(predictor, counts[found], low[found, None] + grid * width[:, None]), np.zeros_like(found)
        for half in range(open_samples):
            middle = at + 2 ** (open_samples - 1 - half)
            there = alone[np.arange(len(found)), middle - 1]
            at, label[found] = np.where(there >= 0, middle, at), np.where(there >= 0, there, label[found])
        low[found] += at * width / 2**open_samples
        high[found] = low[found] + width / 2**open_samples
    return [Calm(float(b), int(k)) if k >= 0 else None for b, k in zip(low, label, strict=True)]


def measure_first(question: Question, row: int, marginals: Marginals) -> list[Measurement]:
    """Which missing value to measure first.

    Parameters
    ----------
    question : Question
    row : int
        An undecided sample.
    marginals : Marginals
        The values features can have.

    Returns
    -------
    list of Measurement
        One for each missing value that some tree asks about. The value that settles most often comes first; among
        equals, the one that leaves least doubt.
    """
    predictor, found = question.predictor, []
    for feature in question.missing(row):
        filled = complete(question.codes[:, [row]], predictor, marginals, np.array([feature]), COMPLETIONS)
        counts = counts_of(predictor, filled)
        alone = only_class(predictor, counts)
        decided = alone[alone >= 0]
        label = int(np.bincount(decided).argmax()) if len(decided) else None
        left = uncertainty_from_counts(
            counts, predictor.setting.caution, tree_shares=tree_shares(predictor)
        ).total.mean()
        found.append((Measurement(feature, len(decided) / len(alone), label), float(left)))
    return [each for each, left in sorted(found, key=lambda pair: (-pair[0].resolves, pair[1]))]


def _alone_at(predictor: ClassificationPredictor, counts: Floats, cautions: Floats) -> NDArray[np.int64]:
    """Evidence (m, T, K), c cautions for each (m, c) -> (m, c): the only class that remains, or -1."""
    alone, distinct = np.empty(cautions.shape, dtype=np.int64), np.unique(cautions)
    if predictor.rule.scale_free:  # more caution is fewer rows, so all cautions above 0 can be asked at once
        rows, places = np.nonzero(cautions > 0)
        block = max(1, BLOCK_CELLS // max(1, counts[0].size if len(counts) else 1))
        for first in range(0, len(rows), block):
            at = rows[first : first + block], places[first : first + block]
            alone[at] = only_class(predictor, counts[at[0]] * (predictor.setting.caution / cautions[at])[:, None, None])
        distinct = distinct[distinct == 0]
    for caution in distinct:
        rows, places = np.nonzero(cautions == caution)
        alone[rows, places] = only_class(predictor, counts[rows], float(caution))
    return alone


def _fewest(
    predictor: ClassificationPredictor, counts: Floats, sample: NDArray[np.int64], label: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Samples and classes (m,) -> (m,): the number of cases after which only the class remains, else > MOST_CASES."""
    few = np.arange(1, ONE_BY_ONE + 1)
    of_sample, of_label = np.repeat(sample, len(few)), np.repeat(label, len(few))
    is_decided = _decides(predictor, counts, of_sample, of_label, np.tile(few, len(sample)))
    is_decided = is_decided.reshape(len(sample), len(few))
    number = np.where(is_decided.any(axis=1), 1 + is_decided.argmax(axis=1), MOST_CASES + 1)
    waiting = np.flatnonzero(number > MOST_CASES)
    low, high = np.full(len(waiting), ONE_BY_ONE), np.full(len(waiting), 2 * ONE_BY_ONE)
    while (growing := np.flatnonzero((high <= 2 * MOST_CASES) & (number[waiting] > MOST_CASES))).size:
        at = waiting[growing]
        is_decided = _decides(predictor, counts, sample[at], label[at], high[growing])
        number[at[is_decided]] = 0  # the number is at most `high`
        low[growing[~is_decided]] = high[growing[~is_decided]]
        high[growing[~is_decided]] *= 2
    inside = number[waiting] == 0
    waiting, low, high = waiting[inside], low[inside], high[inside]
    while (open_ := np.flatnonzero(high - low > 1)).size:
        middle = (low[open_] + high[open_]) // 2
        is_decided = _decides(predictor, counts, sample[waiting[open_]], label[waiting[open_]], middle)
        high[open_[is_decided]], low[open_[~is_decided]] = middle[is_decided], middle[~is_decided]
    number[waiting] = high
    return number


def _decides(
    predictor: ClassificationPredictor,
    counts: Floats,
    sample: NDArray[np.int64],
    label: NDArray[np.int64],
    number: NDArray[np.int64],
) -> Bools:
    """Samples, classes, numbers of cases (m,) -> (m,): whether only that class remains."""
    is_decided = np.zeros(len(sample), dtype=bool)
    block = max(1, BLOCK_CELLS // (counts.shape[1] * counts.shape[2]))
    for first in range(0, len(sample), block):
        part = slice(first, first + block)
        more = counts[sample[part]]  # a copy
        more[np.arange(len(more)), :, label[part]] += number[part, None]
        is_decided[part] = only_class(predictor, more) == label[part]
    return is_decided
