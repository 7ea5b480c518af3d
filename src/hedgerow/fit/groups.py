"""Groups of rows that belong together, as `fit` takes them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import NDArray

from hedgerow.forest.grow import GrowthParams
from hedgerow.forest.rows import Groups
from hedgerow.params.resolve import bag_mean


def split_groups(X: Any, groups: Any) -> tuple[Any, Any]:
    """A table, and groups or the name of its column with groups -> the table without this column, and the groups."""
    if not isinstance(groups, str):
        return X, groups
    if not nw.dependencies.is_into_dataframe(X):
        raise ValueError(
            f"groups must be an array unless X is a data frame, got {groups!r} for a {type(X).__name__}. Pass the"
            " groups of the rows."
        )
    frame = nw.from_native(X, eager_only=True)
    if groups not in frame.columns:
        raise ValueError(f"groups must be a column of X, got {groups!r}.")
    return frame.drop(groups).to_native(), frame[groups].to_numpy()


def read_groups(groups: Any, n_rows: int, kept: NDArray[np.uint32] | None) -> Groups | None:
    """Labels of groups (n,) or None, and the rows that are kept -> their groups; None if every row is on its own."""
    if groups is None:
        return None
    labels = np.asarray(groups)
    if labels.shape != (n_rows,):
        raise ValueError(f"groups must have one label for each of the {n_rows} rows, got shape {labels.shape}.")
    if _has_missing(labels):
        raise ValueError("groups must not have missing values. Give each such row a group of its own.")
    numbers = _numbered(labels)
    return Groups.of(numbers if kept is None else numbers[kept])


def settings_for_groups(settings: GrowthParams, model: Any, groups: Groups | None) -> GrowthParams:
    """How trees are grown -> the same for bags of groups.

    Out of bag, a row must be taken out of leaves together with its whole group, so leaves count the rows of bags only.
    """
    if groups is None or settings.bag_mean == 0:
        return settings
    if settings.leaf_counts == "oob":
        raise ValueError("leaf_counts='oob' does not support groups. Use 'distinct' or 'inbag'.")
    mean = bag_mean(model.bootstrap, model.max_samples, groups.n_groups, "groups")
    leaf_counts = "distinct" if settings.leaf_counts == "all" else settings.leaf_counts
    return replace(settings, bag_mean=mean, leaf_counts=leaf_counts)


def _has_missing(labels: NDArray[Any]) -> bool:
    """Whether a label is None, NaN or another value that does not equal itself."""
    if labels.dtype.kind in "fcmM":
        return bool(np.isnan(labels).any())
    if labels.dtype.kind != "O":
        return False
    return not all(each is not None and _equals_itself(each) for each in labels)


def _equals_itself(label: Any) -> bool:
    """Whether a label equals itself; pandas.NA gives no answer."""
    try:
        return bool(label == label)
    except TypeError:
        return False


def _numbered(labels: NDArray[Any]) -> NDArray[np.int64]:
    """Labels (n,) -> numbers (n,), equal for equal labels; objects need not have an order."""
    if labels.dtype.kind != "O":
        return np.asarray(np.unique(labels, return_inverse=True)[1]).reshape(-1).astype(np.int64)
    known: dict[Any, int] = {}
    return np.array([known.setdefault(label, len(known)) for label in labels], dtype=np.int64)
