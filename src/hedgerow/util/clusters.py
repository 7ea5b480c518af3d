"""Groups of dependent rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray


def cluster_numbers(clusters: ArrayLike | None, n_rows: int) -> NDArray[np.int64] | None:
    """Return group numbers (n,) of labels; None if there are none."""
    if clusters is None:
        return None
    numbers = np.unique(np.asarray(clusters), return_inverse=True)[1].reshape(-1)
    if len(numbers) != n_rows:
        raise ValueError(f"clusters must have one label for each of the {n_rows} rows, got {len(numbers)}.")
    return np.asarray(numbers, dtype=np.int64)


def one_of_each(clusters: NDArray[np.integer[Any]]) -> NDArray[np.int64]:
    """Draw one row of each cluster, at random, but the same at every call."""
    shuffled = np.random.default_rng(0).permutation(len(clusters))
    return np.sort(shuffled[np.unique(clusters[shuffled], return_index=True)[1]])
