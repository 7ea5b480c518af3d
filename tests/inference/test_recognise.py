"""Training rows are recognised by marks; other rows of the same kind are not."""

from __future__ import annotations

import io
import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes

import hedgerow
from hedgerow.errors import ModelFileError
from hedgerow.inference.fitted import Learned, fitted_of
from hedgerow.inference.leakage import ALL_HASHES, MOST_MARKS, TrainingOverlap, row_sketch, training_overlap
from hedgerow.inference.predictor import predictor_of
from hedgerow.storage.state import sketch_from_contents, sketch_to_contents


def found(model, X) -> TrainingOverlap | None:
    return training_overlap(fitted_of(model), [predictor_of(model).read(X).codes])


def loaded(model):
    file = io.BytesIO()
    hedgerow.save(model, file)
    file.seek(0)
    return hedgerow.load(file)


@pytest.mark.parametrize("kept", [lambda model: model, loaded, lambda model: pickle.loads(pickle.dumps(model))])
def test_training_rows_are_recognised_and_others_are_not(kept):
    X, y = load_breast_cancer(return_X_y=True)
    model = kept(hedgerow.RandomForestClassifier(10, random_state=0).fit(X[:300], y[:300]))
    assert found(model, X[:300]).share == 1
    assert found(model, X[:30]).share == 1
    assert found(model, X[150:450]).share == pytest.approx(0.5, abs=0.03)
    assert found(model, X[300:]) is None


def test_so_are_those_of_a_regressor():
    X, y = load_diabetes(return_X_y=True)
    model = loaded(hedgerow.RandomForestRegressor(10, random_state=0).fit(X[:300], y[:300]))
    assert found(model, X[:300]).share == 1
    assert found(model, X[300:]) is None


def test_outputs_share_their_marks():
    X, y = load_diabetes(return_X_y=True)
    model = loaded(hedgerow.RandomForestRegressor(5, random_state=0).fit(X, np.column_stack([y, -y])))
    assert [found(output, X).share for output in model.outputs_] == [1, 1]


def test_a_long_table_keeps_few_marks_and_still_counts():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40_000, 4))
    model = hedgerow.RandomForestClassifier(3, calibration=None, random_state=0).fit(X[:20_000], X[:20_000, 0] > 0)
    marks = row_sketch(fitted_of(model))
    assert len(marks.kept) <= MOST_MARKS
    assert marks.below < ALL_HASHES / 10
    assert found(model, X[10_000:30_000]).share == pytest.approx(0.5, abs=0.1)
    assert found(model, X[20_000:]) is None


def test_rows_that_repeat_are_no_sign_of_training_rows():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({name: rng.choice(["a", "b", "c"], 900) for name in "pqr"})
    model = hedgerow.RandomForestClassifier(5, random_state=0).fit(X[:450], X["p"][:450] == "a")
    assert row_sketch(fitted_of(model)).repeats == 1
    assert found(model, X[450:]) is None
    assert found(model, X[:450]) is None


def test_numbers_of_one_column_fall_into_the_bins_of_others():
    X = np.random.default_rng(0).normal(size=(600, 1))
    model = hedgerow.RandomForestClassifier(5, random_state=0).fit(X[:300], X[:300, 0] > 0)
    assert found(model, X[300:]) is None


def test_a_mark_alone_does_not_tell_whether_a_row_was_there():
    X = np.random.default_rng(1).normal(size=(30_000, 3))
    model = hedgerow.RandomForestClassifier(3, calibration=None, random_state=0).fit(X[:2000], X[:2000, 0] > 0)
    marks = row_sketch(fitted_of(model))
    assert 0.012 < marks.chance < 0.02  # of rows that were not there


@pytest.mark.parametrize(
    ("told", "kept"),
    [
        ({"below": 1}, [1, 2]),
        ({"below": 2**32, "repeats": 0.1}, [1, 2]),
        ({"below": 5, "repeats": 1.5}, [1, 2]),
        ({"below": 5, "repeats": 0.5}, [2, 1]),
        ({"below": 5, "repeats": 0.5}, []),
        ({"below": 5, "repeats": 0.5}, list(range(MOST_MARKS + 1))),
    ],
)
def test_marks_of_a_file_are_checked(told, kept):
    with pytest.raises(ModelFileError, match="marks"):
        sketch_from_contents(Learned(), {"marks": told}, {"marks": np.array(kept, dtype=np.uint16)})


def test_a_file_of_an_earlier_version_has_no_marks():
    X, y = load_breast_cancer(return_X_y=True)
    model = loaded(hedgerow.RandomForestClassifier(3, random_state=0).fit(X, y))
    fitted = fitted_of(model)
    told, arrays = sketch_to_contents(fitted)
    assert told.keys() == arrays.keys() == {"marks"}
    del fitted.learned._known["marks"]
    assert found(model, X) is None
    assert sketch_to_contents(fitted) == ({}, {})
