"""Remedies for undecided samples: more cases, less caution, a measurement."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import chdtrc

from hedgerow.explain.cases import KnownRows
from hedgerow.explain.question import (
    BLOCK_CELLS,
    Bools,
    Floats,
    Question,
    counts_of,
    only_class,
    tree_shares,
    views_of,
)
from hedgerow.explain.sources import COMPLETIONS, Marginals, complete, uncertainty_from_counts
from hedgerow.tasks.classification.predictor import ClassificationPredictor

#: Largest number of confirmed cases tried.
MOST_CASES = 1000
#: Numbers of cases up to this one are tried one by one, larger ones by bisection.
ONE_BY_ONE = 16
#: Number of classes of a set tried, the most probable first.
MOST_CLASSES = 8
#: The caution is searched in this many steps, then in this many bisections.
STEPS, HALVINGS = 16, 8
#: Significance level at which missing values are informative.
INFORMATIVE = 0.001
#: Number of bisection steps evaluated in one batch, if the rule is scale-free.
AT_ONCE = 4


class Confirmed(NamedTuple):
    """Number of further cases of a class, in every leaf the sample reaches, after which only that class remains."""

    label: int
    number: int


class Calm(NamedTuple):
    """The largest caution below the forest's at which one class remains, and this class."""

    caution: float
    label: int


class Measurement(NamedTuple):
    """A missing feature, the share of its possible values that leave one class, and the class most of these leave."""

    feature: int
    resolves: float
    label: int | None


def confirmed_cases(question: Question, rows: NDArray[np.int64]) -> list[list[Confirmed]]:
    """Find the smallest number of confirmed cases of a class after which only this class remains.

    A confirmed case is similar to the sample: it reaches the same leaf of every tree. The trees do not change.

    Parameters
    ----------
    question : Question
    rows : (m,) int64
        Undecided samples.

    Returns
    -------
    list of m lists of Confirmed
        Fewest first, without classes that need more than `MOST_CASES` cases. Up to `ONE_BY_ONE`, numbers are tried in
        turn, larger ones by bisection. Bisection is exact if each case increases the margin of its class, as under
        means and belief.
    """
    pairs = [(row, label) for row in rows.tolist() for label in question.likely(row)[:MOST_CLASSES]]
    if not pairs:
        return [[] for _ in rows]
    sample, label = np.array(pairs).T
    number = _fewest(question, sample, label)
    found: dict[int, list[Confirmed]] = {row: [] for row in rows.tolist()}
    for row, which, cases in zip(sample.tolist(), label.tolist(), number.tolist(), strict=True):
        if cases <= MOST_CASES:
            found[row].append(Confirmed(which, cases))
    return [sorted(found[row], key=lambda each: each.number) for row in rows.tolist()]


def calm_caution(question: Question, rows: NDArray[np.int64]) -> list[Calm | None]:
    """Find the largest caution below the forest's at which one class remains.

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
        None if one class remains at no caution.
    """
    predictor, counts = question.predictor, question.counts[rows]
    views = None if question.views is None else question.views[rows]
    low, label = np.zeros(len(rows)), np.full(len(rows), -1)
    step = predictor.setting.caution / STEPS
    tried = np.arange(STEPS if step > 0 and len(rows) else 0) * step
    first = _alone_at(predictor, counts, views, np.tile(tried, (len(rows), 1)))
    for caution, alone in zip(tried, first.T, strict=True):
        label, low = np.where(alone >= 0, alone, label), np.where(alone >= 0, caution, low)
    found = np.flatnonzero(label >= 0)
    high = low + step
    steps = AT_ONCE if predictor.rule.scale_free else 1
    grid = np.arange(1, 2**steps) / 2**steps  # all points that these bisection steps may need
    for _ in range(0, HALVINGS if len(found) else 0, steps):
        width = (high - low)[found]
        of_found = None if views is None else views[found]
        alone = _alone_at(predictor, counts[found], of_found, low[found, None] + grid * width[:, None])
        at = np.zeros_like(found)
        for half in range(steps):
            middle = at + 2 ** (steps - 1 - half)
            only = alone[np.arange(len(found)), middle - 1]
            at, label[found] = np.where(only >= 0, middle, at), np.where(only >= 0, only, label[found])
        low[found] += at * width / 2**steps
        high[found] = low[found] + width / 2**steps
    return [Calm(float(b), int(k)) if k >= 0 else None for b, k in zip(low, label, strict=True)]


def measure_first(question: Question, row: int, marginals: Marginals) -> list[Measurement]:
    """Rank missing values by how often measuring them would decide the sample.

    Parameters
    ----------
    question : Question
    row : int
        An undecided sample.
    marginals : Marginals
        Possible values of the features.

    Returns
    -------
    list of Measurement
        One for each missing feature used by some tree. The feature that decides most often comes first; among equals,
        the one with the least remaining uncertainty.
    """
    predictor, found = question.predictor, []
    for feature in question.missing(row):
        filled = complete(question.codes[:, [row]], predictor, marginals, np.array([feature]), COMPLETIONS)
        counts = counts_of(predictor, filled)
        alone = only_class(predictor, counts, views_of(predictor, filled))
        decided = alone[alone >= 0]
        label = int(np.bincount(decided).argmax()) if len(decided) else None
        left = uncertainty_from_counts(
            counts, predictor.setting.caution, tree_shares=tree_shares(predictor)
        ).total.mean()
        found.append((Measurement(feature, len(decided) / len(alone), label), float(left)))
    return [each for each, left in sorted(found, key=lambda pair: (-pair[0].resolves, pair[1]))]


def tells_by_absence(training: KnownRows, feature: int, predictor: ClassificationPredictor) -> bool:
    """Return whether training rows without the feature have other classes than those with it (chi-square, p < 0.001).

    Then values of other rows are no guide to a value that is missing, and measuring it loses what its absence tells.
    Rows whose label is uncertain do not count.
    """
    if training.labels is None:
        return False
    certain = np.array([each is not None for each in training.labels], dtype=bool)
    if not certain.any():
        return False
    absent = np.asarray(training.codes[feature])[certain] == predictor.codebook.missing_code
    _, label = np.unique(np.asarray(training.labels)[certain], return_inverse=True)
    counts = np.stack([np.bincount(label[absent == side], minlength=label.max() + 1) for side in (False, True)])
    expected = counts.sum(axis=1, keepdims=True) * counts.sum(axis=0) / counts.sum()
    if not expected.all():
        return False
    statistic = float(((counts - expected) ** 2 / expected).sum())
    return bool(chdtrc(counts.shape[1] - 1, statistic) < INFORMATIVE)


def _alone_at(
    predictor: ClassificationPredictor, counts: Floats, views: Floats | None, cautions: Floats
) -> NDArray[np.int64]:
    """Return the only class that remains at each caution (m, c), or -1, from evidence (m, T, K) and views."""

    def views_at(rows: NDArray[np.int64]) -> Floats | None:
        return None if views is None else views[rows]

    alone, distinct = np.empty(cautions.shape, dtype=np.int64), np.unique(cautions)
    if predictor.rule.scale_free:  # scaling the counts replaces other cautions, so all positive ones form one batch
        rows, places = np.nonzero(cautions > 0)
        block = max(1, BLOCK_CELLS // max(1, counts[0].size if len(counts) else 1))
        for first in range(0, len(rows), block):
            at = rows[first : first + block], places[first : first + block]
            scaled = counts[at[0]] * (predictor.setting.caution / cautions[at])[:, None, None]
            alone[at] = only_class(predictor, scaled, views_at(at[0]))
        distinct = distinct[distinct == 0]
    for caution in distinct:
        rows, places = np.nonzero(cautions == caution)
        alone[rows, places] = only_class(predictor, counts[rows], views_at(rows), float(caution))
    return alone


def _fewest(question: Question, sample: NDArray[np.int64], label: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the number of cases (m,) after which only the class remains.

    Above `MOST_CASES` if there is none.
    """
    few = np.arange(1, ONE_BY_ONE + 1)
    of_sample, of_label = np.repeat(sample, len(few)), np.repeat(label, len(few))
    is_decided = _decides(question, of_sample, of_label, np.tile(few, len(sample)))
    is_decided = is_decided.reshape(len(sample), len(few))
    number = np.where(is_decided.any(axis=1), 1 + is_decided.argmax(axis=1), MOST_CASES + 1)
    pending = np.flatnonzero(number > MOST_CASES)
    low, high = np.full(len(pending), ONE_BY_ONE), np.full(len(pending), 2 * ONE_BY_ONE)
    while (growing := np.flatnonzero((high <= 2 * MOST_CASES) & (number[pending] > MOST_CASES))).size:
        at = pending[growing]
        is_decided = _decides(question, sample[at], label[at], high[growing])
        number[at[is_decided]] = 0  # the number is at most `high`
        low[growing[~is_decided]] = high[growing[~is_decided]]
        high[growing[~is_decided]] *= 2
    inside = number[pending] == 0
    pending, low, high = pending[inside], low[inside], high[inside]
    while (wide := np.flatnonzero(high - low > 1)).size:
        middle = (low[wide] + high[wide]) // 2
        is_decided = _decides(question, sample[pending[wide]], label[pending[wide]], middle)
        high[wide[is_decided]], low[wide[~is_decided]] = middle[is_decided], middle[~is_decided]
    number[pending] = high
    return number


def _decides(
    question: Question, sample: NDArray[np.int64], label: NDArray[np.int64], number: NDArray[np.int64]
) -> Bools:
    """Return whether only the class remains (m,) after adding the number of cases."""
    predictor, counts, is_decided = question.predictor, question.counts, np.zeros(len(sample), dtype=bool)
    block = max(1, BLOCK_CELLS // (counts.shape[1] * counts.shape[2]))
    for first in range(0, len(sample), block):
        part = slice(first, first + block)
        more = counts[sample[part]]  # a copy
        more[np.arange(len(more)), :, label[part]] += number[part, None]
        views = question.views_with(sample[part], label[part], number[part])
        is_decided[part] = only_class(predictor, more, views) == label[part]
    return is_decided
