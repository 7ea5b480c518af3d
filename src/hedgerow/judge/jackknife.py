"""Jackknife: a bootstrapped forest of numbers and samples -> how its predictions would vary with the training table.

The infinitesimal jackknife (Efron 2014; Wager, Hastie and Efron 2014) asks how the mean of all trees would change if a
row were drawn a little more often: that is the covariance of how often bags hold the row and what their trees predict.
The sum of its squares over rows estimates the variance of a forest of infinitely many trees. With B trees, chance alone
adds n · (mean of a draw) · (variance between trees) / B to it, which is taken off.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hedgerow.forest.forest import Forest
from hedgerow.forest.rows import Bags
from hedgerow.judge.variance import SamplingVariance
from hedgerow.table.bins import Codes

Floats = NDArray[np.float64]


def jackknife_variance(forest: Forest, samples: Codes, bags: Bags, n_threads: int = 1) -> SamplingVariance:
    """Samples (p, m), and the bags of the trees -> the variance of each prediction, (m,) each."""

    def of_block(part: Codes) -> tuple[Floats, Floats]:
        return _of_block(forest, part, bags, n_threads)

    return SamplingVariance.in_blocks(of_block, samples, bags.n_rows, forest.n_trees)


def _of_block(forest: Forest, samples: Codes, bags: Bags, n_threads: int) -> tuple[Floats, Floats]:
    """Samples (p, m) -> the variance that all trees have in common and the variance between them, (m,) each."""
    assert forest.values is not None
    # Rows of samples are contiguous, so that a sum over trees or rows has the same order for one sample and for many.
    said = np.ascontiguousarray(forest.values[forest.leaves(samples, n_threads) + forest.leaf_start[:-1]])
    centred = said - said.mean(axis=1, keepdims=True)
    between = np.asarray(centred.var(axis=1, ddof=1))
    together = np.zeros((len(said), bags.n_rows))
    for tree in range(forest.n_trees):
        together += centred[:, tree, None] * (bags.times(tree) - bags.average)
    raw = ((together / forest.n_trees) ** 2).sum(axis=1)
    chance = bags.n_rows * bags.average * between / forest.n_trees
    return np.maximum(raw - chance, 0.0), between
