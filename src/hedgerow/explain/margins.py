"""Margins: the evidence of leaves -> by how much one class can be ahead of another in them, at a point or in a box.

Under a decision that follows dominance, a class remains alone where its lower bound is above the upper bounds of all
others. `Margins` are these differences, lower[k] - upper[j]. They are sums over trees, or a map of such sums.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow.belief.calibrate import FLOOR, Calibration, log_shares, softmax
from hedgerow.judge.answer import ClassAnswers

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

#: With more classes, boxes are only ordered by cost, because the margins of all pairs of classes would not fit.
MOST_PAIRED_CLASSES = 8
#: By how much sums that are taken in another order may differ.
ROUNDING = 1e-9


class Margins:
    """Margins that are sums over trees.

    Attributes
    ----------
    added : (L, K, K)
        What each leaf adds to lower[k] - upper[j].
    """

    def __init__(self, added: Floats) -> None:
        self.added = added

    def at(self, leaves: Ints) -> Floats:
        """Leaves (m, T), one of each tree -> (m, K, K): the margins there."""
        return np.asarray(self.added[leaves].sum(axis=1))

    def most(self, alive: Ints, starts: Ints) -> Floats:
        """Leaves (A,) in the order of trees, the first of each tree (T,) -> (K, K): no choice has larger margins."""
        return np.asarray(np.maximum.reduceat(self.added[alive], starts, axis=0).sum(axis=0))


class MappedMargins(Margins):
    """Margins of a calibrated forest: (1 - vacuity) (p'[k] - p'[j]) - vacuity, where p' is a map of probabilities p.

    In a box, p and vacuity lie between the sums of the smallest and of the largest values of each tree. The difference
    of two scores is linear in the logarithms of p, so its largest value is that of the better end of each. This bounds
    p'[k] / p'[j], hence p'[k] and the margin. A bound can be too large, never too small: it costs time, nothing else.

    Attributes
    ----------
    added : (L, K, K)
        What each leaf adds to lower[k] - upper[j] before the map: by these, leaves are tried in turn.
    """

    def __init__(self, added: Floats, shares: Floats, vacuity: Floats, calibration: Calibration) -> None:
        super().__init__(added)
        self._sums = np.column_stack([shares, vacuity])  # (L, K + 1), over all trees probabilities and vacuity
        self._map = calibration
        n_classes = shares.shape[1]
        rates = calibration.slope * np.eye(n_classes) + (0.0 if calibration.mix is None else calibration.mix)
        rates = calibration.gain * rates  # (K, K): of each score (last) by each logarithm
        self._rates = rates.T[:, None, :] - rates.T[None, :, :]  # (K, K, K): of score k - score j by each logarithm
        self._ahead = calibration.offsets[:, None] - calibration.offsets[None, :]

    def at(self, leaves: Ints) -> Floats:
        """Leaves (m, T), one of each tree -> (m, K, K): the margins there, up to rounding."""
        sums = self._sums[leaves].sum(axis=1)
        said, vacuity = softmax(self._map.scores(log_shares(sums[:, :-1]))), sums[:, -1:, None]
        return np.asarray((1 - vacuity) * (said[:, :, None] - said[:, None, :]) - vacuity + ROUNDING)

    def most(self, alive: Ints, starts: Ints) -> Floats:
        """Leaves (A,) in the order of trees, the first of each tree (T,) -> (K, K): no choice has larger margins."""
        sums = self._sums[alive]
        ends = [each.reduceat(sums, starts, axis=0).sum(axis=0) for each in (np.minimum, np.maximum)]
        low, high = (np.log((end[:-1] + FLOOR) / (1 + FLOOR * len(end[:-1]))) for end in ends)
        ahead = np.maximum(self._rates * low, self._rates * high).sum(axis=2) + self._ahead
        behind = np.exp(-np.clip(ahead, -700, 700))  # p'[j] / p'[k] at least
        most = 1 / behind.sum(axis=1, keepdims=True)  # p'[k] at most; the sum holds exp(0) for k itself
        vacuity = max(0.0, float(ends[0][-1]))
        return np.asarray((1 - vacuity) * most * np.maximum(1 - behind, 0.0) - vacuity + ROUNDING)


def margins_of(now: ClassAnswers, evidence: Floats, tree: Ints) -> Margins | None:
    """Evidence (L, K) of leaves and their trees (L,) -> their margins; None if these do not decide, or are too many."""
    rule, setting = now.plain_rule, now.setting
    needed = {"lower", "upper", "probability"} if now.is_mapped else {"lower", "upper"}
    decides = now.decision.follows_dominance and needed <= set(rule.adds_up)
    if not decides or now.forest.n_classes > MOST_PAIRED_CLASSES:
        return None
    if now.is_mapped and rule.skips_empty and not evidence.any(axis=1).all():
        return None
    parts: dict[str, Any] = rule.parts(rule.lift(evidence, setting), setting)
    weights = np.ones(now.forest.n_trees) if now.weights is None else now.weights
    share = (weights / weights.sum())[tree][:, None]
    lower, upper = parts["lower"] * share, parts["upper"] * share
    added = lower[:, :, None] - upper[:, None, :]
    if not now.is_mapped:
        return Margins(added)
    vacuity = share[:, 0] - lower.sum(axis=1)
    return MappedMargins(added, parts["probability"] * share, vacuity, now.calibration)
