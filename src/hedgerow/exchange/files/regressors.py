"""Regressors: what a fitted regressor knows <-> JSON and arrays."""

from __future__ import annotations

import math
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from hedgerow.errors import ModelFileError
from hedgerow.estimators.regression import TreesRegressor
from hedgerow.exchange.files.classifiers import (
    bag_from_json,
    bag_to_json,
    checked_number,
    checked_threads,
    chosen_features_from_json,
    reading_threads,
)
from hedgerow.exchange.files.forests import forest_from_arrays, forest_to_arrays
from hedgerow.exchange.files.origins import origins_from_contents, origins_to_contents
from hedgerow.exchange.files.parameters import Decoder, Encoder
from hedgerow.exchange.files.tables import bins_from_arrays, bins_to_arrays, schema_from_arrays, schema_to_arrays
from hedgerow.exchange.files.values import Array, Arrays, check_starts, take
from hedgerow.fit.parameters import NUMBER_CRITERIA, check_caution
from hedgerow.forest.forest import Forest
from hedgerow.forest.quantiles import LeafRows
from hedgerow.judge.intervals import MAX_ROWS, Residuals
from hedgerow.table import remember_features

Json: TypeAlias = Any

KEYS = frozenset({"parameters", "table", "weighted", "has_means", "seed", "bag", "fitted"})


def regressor_to_contents(model: TreesRegressor) -> tuple[dict[str, Json], Arrays]:
    """Fitted regressor -> JSON and arrays; out-of-bag residuals are found before, the training table is not saved."""
    check_reading(model)
    encoder = Encoder()
    table, arrays = schema_to_arrays(model._schema)
    forest = model.forest_
    arrays |= bins_to_arrays(model._bins) | forest_to_arrays(forest, model._bins, reading_threads(model))
    arrays |= {"range": np.array(model._range)}
    fitted, of_fit = _fitted_to_contents(model, encoder)
    contents = {
        "parameters": encoder.parameters(model),
        "table": table,
        "weighted": forest.weights is not None,
        "has_means": forest.means is not None,
        "seed": model._seed,
        "bag": bag_to_json(model._bag),
        "fitted": fitted,
    }
    return contents, arrays | of_fit | encoder.arrays


def regressor_from_contents(kind: type[TreesRegressor], given: dict[str, Json], arrays: Arrays) -> TreesRegressor:
    """The inverse of `regressor_to_contents`, everything checked; arrays that are used leave `arrays`."""
    decoder = Decoder(arrays, 1)
    model = kind(**decoder.parameters(given["parameters"], kind))
    schema = schema_from_arrays(given["table"], arrays)
    bins = bins_from_arrays(arrays, schema)
    threads = reading_threads(model)
    moments = ("values", "means", "variances") if given["has_means"] is True else ("values", "variances")
    model.forest_, rows = forest_from_arrays(
        arrays, bins, 1, weighted=given["weighted"] is True, n_threads=threads, moments=moments
    )
    model._bins, model._schema, model._bag = bins, schema, bag_from_json(given["bag"], rows)
    model._seed = checked_number("seed", given["seed"], int, 0, 2**63 - 1)
    low, high = _finite("range", take(arrays, "range", np.float64, length=2)).tolist()
    if not low <= high:
        raise ModelFileError(f"range must go from the lowest to the highest target, got {low} and {high}")
    model._range = (low, high)
    remember_features(model, schema)
    _fitted_from_contents(model, given["fitted"], arrays, decoder)
    check_reading(model)
    return model


def check_reading(model: TreesRegressor) -> None:
    """Refuse parameters that would fail when samples are read."""
    checked_threads(getattr(model, "n_jobs", None))
    check_caution(model.caution)
    _checked_criterion(model.criterion)


def _checked_criterion(criterion: Any) -> str:
    """One that trees of numbers can be grown by."""
    if not isinstance(criterion, str) or criterion not in NUMBER_CRITERIA:
        raise ValueError(f"criterion must be one of {', '.join(NUMBER_CRITERIA)}, got {str(criterion)[:40]!r}")
    return criterion


def _fitted_to_contents(model: TreesRegressor, encoder: Encoder) -> tuple[dict[str, Json], Arrays]:
    """What is known of the training rows besides the trees -> JSON and arrays."""
    fitted: dict[str, Json] = {}
    arrays: Arrays = {}
    if hasattr(model, "oob_score_"):
        fitted["oob_score_"] = encoder.encode(model.oob_score_, "oob_score_")
        arrays["oob_prediction"] = model.oob_prediction_
    for name in ("max_features_", "max_features_errors_"):
        if hasattr(model, name):
            fitted[name] = encoder.encode(getattr(model, name), name)
    if model.criterion_ != model.criterion:  # it was set after the fit
        fitted["criterion_"] = model.criterion_
    if model._has_residuals():
        residuals = model._residuals_or_raise()
        fitted["residuals"] = True
        arrays |= {"residuals": residuals.residuals, "residuals.outside": residuals.bits}
    if model.leaf_rows and (hasattr(model, "_leaf_rows") or hasattr(model, "_trained")):
        rows = model._rows_in_leaves()
        fitted["leaf_rows"] = {"weighted": rows.weights is not None}
        arrays |= {"rows.start": rows.row_start, "rows.ranks": rows.ranks, "rows.values": rows.values}
        arrays |= {} if rows.weights is None else {"rows.weights": rows.weights}
    origins, of_rows = origins_to_contents(model)
    return fitted | origins, arrays | of_rows


def _fitted_from_contents(model: TreesRegressor, given: Json, arrays: Arrays, decoder: Decoder) -> None:
    """The inverse of `_fitted_to_contents`."""
    known = {"criterion_", "oob_score_", "max_features_", "max_features_errors_", "residuals", "leaf_rows"}
    known |= {"origins", "later"}
    if not isinstance(given, dict) or not given.keys() <= known:
        raise ModelFileError(f"what was learned must be among {', '.join(sorted(known))}, got something else")
    model.criterion_ = _checked_criterion(given.get("criterion_", model.criterion))
    if "oob_score_" in given:
        score = decoder.decode(given["oob_score_"])
        model.oob_score_ = checked_number("oob_score_", score, float, -math.inf, math.inf)
        model.oob_prediction_ = take(arrays, "oob_prediction", np.float64).copy()
    chosen_features_from_json(model, given, decoder)
    if "residuals" in given:
        model._residuals = _residuals_from(arrays, model.forest_.n_trees)
    if "leaf_rows" in given:
        model._leaf_rows = _leaf_rows_from(given["leaf_rows"], arrays, model.forest_)
    origins_from_contents(model, given, arrays)


def _residuals_from(arrays: Arrays, n_trees: int) -> Residuals:
    """Out-of-bag residuals of rows that some tree has not seen."""
    residuals = _finite("residuals", take(arrays, "residuals", np.float64)).copy()
    bits = take(arrays, "residuals.outside", np.uint8, shape=(len(residuals), (n_trees + 7) // 8)).copy()
    found = Residuals(residuals, bits, n_trees)
    if len(residuals) > MAX_ROWS or (residuals < 0).any() or not found.outside.any(axis=1).all():
        raise ModelFileError(
            f"residuals must be >= 0, of at most {MAX_ROWS} rows that some tree has not seen, got others"
        )
    return found


def _leaf_rows_from(given: Json, arrays: Arrays, forest: Forest) -> LeafRows:
    """The training rows of every leaf."""
    if not isinstance(given, dict) or given.keys() != {"weighted"}:
        raise ModelFileError("leaf_rows must say whether they are weighted, got something else")
    values = _finite("rows.values", take(arrays, "rows.values", np.float64))
    ranks = take(arrays, "rows.ranks", np.uint32)
    start = take(arrays, "rows.start", np.int64, length=int(forest.leaf_start[-1]) + 1)
    check_starts("rows.start", start, len(ranks), least=1)
    weights = None
    if given["weighted"] is True:
        weights = _finite("rows.weights", take(arrays, "rows.weights", np.float64, length=len(values)))
    sound = weights is None or (weights > 0).all()
    if not sound or (np.diff(values) < 0).any() or ranks.max() >= len(values):
        raise ModelFileError("rows of leaves must be numbered by ascending targets and weigh something, got others")
    return LeafRows(start, ranks, values, weights)


def _finite(name: str, values: Array) -> NDArray[np.float64]:
    """Numbers that are numbers."""
    if not np.isfinite(values).all():
        raise ModelFileError(f"{name} must be finite, got NaN or infinity")
    return values
