"""What leaves that rows share say about them: outliers, maps, clusters, gaps, embeddings, densities."""

from __future__ import annotations

import io
import pickle
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.cluster import SpectralClustering
from sklearn.datasets import load_iris, make_classification
from sklearn.ensemble import RandomTreesEmbedding as SklearnEmbedding
from sklearn.metrics import adjusted_rand_score
from sklearn.utils.estimator_checks import parametrize_with_checks
from tests.explain.test_shap import mixed_table
from tests.reference.proximity import dense_proximity

import hedgerow
from hedgerow import RandomForestClassifier, RandomForestRegressor, RandomTreesEmbedding, UnsupervisedForest
from hedgerow.explain import importance_test, oob_permutation_importance
from hedgerow.storage import describe_file
from hedgerow.structure import ProximityImputer, cluster_rows, outlier_scores, proximity_map
from hedgerow.structure.spectrum import _leading, _proximity_product


@cache
def iris_forest(**parameters: Any) -> tuple[RandomForestClassifier, np.ndarray, np.ndarray]:
    X, y = load_iris(return_X_y=True)
    return RandomForestClassifier(30, random_state=0, **parameters).fit(X, y), X, y


def uniform(n_rows: int = 500, n_features: int = 2) -> np.ndarray:
    return np.random.default_rng(0).random((n_rows, n_features))


# ---- outliers ---------------------------------------------------------------------------------


def slow_isolation(proximity: np.ndarray, groups: np.ndarray, known: np.ndarray, n_trees: int) -> np.ndarray:
    """Proximities (n, m), classes (n,) and (m,) -> n of the class / sum of squares within it."""
    within = [(row[known == group] ** 2).sum() for row, group in zip(proximity, groups, strict=True)]
    return np.bincount(known)[groups] / np.maximum(within, n_trees**-2)


def test_outlier_scores_are_what_their_definition_says():
    X, y = make_classification(150, 5, n_informative=3, flip_y=0.2, random_state=0)
    forest = RandomForestClassifier(30, random_state=0).fit(X, y)
    leaves = forest.apply(X)
    isolation = slow_isolation(dense_proximity(leaves, leaves), y, y, 30)
    scores = outlier_scores(forest)
    for label in range(2):
        own = isolation[y == label]
        away = own - np.median(own)
        np.testing.assert_allclose(scores[y == label], away / (1.4826 * np.median(np.abs(away))), rtol=1e-10)


def test_where_most_rows_are_equally_isolated_the_others_are_measured_by_their_mean_distance():
    X, y = np.append(np.zeros(9), 1.0)[:, None], np.append(np.zeros(9, dtype=int), 1)
    forest = RandomForestClassifier(20, random_state=0).fit(np.append(X, [[9.0]], axis=0), np.append(y, 0))
    isolation = slow_isolation(forest.proximity().toarray(), np.append(y, 0), np.append(y, 0), 20)
    own = isolation[np.append(y, 0) == 0]
    scores = outlier_scores(forest)
    assert (scores[:9] == 0).all()
    assert scores[10] == pytest.approx((own[-1] - own[0]) / np.abs(own - own[0]).mean())
    assert scores[9] == 0


def test_new_rows_are_judged_by_the_training_rows_of_their_class():
    forest, X, y = iris_forest(min_samples_leaf=3)
    np.testing.assert_allclose(outlier_scores(forest, X, y), outlier_scores(forest), rtol=1e-12)
    np.testing.assert_array_equal(outlier_scores(forest, X[:9]), outlier_scores(forest, X[:9], forest.predict(X[:9])))
    with pytest.raises(ValueError, match="y must have classes of the model, got 7"):
        outlier_scores(forest, X[:1], [7])
    with pytest.raises(ValueError, match="y must have one class for each of the 2 rows"):
        outlier_scores(forest, X[:2], [0])


def test_a_regressor_knows_one_class_of_rows():
    X = np.append(np.linspace(0, 1, 60), 30.0)[:, None]
    forest = RandomForestRegressor(50, random_state=0).fit(X, np.append(np.zeros(60), 9.0))
    assert outlier_scores(forest).argmax() == 60


# ---- maps and clusters ------------------------------------------------------------------------


def test_a_map_of_all_dimensions_has_the_distances_of_the_proximities():
    forest, X, _ = iris_forest()
    rows = X[::5]
    points = proximity_map(forest, rows, n_components=len(rows))
    squared = ((points[:, None] - points[None]) ** 2).sum(axis=2)
    np.testing.assert_allclose(squared, 1 - forest.proximity(rows).toarray(), rtol=0, atol=1e-12)


@pytest.mark.parametrize("oob", [False, True])
def test_axes_of_a_map_are_the_leading_eigenvectors_of_the_whole_table(oob):
    forest, X, _ = iris_forest()
    centre = np.eye(len(X)) - 1 / len(X)
    whole = centre @ forest.proximity(oob=oob).toarray() @ centre / 2
    values, vectors = np.linalg.eigh(whole)
    points = proximity_map(forest, oob=oob)
    for axis in range(2):
        expected = vectors[:, -1 - axis] * np.sqrt(values[-1 - axis])
        expected *= np.sign(expected[np.abs(expected).argmax()])
        np.testing.assert_allclose(points[:, axis], expected, rtol=0, atol=1e-8)


def test_clusters_are_those_of_scikit_learn_given_the_whole_table():
    forest, _, _ = iris_forest()
    whole = forest.proximity().toarray()
    theirs = SpectralClustering(3, affinity="precomputed", random_state=0).fit_predict(whole)
    assert adjusted_rand_score(theirs, cluster_rows(forest, 3)) > 0.95
    assert adjusted_rand_score(load_iris().target, cluster_rows(forest, 3)) > 0.8


def test_eigenvectors_of_few_and_of_many_rows_are_found_alike():
    forest, X, _ = iris_forest()
    product, n_rows = _proximity_product(forest, X, False)
    values, vectors = _leading(product, n_rows, 3, 0)
    whole = forest.proximity(X).toarray()
    np.testing.assert_allclose(values, np.linalg.eigvalsh(whole)[:-4:-1], rtol=1e-10)
    np.testing.assert_allclose(whole @ vectors, vectors * values, rtol=0, atol=1e-8)


def test_maps_and_clusters_of_nothing_are_refused():
    forest, _, _ = iris_forest()
    with pytest.raises(ValueError, match="n_components must be an integer from 1 to 150 \\(the rows\\), got 0"):
        proximity_map(forest, n_components=0)
    with pytest.raises(ValueError, match="n_clusters must be an integer from 1 to 150 \\(the rows\\), got 151"):
        cluster_rows(forest, 151)


# ---- gaps -------------------------------------------------------------------------------------


def test_gaps_are_filled_with_means_and_categories_by_proximity():
    X, y = mixed_table(120, 3, seed=4)
    imputer = ProximityImputer(RandomForestClassifier(20, random_state=0), n_rounds=1).fit(X, y)
    filled = imputer.transform(X)
    proximity = imputer.forests_[0].proximity(X).toarray()
    lengths, colours = X["length"].to_numpy(), X["colour"].astype(object)
    for row in np.flatnonzero(X["length"].isna()):
        seen = ~np.isnan(lengths)
        assert filled["length"][row] == pytest.approx(np.average(lengths[seen], weights=proximity[row, seen]))
    for row in np.flatnonzero(X["colour"].isna()):
        weight = {
            colour: proximity[row, (colours == colour).to_numpy()].sum() for colour in sorted(set(colours.dropna()))
        }
        assert filled["colour"][row] == max(weight, key=weight.get)
    assert not filled.isna().any(axis=None)
    known = X.notna()
    pd.testing.assert_frame_equal(filled.where(known), X.where(known))


@pytest.mark.parametrize("labelled", [True, False])
def test_values_by_proximity_are_nearer_to_the_truth_than_medians(labelled):
    X, y = load_iris(return_X_y=True)
    gaps = np.random.default_rng(0).random(X.shape) < 0.15
    gapped = np.where(gaps, np.nan, X)
    filled = ProximityImputer(random_state=0).fit_transform(gapped, y if labelled else None)
    by_median = np.where(gaps, np.nanmedian(gapped, axis=0), X)
    np.testing.assert_array_equal(filled[~gaps], X[~gaps])
    assert ((filled - X) ** 2).sum() < 0.25 * ((by_median - X) ** 2).sum()


def test_numbers_as_targets_grow_a_regressor():
    X = uniform()
    X[::7, 1] = np.nan
    imputer = ProximityImputer(random_state=0).fit(X, X[:, 0])
    assert isinstance(imputer.forests_[0], RandomForestRegressor)
    assert not np.isnan(imputer.transform(X)).any()


def test_a_column_without_values_stays_empty_and_new_rows_get_the_usual_where_nothing_is_near():
    X = np.column_stack([np.arange(30.0), np.full(30, np.nan)])
    filled = ProximityImputer(random_state=0).fit(X, X[:, 0] > 9).transform([[np.nan, np.nan]])
    assert np.isfinite(filled[0, 0])
    assert np.isnan(filled[0, 1])


def test_a_fit_that_fails_leaves_the_imputer_as_it_was():
    X, y = load_iris(return_X_y=True)
    X[::9, 2] = np.nan
    imputer = ProximityImputer(RandomForestClassifier(5, random_state=0)).fit(X, y)
    filled, forests = imputer.transform(X), list(imputer.forests_)
    with pytest.raises(ValueError, match="same number of rows"):
        imputer.fit(X[:, :3], y[:-1])
    assert imputer.forests_ == forests
    np.testing.assert_array_equal(imputer.transform(X), filled)
    fresh = ProximityImputer()
    with pytest.raises(ValueError, match="same number of rows"):
        fresh.fit(X, y[:-1])
    assert not hasattr(fresh, "forests_")


def test_rounds_must_be_counted():
    with pytest.raises(ValueError, match="n_rounds must be an integer of at least 1, got 0"):
        ProximityImputer(n_rounds=0).fit(uniform())


# ---- trees without labels ---------------------------------------------------------------------


def test_embedding_has_the_shape_of_scikit_learns():
    """On 0 and 1 every split is forced: all trees have 2**max_depth leaves."""
    X = (uniform(400, 8) > 0.5).astype(float)
    ours = RandomTreesEmbedding(20, max_depth=3, random_state=0)
    theirs = SklearnEmbedding(20, max_depth=3, random_state=0)
    found, expected = ours.fit_transform(X), theirs.fit_transform(X)
    assert found.shape == expected.shape == (400, 20 * 8)
    np.testing.assert_array_equal(found.sum(axis=1), np.asarray(expected.sum(axis=1)).ravel())
    assert len(ours.get_feature_names_out()) == len(theirs.get_feature_names_out())
    assert ours.get_feature_names_out()[9] == "randomtreesembedding_1_1"


@pytest.mark.parametrize("kind", [RandomTreesEmbedding, UnsupervisedForest])
@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_embedding_may_be_dense_and_so_a_data_frame(kind, library):
    pytest.importorskip(library)
    X = uniform(60, 3)
    trees = kind(3, max_depth=2, random_state=0, sparse_output=False)
    frame = trees.set_output(transform=library).fit_transform(X)
    assert list(frame.columns) == trees.get_feature_names_out().tolist()
    np.testing.assert_array_equal(frame.to_numpy(), trees.embed(X).toarray())
    with pytest.raises(ValueError, match="sparse_output must be True or False, got 'no'"):
        trees.set_params(sparse_output="no").transform(X)


def test_embedding_of_a_ring_is_linear_where_the_ring_is_not():
    rng = np.random.default_rng(1)
    angle = rng.uniform(0, 2 * np.pi, 400)
    y = np.repeat([0, 1], 200)
    X = np.where(y, 2, 1)[:, None] * np.column_stack([np.cos(angle), np.sin(angle)])
    from sklearn.linear_model import RidgeClassifier
    from sklearn.pipeline import make_pipeline

    straight = RidgeClassifier().fit(X[::2], y[::2]).score(X[1::2], y[1::2])
    through_leaves = make_pipeline(RandomTreesEmbedding(50, random_state=0), RidgeClassifier()).fit(X[::2], y[::2])
    assert straight < 0.7
    assert through_leaves.score(X[1::2], y[1::2]) > 0.95


@pytest.mark.parametrize("max_depth", [3, None])
def test_density_integrates_to_one(max_depth):
    """Over a grid of cells inside the range of the rows."""
    X = np.random.default_rng(2).normal(size=(200, 2)) ** 2
    X = np.column_stack([X, np.full(200, 3.0)])
    trees = RandomTreesEmbedding(20, max_depth=max_depth, min_samples_leaf=10, random_state=0).fit(X)
    low, high = X.min(axis=0), X.max(axis=0)
    n = 400
    steps = [low[j] + (high[j] - low[j]) * (np.arange(n) + 0.5) / n for j in range(2)]
    grid = np.column_stack([axis.ravel() for axis in np.meshgrid(*steps)] + [np.full(n * n, 3.0)])
    cell = (high[0] - low[0]) * (high[1] - low[1]) / n**2
    assert np.exp(trees.score_samples(grid)).sum() * cell == pytest.approx(1, abs=0.02)


def test_density_is_rows_per_volume_averaged_over_trees():
    X = uniform(100)
    trees = RandomTreesEmbedding(3, max_depth=2, random_state=0).fit(X)
    point, densities = X[17], []
    for tree in trees.trees_:
        low, high, node = X.min(axis=0), X.max(axis=0), 0
        while not tree.is_leaf[node]:
            feature, threshold = tree.feature[node], tree.threshold[node]
            goes_right = point[feature] > threshold
            (low if goes_right else high)[feature] = threshold
            node = tree.first_child[node] + goes_right
        densities.append(tree.counts[node].sum() / 100 / (high - low).prod())
    assert trees.score_samples(point[None])[0] == pytest.approx(np.log(np.mean(densities)), rel=1e-12)


def test_density_outside_the_range_is_zero_and_of_gaps_or_categories_undefined():
    trees = RandomTreesEmbedding(5, random_state=0).fit(uniform())
    np.testing.assert_array_equal(trees.score_samples([[2.0, 0.5], [np.nan, 0.5]]), -np.inf)
    gapped = uniform()
    gapped[3, 1] = np.nan
    for table in (gapped, mixed_table(50, 2, seed=0)[0]):
        with pytest.raises(ValueError, match="score_samples does not support categories, missing values or infinities"):
            RandomTreesEmbedding(2).fit(table).score_samples(table)


def tied(n_rows: int = 300) -> np.ndarray:
    """Two features that go together, and one by itself."""
    rng = np.random.default_rng(3)
    first = rng.normal(size=n_rows)
    return np.column_stack([first, first + 0.1 * rng.normal(size=n_rows), rng.normal(size=n_rows)])


def test_an_unsupervised_forest_sees_what_goes_together():
    forest = UnsupervisedForest(random_state=0).fit(tied())
    together, apart = forest.score_samples([[1.0, 1.0, 0.0], [1.0, -1.0, 0.0]])
    assert together > 0.6
    assert apart < 0.1
    lost = oob_permutation_importance(forest, worth="probability").mean
    assert lost[:2].min() > 5 * abs(lost[2])
    with pytest.raises(ValueError, match="forest must be a classifier or a regressor"):
        importance_test(forest)


def test_an_unsupervised_forest_compares_real_rows_only():
    X = tied()
    forest = UnsupervisedForest(10, random_state=0).fit(X)
    leaves = forest.apply(X)
    np.testing.assert_allclose(forest.proximity().toarray(), dense_proximity(leaves, leaves), rtol=1e-15)
    assert forest.proximity(oob=True).shape == (300, 300)
    weights = forest.row_weights(X[:5])
    assert weights.shape == (5, 300)
    np.testing.assert_allclose(weights.sum(axis=1), 1, rtol=1e-12)


@pytest.mark.parametrize("make", [RandomTreesEmbedding, UnsupervisedForest])
def test_trees_without_labels_are_saved_and_pickled(make):
    X = mixed_table(60, 2, seed=1)[0] if make is UnsupervisedForest else uniform()
    model = make(5, random_state=0).fit(X)
    file = io.BytesIO()
    hedgerow.save(model, file)
    file.seek(0)
    assert describe_file(file).n_trees == 5
    file.seek(0)
    for again in (hedgerow.load(file), pickle.loads(pickle.dumps(model))):
        assert type(again) is make
        assert (again.transform(X) != model.transform(X)).nnz == 0
        np.testing.assert_array_equal(again.score_samples(X), model.score_samples(X))


@pytest.mark.parametrize("make", [RandomTreesEmbedding, UnsupervisedForest])
def test_the_same_seed_gives_the_same_trees_for_any_number_of_threads(make):
    X = uniform()
    one, other = (make(10, random_state=3, n_jobs=n_jobs).fit(X).apply(X) for n_jobs in (1, 3))
    np.testing.assert_array_equal(one, other)


def weights_are_no_repetitions(estimator):
    """Weights only limit the leaves of an embedding, as in scikit-learn: a row is one row whatever it weighs."""
    names = [f"check_sample_weight_equivalence_on_{kind}_data" for kind in ("dense", "sparse")]
    return dict.fromkeys(names, "weights limit leaves") if isinstance(estimator, RandomTreesEmbedding) else {}


@parametrize_with_checks(
    [RandomTreesEmbedding(n_estimators=5), UnsupervisedForest(n_estimators=5), ProximityImputer(n_rounds=1)],
    expected_failed_checks=weights_are_no_repetitions,
)
def test_estimator_passes_scikit_learns_check(estimator, check):
    check(estimator)


@pytest.mark.parametrize("asked", [{"n_estimators": "auto"}, {"max_features": "oob"}])
def test_nothing_is_chosen_by_labels_that_are_not_there(asked):
    with pytest.raises(ValueError, match="must be an explicit value for unsupervised trees"):
        UnsupervisedForest(**asked).fit(np.random.default_rng(0).normal(size=(20, 2)))
