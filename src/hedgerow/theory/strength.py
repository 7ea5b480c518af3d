"""Strength: a bootstrapped forest -> how good and how alike its trees are on rows outside their bags."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hedgerow.belief.leaf import vote_shares
from hedgerow.inference.predictor import predictor_of

Floats = NDArray[np.float64]


class Strength(NamedTuple):
    """How good and how alike the trees of a forest are (Breiman, 2001), measured out of bag.

    ``margin`` (n,) is, for each training row, the share of votes for its class minus the largest share of another
    class, among the trees whose bags do not hold the row; NaN for rows that are in every bag. ``strength`` is its mean,
    ``correlation`` the mean correlation of the margins of two trees, and ``bound`` = correlation (1 - strength²) /
    strength², above which the error of a forest of many trees cannot lie.
    """

    margin: Floats
    strength: float
    correlation: float
    bound: float


def strength_of(forest: Any) -> Strength:
    """A fitted classifier with a bootstrap -> out-of-bag margins, strength and correlation of its trees.

    Parameters
    ----------
    forest : fitted forest with bootstrap=True
        Not one that was loaded or unpickled: files and pickles do not keep the training rows.

    Returns
    -------
    Strength

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from hedgerow import RandomForestClassifier
    >>> found = strength_of(RandomForestClassifier(random_state=0).fit(*load_iris(return_X_y=True)))
    >>> 0.8 < found.strength < 1.0 and 0.0 < found.correlation < 1.0
    True
    """
    predictor = predictor_of(forest, "forest must be a fitted classifier with bootstrap=True")
    evidence, labels = predictor.oob_evidence(), predictor.oob_rows().target.labels
    oob_mask = evidence.tree_mask
    votes = _votes(evidence.counts) * oob_mask[:, :, None]
    n_judges = votes.sum(axis=(1, 2))
    judged = n_judges > 0
    shares = votes[judged].sum(axis=1) / n_judges[judged, None]
    own, rows = labels[judged].astype(np.intp), np.arange(int(judged.sum()))
    others = shares.copy()
    others[rows, own] = -1.0
    rival = others.argmax(axis=1)
    margin = np.full(len(labels), np.nan)
    margin[judged] = shares[rows, own] - shares[rows, rival]
    strength, spread = float(margin[judged].mean()), float(margin[judged].var())
    for_own, for_rival = (votes[judged][rows, :, each].sum(axis=0) for each in (own, rival))
    seen = votes[judged].sum(axis=(0, 2))
    right, wrong = (each[seen > 0] / seen[seen > 0] for each in (for_own, for_rival))
    deviation = float(np.sqrt(np.maximum(right + wrong - (right - wrong) ** 2, 0.0)).mean())
    correlation = spread / deviation**2 if deviation > 0 else 1.0
    bound = correlation * (1 - strength**2) / strength**2 if strength > 0 else np.inf
    return Strength(margin, strength, correlation, float(bound))


def _votes(counts: Floats) -> Floats:
    """Counts (n, T, K) -> the vote of each leaf (n, T, K); tied classes share it, an empty leaf has none."""
    return vote_shares(counts.reshape(-1, counts.shape[2])).reshape(counts.shape)
