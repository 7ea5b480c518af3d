"""Sources of uncertainty about the class of a sample.

Each tree distributes one unit of mass. A leaf of n rows leaves the fraction ``caution/(n + caution)`` unassigned (the
imprecise Dirichlet model). Of the rest, a fraction is discounted if values are outside the training range. The classes
of the leaf receive the remainder in proportion to their counts. The total uncertainty

    uncertainty = 1 - (mass of the first class - mass of the second)

is the sum of five parts:

============  ==================================================================================================
few           unassigned mass, averaged over trees
out_of_range  discounted mass, because values on the path are outside the training range
disagree      mass of competing classes, because trees differ more than leaves of their sizes would by chance
overlap       mass of competing classes for other reasons
missing       the mean margin if missing values were known, minus the present margin: that of the sample itself,
              or of all its possible values together if that is smaller
============  ==================================================================================================
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hedgerow.belief.leaf import class_shares, leaf_vacuity
from hedgerow.explain.question import BLOCK_CELLS, Floats, Question, certain_counts, counts_of, tree_shares
from hedgerow.table.bins import Codes
from hedgerow.tasks.classification.predictor import ClassificationPredictor

#: In the order of the columns of `UncertaintySources.amounts`.
CAUSES = ("few", "overlap", "disagree", "missing", "out_of_range")
#: Number of completions of a sample with missing values.
COMPLETIONS = 32


class UncertaintySources(NamedTuple):
    """Uncertainty of n samples: ``amounts`` (n, 5), one column per source.

    The margin is 1 - their sum.
    """

    amounts: Floats

    @property
    def total(self) -> Floats:
        """Total uncertainty (n,), between 0 and 1."""
        return np.asarray(self.amounts.sum(axis=1))

    @property
    def shares(self) -> Floats:
        """Shares (n, 5) of the total; they sum to one, or are zero without uncertainty."""
        total = self.total[:, None]
        return np.divide(self.amounts, total, out=np.zeros_like(self.amounts), where=total > 0)


def uncertainty_from_counts(
    counts: Floats,
    caution: ArrayLike,
    *,
    as_is: Floats | None = None,
    caution_as_is: ArrayLike | None = None,
    distrust: Floats | None = None,
    tree_shares: Floats | None = None,
) -> UncertaintySources:
    """Divide the uncertainty of n samples into its sources.

    Parameters
    ----------
    counts : float64 (n, T, K), or (n, C, T, K)
        Class counts in the leaves reached; with missing values, for each of C completions.
    caution : float, or float64 of the shape of counts without its last axis
        Pseudo-count s of the imprecise Dirichlet model, for each leaf plus its rows of uncertain class.
    as_is : float64 (n, T, K), optional
        With missing values: the leaves reached by the sample itself.
    caution_as_is : float, or float64 (n, T), optional
        Pseudo-counts of these leaves; by default, `caution`.
    distrust : float64, shape of counts without its last axis, optional
        Discount of the leaf, 0 to 1, because values of the sample are outside the training range.
    tree_shares : float64 (T,), optional
        Weights of the trees with sum one; equal by default.

    Returns
    -------
    UncertaintySources

    Examples
    --------
    Three similar rows and a caution of five; three hundred rows of both classes; trees that disagree:

    >>> CAUSES
    ('few', 'overlap', 'disagree', 'missing', 'out_of_range')
    >>> cases = np.array([[[3.0, 0.0]] * 2, [[150.0, 150.0]] * 2, [[300.0, 0.0], [0.0, 300.0]]])
    >>> (uncertainty_from_counts(cases, caution=5.0).shares + 0.0).round(2)
    array([[1.  , 0.  , 0.  , 0.  , 0.  ],
           [0.02, 0.98, 0.  , 0.  , 0.  ],
           [0.02, 0.01, 0.98, 0.  , 0.  ]])
    """
    ways = counts if counts.ndim == 4 else counts[:, None]
    n, n_ways, n_trees, n_classes = ways.shape
    trees = np.full(n_trees, 1 / n_trees) if tree_shares is None else tree_shares
    leaves = ways.reshape(-1, n_classes)
    pseudo = np.broadcast_to(np.asarray(caution, dtype=np.float64), counts.shape[:-1]).ravel()
    unassigned = leaf_vacuity(leaves, pseudo).reshape(n, n_ways, n_trees)
    discount = np.zeros_like(unassigned) if distrust is None else distrust.reshape(unassigned.shape)
    shares = class_shares(leaves).reshape(ways.shape)
    held = trees * (1 - unassigned) * (1 - discount)
    by_class = np.einsum("nct,nctk->nck", held, shares)
    margin = _margin(by_class)
    rivals = np.maximum(by_class.sum(axis=2) - margin, 0.0)
    present = _margin(by_class.mean(axis=1))
    if as_is is not None:
        present = np.minimum(present, _margin(_held(as_is, caution if caution_as_is is None else caution_as_is, trees)))
    apart = _disagreement(held, shares, ways.sum(axis=3))
    amounts = np.stack(
        [
            (trees * unassigned).sum(axis=2).mean(axis=1),
            (rivals * (1 - apart)).mean(axis=1),
            (rivals * apart).mean(axis=1),
            np.maximum(margin.mean(axis=1) - present, 0.0) if n_ways > 1 else np.zeros(n),
            (trees * (1 - unassigned) * discount).sum(axis=2).mean(axis=1),
        ],
        axis=1,
    )
    return UncertaintySources(amounts)


def uncertainty_sources(question: Question, marginals: Marginals, excess: Floats) -> UncertaintySources:
    """Compute the sources of uncertainty of samples, given the distances (p, n) of values outside their ranges."""
    predictor, codes = question.predictor, question.codes
    amounts = np.empty((question.n_samples, len(CAUSES)))
    gaps = codes[predictor.forest.used_features] == predictor.codebook.missing_code
    partial_rows, whole_rows = np.flatnonzero(gaps.any(axis=0)), np.flatnonzero(~gaps.any(axis=0))
    if len(whole_rows):
        distrust = distrust_of(question, codes[:, whole_rows], excess[:, whole_rows])
        certain = certain_counts(predictor, question.counts[whole_rows])
        found = uncertainty_from_counts(*certain, distrust=distrust, tree_shares=tree_shares(predictor))
        amounts[whole_rows] = found.amounts
    block = max(1, BLOCK_CELLS // (COMPLETIONS * predictor.forest.n_trees * predictor.forest.n_classes))
    for first in range(0, len(partial_rows), block):
        rows = partial_rows[first : first + block]
        amounts[rows] = _with_missing(question, marginals, rows, excess[:, rows])
    return UncertaintySources(amounts)


class Marginals:
    """Marginal distributions of the features, from the training rows or, without them, uniform over bins.

    Parameters
    ----------
    predictor : ClassificationPredictor
    training : (p, m) codes, or None
    """

    def __init__(self, predictor: ClassificationPredictor, training: Codes | None) -> None:
        self.predictor, self._training = predictor, training
        self._known: dict[int, NDArray[np.int64]] = {}

    def of(self, feature: int, how_many: int = COMPLETIONS) -> NDArray[np.int64]:
        """Return equally spaced quantiles (how_many,) of the bin indices of a feature, ascending."""
        codes = self._codes(feature)
        return codes[((np.arange(how_many) + 0.5) / how_many * len(codes)).astype(np.int64)]

    def _codes(self, feature: int) -> NDArray[np.int64]:
        """Return all bin indices of a feature, sorted."""
        if feature not in self._known:
            codes = np.arange(max(1, self.predictor.fitted.bins.n_bins[feature]))
            if self._training is not None:
                own = self._training[feature]
                own = own[own != self.predictor.codebook.missing_code]
                codes = np.sort(own).astype(np.int64) if len(own) else codes
            self._known[feature] = codes
        return self._known[feature]


def complete(
    codes: Codes,
    predictor: ClassificationPredictor,
    marginals: Marginals,
    features: NDArray[np.int64],
    how_many: int = COMPLETIONS,
) -> Codes:
    """Complete missing values of samples (p, n) in several ways (p, n × how_many).

    The completions of one feature are its quantiles. Those of several features are combined by fixed permutations, so
    the result is deterministic.
    """
    filled = np.repeat(codes, how_many, axis=1)
    for feature in features.tolist():
        order = np.random.default_rng(feature).permutation(how_many)
        values = np.tile(marginals.of(feature, how_many)[order], codes.shape[1])
        filled[feature] = np.where(filled[feature] == predictor.codebook.missing_code, values, filled[feature])
    return filled


def excess_of(question: Question) -> Floats:
    """Return the distances (p, n) of values outside the training range, as fractions of the range; 0 inside."""
    predictor = question.predictor
    excess = np.zeros((len(question.columns), question.n_samples))
    features = [j for j in predictor.forest.used_features.tolist() if not predictor.fitted.bins.nominal[j]]
    if not features:
        return excess
    values = np.array([question.columns[feature] for feature in features], dtype=np.float64)
    low, high = np.array([predictor.codebook.range_of(feature) for feature in features]).T[:, :, None]
    span = np.array([predictor.codebook.span_of(feature) for feature in features])[:, None]
    with np.errstate(invalid="ignore", over="ignore", divide="ignore"):  # values may be infinite, and a range empty
        beyond = np.maximum(low - values, values - high)
        excess[features] = np.where(beyond > 0, beyond / span, 0.0)
    return excess


def distrust_of(question: Question, codes: Codes, excess: Floats) -> Floats | None:
    """Return the largest e/(1 + e) on each path (n, T) for excess e (p, n).

    None if all values are inside.
    """
    out_of_range = np.flatnonzero((excess > 0).any(axis=1))
    if not len(out_of_range):
        return None
    with np.errstate(invalid="ignore"):
        far = np.where(np.isinf(excess), 1.0, excess / (1 + excess))
    return question.predictor.forest.path_most(np.ascontiguousarray(codes), far)


def _with_missing(question: Question, marginals: Marginals, rows: NDArray[np.int64], excess: Floats) -> Floats:
    """Compute the amounts (m, 5) of rows (m,) with missing values."""
    predictor, codes = question.predictor, question.codes[:, rows]
    used = predictor.forest.used_features
    features = used[(codes[used] == predictor.codebook.missing_code).any(axis=1)]
    filled = complete(codes, predictor, marginals, features)
    distrust = distrust_of(question, filled, np.repeat(excess, COMPLETIONS, axis=1))
    shape = (len(rows), COMPLETIONS, predictor.forest.n_trees)
    counts = counts_of(predictor, filled).reshape(*shape, -1)
    distrust = None if distrust is None else distrust.reshape(shape)
    as_is, caution_as_is = certain_counts(predictor, question.counts[rows])
    found = uncertainty_from_counts(
        *certain_counts(predictor, counts),
        as_is=as_is,
        caution_as_is=caution_as_is,
        distrust=distrust,
        tree_shares=tree_shares(predictor),
    )
    return found.amounts


def _held(counts: Floats, caution: ArrayLike, trees: Floats) -> Floats:
    """Return the mass of each class (n, K) from counts (n, T, K)."""
    leaves = counts.reshape(-1, counts.shape[2])
    pseudo = np.broadcast_to(np.asarray(caution, dtype=np.float64), counts.shape[:-1]).ravel()
    shares = (1 - leaf_vacuity(leaves, pseudo))[:, None] * class_shares(leaves)
    return np.asarray(np.einsum("t,ntk->nk", trees, shares.reshape(counts.shape)))


def _margin(held: Floats) -> Floats:
    """Return the difference (...) between the largest and the second largest mass (..., K)."""
    if held.shape[-1] == 1:
        return held[..., 0]
    two = np.partition(held, -2, axis=-1)[..., -2:]
    return np.asarray(two[..., 1] - two[..., 0])


def _disagreement(held: Floats, shares: Floats, rows: Floats) -> Floats:
    """Return the part (...) of the impurity that is between trees, in excess of chance.

    The arguments are masses (..., T), class shares (..., T, K) and numbers of rows (..., T) of the leaves. The Gini
    impurity of the mean is that within leaves plus that between them. Leaves also differ by chance: draws from one
    mixture differ by the fraction 1/draws of its impurity. Trees split until leaves are pure, which makes pure runs of
    about 1/(1 - m) rows out of a mixture, where m is the probability that a row of the mixture agrees with the leaf. So
    a leaf of n rows counts as n (1 - m) draws, at least one.
    """
    total = held.sum(axis=-1, keepdims=True)
    weight = np.divide(held, total, out=np.zeros_like(held), where=total > 0)
    mean = np.einsum("...t,...tk->...k", weight, shares)
    impurity = 1 - (mean**2).sum(axis=-1)
    within = (weight * (1 - (shares**2).sum(axis=-1))).sum(axis=-1)
    agrees = np.einsum("...tk,...k->...t", shares, mean)
    by_chance = (weight / np.maximum(rows * (1 - agrees), 1.0)).sum(axis=-1)
    apart = np.divide(impurity - within, impurity, out=np.zeros_like(impurity), where=impurity > 1e-12) - by_chance
    return np.asarray(np.clip(apart, 0.0, 1.0))
