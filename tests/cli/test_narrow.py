"""Narrow: numbers in few bytes come back bit for bit."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hedgerow.cli.files.csv_blocks import NumericColumn, ScaledIntegers, scaled_integers

decimals = st.builds(
    lambda whole, digits: float(f"{whole}e-{digits}"), st.integers(-(10**10), 10**10), st.integers(0, 8)
)


@given(st.lists(st.one_of(decimals, st.floats(), st.just(float("nan")), st.just(-0.0)), max_size=60))
def test_numbers_come_back_bit_for_bit(given_numbers: list[float]) -> None:
    numbers = np.array(given_numbers, dtype=np.float64)
    numbers[np.isnan(numbers)] = np.nan  # every gap of a file is the same
    back = NumericColumn([scaled_integers(numbers), scaled_integers(numbers[::-1])]).as_floats()
    assert back.tobytes() == np.concatenate([numbers, numbers[::-1]]).tobytes()


@pytest.mark.parametrize(
    ("numbers", "kind"),
    [
        ([1, 2, 3], np.int16),
        ([0.25, -1.5, np.nan], np.int16),
        ([np.nan, np.nan], np.int16),
        ([40_000, 0.5], np.int32),
        ([-32_768, 1], np.int32),
        ([1234.5678] * 40 + [0.123456], np.int32),
        ([2.0**31, 1], None),
        ([1 / 3], None),
        ([np.inf], None),
        ([-0.0, 1], None),
        ([0.5] * 100 + [1 / 3], None),
    ],
)
def test_few_digits_take_few_bytes(numbers: list[float], kind: type | None) -> None:
    found = scaled_integers(np.array(numbers, dtype=np.float64))
    assert (found.whole.dtype == kind) if isinstance(found, ScaledIntegers) else kind is None
