"""Metrics of prediction sets."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hedgerow.decisions import f_beta_utility, quadratic_utility
from hedgerow.decisions.base import columns_from_labels
from hedgerow.labels import read_labels


def utility(
    y: ArrayLike,
    sets: ArrayLike,
    *,
    z: float = 0.65,
    classes: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
) -> float:
    """Return the mean quadratic utility of sets, with utility z for a correct pair.

    With d = [y in A] / |A| the utility of a set A is ``(2 - 4z) d^2 + (4z - 1) d``: 1 for the correct class
    alone, z for a correct pair, 0 for a wrong set.

    Parameters
    ----------
    y : array-like (n,)
        True classes.
    sets : bool array-like (n, K)
        Prediction sets, at least one class per row.
    z : float
        0.65 rewards caution a little, 0.80 more, 0.5 not at all.
    classes : array-like (K,) or None
        Class of each column of ``sets``. None: the sorted distinct labels of ``y``.
    sample_weight : array-like (n,) or None
        Weight of each row in the mean.

    Returns
    -------
    float

    Examples
    --------
    >>> sets = [[True, False], [True, True], [True, False]]
    >>> round(utility(["a", "b", "b"], sets, z=0.8), 3)
    0.6
    """
    rows = _evaluate(y, sets, classes, sample_weight)
    return _mean(quadratic_utility(rows.discount, z), rows.weight)


def u65(
    y: ArrayLike,
    sets: ArrayLike,
    *,
    classes: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
) -> float:
    """Return the mean `utility` with z = 0.65, the usual choice.

    For two classes it equals ``0.65 + determinacy * (single_set_accuracy - 0.65)``.

    Examples
    --------
    >>> round(u65([0, 1, 1], [[True, False], [True, True], [True, False]]), 3)
    0.55
    """
    return utility(y, sets, z=0.65, classes=classes, sample_weight=sample_weight)


def u80(
    y: ArrayLike,
    sets: ArrayLike,
    *,
    classes: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
) -> float:
    """Return the mean `utility` with z = 0.80, if a pair is nearly as good.

    Examples
    --------
    >>> round(u80([0, 1, 1], [[True, False], [True, True], [True, False]]), 3)
    0.6
    """
    return utility(y, sets, z=0.80, classes=classes, sample_weight=sample_weight)


def discounted_accuracy(
    y: ArrayLike,
    sets: ArrayLike,
    *,
    classes: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
) -> float:
    """Return the mean of [y in A] / |A|, the accuracy of random guesses in sets.

    Examples
    --------
    >>> discounted_accuracy([0, 1, 1], [[True, False], [True, True], [True, False]])
    0.5
    """
    rows = _evaluate(y, sets, classes, sample_weight)
    return _mean(rows.discount, rows.weight)


def f_beta_of_sets(
    y: ArrayLike,
    sets: ArrayLike,
    *,
    beta: float = 1.0,
    classes: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
) -> float:
    """Return the mean of ``(1 + beta^2) / (|A| + beta^2)`` where y is in A, else 0.

    Examples
    --------
    >>> round(f_beta_of_sets([0, 1, 1], [[True, False], [True, True], [True, False]]), 3)
    0.556
    """
    rows = _evaluate(y, sets, classes, sample_weight)
    return _mean(rows.hit * f_beta_utility(rows.size, beta), rows.weight)


def mic(
    y: ArrayLike,
    sets: ArrayLike,
    *,
    classes: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
) -> float:
    """Return the mean information of sets, in nats (Abellán and Masegosa, 2012).

    A set that contains the true class has log(K / |A|), a wrong one -log(K) / (K - 1). A random guess and the set of
    all classes have 0 on average, a correct class has log(K).

    Examples
    --------
    >>> round(mic([0, 1, 1], [[True, False], [True, True], [True, False]]), 3)
    0.0
    """
    rows = _evaluate(y, sets, classes, sample_weight)
    n_classes = np.asarray(sets).shape[1]
    cost = np.log(n_classes) / max(n_classes - 1, 1)
    return _mean(np.where(rows.hit, np.log(n_classes / rows.size), -cost), rows.weight)


def set_cost(
    y: ArrayLike,
    sets: ArrayLike,
    costs: ArrayLike,
    *,
    classes: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
) -> float:
    """Return the mean cost of acting on a class drawn at random from each set.

    ``costs[i, j]`` is the cost of class j if class i is true. With 1 for every error it is one minus the discounted
    accuracy.

    Examples
    --------
    >>> set_cost([0, 1, 1], [[True, False], [True, True], [True, False]], [[0, 1], [10, 0]])
    5.0
    """
    rows, chosen = _evaluate(y, sets, classes, sample_weight), checked_sets(sets)
    truth, _ = columns_from_labels(y, chosen.shape[1], classes)
    table = np.asarray(costs, dtype=np.float64)
    if table.shape != (chosen.shape[1],) * 2 or not np.isfinite(table).all():
        raise ValueError(
            f"costs must be finite and of shape {(chosen.shape[1],) * 2}, one row per true and one column per chosen"
            f" class, got shape {table.shape}."
        )
    return _mean((table[truth] * chosen).sum(axis=1) / rows.size, rows.weight)


def coverage(
    y: ArrayLike,
    sets: ArrayLike,
    *,
    classes: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
) -> float:
    """Return the share of rows whose set contains the true class.

    Examples
    --------
    >>> coverage([0, 1, 1, 0], [[True, False], [True, True], [True, False], [True, True]])
    0.75
    """
    rows = _evaluate(y, sets, classes, sample_weight)
    return _mean(rows.hit, rows.weight)


def determinacy(
    y: ArrayLike,
    sets: ArrayLike,
    *,
    classes: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
) -> float:
    """Return the share of decided rows, with one class in their set.

    ``y`` is not used; it gives all metrics the same signature.

    Examples
    --------
    >>> determinacy([0, 1, 1, 0], [[True, False], [True, True], [True, False], [True, False]])
    0.75
    """
    rows = _evaluate(y, sets, classes, sample_weight)
    return _mean(rows.size == 1, rows.weight)


def single_set_accuracy(
    y: ArrayLike,
    sets: ArrayLike,
    *,
    classes: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    otherwise: float | None = None,
) -> float | None:
    """Return the accuracy of decided rows, or ``otherwise`` if there are none.

    The scorer of this name uses ``otherwise=0``: a model that always abstains is never right.

    Examples
    --------
    >>> single_set_accuracy([0, 1, 1], [[True, False], [True, True], [True, False]])
    0.5
    >>> single_set_accuracy([0, 1], [[True, True], [True, True]]) is None
    True
    """
    rows = _evaluate(y, sets, classes, sample_weight)
    return _mean_where(rows.size == 1, rows.hit, rows.weight, otherwise)


def set_accuracy(
    y: ArrayLike,
    sets: ArrayLike,
    *,
    classes: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    otherwise: float | None = None,
) -> float | None:
    """Return the coverage of undecided rows, or ``otherwise`` if there are none.

    The scorer of this name uses ``otherwise=1``: a model that never abstains has no wrong set of several classes.

    Examples
    --------
    >>> sets = [[True, True, False], [True, True, False], [False, False, True]]
    >>> set_accuracy([0, 2, 1], sets)
    0.5
    """
    rows = _evaluate(y, sets, classes, sample_weight)
    return _mean_where(rows.size > 1, rows.hit, rows.weight, otherwise)


def mean_set_size(
    y: ArrayLike,
    sets: ArrayLike,
    *,
    classes: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    otherwise: float | None = None,
) -> float | None:
    """Return the mean set size of undecided rows, or ``otherwise`` if there are none.

    ``y`` is not used. The scorer ``"neg_mean_set_size"`` uses ``otherwise=1``. Decided rows do not count here; the
    "mean set size" of ``hedgerow evaluate`` and of the report is the mean over all rows.

    Examples
    --------
    >>> sets = [[True, True, False], [True, True, True], [False, False, True]]
    >>> mean_set_size([0, 2, 1], sets)
    2.5
    """
    rows = _evaluate(y, sets, classes, sample_weight)
    return _mean_where(rows.size > 1, rows.size, rows.weight, otherwise)


def abstention_accuracy(
    y: ArrayLike,
    sets: ArrayLike,
    predicted: ArrayLike,
    *,
    classes: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    otherwise: float | None = None,
) -> float | None:
    """Return the accuracy of the predicted class on undecided rows.

    This is how often a single label would be right where the model abstains: the lower it is, the better the model
    selects these rows. If no row is undecided, ``otherwise`` is returned.

    Examples
    --------
    >>> sets = [[True, True], [True, True], [False, True]]
    >>> abstention_accuracy(["a", "b", "b"], sets, ["a", "a", "b"])
    0.5
    """
    rows = _evaluate(y, sets, classes, sample_weight)
    labels = np.asarray(predicted)
    if labels.shape != rows.hit.shape:
        raise ValueError(
            f"predicted must have the shape {rows.hit.shape}, got {labels.shape}. Pass estimator.predict(X)."
        )
    return _mean_where(rows.size > 1, labels == np.asarray(y), rows.weight, otherwise)


class _Evaluated(NamedTuple):
    """Hit, set size and weight of each row, (n,) each."""

    hit: NDArray[np.bool_]
    size: NDArray[np.int_]
    weight: NDArray[np.float64]

    @property
    def discount(self) -> NDArray[np.float64]:
        """[y in A] / |A|, (n,)."""
        return self.hit / self.size


def _evaluate(y: ArrayLike, sets: ArrayLike, classes: ArrayLike | None, sample_weight: ArrayLike | None) -> _Evaluated:
    """Return the arrays from which every metric is computed."""
    chosen = checked_sets(sets)
    if read_labels(y) is not None:
        raise ValueError(
            "y must have certain labels, got uncertain ones. Use utility_bounds or accuracy_bounds for lower and upper"
            " values."
        )
    columns, _ = columns_from_labels(y, chosen.shape[1], classes)
    if len(columns) != len(chosen):
        raise ValueError(f"y must have one label for each of the {len(chosen)} rows of sets, got {len(columns)}.")
    weight = checked_weight(sample_weight, len(chosen))
    return _Evaluated(chosen[np.arange(len(chosen)), columns], chosen.sum(axis=1), weight)


def checked_sets(sets: ArrayLike) -> NDArray[np.bool_]:
    """Return sets as bool (n, K); raise unless every row has at least one class."""
    matrix: NDArray[Any] = np.asarray(sets)
    if matrix.ndim != 2 or 0 in matrix.shape:
        raise ValueError(
            f"sets must have the shape (n, K) with n, K >= 1, got {matrix.shape}. Pass predict_set(X), a bool "
            "matrix with one column per class."
        )
    if matrix.dtype != bool and not (binary := np.isin(matrix, (0, 1))).all():
        raise ValueError(f"sets must be boolean, got {matrix[~binary][0]}. Pass predict_set(X), not probabilities.")
    chosen = matrix.astype(bool)
    if not chosen.any(axis=1).all():
        row = int(np.argmin(chosen.any(axis=1)))
        raise ValueError(
            f"sets must have at least one class per row, got an empty set in row {row}. "
            "Use all classes for a row without any evidence."
        )
    return chosen


def checked_weight(sample_weight: ArrayLike | None, n_rows: int) -> NDArray[np.float64]:
    """Return weights (n,) as float64, ones for None."""
    if sample_weight is None:
        return np.ones(n_rows)
    weight = np.asarray(sample_weight, dtype=np.float64)
    if weight.shape != (n_rows,) or not np.isfinite(weight).all() or (weight < 0).any() or not weight.any():
        raise ValueError(
            f"sample_weight must be {n_rows} finite non-negative numbers, not all zero, got {sample_weight!r}."
        )
    return weight


def _mean(values: NDArray[Any], weight: NDArray[np.float64]) -> float:
    """Return the weighted mean."""
    return float(np.average(values, weights=weight))


def _mean_where(
    rows: NDArray[np.bool_], values: NDArray[Any], weight: NDArray[np.float64], otherwise: float | None
) -> float | None:
    """Return the weighted mean over some rows, or ``otherwise`` without weight."""
    return _mean(values[rows], weight[rows]) if weight[rows].any() else otherwise
