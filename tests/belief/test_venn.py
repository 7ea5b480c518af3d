"""Venn–Abers bounds are two isotonic regressions, agree with the peer's package, and keep their guarantee."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.isotonic import IsotonicRegression

from hedgerow import RandomForestClassifier, decide
from hedgerow.belief import venn_abers
from hedgerow.belief.venn import pair_bounds

Pair = tuple[np.ndarray, np.ndarray, np.ndarray]


@st.composite
def pairs(draw: st.DrawFn) -> Pair:
    """Known scores with ties, classes, and new scores, some of them known, some outside."""
    places = st.integers(-2, 12).map(lambda place: place / 10)
    known = draw(st.lists(st.tuples(places, st.booleans()), min_size=1, max_size=25))
    new = draw(st.lists(places, min_size=1, max_size=5))
    scores, labels = zip(*known, strict=True)
    return np.array(scores), np.array(labels), np.array(new)


def two(scores: np.ndarray) -> np.ndarray:
    """(n,) -> (n, 2): probabilities."""
    return np.column_stack([1 - scores, scores])


def plain_bound(scores: np.ndarray, labels: np.ndarray, new: float, label: bool) -> float:
    """Isotonic regression with one more row, at this row."""
    points, where = np.unique(np.append(scores, new), return_inverse=True)
    sizes = np.bincount(where)
    means = np.bincount(where, np.append(labels, label)) / sizes
    return float(IsotonicRegression().fit(points, means, sample_weight=sizes).predict([new])[0])


@given(pairs())
def test_bounds_are_isotonic_regressions_with_one_more_row(case):
    scores, labels, new = case
    expected = [[plain_bound(scores, labels, each, label) for each in new] for label in (False, True)]
    assert pair_bounds(scores, labels, new)[:2] == pytest.approx(np.array(expected), abs=1e-12)


@pytest.mark.parametrize(("n_rows", "digits"), [(5, 1), (60, 2), (400, 8)])
def test_they_are_those_of_the_package(n_rows, digits):
    peer = pytest.importorskip("venn_abers").venn_abers
    random = np.random.default_rng(n_rows)
    scores = random.random(n_rows).round(digits)
    labels, new = random.random(n_rows) < scores, random.random(100).round(digits)
    with np.errstate(all="ignore"):
        probability, bounds = peer.calc_probs(*peer.calc_p0p1(two(scores), labels.astype(int)), two(new))
    opinion = venn_abers(two(scores), labels.astype(int), two(new))
    assert opinion.lower[:, 1] == pytest.approx(bounds[:, 0], abs=1e-12)
    assert opinion.upper[:, 1] == pytest.approx(bounds[:, 1], abs=1e-12)
    assert opinion.probability == pytest.approx(probability, abs=1e-12)


@given(st.integers(2, 5), st.integers(0, 40), st.integers(0, 1000))
def test_it_is_an_opinion_for_any_number_of_classes_and_rows(n_classes, n_rows, seed):
    random = np.random.default_rng(seed)
    known = random.dirichlet(np.full(n_classes, 0.3), size=n_rows).round(2)
    opinion = venn_abers(known, random.integers(0, n_classes, n_rows), random.dirichlet(np.ones(n_classes), size=6))
    assert (opinion.lower <= opinion.probability).all()
    assert (opinion.probability <= opinion.upper).all()
    assert opinion.probability.sum(axis=1) == pytest.approx(np.ones(6), abs=1e-9)
    assert decide(opinion).any(axis=1).all()


def test_one_of_the_two_bounds_is_calibrated():
    """The bound of the true class: among rows with this bound, such a share is of the second class."""
    random, said, truth = np.random.default_rng(0), [], []
    for _ in range(3000):
        scores = random.random(21)
        labels = random.random(21) < scores**3  # probabilities that are badly wrong
        lower, upper, _ = pair_bounds(scores[:20], labels[:20], scores[20:])[:, 0]
        said.append(upper if labels[20] else lower)
        truth.append(labels[20])
    said, truth = np.array(said), np.array(truth, dtype=float)
    for low, high in ((0.0, 0.2), (0.2, 0.5), (0.5, 0.9), (0.9, 1.01)):
        some = (said >= low) & (said < high)
        error = np.sqrt(max(truth[some].var(), 0.01) / some.sum())
        assert truth[some].mean() == pytest.approx(said[some].mean(), abs=3 * error)


def test_more_classes_are_combined_from_pairs():
    random = np.random.default_rng(3)
    known, new = random.dirichlet(np.ones(3), size=200), random.dirichlet(np.ones(3), size=4)
    labels = (random.random(200)[:, None] > known.cumsum(axis=1)[:, :-1]).sum(axis=1)
    lower = np.zeros((4, 3))
    for k in range(3):
        total = np.zeros(4)
        for j in range(3):
            if j != k:
                some = np.isin(labels, (j, k))
                share, asked = (each[:, k] / (each[:, j] + each[:, k]) for each in (known[some], new))
                with np.errstate(divide="ignore"):
                    total += 1 / pair_bounds(share, labels[some] == k, asked)[0]
        lower[:, k] = 1 / (total - 1)
    opinion = venn_abers(known, labels, new)
    assert opinion.lower == pytest.approx(np.minimum(lower, opinion.probability), abs=1e-12)


def test_bounds_of_very_many_scores_are_exact():
    random = np.random.default_rng(5)
    scores = random.random(6_000)
    labels, new = random.random(len(scores)) < scores, random.random(50)
    expected = [[plain_bound(scores, labels, each, label) for each in new] for label in (False, True)]
    assert pair_bounds(scores, labels, new)[:2] == pytest.approx(np.array(expected), abs=1e-12)


def test_a_row_is_judged_whatever_its_neighbours():
    random = np.random.default_rng(6)
    known, new = random.dirichlet(np.ones(4), size=90), random.dirichlet(np.ones(4), size=40)
    labels = random.integers(0, 4, 90)
    whole = venn_abers(known, labels, new)
    alone = [venn_abers(known, labels, new[[row]]) for row in range(40)]
    assert np.concatenate([each.lower for each in alone]).tobytes() == whole.lower.tobytes()
    assert np.concatenate([each.probability for each in alone]).tobytes() == whole.probability.tobytes()


def test_a_forest_gives_its_out_of_bag_probabilities():
    random = np.random.default_rng(7)
    X = random.normal(size=(300, 3))
    y = (X[:, 0] + random.normal(size=300) > 0).astype(int)
    forest = RandomForestClassifier(50, oob_score=True, random_state=0).fit(X, y)
    opinion = venn_abers(forest.oob_decision_function_, y, forest.predict_proba(X[:20]))
    assert (opinion.upper - opinion.lower).max() < 0.5


@pytest.mark.parametrize(
    ("known", "labels", "new"),
    [
        ([0.1, 0.9], [0, 1], [[0.5, 0.5]]),
        ([[0.1, 0.9]], [2], [[0.5, 0.5]]),
        ([[0.1, 0.9]], [0, 1], [[0.5, 0.5]]),
        ([[0.1, 0.9]], [0], [[0.5, 0.5, 0.0]]),
        ([[np.nan, 0.9]], [0], [[0.5, 0.5]]),
    ],
)
def test_what_is_no_probability_or_class_is_refused(known, labels, new):
    with pytest.raises(ValueError, match=r"(known|labels|new) must"):
        venn_abers(known, labels, new)
