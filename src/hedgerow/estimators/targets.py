"""Targets: the numbers to be predicted -> numbers on a grid whose sums are exact."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import assert_all_finite, column_or_1d

from hedgerow.grow import Numbers

Floats = NDArray[np.float64]

#: Sums of all rows stay below 2 to this: whole numbers that a double holds exactly.
_SUM_BITS = 52
#: Larger targets would overflow when squared.
MAX_TARGET = 1e150


def read_targets(y: Any, n_rows: int, criterion: str) -> Floats:
    """Targets as given -> (n,) float64.

    Raises
    ------
    ValueError
        When targets are absent, missing, no numbers, of another length than the table, or not what the criterion takes.
    """
    if y is None:
        raise ValueError(
            "A regressor requires y to be passed, but the target y is None; hand in the targets of the rows"
        )
    y = column_or_1d(y, warn=True)
    if y.dtype.kind not in "fiubO":
        raise ValueError(f"y must be real numbers, got {y.dtype}; Complex data not supported, nor text")
    try:
        values = np.array(y, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError("y must be real numbers, got something else; is this a classification?") from error
    assert_all_finite(values, input_name="y")
    if len(values) != n_rows:
        raise ValueError(
            f"X and y must have the same number of rows (inconsistent numbers of samples), got {n_rows} and"
            f" {len(values)}"
        )
    if np.abs(values).max(initial=0.0) > MAX_TARGET:
        raise ValueError(f"y must lie within ±{MAX_TARGET:g}, got {np.abs(values).max():g}; measure it in larger units")
    if criterion == "poisson" and (values.min() < 0 or not values.max() > 0):
        raise ValueError(
            f"y must be >= 0 and not all 0 with criterion='poisson', got values from {values.min():g} to"
            f" {values.max():g}; use 'squared_error'"
        )
    return values


def numbers_on_grid(values: Floats, weights: Floats | None, *, centred: bool = True) -> Numbers:
    """Targets (n,) and weights above zero (n,) or None -> what the grower takes.

    The grid is as fine as exact sums allow: with n rows of comparable size a target keeps about 50 - log2(n) bits, 36
    for ten thousand rows and 30 for a million. Targets that need fewer (whole numbers, say) are not rounded at all.
    """
    if weights is not None and (weights == weights[0]).all():
        weights = None
    if weights is not None and not 1e-50 < weights.max() < 1e50:  # only ratios matter, and these cannot overflow
        weights = weights / weights.max()
    centre = _round_mean(values) if centred else 0.0
    weighed = (values - centre) * (1.0 if weights is None else weights)
    sums, sum_bits = _whole(weighed)
    amounts, amount_bits = (None, 0) if weights is None else _whole(weights)
    if amounts is not None:
        amounts = np.maximum(amounts, 1.0)
    places = sums if amounts is None else sums / amounts
    margin = 1.0 + float(np.ptp(places)) / 2  # rounding never leads out of it
    unit = float(np.ldexp(1.0, amount_bits - sum_bits))
    low, high = float(places.min()) - margin, float(places.max()) + margin
    return Numbers(values, weights, sums, amounts, centre, unit, low, high)


def _round_mean(values: Floats) -> float:
    """A number near the mean of (n,) with few digits, so that taking it off adds none."""
    mean = float(values.mean())
    spread = float(np.abs(values - mean).max())
    if spread == 0:
        return float(values[0])
    step = float(np.ldexp(1.0, int(np.frexp(spread)[1]) - 1))
    return float(np.rint(mean / step) * step)


def _whole(values: Floats) -> tuple[Floats, int]:
    """(n,) -> whole numbers (n,) whose sums are exact, and by which power of two they were multiplied.

    A bag holds a row several times: sums of twice all rows, and of any row 32 times, must fit.
    """
    size = np.abs(values)
    most = 2 * float(size.sum()) + 32 * float(size.max())
    bits = _SUM_BITS - int(np.frexp(most)[1]) if most > 0 else 0
    return np.asarray(np.rint(np.ldexp(values, bits))), bits
