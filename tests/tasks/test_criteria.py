"""Criteria: trees split where their criterion says, stop where it says, and the limits of the papers hold."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.optimize import minimize
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.model_selection import GridSearchCV

from hedgerow import DecisionTreeClassifier, DecisionTreeRegressor, ExtraTreesClassifier, RandomForestClassifier
from hedgerow.belief import mass_from_counts, total_uncertainty
from hedgerow.criteria import CRITERIA, BeliefGain, ImpreciseGain, resolve_criterion
from hedgerow.forest.prune import pruning_path

BELIEF_CRITERIA = [
    BeliefGain(0.5),
    BeliefGain(0.9, caution=3.0),
    BeliefGain(0.3, caution=0.5),
    BeliefGain(0.6, mass="multinomial"),
    ImpreciseGain(),
    ImpreciseGain(4.0),
]


def draw_rows(n_classes: int, seed: int, n_rows: int = 60) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    rng = np.random.default_rng([seed, n_classes])
    X = np.column_stack([rng.integers(0, 6, n_rows), rng.normal(size=n_rows)]).astype(float)
    y = (X[:, 0].astype(int) + rng.integers(0, 2, n_rows)) % n_classes
    y[:n_classes] = np.arange(n_classes)
    return X, y


def best_gain(X: NDArray[np.float64], y: NDArray[np.int64], n_classes: int, criterion: Any) -> float:
    """Rows of a node -> the best gain n U - sum n_c U_c over every threshold of every feature."""
    counts = np.bincount(y, minlength=n_classes).astype(float)
    best = -np.inf
    for column in X.T:
        for threshold in np.unique(column)[:-1]:
            left = np.bincount(y[column <= threshold], minlength=n_classes).astype(float)
            best = max(best, gain_of(left, counts, criterion))
    return best


def gain_of(left: NDArray[np.float64], counts: NDArray[np.float64], criterion: Any) -> float:
    sides = np.array([counts, left, counts - left])
    left_out = criterion.impurity(sides) * sides.sum(axis=1)
    return float(left_out[0] - left_out[1] - left_out[2])


# ---- the engine against the definition ---------------------------------------------------------------------


@pytest.mark.parametrize("n_classes", [2, 3, 4])
@pytest.mark.parametrize("criterion", BELIEF_CRITERIA, ids=str)
def test_every_split_is_the_best_there_is_and_every_leaf_has_none_left(criterion: Any, n_classes: int) -> None:
    if criterion.get_params().get("mass") == "multinomial" and n_classes > 3:
        criterion = clone(criterion).set_params(alpha=0.2)
    X, y = draw_rows(n_classes, seed=1, n_rows=25 if n_classes == 4 else 60)
    tree = DecisionTreeClassifier(criterion=criterion, random_state=0).fit(X, y).tree_
    rows_of: dict[int, NDArray[np.int64]] = {0: np.arange(len(y))}
    assert tree.n_nodes > 1
    for node in range(tree.n_nodes):
        rows = rows_of[node]
        best = best_gain(X[rows], y[rows], n_classes, criterion)
        if tree.is_leaf[node]:
            assert best <= 2.0**-11 or len(set(y[rows])) == 1  # rows of one class stay together, whatever U says
            continue
        goes_left = X[rows, tree.feature[node]] <= tree.threshold[node]
        first = int(tree.first_child[node])
        rows_of[first], rows_of[first + 1] = rows[goes_left], rows[~goes_left]
        counts = np.bincount(y[rows], minlength=n_classes).astype(float)
        left = np.bincount(y[rows[goes_left]], minlength=n_classes).astype(float)
        assert gain_of(left, counts, criterion) == pytest.approx(best, abs=1e-3)  # summed in units of 2^-16 bit
        assert best > 0


@pytest.mark.parametrize("estimator", [DecisionTreeClassifier, RandomForestClassifier, ExtraTreesClassifier])
def test_lambda_zero_never_splits(estimator: Any) -> None:
    X, y = draw_rows(3, seed=2)
    model = estimator(criterion=BeliefGain(lam=0.0)).fit(X, y)
    assert all(tree.n_nodes == 1 for tree in getattr(model, "trees_", []))


@pytest.mark.parametrize("n_classes", [2, 5])
@pytest.mark.parametrize("criterion", [BeliefGain(lam=1.0, caution=1e-9), ImpreciseGain(caution=1e-9)], ids=str)
def test_without_caution_the_gain_is_that_of_information(criterion: Any, n_classes: int) -> None:
    rng = np.random.default_rng(n_classes)
    counts = rng.integers(1, 50, (40, n_classes)).astype(float)
    np.testing.assert_allclose(criterion.impurity(counts), CRITERIA["entropy"]().impurity(counts), atol=1e-6)


def test_lambda_one_without_caution_grows_the_tree_of_information_gain() -> None:
    X, y = load_iris(return_X_y=True)
    plain = DecisionTreeClassifier(criterion="entropy", random_state=0).fit(X, y)
    belief = DecisionTreeClassifier(criterion=BeliefGain(1.0, caution=1e-9), random_state=0).fit(X, y)
    np.testing.assert_array_equal(plain.forest_.nodes, belief.forest_.nodes)


def test_a_weight_of_two_splits_like_a_row_that_is_there_twice() -> None:
    X, y = draw_rows(3, seed=5)
    twice = np.arange(len(y)) % 3 == 0
    once = DecisionTreeClassifier(criterion="belief", random_state=0).fit(X, y, sample_weight=1.0 + twice)
    doubled = DecisionTreeClassifier(criterion="belief", random_state=0)
    doubled.fit(np.vstack([X, X[twice]]), np.concatenate([y, y[twice]]))
    # which of several equally good splits is made may differ, how good it is may not
    assert once.tree_.n_nodes == doubled.tree_.n_nodes
    assert once.tree_.feature[0] == doubled.tree_.feature[0]
    assert once.tree_.threshold[0] == doubled.tree_.threshold[0]


# ---- the criteria themselves -------------------------------------------------------------------------------


@given(st.lists(st.integers(0, 30), min_size=2, max_size=5), st.floats(0, 1), st.sampled_from([0.5, 1.0, 2.0]))
def test_belief_impurity_is_the_uncertainty_of_the_mass(counts: list[int], lam: float, caution: float) -> None:
    mass = mass_from_counts(counts, model="idm", caution=caution)
    closed = BeliefGain(lam, caution=caution).impurity(np.array([counts], dtype=float))[0]
    assert closed == pytest.approx(float(total_uncertainty(mass, lam)), abs=1e-12)


@given(st.lists(st.integers(0, 12), min_size=2, max_size=4), st.integers(1, 5))
def test_upper_entropy_is_the_largest_of_its_set(counts: list[int], caution: int) -> None:
    """No way to hand out the reserve, in steps of a tenth of a row, gives more entropy."""
    upper = ImpreciseGain(caution).impurity(np.array([counts], dtype=float))[0]
    rng = np.random.default_rng(0)
    poured = np.asarray(counts) + caution * rng.dirichlet(np.ones(len(counts)) * 0.5, 200)
    assert (CRITERIA["entropy"]().impurity(poured) <= upper + 1e-12).all()


def test_upper_entropy_is_what_an_optimiser_finds() -> None:
    counts, caution = np.array([5.0, 2.0, 1.0]), 2.0

    def minus_entropy(given: NDArray[np.float64]) -> float:
        return -float(CRITERIA["entropy"]().impurity((counts + given)[None])[0])

    found = minimize(
        minus_entropy,
        np.full(3, caution / 3),
        bounds=[(0, caution)] * 3,
        constraints={"type": "eq", "fun": lambda given: given.sum() - caution},
        options={"ftol": 1e-12},
    )
    assert ImpreciseGain(caution).impurity(counts[None])[0] == pytest.approx(-found.fun, abs=1e-6)


def test_upper_entropy_of_few_rows_by_hand() -> None:
    # (3, 1) and two rows to pour: both go to the smaller class and level it
    assert ImpreciseGain(2.0).impurity(np.array([[3.0, 1.0]]))[0] == 1.0
    # (3, 0) and one row: 3/4 and 1/4
    share = [Fraction(3, 4), Fraction(1, 4)]
    entropy = -sum(float(p) * np.log2(float(p)) for p in share)
    assert ImpreciseGain(1.0).impurity(np.array([[3.0, 0.0]]))[0] == pytest.approx(entropy, abs=1e-15)


# ---- parameters ----------------------------------------------------------------------------------------------


def test_lambda_is_chosen_by_the_rows_held_out() -> None:
    X, y = load_iris(return_X_y=True)
    model = DecisionTreeClassifier(criterion=BeliefGain(lam="auto"), min_samples_leaf=10, random_state=0).fit(X, y)
    assert model.criterion_.lam in (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
    assert model.criterion.lam == "auto"
    again = DecisionTreeClassifier(criterion=model.criterion_, min_samples_leaf=10, random_state=0).fit(X, y)
    np.testing.assert_array_equal(model.forest_.nodes, again.forest_.nodes)


def test_lambda_that_overfits_is_not_chosen() -> None:
    """Labels that no feature explains: a criterion that splits more predicts held-out rows worse."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(200, 5)), (rng.random(200) < 0.15).astype(int)
    chosen = DecisionTreeClassifier(criterion=BeliefGain(lam="auto", caution=5.0), random_state=0).fit(X, y)
    eager = DecisionTreeClassifier(criterion=BeliefGain(lam=1.0, caution=0.01), random_state=0).fit(X, y)
    assert chosen.tree_.n_nodes < eager.tree_.n_nodes


def test_grid_search_reaches_the_parameters_of_a_criterion() -> None:
    X, y = load_iris(return_X_y=True)
    search = GridSearchCV(DecisionTreeClassifier(criterion=BeliefGain()), {"criterion__lam": [0.0, 0.8]}, cv=3)
    assert search.fit(X, y).best_params_ == {"criterion__lam": 0.8}


@pytest.mark.parametrize(
    ("criterion", "message"),
    [
        (BeliefGain(lam=1.5), "lam must lie in"),
        (BeliefGain(lam="best"), "lam must lie in"),
        (BeliefGain(mass="dabt"), "mass must be None, 'idm' or 'multinomial', got 'dabt'"),
        (BeliefGain(caution=-1), "caution must be a finite non-negative number, got -1"),
        (BeliefGain(mass="multinomial", alpha=1.0), "alpha must lie between 0 and 1"),
        (ImpreciseGain(caution=float("nan")), "caution must be a finite non-negative number"),
        ("mse", "criterion must be a Criterion or one of"),
    ],
)
def test_parameters_out_of_range_are_refused(criterion: Any, message: str) -> None:
    X, y = draw_rows(2, seed=1)
    with pytest.raises(ValueError, match=message):
        DecisionTreeClassifier(criterion=criterion).fit(X, y)
    with pytest.raises(ValueError, match=message):
        resolve_criterion(criterion)


def test_a_belief_tree_is_pruned_along_its_own_gains() -> None:
    X, y = draw_rows(3, seed=3)
    criterion = BeliefGain(0.9, caution=0.5)
    model = DecisionTreeClassifier(criterion=criterion, random_state=0).fit(X, y)
    steps = list(pruning_path(model.tree_, criterion))
    alphas = [step.alpha for step in steps]
    assert alphas == sorted(alphas)
    assert steps[-1].node == 0
    counts = np.bincount(y).astype(float)
    assert steps[-1].impurity == pytest.approx(float(criterion.impurity(counts[None])[0]))
    pruned = DecisionTreeClassifier(criterion=criterion, ccp_alpha=alphas[len(alphas) // 2], random_state=0).fit(X, y)
    assert 1 < pruned.tree_.n_nodes < model.tree_.n_nodes


@pytest.mark.parametrize("criterion", ["gini", "entropy", "belief", "squared_error"])
def test_a_split_gains_enough_in_its_own_node(criterion):
    """S2's β for CART: the gain of the node itself, however few of the rows it has."""
    rng = np.random.default_rng(5)
    X = rng.normal(size=(300, 4))
    y = np.where(X[:, 0] > 1.3, X[:, 1] > 0, X[:, 0] > 0) ^ (rng.random(300) < 0.05)  # a rule for few rows, and noise
    y = y.astype(int)
    kind = DecisionTreeRegressor if criterion == "squared_error" else DecisionTreeClassifier
    full = kind(criterion=criterion, random_state=0).fit(X, y).tree_
    least = gains_of(full)[0] / 4
    limited = kind(criterion=criterion, min_gain=least, random_state=0).fit(X, y).tree_
    assert gains_of(full).min() < least <= gains_of(limited).min() + 1e-4
    assert 1 < limited.n_nodes < full.n_nodes
    of_few_rows = gains_of(limited) * limited.n_node_samples[~limited.is_leaf] / 300
    assert of_few_rows.min() < least  # min_impurity_decrease would not allow them


def gains_of(tree):
    """Impurity of each split node, minus the mean of its children by their rows."""
    inner = np.flatnonzero(~tree.is_leaf)
    left = tree.first_child[inner]
    rows, impurity = tree.n_node_samples, tree.impurity
    below = rows[left] * impurity[left] + rows[left + 1] * impurity[left + 1]
    return impurity[inner] - below / rows[inner]


@pytest.mark.parametrize("criterion", ["gini", "entropy"])
@pytest.mark.parametrize("n_classes", [2, 4])
def test_binary_subsets_reach_the_gain_of_a_split_into_every_value(criterion, n_classes):
    """The lectures' split of a nominal column into V children, against all subset splits of a tree on that column."""
    rng = np.random.default_rng(n_classes)
    shares = rng.dirichlet(np.ones(n_classes), 7)
    values = np.concatenate([np.arange(7), rng.integers(0, 7, 300)])
    y = np.array([rng.choice(n_classes, p=shares[value]) for value in values])
    tree = DecisionTreeClassifier(criterion=criterion, categorical_features=[0], random_state=0)
    tree = tree.fit(values[:, None].astype(float), y).tree_
    rows = tree.n_node_samples[~tree.is_leaf]
    counts = np.array([np.bincount(y[values == value], minlength=n_classes) for value in range(7)], dtype=float)
    impurity = resolve_criterion(criterion).impurity
    multiway = impurity(counts.sum(axis=0)[None])[0] - counts.sum(axis=1) @ impurity(counts) / len(y)
    assert rows @ gains_of(tree) / len(y) == pytest.approx(multiway, abs=1e-4)
