"""Additive: a rule and what to explain -> values of leaves that add up to it over the trees.

Shapley values of a forest are exact if the explained value is a sum over the trees. A rule that merges by adding lists
the parts of its opinions that are such sums (`Rule.adds_up`) and computes what each leaf adds to them (`Rule.parts`).
``docs/which.md`` shows both for every rule.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hedgerow.rules.base import Rule, Setting

Floats = NDArray[np.float64]

WHAT = ("probability", "lower", "upper", "width", "log_odds")


@dataclass(frozen=True)
class Additive:
    """A part of a rule's opinion that is a sum over trees. It is folded like a rule; `additive` makes it.

    Parameters
    ----------
    rule : Rule
        The rule whose opinion is explained.
    what : str
        The part of the opinion; see `additive`.
    total : float
        The divisor of sums over trees: the number of trees or the sum of their weights; 1 for log-odds.
    """

    rule: Rule
    what: str
    total: float
    merge: str = "add"

    def class_blocks(self, setting: Setting) -> tuple[int, ...]:
        """Nothing is known of the values."""
        return ()

    def lift(self, counts: Floats, setting: Setting) -> Floats:
        """Counts (m, K) -> values of leaves (m, S); a column that follows from the others is left out."""
        values = self._values(counts, setting) / self.total
        if self._same:
            return np.ascontiguousarray(values[:, :1])
        return np.ascontiguousarray(values[:, 1:] if self._balanced(setting) else values)

    def width(self, setting: Setting) -> int:
        """Setting -> S."""
        return int(self.lift(np.zeros((1, setting.n_classes)), setting).shape[1])

    def finish(self, state: Floats, setting: Setting) -> Floats:
        """Sums of values (n, S) -> the explained value of each class (n, K)."""
        return self.of_classes(state, setting) + self.offset(setting)

    def of_classes(self, values: Floats, setting: Setting) -> Floats:
        """Sums or differences of values (..., S) -> those of each class (..., K), without the `offset`."""
        if self._same:
            return np.repeat(values, setting.n_classes, axis=-1)
        if not self._balanced(setting):
            return values
        return np.concatenate([-values.sum(axis=-1, keepdims=True), values], axis=-1)

    def offset(self, setting: Setting) -> Floats:
        """-> (K,): the value of each class before any tree has added to it."""
        offset = np.zeros(setting.n_classes)
        if self.what == "probability" and self._balanced(setting):  # the first class is one minus the others
            offset[0] = 1.0
        if self.what == "log_odds":
            offset = against_others(self.rule.prior_term(setting)[None])[0]
        return offset

    def check(self, counts: Floats) -> None:
        """Refuse leaves (m, K) without rows if the rule skips them: the number of trees would differ by sample."""
        empty = int((counts.sum(axis=1) == 0).sum())
        if empty and self.rule.skips_empty and self.what in ("probability", "log_odds"):
            raise ValueError(
                f"what must be a sum over trees, got {self.what!r} and {empty} leaves without rows, which {self.rule!r}"
                " skips; fit with leaf_counts='all', or explain the bounds of a rule that is a mean"
            )

    @property
    def _same(self) -> bool:
        """Whether all classes have the same values: the intervals of a mean are equally wide for all classes."""
        return self.what == "width" and self.rule.even

    def _balanced(self, setting: Setting) -> bool:
        """Whether the values of a leaf sum to the same over classes, so that one class follows from the others."""
        return self.what in ("probability", "log_odds") and setting.n_classes > 1

    def _values(self, counts: Floats, setting: Setting) -> Floats:
        """Counts (m, K) -> values (m, K), to be divided by `total`."""
        parts = self.rule.parts(self.rule.lift(counts, setting), setting)
        if self.what == "width":
            return parts["upper"] - parts["lower"]
        return against_others(parts["log_odds"]) if self.what == "log_odds" else parts[self.what]


def additive(rule: Rule, what: str, n_trees: int, weights: Floats | None = None) -> Additive:
    """Rule, what to explain, number of trees and perhaps their weights (T,) -> `Additive`, a sum over the trees.

    Parameters
    ----------
    rule : Rule
        One that merges by adding.
    what : {"probability", "lower", "upper", "width", "log_odds"}
        The part of the opinion. "width" is upper - lower. "log_odds" are the log-odds of a class against the
        geometric mean of the others; with two classes, against the other class.
    n_trees : int
        T.
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
        raise ValueError(f"what must be one of {', '.join(WHAT)}, got {what!r}; choose one of these")
    if what not in rule.adds_up:
        can = ", ".join(rule.adds_up) or "nothing"
        raise ValueError(
            f"what must be a sum over trees under the rule, got {what!r} of {rule!r}, of which {can} adds up;"
            " docs/which.md lists what adds up under each rule; set calibration=None if the forest is calibrated"
        )
    total = float(n_trees if weights is None else weights.sum())
    return Additive(rule, what, 1.0 if what == "log_odds" else total)


def against_others(logs: Floats) -> Floats:
    """Log-scores (m, K) -> each minus the mean of the others (m, K): log-odds; a term shared by all cancels."""
    n_classes = logs.shape[1]
    if n_classes == 1:
        return np.zeros_like(logs)
    against: Floats = (logs - logs.mean(axis=1, keepdims=True)) * (n_classes / (n_classes - 1))
    return against
