"""Sets: true classes and chosen classes -> how good the sets are."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hedgerow.decisions import f_beta_utility, quadratic_utility
from hedgerow.decisions.labels import columns_from_labels


def utility(
    y: ArrayLike,
    sets: ArrayLike,
    *,
    z: float = 0.65,
    classes: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
) -> float:
    """Mean quadratic utility of sets, in which a correct pair is worth z.

    With d = [y in A] / |A| the utility of a set A is ``(2 - 4z) d^2 + (4z - 1) d``: 1 for the right class
    alone, z for a right pair, 0 for a wrong set.

    Parameters
    ----------
    y : array-like (n,)
        True classes.
    sets : bool array-like (n, K)
        Chosen classes, at least one in each row.
    z : float
        .65 rewards caution a little, .80 more, .5 not at all.
    classes : array-like (K,) or None
        The class of each column of ``sets``. None: the sorted distinct labels of ``y``.
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
    """y (n,), sets (n, K) -> mean `utility` with z = .65, the usual choice.

    For two classes it equals ``.65 + determinacy * (single_set_accuracy - .65)``.

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
    """y (n,), sets (n, K) -> mean `utility` with z = .80, for uses where a pair is nearly as good as one class.

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
    """y (n,), sets (n, K) -> mean of [y in A] / |A|: the accuracy of a random guess within the set.

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
    """y (n,), sets (n, K) -> mean of ``(1 + beta^2) / (|A| + beta^2)`` where y is in A, 0 where not.

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
    """y (n,), sets (n, K) -> mean information, in nats, of imprecise classification (Abellán and Masegosa, 2012).

    A set that holds the true class is worth log(K / |A|), a wrong one costs log(K) / (K - 1). So a guess at random and
    the set of all classes are worth nothing on average, and a correct class is worth log(K).

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
    """y (n,), sets (n, K), costs (K, K) -> mean cost of acting on a class that is drawn at random from each set.

    ``costs[i, j]`` is what class j costs if class i is true. With 1 for every error it is one minus the discounted
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
            f"costs must be a finite number for each true and each chosen class, shape {(chosen.shape[1],) * 2}, got"
            f" shape {table.shape}"
        )
    return _mean((table[truth] * chosen).sum(axis=1) / rows.size, rows.weight)


def coverage(
    y: ArrayLike,
    sets: ArrayLike,
    *,
    classes: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
) -> float:
    """y (n,), sets (n, K) -> share of rows whose set holds the true class.

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
    """y (n,), sets (n, K) -> share of rows with a single class.

    ``y`` is not used; it is a parameter so that all metrics are called in the same way.

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
    """y (n,), sets (n, K) -> accuracy on the determinate rows, or ``otherwise`` when there are none.

    The scorer of this name uses ``otherwise=0``: a model that never decides is never right.

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
    """y (n,), sets (n, K) -> coverage of the indeterminate rows, or ``otherwise`` when there are none.

    The scorer of this name uses ``otherwise=1``: a model that never returns a set is never wrong with one.

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
    """y (n,), sets (n, K) -> mean size of the indeterminate sets, or ``otherwise`` when there are none.

    ``y`` is not used. The scorer ``"neg_mean_set_size"`` uses ``otherwise=1``. Sets of one class do not count here; the
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
    """y (n,), sets (n, K), predicted (n,) -> accuracy of the precise prediction on the indeterminate rows.

    This is how often a single label would be right where the sets abstain: the lower it is, the better the doubts
    are placed. If no row is indeterminate, ``otherwise`` is returned.

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
            f"predicted must be one label per row, shape {rows.hit.shape}, got {labels.shape}; pass "
            "estimator.predict(X) of the same rows"
        )
    return _mean_where(rows.size > 1, labels == np.asarray(y), rows.weight, otherwise)


class _Evaluated(NamedTuple):
    """For each row, (n,): whether y is in the set, how many classes the set has, the weight of the row."""

    hit: NDArray[np.bool_]
    size: NDArray[np.int_]
    weight: NDArray[np.float64]

    @property
    def discount(self) -> NDArray[np.float64]:
        """(n,): [y in A] / |A|."""
        return self.hit / self.size


def _evaluate(y: ArrayLike, sets: ArrayLike, classes: ArrayLike | None, sample_weight: ArrayLike | None) -> _Evaluated:
    """(n,), (n, K), (K,), (n,) -> the arrays from which every metric is computed."""
    chosen = checked_sets(sets)
    columns, _ = columns_from_labels(y, chosen.shape[1], classes)
    if len(columns) != len(chosen):
        raise ValueError(
            f"y must have one label for each of the {len(chosen)} rows of sets, got {len(columns)}; pass the "
            "labels of the same rows"
        )
    weight = checked_weight(sample_weight, len(chosen))
    return _Evaluated(chosen[np.arange(len(chosen)), columns], chosen.sum(axis=1), weight)


def checked_sets(sets: ArrayLike) -> NDArray[np.bool_]:
    """(n, K) -> the same as bool, refused unless it is a boolean matrix with at least one class in every row."""
    matrix: NDArray[Any] = np.asarray(sets)
    if matrix.ndim != 2 or 0 in matrix.shape:
        raise ValueError(
            f"sets must have shape (n, K) with n, K >= 1, got {matrix.shape}; pass predict_set(X), a bool "
            "matrix with one column per class"
        )
    if matrix.dtype != bool and not np.isin(matrix, (0, 1)).all():
        raise ValueError(
            f"sets must be boolean, got dtype {matrix.dtype} with values other than 0 and 1; pass "
            "predict_set(X), not probabilities"
        )
    chosen = matrix.astype(bool)
    if not chosen.any(axis=1).all():
        row = int(np.argmin(chosen.any(axis=1)))
        raise ValueError(
            f"sets must choose at least one class in every row, got none in row {row}; choose every class for a "
            "row about which nothing is known"
        )
    return chosen


def checked_weight(sample_weight: ArrayLike | None, n_rows: int) -> NDArray[np.float64]:
    """(n,) or None -> (n,) float64, ones for None."""
    if sample_weight is None:
        return np.ones(n_rows)
    weight = np.asarray(sample_weight, dtype=np.float64)
    if weight.shape != (n_rows,) or not np.isfinite(weight).all() or (weight < 0).any() or not weight.any():
        raise ValueError(
            f"sample_weight must be {n_rows} finite numbers, none negative and not all zero, got "
            f"{sample_weight!r}; pass one weight per row or None"
        )
    return weight


def _mean(values: NDArray[Any], weight: NDArray[np.float64]) -> float:
    """(n,), (n,) -> weighted mean."""
    return float(np.average(values, weights=weight))


def _mean_where(
    rows: NDArray[np.bool_], values: NDArray[Any], weight: NDArray[np.float64], otherwise: float | None
) -> float | None:
    """(n,), (n,), (n,) -> weighted mean over some rows, or ``otherwise`` if their weights are all zero."""
    return _mean(values[rows], weight[rows]) if weight[rows].any() else otherwise
