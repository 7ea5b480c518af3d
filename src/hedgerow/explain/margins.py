"""Arrays from which the core computes the margin between classes.

Under interval dominance, a class is the only one of the set if its lower probability is above the upper probabilities
of all others. Margins are these differences, lower[k] - upper[j]. They are sums over trees, or a function of such sums
for calibrated forests; see ``src/core/read/margins.hpp``.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow.belief.calibrate import FLOOR, Calibration
from hedgerow.tasks.classification.predictor import ClassificationPredictor

Floats = NDArray[np.float64]

#: With more classes, boxes are ordered by cost only, because the margins of all pairs would need too much memory.
MOST_PAIRED_CLASSES = 8


def margins_of(predictor: ClassificationPredictor, evidence: Floats) -> dict[str, Any] | None:
    """Compute the margins of leaves from their evidence (D, K).

    None if margins do not determine the decision, or if there are too many.

    Returns
    -------
    added : (D · K · K,)
        lower[k] - upper[j] of each leaf, as if it were the only tree.
    sums, rates, ahead, floor
        For a calibrated forest only, as in `calibrated_margins`.
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
    """Compute the arrays of a calibrator from probabilities (D, K) and vacuity (D,) of leaves.

    Returns
    -------
    sums : (D · (K + 1),)
        Probabilities and vacuity of each leaf.
    rates : (K · K · K,)
        Derivative of score k - score j with respect to each log-probability.
    ahead : (K · K,)
        Score k - score j where all log-probabilities are zero.
    floor : float
        Constant added to probabilities before taking logarithms.
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
