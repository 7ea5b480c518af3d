"""Parts of opinions that are sums over trees.

Shapley values of a forest are exact if the explained value is a sum over trees. A rule that merges by adding lists
such parts of its opinions (`Rule.adds_up`) and computes the contribution of each leaf (`Rule.parts`).
``docs/reference/capabilities.md`` lists them for every rule.
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
