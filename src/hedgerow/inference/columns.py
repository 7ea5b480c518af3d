"""Predictions about n rows as columns, in the order and the form they are written."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from hedgerow.inference.batch import Batch
from hedgerow.inference.predictor import Predictor
from hedgerow.table import NamedColumns
from hedgerow.util.blocks import in_blocks

#: Rows of a large table are predicted in blocks of this many.
BLOCK_ROWS = 1 << 15

#: Separates the classes of a set in a CSV cell.
BAR = "|"

Floats = NDArray[np.float64]


class Columns(Protocol):
    """Predictions of any type: columns of text, then columns of numbers."""

    @property
    def names(self) -> tuple[str, ...]:
        """The columns, in the order they are written."""

    @property
    def json_names(self) -> tuple[str, ...]:
        """The keys of a row in JSON."""

    @property
    def n_undecided(self) -> int:
        """How many rows have several classes left."""

    def texts(self) -> list[list[Any]]:
        """Columns before the numbers, for CSV."""

    def typed(self) -> list[list[Any]]:
        """The same for Parquet."""

    def numbers(self) -> list[Floats]:
        """The columns after them."""

    def objects(self) -> Iterator[dict[str, Any]]:
        """Row by row, for JSON."""


def predicted_columns(predictor: Predictor, X: Any, predict: Callable[[Batch], dict[str, Any]]) -> dict[str, Any]:
    """Return the columns that `predict` makes of a batch, by name; for columns without a frame in blocks of rows.

    Intermediate arrays take several times the memory of the columns.
    """
    if not isinstance(X, NamedColumns) or X.shape[0] <= BLOCK_ROWS:
        return predict(predictor.read(X))

    def predict_from(first: int) -> SimpleNamespace:
        return SimpleNamespace(**predict(predictor.read(X.some(slice(first, first + BLOCK_ROWS)))))

    return vars(in_blocks(predict_from, X.shape[0], BLOCK_ROWS, 1))
