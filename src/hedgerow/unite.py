"""Unite: forests over different cuts -> one forest over all of them, every split what it was."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow.add import own_numbers, widen
from hedgerow.bins import Bins
from hedgerow.table import Schema
from hedgerow.table.schema import label
from hedgerow.tree import Forest, join_forests

#: A feature can be cut into this many bins: codes have two bytes, and missing values need one code.
MOST_BINS = np.iinfo(np.uint16).max


def unite_forests(
    first: Forest, second: Forest, bins: tuple[Bins, Bins], n_classes: int, places: tuple[Any, Any]
) -> tuple[Forest, Bins]:
    """Two forests over the same columns, and where class k of each stands among all -> the trees of both, and all cuts.

    Thresholds are values: in a finer table of bins the same value has another code, and every row still goes the same
    way. Uniting is associative, and but for the order of the trees commutative.
    """
    united = unite_bins(bins[0], bins[1])
    if united.n_bins[united.nominal == 0].max(initial=0) > MOST_BINS:
        used = [cuts_in_use(forest, each) for forest, each in zip((first, second), bins, strict=True)]
        united = unite_bins(*used)
    if united.n_bins[united.nominal == 0].max(initial=0) > MOST_BINS:
        raise ValueError(
            f"forests must cut each feature in at most {MOST_BINS - 1:,} places together to be merged, got more; merge"
            " fewer of them"
        )
    parts = [
        widen(move_codes(forest, each, united), np.asarray(place), n_classes)
        for forest, each, place in zip((first, second), bins, places, strict=True)
    ]
    return join_forests(*parts), united


def unite_schemas(first: Schema, second: Schema) -> Schema:
    """Two schemas of the same columns -> what both say; a ValueError names the first column that differs."""
    if first.n_features != second.n_features:
        raise ValueError(
            f"forests must know the same columns to be merged, got {first.n_features} and {second.n_features}"
        )
    if first.names != second.names:
        raise ValueError(
            f"forests must know the same columns to be merged, got {_some(first.names)} and {_some(second.names)}"
        )
    for feature in range(first.n_features):
        pair = [(each.nominal[feature], each.kinds[feature]) for each in (first, second)]
        known = [each.categories[feature] for each in (first, second)]
        if pair[0] != pair[1]:
            words = [f"a {'nominal' if nominal else 'numeric'} {kind}" for nominal, kind in pair]
            raise ValueError(
                f"{label(first.names, feature)} must be of the same kind in forests to be merged, got {words[0]} and"
                f" {words[1]}"
            )
        if known[0] is not None and known[1] is not None and known[0].tolist() != known[1].tolist():
            raise ValueError(
                f"{label(first.names, feature)} must have the same categories in forests to be merged, got"
                f" {_some(known[0].tolist())} and {_some(known[1].tolist())}; fit both with all of them"
            )
    return first


def unite_bins(first: Bins, second: Bins) -> Bins:
    """All cuts of both; a bin's typical value is where it ends, of the last the largest that either has.

    A choice among the typical values of both would depend on the order in which several are united.
    """
    cuts, centers = [], []
    for feature in range(len(first.nominal)):
        both = np.union1d(first.cuts_of(feature), second.cuts_of(feature))
        cuts.append(both)
        if first.nominal[feature]:
            centers.append(np.empty(0))
            continue
        centers.append(np.append(both, max(_centers_of(each, feature)[-1] for each in (first, second))))
    n_bins = np.where(first.nominal > 0, first.n_bins, [len(each) + 1 for each in cuts])
    return Bins(first.nominal, n_bins, np.concatenate(cuts), _starts(cuts), np.concatenate(centers), _starts(centers))


def cuts_in_use(forest: Forest, bins: Bins) -> Bins:
    """Bins without the cuts at which no node splits."""
    feature, code = _thresholds(forest)[1:]
    used = np.zeros(len(bins.cuts), dtype=bool)
    inside = code < np.diff(bins.cut_start)[feature]
    used[bins.cut_start[feature[inside]] + code[inside]] = True
    cuts = [bins.cuts_of(i)[used[bins.cut_start[i] : bins.cut_start[i + 1]]] for i in range(len(bins.nominal))]
    centers = []
    for i, kept in enumerate(cuts):
        typical = _centers_of(bins, i)
        at = np.searchsorted(kept, typical, side="left")
        centers.append(typical[np.unique(at, return_index=True)[1]])
    n_bins = np.where(bins.nominal > 0, bins.n_bins, [len(each) + 1 for each in cuts])
    return Bins(bins.nominal, n_bins, np.concatenate(cuts), _starts(cuts), np.concatenate(centers), _starts(centers))


def move_codes(forest: Forest, bins: Bins, finer: Bins) -> Forest:
    """A forest over some cuts -> the same over more of them: each threshold gets the code its value has there."""
    if np.array_equal(bins.cut_start, finer.cut_start):
        return forest
    node, feature, code = _thresholds(forest)
    n_cuts = np.diff(bins.cut_start)
    moved = np.concatenate(
        [np.searchsorted(finer.cuts_of(i), bins.cuts_of(i), side="left") for i in range(len(n_cuts))] + [np.zeros(1)]
    ).astype(np.int64)
    at = np.minimum(bins.cut_start[feature] + code, len(moved) - 1)
    beyond = np.diff(finer.cut_start)[feature]  # every value goes left: still so
    new = np.where(code < n_cuts[feature], moved[at], beyond).astype(np.uint64)
    nodes = forest.nodes.copy()
    nodes[node] = (nodes[node] & ~np.uint64(0xFFFF)) | new
    return replace(forest, nodes=nodes)


def _thresholds(forest: Forest) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """-> the nodes that split at a threshold, their features, and the last codes that go left, (m,) each."""
    child = (forest.nodes >> np.uint64(36)).astype(np.int64)
    kind = (forest.nodes >> np.uint64(33)) & np.uint64(3)
    node = np.flatnonzero((child != own_numbers(forest)) & (kind == 0))
    bits = forest.nodes[node]
    feature = ((bits >> np.uint64(16)) & np.uint64(0x1FFFF)).astype(np.int64)
    return node, feature, (bits & np.uint64(0xFFFF)).astype(np.int64)


def _centers_of(bins: Bins, feature: int) -> NDArray[np.float64]:
    """-> (bins,) typical values of a numeric feature."""
    return bins.centers[bins.center_start[feature] : bins.center_start[feature + 1]]


def _starts(parts: list[NDArray[np.float64]]) -> NDArray[np.int64]:
    """Arrays -> where each begins when they stand end to end, and the end."""
    return np.concatenate([[0], np.cumsum([len(part) for part in parts])]).astype(np.int64)


def _some(values: Any) -> str:
    """A few of many, for a message."""
    listed = [] if values is None else list(values)
    return f"{listed[:5]}{' …' if len(listed) > 5 else ''}" if values is not None else "no names"
