"""U_λ of continuous targets: hand values, the engine against its twin, and where trees stop."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.estimators.test_regress import assert_trees_equal_their_twins
from tests.reference.tables import draw_case

import hedgerow
from hedgerow import DecisionTreeRegressor, ExtraTreesRegressor, RandomForestRegressor
from hedgerow.criteria import LAMBDAS, BeliefVariance
from hedgerow.inference.fitted import fitted_of
from hedgerow.tasks.regression.target import numbers_on_grid

Floats = NDArray[np.float64]


def moments_of(y: Any) -> Floats:
    return np.array([[len(y), np.mean(y), np.var(y)]])


def noise(n_rows: int = 200, seed: int = 0) -> tuple[Floats, Floats]:
    rng = np.random.default_rng(seed)
    return rng.uniform(size=(n_rows, 5)), rng.normal(size=n_rows)


# ---- the formula ---------------------------------------------------------------------------------------------


def test_hand_value() -> None:
    criterion = BeliefVariance(lam=0.5, caution=2.0, low=1, high=10)
    assert criterion.impurity(moments_of([1, 2, 3, 4, 10])) == pytest.approx(7.658163, abs=5e-7)


@pytest.mark.parametrize("caution", [0.3, 1.0, 4.0])
def test_the_variance_is_that_of_drawn_rows(caution: float) -> None:
    """The pignistic distribution has atoms of 1 / (n + s) and a uniform part, here integrated on a fine grid."""
    y = np.array([0.5, 1.0, 1.5, 4.0])
    low, high, cells = 0.0, 6.0, 60_000
    middles = low + (np.arange(cells) + 0.5) * (high - low) / cells
    values, weights = np.append(y, middles), np.append(np.ones(4), np.full(cells, caution / cells))
    mean = np.average(values, weights=weights)
    variance = np.average((values - mean) ** 2, weights=weights)
    found = BeliefVariance(1.0, caution, low, high).impurity(moments_of(y))
    assert found == pytest.approx(variance, rel=1e-8)


def test_imprecision_is_the_largest_variance_of_an_unknown_share() -> None:
    found = BeliefVariance(0.0, 2.0, -1, 3).impurity(moments_of([0, 1, 2]))
    assert found == pytest.approx(2 / 5 * 4)


def test_an_empty_node_is_unknown() -> None:
    assert BeliefVariance(0.5, 1.0, 0, 2).impurity(np.array([[0, 1.0, 0.0]])) == pytest.approx(0.5 + 0.5 / 3)


# ---- the engine ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("splitter", ["best", "random"])
@pytest.mark.parametrize("seed", range(8))
def test_trees_equal_their_twins(seed: int, splitter: str) -> None:
    case = draw_case(seed, 2, splitter, "gini")
    rng = np.random.default_rng(seed)
    y = rng.normal(size=len(case.X)) + 3 * (np.nan_to_num(case.X[:, 0], posinf=3, neginf=1) > 1)
    weights = rng.integers(1, 4, len(y)).astype(float) if seed % 2 else None
    criterion = BeliefVariance(rng.choice([0.3, 0.7, 0.95, 1.0]), rng.choice([0.1, 1.0, 3.0])).over(
        y.min(), y.max() + 1
    )
    labels: Any = numbers_on_grid(y, weights)
    settings = replace(case.settings, criterion=criterion, leaf_counts="inbag")
    assert_trees_equal_their_twins(replace(case, labels=labels, settings=settings))


def test_without_caution_it_is_cart() -> None:
    rng = np.random.default_rng(1)
    X = rng.uniform(size=(300, 4))
    y = 10 * np.sin(np.pi * X[:, 0] * X[:, 1]) + rng.normal(size=300)
    cart = DecisionTreeRegressor(random_state=0).fit(X, y)
    ours = DecisionTreeRegressor(criterion=BeliefVariance(1.0, caution=1e-9), random_state=0).fit(X, y)
    assert ours.predict(X).tolist() == cart.predict(X).tolist()
    fresh = rng.uniform(size=(500, 4))
    assert ours.predict(fresh).tolist() == cart.predict(fresh).tolist()


@pytest.mark.parametrize("lam", [0.1, 0.2, 0.3])
def test_pure_noise_is_one_leaf(lam: float) -> None:
    X, y = noise()
    criterion = BeliefVariance(lam, caution=1.0)
    assert DecisionTreeRegressor(criterion=criterion, random_state=0).fit(X, y).get_n_leaves() == 1


def test_more_variance_grows_more_leaves() -> None:
    X, y = noise()
    y = y + 3 * X[:, 0]
    leaves = [
        DecisionTreeRegressor(criterion=BeliefVariance(lam), random_state=0).fit(X, y).get_n_leaves()
        for lam in (0.0, 0.3, 0.6, 1.0)
    ]
    assert leaves == sorted(leaves)
    assert leaves[0] == 1
    assert leaves[-1] > 10


def test_the_scale_of_targets_does_not_matter() -> None:
    X, y = noise()
    y = y + 3 * X[:, 0]
    trees = [
        DecisionTreeRegressor(criterion="belief", random_state=0).fit(X, 2.0**power * y) for power in (-300, 0, 300)
    ]
    assert trees[1].get_n_leaves() > 1
    assert [tree.predict(X).tolist() for tree in trees] == [
        (2.0**power * trees[1].predict(X)).tolist() for power in (-300, 0, 300)
    ]


def test_the_scale_of_weights_does_not_matter() -> None:
    X, y = noise()
    weights = np.random.default_rng(3).integers(1, 4, len(y)).astype(float)
    small, large = (
        DecisionTreeRegressor(criterion=BeliefVariance(0.8), random_state=0).fit(X, y + 3 * X[:, 0], scale * weights)
        for scale in (1.0, 1024.0)
    )
    assert small.predict(X).tolist() == large.predict(X).tolist()


# ---- estimators ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [RandomForestRegressor, ExtraTreesRegressor])
def test_forests(kind: Any, tmp_path: Any) -> None:
    X, y = noise(300)
    y = y + 5 * X[:, 0]
    forest = kind(10, criterion="belief", bootstrap=True, oob_score=True, random_state=0).fit(X, y)
    assert forest.score(X, y) > 0.5
    assert forest.criterion_.get_params() == {"lam": 0.5, "caution": 0.03, "low": y.min(), "high": y.max()}
    assert forest.feature_importances_.argmax() == 0
    path = tmp_path / "m.hedge"
    hedgerow.save(forest, path)
    loaded = hedgerow.load(path)
    assert loaded.predict(X).tolist() == forest.predict(X).tolist()
    assert loaded.criterion_.get_params() == forest.criterion_.get_params()
    assert loaded.feature_importances_.tolist() == forest.feature_importances_.tolist()


def test_impurities_of_nodes_are_uncertainties() -> None:
    X, y = noise(100)
    y = y + 5 * X[:, 0]
    tree = DecisionTreeRegressor(criterion=BeliefVariance(0.8, 2.0), random_state=0).fit(X, y)
    fitted = fitted_of(tree)
    root = fitted.forest.evidence.at_nodes(fitted.forest.structure).impurity(fitted.criterion)[0]
    assert root == pytest.approx(BeliefVariance(0.8, 2.0, y.min(), y.max()).impurity(moments_of(y))[0])


def test_lam_is_chosen_by_cross_validation() -> None:
    X, y = noise(120)
    idle = RandomForestRegressor(5, criterion=BeliefVariance("auto"), random_state=0).fit(X, y)
    busy = RandomForestRegressor(5, criterion=BeliefVariance("auto"), random_state=0).fit(X, 20 * X[:, 0])
    assert idle.criterion_.lam in LAMBDAS
    assert idle.criterion_.lam < busy.criterion_.lam


def test_a_warm_start_keeps_the_chosen_lam() -> None:
    X, y = noise(60)
    forest = RandomForestRegressor(3, criterion=BeliefVariance("auto"), warm_start=True, random_state=0).fit(X, y)
    lam = forest.criterion_.lam
    assert forest.set_params(n_estimators=5).fit(X, y).criterion_.lam == lam


@pytest.mark.parametrize(
    ("criterion", "message"),
    [
        (BeliefVariance(2), "lam must lie in"),
        (BeliefVariance(caution=-1), "caution must be"),
        (BeliefVariance(low=3, high=1), "low must be at most high"),
        (BeliefVariance(low="a"), "low must be a finite number"),  # type: ignore[arg-type]
        (BeliefVariance(low=100), "must enclose the targets"),
        ("entropy", "or a BeliefVariance, got"),
        (hedgerow.criteria.BeliefGain(), "or a BeliefVariance, got"),
    ],
)
def test_wrong_criteria(criterion: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        DecisionTreeRegressor(criterion=criterion).fit(*noise(20))


def test_it_is_not_for_classes_nor_several_outputs() -> None:
    X, y = noise(20)
    with pytest.raises(ValueError, match="criterion must be a Criterion or one of"):
        hedgerow.DecisionTreeClassifier(criterion=BeliefVariance()).fit(X, y > 0)
    with pytest.raises(ValueError, match="for multi-output y"):
        DecisionTreeRegressor(criterion="belief").fit(X, np.column_stack([y, y]))
