"""Parts of opinions that are sums over trees, and functions of such sums.

Shapley values of a forest are exact if the explained value is a sum over trees. A rule that merges by adding lists
such parts of its opinions (`Rule.adds_up`) and computes the contribution of each leaf (`Rule.parts`).
``docs/reference/capabilities.md`` lists them for every rule.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hedgerow.belief.calibrate import FLOOR, Calibration, softmax
from hedgerow.belief.leaf import class_shares, entropy
from hedgerow.rules.base import Rule, Setting

Floats = NDArray[np.float64]

WHAT = ("probability", "lower", "upper", "width", "log_odds")


@dataclass(frozen=True)
class Additive:
    """Part of an opinion that is a sum over trees; `additive` creates it.

    It is folded like a rule.

    Parameters
    ----------
    rule : Rule
        The rule whose opinion is explained.
    what : str
        Part of the opinion; see `additive`.
    total : float
        Divisor of sums over trees: the number of trees or the sum of their weights; 1 for log-odds.
    """

    rule: Rule
    what: str
    total: float
    merge: str = "add"

    def class_blocks(self, setting: Setting) -> tuple[int, ...]:
        """Return an empty tuple: columns are not blocks of classes."""
        return ()

    def lift(self, counts: Floats, setting: Setting) -> Floats:
        """Return values (m, S) of leaves, without a column that follows from the others."""
        values = self._values(counts, setting) / self.total
        if self._same:
            return np.ascontiguousarray(values[:, :1])
        return np.ascontiguousarray(values[:, 1:] if self._balanced(setting) else values)

    def width(self, setting: Setting) -> int:
        """Return S, the number of columns of a state."""
        return int(self.lift(np.zeros((1, setting.n_classes)), setting).shape[1])

    def finish(self, state: Floats, setting: Setting) -> Floats:
        """Return the explained value (n, K) of each class from sums (n, S)."""
        return self.of_classes(state, setting) + self.offset(setting)

    def of_classes(self, values: Floats, setting: Setting) -> Floats:
        """Expand sums or differences (..., S) to classes (..., K), without the `offset`."""
        if self._same:
            return np.repeat(values, setting.n_classes, axis=-1)
        if not self._balanced(setting):
            return values
        return np.concatenate([-values.sum(axis=-1, keepdims=True), values], axis=-1)

    def offset(self, setting: Setting) -> Floats:
        """Return the value (K,) of each class without any tree."""
        offset = np.zeros(setting.n_classes)
        if self.what == "probability" and self._balanced(setting):  # the first class is one minus the others
            offset[0] = 1.0
        if self.what == "log_odds":
            offset = against_others(self.rule.prior_term(setting)[None])[0]
        return offset

    def check(self, counts: Floats) -> None:
        """Raise if the rule skips empty leaves, whose number differs by sample."""
        empty = int((counts.sum(axis=1) == 0).sum())
        if empty and self.rule.skips_empty and self.what in ("probability", "log_odds"):
            raise ValueError(
                f"what must be a sum over trees, got {self.what!r}, but {self.rule!r} skips {empty} empty leaves."
                " Refit with leaf_counts='all', or explain the bounds of a mean rule."
            )

    @property
    def _same(self) -> bool:
        """True if all classes have the same values, as the widths of a mean rule."""
        return self.what == "width" and self.rule.even

    def _balanced(self, setting: Setting) -> bool:
        """True if one class follows from the others: values have a fixed sum."""
        return self.what in ("probability", "log_odds") and setting.n_classes > 1

    def _values(self, counts: Floats, setting: Setting) -> Floats:
        """Return values (m, K) of leaves, to be divided by `total`."""
        parts = self.rule.parts(self.rule.lift(counts, setting), setting)
        if self.what == "width":
            return parts["upper"] - parts["lower"]
        return against_others(parts["log_odds"]) if self.what == "log_odds" else parts[self.what]


def additive(rule: Rule, what: str, n_trees: int, weights: Floats | None = None) -> Additive:
    """Return a part of a rule's opinions as a sum over trees.

    Parameters
    ----------
    rule : Rule
        A rule that merges by adding.
    what : {"probability", "lower", "upper", "width", "log_odds"}
        Part of the opinion. "width" is upper - lower. "log_odds" are the log-odds of a class against the
        geometric mean of the others; with two classes, against the other class.
    n_trees : int
        Number of trees T.
    weights : float64 (T,), optional
        Tree weights, if the rule accepts them.

    Returns
    -------
    Additive

    Examples
    --------
    >>> from hedgerow.rules import Setting, resolve_rule
    >>> counts = np.array([[4.0, 0.0], [10.0, 40.0]])
    >>> setting = Setting.of(2)
    >>> shares = additive(resolve_rule("average"), "probability", n_trees=2)
    >>> shares.finish(shares.lift(counts, setting).sum(axis=0, keepdims=True), setting)
    array([[0.6, 0.4]])
    """
    if what not in WHAT:
        raise ValueError(f"what must be one of {', '.join(WHAT)}, got {what!r}.")
    if what not in rule.adds_up:
        can = ", ".join(rule.adds_up) or "none"
        raise ValueError(
            f"what must be a sum over trees, got {what!r}; sums of {rule!r}: {can}."
            " See docs/reference/capabilities.md, or set calibration=None if the forest is calibrated."
        )
    total = float(n_trees if weights is None else weights.sum())
    return Additive(rule, what, 1.0 if what == "log_odds" else total)


def against_others(logs: Floats) -> Floats:
    """Return log-odds (m, K): each log-score minus the mean of the others."""
    n_classes = logs.shape[1]
    if n_classes == 1:
        return np.zeros_like(logs)
    against: Floats = (logs - logs.mean(axis=1, keepdims=True)) * (n_classes / (n_classes - 1))
    return against


# ---- Uncertainties as functions of sums over trees, with their contributions -----------------------------------------
#
# The vacuity of a mean rule is itself a sum over trees. Conflict and epistemic uncertainty consist of a sum q over
# trees and a function of the mean class shares p: conflict = q − Σ p², epistemic = H(p) − q. Contributions to p are
# carried along the straight path from p0, the prediction without any feature, to p, as in `calibrated_shap`. A function
# Σ f(p) then changes by the contributions times the slopes (f(p) − f(p0)) / (p − p0).


#: Uncertainties that can be explained, as `predict_uncertainty` names them.
UNCERTAINTIES = ("vacuity", "conflict", "epistemic")
#: Shares closer than this have the slope at their midpoint.
_NEAR = 1e-9


@dataclass(frozen=True)
class UncertaintySums:
    """Sums over trees that determine an uncertainty. They are folded like a rule.

    Parameters
    ----------
    rule : Rule
        A mean rule, whose intervals are equally wide.
    what : {"vacuity", "conflict", "epistemic"}
        The uncertainty.
    n_trees : int
        Divisor of the sums.
    """

    rule: Rule
    what: str
    n_trees: int
    merge: str = "add"

    def class_blocks(self, setting: Setting) -> tuple[int, ...]:
        """Return an empty tuple: columns are not blocks of classes."""
        return ()

    def lift(self, counts: Floats, setting: Setting) -> Floats:
        """Return the widths (m, 1) of leaves, or their class shares and q (m, K + 1)."""
        if self.what == "epistemic":  # of the class shares, under every rule
            shares = class_shares(counts)
            return np.column_stack([shares, entropy(shares)]) / self.n_trees
        parts = self.rule.parts(self.rule.lift(counts, setting), setting)
        if self.what == "vacuity":
            return np.ascontiguousarray((parts["upper"] - parts["lower"])[:, :1]) / self.n_trees
        shares = parts["probability"]
        return np.column_stack([shares, (shares**2).sum(axis=1)]) / self.n_trees

    def width(self, setting: Setting) -> int:
        """Return the number of sums."""
        return 1 if self.what == "vacuity" else setting.n_classes + 1

    def finish(self, state: Floats, setting: Setting) -> Floats:
        """Return the sums (n, S) themselves."""
        return state

    def uncertainty(self, state: Floats) -> Floats:
        """Return the uncertainty (n,) of sums (n, S)."""
        if self.what == "vacuity":
            return state[:, 0]
        sign, function = _PARTS[self.what]
        return np.asarray(sign * state[:, -1] + function(state[:, :-1]).sum(axis=1))

    def check(self, counts: Floats) -> None:
        """Raise if leaves without rows are omitted from the mean."""
        empty = int((counts.sum(axis=1) == 0).sum())
        if empty and self.what != "vacuity":
            raise ValueError(
                f"what must be a function of sums over trees, got {self.what!r}, but the mean omits the {empty} leaves"
                " without rows. Refit with leaf_counts='all', or explain the vacuity."
            )

    def propagate(self, base: Floats, values: Floats) -> Floats:
        """Convert contributions to sums to contributions to the uncertainty."""
        if self.what == "vacuity":
            return values[..., 0]
        sign, function = _PARTS[self.what]
        start, total = base[:-1], values[..., :-1].sum(axis=tuple(range(1, values.ndim - 1)))
        near = np.abs(total) < _NEAR
        rise = function(np.maximum(start + total, 0)) - function(start)
        slopes = np.where(near, _SLOPES[self.what](start + total / 2), rise / np.where(near, 1.0, total))  # (n, K)
        return np.asarray(sign * values[..., -1] + np.einsum("n...k,nk->n...", values[..., :-1], slopes))


def uncertainty_sums(rule: Rule, what: str, n_trees: int) -> UncertaintySums:
    """Return the sums of an uncertainty; raise unless the rule is a mean over trees."""
    if what != "epistemic" and not (rule.even and "probability" in rule.adds_up):
        raise ValueError(
            f"what must be 'epistemic' for {rule!r}, which is not a mean over trees, got {what!r}. Use rule='average'."
        )
    return UncertaintySums(rule, what, n_trees)


def _bits(shares: Floats) -> Floats:
    """Return the contribution of each share to the entropy, in bits."""
    return np.asarray(-shares * np.log2(np.where(shares > 0, shares, 1.0)))


def _bits_slope(shares: Floats) -> Floats:
    """Return the derivative of `_bits`; 0 for a class that never occurs."""
    return np.asarray(np.where(shares > 0, -np.log2(np.where(shares > 0, shares, 1.0)) - 1 / np.log(2), 0.0))


#: The sign of q and the function of the shares.
_PARTS: dict[str, tuple[float, Callable[[Floats], Floats]]] = {
    "conflict": (1.0, lambda shares: -(shares**2)),
    "epistemic": (-1.0, _bits),
}
_SLOPES: dict[str, Callable[[Floats], Floats]] = {"conflict": lambda shares: -2 * shares, "epistemic": _bits_slope}


# ---- Feature contributions to calibrated opinions --------------------------------------------------------------------
#
# A calibrated probability is a smooth function F of quantities z that are sums over trees: the uncalibrated
# probabilities and, for lower and upper probabilities, the vacuity. Contributions φ to z are carried to F along the
# straight path from z0, the prediction without any feature, to z: a feature contributes A φ, with
# A = ∫ ∂F/∂z (z0 + s (z - z0)) ds over s from 0 to 1. All contributions together are F(z) - F(z0).


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
