"""Confidence is the probability of the label, lower for strangers, of every classifier and wherever it is asked."""

from __future__ import annotations

import io

import numpy as np
import pytest
from sklearn.datasets import load_iris

import hedgerow
from hedgerow.storage.values import estimator_named, public_estimators
from hedgerow.tasks.classification.oob import discount_factor

X, Y = load_iris(return_X_y=True)
STRANGER = np.array([[5.0, 3.4, 1.5, 90.0]])


@pytest.mark.parametrize("name", [name for name in public_estimators() if name.endswith("Classifier")])
def test_it_is_the_probability_of_the_label(name):
    model = estimator_named(name)(random_state=0).fit(X[::2], Y[::2])
    probability, confidence = model.predict_proba(X), model.predict_confidence(X)
    columns = np.searchsorted(model.classes_, model.predict(X))
    assert np.array_equal(confidence, probability[np.arange(len(X)), columns])


def test_with_a_map_it_is_the_mapped_probability():
    plain = hedgerow.RandomForestClassifier(50, random_state=0, calibration=None).fit(X, Y)
    mapped = hedgerow.RandomForestClassifier(50, random_state=0, calibration="oob").fit(X, Y)
    assert np.array_equal(mapped.predict_confidence(X), mapped.predict_proba(X).max(axis=1))
    assert not np.array_equal(mapped.predict_confidence(X), plain.predict_confidence(X))


def test_strangers_lower_it_and_other_rows_keep_their_bits():
    plain = hedgerow.RandomForestClassifier(50, random_state=0).fit(X, Y)
    careful = hedgerow.RandomForestClassifier(50, random_state=0, novelty=0.01).fit(X, Y)
    rows = np.vstack([X, STRANGER])
    before, after = plain.predict_confidence(rows), careful.predict_confidence(rows)
    now = careful._predictor()
    trusted = discount_factor(now.read(rows).novelty, 0.01)
    assert trusted[-1] < 0.1 < before[-1]
    assert np.array_equal(after[trusted >= 1], before[trusted >= 1])
    assert after[:-1] == pytest.approx((trusted * before + (1 - trusted) / 3)[:-1], abs=1e-15)
    assert after[-1] < 0.4


@pytest.mark.parametrize("novelty", [None, 0.05])
def test_loaded_models_say_the_same(novelty):
    model = hedgerow.RandomForestClassifier(30, random_state=0, calibration="oob", novelty=novelty).fit(X, Y)
    file = io.BytesIO()
    hedgerow.save(model, file)
    loaded = hedgerow.load(io.BytesIO(file.getvalue()))
    rows = np.vstack([X, STRANGER])
    assert np.array_equal(loaded.predict_confidence(rows), model.predict_confidence(rows))


def test_several_outputs_have_one_each():
    two = np.column_stack([Y, Y > 0])
    model = hedgerow.RandomForestClassifier(20, random_state=0, novelty=0.01).fit(X, two)
    rows = np.vstack([X, STRANGER])
    found = model.predict_confidence(rows)
    assert len(found) == 2
    for each, output in zip(found, model.outputs_, strict=True):
        assert np.array_equal(each, output.predict_confidence(rows))


def test_dask_collections_are_asked_lazily():
    array = pytest.importorskip("dask.array")
    from hedgerow.dask import RandomForestClassifier, lazily

    model = RandomForestClassifier(10, random_state=0).fit(X, Y)
    blocks = array.from_array(X, chunks=(40, 4))
    for found in (model.predict_confidence(blocks), lazily(model, "predict_confidence", blocks)):
        assert type(found).__module__.startswith("dask")
        assert np.array_equal(found.compute(), model.predict_confidence(X))
