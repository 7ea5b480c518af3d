"""Carried: what features add to an opinion, and a map of its probabilities -> what they add to the mapped opinion.

A mapped probability is not a sum over trees, but a smooth function F of quantities z that are: the probabilities before
the map and, for bounds, the vacuity. On the straight way from the answer without any feature, z0, to the answer z, each
quantity changes by the sum of what features add to it. Each step of the way is shared among features in proportion to
what they add. So a feature adds A φ to F, with its contributions φ to z and A = ∫ ∂F/∂z (z0 + s (z - z0)) ds over s
from 0 to 1. Then all features together add F(z) - F(z0).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow.belief.calibrate import FLOOR, Calibration, log_shares, softmax

Floats = NDArray[np.float64]

#: What can be carried, and the quantities that it depends on. The width is the vacuity, which no map changes.
CARRIED = {"probability": ("probability",), "lower": ("probability", "width"), "upper": ("probability", "width")}
#: Places on the way at which the slope of the map is computed.
NODES = 16
#: Samples are carried in blocks of about this many cells of samples × quantities × classes.
_CELLS = 1_000_000


def calibrated_shap(calibration: Calibration, what: str, base: Floats, values: Floats) -> tuple[Floats, Floats]:
    """What features add to the quantities that an answer depends on -> what they add to the mapped answer.

    Parameters
    ----------
    calibration : Calibration
        The map of K classes.
    what : str
        A key of `CARRIED`.
    base : (S,)
        The quantities if no feature is known: probabilities (K,), then the vacuity if `what` depends on it.
    values : (n, p, S) or (n, p, p, S)
        What features, or pairs of them, add to the quantities for n samples.

    Returns
    -------
    base, values : (K,), (n, p, K) or (n, p, p, K)
        ``base + values.sum(axis=1)`` is the mapped answer, up to rounding.

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
        some = values[first : first + block]
        total = some.sum(axis=tuple(range(1, some.ndim - 1)))
        rates = _rates(calibration, what, base, total)
        found[first : first + block] = np.einsum("ns...m,nkm->ns...k", some, rates)
    return of_base, found


def calibrated(calibration: Calibration, what: str, quantities: Floats) -> Floats:
    """Quantities (n, S) -> the mapped answer (n, K)."""
    n_classes = len(calibration.offsets)
    said = softmax(calibration.scores(log_shares(quantities[:, :n_classes])))
    if what == "probability":
        return np.asarray(said)
    vacuity = quantities[:, n_classes:]
    return np.asarray((1 - vacuity) * said + (vacuity if what == "upper" else 0.0))


def _rates(calibration: Calibration, what: str, base: Floats, total: Floats) -> Floats:
    """-> (n, K, S): A, the mean slope of the mapped answer on the way from `base` (S,) to ``base + total`` (n, S).

    A few places on the way leave a small remainder of F(z) - F(z0). The smallest matrix that adds it is added to A, so
    that contributions add up.
    """
    places, weights = np.polynomial.legendre.leggauss(NODES)
    rates: Any = 0.0
    for place, weight in zip((places + 1) / 2, weights / 2, strict=True):
        rates = rates + weight * _slope(calibration, what, base + place * total)
    ends = [calibrated(calibration, what, z) for z in (base[None], base + total)]
    remainder = ends[1] - ends[0] - np.einsum("nkm,nm->nk", rates, total)
    length = (total**2).sum(axis=1)[:, None]
    return np.asarray(rates + remainder[:, :, None] * (total / np.where(length > 0, length, 1.0))[:, None, :])


def _slope(calibration: Calibration, what: str, quantities: Floats) -> Floats:
    """Quantities (n, S) -> the derivative of the mapped answer by each of them (n, K, S)."""
    n_classes = len(calibration.offsets)
    probability = quantities[:, :n_classes]
    said = softmax(calibration.scores(log_shares(probability)))
    by_logs = calibration.slope * np.eye(n_classes) + (0.0 if calibration.mix is None else calibration.mix.T)
    scores = calibration.gain * by_logs / (probability + FLOOR)[:, None, :]  # (n, K, K): of each score by each share
    slope = said[:, :, None] * (scores - np.einsum("nk,nkm->nm", said, scores)[:, None, :])
    if what == "probability":
        return np.asarray(slope)
    vacuity = quantities[:, n_classes:]
    by_vacuity = (1.0 if what == "upper" else 0.0) - said
    return np.concatenate([(1 - vacuity)[:, :, None] * slope, by_vacuity[:, :, None]], axis=2)
