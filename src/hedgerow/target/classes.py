"""Classes: labels and weights as given -> class numbers, and weights in fixed point."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from numbers import Real
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from sklearn import config_context
from sklearn.utils import assert_all_finite, column_or_1d
from sklearn.utils.multiclass import check_classification_targets

from hedgerow.labels import UncertainLabels
from hedgerow.safe.text import require_text
from hedgerow.table.sums import Spread, exact_sums_by, floats_from_exact, spread_of
from hedgerow.target.base import ClassLabels

#: Weights are stored as integers whose sum is at most this, so that sums of n·log n are exact in 64 bits.
_TOTAL_WEIGHT = 2**39
#: Expected shares of the classes of a row are multiples of this.
SHARE_UNIT = 2**-20
MAX_CLASSES = 65_535
BALANCED = ("balanced", "balanced_subsample")


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


def refuse_masked(values: Any, name: str) -> None:
    """Refuse a masked array with masked cells, because NumPy would use the values under the mask."""
    if isinstance(values, np.ma.MaskedArray) and np.ma.is_masked(values):
        raise ValueError(f"{name} must not hold missing values, got {values.mask.sum()} masked ones; drop those rows")


def labels_as_given(y: Any) -> Any:
    """Labels as given -> an array of the same labels, where NumPy or scikit-learn would change them."""
    refuse_masked(y, "y")
    if isinstance(y, np.ma.MaskedArray):
        return y.data
    if isinstance(y, list | tuple):
        _check_one_kind(y)
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
    _check_one_kind(labels)
    return y


def _check_one_kind(labels: Any) -> None:
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


def among_classes(found: NDArray[Any], declared: NDArray[Any]) -> NDArray[np.intp]:
    """Classes that occur (k,), classes that may occur (K,) -> the position of the first among the second (k,).

    Raises
    ------
    ValueError
        If a class occurs that may not.
    """
    places = {name: place for place, name in enumerate(declared.tolist())}
    unknown = [name for name in found.tolist() if name not in places]
    if unknown:
        raise ValueError(
            f"y must hold classes that are known, {declared.tolist()[:10]}, got {unknown[:5]}; declare new ones with"
            " the parameter classes"
        )
    return np.array([places[name] for name in found.tolist()], dtype=np.intp)


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


def read_weights(sample_weight: Any, n_rows: int) -> NDArray[np.float64] | None:
    """Weights as given -> (n,) float64, finite, not negative, at least one above zero; None stays None."""
    weights = read_weights_of_part(sample_weight, n_rows)
    if weights is not None:
        check_some_weight(bool((weights > 0).any()))
    return weights


def read_weights_of_part(sample_weight: Any, n_rows: int) -> NDArray[np.float64] | None:
    """Weights of a part of a table -> (n,) float64, finite, not negative, perhaps all zero; None stays None."""
    if sample_weight is None:
        return None
    refuse_masked(sample_weight, "sample_weight")
    given = np.asarray(sample_weight)
    if given.dtype.kind == "c":
        raise ValueError("sample_weight must be real numbers, got complex ones; Complex data not supported")
    weights = given.astype(np.float64, copy=False)
    if weights.ndim == 0:
        weights = np.full(n_rows, float(weights))
    if weights.ndim != 1:
        raise ValueError(
            f"sample_weight must be 1D array or scalar, got {weights.ndim} dimensions; Sample weights must be 1D"
        )
    if len(weights) != n_rows:
        raise ValueError(
            f"sample_weight.shape == {weights.shape}, expected {(n_rows,)}: it must have one weight for each row of X"
        )
    if not np.isfinite(weights).all():
        raise ValueError("sample_weight must be finite, got NaN or infinity; replace those weights or drop the rows")
    if (weights < 0).any():
        raise ValueError(f"sample_weight must not be negative, got {weights.min():g}; use 0 to leave a row out")
    return weights


def check_some_weight(weighs: bool) -> None:
    """Refuse a table in which every row has the weight 0."""
    if not weighs:
        raise ValueError("sample_weight must have at least one weight above zero, got only zeros")


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


def check_class_weights(class_weight: Any) -> None:
    """Refuse an invalid `class_weight`, which may be a list with one entry for each output."""
    for each in class_weight if isinstance(class_weight, list) else [class_weight]:
        check_class_weight(each)


def check_class_weight(class_weight: Any) -> None:
    """Refuse an invalid `class_weight` of one output."""
    if not (class_weight is None or isinstance(class_weight, dict) or _is_balanced(class_weight)):
        raise ValueError(f"class_weight must be one of {BALANCED}, a dict or None, got {class_weight!r}")


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


def _is_balanced(class_weight: Any) -> bool:
    return isinstance(class_weight, str) and class_weight in BALANCED


def _is_missing(label: Any) -> bool:
    return (
        label is None or (isinstance(label, float) and np.isnan(label)) or type(label).__name__ in ("NAType", "NaTType")
    )
