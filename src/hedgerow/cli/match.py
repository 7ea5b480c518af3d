"""Columns of a table matched to a model, hold-out splits of its rows, and validation of shared options."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from hedgerow import _core
from hedgerow.cli.console import collected_notes, note, warn_if
from hedgerow.cli.exit_codes import DataError, UsageError
from hedgerow.cli.files.csv_blocks import joined
from hedgerow.cli.files.sheet import Array, Sheet
from hedgerow.cli.files.source import read_sheet
from hedgerow.cli.files.values import known_places
from hedgerow.cli.options import ReadOptions
from hedgerow.inference.fitted import fitted_of
from hedgerow.inference.notices import range_notice
from hedgerow.table import Factors, NamedColumns, Schema
from hedgerow.table.binned import compacted
from hedgerow.table.bins import PARTS
from hedgerow.table.frames import Listed
from hedgerow.util.text import folded, listed, number_of

if TYPE_CHECKING:
    from hedgerow.decisions import Decision
    from hedgerow.estimators.supervised import SupervisedTrees


#: Columns of a --labels table.
HEADS = ("column", "value", "label")


Options = TypeVar("Options", bound=ReadOptions)

#: Options that name several columns, each repeated or separated by commas.
SEVERAL = ("by", "drop", "keep", "nominal")


def read_labels(path: str | None, reading: ReadOptions) -> dict[str, dict[str, str]] | None:
    """Read display names from the table of --labels; an empty value names the column."""
    if path is None:
        return None
    sheet = read_sheet([path], reading)
    absent = [head for head in HEADS if head not in sheet.names]
    if absent:
        raise DataError(f"--labels must have the columns {', '.join(HEADS)}, got {', '.join(sheet.names)}.")
    sheet.prepare([], list(HEADS))
    found: dict[str, dict[str, str]] = {}
    for column, value, label in zip(*(sheet.cells(head).tolist() for head in HEADS), strict=True):
        found.setdefault(_text(column), {})[_text(value)] = _text(label)
    return found


def _text(cell: object) -> str:
    """Return the text of a cell, empty for a missing value."""
    return "" if cell is None or cell != cell else str(cell)


#: From this many rows on, memory of released columns is returned to the operating system.
LARGE_ROWS = 1 << 17


def table_for(
    model: SupervisedTrees,
    sheet: Sheet,
    other: tuple[str, ...] = (),
    *,
    allow_missing: bool = False,
    only_used: bool = False,
) -> NamedColumns:
    """Return the feature columns of a sheet, by name, or by position without names.

    Columns in `other` are not features. A feature that the table lacks raises an error or, with `allow_missing`, is
    missing in every row. With `only_used`, for predictions that do not show the values, numbers of a large table are
    stored as bin indices.
    """
    fitted = fitted_of(model)
    codebook, schema = fitted.codebook, fitted.schema
    names = schema.names or _by_position(sheet, schema.n_features, other)
    absent = [name for name in names if name not in sheet.names]
    if absent and not allow_missing:
        advice = _advice_on_absent(absent, names, sheet)
        raise DataError(
            f"The table lacks {listed(map(repr, absent))} of the {number_of(len(names), 'column')} of the model. Its"
            f" columns are {listed(sheet.names)}. {advice}"
        )
    if absent:
        note(f"note: {'Columns' if len(absent) > 1 else 'Column'} treated as missing: {listed(absent)}")
    ignored = [name for name in sheet.names if name not in names and name not in other]
    if ignored:
        note(f"note: Ignored {'columns' if len(ignored) > 1 else 'column'}: {listed(ignored)}")
    columns: list[Listed] = []
    units = units_of(model)
    for feature, (name, categories) in enumerate(zip(names, schema.categories, strict=True)):
        column, is_large = _fitting(sheet, name, categories), sheet.n_rows >= LARGE_ROWS
        if not isinstance(column, Factors):
            _require_unit(name, units.get(name), sheet.units.get(name))
            warn_if(range_notice(name, column, fitted, feature))
        if isinstance(column, Factors) or not (only_used and is_large):
            columns.append(column)
        else:
            columns.append(compacted(column, feature, codebook))
        del column
        if is_large:  # return the memory of the column of the file
            _core.give_back_memory()
    _tell_unseen(schema, names, columns)
    return NamedColumns(schema.names, columns)


def _advice_on_absent(absent: list[str], names: Sequence[str], sheet: Sheet) -> str:
    """Return advice about columns that a table lacks."""
    if not sheet.reading.dates and any(name.endswith(PARTS) for name in absent):
        return "Add --dates."
    alike = {folded(name): name for name in sheet.names}
    if same := [name for name in absent if folded(name) in alike]:
        return f"Rename columns, such as {alike[folded(same[0])]!r} to {same[0]!r}."
    return "Is it the right table?" if len(absent) == len(names) else "--allow-missing-columns treats them as missing."


def prepare_for(
    model: SupervisedTrees, sheet: Sheet, names: Iterable[str | None] = (), texts: Iterable[str | None] = ()
) -> None:
    """Read the columns of `table_for` and others together, `texts` as text."""
    schema: Schema = fitted_of(model).schema
    known = zip(schema.names or (), schema.categories, strict=False)
    as_text = {name for name, categories in known if categories is not None and categories.dtype == object}
    wanted, texts_wanted = {*(schema.names or sheet.names), *names}, as_text | set(texts)
    sheet.prepare(
        [name for name in sheet.names if name in wanted], [name for name in sheet.names if name in texts_wanted]
    )


def columns_named(texts: Iterable[str], known: Iterable[str] | None) -> tuple[str, ...]:
    """Split column names at commas, except known names that contain one.

    Examples
    --------
    >>> columns_named(["age,sex", "height, cm"], ["age", "sex", "height, cm"])
    ('age', 'sex', 'height, cm')
    """
    whole = set(known or ())
    return tuple(name.strip() for text in texts for name in ([text] if text in whole else text.split(",")))


def with_columns(options: Options, known: Iterable[str]) -> Options:
    """Return options whose repeatable column names are split at commas."""
    names = list(known)
    given: dict[str, Any] = {
        name: columns_named(value, names)
        for name, value in vars(options).items()
        if name in SEVERAL and isinstance(value, tuple)
    }
    return replace(options, **given)


def immutable_columns(model: SupervisedTrees, given: Iterable[str]) -> list[int | str] | None:
    """Return the columns of --immutable and those of the fit; None if there are none."""
    known = fitted_of(model).codebook.names
    names = columns_named(given, known)
    for name in names:
        if name not in known:
            raise UsageError(f"--immutable must name features of the model ({listed(known, 100)}), got {name!r}.")
    always = list(model.get_params().get("immutable_features") or ())
    return list(dict.fromkeys([*always, *names])) or None


def checked_rule(rule: str) -> str:
    """Validate the name of a combination rule."""
    from hedgerow.rules import rule_names

    _require_known("--rule", rule, rule_names())
    return rule


def checked_decision(decision: str) -> Decision:
    """Validate the name of a decision rule and return the rule."""
    from hedgerow.decisions import all_decisions, resolve_decision

    _require_known("--decision", decision, all_decisions())
    return resolve_decision(decision)


def checked_caution(caution: str, *, auto: bool) -> float | str:
    """Parse --caution: a number >= 0, or auto where it is allowed."""
    if caution == "auto" and auto:
        return caution
    try:
        number = float(caution)
    except ValueError:
        number = -1.0
    if not 0 <= number < float("inf"):
        words = "a number >= 0 or 'auto'" if auto else "a number >= 0"
        raise UsageError(f"--caution must be {words}, got {caution!r}.")
    return number


def _require_known(option: str, name: str, known: Iterable[str]) -> None:
    """Raise `UsageError` for an unknown name, with the closest known one."""
    names = list(known)
    if name not in names:
        near = get_close_matches(name, names, n=1)
        hint = f" Did you mean {near[0]}?" if near else ""
        raise UsageError(f"{option} must be one of {', '.join(names)}, got {name!r}.{hint}")


def _by_position(sheet: Sheet, n_features: int, other: tuple[str, ...]) -> tuple[str, ...]:
    """Return the names of the feature columns for a model without column names."""
    names = tuple(name for name in sheet.names if name not in other)
    if len(names) != n_features:
        raise DataError(
            f"The table must have {number_of(n_features, 'feature column')}, because the model was fitted without"
            f" column names, got {len(names)} ({listed(names)})."
        )
    return names


def _fitting(sheet: Sheet, name: str, categories: Array | None) -> Array | Factors:
    """Return a column as numbers, or as factors of the type of the categories."""
    if name not in sheet.names:
        gaps = np.full(sheet.n_rows, np.nan if categories is None else -1)
        return gaps if categories is None else Factors(gaps.astype(np.int64), categories)
    if categories is None:
        numbers = sheet.numbers(name)
        sheet.forget(name)
        return numbers
    if categories.dtype == object:
        factors = sheet.factors(name)
        texts = [str(value) for value in factors.values.tolist()]
        known = known_places(texts, categories, exact=sheet.reading.exact_text)
        spelled = [categories[place] if place >= 0 else value for value, place in zip(texts, known, strict=True)]
        return joined([Factors(factors.codes, np.array(spelled, dtype=object))])
    numbers = sheet.numbers(name)
    values, codes = np.unique(numbers[~np.isnan(numbers)], return_inverse=True)
    whole = np.full(len(numbers), -1)
    whole[~np.isnan(numbers)] = codes
    return Factors(whole, values.astype(categories.dtype))


def units_of(model: SupervisedTrees) -> dict[str, str]:
    """Return the units of columns of the training table, which its numbers do not have any more."""
    known: dict[str, str] = (fitted_of(model).learned.last("reading") or (None, {}))[1].get("units", {})
    return known


def _require_unit(name: str, known: str | None, unit: str | None) -> None:
    """Raise `DataError` for a column in another unit than in training."""
    if unit is not None and unit != known:
        was = "no unit" if known is None else f"the unit {known!r}"
        raise DataError(f"Column {name!r} must have {was}, as in training, got {unit!r}. Convert the column.")


def _tell_unseen(schema: Schema, names: tuple[str, ...], columns: list[Listed]) -> None:
    """Print a note about categories that the training data lack."""
    for name, known, column in zip(names, schema.categories, columns, strict=True):
        if known is None or not isinstance(column, Factors):
            continue
        unseen = [value for value in column.values.tolist() if value not in set(known.tolist())]
        if unseen:
            note(f"note: Column {name!r} has categories that the training data lack: {listed(unseen)}")


# ---- Cross-validation folds and hold-out splits ----------------------------------------------------------------------


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
