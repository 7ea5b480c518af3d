"""Arrays from which the core computes the margin between classes.

Under a decision that follows dominance, a class remains alone where its lower bound is above the upper bounds of all
others. Margins are these differences, lower[k] - upper[j]. They are sums over trees, or a map of such sums; see
``src/core/read/margins.hpp``.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow.belief.calibrate import FLOOR, Calibration
from hedgerow.tasks.classification.predictor import ClassificationPredictor

Floats = NDArray[np.float64]

#: With more classes, boxes are only ordered by cost, because the margins of all pairs of classes would not fit.
MOST_PAIRED_CLASSES = 8


def margins_of(predictor: ClassificationPredictor, evidence: Floats) -> dict[str, Any] | None:
    """Evidence (D, K) of leaves -> their margins by name; None if these do not decide, or are too many.

    Returns
    -------
    added : (D · K · K,)
        What a leaf adds to lower[k] - upper[j], as if it were the only tree.
    sums, rates, ahead, floor
        Only of a calibrated forest, as in `calibrated_margins`.
    """
    rule, setting = predictor.plain_rule, predictor.setting
    needed = {"lower", "upper", "probability"} if predictor.is_calibrated else {"lower", "upper"}
    decides = predictor.decision.follows_dominance and needed <= set(rule.adds_up)
    if not decides or predictor.forest.n_classes > MOST_PAIRED_CLASSES:
        return None
    if predictor.is_calibrated and rule.skips_empty and not evidence.any(axis=1).all():
        return None
    parts: dict[str, Any] = rule.parts(rule.lift(evidence, setting), setting)
    lower, upper = parts["lower"], parts["upper"]
    added = (lower[:, :, None] - upper[:, None, :]).ravel()
    if not predictor.is_calibrated:
        return {"added": added}
    return {"added": added} | calibrated_margins(parts["probability"], 1 - lower.sum(axis=1), predictor.calibration)


def calibrated_margins(shares: Floats, vacuity: Floats, calibration: Calibration) -> dict[str, Any]:
    """Probabilities (D, K) and vacuity (D,) of leaves, and the map of their means -> arrays by name.

    Returns
    -------
    sums : (D · (K + 1),)
        Probabilities and vacuity of each leaf.
    rates : (K · K · K,)
        By how much score k - score j grows with each logarithm of a probability.
    ahead : (K · K,)
        Score k - score j where all logarithms are zero.
    floor : float
        What is added to probabilities before logarithms are taken.
    """
    n_classes = shares.shape[1]
    rates = calibration.slope * np.eye(n_classes) + (0.0 if calibration.mix is None else calibration.mix)
    rates = calibration.gain * rates  # (K, K): of each score (last) by each logarithm
    return {
        "sums": np.column_stack([shares, vacuity]).ravel(),
        "rates": (rates.T[:, None, :] - rates.T[None, :, :]).ravel(),
        "ahead": (calibration.offsets[:, None] - calibration.offsets[None, :]).ravel(),
        "floor": FLOOR,
    }
