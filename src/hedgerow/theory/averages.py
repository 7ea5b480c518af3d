"""Errors of averaged learners, strength and correlation of trees, and inclusion in bootstrap samples."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hedgerow.belief.leaf import vote_shares
from hedgerow.inference.predictor import predictor_of

Floats = NDArray[np.float64]


def mean_error(errors: ArrayLike) -> float:
    """Return the expected squared error of a learner picked at random.

    Parameters
    ----------
    errors : array-like of shape (n_learners,)
        Root mean squared error of each learner.

    Returns
    -------
    float

    Examples
    --------
    >>> mean_error([1.0, 3.0])
    5.0
    """
    return float(np.mean(_checked_errors(errors) ** 2))


def averaged_error(errors: ArrayLike, correlation: ArrayLike = 0.0) -> float:
    """Return the expected squared error of the mean of several learners.

    If errors are independent, the mean of L learners has 1/L of the error of one. If errors agree completely, the only
    gain is Cauchy's inequality: the square of the mean is at most the mean of the squares.

    Parameters
    ----------
    errors : array-like of shape (n_learners,)
        Root mean squared error of each learner.
    correlation : float or array-like of shape (n_learners, n_learners), default=0.0
        Correlation of the errors of two learners: E[e_i e_j] over the product of the root mean squared errors.

    Returns
    -------
    float
        (1/L²) Σ_i Σ_j correlation_ij errors_i errors_j.

    Examples
    --------
    >>> averaged_error([2.0, 2.0, 2.0, 2.0]), mean_error([2.0, 2.0, 2.0, 2.0])
    (1.0, 4.0)
    >>> averaged_error([1.0, 3.0], correlation=1.0)
    4.0
    """
    each = _checked_errors(errors)
    shared = _checked_correlation(correlation, len(each))
    return float(each @ shared @ each) / len(each) ** 2


def averaged_variance(sigma2: ArrayLike, rho: ArrayLike, n_learners: ArrayLike) -> Floats:
    """Return the variance ρσ² + (1 − ρ)σ²/B of the mean of B learners.

    All have variance σ² and pairwise correlation ρ.

    More trees reduce only the second part; trying other features at each split reduces the first.

    Parameters
    ----------
    sigma2, rho : float or array-like
        Variance of one learner; correlation of two.
    n_learners : int or array-like
        Number of learners B; all three are broadcast.

    Returns
    -------
    ndarray of the broadcast shape

    Examples
    --------
    >>> averaged_variance(1.0, 0.25, [1, 3, 1_000_000]).round(4)
    array([1.  , 0.5 , 0.25])
    """
    variance, shared, learners = (np.asarray(value, dtype=np.float64) for value in (sigma2, rho, n_learners))
    if (variance < 0).any() or (np.abs(shared) > 1).any() or (learners < 1).any():
        raise ValueError(
            "sigma2 must be non-negative, rho in [-1, 1] and n_learners at least 1, got"
            f" sigma2={sigma2!r}, rho={rho!r}, n_learners={n_learners!r}."
        )
    return np.asarray(shared * variance + (1 - shared) * variance / learners)


def inclusion_probability(n_rows: ArrayLike, n_draws: ArrayLike | None = None, *, poisson: bool = False) -> Floats:
    """Return the probability 1 − (1 − 1/N)^N that a row is in a bootstrap sample.

    It tends to 0.632.

    Parameters
    ----------
    n_rows : int or array-like
        Number of rows in the table.
    n_draws : int or array-like, default=None
        Number of draws with replacement; None means as many as there are rows. Broadcast with `n_rows`.
    poisson : bool, default=False
        Whether each row is drawn a Poisson number of times, independently of the others, as in hedgerow's forests.
        The probability is then 1 − exp(−draws/rows), the limit for many rows.

    Returns
    -------
    ndarray of the broadcast shape

    Examples
    --------
    >>> inclusion_probability([1, 2, 10, 1_000_000]).round(4)
    array([1.    , 0.75  , 0.6513, 0.6321])
    """
    rows = np.asarray(n_rows, dtype=np.float64)
    draws = rows if n_draws is None else np.asarray(n_draws, dtype=np.float64)
    if not (rows >= 1).all() or not (draws >= 0).all():
        raise ValueError(f"n_rows must be at least 1 and n_draws non-negative, got {n_rows!r} and {n_draws!r}.")
    if poisson:
        return np.asarray(-np.expm1(-draws / rows))
    with np.errstate(divide="ignore", invalid="ignore"):  # log 0 for a single row, which every draw takes
        log_missed = np.where(draws > 0, draws * np.log1p(-1 / rows), 0.0)
    return np.asarray(-np.expm1(log_missed))


def _checked_errors(errors: ArrayLike) -> Floats:
    each = np.asarray(errors, dtype=np.float64)
    if each.ndim != 1 or not len(each) or not (np.isfinite(each) & (each >= 0)).all():
        raise ValueError(f"errors must be one finite non-negative number per learner, got {errors!r}.")
    return each


def _checked_correlation(correlation: ArrayLike, n_learners: int) -> Floats:
    """Return the correlation as a matrix (L, L) with ones on its diagonal."""
    given: Floats = np.asarray(correlation, dtype=np.float64)
    if given.ndim == 0:
        given = np.full((n_learners, n_learners), given)
        np.fill_diagonal(given, 1.0)
    right = given.shape == (n_learners, n_learners) and np.array_equal(given, given.T) and (given.diagonal() == 1).all()
    if not right or np.linalg.eigvalsh(given).min() < -1e-9:
        raise ValueError(
            f"correlation must be a number, or a matrix of {n_learners} × {n_learners} (symmetric, ones on its diagonal"
            f" and no negative eigenvalue), got {correlation!r}."
        )
    return np.asarray(given)


# ---- Strength and correlation of the trees of a forest ---------------------------------------------------------------


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
