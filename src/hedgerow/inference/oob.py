"""Out-of-bag errors, the stopping rule of ``n_estimators="auto"``, and cross-fitted calibration."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hedgerow.belief.calibrate import (
    Calibration,
    Views,
    cross_fitted,
    learn_calibrator,
    rows_to_learn_on,
    with_probability,
)
from hedgerow.belief.opinion import Opinion
from hedgerow.criteria import Criterion
from hedgerow.forest.fold import fold, merge_into, oob_states, with_gaps
from hedgerow.forest.forest import Forest, trees_between
from hedgerow.forest.grow import TrainingRows
from hedgerow.forest.reducers import Votes
from hedgerow.forest.rows import OobMask
from hedgerow.params.resolve import MOST_TREES
from hedgerow.rules import Rule, Setting
from hedgerow.table.bins import Codes

Floats = NDArray[np.float64]

#: Approximate memory of the leaves of all rows in a block of trees.
LEAF_BYTES = 32 << 20
#: Minimum number of trees with ``n_estimators="auto"``, and the growth factor between two checks.
FEWEST_TREES, GROWTH = 32, 1.5
#: Growth stops when a stage lowers the error by less than this share of its standard error.
FLAT = 0.1


def warn_of_unjudged(rows: TrainingRows | None, n_trees: int) -> None:
    """Warn if some training rows are in every bootstrap sample."""
    if rows is None or not rows.has_bags:
        return
    unjudged = np.ones(rows.n_rows, dtype=np.bool_)
    for tree in range(n_trees):
        unjudged &= ~rows.oob_mask.of(tree)
        if not unjudged.any():
            return
    warnings.warn(
        f"Some inputs do not have OOB scores: {int(unjudged.sum())} of {rows.n_rows} rows are in the bootstrap samples"
        f" of all {n_trees} trees. oob_score_ leaves them out; oob_decision_function_ has equal shares for them, and"
        " oob_prediction_ has NaN. Grow more trees.",
        UserWarning,
        stacklevel=2,
    )


@dataclass(frozen=True)
class BootstrapErrors:
    """Bootstrap estimates of the errors of a forest and its single trees.

    The errors of single trees are averaged over trees for each row, and then over rows: `out_of_bag` (Err*) over the
    trees for which the row is out-of-bag, `resubstitution` over the others. The first is biased upwards, because a tree
    is grown on only 63.2% of the table, the second downwards; the .632 estimates are between them. `ensemble` is the
    error of the forest.

    Attributes
    ----------
    out_of_bag, resubstitution : float
        Mean error of single trees. A leaf with a tie divides its vote among the tied classes; an empty leaf does not
        count.
    ensemble : float
        Out-of-bag error of the forest under its rule.
    no_information : float
        Error of the trees if features and labels were independent.
    overfitting : float
        Relative overfitting rate: 0 if out_of_bag equals resubstitution, 1 if it equals no_information.
    err632 : float
        0.368 resubstitution + 0.632 out_of_bag.
    err632plus : float
        The same with a weight of out_of_bag that grows with overfitting (Efron and Tibshirani, 1997).
    """

    out_of_bag: float
    resubstitution: float
    ensemble: float
    no_information: float

    @property
    def overfitting(self) -> float:
        """Relative overfitting rate, in [0, 1]."""
        largest = self.no_information - self.resubstitution
        excess = min(self.out_of_bag, self.no_information) - self.resubstitution
        return min(1.0, excess / largest) if largest > 0 and excess > 0 else 0.0

    @property
    def err632(self) -> float:
        """The .632 estimate."""
        return 0.368 * self.resubstitution + 0.632 * self.out_of_bag

    @property
    def err632plus(self) -> float:
        """The .632+ estimate, equation 32 of Efron and Tibshirani (1997)."""
        excess = min(self.out_of_bag, self.no_information) - self.resubstitution
        return self.err632 + excess * 0.368 * 0.632 * self.overfitting / (1 - 0.368 * self.overfitting)


def bootstrap_errors(forest: Forest, rows: TrainingRows, ensemble: float, n_threads: int = 1) -> BootstrapErrors:
    """Compute the errors of a classifier by three folds of votes.

    `ensemble` is the error of the forest.
    """
    oob_mask, known = rows.oob_mask, rows.oob_mask.certain

    def votes(of: OobMask | None) -> Floats:
        setting = Setting.of(forest.n_classes)
        return fold(forest, rows.codes, Votes(), setting, oob_mask=of, n_threads=n_threads)[known]

    all_votes = votes(None)
    inbag_votes = all_votes - votes(OobMask(oob_mask.bags))
    predicted_shares = all_votes.sum(axis=0) / max(all_votes.sum(), 1)
    labels = rows.target.labels[known]
    truth = np.eye(forest.n_classes)[labels] if rows.target.expected is None else rows.target.expected
    class_shares = truth.sum(axis=0) / max(len(labels), 1)
    return BootstrapErrors(
        out_of_bag=_mean_error(votes(oob_mask), truth),
        resubstitution=_mean_error(inbag_votes, truth),
        ensemble=ensemble,
        no_information=float(1 - class_shares @ predicted_shares),
    )


def regression_errors(forest: Forest, rows: TrainingRows, ensemble: float, n_threads: int = 1) -> BootstrapErrors:
    """Compute the errors of a regressor in one pass over the trees.

    `ensemble` is the error of the forest.
    """
    target, every = rows.target, np.arange(rows.n_rows)
    lost, n_trees = np.zeros((2, rows.n_rows)), np.zeros((2, rows.n_rows))
    chance = 0.0
    for tree in range(forest.n_trees):
        one = trees_between(forest, tree, tree + 1)
        assert one.values is not None
        predicted = one.values[one.leaves(rows.codes, n_threads)[:, 0]]
        losses, outside = target.losses(predicted, every), rows.bags.outside(tree)
        for place, counted in enumerate((outside, ~outside)):
            lost[place] += np.where(counted, losses, 0.0)
            n_trees[place] += counted
        chance += _crossed_loss(target.values, predicted, target.criterion) / forest.n_trees
    means = [
        float(np.mean(sums[n > 0] / n[n > 0])) if n.any() else math.nan for sums, n in zip(lost, n_trees, strict=True)
    ]
    return BootstrapErrors(out_of_bag=means[0], resubstitution=means[1], ensemble=ensemble, no_information=chance)


def _crossed_loss(values: Floats, predicted: Floats, criterion: str | Criterion) -> float:
    """Return the mean loss over all pairs of a target (n,) and a prediction (n,)."""
    if criterion != "absolute_error":
        return float(values.var() + predicted.var() + (values.mean() - predicted.mean()) ** 2)
    both = np.sort(np.concatenate([values, predicted]))  # E|x - y| from the three mean differences within x, y and both
    n = len(values)
    return (_spread(both) * (2 * n) ** 2 - (_spread(values) + _spread(predicted)) * n**2) / (2 * n**2)


def _spread(values: Floats) -> float:
    """Return the mean absolute difference over all pairs of numbers (n,).

    Pairs of a number with itself are included.
    """
    ordered, n = np.sort(values), len(values)
    return float(2 * ((2 * np.arange(1, n + 1) - n - 1) * (ordered / n)).sum() / n)


def ensemble_error(
    forest: Forest,
    rows: TrainingRows,
    rule: Rule,
    setting: Setting,
    *,
    weights: Floats | None = None,
    n_threads: int = 1,
) -> float:
    """Return the out-of-bag error rate of a rule on rows of certain class."""
    oob_mask = replace(rows.oob_mask, as_forest=True)
    used = (oob_mask.number(forest.n_trees) > 0) & oob_mask.certain
    opinion = fold(forest, rows.codes, rule, setting, oob_mask=oob_mask, weights=weights, n_threads=n_threads)
    losses = rows.target.losses(opinion, np.arange(rows.n_rows))[used]
    return float(losses.mean()) if used.any() else math.nan


def _mean_error(votes: Floats, truth: Floats) -> float:
    """Return the mean share of wrong votes (n, K), given true class shares (n, K)."""
    total = votes.sum(axis=1)
    used = total > 0.5  # votes of a tree sum to one, up to rounding
    right = (votes * truth).sum(axis=1)
    return float(np.mean(1 - right[used] / total[used])) if used.any() else math.nan


class Trace:
    """Out-of-bag error of a forest after each tree, in one pass over the trees.

    Parameters
    ----------
    rows : TrainingRows
        The training rows; their target defines the loss.
    what, setting : Reducer, Setting
        The reduction of leaves. Rules that learn tree weights use equal weights here.

    Attributes
    ----------
    errors : list of float
        Mean loss of the trees so far over out-of-bag rows of certain class; NaN if there are no such rows.
    """

    def __init__(self, rows: TrainingRows, what: Any, setting: Setting | None = None) -> None:
        self._rows, self._what, self._setting, self._mask = rows, what, setting, rows.oob_mask
        self._certain = self._mask.certain
        self._number, self._losses = np.zeros(rows.n_rows), np.zeros(rows.n_rows)
        self._merged: Floats | None = None
        self._all_evaluated = False
        self.errors: list[float] = []

    def extend(self, forest: Forest, n_threads: int = 1) -> None:
        """Add the trees of a forest that are not in the trace yet."""
        group = max(1, LEAF_BYTES // (4 * self._rows.n_rows))
        forest, self._what = with_gaps(forest, self._what)
        lifted = None
        if forest.evidence.lifts_freely and self._mask.own is None:
            lifted = forest.evidence.lift(self._what, self._setting)
        for first in range(len(self.errors), forest.n_trees, group):
            last = min(first + group, forest.n_trees)
            leaves = trees_between(forest, first, last).leaves(self._rows.codes, n_threads)
            for tree in range(first, last):
                self._add(forest, tree, leaves[:, tree - first], lifted)
                losses = self._oob_losses()
                self.errors.append(float(losses.mean()) if len(losses) else math.nan)

    def standard_error(self, error: float) -> float:
        """Return the standard error of an error on the rows evaluated so far."""
        n_rows = int(self._certain.sum())
        return float(self._rows.target.standard_error(error, self._oob_losses(), n_rows))

    def _oob_losses(self) -> Floats:
        """Return the losses (m,) of the rows of certain class that are out-of-bag so far."""
        if self._all_evaluated:
            return self._losses
        used = (self._number > 0) & self._certain
        self._all_evaluated = bool(used.all())
        return self._losses[used]

    def _add(self, forest: Forest, tree: int, leaves: NDArray[np.int32], lifted: Floats | None) -> None:
        """Add a tree in which the rows reach these leaves (n,).

        `lifted` are the states of all leaves, if they are known.
        """
        what, merge = self._what, self._what.merge
        if merge == "stack":  # reads all trees so far again, so time is quadratic in their number
            self._number += self._mask.of(tree)
            so_far = trees_between(forest, 0, tree + 1)
            answer = fold(so_far, self._rows.codes, what, self._setting, oob_mask=self._mask)
            self._losses = self._rows.target.losses(answer, np.arange(self._rows.n_rows))
            return
        rows, states = oob_states(forest, tree, leaves, what, self._setting, self._mask, lifted)
        self._number[rows] = number = self._number.take(rows) + 1
        if self._merged is None:
            self._merged = np.zeros((self._rows.n_rows, states.shape[1] * (2 if merge == "both" else 1)))
        state = merge_into(self._merged, rows, states, merge)
        if not what.steady:
            rows = np.flatnonzero(self._number)
            state, number = self._merged.take(rows, axis=0), self._number.take(rows)
        self._evaluate(state, number[:, None], rows, tree + 1)

    def _evaluate(self, state: Floats, number: Floats, rows: NDArray[np.intp], n_trees: int) -> None:
        """Update the losses of rows (m,) from merged states (m, S).

        `number` (m, 1) counts the trees of each row. Sums are scaled up to all trees.
        """
        if self._what.merge == "mean":
            state = state / number
        elif self._what.merge == "add":
            state = state * (n_trees / np.maximum(number, 1))
        self._losses[rows] = self._rows.target.losses(self._what.finish(state, self._setting), rows)


def stages(most: int = MOST_TREES) -> Iterator[tuple[int, int]]:
    """Iterate over the stages of "auto": first tree, and last tree + 1."""
    first, last = 0, min(FEWEST_TREES, most)
    while first < most:
        yield first, last
        first, last = last, min(most, math.ceil(last * GROWTH))


def is_flat(errors: list[float], standard_error: Callable[[float], float]) -> bool:
    """Return whether the last stage has lowered the error only insignificantly.

    The threshold is a tenth of its standard error. The excess error of a forest is about inverse to its number of
    trees. So all further trees could lower the error by about three times as much as the last stage, less than a third
    of the standard error.
    """
    ends = [last for _, last in stages() if last <= len(errors)]
    if len(ends) < 2:
        return False
    starts = [ends[0] // 2, *ends[:-1]]
    means = [float(np.mean(errors[first:last])) for first, last in zip(starts, ends, strict=True)]
    best = min(means[:-1])
    return not means[-1] < best - FLAT * standard_error(best)


class Sample(NamedTuple):
    """Row numbers (m,), codes (p, m), targets (m,) and weights (m,) of some rows.

    Weights may be None.
    """

    rows: NDArray[np.int64]
    codes: Codes
    labels: NDArray[Any]
    weights: NDArray[Any] | None


# ---- Cross-fitted calibration of out-of-bag opinions -----------------------------------------------------------------


#: Number of rows calibrated at a time.
CALIBRATED_ROWS = 1024


class CrossCalibration:
    """Calibration of each row by a calibrator fitted without it.

    The last probabilities are cached, because they do not depend on caution, of which many values are tried.
    """

    def __init__(self) -> None:
        self._last: tuple[Floats, Floats] | None = None

    def __call__(
        self,
        opinion: Opinion,
        labels: NDArray[Any],
        weights: NDArray[Any] | None,
        groups: NDArray[Any] | None = None,
        views: Views | None = None,
    ) -> Opinion:
        """Return calibrated opinions, given classes, weights and groups, (n,) each, and the views of opinions."""
        probability, last = given_to_calibrators(opinion, views), self._last
        if last is None or not np.array_equal(last[0], probability):
            calibrated = _calibrated_by_others(probability, labels.astype(np.int64), weights, groups, views)
            self._last = last = probability, calibrated
        return opinion if last[1] is probability else with_probability(opinion, last[1])


def given_to_calibrators(opinion: Opinion, views: Views | None) -> Floats:
    """Return the probabilities (n, K), or those of `views` (n, V · K), on which calibrators act."""
    if views is None:
        return opinion.probability
    assert opinion.views is not None
    return opinion.views


@dataclass(frozen=True, eq=False)
class CrossCalibrated:
    """A calibrator fitted on some rows, and their cross-fitted probabilities."""

    learned: Calibration
    some: NDArray[np.int64]  # (m,), ascending
    calibrated: Floats  # (m, K)

    @classmethod
    def learned_on(
        cls,
        some: NDArray[np.int64],
        probability: Floats,
        labels: NDArray[Any],
        weights: NDArray[Any] | None,
        groups: NDArray[Any] | None = None,
        views: Views | None = None,
    ) -> CrossCalibrated:
        """Fit to rows (m,) with probabilities (m, K) or (m, V · K), classes, weights and groups."""
        of_some = labels.astype(np.int64), None if weights is None else weights.astype(np.float64), groups
        learned = learn_calibrator(probability, *of_some, views=views)
        return cls(learned, some, cross_fitted(probability, *of_some, start=learned, views=views))

    def of(self, probability: Floats, rows: NDArray[np.int64]) -> Floats:
        """Return calibrated probabilities (n, K) of rows (n,).

        Return the same array if there is no calibrator.
        """
        if self.learned.why:
            return probability
        found = self.learned.of(probability)
        place = np.minimum(np.searchsorted(self.some, rows), len(self.some) - 1)
        own = self.some[place] == rows
        found[own] = self.calibrated[place[own]]
        return found


def cross_calibrated(
    probability: Floats,
    rows: NDArray[np.int64],
    labels: NDArray[Any],
    weights: NDArray[Any] | None,
    groups: NDArray[Any] | None = None,
) -> None:
    """Calibrate the probabilities (n, K) of some rows (m,) in place, cross-fitted.

    Labels, weights and groups are those of all n rows.
    """
    some = rows[rows_to_learn_on(len(rows), probability.shape[1])]
    of_some = [each if each is None else each[some] for each in (weights, groups)]
    found = CrossCalibrated.learned_on(some, probability[some], labels[some], of_some[0], of_some[1])
    if not found.learned.why:
        for part in np.split(rows, range(CALIBRATED_ROWS, len(rows), CALIBRATED_ROWS)):
            probability[part] = found.of(probability[part], part)


def _calibrated_by_others(
    probability: Floats,
    labels: NDArray[np.int64],
    weights: NDArray[Any] | None,
    groups: NDArray[Any] | None,
    views: Views | None,
) -> Floats:
    """Return cross-fitted probabilities (n, K); the same array without a calibrator."""
    n_rows, width = probability.shape
    some = rows_to_learn_on(n_rows, width if views is None else width // views.number)
    of_some = [each if each is None else each[some] for each in (weights, groups)]
    found = CrossCalibrated.learned_on(some, probability[some], labels[some], of_some[0], of_some[1], views)
    return found.of(probability, np.arange(len(probability)))


def calibration_obstacle(rule: Rule) -> str:
    """Return the reason why the probabilities of a rule are not calibrated.

    Return an empty string if they are.
    """
    if rule.chooses:
        return f"the rule {rule.name} chooses prediction sets itself"
    return "" if rule.calibrates else f"the probabilities of the rule {rule.name} depend on caution or are products"
