"""Trees of pairs and the masses of leaves: what estimators say on sets of classes."""

from __future__ import annotations

import io
import pickle
import tracemalloc
from dataclasses import replace
from itertools import combinations, product
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.datasets import load_digits, load_iris
from sklearn.model_selection import cross_val_score

import hedgerow
from hedgerow import DecisionTreeClassifier, ExtraTreesClassifier, PairwiseTreesClassifier, RandomForestClassifier
from hedgerow.belief import belief_from_mass, contour_from_mass, mass_from_counts, mass_from_pairs, pignistic_from_mass
from hedgerow.criteria import LAMBDAS, BeliefGain
from hedgerow.errors import ModelFileError
from hedgerow.inference.fitted import fitted_of, publish
from hedgerow.tasks.classification.task import _folds

X, Y = load_iris(return_X_y=True)
NOISY = X + np.random.default_rng(0).normal(size=X.shape)


@pytest.fixture(scope="module")
def pairwise() -> PairwiseTreesClassifier:
    return PairwiseTreesClassifier(min_samples_leaf=5, random_state=0).fit(NOISY, Y)


# ---- trees of pairs -------------------------------------------------------------------------------------


def test_the_share_of_discord_is_chosen_for_all_pairs_together():
    auto = PairwiseTreesClassifier(criterion=BeliefGain(lam="auto"), random_state=0).fit(NOISY, Y)
    criterion = auto.criterion_
    assert criterion.lam in LAMBDAS
    again = PairwiseTreesClassifier(criterion=criterion, random_state=0).fit(NOISY, Y)
    np.testing.assert_array_equal(auto.predict_mass(NOISY), again.predict_mass(NOISY))
    right = np.zeros(len(LAMBDAS))
    for pair in combinations(range(3), 2):  # each pair alone, on the folds that the choice uses
        rows = np.isin(Y, pair)
        seed = fitted_of(auto).seed
        fold = _folds((Y[rows] != pair[0]).astype(np.uint16), 5, seed)
        for held, (place, lam) in product(range(5), enumerate(LAMBDAS)):
            tree = DecisionTreeClassifier(criterion=BeliefGain(lam=lam)).fit(
                NOISY[rows][fold != held], Y[rows][fold != held]
            )
            right[place] += (tree.predict(NOISY[rows][fold == held]) == Y[rows][fold == held]).sum()
    # these trees have cuts of their own, which lie elsewhere by less than the distance of two rows
    assert right[LAMBDAS.index(criterion.lam)] >= right.max() - 2


def test_pairs_of_few_rows_take_the_middle_of_the_range():
    few = PairwiseTreesClassifier(criterion=BeliefGain(lam="auto")).fit([[0.0], [1.0], [2.0]], [0, 1, 2])
    assert few.criterion_.lam == LAMBDAS[len(LAMBDAS) // 2]


def test_tree_of_a_pair_is_the_tree_grown_on_its_rows(pairwise):
    for number, (first, second) in enumerate(combinations(range(3), 2)):
        rows = np.isin(Y, (first, second))
        tree = pairwise.trees_[number]
        alone = DecisionTreeClassifier(criterion=pairwise.criterion, min_samples_leaf=5, random_state=0)
        alone.fit(NOISY[rows], Y[rows])
        assert tree.classes.tolist() == [first, second]
        assert tree.counts[0].tolist() == [50, 50]
        assert tree.n_leaves == alone.get_n_leaves()
        assert tree.feature[0] == alone.tree_.feature[0]


def test_mass_is_that_of_the_leaves_masses_combined(pairwise):
    leaves = pairwise.apply(NOISY)
    counts = np.stack([tree.counts[leaves[:, t]] for t, tree in enumerate(pairwise.trees_)], axis=1)
    expected = mass_from_pairs(mass_from_counts(counts, "dabt"))
    np.testing.assert_allclose(pairwise.predict_mass(NOISY), expected, atol=1e-12)


def test_bounds_probability_and_sets_are_those_of_the_mass(pairwise):
    mass = pairwise.predict_mass(NOISY)
    bounds = pairwise.predict_bounds(NOISY)
    np.testing.assert_allclose(bounds[:, :, 0], belief_from_mass(mass)[:, [1, 2, 4]], atol=1e-12)
    np.testing.assert_allclose(bounds[:, :, 1], contour_from_mass(mass), atol=1e-12)
    np.testing.assert_allclose(pairwise.predict_proba(NOISY), pignistic_from_mass(mass), atol=1e-12)
    labels, sets = pairwise.predict(NOISY, return_set=True)
    assert np.array_equal(labels, pairwise.predict(NOISY))
    assert np.array_equal(sets, pairwise.predict_set(NOISY))
    assert sets[np.arange(150), labels].all()
    assert 1 < sets.sum(axis=1).mean() < 3


def test_caution_widens_and_refits_nothing(pairwise):
    model = clone(pairwise).fit(NOISY, Y)
    widths = []
    for caution in (0.0, 1.0, 5.0):
        bounds = model.set_params(caution=caution).predict_bounds(NOISY)
        widths.append((bounds[:, :, 1] - bounds[:, :, 0]).mean())
    assert widths[0] < widths[1] < widths[2]
    with pytest.raises(ValueError, match="caution"):
        clone(model).set_params(caution="auto").fit(NOISY, Y)


def test_two_classes_are_one_tree():
    rows = Y > 0
    model = PairwiseTreesClassifier(max_depth=2, random_state=0).fit(X[rows], Y[rows])
    tree = DecisionTreeClassifier(criterion=model.criterion, max_depth=2, random_state=0).fit(X[rows], Y[rows])
    np.testing.assert_allclose(model.predict_mass(X), tree.predict_mass(X, "dabt"), atol=1e-12)


def test_one_class_is_certain_and_a_class_without_weight_is_open():
    model = PairwiseTreesClassifier().fit(X, ["only"] * 150)
    assert model.predict_mass(X[:2]).tolist() == [[0.0, 1.0]] * 2
    weights = (Y == 0).astype(float)
    model = PairwiseTreesClassifier().fit(X, Y, weights)
    assert (model.predict(X) == 0).all()
    assert model.trees_[2].counts.tolist() == [[0, 0]]


def test_many_classes_are_learned_without_subsets_of_all():
    images, y = load_digits(return_X_y=True)
    model = PairwiseTreesClassifier(random_state=0).fit(images[:800], y[:800])
    assert model.pairs_.shape == (45, 2)
    assert model.score(images[800:1000], y[800:1000]) > 0.8
    mass = model.predict_mass(images[800:850])
    sizes = np.bitwise_count(np.flatnonzero(mass.any(axis=0)))
    assert set(sizes.tolist()) <= {1, 2, 10}
    np.testing.assert_allclose(mass.sum(axis=1), 1.0)


def test_above_sixteen_classes_there_are_bounds_and_no_mass():
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(17), 6)
    features = y[:, None] + rng.normal(scale=0.1, size=(102, 2))
    model = PairwiseTreesClassifier(random_state=0).fit(features, y)
    assert model.predict_bounds(features[:3]).shape == (3, 17, 2)
    assert model.score(features[::6], y[::6]) > 0.9
    with pytest.raises(ValueError, match="at most 16 classes"):
        model.predict_mass(features[:1])


def test_table_and_labels_may_be_a_frame_and_text():
    frame = pd.DataFrame(X, columns=list("abcd")).assign(e=pd.Categorical(np.array(["u", "v", "w"])[(Y + 1) % 3]))
    names = np.array(["setosa", "versicolor", "virginica"])[Y]
    model = PairwiseTreesClassifier(class_weight="balanced", ccp_alpha=0.01, random_state=0).fit(frame, names)
    assert model.score(frame, names) == 1.0
    assert model.feature_importances_.argmax() == 4
    assert cross_val_score(PairwiseTreesClassifier(random_state=0), X, Y, cv=3).mean() > 0.9


def test_what_has_no_meaning_for_pairs_is_not_there(pairwise):
    for name in ("evidence", "oob_evidence_", "tune", "predict_uncertainty"):
        assert not hasattr(pairwise, name)
    with pytest.raises(ValueError, match="pairwise trees do not support uncertain labels"):
        PairwiseTreesClassifier().fit(X, [{0, 1}, *({label} for label in Y[1:].tolist())])


@pytest.mark.parametrize("weighted", [False, True])
def test_model_file_and_pickle_give_the_same_masses(weighted):
    weights = 1.0 + Y if weighted else None
    model = PairwiseTreesClassifier(caution=2.0, random_state=0).fit(NOISY, Y, weights)
    file = io.BytesIO()
    hedgerow.save(model, file)
    file.seek(0)
    for other in (hedgerow.load(file), pickle.loads(pickle.dumps(model))):
        assert np.array_equal(other.predict_mass(NOISY), model.predict_mass(NOISY))
        assert np.array_equal(other.pairs_, model.pairs_)


def test_model_file_with_another_number_of_trees_is_refused():
    model = PairwiseTreesClassifier(random_state=0).fit(NOISY, Y)
    rows = Y < 2
    one_pair = PairwiseTreesClassifier(random_state=0).fit(NOISY[rows], Y[rows]).forest_
    publish(model, replace(fitted_of(model), forest=one_pair))
    file = io.BytesIO()
    hedgerow.save(model, file)
    file.seek(0)
    with pytest.raises(ModelFileError, match="must have 3 trees, got 1"):
        hedgerow.load(file)


# ---- masses of leaves -----------------------------------------------------------------------------------


@pytest.mark.parametrize("model", ["idm", "multinomial"])
def test_mass_of_a_tree_is_that_of_its_leaf(model):
    tree = DecisionTreeClassifier(max_depth=3, caution=2.5, random_state=0).fit(NOISY, Y)
    counts = tree.tree_.counts[tree.apply(NOISY)]
    expected = mass_from_counts(counts, model, caution=2.5)
    np.testing.assert_allclose(tree.predict_mass(NOISY, model), expected, rtol=1e-12)


def test_masses_of_many_classes_take_no_more_room_than_their_table():
    rng = np.random.default_rng(0)
    features, labels = rng.normal(size=(400, 3)), np.arange(400) % 14
    forest = RandomForestClassifier(5, random_state=0).fit(features, labels)
    mean = np.mean(
        [mass_from_counts(counts) for counts in forest.evidence(features[:60]).counts.swapaxes(0, 1)], axis=0
    )
    np.testing.assert_allclose(forest.predict_mass(features[:60]), mean, atol=1e-15)
    tracemalloc.start()
    try:
        table = forest.predict_mass(features[:60])
        assert tracemalloc.get_traced_memory()[1] < 1.5 * table.nbytes
    finally:
        tracemalloc.stop()


def test_dabt_keeps_one_row_in_reserve_whatever_the_caution():
    rows = Y > 0
    tree = DecisionTreeClassifier(max_depth=2, caution=5.0, random_state=0).fit(NOISY[rows], Y[rows])
    one = tree.predict_mass(NOISY, "dabt")
    assert np.array_equal(one, tree.set_params(caution=1.0).predict_mass(NOISY))
    with pytest.raises(ValueError, match="two classes"):
        DecisionTreeClassifier().fit(X, Y).predict_mass(X, "dabt")


def test_ordinal_classes_give_mass_to_runs_of_neighbours_only():
    tree = DecisionTreeClassifier(max_depth=2, random_state=0).fit(NOISY, Y)
    mass = tree.predict_mass(NOISY, "multinomial", alpha=0.1, ordinal=True)
    assert (mass[:, 0b101] == 0).all()
    assert (tree.predict_mass(NOISY, "multinomial", alpha=0.1)[:, 0b101] > 0).any()


@pytest.mark.parametrize(
    "forest",
    [
        RandomForestClassifier(9, caution=2.0, calibration=None, random_state=1),
        RandomForestClassifier(9, leaf_counts="oob", max_depth=4, calibration=None, random_state=1),
        ExtraTreesClassifier(9, class_weight={0: 3.0}, random_state=1),
    ],
)
def test_mass_of_a_forest_has_the_bounds_of_the_average_rule(forest: Any):
    forest = clone(forest).fit(NOISY, Y)
    mass = forest.predict_mass(NOISY)
    bounds = forest.predict_bounds(NOISY)
    np.testing.assert_allclose(mass.sum(axis=1), 1.0, rtol=1e-12)
    np.testing.assert_allclose(belief_from_mass(mass)[:, [1, 2, 4]], bounds[:, :, 0], atol=1e-12)
    np.testing.assert_allclose(contour_from_mass(mass), bounds[:, :, 1], atol=1e-12)
    assert np.array_equal(forest.set_params(rule="vote").predict_mass(NOISY), mass)


def test_out_of_bag_mass_is_the_mean_over_the_trees_that_have_not_seen_the_row():
    forest = RandomForestClassifier(5, random_state=2).fit(NOISY, Y)
    evidence = forest.oob_evidence_
    mass = evidence.mass()
    single = mass_from_counts(evidence.counts, "idm", caution=1.0)
    for row in range(150):
        seen = evidence.tree_mask[row]
        expected = single[row, seen].mean(axis=0) if seen.any() else np.eye(8)[7]
        np.testing.assert_allclose(mass[row], expected, atol=1e-12)
    assert (~evidence.tree_mask.any(axis=1)).any()


def test_mass_of_more_than_sixteen_classes_is_refused():
    tree = DecisionTreeClassifier().fit(np.arange(17)[:, None], np.arange(17))
    with pytest.raises(ValueError, match="at most 16 classes"):
        tree.predict_mass([[0.0]])
