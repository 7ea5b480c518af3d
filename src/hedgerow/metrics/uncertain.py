"""Metrics against uncertain labels.

The true class of a row is known up to a mass over sets of classes. A mean over rows is then known up to an interval,
from the lower to the upper expectation of the metric.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hedgerow.decisions import quadratic_utility
from hedgerow.labels import UncertainLabels, from_sets, read_labels
from hedgerow.metrics.sets import checked_sets, checked_weight

Floats = NDArray[np.float64]

#: Width of the interval at which the search for the evidential error ends.
PRECISION = 2.0**-52


class MetricBounds(NamedTuple):
    """Lower and upper expectation of a metric."""

    lower: float
    upper: float


def accuracy_bounds(y: object, predicted: ArrayLike, *, sample_weight: ArrayLike | None = None) -> MetricBounds:
    """Return the smallest and largest accuracy that uncertain labels allow.

    They are the mean belief and the mean plausibility of the predicted classes.

    Parameters
    ----------
    y : UncertainLabels, or array-like (n,) of labels and sets of labels
        True classes.
    predicted : array-like (n,)
        Predicted classes.
    sample_weight : array-like (n,), optional
        Weight of each row in the mean.

    Returns
    -------
    MetricBounds

    Examples
    --------
    >>> accuracy_bounds([{"a"}, {"a", "b"}, {"b"}], ["a", "a", "a"])
    MetricBounds(lower=0.3333333333333333, upper=0.6666666666666666)
    """
    belief, plausible = _of_predicted(_checked_labels(y), predicted)
    weight = checked_weight(sample_weight, len(belief))
    return MetricBounds(float(np.average(belief, weights=weight)), float(np.average(plausible, weights=weight)))


def utility_bounds(
    y: object,
    sets: ArrayLike,
    *,
    z: float = 0.65,
    classes: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
) -> MetricBounds:
    """Return the smallest and largest `utility` of prediction sets that uncertain labels allow.

    A set has its utility with the mass of the label sets inside it at least, and with that of the sets that meet it at
    most. With z = 0.65 these are the bounds of `u65`, with z = 0.80 those of `u80`.

    Parameters
    ----------
    y : UncertainLabels, or array-like (n,) of labels and sets of labels
        True classes.
    sets : bool array-like (n, K)
        Prediction sets, at least one class per row.
    z : float
        Utility of a correct pair.
    classes : array-like (K,) or None
        Class of each column of ``sets``. None: the classes of ``y``.
    sample_weight : array-like (n,), optional
        Weight of each row in the mean.

    Returns
    -------
    MetricBounds

    Examples
    --------
    >>> utility_bounds([{"a"}, {"a", "b"}], [[True, False], [True, False]])
    MetricBounds(lower=0.5, upper=1.0)
    """
    labels, chosen = _checked_labels(y), checked_sets(sets)
    if len(labels) != len(chosen):
        raise ValueError(f"y must have one label for each of the {len(chosen)} rows of sets, got {len(labels)}.")
    chosen = _in_columns_of(labels, chosen, classes)
    focal, size = labels.focal, np.asarray(sets).sum(axis=1)
    row, members = focal.row, focal.sets[focal.which]
    inside = (members <= chosen[row]).all(axis=1)
    meets = (members & chosen[row]).any(axis=1)
    belief, plausible = (np.bincount(row, weights=focal.mass * each, minlength=len(labels)) for each in (inside, meets))
    worth, weight = quadratic_utility(1.0 / size, z), checked_weight(sample_weight, len(labels))
    least, most = np.minimum(belief * worth, plausible * worth), np.maximum(belief * worth, plausible * worth)
    return MetricBounds(float(np.average(least, weights=weight)), float(np.average(most, weights=weight)))


def evidential_error(y: object, predicted: ArrayLike, *, sample_weight: ArrayLike | None = None) -> float:
    """Return the error rate that makes uncertain labels most plausible.

    It is the ε that maximises the product over rows of (1 - ε) pl(ŷ) + ε pl(not ŷ), the evidential likelihood of Denœux
    (2013), where pl(not ŷ) is one minus the belief in the predicted class. For sets and plausibilities this is the
    largest plausibility of another class. With certain labels it is the error rate. Labels that say nothing about ŷ do
    not count; if there are no others, ε is 0.

    Parameters
    ----------
    y : UncertainLabels, or array-like (n,) of labels and sets of labels
        True classes.
    predicted : array-like (n,)
        Predicted classes.
    sample_weight : array-like (n,), optional
        Weight of the logarithm of each row.

    Returns
    -------
    float

    Examples
    --------
    >>> round(evidential_error([{"a"}, {"a", "b"}, {"b"}, {"a"}], ["a", "a", "a", "a"]), 6)
    0.333333
    """
    belief, right = _of_predicted(_checked_labels(y), predicted)
    weight = checked_weight(sample_weight, len(belief))
    slope = (1.0 - belief) - right
    if not (weight * slope).any():
        return 0.0

    def rises(error: float) -> bool:
        with np.errstate(divide="ignore"):
            terms = np.divide(slope, right + error * slope, out=np.zeros_like(slope), where=slope != 0)
        return bool((weight * terms).sum() > 0)

    low, high = 0.0, 1.0  # the logarithm is concave in the error
    while high - low > PRECISION:
        middle = (low + high) / 2
        low, high = (middle, high) if rises(middle) else (low, middle)
    return (low + high) / 2


def _checked_labels(y: object) -> UncertainLabels:
    """Return labels as uncertain labels; certain labels are one special case."""
    labels = read_labels(y)
    return from_sets(np.asarray(y).tolist()) if labels is None else labels


def _of_predicted(labels: UncertainLabels, predicted: ArrayLike) -> tuple[Floats, Floats]:
    """Return belief and plausibility (n,) of the predicted classes; 0 for an unknown class."""
    given = np.asarray(predicted).tolist()
    if len(given) != len(labels):
        raise ValueError(f"predicted must have one class for each of the {len(labels)} rows of y, got {len(given)}.")
    places = {label: column for column, label in enumerate(labels.classes.tolist())}
    column = np.array([places.get(label, -1) for label in given], dtype=np.intp)
    every = np.arange(len(labels))
    belief, plausible = (np.where(column >= 0, of[every, column], 0.0) for of in (labels.belief, labels.plausibility))
    return belief, plausible


def _in_columns_of(labels: UncertainLabels, sets: NDArray[np.bool_], classes: ArrayLike | None) -> NDArray[np.bool_]:
    """Return sets (n, K) with the classes of the labels as columns."""
    names = labels.classes.tolist() if classes is None else np.asarray(classes).tolist()
    if len(names) != sets.shape[1]:
        raise ValueError(f"classes must have one class per column of sets, got {len(names)} for {sets.shape[1]}.")
    place = {label: column for column, label in enumerate(names)}
    moved = np.zeros((len(sets), len(labels.classes)), dtype=bool)
    for column, label in enumerate(labels.classes.tolist()):
        if label in place:
            moved[:, column] = sets[:, place[label]]
    return moved
