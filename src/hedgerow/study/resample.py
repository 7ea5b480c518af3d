"""Resample: a statistic and a table -> its bootstrap mean, variance and bias."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state, resample

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False, repr=False)
class Bootstrapped:
    """A statistic, which may be a number or an array of any shape, of B bootstrap resamples.

    Attributes
    ----------
    estimate : float64 (...)
        The statistic of the table itself.
    resampled : float64 (B, ...)
        The statistic of each resample.
    """

    estimate: Floats
    resampled: Floats

    @property
    def mean(self) -> Floats:
        """(...): mean of the statistic over resamples."""
        return np.asarray(self.resampled.mean(axis=0))

    @property
    def variance(self) -> Floats:
        """(...): variance over resamples, with B - 1 in the denominator."""
        return np.asarray(self.resampled.var(axis=0, ddof=1))

    @property
    def standard_error(self) -> Floats:
        """(...): square root of the variance."""
        return np.sqrt(self.variance)

    @property
    def bias(self) -> Floats:
        """(...): mean over resamples minus the estimate."""
        return np.asarray(self.mean - self.estimate)

    def interval(self, coverage: float = 0.95) -> Floats:
        """The percentile interval, between two quantiles of the resamples.

        Parameters
        ----------
        coverage : float, default=0.95
            Share of the resamples inside.

        Returns
        -------
        ndarray of shape (2, ...)
            Lower and upper end.
        """
        if not 0 < coverage < 1:
            raise ValueError(f"coverage must be a number between 0 and 1, got {coverage!r}; 0.95 is usual")
        return np.asarray(np.quantile(self.resampled, [(1 - coverage) / 2, (1 + coverage) / 2], axis=0))

    def __repr__(self) -> str:
        return f"Bootstrapped({len(self.resampled)} resamples of a statistic of shape {self.estimate.shape})"


def bootstrap(
    statistic: Callable[..., Any], *tables: Any, n_resamples: int = 1000, random_state: Any = None
) -> Bootstrapped:
    """Draw rows with replacement many times, and compute a statistic of each draw.

    Parameters
    ----------
    statistic : callable
        ``statistic(*tables)`` -> a number or an array.
    *tables : {array-like, sparse matrix, data frame} of shape (n_samples, ...)
        The arguments of the statistic, such as X, or X and y; their rows are drawn together.
    n_resamples : int, default=1000
        B, at least 2.
    random_state : int, RandomState or None, default=None
        The same int gives the same resamples.

    Returns
    -------
    Bootstrapped
        With ``estimate``, ``mean``, ``variance``, ``standard_error``, ``bias``, ``resampled`` and ``interval()``.

    Examples
    --------
    >>> import numpy as np
    >>> from hedgerow import bootstrap
    >>> X = np.arange(10.0)
    >>> drawn = bootstrap(np.var, X, n_resamples=2000, random_state=0)
    >>> float(drawn.estimate), float(drawn.bias.round(1))  # the bias of a variance is -variance/n
    (8.25, -0.8)
    """
    if not tables:
        raise ValueError("tables must be at least one, got none; pass the rows to draw from")
    if not isinstance(n_resamples, Integral) or isinstance(n_resamples, bool) or n_resamples < 2:
        raise ValueError(f"n_resamples must be a whole number >= 2, got {n_resamples!r}; 1000 is usual")
    random = check_random_state(random_state)
    estimate = np.asarray(statistic(*tables), dtype=np.float64)
    resampled = np.empty((int(n_resamples), *estimate.shape))
    for b in range(int(n_resamples)):
        drawn = resample(*tables, random_state=random)
        value = np.asarray(statistic(*drawn) if len(tables) > 1 else statistic(drawn), dtype=np.float64)
        if value.shape != estimate.shape:
            raise ValueError(
                f"statistic must have the same shape for every resample, got {value.shape} after {estimate.shape};"
                " make it return the same shape even if a resample lacks a class or category"
            )
        resampled[b] = value
    return Bootstrapped(estimate, resampled)
