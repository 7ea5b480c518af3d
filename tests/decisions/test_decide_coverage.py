"""The promised coverage is kept, and where it cannot be, the user is told."""

from __future__ import annotations

import warnings
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from tests.reference.decide import PlainOpinion

from hedgerow.decisions import Coverage, rows_needed


def opinion_of(probability: np.ndarray) -> PlainOpinion:
    """(n, K) -> an opinion with these probabilities and vacuous bounds."""
    return PlainOpinion(np.zeros_like(probability), np.ones_like(probability), probability)


def draw(random: np.random.Generator, n_rows: int) -> tuple[np.ndarray, np.ndarray]:
    """n -> (n, 3), (n,): probabilities, and classes drawn from them."""
    probability = random.dirichlet(np.ones(3), size=n_rows)
    return probability, (random.random(n_rows)[:, None] > probability.cumsum(axis=1)[:, :-1]).sum(axis=1)


@pytest.mark.parametrize("score", ["lac", "aps"])
@pytest.mark.parametrize(("n_rows", "target"), [(99, 0.9), (30, 0.8)])
def test_coverage_is_the_promised_one_within_three_standard_errors(score, n_rows, target):
    random = np.random.default_rng(7)
    covered = []
    for _ in range(400):
        decision = Coverage(target, score=score).calibrate(*draw(random, n_rows), classes=range(3))
        probability, y = draw(random, 100)
        chosen = decision.choose(opinion_of(probability))
        covered.append(chosen[np.arange(100), y].mean())
    exact = np.ceil((n_rows + 1) * target - 1e-9) / (n_rows + 1)
    assert np.mean(covered) == pytest.approx(exact, abs=3 * np.std(covered) / np.sqrt(len(covered)))
    assert exact >= target


def rare_class(random: np.random.Generator, n_rows: int) -> tuple[np.ndarray, np.ndarray]:
    """n -> (n, 2), (n,): two overlapping classes, one in ten rows is of the second, true probabilities."""
    y = (random.random(n_rows) < 0.1).astype(int)
    x = random.normal(2.0 * y)
    odds = np.exp(2 * x - 2) / 9
    return np.column_stack([1 / (1 + odds), odds / (1 + odds)]), y


def covered_by_class(per_class: bool) -> tuple[np.ndarray, np.ndarray]:
    """-> mean coverage of each class over calibrations, and its standard error, (2,) each."""
    random, covered = np.random.default_rng(8), []
    for _ in range(200):
        decision = Coverage(0.8, per_class=per_class).calibrate(*rare_class(random, 200), classes=[0, 1])
        probability, y = rare_class(random, 1000)
        hit = decision.choose(opinion_of(probability))[np.arange(1000), y]
        covered.append([hit[y == label].mean() for label in (0, 1)])
    return np.mean(covered, axis=0), np.std(covered, axis=0) / np.sqrt(len(covered))


def test_per_class_keeps_the_promise_within_each_class():
    mean, error = covered_by_class(per_class=True)
    assert (mean >= 0.8 - 3 * error).all()


def test_one_threshold_for_all_breaks_the_promise_within_a_rare_class():
    mean, error = covered_by_class(per_class=False)
    assert mean[1] < 0.8 - 10 * error[1]
    assert mean @ [0.9, 0.1] >= 0.8 - 3 * error.max()


def noisy_groups(random: np.random.Generator, n_rows: int) -> tuple[SimpleNamespace, np.ndarray]:
    """n -> an opinion and classes (n,): in the second of two groups, a fifth of the rows, labels are often others."""
    probability, y = draw(random, n_rows)
    groups = (random.random(n_rows) < 0.2).astype(int)
    y = np.where((groups == 1) & (random.random(n_rows) < 0.5), probability.argmin(axis=1), y)
    return SimpleNamespace(**vars(opinion_of(probability)), groups=groups), y


def covered_by_group(**options) -> tuple[np.ndarray, np.ndarray]:
    """-> mean coverage of each group over calibrations, and its standard error, (2,) each."""
    random, covered = np.random.default_rng(9), []
    for _ in range(200):
        decision = Coverage(0.9, **options).calibrate(*noisy_groups(random, 495), classes=range(3))
        opinion, y = noisy_groups(random, 1000)
        hit = decision.choose(opinion)[np.arange(1000), y]
        covered.append([hit[opinion.groups == group].mean() for group in (0, 1)])
    return np.mean(covered, axis=0), np.std(covered, axis=0) / np.sqrt(len(covered))


@pytest.mark.parametrize("options", [{}, {"score": "aps"}, {"per_class": True}])
def test_with_groups_the_promise_is_kept_within_each_group(options):
    mean, error = covered_by_group(groups="ward", **options)
    assert (mean >= 0.9 - 2 * error).all()
    most = 0.9 + (3 if "per_class" in options else 1) / (495 * np.array([0.7, 0.1]))  # ranks are rounded up
    assert (mean <= most + 2 * error).all() or options.get("score") == "aps"  # where sets would be empty


def test_one_threshold_for_all_breaks_the_promise_within_a_noisy_group():
    mean, error = covered_by_group()
    assert mean[1] < 0.9 - 10 * error[1]


def test_a_group_of_few_rows_has_the_threshold_of_all_and_this_is_said():
    opinion, y = noisy_groups(np.random.default_rng(3), 200)
    groups = np.where(np.arange(200) < 5, "small", np.where(opinion.groups, "noisy", "calm"))
    opinion.groups = groups
    with pytest.warns(UserWarning, match="in each group: it takes at least 9 rows, got 5 in 'small'. These"):
        decision = Coverage(0.9, groups="ward").calibrate(opinion, y, classes=range(3))
    plain = Coverage(0.9).calibrate(opinion, y, classes=range(3))
    assert decision.groups_ == ["calm", "noisy", "small"]
    assert decision.group_rows_[:, 0].tolist() == [np.sum(groups == name) for name in decision.groups_]
    np.testing.assert_array_equal(decision.group_threshold_[2], plain.threshold_)
    assert decision.group_threshold_[0, 0] < plain.threshold_[0] < decision.group_threshold_[1, 0]
    opinion.groups = np.full(200, "never seen")
    np.testing.assert_array_equal(decision.choose(opinion), plain.choose(opinion))


def test_each_group_is_calibrated_as_if_it_were_alone():
    opinion, y = noisy_groups(np.random.default_rng(4), 300)
    decision = Coverage(0.8, per_class=True, groups=0).calibrate(opinion, y, classes=range(3))
    chosen = decision.choose(opinion)
    for group in (0, 1):
        rows = opinion.groups == group
        alone = Coverage(0.8, per_class=True).calibrate(opinion.probability[rows], y[rows], classes=range(3))
        np.testing.assert_array_equal(chosen[rows], alone.choose(opinion_of(opinion.probability[rows])))


def test_an_opinion_without_groups_is_refused_before_anything_is_learned():
    decision = Coverage(0.8, groups="ward")
    with pytest.raises(ValueError, match=r"opinion\.groups must have the shape \(50,\) for Coverage"):
        decision.calibrate(*draw(np.random.default_rng(3), 50))
    assert not decision.is_ready
    plain = Coverage(0.8).calibrate(*draw(np.random.default_rng(3), 50))
    assert not plain.set_params(groups="ward").is_ready


def test_the_threshold_is_the_order_statistic():
    probability = np.column_stack([np.linspace(0.01, 0.99, 99), 1 - np.linspace(0.01, 0.99, 99)])
    decision = Coverage(0.9).calibrate(probability, np.zeros(99, dtype=int), classes=[0, 1])
    assert decision.threshold_ == pytest.approx([0.9, 0.9])
    assert decision.n_rows_.tolist() == [99, 99]


def test_rounding_of_the_target_asks_for_no_further_row():
    assert (24 + 1) * 0.56 > 14
    own = np.linspace(0.04, 0.96, 24)
    decision = Coverage(0.56).calibrate(np.column_stack([own, 1 - own]), np.zeros(24), classes=[0, 1])
    assert decision.threshold_ == pytest.approx([np.sort(1 - own)[14 - 1]] * 2)


def test_aps_scores_the_probability_of_the_classes_before():
    probability = np.array([[0.5, 0.3, 0.2]] * 4)
    decision = Coverage(0.8, score="aps").calibrate(probability, [0, 0, 1, 2])
    assert decision.threshold_ == pytest.approx([0.8] * 3)
    new = opinion_of(np.array([[0.6, 0.3, 0.1], [0.05, 0.85, 0.1]]))
    assert decision.choose(new).tolist() == [[True, True, False], [False, True, False]]


def test_calibrating_on_an_opinion_is_calibrating_on_its_probability():
    probability, y = draw(np.random.default_rng(1), 60)
    a = Coverage(0.8).calibrate(probability, y)
    b = Coverage(0.8).calibrate(opinion_of(probability), y)
    assert np.array_equal(a.threshold_, b.threshold_)


def test_labels_may_be_of_any_kind_and_order():
    probability, y = draw(np.random.default_rng(2), 200)
    plain = Coverage(0.8, per_class=True).calibrate(probability, y)
    names = np.array(["wolf", "ant", "bee"])
    named = Coverage(0.8, per_class=True).calibrate(probability, names[y], classes=names)
    assert np.array_equal(plain.threshold_, named.threshold_)
    assert len(set(plain.threshold_)) == 3


def test_the_fewest_rows_for_a_promise_are_told_apart_from_one_less():
    assert rows_needed(0.95) == 19
    probability = np.tile([0.7, 0.3], (19, 1))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        enough = Coverage(0.95).calibrate(probability, np.zeros(19), classes=[0, 1])
    assert np.isfinite(enough.threshold_).all()
    with pytest.warns(UserWarning, match=r"Too few rows for a coverage of 0.95: it takes at least 19"):
        few = Coverage(0.95).calibrate(probability[1:], np.zeros(18), classes=[0, 1])
    assert few.choose(opinion_of(np.array([[1.0, 0.0]]))).all()


@pytest.mark.parametrize("target", [0.1, 0.3, 0.5, 0.7, 0.8, 0.9, 0.95, 0.99, 0.999])
def test_rows_needed_is_the_least_number_that_gives_a_threshold(target):
    needed = rows_needed(target)
    probability = np.tile([0.7, 0.3], (needed, 1))
    decision = Coverage(target).calibrate(probability, np.zeros(needed), classes=[0, 1])
    assert np.isfinite(decision.threshold_).all()
    with pytest.warns(UserWarning, match="Too few rows"):
        Coverage(target).calibrate(probability[1:], np.zeros(needed - 1), classes=[0, 1])


def test_per_class_names_the_classes_that_are_too_rare():
    probability, y = np.tile([0.5, 0.3, 0.2], (40, 1)), np.array(["a"] * 30 + ["b"] * 10)
    words = r"at least 19 rows of each class, got 10 of class 'b', 0 of class 'c'. These classes"
    with pytest.warns(UserWarning, match=words):
        decision = Coverage(0.95, per_class=True).calibrate(probability, y, classes=["a", "b", "c"])
    assert np.isinf(decision.threshold_).tolist() == [False, True, True]
    assert decision.n_rows_.tolist() == [30, 10, 0]


def test_a_set_is_never_empty():
    sure = np.tile([0.99, 0.01], (50, 1))
    decision = Coverage(0.9).calibrate(sure, np.zeros(50), classes=[0, 1])
    unsure = np.array([[0.4, 0.6], [0.5, 0.5]])
    assert not (1 - unsure <= decision.threshold_).any(), "the case must leave no class by itself"
    assert decision.choose(opinion_of(unsure)).tolist() == [[False, True], [True, False]]


def test_deciding_before_calibrating_is_refused():
    with pytest.raises(NotFittedError, match="Coverage requires calibration"):
        Coverage().choose(opinion_of(np.array([[0.5, 0.5]])))


def test_a_clone_has_to_be_calibrated_again():
    decision = Coverage(0.8, score="aps").calibrate(*draw(np.random.default_rng(3), 50))
    with pytest.raises(NotFittedError):
        clone(decision).choose(opinion_of(np.array([[0.2, 0.3, 0.5]])))


def test_another_number_of_classes_is_refused():
    decision = Coverage(0.8).calibrate(*draw(np.random.default_rng(3), 50))
    with pytest.raises(ValueError, match="the 3 classes of the calibration, got 2"):
        decision.choose(opinion_of(np.array([[0.5, 0.5]])))


@pytest.mark.parametrize(
    ("decision", "y", "words"),
    [
        (Coverage(1.0), [0, 1], "target must lie strictly between 0 and 1, got 1.0"),
        (Coverage(95), [0, 1], "target must lie strictly between 0 and 1, got 95"),
        (Coverage(0.5, score="raps"), [0, 1], "score must be 'lac' or 'aps', got 'raps'"),
        (Coverage(0.5), [0, 1, 1], "one label for each of the 2 rows, got 3"),
        (Coverage(0.5), [0, 0], "Pass classes=estimator.classes_"),
    ],
)
def test_calibrations_that_make_no_sense_are_refused(decision, y, words):
    with pytest.raises(ValueError, match=words):
        decision.calibrate([[0.5, 0.5], [0.4, 0.6]], y)
