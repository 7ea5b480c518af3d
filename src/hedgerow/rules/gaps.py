"""Rules on leaves with uncertain labels.

Labels that are sets of possible classes can be shared out in many ways. Counts (K) are one of them, refined by
expectation maximisation; the count of a class can fall by its gap below (K) and rise by its gap above (K). The bounds
of the extended imprecise Dirichlet model (Utkin 2005) are (count - below)/(n + s) and (count + above + s)/(n + s).
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import replace
from typing import ClassVar

import numpy as np

from hedgerow.belief.leaf import largest_rival
from hedgerow.belief.opinion import Bools, Opinion, opinion_from_bounds
from hedgerow.rules.base import Floats, Rule, Setting


class WithGaps(Rule):
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
    def steady(self) -> bool:
        """The rule's attribute."""
        return self.rule.steady

    @property
    def weighable(self) -> bool:
        """The rule's attribute."""
        return self.rule.weighable

    def with_gaps(self) -> WithGaps:
        """Return the rule itself."""
        return self

    def key(self) -> Hashable:
        """Return a key that differs from that of the rule."""
        return WithGaps, self.rule.key()

    def __repr__(self) -> str:
        return repr(self.rule)

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
