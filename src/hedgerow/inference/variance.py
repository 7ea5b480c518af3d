"""Variance: a bootstrapped forest, its training rows and samples -> how its probabilities would vary with the table.

A forest of B trees has, at a point x, the variance ρσ² + (1 − ρ)σ²/B. σ²(x) is the variance of one tree over training
tables and its own random draws, ρ(x) the correlation of two trees grown on the same table. Both can be estimated from
one forest. The variance between its trees is (1 − ρ)σ². What all trees have in common, ρσ², is the variance of a forest
of infinitely many trees over tables. The jackknife estimates it without another table: it leaves out one row after the
other and measures what changes. No tree has to be grown for that: rows are drawn independently of each other, so the
trees whose bags do not hold a row are a forest grown without it (Efron's jackknife after bootstrap), once the row is
taken out of their counts."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hedgerow.forest.forest import Forest, trees_between
from hedgerow.forest.rows import Bags
from hedgerow.table.bins import Codes

Floats = NDArray[np.float64]

#: The influences of all training rows are computed for so many samples at a time that they take about this many bytes.
BLOCK_BYTES = 32 << 20


class SamplingVariance(NamedTuple):
    """How the probabilities of a forest would vary with its training table, (n, K) each.

    ``forest`` = ``correlation`` · ``tree`` + (1 − ``correlation``) · ``tree`` / B for a forest of B trees. ``limit`` =
    ``correlation`` · ``tree`` is the variance that more trees cannot remove. The limit is a noisy estimate; the noise
    gets smaller with more trees, and a negative estimate is replaced by 0.
    """

    forest: Floats
    tree: Floats
    correlation: Floats
    limit: Floats

    @classmethod
    def in_blocks(
        cls,
        of_block: Callable[[Codes], tuple[Floats, Floats]],
        samples: Codes,
        cells: int,
        n_trees: int,
    ) -> SamplingVariance:
        """Samples (p, m), of which each takes so many cells of memory -> all parts.

        `of_block` computes, for some samples, the variance that all trees have in common and that between them.
        """
        if n_trees < 2:
            raise ValueError("variance must be computed for a forest of two trees or more, got one tree; grow more")
        block = max(1, BLOCK_BYTES // (8 * cells))
        firsts = range(0, samples.shape[1], block)
        parts = [of_block(np.ascontiguousarray(samples[:, first : first + block])) for first in firsts]
        limit, between = (np.concatenate(each) for each in zip(*parts, strict=True))
        tree = limit + between
        correlation = np.divide(limit, tree, out=np.zeros_like(tree), where=tree > 0)
        return cls(limit + between / n_trees, tree, correlation, limit)


def forest_variance(
    forest: Forest, samples: Codes, codes: Codes, labels: NDArray[np.uint16], bags: Bags, n_threads: int = 1
) -> SamplingVariance:
    """Samples (p, m), training rows (p, n) with labels (n,) and bags -> variance of each probability, (m, K) each."""
    if forest.weights is not None and bags.counts_oob:
        raise ValueError(
            f"leaf_counts must be 'inbag' or 'distinct' for the variance of a weighted forest, got"
            f" {bags.leaf_counts!r}; the weight of single rows is not kept"
        )

    if bags.groups is not None:  # a group is left out as a whole, and one of its rows stands for it
        some = bags.groups.one_each
        codes, labels, bags = np.ascontiguousarray(codes[:, some]), labels[some], bags.by_group

    def of_block(part: Codes) -> tuple[Floats, Floats]:
        return _variance_of_block(forest, part, codes, labels, bags, n_threads)

    return SamplingVariance.in_blocks(of_block, samples, len(labels) * forest.n_classes, forest.n_trees)


def _variance_of_block(
    forest: Forest, samples: Codes, codes: Codes, labels: NDArray[np.uint16], bags: Bags, n_threads: int
) -> tuple[Floats, Floats]:
    """Samples (p, m) -> the variance that all trees have in common and the variance between them, (m, K) each."""
    reached = forest.leaves(samples, n_threads)
    shares = _shares(forest, reached)
    centred = shares - shares.mean(axis=1, keepdims=True)
    between = np.asarray(centred.var(axis=1, ddof=1))
    n_rows = len(labels)
    change, oob_mask = np.zeros((n_rows, *between.shape)), np.zeros(n_rows)
    for tree, leaves in _leaves_by_tree(forest, codes, n_threads):
        outside = bags.outside(tree)
        oob_mask += outside
        change[outside] += centred[None, :, tree]
        if bags.counts_oob:
            row, sample, moved = _without_rows(forest, tree, leaves, labels, outside, reached[:, tree])
            silent = np.isnan(moved)
            change[row, sample] += np.where(silent, -centred[sample, tree], moved)
    judged = oob_mask > 0
    change = change[judged] / oob_mask[judged, None, None]
    change -= change.mean(axis=0)
    left_out = (change**2).sum(axis=0) * (n_rows - 1) / max(int(judged.sum()), 1)
    # The mean of some of the B trees differs from that of all trees, even if no row has any influence.
    chance = between * (1 / oob_mask[judged] - 1 / forest.n_trees).sum() * (n_rows - 1) / max(int(judged.sum()), 1)
    return np.maximum(left_out - chance, 0.0), between


def _without_rows(
    forest: Forest,
    tree: int,
    leaves: NDArray[np.int32],
    labels: NDArray[np.uint16],
    outside: NDArray[np.bool_],
    reached: NDArray[np.int32],
) -> tuple[NDArray[np.intp], NDArray[np.intp], Floats]:
    """-> rows outside the bag (P,), samples in the same leaf (P,), and how the shares change without the row (P, K).

    The change is NaN if the leaf is empty without the row.
    """
    rows = np.flatnonzero(outside)
    rows = rows[np.argsort(leaves[rows], kind="stable")]
    first, last = (np.searchsorted(leaves[rows], reached, side=side) for side in ("left", "right"))
    length = last - first
    sample = np.repeat(np.arange(len(reached)), length)
    row = rows[np.arange(len(sample)) + np.repeat(first - np.cumsum(length) + length, length)]
    evidence = forest.evidence_in(tree)[leaves[row]]
    held = evidence.sum(axis=1, keepdims=True)
    away = np.zeros_like(evidence)
    away[np.arange(len(row)), labels[row]] = 1
    with np.errstate(divide="ignore", invalid="ignore"):
        moved = np.where(held > 1, (evidence / held - away) / (held - 1), np.nan)
    return row, sample, moved


def _shares(forest: Forest, reached: NDArray[np.int32]) -> Floats:
    """Leaves (m, T) -> their class shares (m, T, K); an empty leaf gets the mean of the others and changes nothing."""
    shares = np.empty((*reached.shape, forest.n_classes))
    for tree in range(forest.n_trees):
        evidence = forest.evidence_in(tree)
        total = evidence.sum(axis=1, keepdims=True)
        shares[:, tree] = np.where(total > 0, evidence / np.where(total > 0, total, 1), np.nan)[reached[:, tree]]
    silent = np.isnan(shares)
    if silent.any():
        heard = np.maximum((~silent).sum(axis=1, keepdims=True), 1)
        mean = np.where(silent, 0.0, shares).sum(axis=1, keepdims=True) / heard
        shares = np.where(silent, mean, shares)
    return shares


def _leaves_by_tree(forest: Forest, codes: Codes, n_threads: int) -> Iterator[tuple[int, NDArray[np.int32]]]:
    """Tree by tree, the leaves that the training rows (p, n) reach (n,)."""
    group = max(1, BLOCK_BYTES // (4 * codes.shape[1]))
    for first in range(0, forest.n_trees, group):
        last = min(first + group, forest.n_trees)
        leaves = trees_between(forest, first, last).leaves(codes, n_threads)
        for tree in range(first, last):
            yield tree, leaves[:, tree - first]


def jackknife_variance(forest: Forest, samples: Codes, bags: Bags, n_threads: int = 1) -> SamplingVariance:
    """Samples (p, m), and the bags of the trees -> the variance of each prediction, (m,) each; groups are resampled."""
    bags = bags.by_group

    def of_block(part: Codes) -> tuple[Floats, Floats]:
        return _of_block(forest, part, bags, n_threads)

    return SamplingVariance.in_blocks(of_block, samples, bags.n_rows, forest.n_trees)


def _of_block(forest: Forest, samples: Codes, bags: Bags, n_threads: int) -> tuple[Floats, Floats]:
    """Samples (p, m) -> the variance that all trees have in common and the variance between them, (m,) each."""
    assert forest.values is not None
    # Rows of samples are contiguous, so that a sum over trees or rows has the same order for one sample and for many.
    predicted = np.ascontiguousarray(forest.values[forest.leaves(samples, n_threads) + forest.leaf_start[:-1]])
    centred = predicted - predicted.mean(axis=1, keepdims=True)
    between = np.asarray(centred.var(axis=1, ddof=1))
    together = np.zeros((len(predicted), bags.n_rows))
    for tree in range(forest.n_trees):
        together += centred[:, tree, None] * (bags.times(tree) - bags.average)
    raw = ((together / forest.n_trees) ** 2).sum(axis=1)
    chance = bags.n_rows * bags.average * between / forest.n_trees
    return np.maximum(raw - chance, 0.0), between
