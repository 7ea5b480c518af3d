"""The promised error of decisions is kept with the promised confidence, and where it cannot be, the user is told."""

from __future__ import annotations

import io
import math

import numpy as np
import pytest
from scipy.stats import beta
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer
from sklearn.exceptions import NotFittedError
from tests.reference.decide import PlainOpinion

import hedgerow
from hedgerow import RandomForestClassifier
from hedgerow.decisions import Risk
from hedgerow.decisions.risk import decisions_needed, lowest_threshold


def opinion_of(probability: np.ndarray) -> PlainOpinion:
    """(n, K) -> an opinion with these probabilities and vacuous bounds."""
    return PlainOpinion(np.zeros_like(probability), np.ones_like(probability), probability)


def bumpy_error(sure: np.ndarray) -> np.ndarray:
    """How often a row is wrong; rows in the middle are worse than less sure ones, so errors do not simply grow."""
    return np.where(sure > 0.6, 0.005, np.where(sure > 0.5, 0.35, 0.02))


def risk_above(threshold: float) -> float:
    """The error among all rows above a threshold, if sureness is uniform."""
    grid = (np.arange(20_000) + 0.5) / 20_000
    above = grid > threshold
    return float(bumpy_error(grid)[above].mean()) if above.any() else 0.0


@pytest.mark.parametrize("n_rows", [150, 600, 2500])
def test_the_promise_is_kept_with_the_promised_confidence(n_rows):
    random, broken, n_times = np.random.default_rng(3), 0, 1500
    for _ in range(n_times):
        sure = random.random(n_rows)
        wrong = random.random(n_rows) < bumpy_error(sure)
        broken += risk_above(lowest_threshold(sure, wrong, 0.05, 0.9)) > 0.05
    assert broken / n_times <= 0.1 + 3 * math.sqrt(0.1 * 0.9 / n_times)
    assert n_rows < 600 or broken > 0, "the case must be hard enough for the promise to be broken sometimes"


def test_a_threshold_chosen_by_its_own_error_would_break_the_promise():
    """If sureness is the chance to be right, the error above t is (1 - t) / 2, and .05 above .9."""
    random, ours, naive = np.random.default_rng(4), 0, 0
    for _ in range(300):
        sure = random.random(2000)
        wrong = random.random(2000) > sure
        order = np.argsort(-sure)
        error = np.cumsum(wrong[order]) / np.arange(1, 2001)
        naive += sure[order][np.flatnonzero(error <= 0.05)[-1]] < 0.9
        ours += lowest_threshold(sure, wrong, 0.05, 0.95) < 0.9
    assert naive / 300 > 0.3
    assert ours / 300 <= 0.05 + 3 * math.sqrt(0.05 * 0.95 / 300)


def test_the_test_is_the_upper_end_of_an_exact_interval():
    """P(Binomial(k, error) <= w) <= delta just where the Clopper-Pearson bound of the error is at most `error`."""
    for n_rows, n_wrong in [(100, 1), (100, 2), (59, 0), (58, 0), (500, 15), (500, 16), (500, 17)]:
        bound = beta.ppf(0.95, n_wrong + 1, n_rows - n_wrong)
        wrong = np.arange(n_rows) >= n_rows - n_wrong
        found = lowest_threshold(np.linspace(1, 0, n_rows), wrong, 0.05, 0.95)
        assert (found == -math.inf) == (bound <= 0.05), (n_rows, n_wrong)


def test_the_fewest_decisions_are_told_apart_from_one_less():
    for error, confidence in [(0.05, 0.95), (0.02, 0.95), (0.1, 0.9), (0.5, 0.5)]:
        needed = decisions_needed(error, confidence)
        assert (1 - error) ** needed <= 1 - confidence + 1e-12 < (1 - error) ** (needed - 1)


def test_confident_errors_do_not_end_the_search():
    """The surest 200 rows are wrong in 10%, all others in 1%: the error of all rows together is small."""
    wrong = np.arange(5000) % 100 == 0
    wrong[:200] = np.arange(200) % 10 == 0
    assert wrong.mean() < 0.015
    assert lowest_threshold(np.linspace(1, 0, 5000), wrong, 0.05, 0.95) == -math.inf


def test_a_failed_test_excludes_larger_subsets_until_the_next_start():
    """Of 5,000 rows, testing fails at 1,400 and starts again at 2,500, so the good subset of 2,400 is not tested."""
    sure = np.linspace(1, 0, 5000)
    wrong = np.zeros(5000, dtype=bool)
    wrong[1300:1375] = wrong[2400:2500] = True
    wrong[2500:] = np.arange(2500) % 4 == 0
    assert wrong[:2400].mean() < 0.032
    assert (sure > lowest_threshold(sure, wrong, 0.05, 0.95)).sum() == 1300


def several_crossings(sure: np.ndarray) -> np.ndarray:
    """How often a row is wrong if the error above a threshold crosses 0.05 several times."""
    return np.select([sure > 0.97, sure > 0.7, sure > 0.6, sure > 0.3], [0.12, 0.03, 0.2, 0.01], 0.3)


@pytest.mark.parametrize("n_digits", [6, 2], ids=["distinct", "ties"])
@pytest.mark.parametrize("n_rows", [300, 1500])
def test_the_promise_is_kept_where_the_error_crosses_its_limit_several_times(n_rows, n_digits):
    random, broken, n_times = np.random.default_rng(5), 0, 1000
    grid = np.round((np.arange(20_000) + 0.5) / 20_000, n_digits)
    error_at = several_crossings(grid)
    for _ in range(n_times):
        sure = np.round(random.random(n_rows), n_digits)
        wrong = random.random(n_rows) < several_crossings(sure)
        threshold = lowest_threshold(sure, wrong, 0.05, 0.9)
        broken += threshold < math.inf and error_at[grid > threshold].mean() > 0.05
    assert broken / n_times <= 0.1 + 3 * math.sqrt(0.1 * 0.9 / n_times)


def test_rows_that_tie_with_the_threshold_are_left_open():
    sure = np.repeat([0.9, 0.6], 100)
    wrong = np.arange(200) >= 150
    threshold = lowest_threshold(sure, wrong, 0.05, 0.95)
    assert threshold == 0.6
    decision = Risk().calibrate(np.column_stack([sure, 1 - sure]), wrong.astype(int), classes=[0, 1])
    assert decision.choose(opinion_of(np.array([[0.9, 0.1], [0.6, 0.4]]))).sum(axis=1).tolist() == [1, 2]
    assert (decision.share_, decision.n_rows_) == (0.5, 200)


def test_no_threshold_is_an_answer():
    random = np.random.default_rng(0)
    probability = random.dirichlet(np.ones(3), size=500)
    with pytest.warns(
        UserWarning,
        match="No threshold limits wrong decisions to 0.02 .* too many confident predictions are wrong. All rows",
    ):
        decision = Risk(0.02).calibrate(probability, random.integers(0, 3, 500))
    assert (decision.threshold_, decision.share_) == (math.inf, 0.0)
    assert decision.choose(opinion_of(np.array([[1.0, 0.0, 0.0]]))).all()
    with pytest.warns(UserWarning, match="it takes at least 149 rows, got 148"):
        Risk(0.02).calibrate(np.tile([1.0, 0.0], (148, 1)), np.zeros(148), classes=[0, 1])


def test_everything_may_be_decided():
    decision = Risk().calibrate(np.tile([0.6, 0.4], (59, 1)), np.zeros(59), classes=[0, 1])
    assert (decision.threshold_, decision.share_) == (-math.inf, 1.0)
    assert decision.choose(opinion_of(np.array([[0.5, 0.5]]))).tolist() == [[True, False]]


def test_a_row_is_decided_by_its_most_probable_class():
    random = np.random.default_rng(1)
    probability = random.dirichlet([0.1] * 4, size=3000)
    y = (random.random(3000)[:, None] > probability.cumsum(axis=1)[:, :-1]).sum(axis=1)
    decision = Risk(0.05).calibrate(probability, y)
    chosen = decision.choose(opinion_of(probability))
    decided = chosen.sum(axis=1) == 1
    assert 0.1 < decided.mean() < 0.9
    assert chosen[~decided].all()
    assert np.array_equal(chosen[decided].argmax(axis=1), probability[decided].argmax(axis=1))
    assert probability[decided].max(axis=1).min() > probability[~decided].max(axis=1).max()


@pytest.mark.parametrize("bad", [{"error": 0.0}, {"error": 1.0}, {"confidence": 1.0}, {"confidence": math.nan}])
def test_parameters_must_be_shares(bad):
    with pytest.raises(ValueError, match=r"must lie strictly between 0 and 1, got"):
        Risk(**bad).calibrate(np.tile([0.6, 0.4], (59, 1)), np.zeros(59), classes=[0, 1])


def test_deciding_before_calibrating_is_refused():
    with pytest.raises(NotFittedError, match="Risk requires calibration"):
        Risk().choose(opinion_of(np.array([[0.6, 0.4]])))


# ---- in a forest -------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def forest() -> tuple[RandomForestClassifier, np.ndarray, np.ndarray]:
    X, y = load_breast_cancer(return_X_y=True)
    return RandomForestClassifier(60, random_state=0, decision=Risk(0.05)).fit(X[::2], y[::2]), X[1::2], y[1::2]


def test_a_forest_calibrates_it_out_of_bag(forest):
    model, X, y = forest
    chosen = model.predict_set(X)
    decided = chosen.sum(axis=1) == 1
    assert 0.5 < decided.mean() < 1
    assert (model.predict(X)[decided] == y[decided]).mean() > 0.95
    assert model.predict_confidence(X)[decided].min() > model.predict_confidence(X)[~decided].max()


def test_files_hold_what_it_has_learned(forest):
    model, X, _ = forest
    file = io.BytesIO()
    hedgerow.save(model, file)
    loaded = hedgerow.load(io.BytesIO(file.getvalue()))
    assert np.array_equal(loaded.predict_set(X), model.predict_set(X))


def test_rows_set_aside_calibrate_it_too(forest):
    model, X, y = forest
    decision = Risk(0.1).calibrate(model.evidence(X).combine(), y, classes=model.classes_)
    other = clone(model).set_params(decision=decision).fit(X, y)
    assert other.predict_set(X).any(axis=1).all()
    file = io.BytesIO()
    hedgerow.save(model.set_params(decision=decision), file)
    assert hedgerow.load(io.BytesIO(file.getvalue())).decision.threshold_ == decision.threshold_
    model.set_params(decision=Risk(0.05))
