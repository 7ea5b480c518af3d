"""Draws: the keyed randomness of the core, in Python integers."""

from __future__ import annotations

import math
from dataclasses import dataclass

MASK = 2**64 - 1
GOLDEN = 0x9E3779B97F4A7C15
BAG, GROW, SAMPLE, GROUP = 0x626167, 0x67726F77, 0x73616D70, 0x67726F7570


def scramble(value: int) -> int:
    """64 bits -> 64 bits (the finaliser of SplitMix64)."""
    value = ((value ^ (value >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    value = ((value ^ (value >> 27)) * 0x94D049BB133111EB) & MASK
    return value ^ (value >> 31)


def derive_key(key: int, child: int) -> int:
    """The key of a child: a tree of a forest, a side of a node, a purpose within a tree."""
    return scramble((key + GOLDEN * (child + 1)) & MASK)


class Draws:
    """The draws of one node: the i-th is a function of the node's key and i."""

    def __init__(self, key: int) -> None:
        self.state = key

    def next(self) -> int:
        self.state = (self.state + GOLDEN) & MASK
        return scramble(self.state)

    def below(self, bound: int) -> int:
        """Uniform in 0 … bound-1, from the upper 32 bits of a draw."""
        return ((self.next() >> 32) * bound) >> 32

    def below_wide(self, bound: int) -> int:
        """Uniform in 0 … bound-1, from all 64 bits."""
        return (self.next() * bound) >> 64

    def unit(self) -> float:
        return (self.next() >> 11) * 2.0**-53

    def coin(self) -> bool:
        return bool(self.next() >> 63)


@dataclass(frozen=True)
class Bag:
    """How often each of `n_rows` rows is in a tree's sample; a mean of 0 means once each."""

    seed: int
    tree: int
    n_rows: int
    mean: float

    def multiplicities(self) -> list[int]:
        """Rule: a bag without a single row is drawn again, up to a thousand times, with the next key."""
        if self.mean == 0:
            return [1] * self.n_rows
        tree_key = derive_key(derive_key(self.seed, BAG), self.tree)
        if self.mean < 0:
            return self.exactly(Draws(tree_key))
        limits = self.limits()
        for attempt in range(1000):
            key = derive_key(tree_key, attempt)
            drawn = [scramble((key + GOLDEN * row) & MASK) >> 32 for row in range(self.n_rows)]
            times = [sum(draw >= limit for limit in limits) for draw in drawn]
            if any(times):
                return times
        return [1] * self.n_rows

    def exactly(self, draws: Draws) -> list[int]:
        """Rule: a negative mean is a number of rows drawn with replacement, at least one."""
        times = [0] * self.n_rows
        for _ in range(max(1, round(-self.mean * self.n_rows))):
            times[draws.below_wide(self.n_rows)] += 1
        return times

    def limits(self) -> list[int]:
        """The cumulative Poisson distribution in units of 2⁻³²; it ends where 32 bits cannot tell it from 1."""
        term, cumulative, limits = math.exp(-self.mean), 0.0, []
        for times in range(24):
            cumulative += term
            term *= self.mean / (times + 1)
            limits.append(min(int(cumulative * 2.0**32), 2**32 - 1))
        return limits
