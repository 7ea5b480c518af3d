"""Groups of rows that belong together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import reduce
from typing import Any, NamedTuple, TypeAlias

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import ArrayLike, NDArray

from hedgerow.forest.grow import GrowthParams
from hedgerow.forest.rows import Groups
from hedgerow.inference.fitted import Fitted
from hedgerow.params.resolve import bag_mean
from hedgerow.params.table import TreeEstimator
from hedgerow.table.schema import TableLike


class _NotGiven:
    """Default of `groups`, with which `fit` warns of dependent rows; None does not."""

    def __repr__(self) -> str:
        return "<look for repeats>"


NOT_GIVEN = _NotGiven()
#: Groups as users pass them: labels (n,), or the name of a column of a data frame.
GroupsLike: TypeAlias = "ArrayLike | Sequence[object] | str | _NotGiven | None"


def split_groups(X: TableLike, groups: Any) -> tuple[Any, Any]:
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
    labels = _checked_labels(groups, n_rows, kept)
    return Groups.of(_numbered(labels), labels)


def labels_of_part(groups: Any, n_rows: int, kept: NDArray[np.int64] | None) -> tuple[NDArray[Any], NDArray[np.uint32]]:
    """Return the labels of the groups of some rows (g,), and the place of each row `kept` among them (n,)."""
    labels = _checked_labels(groups, n_rows, kept)
    numbers = _ranked(labels)
    return labels[np.unique(numbers, return_index=True)[1]], numbers.astype(np.uint32)


def groups_of_parts(labels: list[NDArray[Any]], of_row: list[NDArray[np.uint32]]) -> Groups | None:
    """Join results of `labels_of_part` in the order of the table; None if all rows differ."""
    numbers = _ranked(reduce(_joined, labels))
    starts = np.cumsum([0, *map(len, labels)])
    joined = np.concatenate([numbers[start + each] for start, each in zip(starts[:-1], of_row, strict=True)])
    return Groups.of(joined)


class LaterGroups(NamedTuple):
    """Groups of the rows of a later table.

    Attributes
    ----------
    of_row : (m,) int64
        Group of each row, numbered from the first new group on; earlier groups are negative.
    n_new : int
        Number of groups without earlier rows.
    of_all : Groups or None
        Groups of earlier and later rows; None if the forest has not kept its training rows.
    """

    of_row: NDArray[np.int64]
    n_new: int
    of_all: Groups | None


def read_later_groups(groups: Any, n_rows: int, kept: NDArray[np.uint32] | None, before: Fitted) -> LaterGroups | None:
    """Read the group labels (m,) of later rows, and match them with the groups of earlier rows.

    None means that every row is a group of its own. A loaded, unpickled or merged forest has not kept labels of groups:
    all groups are new to it.
    """
    grouped = {origin.n_groups > 0 for origin in before.origins if origin.bag_mean != 0}
    if True not in grouped:
        if groups is None or groups is NOT_GIVEN or not grouped:
            return None
        raise ValueError(
            "partial_fit with groups requires a forest whose first rows had groups of several rows. Fit all rows"
            " together."
        )
    if any(origin.bags.exact for origin in before.origins):
        raise ValueError("partial_fit does not support groups with bootstrap='multinomial'. Fit all rows together.")
    if groups is NOT_GIVEN:
        raise ValueError(
            "partial_fit requires groups for a forest fitted with groups. Pass the group of each row, or None if all"
            " rows are independent."
        )
    if groups is None:  # labels that equal no other
        groups = np.array([object() for _ in range(n_rows)], dtype=object)
    elif False in grouped:
        raise ValueError("partial_fit with groups does not support a forest merged with one without groups.")
    return _later(_checked_labels(groups, n_rows, kept), None if before.rows is None else before.rows.bags.groups)


def _later(labels: NDArray[Any], earlier: Groups | None) -> LaterGroups:
    """Number the groups of later rows with labels (m,)."""
    if earlier is None or earlier.labels is None:
        of_row = _ranked(labels)
        return LaterGroups(of_row, int(of_row.max(initial=-1)) + 1, None)
    n_known = earlier.n_groups
    everything = _joined(earlier.labels, labels)
    numbers = _ranked(everything)
    first = np.sort(np.unique(numbers, return_index=True)[1])
    of_all = Groups(
        np.concatenate([earlier.of_row, numbers[n_known:].astype(np.uint32)]), len(first), everything[first]
    )
    return LaterGroups(numbers[n_known:] - n_known, len(first) - n_known, of_all)


def settings_for_groups(
    settings: GrowthParams, model: TreeEstimator, target: Any, groups: Groups | None
) -> GrowthParams:
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


def _check_countable(settings: GrowthParams, model: TreeEstimator, target: Any) -> None:
    """Raise an error if leaves cannot count groups instead of rows."""
    targets = target.outputs if target.kind == "several" else (target,)
    if any(each.kind != "classes" or each.known is not None for each in targets):
        raise ValueError("leaf_counts='groups' requires certain labels of classes. Use 'distinct'.")
    if settings.monotonic is not None or model.class_weight == "balanced_subsample":
        raise ValueError(
            "leaf_counts='groups' does not support monotonic_cst and class_weight='balanced_subsample'. Use 'distinct'."
        )


def _joined(first: NDArray[Any], second: NDArray[Any]) -> NDArray[Any]:
    """Concatenate labels; those of different types remain different."""
    alike = first.dtype.kind == second.dtype.kind
    return np.concatenate([first, second] if alike else [first.astype(object), second.astype(object)])


def _ranked(labels: NDArray[Any]) -> NDArray[np.int64]:
    """Number labels (n,) in the order of their first rows."""
    _, first, inverse = np.unique(_numbered(labels), return_index=True, return_inverse=True)
    return np.asarray(np.argsort(np.argsort(first))[inverse.reshape(-1)])


def _checked_labels(groups: Any, n_rows: int, kept: NDArray[np.integer[Any]] | None) -> NDArray[Any]:
    """Return the labels (n,) of the rows `kept`."""
    labels = np.asarray(groups)
    if labels.shape != (n_rows,):
        raise ValueError(f"groups must have one label for each of the {n_rows} rows, got shape {labels.shape}.")
    if _has_missing(labels):
        raise ValueError("groups must not have missing values. Give each such row a group of its own.")
    return labels if kept is None else labels[kept]


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
