"""Refinement of uncertain labels by expectation maximisation with trees.

The M-step grows trees on expected class shares. In the E-step, the share of a class becomes its plausibility, given by
the label, times its out-of-bag probability.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from hedgerow.forest.fold import fold
from hedgerow.forest.grow import GrowthParams, grow_forest
from hedgerow.forest.rows import Bags, Groups, OobMask
from hedgerow.rules import Average, Setting
from hedgerow.table.bins import Bins, Codes
from hedgerow.tasks.classification.target import SoftLabels

Floats = NDArray[np.float64]

#: Number of trees per round.
TREES = 50
#: Stop when the shares of rows with uncertain labels change by less than this on average.
CHANGE = 0.01
#: Uniform share of the probabilities of trees, which keeps classes without rows in the leaves possible.
DOUBT = 0.01


def refine(
    soft: SoftLabels,
    codes: Codes,
    bins: Bins,
    settings: GrowthParams,
    rounds: int,
    n_threads: int = 1,
    groups: Groups | None = None,
) -> Floats:
    """Return expected class shares (n, K) after at most `rounds` rounds.

    Certain labels stay certain. Probabilities are out of bag even if the estimator has no bootstrap, because a tree
    grown on a row would only repeat its label. Class weights are ignored: they carry no information about the class of
    a row. If the criterion has an unresolved parameter, the rounds use the middle candidate.
    """
    contour, shares = soft.labels.contour, soft.labels.shares
    unsure = ~soft.labels.certain
    bag_mean = settings.bag_mean or 1.0
    candidates = settings.criterion.candidates()
    oob_mask = replace(settings, bag_mean=bag_mean, leaf_counts="inbag", criterion=candidates[len(candidates) // 2])
    outside = OobMask(Bags(settings.seed, bag_mean, codes.shape[1], groups=groups))
    for _ in range(rounds):
        labels = soft.spread(shares, by_class=False)
        forest = grow_forest(codes, bins, labels, oob_mask, n_trees=TREES, n_threads=n_threads, groups=groups)
        setting = Setting.of(labels.n_classes, 0.0)
        seen = fold(forest, codes, Average(), setting, oob_mask=outside, n_threads=n_threads).probability
        expected = contour * ((1 - DOUBT) * seen + DOUBT / labels.n_classes)
        expected /= expected.sum(axis=1, keepdims=True)
        change = np.abs(expected - shares)[unsure].sum(axis=1).mean() / 2
        shares = expected
        if change < CHANGE:
            break
    return shares


def settings_for_shares(settings: GrowthParams, n_rows: int) -> GrowthParams:
    """Replace limits on rows by limits on weights, because rows are split.

    The limit is half a row lower, so that rounding never rules out a split that leaves exactly the minimum.
    """
    if settings.min_samples_leaf <= 1:
        return settings
    least = (settings.min_samples_leaf - 0.5) / n_rows
    return replace(settings, min_samples_leaf=1, min_weight_fraction_leaf=max(settings.min_weight_fraction_leaf, least))
