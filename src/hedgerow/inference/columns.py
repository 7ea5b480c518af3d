"""Predictions as columns of a file or data frame."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from hedgerow.inference.batch import Batch
from hedgerow.inference.predictor import Predictor
from hedgerow.table import NamedColumns
from hedgerow.table.schema import TableLike
from hedgerow.util.runtime import in_blocks

#: Number of rows of a large table predicted at a time.
BLOCK_ROWS = 1 << 15

#: Separator of the classes of a prediction set in a CSV cell.
BAR = "|"

Floats = NDArray[np.float64]


class Columns(Protocol):
    """Predictions of any type: text columns, then numeric columns."""

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the columns, in output order."""

    @property
    def json_names(self) -> tuple[str, ...]:
        """Keys of a row in JSON."""

    @property
    def n_undecided(self) -> int:
        """Number of undecided rows."""

    def texts(self) -> list[list[Any]]:
        """Return the text columns for CSV."""

    def typed(self) -> list[list[Any]]:
        """Return the text columns with the types for Parquet."""

    def numbers(self) -> list[Floats]:
        """Return the numeric columns."""

    def objects(self) -> Iterator[dict[str, Any]]:
        """Iterate over the rows as JSON objects."""


def predicted_columns(predictor: Predictor, X: TableLike, predict: Callable[[Batch], dict[str, Any]]) -> dict[str, Any]:
    """Return the columns that `predict` computes from a batch, by name.

    `NamedColumns` are predicted in blocks of rows, because intermediate arrays take several times the memory of the
    columns.
    """
    if not isinstance(X, NamedColumns) or X.shape[0] <= BLOCK_ROWS:
        return predict(predictor.read(X))

    def predict_from(first: int) -> SimpleNamespace:
        return SimpleNamespace(**predict(predictor.read(X.some(slice(first, first + BLOCK_ROWS)))))

    return vars(in_blocks(predict_from, X.shape[0], BLOCK_ROWS, 1))
