"""Screening keeps its limits with the stated confidence, for each kind of error, together and in each group."""

from __future__ import annotations

import io
import math
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.stats import binom
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer
from sklearn.exceptions import NotFittedError
from tests.reference.decide import PlainOpinion

import hedgerow
from hedgerow import RandomForestClassifier
from hedgerow.decisions import Screening
from hedgerow.decisions.screening import _best_pair, _largest_cut, _possible_lows, _Rows

GRID = (np.arange(20_000) + 0.5) / 20_000


def opinion_of(ill: np.ndarray, groups: np.ndarray | None = None) -> PlainOpinion | SimpleNamespace:
    """Probabilities (n,) of the second class -> an opinion with vacuous bounds."""
    probability = np.column_stack([1 - ill, ill])
    vacuous = np.zeros_like(probability), np.ones_like(probability)
    if groups is None:
        return PlainOpinion(*vacuous, probability)
    return SimpleNamespace(lower=vacuous[0], upper=vacuous[1], probability=probability, groups=groups)


#: The probability of illness at a score: as stated, rare and too confident, and not monotone.
POPULATIONS = {
    "calibrated": lambda score: score,
    "rare": lambda score: 0.2 * score**3,
    "bumpy": lambda score: np.where(
        (score > 0.1) & (score < 0.2), 0.3, np.where(score > 0.95, 0.8, 0.02 + 0.9 * score**2)
    ),
}


def true_rates(decision: Screening, rate: np.ndarray, scores: np.ndarray) -> dict[str, float]:
    """Thresholds -> sensitivity, NPV, specificity and PPV in a population of scores with a rate of illness each."""
    out, into = scores < decision.low_[1], scores > decision.high_[1]
    return {
        "sensitivity": 1 - (rate * out).sum() / rate.sum(),
        "npv": 1 - (rate * out).sum() / max(out.sum(), 1e-9),
        "specificity": 1 - ((1 - rate) * into).sum() / (1 - rate).sum(),
        "ppv": 1 - ((1 - rate) * into).sum() / max(into.sum(), 1e-9),
    }


@pytest.mark.filterwarnings("ignore:No threshold rules")
@pytest.mark.parametrize("digits", [8, 2], ids=["distinct", "ties"])
@pytest.mark.parametrize("population", POPULATIONS)
def test_all_limits_hold_together_with_the_stated_confidence(population, digits):
    limits = {"sensitivity": 0.9, "npv": 0.95, "specificity": 0.9, "ppv": 0.7}
    random, broken, decided, n_times = np.random.default_rng(1), 0, [], 200
    rate_of, scores = POPULATIONS[population], np.round(GRID, digits)
    for _ in range(n_times):
        score = np.round(random.random(1500), digits)
        y = (random.random(1500) < rate_of(score)).astype(int)
        decision = Screening(**limits, confidence=0.9).calibrate(opinion_of(score), y, classes=[0, 1])
        rates = true_rates(decision, rate_of(scores), scores)
        broken += any(rates[name] < limit for name, limit in limits.items())
        decided.append(decision.share_)
    assert broken / n_times <= 0.1 + 3 * math.sqrt(0.1 * 0.9 / n_times)
    assert np.mean(decided) > 0.05, "a decision that decides nothing keeps every limit"


@pytest.mark.parametrize("name", ["sensitivity", "specificity"])
def test_a_single_limit_is_used_up(name):
    """With one limit the guarantee is nearly exact: it is broken in almost 1 - confidence of the calibrations."""
    random, broken, n_times = np.random.default_rng(2), 0, 600
    for _ in range(n_times):
        score = random.random(600)
        y = (random.random(600) < score).astype(int)
        limits = {"sensitivity": None, "specificity": None, name: 0.9}
        decision = Screening(**limits, confidence=0.8).calibrate(opinion_of(score), y, classes=[0, 1])
        broken += true_rates(decision, GRID, GRID)[name] < 0.9
    assert 0.12 <= broken / n_times <= 0.2 + 3 * math.sqrt(0.2 * 0.8 / n_times)


def test_a_threshold_at_the_observed_sensitivity_would_break_the_guarantee():
    random, broken = np.random.default_rng(3), 0
    for _ in range(300):
        score = random.random(600)
        y = random.random(600) < score
        naive = np.quantile(score[y], 0.1)
        broken += 1 - (GRID * (naive > GRID)).sum() / GRID.sum() < 0.9
    assert broken / 300 > 0.3


@pytest.mark.parametrize(
    ("n", "share", "level"), [(100, 0.1, 0.05), (30, 0.1, 0.05), (28, 0.1, 0.05), (500, 0.02, 0.01)]
)
def test_the_cut_is_the_largest_order_statistic_that_the_binomial_test_allows(n, share, level):
    scores = np.random.default_rng(0).permutation(n) + 1.0
    allowed = [k for k in range(n) if binom.cdf(k, n, share) <= level]
    assert _largest_cut(scores, share, level) == (allowed[-1] + 1.0 if allowed else -math.inf)


@pytest.mark.parametrize("limits", [(0.8, None, 0.8, None), (None, 0.7, None, 0.6), (0.6, 0.8, None, 0.5)])
def test_the_pair_of_thresholds_decides_most_rows(limits):
    """No other pair of possible thresholds that does not cross decides more rows."""
    random = np.random.default_rng(4)
    score = random.random(400)
    rows = _Rows(score, random.random(400) < score**2)
    sensitivity, npv, specificity, ppv = limits
    lows = _possible_lows(rows, sensitivity, npv, 0.05)
    highs = -_possible_lows(rows.mirrored(), specificity, ppv, 0.05)[::-1]
    low, high = _best_pair(rows, lows, highs)
    assert low <= high
    decided = ((score < low) | (score > high)).sum()
    pairs = [(one, other) for one in lows for other in highs if one <= other]
    assert decided == max(((score < one) | (score > other)).sum() for one, other in pairs)


def test_rows_between_the_thresholds_are_undecided():
    random = np.random.default_rng(5)
    score = random.random(2000)
    y = np.where(random.random(2000) < score, "ill", "well")
    opinion = opinion_of(1 - score)  # the first column is "ill"
    decision = Screening(0.95, 0.95, positive="ill").calibrate(opinion, y, classes=["ill", "well"])
    chosen = decision.choose(opinion)
    out, into = score < decision.low_[0], score > decision.high_[0]
    assert chosen[out].tolist() == [[False, True]] * out.sum()
    assert chosen[into].tolist() == [[True, False]] * into.sum()
    assert chosen[~out & ~into].all()
    assert 0.1 < decision.share_ == pytest.approx((out | into).mean())
    assert np.isinf([decision.low_[1], decision.high_[1]]).all()


def test_other_classes_remain_together_if_the_class_is_ruled_out():
    random = np.random.default_rng(6)
    probability = random.dirichlet([0.2] * 3, size=3000)
    y = (random.random(3000)[:, None] > probability.cumsum(axis=1)[:, :-1]).sum(axis=1)
    decision = Screening(0.9, 0.9, positive=0).calibrate(probability, y)
    chosen = decision.choose(PlainOpinion(probability * 0, probability * 0 + 1, probability))
    assert {tuple(row) for row in chosen.tolist()} == {(False, True, True), (True, False, False), (True, True, True)}


def test_a_side_without_a_limit_decides_nothing():
    random = np.random.default_rng(7)
    score = random.random(1000)
    y = (random.random(1000) < score).astype(int)
    decision = Screening(0.95, None).calibrate(opinion_of(score), y)
    assert np.isinf(decision.high_).all()
    assert np.isfinite(decision.low_[1])


def test_groups_have_thresholds_of_their_own():
    random = np.random.default_rng(8)
    score, hospital = random.random(3000), np.repeat(["a", "b", "c"], [1480, 1480, 40])
    y = (random.random(3000) < np.where(hospital == "a", score, score**4)).astype(int)
    opinion = opinion_of(score, hospital)
    with pytest.warns(UserWarning, match=r"in some groups \(40 in 'c' rows\). They are undecided"):
        decision = Screening(0.9, 0.9, groups="hospital").calibrate(opinion, y, classes=[0, 1])
    assert decision.groups_ == ["a", "b", "c"]
    assert decision.group_low_[0, 1] < decision.group_low_[1, 1]
    chosen = decision.choose(opinion)
    assert chosen[hospital == "c"].all()
    assert (~chosen.all(axis=1)).mean() == pytest.approx(decision.share_)
    unknown = opinion_of(score[:5], np.repeat("d", 5))
    assert decision.choose(unknown).all()


def test_the_user_hears_why_nothing_is_ruled_out():
    random = np.random.default_rng(9)
    score = random.random(200)
    y = np.zeros(200, dtype=int)
    y[:30] = 1
    with pytest.warns(
        UserWarning, match=r"rules '1' out .* sensitivity=0.98 takes at least 149 rows of the class \(got 30\)"
    ):
        Screening(0.98, None).calibrate(opinion_of(score), y)
    with pytest.warns(UserWarning, match="rules '1' in .* too many confident predictions are wrong"):
        Screening(None, None, ppv=0.9).calibrate(opinion_of(score), y)


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ({"sensitivity": 1.0}, "sensitivity must lie strictly between 0 and 1"),
        ({"confidence": 0.0}, "confidence must lie strictly between 0 and 1"),
        ({"sensitivity": None, "specificity": None}, "must have at least one of sensitivity"),
        ({"positive": "ill"}, r"positive must be one of the classes \[0, 1\], got 'ill'"),
    ],
)
def test_parameters_are_checked(given, problem):
    with pytest.raises(ValueError, match=problem):
        Screening(**given).calibrate(opinion_of(GRID[:100]), np.arange(100) % 2)
    with pytest.raises(NotFittedError, match="Screening requires calibration"):
        Screening(**given).choose(opinion_of(GRID[:3]))


# ---- in a forest -------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def forest() -> tuple[RandomForestClassifier, np.ndarray, np.ndarray]:
    data = load_breast_cancer()
    y = np.asarray(data.target_names)[data.target]
    decision = Screening(0.95, 0.95, positive="malignant")
    return (
        RandomForestClassifier(60, random_state=0, decision=decision).fit(data.data[::2], y[::2]),
        data.data[1::2],
        y[1::2],
    )


def test_a_forest_knows_its_classes_by_name(forest):
    model, X, y = forest
    chosen = model.predict_set(X)
    decided = chosen.sum(axis=1) == 1
    assert decided.mean() > 0.8
    ill = y == "malignant"
    assert chosen[ill, 1].mean() > 0.93, "few malignant samples are called benign"


def test_files_hold_what_it_has_learned(forest):
    model, X, _ = forest
    file = io.BytesIO()
    hedgerow.save(model, file)
    loaded = hedgerow.load(io.BytesIO(file.getvalue()))
    assert np.array_equal(loaded.predict_set(X), model.predict_set(X))
    assert loaded.decision.positive == "malignant"


def test_groups_of_rows_are_drawn_once(forest):
    _, X, y = forest
    patient = np.arange(len(y)) // 2
    model = RandomForestClassifier(40, random_state=0, decision=Screening(0.8, 0.8, confidence=0.8)).fit(
        X, y, groups=patient
    )
    learned = model._predictor().decision
    assert learned.n_rows_ == len(np.unique(patient))
    assert clone(model).decision.get_params() == model.decision.get_params()
