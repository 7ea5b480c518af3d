"""Combination rules with calibrated probabilities."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import replace
from typing import ClassVar

import numpy as np

from hedgerow.belief.calibrate import Calibration, Views
from hedgerow.belief.opinion import Opinion
from hedgerow.belief.scalar import with_shares
from hedgerow.rules.base import Floats, OnPage, Rule, Setting
from hedgerow.rules.mean import Mean


class _OfRule(Rule):
    """Base class of rules that lift and merge leaves as another rule does.

    If the rule has views, merged states may end with the probabilities of these views (n, V · K).
    """

    rule: Rule

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

    def split(self, state: Floats, setting: Setting) -> tuple[Floats, Floats | None]:
        """Split merged states into those of the rule, (n, S), and the probabilities of views, None if absent."""
        width = state.shape[1] if self.views is None else 2 * setting.n_classes + 2  # that of a rule with `plain_mean`
        return (state, None) if state.shape[1] == width else (state[:, :width], state[:, width:])


class Viewed(_OfRule):
    """Rule whose opinions have the probabilities of the views of a forest.

    Parameters
    ----------
    rule : Rule
        A rule with `plain_mean`.
    views : Views
        Kinds of trees and depths.
    """

    name: ClassVar[str] = "viewed"

    def __init__(self, rule: Rule, views: Views) -> None:
        self.rule = rule
        self.views = views

    @property
    def even(self) -> bool:  # type: ignore[override]
        """The rule's attribute."""
        return self.rule.even

    def __repr__(self) -> str:
        return repr(self.rule)

    def finish(self, state: Floats, setting: Setting) -> Opinion:
        """Return the opinion of merged states (n, S), with the probabilities of views if they follow."""
        own, of_views = self.split(state, setting)
        return replace(self.rule.finish(np.ascontiguousarray(own), setting), views=of_views)


class Calibrated(_OfRule):
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
    def views(self) -> Views | None:  # type: ignore[override]
        """Views that the calibrator acts on; None for the probabilities of the rule."""
        return self.calibration.views

    def on_page(self) -> OnPage:
        """Return the rule's name and options, with the calibrator added; None for a calibrator of several views."""
        if self.views is not None:
            return None
        known = self.rule.on_page()
        return known and (known[0], known[1] | {"map": self.calibration.numbers()})

    def __repr__(self) -> str:
        return f"Calibrated({self.rule!r}, {self.calibration!r})"

    def __str__(self) -> str:
        return f"{self.rule}, calibrated"

    def finish(self, state: Floats, setting: Setting) -> Opinion:
        """Return the calibrated opinion of merged states (n, S).

        States without the probabilities of views are read as if all views agreed.
        """
        own, of_views = self.split(state, setting)
        row = self.rule.finish_row(own, setting) if isinstance(self.rule, Mean) else None
        if row is not None and of_views is not None:
            return with_shares(row, self.calibration.of(of_views)[0].tolist()).opinion()
        if row is not None:
            return self.calibration.row(row).opinion()
        return replace(self.calibration.opinion(replace(self.rule.finish(own, setting), views=of_views)), views=None)
