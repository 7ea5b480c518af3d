"""Theory: juries, averages and bags, counted out by exact enumeration."""

from __future__ import annotations

import math
import sys
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chi2
from sklearn.datasets import load_iris

from hedgerow import RandomForestClassifier, theory
from hedgerow.theory.ranks import groups_alike


def enumerated_jury(answers: list[Fraction], n_voters: int) -> Fraction:
    """Every way to vote, one by one: how often answer 0 wins, a tie of m counting 1/m."""
    total = Fraction(0)
    for votes in product(range(len(answers)), repeat=n_voters):
        counts = [votes.count(answer) for answer in range(len(answers))]
        if counts[0] == max(counts):
            total += math.prod(answers[vote] for vote in votes) / Fraction(counts.count(counts[0]))
    return total


@pytest.mark.parametrize("n_voters", range(1, 8))
@pytest.mark.parametrize("p", [Fraction(0), Fraction(1, 5), Fraction(1, 2), Fraction(3, 5), Fraction(1)])
def test_condorcet_is_what_counting_every_vote_gives(p: Fraction, n_voters: int) -> None:
    expected = enumerated_jury([p, 1 - p], n_voters)
    assert float(theory.condorcet(float(p), n_voters)) == pytest.approx(float(expected), abs=1e-14)
    assert theory.plurality(float(p), n_voters, 2) == pytest.approx(float(expected), abs=1e-13)


@pytest.mark.parametrize("n_voters", range(1, 7))
@pytest.mark.parametrize("shares", [(2, 1, 1), (1, 2, 3), (1, 1, 1, 1), (4, 0, 3), (3, 2, 2, 1)])
def test_plurality_is_what_counting_every_vote_gives(shares: tuple[int, ...], n_voters: int) -> None:
    answers = [Fraction(share, sum(shares)) for share in shares]
    expected = float(enumerated_jury(answers, n_voters))
    assert theory.plurality([float(a) for a in answers], n_voters) == pytest.approx(expected, abs=1e-13)


@given(p=st.floats(0.51, 0.99), size=st.integers(0, 60))
@settings(deadline=None, max_examples=60)
def test_condorcets_theorem(p: float, size: int) -> None:
    small, large = theory.condorcet(p, [2 * size + 1, 2 * size + 3])
    assert large >= small - 1e-13
    assert theory.condorcet(1 - p, 2 * size + 1) == pytest.approx(1 - small, abs=1e-12)
    assert theory.condorcet(0.5, 2 * size + 1) == pytest.approx(0.5, abs=1e-12)


def test_a_large_jury_is_right_or_wrong_for_certain() -> None:
    assert theory.condorcet([0.55, 0.45], 10_001).round(6).tolist() == [1, 0]
    assert theory.plurality(0.3, 601, 4) > 0.96  # where a majority is out of reach
    assert theory.condorcet(0.3, 601) < 1e-20


@given(p=st.floats(0.05, 0.95), n_voters=st.integers(1, 12).map(lambda half: 2 * half - 1), n_classes=st.integers(2, 5))
@settings(deadline=None, max_examples=60)
def test_a_plurality_is_at_least_a_majority(p: float, n_voters: int, n_classes: int) -> None:
    assert theory.plurality(p, n_voters, n_classes) >= float(theory.condorcet(p, n_voters)) - 1e-12


@given(st.integers(1, 30), st.lists(st.integers(1, 9), min_size=2, max_size=5))
@settings(deadline=None, max_examples=40)
def test_some_answer_wins(n_voters: int, shares: list[int]) -> None:
    answers = np.array(shares) / sum(shares)
    wins = [theory.plurality(np.roll(answers, -first), n_voters) for first in range(len(answers))]
    assert sum(wins) == pytest.approx(1, abs=1e-11)


@given(st.lists(st.floats(0, 100), min_size=1, max_size=8), st.floats(0, 1))
def test_averages_lie_between_independence_and_cauchy(errors: list[float], rho: float) -> None:
    n, mean = len(errors), theory.mean_error(errors)
    error = theory.averaged_error(errors, rho)
    slack = 1e-9 * (1 + mean)
    assert mean / n - slack <= error <= np.mean(errors) ** 2 + slack
    assert np.mean(errors) ** 2 <= mean + slack
    assert theory.averaged_error(errors, 0) == pytest.approx(mean / n, abs=slack)


def test_equal_learners_have_the_variance_of_the_lecture() -> None:
    assert theory.averaged_error([2.0] * 5, 0.3) == pytest.approx(float(theory.averaged_variance(4.0, 0.3, 5)))


def test_the_formula_of_averages_is_what_simulation_gives() -> None:
    rng = np.random.default_rng(0)
    correlation = np.array([[1, 0.5, 0.2], [0.5, 1, -0.3], [0.2, -0.3, 1]])
    scale = np.array([1.0, 2.0, 0.5])
    errors = rng.multivariate_normal(np.zeros(3), correlation * np.outer(scale, scale), 200_000)
    seen = errors.mean(axis=1) ** 2
    expected = theory.averaged_error(scale, correlation)
    assert abs(seen.mean() - expected) < 4 * seen.std() / math.sqrt(len(seen))


@pytest.mark.parametrize("n_rows", [1, 2, 5, 20])
@pytest.mark.parametrize("n_draws", [0, 1, 7])
def test_inclusion_is_what_counting_draws_gives(n_rows: int, n_draws: int) -> None:
    expected = 1 - (1 - Fraction(1, n_rows)) ** n_draws
    assert float(theory.inclusion_probability(n_rows, n_draws)) == pytest.approx(float(expected), abs=1e-15)


def test_inclusion_falls_to_its_limit() -> None:
    by_rows = theory.inclusion_probability(np.arange(1, 2000))
    assert (np.diff(by_rows) < 0).all()
    assert by_rows[-1] > theory.inclusion_probability(7, poisson=True) == pytest.approx(1 - math.exp(-1))
    assert theory.inclusion_probability(10**12) == pytest.approx(1 - math.exp(-1), abs=1e-12)


BAD: list[tuple[Any, str]] = [
    (lambda: theory.condorcet(1.1, 3), "p must lie in"),
    (lambda: theory.condorcet(0.5, 0), "n_voters must be"),
    (lambda: theory.condorcet(0.5, 2.5), "n_voters must be"),
    (lambda: theory.plurality(0.5, 3), "n_classes must be"),
    (lambda: theory.plurality([0.5, 0.2], 3), "p must be"),
    (lambda: theory.plurality([0.5, 0.5], 0), "n_voters must be"),
    (lambda: theory.mean_error([]), "errors must be"),
    (lambda: theory.averaged_error([1, -1]), "errors must be"),
    (lambda: theory.averaged_error([1, 1, 1], -0.9), "correlation must be"),
    (lambda: theory.averaged_error([1, 1], [[1, 0], [1, 1]]), "correlation must be"),
    (lambda: theory.averaged_variance(-1, 0, 1), "sigma2 must be"),
    (lambda: theory.inclusion_probability(0), "n_rows must be"),
]


@pytest.mark.parametrize(("call", "words"), BAD, ids=[words for _, words in BAD])
def test_nonsense_is_refused_in_words(call: Any, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        call()


PLOTS = [theory.plot_condorcet, theory.plot_plurality, theory.plot_averaged_error, theory.plot_inclusion]


@pytest.mark.parametrize("plot", PLOTS)
def test_plots_draw_where_they_are_told_and_say_what_they_show(plot: Any) -> None:
    figure = pytest.importorskip("matplotlib.figure").Figure()
    axes = figure.add_subplot()
    assert plot(ax=axes) is axes
    assert axes.get_xlabel()
    assert axes.get_ylabel()
    assert len(axes.lines) >= 2
    assert len(axes.get_legend().get_texts()) == len(axes.lines)


def test_without_matplotlib_a_plot_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ImportError, match="pip install matplotlib"):
        theory.plot_inclusion()


# ---- forests and methods ----------------------------------------------------------------------------------------


def test_strength_and_correlation_are_breimans():
    X, y = load_iris(return_X_y=True)
    X = X + np.random.default_rng(0).normal(size=X.shape)
    forest = RandomForestClassifier(25, leaf_counts="inbag", random_state=0).fit(X, y)
    found = theory.strength_of(forest)
    outside = forest.oob_evidence_.tree_mask
    votes = np.stack(
        [_vote(tree, leaves) for tree, leaves in zip(forest.trees_, forest.apply(X).T, strict=True)], axis=1
    )
    margins, rivals = np.full(150, np.nan), np.zeros(150, dtype=int)
    for row in range(150):
        share = votes[row, outside[row]].mean(axis=0)
        others = [-1.0 if k == y[row] else share[k] for k in range(3)]
        rivals[row] = int(np.argmax(others))
        margins[row] = share[y[row]] - max(others)
    deviations = []
    for tree in range(25):
        rows = np.flatnonzero(outside[:, tree])
        right, wrong = (votes[rows, tree, each[rows]].mean() for each in (y, rivals))
        deviations.append(np.sqrt(right + wrong - (right - wrong) ** 2))
    np.testing.assert_allclose(found.margin, margins)
    assert found.strength == pytest.approx(margins.mean())
    assert found.correlation == pytest.approx(margins.var() / np.mean(deviations) ** 2)
    assert found.bound == pytest.approx(found.correlation * (1 - found.strength**2) / found.strength**2)
    with pytest.raises(AttributeError, match="bootstrap=True"):
        theory.strength_of(RandomForestClassifier(5, bootstrap=False).fit(X, y))


def _vote(tree, leaves):
    counts = tree.counts[leaves]
    tied = counts == counts.max(axis=1, keepdims=True)
    return tied / tied.sum(axis=1, keepdims=True)


def test_methods_are_compared_as_demsar_does():
    # his example: 4 methods on 14 sets have a critical difference of 2.569 sqrt(4 * 5 / (6 * 14)) = 1.25
    scores = np.random.default_rng(0).normal(size=(14, 4))
    found = theory.compare_methods(scores)
    assert found.critical_difference == pytest.approx(2.569 * np.sqrt(20 / 84), abs=1e-3)
    ranks = found.ranks
    assert ranks.sum() == pytest.approx(10)
    statistic = 12 * 14 / (4 * 5) * ((ranks**2).sum() - 4 * 5**2 / 4)
    assert found.p_value == pytest.approx(chi2.sf(statistic, 3))
    assert theory.compare_methods(np.ones((5, 3))).p_value == 1.0
    assert groups_alike([1.0, 1.4, 1.9, 3.5], 1.0) == [(0, 2)]
    for wrong in ([[1, 2]], [[1, 2], [3, 4]], [[1, 2, np.nan]] * 3):
        with pytest.raises(ValueError, match="scores must be"):
            theory.compare_methods(wrong)
    with pytest.raises(ValueError, match="names must have"):
        theory.plot_critical_difference(scores, ["one"])
