"""File state of survival forests that was learned out of bag."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow.errors import ModelFileError
from hedgerow.inference.fitted import FitMetrics, Learned, fitted_of
from hedgerow.inference.predictor import predictor_of
from hedgerow.storage.state import checked_number, checked_score
from hedgerow.storage.values import Arrays, take
from hedgerow.tasks.survival.curves import DEPTHS, LEAF_ONLY
from hedgerow.tasks.survival.oob import LEAF_SIZES, MOST_LEVELS, CurveCalibration, LowerLevels

Floats = NDArray[np.float64]


def oob_to_contents(model: Any) -> tuple[dict[str, Any], Arrays]:
    """Return score and leaf size as JSON, and calibrator and levels of lower bounds as arrays."""
    predictor_of(model).learn()
    fitted = fitted_of(model)
    found = {"oob_score_": fitted.figures.oob_score, "leaf_size_": fitted.figures.leaf_size}
    reported = {name: value for name, value in found.items() if value is not None and value == value}
    arrays: Arrays = {}
    calibration, lower = (fitted.learned.last(name) for name in ("calibration", "lower"))
    if calibration is not None and calibration[1] is not None:
        arrays |= {"calibration.levels": calibration[1].levels, "calibration.values": calibration[1].values}
        arrays |= {"calibration.depths": np.array(calibration[1].weights)}
    if lower is not None:
        arrays |= {"lower.levels": lower[1].levels, "lower.missed": lower[1].missed}
    return reported, arrays


def oob_from_contents(given: dict[str, Any]) -> FitMetrics:
    """Read score and leaf size, validated."""
    score = checked_score(given["oob_score_"]) if "oob_score_" in given else None
    size = given.get("leaf_size_")
    if size is not None:
        size = checked_number("leaf_size_", size, int, LEAF_SIZES[0], LEAF_SIZES[-1])
    return FitMetrics(oob_score=score, leaf_size=size)


def learn_oob(learned: Learned, arrays: Arrays, calibrated: str | None) -> None:
    """Read calibrator and levels of lower bounds, validated; arrays that are used are removed.

    Files of version 1.0 have no weights of depths: their curves are those of leaves.
    """
    if "calibration.levels" in arrays:
        levels, values = _pair(arrays, "calibration", "values")
        ends = levels[0] == 0 and levels[-1] == 1 and values[0] == 1 and values[-1] == 0
        if not ends or not (np.diff(levels) > 0).all() or not (np.diff(values) <= 0).all():
            raise ModelFileError("malformed 'calibration': must fall from 1 to 0.")
        weights = LEAF_ONLY
        if "calibration.depths" in arrays:
            weights = tuple(take(arrays, "calibration.depths", np.float64).tolist())
        if len(weights) != len(DEPTHS) or not all(0 <= each <= 1 for each in weights) or abs(sum(weights) - 1) > 1e-9:
            raise ModelFileError("malformed 'calibration': weights of depths must sum to one.")
        learned.put("calibration", None, CurveCalibration(levels, values, weights))
    if "lower.levels" in arrays:
        levels, missed = _pair(arrays, "lower", "missed")
        if not all((np.diff(each) >= 0).all() for each in (levels, missed)) or not 0 <= levels[0] <= levels[-1] <= 1:
            raise ModelFileError("malformed 'lower': levels and shares must ascend.")
        learned.put("lower", calibrated, LowerLevels(levels, missed))


def _pair(arrays: Arrays, name: str, second: str) -> tuple[Floats, Floats]:
    """Read two arrays of the same length."""
    levels = take(arrays, f"{name}.levels", np.float64).copy()
    values = take(arrays, f"{name}.{second}", np.float64).copy()
    sound = levels.ndim == 1 and levels.shape == values.shape and 1 <= len(levels) <= MOST_LEVELS
    if not sound or not np.isfinite(levels).all() or not np.isfinite(values).all() or values.min() < 0:
        raise ModelFileError(f"malformed {name!r}: must be two finite arrays of one length.")
    return levels, values
