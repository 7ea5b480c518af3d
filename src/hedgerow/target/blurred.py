"""SoftLabels: rows of uncertain class -> labels with shares, on which trees are grown."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow.labels import UncertainLabels
from hedgerow.target.base import ClassLabels
from hedgerow.target.classes import SHARE_UNIT, make_labels, weigh_rows

Floats = NDArray[np.float64]

#: A row gets no label for a class whose share is below this times that of its most probable class. So rows that are
#: almost certain cost no more than certain ones (this saves a third of the time on digits, and costs no accuracy).
NEGLIGIBLE = 0.05


@dataclass(frozen=True)
class SoftLabels:
    """Uncertain labels of training rows, with weights, while `fit` works on them.

    Parameters
    ----------
    labels : UncertainLabels
        The labels of the n rows whose weight is above zero.
    weights : (n,) float64 or None
        The weights of these rows.
    class_weight : str, dict or None
        The parameter of the estimator.
    """

    labels: UncertainLabels
    weights: Floats | None
    class_weight: Any

    def of_rows(self, rows: NDArray[np.uint32]) -> SoftLabels:
        """The same for some of the rows."""
        return replace(self, labels=self.labels[rows], weights=None if self.weights is None else self.weights[rows])

    def spread(self, shares: Floats, *, by_class: bool = True) -> ClassLabels:
        """Shares (n, K) -> a label for each possible class of each row, the most probable first, weighted by its share.

        `by_class` says whether class weights count.
        """
        class_weight = self.class_weight if by_class else None
        told = np.where(_weightless(self.labels.classes, class_weight), 0.0, shares)
        leading = told.argmax(axis=1)
        units = np.where(told < NEGLIGIBLE * told.max(axis=1, keepdims=True), 0.0, np.round(told / SHARE_UNIT))
        # The most probable class gets what rounding has left over, so that every row has a label.
        every = np.arange(len(units))
        rest = np.round(told.sum(axis=1) / SHARE_UNIT) - units.sum(axis=1)
        units[every, leading] = np.maximum(units[every, leading] + rest, 1.0)
        rows, numbers = np.nonzero(units)
        order = np.lexsort((numbers, numbers != leading[rows], rows))
        rows, numbers = rows[order], numbers[order]
        weights = units[rows, numbers] * SHARE_UNIT
        if self.weights is not None:
            weights = weights * self.weights[rows]
        weighed = weigh_rows(numbers, self.labels.classes, weights, class_weight)
        assert weighed is not None
        return make_labels(
            numbers,
            shares.shape[1],
            weighed,
            balance_bag=isinstance(class_weight, str) and class_weight == "balanced_subsample",
            rows=rows.astype(np.uint32),
        )


def weigh_soft(labels: UncertainLabels, weights: Floats | None, class_weight: Any) -> tuple[Floats | None, SoftLabels]:
    """Uncertain labels and row weights (n,) -> weights (n,), 0 for rows that are left out; and the rows to be refined.

    A row is left out if its weight is 0, or if all its possible classes have the weight 0.
    """
    soft = SoftLabels(labels, weights, class_weight)
    rows, numbers = np.nonzero(labels.contour > 0)
    each = np.ones(len(rows)) if weights is None else weights[rows]
    weighed = weigh_rows(numbers, labels.classes, each, class_weight)
    assert weighed is not None
    total = np.bincount(rows, weights=weighed, minlength=len(labels))
    if (total > 0).all():
        return None, soft
    return np.where(total > 0, 1.0, 0.0) if weights is None else np.where(total > 0, weights, 0.0), soft


def own_weights(labels: ClassLabels, n_rows: int) -> Floats:
    """Labels of rows that can have several -> (n, K): what each row adds to its leaf."""
    assert labels.rows is not None
    assert labels.weights is not None
    own = np.zeros((n_rows, labels.n_classes))
    own[labels.rows, labels.numbers] = labels.weights * labels.weight_unit
    if labels.balance_bag:  # every bag has its own factors; those of all rows are their mean
        amounts = own.sum(axis=0)
        own *= amounts.sum() / (labels.n_classes * np.where(amounts > 0, amounts, 1.0))
    return own


def _weightless(classes: NDArray[Any], class_weight: Any) -> NDArray[np.bool_]:
    """(K,): which classes have the weight 0."""
    given = class_weight if isinstance(class_weight, dict) else {}
    return np.array([given.get(label, 1.0) == 0 for label in classes.tolist()])
