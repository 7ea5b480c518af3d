"""Class target: labels and weights as given -> the classes of training rows, certain or uncertain."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from numbers import Real
from typing import Any, ClassVar, TypeAlias

import numpy as np
from numpy.typing import NDArray
from sklearn import config_context
from sklearn.utils import assert_all_finite, column_or_1d
from sklearn.utils.multiclass import check_classification_targets

from hedgerow.forest.target import (
    FINEST_WEIGHT,
    CoreTarget,
    ReadTarget,
    Target,
    TargetInfo,
    Weighing,
    among_classes,
    joined_weights,
    read_weights,
    refuse_masked,
)
from hedgerow.labels import UncertainLabels, read_labels
from hedgerow.params.checks import check_class_weight
from hedgerow.table.sums import Spread, exact_sums_by, floats_from_exact, spread_of
from hedgerow.util.text import require_text

Floats = NDArray[np.float64]

#: Sums of weights are exact up to two to the power of this, in units.
_WEIGHT_BITS = 50


@dataclass(frozen=True, eq=False)
class ClassInfo(TargetInfo):
    """What a model remembers of classes: their names and their shares.

    Parameters
    ----------
    prior : (K,) float64
        The shares of the classes in the training rows.
    """

    prior: Floats

    @classmethod
    def counting(cls, names: NDArray[Any], class_rows: Floats) -> ClassInfo:
        """The classes, and the number of rows of each (K,); a class without rows counts as half a row."""
        counts = np.maximum(class_rows, 0.5)
        return cls(names, np.asarray(counts / counts.sum(), dtype=np.float64))

    def numbers_of(self, y: Any) -> NDArray[np.int64]:
        """Classes (n,) -> their numbers (n,); refused if one is not known."""
        given = np.asarray(y)
        numbers = np.minimum(np.searchsorted(self.names, given), len(self.names) - 1)
        unknown = self.names[numbers] != given
        if unknown.any():
            other = given[unknown].tolist()[0]
            raise ValueError(f"y must hold classes of the forest, got {other!r}; leave y out to use predicted classes")
        return numbers

    def with_names(self, names: NDArray[Any], class_rows: Floats) -> ClassInfo:
        """More classes, with their shares."""
        return ClassInfo.counting(names, class_rows)

    def joined(self, other: TargetInfo, class_rows: Floats) -> ClassInfo:
        """All classes with their shares."""
        return ClassInfo.counting(other.names, class_rows)

    def renamed(self, rename: Callable[[NDArray[Any]], NDArray[Any]]) -> ClassInfo:
        """The same with other names of the classes, in their order."""
        return replace(self, names=rename(self.names))

    def counted(self, n_rows: int) -> tuple[tuple[float, ...], None]:
        """Rows of each class (K,); the half row that stands for a class without rows is taken back."""
        for n_absent in range(len(self.prior) + 1):
            rows = np.rint(2 * self.prior * (n_rows + n_absent / 2)) / 2
            if (rows == 0.5).sum() == n_absent:
                break
        return tuple(np.where(rows == 0.5, 0.0, rows).tolist()), None

    def named(self, target: Target) -> NDArray[Any]:
        """(n,): the class of each row; None where the label is uncertain."""
        labels: NDArray[Any] = self.names[target.truth]
        if target.known is not None:
            labels = labels.astype(object)
            labels[~target.known] = None
        return labels


@dataclass(frozen=True)
class ClassLabels(CoreTarget):
    """The labels of training rows in the form in which the core takes them.

    Parameters
    ----------
    numbers : (n,) uint16, or (m,) if a row may have several labels
        Class numbers.
    weights : like numbers, int64, or None
        Weights in fixed point, so that sums do not depend on the order of the rows.
    weight_unit : float
        The weight that one unit of `weights` stands for.
    n_classes : int
        K.
    balance_bag : bool
        Whether all classes weigh the same in the bag of every tree (needs `weights`).
    rows : (m,) uint32 or None
        The row of each of m labels if labels are uncertain: in ascending order, the most probable label of a row first
        (needs `weights`). A row with several labels is still one row: it is in a bag as a whole, and it counts once.
    """

    numbers: NDArray[np.uint16]
    weights: NDArray[np.int64] | None
    weight_unit: float
    n_classes: int
    balance_bag: bool = False
    rows: NDArray[np.uint32] | None = None

    def take(self, rows: NDArray[Any]) -> ClassLabels:
        """The labels of some rows; in ascending order if rows can have several labels."""
        kept, of = rows, None
        if self.rows is not None:
            kept = np.flatnonzero(np.isin(self.rows, rows))
            of = np.searchsorted(rows, self.rows[kept]).astype(np.uint32)
        weights = None if self.weights is None else self.weights[kept]
        return replace(self, numbers=self.numbers[kept], weights=weights, rows=of)

    def fields(self, criterion: Any) -> dict[str, Any]:
        """The labels, and what the criterion is called in the core, with its parameters."""
        held = {name: getattr(self, name) for name in ("weights", "rows", "n_classes", "weight_unit", "balance_bag")}
        known: dict[str, Any] = criterion.in_core(self.n_classes)
        return {"kind": "classes", "labels": self.numbers} | held | known | {"criterion": known["name"]}


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

    def concat(self, more: ClassificationTarget) -> ClassificationTarget:
        """The target of these rows followed by later rows, whose `classes` are all classes known by then."""
        places = among_classes(self.classes, more.classes)
        labels = np.concatenate([places[self.core.numbers], more.core.numbers]).astype(np.intp)
        weights = joined_weights(self.weights, self.n_rows, more.weights, more.n_rows)
        return ClassificationTarget(more.classes, make_labels(labels, len(more.classes), weights), weights)

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


#: Weights are stored as integers whose sum is at most this, so that sums of n·log n are exact in 64 bits.
_TOTAL_WEIGHT = 2**39
#: Expected shares of the classes of a row are multiples of this.
SHARE_UNIT = 2**-20
MAX_CLASSES = 65_535


def read_classes(y: Any, n_rows: int) -> tuple[NDArray[Any], NDArray[np.intp]]:
    """Labels of any type -> (classes, class number of each row).

    Raises
    ------
    ValueError
        If y is None, has missing or continuous labels, another length than the table, or too many classes.
    """
    if y is None:
        raise ValueError("A classifier requires y to be passed, but the target y is None; pass the labels of the rows")
    y = labels_as_given(y)
    plain = isinstance(y, np.ndarray) and y.ndim == 1 and y.dtype.kind in "iubU"  # certainly classes
    if not plain:
        if getattr(y, "ndim", 1) == 2 and y.shape[1] > 1:
            raise ValueError(
                f"y must be a 1d array of one label per row, got an array of shape {y.shape} instead; for"
                " plausibilities and masses, pass hedgerow.labels.from_plausibilities(y) or from_masses(y)"
            )
        with config_context(array_api_dispatch=False):  # the core reads NumPy arrays
            y = column_or_1d(y, warn=True)
    if y.dtype.kind == "f":
        assert_all_finite(y, input_name="y")
    elif y.dtype.kind == "O" and any(_is_missing(label) for label in y):
        raise ValueError("y must not hold missing labels, got some; drop those rows")
    if len(y) != n_rows:
        raise ValueError(
            f"X and y must have the same number of rows (inconsistent numbers of samples), got {n_rows} and {len(y)}"
        )
    if not plain:
        check_classification_targets(y)
    classes, numbers = np.unique(y, return_inverse=True)
    if len(classes) > MAX_CLASSES:
        raise ValueError(f"y must hold at most {MAX_CLASSES} classes, got {len(classes)}; is this a regression?")
    require_text(classes.tolist(), "classes")
    return classes, numbers


def labels_as_given(y: Any) -> Any:
    """Labels as given -> an array of the same labels, where NumPy or scikit-learn would change them."""
    refuse_masked(y, "y")
    if isinstance(y, np.ma.MaskedArray):
        return y.data
    if isinstance(y, list | tuple):
        _check_one_type(y)
    dtype = getattr(y, "dtype", None)
    if isinstance(y, np.ndarray) and y.dtype.kind == "O" and y.ndim == 1:
        return _numbers_from_objects(y)
    if isinstance(dtype, np.dtype) and dtype.kind == "T":
        return y.astype(object)
    own = getattr(dtype, "numpy_dtype", None)  # of a nullable pandas column; floats would round integers above 2**53
    if own is not None and own.kind in "iub" and not isinstance(dtype, np.dtype) and not y.isna().any():
        return y.to_numpy(dtype=own)
    return y


def _numbers_from_objects(y: NDArray[Any]) -> NDArray[Any]:
    """An array of objects that are all integers or all booleans -> an array of that type; others unchanged."""
    labels = y.tolist()
    kinds = set(map(type, labels))
    if kinds in ({int}, {bool}) or (kinds and all(issubclass(kind, np.integer) for kind in kinds)):
        return np.array(labels)
    _check_one_type(labels)
    return y


def _check_one_type(labels: Any) -> None:
    """Refuse a list with text and other values: NumPy would turn all of them into text, such as "nan" and "1"."""
    other = [label for label in labels if not isinstance(label, str)]
    if len(other) == len(labels) or not other:
        return
    if any(_is_missing(label) for label in other):
        raise ValueError("y must not hold missing labels, got some; drop those rows")
    text = next(label for label in labels if isinstance(label, str))
    raise ValueError(
        f"y must hold labels of one kind, got {text!r} and {other[0]!r}; make all of them text, or all of them numbers"
    )


def read_uncertain(labels: UncertainLabels, n_rows: int) -> tuple[NDArray[Any], NDArray[np.intp]]:
    """Uncertain labels -> (classes, number of the most probable class of each row); refused if lengths differ."""
    if len(labels) != n_rows:
        raise ValueError(
            f"X and y must have the same number of rows (inconsistent numbers of samples), got {n_rows} and"
            f" {len(labels)}"
        )
    if len(labels.classes) > MAX_CLASSES:
        raise ValueError(f"y must hold at most {MAX_CLASSES} classes, got {len(labels.classes)}; merge rare ones")
    require_text(labels.classes.tolist(), "classes")
    return labels.classes, labels.shares.argmax(axis=1)


def first_classes(classes: Any) -> NDArray[Any]:
    """The classes that the first call of `partial_fit` must declare."""
    if classes is None:
        raise ValueError(
            "classes must be passed on the first call to partial_fit, got None; list all classes that may occur"
        )
    return _distinct(classes)


def check_classes(classes: NDArray[Any]) -> None:
    """Refuse classes (K,) that no label can be, and too many of them."""
    numbers = classes.astype(np.float64) if classes.dtype.kind == "f" else None
    if numbers is not None and not ((np.abs(numbers) < 2**63) & (numbers == np.trunc(numbers))).all():
        raise ValueError("classes that are numbers must be whole numbers of 64 bits, got others; is it a regression?")
    if not 1 <= len(classes) <= MAX_CLASSES:
        raise ValueError(f"classes must be 1 to {MAX_CLASSES} labels, got {len(classes)}")


def declared_classes(known: NDArray[Any], classes: Any) -> NDArray[Any]:
    """Known classes (K,) and newly declared classes -> all of them, sorted."""
    if classes is None:
        return known
    declared = _distinct(classes)
    lost = [name for name in known.tolist() if name not in set(declared.tolist())]
    if lost:
        raise ValueError(
            f"classes must hold those known so far, got a list without {lost[:5]}; add new ones and keep the old"
        )
    return known if len(declared) == len(known) else declared


def weigh_rows(
    numbers: NDArray[np.intp], classes: NDArray[Any], weights: NDArray[np.float64] | None, class_weight: Any
) -> NDArray[np.float64] | None:
    """Row weights (n,) or None, times the weights of their classes -> (n,); None if all rows weigh the same.

    "balanced_subsample" is left to the grower, which balances the bag of every tree.
    """
    check_class_weight(class_weight)
    if class_weight is None or class_weight == "balanced_subsample":
        return weights
    of_class = class_weights(class_weight, classes, lambda: exact_sums_by(numbers, weights, len(classes)))
    weighed: NDArray[np.float64] = of_class[numbers] * (1.0 if weights is None else weights)
    if not (weighed > 0).any():
        raise ValueError(f"class_weight must leave some row a weight above zero, got {class_weight!r}")
    return weighed


def make_labels(
    numbers: NDArray[np.intp],
    n_classes: int,
    weights: NDArray[np.float64] | None,
    *,
    balance_bag: bool = False,
    rows: NDArray[np.uint32] | None = None,
) -> ClassLabels:
    """Class numbers (n,) and weights above zero (n,) -> labels for the core; `rows` is given if a row has several."""
    labels = numbers.astype(np.uint16)
    if rows is not None and weights is not None:
        shared = find_fixed_point(partial(_ask, weights), finest=SHARE_UNIT)
        return ClassLabels(labels, shared.of(weights), shared.unit, n_classes, balance_bag=balance_bag, rows=rows)
    if weights is None and balance_bag:
        weights = np.full(len(labels), 1.0)
    fixed = None if weights is None else fixed_point_of_rows(partial(_ask, weights), balance_bag=balance_bag)
    return labels_from(labels, n_classes, weights, fixed, balance_bag=balance_bag)


@dataclass(frozen=True)
class FixedPoint:
    """How weights become integers: they are divided by `scale`, then by `unit`, and rounded."""

    unit: float
    scale: float | None  # None: weights are whole numbers of units

    def of(self, weights: NDArray[np.float64]) -> NDArray[np.int64]:
        """Weights (n,) -> integers (n,)."""
        if self.scale is None:
            return (weights / self.unit).astype(np.int64)
        return np.maximum(1, np.round(weights / self.scale / self.unit)).astype(np.int64)


#: A function of weights (n,) -> the spread of its results over the weights of all rows, even if rows are on many
#: machines.
Ask: TypeAlias = Callable[[Callable[[NDArray[np.float64]], NDArray[np.float64]]], Spread]


def fixed_point_of_rows(ask: Ask, *, balance_bag: bool) -> FixedPoint | None:
    """Weights above zero -> how they become integers; None if all are equal."""
    if balance_bag:  # in units that are fine enough for the factors by which the grower multiplies
        return find_fixed_point(ask, finest=2**-12)
    weights = ask(_as_they_are)
    return None if weights.low == weights.high else find_fixed_point(ask)


def find_fixed_point(ask: Ask, finest: float = 1.0) -> FixedPoint:
    """Weights -> how they become integers; multiples of `finest` are not rounded."""
    weights = ask(_as_they_are)
    small = weights.high <= 2**20 * finest and weights.sum <= _TOTAL_WEIGHT * finest
    if small and ask(partial(_fractions, finest)).high == 0:
        return FixedPoint(finest, None)
    shares = ask(partial(_shares_of, weights.high))  # only ratios matter, and these cannot overflow
    return FixedPoint(shares.sum / _TOTAL_WEIGHT, weights.high)


def labels_from(
    numbers: NDArray[np.uint16],
    n_classes: int,
    weights: NDArray[np.float64] | None,
    fixed: FixedPoint | None,
    *,
    balance_bag: bool,
) -> ClassLabels:
    """Class numbers (n,) and weights (n,) of some rows, and how weights become integers -> labels for the core."""
    if fixed is None or weights is None:
        return ClassLabels(numbers, None, 1.0, n_classes)
    return ClassLabels(numbers, fixed.of(weights), fixed.unit, n_classes, balance_bag=balance_bag)


def class_weights(
    class_weight: Any, classes: NDArray[Any], exact_amounts: Callable[[], list[int]]
) -> NDArray[np.float64]:
    """-> (K,) weight of each class; `exact_amounts`, the total weight of each class, is called only to balance."""
    if isinstance(class_weight, dict):
        unknown = set(class_weight) - set(classes.tolist())
        if unknown:
            raise ValueError(f"class_weight must name classes of y, got {sorted(map(str, unknown))[:5]}")
        given = [class_weight.get(label, 1.0) for label in classes.tolist()]
        of_class = np.array([value if isinstance(value, Real) else np.nan for value in given], dtype=np.float64)
        if not (np.isfinite(of_class).all() and (of_class >= 0).all() and (of_class > 0).any()):
            raise ValueError(f"class_weight must hold finite numbers >= 0, not all zero, got {class_weight!r}")
        return of_class
    amounts = floats_from_exact(exact_amounts())
    shares = amounts / amounts.max()
    return np.asarray(shares.sum() / (len(classes) * np.where(shares > 0, shares, 1.0)))


def _ask(weights: NDArray[np.float64], function: Callable[[NDArray[np.float64]], NDArray[np.float64]]) -> Spread:
    """All rows are here."""
    return spread_of(function(weights))


def _as_they_are(weights: NDArray[np.float64]) -> NDArray[np.float64]:
    return weights


def _fractions(unit: float, weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """How far weights are from multiples of the unit."""
    return np.asarray(np.abs(weights / unit - np.round(weights / unit)))


def _shares_of(highest: float, weights: NDArray[np.float64]) -> NDArray[np.float64]:
    return weights / highest


def _distinct(classes: Any) -> NDArray[Any]:
    """Classes as given -> sorted and distinct."""
    distinct = np.asarray(np.unique(column_or_1d(np.asarray(classes))))
    check_classes(distinct)
    require_text(distinct.tolist(), "classes")
    return distinct


def _is_missing(label: Any) -> bool:
    return (
        label is None or (isinstance(label, float) and np.isnan(label)) or type(label).__name__ in ("NAType", "NaTType")
    )


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
