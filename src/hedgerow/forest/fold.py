"""Fold: the leaves a sample reaches, and a rule -> what the forest thinks of it."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from hedgerow.belief import Setting, merge_states
from hedgerow.forest.forest import Forest
from hedgerow.forest.rows import Judges
from hedgerow.table.bins import Codes

Floats = NDArray[np.float64]
Result = TypeVar("Result")
Given = TypeVar("Given", covariant=True)

#: States of distinct leaves are kept between calls while they take at most this many bytes.
STATE_BUDGET = 256 << 20
#: Otherwise trees are lifted in groups whose states take about this many.
GROUP_BYTES = 32 << 20
#: Opinions are made of so many rows at a time.
FINISHED_ROWS = 8192

_MERGES = {"add": 0, "max": 1, "both": 2}


class Foldable(Protocol[Given]):
    """What can be folded over leaves: a rule, or another pair of lift and finish."""

    @property
    def merge(self) -> Any:
        """How states are merged: "add", "max", "both" or "stack"."""

    def lift(self, counts: Floats, setting: Setting) -> Floats:
        """Counts (m, K) -> states (m, S)."""

    def finish(self, state: Floats, setting: Setting) -> Given:
        """Merged states -> result for n samples."""


class StateCache:
    """States under the rules asked for last, as many as the budget holds; threads may share it.

    They are those of the distinct contents of a forest's leaves, so there are few of them and several rules fit.
    """

    def __init__(self) -> None:
        self._kept: dict[Hashable, Floats] = {}  # replaced as a whole, never changed
        self._asked: dict[Hashable, int] = {}
        self._too_large: set[Hashable] = set()

    def states_of(self, key: Hashable) -> Floats | None:
        """The states kept under the key, None when there are none."""
        return self._kept.get(key)

    def keep(self, key: Hashable, states: Floats) -> None:
        """Keep these states, and of the others the latest that still fit."""
        kept, room = {key: states}, STATE_BUDGET - states.nbytes
        for other, held in reversed(self._kept.items()):
            room -= held.nbytes
            if other != key and room >= 0:
                kept[other] = held
            elif other != key:
                self._asked.pop(other, None)  # it has to be worth lifting all leaves once more
        self._kept = dict(reversed(kept.items()))

    def asked(self, key: Hashable, n_leaves: int) -> int:
        """Add leaves that were looked at under the key without knowing their states -> all of them so far.

        Of states that cannot be kept, only those of now: lifting all leaves again for every row would never pay.
        """
        if key in self._too_large:
            return n_leaves
        self._asked[key] = so_far = self._asked.get(key, 0) + n_leaves
        return so_far

    def give_up(self, key: Hashable) -> None:
        """The states under the key do not fit the budget."""
        self._too_large.add(key)


def fold(
    forest: Forest,
    codes: Codes,
    rule: Foldable[Result],
    setting: Setting,
    *,
    tree_weights: Floats | None = None,
    judges: Judges | None = None,
    cache: StateCache | None = None,
    n_threads: int = 1,
) -> Result:
    """Codes (p, n) -> what the rule makes of the leaves the n samples reach.

    Nothing of the size rows × trees × classes is made. Leaves are lifted on the cheaper side: those of whole trees
    when many rows come, only the ones reached when few do. Rules that are no fold get the states of a block of rows
    at a time.
    """
    key = _key(rule, setting)
    known = None if cache is None else cache.states_of(key)
    if judges is None and known is None:
        n_reached = codes.shape[1] * forest.n_trees
        keeps = None if rule.merge == "stack" else cache
        if 4 * (n_reached if keeps is None else keeps.asked(key, n_reached)) < forest.leaf_start[-1]:
            return _fold_reached(forest, codes, rule, setting, tree_weights, n_threads)
    if rule.merge == "stack":
        if judges is not None and judges.own_weight is not None:
            return rule.finish(
                _stacked_without_own(forest, codes, rule, setting, tree_weights, judges, n_threads), setting
            )
        return _stack(forest, codes, rule, setting, tree_weights, judges, n_threads)
    if judges is not None and judges.own_weight is not None:
        merged = _merged_without_own(forest, codes, rule, setting, tree_weights, judges, n_threads)
    else:
        groups = _state_groups(forest, rule, setting, judges, known, cache, key, n_threads)
        merged = _merge_groups(forest, codes, rule, groups, tree_weights, judges, n_threads)
    if judges is not None and judges.as_forest and rule.merge == "add":
        merged *= _trees_per_judge(forest.n_trees, judges)[:, None]
    return finish_rows(rule, merged, setting, n_threads)


def finish_rows(rule: Foldable[Result], merged: Floats, setting: Setting, n_threads: int = 1) -> Result:
    """Merged states (n, S) -> result of n samples, a block at a time, so that what is between stays in the cache."""

    def finish_from(first: int) -> Result:
        return rule.finish(merged[first : first + FINISHED_ROWS], setting)

    return _in_blocks(finish_from, len(merged), FINISHED_ROWS, n_threads)


def leaf_evidence(forest: Forest, tree: int) -> Floats:
    """-> (leaves of the tree, K): the amount of evidence in each leaf, shared out by weight where rows have weights."""
    counts = forest.leaf_counts(tree).astype(np.float64)
    if forest.weights is None:
        return counts
    return _shared_out(counts, forest.leaf_counts(tree, weighted=True))


def node_evidence(tree: Any) -> Floats:
    """A tree to walk -> (N, K): the evidence at each of its nodes, likewise."""
    weights, rows = tree.weights, tree.counts.sum(axis=1, keepdims=True)
    total = weights.sum(axis=1, keepdims=True)
    return np.asarray(rows * weights / np.where(total > 0, total, 1.0))


def reached_evidence(forest: Forest, leaves: NDArray[np.int32]) -> Floats:
    """Leaves (n, T) -> evidence (n, T, K) of the leaves reached, looking at no others."""
    at = (leaves + forest.leaf_start[:-1]).ravel()
    evidence = evidence_of_leaves(forest, at)
    return evidence.reshape(*leaves.shape, forest.n_classes)


def lift_distinct(rule: Foldable[Any], counts: Floats, setting: Setting) -> Floats:
    """Counts (m, K) -> states (m, S), each distinct row of counts lifted once."""
    if len(counts) < 256:
        return np.ascontiguousarray(rule.lift(counts, setting))
    distinct, where = distinct_rows(counts)
    return np.ascontiguousarray(rule.lift(distinct, setting)[where])


def _lift_all(rule: Foldable[Any], counts: Floats, setting: Setting) -> Floats:
    """Counts (m, K) -> states (m, S)."""
    return rule.lift(counts, setting)


def without_own_row(forest: Forest, tree: int) -> Floats:
    """-> (leaves × K, K), or (entries, K) with many classes: each leaf's evidence without one row of each class."""
    counts = forest.leaf_counts(tree).astype(np.float64)
    if forest.entry_class is None:
        leaf, label = np.divmod(np.arange(counts.size), counts.shape[1])
    else:
        leaf, label = np.nonzero(counts)
    each = np.arange(len(leaf))
    rest, own = counts[leaf], counts[leaf, label]
    rest[each, label] = np.maximum(own - 1, 0)
    if forest.weights is None:
        return rest
    # The row weighs what rows of its class weigh on average in the leaf; the amount of evidence is the rows left.
    weights = forest.leaf_counts(tree, weighted=True)[leaf]
    weights[each, label] *= np.maximum(own - 1, 0) / np.where(own > 0, own, 1.0)
    return _shared_out(rest, weights)


def evidence_without_own(forest: Forest, tree: int, leaves: NDArray[np.integer[Any]], own: Floats) -> Floats:
    """Leaves (m,) of a tree, what each of m rows has added to its leaf (m, K) -> their evidence without it (m, K)."""
    amount = forest.leaf_counts(tree).sum(axis=1)[leaves].astype(np.float64)
    rest = np.maximum(forest.leaf_counts(tree, weighted=True)[leaves] - own, 0.0)
    rest[rest < 1e-9 * own.max(axis=1, keepdims=True)] = 0.0  # what rounding leaves of a class that was the row's alone
    return _shared_out(np.maximum(amount - 1.0, 0.0)[:, None], rest)


def _shared_out(counts: Floats, weights: NDArray[Any]) -> Floats:
    """Counts (m, K), weights (m, K) -> as many rows, shared out by weight."""
    total = weights.sum(axis=1, keepdims=True)
    return np.asarray(counts.sum(axis=1, keepdims=True) * weights / np.where(total > 0, total, 1.0))


def evidence_of_leaves(forest: Forest, leaves: NDArray[np.int64]) -> Floats:
    """Leaves (m,), numbered over all trees -> evidence (m, K)."""
    counts = forest.counts_of(leaves).astype(np.float64)
    return counts if forest.weights is None else _shared_out(counts, forest.counts_of(leaves, weighted=True))


def _fold_reached(
    forest: Forest,
    codes: Codes,
    rule: Foldable[Result],
    setting: Setting,
    tree_weights: Floats | None,
    n_threads: int,
) -> Result:
    """Few rows: only the leaves they reach are lifted, of as many rows at a time as memory is meant to hold."""
    width = rule.lift(np.zeros((1, forest.n_classes)), setting).shape[1] if codes.shape[1] > 1 else 1
    block = max(1, GROUP_BYTES // (8 * forest.n_trees * max(width, forest.n_classes)))

    def finish_from(first: int) -> Result:
        states = _states_reached(forest, codes[:, first : first + block], rule, setting, n_threads)
        if tree_weights is not None:
            states = states * tree_weights[None, :, None]
        return rule.finish(merge_states(states, rule.merge), setting)

    return _in_blocks(finish_from, codes.shape[1], block, 1)


def _merge_groups(
    forest: Forest,
    codes: Codes,
    rule: Foldable[Any],
    groups: Iterator[_Group],
    tree_weights: Floats | None,
    judges: Judges | None,
    n_threads: int,
) -> Floats:
    """States of some trees after another -> (n, S): those that the rows meet, merged."""
    merged: Floats | None = None
    for group in groups:
        if merged is None:
            merged = np.zeros((codes.shape[1], group.states.shape[1] * (2 if rule.merge == "both" else 1)))
        weights = None if tree_weights is None else np.ascontiguousarray(tree_weights[group.first : group.last])
        trees = (group.first, group.last, weights)
        merge, outside = _MERGES[rule.merge], None if judges is None else judges.for_core()
        forest.fold(codes, group.states, group.distinct, merge, *trees, outside, n_threads, merged)
    assert merged is not None
    return merged


def _trees_per_judge(n_trees: int, judges: Judges) -> Floats:
    """(n,): what a sum over the trees that have not seen a row is multiplied by to stand for all trees."""
    return np.asarray(n_trees / np.maximum(judges.number(n_trees), 1))


def _states_reached(forest: Forest, codes: Codes, rule: Foldable[Any], setting: Setting, n_threads: int) -> Floats:
    """Codes (p, n) -> states (n, T, S) of the leaves reached."""
    leaves = forest.leaves(np.ascontiguousarray(codes), n_threads)
    evidence = reached_evidence(forest, leaves)
    states = lift_distinct(rule, evidence.reshape(-1, forest.n_classes), setting)
    return states.reshape(*leaves.shape, -1)


class _Group(NamedTuple):
    """Trees from first to last - 1, and the states of their leaves."""

    first: int
    last: int
    states: Floats  # (D, S) or (rows of the trees' tables, S)
    distinct: NDArray[np.int32] | None  # (L,): which of D states each leaf has


def _state_groups(
    forest: Forest,
    rule: Foldable[Any],
    setting: Setting,
    judges: Judges | None,
    known: Floats | None,
    cache: StateCache | None,
    key: Hashable,
    n_threads: int,
) -> Iterator[_Group]:
    """All trees at once with the states of distinct leaves, where these are not too many; else group by group."""
    own = judges is not None and judges.own_class is not None
    if not own and known is not None:
        yield _Group(0, forest.n_trees, known, None if forest.weights is not None else forest.distinct().of_leaf)
        return
    width = rule.lift(np.zeros((1, forest.n_classes)), setting).shape[1]
    if not own:
        leaves, of_leaf = _leaves_to_lift(forest, n_threads)
        if len(leaves) * 8 * width <= STATE_BUDGET:
            states = _lift_in_parts(forest, leaves, rule, setting, width)
            if cache is not None:
                cache.keep(key, states)
            yield _Group(0, forest.n_trees, states, of_leaf)
            return
        if cache is not None:
            cache.give_up(key)
    evidence = without_own_row if own else leaf_evidence
    sizes = _rows_per_tree(forest, own) * 8 * max(width, forest.n_classes)
    for first, last in _groups(sizes, GROUP_BYTES):
        counts = np.concatenate([evidence(forest, tree) for tree in range(first, last)])
        yield _Group(first, last, lift_distinct(rule, counts, setting), None)


def _leaves_to_lift(forest: Forest, n_threads: int) -> tuple[NDArray[np.int64], NDArray[np.int32] | None]:
    """-> one leaf for each distinct content, and which content each leaf has; with weights, simply all leaves."""
    if forest.weights is None:
        return forest.distinct(n_threads)
    return np.arange(forest.leaf_start[-1]), None


def _lift_in_parts(
    forest: Forest, leaves: NDArray[np.int64], rule: Foldable[Any], setting: Setting, width: int
) -> Floats:
    """Leaves (D,) -> states (D, S), so many at a time that what lifting needs besides stays small."""
    states = np.empty((len(leaves), width))
    part = max(1, GROUP_BYTES // (8 * max(width, forest.n_classes)))
    lift = lift_distinct if forest.weights is not None else _lift_all  # without weights no two leaves are alike
    for first in range(0, len(leaves), part):
        evidence = evidence_of_leaves(forest, leaves[first : first + part])
        states[first : first + part] = lift(rule, evidence, setting)
    return states


def _in_blocks(make: Callable[[int], Result], n_rows: int, block: int, n_threads: int) -> Result:
    """make(first row) -> result of a block; of all blocks, one result: a record of arrays, or a list of records."""
    first = make(0)
    if n_rows <= block:
        return first
    wholes: list[dict[str, Any]] = [
        {
            name: None if part is None else np.empty((n_rows, *part.shape[1:]), part.dtype)
            for name, part in vars(one).items()
        }
        for one in _records(first)
    ]

    def write(start: int) -> None:
        for whole, part in zip(wholes, _records(first if start == 0 else make(start)), strict=True):
            for name, values in vars(part).items():
                if values is not None:
                    whole[name][start : start + block] = values

    if n_threads == 1:
        for start in range(0, n_rows, block):
            write(start)
    else:
        with ThreadPoolExecutor(n_threads) as pool:
            list(pool.map(write, range(0, n_rows, block)))
    joined: Any = [type(one)(**whole) for one, whole in zip(_records(first), wholes, strict=True)]
    return joined if isinstance(first, list) else joined[0]  # type: ignore[no-any-return]


def _records(result: Any) -> list[Any]:
    """One record, or a list of them -> the list."""
    return result if isinstance(result, list) else [result]


def _key(rule: Foldable[Any], setting: Setting) -> Hashable:
    """What the states of a leaf depend on, besides its counts."""
    return type(rule), repr(sorted(vars(rule).items())), setting.caution, setting.prior.tobytes()


def _stack(
    forest: Forest,
    codes: Codes,
    rule: Foldable[Result],
    setting: Setting,
    tree_weights: Floats | None,
    judges: Judges | None,
    n_threads: int,
) -> Result:
    """For rules that are no fold: states (block, T, S) -> result, block by block."""
    width = rule.lift(np.zeros((1, forest.n_classes)), setting).shape[1]
    block = max(1, GROUP_BYTES // (8 * forest.n_trees * max(width, forest.n_classes)))
    own = judges is not None and judges.own_class is not None
    tables = [
        lift_distinct(rule, (without_own_row if own else leaf_evidence)(forest, tree), setting)
        for tree in range(forest.n_trees)
    ]

    def finish_from(first: int) -> Result:
        leaves = forest.leaves(np.ascontiguousarray(codes[:, first : first + block]), n_threads)
        states = np.empty((len(leaves), forest.n_trees, width))
        for tree, table in enumerate(tables):
            states[:, tree] = table[_table_rows(forest, tree, leaves[:, tree], judges, first)]
            if judges is not None:
                states[:, tree] *= judges.of(tree)[first : first + block, None]
        if tree_weights is not None:
            states *= tree_weights[None, :, None]
        return rule.finish(states, setting)

    return _in_blocks(finish_from, codes.shape[1], block, 1)


def _states_without_own(
    forest: Forest, codes: Codes, rule: Foldable[Any], setting: Setting, judges: Judges, n_threads: int
) -> Iterator[tuple[int, NDArray[np.bool_], Floats]]:
    """Tree by tree: its number, the rows (n,) it has not seen, and their states (m, S) without what is their own.

    Rows with uncertain labels have added something of their own each, so states are lifted by row, not by leaf.
    """
    assert judges.own_weight is not None
    leaves = forest.leaves(codes, n_threads)
    for tree in range(forest.n_trees):
        rows = judges.of(tree)
        evidence = evidence_without_own(forest, tree, leaves[rows, tree], judges.own_weight[rows])
        yield tree, rows, lift_distinct(rule, evidence, setting)


def _merged_without_own(
    forest: Forest,
    codes: Codes,
    rule: Foldable[Any],
    setting: Setting,
    tree_weights: Floats | None,
    judges: Judges,
    n_threads: int,
) -> Floats:
    """-> (n, S) merged states, or (n, 2 S) where both merges are wanted."""
    width = rule.lift(np.zeros((1, forest.n_classes)), setting).shape[1]
    sums, largest = np.zeros((codes.shape[1], width)), np.zeros((codes.shape[1], width))
    for tree, rows, states in _states_without_own(forest, codes, rule, setting, judges, n_threads):
        sums[rows] += states * (1.0 if tree_weights is None else tree_weights[tree])
        largest[rows] = np.maximum(largest[rows], states)
    return {"add": sums, "max": largest, "both": np.hstack([largest, sums])}[rule.merge]


def _stacked_without_own(
    forest: Forest,
    codes: Codes,
    rule: Foldable[Any],
    setting: Setting,
    tree_weights: Floats | None,
    judges: Judges,
    n_threads: int,
) -> Floats:
    """-> (n, T, S) states, zero where a tree has seen the row."""
    width = rule.lift(np.zeros((1, forest.n_classes)), setting).shape[1]
    stacked = np.zeros((codes.shape[1], forest.n_trees, width))
    for tree, rows, states in _states_without_own(forest, codes, rule, setting, judges, n_threads):
        stacked[rows, tree] = states * (1.0 if tree_weights is None else tree_weights[tree])
    return stacked


def _table_rows(
    forest: Forest, tree: int, leaves: NDArray[np.int32], judges: Judges | None, first: int
) -> NDArray[np.int64]:
    """Leaves (m,) that samples first, ... reach in a tree -> their rows in its state table."""
    if judges is None or judges.own_class is None:
        return leaves.astype(np.int64)
    labels = judges.own_class[first : first + len(leaves)].astype(np.int64)
    if forest.entry_class is None:
        return leaves.astype(np.int64) * forest.n_classes + labels
    return entry_numbers(forest, tree)[leaves, labels]


def entry_numbers(forest: Forest, tree: int) -> NDArray[np.int64]:
    """-> (leaves of the tree, K): which row of `without_own_row` belongs to a leaf and class, 0 where none does."""
    counts = forest.leaf_counts(tree)
    numbers = np.zeros(counts.shape, dtype=np.int64)
    numbers[np.nonzero(counts)] = np.arange(np.count_nonzero(counts))
    return numbers


def _rows_per_tree(forest: Forest, own: bool) -> NDArray[np.int64]:
    """-> (T,): rows of each tree's state table."""
    if not own:
        return np.diff(forest.leaf_start)
    if forest.entry_start is None:
        return np.diff(forest.leaf_start) * forest.n_classes
    return np.diff(forest.entry_start[forest.leaf_start])


def _groups(sizes: NDArray[np.int64], limit: int) -> Iterator[tuple[int, int]]:
    """Sizes (T,) -> spans of neighbouring trees that together stay below the limit, at least one tree each."""
    first, total = 0, 0
    for tree, size in enumerate(sizes.tolist()):
        if tree > first and total + size > limit:
            yield first, tree
            first, total = tree, 0
        total += size
    yield first, len(sizes)


def distinct_rows(counts: Floats) -> tuple[Floats, NDArray[np.intp]]:
    """(m, K) -> distinct rows (d, K), and which of them each row is (m,)."""
    if counts.shape[1] == 2 and (counts == np.floor(counts)).all() and counts.max(initial=0) < 2**31:
        keys = (counts[:, 0].astype(np.int64) << 31) + counts[:, 1].astype(np.int64)
        _, first, where = np.unique(keys, return_index=True, return_inverse=True)
    else:
        rows = np.ascontiguousarray(counts + 0.0)
        _, first, where = np.unique(_fingerprints(rows), return_index=True, return_inverse=True)
        if not _are_copies(rows, first[where]):  # two different rows have met in one fingerprint
            whole = rows.view(np.dtype((np.void, rows.dtype.itemsize * rows.shape[1]))).ravel()
            _, first, where = np.unique(whole, return_index=True, return_inverse=True)
    return counts[first], where.ravel()


def _fingerprints(rows: Floats) -> NDArray[np.uint64]:
    """(m, K) -> (m,): sorting these, not whole rows, takes a sixth of the time with 500 classes."""
    bits = rows.view(np.uint64)
    bits = bits ^ (bits >> np.uint64(44))  # whole numbers differ in their highest bits alone
    factors = np.random.default_rng(0).integers(1, 2**63, rows.shape[1], dtype=np.uint64)
    return np.asarray(bits @ factors)


def _are_copies(rows: Floats, of: NDArray[np.intp]) -> bool:
    """Rows (m, K), numbers of rows (m,) -> whether each row equals the one that is named, some rows at a time."""
    part = max(1, 2**20 // rows.shape[1])
    firsts = range(0, len(rows), part)
    return all(np.array_equal(rows[first : first + part], rows[of[first : first + part]]) for first in firsts)
