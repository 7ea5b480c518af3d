"""Views: the core agrees with a plain walk over the nodes of every tree."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_digits, make_classification

from hedgerow import ExtraTreesClassifier, MixedForestClassifier, RandomForestClassifier
from hedgerow.belief.calibrate import Views
from hedgerow.forest.views import ViewReader, oob_views
from hedgerow.inference.predictor import predictor_of

NINE = Views(3, (1, 5, 20))


def small(n: int = 200, n_classes: int = 3):
    return make_classification(n, 6, n_informative=4, n_classes=n_classes, flip_y=0.2, random_state=1)


def walked(model, codes, views, rows=None):
    """The same, node by node: (n, V · K)."""
    forest, n_rows = model.forest_, codes.shape[1]
    n_classes, bags = forest.n_classes, None if rows is None else rows.bags
    own_rows = int(bags is not None and bags.counts_oob)
    sums = np.zeros((n_rows, views.kinds, len(views.least), n_classes))
    leaf_nodes = forest.leaf_nodes(codes)
    for number, tree in enumerate(model.trees_):
        judged = np.ones(n_rows, dtype=bool) if bags is None else bags.outside(number)
        for row in np.flatnonzero(judged):
            for depth, least in enumerate(views.least):
                node = leaf_nodes[row, number]
                while tree.counts[node].sum() - own_rows < least and tree.parent[node] >= 0:
                    node = tree.parent[node]
                counts, held = tree.counts[node].astype(float), tree.weights[node].copy()
                if bags is not None and bags.counts_oob:
                    own = rows.target.labels[row]
                    held[own] *= (counts[own] - 1) / counts[own] if counts[own] > 0 else 1
                if held.sum() > 0:
                    sums[row, number % views.kinds, depth] += held / held.sum()
    of_all = sums.sum(axis=1, keepdims=True)
    sums = np.where(sums.sum(axis=3, keepdims=True) > 0, sums, of_all)
    return (sums / sums.sum(axis=3, keepdims=True)).reshape(n_rows, -1)


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("weighted", [False, True])
def test_predictions_and_out_of_bag_views_are_those_of_a_walk(n_classes, weighted):
    X, y = small(n_classes=n_classes)
    weights = np.random.default_rng(0).uniform(0.5, 2, len(y)) if weighted else None
    weights = None if weights is None else weights[:150]
    model = MixedForestClassifier(12, calibration=None, random_state=0).fit(X[:150], y[:150], weights)
    predictor, forest = predictor_of(model), model.forest_
    codes, rows = predictor.read(X[150:]).codes, predictor.oob_rows()
    np.testing.assert_allclose(ViewReader(forest, NINE).probability(codes), walked(model, codes, NINE), atol=1e-12)
    found = oob_views(forest, NINE, rows.codes, np.arange(150), rows.target.labels, rows.bags)
    judged = ~np.isnan(found[:, 0])
    assert judged.sum() > 140
    np.testing.assert_allclose(found[judged], walked(model, rows.codes, NINE, rows)[judged], atol=1e-12)


@pytest.mark.parametrize("leaf_counts", ["inbag", "distinct", "oob"])
def test_other_leaf_counts_are_read_as_they_are(leaf_counts):
    X, y = small()
    model = RandomForestClassifier(6, leaf_counts=leaf_counts, random_state=0).fit(X[:150], y[:150])
    codes, views = predictor_of(model).read(X[150:]).codes, Views(1, (2, 9))
    np.testing.assert_allclose(
        ViewReader(model.forest_, views).probability(codes), walked(model, codes, views), atol=1e-12
    )


@pytest.mark.parametrize("kind", [RandomForestClassifier, ExtraTreesClassifier])
def test_one_view_of_leaves_is_the_forest(kind):
    X, y = load_digits(return_X_y=True)
    model = kind(10, bootstrap=True, random_state=0).fit(X[:500], y[:500])
    one, predictor = Views(1, (1,)), predictor_of(model)
    codes, rows = predictor.read(X[500:]).codes, predictor.oob_rows()
    expected = model.forest_.probability(codes)
    np.testing.assert_allclose(ViewReader(model.forest_, one).probability(codes), expected, atol=1e-12)
    where = (rows.codes, np.arange(500), rows.target.labels, rows.bags)
    np.testing.assert_allclose(
        oob_views(model.forest_, one, *where), model.forest_.oob_probability(*where), atol=1e-12, equal_nan=True
    )


def test_threads_batches_and_single_rows_have_the_same_bits():
    X, y = small()
    model = MixedForestClassifier(9, random_state=0).fit(X[:150], y[:150])
    codes, reader = predictor_of(model).read(X).codes, ViewReader(model.forest_, NINE)
    whole = reader.probability(codes)
    np.testing.assert_array_equal(reader.probability(codes, 3), whole)
    for row in range(30):
        alone = reader.probability(np.ascontiguousarray(codes[:, [row]]))
        np.testing.assert_array_equal(alone[0], whole[row])


def test_leaf_states_add_up_to_the_views():
    X, y = small()
    model = MixedForestClassifier(9, random_state=0).fit(X[:150], y[:150])
    codes, reader = predictor_of(model).read(X[150:]).codes, ViewReader(model.forest_, NINE)
    at = model.forest_.leaves(codes) + model.forest_.leaf_start[:-1]
    states = np.concatenate([reader.leaf_states(0, 4), reader.leaf_states(4, 9)])
    np.testing.assert_allclose(states[at].sum(axis=1), reader.probability(codes), atol=1e-12)


def test_missing_values_that_training_had_not_go_down_both_sides():
    X, y = small()
    model = MixedForestClassifier(9, random_state=0).fit(X[:150], y[:150])
    gaps = X[150:153].copy()
    gaps[:, 0] = np.nan
    codes = predictor_of(model).read(gaps).codes
    assert len(model.forest_.unseen_rows(codes)) == 3
    leaves_only = ViewReader(model.forest_, Views(1, (1,))).probability(codes)
    np.testing.assert_allclose(leaves_only, model.forest_.probability(codes), atol=1e-12)
    probability = model.predict_proba(gaps)
    np.testing.assert_allclose(probability.sum(axis=1), 1)
    np.testing.assert_allclose(model.evidence(gaps).combine().probability, probability, atol=1e-12)
