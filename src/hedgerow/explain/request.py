"""Arguments of `explain`."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from hedgerow.explain.cases import Label

if TYPE_CHECKING:
    from numpy.typing import ArrayLike
    from scipy.sparse import sparray, spmatrix

    from hedgerow.table import NamedColumns

    #: Tables that an estimator reads; data frames are array-like.
    TableLike: TypeAlias = ArrayLike | NamedColumns | sparray | spmatrix


@dataclass(frozen=True, eq=False)
class ExplainRequest:
    """Arguments of `hedgerow.explain.explain`, which documents them."""

    train: TableLike | None = None
    y_train: ArrayLike | None = None
    cases: int = 5
    shap: bool | None = None
    immutable: Iterable[int | str] | None = None
    increasing: Iterable[int | str] = ()
    decreasing: Iterable[int | str] = ()
    wanted: Label | None = None
    time_limit: float | None = None
    coverage: float | None = None


def check_numbers(cases: int, time_limit: float | None) -> None:
    """Check the number of cases and the time limit."""
    if not (isinstance(cases, int | np.integer) and cases >= 0):
        raise ValueError(f"cases must be an int >= 0, got {cases!r}.")
    if time_limit is not None and not time_limit >= 0:
        raise ValueError(f"time_limit must be a number of seconds >= 0 or None, got {time_limit!r}.")
