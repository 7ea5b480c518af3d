"""Classifiers: what a fitted classifier knows <-> JSON and arrays."""

from __future__ import annotations

import math
from numbers import Real
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from hedgerow.belief import Setting, merge_states, resolve_rule
from hedgerow.decide import Decision, decide, resolve_decision
from hedgerow.errors import ModelFileError
from hedgerow.estimators.base import TreesClassifier
from hedgerow.estimators.trees import MAX_ROWS, MIXED, TreesEstimator
from hedgerow.exchange.files.forests import forest_from_arrays, forest_to_arrays
from hedgerow.exchange.files.origins import origins_from_contents, origins_to_contents
from hedgerow.exchange.files.parameters import Decoder, Encoder
from hedgerow.exchange.files.tables import bins_from_arrays, bins_to_arrays, schema_from_arrays, schema_to_arrays
from hedgerow.exchange.files.values import Array, Arrays, labels_from_arrays, labels_to_arrays, take
from hedgerow.fit.parameters import thread_count
from hedgerow.forest.fold import StateCache
from hedgerow.forest.rows import COUNT_SENSES
from hedgerow.table import remember_features
from hedgerow.target.classes import MAX_CLASSES
from hedgerow.target.criteria import Criterion

Json: TypeAlias = Any

#: Threads that a file may ask for.
MAX_THREADS = 1024
#: Up to this many classes, rule and decision are tried out on a leaf without rows.
TRIAL_CLASSES = 32

KEYS = frozenset({"parameters", "classes", "table", "weighted", "seed", "bag", "fitted"})


def classifier_to_contents(model: TreesClassifier) -> tuple[dict[str, Json], Arrays]:
    """Fitted classifier -> JSON and arrays.

    What out-of-bag evidence would have to teach later (the binned training table is not saved) is learned before.
    """
    _learn_what_is_needed(model)
    check_reading(model)
    encoder = Encoder()
    classes, arrays = labels_to_arrays("classes", model.classes_)
    table, of_schema = schema_to_arrays(model._schema)
    arrays |= (
        of_schema | bins_to_arrays(model._bins) | forest_to_arrays(model.forest_, model._bins, reading_threads(model))
    )
    arrays |= {"prior": model._prior}
    fitted, of_fit = _fitted_to_contents(model, encoder)
    contents = {
        "parameters": encoder.parameters(model),
        "classes": classes,
        "table": table,
        "weighted": model.forest_.weights is not None,
        "seed": model._seed,
        "bag": bag_to_json(model._bag),
        "fitted": fitted,
    }
    return contents, arrays | of_fit | encoder.arrays


def classifier_from_contents(kind: type[TreesClassifier], given: dict[str, Json], arrays: Arrays) -> TreesClassifier:
    """The inverse of `classifier_to_contents`, everything checked; arrays that are used leave `arrays`."""
    classes = labels_from_arrays("classes", given["classes"], arrays)
    if len(classes) > MAX_CLASSES:
        raise ModelFileError(f"a model must have at most {MAX_CLASSES} classes, got {len(classes)}")
    decoder = Decoder(arrays, len(classes))
    model = kind(**decoder.parameters(given["parameters"], kind))
    schema = schema_from_arrays(given["table"], arrays)
    bins = bins_from_arrays(arrays, schema)
    weighted = given["weighted"] is True
    leaf_classes, n_trees = kind._tree_shape(len(classes))
    forest, rows = forest_from_arrays(arrays, bins, leaf_classes, weighted=weighted, n_threads=reading_threads(model))
    if n_trees not in (None, forest.n_trees):
        raise ModelFileError(
            f"a {kind.__name__} of {len(classes)} classes must have {n_trees} trees, got {forest.n_trees}"
        )
    bag = bag_from_json(given["bag"], rows)
    model.classes_, model.n_classes_, model.forest_ = classes, len(classes), forest
    model._bins, model._schema, model._bag = bins, schema, bag
    model._seed = checked_number("seed", given["seed"], int, 0, 2**63 - 1)
    model._prior = _checked_prior(take(arrays, "prior", np.float64, length=len(classes)))
    model._cache = StateCache()
    remember_features(model, schema)
    _fitted_from_contents(model, given["fitted"], arrays, decoder)
    check_reading(model)
    return model


def check_reading(model: TreesClassifier) -> None:
    """Refuse parameters that would fail when samples are read; those of another fit are checked by that fit."""
    checked_threads(getattr(model, "n_jobs", None))
    rule, decision = resolve_rule(model.rule), resolve_decision(model.decision)
    caution = getattr(model, "caution_", 1.0) if model.caution == "auto" else model.caution
    if not isinstance(caution, Real):
        raise ValueError(f"caution must be a number >= 0 or 'auto', got {str(caution)[:40]!r}")
    setting = Setting.of(model.n_classes_, float(caution), model._prior)
    if model.n_classes_ > TRIAL_CLASSES:
        return
    with np.errstate(all="ignore"):
        states = rule.lift(np.zeros((1, model.n_classes_)), setting)[:, None, :]
        opinion = rule.finish(merge_states(states, rule.merge), setting)
        ready = getattr(model, "_calibrated", (None, decision))[1] if decision.needs_calibration else decision
        if not ready.needs_calibration or hasattr(ready, "threshold_"):
            decide(opinion, ready)


def chosen_features_from_json(model: Any, given: dict[str, Json], decoder: Decoder) -> None:
    """How many features out-of-bag rows have chosen for a split, and the errors made with other numbers."""
    if "max_features_" not in given:
        return
    model.max_features_ = checked_number("max_features_", given["max_features_"], int, 1, model._schema.n_features)
    errors = decoder.decode(given.get("max_features_errors_"))
    sound = isinstance(errors, dict) and all(
        type(number) is int and isinstance(error, float) for number, error in errors.items()
    )
    if not sound:
        raise ModelFileError("max_features_errors_ must be an error for each number of features, got something else")
    model.max_features_errors_ = dict(errors)


def _learn_what_is_needed(model: TreesClassifier) -> None:
    """Let a forest that still has its training table choose caution, tree weights and calibration as it must."""
    if hasattr(model, "_bagged"):
        caution = model._caution
        model._tree_weights(model._rule, caution)
        model._decision()


def _fitted_to_contents(model: TreesClassifier, encoder: Encoder) -> tuple[dict[str, Json], Arrays]:
    """What was learned besides the trees -> JSON and arrays."""
    fitted: dict[str, Json] = {}
    arrays: Arrays = {}
    for name in ("criterion_", "caution_", "oob_score_", "tuning_", "max_features_", "max_features_errors_"):
        if hasattr(model, name):
            fitted[name] = encoder.encode(getattr(model, name), name)
    if hasattr(model, "_learned"):
        fitted["learned_with"] = encoder.encode(model._learned[0], "caution")
        arrays["tree_weights"] = model._learned[1]
    if hasattr(model, "oob_decision_function_"):
        fitted["oob_decision_function_"] = True
        arrays["oob_decision_function"] = model.oob_decision_function_
    if getattr(model, "_calibrated", (None,))[0] == _calibration_key(model):
        fitted["calibrated"] = encoder.encode(model._calibrated[1], "decision")
    origins, of_rows = origins_to_contents(model)
    return fitted | origins, arrays | of_rows


def _fitted_from_contents(model: TreesClassifier, given: Json, arrays: Arrays, decoder: Decoder) -> None:
    """The inverse of `_fitted_to_contents`."""
    known = {"criterion_", "caution_", "oob_score_", "tuning_", "learned_with", "oob_decision_function_", "calibrated"}
    known |= {"max_features_", "max_features_errors_", "origins"}
    if not isinstance(given, dict) or not given.keys() <= known:
        raise ModelFileError(f"what was learned must be among {', '.join(sorted(known))}, got something else")
    model.criterion_ = _checked_criterion(decoder.decode(given.get("criterion_")))
    if "caution_" in given:
        model.caution_ = checked_number("caution_", given["caution_"], float, 0, math.inf)
    if "oob_score_" in given:
        model.oob_score_ = checked_number("oob_score_", decoder.decode(given["oob_score_"]), float, -math.inf, math.inf)
    if "tuning_" in given:
        model.tuning_ = _checked_tuning(decoder.decode(given["tuning_"]))
    chosen_features_from_json(model, given, decoder)
    if "learned_with" in given:
        caution = checked_number("learned_with", given["learned_with"], float, 0, math.inf)
        weights = take(arrays, "tree_weights", np.float64, length=model.forest_.n_trees).copy()
        if not (np.isfinite(weights) & (weights >= 0)).all():
            raise ModelFileError("tree weights must be finite and not negative, got others")
        model._learned, model.tree_weights_ = (caution, weights), weights
    if "oob_decision_function_" in given:
        model.oob_decision_function_ = take(arrays, "oob_decision_function", np.float64, shape=(None, model.n_classes_))
    if "calibrated" in given:
        model._calibrated = (_calibration_key(model), _checked_decision(model, decoder.decode(given["calibrated"])))
    origins_from_contents(model, given, arrays)


def _calibration_key(model: TreesClassifier) -> Any:
    """What a calibration belongs to: decision, rule and caution; None where there is no caution yet."""
    if isinstance(model.caution, str) and not hasattr(model, "caution_"):
        return None
    return repr(resolve_decision(model.decision)), repr(model._rule), model._caution


def bag_to_json(bag: Any) -> Json:
    """The fingerprint of rows and bags that a warm start compares -> JSON."""
    if bag == MIXED:
        return "mixed"
    rows, n_rows, bag_mean, leaf_counts = bag
    rows = None if rows is None else list(rows)
    return {"rows": rows, "n_rows": n_rows, "bag_mean": bag_mean, "leaf_counts": leaf_counts}


def bag_from_json(given: Json, tree_rows: NDArray[np.uint64]) -> object:
    """The inverse of `bag_to_json`; rows counted in each tree (T,) must be those the bags allow."""
    if given == "mixed":
        return MIXED
    if not isinstance(given, dict) or given.keys() != {"rows", "n_rows", "bag_mean", "leaf_counts"}:
        raise ModelFileError("bag must have rows, n_rows, bag_mean and leaf_counts, got something else")
    rows, leaf_counts = given["rows"], given["leaf_counts"]
    if rows is not None:
        if not isinstance(rows, list) or len(rows) != 2:
            raise ModelFileError("rows of bag must be two checksums, got something else")
        rows = tuple(checked_number("rows of bag", each, int, 0, 2**32 - 1) for each in rows)
    n_rows = checked_number("n_rows of bag", given["n_rows"], int, 1, MAX_ROWS)
    bag_mean = checked_number("bag_mean of bag", given["bag_mean"], float, 0, 1)
    if not isinstance(leaf_counts, str) or leaf_counts not in COUNT_SENSES:
        raise ModelFileError(
            f"leaf_counts of bag must be one of {', '.join(COUNT_SENSES)}, got {str(leaf_counts)[:40]!r}"
        )
    right = {"all": tree_rows == n_rows, "inbag": tree_rows >= 0}.get(leaf_counts, tree_rows <= n_rows)
    if not right.all():
        raise ModelFileError(f"counts of each tree must add up to the {n_rows} training rows, got other sums")
    return rows, n_rows, bag_mean, leaf_counts


def checked_number(name: str, value: Any, kind: type, least: float, most: float) -> Any:
    """A number of the kind, within its limits."""
    right = type(value) is int or (kind is float and type(value) is float)
    if not right or not least <= value <= most:
        raise ModelFileError(f"{name} must be a number from {least} to {most}, got {str(value)[:40]!r}")
    return kind(value)


def checked_threads(n_jobs: Any) -> int | None:
    """``n_jobs`` that does not ask for more threads than any machine has."""
    if n_jobs is None:
        return None
    if type(n_jobs) is not int or n_jobs == 0 or abs(n_jobs) > MAX_THREADS:
        raise ValueError(
            f"n_jobs must be None or an int from -{MAX_THREADS} to {MAX_THREADS}, not 0, got {str(n_jobs)[:40]}"
        )
    return n_jobs


def reading_threads(model: TreesEstimator) -> int:
    """Threads that look through the trees: as many as the model reads with."""
    return thread_count(checked_threads(getattr(model, "n_jobs", None)))


def _checked_prior(prior: Array) -> NDArray[np.float64]:
    """Class shares (K,), positive and adding up to one, in memory of their own."""
    if not ((prior > 0) & (prior <= 1)).all() or abs(prior.sum() - 1) > 1e-9:
        raise ModelFileError("prior must be positive shares that add up to 1, got others")
    return np.array(prior, dtype=np.float64)


def _checked_tuning(tuning: Any) -> list[tuple[float, dict[str, Any]]]:
    """Scores and what they were reached with."""
    sound = isinstance(tuning, list) and all(
        isinstance(each, tuple) and len(each) == 2 and isinstance(each[0], float) and isinstance(each[1], dict)
        for each in tuning
    )
    if not sound:
        raise ModelFileError("tuning_ must be pairs of a score and parameters, got something else")
    return list(tuning)


def _checked_criterion(criterion: Any) -> Criterion:
    """What the trees were grown by, nothing left open."""
    if not isinstance(criterion, Criterion) or not criterion.is_settled:
        raise ModelFileError("criterion_ must be a criterion with all its parameters, got something else")
    return criterion


def _checked_decision(model: TreesClassifier, decision: Any) -> Decision:
    """The calibrated twin of the model's decision."""
    if type(decision) is not type(resolve_decision(model.decision)) or not hasattr(decision, "threshold_"):
        raise ModelFileError("the calibrated decision must be that of the model, got another")
    return decision
