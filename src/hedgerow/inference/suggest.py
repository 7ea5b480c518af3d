"""Active learning: selection of rows to label."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hedgerow.forest.forest import Forest
from hedgerow.forest.proximity import leaf_table
from hedgerow.table.bins import Codes

Floats = NDArray[np.float64]

#: Above this many rows only the most uncertain are candidates.
MOST_ROWS = 50_000


def suggested_rows(forest: Forest, codes: Codes, uncertainty: Floats, n: int, n_threads: int = 1) -> NDArray[np.int64]:
    """Return the numbers of the `n` most useful rows, best first.

    Given codes (p, n_rows) and uncertainty (n_rows,), the usefulness of a row is uncertainty · √(uncertainty of all
    rows, weighted by proximity) · (1 − largest proximity to a chosen row). Proximity is the share of trees in which two
    rows reach the same leaf. A chosen row reduces the uncertainty of every other row in proportion to their proximity.
    Of equally useful rows, the first is chosen.
    """
    candidates = _most_uncertain(uncertainty)
    leaves = leaf_table(forest, np.ascontiguousarray(codes[:, candidates]), n_threads)
    own = np.asarray(uncertainty[candidates], dtype=np.float64)
    left, near, free = own.copy(), np.zeros(len(own)), np.ones(len(own), dtype=bool)
    chosen = []
    for _ in range(min(n, len(own))):
        around = leaves @ (leaves.T @ left) / forest.n_trees
        useful = np.where(free, own * np.sqrt(np.maximum(around, 0)) * (1 - near), -1.0)
        best = int(useful.argmax())
        proximity = leaves @ leaves[[best]].toarray()[0] / forest.n_trees
        left, near = left * (1 - proximity), np.maximum(near, proximity)
        free[best] = False
        chosen.append(best)
    return np.asarray(candidates[np.array(chosen, dtype=np.int64)])


def _most_uncertain(uncertainty: Floats) -> NDArray[np.int64]:
    """Return the numbers of the most uncertain rows, in their order."""
    if len(uncertainty) <= MOST_ROWS:
        return np.arange(len(uncertainty))
    return np.sort(np.argsort(-uncertainty, kind="stable")[:MOST_ROWS])
