"""Contents of the model file of a classifier."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from hedgerow.belief.calibrate import Calibration, Views
from hedgerow.criteria import Criterion
from hedgerow.decisions import Decision, decide, resolve_decision
from hedgerow.decisions.base import ActionDecision, checked_utility
from hedgerow.errors import ModelFileError
from hedgerow.inference.fitted import FitMetrics, Fitted, Learned, publish
from hedgerow.inference.predictor import predictor_of
from hedgerow.params.checks import check_once_fitted
from hedgerow.rules import Setting, merge_states
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
from hedgerow.storage.values import Arrays, Once, labels_from_arrays, labels_to_arrays, take
from hedgerow.table.schema import Array
from hedgerow.tasks.classification.oob import rule_key
from hedgerow.tasks.classification.predictor import ClassificationPredictor, group_column
from hedgerow.tasks.classification.target import ClassInfo, check_classes

Json: TypeAlias = Any

KEYS = frozenset({"parameters", "classes", "table", "weighted", "seed", "bag", "fitted"})
_REPORTED = {"criterion_", "caution_", "oob_score_", "tuning_", "learned_with", "oob_decision_function_", "calibrated"}
_REPORTED |= {"max_features_", "max_features_errors_", "calibration_"} | LEARNED_KEYS


def classifier_to_contents(model: Any) -> tuple[dict[str, Json], Arrays]:
    """Return the JSON and arrays of a fitted classifier.

    Training rows are not saved, so everything that is learned out of bag is learned first.
    """
    predictor: ClassificationPredictor = predictor_of(model)
    if predictor.fitted.oob_rows is not None:
        predictor.learn()
    _check_reading(model, predictor.fitted)
    encoder = Encoder()
    classes, arrays = labels_to_arrays("classes", predictor.classes)
    state, of_state = state_to_contents(predictor.fitted)
    arrays |= of_state | {"prior": predictor.info.prior}
    reported, of_fit = _fitted_to_contents(predictor, encoder)
    contents = {
        "parameters": encoder.parameters(model),
        "classes": classes,
        "table": state["table"],
        "weighted": predictor.forest.weights is not None,
        "seed": state["seed"],
        "bag": state["bag"],
        "fitted": reported,
    }
    return contents, arrays | of_fit | encoder.arrays


def classifier_from_contents(
    kind: type,
    given: dict[str, Json],
    arrays: Arrays,
    once: Once | None,
    *,
    shape: Callable[[type, int], tuple[int, int | None]],
) -> Any:
    """Read a classifier from the JSON and arrays of a file, and check everything.

    Arrays that are read are removed from `arrays`. `shape` is `Classification.tree_shape`.
    """
    classes = labels_from_arrays("classes", given["classes"], arrays)
    check_classes(classes)
    decoder = Decoder(arrays, len(classes))
    model = decoder.estimator(given["parameters"], kind)
    leaf_classes, n_trees = shape(kind, len(classes))
    state = state_from_contents(given, arrays, leaf_classes, once)
    if n_trees not in (None, state.forest.n_trees):
        raise ModelFileError(
            f"a {kind.__name__} of {len(classes)} classes must have {n_trees} trees, got {state.forest.n_trees}"
        )
    prior = _checked_prior(take(arrays, "prior", np.float64, length=len(classes)))
    reported = given["fitted"]
    check_known(reported, _REPORTED)
    fitted = Fitted(
        schema=state.schema,
        bins=state.bins,
        info=ClassInfo(classes, prior),
        forest=state.forest,
        criterion=_checked_criterion(decoder.decode(reported.get("criterion_"))),
        seed=state.seed,
        fingerprint=state.fingerprint,
        figures=_figures_from(reported, arrays, state.schema.n_features, len(classes), decoder),
        learned=_learned_from(reported, arrays, state.forest.n_trees),
    )
    origins, _ = learned_from_contents(fitted.learned, state, reported, arrays, once)
    publish(model, fitted)
    calibration = calibration_from_contents(reported, arrays, len(classes))
    if calibration is not None:
        fitted.learned.put("calibration", rule_key(model.rule), calibration)
    if "calibrated" in reported:
        decision = _checked_decision(model.decision, decoder.decode(reported["calibrated"]))
        fitted.learned.put("decision", predictor_of(model).decision_key(), decision)
    _check_reading(model, fitted)
    return publish(model, replace(fitted, origins=origins))


def _check_reading(model: Any, fitted: Fitted) -> None:
    """Raise if the model cannot predict; parameters for a fit are checked by `fit`."""
    check_once_fitted(model)
    predictor: ClassificationPredictor = model._predictor(fitted)
    if fitted.oob_rows is None:
        _check_learned(predictor, model)
    _try_parameters(predictor)


def _check_learned(predictor: ClassificationPredictor, model: Any) -> None:
    """Raise if parameters need training rows that the model does not have."""
    learned = predictor.fitted.learned
    if isinstance(model.caution, str) and learned.last("caution") is None:
        raise ValueError("caution must be a number in a model without training rows, got 'auto'.")
    weights = learned.last("weights")
    if predictor.rule.needs_weights and (weights is None or weights[0] != predictor.weights_key(predictor.caution)):
        raise ValueError(
            f"{predictor.rule!r} with caution {predictor.caution:g} requires training rows to learn tree weights. Set"
            " another rule, or the rule and caution that the weights were learned with."
        )


def _try_parameters(predictor: ClassificationPredictor) -> None:
    """Check parameters by predicting from an empty leaf and a leaf of one row."""
    group_column(predictor.fitted, predictor.given_decision)  # raises for groups that are not a column
    rule, decision, n_classes = predictor.rule, resolve_decision(predictor.given_decision), len(predictor.classes)
    if not decision.is_ready:
        decision = (predictor.fitted.learned.last("decision") or (None, decision))[1]
    if isinstance(decision, ActionDecision) and decision.utility is not None:
        two = checked_utility(decision.utility, n_classes)[:2]  # some decisions compare all pairs of actions
        decision = clone(decision).set_params(utility=two)
    setting = Setting.of(n_classes, predictor.caution, predictor.info.prior)
    counts = np.zeros((2, n_classes))
    counts[0, 0] = 1.0
    with np.errstate(all="ignore"):
        opinion = rule.finish(merge_states(rule.lift(counts, setting)[None], rule.merge), setting)
        if not all(np.isfinite(part).all() for part in (opinion.probability, opinion.lower, opinion.upper)):
            raise ValueError(f"caution must give finite probabilities, got {predictor.caution:g} for {rule!r}.")
        if decision.is_ready:
            groups = None if decision.groups is None else np.array([""])
            decide(replace(opinion, groups=groups), decision)


def _fitted_to_contents(predictor: ClassificationPredictor, encoder: Encoder) -> tuple[dict[str, Json], Arrays]:
    """Return everything learned besides the trees as JSON and arrays."""
    fitted, figures, learned = predictor.fitted, predictor.fitted.figures, predictor.fitted.learned
    caution, weights, decision = (learned.last(what) for what in ("caution", "weights", "decision"))
    values = {
        "criterion_": fitted.criterion,
        "caution_": None if caution is None else caution[1],
        "oob_score_": figures.oob_score,
        "tuning_": figures.tuning,
        "max_features_": figures.max_features,
        "max_features_errors_": figures.max_features_errors,
    }
    reported = {name: encoder.encode(value, name) for name, value in values.items() if value is not None}
    arrays: Arrays = {}
    if weights is not None:
        key = weights[0]
        reported["learned_with"] = list(key) if isinstance(key, tuple) else encoder.encode(key, "caution")
        arrays["tree_weights"] = weights[1]
    if figures.oob_predictions is not None:
        reported["oob_decision_function_"] = True
        arrays["oob_decision_function"] = figures.oob_predictions
    if decision is not None and decision[0] == predictor.decision_key():
        reported["calibrated"] = encoder.encode(decision[1], "decision")
    known, of_known = learned_to_contents(fitted)
    calibration, of_calibration = calibration_to_contents(predictor.calibration)
    return reported | known | calibration, arrays | of_known | of_calibration


def _figures_from(
    given: dict[str, Json], arrays: Arrays, n_features: int, n_classes: int, decoder: Decoder
) -> FitMetrics:
    """Read the metrics of the fit."""
    figures = chosen_features_from_json(given, n_features, decoder)
    if "oob_score_" in given:
        figures = replace(figures, oob_score=checked_score(decoder.decode(given["oob_score_"])))
    if "tuning_" in given:
        figures = replace(figures, tuning=_checked_tuning(decoder.decode(given["tuning_"])))
    if "oob_decision_function_" in given:
        figures = replace(figures, oob_predictions=_checked_probabilities(arrays, n_classes))
    return figures


def _checked_probabilities(arrays: Arrays, n_classes: int) -> NDArray[np.float64]:
    """Read the out-of-bag probabilities of the training rows, (n, K)."""
    found = take(arrays, "oob_decision_function", np.float64, shape=(None, n_classes))
    if not ((found >= 0) & (found <= 1 + 1e-9)).all() or not (np.abs(found.sum(axis=1) - 1) <= 1e-6).all():
        raise ModelFileError("malformed 'oob_decision_function': each row must have probabilities that sum to one")
    return found


def _learned_from(given: dict[str, Json], arrays: Arrays, n_trees: int) -> Learned:
    """Read the learned caution and tree weights."""
    learned = Learned()
    if "caution_" in given:
        learned.put("caution", None, checked_number("caution_", given["caution_"], float, 0, math.inf))
    if "learned_with" in given:
        key = _weights_key(given["learned_with"])
        weights = take(arrays, "tree_weights", np.float64, length=n_trees).copy()
        if not (np.isfinite(weights) & (weights >= 0)).all():
            raise ModelFileError(f"malformed 'tree_weights': must be finite and >= 0, got {weights.tolist()[:5]}")
        if not abs(weights.sum() - 1) <= 1e-6:
            raise ModelFileError(f"malformed 'tree_weights': must sum to one, got {weights.sum():g}")
        learned.put("weights", key, weights)
    return learned


def _weights_key(given: Json) -> float | tuple[Any, ...]:
    """Read the caution, and the objective unless it is the default, that tree weights were learned with."""
    if not isinstance(given, list):
        return float(checked_number("learned_with", given, float, 0, math.inf))
    if len(given) != 4 or given[1] not in ("votes", "bounds", "minimax"):
        raise ModelFileError(f"malformed 'learned_with': must be a number or four values, got {given!r}")
    caution, lam = (checked_number("learned_with", each, float, 0, math.inf) for each in (given[0], given[3]))
    gamma = None if given[2] is None else checked_number("learned_with", given[2], float, 0, math.inf)
    return caution, given[1], gamma, lam


def _checked_prior(prior: Array) -> NDArray[np.float64]:
    """Return a copy of the class shares (K,); raise unless they are a distribution."""
    if not ((prior > 0) & (prior <= 1)).all() or abs(prior.sum() - 1) > 1e-9:
        raise ModelFileError(f"malformed 'prior': must be positive and sum to 1, got {prior.tolist()[:5]}")
    return np.array(prior, dtype=np.float64)


def _checked_tuning(tuning: Any) -> list[tuple[float, dict[str, Any]]]:
    """Return the tuning results, pairs of a score and parameters; raise otherwise."""
    sound = isinstance(tuning, list) and all(
        isinstance(each, tuple) and len(each) == 2 and isinstance(each[0], float) and isinstance(each[1], dict)
        for each in tuning
    )
    if not sound:
        raise ModelFileError(f"malformed 'tuning_': must be pairs of a score and parameters, got {str(tuning)[:40]}")
    return list(tuning)


def _checked_criterion(criterion: Any) -> Criterion:
    """Return the criterion of the trees; raise unless it is fully resolved."""
    if not isinstance(criterion, Criterion) or not criterion.is_resolved:
        raise ModelFileError(f"malformed 'criterion_': must be a resolved criterion, got {str(criterion)[:40]}")
    return criterion


def _checked_decision(asked: Any, decision: Any) -> Decision:
    """Return the calibrated decision; raise unless it belongs to the model."""
    own = resolve_decision(asked)
    if not own.needs_calibration or type(decision) is not type(own) or not decision.is_ready:
        raise ModelFileError(f"malformed 'calibrated': must be a calibrated {own!r}, got {str(decision)[:40]}")
    return decision


#: Largest absolute parameter of a calibrator; penalties keep fitted values far below.
MOST = 1e6


def calibration_to_contents(learned: Calibration) -> tuple[dict[str, Any], Arrays]:
    """Return the JSON and arrays of a calibrator; empty if there is none."""
    if learned.why:
        return {}, {}
    numbers: dict[str, Any] = {"slope": learned.slope, "gain": learned.gain, "rows": learned.n_rows}
    numbers["mixes"] = learned.mix is not None
    arrays: Arrays = {"calibration_offsets": learned.offsets}
    if learned.views is not None and learned.weights is not None:
        numbers["views"] = {"kinds": learned.views.kinds, "least": list(learned.views.least)}
        arrays["calibration_weights"] = learned.weights
    if learned.mix is not None:
        arrays["calibration_mix"] = learned.mix.ravel()
    return {"calibration_": numbers}, arrays


def calibration_from_contents(given: dict[str, Any], arrays: Arrays, n_classes: int) -> Calibration | None:
    """Read a calibrator, and check everything; None if the file has none."""
    if "calibration_" not in given:
        return None
    numbers = given["calibration_"]
    if not isinstance(numbers, dict):
        raise ModelFileError(f"malformed 'calibration_': must be an object, got {str(numbers)[:40]}")
    check_known(numbers, {"slope", "gain", "rows", "mixes", "views"})
    offsets = _ordinary(take(arrays, "calibration_offsets", np.float64, length=n_classes))
    mix, mixes = None, numbers.get("mixes")
    if not isinstance(mixes, bool):
        raise ModelFileError(f"malformed 'calibration_': mixes must be true or false, got {str(mixes)[:40]}")
    if mixes:
        mix = _ordinary(take(arrays, "calibration_mix", np.float64, length=n_classes**2)).reshape(n_classes, n_classes)
    slope = checked_number("slope", numbers.get("slope"), float, 1.0, MOST)
    gain = checked_number("gain", numbers.get("gain"), float, 0.0, MOST)
    n_rows = checked_number("rows", numbers.get("rows"), int, 0, 2**31)
    return Calibration(slope, mix, offsets, gain, n_rows, "", *_views_from(numbers, arrays, slope))


#: Largest numbers of kinds of trees, of depths, and of rows of a node.
MOST_KINDS, MOST_DEPTHS, MOST_LEAST = 16, 16, 2**31


def _views_from(numbers: dict[str, Any], arrays: Arrays, slope: float) -> tuple[Views | None, Any]:
    """Read the views of a calibrator and their weights, and check everything; None if it has none."""
    if "views" not in numbers:
        return None, None
    given = numbers["views"]
    least = given.get("least") if isinstance(given, dict) else None
    if not isinstance(least, list) or not 1 <= len(least) <= MOST_DEPTHS or set(given) != {"kinds", "least"}:
        raise ModelFileError(f"malformed 'views': must have kinds and a list of depths, got {str(given)[:40]}")
    kinds = checked_number("kinds", given["kinds"], int, 1, MOST_KINDS)
    views = Views(kinds, tuple(checked_number("least", each, int, 1, MOST_LEAST) for each in least))
    weights = _ordinary(take(arrays, "calibration_weights", np.float64, length=views.number))
    if (weights < 0).any() or not abs(weights.sum() - slope) <= 1e-9 * slope:
        raise ModelFileError(
            f"malformed 'calibration_weights': must be >= 0 and sum to the slope, got {weights.tolist()[:5]}"
        )
    return views, weights


def _ordinary(numbers: Any) -> Any:
    """Return a copy of an array; raise unless its values lie within ±`MOST`."""
    if not (np.abs(numbers) <= MOST).all():
        raise ModelFileError(
            f"malformed 'calibration_': values must lie within ±{MOST:g}, got {np.abs(numbers).max():g}"
        )
    return np.array(numbers, dtype=np.float64)
