"""Uncertain labels: sets of possible classes, plausibilities or masses; intervals of continuous targets.

A certain label is the special case of one possible class. Every classifier accepts `UncertainLabels` as y;
scikit-learn's splitters and searches index them like an array. Each label is a mass function over sets of classes:
a set has mass one, plausibilities are those of a consonant mass, and masses are kept as they are.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from hedgerow.belief import contour_from_mass, pignistic_from_mass

__all__ = [
    "IntervalTargets",
    "UncertainLabels",
    "from_intervals",
    "from_masses",
    "from_plausibilities",
    "from_sets",
]

Floats = NDArray[np.float64]
Array = NDArray[Any]


@dataclass(frozen=True, eq=False)
class FocalMasses:
    """Masses of the focal sets of n rows, sparse.

    Parameters
    ----------
    sets : (F, K) bool
        The sets that occur, each at least once, in no particular order.
    start : (n + 1,) int64
        Start of the entries of each row.
    which : (E,) int64
        Index of the set of each entry.
    mass : (E,) float64
        Mass of each entry, positive. The masses of a row sum to one, or to the weight of the row.
    """

    sets: NDArray[np.bool_]
    start: NDArray[np.int64]
    which: NDArray[np.int64]
    mass: Floats

    @classmethod
    def of_entries(cls, row: NDArray[np.intp], sets: NDArray[np.bool_], mass: Floats, n_rows: int) -> FocalMasses:
        """Return the masses of entries (E,), ascending by row, with their sets (E, K)."""
        _, first, which = np.unique(np.packbits(sets, axis=1), axis=0, return_index=True, return_inverse=True)
        lengths = np.bincount(row, minlength=n_rows)
        start = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
        return cls(sets[first], start, which.reshape(-1).astype(np.int64), mass)

    def __len__(self) -> int:
        return len(self.start) - 1

    @property
    def row(self) -> NDArray[np.int64]:
        """Row of each entry, (E,)."""
        return np.repeat(np.arange(len(self)), np.diff(self.start))

    def take(self, rows: NDArray[np.intp]) -> FocalMasses:
        """Return the masses of some rows, in the order given."""
        lengths = np.diff(self.start)[rows]
        start = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
        entries = np.arange(start[-1]) + np.repeat(self.start[:-1][rows] - start[:-1], lengths)
        return FocalMasses(self.sets, start, self.which[entries], self.mass[entries])

    def belief(self) -> Floats:
        """Return the belief of each class for each row, (n, K)."""
        return self._summed(self.sets & (self.sets.sum(axis=1, keepdims=True) == 1))

    def plausibility(self) -> Floats:
        """Return the plausibility of each class for each row, (n, K)."""
        return self._summed(self.sets)

    def _summed(self, members: NDArray[np.bool_]) -> Floats:
        """Return the sums over the entries of each row of mass times membership, (n, K)."""
        summed = sparse.csr_matrix((self.mass, self.which, self.start), shape=(len(self), len(self.sets)))
        return np.asarray(summed @ members.astype(np.float64))


@dataclass(frozen=True, eq=False, repr=False)
class UncertainLabels:
    """Uncertain labels of n rows.

    Create them with `from_sets`, `from_plausibilities` or `from_masses`.

    Parameters
    ----------
    classes : (K,) array
        Classes, in ascending order.
    contour : (n, K) float64
        Plausibility of each class for each row; 1 for the most plausible class.
    shares : (n, K) float64
        Expected class shares before the fit; rows sum to one.
    masses : FocalMasses or None
        Masses of the focal sets of each row, if labels were given as masses. None means the consonant masses of the
        contour, which for a set of possible classes is mass one on this set.

    Examples
    --------
    >>> labels = from_sets(["cat", {"cat", "dog"}, None], classes=["cat", "dog", "fox"])
    >>> labels
    UncertainLabels(3 rows, 1 certain, 3 classes)
    >>> labels[1]
    {'cat': 1.0, 'dog': 1.0}
    >>> labels[[0, 2]].certain
    array([ True, False])
    """

    classes: Array
    contour: Floats
    shares: Floats
    masses: FocalMasses | None = None

    @cached_property
    def focal(self) -> FocalMasses:
        """Masses of the focal sets of each row."""
        return consonant_masses(self.contour) if self.masses is None else self.masses

    @property
    def belief(self) -> Floats:
        """Belief of each class for each row, (n, K): its mass without any other class."""
        return self.focal.belief()

    @property
    def plausibility(self) -> Floats:
        """Plausibility of each class for each row, (n, K): the mass of the sets that contain it."""
        return self.focal.plausibility()

    @property
    def certain(self) -> NDArray[np.bool_]:
        """True for rows with only one possible class, (n,)."""
        return np.asarray((self.contour > 0).sum(axis=1) == 1)

    @property
    def shape(self) -> tuple[int]:
        """(n,), the shape of an array with one label per row."""
        return (len(self),)

    def plausibility_of(self, y: ArrayLike) -> Floats:
        """Return the plausibility (n,) of each label for its row; 0 for an unknown label."""
        columns = {label: column for column, label in enumerate(self.classes.tolist())}
        found = np.array([columns.get(label, -1) for label in np.asarray(y).tolist()], dtype=np.intp)
        return np.where(found >= 0, self.contour[np.arange(len(self)), found], 0.0)

    def __len__(self) -> int:
        return len(self.contour)

    def __getitem__(self, rows: Any) -> Any:
        """Return {class: plausibility} for one row, `UncertainLabels` for several."""
        if isinstance(rows, tuple) and len(rows) == 2 and rows[1] is Ellipsis:  # as scikit-learn indexes arrays
            rows = rows[0]
        if isinstance(rows, int | np.integer):
            plausible = self.contour[rows]
            return {self.classes[k].item(): float(plausible[k]) for k in np.flatnonzero(plausible)}
        chosen = rows if isinstance(rows, slice) else np.asarray(rows)
        if isinstance(chosen, np.ndarray) and chosen.size == 0:
            chosen = chosen.astype(np.intp)
        masses = None if self.masses is None else self.masses.take(np.arange(len(self))[chosen])
        return UncertainLabels(self.classes, self.contour[chosen], self.shares[chosen], masses)

    def __iter__(self) -> Iterator[dict[Any, float]]:
        return (self[row] for row in range(len(self)))

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        """Return the set of possible classes of each row, (n,) of object."""
        possible = np.empty(len(self), dtype=object)
        possible[:] = [frozenset(row) for row in self]
        return possible

    def __repr__(self) -> str:
        return f"UncertainLabels({len(self)} rows, {int(self.certain.sum())} certain, {len(self.classes)} classes)"


@dataclass(frozen=True, eq=False, repr=False)
class IntervalTargets:
    """Continuous targets of n rows of which only intervals are known.

    Create them with `from_intervals`. Regressors of a single output accept them as y, and scikit-learn's splitters
    index them like an array.

    Parameters
    ----------
    low, high : (n,) float64
        Ends of the intervals; equal for a target that is known.
    """

    low: Floats
    high: Floats

    @property
    def middle(self) -> Floats:
        """Midpoints, (n,)."""
        return np.where(self.certain, self.low, self.low / 2 + self.high / 2)

    @property
    def certain(self) -> NDArray[np.bool_]:
        """True for targets that are known, (n,)."""
        return np.asarray(self.low == self.high)

    @property
    def shape(self) -> tuple[int]:
        """(n,), the shape of an array with one target per row."""
        return (len(self),)

    def __len__(self) -> int:
        return len(self.low)

    def __getitem__(self, rows: Any) -> Any:
        """Return (low, high) of one row, `IntervalTargets` of several."""
        if isinstance(rows, tuple) and len(rows) == 2 and rows[1] is Ellipsis:  # as scikit-learn indexes arrays
            rows = rows[0]
        if isinstance(rows, int | np.integer):
            return float(self.low[rows]), float(self.high[rows])
        chosen = rows if isinstance(rows, slice) else np.asarray(rows)
        if isinstance(chosen, np.ndarray) and chosen.size == 0:
            chosen = chosen.astype(np.intp)
        return IntervalTargets(self.low[chosen], self.high[chosen])

    def __iter__(self) -> Iterator[tuple[float, float]]:
        return iter(zip(self.low.tolist(), self.high.tolist(), strict=True))

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        """Return the intervals as pairs, (n,) of object."""
        pairs = np.empty(len(self), dtype=object)
        pairs[:] = list(self)
        return pairs

    def __repr__(self) -> str:
        return f"IntervalTargets({len(self)} rows, {int(self.certain.sum())} certain)"


def from_intervals(low: ArrayLike, high: ArrayLike) -> IntervalTargets:
    """Create continuous targets that are known to lie in intervals.

    Parameters
    ----------
    low, high : array-like (n,)
        Finite ends. They are equal for a target that is known.

    Returns
    -------
    IntervalTargets

    Examples
    --------
    >>> from hedgerow import DecisionTreeRegressor
    >>> y = from_intervals([1.0, 2.0, 0.0], [1.0, 4.0, 8.0])
    >>> tree = DecisionTreeRegressor(max_depth=1, caution=0).fit([[0], [0], [1]], y)
    >>> tree.predict_bounds([[0], [1]]).tolist()
    [[1.5, 2.5], [0.0, 8.0]]
    """
    ends = [np.array(end, dtype=np.float64) for end in (low, high)]
    if ends[0].ndim != 1 or ends[0].shape != ends[1].shape:
        raise ValueError(f"low and high must have the same shape (n,), got {ends[0].shape} and {ends[1].shape}.")
    valid = np.isfinite(ends[0]) & np.isfinite(ends[1]) & (ends[0] <= ends[1])
    if not valid.all():
        row = int(np.flatnonzero(~valid)[0])
        raise ValueError(
            f"low must be at most high, both finite, got {ends[0][row]:g} and {ends[1][row]:g} in row {row}. For a"
            " target without a limit, pass the largest possible one."
        )
    return IntervalTargets(*ends)


def from_sets(sets: Iterable[object], classes: ArrayLike | None = None) -> UncertainLabels:
    """Create uncertain labels from sets of possible classes.

    Parameters
    ----------
    sets : iterable of n labels and sets of labels
        A set, list or tuple contains the true class. None or NaN means that any class is possible. Anything else is a
        certain label.
    classes : array-like (K,), default=None
        All classes, in any order; None means those that occur.

    Returns
    -------
    UncertainLabels

    Examples
    --------
    >>> from_sets([{1}, {1, 2}, 2]).shares.tolist()
    [[1.0, 0.0], [0.5, 0.5], [0.0, 1.0]]
    """
    possible = [_as_set(label, row) for row, label in enumerate(sets)]
    named = frozenset().union(*(each for each in possible if each is not None))
    order = _class_array(sorted(named, key=_sort_key) if classes is None else classes)
    column = {label: k for k, label in enumerate(order.tolist())}
    unknown = [label for label in named if label not in column]
    if unknown:
        raise ValueError(f"sets must contain labels among the classes {order.tolist()[:10]}, got {unknown[:5]}.")
    contour = np.zeros((len(possible), len(order)))
    for row, each in enumerate(possible):
        contour[row, slice(None) if each is None else [column[label] for label in each]] = 1.0
    return UncertainLabels(order, contour, contour / contour.sum(axis=1, keepdims=True))


def from_plausibilities(plausibilities: ArrayLike, classes: ArrayLike | None = None) -> UncertainLabels:
    """Create uncertain labels from plausibilities of classes.

    Parameters
    ----------
    plausibilities : array-like (n, K), in [0, 1]
        Plausibility of each class for each row, at least one of them positive. A row with 1 for one class and 0 for all
        others is a certain label.
    classes : array-like (K,), default=None
        Class of each column, in any order; None means 0, 1, ..., K - 1.

    Returns
    -------
    UncertainLabels
        Labels with shares proportional to the plausibilities.

    Examples
    --------
    >>> from_plausibilities([[1, 0], [1, 0.25]], classes=["no", "yes"]).shares.tolist()
    [[1.0, 0.0], [0.8, 0.2]]
    """
    contour = np.array(plausibilities, dtype=np.float64)
    if contour.ndim != 2 or contour.shape[1] == 0:
        raise ValueError(f"plausibilities must have the shape (n, K), got {contour.shape}.")
    in_range = (contour >= 0) & (contour <= 1)  # False for NaN
    if not in_range.all():
        outside = contour[~in_range][0]
        raise ValueError(f"plausibilities must lie in [0, 1], got {outside}. Divide likelihoods by their maximum.")
    if not (contour > 0).any(axis=1).all():
        row = int(np.flatnonzero(~(contour > 0).any(axis=1))[0])
        raise ValueError(f"plausibilities must be positive for at least one class, got only zeros in row {row}.")
    return _labels(contour, contour / contour.sum(axis=1, keepdims=True), classes)


def from_masses(masses: ArrayLike, classes: ArrayLike | None = None) -> UncertainLabels:
    """Create uncertain labels from masses over sets of classes.

    A fifty-fifty chance of two classes (half of the mass on each) differs from ignorance (all mass on the set of both):
    `fit` shares out the mass of a set among its classes only, and the bounds of predictions widen by it.

    Parameters
    ----------
    masses : array-like (n, 2^K)
        One mass per row, as in `hedgerow.belief`: the index of a set is its bit mask.
    classes : array-like (K,), default=None
        Class of each bit, in any order; None means 0, 1, ..., K - 1.

    Returns
    -------
    UncertainLabels

    Examples
    --------
    >>> chance, ignorance = [0, 0.5, 0.5, 0], [0, 0, 0, 1]
    >>> labels = from_masses([chance, ignorance])
    >>> labels.belief.tolist(), labels.plausibility.tolist()
    ([[0.5, 0.5], [0.0, 0.0]], [[0.5, 0.5], [1.0, 1.0]])
    """
    table = np.asarray(masses, dtype=np.float64)
    if table.ndim != 2:
        raise ValueError(f"masses must have the shape (n, 2^K), got {table.shape}.")
    labels = _labels(contour_from_mass(table), pignistic_from_mass(table), classes)
    row, number = np.nonzero(table)
    row, number = row[number > 0], number[number > 0]  # the empty set is no label
    columns = np.argsort(np.arange(labels.contour.shape[1]) if classes is None else np.asarray(classes))
    sets = (number[:, None] >> columns & 1).astype(bool)
    mass = table[row, number] / (1.0 - table[row, 0])
    return replace(labels, masses=FocalMasses.of_entries(row, sets, mass, len(table)))


def consonant_masses(contour: Floats) -> FocalMasses:
    """Return the consonant masses with given plausibilities of classes (n, K), the largest of each row 1.

    The focal sets of a row are nested: the j most plausible classes have the mass pl(j) - pl(j + 1).

    Examples
    --------
    >>> masses = consonant_masses(np.array([[1.0, 0.25]]))
    >>> masses.sets[masses.which].tolist(), masses.mass.tolist()
    ([[True, False], [True, True]], [0.75, 0.25])
    """
    order = np.argsort(-contour, axis=1, kind="stable")
    plausible = np.take_along_axis(contour, order, axis=1)
    drop = plausible - np.pad(plausible[:, 1:], ((0, 0), (0, 1)))
    row, last = np.nonzero(drop)
    rank = np.argsort(order, axis=1)
    return FocalMasses.of_entries(row, rank[row] <= last[:, None], drop[row, last], len(contour))


def read_labels(y: object) -> UncertainLabels | None:
    """Return uncertain labels, or None if every label of y is certain.

    Sets are recognised in a list, array or column. Plausibilities and masses cannot be distinguished by their shape;
    create them with `from_plausibilities` and `from_masses`.
    """
    if isinstance(y, IntervalTargets):
        raise ValueError("y must be labels, got intervals of continuous targets. Use a regressor.")
    if isinstance(y, UncertainLabels):
        return y
    if not isinstance(y, list | tuple) and str(getattr(y, "dtype", None)) != "object":
        return None
    labels: Sequence[object] = y if isinstance(y, list | tuple) else np.asarray(y).ravel().tolist()
    return from_sets(labels) if any(isinstance(label, AbstractSet) for label in labels) else None


def _labels(contour: Floats, shares: Floats, classes: ArrayLike | None) -> UncertainLabels:
    """Return labels with classes in ascending order."""
    n_classes = contour.shape[1]
    given = np.arange(n_classes) if classes is None else np.asarray(classes)
    if given.shape != (n_classes,):
        raise ValueError(f"classes must have the shape ({n_classes},), one per column, got {given.shape}.")
    order = _class_array(given)
    column = {label: k for k, label in enumerate(given.tolist())}
    columns = [column[label] for label in order.tolist()]
    scaled = contour / contour.max(axis=1, keepdims=True)
    return UncertainLabels(order, scaled[:, columns], shares[:, columns])


def _class_array(classes: ArrayLike) -> Array:
    """Return distinct classes in ascending order; raise if types are mixed."""
    given = classes if isinstance(classes, np.ndarray) else list(classes)  # type: ignore[arg-type]
    ordered = np.unique(np.asarray(given))
    if len(given) == 0 or len(ordered) != len(given):
        raise ValueError(f"classes must be distinct and not empty, got {list(given)[:10]}.")
    if set(ordered.tolist()) != {label.item() if isinstance(label, np.generic) else label for label in given}:
        raise ValueError(f"classes must be all text or all numbers, got {list(given)[:10]}.")
    return ordered


def _as_set(label: object, row: int) -> frozenset[Any] | None:
    """Return the set of possible classes of a label; None means all."""
    if label is None or (isinstance(label, float | np.floating) and np.isnan(label)):
        return None
    members = label if isinstance(label, AbstractSet | list | tuple | np.ndarray) else (label,)
    plain = frozenset(each.item() if isinstance(each, np.generic) else each for each in members)
    if not plain:
        raise ValueError(f"sets must not be empty, got an empty set in row {row}. None allows all classes.")
    return plain


def _sort_key(label: Any) -> tuple[str, Any]:
    """Return a key that also orders labels of different types, for error messages."""
    return ("number" if isinstance(label, int | float) else type(label).__name__), label
