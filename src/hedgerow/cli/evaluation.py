"""Groups of rows, and the overlap of rows with the training data."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow.cli.console import warn
from hedgerow.cli.exit_codes import DataError
from hedgerow.cli.files.sheet import Sheet
from hedgerow.inference.evaluation import BLOCK_ROWS, MOST_GROUPS, group_rows
from hedgerow.inference.leakage import training_overlap
from hedgerow.inference.predictor import predictor_of
from hedgerow.table import Factors

#: A larger share of training rows counts as all rows.
ALMOST_ALL = 0.99


def groups_of(sheet: Sheet, name: str) -> dict[str, NDArray[np.bool_]]:
    """A column -> its groups, by what they are called, and which rows (n,) belong to each."""
    held = sheet.held(name)
    many = not isinstance(held, Factors) and len(np.unique(held[~sheet.is_missing(name)])) > MOST_GROUPS
    try:
        return group_rows(name, sheet.numbers(name) if many else sheet.factors(name), dates=name in sheet.dates)
    except ValueError as reason:
        raise DataError(f"--{reason}") from None


def rows_of_fit(model: Any, table: Any) -> float | None:
    """Say if the model was trained on many of these rows -> their share, or None."""
    predictor, n_rows = predictor_of(model), table.shape[0]
    parts = (slice(first, first + BLOCK_ROWS) for first in range(0, n_rows, BLOCK_ROWS))
    found = training_overlap(predictor.fitted, (predictor.read(table.some(part)).codes for part in parts))
    if found is None:
        return None
    rows = "" if found.share > ALMOST_ALL else f"about {found.share:.0%} of ".replace("%", " %")
    warn(
        f"the model was trained on {rows}these rows, so figures are better than on other rows; take others, or fit with"
        " --folds 5 or --test-split 0.2"
    )
    return found.share
