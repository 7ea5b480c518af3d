"""Feature contributions to calibrated opinions.

A calibrated probability is a smooth function F of quantities z that are sums over trees: the uncalibrated probabilities
and, for lower and upper probabilities, the vacuity. Contributions φ to z are carried to F along the straight path from
z0, the prediction without any feature, to z: a feature contributes A φ, with A = ∫ ∂F/∂z (z0 + s (z - z0)) ds over s
from 0 to 1. All contributions together are F(z) - F(z0).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hedgerow.belief.calibrate import FLOOR, Calibration, softmax

Floats = NDArray[np.float64]

#: Predictions with calibrated contributions, and the quantities they depend on. Calibration keeps the width (vacuity).
CARRIED = {"probability": ("probability",), "lower": ("probability", "width"), "upper": ("probability", "width")}
#: Nodes of the quadrature along the path.
NODES = 16
#: Samples are processed in blocks of about this many cells (samples × quantities × classes).
_CELLS = 1_000_000


def calibrated_shap(calibration: Calibration, what: str, base: Floats, values: Floats) -> tuple[Floats, Floats]:
    """Return feature contributions to a calibrated prediction.

    Parameters
    ----------
    calibration : Calibration
        Calibrator of K classes.
    what : str
        A key of `CARRIED`.
    base : (S,)
        Quantities without any feature: probabilities (K,), or those of each view (V · K,), then the vacuity if `what`
        depends on it.
    values : (n, p, S) or (n, p, p, S)
        Contributions of features, or of pairs of features, to the quantities of n samples.

    Returns
    -------
    base, values : (K,), (n, p, K) or (n, p, p, K)
        ``base + values.sum(axis=1)`` is the calibrated prediction, up to rounding.

    Examples
    --------
    >>> steeper = Calibration(2.0, None, np.zeros(2))
    >>> values = np.array([[[0.2, -0.2], [0.1, -0.1]]])
    >>> base, values = calibrated_shap(steeper, "probability", np.array([0.5, 0.5]), values)
    >>> base, values.round(3)
    (array([0.5, 0.5]), array([[[ 0.293, -0.293],
            [ 0.146, -0.146]]]))
    >>> steeper.of(np.array([[0.8, 0.2]])).round(3)
    array([[0.939, 0.061]])
    """
    n_samples, width = len(values), len(base)
    of_base = calibrated(calibration, what, base[None])[0]
    found = np.empty((*values.shape[:-1], len(of_base)))
    block = max(1, _CELLS // (width * len(of_base)))
    for first in range(0, n_samples, block):
        part = values[first : first + block]
        total = part.sum(axis=tuple(range(1, part.ndim - 1)))
        rates = _rates(calibration, what, base, total)
        found[first : first + block] = np.einsum("ns...m,nkm->ns...k", part, rates)
    return of_base, found


def calibrated(calibration: Calibration, what: str, quantities: Floats) -> Floats:
    """Return the calibrated prediction (n, K) of quantities (n, S)."""
    given, vacuity = _split(quantities, what)
    probability = softmax(calibration.scores(calibration.logs(given)))
    if what == "probability":
        return np.asarray(probability)
    return np.asarray((1 - vacuity) * probability + (vacuity if what == "upper" else 0.0))


def _rates(calibration: Calibration, what: str, base: Floats, total: Floats) -> Floats:
    """Return A (n, K, S), the mean slope on the path from `base` to ``base + total``.

    Quadrature leaves a small remainder of F(z) - F(z0). The smallest matrix that restores it is added to A, which makes
    contributions sum exactly.
    """
    places, weights = np.polynomial.legendre.leggauss(NODES)
    rates: Floats = np.zeros(1)
    for place, weight in zip((places + 1) / 2, weights / 2, strict=True):
        rates = rates + weight * _slope(calibration, what, base + place * total)
    ends = [calibrated(calibration, what, z) for z in (base[None], base + total)]
    remainder = ends[1] - ends[0] - np.einsum("nkm,nm->nk", rates, total)
    length = (total**2).sum(axis=1)[:, None]
    return np.asarray(rates + remainder[:, :, None] * (total / np.where(length > 0, length, 1.0))[:, None, :])


def _slope(calibration: Calibration, what: str, quantities: Floats) -> Floats:
    """Return the derivatives (n, K, S) of the calibrated prediction."""
    n_classes = len(calibration.offsets)
    probability, vacuity = _split(quantities, what)
    calibrated_share = softmax(calibration.scores(calibration.logs(probability)))
    slopes = np.array([calibration.slope]) if calibration.weights is None else calibration.weights
    mix = np.zeros((n_classes, n_classes)) if calibration.mix is None else calibration.mix.T
    first = [0] if calibration.views is None else calibration.views.first
    mixes = [mix / len(first) if view in first else 0.0 for view in range(len(slopes))]
    each = zip(slopes.tolist(), mixes, strict=True)
    by_logs = np.hstack([slope * np.eye(n_classes) + mixed for slope, mixed in each])
    scores = (
        calibration.gain * by_logs / (probability + FLOOR)[:, None, :]
    )  # (n, K, V · K): of each score by each share
    slope = calibrated_share[:, :, None] * (scores - np.einsum("nk,nkm->nm", calibrated_share, scores)[:, None, :])
    if what == "probability":
        return np.asarray(slope)
    by_vacuity = (1.0 if what == "upper" else 0.0) - calibrated_share
    return np.concatenate([(1 - vacuity)[:, :, None] * slope, by_vacuity[:, :, None]], axis=2)


def _split(quantities: Floats, what: str) -> tuple[Floats, Floats]:
    """Split quantities (n, S) into probabilities and the vacuity (n, 1), empty if `what` does not depend on it."""
    width = quantities.shape[1] - (what != "probability")
    return quantities[:, :width], quantities[:, width:]
