"""Cross-validation folds and hold-out splits."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from hedgerow.cli.console import collected_notes
from hedgerow.cli.exit_codes import DataError, UsageError
from hedgerow.cli.files.sheet import Array, Sheet
from hedgerow.table import NamedColumns

if TYPE_CHECKING:
    from hedgerow.estimators.supervised import SupervisedTrees

Parts = list[NDArray[np.bool_]]


def columns_of(sheet: Sheet, names: tuple[str, ...], nominal: tuple[str, ...] = ()) -> NamedColumns:
    """Return columns of a sheet as a table, without repeating notes about them."""
    with collected_notes():
        columns = [sheet.column(name, nominal=True if name in nominal else None) for name in names]
        return NamedColumns(names, columns, sheet.dates)


def held_out(
    y: Array, *, folds: int | None, test_split: float | None, seed: int, by_class: bool, groups: Array | None = None
) -> Parts:
    """Return the held-out rows (n,) of each fold or of one split.

    Groups (n,) are held out whole; a group is stratified by the class of its first row.
    """
    if groups is not None:
        _, first, of_row = np.unique(groups, return_index=True, return_inverse=True)
        given: dict[str, Any] = {"folds": folds, "test_split": test_split, "seed": seed, "by_class": by_class}
        parts = [part[of_row] for part in held_out(y[first], **given)]
        if by_class and any(len(np.unique(y[~part])) < len(np.unique(y)) for part in parts):
            raise DataError(
                "Every class must occur in several groups for --folds or --test-split. Merge or remove rare classes."
            )
        return parts
    if folds is not None and test_split is not None:
        raise UsageError("--folds and --test-split exclude each other. Use one of them.")
    n_rows = len(y)
    order = np.random.default_rng(seed).permutation(n_rows)
    if by_class:
        _, classes, counts = np.unique(y, return_inverse=True, return_counts=True)
        if counts.min() < 2:
            raise DataError(
                "Every class must have at least two rows for --folds or --test-split. Merge or remove rare classes."
            )
        order = order[np.argsort(classes[order], kind="stable")]
    if test_split is not None:
        step = max(2, round(1 / test_split))
        part = np.zeros(n_rows, dtype=bool)
        part[order[np.arange(n_rows) % step == 0]] = True
        return [part]
    if folds is None or not 2 <= folds <= n_rows:
        raise UsageError(f"--folds must be from 2 to the number of rows, {n_rows:,}, got {folds}.")
    dealt = np.empty(n_rows, dtype=np.int64)
    dealt[order] = np.arange(n_rows) % folds
    return [dealt == fold for fold in range(folds)]


def refitted(
    make: Callable[[], SupervisedTrees], table: NamedColumns, y: Array, parts: Parts, groups: Array | None = None
) -> Iterator[tuple[SupervisedTrees, NDArray[np.int64]]]:
    """Yield a fitted model and its held-out rows for each part."""
    for part in parts:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                given = {} if groups is None else {"groups": groups[~part]}
                model = make().fit(table.some(np.flatnonzero(~part)), y[~part], **given)
            except ValueError as reason:  # the options are valid by now, so the data are at fault
                raise DataError(str(reason)) from None
            yield model, np.flatnonzero(part)
