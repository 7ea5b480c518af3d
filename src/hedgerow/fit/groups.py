"""Groups of rows that belong together."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import NDArray

from hedgerow.forest.grow import GrowthParams
from hedgerow.forest.rows import Groups
from hedgerow.params.resolve import bag_mean


class _NotGiven:
    """Default of `groups`, with which `fit` warns of dependent rows; None does not."""

    def __repr__(self) -> str:
        return "<look for repeats>"


NOT_GIVEN = _NotGiven()


def split_groups(X: Any, groups: Any) -> tuple[Any, Any]:
    """Return the table without the column of groups, and the groups.

    `groups` is the name of this column, or the groups themselves.
    """
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
    """Read the group labels (n,) of the rows `kept`; None means no groups."""
    if groups is None:
        return None
    labels = np.asarray(groups)
    if labels.shape != (n_rows,):
        raise ValueError(f"groups must have one label for each of the {n_rows} rows, got shape {labels.shape}.")
    if _has_missing(labels):
        raise ValueError("groups must not have missing values. Give each such row a group of its own.")
    numbers = _numbered(labels)
    return Groups.of(numbers if kept is None else numbers[kept])


def settings_for_groups(settings: GrowthParams, model: Any, target: Any, groups: Groups | None) -> GrowthParams:
    """Return the growth parameters for bootstrap samples of groups.

    Leaves count only rows of the bootstrap sample, because they must not count the group of an out-of-bag row.
    """
    if groups is None or settings.bag_mean == 0:
        alone = settings.leaf_counts == "groups"  # every row is a group
        return replace(settings, leaf_counts="distinct") if alone else settings
    if settings.leaf_counts == "oob":
        raise ValueError("leaf_counts='oob' does not support groups. Use 'distinct' or 'inbag'.")
    if settings.leaf_counts == "groups":
        _check_countable(settings, model, target)
    mean = bag_mean(model.bootstrap, model.max_samples, groups.n_groups, "groups")
    leaf_counts = "distinct" if settings.leaf_counts == "all" else settings.leaf_counts
    return replace(settings, bag_mean=mean, leaf_counts=leaf_counts)


def _check_countable(settings: GrowthParams, model: Any, target: Any) -> None:
    """Raise an error if leaves cannot count groups instead of rows."""
    targets = target.outputs if target.kind == "several" else (target,)
    if any(each.kind != "classes" or each.known is not None for each in targets):
        raise ValueError("leaf_counts='groups' requires certain labels of classes. Use 'distinct'.")
    if settings.monotonic is not None or model.class_weight == "balanced_subsample":
        raise ValueError(
            "leaf_counts='groups' does not support monotonic_cst and class_weight='balanced_subsample'. Use 'distinct'."
        )


def _has_missing(labels: NDArray[Any]) -> bool:
    """Return whether a label is None or does not equal itself, as NaN."""
    if labels.dtype.kind in "fcmM":
        return bool(np.isnan(labels).any())
    if labels.dtype.kind != "O":
        return False
    return not all(each is not None and _equals_itself(each) for each in labels)


def _equals_itself(label: Any) -> bool:
    """Return whether a label equals itself; comparing pandas.NA raises TypeError."""
    try:
        return bool(label == label)
    except TypeError:
        return False


def _numbered(labels: NDArray[Any]) -> NDArray[np.int64]:
    """Number labels (n,), which need not be sortable."""
    if labels.dtype.kind != "O":
        return np.asarray(np.unique(labels, return_inverse=True)[1]).reshape(-1).astype(np.int64)
    known: dict[Any, int] = {}
    return np.array([known.setdefault(label, len(known)) for label in labels], dtype=np.int64)
