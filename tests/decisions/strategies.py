"""Bounds that Hypothesis draws."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

GRID = 20


@st.composite
def raw_bounds(draw: st.DrawFn, n_rows: int = 3) -> tuple[np.ndarray, np.ndarray]:
    """-> (n, K), (n, K): bounds around distributions on a grid, rarely reachable and often tied."""
    n_classes = draw(st.integers(2, 5))
    cuts = np.sort(draw(arrays(np.int64, (n_rows, n_classes - 1), elements=st.integers(0, GRID))), axis=1)
    centre = np.diff(cuts, axis=1, prepend=0, append=GRID)
    reach = draw(arrays(np.int64, (2, n_rows, n_classes), elements=st.integers(0, 12)))
    return np.maximum(centre - reach[0], 0) / GRID, np.minimum(centre + reach[1], GRID) / GRID
