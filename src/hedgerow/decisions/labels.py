"""Columns of class labels."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray


def columns_of_rows(
    y: ArrayLike, rows: NDArray[Any], classes: ArrayLike | None = None
) -> tuple[NDArray[np.intp], NDArray[np.generic]]:
    """Find the columns of n labels; raise if there are more or fewer labels."""
    columns, order = columns_from_labels(y, rows.shape[1], classes)
    if len(columns) != len(rows):
        raise ValueError(f"y must have one label for each of the {len(rows)} rows, got {len(columns)}.")
    return columns, order


def columns_from_labels(
    y: ArrayLike, n_columns: int, classes: ArrayLike | None = None
) -> tuple[NDArray[np.intp], NDArray[np.generic]]:
    """Find the column of each label.

    Parameters
    ----------
    y : array-like (n,)
        Class labels.
    n_columns : int
        Number of columns of the matrix that the labels belong to.
    classes : array-like (n_columns,) or None
        Class of each column. None means the sorted distinct labels of ``y``.

    Returns
    -------
    columns : int array (n,)
        Position of each label in ``classes``.
    classes : array (n_columns,)
        Class of each column.

    Examples
    --------
    >>> columns, classes = columns_from_labels(["no", "yes", "no"], 2)
    >>> columns.tolist(), classes.tolist()
    ([0, 1, 0], ['no', 'yes'])
    """
    labels = np.asarray(y)
    if labels.ndim != 1:
        raise ValueError(f"y must have the shape (n,), got {labels.shape}. Pass y.ravel().")
    distinct, position = np.unique(labels, return_inverse=True)
    order = distinct if classes is None else np.asarray(classes)
    if len(order) != n_columns:
        got = f"{len(order)} distinct labels in y" if classes is None else f"{len(order)} classes"
        raise ValueError(
            f"classes must have one entry for each of the {n_columns} columns, got {got}. "
            "Pass classes=estimator.classes_."
        )
    lookup = {label: column for column, label in enumerate(order.tolist())}
    if len(lookup) != n_columns:
        raise ValueError(f"classes must be distinct, got {order.tolist()}. Pass classes=estimator.classes_.")
    unknown = [label for label in distinct.tolist() if label not in lookup]
    if unknown:
        raise ValueError(
            f"y must have labels among the classes {order.tolist()[:10]}, got {unknown[:10]}. "
            "Drop those rows, or pass the classes of the estimator."
        )
    found = np.array([lookup[label] for label in distinct.tolist()], dtype=np.intp)
    return found[position], order
