"""Mixed forests: each tree is that of a forest of its kind, and everything else works as in other forests."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_diabetes, load_iris, load_wine, make_classification

from hedgerow import (
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    MixedForestClassifier,
    MixedForestRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
    export_code,
    load,
    merge,
    save,
    to_onnx,
)
from hedgerow.belief.calibrate import Views, cross_fitted
from hedgerow.decisions import Coverage, Risk
from hedgerow.errors import ModelFileError
from hedgerow.explain import shap_values
from hedgerow.forest.views import oob_views
from hedgerow.inference.predictor import predictor_of
from hedgerow.labels import from_sets
from hedgerow.params.resolve import resolve_settings
from hedgerow.rules.additive import _slope
from hedgerow.tasks.classification.storage import calibration_from_contents, calibration_to_contents

N_KINDS = 3


def arrays_of(model, number):
    """The arrays of one tree: nodes, and the evidence of leaves."""
    tree = model.trees_[number]
    evidence = tree.leaf_evidence.arrays()
    return {"bits": tree.nodes.bits, "payload": tree.nodes.payload} | evidence


@pytest.mark.parametrize(
    ("mixed", "best", "extra", "data", "some"),
    [
        (MixedForestClassifier, RandomForestClassifier, ExtraTreesClassifier, load_wine, "sqrt"),
        (MixedForestRegressor, RandomForestRegressor, ExtraTreesRegressor, load_diabetes, 0.4),
    ],
)
def test_trees_are_those_of_forests_of_their_kind(mixed, best, extra, data, some):
    X, y = data(return_X_y=True)
    given = {"n_estimators": 9, "bootstrap": True, "random_state": 3}
    forest = mixed(max_features=some, **given).fit(X, y)
    kinds = [
        best(max_features=some, **given).fit(X, y),
        extra(max_features=None, **given).fit(X, y),
        extra(max_features=some, **given).fit(X, y),
    ]
    for number in range(9):
        expected, found = arrays_of(kinds[number % N_KINDS], number), arrays_of(forest, number)
        assert expected.keys() == found.keys()
        for name, array in expected.items():
            np.testing.assert_array_equal(found[name], array, err_msg=f"{name} of tree {number}")


@pytest.mark.parametrize("make", [MixedForestClassifier, MixedForestRegressor])
def test_threads_and_warm_starts_change_nothing(make):
    X, y = load_iris(return_X_y=True)
    whole = make(20, random_state=0).fit(X, y)
    threads = make(20, n_jobs=3, random_state=0).fit(X, y)
    warm = make(7, warm_start=True, random_state=0).fit(X, y)
    warm.set_params(n_estimators=20).fit(X, y)
    for other in (threads, warm):
        for name, array in whole.forest_.arrays().items():
            np.testing.assert_array_equal(other.forest_.arrays()[name], array)
        np.testing.assert_array_equal(other.predict(X), whole.predict(X))


def test_a_classifier_is_calibrated_saved_and_updated_like_other_forests(tmp_path):
    X, y = load_wine(return_X_y=True)
    forest = MixedForestClassifier(60, oob_score=True, random_state=0).fit(X, y)
    assert not forest.calibration_.why
    assert forest.oob_score_ > 0.9
    save(forest, tmp_path / "model.hedge")
    loaded = load(tmp_path / "model.hedge")
    assert type(loaded) is MixedForestClassifier
    np.testing.assert_array_equal(loaded.predict_bounds(X), forest.predict_bounds(X))
    for decision in (Coverage(0.9), Risk(0.2, 0.9)):
        assert forest.set_params(decision=decision).predict_set(X).any(axis=1).all()
    forest.set_params(decision="auto").partial_fit(X[:20], y[:20])
    assert merge(loaded, load(tmp_path / "model.hedge")).forest_.n_trees == 120


def noisy(n: int = 450):
    """Rows whose classes overlap, so that views differ."""
    return make_classification(n, 8, n_informative=6, n_redundant=0, n_classes=3, flip_y=0.2, random_state=0)


@pytest.fixture(scope="module")
def forest():
    X, y = noisy()
    return MixedForestClassifier(45, oob_score=True, random_state=0).fit(X[:300], y[:300])


def test_every_prediction_rests_on_the_views(forest):
    X = noisy()[0][300:]
    learned, probability, bounds = forest.calibration_, forest.predict_proba(X), forest.predict_bounds(X)
    assert learned.views == Views(3, (1, 5, 20))
    of_views = forest.forest_.viewed(learned.views).probability(predictor_of(forest).read(X).codes)
    np.testing.assert_array_equal(probability, learned.of(of_views))
    vacuity = forest.predict_uncertainty(X).vacuity[:, None]
    np.testing.assert_allclose(bounds[..., 0], (1 - vacuity) * probability, atol=1e-12)
    np.testing.assert_allclose(bounds[..., 1], (1 - vacuity) * probability + vacuity, atol=1e-12)
    np.testing.assert_allclose(forest.evidence(X).combine().probability, probability, atol=1e-12)
    for row in range(20):
        np.testing.assert_array_equal(forest.predict_proba(X[row : row + 1])[0], probability[row])
        np.testing.assert_array_equal(forest.predict_bounds(X[row : row + 1])[0], bounds[row])


def test_out_of_bag_figures_are_cross_fitted(forest):
    y = noisy()[1][:300]
    predictor = predictor_of(forest)
    rows = predictor.oob_rows()
    where = (rows.codes, np.arange(300), rows.target.labels, rows.bags)
    of_views = oob_views(forest.forest_, forest.calibration_.views, *where)
    expected = cross_fitted(of_views, y, start=forest.calibration_, views=forest.calibration_.views)
    np.testing.assert_allclose(forest.oob_decision_function_, expected, atol=1e-12)
    assert forest.oob_score_ == (expected.argmax(axis=1) == y).mean()


@pytest.mark.parametrize("what", ["probability", "lower", "upper", "width"])
def test_shap_values_add_up(forest, what):
    X = noisy()[0][300:304]
    found, bounds = shap_values(forest, X, what), forest.predict_bounds(X)
    lower, upper = bounds[..., 0], bounds[..., 1]
    expected = {"probability": forest.predict_proba(X), "lower": lower, "upper": upper, "width": upper - lower}[what]
    np.testing.assert_allclose(found.base + found.values.sum(axis=1), expected, atol=1e-10)


def test_shap_values_have_the_signs_of_path_gradients(forest):
    X = noisy()[0][300:302]
    views, learned = forest.forest_.viewed(forest.calibration_.views), forest.calibration_
    codes = predictor_of(forest).read(X).codes
    given, small = views.probability(codes), 1e-6
    rate = _slope(learned, "probability", given)
    for column in range(given.shape[1]):
        moved = given.copy()
        moved[:, column] += small
        np.testing.assert_allclose(rate[:, :, column], (learned.of(moved) - learned.of(given)) / small, atol=1e-3)


def test_explanations_start_from_the_forests_opinion(forest):
    X = noisy()[0][300:340]
    bounds, sets = forest.predict_bounds(X), forest.predict_set(X)
    for row, explanation in enumerate(forest.explain(X)):
        np.testing.assert_allclose(explanation.lower, bounds[row, :, 0], atol=1e-12)
        assert explanation.set == forest.classes_[sets[row]].tolist()


def test_a_further_case_in_a_leaf_is_one_in_every_node_above(forest):
    predictor = predictor_of(forest)
    reader, codes = forest.forest_.viewed(forest.calibration_.views), predictor.read(noisy()[0][300:303]).codes
    leaves = forest.forest_.leaves(codes).astype(np.int64)
    np.testing.assert_allclose(reader.of_leaves(leaves), reader.probability(codes), atol=1e-12)
    np.testing.assert_allclose(reader.with_more(leaves, np.zeros((3, 3))), reader.of_leaves(leaves), atol=1e-12)
    many = reader.with_more(leaves, np.array([[0, 1e9, 0]] * 3)).reshape(3, 9, 3)
    np.testing.assert_allclose(many[:, :, 1], 1, atol=1e-6)


def test_to_onnx_keeps_the_views(forest):
    onnxruntime = pytest.importorskip("onnxruntime")
    X = noisy()[0][300:]
    session = onnxruntime.InferenceSession(to_onnx(forest).SerializeToString())
    _, probability, lower, *_ = session.run(None, {"X": X})
    np.testing.assert_allclose(probability, forest.predict_proba(X), atol=1e-12)
    np.testing.assert_allclose(lower, forest.predict_bounds(X)[..., 0], atol=1e-12)


def test_exported_code_keeps_the_views(forest):
    X, program = noisy()[0][300:320], {}
    exec(export_code(forest), program)
    for row, probability, bounds in zip(X, forest.predict_proba(X), forest.predict_bounds(X), strict=True):
        np.testing.assert_allclose(program["tree_probability"](row.tolist()), probability, atol=1e-12)
        if not program["tree_out_of_support"](row.tolist()):
            np.testing.assert_allclose(program["tree_bounds"](row.tolist()), bounds, atol=1e-12)
    small = MixedForestClassifier(2, random_state=0).fit(*noisy(100))
    with pytest.raises(NotImplementedError, match="at least 3"):
        export_code(small)


def test_a_file_without_weights_that_sum_to_the_slope_is_rejected(forest, tmp_path):
    reported, arrays = calibration_to_contents(forest.calibration_)
    again = calibration_from_contents(reported, dict(arrays), 3)
    assert again.views == forest.calibration_.views
    np.testing.assert_array_equal(again.weights, forest.calibration_.weights)
    for wrong in (arrays["calibration_weights"] + 0.1, -arrays["calibration_weights"]):
        with pytest.raises(ModelFileError, match="calibration_weights"):
            calibration_from_contents(reported, arrays | {"calibration_weights": wrong}, 3)
    for views in ({"kinds": 3}, {"kinds": 3, "least": []}, {"kinds": 0, "least": [1]}, 3):
        with pytest.raises(ModelFileError):
            calibration_from_contents({"calibration_": reported["calibration_"] | {"views": views}}, dict(arrays), 3)


def test_uncertain_labels_calibrate_the_mean_of_all_trees():
    X, y = noisy(120)
    sets = [{int(label)} if row % 4 else {int(label), (int(label) + 1) % 3} for row, label in enumerate(y)]
    forest = MixedForestClassifier(9, random_state=0).fit(X, from_sets(sets))
    assert not forest.calibration_.why
    assert forest.calibration_.views is None


def test_more_rows_are_counted_in_all_views(forest):
    X, y = noisy()
    other = MixedForestClassifier(45, random_state=0).fit(X[:300], y[:300])
    before = other.predict_proba(X[300:])
    other.partial_fit(X[300:], y[300:])
    assert other.calibration_.n_rows == 450
    assert (other.predict_proba(X[300:]) != before).any(axis=1).all()


def test_columns_of_y_have_views_of_their_own():
    X, y = noisy(200)
    forest = MixedForestClassifier(12, random_state=0).fit(X, np.column_stack([y, y % 2]))
    assert [output.calibration_.views for output in forest.outputs_] == [Views(3, (1, 5, 20))] * 2
    assert [each.shape[1] for each in forest.predict_proba(X)] == [3, 2]


def test_a_cluster_needs_trees_of_one_kind():
    assert resolve_settings(MixedForestClassifier(), 150, 4, None, 3).needs_all_rows is not None
    assert resolve_settings(RandomForestClassifier(), 150, 4, None, 3).needs_all_rows is None
