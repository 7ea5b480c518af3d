"""Tables: rows of many kinds, the trees that may be grown on them, and whether two fits agree."""

from __future__ import annotations

import io
from copy import copy
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest

import hedgerow
from hedgerow.inference.fitted import fitted_of, publish

INF = float("inf")
#: So little that nodes of a few hundred rows are grown where their rows lie.
LITTLE = 12_000
N_ROWS = 2_400

#: The columns that are features.
FEATURES = ["a", "b", "c", "d", "colour", "size"]

each_kind = pytest.mark.parametrize(
    ("name", "target", "weight", "parameters"),
    [
        ("RandomForestClassifier", "two", None, {"n_estimators": 3, "criterion": "entropy", "min_samples_leaf": 3}),
        ("RandomForestClassifier", "class", "weight", {"n_estimators": 2, "class_weight": "balanced"}),
        ("RandomForestClassifier", "two", None, {"n_estimators": 2, "class_weight": "balanced_subsample"}),
        ("RandomForestClassifier", "two", "weight", {"n_estimators": 2, "leaf_counts": "inbag", "criterion": "belief"}),
        ("RandomForestClassifier", "class", "weight", {"n_estimators": 2, "leaf_counts": "oob", "max_depth": 4}),
        ("ExtraTreesClassifier", "two", None, {"n_estimators": 3, "max_depth": 6}),
        ("RandomDecisionTreesClassifier", "class", None, {"n_estimators": 3}),
        ("DecisionTreeClassifier", "two", None, {"monotonic_cst": {"a": 1}, "max_depth": 5}),
        ("RandomForestClassifier", "two", None, {"n_estimators": 2, "max_bins": 255}),
        ("RandomForestRegressor", "number", None, {"n_estimators": 2, "max_bins": None}),
        ("RandomForestClassifier", "class", None, {"n_estimators": 2, "constant_features": "count"}),
        ("RandomForestClassifier", "two", None, {"n_estimators": 2, "feature_weights": {"a": INF, "b": 0, "d": 2.5}}),
        ("RandomForestRegressor", "number", None, {"n_estimators": 3}),
        ("RandomForestRegressor", "number", "weight", {"n_estimators": 2, "max_depth": 4}),
        ("ExtraTreesRegressor", "two", None, {"n_estimators": 2, "criterion": "poisson"}),
    ],
    ids=lambda value: value if isinstance(value, str) else None,
)


def make_frame(seed: int = 0) -> pd.DataFrame:
    """Numbers, numbers with gaps, text with gaps, categories that are numbers; labels of two kinds and a target."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(rng.normal(size=(N_ROWS, 4)).round(2), columns=list("abcd"))
    frame.loc[rng.random(N_ROWS) < 0.1, "b"] = np.nan
    frame["colour"] = rng.choice(np.array(["red", "green", "blue", "grey", None], dtype=object), N_ROWS)
    frame["size"] = pd.Categorical(rng.integers(0, 4, N_ROWS))
    score = frame["a"] + frame["b"].fillna(1) + (frame["colour"] == "red") + rng.normal(size=N_ROWS)
    frame["class"] = np.where(score > 1.5, "high", np.where(score > 0, "middle", "low"))
    frame["two"] = (score > 0.5).astype(int)
    frame["number"] = score.round(3)
    frame["weight"] = rng.integers(0, 3, N_ROWS) / 7
    return frame


def assert_same_bytes(here: Any, there: Any) -> None:
    """Trees, cuts and schema agree to the last bit; so do files of classifiers, without what needs training rows."""
    arrays = here.forest_.arrays()
    assert arrays.keys() == there.forest_.arrays().keys()
    for name, array in there.forest_.arrays().items():
        assert (array.dtype, array.tobytes()) == (arrays[name].dtype, arrays[name].tobytes()), name
    for name in ("nominal", "n_bins", "cuts", "cut_start", "centers", "center_start"):
        assert getattr(fitted_of(there).bins, name).tobytes() == getattr(fitted_of(here).bins, name).tobytes(), name
    assert fitted_of(there).schema == fitted_of(here).schema
    if hasattr(here, "classes_"):
        assert saved(there) == saved(publish(copy(here), replace(fitted_of(here), rows=None)))


def saved(model: Any) -> bytes:
    """A model -> its file."""
    file = io.BytesIO()
    hedgerow.save(model, file)
    return file.getvalue()
