"""Classification targets: certain or uncertain labels, and weights."""

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

from hedgerow.forest.add import counted_entries, forest_with_masses, recounted_forest
from hedgerow.forest.forest import Forest
from hedgerow.forest.rows import Bags, Entries
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
from hedgerow.labels import FocalMasses, UncertainLabels, read_labels
from hedgerow.params.checks import check_class_weight
from hedgerow.table.bins import Codes
from hedgerow.table.sums import Spread, exact_sums_by, floats_from_exact, spread_of
from hedgerow.util.text import require_text

Floats = NDArray[np.float64]

#: Share of certain rows from which on only these are evaluated out of bag. Log-loss of calibrated forests, all rows
#: less certain rows, on eight sets: 0.0025 ± 0.0020 with 70% certain rows, -0.009 ± 0.014 with 30%, -0.037 ± 0.008
#: with none.
MOSTLY = 0.5
#: Sums of weights in units are exact up to two to the power of this.
_WEIGHT_BITS = 50


@dataclass(frozen=True, eq=False)
class ClassInfo(TargetInfo):
    """Classes of a fitted model, and their shares.

    Parameters
    ----------
    prior : (K,) float64
        The shares of the classes in the training rows.
    """

    prior: Floats

    @classmethod
    def counting(cls, names: NDArray[Any], class_rows: Floats) -> ClassInfo:
        """Return the info for class counts (K,); an absent class counts as half a row."""
        counts = np.maximum(class_rows, 0.5)
        return cls(names, np.asarray(counts / counts.sum(), dtype=np.float64))

    def numbers_of(self, y: Any) -> NDArray[np.int64]:
        """Return the numbers of classes (n,); raise for unknown classes."""
        given = np.asarray(y)
        numbers = np.minimum(np.searchsorted(self.names, given), len(self.names) - 1)
        unknown = self.names[numbers] != given
        if unknown.any():
            other = given[unknown].tolist()[0]
            raise ValueError(f"y must have classes of the model, got {other!r}. Omit y to use predicted classes.")
        return numbers

    def with_names(self, names: NDArray[Any], class_rows: Floats) -> ClassInfo:
        """Return the info with more classes."""
        return ClassInfo.counting(names, class_rows)

    def joined(self, other: TargetInfo, class_rows: Floats) -> ClassInfo:
        """Return the info of both models."""
        return ClassInfo.counting(other.names, class_rows)

    def renamed(self, rename: Callable[[NDArray[Any]], NDArray[Any]]) -> ClassInfo:
        """Return the info with renamed classes."""
        return replace(self, names=rename(self.names))

    def counted(self, n_rows: int) -> tuple[tuple[float, ...], None]:
        """Return the rows of each class, (K,), without the half rows of absent classes."""
        for n_absent in range(len(self.prior) + 1):
            rows = np.rint(2 * self.prior * (n_rows + n_absent / 2)) / 2
            if (rows == 0.5).sum() == n_absent:
                break
        return tuple(np.where(rows == 0.5, 0.0, rows).tolist()), None

    def named(self, target: Target) -> NDArray[Any]:
        """Return the class of each row, (n,); None for uncertain labels and rows with uncertain cells."""
        labels: NDArray[Any] = self.names[target.truth]
        if target.known is not None:
            labels = labels.astype(object)
            labels[~target.known] = None
        return labels


@dataclass(frozen=True)
class ClassLabels(CoreTarget):
    """Labels of training rows, as the core takes them.

    Parameters
    ----------
    numbers : (n,) uint16, or (m,) if a row may have several labels
        Class numbers.
    weights : like numbers, int64, or None
        Weights in fixed point, whose sums do not depend on the order of the rows.
    weight_unit : float
        The weight of one unit of `weights`.
    n_classes : int
        K.
    balance_bag : bool
        Whether classes are balanced in the bag of every tree (requires `weights`).
    rows : (m,) uint32 or None
        The row of each of m labels if labels are uncertain: in ascending order, the most probable label of a row first
        (requires `weights`). A bag takes a row with all its labels, and the row counts once.
    masses : FocalMasses or None
        Masses of each row in the unit of its weight, which leaves keep besides the counts; None if labels are certain.
    """

    numbers: NDArray[np.uint16]
    weights: NDArray[np.int64] | None
    weight_unit: float
    n_classes: int
    balance_bag: bool = False
    rows: NDArray[np.uint32] | None = None
    masses: FocalMasses | None = None

    def take(self, rows: NDArray[Any]) -> ClassLabels:
        """Return the labels of rows, which must ascend if labels are uncertain."""
        kept, of = rows, None
        if self.rows is not None:
            kept = np.flatnonzero(np.isin(self.rows, rows))
            of = np.searchsorted(rows, self.rows[kept]).astype(np.uint32)
        weights = None if self.weights is None else self.weights[kept]
        masses = None if self.masses is None else self.masses.take(rows)
        return replace(self, numbers=self.numbers[kept], weights=weights, rows=of, masses=masses)

    def fields(self, criterion: Any) -> dict[str, Any]:
        """Return the labels, and name and parameters of the criterion in the core."""
        held = {name: getattr(self, name) for name in ("weights", "rows", "n_classes", "weight_unit", "balance_bag")}
        known: dict[str, Any] = criterion.in_core(self.n_classes)
        return {"kind": "classes", "labels": self.numbers} | held | known | {"criterion": known["name"]}

    def under(self, criterion: Any) -> ClassLabels:
        """Return these labels, or those of sets of classes if labels are uncertain and the criterion reads masses."""
        if self.masses is None or isinstance(criterion, str) or not criterion.reads_masses:
            return self
        return SetLabels.of(self, self.masses)

    def with_masses(self, forest: Forest, codes: Codes, bags: Bags, n_threads: int) -> Forest:
        """Return trees grown on these labels, whose leaves also keep the masses of uncertain ones."""
        return forest if self.masses is None else forest_with_masses(forest, codes, self.masses, bags, n_threads)


@dataclass(frozen=True, kw_only=True)
class SetLabels(ClassLabels):
    """Masses of rows as the core takes them: a label is the number of a set of classes, its weight the mass.

    Parameters
    ----------
    shares : ClassLabels
        The expected class shares of the rows, which leaves count.
    """

    shares: ClassLabels

    @classmethod
    def of(cls, shares: ClassLabels, masses: FocalMasses) -> SetLabels:
        """Return the sets of rows that have masses besides expected class shares."""
        numbers, rows = masses.which.astype(np.uint16), masses.row.astype(np.uint32)
        weights = np.maximum(1, np.rint(masses.mass / shares.weight_unit)).astype(np.int64)
        return cls(numbers, weights, shares.weight_unit, len(masses.sets), rows=rows, masses=masses, shares=shares)

    def fields(self, criterion: Any) -> dict[str, Any]:
        """Return the sets, and name and parameters of the criterion of their masses in the core."""
        held = {name: getattr(self, name) for name in ("weights", "rows", "n_classes", "weight_unit", "balance_bag")}
        assert self.masses is not None
        known: dict[str, Any] = criterion.in_core_of_sets(self.masses.sets)
        return {"kind": "classes", "labels": self.numbers} | held | known | {"criterion": known["name"]}

    def with_masses(self, forest: Forest, codes: Codes, bags: Bags, n_threads: int) -> Forest:
        """Return trees grown on these sets, whose leaves count class shares and keep masses."""
        assert self.masses is not None
        recounted = recounted_forest(forest, codes, own_weights(self.shares, codes.shape[1]), bags, n_threads)
        return self.shares.with_masses(recounted, codes, bags, n_threads)


@dataclass(frozen=True, kw_only=True)
class EntryLabels(ClassLabels):
    """Labels of the entries of rows with uncertain cells, as the core takes them.

    Parameters
    ----------
    entries : Entries
        The entries.
    of_rows : (n,) uint16
        The class number of each row.
    row_weights : (n,) float64
        The weight that leaves give to each row.
    """

    entries: Entries
    of_rows: NDArray[np.uint16]
    row_weights: Floats

    @classmethod
    def of(cls, entries: Entries, of_rows: NDArray[np.uint16], row_weights: Floats, core: ClassLabels) -> EntryLabels:
        """Return the labels of entries, given those of rows."""
        assert core.weights is not None
        weights = entries.weight * (core.weights * core.weight_unit)[entries.row]
        numbers = of_rows[entries.row].astype(np.intp)
        labels = make_labels(numbers, core.n_classes, weights, balance_bag=core.balance_bag)
        return cls(**vars(labels), entries=entries, of_rows=of_rows, row_weights=row_weights)

    def with_masses(self, forest: Forest, codes: Codes, bags: Bags, n_threads: int) -> Forest:
        """Return trees grown on these entries, whose leaves count rows."""
        held = (self.entries, self.of_rows, self.row_weights, self.n_classes)
        return counted_entries(forest, *held, bags, n_threads)


@dataclass(frozen=True, eq=False)
class ClassificationTarget:
    """Classes of n training rows.

    Parameters
    ----------
    classes : (K,) array
        All classes, including absent ones.
    core : ClassLabels
        The labels, as the core takes them.
    weights : (n,) float64 or None
        The row weights as given, times class weights.
    soft : SoftLabels or None
        The labels as given, if some are uncertain.
    shares : (n, K) float64 or None
        Expected class shares if labels are uncertain; None before refinement.
    sure : (n,) bool or None
        Rows without uncertain cells; None if there are no uncertain cells. Labels are then certain, and have shares and
        masses because leaves do.
    """

    classes: NDArray[Any]
    core: ClassLabels
    weights: Floats | None = None
    soft: SoftLabels | None = None
    shares: Floats | None = None
    sure: NDArray[np.bool_] | None = None

    kind: ClassVar[str] = "classes"

    @property
    def n_rows(self) -> int:
        """Number of rows n."""
        return len(self.labels)

    @property
    def labels(self) -> NDArray[np.uint16]:
        """Class numbers, (n,); those of the most probable class for uncertain labels."""
        return self.core.numbers if self.shares is None else self.shares.argmax(axis=1).astype(np.uint16)

    @property
    def truth(self) -> NDArray[np.uint16]:
        """True class numbers, (n,)."""
        return self.labels

    @property
    def identity(self) -> NDArray[Any]:
        """Array that is equal for two tables with the same labels."""
        return self.core.numbers if self.shares is None else self.shares

    @property
    def class_rows(self) -> tuple[float, ...]:
        """Number of rows per class, (K,); the sum of shares for uncertain labels."""
        if self.shares is not None:
            return tuple(self.shares.sum(axis=0).tolist())
        return tuple(np.bincount(self.core.numbers, minlength=len(self.classes)).astype(np.float64).tolist())

    @property
    def info(self) -> ClassInfo:
        """Classes and their shares."""
        return ClassInfo.counting(self.classes, np.array(self.class_rows))

    @property
    def own(self) -> Floats | None:
        """Contribution of each row to its leaf, (n, K), for uncertain labels; else None."""
        return None if self.soft is None else own_weights(self.core, self.n_rows)

    @property
    def own_masses(self) -> FocalMasses | None:
        """Masses that each row adds to its leaf, if labels are uncertain."""
        return self.core.masses

    @property
    def known(self) -> NDArray[np.bool_] | None:
        """Mask of the rows with a certain label and certain cells, (n,); None if all are certain."""
        if self.soft is None:
            return None
        return self.soft.labels.certain if self.sure is None else self.sure

    @property
    def expected(self) -> Floats | None:
        """Expected class shares (n, K) by which rows are evaluated out of bag; None if only certain rows are.

        Certain rows suffice where they are at least `MOSTLY` of all.
        """
        known = self.known
        return None if known is None or known.mean() >= MOSTLY else self.shares

    @property
    def judged(self) -> NDArray[np.bool_] | None:
        """Rows by which out-of-bag predictions are evaluated, (n,); None for all."""
        return self.known if self.expected is None else None

    @property
    def sure_weights(self) -> NDArray[Any] | None:
        """Row weights up to a factor, (n,); in whole units if labels are certain."""
        return self.core.weights if self.soft is None else self.weights

    def for_core(self) -> ClassLabels:
        """Return the labels as the core takes them."""
        return self.core

    def take(self, rows: NDArray[Any]) -> ClassificationTarget:
        """Return the target of some rows with certain labels, in the order given."""
        weights = None if self.weights is None else self.weights[rows]
        return replace(self, core=self.core.take(rows), weights=weights)

    def concat(self, more: ClassificationTarget) -> ClassificationTarget:
        """Return the target of these rows and later rows; `more.classes` are all classes."""
        places = among_classes(self.classes, more.classes)
        labels = np.concatenate([places[self.core.numbers], more.core.numbers]).astype(np.intp)
        weights = joined_weights(self.weights, self.n_rows, more.weights, more.n_rows)
        return ClassificationTarget(more.classes, make_labels(labels, len(more.classes), weights), weights)

    def weighing(self) -> Weighing:
        """Return the rounding of weights of later rows."""
        core, scale = self.core, 1.0
        if self.weights is not None:
            held = None if core.weights is None or core.rows is not None else core.weights * core.weight_unit
            scale = 1.0 if held is not None and np.array_equal(held, self.weights) else float(self.weights.max())
        return Weighing(scale, weight_steps(core.weights, core.weight_unit))

    def losses(self, answer: Any, rows: NDArray[Any]) -> Floats:
        """Return the 0-1 losses of opinions about some rows, (m,); expected losses if classes are."""
        if self.expected is not None:
            return np.asarray(1.0 - self.expected[rows, answer.probability.argmax(axis=1)])
        return np.asarray(answer.probability.argmax(axis=1) != self.labels[rows], dtype=np.float64)

    def standard_error(self, error: float, losses: Floats, n_rows: int) -> float:
        """Return the standard error of an error rate among n rows."""
        return math.sqrt(error * (1 - error) / max(1, n_rows))

    def with_uncertain_cells(self, sure: NDArray[np.bool_]) -> ClassificationTarget:
        """Return the target of rows of which only some (n,) have certain cells, with the masses of certain labels."""
        if self.soft is not None:
            raise ValueError("fit does not support uncertain labels and uncertain cells together. Make either certain.")
        shares = np.eye(len(self.classes))[self.labels]
        class_weight = "balanced_subsample" if self.core.balance_bag else None
        soft = SoftLabels(UncertainLabels(self.classes, shares, shares), self.weights, class_weight)
        return replace(self, soft=soft, sure=sure).with_shares(shares)

    def for_entries(self, entries: Entries) -> EntryLabels:
        """Return the labels of the entries of rows with uncertain cells, as the core takes them."""
        return EntryLabels.of(entries, self.labels, own_weights(self.core, self.n_rows).sum(axis=1), self.core)

    def with_shares(self, shares: Floats) -> ClassificationTarget:
        """Return the target with expected class shares (n, K), on which trees are grown."""
        assert self.soft is not None
        core = self.soft.spread(shares)
        masses = self.soft.weigh_masses(own_weights(core, self.n_rows), shares)
        return replace(self, shares=shares, core=replace(core, masses=masses))


def read_class_target(
    y: Any, sample_weight: Any, n_rows: int, *, class_weight: Any = None, declared: NDArray[Any] | None = None
) -> ReadTarget:
    """Read labels and weights of rows with positive weight.

    If classes are `declared`, y must not have others; declared classes may be absent.
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
    """Return the unit to which weights of later rows are rounded.

    `fixed` are the weights of the first table. A unit of 1 means that they were whole numbers; later ones need not be.
    """
    if fixed is None or unit != 1.0:
        return FINEST_WEIGHT if fixed is None else unit
    spare = _WEIGHT_BITS - int(fixed.sum()).bit_length()
    return float(2.0 ** -min(24, max(0, spare)))


#: Largest sum of the integer weights; it keeps sums of n·log n exact in 64 bits.
_TOTAL_WEIGHT = 2**39
#: Unit of expected class shares.
SHARE_UNIT = 2**-20
MAX_CLASSES = 65_535


def read_classes(y: Any, n_rows: int) -> tuple[NDArray[Any], NDArray[np.intp]]:
    """Return the classes in labels of any type, and the class number of each row.

    Raises
    ------
    ValueError
        If y is None, has missing or continuous labels, a different length than the table, or too many classes.
    """
    if y is None:
        raise ValueError("A classifier requires y to be passed, but the target y is None. Pass the labels of the rows.")
    y = labels_as_given(y)
    plain = isinstance(y, np.ndarray) and y.ndim == 1 and y.dtype.kind in "iubU"  # needs no conversion
    if not plain:
        if getattr(y, "ndim", 1) == 2 and y.shape[1] > 1:
            raise ValueError(
                f"y must be a 1d array of one label per row, got an array of shape {y.shape} instead. For"
                " plausibilities and masses, pass hedgerow.labels.from_plausibilities(y) or from_masses(y)."
            )
        with config_context(array_api_dispatch=False):  # the core reads NumPy arrays
            y = column_or_1d(y, warn=True)
    if y.dtype.kind == "f":
        assert_all_finite(y, input_name="y")
    elif y.dtype.kind == "O" and any(_is_missing(label) for label in y):
        missing = sum(_is_missing(label) for label in y)
        raise ValueError(f"y must not have missing labels, got {missing} in {len(y)} rows. Drop these rows.")
    if len(y) != n_rows:
        raise ValueError(
            f"X and y must have the same number of rows (inconsistent numbers of samples), got {n_rows} and {len(y)}."
        )
    if not plain:
        check_classification_targets(y)
    classes, numbers = np.unique(y, return_inverse=True)
    if len(classes) > MAX_CLASSES:
        raise ValueError(f"y must have at most {MAX_CLASSES} classes, got {len(classes)}. Use a regressor for numbers.")
    require_text(classes.tolist(), "classes")
    return classes, numbers


def labels_as_given(y: Any) -> Any:
    """Return labels as an array, where NumPy or scikit-learn would change them."""
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
    own = getattr(dtype, "numpy_dtype", None)  # of nullable pandas columns; floats would round integers above 2**53
    if own is not None and own.kind in "iub" and not isinstance(dtype, np.dtype) and not y.isna().any():
        return y.to_numpy(dtype=own)
    return y


def _numbers_from_objects(y: NDArray[Any]) -> NDArray[Any]:
    """Return an array of objects that are all integers or all booleans as that type."""
    labels = y.tolist()
    kinds = set(map(type, labels))
    if kinds in ({int}, {bool}) or (kinds and all(issubclass(kind, np.integer) for kind in kinds)):
        return np.array(labels)
    _check_one_type(labels)
    return y


def _check_one_type(labels: Any) -> None:
    """Raise if labels mix text and other values.

    NumPy would turn all of them into text, such as "nan" and "1".
    """
    other = [label for label in labels if not isinstance(label, str)]
    if len(other) == len(labels) or not other:
        return
    if any(_is_missing(label) for label in other):
        missing = sum(_is_missing(label) for label in other)
        raise ValueError(f"y must not have missing labels, got {missing} in {len(labels)} rows. Drop these rows.")
    text = next(label for label in labels if isinstance(label, str))
    raise ValueError(
        f"y must have labels of one type, got {text!r} and {other[0]!r}. Convert all of them to text or to numbers."
    )


def read_uncertain(labels: UncertainLabels, n_rows: int) -> tuple[NDArray[Any], NDArray[np.intp]]:
    """Return the classes of uncertain labels, and the most probable ones, (n,)."""
    if len(labels) != n_rows:
        raise ValueError(
            f"X and y must have the same number of rows (inconsistent numbers of samples), got {n_rows} and"
            f" {len(labels)}."
        )
    if len(labels.classes) > MAX_CLASSES:
        raise ValueError(f"y must have at most {MAX_CLASSES} classes, got {len(labels.classes)}. Merge rare classes.")
    require_text(labels.classes.tolist(), "classes")
    return labels.classes, labels.shares.argmax(axis=1)


def first_classes(classes: Any) -> NDArray[Any]:
    """Return the classes declared in the first call of `partial_fit`."""
    if classes is None:
        raise ValueError(
            "classes must be passed on the first call to partial_fit, got None. List all classes that may occur."
        )
    return _distinct(classes)


def check_classes(classes: NDArray[Any]) -> None:
    """Raise if classes (K,) are fractions, out of range, or too many."""
    numbers = classes.astype(np.float64) if classes.dtype.kind == "f" else None
    if numbers is not None and not ((np.abs(numbers) < 2**63) & (numbers == np.trunc(numbers))).all():
        bad = numbers[~((np.abs(numbers) < 2**63) & (numbers == np.trunc(numbers)))][0]
        raise ValueError(f"numeric classes must be 64-bit integers, got {bad:g}. Use a regressor for numbers.")
    if not 1 <= len(classes) <= MAX_CLASSES:
        raise ValueError(f"classes must be from 1 to {MAX_CLASSES} labels, got {len(classes)}.")


def declared_classes(known: NDArray[Any], classes: Any) -> NDArray[Any]:
    """Return all classes, known and newly declared, sorted."""
    if classes is None:
        return known
    declared = _distinct(classes)
    lost = [name for name in known.tolist() if name not in set(declared.tolist())]
    if lost:
        raise ValueError(f"classes must include all known classes, got a list without {lost[:5]}.")
    return known if len(declared) == len(known) else declared


def weigh_rows(
    numbers: NDArray[np.intp], classes: NDArray[Any], weights: NDArray[np.float64] | None, class_weight: Any
) -> NDArray[np.float64] | None:
    """Return row weights times class weights, (n,); None if all rows weigh the same.

    "balanced_subsample" has no effect here: the grower balances the bag of every tree.
    """
    check_class_weight(class_weight)
    if class_weight is None or class_weight == "balanced_subsample":
        return weights
    of_class = class_weights(class_weight, classes, lambda: exact_sums_by(numbers, weights, len(classes)))
    weighed: NDArray[np.float64] = of_class[numbers] * (1.0 if weights is None else weights)
    if not (weighed > 0).any():
        raise ValueError(f"class_weight must leave at least one row with a positive weight, got {class_weight!r}.")
    return weighed


def make_labels(
    numbers: NDArray[np.intp],
    n_classes: int,
    weights: NDArray[np.float64] | None,
    *,
    balance_bag: bool = False,
    rows: NDArray[np.uint32] | None = None,
) -> ClassLabels:
    """Return labels for the core; pass `rows` if a row can have several labels."""
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
    """Conversion of weights to integers: divide by `scale` and by `unit`, then round."""

    unit: float
    scale: float | None  # None if weights are multiples of the unit

    def of(self, weights: NDArray[np.float64]) -> NDArray[np.int64]:
        """Convert weights (n,) to integers (n,)."""
        if self.scale is None:
            return (weights / self.unit).astype(np.int64)
        return np.maximum(1, np.round(weights / self.scale / self.unit)).astype(np.int64)


#: Maps a function of weights (n,) to the spread of its results over all rows, which may be on many machines.
Ask: TypeAlias = Callable[[Callable[[NDArray[np.float64]], NDArray[np.float64]]], Spread]


def fixed_point_of_rows(ask: Ask, *, balance_bag: bool) -> FixedPoint | None:
    """Choose the fixed point of positive weights; None if they are all equal."""
    if balance_bag:  # fine enough for the factors of the grower
        return find_fixed_point(ask, finest=2**-12)
    weights = ask(_as_they_are)
    return None if weights.low == weights.high else find_fixed_point(ask)


def find_fixed_point(ask: Ask, finest: float = 1.0) -> FixedPoint:
    """Choose the fixed point of weights; multiples of `finest` are not rounded."""
    weights = ask(_as_they_are)
    small = weights.high <= 2**20 * finest and weights.sum <= _TOTAL_WEIGHT * finest
    if small and ask(partial(_fractions, finest)).high == 0:
        return FixedPoint(finest, None)
    shares = ask(partial(_shares_of, weights.high))  # only ratios matter, and shares cannot overflow
    return FixedPoint(shares.sum / _TOTAL_WEIGHT, weights.high)


def labels_from(
    numbers: NDArray[np.uint16],
    n_classes: int,
    weights: NDArray[np.float64] | None,
    fixed: FixedPoint | None,
    *,
    balance_bag: bool,
) -> ClassLabels:
    """Return labels for the core, with weights in the given fixed point."""
    if fixed is None or weights is None:
        return ClassLabels(numbers, None, 1.0, n_classes)
    return ClassLabels(numbers, fixed.of(weights), fixed.unit, n_classes, balance_bag=balance_bag)


def class_weights(
    class_weight: Any, classes: NDArray[Any], exact_amounts: Callable[[], list[int]]
) -> NDArray[np.float64]:
    """Return the weight of each class, (K,).

    `exact_amounts` returns the total weight of each class, and is called only for balancing.
    """
    if isinstance(class_weight, dict):
        unknown = set(class_weight) - set(classes.tolist())
        if unknown:
            raise ValueError(f"class_weight must have classes of y as keys, got {sorted(map(str, unknown))[:5]}.")
        given = [class_weight.get(label, 1.0) for label in classes.tolist()]
        of_class = np.array([value if isinstance(value, Real) else np.nan for value in given], dtype=np.float64)
        if not (np.isfinite(of_class).all() and (of_class >= 0).all() and (of_class > 0).any()):
            raise ValueError(f"class_weight must have finite values >= 0, not all zero, got {class_weight!r}.")
        return of_class
    amounts = floats_from_exact(exact_amounts())
    shares = amounts / amounts.max()
    return np.asarray(shares.sum() / (len(classes) * np.where(shares > 0, shares, 1.0)))


def _ask(weights: NDArray[np.float64], function: Callable[[NDArray[np.float64]], NDArray[np.float64]]) -> Spread:
    """Return the spread of a function of weights that are all in this process."""
    return spread_of(function(weights))


def _as_they_are(weights: NDArray[np.float64]) -> NDArray[np.float64]:
    return weights


def _fractions(unit: float, weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the distances of weights from multiples of the unit."""
    return np.asarray(np.abs(weights / unit - np.round(weights / unit)))


def _shares_of(highest: float, weights: NDArray[np.float64]) -> NDArray[np.float64]:
    return weights / highest


def _distinct(classes: Any) -> NDArray[Any]:
    """Return classes sorted and without duplicates, checked."""
    distinct = np.asarray(np.unique(column_or_1d(np.asarray(classes))))
    check_classes(distinct)
    require_text(distinct.tolist(), "classes")
    return distinct


def _is_missing(label: Any) -> bool:
    return (
        label is None or (isinstance(label, float) and np.isnan(label)) or type(label).__name__ in ("NAType", "NaTType")
    )


#: A row gets no label for a class whose share is below this times the share of its most probable class. Almost certain
#: rows then cost no more than certain ones: a third less time on digits, at the same accuracy.
NEGLIGIBLE = 0.05


@dataclass(frozen=True)
class SoftLabels:
    """Uncertain labels of training rows, with weights, during `fit`.

    Parameters
    ----------
    labels : UncertainLabels
        The labels of the n rows with positive weight.
    weights : (n,) float64 or None
        The weights of these rows.
    class_weight : str, dict or None
        The parameter of the estimator.
    """

    labels: UncertainLabels
    weights: Floats | None
    class_weight: Any

    def of_rows(self, rows: NDArray[np.uint32]) -> SoftLabels:
        """Return the labels of some of the rows."""
        return replace(self, labels=self.labels[rows], weights=None if self.weights is None else self.weights[rows])

    def spread(self, shares: Floats, *, by_class: bool = True) -> ClassLabels:
        """Return a label per possible class of each row, weighted by shares (n, K).

        The most probable class of a row comes first. Class weights apply if `by_class`.
        """
        class_weight = self.class_weight if by_class else None
        possible = np.where(_weightless(self.labels.classes, class_weight), 0.0, shares)
        leading = possible.argmax(axis=1)
        least = NEGLIGIBLE if self.labels.masses is None else 0.0  # masses bound shares from below
        negligible = possible < least * possible.max(axis=1, keepdims=True)
        units = np.where(negligible, 0.0, np.round(possible / SHARE_UNIT))
        # The most probable class takes the rounding error, so every row has a label.
        every = np.arange(len(units))
        rest = np.round(possible.sum(axis=1) / SHARE_UNIT) - units.sum(axis=1)
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

    def weigh_masses(self, own: Floats, shares: Floats) -> FocalMasses:
        """Return the masses of rows in the unit of their weights, given the weights of classes (n, K) in growth.

        Where plausibilities of classes are given, refining can move shares out of the bounds of the consonant mass. The
        belief in each focal set is then lowered to its share, so that the shares stay a completion of the masses.
        """
        focal = self.labels.focal
        row, members = focal.row, focal.sets[focal.which]
        in_set = (own[row] * members).sum(axis=1)
        if self.labels.masses is None:
            return replace(focal, mass=_lowered(focal, in_set))
        whole = own.sum(axis=1)[row]
        if self.class_weight is None:
            return replace(focal, mass=focal.mass * whole)
        share = (shares[row] * members).sum(axis=1)
        weight = np.divide(in_set, share, out=whole.copy(), where=share > 0)
        return replace(focal, mass=focal.mass * weight)


def _lowered(focal: FocalMasses, in_set: Floats) -> Floats:
    """Return consonant masses (E,) with beliefs of at most the weight of each set, (E,).

    The focal sets of a row are nested. The largest has the whole weight of the row.
    """
    first, length = focal.start[:-1], np.diff(focal.start)
    order = np.lexsort((focal.sets[focal.which].sum(axis=1), focal.row))
    running = np.cumsum(focal.mass[order])
    before = np.concatenate([[0.0], running])[first]
    whole = in_set[order][first + length - 1]
    belief = np.minimum((running - np.repeat(before, length)) * np.repeat(whole, length), in_set[order])
    belief[first + length - 1] = whole
    mass = np.diff(belief, prepend=0.0)
    mass[first] = belief[first]
    lowered = np.empty_like(mass)
    lowered[order] = np.maximum(mass, 0.0)
    return np.asarray(lowered)


def weigh_soft(labels: UncertainLabels, weights: Floats | None, class_weight: Any) -> tuple[Floats | None, SoftLabels]:
    """Return row weights (n,), 0 for omitted rows, and the labels to refine.

    A row is omitted if its weight is 0, or if all its possible classes have weight 0.
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
    """Return the contribution of each row with uncertain label to its leaf, (n, K)."""
    assert labels.rows is not None
    assert labels.weights is not None
    own = np.zeros((n_rows, labels.n_classes))
    own[labels.rows, labels.numbers] = labels.weights * labels.weight_unit
    if labels.balance_bag:  # factors differ between bags; the factors of all rows are their mean
        amounts = own.sum(axis=0)
        own *= amounts.sum() / (labels.n_classes * np.where(amounts > 0, amounts, 1.0))
    return own


def _weightless(classes: NDArray[Any], class_weight: Any) -> NDArray[np.bool_]:
    """Return which classes have weight 0, (K,)."""
    given = class_weight if isinstance(class_weight, dict) else {}
    return np.array([given.get(label, 1.0) == 0 for label in classes.tolist()])
