"""Validate: the arrays of a forest -> whether they are one, node by node; the twin of the core's check."""

from __future__ import annotations

import math

from hedgerow.forest.forest import Forest
from hedgerow.table.bins import Bins


def is_sound(forest: Forest, bins: Bins) -> bool:
    """Whether every node has one parent before it, splits what there is, and every leaf holds what it may."""
    return all(_tree_is_sound(forest, bins, number) for number in range(forest.n_trees))


def _tree_is_sound(forest: Forest, bins: Bins, number: int) -> bool:
    first, last = (int(at) for at in forest.node_start[number : number + 2])
    n_leaves = int(forest.leaf_start[number + 1] - forest.leaf_start[number])
    parents: dict[int, list[int]] = {node: [] for node in range(last - first)}
    borrowed_by: dict[int, list[bool]] = {leaf: [] for leaf in range(n_leaves)}
    for node in range(last - first):
        bits, payload = int(forest.nodes[first + node]), int(forest.payload[first + node])
        children = _children(forest, bins, number, node, bits, payload)
        if children is None:
            return False
        if not children:
            if not 0 <= payload < n_leaves:
                return False
            borrowed_by[payload].append(bool(bits >> 35 & 1))
        for child in children:
            if not node < child < last - first:
                return False
            parents[child].append(node)
    if not _lists_have_words_of_their_own(forest, number):
        return False
    if parents[0] or any(len(above) != 1 for node, above in parents.items() if node):
        return False
    if any(flags != [False] and (not flags or not all(flags)) for flags in borrowed_by.values()):
        return False
    depth = {0: 0}
    for node in range(1, last - first):
        depth[node] = depth[parents[node][0]] + 1
    return max(depth.values()) == forest.depth[number] and all(
        _leaf_is_sound(forest, number, i) for i in range(n_leaves)
    )


def _children(forest: Forest, bins: Bins, number: int, node: int, bits: int, payload: int) -> range | None:
    """The nodes below; none for a leaf, None for what is neither leaf nor split."""
    threshold, feature, kind, flag, child = (
        bits & 0xFFFF,
        bits >> 16 & 0x1FFFF,
        bits >> 33 & 3,
        bits >> 35 & 1,
        bits >> 36,
    )
    if child == node:
        return range(0) if (threshold, feature, kind) == (0xFFFF, 0, 0) else None
    if feature >= len(bins.n_bins):
        return None
    n_bins, nominal = int(bins.n_bins[feature]), bool(bins.nominal[feature])
    n_words = int(forest.set_start[number + 1] - forest.set_start[number])
    splits = {
        0: not nominal and payload == 0 and 0 <= threshold < n_bins,
        1: nominal
        and 0 <= payload <= n_words - _subset_words(threshold, n_bins)
        and _list_is_sound(forest, number, payload, threshold, n_bins),
        2: nominal and payload == 0 and not flag and threshold == n_bins,
    }
    return range(child, child + (n_bins + 1 if kind == 2 else 2)) if splits.get(kind, False) else None


def _subset_words(form: int, n_bins: int) -> int:
    """The words of a subset: bits, or a list of so many categories, four to a word."""
    return math.ceil((form & 0x3FFF) / 4) if form else math.ceil(n_bins / 64)


def _list_is_sound(forest: Forest, number: int, payload: int, form: int, n_bins: int) -> bool:
    """Whether a list is short, ascends within the categories of its feature, and repeats the last."""
    if form == 0:
        return True
    if not form & 0x8000 or n_bins <= 255 or 4 * _subset_words(form, n_bins) > _subset_words(0, n_bins):
        return False
    first = int(forest.set_start[number]) + payload
    cells = [
        int(word) >> shift & 0xFFFF
        for word in forest.set_words[first : first + _subset_words(form, n_bins)]
        for shift in (0, 16, 32, 48)
    ]
    listed, rest = cells[: form & 0x3FFF], cells[form & 0x3FFF :]
    return listed == sorted(set(listed)) and all(code < n_bins for code in listed) and set(rest) <= set(listed[-1:])


def _lists_have_words_of_their_own(forest: Forest, number: int) -> bool:
    """Whether the lists of a tree take no more words than it has."""
    bits = [int(node) for node in forest.nodes[forest.node_start[number] : forest.node_start[number + 1]]]
    forms = [node & 0xFFFF for node in bits if node >> 33 & 3 == 1]
    taken = sum(_subset_words(form, 0) for form in forms)
    return taken <= int(forest.set_start[number + 1] - forest.set_start[number])


def _leaf_is_sound(forest: Forest, number: int, leaf: int) -> bool:
    at = int(forest.leaf_start[number]) + leaf
    if forest.entry_start is None or forest.entry_class is None:
        cells = range(at * forest.n_classes, (at + 1) * forest.n_classes)
    else:
        cells = range(int(forest.entry_start[at]), int(forest.entry_start[at + 1]))
        if cells.start < 0 or cells.stop < cells.start or cells.stop > len(forest.entry_class):
            return False
        classes = [int(forest.entry_class[i]) for i in cells]
        if sorted(set(classes)) != classes or any(k >= forest.n_classes for k in classes):
            return False
        if any(forest.counts[i] == 0 and not (forest.weights is not None and forest.weights[i] > 0) for i in cells):
            return False
    if forest.weights is None:
        return True
    weights, rows = [float(forest.weights[i]) for i in cells], sum(int(forest.counts[i]) for i in cells)
    ordinary = all(weight == 0 or 1e-100 <= weight <= 1e100 for weight in weights)
    return ordinary and (rows == 0 or sum(weights) > 0)
