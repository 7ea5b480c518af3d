"""Answers as data frames, named by the index; explicit signatures; features that nobody can change."""

from __future__ import annotations

import inspect
import io

import numpy as np
import pandas as pd
import polars as pl
import pytest
import sklearn
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_diabetes
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import hedgerow
from hedgerow import plot
from hedgerow.explain import explain
from hedgerow.explain.report import make_report

DATA = load_breast_cancer(as_frame=True)
X = DATA.data.iloc[:, :6].set_axis([f"P{row}" for row in range(len(DATA.data))])
Y = np.asarray(DATA.target_names)[DATA.target]


@pytest.fixture(scope="module")
def forest():
    return hedgerow.RandomForestClassifier(30, caution=2, random_state=0).fit(X[:300], Y[:300])


@pytest.fixture(scope="module")
def regressor():
    data = load_diabetes(as_frame=True)
    return hedgerow.RandomForestRegressor(20, random_state=0).fit(data.data[:300], data.target[:300]), data.data[300:]


def test_a_frame_has_every_answer_under_the_index(forest):
    frame = forest.predict_frame(X[300:])
    assert frame.index.equals(X.index[300:])
    assert (frame["label"] == forest.predict(X[300:])).all()
    assert frame["set"].tolist() == forest.predict_set(X[300:], labels=True)
    assert (frame["lower_benign"] == forest.predict_bounds(X[300:])[:, 0, 0]).all()
    np.testing.assert_allclose(frame[["p_benign", "p_malignant"]], forest.predict_proba(X[300:]), rtol=1e-14)
    assert (frame["vacuity"] == forest.predict_uncertainty(X[300:]).vacuity).all()
    assert (frame["novelty"] == forest.predict_novelty(X[300:])).all()


def test_labels_of_sets_are_for_a_single_output():
    forest = hedgerow.RandomForestClassifier(3, random_state=0).fit(X[:50], np.column_stack([Y[:50], Y[50:100]]))
    with pytest.raises(ValueError, match="labels=True does not support multi-output models"):
        forest.predict_set(X[:2], labels=True)


def test_a_frame_of_numbers_has_intervals(regressor):
    model, rows = regressor
    frame = model.predict_frame(rows, coverage=0.8)
    assert (frame[["lower", "upper"]].to_numpy() == model.predict_interval(rows, 0.8)).all()
    assert (frame["prediction"] == model.predict(rows)).all()
    with pytest.raises(ValueError, match="coverage must be a number between 0 and 1, got 2"):
        model.predict_frame(rows, coverage=2)


def test_a_frame_is_of_the_library_of_the_table_or_of_the_one_asked_for(forest):
    assert isinstance(forest.predict_frame(pl.from_pandas(X[300:305])), pl.DataFrame)
    assert isinstance(clone(forest).fit(X.to_numpy(), Y).predict_frame(X[300:305].to_numpy()), pd.DataFrame)
    asked = clone(forest).fit(X[:300], Y[:300]).set_output(transform="polars")
    assert isinstance(asked.predict_frame(X[300:305]), pl.DataFrame)


def test_uncertainty_is_a_frame_under_set_output(forest, regressor):
    plain = forest.predict_uncertainty(X[300:])
    with sklearn.config_context(transform_output="pandas"):
        frame = forest.predict_uncertainty(X[300:])
    assert frame.index.equals(X.index[300:])
    assert tuple(frame.columns) == plain._fields
    assert (frame.to_numpy() == np.column_stack(plain)).all()
    model, rows = regressor
    asked = clone(model.set_output(transform="polars"))
    model.set_output(transform="default")
    assert isinstance(asked.fit(rows, np.arange(len(rows))).predict_uncertainty(rows), pl.DataFrame)
    assert not isinstance(model.predict_uncertainty(rows), pl.DataFrame)
    with pytest.raises(ValueError, match="transform must be one of default, pandas, polars or None, got 'excel'"):
        model.set_output(transform="excel")


def test_sets_are_reached_through_a_pipeline():
    model = hedgerow.RandomForestClassifier(10, caution=2, random_state=0)
    pipeline = make_pipeline(StandardScaler(), model).fit(X[:300], Y[:300])
    labels, sets = pipeline.predict(X[300:], return_set=True)
    assert (labels == pipeline.predict(X[300:])).all()
    assert (sets == model.predict_set(pipeline[:-1].transform(X[300:]))).all()


def test_the_index_names_rows_in_explanations_reports_and_plots(forest, regressor):
    doubtful = X[300:][forest.predict_set(X[300:]).sum(axis=1) > 1]
    assert forest.explain(doubtful[:1], shap=False)[0].title == f"Row 0 ({doubtful.index[0]})"
    assert doubtful.index[0] in forest.report(doubtful, time_limit=0).html
    assert plot.IntervalDisplay.from_estimator(forest, doubtful[:2]).names == doubtful.index[:2].tolist()
    model, rows = regressor
    assert model.explain(rows[:1], shap=False)[0].title == "Row 0 (300)"
    assert model.explain(rows[:1].reset_index(drop=True), shap=False)[0].title == "Row 0"


@pytest.mark.parametrize(("method", "function"), [("explain", explain), ("report", make_report)])
def test_methods_spell_out_what_they_take(method, function):
    ours = inspect.signature(getattr(hedgerow.RandomForestClassifier, method)).parameters
    theirs = inspect.signature(function).parameters
    assert {name: each.default for name, each in ours.items() if name != "self"} == {
        name: each.default for name, each in theirs.items() if name != "forest"
    }


def test_advice_leaves_immutable_features_as_they_are(forest):
    doubtful = X[300:][forest.predict_set(X[300:]).sum(axis=1) > 1]
    free = forest.explain(doubtful[:5], shap=False)
    used = {change["feature"] for each in free for change in each.remedies.counterfactual["changes"]}
    kept = clone(forest).set_params(immutable_features=sorted(used)).fit(X[:300], Y[:300])
    file = io.BytesIO()
    hedgerow.save(kept, file)
    file.seek(0)
    loaded = hedgerow.load(file)
    assert loaded.immutable_features == sorted(used)
    for each in loaded.explain(doubtful[:5], shap=False):
        assert not used & {change["feature"] for change in each.remedies.counterfactual["changes"]}
    again = loaded.explain(doubtful[:1], shap=False, immutable=())[0]
    assert again.remedies.counterfactual["changes"] == free[0].remedies.counterfactual["changes"]


def test_immutable_features_are_checked(forest):
    with pytest.raises(ValueError, match="immutable_features must be a list of names or numbers of features, or None"):
        clone(forest).set_params(immutable_features="age").fit(X, Y)
    wrong = clone(forest).set_params(immutable_features=["age"]).fit(X[:300], Y[:300])
    with pytest.raises(ValueError, match="immutable must contain names or numbers of features, got 'age'"):
        wrong.explain(X[300:302])
