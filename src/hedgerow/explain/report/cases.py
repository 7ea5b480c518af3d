"""Leaf counts of single rows, packed for the page."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow.belief.plausibility import preference
from hedgerow.explain.question import Array
from hedgerow.explain.report.pack import evenly, packed
from hedgerow.forest.forest import Forest

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

#: Size limit of the evidence of all cases in the page, in bytes; fewer cases are kept if it is exceeded.
EVIDENCE_BYTES = 1_100_000


@dataclass(frozen=True)
class Contents:
    """Leaf counts of m cases, with each distinct vector stored once.

    Attributes
    ----------
    counts : (D, K)
        The distinct vectors of class counts.
    start : (m + 1,)
        The first entry of each case.
    content, times : (entries,)
        A row of `counts`, and the number of trees in which the case reaches a leaf with these counts.
    """

    counts: Floats
    start: Ints
    content: Ints
    times: Ints

    def pack(self) -> dict[str, Any]:
        """Return sparse counts for JSON, with the weight of evidence for the largest class of each vector.

        The rules Dempster, cautious and plausibility use this weight, the root of an equation that the script does
        not solve.
        """
        leaf, label = np.nonzero(self.counts)
        n_entries = np.bincount(leaf, minlength=len(self.counts))
        return {
            "start": packed(self.start),
            "content": packed(self.content),
            "times": packed(self.times),
            "size": packed(n_entries),
            "label": packed(label),
            "count": packed(self.counts[leaf, label]),
            "weight": packed(preference(self.counts).weight),
        }


def contents_of(forest: Forest, codes: Array) -> Contents:
    """Collect the evidence of the leaves that samples (p, m) reach, without the order of the trees."""
    leaves, unseen = forest.leaves(codes), forest.unseen_rows(codes)
    reached, where = np.unique(leaves + forest.leaf_start[:-1], return_inverse=True)
    held, where = forest.evidence.read(reached), where.reshape(leaves.shape)
    if len(unseen):  # rows that follow both sides of splits have their own counts
        mixed = forest.mixed_counts(codes[:, unseen]).reshape(-1, forest.n_classes)
        where[unseen] = len(held) + np.arange(len(mixed)).reshape(len(unseen), -1)
        held = np.concatenate([held, mixed])
    counts, of_leaf = np.unique(held, axis=0, return_inverse=True)
    ids = np.sort(of_leaf.reshape(-1)[where], axis=1)
    fresh = np.ones(ids.shape, dtype=bool)
    fresh[:, 1:] = ids[:, 1:] != ids[:, :-1]
    first = np.flatnonzero(fresh.ravel())
    return Contents(
        counts=counts,
        start=np.concatenate([[0], np.cumsum(fresh.sum(axis=1))]),
        content=ids[fresh],
        times=np.diff(np.append(first, ids.size)),
    )


def choose_cases(is_open: NDArray[np.bool_], most: int, wanted: Ints | None = None) -> Ints:
    """Choose at most `most` rows: the wanted ones, then undecided, then decided ones.

    If the undecided (or decided) rows do not all fit, they are taken evenly from the table.
    """
    if len(is_open) <= most:
        return np.arange(len(is_open))
    rest = np.ones(len(is_open), dtype=bool)
    kept = [np.empty(0, dtype=np.int64) if wanted is None else wanted[:most]]
    rest[kept[0]] = False
    for others in (np.flatnonzero(is_open & rest), np.flatnonzero(~is_open & rest)):
        kept.append(evenly(others, most - sum(map(len, kept))))
    return np.sort(np.concatenate(kept))


def pack_cases(
    forest: Forest, codes: Array, is_open: NDArray[np.bool_], most: int, wanted: Ints | None = None
) -> tuple[Ints, dict[str, Any]]:
    """Choose the rows to keep, and pack their evidence within the size limit."""
    while True:
        rows = choose_cases(is_open, most, wanted)
        evidence = contents_of(forest, np.ascontiguousarray(codes[:, rows])).pack()
        if most <= 1 or sum(len(array["d"]) for array in evidence.values()) <= EVIDENCE_BYTES:
            return rows, evidence
        most = len(rows) // 2
