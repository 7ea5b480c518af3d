"""Decision: an opinion, checked -> a boolean matrix; what every decision shares."""

from __future__ import annotations

from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator

from hedgerow.decide.intervals import TIE, Floats, reachable

Bools = NDArray[np.bool_]


class OpinionLike(Protocol):
    """What a decision reads of an opinion: three arrays of shape (n, K).

    Where an opinion also has ``chosen``, bool (n, K) or None, it is the set its rule has decided on itself.
    """

    @property
    def lower(self) -> Any: ...
    @property
    def upper(self) -> Any: ...
    @property
    def probability(self) -> Any: ...


class Decision(BaseEstimator):  # type: ignore[misc]  # scikit-learn has no annotations
    """From an opinion to the classes that remain.

    A decision is a small object: parameters set by ``__init__`` (so that ``get_params``, ``set_params``,
    ``clone`` and ``decision__...`` in a grid search work) and one method, `choose`. To add one, derive
    from this class; no registration is needed to pass the object to a forest or to `hedgerow.decide.decide`.

    Attributes
    ----------
    needs_calibration : bool
        Whether ``calibrate(opinion, y)`` has to be called before `choose`.
    """

    needs_calibration: ClassVar[bool] = False

    def choose(self, opinion: OpinionLike) -> Bools:
        """Opinion of n rows and K classes -> bool (n, K), at least one True in each row.

        With a utility matrix of A actions the result is (n, A).
        """
        raise NotImplementedError(
            f"a decision must define choose(opinion), got none in {type(self).__name__}; see Decision"
        )


def bounds_of(opinion: OpinionLike) -> tuple[Floats, Floats]:
    """Opinion -> reachable lower and upper, (n, K) each."""
    lower, upper = reachable(opinion.lower, opinion.upper)
    if lower.ndim != 2:
        raise ValueError(f"opinion.lower must have shape (n, K), got {lower.shape}; give one row as lower[None]")
    return lower, upper


def probability_of(opinion: OpinionLike) -> Floats:
    """Opinion -> its probability, (n, K)."""
    return checked_probability(opinion.probability)


def checked_probability(probability: ArrayLike) -> Floats:
    """(n, K) -> the same as float64, refused when it is not finite or not a matrix."""
    values = np.asarray(probability, dtype=np.float64)
    if values.ndim != 2 or values.shape[1] == 0:
        raise ValueError(
            f"probability must have shape (n, K) with K >= 1, got {values.shape}; give one row as probability[None]"
        )
    if not np.isfinite(values).all():
        row = int(np.nonzero(~np.isfinite(values).all(axis=1))[0][0])
        raise ValueError(
            f"probability must be finite, got {values[row].tolist()} in row {row}; leave out rows "
            "nobody has an opinion on"
        )
    return values


def checked_utility(utility: ArrayLike, n_classes: int) -> Floats:
    """Array-like (A, K) -> float64 (A, K), refused when its columns are not the classes."""
    matrix = np.asarray(utility, dtype=np.float64)
    if matrix.ndim != 2 or matrix.shape[1] != n_classes or matrix.shape[0] == 0:
        raise ValueError(
            f"utility must have shape (actions, {n_classes}), one column per class, got {matrix.shape}; "
            "utility[a, k] is what action a is worth when k is the true class (a cost matrix is -utility)"
        )
    if not np.isfinite(matrix).all():
        raise ValueError(f"utility must be finite, got {matrix.tolist()}; use a large number in place of infinity")
    return matrix


def tie_of(utility: Floats) -> float:
    """(A, K) -> the difference of expected utilities that still counts as a tie."""
    largest = float(np.abs(utility).max())
    return TIE * largest
