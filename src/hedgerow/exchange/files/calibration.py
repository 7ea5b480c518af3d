"""Calibration: the map of probabilities of a classifier <-> JSON and arrays."""

from __future__ import annotations

from typing import Any

import numpy as np

from hedgerow.belief.calibrate import Calibration
from hedgerow.errors import ModelFileError
from hedgerow.exchange.files.state import check_known, checked_number
from hedgerow.exchange.files.values import Arrays, take

#: No number of a map is larger: its penalties keep it far below, and arithmetic can rely on it.
MOST = 1e6


def calibration_to_contents(learned: Calibration) -> tuple[dict[str, Any], Arrays]:
    """A map -> JSON and arrays; nothing if there is no map."""
    if learned.why:
        return {}, {}
    numbers = {"slope": learned.slope, "gain": learned.gain, "rows": learned.n_rows, "mixes": learned.mix is not None}
    arrays: Arrays = {"calibration_offsets": learned.offsets}
    if learned.mix is not None:
        arrays["calibration_mix"] = learned.mix.ravel()
    return {"calibration_": numbers}, arrays


def calibration_from_contents(given: dict[str, Any], arrays: Arrays, n_classes: int) -> Calibration | None:
    """The inverse of `calibration_to_contents`, everything checked; None if the file has no map."""
    if "calibration_" not in given:
        return None
    numbers = given["calibration_"]
    if not isinstance(numbers, dict):
        raise ModelFileError("calibration_ must be the numbers of a map, got something else")
    check_known(numbers, {"slope", "gain", "rows", "mixes"})
    offsets = _ordinary(take(arrays, "calibration_offsets", np.float64, length=n_classes))
    mix, mixes = None, numbers.get("mixes")
    if not isinstance(mixes, bool):
        raise ModelFileError(f"mixes of a map must be true or false, got {str(mixes)[:40]}")
    if mixes:
        mix = _ordinary(take(arrays, "calibration_mix", np.float64, length=n_classes**2)).reshape(n_classes, n_classes)
    return Calibration(
        checked_number("slope", numbers.get("slope"), float, 1.0, MOST),
        mix,
        offsets,
        checked_number("gain", numbers.get("gain"), float, 0.0, MOST),
        checked_number("rows", numbers.get("rows"), int, 0, 2**31),
    )


def _ordinary(numbers: Any) -> Any:
    """A copy of an array, refused unless all its numbers are of ordinary size."""
    if not (np.abs(numbers) <= MOST).all():
        raise ModelFileError(f"the numbers of a map must lie within ±{MOST:g}, got others")
    return np.array(numbers, dtype=np.float64)
