"""Days since 1970 are written as dates."""

from __future__ import annotations

import datetime

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hedgerow.table import NamedColumns, read_training_table
from hedgerow.table.bins import date_words, type_of_days


@given(st.datetimes(min_value=datetime.datetime(1000, 1, 1), max_value=datetime.datetime(9998, 1, 1)))
def test_a_point_of_time_is_written_as_its_day_and_minute(when):
    when = when.replace(second=0, microsecond=0)
    days = (when - datetime.datetime(1970, 1, 1)) / datetime.timedelta(days=1)
    assert date_words(days, "time") == when.isoformat(" ", "minutes")
    assert date_words(days, "date") == when.date().isoformat()


@pytest.mark.parametrize("days", [1e9, -1e9, float("inf"), float("nan")])
def test_what_is_no_date_stays_a_number(days):
    assert date_words(days, "date") == f"{days:g}"


def test_whole_days_are_dates_and_others_have_times():
    assert type_of_days(np.array([1.0, np.nan, 20000.0])) == "date"
    assert type_of_days(np.array([1.0, np.nan, 20000.5])) == "time"


def test_columns_named_as_dates_have_this_kind_in_some_rows_too():
    table = NamedColumns(("a", "b"), [np.array([1.0, 2.0]), np.array([1.0, 2.5])], {"a", "b"})
    assert read_training_table(table).schema.kinds == ("date", "time")
    assert read_training_table(table.some(np.array([0]))).schema.kinds == ("date", "date")
