"""Reducer: the leaves that rows reach -> an opinion of a rule, votes, or a mean of numbers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from hedgerow.belief.leaf import vote_shares
from hedgerow.belief.opinion import Opinion
from hedgerow.rules import Rule, Setting
from hedgerow.rules.base import Merge

Floats = NDArray[np.float64]
Given = TypeVar("Given", covariant=True)


class Reducer(Protocol[Given]):
    """Something that can be folded over leaves: a rule, or another pair of lift and finish."""

    @property
    def merge(self) -> Any:
        """How states are merged: as in `Rule`, or "mean" for the mean over the out-of-bag trees of a row."""

    def class_blocks(self, setting: Any) -> tuple[int, ...]:
        """Where the blocks of columns for each class begin in a state, as in `Rule`; nothing if that is not known."""

    def lift(self, held: Any, setting: Any) -> Floats:
        """The evidence of m leaves, for example counts (m, K) -> states (m, S)."""

    def finish(self, state: Floats, setting: Any) -> Given:
        """Merged states -> result for n samples: an array, a record of arrays, or a list of records."""


class RuleStack:
    """Several rules with the same `merge`, folded in one pass: their states are side by side, their opinions in a list.

    Parameters
    ----------
    rules : sequence of (Rule, Setting)
        At least one; all with the same merge.
    """

    def __init__(self, rules: Sequence[tuple[Rule, Setting]]) -> None:
        self.rules = tuple(rules)

    @property
    def merge(self) -> Merge:
        """How the states of all these rules are merged."""
        return self.rules[0][0].merge

    def class_blocks(self, setting: Setting) -> tuple[int, ...]:
        """The blocks of all rules; nothing if nothing is known of one."""
        found: list[int] = []
        before = 0
        for rule, own in self.rules:
            known = rule.class_blocks(own)
            if not known:
                return ()
            found += [before + first for first in known]
            before += rule.width(own)
        return tuple(found)

    def lift(self, counts: Floats, setting: Setting) -> Floats:
        """Counts (m, K) -> states of all rules side by side (m, S1 + S2 + ...)."""
        return np.hstack([rule.lift(counts, own) for rule, own in self.rules])

    def finish(self, state: Floats, setting: Setting) -> list[Opinion]:
        """Merged states -> one opinion per rule."""
        widths = [rule.width(own) for rule, own in self.rules]
        ends = np.cumsum(widths)
        halves = np.split(state, 2, axis=-1) if self.merge == "both" else [state]
        opinions = []
        for (rule, own), end, width in zip(self.rules, ends, widths, strict=True):
            parts = [half[..., end - width : end] for half in halves]
            opinions.append(rule.finish(np.ascontiguousarray(np.concatenate(parts, axis=-1)), own))
        return opinions


def group_by_merge(rules: Sequence[Rule]) -> list[list[int]]:
    """Rules -> groups of their positions that one pass can compute; a rule that is not a fold is a group by itself.

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


class Votes:
    """The sum of the votes of the leaves reached: (n, K)."""

    merge: ClassVar[str] = "add"

    def class_blocks(self, setting: Setting) -> tuple[int, ...]:
        """A vote for each class."""
        return (0,)

    def lift(self, counts: Floats, setting: Setting) -> Floats:
        """Counts (m, K) -> votes (m, K)."""
        return vote_shares(counts)

    def finish(self, state: Floats, setting: Setting) -> Floats:
        """Nothing is left to do."""
        return state


@dataclass(frozen=True)
class ProbabilityReducer:
    """The probabilities of a rule alone, (n, K): its opinions take four times the memory, and more.

    Parameters
    ----------
    rule : Rule
        The rule.
    """

    rule: Rule

    @property
    def merge(self) -> Merge:
        """As in the rule."""
        return self.rule.merge

    def class_blocks(self, setting: Setting) -> tuple[int, ...]:
        """As in the rule."""
        return self.rule.class_blocks(setting)

    def lift(self, counts: Floats, setting: Setting) -> Floats:
        """Counts (m, K) -> states (m, S) of the rule."""
        return self.rule.lift(counts, setting)

    def finish(self, state: Floats, setting: Setting) -> Floats:
        """Merged states (n, S) -> probabilities (n, K)."""
        return self.rule.finish(state, setting).probability


@dataclass(frozen=True)
class MeanReducer:
    """The mean of values of leaves over the trees that count for a row: (n, S), NaN if there are none.

    Parameters
    ----------
    says : callable
        The evidence of m leaves -> their values (m, S): in a regression predictions, bounds of them, or moments.
    """

    says: Callable[[Any], Floats]

    merge: ClassVar[str] = "mean"
    steady: ClassVar[bool] = True

    def class_blocks(self, setting: Any = None) -> tuple[int, ...]:
        """Nothing is known of the values."""
        return ()

    def lift(self, held: Any, setting: Any = None) -> Floats:
        """The evidence of m leaves -> their values (m, S)."""
        return self.says(held)

    def finish(self, state: Floats, setting: Any = None) -> Floats:
        """Nothing is left to do."""
        return state


def predictions(leaves: Any) -> Floats:
    """Leaves of a regression -> their predictions (m, 1)."""
    return leaves.values[:, None]  # type: ignore[no-any-return]
