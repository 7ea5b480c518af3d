"""Suggest: rows without labels, their leaves and how doubtful each is -> the rows to ask about next."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hedgerow.forest.forest import Forest
from hedgerow.forest.proximity import leaf_table
from hedgerow.table.bins import Codes

Floats = NDArray[np.float64]

#: Above this many rows only the most doubtful are looked at.
MOST_ROWS = 50_000


def suggested_rows(forest: Forest, codes: Codes, doubt: Floats, n: int, n_threads: int = 1) -> NDArray[np.int64]:
    """Codes (p, n_rows), how doubtful each row is (n_rows,) -> the numbers of `n` rows, the most useful first.

    A row is useful if it is doubtful, if it shares leaves with many rows that are doubtful too, and if it is unlike the
    rows chosen before it: usefulness is doubt · √(doubt of all rows, weighted by proximity) · (1 − largest proximity to
    a chosen row). A chosen row settles the doubt of every other row in proportion to their proximity, which is the
    share of trees in which both reach the same leaf. Of rows that are equally useful the first is chosen.
    """
    looked_at = _most_doubtful(doubt)
    leaves = leaf_table(forest, np.ascontiguousarray(codes[:, looked_at]), n_threads)
    own = np.asarray(doubt[looked_at], dtype=np.float64)
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
    return np.asarray(looked_at[np.array(chosen, dtype=np.int64)])


def _most_doubtful(doubt: Floats) -> NDArray[np.int64]:
    """How doubtful rows are (n,) -> the numbers of the rows to look at, in their order."""
    if len(doubt) <= MOST_ROWS:
        return np.arange(len(doubt))
    return np.sort(np.argsort(-doubt, kind="stable")[:MOST_ROWS])
