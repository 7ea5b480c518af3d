"""Schema and bins of a training table as arrays."""

from __future__ import annotations

import reprlib
from typing import Any, get_args

import numpy as np
from numpy.typing import NDArray

from hedgerow.errors import ModelFileError
from hedgerow.storage.values import (
    Arrays,
    as_bool,
    check_starts,
    require_ascending,
    take,
    text_from_arrays,
    text_to_arrays,
)
from hedgerow.table import Schema
from hedgerow.table.bins import Bins
from hedgerow.table.categories import MAX_CATEGORIES, type_of_values
from hedgerow.table.schema import Array, Kind

#: Files store the index of a word in these tuples; add new words at the end.
KINDS: tuple[Kind, ...] = ("number", "boolean", "text", "category", "null", "date", "time")
CATEGORY_TYPES = ("none", "text", "int64", "uint64", "float64", "bool")

#: Limits on the number of features and bins.
MAX_FEATURES = 2**17 - 1
MAX_BINS = np.iinfo(np.uint16).max

assert set(KINDS) == set(get_args(Kind))


def schema_to_arrays(schema: Schema) -> tuple[dict[str, Any], Arrays]:
    """Return the schema as JSON and arrays, with all categories end to end."""
    arrays: Arrays = {
        "table.kind": np.array([KINDS.index(kind) for kind in schema.kinds], dtype=np.uint8),
        "table.category_type": np.array([_category_type(known) for known in schema.categories], dtype=np.uint8),
        "table.category_start": _starts([0 if known is None else len(known) for known in schema.categories]),
    }
    held = [known for known in schema.categories if known is not None]
    numbers = [_bits_from_numbers(known) for known in held if known.dtype.kind != "O"]
    arrays["table.categories"] = np.concatenate([np.empty(0, dtype=np.uint64), *numbers])
    arrays |= text_to_arrays("table.categories", [text for known in held if known.dtype.kind == "O" for text in known])
    if schema.names is not None:
        arrays |= text_to_arrays("table.names", schema.names)
    return {"container": schema.container, "named": schema.names is not None}, arrays


def schema_from_arrays(given: Any, arrays: Arrays) -> Schema:
    """Read the schema, validated."""
    if not (isinstance(given, dict) and isinstance(given.get("named"), bool)):
        raise ModelFileError(f"malformed 'table' ({reprlib.repr(given)}).")
    container = given.get("container")
    if not (isinstance(container, str) and container.isascii() and container.isidentifier() and len(container) <= 32):
        raise ModelFileError(f"container of table must be a short word, got {str(container)[:40]!r}.")
    kinds = take(arrays, "table.kind", np.uint8)
    n_features = len(kinds)
    if not 1 <= n_features <= MAX_FEATURES or kinds.max() >= len(KINDS):
        raise ModelFileError(f"the table must have 1 to {MAX_FEATURES:,} columns of known types, got {n_features:,}.")
    names = tuple(text_from_arrays("table.names", arrays, n_features)) if given["named"] else None
    if names is not None and len(set(names)) != n_features:
        twice = next(name for name in names if names.count(name) > 1)
        raise ModelFileError(f"column names must be unique, got {twice[:40]!r} twice.")
    categories = _categories_from_arrays(arrays, n_features)
    held = tuple(KINDS[kind] for kind in kinds.tolist())
    for kind, known in zip(held, categories, strict=True):
        if kind not in _kinds_of(known):
            raise ModelFileError(f"column types must match their categories, got {kind!r}.")
    return Schema(names, tuple(known is not None for known in categories), categories, held, container)


def bins_to_arrays(bins: Bins) -> Arrays:
    """Return the arrays of bins; the schema has the bins of categorical features."""
    return {
        "bins.cuts": bins.cuts,
        "bins.cut_start": bins.cut_start,
        "bins.centers": bins.centers,
        "bins.center_start": bins.center_start,
    }


def bins_from_arrays(arrays: Arrays, schema: Schema) -> Bins:
    """Read the bins, validated."""
    n_features = schema.n_features
    cut_start = take(arrays, "bins.cut_start", np.int64, length=n_features + 1)
    center_start = take(arrays, "bins.center_start", np.int64, length=n_features + 1)
    cuts, centers = take(arrays, "bins.cuts", np.float64), take(arrays, "bins.centers", np.float64)
    check_starts("bins.cut_start", cut_start, len(cuts))
    check_starts("bins.center_start", center_start, len(centers))
    nominal = np.array(schema.nominal, dtype=np.uint8)
    n_cuts, n_bins = np.diff(cut_start), np.diff(center_start)
    if not np.where(nominal, (n_bins == 0) & (n_cuts == 0), n_bins == n_cuts + 1).all() or n_bins.max() > MAX_BINS:
        raise ModelFileError(f"numeric columns must have 1 to {MAX_BINS:,} bins and one edge less.")
    _check_cuts(cuts, cut_start)
    if np.isnan(centers).any():
        raise ModelFileError("array 'bins.centers' must not have NaN.")
    for feature, known in enumerate(schema.categories):
        if known is not None:
            n_bins[feature] = len(known)
    return Bins(nominal, n_bins, cuts, cut_start, centers, center_start)


def _check_cuts(cuts: NDArray[np.float64], cut_start: NDArray[np.int64]) -> None:
    """Require finite ascending edges; the first of a column may be minus infinity."""
    first = np.zeros(len(cuts) + 1, dtype=bool)
    first[cut_start[:-1]] = True
    ascending = np.ones(len(cuts), dtype=bool)
    ascending[1:] = cuts[1:] > cuts[:-1]
    sound = (ascending | first[:-1]) & (np.isfinite(cuts) | (first[:-1] & np.isneginf(cuts)))
    if not sound.all():
        raise ModelFileError(f"array 'bins.cuts' must be finite and ascending, got {cuts[np.argmin(sound)]}.")


def _categories_from_arrays(arrays: Arrays, n_features: int) -> tuple[Array | None, ...]:
    """Read the categories of each column; None for numeric columns."""
    types = take(arrays, "table.category_type", np.uint8, length=n_features)
    start = take(arrays, "table.category_start", np.int64, length=n_features + 1)
    numbers, texts = take(arrays, "table.categories", np.uint64), text_from_arrays("table.categories", arrays)
    check_starts("table.category_start", start, len(numbers) + len(texts))
    counts = np.diff(start)
    if types.max() >= len(CATEGORY_TYPES) or counts.max() > MAX_CATEGORIES:
        raise ModelFileError(
            f"categories must be of a known type and at most {MAX_CATEGORIES:,}, got {counts.max():,}."
        )
    is_text = types == CATEGORY_TYPES.index("text")
    if counts[is_text].sum() != len(texts) or counts[types == 0].any():
        raise ModelFileError(f"text categories must match the columns, got {len(texts):,}.")
    categories: list[Array | None] = [None] * n_features
    n_numbers = n_texts = 0
    for feature in np.flatnonzero(types).tolist():
        word, count = CATEGORY_TYPES[types[feature]], int(counts[feature])
        if word == "text":
            known = np.fromiter(texts[n_texts : n_texts + count], dtype=object, count=count)
            n_texts += count
        else:
            known = _numbers_from_bits(numbers[n_numbers : n_numbers + count], word)
            n_numbers += count
        require_ascending(f"categories of column {feature}", known)
        categories[feature] = known
    return tuple(categories)


def _kinds_of(known: Array | None) -> tuple[Kind, ...]:
    """Return the column types that may have such categories."""
    if known is None:
        return ("number", "boolean", "null", "date", "time")
    return ("category", type_of_values(known))


def _category_type(known: Array | None) -> int:
    """Return the index of the type of categories in `CATEGORY_TYPES`."""
    if known is None:
        return 0
    return CATEGORY_TYPES.index("text" if known.dtype.kind == "O" else known.dtype.name)


def _bits_from_numbers(known: Array) -> NDArray[np.uint64]:
    """Return numbers (k,) of any category type as 64 bits each."""
    return known.astype(np.uint64) if known.dtype.kind == "b" else known.view(np.uint64)


def _numbers_from_bits(bits: NDArray[np.uint64], word: str) -> Array:
    """Return 64 bits (k,) as numbers of a type."""
    return as_bool("table.categories", bits) if word == "bool" else bits.view(word).copy()


def _starts(lengths: list[int]) -> NDArray[np.int64]:
    """Return the start of each part, and the end, (k + 1,)."""
    return np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
