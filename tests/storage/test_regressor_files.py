"""Model files of regressors: what is saved is loaded, bit for bit; what was tampered with is refused or harmless."""

from __future__ import annotations

import io
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from tests.reference.golden import FOLDER, number_answers, table_from_columns
from tests.reference.models import NUMBER_MODELS

import hedgerow
from hedgerow import ModelFileError, RandomForestRegressor
from hedgerow.inference.fitted import fitted_of, publish
from hedgerow.storage.container import read_file, write_file


def saved(model: Any) -> bytes:
    file = io.BytesIO()
    hedgerow.save(model, file)
    return file.getvalue()


@pytest.mark.parametrize("name", NUMBER_MODELS)
def test_a_loaded_regressor_says_what_the_saved_one_says(name: str) -> None:
    model, asked = NUMBER_MODELS[name]()
    again = hedgerow.load(io.BytesIO(saved(model)))
    assert type(again) is type(model)
    assert repr(again.get_params()) == repr(model.get_params())
    expected, got = number_answers(model, asked), number_answers(again, asked)
    assert expected.keys() == got.keys()
    assert all(np.array_equal(got[question], expected[question]) for question in expected)
    assert np.array_equal(again.feature_importances_, model.feature_importances_)
    if hasattr(model, "oob_score_"):
        assert again.oob_score_ == model.oob_score_
        assert np.array_equal(again.oob_prediction_, model.oob_prediction_, equal_nan=True)


def test_a_loaded_forest_has_calibrated_quantiles_and_both_kinds_of_intervals() -> None:
    model, asked = NUMBER_MODELS["number-forest"]()
    again = hedgerow.load(io.BytesIO(saved(model)))
    for method in ("scaled", "jackknife+"):
        assert np.array_equal(
            again.predict_interval(asked, method=method), model.predict_interval(asked, method=method)
        )
    quantiles = model.predict_quantiles(asked, method="scaled")
    assert np.array_equal(again.predict_quantiles(asked, method="scaled"), quantiles)


def test_a_file_of_an_earlier_version_has_the_intervals_of_then() -> None:
    model = hedgerow.load(FOLDER / "1.0" / "number-forest.hedge")
    asked = table_from_columns(dict(np.load(FOLDER / "1.0" / "number-forest.npz")))
    assert np.array_equal(model.predict_interval(asked), model.predict_interval(asked, method="jackknife+"))
    with pytest.raises(ValueError, match=r'requires scaled residuals.* Use method="jackknife\+"'):
        model.predict_interval(asked, method="scaled")
    with pytest.raises(ValueError, match=r'requires scaled residuals.* Use method="leaves"'):
        model.predict_quantiles(asked, method="scaled")


def test_a_file_keeps_the_criterion_of_the_fit_and_the_one_that_was_set() -> None:
    X, y = np.random.default_rng(0).normal(size=(60, 3)), np.arange(60.0)
    model = RandomForestRegressor(4, criterion="poisson", random_state=0).fit(X, y)
    assert hedgerow.load(io.BytesIO(saved(model))).criterion_ == "poisson"
    importances = model.feature_importances_
    again = hedgerow.load(io.BytesIO(saved(model.set_params(criterion="squared_error"))))
    assert (again.criterion, again.criterion_) == ("squared_error", "poisson")
    assert np.array_equal(again.feature_importances_, importances)


def test_a_criterion_that_is_none_is_refused() -> None:
    model = NUMBER_MODELS["number-forest"]()[0]
    publish(model, replace(fitted_of(model), criterion="gini"))
    with pytest.raises(ModelFileError, match="criterion must be one of"):
        hedgerow.load(io.BytesIO(saved(model)))


def test_rows_of_leaves_are_saved_only_where_asked_for() -> None:
    model, asked = NUMBER_MODELS["number-extra"]()
    model.predict_quantiles(asked)
    with pytest.raises(ValueError, match="leaf_rows=True"):
        hedgerow.load(io.BytesIO(saved(model))).predict_quantiles(asked)


TAMPERED = {
    "forest.values": lambda a: np.full_like(a, np.nan),
    "forest.variances": lambda a: a - 1e9,
    "forest.counts": lambda a: np.zeros_like(a),
    "range": lambda a: a[::-1].copy(),
    "residuals": lambda a: -a - 1,
    "residuals.outside": lambda a: np.zeros_like(a),
    "residuals.scaled": lambda a: a[::-1].copy(),
    "hulls.features": lambda a: a + 1000,
    "hulls.marks": lambda a: np.full_like(a, 127 | 1 << 14),
    "hulls.missing": lambda a: -a - 1,
    "hulls.spread": lambda a: -a - 1,
    "novelty.both": lambda a: a[1:],
    "novelty.total": lambda a: a[::-1].copy(),
    "rows.ranks": lambda a: np.full_like(a, 2**31),
    "rows.start": lambda a: a[::-1].copy(),
    "rows.values": lambda a: a[::-1].copy(),
}


@pytest.mark.parametrize("array", TAMPERED)
def test_tampered_arrays_are_refused(array: str) -> None:
    model, _ = NUMBER_MODELS["number-forest"]()
    contents = read_file(io.BytesIO(saved(model)), memory_map=False)
    contents.arrays[array] = TAMPERED[array](contents.arrays[array])
    file = io.BytesIO()
    write_file(file, contents)
    with pytest.raises(ModelFileError):
        hedgerow.load(io.BytesIO(file.getvalue()))


def test_flipped_bits_are_refused_or_harmless() -> None:
    model, asked = NUMBER_MODELS["number-forest"]()
    data = bytearray(saved(model))
    rng = np.random.default_rng(0)
    refused = 0
    for _ in range(300):
        at = int(rng.integers(len(data)))
        flipped = bytearray(data)
        flipped[at] ^= 1 << int(rng.integers(8))
        try:
            number_answers(hedgerow.load(io.BytesIO(bytes(flipped))), asked)
        except ModelFileError:
            refused += 1
    assert 0 < refused < 300


def test_regressors_with_functions_among_their_parameters_are_refused() -> None:
    model = RandomForestRegressor(3, oob_score=lambda y, p: 0.0, random_state=0).fit(np.arange(9.0)[:, None], range(9))
    with pytest.raises(ValueError, match="oob_score"):
        hedgerow.save(model, io.BytesIO())
