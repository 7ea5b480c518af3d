"""Strength and correlation of the trees of a forest."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hedgerow.belief.leaf import vote_shares
from hedgerow.inference.predictor import predictor_of

Floats = NDArray[np.float64]


class Strength(NamedTuple):
    """Out-of-bag strength and correlation of the trees of a forest (Breiman, 2001).

    ``margin`` (n,) is, for each training row, the share of out-of-bag votes for its class minus the largest share of
    another class; NaN for rows in every bootstrap sample. ``strength`` is its mean, ``correlation`` the mean
    correlation of the margins of two trees, and ``bound`` = correlation (1 - strength²) / strength² an upper bound of
    the error of a forest of many trees.
    """

    margin: Floats
    strength: float
    correlation: float
    bound: float


def strength_of(forest: Any) -> Strength:
    """Return out-of-bag margins, strength and correlation of a forest's trees.

    Parameters
    ----------
    forest : fitted forest with bootstrap=True
        Not a loaded or unpickled one: files and pickles do not contain the training rows.

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
    n_trees = votes.sum(axis=(1, 2))
    evaluated = n_trees > 0
    shares = votes[evaluated].sum(axis=1) / n_trees[evaluated, None]
    own, rows = labels[evaluated].astype(np.intp), np.arange(int(evaluated.sum()))
    others = shares.copy()
    others[rows, own] = -1.0
    rival = others.argmax(axis=1)
    margin = np.full(len(labels), np.nan)
    margin[evaluated] = shares[rows, own] - shares[rows, rival]
    strength, spread = float(margin[evaluated].mean()), float(margin[evaluated].var())
    for_own, for_rival = (votes[evaluated][rows, :, each].sum(axis=0) for each in (own, rival))
    seen = votes[evaluated].sum(axis=(0, 2))
    right, wrong = (each[seen > 0] / seen[seen > 0] for each in (for_own, for_rival))
    deviation = float(np.sqrt(np.maximum(right + wrong - (right - wrong) ** 2, 0.0)).mean())
    correlation = spread / deviation**2 if deviation > 0 else 1.0
    bound = correlation * (1 - strength**2) / strength**2 if strength > 0 else np.inf
    return Strength(margin, strength, correlation, float(bound))


def _votes(counts: Floats) -> Floats:
    """Return the vote of each leaf (n, T, K), shared by tied classes."""
    return vote_shares(counts.reshape(-1, counts.shape[2])).reshape(counts.shape)
