"""Variance of predictions over training sets, by jackknife after bootstrap.

A forest of B trees has, at a point x, the variance ρσ² + (1 − ρ)σ²/B. σ²(x) is the variance of one tree over training
sets and its own random draws, ρ(x) the correlation of two trees grown on the same training set. Both are estimated from
one forest. The variance between its trees is (1 − ρ)σ². ρσ² is the variance over training sets of a forest of
infinitely many trees, which the jackknife estimates by leaving out one row after the other. No tree is grown for this:
rows are drawn independently, so the trees for which a row is out-of-bag are a forest grown without it (Efron's
jackknife after bootstrap), once its own counts are removed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hedgerow.forest.forest import Forest, trees_between
from hedgerow.forest.rows import Bags
from hedgerow.table.bins import Codes

Floats = NDArray[np.float64]

#: Approximate memory of the influences of all training rows on a block of samples.
BLOCK_BYTES = 32 << 20


class SamplingVariance(NamedTuple):
    """Variance of predictions over training sets, (n, K) or (n,) each.

    ``forest`` = ``correlation`` · ``tree`` + (1 − ``correlation``) · ``tree`` / B for a forest of B trees. ``limit`` =
    ``correlation`` · ``tree`` is the variance that more trees cannot remove. The limit is a noisy estimate, less so
    with more trees; negative estimates are replaced by 0.
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
        """Compute the variance for samples (p, m) in blocks.

        Each sample needs `cells` doubles of memory. `of_block` returns the common variance of all trees and the
        variance between them.
        """
        if n_trees < 2:
            raise ValueError(f"n_estimators must be at least 2 for a variance, got {n_trees}.")
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
    """Estimate the variance of the probabilities of samples (p, m), (m, K) each.

    `codes` (p, n), `labels` (n,) and `bags` are those of the training rows.
    """
    if forest.weights is not None and bags.counts_oob:
        raise ValueError(
            "leaf_counts must be 'inbag' or 'distinct' for the variance of a weighted forest, got"
            f" {bags.leaf_counts!r}."
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
    """Return the variance common to all trees and between them, (m, K) each."""
    reached = forest.leaves(samples, n_threads)
    shares = _shares(forest, reached)
    centred = shares - shares.mean(axis=1, keepdims=True)
    between = np.asarray(centred.var(axis=1, ddof=1))
    n_rows = len(labels)
    change, n_oob = np.zeros((n_rows, *between.shape)), np.zeros(n_rows)
    for tree, leaves in _leaves_by_tree(forest, codes, n_threads):
        outside = bags.outside(tree)
        n_oob += outside
        change[outside] += centred[None, :, tree]
        if bags.counts_oob:
            row, sample, moved = _without_rows(forest, tree, leaves, labels, outside, reached[:, tree])
            is_empty = np.isnan(moved)
            change[row, sample] += np.where(is_empty, -centred[sample, tree], moved)
    has_oob = n_oob > 0
    change = change[has_oob] / n_oob[has_oob, None, None]
    change -= change.mean(axis=0)
    left_out = (change**2).sum(axis=0) * (n_rows - 1) / max(int(has_oob.sum()), 1)
    # The mean of some of the B trees differs from that of all trees, even if no row has any influence.
    chance = between * (1 / n_oob[has_oob] - 1 / forest.n_trees).sum() * (n_rows - 1) / max(int(has_oob.sum()), 1)
    return np.maximum(left_out - chance, 0.0), between


def _without_rows(
    forest: Forest,
    tree: int,
    leaves: NDArray[np.int32],
    labels: NDArray[np.uint16],
    outside: NDArray[np.bool_],
    reached: NDArray[np.int32],
) -> tuple[NDArray[np.intp], NDArray[np.intp], Floats]:
    """Return the changes of shares without single out-of-bag rows.

    They are rows (P,), samples in the same leaf (P,), and changes of shares (P, K). The change is NaN if the leaf is
    empty without the row.
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
    """Return the class shares (m, T, K) of leaves (m, T).

    An empty leaf gets the mean of the others.
    """
    shares = np.empty((*reached.shape, forest.n_classes))
    for tree in range(forest.n_trees):
        evidence = forest.evidence_in(tree)
        total = evidence.sum(axis=1, keepdims=True)
        shares[:, tree] = np.where(total > 0, evidence / np.where(total > 0, total, 1), np.nan)[reached[:, tree]]
    is_empty = np.isnan(shares)
    if is_empty.any():
        n_filled = np.maximum((~is_empty).sum(axis=1, keepdims=True), 1)
        mean = np.where(is_empty, 0.0, shares).sum(axis=1, keepdims=True) / n_filled
        shares = np.where(is_empty, mean, shares)
    return shares


def _leaves_by_tree(forest: Forest, codes: Codes, n_threads: int) -> Iterator[tuple[int, NDArray[np.int32]]]:
    """Iterate over trees and the leaves (n,) that the training rows (p, n) reach."""
    group = max(1, BLOCK_BYTES // (4 * codes.shape[1]))
    for first in range(0, forest.n_trees, group):
        last = min(first + group, forest.n_trees)
        leaves = trees_between(forest, first, last).leaves(codes, n_threads)
        for tree in range(first, last):
            yield tree, leaves[:, tree - first]


def jackknife_variance(forest: Forest, samples: Codes, bags: Bags, n_threads: int = 1) -> SamplingVariance:
    """Estimate the variance of the predictions for samples (p, m), (m,) each.

    Groups are resampled as units.
    """
    bags = bags.by_group

    def of_block(part: Codes) -> tuple[Floats, Floats]:
        return _of_block(forest, part, bags, n_threads)

    return SamplingVariance.in_blocks(of_block, samples, bags.n_rows, forest.n_trees)


def _of_block(forest: Forest, samples: Codes, bags: Bags, n_threads: int) -> tuple[Floats, Floats]:
    """Return the variance common to all trees and between them, (m,) each."""
    assert forest.values is not None
    # Contiguous rows, because a sum over trees must have the same order for one sample and for many.
    predicted = np.ascontiguousarray(forest.values[forest.leaves(samples, n_threads) + forest.leaf_start[:-1]])
    centred = predicted - predicted.mean(axis=1, keepdims=True)
    between = np.asarray(centred.var(axis=1, ddof=1))
    together = np.zeros((len(predicted), bags.n_rows))
    for tree in range(forest.n_trees):
        together += centred[:, tree, None] * (bags.times(tree) - bags.average)
    raw = ((together / forest.n_trees) ** 2).sum(axis=1)
    chance = bags.n_rows * bags.average * between / forest.n_trees
    return np.maximum(raw - chance, 0.0), between
