"""Calibrated: a rule and a map of probabilities -> the rule with mapped probabilities."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any, ClassVar

from hedgerow.belief.calibrate import Calibration
from hedgerow.belief.opinion import Opinion
from hedgerow.rules.base import Floats, Rule, Setting
from hedgerow.rules.mean import Mean


class Calibrated(Rule):
    """A rule whose probabilities are mapped by what was learned on out-of-bag rows.

    Leaves are lifted and merged as the rule does it. Its opinions get the mapped probabilities, and around them
    lower = (1 - vacuity) · probability and upper = lower + vacuity. Made by a forest with ``calibration="oob"``.

    Parameters
    ----------
    rule : Rule
        A rule with `calibrates`.
    calibration : Calibration
        The map.
    """

    name: ClassVar[str] = "calibrated"
    even = True

    def __init__(self, rule: Rule, calibration: Calibration) -> None:
        self.rule = rule
        self.calibration = calibration

    @property
    def merge(self) -> str:  # type: ignore[override]
        """How states are merged, as in the rule."""
        return self.rule.merge

    @property
    def scale_free(self) -> bool:  # type: ignore[override]
        """As in the rule."""
        return self.rule.scale_free

    @property
    def smooth(self) -> bool:  # type: ignore[override]
        """As in the rule."""
        return self.rule.smooth

    @property
    def skips_empty(self) -> bool:  # type: ignore[override]
        """As in the rule."""
        return self.rule.skips_empty

    @property
    def onnx(self) -> bool:  # type: ignore[override]
        """As in the rule."""
        return self.rule.onnx

    @property
    def steady(self) -> bool:
        """As in the rule."""
        return self.rule.steady

    @property
    def weighable(self) -> bool:
        """As in the rule."""
        return self.rule.weighable

    @property
    def laws(self) -> frozenset[str]:
        """As in the rule, whose probabilities do not depend on caution."""
        return self.rule.laws

    def on_page(self) -> tuple[str, dict[str, Any]] | None:
        """As the rule, with the map among its options."""
        known = self.rule.on_page()
        return known and (known[0], known[1] | {"map": self.calibration.numbers()})

    def __repr__(self) -> str:
        return f"Calibrated({self.rule!r}, {self.calibration!r})"

    def __str__(self) -> str:
        return f"{self.rule}, calibrated"

    def lift(self, counts: Floats, setting: Setting) -> Floats:
        """Counts (m, K) -> states (m, S) of the rule."""
        return self.rule.lift(counts, setting)

    def class_blocks(self, setting: Setting) -> tuple[int, ...]:
        """As in the rule."""
        return self.rule.class_blocks(setting)

    def key(self) -> Hashable:
        """As in the rule, because the map does not change states; ``repr`` of a rule would take .2 ms."""
        return self.rule.key()

    def width(self, setting: Setting) -> int:
        """Setting -> S."""
        return self.rule.width(setting)

    def finish(self, state: Floats, setting: Setting) -> Opinion:
        """Merged states (n, S) -> the opinion of the rule, mapped."""
        row = self.rule.finish_row(state, setting) if isinstance(self.rule, Mean) else None
        if row is not None:
            return self.calibration.row(row).opinion()
        return self.calibration.opinion(self.rule.finish(state, setting))
