"""Contents of the model file of a regressor."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, TypeAlias

import numpy as np

from hedgerow.criteria import Criterion
from hedgerow.errors import ModelFileError
from hedgerow.forest.forest import Forest
from hedgerow.forest.moments import LIGHTEST, MAX_TARGET, check_targets
from hedgerow.forest.payload import MOST_WEIGHT
from hedgerow.forest.quantiles import LeafRows
from hedgerow.inference.fitted import Fitted, Learned, publish
from hedgerow.inference.predictor import predictor_of
from hedgerow.params.checks import check_once_fitted
from hedgerow.params.table import number_criterion
from hedgerow.storage.parameters import Decoder, Encoder
from hedgerow.storage.state import (
    LEARNED_KEYS,
    check_known,
    checked_number,
    checked_score,
    chosen_features_from_json,
    learned_from_contents,
    learned_to_contents,
    state_from_contents,
    state_to_contents,
)
from hedgerow.storage.values import Arrays, Once, check_starts, take
from hedgerow.table.schema import Array
from hedgerow.tasks.regression.oob import MAX_ROWS, MAX_SCALED, Residuals
from hedgerow.tasks.regression.predictor import RegressionPredictor
from hedgerow.tasks.regression.stack import KINDS, MOST, MOST_FACTOR, Stack
from hedgerow.tasks.regression.target import RangeInfo, check_poisson

Json: TypeAlias = Any

KEYS = frozenset({"parameters", "table", "weighted", "has_means", "seed", "bag", "fitted"})
_REPORTED = {
    "criterion_",
    "oob_score_",
    "max_features_",
    "max_features_errors_",
    "residuals",
    "leaf_rows",
    "impurities",
}
_REPORTED |= {"later", "scaled", "stack"} | LEARNED_KEYS

_STACKED = ("weights", "centres")


def regressor_to_contents(model: Any) -> tuple[dict[str, Json], Arrays]:
    """Return the JSON and arrays of a fitted regressor, with residuals but no rows."""
    predictor: RegressionPredictor = predictor_of(model)
    _check_reading(model)
    encoder = Encoder()
    state, arrays = state_to_contents(predictor.fitted)
    arrays |= {"range": np.array([predictor.info.low, predictor.info.high])}
    reported, of_fit = _fitted_to_contents(predictor, model, encoder)
    contents = {
        "parameters": encoder.parameters(model),
        "table": state["table"],
        "weighted": predictor.fitted.forest.weights is not None,
        "has_means": predictor.fitted.forest.means is not None,
        "seed": state["seed"],
        "bag": state["bag"],
        "fitted": reported,
    }
    return contents, arrays | of_fit | encoder.arrays


def regressor_from_contents(kind: type, given: dict[str, Json], arrays: Arrays, once: Once | None = None) -> Any:
    """Read a regressor, and check everything; arrays read are removed from `arrays`."""
    decoder = Decoder(arrays, 1)
    model = decoder.estimator(given["parameters"], kind)
    moments = ("values", "variances", "halves", *(("means",) if given["has_means"] is True else ()))
    state = state_from_contents(given, arrays, 1, once, moments=moments)
    reported = given["fitted"]
    check_known(reported, _REPORTED)
    criterion = _checked_criterion(decoder.decode(reported.get("criterion_")) or model.criterion)
    info = _info_from(take(arrays, "range", np.float64, length=2), criterion, state.forest)
    figures = chosen_features_from_json(reported, state.schema.n_features, decoder)
    if "oob_score_" in reported:
        score = checked_score(decoder.decode(reported["oob_score_"]))
        figures = replace(figures, oob_score=score, oob_predictions=take(arrays, "oob_prediction", np.float64).copy())
    learned = Learned()
    if "residuals" in reported:
        residuals = _residuals_from(arrays, state.forest.n_trees)
        if "scaled" in reported:
            residuals = _with_scaled(residuals, reported["scaled"], arrays, info)
        learned.put("residuals", None, residuals)
    if "stack" in reported:
        learned.put("stack", None, _stack_from(reported["stack"], arrays, model, info))
    if "impurities" in reported:
        learned.put("impurities", None, _impurities_from(arrays, len(state.forest.nodes)))
    if "leaf_rows" in reported:
        learned.put("leaf_rows", None, _leaf_rows_from(reported["leaf_rows"], arrays, state.forest, info))
    origins, forest = learned_from_contents(learned, state, reported, arrays, once)
    _check_reading(model)
    fitted = Fitted(
        schema=state.schema,
        bins=state.bins,
        info=info,
        forest=forest,
        criterion=criterion,
        seed=state.seed,
        fingerprint=state.fingerprint,
        origins=origins,
        figures=figures,
        learned=learned,
    )
    return publish(model, fitted)


def _check_reading(model: Any) -> None:
    """Raise if parameters would fail in a prediction."""
    check_once_fitted(model)
    _checked_criterion(model.criterion)


def _checked_criterion(criterion: Any) -> str | Criterion:
    """Return a regression criterion, checked."""
    return number_criterion(criterion)


def _fitted_to_contents(predictor: RegressionPredictor, model: Any, encoder: Encoder) -> tuple[dict[str, Json], Arrays]:
    """Return everything learned besides the trees as JSON and arrays."""
    fitted, figures = predictor.fitted, predictor.fitted.figures
    reported: dict[str, Json] = {}
    arrays: Arrays = {}
    if figures.oob_score is not None and figures.oob_predictions is not None:
        reported["oob_score_"] = encoder.encode(figures.oob_score, "oob_score_")
        arrays["oob_prediction"] = figures.oob_predictions
    chosen = {"max_features_": figures.max_features, "max_features_errors_": figures.max_features_errors}
    reported |= {name: encoder.encode(value, name) for name, value in chosen.items() if value is not None}
    if fitted.criterion != model.criterion:  # the parameter was changed after the fit
        reported["criterion_"] = encoder.encode(fitted.criterion, "criterion_")
    if predictor.stack is not None and predictor.is_stacked:
        reported["stack"] = {"level": predictor.stack.level, "rows": predictor.stack.n_rows}
        arrays |= {"stack.weights": predictor.stack.weights, "stack.centres": predictor.stack.centres}
    if predictor.has_residuals and len((residuals := predictor.residuals("predict_interval")).residuals):
        reported["residuals"] = True
        arrays |= {"residuals": residuals.residuals, "residuals.outside": residuals.bits}
        if residuals.scaled is not None:
            reported["scaled"] = {"mean_square": residuals.mean_square}
            arrays["residuals.scaled"] = residuals.scaled
            arrays |= {} if residuals.scaled_high is None else {"residuals.scaled_high": residuals.scaled_high}
    if fitted.impurities is not None:
        reported["impurities"] = True
        arrays["impurities"] = fitted.impurities
    if model.leaf_rows and predictor.has_leaf_rows:
        rows = predictor.leaf_rows()
        reported["leaf_rows"] = {"weighted": rows.weights is not None}
        arrays |= {"rows.start": rows.row_start, "rows.ranks": rows.ranks, "rows.values": rows.values}
        for name, held in (("weights", rows.weights), ("halves", rows.halves)):
            arrays |= {} if held is None else {f"rows.{name}": held}
    known, of_known = learned_to_contents(fitted)
    return reported | known, arrays | of_known


def _info_from(extremes: Array, criterion: str | Criterion, forest: Forest) -> RangeInfo:
    """Read the range of the targets, and check that leaves predict within it."""
    check_targets("range", extremes)
    low, high = extremes.tolist()
    if not low <= high:
        raise ModelFileError(f"malformed 'range': the lowest target must not exceed the highest, got {low} and {high}")
    if criterion == "poisson":
        check_poisson(low, high)
    for name in ("values", "means"):
        _check_between(name, vars(forest.evidence)[name], low, high)
    return RangeInfo.between(low, high)


def _check_between(name: str, values: Array | None, low: float, high: float) -> None:
    """Raise if values lie outside the range of the targets, up to rounding."""
    slack = 1e-6 * max(abs(low), abs(high))
    if values is not None and not ((low - slack <= values) & (values <= high + slack)).all():
        raise ModelFileError(
            f"malformed '{name}': must lie between {low:g} and {high:g}, got {values.min():g} to {values.max():g}"
        )


def _impurities_from(arrays: Arrays, n_nodes: int) -> Array:
    """Read the impurity of every node, checked."""
    impurities = take(arrays, "impurities", np.float64, length=n_nodes).copy()
    if not ((impurities >= 0) & (impurities <= MAX_TARGET**2)).all():
        raise ModelFileError(
            f"malformed 'impurities': must be between 0 and {MAX_TARGET**2:g}, got {impurities.min():g} to"
            f" {impurities.max():g}"
        )
    return impurities


def _residuals_from(arrays: Arrays, n_trees: int) -> Residuals:
    """Read out-of-bag residuals, checked."""
    residuals = take(arrays, "residuals", np.float64).copy()
    check_targets("residuals", residuals / 2)
    bits = take(arrays, "residuals.outside", np.uint8, shape=(len(residuals), (n_trees + 7) // 8)).copy()
    found = Residuals(residuals, bits, n_trees)
    if len(residuals) > MAX_ROWS or (residuals < 0).any() or not found.oob.any(axis=1).all():
        raise ModelFileError(
            f"malformed 'residuals': must be >= 0 for at most {MAX_ROWS} out-of-bag rows, got {len(residuals)}"
        )
    return found


def _with_scaled(residuals: Residuals, given: Json, arrays: Arrays, info: RangeInfo) -> Residuals:
    """Add scaled residuals, checked."""
    if not isinstance(given, dict) or given.keys() != {"mean_square"}:
        raise ModelFileError(f"malformed 'scaled': must be an object with 'mean_square', got {str(given)[:40]}")
    most = (1 + 1e-6) * (info.high - info.low) ** 2
    mean_square = checked_number("mean_square", given["mean_square"], float, 0.0, most)
    names = [name for name in ("scaled", "scaled_high") if f"residuals.{name}" in arrays or name == "scaled"]
    held = {name: take(arrays, f"residuals.{name}", np.float64).copy() for name in names}
    for name, scaled in held.items():
        if (
            len(scaled) > len(residuals.residuals)
            or len(scaled) != len(held["scaled"])
            or not (np.abs(scaled) <= MAX_SCALED).all()
            or (np.diff(scaled) < 0).any()
        ):
            raise ModelFileError(
                f"malformed 'residuals.{name}': must be ascending, within ±{MAX_SCALED:.0f}, and at most"
                f" {len(residuals.residuals)} values, got {len(scaled)}"
            )
    return replace(residuals, scaled=held["scaled"], mean_square=mean_square, scaled_high=held.get("scaled_high"))


def _stack_from(given: Json, arrays: Arrays, model: Any, info: RangeInfo) -> Stack:
    """Read the weights of the kinds of trees of a mixed forest, checked."""
    if model.splitter != "mixed" or not isinstance(given, dict) or given.keys() != {"level", "rows"}:
        raise ModelFileError(f"malformed 'stack': must be that of a mixed forest, got {str(given)[:40]}")
    weights, centres = (take(arrays, f"stack.{name}", np.float64, length=KINDS).copy() for name in _STACKED)
    _check_between("stack.centres", centres, info.low, info.high)
    if not ((weights >= 0) & (weights <= MOST_FACTOR)).all():
        raise ModelFileError(f"malformed 'stack.weights': must lie between 0 and {MOST_FACTOR}, got {weights}")
    level = checked_number("level", given["level"], float, info.low, info.high)
    return Stack(weights, centres, level, checked_number("rows", given["rows"], int, 1, MOST))


def _leaf_rows_from(given: Json, arrays: Arrays, forest: Forest, info: RangeInfo) -> LeafRows:
    """Read the training rows of every leaf, checked."""
    if not isinstance(given, dict) or given.keys() != {"weighted"}:
        raise ModelFileError(f"malformed 'leaf_rows': must be an object with 'weighted', got {str(given)[:40]}")
    values = take(arrays, "rows.values", np.float64)
    _check_between("rows.values", values, info.low, info.high)
    ranks = take(arrays, "rows.ranks", np.uint32)
    start = take(arrays, "rows.start", np.int64, length=int(forest.leaf_start[-1]) + 1)
    check_starts("rows.start", start, len(ranks), least=1)
    weights = None
    if given["weighted"] is True:
        weights = take(arrays, "rows.weights", np.float64, length=len(values))
    halves = None
    if "rows.halves" in arrays:
        halves = take(arrays, "rows.halves", np.float64, length=len(values))
    sound = halves is None or ((halves >= 0) & (halves <= MAX_TARGET)).all()
    sound = sound and (weights is None or ((weights >= LIGHTEST) & (weights <= MOST_WEIGHT)).all())
    if not sound or (np.diff(values) < 0).any() or ranks.max() >= len(values):
        raise ModelFileError("malformed 'leaf_rows': rows must be ranked by target, with positive weights")
    return LeafRows(start, ranks, values, weights, halves)
