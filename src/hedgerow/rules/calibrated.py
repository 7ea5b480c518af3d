"""Combination rules with calibrated probabilities."""

from __future__ import annotations

from collections.abc import Hashable
from typing import ClassVar

from hedgerow.belief.calibrate import Calibration
from hedgerow.belief.opinion import Opinion
from hedgerow.rules.base import Floats, OnPage, Rule, Setting
from hedgerow.rules.mean import Mean


class Calibrated(Rule):
    """Rule with probabilities calibrated on out-of-bag rows.

    Leaves are lifted and merged as in the rule. Opinions have calibrated probabilities, and the bounds
    lower = (1 - vacuity) · probability and upper = lower + vacuity. Forests with ``calibration="oob"`` use it.

    Parameters
    ----------
    rule : Rule
        A rule with `calibrates`.
    calibration : Calibration
        Calibrator of its probabilities.
    """

    name: ClassVar[str] = "calibrated"
    even = True

    def __init__(self, rule: Rule, calibration: Calibration) -> None:
        self.rule = rule
        self.calibration = calibration

    @property
    def merge(self) -> str:  # type: ignore[override]
        """Fold of the rule."""
        return self.rule.merge

    @property
    def scale_free(self) -> bool:  # type: ignore[override]
        """The rule's attribute."""
        return self.rule.scale_free

    @property
    def smooth(self) -> bool:  # type: ignore[override]
        """The rule's attribute."""
        return self.rule.smooth

    @property
    def skips_empty(self) -> bool:  # type: ignore[override]
        """The rule's attribute."""
        return self.rule.skips_empty

    @property
    def onnx(self) -> bool:  # type: ignore[override]
        """The rule's attribute."""
        return self.rule.onnx

    @property
    def steady(self) -> bool:
        """The rule's attribute."""
        return self.rule.steady

    @property
    def weighable(self) -> bool:
        """The rule's attribute."""
        return self.rule.weighable

    @property
    def laws(self) -> frozenset[str]:
        """Laws of the rule, whose probabilities do not depend on caution."""
        return self.rule.laws

    def on_page(self) -> OnPage:
        """Return the rule's name and options, with the calibrator added."""
        known = self.rule.on_page()
        return known and (known[0], known[1] | {"map": self.calibration.numbers()})

    def __repr__(self) -> str:
        return f"Calibrated({self.rule!r}, {self.calibration!r})"

    def __str__(self) -> str:
        return f"{self.rule}, calibrated"

    def lift(self, counts: Floats, setting: Setting) -> Floats:
        """Return the states (m, S) of the rule."""
        return self.rule.lift(counts, setting)

    def with_gaps(self) -> Calibrated:
        """Return the calibrated rule on counts with the gaps of uncertain labels next to them."""
        return Calibrated(self.rule.with_gaps(), self.calibration)

    def class_blocks(self, setting: Setting) -> tuple[int, ...]:
        """Return the blocks of the rule."""
        return self.rule.class_blocks(setting)

    def key(self) -> Hashable:
        """Return the key of the rule: calibration does not change states."""
        return self.rule.key()

    def width(self, setting: Setting) -> int:
        """Return S, the number of columns of a state."""
        return self.rule.width(setting)

    def finish(self, state: Floats, setting: Setting) -> Opinion:
        """Return the calibrated opinion of merged states (n, S)."""
        row = self.rule.finish_row(state, setting) if isinstance(self.rule, Mean) else None
        if row is not None:
            return self.calibration.row(row).opinion()
        return self.calibration.opinion(self.rule.finish(state, setting))
