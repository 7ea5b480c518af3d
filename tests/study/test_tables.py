"""Bias, variance and instability over training tables, by hand; and the study of the lectures."""

from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.tree import DecisionTreeClassifier as TheirTree
from sklearn.tree import DecisionTreeRegressor as SklearnTree

from hedgerow import DecisionTreeClassifier, DecisionTreeRegressor, RandomForestRegressor, theory
from hedgerow.study.experiments.frame import Results
from hedgerow.study.experiments.lectures import protocol, shown, summary
from hedgerow.theory.tables import decomposed, disagreement, fits

small = st.integers(-20, 20)


class MeanOfTargets(RegressorMixin, BaseEstimator):
    """Says the mean of the training targets, whatever it is asked."""

    def fit(self, X, y):
        self.rows_, self.mean_ = len(y), float(np.mean(y))
        return self

    def predict(self, X):
        return np.full(len(X), self.mean_)


@given(
    st.lists(st.lists(small, min_size=3, max_size=3), min_size=2, max_size=5), st.lists(small, min_size=3, max_size=3)
)
def test_error_is_bias_plus_variance_in_exact_numbers(said, truth):
    tables, rows = len(said), len(truth)
    mean = [Fraction(sum(each[row] for each in said), tables) for row in range(rows)]
    error = Fraction(sum((each[row] - truth[row]) ** 2 for each in said for row in range(rows)), tables * rows)
    bias = sum((mean[row] - truth[row]) ** 2 for row in range(rows)) / rows
    variance = sum((each[row] - mean[row]) ** 2 for each in said for row in range(rows)) / (tables * rows)
    assert error == bias + variance
    found = decomposed(np.array(said, dtype=float), np.array(truth, dtype=float))
    np.testing.assert_allclose([found.error, found.bias, found.variance], [*map(float, (error, bias, variance))])
    assert np.isnan(found.disagreement)


def test_two_tables_of_two_classes_by_hand():
    said = np.array([[[1.0, 0.0], [0.5, 0.5]], [[0.0, 1.0], [0.5, 0.5]]])
    found = decomposed(said, np.array([0, 1]))
    # row 1: answers (1, 0) and (0, 1), mean (.5, .5): errors 0 and 2, bias .5, variance .5; row 2: error .5, all bias
    np.testing.assert_allclose([found.error, found.bias, found.variance], [0.75, 0.5, 0.25])
    np.testing.assert_allclose(found.errors, [0.25, 1.25])
    assert found.disagreement == 0.5


@given(st.lists(st.lists(st.integers(0, 3), min_size=4, max_size=4), min_size=2, max_size=6))
def test_disagreement_counts_pairs(labels):
    pairs = [np.mean(np.array(one) != np.array(other)) for one, other in combinations(labels, 2)]
    assert disagreement(np.array(labels)) == pytest.approx(np.mean(pairs))


def test_tables_are_parts_of_the_rows_that_are_not_for_testing():
    X, y = np.arange(90.0)[:, None], np.arange(90.0)
    seen = list(fits(MeanOfTargets(), X, y, 6, 0.5, 1 / 3, 0))
    assert {model.rows_ for model, _ in seen} == {30}
    assert len({model.mean_ for model, _ in seen}) == 6
    assert all(len(test) == 30 and (test == seen[0][1]).all() for _, test in seen)
    found = theory.bias_and_variance(MeanOfTargets(), X, y, n_tables=6)
    means = np.array([model.mean_ for model, _ in seen])
    assert found.variance == pytest.approx(means.var())
    assert found.bias == pytest.approx(np.mean((means.mean() - y[seen[0][1]]) ** 2))


def test_a_class_that_a_table_lacks_has_probability_0():
    y = np.array(["a", "b"] * 20 + ["rare"])
    found = theory.bias_and_variance(DecisionTreeClassifier(), np.arange(41.0)[:, None], y, n_tables=5, share=0.1)
    assert 0 <= found.variance <= 2
    assert found.error == pytest.approx(found.bias + found.variance)


def test_ours_and_their_trees_have_the_same_bias_and_variance():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 1))  # one feature: no ties between features to break differently
    y = (X[:, 0] + rng.normal(size=300) > 0).astype(int)
    ours, theirs = (
        theory.bias_and_variance(tree, X, y, n_tables=5) for tree in (DecisionTreeClassifier(), TheirTree())
    )
    np.testing.assert_allclose(ours[:4], theirs[:4], rtol=1e-12)


def test_bagging_lowers_the_variance_and_stumps_have_the_bias():
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(400, 3))
    y = np.sin(6 * X[:, 0]) + X[:, 1] + rng.normal(0, 0.3, 400)
    tree, bag, stump = (
        theory.bias_and_variance(model, X, y, n_tables=15)
        for model in (DecisionTreeRegressor(), RandomForestRegressor(30), DecisionTreeRegressor(max_depth=1))
    )
    assert bag.variance < 0.5 * tree.variance
    assert stump.bias > 1.5 * tree.bias
    assert stump.variance < tree.variance


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"n_tables": 1}, "n_tables"),
        ({"n_tables": 2.5}, "n_tables"),
        ({"share": 0}, "share"),
        ({"test_share": 1}, "test"),
    ],
)
def test_wrong_numbers_are_refused(wrong, said):
    with pytest.raises(ValueError, match=said):
        theory.bias_and_variance(DecisionTreeClassifier(), np.eye(9), np.arange(9) % 2, **wrong)


def test_too_few_rows_are_refused():
    with pytest.raises(ValueError, match="at least one row"):
        theory.bias_and_variance(DecisionTreeClassifier(), np.eye(2), [0, 1], share=0.1)


def test_the_tree_of_scikit_learns_example_has_its_bias_and_variance():
    """scikit-learn's page: 0.0255 = 0.0003 (bias²) + 0.0152 (variance) + 0.0098 (noise) for one tree."""
    own, theirs = (shown.parts_of_curve(make) for make in (DecisionTreeRegressor, SklearnTree))
    assert own == pytest.approx(theirs, abs=1e-12)
    assert own == pytest.approx((0.0255, 0.0003, 0.0152, 0.0098), abs=1e-4)


def test_the_bias_of_a_forest_is_that_of_one_random_tree():
    """S4: E f(x) = E T(x, Θ(Z)), so the mean over many tables is the same, whatever the number of trees."""
    rng = np.random.default_rng(0)
    X_test = np.linspace(-2, 2, 40)[:, None]
    answers = {1: [], 20: []}
    for table in range(150):
        X = rng.normal(size=(60, 1))
        y = np.sin(2 * X[:, 0]) + rng.normal(scale=0.5, size=60)
        for size, found in answers.items():
            forest = RandomForestRegressor(size, min_samples_leaf=5, random_state=table).fit(X, y)
            found.append(forest.predict(X_test))
    means = {size: np.mean(found, axis=0) for size, found in answers.items()}
    spread = np.sqrt(sum(np.var(found, axis=0) for found in answers.values()) / 150)
    assert (np.abs(means[1] - means[20]) < 4.5 * spread).all()
    assert (np.abs(means[20] - np.sin(2 * X_test[:, 0])) > 4.5 * spread).any()  # the bias is not zero


def test_the_study_of_the_lectures_from_units_to_report(data_folder, tmp_path, monkeypatch):
    """Two tables a unit: the report is written, and the errors of its table are sums of their parts."""
    done = []
    monkeypatch.setattr(shown, "TABLES", 2)
    monkeypatch.setattr(shown, "REPEATS", 2)
    for unit in protocol.plan(["sonar", "yacht"], True):
        if "figure" in unit.arguments:
            done.append((unit.arguments, protocol.work(unit.arguments, data_folder)))
        elif unit.arguments["size"] in (1, 100):
            arguments = {**unit.arguments, "tables": 2}
            done.append((arguments, protocol.work(arguments, data_folder)))
        else:  # figures need every size
            done.append(
                (unit.arguments, {"error": 0.2, "bias": 0.1, "variance": 0.1, "errors": [0.2], "disagreement": 0.1})
            )
    for arguments, result in done:
        if "figure" in arguments:
            continue
        assert result["error"] == pytest.approx(result["bias"] + result["variance"])
    report = summary.report(Results(tuple(done), {}, True))
    report.write(tmp_path)
    page = (tmp_path / "README.md").read_text(encoding="utf-8")
    assert "| sonar |" in page
    assert "| yacht |" in page
    assert len(list((tmp_path / "figures").iterdir())) == 6
