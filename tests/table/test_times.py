"""Groups of rows by time."""

from __future__ import annotations

from datetime import date, datetime, timedelta

import numpy as np
import pandas as pd
import pytest

from hedgerow import groups_by

DAYS = ["2024-01-20", "2024-01-01", "2024-01-03", "2024-01-08", "2024-01-14"]


@pytest.mark.parametrize(
    "times",
    [
        DAYS,
        np.array(DAYS, dtype="datetime64[D]"),
        pd.Series(DAYS),
        pd.to_datetime(DAYS),
        pd.Series(pd.to_datetime(DAYS)).dt.tz_localize("Europe/Berlin"),
        [date.fromisoformat(day) for day in DAYS],
        [datetime.fromisoformat(day) for day in DAYS],
    ],
)
@pytest.mark.parametrize("every", ["7D", "1W", "w", "168h", "7 d", timedelta(days=7), np.timedelta64(7, "D")])
def test_periods_begin_at_the_earliest_time(times, every):
    assert groups_by(times, every).tolist() == [2, 0, 0, 1, 1]


def test_numbers_and_sessions():
    assert groups_by([0.5, 3.0, 1.4, 9.0], 2).tolist() == [0, 1, 0, 2]
    assert groups_by([5, 1, 3, 20, 8], 4, gap=True).tolist() == [0, 0, 0, 1, 0]
    assert groups_by(DAYS, "5D", gap=True).tolist() == [3, 0, 0, 1, 2]


def test_polars_times():
    polars = pytest.importorskip("polars")
    assert groups_by(polars.Series(DAYS).str.to_date(), "7D").tolist() == [2, 0, 0, 1, 1]


@pytest.mark.parametrize(
    ("times", "every", "message"),
    [
        (DAYS, "7 lightyears", "every must be a period such as '7D', '12h' or '30min', got '7 lightyears'"),
        (DAYS, 7, "every must be a period"),
        (DAYS, "0D", "every must be a period"),
        ([1.0, 2.0], "7D", "every must be a number > 0, because times are numbers, got '7D'"),
        ([1.0, 2.0], -1, "every must be a number > 0"),
        ([1.0, np.nan], 2, "times must be finite and not missing"),
        (["2024-01-01", "NaT"], "1D", "times must be finite and not missing"),
        (["yesterday"], "1D", "times must be dates, timestamps, ISO 8601 text or numbers"),
        ([[1, 2]], 1, "times must have one value for each row"),
    ],
)
def test_bad_times_raise_an_error(times, every, message):
    with pytest.raises(ValueError, match=message):
        groups_by(times, every)
