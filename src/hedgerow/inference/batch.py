"""Batch: rows to predict, with everything that answers about them need."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from hedgerow.inference.fitted import Fitted
from hedgerow.inference.novelty import PredictionNovelty, has_novelty, novelty_of
from hedgerow.inference.unseen import UnseenValues, unseen_values
from hedgerow.table import Table
from hedgerow.table.bins import Codes
from hedgerow.util.lazy import lazy_property

#: Which rows of a batch: a slice, or row numbers in any order.
Rows: TypeAlias = slice | NDArray[np.integer[Any]]
#: What is known of uncertain cells, by row and feature.
Cells: TypeAlias = Mapping[tuple[int, int], Any]


@dataclass(frozen=True, eq=False, repr=False)
class Batch:
    """Rows to predict: their codes, and what codes do not show of their values.

    Unseen values, novelty and columns are computed from the table when first used, so a question pays only for the
    parts that it needs. ``batch[rows]`` slices every part, whether it has been computed or not.

    Parameters
    ----------
    codes : (p, n)
        The values as trees read them. Rows of which only codes are known, such as training rows, have no other part.
    uncertain : mapping of (row, feature) to Any, or None
        What is known of uncertain cells, if there are any; see `hedgerow.table.uncertain`.
    table, fitted, n_threads : Table, Fitted, int
        The values, the fit whose bins gave the codes, and the threads for these rows.
    """

    codes: Codes
    uncertain: Cells | None = None
    table: Table | None = None
    fitted: Fitted | None = None
    n_threads: int = 1

    def __len__(self) -> int:
        return int(self.codes.shape[1])

    @lazy_property
    def unseen(self) -> UnseenValues | None:
        """The values that no training row had, in features that trees ask about; None if there are none."""
        if self.table is None or self.fitted is None:
            return None
        return unseen_values(self.fitted, self.table, self.codes)

    @lazy_property
    def novelty(self) -> PredictionNovelty | None:
        """How unusual the rows are; None if the fit cannot tell."""
        if self.table is None or self.fitted is None or not has_novelty(self.fitted):
            return None
        return novelty_of(self.fitted, self.table, self.codes, self.n_threads)

    @lazy_property
    def columns(self) -> list[NDArray[Any]]:
        """The values, (n,) each: numbers, or category numbers; no columns if only codes are known."""
        if self.table is None:
            return []
        return [np.asarray(column) for _, block in self.table.column_blocks() for column in block]

    def __getitem__(self, rows: Rows) -> Batch:
        uncertain = self.uncertain and _cells_of(self.uncertain, np.arange(len(self))[rows])
        return _Slice(np.ascontiguousarray(self.codes[:, rows]), uncertain, whole=self, rows=rows)


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class _Slice(Batch):
    """Some rows of a batch, which take their parts from it."""

    whole: Batch
    rows: Rows

    @lazy_property
    def unseen(self) -> UnseenValues | None:
        """The unseen values of these rows."""
        return self.whole.unseen and self.whole.unseen.take(self.rows, len(self.whole))

    @lazy_property
    def novelty(self) -> PredictionNovelty | None:
        """How unusual these rows are."""
        return self.whole.novelty and self.whole.novelty.take(self.rows)

    @lazy_property
    def columns(self) -> list[NDArray[Any]]:
        """The values of these rows."""
        return [column[self.rows] for column in self.whole.columns]


def _cells_of(uncertain: Cells, rows: NDArray[np.int64]) -> Cells | None:
    """Uncertain cells of a batch -> those of some of its rows, which are numbered anew; None if there are none."""
    of_row: dict[int, dict[int, Any]] = {}
    for (row, feature), known in uncertain.items():
        of_row.setdefault(row, {})[feature] = known
    numbered = enumerate(rows.tolist())
    return {(at, feature): known for at, row in numbered for feature, known in of_row.get(row, {}).items()} or None
