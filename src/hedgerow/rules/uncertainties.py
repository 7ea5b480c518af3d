"""Uncertainties as functions of sums over trees, with their contributions.

The vacuity of a mean rule is itself a sum over trees. Conflict and epistemic uncertainty consist of a sum q over trees
and a function of the mean class shares p: conflict = q − Σ p², epistemic = H(p) − q. Contributions to p are carried
along the straight path from p0, the prediction without any feature, to p, as in `calibrated_shap`. A function Σ f(p)
then changes by the contributions times the slopes (f(p) − f(p0)) / (p − p0).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hedgerow.belief.leaf import class_shares, entropy
from hedgerow.rules.base import Rule, Setting

Floats = NDArray[np.float64]

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
