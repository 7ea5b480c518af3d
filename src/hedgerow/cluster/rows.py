"""Rows: a computed partition -> its features, targets and weights."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np


class Rows(NamedTuple):
    """The rows of one partition: a table of features, targets (n,) and weights (n,) or None."""

    X: Any
    y: Any
    weights: Any


def rows_from(X: Any, y: Any, weights: Any, target: str | None = None, weight: str | None = None) -> Rows:
    """Features, targets and weights -> rows; targets and weights may be columns of X, given by their names."""
    if target is not None:
        y = X[target]
    if weight is not None:
        weights = X[weight]
    apart = [name for name in (target, weight) if name is not None]
    X = X.drop(columns=apart) if apart else X
    for name, given in {"y": y, "sample_weight": weights}.items():
        if given is not None and len(given) != len(X):
            raise ValueError(
                f"partitions of X and {name} must have the same rows, got {len(X)} and {len(given)}; repartition both"
                " in the same way"
            )
    y = np.asarray(y)
    check_one_column(y, f"an array of shape {y.shape}")
    y = y[:, 0] if y.ndim == 2 else y
    return Rows(X, y, None if weights is None else np.asarray(weights, dtype=np.float64))


def check_one_column(y: Any, found: str) -> None:
    """Refuse targets that are not a single column; `found` describes them."""
    if y.ndim > 1 and (y.ndim > 2 or y.shape[1] != 1):
        raise ValueError(f"y must be a 1d array of one target per row, got {found} instead; select one column")
