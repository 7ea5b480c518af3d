"""Reducers of the leaves that rows reach."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol, TypeVar, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from hedgerow.belief.calibrate import Views
from hedgerow.belief.leaf import vote_shares
from hedgerow.belief.opinion import Opinion
from hedgerow.rules import Rule, Setting
from hedgerow.rules.base import Merge

Floats = NDArray[np.float64]
Given = TypeVar("Given", covariant=True)


class Reducer(Protocol[Given]):
    """Reducer of leaves: a rule, or another pair of lift and finish."""

    @property
    def merge(self) -> Any:
        """Way to merge states: as in `Rule`, or "mean" over the trees that count for a row."""

    def class_blocks(self, setting: Setting) -> tuple[int, ...]:
        """Return where blocks of classes begin, as in `Rule`; empty if unknown."""

    def lift(self, held: Any, setting: Setting) -> Floats:
        """Lift the evidence of m leaves, for example counts (m, K), to states (m, S)."""

    def finish(self, state: Floats, setting: Setting) -> Given:
        """Finish merged states as the result for n samples: arrays, records or lists."""


@runtime_checkable
class TakesGaps(Protocol):
    """Reducer of class counts that can account for the gaps of uncertain labels."""

    def with_gaps(self) -> Reducer[Any]:
        """Return the reducer of counts with gaps next to them, (m, 3K)."""


class RuleStack:
    """Rules with the same `merge`, folded in one pass to a list of opinions.

    Parameters
    ----------
    rules : sequence of (Rule, Setting)
        At least one rule; all with the same merge.
    """

    def __init__(self, rules: Sequence[tuple[Rule, Setting]]) -> None:
        self.rules = tuple(rules)

    def with_gaps(self) -> RuleStack:
        """Return the rules on counts with the gaps of uncertain labels next to them."""
        return RuleStack([(rule.with_gaps(), setting) for rule, setting in self.rules])

    @property
    def merge(self) -> Merge:
        """Way to merge the states of these rules."""
        return self.rules[0][0].merge

    def class_blocks(self, setting: Setting) -> tuple[int, ...]:
        """Return the blocks of all rules; empty if those of one are unknown."""
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
        """Return the states of all rules side by side, (m, S1 + S2 + ...)."""
        return np.hstack([rule.lift(counts, own) for rule, own in self.rules])

    def finish(self, state: Floats, setting: Setting) -> list[Opinion]:
        """Return one opinion per rule."""
        widths = [rule.width(own) for rule, own in self.rules]
        ends = np.cumsum(widths)
        halves = np.split(state, 2, axis=-1) if self.merge == "both" else [state]
        opinions = []
        for (rule, own), end, width in zip(self.rules, ends, widths, strict=True):
            parts = [half[..., end - width : end] for half in halves]
            opinions.append(rule.finish(np.ascontiguousarray(np.concatenate(parts, axis=-1)), own))
        return opinions


def group_by_merge(rules: Sequence[Rule]) -> list[list[int]]:
    """Group the indices of rules that one pass can compute; non-folds are alone.

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
    """Sum of the votes of the leaves reached, (n, K)."""

    merge: ClassVar[str] = "add"

    def class_blocks(self, setting: Setting) -> tuple[int, ...]:
        """Return the start of the votes."""
        return (0,)

    def lift(self, counts: Floats, setting: Setting) -> Floats:
        """Return the votes of leaves, (m, K)."""
        return vote_shares(counts)

    def finish(self, state: Floats, setting: Setting) -> Floats:
        """Return the sums unchanged."""
        return state


@dataclass(frozen=True)
class ProbabilityReducer:
    """Probabilities of a rule, (n, K), at a quarter of the memory of its opinions.

    Parameters
    ----------
    rule : Rule
        The combination rule.
    """

    rule: Rule

    def with_gaps(self) -> ProbabilityReducer:
        """Return the reducer of counts with the gaps of uncertain labels next to them."""
        return ProbabilityReducer(self.rule.with_gaps())

    @property
    def views(self) -> Views | None:
        """As in the rule."""
        return self.rule.views

    @property
    def merge(self) -> Merge:
        """As in the rule."""
        return self.rule.merge

    def class_blocks(self, setting: Setting) -> tuple[int, ...]:
        """Return the blocks of the rule."""
        return self.rule.class_blocks(setting)

    def lift(self, counts: Floats, setting: Setting) -> Floats:
        """Return the states of the rule, (m, S)."""
        return self.rule.lift(counts, setting)

    def finish(self, state: Floats, setting: Setting) -> Floats:
        """Return probabilities, (n, K)."""
        return self.rule.finish(state, setting).probability


@dataclass(frozen=True)
class MeanReducer:
    """Mean of leaf values over the trees that count, (n, S); NaN without trees.

    Parameters
    ----------
    says : callable
        Function from the evidence of m leaves to values (m, S): predictions, bounds or moments.
    """

    says: Callable[[Any], Floats]

    merge: ClassVar[str] = "mean"
    steady: ClassVar[bool] = True

    def class_blocks(self, setting: Any = None) -> tuple[int, ...]:
        """Return no blocks: values are not per class."""
        return ()

    def lift(self, held: Any, setting: Any = None) -> Floats:
        """Return the values of leaves, (m, S)."""
        return self.says(held)

    def finish(self, state: Floats, setting: Any = None) -> Floats:
        """Return the means unchanged."""
        return state


def predictions(leaves: Any) -> Floats:
    """Return the predictions of leaves of a regression, (m, 1)."""
    values: Floats = leaves.values[:, None]
    return values


# ---- distinct contents ------------------------------------------------------------------------------


def lift_distinct(what: Reducer[Any], counts: Floats, setting: Setting) -> Floats:
    """Lift counts (m, K) to states (m, S), each distinct row once."""
    if len(counts) < 256:
        return np.ascontiguousarray(what.lift(counts, setting))
    distinct, where = distinct_rows(counts)
    return np.ascontiguousarray(what.lift(distinct, setting)[where])


def distinct_rows(counts: Floats) -> tuple[Floats, NDArray[np.intp]]:
    """Return the distinct rows (d, K), and the index of each row among them (m,)."""
    if counts.shape[1] == 2 and (counts == np.floor(counts)).all() and counts.max(initial=0) < 2**31:
        keys = (counts[:, 0].astype(np.int64) << 31) + counts[:, 1].astype(np.int64)
        _, first, where = np.unique(keys, return_index=True, return_inverse=True)
    else:
        rows = np.ascontiguousarray(counts + 0.0)
        _, first, where = np.unique(_fingerprints(rows), return_index=True, return_inverse=True)
        if not _are_copies(rows, first[where]):  # a hash collision
            whole = rows.view(np.dtype((np.void, rows.dtype.itemsize * rows.shape[1]))).ravel()
            _, first, where = np.unique(whole, return_index=True, return_inverse=True)
    return counts[first], where.ravel()


def _fingerprints(rows: Floats) -> NDArray[np.uint64]:
    """Return a hash of each row, (m,); with 500 classes hashes sort six times faster."""
    bits = rows.view(np.uint64)
    bits = bits ^ (bits >> np.uint64(44))  # whole numbers differ only in their highest bits
    factors = np.random.default_rng(0).integers(1, 2**63, rows.shape[1], dtype=np.uint64)
    return np.asarray(bits @ factors)


def _are_copies(rows: Floats, of: NDArray[np.intp]) -> bool:
    """Return whether each row equals the row with a given number; compared in blocks."""
    part = max(1, 2**20 // rows.shape[1])
    firsts = range(0, len(rows), part)
    return all(np.array_equal(rows[first : first + part], rows[of[first : first + part]]) for first in firsts)
