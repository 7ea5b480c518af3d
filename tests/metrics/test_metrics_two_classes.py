"""Two classes: rates, areas and their intervals, beside other programs and by their laws."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binomtest
from sklearn.metrics import confusion_matrix, roc_auc_score

from hedgerow.metrics.confusion import auc, rates, share_of

ROWS = st.lists(st.tuples(st.booleans(), st.integers(0, 5)), min_size=1, max_size=40)


@given(st.integers(1, 200), st.floats(0, 1))
def test_the_interval_of_a_share_is_that_of_scipy(rows, part):
    right = round(part * rows)
    found = share_of(right, rows)
    theirs = binomtest(right, rows).proportion_ci(method="wilson")
    assert (found.lower, found.upper) == pytest.approx((theirs.low, theirs.high), abs=1e-12)


@settings(deadline=None)
@given(ROWS)
def test_the_area_is_that_of_scikit_learn_and_turns_with_the_classes(rows):
    truth, score = np.array([row[0] for row in rows]), np.array([row[1] for row in rows], dtype=float)
    found = auc(truth, score)
    if truth.all() or not truth.any():
        assert found.value is None
        return
    assert found.value == pytest.approx(roc_auc_score(truth, score))
    turned = auc(~truth, score)
    assert turned.value == pytest.approx(1 - found.value)
    if found.lower is not None:
        assert 0 <= found.lower <= found.value <= found.upper <= 1
        assert turned.lower == pytest.approx(1 - found.upper)


def test_the_interval_of_the_area_is_that_of_the_formula_over_all_pairs():
    draw = np.random.default_rng(0)
    truth = draw.random(60) < 0.4
    score = np.round(draw.normal(truth, 1), 1)
    wins = (score[truth][:, None] > score[~truth]) + 0.5 * (score[truth][:, None] == score[~truth])
    by_positive, by_negative = wins.mean(axis=1), wins.mean(axis=0)
    variance = by_positive.var(ddof=1) / len(by_positive) + by_negative.var(ddof=1) / len(by_negative)
    found = auc(truth, score)
    assert found.upper - found.value == pytest.approx(1.959963984540054 * np.sqrt(variance))


@given(st.lists(st.tuples(st.booleans(), st.booleans()), min_size=1, max_size=40))
def test_rates_are_those_of_the_confusion_matrix(rows):
    truth, said = np.array(rows).T
    (negative, false), (missed, found) = confusion_matrix(truth, said, labels=[False, True]).tolist()
    expected = {
        "sensitivity": (found, found + missed),
        "specificity": (negative, negative + false),
        "positive_predictive_value": (found, found + false),
        "negative_predictive_value": (negative, negative + missed),
    }
    assert {name: each.value for name, each in rates(truth, said).items()} == {
        name: right / rows if rows else None for name, (right, rows) in expected.items()
    }
