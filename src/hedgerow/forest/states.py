"""Lift: the evidence of leaves, and what is asked of it -> a state for each leaf; equal contents are lifted once."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow.forest.reducers import Reducer
from hedgerow.rules import Setting

Floats = NDArray[np.float64]

#: States of distinct leaves are kept between calls if they take at most this many bytes.
STATE_BUDGET = 256 << 20


def lift_distinct(what: Reducer[Any], counts: Floats, setting: Setting) -> Floats:
    """Counts (m, K) -> states (m, S); each distinct row of counts is lifted once."""
    if len(counts) < 256:
        return np.ascontiguousarray(what.lift(counts, setting))
    distinct, where = distinct_rows(counts)
    return np.ascontiguousarray(what.lift(distinct, setting)[where])


def distinct_rows(counts: Floats) -> tuple[Floats, NDArray[np.intp]]:
    """(m, K) -> distinct rows (d, K), and which of them each row is (m,)."""
    if counts.shape[1] == 2 and (counts == np.floor(counts)).all() and counts.max(initial=0) < 2**31:
        keys = (counts[:, 0].astype(np.int64) << 31) + counts[:, 1].astype(np.int64)
        _, first, where = np.unique(keys, return_index=True, return_inverse=True)
    else:
        rows = np.ascontiguousarray(counts + 0.0)
        _, first, where = np.unique(_fingerprints(rows), return_index=True, return_inverse=True)
        if not _are_copies(rows, first[where]):  # two different rows have the same fingerprint
            whole = rows.view(np.dtype((np.void, rows.dtype.itemsize * rows.shape[1]))).ravel()
            _, first, where = np.unique(whole, return_index=True, return_inverse=True)
    return counts[first], where.ravel()


class StateCache:
    """The states of a forest's leaves under the rules used last, as many as the budget holds; threads may share it.

    There is one state for each distinct content of the leaves, so the states of several rules fit.
    """

    def __init__(self) -> None:
        self._kept: dict[Hashable, Floats] = {}  # replaced as a whole, never changed
        self._asked: dict[Hashable, int] = {}
        self._too_large: set[Hashable] = set()

    def states_of(self, key: Hashable) -> Floats | None:
        """The states kept under the key, or None."""
        return self._kept.get(key)

    def keep(self, key: Hashable, states: Floats) -> None:
        """Keep these states, and of the others the latest that still fit."""
        kept, room = {key: states}, STATE_BUDGET - states.nbytes
        for other, held in reversed(self._kept.items()):
            room -= held.nbytes
            if other != key and room >= 0:
                kept[other] = held
            elif other != key:
                self._asked.pop(other, None)  # so that counting starts again until lifting all leaves pays
        self._kept = dict(reversed(kept.items()))

    def asked(self, key: Hashable, n_leaves: int) -> int:
        """Count leaves that were read under the key and whose states were not kept -> how many there were so far.

        If the states cannot be kept, only those of this call count: lifting all leaves for every call would never pay.
        """
        if key in self._too_large:
            return n_leaves
        self._asked[key] = so_far = self._asked.get(key, 0) + n_leaves
        return so_far

    def give_up(self, key: Hashable) -> None:
        """Remember that the states under the key do not fit into the budget."""
        self._too_large.add(key)


def _fingerprints(rows: Floats) -> NDArray[np.uint64]:
    """(m, K) -> (m,): a hash of each row; sorting these instead of rows takes a sixth of the time with 500 classes."""
    bits = rows.view(np.uint64)
    bits = bits ^ (bits >> np.uint64(44))  # whole numbers differ only in their highest bits
    factors = np.random.default_rng(0).integers(1, 2**63, rows.shape[1], dtype=np.uint64)
    return np.asarray(bits @ factors)


def _are_copies(rows: Floats, of: NDArray[np.intp]) -> bool:
    """Rows (m, K), for each row the number of another (m,) -> whether all are equal; rows are compared in blocks."""
    part = max(1, 2**20 // rows.shape[1])
    firsts = range(0, len(rows), part)
    return all(np.array_equal(rows[first : first + part], rows[of[first : first + part]]) for first in firsts)
