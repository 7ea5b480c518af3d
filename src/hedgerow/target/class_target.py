"""Class target: labels and weights as given -> the classes of training rows, certain or uncertain."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hedgerow.labels import read_labels
from hedgerow.target.base import FINEST_WEIGHT, ClassInfo, ClassLabels, Weighing
from hedgerow.target.blurred import SoftLabels, own_weights, weigh_soft
from hedgerow.target.classes import (
    among_classes,
    make_labels,
    read_classes,
    read_uncertain,
    read_weights,
    weigh_rows,
)

Floats = NDArray[np.float64]

#: Sums of weights are exact up to two to the power of this, in units.
_WEIGHT_BITS = 50


@dataclass(frozen=True, eq=False)
class ClassificationTarget:
    """The classes of n training rows.

    Parameters
    ----------
    classes : (K,) array
        The names of all classes, including those that do not occur.
    core : Labels
        The labels in the form in which the core takes them.
    weights : (n,) float64 or None
        The weights of the rows as given, times the weights of their classes.
    blurred : SoftLabels or None
        The labels as they were given, if some are uncertain.
    shares : (n, K) float64 or None
        Expected shares of the classes if labels are uncertain; None until they are known.
    """

    classes: NDArray[Any]
    core: ClassLabels
    weights: Floats | None = None
    soft: SoftLabels | None = None
    shares: Floats | None = None

    kind: ClassVar[str] = "classes"

    @property
    def n_rows(self) -> int:
        """n."""
        return len(self.labels)

    @property
    def labels(self) -> NDArray[np.uint16]:
        """(n,): the class number of each row; of its most probable class if the label is uncertain."""
        return self.core.numbers if self.shares is None else self.shares.argmax(axis=1).astype(np.uint16)

    @property
    def truth(self) -> NDArray[np.uint16]:
        """(n,): what is to be predicted."""
        return self.labels

    @property
    def identity(self) -> NDArray[Any]:
        """An array that is equal for two tables with the same labels."""
        return self.core.numbers if self.shares is None else self.shares

    @property
    def class_rows(self) -> tuple[float, ...]:
        """(K,): the number of rows of each class; the sum of their shares if labels are uncertain."""
        if self.shares is not None:
            return tuple(self.shares.sum(axis=0).tolist())
        return tuple(np.bincount(self.core.numbers, minlength=len(self.classes)).astype(np.float64).tolist())

    @property
    def info(self) -> ClassInfo:
        """The classes and their shares."""
        return ClassInfo.counting(self.classes, np.array(self.class_rows))

    @property
    def own(self) -> Floats | None:
        """(n, K): what each row adds to its leaf if labels are uncertain, otherwise None."""
        return None if self.soft is None else own_weights(self.core, self.n_rows)

    @property
    def known(self) -> NDArray[np.bool_] | None:
        """(n,): which rows have a certain class if labels are uncertain, otherwise None."""
        return None if self.soft is None else self.soft.labels.certain

    @property
    def sure_weights(self) -> NDArray[Any] | None:
        """(n,): the weights of the rows, up to a factor; in whole units, as trees use them, if labels are certain."""
        return self.core.weights if self.soft is None else self.weights

    def for_core(self) -> ClassLabels:
        """The labels in the form in which the core takes them."""
        return self.core

    def take(self, rows: NDArray[Any]) -> ClassificationTarget:
        """The target of some rows of certain class, in the order given."""
        weights = None if self.weights is None else self.weights[rows]
        return replace(self, core=self.core.take(rows), weights=weights)

    def plus(self, later: ClassificationTarget) -> ClassificationTarget:
        """The target of these rows followed by later rows, whose `classes` are all classes known by then."""
        places = among_classes(self.classes, later.classes)
        labels = np.concatenate([places[self.core.numbers], later.core.numbers]).astype(np.intp)
        weights = joined_weights(self.weights, self.n_rows, later.weights, later.n_rows)
        return ClassificationTarget(later.classes, make_labels(labels, len(later.classes), weights), weights)

    def weighing(self) -> Weighing:
        """How weights of later rows are rounded."""
        core, scale = self.core, 1.0
        if self.weights is not None:
            held = None if core.weights is None or core.rows is not None else core.weights * core.weight_unit
            scale = 1.0 if held is not None and np.array_equal(held, self.weights) else float(self.weights.max())
        return Weighing(scale, weight_steps(core.weights, core.weight_unit))

    def losses(self, answer: Any, rows: NDArray[Any]) -> Floats:
        """An opinion about some of the rows (m,) -> (m,): 1 if its most probable class is wrong, otherwise 0."""
        return np.asarray(answer.probability.argmax(axis=1) != self.labels[rows], dtype=np.float64)

    def standard_error(self, error: float, losses: Floats, n_rows: int) -> float:
        """The standard error of a share among n rows."""
        return math.sqrt(error * (1 - error) / max(1, n_rows))

    def with_shares(self, shares: Floats) -> ClassificationTarget:
        """Expected shares (n, K) of the classes -> the target that trees are grown on."""
        assert self.soft is not None
        return replace(self, shares=shares, core=self.soft.spread(shares))


class ReadTarget(NamedTuple):
    """The target of the rows whose weight is above zero, and which rows these are (None for all)."""

    target: Any
    kept: NDArray[np.uint32] | None


def read_class_target(
    y: Any, sample_weight: Any, n_rows: int, *, class_weight: Any = None, declared: NDArray[Any] | None = None
) -> ReadTarget:
    """Labels, certain or uncertain, and weights -> the target of the rows whose weight is above zero.

    If classes are `declared`, no others may occur; they need not all occur.
    """
    uncertain = read_labels(y)
    if uncertain is None:
        classes, labels = read_classes(y, n_rows)
    else:
        classes, labels = read_uncertain(uncertain, n_rows)
    if declared is not None:
        classes, labels = declared, among_classes(classes, declared)[labels]
    weights = read_weights(sample_weight, n_rows)
    soft: SoftLabels | None = None
    if uncertain is None or uncertain.certain.all():
        weights = weigh_rows(labels, classes, weights, class_weight)
    else:
        weights, soft = weigh_soft(uncertain, weights, class_weight)
    kept = None
    if weights is not None and (weights == 0).any():
        kept = np.flatnonzero(weights).astype(np.uint32)
        labels, weights = labels[kept], weights[kept]
        soft = soft.of_rows(kept) if soft else None
    balance_bag = isinstance(class_weight, str) and class_weight == "balanced_subsample"
    core = make_labels(labels, len(classes), weights, balance_bag=balance_bag)
    return ReadTarget(ClassificationTarget(classes, core, weights, soft), kept)


def weight_steps(fixed: NDArray[np.int64] | None, unit: float) -> float:
    """Weights of the first table in fixed point -> the unit that weights of later rows are rounded to.

    If the first unit is 1, the first weights were whole numbers; later ones need not be.
    """
    if fixed is None or unit != 1.0:
        return FINEST_WEIGHT if fixed is None else unit
    spare = _WEIGHT_BITS - int(fixed.sum()).bit_length()
    return float(2.0 ** -min(24, max(0, spare)))


def joined_weights(first: Floats | None, n_first: int, second: Floats | None, n_second: int) -> Floats | None:
    """Weights of rows and of later rows, None if each weighs one -> the weights of all."""
    if first is None and second is None:
        return None
    return np.concatenate([np.ones(n) if w is None else w for w, n in ((first, n_first), (second, n_second))])
