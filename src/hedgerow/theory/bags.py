"""Bags: number of rows, number of draws -> the probability that a row is in the bag."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray


def inclusion_probability(
    n_rows: ArrayLike, n_draws: ArrayLike | None = None, *, poisson: bool = False
) -> NDArray[np.float64]:
    """The probability that a row is in a bootstrap sample at least once: 1 − (1 − 1/N)^N, about .632.

    Parameters
    ----------
    n_rows : int or array-like
        Rows of the table.
    n_draws : int or array-like, default=None
        Draws with replacement; None means as many as there are rows. Broadcast with `n_rows`.
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
        raise ValueError(f"n_rows must be >= 1 and n_draws >= 0, got {n_rows!r} and {n_draws!r}; correct them")
    if poisson:
        return np.asarray(-np.expm1(-draws / rows))
    with np.errstate(divide="ignore", invalid="ignore"):  # log 0 if there is only one row, which every draw takes
        log_missed = np.where(draws > 0, draws * np.log1p(-1 / rows), 0.0)
    return np.asarray(-np.expm1(log_missed))
