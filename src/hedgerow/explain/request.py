"""Arguments of `explain`."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True, eq=False)
class ExplainRequest:
    """The arguments of `hedgerow.explain.explain`; see there."""

    train: Any = None
    y_train: Any = None
    cases: int = 5
    shap: bool | None = None
    immutable: Iterable[int | str] | None = None
    increasing: Iterable[int | str] = ()
    decreasing: Iterable[int | str] = ()
    wanted: Any = None
    time_limit: float | None = None
    coverage: float | None = None


def check_numbers(cases: int, time_limit: float | None) -> None:
    """Check the number of cases and the time limit."""
    if not (isinstance(cases, int | np.integer) and cases >= 0):
        raise ValueError(f"cases must be an int >= 0, got {cases!r}; 0 shows none")
    if time_limit is not None and not time_limit >= 0:
        raise ValueError(f"time_limit must be a number of seconds >= 0 or None, got {time_limit!r}; 0 means no search")
