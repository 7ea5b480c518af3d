"""Doubt: where the cause is known it comes out on top; shares add up; the definition holds in exact numbers."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from tests.reference import constructed
from tests.reference import explain as reference

from hedgerow import ExtraTreesClassifier, RandomForestClassifier
from hedgerow.explain.sources import CAUSES, uncertainty_from_counts

leaves = st.integers(2, 3).flatmap(
    lambda k: st.lists(st.lists(st.integers(0, 30), min_size=k, max_size=k), min_size=1, max_size=6)
)


@settings(max_examples=100)
@given(leaves, st.fractions(0, 6, max_denominator=4), st.data())
def test_doubt_is_what_its_definition_says_in_fractions(counts, caution, data):
    distrust = data.draw(
        st.lists(st.fractions(0, 1, max_denominator=5), min_size=len(counts), max_size=len(counts)), label="distrust"
    )
    expected = reference.doubt(counts, caution, distrust)
    found = uncertainty_from_counts(
        np.array([counts], dtype=float), float(caution), distrust=np.array([distrust], dtype=float)
    )
    assert found.amounts[0] == pytest.approx([float(each) for each in expected], abs=1e-12)
    held_margin = 1 - sum(expected)
    assert 0 <= held_margin <= 1
    assert found.total[0] == pytest.approx(float(1 - held_margin), abs=1e-12)


@settings(max_examples=50)
@given(leaves, st.floats(0, 6))
def test_shares_sum_to_one_or_there_is_no_doubt(counts, caution):
    found = uncertainty_from_counts(np.array([counts], dtype=float), caution)
    assert (found.shares >= 0).all()
    assert found.shares.sum() == pytest.approx(1.0, abs=1e-12) if found.total[0] > 0 else found.shares.sum() == 0


@settings(max_examples=50)
@given(leaves, st.floats(0.1, 6), st.randoms(use_true_random=False))
def test_the_order_of_trees_does_not_matter(counts, caution, random):
    shuffled = random.sample(counts, len(counts))
    first = uncertainty_from_counts(np.array([counts], dtype=float), caution).amounts
    second = uncertainty_from_counts(np.array([shuffled], dtype=float), caution).amounts
    assert first == pytest.approx(second, abs=1e-12)


def test_no_class_has_doubt_where_all_trees_are_sure_and_nothing_is_held_back():
    found = uncertainty_from_counts(np.array([[[5.0, 0.0], [9.0, 0.0]]]), caution=0.0)
    assert found.total[0] == 0
    assert not found.shares.any()


def test_missing_values_that_decide_take_all_the_doubt():
    ways = np.array([[[[50.0, 0.0]], [[0.0, 50.0]]]])  # one sample, two possible values, one tree
    found = uncertainty_from_counts(ways, caution=0.0)
    assert found.shares[0, CAUSES.index("missing")] == 1


def test_gaps_that_lead_into_mixed_leaves_take_the_doubt_that_any_value_would_end():
    ways = np.array([[[[50.0, 0.0]], [[50.0, 0.0]]]])
    found = uncertainty_from_counts(ways, caution=0.0, as_is=np.array([[[6.0, 4.0]]]))
    assert found.amounts[0, CAUSES.index("missing")] == pytest.approx(0.8)
    assert found.shares[0, CAUSES.index("missing")] == 1


def test_missing_values_that_change_nothing_take_none():
    ways = np.array([[[[30.0, 20.0]], [[30.0, 20.0]]]])
    found = uncertainty_from_counts(ways, caution=1.0)
    assert found.amounts[0] == pytest.approx(uncertainty_from_counts(ways[:, 0], caution=1.0).amounts[0], abs=1e-15)


def causes_of(forest, X):
    """-> the causes of the doubt about each row, the largest first."""
    return [[each.cause for each in why.uncertainty] for why in forest.explain(X, time_limit=0, shap=False)]


@pytest.mark.parametrize("name", constructed.ALL)
def test_a_cause_that_is_known_comes_out_on_top(name):
    case = constructed.ALL[name]()
    why = case.forest.explain(case.sample, time_limit=0, shap=False)[0]
    assert why.uncertainty[0].cause == case.cause
    assert why.uncertainty[0].share > 0.5


def test_the_page_shows_the_shares_of_the_constructed_cases():
    page = Path(__file__).resolve().parents[2] / "docs" / "explanation" / "uncertainty.md"
    assert constructed.table() in page.read_text(encoding="utf-8")


COINS = {
    "grown until pure": RandomForestClassifier(50, random_state=0),
    "of ten rows or more": ExtraTreesClassifier(50, min_samples_leaf=10, random_state=0),
}


@pytest.mark.parametrize("kind", COINS)
def test_coins_overlap(kind):
    draw = np.random.default_rng(1)
    X, y = draw.random((1000, 3)), draw.integers(0, 2, 1000)
    causes = causes_of(clone(COINS[kind]).fit(X, y), draw.random((40, 3)))
    assert [each[0] for each in causes].count("overlap") >= 38


def test_pure_leaves_of_one_or_two_coins_are_no_trees_that_disagree():
    draw = np.random.default_rng(1)
    X, y = draw.random((1000, 3)), draw.integers(0, 2, 1000)
    forest = ExtraTreesClassifier(50, random_state=0).fit(X, y)
    for why in forest.explain(draw.random((20, 3)), time_limit=0, shap=False):
        share = {each.cause: each.share for each in why.uncertainty}
        assert share["disagree"] < share["overlap"]


@pytest.fixture(scope="module")
def one_decides():
    """A forest of which one feature decides, sometimes missing, and one nominal feature says nothing."""
    draw = np.random.default_rng(4)
    y = draw.integers(0, 2, 400)
    key = y + draw.normal(0, 0.1, 400)
    key[draw.random(400) < 0.1] = np.nan
    X = pd.DataFrame({"key": key, "other": draw.random(400), "colour": draw.choice(["red", "blue"], 400)})
    return RandomForestClassifier(random_state=0).fit(X, y), X


@pytest.mark.parametrize("knows_training", [True, False])
def test_without_the_value_that_decides_it_is_missing(one_decides, knows_training):
    forest, X = one_decides
    if not knows_training:
        import pickle

        forest = pickle.loads(pickle.dumps(forest))
    row = X.head(1).assign(key=np.nan)
    why = forest.explain(row)[0]
    assert why.uncertainty[0].cause == "missing"
    assert why.uncertainty[0].share > 0.9
    assert "key" in why.uncertainty[0].text


def test_a_category_never_seen_counts_as_missing():
    draw = np.random.default_rng(5)
    colour = draw.choice(["red", "blue"], 300)
    X = pd.DataFrame({"colour": colour, "size": draw.random(300)})
    forest = RandomForestClassifier(random_state=0).fit(X, colour == "red")
    why = forest.explain(pd.DataFrame({"colour": ["green"], "size": [0.5]}))[0]
    assert why.uncertainty[0].cause == "missing"
    assert "colour" in why.uncertainty[0].text


@pytest.mark.parametrize("value", [60.0, -60.0, np.inf])
def test_a_value_far_beyond_the_training_data_is_outside(one_decides, value):
    forest, X = one_decides
    why = forest.explain(X.head(1).assign(key=value))[0]
    assert why.uncertainty[0].cause == "out_of_range"
    assert why.uncertainty[0].share > 0.9


def test_values_nobody_asks_about_are_not_outside():
    draw = np.random.default_rng(6)
    y = draw.integers(0, 2, 300)
    X = np.column_stack([y.astype(float), np.zeros(300)])
    why = RandomForestClassifier(max_features=None, random_state=0).fit(X, y).explain([[1.0, 99.0]])[0]
    assert {each.cause: each.share for each in why.uncertainty}["out_of_range"] == 0


def test_training_rows_are_never_outside_even_in_binned_columns():
    draw = np.random.default_rng(7)
    X = draw.exponential(size=(6000, 2))
    y = (X[:, 0] + draw.normal(0, 0.5, 6000) > 1).astype(int)
    forest = RandomForestClassifier(5, random_state=0).fit(X, y)
    extreme = X[[X[:, 0].argmax(), X[:, 0].argmin(), X[:, 1].argmax(), X[:, 1].argmin()]]
    for why in forest.explain(extreme, time_limit=0):
        assert {each.cause: each.amount for each in why.uncertainty}["out_of_range"] < 1e-6


def test_fractions_of_the_docstring_example_are_exact():
    expected = reference.doubt([[3, 0], [3, 0]], Fraction(5), [Fraction(0)] * 2)
    assert expected == [Fraction(5, 8), 0, 0, 0, 0]
