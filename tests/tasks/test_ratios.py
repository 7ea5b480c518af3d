"""Gain ratios, ordered classes and corrected entropies: splits by hand, by a plain search, and their limits."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.special import psi

from hedgerow import DecisionTreeClassifier, RandomForestClassifier
from hedgerow.belief import lower_entropy, mass_from_counts, total_uncertainty, upper_entropy
from hedgerow.criteria import CRITERIA, BeliefGain, CredalC45, Criterion, Entropy, GainRatio, ImpreciseGain

Floats = NDArray[np.float64]


def entropy(amounts: Floats) -> float:
    share = amounts[amounts > 0] / amounts.sum()
    return float(-(share * np.log2(share)).sum())


def search(
    X: Floats, y: NDArray[np.int64], criterion: Criterion, n_classes: int
) -> list[tuple[float, float, int, float]]:
    """Rows -> for each feature the largest gain, its ratio, the feature and the last value that goes left."""
    found = []
    whole = np.bincount(y, minlength=n_classes).astype(float)
    for feature, column in enumerate(X.T):
        best: tuple[float, float, int, float] | None = None
        for value in np.unique(column)[:-1]:
            left = np.bincount(y[column <= value], minlength=n_classes).astype(float)
            sides = np.array([whole, left, whole - left])
            whole_impurity, *impurities = criterion.impurity(sides)
            side = sides[1:].sum(axis=1) + criterion.split_caution * (np.arange(2) == np.argmax(impurities))
            gain = float(len(y) * (whole_impurity - side @ impurities / side.sum()))
            ratio = gain / (len(y) * entropy(sides[1:].sum(axis=1)))
            if best is None or gain > best[0] + 1e-9:
                best = (gain, ratio, feature, float(value))
        if best is not None:
            found.append(best)
    return found


def rows_of(seed: int, n_classes: int = 3, n_rows: int = 70) -> tuple[Floats, NDArray[np.int64]]:
    rng = np.random.default_rng([seed, n_classes])
    X = np.column_stack([rng.integers(0, 3, n_rows), rng.integers(0, 12, n_rows), rng.normal(size=n_rows)])
    y = (X[:, 0] + (X[:, 2] > 0.8) + rng.integers(0, 2, n_rows)).astype(int) % n_classes
    y[:n_classes] = np.arange(n_classes)
    return X.astype(float), y


@pytest.mark.parametrize("criterion", [GainRatio(), CredalC45(), CredalC45(3.0, pessimism=0.4)], ids=str)
@pytest.mark.parametrize("n_classes", [2, 3])
def test_every_split_has_the_best_ratio_among_those_with_average_gain(criterion: Any, n_classes: int) -> None:
    X, y = rows_of(4, n_classes)
    tree = DecisionTreeClassifier(criterion=criterion, random_state=0).fit(X, y).tree_
    by_gain = DecisionTreeClassifier(criterion=ImpreciseGain(*criterion.get_params().values()), random_state=0)
    reached: dict[int, NDArray[np.int64]] = {0: np.arange(len(y))}
    for node in range(tree.n_nodes):
        rows = reached[node]
        rivals = [each for each in search(X[rows], y[rows], criterion, n_classes) if each[0] > 2.0**-12]
        if tree.is_leaf[node]:
            assert not rivals or len(set(y[rows])) == 1
            continue
        average = np.mean([each[0] for each in rivals])
        ratio = max(each[1] for each in rivals if each[0] >= average - 1e-9)
        goes_left = X[rows, tree.feature[node]] <= tree.threshold[node]
        own = next(each for each in rivals if each[2] == tree.feature[node])
        assert own[1] == pytest.approx(ratio, abs=1e-9)
        assert own[0] >= average - 1e-9
        first = int(tree.first_child[node])
        reached[first], reached[first + 1] = rows[goes_left], rows[~goes_left]
    assert tree.n_nodes > 5
    assert not np.array_equal(by_gain.fit(X, y).forest_.nodes, tree.nodes)


def test_a_ratio_prefers_what_divides_less_by_hand() -> None:
    """Eight rows, two features that separate some of them: gains .549 and .467 bit, ratios .549 and .576.

    The first puts 4 rows left, (3, 1), and 4 right, (0, 4): gain .954 - .5 * .811 = .549, split information 1. The
    second puts 2 left, (2, 0), and 6 right, (1, 5): gain .954 - .75 * .650 = .467, split information .811.
    """
    y = np.array([0, 0, 0, 1, 1, 1, 1, 1])
    X = np.column_stack([[0, 0, 0, 0, 1, 1, 1, 1], [0, 0, 1, 1, 1, 1, 1, 1]]).astype(float)
    # the second gains less than the average, so it does not compete, whatever its ratio is
    assert DecisionTreeClassifier(criterion="gain_ratio", max_depth=1).fit(X, y).tree_.feature[0] == 0
    noise = np.array([0, 1, 1, 0, 0, 1, 1, 1.0])  # (2, 1) and (1, 4): gain .159, which lowers the average
    wider = np.column_stack([X, noise])
    assert DecisionTreeClassifier(criterion="gain_ratio", max_depth=1).fit(wider, y).tree_.feature[0] == 1
    assert DecisionTreeClassifier(criterion="entropy", max_depth=1).fit(wider, y).tree_.feature[0] == 0


def test_the_values_of_a_feature_are_imprecise_too_by_hand() -> None:
    """Classes (3, 5), split into (3, 1) and (0, 4), s = 1: the mixed side has the probability 5/9, the pure one 4/9.

    Largest entropies, with one row added to the smaller class: .9911 of (4, 5), .9710 of (3, 2) and .7219 of (1, 4).
    The gain is .9911 - 5/9 * .9710 - 4/9 * .7219 = .1308 bit; by frequency it would be .1446. Both sides have four
    rows, so the split information is 1.
    """
    X, y = np.repeat([[0.0], [1.0]], 4, axis=0), np.array([0, 0, 0, 1, 1, 1, 1, 1])
    for criterion, gain in [(CredalC45(), 0.1308), (GainRatio(caution=1.0), 0.1446)]:
        [(found, ratio, *_)] = search(X, y, criterion, 2)
        assert found / 8 == ratio == pytest.approx(gain, abs=1e-4)


def test_a_side_that_is_larger_and_less_pure_counts_more_than_by_frequency() -> None:
    """Some roots differ from those by frequency, and then each is the best by its own definition."""
    n_differ = 0
    for seed in range(60):
        rng = np.random.default_rng(seed)
        X, y = rng.integers(0, 4, (24, 5)).astype(float), rng.integers(0, 3, 24)
        roots = []
        for criterion in (CredalC45(2.0), GainRatio(caution=2.0)):
            tree = DecisionTreeClassifier(criterion=criterion, max_depth=1, random_state=0).fit(X, y).tree_
            rivals = [each for each in search(X, y, criterion, 3) if each[0] > 2.0**-12]
            least = np.mean([each[0] for each in rivals]) - 1e-9 if rivals else 0
            best = max((each for each in rivals if each[0] >= least), key=lambda each: each[1], default=None)
            assert (best is None) == bool(tree.is_leaf[0])
            own = next((each for each in rivals if each[2] == tree.feature[0]), None)
            assert best is None or (own is not None and own[1] == pytest.approx(best[1], abs=1e-9))
            roots.append(None if best is None else (int(tree.feature[0]), float(tree.threshold[0])))
        n_differ += roots[0] != roots[1]
    assert n_differ > 0


def test_nominal_columns_and_missing_values_compete_by_ratio_too() -> None:
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.integers(0, 5, 200), rng.normal(size=200)]).astype(float)
    y = np.isin(X[:, 0], [1, 3]).astype(int)
    X[rng.random(200) < 0.2, 1] = np.nan
    model = RandomForestClassifier(20, criterion="gain_ratio", categorical_features=[0], random_state=0).fit(X, y)
    assert model.score(X, y) == 1.0
    again = RandomForestClassifier(20, criterion="gain_ratio", categorical_features=[0], random_state=0, n_jobs=2)
    np.testing.assert_array_equal(model.forest_.nodes, again.fit(X, y).forest_.nodes)


def test_split_caution_of_a_criterion_in_python_is_that_of_the_core() -> None:
    class Plain(CredalC45):
        name = "plain"

        def impurity(self, counts: Floats) -> Floats:
            return super().impurity(counts)

    X, y = rows_of(7)
    for weight in (None, np.where(y == 1, 2.0, 0.5)):
        one, other = (
            DecisionTreeClassifier(criterion=each, random_state=0).fit(X, y, sample_weight=weight)
            for each in (Plain(), CredalC45())
        )
        np.testing.assert_array_equal(one.forest_.nodes, other.forest_.nodes)


def test_a_criterion_in_python_competes_by_ratio_like_the_core() -> None:
    class Plain(Criterion):
        name = "plain"
        by_ratio = True

        def impurity(self, counts: Floats) -> Floats:
            return Entropy().impurity(counts)

    X, y = rows_of(7)
    one, other = (DecisionTreeClassifier(criterion=each, random_state=0).fit(X, y) for each in (Plain(), GainRatio()))
    np.testing.assert_array_equal(one.forest_.nodes, other.forest_.nodes)


# ---- ordered classes -----------------------------------------------------------------------------------------


def test_ordered_impurity_is_the_uncertainty_of_the_ordinal_mass() -> None:
    counts = np.array([[4.0, 0.0, 3.0, 1.0], [0.0, 4.0, 3.0, 1.0]])
    criterion = BeliefGain(0.6, mass="multinomial", ordinal=True)
    mass = mass_from_counts(counts, model="multinomial", ordinal=True)
    np.testing.assert_allclose(criterion.impurity(counts), total_uncertainty(mass, 0.6), atol=1e-12)
    apart, together = criterion.impurity(np.array([[5.0, 0, 0, 5.0], [0, 5.0, 5.0, 0]]))
    assert apart > together  # neighbours form a set of their own, the ends do not


@pytest.mark.parametrize("n_classes", [3, 5])
def test_trees_of_ordered_classes_split_where_the_ordinal_mass_says(n_classes: int) -> None:
    X, y = rows_of(3, n_classes, n_rows=40)
    criterion = BeliefGain(0.7, mass="multinomial", ordinal=True)
    tree = DecisionTreeClassifier(criterion=criterion, random_state=0, max_depth=2).fit(X, y).tree_
    best = max(search(X, y, criterion, n_classes))
    assert best[0] > 0
    goes_left = X[:, tree.feature[0]] <= tree.threshold[0]
    own = search(X[:, [tree.feature[0]]], y, criterion, n_classes)[0]
    assert own[0] == pytest.approx(best[0], abs=1e-9)
    assert goes_left.sum() == (X[:, tree.feature[0]] <= own[3]).sum()
    np.testing.assert_allclose(tree.impurity[0], criterion.impurity(np.bincount(y)[None].astype(float))[0])


def test_ordered_classes_imply_the_multinomial_mass() -> None:
    counts = np.array([[4.0, 0.0, 3.0, 1.0]])
    alone, named = BeliefGain(ordinal=True), BeliefGain(mass="multinomial", ordinal=True)
    assert alone.impurity(counts) == named.impurity(counts) != BeliefGain().impurity(counts)
    X, y = rows_of(3, 3, n_rows=40)
    one, other = (DecisionTreeClassifier(criterion=each, max_depth=2).fit(X, y) for each in (alone, named))
    np.testing.assert_array_equal(one.forest_.nodes, other.forest_.nodes)


def test_the_order_of_classes_matters_only_if_they_are_ordered() -> None:
    counts = np.array([[5.0, 0.0, 4.0]])
    for ordinal in (False, True):
        criterion = BeliefGain(mass="multinomial", ordinal=ordinal)
        same = np.allclose(criterion.impurity(counts), criterion.impurity(counts[:, [0, 2, 1]]))
        assert same != ordinal


# ---- ranges and corrections of entropy -----------------------------------------------------------------------


def test_pessimism_mixes_both_ends_of_the_range_of_entropies() -> None:
    counts = np.random.default_rng(0).integers(0, 20, (50, 4)).astype(float)
    counts[:, 0] += 1
    total = counts.sum(axis=1, keepdims=True) + 2
    bounds = counts / total, (counts + 2) / total
    expected = 0.3 * upper_entropy(*bounds) + 0.7 * lower_entropy(*bounds)
    np.testing.assert_allclose(ImpreciseGain(2.0, pessimism=0.3).impurity(counts), expected, atol=1e-9)


def test_the_core_mixes_them_in_the_same_way() -> None:
    class InPython(ImpreciseGain):
        name = "in_python"

    X, y = rows_of(5)
    kinds = (ImpreciseGain, InPython)
    trees = [DecisionTreeClassifier(criterion=kind(2.0, 0.3), random_state=0).fit(X, y) for kind in kinds]
    assert trees[0].tree_.n_nodes > 1
    np.testing.assert_array_equal(trees[0].forest_.nodes, trees[1].forest_.nodes)


def test_corrections_of_entropy_by_hand() -> None:
    counts = np.array([[3.0, 1.0, 0.0]])
    plain = Entropy().impurity(counts)[0]
    assert Entropy("miller").impurity(counts)[0] == pytest.approx(plain + 1 / (8 * math.log(2)), abs=1e-12)
    gamma = -float(psi(1))
    of_one, of_three = -gamma - math.log(2), 2 - gamma - math.log(2)  # G(2n+1) = G(2n) = G(2n-1) + 2/(2n-1)
    expected = (math.log(4) - (3 * of_three + of_one) / 4) / math.log(2)
    assert Entropy("grassberger").impurity(counts)[0] == pytest.approx(expected, abs=1e-12)


def test_corrected_entropies_are_nearer_to_the_truth() -> None:
    shares = np.array([0.5, 0.3, 0.2])
    drawn = np.random.default_rng(1).multinomial(12, shares, 4000).astype(float)
    bias = {
        each: abs(Entropy(each).impurity(drawn).mean() - entropy(shares)) for each in (None, "miller", "grassberger")
    }
    assert bias["miller"] < bias[None] / 4
    assert bias["grassberger"] < bias[None] / 2


def test_a_corrected_entropy_stops_before_a_plain_one() -> None:
    X, y = rows_of(6, 2, n_rows=150)
    plain, corrected = (
        DecisionTreeClassifier(criterion=Entropy(each), min_samples_leaf=8).fit(X, y) for each in (None, "miller")
    )
    assert 1 < corrected.tree_.n_nodes < plain.tree_.n_nodes
    assert corrected.criterion.in_sklearn is None


# ---- laws of all criteria ------------------------------------------------------------------------------------

EVERY = [
    *(kind() for kind in dict.fromkeys(CRITERIA.values())),
    Entropy("miller"),
    Entropy("grassberger"),
    ImpreciseGain(2.0, 0.3),
    BeliefGain(mass="multinomial"),
    BeliefGain(mass="multinomial", ordinal=True),
]


@pytest.mark.parametrize("criterion", EVERY, ids=str)
def test_impurities_are_finite_and_do_not_depend_on_the_names_of_classes(criterion: Criterion) -> None:
    rng = np.random.default_rng(2)
    counts = rng.poisson(rng.gamma(0.5, 6, (60, 3))).astype(float)
    counts[0], counts[1] = 0, [1e9, 0, 3]
    found = criterion.impurity(counts)
    assert np.isfinite(found).all()
    assert (found >= -1e-12).all()
    turned = criterion.impurity(counts[:, ::-1] if criterion.ordered else counts[:, [2, 0, 1]])
    np.testing.assert_allclose(found, turned, atol=1e-9)
    criterion.check()


@pytest.mark.parametrize("criterion", EVERY, ids=str)
def test_swapping_two_classes_swaps_the_answer_of_a_tree(criterion: Criterion) -> None:
    X, y = rows_of(8, 2)
    one, other = (DecisionTreeClassifier(criterion=criterion, random_state=0).fit(X, each) for each in (y, 1 - y))
    np.testing.assert_allclose(one.predict_proba(X), other.predict_proba(X)[:, ::-1], atol=1e-12)


# ---- lambda and the size of trees ----------------------------------------------------------------------------


def test_leaves_that_cost_something_make_smaller_trees() -> None:
    X, y = rows_of(9, 3, n_rows=120)
    sizes = []
    for cost in (0.0, 0.5, 1e6):
        criterion = BeliefGain("auto", size_cost=cost)
        model = DecisionTreeClassifier(criterion=criterion, random_state=0).fit(X, y)
        sizes.append(model.tree_.n_nodes)
    least = DecisionTreeClassifier(criterion=BeliefGain(0.1), random_state=0).fit(X, y).tree_.n_nodes
    assert sizes[0] >= sizes[1] >= sizes[2] == least
    assert sizes[0] > least


@pytest.mark.parametrize(
    ("criterion", "message"),
    [
        (Entropy("laplace"), "correction must be None, 'miller' or 'grassberger', got 'laplace'"),
        (ImpreciseGain(pessimism=2), "pessimism must lie in"),
        (BeliefGain(mass="idm", ordinal=True), "mass must be 'multinomial' or None if ordinal=True, got 'idm'"),
        (BeliefGain(ordinal="yes"), "ordinal must be True or False"),
        (BeliefGain(size_cost=-1), "size_cost must be a finite non-negative number"),
    ],
)
def test_parameters_out_of_range_are_refused(criterion: Criterion, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        DecisionTreeClassifier(criterion=criterion).fit([[0.0], [1.0]], [0, 1])
