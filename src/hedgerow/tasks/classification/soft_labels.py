"""Refine: uncertain labels and the table of their rows -> expected shares of the classes.

This is expectation maximisation with trees. Trees are grown on expected shares (M-step). Then the share of a class
becomes its plausibility by the label times its probability by the trees whose bags do not hold the row (E-step).
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

#: Number of trees in each round; a row is judged by those whose bags do not hold it.
TREES = 50
#: Refining ends when the shares of rows with uncertain labels change by less than this on average.
CHANGE = 0.01
#: This share of the trees' probabilities is uniform, so that a class without rows in the leaves stays possible.
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
    """Codes (p, n) of the rows -> shares (n, K) after at most `rounds` rounds; certain labels stay certain.

    Rows are judged by trees with bags, even if the estimator has no bootstrap: a tree that was grown on a row would
    only repeat its label. Class weights are not used, because they say nothing about the class of a row. If the
    criterion has a parameter that is still to be chosen, the rounds use the middle of its range.
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
    """Limits on numbers of rows -> limits on weights, because the sides of a split have shares of rows.

    The limit is half a row lower, so that rounding never forbids a split that keeps exactly the smallest number of
    rows.
    """
    if settings.min_samples_leaf <= 1:
        return settings
    least = (settings.min_samples_leaf - 0.5) / n_rows
    return replace(settings, min_samples_leaf=1, min_weight_fraction_leaf=max(settings.min_weight_fraction_leaf, least))
