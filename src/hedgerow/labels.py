"""Uncertain labels: sets of possible classes, plausibilities or masses.

A certain label is the special case of one possible class. Every classifier accepts `UncertainLabels` as y;
scikit-learn's splitters and searches index them like an array.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hedgerow.belief import contour_from_mass, pignistic_from_mass

__all__ = [
    "UncertainLabels",
    "from_masses",
    "from_plausibilities",
    "from_sets",
]

Floats = NDArray[np.float64]
Array = NDArray[Any]


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
        return UncertainLabels(self.classes, self.contour[chosen], self.shares[chosen])

    def __iter__(self) -> Iterator[dict[Any, float]]:
        return (self[row] for row in range(len(self)))

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        """Return the set of possible classes of each row, (n,) of object."""
        possible = np.empty(len(self), dtype=object)
        possible[:] = [frozenset(row) for row in self]
        return possible

    def __repr__(self) -> str:
        return f"UncertainLabels({len(self)} rows, {int(self.certain.sum())} certain, {len(self.classes)} classes)"


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

    Only the plausibilities of the classes and the pignistic probabilities are kept, which is all that `fit` uses.

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
    >>> from_masses([[0, 1, 0, 0], [0, 0.5, 0, 0.5]]).contour.tolist()
    [[1.0, 0.0], [1.0, 0.5]]
    """
    table = np.asarray(masses, dtype=np.float64)
    if table.ndim != 2:
        raise ValueError(f"masses must have the shape (n, 2^K), got {table.shape}.")
    return _labels(contour_from_mass(table), pignistic_from_mass(table), classes)


def read_labels(y: object) -> UncertainLabels | None:
    """Return uncertain labels, or None if every label of y is certain.

    Sets are recognised in a list, array or column. Plausibilities and masses cannot be distinguished by their shape;
    create them with `from_plausibilities` and `from_masses`.
    """
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
