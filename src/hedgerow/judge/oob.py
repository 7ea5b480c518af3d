"""Out of bag: a bootstrapped forest and its training rows -> how wrong it is, and whether it has trees enough."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from hedgerow.belief import Rule, Setting
from hedgerow.belief.leaf import vote_shares
from hedgerow.forest.fold import (
    entry_numbers,
    evidence_without_own,
    fold,
    leaf_evidence,
    lift_distinct,
    without_own_row,
)
from hedgerow.forest.forest import Forest, some_trees
from hedgerow.forest.rows import Judges
from hedgerow.table.bins import Codes

Floats = NDArray[np.float64]

#: Leaves of all rows are looked up for so many trees at a time that they take about this many bytes.
LEAF_BYTES = 32 << 20
#: A forest that stops by itself has between these numbers of trees, and grows by half each time it looks.
FEWEST_TREES, MOST_TREES, GROWTH = 32, 1000, 1.5
#: Trees are enough when half as many more lower the error by less than this share of its standard error.
FLAT = 0.1


@dataclass(frozen=True)
class BootstrapErrors:
    """How often a bootstrapped forest and its trees are wrong, by what the bootstrap gives for free.

    Of the trees, averaged for each row over trees and then over rows: `out_of_bag` over the trees that have not seen
    the row (Err*), `resubstitution` over those that have. The first is too high for the whole table, as a tree sees
    only .632 of it, the second too low; the .632 estimates lie between. Of the forest: `ensemble`.

    Attributes
    ----------
    out_of_bag, resubstitution : float
        Mean error of the single trees. A leaf that is tied between m classes is wrong about m - 1 of them, an empty
        leaf has no opinion.
    ensemble : float
        Error of the forest under its rule, each row judged by the trees that have not seen it.
    no_information : float
        Error of the trees if features and labels had nothing to do with each other.
    overfitting : float
        0 where out_of_bag equals resubstitution, 1 where it equals no_information.
    err632 : float
        .368 resubstitution + .632 out_of_bag.
    err632plus : float
        The same with more weight on out_of_bag the more trees overfit (Efron and Tibshirani, 1997).
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


def bootstrap_errors(
    forest: Forest, codes: Codes, labels: NDArray[Any], judges: Judges, ensemble: float, n_threads: int = 1
) -> BootstrapErrors:
    """Training rows (p, n), their class numbers (n,), how to find their judges -> errors; three folds of votes."""
    known = judges.certain

    def votes(of: Judges | None) -> Floats:
        setting = Setting.of(forest.n_classes)
        return fold(forest, codes, _Votes(), setting, judges=of, n_threads=n_threads).sums[known]

    everyone = votes(None)
    insiders = everyone - votes(Judges(judges.bags))
    answers = everyone.sum(axis=0) / max(everyone.sum(), 1)
    sure = labels[known]
    classes = np.bincount(sure, minlength=forest.n_classes) / max(len(sure), 1)
    return BootstrapErrors(
        out_of_bag=_mean_error(votes(judges), sure),
        resubstitution=_mean_error(insiders, sure),
        ensemble=ensemble,
        no_information=float(1 - classes @ answers),
    )


def ensemble_error(
    forest: Forest,
    codes: Codes,
    rule: Rule,
    setting: Setting,
    labels: NDArray[Any],
    judges: Judges,
    *,
    tree_weights: Floats | None = None,
    n_threads: int = 1,
) -> float:
    """Training rows (p, n), their class numbers (n,) -> share of the rows with a judge that the rule gets wrong.

    Rows of uncertain class are left out, here as everywhere: nobody knows whether an answer about them is wrong.
    """
    judged = (judges.number(forest.n_trees) > 0) & judges.certain
    whole = replace(judges, as_forest=True)
    opinion = fold(forest, codes, rule, setting, tree_weights=tree_weights, judges=whole, n_threads=n_threads)
    wrong = opinion.probability.argmax(axis=1) != labels
    return float(wrong[judged].mean()) if judged.any() else math.nan


def _mean_error(votes: Floats, labels: NDArray[Any]) -> float:
    """Votes of each row's judges (n, K), labels (n,) -> mean over judged rows of the share that is wrong."""
    total = votes.sum(axis=1)
    judged = total > 0.5  # votes of a judge sum to one, up to rounding
    right = votes[np.arange(len(votes)), labels]
    return float(np.mean(1 - right[judged] / total[judged])) if judged.any() else math.nan


@dataclass(frozen=True, eq=False)
class _Sums:
    """Votes for each class (n, K)."""

    sums: Floats


class _Votes:
    """The votes of the leaves reached, added up."""

    merge: ClassVar[str] = "add"

    def lift(self, counts: Floats, setting: Setting) -> Floats:
        """Counts (m, K) -> votes (m, K)."""
        return vote_shares(counts)

    def finish(self, state: Floats, setting: Setting) -> _Sums:
        """Nothing is left to do."""
        return _Sums(state)


class AnyTrace(ABC):
    """The out-of-bag error of a forest after each of its trees, in one pass over them.

    Parameters
    ----------
    n_rows : int
        Training rows.
    judges : Judges
        Which trees may judge a row.

    Attributes
    ----------
    errors : list of float
        Mean over the rows of certain class judged so far of how wrong the trees so far are; NaN while there are none.
    """

    def __init__(self, n_rows: int, judges: Judges) -> None:
        self._n_rows, self._judges = n_rows, judges
        self._number, self._known = np.zeros(n_rows), judges.certain
        self.errors: list[float] = []

    def extend(self, forest: Forest, codes: Codes, n_threads: int = 1) -> None:
        """Take in the trees of a forest that are not in the trace yet, with the training rows (p, n)."""
        group = max(1, LEAF_BYTES // (4 * self._n_rows))
        for first in range(len(self.errors), forest.n_trees, group):
            last = min(first + group, forest.n_trees)
            leaves = some_trees(forest, first, last).leaves(codes, n_threads)
            for tree in range(first, last):
                outside = self._judges.of(tree)
                self._number += outside
                self._add(forest, codes, tree, leaves[:, tree - first].astype(np.int64), np.flatnonzero(outside))
                judged = (self._number > 0) & self._known
                self.errors.append(float(self._losses[judged].mean()) if judged.any() else math.nan)

    @abstractmethod
    def standard_error(self, error: float) -> float:
        """How far the error of as many rows may be from that of all rows there could be."""

    @property
    @abstractmethod
    def _losses(self) -> NDArray[Any]:
        """(n,): how wrong the trees so far are about each row."""

    @abstractmethod
    def _add(self, forest: Forest, codes: Codes, tree: int, leaves: NDArray[np.int64], rows: NDArray[np.intp]) -> None:
        """Take in one tree, in which all rows reach these leaves (n,) and which has not seen `rows`."""


class Trace(AnyTrace):
    """The same, of a classifier: the share of wrong answers.

    Parameters
    ----------
    rule, setting : Rule, Setting
        How the leaves are combined. Rules that learn tree weights weigh all trees alike here.
    labels : (n,) class numbers
        Of the training rows.
    judges : Judges
        Which trees may judge a row.
    """

    def __init__(self, rule: Rule, setting: Setting, labels: NDArray[Any], judges: Judges) -> None:
        super().__init__(len(labels), judges)
        self._rule, self._setting, self._labels = rule, setting, labels
        self._wrong = np.zeros(len(labels), dtype=bool)
        self._merged: Floats | None = None

    def standard_error(self, error: float) -> float:
        """That of a share."""
        return math.sqrt(error * (1 - error) / max(1, int(self._known.sum())))

    @property
    def _losses(self) -> NDArray[Any]:
        return self._wrong

    def _add(self, forest: Forest, codes: Codes, tree: int, leaves: NDArray[np.int64], rows: NDArray[np.intp]) -> None:
        if self._rule.merge == "stack":
            self._finish_stack(forest, codes, tree)
            return
        self._merge(rows, self._states(forest, tree, leaves, rows))
        # Under a steady rule only rows that have a new judge change.
        self._finish(rows if self._rule.steady else np.flatnonzero(self._number), tree + 1)

    def _states(self, forest: Forest, tree: int, leaves: NDArray[np.int64], rows: NDArray[np.intp]) -> Floats:
        """States (m, S) of the leaves that the rows (m,) reach in a tree, without the rows themselves."""
        at, labels, added = leaves[rows], self._judges.own_class, self._judges.own_weight
        if added is not None:
            return lift_distinct(self._rule, evidence_without_own(forest, tree, at, added[rows]), self._setting)
        if labels is None:
            table = leaf_evidence(forest, tree)
        else:
            table, own = without_own_row(forest, tree), labels[rows].astype(np.int64)
            dense = forest.entry_class is None
            at = at * forest.n_classes + own if dense else entry_numbers(forest, tree)[at, own]
        return np.asarray(lift_distinct(self._rule, table, self._setting)[at])

    def _merge(self, rows: NDArray[np.intp], states: Floats) -> None:
        """Take the states (m, S) of some rows into theirs."""
        width, merge = states.shape[1], self._rule.merge
        if self._merged is None:
            self._merged = np.zeros((len(self._labels), 2 * width if merge == "both" else width))
        if merge in ("max", "both"):
            self._merged[rows, :width] = np.maximum(self._merged[rows, :width], states)
        if merge in ("add", "both"):
            self._merged[rows, -width:] += states

    def _finish(self, rows: NDArray[np.intp], n_trees: int) -> None:
        """Judge some rows again, sums scaled up to all trees as they are in `fold`."""
        assert self._merged is not None
        state = self._merged[rows]
        if self._rule.merge == "add":
            state = state * (n_trees / np.maximum(self._number[rows], 1))[:, None]
        probability = self._rule.finish(state, self._setting).probability
        self._wrong[rows] = probability.argmax(axis=1) != self._labels[rows]

    def _finish_stack(self, forest: Forest, codes: Codes, tree: int) -> None:
        """For rules that are no fold the trees so far are read again: the pass is quadratic in their number."""
        opinion = fold(some_trees(forest, 0, tree + 1), codes, self._rule, self._setting, judges=self._judges)
        self._wrong[:] = opinion.probability.argmax(axis=1) != self._labels


class NumberTrace(AnyTrace):
    """The same, of a regressor: the mean squared error, or the mean absolute one.

    Parameters
    ----------
    targets : (n,) float64
        Of the training rows.
    judges : Judges
        Which trees may judge a row.
    absolute : bool
        Which error.
    """

    def __init__(self, targets: Floats, judges: Judges, *, absolute: bool) -> None:
        super().__init__(len(targets), judges)
        self._targets, self._absolute = targets, absolute
        self._sums, self._found = np.zeros(len(targets)), np.zeros(len(targets))

    def standard_error(self, error: float) -> float:
        """That of a mean; how far single rows are from it is what they are now."""
        judged = self._losses[self._number > 0]
        return float(judged.std() / math.sqrt(max(1, len(judged))))

    @property
    def _losses(self) -> Floats:
        return self._found

    def _add(self, forest: Forest, codes: Codes, tree: int, leaves: NDArray[np.int64], rows: NDArray[np.intp]) -> None:
        assert forest.values is not None
        self._sums[rows] += forest.values[forest.leaf_start[tree] + leaves[rows]]
        off = self._sums[rows] / self._number[rows] - self._targets[rows]
        self._found[rows] = np.abs(off) if self._absolute else off**2


def stages(most: int = MOST_TREES) -> Iterator[tuple[int, int]]:
    """Where a forest that stops by itself looks at its error: first and last tree of each stage."""
    first, last = 0, min(FEWEST_TREES, most)
    while first < most:
        yield first, last
        first, last = last, min(most, math.ceil(last * GROWTH))


def is_flat(errors: list[float], standard_error: Callable[[float], float]) -> bool:
    """Whether the last stage of a trace has brought less than a tenth of the standard error.

    The excess of a forest's error falls about like one over its trees. Then what all further trees could bring is about
    three times what the last half brought: less than a third of the error's own standard error.
    """
    ends = [last for _, last in stages() if last <= len(errors)]
    if len(ends) < 2:
        return False
    starts = [ends[0] // 2, *ends[:-1]]
    means = [float(np.mean(errors[first:last])) for first, last in zip(starts, ends, strict=True)]
    best = min(means[:-1])
    return not means[-1] < best - FLAT * standard_error(best)
