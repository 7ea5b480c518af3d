"""Add numbers: a regression forest and rows that arrive later -> the forest with their moments in its leaves.

Moments of later rows are kept as whole numbers, two per sum: so many units, and so many 2^-30 of a unit, which is about
2^-60 of the spread of the first targets. Their sums are exact, and it does not matter in how many parts rows come.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from hedgerow.forest.add import Origin, leaf_blocks, spans_of
from hedgerow.forest.tree import Forest
from hedgerow.table.bins import Codes

Floats = NDArray[np.float64]
Whole = NDArray[np.int64]

_FINE = 30  # bits of either part
_MOST = 2.0**62


@dataclass(frozen=True, eq=False, repr=False)
class LaterMoments:
    """What leaves held after growing, and the exact sums of what has come since.

    Parameters
    ----------
    weight, mean, variance : (L,) float64
        Of each leaf after growing.
    sums : (L, 3, 2) int64
        Of the later rows in each leaf: weights, weighted differences from the centre, and their squares.
    """

    weight: Floats
    mean: Floats
    variance: Floats
    sums: Whole

    @classmethod
    def none(cls, forest: Forest) -> LaterMoments:
        """A forest as it was grown."""
        assert forest.values is not None
        assert forest.variances is not None
        weight = (forest.counts if forest.weights is None else forest.weights).astype(np.float64)
        means = forest.values if forest.means is None else forest.means
        n_leaves = int(forest.leaf_start[-1])
        return cls(weight, means, forest.variances, np.zeros((n_leaves, 3, 2), dtype=np.int64))

    def joined(self, other: LaterMoments) -> LaterMoments:
        """Those of two forests, one after the other."""
        return LaterMoments(
            *(np.concatenate(pair) for pair in zip(vars(self).values(), vars(other).values(), strict=True))
        )


def add_numbers(
    forest: Forest,
    later: LaterMoments,
    origins: Sequence[Origin],
    codes: Codes,
    y: Floats,
    weights: Floats | None = None,
    n_threads: int = 1,
) -> tuple[Forest, LaterMoments]:
    """Count rows, codes (p, m) with targets (m,), in the leaves they reach; no tree changes its splits."""
    counts, sums = forest.counts.copy(), later.sums.copy()
    room = _MOST - float(np.abs(sums).max(initial=0))
    for first, last, leaves in leaf_blocks(forest, codes, n_threads):
        for span, origin in zip(spans_of(origins), origins, strict=True):
            away = y[first:last] - origin.grid.centre
            heavy = np.ones(last - first) if weights is None else weights[first:last]
            heavy = heavy / origin.weight_scale
            for tree in range(span.start, span.stop):
                at = leaves[:, tree] + forest.leaf_start[tree]
                times = origin.times(tree - span.start, first, last)
                amount = heavy if times is None else heavy * times
                np.add.at(counts, at, np.uint32(1) if times is None else times)
                for moment, power in enumerate((0, 1, 2)):
                    parts = _in_parts(amount * away**power, power * origin.grid.exponent)
                    room -= float(np.abs(parts[0]).sum())
                    if room < 0:
                        raise ValueError(
                            "y must be of the size of the first targets, got numbers whose squares are too large to add"
                            " up exactly; fit again with them"
                        )
                    for part in (0, 1):
                        np.add.at(sums[:, moment, part], at, parts[part].astype(np.int64))
    return _with_moments(replace(forest, counts=counts), replace(later, sums=sums), origins)


def _in_parts(values: Floats, exponent: int) -> tuple[Floats, Floats]:
    """Numbers (m,) in units of two to the exponent -> whole numbers of 2^-30 of it, and of 2^-60."""
    units = np.ldexp(values, _FINE - exponent)
    coarse = np.rint(units)
    return coarse, np.rint(np.ldexp(units - coarse, _FINE))


def _with_moments(forest: Forest, later: LaterMoments, origins: Sequence[Origin]) -> tuple[Forest, LaterMoments]:
    """Exact sums -> means, variances and weights of the leaves that have any; the others stay as they are."""
    assert forest.values is not None
    assert forest.variances is not None
    new = np.flatnonzero(later.sums[:, 0].any(axis=1))
    ends = np.cumsum([origin.n_trees for origin in origins])
    owner = np.searchsorted(forest.leaf_start[ends], new, side="right")
    centre = np.array([origin.grid.centre for origin in origins])[owner]
    exponent = np.array([origin.grid.exponent for origin in origins])[owner]
    weight, sum_, squares = (
        np.ldexp(
            later.sums[new, moment, 0].astype(np.float64)
            + np.ldexp(later.sums[new, moment, 1].astype(np.float64), -_FINE),
            moment * exponent - _FINE,
        )
        for moment in range(3)
    )
    away = later.mean[new] - centre
    total = later.weight[new] + weight
    mean = (later.weight[new] * away + sum_) / total
    square = (later.weight[new] * (later.variance[new] + away**2) + squares) / total
    values, variances = forest.values.copy(), forest.variances.copy()
    values[new], variances[new] = centre + mean, np.maximum(square - mean**2, 0)
    weights = forest.weights
    if weights is not None or (later.weight[new] + weight != forest.counts[new]).any():
        weights = forest.counts.astype(np.float64) if weights is None else weights.copy()
        weights[new] = total
    return replace(forest, values=values, variances=variances, weights=weights), later
