"""Predicted distributions of targets."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_random_state

from hedgerow.forest.forest import Forest
from hedgerow.forest.quantiles import LeafRows, quantiles_of, ranks_of
from hedgerow.metrics.distributions import crps_of_atoms
from hedgerow.tasks.regression.oob import Residuals, TreeMoments, scaled_interval, scaled_place

Floats = NDArray[np.float64]


class PredictedDistribution(ABC):
    """Predicted distributions of the targets of n samples.

    It does not depend on the model any more. ``len(distribution)`` is the number of samples.
    """

    @abstractmethod
    def __len__(self) -> int:
        """Return the number of samples."""

    @abstractmethod
    def pit(self, y: ArrayLike) -> Floats:
        """Return the probability of at most the target of each sample, (n_samples,).

        These are uniform if the distributions are correct and continuous (probability integral transform).

        Parameters
        ----------
        y : array-like of shape (n_samples,)
            Targets of the samples.
        """

    @abstractmethod
    def ppf(self, q: ArrayLike) -> Floats:
        """Return quantiles.

        Parameters
        ----------
        q : float or array-like of shape (n_quantiles,)
            Probabilities, from 0 to 1.

        Returns
        -------
        ndarray of shape (n_samples,) for a float, or (n_samples, n_quantiles)
        """

    @abstractmethod
    def crps(self, y: ArrayLike) -> Floats:
        """Return the continuous ranked probability score of each sample, (n_samples,).

        Parameters
        ----------
        y : array-like of shape (n_samples,)
            Targets of the samples.
        """

    @abstractmethod
    def interval(self, coverage: float = 0.9) -> Floats:
        """Return the interval between two quantiles, equally far from the median, (n_samples, 2)."""

    @abstractmethod
    def sample(self, n_draws: int = 1, random_state: Any = None) -> Floats:
        """Draw targets, (n_samples, n_draws); `random_state` as in scikit-learn."""

    @abstractmethod
    def _shares(self, y: Floats) -> Floats:
        """Return the probabilities of at most some values (k,), (n, k)."""

    @abstractmethod
    def _moments(self) -> tuple[Floats, Floats]:
        """Return means and variances, (n,) each."""

    @property
    def mean(self) -> Floats:
        """Means of the distributions, (n_samples,)."""
        return self._moments()[0]

    @property
    def std(self) -> Floats:
        """Standard deviations, (n_samples,)."""
        return np.asarray(np.sqrt(self._moments()[1]))

    def cdf(self, y: ArrayLike) -> Floats:
        """Return the probabilities of at most some values.

        Parameters
        ----------
        y : float or array-like of shape (n_values,)
            Values, the same for all samples.

        Returns
        -------
        ndarray of shape (n_samples,) for a float, or (n_samples, n_values)
        """
        values = np.asarray(y, dtype=np.float64)
        if values.ndim > 1 or np.isnan(values).any():
            raise ValueError(f"y must be a number or numbers, got {y!r}.")
        found = self._shares(np.atleast_1d(values))
        return found[:, 0] if values.ndim == 0 else found

    def histogram(self, edges: ArrayLike) -> Floats:
        """Return the probability of each bin, without its left and with its right edge.

        Parameters
        ----------
        edges : array-like of shape (n_bins + 1,)
            Ascending edges. Divide by their differences for a density.

        Returns
        -------
        ndarray of shape (n_samples, n_bins)
        """
        ends = np.asarray(edges, dtype=np.float64)
        if ends.ndim != 1 or len(ends) < 2 or not (np.diff(ends) > 0).all():
            raise ValueError(f"edges must be ascending numbers, at least two, got {edges!r}.")
        return np.diff(self.cdf(ends), axis=1)

    def _targets(self, y: ArrayLike) -> Floats:
        """Return targets as (n,), checked."""
        values = np.asarray(y, dtype=np.float64)
        if values.shape != (len(self),) or np.isnan(values).any():
            raise ValueError(f"y must be {len(self)} numbers, one per sample, got shape {values.shape}.")
        return values


class ScaledDistribution(PredictedDistribution):
    """Means plus spreads times the distribution of the scaled out-of-bag residuals.

    The k-th of m scaled residuals is the quantile k / (m + 1), between them the distribution is uniform, and the
    probability 1 / (m + 1) at either end is at the outermost residual.
    """

    def __init__(self, moments: TreeMoments, residuals: Residuals) -> None:
        assert residuals.scaled is not None
        self._tree_moments, self._residuals = moments, residuals
        self._location, self._spread = moments.mean, moments.spread(residuals.mean_square)
        self._scaled = residuals.scaled

    def __len__(self) -> int:
        """Return the number of samples."""
        return len(self._location)

    def pit(self, y: ArrayLike) -> Floats:
        """Return the probability of at most the target of each sample, (n_samples,)."""
        return self._share(self._standard(self._targets(y)[:, None]))[:, 0]

    def ppf(self, q: ArrayLike) -> Floats:
        """Return quantiles, (n_samples,) or (n_samples, n_quantiles).

        They are those of ``predict_quantiles(X, q, method="scaled")`` where these are finite, and otherwise the lowest
        or the highest value.
        """
        wanted = _checked_probabilities(q)
        found = self._location[:, None] + self._spread[:, None] * self._quantile(np.atleast_1d(wanted))
        return found[:, 0] if wanted.ndim == 0 else found

    def interval(self, coverage: float = 0.9) -> Floats:
        """Return the interval of `predict_interval`, before it is widened, (n_samples, 2)."""
        if not 0 < coverage < 1:
            raise ValueError(f"coverage must lie between 0 and 1, got {coverage!r}.")
        return scaled_interval(self._tree_moments, self._residuals, coverage)

    def sample(self, n_draws: int = 1, random_state: Any = None) -> Floats:
        """Draw targets, (n_samples, n_draws)."""
        drawn = check_random_state(random_state).uniform(size=(len(self), n_draws))
        return np.asarray(self._location[:, None] + self._spread[:, None] * self._quantile(drawn))

    def crps(self, y: ArrayLike) -> Floats:
        """Return the continuous ranked probability score of each sample, (n_samples,)."""
        targets = self._targets(y)
        away = targets - self._location
        standard = self._standard(targets[:, None])[:, 0]
        scores = self._spread * self._standard_crps(np.where(self._spread > 0, standard, 0.0))
        return np.where(self._spread > 0, scores, np.abs(away))

    def _moments(self) -> tuple[Floats, Floats]:
        """Return means and variances, (n,) each."""
        z = self._scaled
        first, square = z[0] + z[-1], z[0] ** 2 + z[-1] ** 2  # both ends
        first += ((z[1:] + z[:-1]) / 2).sum()
        square += ((z[1:] ** 2 + z[1:] * z[:-1] + z[:-1] ** 2) / 3).sum()
        mean, square = first / (len(z) + 1), square / (len(z) + 1)
        return self._location + self._spread * mean, self._spread**2 * max(square - mean**2, 0.0)

    def _shares(self, y: Floats) -> Floats:
        """Return the probabilities of at most some values (k,), (n, k)."""
        return self._share(self._standard(np.broadcast_to(y, (len(self), len(y)))))

    def _standard(self, y: Floats) -> Floats:
        """Return the scaled residuals of targets (n, k); infinite where a spread is 0."""
        away, spread = y - self._location[:, None], self._spread[:, None]
        return np.divide(away, spread, out=np.where(away >= 0, np.inf, -np.inf), where=spread > 0)

    def _quantile(self, q: Floats) -> Floats:
        """Return quantiles of the scaled residuals."""
        places = np.arange(len(self._scaled))
        return np.interp(scaled_place(q, len(self._scaled)), places, self._scaled)

    def _share(self, z: Floats) -> Floats:
        """Return the share of scaled residuals up to some numbers."""
        knots, m = self._scaled, len(self._scaled)
        upto = np.searchsorted(knots, z, side="right")
        left, right = knots[np.clip(upto - 1, 0, m - 1)], knots[np.clip(upto, 0, m - 1)]
        part = np.divide(z - left, right - left, out=np.zeros(z.shape), where=(upto > 0) & (upto < m))
        return np.where(upto == 0, 0.0, np.where(upto == m, 1.0, (upto + part) / (m + 1)))

    def _standard_crps(self, z: Floats) -> Floats:
        """Return the score of some numbers (n,) under the distribution of the scaled residuals.

        It is the integral of F² below the number and of (1 - F)² above it; F is linear between knots.
        """
        knots, m = self._scaled, len(self._scaled)
        share, width = np.arange(1, m + 1) / (m + 1), np.diff(knots)
        below = np.append(0.0, np.cumsum(width * _mean_square(share[:-1], share[1:])))
        above = np.append(np.cumsum((width * _mean_square(1 - share[:-1], 1 - share[1:]))[::-1])[::-1], 0.0)
        inside = np.clip(z, knots[0], knots[-1])
        at = np.clip(np.searchsorted(knots, inside, side="right") - 1, 0, max(m - 2, 0))
        after = np.minimum(at + 1, m - 1)
        here = share[at] + (share[after] - share[at]) * np.divide(
            inside - knots[at], knots[after] - knots[at], out=np.zeros(len(z)), where=knots[after] > knots[at]
        )
        low = below[at] + (inside - knots[at]) * _mean_square(share[at], here)
        high = above[after] + (knots[after] - inside) * _mean_square(1 - here, 1 - share[after])
        return np.asarray(low + high + np.abs(z - inside))


class LeafDistribution(PredictedDistribution):
    """Weighted training targets in the leaves reached, as in a quantile regression forest."""

    def __init__(
        self, forest: Forest, leaves: NDArray[np.int32], rows: LeafRows, weighting: str, n_threads: int
    ) -> None:
        self._forest, self._leaves, self._rows = forest, leaves, rows
        self._weighting, self._n_threads = weighting, n_threads

    def __len__(self) -> int:
        """Return the number of samples."""
        return len(self._leaves)

    def pit(self, y: ArrayLike) -> Floats:
        """Return the probability of at most the target of each sample, (n_samples,).

        It is ``quantile_ranks(X, y, kind="weak")``.
        """
        targets = self._targets(y)
        return ranks_of(self._forest, self._leaves, self._rows, targets, self._weighting, "weak", self._n_threads)

    def ppf(self, q: ArrayLike) -> Floats:
        """Return quantiles, (n_samples,) or (n_samples, n_quantiles).

        They are those of ``predict_quantiles(X, q, interpolation="inverse")``.
        """
        wanted = _checked_probabilities(q)
        how = (np.atleast_1d(wanted), self._weighting, "inverse", self._n_threads)
        found = quantiles_of(self._forest, self._leaves, self._rows, *how)
        return found[:, 0] if wanted.ndim == 0 else found

    def interval(self, coverage: float = 0.9) -> Floats:
        """Return the interval between two quantiles, equally far from the median, (n_samples, 2)."""
        if not 0 < coverage < 1:
            raise ValueError(f"coverage must lie between 0 and 1, got {coverage!r}.")
        return self.ppf([(1 - coverage) / 2, (1 + coverage) / 2])

    def sample(self, n_draws: int = 1, random_state: Any = None) -> Floats:
        """Draw targets, (n_samples, n_draws)."""
        drawn = check_random_state(random_state).uniform(size=(len(self), n_draws))
        found = np.empty(drawn.shape)
        for i in range(len(self)):
            values, weights = self._atoms(i)
            passed = np.cumsum(weights)
            found[i] = values[np.searchsorted(passed[:-1], drawn[i] * passed[-1], side="right")]
        return found

    def crps(self, y: ArrayLike) -> Floats:
        """Return the continuous ranked probability score of each sample, (n_samples,)."""
        scores = np.empty(len(self))
        for i, target in enumerate(self._targets(y)):
            values, weights = self._atoms(i)
            scores[i] = crps_of_atoms(np.array([target]), values[None], weights[None])[0]
        return scores

    def _shares(self, y: Floats) -> Floats:
        """Return the probabilities of at most some values (k,), (n, k)."""
        found = np.empty((len(self), len(y)))
        for i in range(len(self)):
            values, weights = self._atoms(i)
            passed = np.append(0.0, np.cumsum(weights))
            found[i] = passed[np.searchsorted(values, y, side="right")] / passed[-1]
        return found

    def _moments(self) -> tuple[Floats, Floats]:
        """Return means and variances, (n,) each."""
        found = np.empty((2, len(self)))
        for i in range(len(self)):
            values, weights = self._atoms(i)
            mean = np.average(values, weights=weights)
            found[:, i] = mean, np.average((values - mean) ** 2, weights=weights)
        return found[0], found[1]

    def _atoms(self, i: int) -> tuple[Floats, Floats]:
        """Return the training targets in the leaves of a sample, ascending, and their weights.

        A training row that is in every bootstrap sample has none, and gets NaN.
        """
        known, leaves = self._rows, (self._leaves[i] + self._forest.leaf_start[:-1])[self._leaves[i] >= 0]
        if not len(leaves):
            return np.array([np.nan]), np.ones(1)
        spans = [known.ranks[known.row_start[leaf] : known.row_start[leaf + 1]] for leaf in leaves]
        ranks = np.concatenate(spans)
        weights = np.ones(len(ranks)) if known.weights is None else known.weights[ranks]
        if self._weighting == "tree":
            sizes = np.array([len(span) for span in spans])
            of_tree = np.add.reduceat(weights, np.cumsum(sizes) - sizes)
            weights = weights / np.repeat(of_tree, sizes)
        order = np.argsort(ranks, kind="stable")
        return known.values[ranks[order]], weights[order]


def _mean_square(one: Floats, other: Floats) -> Floats:
    """Return the mean square of a line between two values."""
    return (one**2 + one * other + other**2) / 3


def _checked_probabilities(q: ArrayLike) -> Floats:
    """Return probabilities, a number or (k,), checked."""
    wanted = np.asarray(q, dtype=np.float64)
    if wanted.ndim > 1 or not wanted.size or not ((wanted >= 0) & (wanted <= 1)).all():
        raise ValueError(f"q must be numbers in [0, 1], got {q!r}.")
    return wanted
