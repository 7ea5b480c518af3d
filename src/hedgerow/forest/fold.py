"""Fold over the leaves that rows reach: lift, merge over trees, finish."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from copy import copy
from functools import cached_property
from itertools import pairwise
from typing import Any, Generic, NamedTuple, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from hedgerow.belief.opinion import Opinion
from hedgerow.forest import cache as caching
from hedgerow.forest.cache import Cache
from hedgerow.forest.class_counts import ClassCounts
from hedgerow.forest.forest import Forest
from hedgerow.forest.reducers import MeanReducer, ProbabilityReducer, Reducer, TakesGaps, lift_distinct
from hedgerow.forest.rows import OobMask
from hedgerow.forest.sparse_states import MANY_CLASSES, Reached, Shape, merged_by_patterns
from hedgerow.forest.views import oob_views
from hedgerow.rules import Rule, merge_states
from hedgerow.table.bins import Codes
from hedgerow.util.runtime import in_blocks, spans, with_rows

Floats = NDArray[np.float64]
Result = TypeVar("Result")

#: Approximate memory of the states of a group of trees, if states are not cached.
GROUP_BYTES = 32 << 20
#: Approximate memory of the states of leaves without one row, for a group of trees. Larger groups save no time, and
#: lifting temporarily needs several times as much.
TREES_BYTES = 4 << 20
#: Number of leaves without one row that are lifted at once.
LIFTED_LEAVES = 1 << 13
#: Number of rows whose merged states are finished at once.
FINISHED_ROWS = 8192

_MERGES = {"add": 0, "mean": 0, "max": 1, "both": 2}


def fold(
    forest: Forest,
    codes: Codes,
    what: Reducer[Result],
    setting: Any,
    *,
    oob_mask: OobMask | None = None,
    weights: Floats | None = None,
    cache: Cache | None = None,
    key: Hashable = None,
    n_threads: int = 1,
) -> Result:
    """Return the result for n rows: lift their leaves, merge over trees, finish.

    No array of the size rows × trees × classes is made. Either the leaves of whole trees are lifted, or only the leaves
    reached, whichever is cheaper. Rules that are not folds ("stack") get the states of one block of rows at a time.

    Parameters
    ----------
    what : Reducer
        The reducer of the leaves, for instance a rule.
    setting : Setting
        Parameters of lifting and finishing.
    oob_mask : OobMask or None
        The trees that are out-of-bag for each row; None means all trees.
    weights : (T,) float64 or None
        Factors of the states of each tree.
    cache : Cache or None
        Cache of the states of all leaves.
    key : hashable
        Key of the states in the cache; it must cover everything that states depend on besides counts and setting.
    """
    return FoldPlan(forest, what, setting, oob_mask, weights, cache, key, n_threads).answer(codes)


def fold_rows(
    forest: Forest, codes: Codes, what: Rule, setting: Any, oob_mask: OobMask, weights: Floats | None, n_threads: int
) -> Callable[[NDArray[np.int64]], Opinion]:
    """Return a function that returns the opinion of some rows (m,).

    Only merged states are kept for all rows. Parameters are those of `fold`.
    """
    plan = FoldPlan(forest, what, setting, oob_mask, weights, None, None, n_threads)
    if plan.has_patterns or plan.what.merge == "stack":
        return plan.along_one_path(codes).__getitem__
    merged = plan.with_views(plan.merged(codes), codes)
    return lambda rows: plan.what.finish(merged[rows], setting)


def with_gaps(forest: Forest, what: Reducer[Result]) -> tuple[Forest, Reducer[Result]]:
    """Return forest and reducer with the gaps of uncertain labels, or unchanged if there are none."""
    if forest.evidence.masses is None or not isinstance(what, TakesGaps):
        return forest, what
    return forest.widened, what.with_gaps()


def finish_rows(what: Reducer[Result], merged: Floats, setting: Any, n_threads: int = 1) -> Result:
    """Finish merged states (n, S) in blocks that fit the CPU cache."""
    if len(merged) <= FINISHED_ROWS:
        return what.finish(merged, setting)

    def finish_from(first: int) -> Result:
        return what.finish(merged[first : first + FINISHED_ROWS], setting)

    return in_blocks(finish_from, len(merged), FINISHED_ROWS, n_threads)


def oob_states(
    forest: Forest,
    tree: int,
    leaves: NDArray[Any],
    what: Reducer[Any],
    setting: Any,
    oob_mask: OobMask,
    lifted: Floats | None = None,
) -> tuple[NDArray[np.intp], Floats]:
    """Return the out-of-bag rows of a tree, (m,), and their states, (m, S).

    A state excludes the row's own contribution to the leaf. `leaves` (n,) are those of all rows in the tree, and
    `lifted` (L, S) the states of all leaves of the forest, if they are known.
    """
    rows = np.flatnonzero(oob_mask.of(tree))
    first, last = forest.leaf_start[tree : tree + 2]
    if lifted is not None:
        return rows, lifted.take(leaves[rows] + first, axis=0)
    if oob_mask.own is None:
        return rows, forest.evidence.lift(what, setting, slice(first, last))[leaves[rows]]
    return rows, forest.evidence.lift_without(what, setting, leaves[rows] + first, oob_mask.own[rows])


def merge_into(merged: Floats, rows: NDArray[np.intp], states: Floats, merge: str) -> Floats:
    """Merge states (m, S) of rows (m,) into all rows, and return the merged ones.

    `merged` is (n, S), or (n, 2 S) if `merge` is "both".
    """
    width = states.shape[1]
    if merge in ("add", "mean") and width == 1:  # NumPy adds to a vector in half the time
        column = merged[:, 0]
        column[rows] = between = column.take(rows) + states[:, 0]
        return between[:, None]
    part = merged.take(rows, axis=0)
    if merge in ("max", "both"):
        np.maximum(part[:, :width], states, out=part[:, :width])
    if merge != "max":
        part[:, -width:] += states
    merged[rows] = part
    return part


def mean_of(sums: Floats, number: Floats) -> Floats:
    """Divide sums (n, S) by numbers of trees (n,); NaN without trees."""
    return np.where(number > 0, (sums / np.maximum(number, 1)[:, None]).T, np.nan).T


class _Group(NamedTuple):
    """Trees `first` to ``last - 1``, and the states of their leaves."""

    first: int
    last: int
    states: Floats  # (D, S) of distinct contents, or one row per leaf of these trees
    distinct: NDArray[np.int32] | None  # (L,): index of the state of each leaf


class _Reads:
    """Number of leaves read while the states of all leaves were not cached."""

    def __init__(self) -> None:
        self._number = 0
        self._too_large = False

    def add(self, n_leaves: int) -> int:
        """Add to the number of leaves read, and return the number before.

        Returns 0 if the states of all leaves do not fit the cache: lifting all leaves in every call would never pay.
        """
        if self._too_large:
            return 0
        before = self._number
        self._number += n_leaves
        return before

    def give_up(self) -> None:
        """Record that the states of all leaves exceed the budget."""
        self._too_large = True


class FoldPlan(Generic[Result]):
    """Reducer of a forest, and the strategies to compute it.

    A plan can be used for any number of batches. Parameters are those of `fold`.
    """

    def __init__(
        self,
        forest: Forest,
        what: Reducer[Result],
        setting: Any,
        oob_mask: OobMask | None,
        weights: Floats | None,
        cache: Cache | None,
        key: Hashable,
        n_threads: int = 1,
    ) -> None:
        forest, what = with_gaps(forest, what)
        self.forest, self.what, self.setting, self.oob_mask = forest, what, setting, oob_mask
        self.weights, self.n_threads = weights, n_threads
        self.cache = None if what.merge == "stack" else cache
        self.key = None if self.cache is None else (key, setting.caution, setting.prior.tobytes())

    def with_threads(self, n_threads: int) -> FoldPlan[Result]:
        """Return the plan with another number of threads."""
        other = copy(self)
        other.n_threads = n_threads
        return other

    def answer(self, codes: Codes) -> Result:
        """Return the result for codes (p, n)."""
        result = self.along_one_path(codes)
        if self.oob_mask is None and len(unseen := self.forest.unseen_rows(codes)):
            return with_rows(result, unseen, self.down_both_sides(np.ascontiguousarray(codes[:, unseen])))
        return result

    def along_one_path(self, codes: Codes) -> Result:
        """Return the result if every row reaches one leaf of each tree."""
        if self.has_patterns:
            return self.by_patterns(codes)
        if self.known is None and self.is_small(codes.shape[1]):
            return self.leaves_reached(codes)
        if self.what.merge == "stack":
            return self.stacked(codes)
        return finish_rows(self.what, self.with_views(self.merged(codes), codes), self.setting, self.n_threads)

    def with_views(self, merged: Floats, codes: Codes) -> Floats:
        """Return merged states (n, S), followed by the probabilities (n, V · K) of the views of a rule with views."""
        what: Any = self.what
        oob_mask = self.oob_mask
        views = what.views if isinstance(what, (Rule, ProbabilityReducer)) else None
        if views is None:
            return merged
        if oob_mask is None:
            return np.hstack([merged, self.forest.viewed(views, self.n_threads).probability(codes, self.n_threads)])
        labels = np.zeros(len(merged), dtype=np.uint16) if oob_mask.own_class is None else oob_mask.own_class
        rows = np.arange(len(merged))
        return np.hstack([merged, oob_views(self.forest, views, codes, rows, labels, oob_mask.bags, self.n_threads)])

    @property
    def known(self) -> Floats | None:
        """States of all leaves, if they are cached."""
        return None if self.cache is None else self.cache.peek(self.key)

    @cached_property
    def width(self) -> int:
        """Number of columns S of a state."""
        return int(self.what.lift(np.zeros((1, self.forest.n_classes)), self.setting).shape[1])

    @property
    def takes_out_own(self) -> bool:
        """Whether rows are removed from leaves that counted them."""
        return self.oob_mask is not None and self.oob_mask.own_class is not None

    @property
    def lifts_by_row(self) -> bool:
        """Whether rows added individual weights, or cells need too much memory."""
        if not self.takes_out_own:
            return self.oob_mask is not None and self.oob_mask.own_weight is not None
        cells = np.diff(self.forest.evidence.cell_start(self.forest.leaf_start)).max()
        return bool(cells * 8 * self.width > GROUP_BYTES)

    def is_small(self, n_rows: int) -> bool:
        """Return whether lifting only the leaves reached is cheaper for `n_rows` rows."""
        if self.oob_mask is not None or self.forest.evidence.lifts_freely:
            return False
        n_reached, n_leaves = n_rows * self.forest.n_trees, int(self.forest.leaf_start[-1])
        before = 0 if self.cache is None else self.cache.get((_Reads, self.key), _Reads).add(n_reached)
        # Distinct contents are few: finding and lifting them costs as much as lifting the leaves of a few hundred rows.
        share = 4 if self.forest.weights is not None else 64
        return 4 * n_reached < n_leaves and share * before < n_leaves

    # ---- many classes ---------------------------------------------------------------------------

    @property
    def has_patterns(self) -> bool:
        """Whether leaves hold few of many classes, and states treat all classes alike."""
        if self.forest.n_classes <= MANY_CLASSES or self.forest.evidence.entry_start is None:
            return False
        of_weights = self.oob_mask is not None and self.oob_mask.own_weight is not None
        folds = self.what.merge in ("add", "max", "both")
        return folds and not of_weights and bool(self.what.class_blocks(self.setting))

    def by_patterns(self, codes: Codes) -> Result:
        """Compute the result for many classes from positive counts only, in blocks."""
        forest, oob_mask, what = self.forest, self.oob_mask, self.what
        shape = Shape(forest.n_classes, self.width, what.class_blocks(self.setting))
        evidence = forest.evidence
        assert isinstance(evidence, ClassCounts)
        assert evidence.entry_start is not None
        most_held = int(np.diff(evidence.entry_start).max(initial=0)) * forest.n_trees
        block = max(1, GROUP_BYTES // (8 * max(self.width, 4 * most_held)))

        def finish_from(first: int) -> Result:
            part = np.ascontiguousarray(codes[:, first : first + block])
            reached, n_rows = self._reached(part, first), part.shape[1]
            merged = merged_by_patterns(evidence, reached, what, self.setting, shape, n_rows, self.weights)
            if oob_mask is not None and oob_mask.as_forest and what.merge == "add":
                number = np.bincount(reached.row, minlength=n_rows)
                merged *= (forest.n_trees / np.maximum(number, 1))[:, None]
            return what.finish(merged, self.setting)

        return in_blocks(finish_from, codes.shape[1], block, 1)

    def _reached(self, codes: Codes, first: int) -> Reached:
        """Return the leaves of rows from `first` on, in the trees that count."""
        forest, oob_mask, n_rows = self.forest, self.oob_mask, codes.shape[1]
        leaves = forest.leaves(codes, self.n_threads) + forest.leaf_start[:-1]
        if oob_mask is None:
            row, tree = np.divmod(np.arange(leaves.size), forest.n_trees)
            return Reached(row, tree, leaves.ravel(), None)
        may = np.stack([oob_mask.of(tree, first, first + n_rows) for tree in range(forest.n_trees)], axis=1)
        row, tree = np.nonzero(may)
        own = None if oob_mask.own_class is None else oob_mask.own_class[first + row]
        return Reached(row, tree, leaves[row, tree], own)

    # ---- few rows, and rules that are not folds ---------------------------------------------------------

    def leaves_reached(self, codes: Codes) -> Result:
        """Lift only the leaves reached, in blocks; for few rows."""
        forest = self.forest

        def states_of(part: Codes, first: int) -> Floats:
            at = (forest.leaves(np.ascontiguousarray(part), self.n_threads) + forest.leaf_start[:-1]).ravel()
            return forest.evidence.lift(self.what, self.setting, at).reshape(part.shape[1], forest.n_trees, -1)

        return self._in_stacks(codes, states_of)

    def stacked(self, codes: Codes) -> Result:
        """Compute rules that are not folds from the states of all trees.

        The state is zero if a tree does not count for the row.
        """
        forest, oob_mask, start = self.forest, self.oob_mask, self.forest.leaf_start
        own = None if oob_mask is None else oob_mask.own
        spans = [slice(start[tree], start[tree + 1]) for tree in range(forest.n_trees)]
        tables = [forest.evidence.lift(self.what, self.setting, span) for span in spans] if own is None else []

        def states_of(part: Codes, first: int) -> Floats:
            leaves, last = forest.leaves(np.ascontiguousarray(part), self.n_threads), first + part.shape[1]
            states = np.zeros((part.shape[1], forest.n_trees, self.width))
            for tree in range(forest.n_trees):
                rows = slice(None) if oob_mask is None else np.flatnonzero(oob_mask.of(tree, first, last))
                at = leaves[rows, tree]
                if own is None:
                    states[rows, tree] = tables[tree][at]
                else:
                    added = own[first:last][rows]
                    states[rows, tree] = forest.evidence.lift_without(self.what, self.setting, at + start[tree], added)
            return states

        return self._in_stacks(codes, states_of)

    def down_both_sides(self, codes: Codes) -> Result:
        """Compute the result for out-of-support rows from the leaves on both sides."""
        forest = self.forest
        if self.what.merge == "mean" and forest.evidence.lifts_freely:
            lifted = forest.evidence.lift(self.what, self.setting)
            total = np.zeros((codes.shape[1], lifted.shape[1]))
            block = max(1, GROUP_BYTES // (8 * forest.n_trees * lifted.shape[1]))
            for first in range(0, codes.shape[1], block):
                part = slice(first, first + block)
                states = forest.mixed_states(codes[:, part], lifted, self.n_threads)
                for tree in range(forest.n_trees):  # in this order, so that sums do not depend on the number of rows
                    total[part] += states[:, tree]
            return finish_rows(self.what, total / forest.n_trees, self.setting, self.n_threads)

        def states_of(part: Codes, first: int) -> Floats:
            counts = forest.mixed_evidence(part, self.n_threads)
            states = lift_distinct(self.what, counts.reshape(-1, counts.shape[2]), self.setting)
            return states.reshape(part.shape[1], forest.n_trees, -1)

        return self._in_stacks(codes, states_of)

    def _in_stacks(self, codes: Codes, states_of: Callable[[Codes, int], Floats]) -> Result:
        """Finish blocks of states (b, T, S), which `states_of` returns."""
        width = self.width if codes.shape[1] > 1 else 1
        block = max(1, GROUP_BYTES // (8 * self.forest.n_trees * max(width, self.forest.n_classes)))

        def finish_from(first: int) -> Result:
            states = states_of(codes[:, first : first + block], first)
            if self.weights is not None:
                states = states * self.weights[None, :, None]
            merged = merge_states(states, self.what.merge)
            return self.what.finish(self.with_views(merged, codes[:, first : first + block]), self.setting)

        return in_blocks(finish_from, codes.shape[1], block, 1)

    # ---- many rows -----------------------------------------------------------------------------

    def merged(self, codes: Codes) -> Floats:
        """Return the merged states of the trees that count for each row, (n, S)."""
        forest, oob_mask = self.forest, self.oob_mask
        merged = self.by_row(codes) if self.lifts_by_row else self.whole_trees(codes)
        if oob_mask is not None and oob_mask.as_forest and self.what.merge == "add":
            number = oob_mask.number(forest.n_trees)
            merged *= np.divide(forest.n_trees, np.maximum(number, 1, out=number), out=number)[:, None]
        return merged

    def by_row(self, codes: Codes) -> Floats:
        """Lift states row by row without the row's own contribution, and merge, (n, S)."""
        assert self.oob_mask is not None
        assert self.oob_mask.own is not None
        own, start, evidence = self.oob_mask.own, self.forest.leaf_start, self.forest.evidence
        leaves = self.forest.leaves(codes, self.n_threads)
        merged = np.zeros((codes.shape[1], self.width * (2 if self.what.merge == "both" else 1)))
        block = max(1, GROUP_BYTES // (8 * max(self.width, self.forest.n_classes)))
        for tree in range(self.forest.n_trees):
            judged = np.flatnonzero(self.oob_mask.of(tree))
            for rows in np.split(judged, range(block, len(judged), block)):
                at = leaves[rows, tree] + start[tree]
                states = evidence.lift_without(self.what, self.setting, at, own[rows])
                heavy = states if self.weights is None else states * self.weights[tree]
                merge_into(merged, rows, heavy, self.what.merge)
        return merged

    def whole_trees(self, codes: Codes) -> Floats:
        """Lift whole trees in groups, and merge, (n, S); for many rows."""
        n_rows, merge = codes.shape[1], self.what.merge
        counts_judges = merge == "mean" and self.oob_mask is not None
        outside = None if self.oob_mask is None else self.oob_mask.for_core()
        merged: Floats | None = None
        for first, last, states, distinct in self._groups():
            if counts_judges:
                states = np.column_stack([states, np.ones(len(states))])
            if merged is None:
                merged = np.zeros((n_rows, states.shape[1] * (2 if merge == "both" else 1)))
            weights = None if self.weights is None else np.ascontiguousarray(self.weights[first:last])
            trees = (first, last, weights)
            self.forest.fold(codes, states, distinct, _MERGES[merge], *trees, outside, self.n_threads, merged)
            del states  # before the next group is lifted
        assert merged is not None
        if counts_judges:
            return mean_of(merged[:, :-1], merged[:, -1])
        return merged / self.forest.n_trees if merge == "mean" else merged

    def _groups(self) -> Iterator[_Group]:
        """Yield all trees with distinct states, if these fit the cache; else groups."""
        forest, n_trees, evidence = self.forest, self.forest.n_trees, self.forest.evidence
        if evidence.lifts_freely:
            yield _Group(0, n_trees, evidence.lift(self.what, self.setting), None)
            return
        if not self.takes_out_own:
            if (known := self.known) is not None:
                of_leaf = None if forest.weights is not None else forest.distinct().of_leaf
                yield _Group(0, n_trees, known, of_leaf)
                return
            leaves, of_leaf = self._leaves_to_lift()
            # The distinct contents, without which states are useless, share the cache.
            if len(leaves) * 8 * self.width + (0 if of_leaf is None else of_leaf.nbytes) <= caching.BUDGET:
                states = self._lift_in_parts(leaves)
                if self.cache is not None:
                    self.cache.put(self.key, states)
                    self.cache.discard((_Reads, self.key))
                yield _Group(0, n_trees, states, of_leaf)
                return
            if self.cache is not None:
                self.cache.get((_Reads, self.key), _Reads).give_up()
        start = evidence.cell_start(forest.leaf_start) if self.takes_out_own else forest.leaf_start
        most = min(TREES_BYTES, GROUP_BYTES) if self.takes_out_own else GROUP_BYTES
        for first, last in spans(np.diff(start) * 8 * max(self.width, forest.n_classes), most):
            span = forest.leaf_start[first], forest.leaf_start[last]
            if self.takes_out_own:
                yield _Group(first, last, self._lift_without_each(*span), None)
            else:
                yield _Group(first, last, evidence.between(*span).lift(self.what, self.setting), None)

    def _lift_without_each(self, first: int, last: int) -> Floats:
        """Return the states of leaves without one row of each class."""
        evidence = self.forest.evidence
        ends = np.append(np.arange(first, last, LIFTED_LEAVES), last)
        cells = evidence.cell_start(ends) - evidence.cell_start(ends[:1])
        states = np.empty((int(cells[-1]), self.width))
        for at, (begin, end) in enumerate(pairwise(ends.tolist())):
            states[cells[at] : cells[at + 1]] = evidence.between(begin, end).lift_without_each(self.what, self.setting)
        return states

    def _leaves_to_lift(self) -> tuple[NDArray[np.int64], NDArray[np.int32] | None]:
        """Return a leaf per distinct content, and the content of each leaf.

        With weights, all leaves are returned, and None.
        """
        if self.forest.weights is None:
            return self.forest.distinct(self.n_threads)
        return np.arange(self.forest.leaf_start[-1]), None

    def _lift_in_parts(self, leaves: NDArray[np.int64]) -> Floats:
        """Lift leaves (D,) in blocks, which limits memory, (D, S)."""
        states = np.empty((len(leaves), self.width))
        part = max(1, GROUP_BYTES // (8 * max(self.width, self.forest.n_classes)))
        for first in range(0, len(leaves), part):
            held, to = self.forest.evidence.read(leaves[first : first + part]), slice(first, first + part)
            if self.forest.weights is None:  # contents are distinct
                states[to] = self.what.lift(held, self.setting)
            else:
                states[to] = lift_distinct(self.what, held, self.setting)
        return states


#: Leaves numbered over all trees, or a slice of them.
Which: TypeAlias = NDArray[np.int64] | slice

#: Single leaves are evaluated if rows reach at most one leaf in this many; otherwise all leaves.
FEW = 16


def mean_of_leaves(forest: Forest, codes: Codes, says: Callable[[Which], Floats], n_threads: int = 1) -> Floats:
    """Return means over trees, (n, S), of the leaf values (m, S) of `says`.

    The result for a row does not depend on other rows. With 100 trees grown on 100,000 rows, one row takes a thousandth
    of the time of all leaves.
    """
    n_reached = codes.shape[1] * forest.n_trees
    if FEW * n_reached >= forest.leaf_start[-1] or len(forest.unseen_rows(codes)):

        def lifted(_: Any) -> Floats:
            return says(slice(None))

        return fold(forest, codes, MeanReducer(lifted), None, n_threads=n_threads)
    at = forest.leaves(codes, n_threads) + forest.leaf_start[:-1]
    each = says(at.ravel()).reshape(*at.shape, -1)
    # One tree after the other, as in the core, whose sums start at zero: so there is no negative zero.
    return (np.add.accumulate(each, axis=1)[:, -1] + 0.0) / forest.n_trees
