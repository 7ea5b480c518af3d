"""Total, aleatoric and epistemic uncertainty as a fold."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from hedgerow.belief.entropies import check_few_classes, hartley_of_lower, members_of_subsets
from hedgerow.belief.leaf import class_shares, entropy
from hedgerow.belief.masses.frame import row_products
from hedgerow.belief.opinion import is_row
from hedgerow.belief.plausibility import preference
from hedgerow.belief.scalar import as_rows, distribution_of, entropy_of
from hedgerow.rules.base import Floats, Merge, Rule, Setting
from hedgerow.rules.mean import Mean, distribution


@dataclass(frozen=True, eq=False)
class UncertaintyParts:
    """Sources of uncertainty about n samples.

    Attributes
    ----------
    total, aleatoric, epistemic : float64 (n,)
        In bits: the entropy of the mean distribution, the mean entropy of the distributions of the leaves, and the
        difference of the two.
    relative_aleatoric, relative_epistemic : float64 (n,)
        u_a and u_e by relative likelihood, averaged over leaves.
    """

    total: Floats
    aleatoric: Floats
    epistemic: Floats
    relative_aleatoric: Floats
    relative_epistemic: Floats


class Uncertainty:
    """Total uncertainty and its two parts as a fold.

    It has the methods and `merge` of a rule.

    Entropies are means over non-empty leaves. If all leaves are empty, the epistemic part is log2(K) and the aleatoric
    part is 0. An empty leaf has u_e = 1 and u_a = 0.

    Examples
    --------
    >>> from hedgerow.rules import Setting, merge_states
    >>> split, setting = Uncertainty(), Setting.of(2)
    >>> states = split.lift(np.array([[4.0, 0.0], [0.0, 4.0]]), setting)
    >>> parts = split.finish(merge_states(states[None], split.merge), setting)
    >>> parts.total, parts.aleatoric, parts.epistemic
    (array([1.]), array([0.]), array([1.]))
    """

    merge: ClassVar[Merge] = "add"

    def class_blocks(self, setting: Setting) -> tuple[int, ...]:
        """Return the block of the shares."""
        return (0,)

    def lift(self, counts: Floats, setting: Setting) -> Floats:
        """Return [shares (K), entropy, u_a, u_e, 1] of leaves."""
        shares = class_shares(counts)
        leaf = preference(counts)
        columns = (
            entropy(shares),
            np.exp(leaf.log_aleatoric),
            np.exp(leaf.log_epistemic),
            np.ones(len(counts)),
        )
        return np.hstack([shares, np.stack(columns, axis=1)])

    def with_gaps(self) -> Uncertainty:
        """Return the fold of counts with the gaps of uncertain labels next to them."""
        return UncertaintyWithGaps()

    def finish(self, state: Floats, setting: Setting) -> UncertaintyParts:
        """Return the parts (n,) of merged states (n, K + 4)."""
        k = setting.n_classes
        if is_row(state, k):
            return _parts_of_row(state[0].tolist(), k)
        mean, filled = distribution(state[:, :k])
        total = entropy(mean)
        within = state[:, k] / np.where(filled > 0, filled, 1.0)
        aleatoric = np.minimum(within, total)
        leaves = state[:, -1]
        divisor = np.where(leaves > 0, leaves, 1.0)
        return UncertaintyParts(
            total=total,
            aleatoric=aleatoric,
            epistemic=total - aleatoric,
            relative_aleatoric=state[:, k + 1] / divisor,
            relative_epistemic=np.where(leaves > 0, state[:, k + 2] / divisor, 1.0),
        )


class UncertaintyWithGaps(Uncertainty):
    """Total uncertainty and its parts, from counts with the gaps of uncertain labels next to them, (m, 3K).

    The aleatoric part of a leaf is the entropy of the counts that do not depend on how uncertain labels are shared out,
    times their share of its rows, and relative likelihoods are those of these counts. More labels could remove the
    rest, which is epistemic. Without gaps this is `Uncertainty`.
    """

    def lift(self, counts: Floats, setting: Setting) -> Floats:
        """Return [shares (K), entropy, u_a, u_e, 1] of leaves."""
        k = setting.n_classes
        held, below = counts[:, :k], counts[:, k : 2 * k]
        state = super().lift(held, setting)
        gaps = np.flatnonzero(below.any(axis=1)) if counts.shape[1] > k else ()
        if len(gaps):
            certain, rows = held[gaps] - below[gaps], held[gaps].sum(axis=1)
            state[gaps, k:] = super().lift(certain, setting)[:, k:]
            state[gaps, k] *= np.minimum(certain.sum(axis=1) / rows, 1.0)
        return state


@dataclass(frozen=True, eq=False)
class OpinionUncertainty:
    """``conflict`` and ``vacuity`` of an opinion about n samples, (n,) each."""

    conflict: Floats
    vacuity: Floats


class UncertaintyWith:
    """Conflict and vacuity of a rule, and the parts of its uncertainty, in one pass.

    Parameters
    ----------
    rule : Rule
        A rule whose `merge` is "add".
    """

    merge: ClassVar[Merge] = "add"

    def __init__(self, rule: Rule, parts: Uncertainty | None = None) -> None:
        self.rule = rule
        self.parts = Uncertainty() if parts is None else parts

    def with_gaps(self) -> UncertaintyWith:
        """Return the fold of counts with the gaps of uncertain labels next to them."""
        return UncertaintyWith(self.rule.with_gaps(), self.parts.with_gaps())

    def class_blocks(self, setting: Setting) -> tuple[int, ...]:
        """Return the blocks of the rule and of the shares; none if it has none."""
        known = self.rule.class_blocks(setting)
        return (*known, self.rule.width(setting)) if known else ()

    def lift(self, counts: Floats, setting: Setting) -> Floats:
        """Return [state of the rule (S), state of the uncertainty (K + 4)] of leaves."""
        return np.hstack([self.rule.lift(counts, setting), self.parts.lift(counts, setting)])

    def finish(self, state: Floats, setting: Setting) -> list[OpinionUncertainty | UncertaintyParts]:
        """Return the `OpinionUncertainty` and the `UncertaintyParts` of merged states."""
        own = state.shape[1] - setting.n_classes - 4
        return [self._of_opinion(state[:, :own], setting), self.parts.finish(state[:, own:], setting)]

    def _of_opinion(self, state: Floats, setting: Setting) -> OpinionUncertainty:
        """Return conflict and vacuity of merged states (n, S) of the rule."""
        row = self.rule.finish_row(state, setting) if isinstance(self.rule, Mean) else None
        if row is not None:
            return OpinionUncertainty(*as_rows([row.conflict, row.vacuity]))
        opinion = self.rule.finish(state, setting)
        return OpinionUncertainty(opinion.conflict, opinion.vacuity)


class UncertaintyOfTrees:
    """Entropies and generalised Hartley measure of the finite set of trees, as a fold.

    Every tree is a possible distribution, that of its class shares (Shaker and Hüllermeier, 2021). The result (n, 3)
    has the largest and the smallest entropy of a tree, and the generalised Hartley measure of the smallest
    probabilities of sets of classes. Leaves without rows are omitted; without any other, all distributions are
    possible.

    Examples
    --------
    >>> from hedgerow.rules import Setting, merge_states
    >>> trees, setting = UncertaintyOfTrees(), Setting.of(2)
    >>> states = trees.lift(np.array([[4.0, 0.0], [0.0, 4.0]]), setting)
    >>> trees.finish(merge_states(states[None], trees.merge), setting)
    array([[0., 0., 1.]])
    """

    merge: ClassVar[Merge] = "max"

    def class_blocks(self, setting: Setting) -> tuple[int, ...]:
        """Return an empty tuple: columns are not blocks of classes."""
        return ()

    def lift(self, counts: Floats, setting: Setting) -> Floats:
        """Return [entropy, log2(K) - entropy, 1 - probability of each set (2^K)] of leaves, zeros for an empty leaf."""
        check_few_classes(setting.n_classes)
        shares = class_shares(counts)
        bits = entropy(shares)[:, None]
        outside = 1.0 - row_products(shares, members_of_subsets(setting.n_classes))
        states = np.hstack([bits, np.log2(setting.n_classes) - bits, outside])
        return np.where(counts.sum(axis=1, keepdims=True) > 0, np.maximum(states, 0.0), 0.0)

    def finish(self, state: Floats, setting: Setting) -> Floats:
        """Return largest entropy, smallest entropy and Hartley measure (n, 3) of merged states."""
        most = np.log2(setting.n_classes)
        known = state[:, 2] > 0  # the empty set has the probability 0 in every tree
        hartley = hartley_of_lower(1.0 - state[:, 2:])
        columns = (np.where(known, state[:, 0], most), np.where(known, most - state[:, 1], 0.0))
        return np.column_stack([*columns, np.where(known, hartley, most)])


def _parts_of_row(state: list[float], k: int) -> UncertaintyParts:
    """Return the parts of one row, bitwise identical to those among many rows."""
    mean, filled = distribution_of(state[:k])
    total = entropy_of(mean)
    aleatoric = min(state[k] / (filled if filled > 0 else 1.0), total)
    leaves = state[-1]
    divisor = leaves if leaves > 0 else 1.0
    epistemic = state[k + 2] / divisor if leaves > 0 else 1.0
    return UncertaintyParts(*as_rows([total, aleatoric, total - aleatoric, state[k + 1] / divisor, epistemic]))
