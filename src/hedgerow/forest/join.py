"""Merging of forests over different bin edges and categories."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hedgerow.forest.forest import Forest, join_forests
from hedgerow.forest.nodes import MULTIWAY, SUBSET, THRESHOLD, Nodes, Subset, starts_of, subset_from
from hedgerow.table import MAX_CATEGORIES, Schema
from hedgerow.table.bins import Bins
from hedgerow.table.schema import label

#: Largest number of bins of a feature: codes have two bytes, and one code means missing.
MOST_BINS = np.iinfo(np.uint16).max


class Side(NamedTuple):
    """Forest to merge, the meaning of its codes, and the indices of its classes."""

    forest: Forest
    bins: Bins
    schema: Schema
    places: NDArray[np.intp]


def merge_forests(first: Side, second: Side, n_classes: int) -> tuple[Forest, Bins, Schema]:
    """Merge two forests over the same columns, with all bin edges and categories.

    A threshold keeps its value and gets the bin index that this value has among all edges. A category that is new to a
    forest is treated as missing in its trees, as before. So every row reaches the same leaves as before. Merging is
    associative, and commutative except for the order of the trees.
    """
    schema = join_schemas(first.schema, second.schema)
    parts = [part._replace(forest=move_categories(part.forest, part.schema, schema)) for part in (first, second)]
    joined = join_bins(first.bins, second.bins, schema)
    if not _fits(joined):
        here, there = (cuts_in_use(part.forest, part.bins) for part in parts)
        joined = join_bins(here, there, schema)
    if not _fits(joined):
        raise ValueError(
            f"merged forests must have at most {MOST_BINS - 1:,} bin edges per feature, got"
            f" {int(joined.n_bins.max()) - 1:,}. Merge fewer forests."
        )
    moved = [move_codes(part.forest, part.bins, joined).add_classes(part.places, n_classes) for part in parts]
    return join_forests(*moved), joined, schema


def join_schemas(first: Schema, second: Schema) -> Schema:
    """Return a schema with all categories; raise if columns differ."""
    if first.n_features != second.n_features:
        raise ValueError(f"merged forests must have the same columns, got {first.n_features} and {second.n_features}")
    if first.names != second.names:
        raise ValueError(
            f"merged forests must have the same columns, got {_listed(first.names)} and {_listed(second.names)}"
        )
    categories: list[NDArray[np.generic] | None] = []
    for feature in range(first.n_features):
        pair = [(each.nominal[feature], each.kinds[feature]) for each in (first, second)]
        known = [each.categories[feature] for each in (first, second)]
        if pair[0] != pair[1] or (known[0] is None) != (known[1] is None):
            words = [f"{'categorical' if nominal else 'numeric'} {kind}" for nominal, kind in pair]
            raise ValueError(
                f"{label(first.names, feature)} must have one type in merged forests, got {words[0]} and {words[1]}"
            )
        categories.append(_all_categories(known, label(first.names, feature)))
    return replace(first, categories=tuple(categories))


def move_categories(forest: Forest, schema: Schema, wider: Schema) -> Forest:
    """Return the forest with more categories, which are treated as missing."""
    places = [_places(known, more) for known, more in zip(schema.categories, wider.categories, strict=True)]
    if all(place is None for place in places):
        return forest
    nodes = forest.structure
    feature = nodes.feature
    for i in np.unique(feature[nodes.splits(MULTIWAY)]).tolist():
        if places[i] is not None:
            raise ValueError(
                f"{label(schema.names, i)} must have the same categories in merged forests with multiway splits, got"
                f" {_listed(schema.categories[i])} of {_listed(wider.categories[i])}. Fit both on rows with all"
                " categories."
            )
    missing_left, subsets = nodes.missing_left, {}
    for node in nodes.splits(SUBSET).tolist():
        known, more = schema.categories[feature[node]], wider.categories[feature[node]]
        assert known is not None
        assert more is not None
        subsets[node] = _moved_subset(nodes, node, places[feature[node]], len(known), len(more), missing_left[node])
    return replace(forest, structure=nodes.with_subsets(subsets))


def join_bins(first: Bins, second: Bins, schema: Schema) -> Bins:
    """Return the bins with the edges of both.

    The typical value of a bin is its upper end; of the last bin, the larger one of the two. A choice between the
    typical values of both would depend on the order in which several bins are joined.
    """
    cuts, centers = [], []
    for feature in range(len(first.nominal)):
        both = np.union1d(first.cuts_of(feature), second.cuts_of(feature))
        cuts.append(both)
        if first.nominal[feature]:
            centers.append(np.empty(0))
            continue
        centers.append(np.append(both, max(_centers_of(each, feature)[-1] for each in (first, second))))
    n_categories = [0 if known is None else len(known) for known in schema.categories]
    n_bins = np.where(first.nominal > 0, n_categories, [len(each) + 1 for each in cuts])
    return Bins(first.nominal, n_bins, np.concatenate(cuts), _starts(cuts), np.concatenate(centers), _starts(centers))


def cuts_in_use(forest: Forest, bins: Bins) -> Bins:
    """Return bins without the edges that no node uses."""
    feature, code = _thresholds(forest.structure)[1:]
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
    """Return the forest over finer bins, with the same thresholds."""
    if np.array_equal(bins.cut_start, finer.cut_start) and np.array_equal(bins.cuts, finer.cuts):
        return forest
    node, feature, code = _thresholds(forest.structure)
    n_cuts = np.diff(bins.cut_start)
    moved = np.concatenate(
        [np.searchsorted(finer.cuts_of(i), bins.cuts_of(i), side="left") for i in range(len(n_cuts))] + [np.zeros(1)]
    ).astype(np.int64)
    at = np.minimum(bins.cut_start[feature] + code, len(moved) - 1)
    beyond = np.diff(finer.cut_start)[feature]  # every value goes left, as before
    new = np.where(code < n_cuts[feature], moved[at], beyond)
    return replace(forest, structure=forest.structure.with_codes(node, new))


def _fits(bins: Bins) -> bool:
    """Return whether codes fit two bytes."""
    return bool(bins.n_bins.max(initial=0) <= MOST_BINS)


def _all_categories(known: list[NDArray[np.generic] | None], column: str) -> NDArray[np.generic] | None:
    """Return the categories of a column in both forests, sorted."""
    first, second = known
    if first is None or second is None:
        return None
    if first.dtype != second.dtype:
        raise ValueError(
            f"{column} must have categories of one type in merged forests, got {first.dtype} and {second.dtype}"
        )
    if first.tolist() == second.tolist():
        return first
    joined = np.array(sorted({*first.tolist(), *second.tolist()}), dtype=first.dtype)
    if len(joined) > MAX_CATEGORIES:
        raise ValueError(f"{column} must have at most {MAX_CATEGORIES:,} categories in total, got {len(joined):,}")
    return joined


def _places(known: NDArray[np.generic] | None, wider: NDArray[np.generic] | None) -> NDArray[np.int64] | None:
    """Return the index of each category in `wider`, (k,); None if nothing changes."""
    if known is None or wider is None or len(known) == len(wider):
        return None
    where = {name: place for place, name in enumerate(wider.tolist())}
    return np.array([where[name] for name in known.tolist()], dtype=np.int64)


def _moved_subset(
    nodes: Nodes, node: int, places: NDArray[np.int64] | None, n_known: int, n_wider: int, missing_left: bool
) -> Subset:
    """Return the subset of a split among all categories."""
    if places is None:
        return nodes.subset_at(node, n_known)
    left = np.full(n_wider, missing_left)
    left[places] = nodes.goes_left(np.array([node]), n_known)[0]
    return subset_from(left)


def _thresholds(nodes: Nodes) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Return nodes, features and codes of threshold splits, (m,) each."""
    at = nodes.splits(THRESHOLD)
    return at, nodes.feature[at], nodes.code[at]


def _centers_of(bins: Bins, feature: int) -> NDArray[np.float64]:
    """Return the typical values of the bins of a numeric feature."""
    return bins.centers[bins.center_start[feature] : bins.center_start[feature + 1]]


def _starts(parts: list[NDArray[np.float64]]) -> NDArray[np.int64]:
    """Return where each array begins after concatenation, and the end."""
    return starts_of([len(part) for part in parts])


def _listed(values: Any) -> str:
    """Return the first few values as text."""
    if values is None:
        return "no names"
    listed = values.tolist() if isinstance(values, np.ndarray) else list(values)
    return f"{listed[:5]}{' …' if len(listed) > 5 else ''}"
