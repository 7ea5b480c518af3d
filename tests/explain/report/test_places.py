"""Where the undecided live: the rules say what is true of the rows they count."""

from __future__ import annotations

import re

import numpy as np
import pytest

from hedgerow.explain.report.places import FEWEST, undecided_places
from hedgerow.table import Factors, NamedColumns


def table_of(n_rows, seed=0):
    """Rows with two numbers, one of them with gaps, and a nominal column with gaps."""
    draw = np.random.default_rng(seed)
    age, dose = draw.uniform(20, 80, n_rows), np.round(draw.normal(5, 2, n_rows), 1)
    dose[draw.random(n_rows) < 0.1] = np.nan
    site = Factors(draw.integers(-1, 4, n_rows), np.array(["north", "south", "east", "west"], dtype=object))
    return NamedColumns(("age", "dose", "site"), [age, dose, site])


def holds(condition, table):
    """A condition in words, read again -> where it is true (n,)."""
    words, missing = re.subn(r" or missing$", "", condition)
    name, rest = words.split(" ", 1)
    column = table.listed[table.names.index(name)]
    if isinstance(column, Factors):
        gaps = column.codes < 0
        values = np.where(gaps, "", column.values[column.codes])
        named = re.split(r", | or ", re.sub(r"^is (not )?", "", rest))
        inside = np.isin(values, named) != rest.startswith("is not")
    else:
        gaps, numbers = np.isnan(column), [float(number) for number in re.findall(r"-?[\d.]+", rest)]
        low = numbers[0] if rest.startswith(("above", "between")) else -np.inf
        high = numbers[-1] if rest.startswith(("at most", "between")) else np.inf
        inside = (column > low) & (column <= high)
    if rest == "missing":
        return gaps
    return np.where(gaps, bool(missing), inside if rest != "known" else True)


@pytest.mark.parametrize("seed", range(6))
def test_conditions_hold_for_exactly_the_rows_counted(seed):
    table = table_of(400, seed)
    age, dose, site = table.listed
    is_open = ((age > 40) & (age < 55) & (site.codes != 2)) | (np.isnan(dose) & (site.codes < 1))
    places = undecided_places(table, is_open)
    assert 1 <= len(places) <= 5
    for place in places:
        here = np.logical_and.reduce([holds(condition, table) for condition in place.conditions])
        # thresholds are written with two decimals: a row between a threshold and its words may be on the other side
        assert abs(int(here.sum()) - place.rows) <= 1
        assert place.rows >= FEWEST
        assert place.undecided / place.rows > is_open.mean()
        assert abs(int(is_open[here].sum()) - place.undecided) <= 1


def test_a_few_rows_are_no_place():
    table = table_of(400)
    is_open = np.zeros(400, dtype=bool)
    is_open[np.argsort(table.listed[0])[:4]] = True  # the four youngest
    assert undecided_places(table, is_open) == []
    draw = np.random.default_rng(1)
    found = sum(len(undecided_places(table, draw.random(400) < 0.1)) for _ in range(20))
    assert found <= 3


def test_a_feature_is_named_once_in_a_rule():
    table = table_of(400)
    age = table.listed[0]
    places = undecided_places(table, (age > 40) & (age < 55))
    assert [re.sub(r"[\d.]+", "…", condition) for condition in places[0].conditions] == ["age between … and …"]
    assert places[0].rate == 1.0


def test_missing_is_mentioned_only_where_values_are_missing():
    table = table_of(400)
    places = undecided_places(table, table.listed[0] > 60)
    assert places[0].conditions == (f"age above {places[0].conditions[0].split()[-1]}",)


@pytest.mark.parametrize("everywhere", [True, False])
def test_no_place_where_all_or_none_are_undecided(everywhere):
    assert undecided_places(table_of(50), np.full(50, everywhere)) == []
