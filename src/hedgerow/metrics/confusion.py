"""Confusion: true classes and chosen classes -> how often each true class meets each chosen set."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hedgerow.decisions.labels import columns_from_labels
from hedgerow.metrics.sets import checked_sets, checked_weight


@dataclass(frozen=True, eq=False)
class SetConfusion:
    """A confusion matrix whose columns are sets of classes.

    Attributes
    ----------
    counts : array (K, C)
        Rows (or their weight, if weights were given) of each true class with each chosen set.
    classes : tuple of K labels
        The true class of each row.
    sets : tuple of C tuples of labels
        The chosen set of each column: the K single classes, then the larger sets that occur, by size.
    """

    counts: NDArray[Any]
    classes: tuple[Any, ...]
    sets: tuple[tuple[Any, ...], ...]

    @property
    def column_labels(self) -> tuple[str, ...]:
        """One text per column: ``a`` for a single class, ``{a, b}`` for a set."""
        return tuple(_set_label(members) for members in self.sets)

    def __str__(self) -> str:
        head = ["true \\ chosen", *self.column_labels]
        body = [
            [str(label), *(f"{count:g}" for count in row)]
            for label, row in zip(self.classes, self.counts.tolist(), strict=True)
        ]
        widths = [max(len(line[column]) for line in [head, *body]) for column in range(len(head))]
        return "\n".join(_aligned(line, widths) for line in [head, *body])

    __repr__ = __str__

    def to_frame(self) -> Any:
        """The matrix as a pandas DataFrame (K, C), with true classes as index and sets as columns."""
        try:
            pandas = import_module("pandas")
        except ImportError as error:
            raise ImportError(
                "to_frame needs pandas, which is not installed; pip install pandas, or read counts"
            ) from error
        index = pandas.Index(self.classes, name="true")
        return pandas.DataFrame(self.counts, index=index, columns=pandas.Index(self.column_labels, name="chosen"))


def confusion_matrix_with_sets(
    y: ArrayLike,
    sets: ArrayLike,
    *,
    classes: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
) -> SetConfusion:
    """Count each true class with each chosen set.

    Parameters
    ----------
    y : array-like (n,)
        True classes.
    sets : bool array-like (n, K)
        Chosen classes, at least one in each row.
    classes : array-like (K,) or None
        The class of each column of ``sets``. None: the sorted distinct labels of ``y``.
    sample_weight : array-like (n,) or None
        Weight of each row; without it the counts are integers.

    Returns
    -------
    SetConfusion
        Rows are true classes; columns are the single classes, then the larger sets that occur.

    Examples
    --------
    >>> sets = [[True, False], [True, True], [False, True], [True, False]]
    >>> confusion_matrix_with_sets(["cat", "dog", "dog", "dog"], sets)
    true \\ chosen  cat  dog  {cat, dog}
    cat              1    0           0
    dog              1    1           1
    """
    chosen = checked_sets(sets)
    n_classes = chosen.shape[1]
    columns, labels = columns_from_labels(y, n_classes, classes)
    if len(columns) != len(chosen):
        raise ValueError(
            f"y must have one label for each of the {len(chosen)} rows of sets, got {len(columns)}; pass the "
            "labels of the same rows"
        )
    patterns, column = _patterns(chosen)
    cell = columns * len(patterns) + column
    weight = None if sample_weight is None else checked_weight(sample_weight, len(chosen))
    counts = np.bincount(cell, weight, minlength=n_classes * len(patterns)).reshape(n_classes, -1)
    names = labels.tolist()
    members = tuple(tuple(names[position] for position in np.nonzero(row)[0]) for row in patterns)
    return SetConfusion(counts, tuple(names), members)


def _patterns(chosen: NDArray[np.bool_]) -> tuple[NDArray[np.bool_], NDArray[np.intp]]:
    """(n, K) -> (C, K), (n,): the columns of the matrix, and which one each row belongs to."""
    n_classes = chosen.shape[1]
    found, group = np.unique(np.vstack([np.eye(n_classes, dtype=bool), chosen]), axis=0, return_inverse=True)
    # Sort by size, then alphabetically by class: {a, b}, {a, c}, {b, c}, {a, b, c}.
    order = np.lexsort((*(~found).T[::-1], found.sum(axis=1)))
    place = np.empty_like(order)
    place[order] = np.arange(len(order))
    return found[order], place[group.reshape(-1)[n_classes:]]


def _set_label(members: tuple[Any, ...]) -> str:
    """Labels -> the text of a column."""
    return str(members[0]) if len(members) == 1 else "{" + ", ".join(map(str, members)) + "}"


def _aligned(line: list[str], widths: list[int]) -> str:
    """Cells, widths -> one line, the first cell to the left and the others to the right."""
    first = line[0].ljust(widths[0])
    return "  ".join([first, *(cell.rjust(width) for cell, width in zip(line[1:], widths[1:], strict=True))])
