"""Gaussian random fuzzy numbers: belief and plausibility of intervals of a real line."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtr

Floats = NDArray[np.float64]

#: Steps of the bisection for belief intervals, enough for all bits of a double.
_STEPS = 60


class RandomFuzzyNumbers(NamedTuple):
    """Gaussian random fuzzy numbers of n samples [1]_.

    The target is "about M", a fuzzy number with membership exp(-h (x - M)² / 2), and M is normal. Without `variance`
    this is a possibility distribution, with infinite `precision` a normal distribution, and with precision 0 total
    ignorance.

    Parameters
    ----------
    mean, variance : (n,) float64
        Mean and variance of M.
    precision : (n,) float64
        Precision h of the membership function, from 0 to infinity.

    References
    ----------
    .. [1] T. Denœux: Reasoning with fuzzy and uncertain evidence using epistemic random fuzzy sets: general framework
       and practical models. Fuzzy Sets and Systems 453, 2023.

    Examples
    --------
    >>> import numpy as np
    >>> number = RandomFuzzyNumbers(np.array([2.0]), np.array([1.0]), np.array([2.0]))
    >>> number.contour(1.0).round(3), number.belief(1.0, 2.0).round(3), number.plausibility(1.0, 2.0).round(3)
    (array([0.414]), array([0.027]), array([0.747]))
    """

    mean: Floats
    variance: Floats
    precision: Floats

    def contour(self, y: ArrayLike) -> Floats:
        """Return the plausibility of single values, (n,).

        It is exp(-h (y - mean)² / (2 (1 + h variance))) / sqrt(1 + h variance).

        Parameters
        ----------
        y : float or array-like of shape (n,)
            Values; infinite ones have plausibility 0 unless the precision is 0.
        """
        width = self.variance + self._fuzziness
        away = np.asarray(y, dtype=np.float64) - self.mean
        with np.errstate(divide="ignore", invalid="ignore"):
            found = np.sqrt(self._fuzziness / width) * np.exp(-(away**2) / (2 * width))
        exact = np.where(away == 0, 1.0, 0.0)
        return np.where(self.precision == 0, 1.0, np.where(width == 0, exact, found))

    def belief(self, low: ArrayLike, high: ArrayLike) -> Floats:
        """Return the belief that targets lie in intervals, (n,).

        Parameters
        ----------
        low, high : float or array-like of shape (n,)
            Ends of the intervals; they may be infinite.
        """
        low, high = _ends(low, high)
        with np.errstate(invalid="ignore"):
            middle = low / 2 + high / 2  # on either side of it, the nearer end is the more plausible one
        left = self._near(low, middle) - self._near(low, low)
        right = self._near(high, high) - self._near(high, middle)
        outside = np.where(np.isfinite(low), left, 0.0) + np.where(np.isfinite(high), right, 0.0)
        found = self._between(low, high) - outside
        known = np.where((low == -np.inf) & (high == np.inf), 1.0, np.clip(found, 0.0, 1.0))
        return np.where((self.precision == 0) & (np.isfinite(low) | np.isfinite(high)), 0.0, known)

    def plausibility(self, low: ArrayLike, high: ArrayLike) -> Floats:
        """Return the plausibility that targets lie in intervals, (n,); arguments as in `belief`."""
        low, high = _ends(low, high)
        below = np.where(np.isfinite(low), self._near(low, low), 0.0)
        above = np.where(np.isfinite(high), self.contour(high) - self._near(high, high), 0.0)
        return np.where(self.precision == 0, 1.0, np.clip(self._between(low, high) + below + above, 0.0, 1.0))

    def interval(self, level: float = 0.9) -> Floats:
        """Return the intervals around the means whose belief is `level`, (n, 2).

        They are infinite where the precision is 0.
        """
        if not 0 < level < 1:
            raise ValueError(f"level must lie between 0 and 1, got {level!r}.")
        with np.errstate(divide="ignore"):
            most = 8 * np.sqrt(self.variance) + np.sqrt(-2 * np.log((1 - level) / 4) * self._fuzziness)
        least = np.zeros(len(most))
        for _ in range(_STEPS):
            radius = least / 2 + most / 2
            enough = self.belief(self.mean - radius, self.mean + radius) >= level
            least, most = np.where(enough, least, radius), np.where(enough, radius, most)
        return np.column_stack([self.mean - most, self.mean + most])

    def combine(self, other: RandomFuzzyNumbers) -> RandomFuzzyNumbers:
        """Combine independent evidence about the same targets.

        This is the product-intersection rule with soft normalisation. Precisions are added. The order
        of combination does not matter, and a number of precision 0 changes nothing.

        Raises
        ------
        ValueError
            If two different numbers, both without variance and of infinite precision, are combined.
        """
        apart = self._fuzziness + other._fuzziness
        whole = apart + self.variance + other.variance
        if ((whole == 0) & (self.mean != other.mean)).any():
            raise ValueError("Exact numbers must be equal to be combined, got different ones.")
        with np.errstate(invalid="ignore", divide="ignore"):
            # the more precise of both gets the larger share
            share = np.where(apart > 0, other._fuzziness / apart, 0.5)
            mean = (
                self.mean * (other._fuzziness + other.variance) + other.mean * (self._fuzziness + self.variance)
            ) / whole
            variance = (
                share**2 * self.variance * (apart + other.variance)
                + (1 - share) ** 2 * other.variance * (apart + self.variance)
                + 2 * share * (1 - share) * self.variance * other.variance
            ) / whole
        found = RandomFuzzyNumbers(
            np.where(whole == 0, self.mean, mean),
            np.where(whole == 0, 0.0, variance),
            self.precision + other.precision,
        )
        return found._unless(other.precision == 0, self)._unless(self.precision == 0, other)

    def _unless(self, where: NDArray[np.bool_], other: RandomFuzzyNumbers) -> RandomFuzzyNumbers:
        """Return these numbers, except `where` the others apply."""
        return RandomFuzzyNumbers(*(np.where(where, new, old) for old, new in zip(self, other, strict=True)))

    @property
    def _fuzziness(self) -> Floats:
        """The reciprocal of the precision, (n,)."""
        with np.errstate(divide="ignore"):
            return np.asarray(1 / np.asarray(self.precision, dtype=np.float64))

    def _between(self, low: Floats, high: Floats) -> Floats:
        """Return the probability of M in intervals, (n,)."""
        spread = np.sqrt(self.variance)
        return _normal(high - self.mean, spread) - _normal(low - self.mean, spread)

    def _near(self, end: Floats, limit: Floats) -> Floats:
        """Return the expected membership of `end`, as far as M is at most `limit`, (n,).

        Given the membership as a likelihood, M is normal again: it moves towards `end`, and its variance shrinks.
        """
        width = self.variance + self._fuzziness
        with np.errstate(divide="ignore", invalid="ignore"):
            toward = np.where(width > 0, self.variance / width, 0.0)
            spread = np.sqrt(self.variance * np.where(np.isinf(width), 1.0, self._fuzziness / width))
            away = limit - self.mean - np.where(np.isfinite(end), toward * (end - self.mean), 0.0)
            return self.contour(end) * _normal(away, np.where(width > 0, spread, 0.0))


def _ends(low: ArrayLike, high: ArrayLike) -> tuple[Floats, Floats]:
    """Return the ends of intervals, checked."""
    ends = np.asarray(low, dtype=np.float64), np.asarray(high, dtype=np.float64)
    if not (ends[0] <= ends[1]).all():
        raise ValueError(f"low must be at most high, got {low!r} and {high!r}.")
    return ends


def _normal(away: Floats, spread: Floats) -> Floats:
    """Return the normal distribution function; a step if the spread is 0."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(spread > 0, ndtr(away / spread), 0.5 + 0.5 * np.sign(away))
