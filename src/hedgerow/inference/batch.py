"""Batches of rows to predict."""

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
from hedgerow.util.runtime import lazy_property

#: Rows of a batch: a slice, or row numbers in any order.
Rows: TypeAlias = slice | NDArray[np.integer[Any]]
#: Uncertain cells by (row, feature).
Cells: TypeAlias = Mapping[tuple[int, int], Any]


@dataclass(frozen=True, eq=False, repr=False)
class Batch:
    """Rows to predict: bin indices, out-of-support values, uncertain cells, novelty.

    Out-of-support values, novelty and columns are computed from the table when first used. ``batch[rows]`` slices every
    part, whether it has been computed or not.

    Parameters
    ----------
    codes : (p, n)
        Bin indices. Rows of which only these are known, such as training rows, have no other part.
    uncertain : mapping of (row, feature) to Any, or None
        Uncertain cells, if there are any; see `hedgerow.table.uncertain`.
    table, fitted, n_threads : Table, Fitted, int
        The values, the fit whose bins encoded them, and the number of threads for these rows.
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
        """Out-of-support values in features that trees use; None if there are none."""
        if self.table is None or self.fitted is None:
            return None
        return unseen_values(self.fitted, self.table, self.codes)

    @lazy_property
    def novelty(self) -> PredictionNovelty | None:
        """Novelty of the rows; None if the fit has no novelty scores."""
        if self.table is None or self.fitted is None or not has_novelty(self.fitted):
            return None
        return novelty_of(self.fitted, self.table, self.codes, self.n_threads)

    @lazy_property
    def columns(self) -> list[NDArray[np.generic]]:
        """Columns of numbers or category numbers, (n,); empty if only codes are known."""
        if self.table is None:
            return []
        return [np.asarray(column) for _, block in self.table.column_blocks() for column in block]

    def __getitem__(self, rows: Rows) -> Batch:
        uncertain = self.uncertain and _cells_of(self.uncertain, np.arange(len(self))[rows])
        return _Slice(np.ascontiguousarray(self.codes[:, rows]), uncertain, whole=self, rows=rows)


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class _Slice(Batch):
    """Some rows of a batch, whose parts are slices of its parts."""

    whole: Batch
    rows: Rows

    @lazy_property
    def unseen(self) -> UnseenValues | None:
        """Out-of-support values of these rows."""
        return self.whole.unseen and self.whole.unseen.take(self.rows, len(self.whole))

    @lazy_property
    def novelty(self) -> PredictionNovelty | None:
        """Novelty of these rows."""
        return self.whole.novelty and self.whole.novelty.take(self.rows)

    @lazy_property
    def columns(self) -> list[NDArray[np.generic]]:
        """Values of these rows."""
        return [column[self.rows] for column in self.whole.columns]


def _cells_of(uncertain: Cells, rows: NDArray[np.int64]) -> Cells | None:
    """Return the uncertain cells of some rows, renumbered; None if there are none."""
    of_row: dict[int, dict[int, Any]] = {}
    for (row, feature), known in uncertain.items():
        of_row.setdefault(row, {})[feature] = known
    numbered = enumerate(rows.tolist())
    return {(at, feature): known for at, row in numbered for feature, known in of_row.get(row, {}).items()} or None
