"""Out of bag: a bootstrapped forest and its training rows -> how wrong it is, and whether it has enough trees."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hedgerow.forest.fold import fold, merge_into, oob_states
from hedgerow.forest.forest import Forest, trees_between
from hedgerow.forest.reducers import Votes
from hedgerow.forest.rows import OobMask
from hedgerow.forest.training import TrainingRows
from hedgerow.params.resolve import MOST_TREES
from hedgerow.rules import Rule, Setting
from hedgerow.table.bins import Codes

Floats = NDArray[np.float64]

#: The leaves of all rows are found for so many trees at a time that they take about this many bytes.
LEAF_BYTES = 32 << 20
#: A forest that stops by itself has at least this number of trees, and grows by half between two checks.
FEWEST_TREES, GROWTH = 32, 1.5
#: There are enough trees when half as many more lower the error by less than this share of its standard error.
FLAT = 0.1


def warn_of_unjudged(rows: TrainingRows | None, n_trees: int) -> None:
    """Warn if some training rows are in the bags of all trees, so that they have no out-of-bag prediction."""
    if rows is None or not rows.has_bags:
        return
    unjudged = np.ones(rows.n_rows, dtype=np.bool_)
    for tree in range(n_trees):
        unjudged &= ~rows.oob_mask.of(tree)
        if not unjudged.any():
            return
    warnings.warn(
        f"Some inputs do not have OOB scores: {int(unjudged.sum())} of {rows.n_rows} rows are in the bags of all"
        f" {n_trees} trees. They are left out of oob_score_; oob_decision_function_ has equal shares for them, and"
        " oob_prediction_ has NaN. Grow more trees.",
        UserWarning,
        stacklevel=2,
    )


@dataclass(frozen=True)
class BootstrapErrors:
    """How often a bootstrapped forest and its single trees are wrong, estimated without other data.

    The errors of single trees are averaged over the trees for each row, and then over rows: `out_of_bag` (Err*) over
    the trees whose bags do not hold the row, `resubstitution` over the others. The first is too high, because a tree is
    grown on only .632 of the table; the second is too low; the .632 estimates are between them. `ensemble` is the error
    of the forest.

    Attributes
    ----------
    out_of_bag, resubstitution : float
        Mean error of the single trees. A leaf with a tie divides its vote among the tied classes; an empty leaf does
        not count.
    ensemble : float
        Error of the forest under its rule; each row is judged by the trees whose bags do not hold it.
    no_information : float
        Error of the trees if features and labels were independent.
    overfitting : float
        0 if out_of_bag equals resubstitution, 1 if it equals no_information.
    err632 : float
        .368 resubstitution + .632 out_of_bag.
    err632plus : float
        The same, with more weight on out_of_bag the more trees overfit (Efron and Tibshirani, 1997).
    """

    out_of_bag: float
    resubstitution: float
    ensemble: float
    no_information: float

    @property
    def overfitting(self) -> float:
        """Relative overfitting rate, in [0, 1]."""
        room = self.no_information - self.resubstitution
        excess = min(self.out_of_bag, self.no_information) - self.resubstitution
        return min(1.0, excess / room) if room > 0 and excess > 0 else 0.0

    @property
    def err632(self) -> float:
        """The .632 estimate."""
        return 0.368 * self.resubstitution + 0.632 * self.out_of_bag

    @property
    def err632plus(self) -> float:
        """The .632+ estimate."""
        weight = 0.632 / (1 - 0.368 * self.overfitting)
        capped = max(min(self.out_of_bag, self.no_information), min(self.out_of_bag, self.resubstitution))
        return (1 - weight) * self.resubstitution + weight * capped


def bootstrap_errors(forest: Forest, rows: TrainingRows, ensemble: float, n_threads: int = 1) -> BootstrapErrors:
    """Training rows of a classifier, and the error of the whole forest -> errors, by three folds of votes."""
    oob_mask, known = rows.oob_mask, rows.oob_mask.certain

    def votes(of: OobMask | None) -> Floats:
        setting = Setting.of(forest.n_classes)
        return fold(forest, rows.codes, Votes(), setting, oob_mask=of, n_threads=n_threads)[known]

    everyone = votes(None)
    insiders = everyone - votes(OobMask(oob_mask.bags))
    answers = everyone.sum(axis=0) / max(everyone.sum(), 1)
    sure = rows.target.labels[known]
    classes = np.bincount(sure, minlength=forest.n_classes) / max(len(sure), 1)
    return BootstrapErrors(
        out_of_bag=_mean_error(votes(oob_mask), sure),
        resubstitution=_mean_error(insiders, sure),
        ensemble=ensemble,
        no_information=float(1 - classes @ answers),
    )


def regression_errors(forest: Forest, rows: TrainingRows, ensemble: float, n_threads: int = 1) -> BootstrapErrors:
    """Training rows of a regressor, and the error of the whole forest -> errors, in one pass over the trees."""
    target, every = rows.target, np.arange(rows.n_rows)
    lost, oob_mask = np.zeros((2, rows.n_rows)), np.zeros((2, rows.n_rows))
    chance = 0.0
    for tree in range(forest.n_trees):
        one = trees_between(forest, tree, tree + 1)
        assert one.values is not None
        predicted = one.values[one.leaves(rows.codes, n_threads)[:, 0]]
        losses, outside = target.losses(predicted, every), rows.bags.outside(tree)
        for place, counted in enumerate((outside, ~outside)):
            lost[place] += np.where(counted, losses, 0.0)
            oob_mask[place] += counted
        chance += _crossed_loss(target.values, predicted, target.criterion) / forest.n_trees
    means = [
        float(np.mean(sums[n > 0] / n[n > 0])) if n.any() else math.nan for sums, n in zip(lost, oob_mask, strict=True)
    ]
    return BootstrapErrors(out_of_bag=means[0], resubstitution=means[1], ensemble=ensemble, no_information=chance)


def _crossed_loss(values: Floats, predicted: Floats, criterion: str) -> float:
    """Targets (n,), predictions (n,) -> the mean loss over all pairs of a target and a prediction."""
    if criterion != "absolute_error":
        return float(values.var() + predicted.var() + (values.mean() - predicted.mean()) ** 2)
    both = np.sort(np.concatenate([values, predicted]))  # E|x - y| from the three mean differences within x, y and both
    n = len(values)
    return (_spread(both) * (2 * n) ** 2 - (_spread(values) + _spread(predicted)) * n**2) / (2 * n**2)


def _spread(values: Floats) -> float:
    """Numbers (n,) -> the mean of |x - y| over all pairs, a number with itself included."""
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
    """Training rows of a classifier -> the out-of-bag error rate of the rule.

    Rows of uncertain class do not count, because nobody knows whether an answer about them is wrong.
    """
    oob_mask = replace(rows.oob_mask, as_forest=True)
    used = (oob_mask.number(forest.n_trees) > 0) & oob_mask.certain
    opinion = fold(forest, rows.codes, rule, setting, oob_mask=oob_mask, weights=weights, n_threads=n_threads)
    losses = rows.target.losses(opinion, np.arange(rows.n_rows))[used]
    return float(losses.mean()) if used.any() else math.nan


def _mean_error(votes: Floats, labels: NDArray[Any]) -> float:
    """Out-of-bag votes (n, K), labels (n,) -> mean over rows of the share of wrong votes."""
    total = votes.sum(axis=1)
    used = total > 0.5  # votes of a tree sum to one, up to rounding
    right = votes[np.arange(len(votes)), labels]
    return float(np.mean(1 - right[used] / total[used])) if used.any() else math.nan


class Trace:
    """The out-of-bag error of a forest after each of its trees, in one pass over the trees.

    Parameters
    ----------
    rows : TrainingRows
        The training rows; their target defines the loss.
    what, setting : Reducer, Setting
        How leaves are combined. Under rules that learn tree weights, all trees weigh the same here.

    Attributes
    ----------
    errors : list of float
        Mean loss of the trees so far over the out-of-bag rows of certain class; NaN if there are no such rows.
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
        """The standard error of the error of the rows judged so far."""
        n_rows = int(self._certain.sum())
        return float(self._rows.target.standard_error(error, self._oob_losses(), n_rows))

    def _oob_losses(self) -> Floats:
        """(m,): the losses of the rows of certain class that are out-of-bag so far."""
        if self._all_evaluated:
            return self._losses
        used = (self._number > 0) & self._certain
        self._all_evaluated = bool(used.all())
        return self._losses[used]

    def _add(self, forest: Forest, tree: int, leaves: NDArray[np.int32], lifted: Floats | None) -> None:
        """Add one tree, in which the rows reach these leaves (n,); `lifted` has the states of all leaves, if known."""
        what, merge = self._what, self._what.merge
        if merge == "stack":  # all trees so far are read again, so time is quadratic in their number
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
        """Update the losses of some rows (m,): merged states (m, S), trees (m, 1); sums are scaled up to all trees."""
        if self._what.merge == "mean":
            state = state / number
        elif self._what.merge == "add":
            state = state * (n_trees / np.maximum(number, 1))
        self._losses[rows] = self._rows.target.losses(self._what.finish(state, self._setting), rows)


def stages(most: int = MOST_TREES) -> Iterator[tuple[int, int]]:
    """The stages after which a forest that stops by itself checks its error: first and last tree of each."""
    first, last = 0, min(FEWEST_TREES, most)
    while first < most:
        yield first, last
        first, last = last, min(most, math.ceil(last * GROWTH))


def is_flat(errors: list[float], standard_error: Callable[[float], float]) -> bool:
    """Whether the last stage of a trace has lowered the error by less than a tenth of its standard error.

    The excess error of a forest falls about like one over the number of its trees. So all further trees could lower the
    error by about three times what the last stage did, which is less than a third of its standard error.
    """
    ends = [last for _, last in stages() if last <= len(errors)]
    if len(ends) < 2:
        return False
    starts = [ends[0] // 2, *ends[:-1]]
    means = [float(np.mean(errors[first:last])) for first, last in zip(starts, ends, strict=True)]
    best = min(means[:-1])
    return not means[-1] < best - FLAT * standard_error(best)


class Sample(NamedTuple):
    """Some training rows: numbers (m,), codes (p, m), class numbers or targets (m,), weights (m,) or None."""

    rows: NDArray[np.int64]
    codes: Codes
    labels: NDArray[Any]
    weights: NDArray[Any] | None
