"""Together: several rules, each with its caution -> what one pass over the trees needs to serve them all."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from hedgerow.belief import Opinion, Rule, Setting
from hedgerow.belief.rules.base import Merge

Floats = NDArray[np.float64]


class Together:
    """Rules that merge alike, side by side: their states stand in one row, their opinions come in one list.

    Parameters
    ----------
    asked : sequence of (Rule, Setting)
        At least one; all with the same merge.
    """

    def __init__(self, asked: Sequence[tuple[Rule, Setting]]) -> None:
        self.asked = tuple(asked)

    @property
    def merge(self) -> Merge:
        """How their states merge."""
        return self.asked[0][0].merge

    def lift(self, counts: Floats, setting: Setting) -> Floats:
        """Counts (m, K) -> states of all rules side by side (m, S1 + S2 + ...)."""
        return np.hstack([rule.lift(counts, own) for rule, own in self.asked])

    def finish(self, state: Floats, setting: Setting) -> list[Opinion]:
        """Merged states -> one opinion per rule."""
        widths = [rule.width(own) for rule, own in self.asked]
        ends = np.cumsum(widths)
        halves = np.split(state, 2, axis=-1) if self.merge == "both" else [state]
        opinions = []
        for (rule, own), end, width in zip(self.asked, ends, widths, strict=True):
            parts = [half[..., end - width : end] for half in halves]
            opinions.append(rule.finish(np.ascontiguousarray(np.concatenate(parts, axis=-1)), own))
        return opinions


def group_by_merge(rules: Sequence[Rule]) -> list[list[int]]:
    """Rules -> groups of their positions that one pass can serve; a rule that is no fold stays alone.

    Examples
    --------
    >>> from hedgerow.rules import Average, Cautious, Median, Vote
    >>> group_by_merge([Average(), Cautious(), Vote(), Median()])
    [[0, 2], [1], [3]]
    """
    groups: dict[object, list[int]] = {}
    for position, rule in enumerate(rules):
        groups.setdefault(position if rule.merge == "stack" else rule.merge, []).append(position)
    return list(groups.values())
