"""Combination rules that contain another rule: calibrated, with views, and on leaves with uncertain labels.

Labels that are sets of possible classes can be shared out in many ways. Counts (K) are one of them, refined by
expectation maximisation; the count of a class can fall by its gap below (K) and rise by its gap above (K). The bounds
of the extended imprecise Dirichlet model (Utkin 2005) are (count - below)/(n + s) and (count + above + s)/(n + s).
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import replace
from operator import attrgetter
from typing import Any, ClassVar

import numpy as np

from hedgerow.belief.calibrate import Calibration, Views
from hedgerow.belief.leaf import largest_rival
from hedgerow.belief.opinion import Bools, Opinion, opinion_from_bounds
from hedgerow.belief.scalar import with_shares
from hedgerow.rules.base import Floats, Merge, OnPage, Rule, Setting
from hedgerow.rules.mean import Mean


def _of(path: str) -> Any:
    """Return a property with the value of an attribute of the rule that another rule contains."""
    return property(attrgetter(path))


class _OfRule(Rule):
    """Base class of rules that contain another rule, whose leaves they lift and merge."""

    rule: Rule
    merge: ClassVar[Merge] = _of("rule.merge")
    scale_free: ClassVar[bool] = _of("rule.scale_free")
    smooth: ClassVar[bool] = _of("rule.smooth")
    skips_empty: ClassVar[bool] = _of("rule.skips_empty")
    steady = _of("rule.steady")
    weighable = _of("rule.weighable")

    def __repr__(self) -> str:
        return repr(self.rule)


class _SameStates(_OfRule):
    """Base class of rules whose states are those of the contained rule.

    If the rule has views, merged states may end with the probabilities of these views (n, V · K).
    """

    onnx: ClassVar[bool] = _of("rule.onnx")
    laws = _of("rule.laws")  # probabilities do not depend on caution

    def lift(self, counts: Floats, setting: Setting) -> Floats:
        """Return the states (m, S) of the rule."""
        return self.rule.lift(counts, setting)

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


class Viewed(_SameStates):
    """Rule whose opinions have the probabilities of the views of a forest.

    Parameters
    ----------
    rule : Rule
        A rule with `plain_mean`.
    views : Views
        Kinds of trees and depths.
    """

    name: ClassVar[str] = "viewed"
    even: ClassVar[bool] = _of("rule.even")

    def __init__(self, rule: Rule, views: Views) -> None:
        self.rule = rule
        self.views = views

    def finish(self, state: Floats, setting: Setting) -> Opinion:
        """Return the opinion of merged states (n, S), with the probabilities of views if they follow."""
        own, of_views = self.split(state, setting)
        return replace(self.rule.finish(np.ascontiguousarray(own), setting), views=of_views)


class Calibrated(_SameStates):
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
    #: Views that the calibrator acts on; None for the probabilities of the rule.
    views: Views | None = _of("calibration.views")

    def __init__(self, rule: Rule, calibration: Calibration) -> None:
        self.rule = rule
        self.calibration = calibration

    def with_gaps(self) -> Calibrated:
        """Return the calibrated rule on counts with the gaps of uncertain labels next to them."""
        return Calibrated(self.rule.with_gaps(), self.calibration)

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


# ---- Rules on leaves with uncertain labels ---------------------------------------------------------------------------


class WithGaps(_OfRule):
    """Rule on counts with the gaps of uncertain labels next to them, (m, 3K).

    Rules with `Rule.lift_gaps` account for the gaps of every leaf. For the others, the lower probability of a class is
    multiplied by the share of the evidence for it that does not depend on how labels are shared out, and one minus the
    upper probability by that of the evidence against it. For averages of imprecise Dirichlet intervals this is exact.
    The probability does not change, and neither does an opinion without gaps.

    Parameters
    ----------
    rule : Rule
        A rule on counts (m, K).
    """

    name: ClassVar[str] = "with_gaps"

    def __init__(self, rule: Rule) -> None:
        self.rule = rule

    def with_gaps(self) -> WithGaps:
        """Return the rule itself."""
        return self

    def key(self) -> Hashable:
        """Return a key that differs from that of the rule."""
        return WithGaps, self.rule.key()

    def __str__(self) -> str:
        return str(self.rule)

    def lift(self, counts: Floats, setting: Setting) -> Floats:
        """Return the states of the rule, with the evidence for and against each class if bounds must be widened.

        `counts` are (m, K), without gaps, or (m, 3K).
        """
        k = setting.n_classes
        held, below, above = (counts[:, part * k : (part + 1) * k] for part in range(3))
        if counts.shape[1] == k:
            below = above = np.zeros_like(held)
        state = self.rule.lift_gaps(held, below, above, setting)
        if state is not None:
            return state
        state, against = self.rule.lift(held, setting), held.sum(axis=1, keepdims=True) - held
        evidence = np.hstack([held, held - below, against, against - above])
        if self.merge == "max":  # the leaf with the largest gaps
            evidence = np.hstack([1.0 - _share(held - below, held), 1.0 - _share(against - above, against)])
        else:
            evidence *= self.rule.gap_weights(held, setting)[:, None]
        return np.hstack([state, evidence])

    def finish(self, state: Floats, setting: Setting) -> Opinion:
        """Return the opinion of the rule, widened by the gaps."""
        k, width = setting.n_classes, self.rule.width(setting)
        if self._lifts_gaps(setting):
            return self.rule.finish(state, setting)
        if self.merge == "max":
            opinion = self.rule.finish(np.ascontiguousarray(state[:, :width]), setting)
            known_for, known_against = np.hsplit(1.0 - state[:, width:], 2)
            return widened_by_gaps(opinion, known_for, known_against)
        if self.merge == "both":
            own = np.hstack([state[:, :width], state[:, width + 4 * k : 2 * width + 4 * k]])
        else:
            own = state[..., :width]
        sums = state[..., -4 * k :].sum(axis=1) if self.merge == "stack" else state[:, -4 * k :]
        held, certain, against, certainly_against = np.hsplit(sums, 4)
        opinion = self.rule.finish(np.ascontiguousarray(own), setting)
        return widened_by_gaps(opinion, _share(certain, held), _share(certainly_against, against))

    @property
    def adds_up(self) -> tuple[str, ...]:
        """Parts of the rule that are still sums over trees: bounds only if the rule lifts gaps or averages leaves."""
        exact = self.rule.exact_gaps or self._lifts_gaps(Setting.of(2))
        return tuple(part for part in self.rule.adds_up if exact or part in ("probability", "log_odds"))

    def parts(self, state: Floats, setting: Setting) -> dict[str, Floats]:
        """Return the contributions (m, K) of leaves to the sums in `adds_up`."""
        if self._lifts_gaps(setting):
            return self.rule.parts(state, setting)
        parts = self.rule.parts(state[:, : self.rule.width(setting)], setting)
        if self.rule.exact_gaps:
            held, certain, against, certainly_against = np.hsplit(state[:, -4 * setting.n_classes :], 4)
            parts["lower"] = parts["lower"] - (held - certain)
            parts["upper"] = parts["upper"] + (against - certainly_against)
        return parts

    def prior_term(self, setting: Setting) -> Floats:
        """Return the term of the rule."""
        return self.rule.prior_term(setting)

    def _lifts_gaps(self, setting: Setting) -> bool:
        """Return whether states of the rule account for gaps by themselves."""
        none = np.zeros((1, setting.n_classes))
        return self.rule.lift_gaps(none, none, none, setting) is not None


def widened_by_gaps(opinion: Opinion, known_for: Floats, known_against: Floats) -> Opinion:
    """Return an opinion with wider bounds, given the known shares of the evidence for and against classes, (n, K).

    The prediction set of a rule that chooses is joined by the classes whose wider interval is not dominated.
    """
    gaps: Bools = np.asarray(((known_for < 1) | (known_against < 1)).any(axis=1))
    lower = opinion.lower * known_for
    upper = 1.0 - (1.0 - opinion.upper) * known_against
    wide = opinion_from_bounds(
        opinion.probability,
        np.where(gaps[:, None], lower, opinion.lower),
        np.where(gaps[:, None], np.maximum(upper, opinion.upper), opinion.upper),
        opinion.conflict,
        log_odds=opinion.log_odds,
        score=opinion.score,
    )
    chosen = opinion.chosen
    if chosen is not None:
        chosen = chosen | (gaps[:, None] & (largest_rival(wide.lower) <= wide.upper))
    vacuity = np.where(gaps, wide.vacuity, opinion.vacuity)
    return replace(wide, vacuity=vacuity, chosen=chosen, groups=opinion.groups, gaps=gaps)


def _share(part: Floats, whole: Floats) -> Floats:
    """Return part/whole; without evidence, the share of the evidence about all classes."""
    everything = whole.sum(axis=1, keepdims=True)
    overall = np.divide(part.sum(axis=1, keepdims=True), everything, out=np.ones_like(everything), where=everything > 0)
    known = np.divide(part, whole, out=np.repeat(overall, whole.shape[1], axis=1), where=whole > 0)
    return np.asarray(np.clip(known, 0.0, 1.0))
