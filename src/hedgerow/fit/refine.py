"""Refine: what is known of the rows' classes, and their table -> expected shares of the classes.

Expectation maximisation with trees: trees are grown on expected shares (M-step); the share of a class becomes how
plausible the label makes it times how probable trees that have not seen the row find it (E-step).
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from hedgerow.belief import Setting
from hedgerow.belief.rules import Average
from hedgerow.forest.fold import fold
from hedgerow.forest.grow import GrowSettings, grow_forest
from hedgerow.forest.rows import Bags, Judges
from hedgerow.table.bins import Bins, Codes
from hedgerow.target.blurred import Blurred

Floats = NDArray[np.float64]

#: Trees that judge the rows in each round, each row by those that have not seen it.
TREES = 50
#: Refining ends when the shares of rows with uncertain labels move by less than this on average.
CHANGE = 0.01
#: Share of doubt in what the trees say: a class they have never met there stays possible.
DOUBT = 0.01


def refine(
    blurred: Blurred, codes: Codes, bins: Bins, settings: GrowSettings, rounds: int, n_threads: int = 1
) -> Floats:
    """Codes (p, n) of the rows -> shares (n, K) after at most `rounds` rounds; certain labels stay certain.

    Rows are judged by bagged trees of the estimator's kind, whether or not the estimator draws bags itself: a tree
    that has seen a row repeats what it was told. Class weights play no part, they are no claim about a row.
    """
    contour, shares = blurred.labels.contour, blurred.labels.shares
    unsure = ~blurred.labels.certain
    bag_mean = settings.bag_mean or 1.0
    judges = replace(settings, bag_mean=bag_mean, leaf_counts="inbag")
    outside = Judges(Bags(settings.seed, bag_mean, codes.shape[1]))
    for _ in range(rounds):
        labels = blurred.spread(shares, by_class=False)
        forest = grow_forest(codes, bins, labels, judges, n_trees=TREES, n_threads=n_threads)
        setting = Setting.of(labels.n_classes, 0.0)
        seen = fold(forest, codes, Average(), setting, judges=outside, n_threads=n_threads).probability
        expected = contour * ((1 - DOUBT) * seen + DOUBT / labels.n_classes)
        expected /= expected.sum(axis=1, keepdims=True)
        change = np.abs(expected - shares)[unsure].sum(axis=1).mean() / 2
        shares = expected
        if change < CHANGE:
            break
    return shares


def settings_for_shares(settings: GrowSettings, n_rows: int) -> GrowSettings:
    """Limits on rows -> the same on their weight: where rows have several labels, sides of a split are weighed.

    Half a row is let off, so that rounding forbids no split that keeps exactly the least number of rows.
    """
    if settings.min_samples_leaf <= 1:
        return settings
    least = (settings.min_samples_leaf - 0.5) / n_rows
    return replace(settings, min_samples_leaf=1, min_weight_fraction_leaf=max(settings.min_weight_fraction_leaf, least))
