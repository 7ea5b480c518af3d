"""Doubts: kinds of doubt as functions of sums over trees, and what features add to the sums -> what they add to doubt.

The vacuity of a mean is itself a sum over trees. Conflict and epistemic doubt are not. They are made of a sum q over
trees and a function of the mean shares p of the classes: conflict = q − Σ p², epistemic doubt = H(p) − q. On the
straight way from the answer without any feature, p0, to the answer p, each share changes by the sum of what features
add to it, as in `calibrated_shap`. A function Σ f(p) then changes by the slopes (f(p) − f(p0)) / (p − p0) times what
they add.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hedgerow.belief.leaf import class_shares, entropy
from hedgerow.rules.base import Rule, Setting

Floats = NDArray[np.float64]

#: Kinds of doubt, as `predict_uncertainty` names them.
DOUBTS = ("vacuity", "conflict", "epistemic")
#: Shares that are nearer to each other than this have the slope of the point between them.
_NEAR = 1e-9


@dataclass(frozen=True)
class UncertaintySums:
    """The sums over trees that a kind of doubt is made of. It is folded like a rule.

    Parameters
    ----------
    rule : Rule
        A rule that is a mean over trees, of equally wide intervals.
    what : {"vacuity", "conflict", "epistemic"}
        The kind of doubt.
    n_trees : int
        The divisor.
    """

    rule: Rule
    what: str
    n_trees: int
    merge: str = "add"

    def class_blocks(self, setting: Setting) -> tuple[int, ...]:
        """Nothing is known of the values."""
        return ()

    def lift(self, counts: Floats, setting: Setting) -> Floats:
        """Counts (m, K) -> what leaves hold back (m, 1), or the shares of classes and q (m, K + 1)."""
        if self.what == "epistemic":  # of the class shares, under every rule
            shares = class_shares(counts)
            return np.column_stack([shares, entropy(shares)]) / self.n_trees
        parts = self.rule.parts(self.rule.lift(counts, setting), setting)
        if self.what == "vacuity":
            return np.ascontiguousarray((parts["upper"] - parts["lower"])[:, :1]) / self.n_trees
        shares = parts["probability"]
        return np.column_stack([shares, (shares**2).sum(axis=1)]) / self.n_trees

    def width(self, setting: Setting) -> int:
        """Setting -> number of sums."""
        return 1 if self.what == "vacuity" else setting.n_classes + 1

    def finish(self, state: Floats, setting: Setting) -> Floats:
        """The sums (n, S) themselves."""
        return state

    def doubt(self, state: Floats) -> Floats:
        """Sums (n, S) -> the doubt (n,)."""
        if self.what == "vacuity":
            return state[:, 0]
        sign, function = _PARTS[self.what]
        return np.asarray(sign * state[:, -1] + function(state[:, :-1]).sum(axis=1))

    def check(self, counts: Floats) -> None:
        """Refuse leaves (m, K) without rows if they are left out of the mean."""
        empty = int((counts.sum(axis=1) == 0).sum())
        if empty and self.what != "vacuity":
            raise ValueError(
                f"what must be made of sums over trees, got {self.what!r} and {empty} leaves without rows, which are"
                " left out of the mean; fit with leaf_counts='all', or explain the vacuity"
            )

    def propagate(self, base: Floats, values: Floats) -> Floats:
        """Sums if no feature is known (S,), what features add (n, ..., S) -> what they add to doubt (n, ...)."""
        if self.what == "vacuity":
            return values[..., 0]
        sign, function = _PARTS[self.what]
        start, total = base[:-1], values[..., :-1].sum(axis=tuple(range(1, values.ndim - 1)))
        near = np.abs(total) < _NEAR
        rise = function(np.maximum(start + total, 0)) - function(start)
        slopes = np.where(near, _SLOPES[self.what](start + total / 2), rise / np.where(near, 1.0, total))  # (n, K)
        return np.asarray(sign * values[..., -1] + np.einsum("n...k,nk->n...", values[..., :-1], slopes))


def doubt_sums(rule: Rule, what: str, n_trees: int) -> UncertaintySums:
    """A rule, a kind of doubt, the number of trees -> `UncertaintySums`; refused if the rule is no mean over trees."""
    if what != "epistemic" and not (rule.even and "probability" in rule.adds_up):
        raise ValueError(
            f"what must be 'epistemic' under this rule, got {what!r} of {rule!r}, which is no mean over trees; choose"
            " the rule 'average'"
        )
    return UncertaintySums(rule, what, n_trees)


def _bits(shares: Floats) -> Floats:
    """Shares -> what each adds to the entropy, in bits."""
    return np.asarray(-shares * np.log2(np.where(shares > 0, shares, 1.0)))


def _bits_slope(shares: Floats) -> Floats:
    """Shares -> the derivative of `_bits`; 0 for a class that never occurs."""
    return np.asarray(np.where(shares > 0, -np.log2(np.where(shares > 0, shares, 1.0)) - 1 / np.log(2), 0.0))


#: The sign of q and the function of the shares.
_PARTS: dict[str, tuple[float, Callable[[Floats], Floats]]] = {
    "conflict": (1.0, lambda shares: -(shares**2)),
    "epistemic": (-1.0, _bits),
}
_SLOPES: dict[str, Callable[[Floats], Floats]] = {"conflict": lambda shares: -2 * shares, "epistemic": _bits_slope}
