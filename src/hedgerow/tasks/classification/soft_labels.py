"""Refinement of uncertain labels by expectation maximisation with trees.

The M-step grows trees on expected class shares. In the E-step, the share of a class becomes its plausibility, given by
the label, times its out-of-bag probability. If labels are masses, the mass of each set is shared out among its classes
in proportion to their out-of-bag probabilities.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from hedgerow.forest.fold import fold
from hedgerow.forest.grow import GrowthParams, grow_forest
from hedgerow.forest.rows import Bags, Groups, OobMask
from hedgerow.labels import UncertainLabels
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
    shares = soft.labels.shares
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
        expected = expected_shares(soft.labels, (1 - DOUBT) * seen + DOUBT / labels.n_classes)
        change = np.abs(expected - shares)[unsure].sum(axis=1).mean() / 2
        shares = expected
        if change < CHANGE:
            break
    return shares


def expected_shares(labels: UncertainLabels, probability: Floats) -> Floats:
    """Return the expected class shares (n, K) of labels, given positive probabilities of classes, (n, K).

    Examples
    --------
    >>> from hedgerow.labels import from_masses
    >>> chance, ignorance = [0, 0.5, 0.5, 0], [0, 0, 0, 1]
    >>> expected_shares(from_masses([chance, ignorance]), np.array([[0.75, 0.25], [0.75, 0.25]]))
    array([[0.5 , 0.5 ],
           [0.75, 0.25]])
    """
    if labels.masses is None:
        expected = labels.contour * probability
        shares: Floats = expected / expected.sum(axis=1, keepdims=True)
        return shares
    masses = labels.masses
    row, members = masses.row, masses.sets[masses.which]
    expected = members * probability[row]
    expected *= (masses.mass / expected.sum(axis=1))[:, None]
    cells = (row[:, None] * expected.shape[1] + np.arange(expected.shape[1])).ravel()
    summed = np.bincount(cells, weights=expected.ravel(), minlength=probability.size).astype(np.float64)
    return summed.reshape(probability.shape)


def settings_for_shares(settings: GrowthParams, n_rows: int) -> GrowthParams:
    """Replace limits on rows by limits on weights, because rows are split.

    The limit is half a row lower, so that rounding never rules out a split that leaves exactly the minimum.
    """
    if settings.min_samples_leaf <= 1:
        return settings
    least = (settings.min_samples_leaf - 0.5) / n_rows
    return replace(settings, min_samples_leaf=1, min_weight_fraction_leaf=max(settings.min_weight_fraction_leaf, least))
