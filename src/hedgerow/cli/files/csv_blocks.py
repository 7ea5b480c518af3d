"""Blocks of CSV files as compact columns."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Collection, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from typing import Any, BinaryIO, TypeAlias

import numpy as np
from numpy.typing import NDArray

from hedgerow import _core
from hedgerow.cli.files.sheet import Array
from hedgerow.cli.files.values import POINT, NumberFormat, are_codes, is_gap, parse_texts
from hedgerow.table import Factors

#: Powers of ten that turn decimals into integers.
_SCALES = (1.0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6)
#: Try a scale on this many numbers before all of them.
_TRIED = 32


@dataclass(frozen=True)
class ScaledIntegers:
    """Numbers (n,) stored as integers over `scale`; the lowest integer is NaN."""

    whole: NDArray[np.signedinteger]
    scale: float

    def as_floats(self) -> NDArray[np.float64]:
        """Return the numbers (n,)."""
        numbers = np.empty(len(self.whole), dtype=np.float64)
        self.into(numbers)
        return numbers

    def into(self, numbers: NDArray[np.float64]) -> None:
        """Write the numbers into an array (n,)."""
        np.divide(self.whole, self.scale, out=numbers)
        numbers[self.whole == np.iinfo(self.whole.dtype).min] = np.nan


def scaled_integers(numbers: NDArray[np.float64]) -> ScaledIntegers | NDArray[np.float64]:
    """Return numbers (n,) in two or four bytes each if they are short, else a copy.

    Examples
    --------
    >>> scaled_integers(np.array([0.25, -1.5, np.nan]))
    ScaledIntegers(whole=array([    25,   -150, -32768], dtype=int16), scale=100.0)
    >>> scaled_integers(np.array([0.1 + 0.2]))
    array([0.3])
    """
    gaps = np.isnan(numbers)
    known = numbers[~gaps] if gaps.any() else numbers
    for scale in _SCALES:
        if _whole(known[:_TRIED], scale) is not None and (whole := _whole(known, scale)) is not None:
            return _scaled_integers(whole, gaps, scale)
    return numbers.copy()


def _whole(known: NDArray[np.float64], scale: float) -> NDArray[np.float64] | None:
    """Return numbers times `scale` if four-byte integers represent them exactly.

    Negative zeros are not represented.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        whole = np.rint(known * scale)
        fits = bool((np.abs(whole) < np.iinfo(np.int32).max).all() and (whole / scale == known).all())
    return whole if fits and not np.signbit(known[whole == 0]).any() else None


def _scaled_integers(whole: NDArray[np.float64], gaps: NDArray[np.bool_], scale: float) -> ScaledIntegers:
    """Return the integers in the smallest type, with its lowest value at `gaps` (n,)."""
    small = bool((np.abs(whole) < np.iinfo(np.int16).max).all())
    kind: type[np.signedinteger] = np.int16 if small else np.int32
    packed = np.full(len(gaps), np.iinfo(kind).min, dtype=kind)
    packed[~gaps] = whole
    return ScaledIntegers(packed, scale)


#: Bytes read at once. The first block is small, because it shows which columns have text. Blocks of 8 MB take 140 MB
#: more memory and no less time (a million rows × 32).
FIRST_BYTES, BLOCK_BYTES = 1 << 18, 1 << 20

#: A column of a block: numbers (n,) with NaN for missing values, or factors that include the markers of missing values.
Part = Array | ScaledIntegers | Factors
#: Columns of a block by name, and its number of rows.
Read: TypeAlias = tuple[dict[str, Part], int]

_QUOTE, _LINE_END = ord('"'), (ord("\n"), ord("\r"))


class NotPlain(Exception):
    """A block that pyarrow may read differently from Python's reader."""


@dataclass(frozen=True)
class Layout:
    """Column names, delimiter and number format of a CSV file."""

    names: tuple[str, ...]
    delimiter: str
    missing: frozenset[str]
    number_format: NumberFormat = POINT


@dataclass
class Wanted:
    """Columns to read: those of `texts` as text, the others as numbers if possible.

    Columns with numbers in some blocks and text in others are collected in `mixed`, to be read again as text.
    """

    names: Collection[str]
    texts: set[str]
    n_rows: int = 0
    mixed: set[str] = field(default_factory=set)
    _parts: dict[str, list[Part]] = field(default_factory=dict)

    def take(self, block: dict[str, Part], n_rows: int) -> None:
        """Add the rows of the next block."""
        self.n_rows += n_rows
        for name, part in block.items():
            parts = self._parts.setdefault(name, [])
            if isinstance(part, Factors):
                self.texts.add(name)
            if parts and isinstance(parts[0], Factors) != isinstance(part, Factors):
                self.mixed.add(name)
                parts.clear()
            if name not in self.mixed:
                parts.append(part)

    def columns(self) -> dict[str, Column]:
        """Return the columns that are not mixed, releasing blocks as they are joined."""
        return {name: _joined(self._parts.pop(name)) for name in list(self._parts) if name not in self.mixed}


@dataclass(frozen=True)
class NumericColumn:
    """A numeric column in parts, most of them smaller than floats."""

    parts: list[Array | ScaledIntegers]

    def as_floats(self) -> NDArray[np.float64]:
        """Return the numbers (n,)."""
        sizes = [len(part.whole) if isinstance(part, ScaledIntegers) else len(part) for part in self.parts]
        numbers = np.empty(sum(sizes), dtype=np.float64)
        for part, place in zip(self.parts, np.split(numbers, np.cumsum(sizes)[:-1]), strict=True):
            if isinstance(part, ScaledIntegers):
                part.into(place)
            else:
                place[:] = part
        return numbers


#: A complete column.
Column = NumericColumn | Factors


def part_from_texts(texts: Sequence[str], layout: Layout, as_text: bool) -> Part:
    """Return cells (n,) as numbers if all are numeric, else as factors."""
    code_of: dict[str, int] = {}
    codes = np.fromiter((code_of.setdefault(text, len(code_of)) for text in texts), np.int32, len(texts))
    found = Factors(codes, np.fromiter(code_of, dtype=object, count=len(code_of)))
    return found if as_text else _numbers_if_all(found, layout)


def read_by_arrow(file: BinaryIO, layout: Layout, wanted: Wanted) -> Iterator[int]:
    """Read all blocks in parallel; yield the number of bytes read so far.

    Raises
    ------
    NotPlain
        If pyarrow may read a block differently from Python's reader.
    """
    n_threads = os.cpu_count() or 1
    pending: deque[tuple[int, Future[Read]]] = deque()
    done = 0
    with ThreadPoolExecutor(n_threads) as pool:
        for block in _whole_rows(file):
            if pending and (done == 0 or len(pending) > n_threads):
                done += _finish(pending, wanted)
                yield done
            work = _submitted(pool, partial(_columns_of, block, layout, tuple(wanted.names), frozenset(wanted.texts)))
            pending.append((len(block), work))
        while pending:
            done += _finish(pending, wanted)
            yield done
    release_unused()


def _submitted(pool: ThreadPoolExecutor, work: Callable[[], Read]) -> Future[Read]:
    """Submit work to a pool, or do it at once if the system starts no thread."""
    try:
        return pool.submit(work)
    except RuntimeError:
        done: Future[Read] = Future()
        try:
            done.set_result(work())
        except NotPlain as error:
            done.set_exception(error)
        return done


def release_unused() -> None:
    """Return memory cached by pyarrow and freed by threads to the operating system."""
    import pyarrow

    pyarrow.default_memory_pool().release_unused()
    _core.give_back_memory()


def _finish(pending: deque[tuple[int, Future[Read]]], wanted: Wanted) -> int:
    """Take the result of the oldest block and return its number of bytes."""
    n_bytes, work = pending.popleft()
    try:
        wanted.take(*work.result())
    except NotPlain:
        for _, other in pending:
            other.cancel()
        raise
    return n_bytes


def _whole_rows(file: BinaryIO) -> Iterator[bytes]:
    """Yield blocks that end at the end of a row; the last may end anywhere."""
    rest, size = b"", FIRST_BYTES
    while more := file.read(max(size, len(rest))):
        block = rest + more
        cut = _end_of_rows(block)
        rest, size = block[cut:], BLOCK_BYTES
        if cut:
            yield block[:cut]
    if rest:
        yield rest


def _end_of_rows(block: bytes) -> int:
    """Return the length up to the last line break outside quotes."""
    quotes = _places(block, _QUOTE)
    stop = len(block)
    while True:
        cut = block.rfind(b"\n", 0, stop) + 1
        before = int(np.searchsorted(quotes, cut))
        if before % 2 == 0:
            return cut
        stop = int(quotes[before - 1])


def _columns_of(
    block: bytes, layout: Layout, names: tuple[str, ...], texts: frozenset[str]
) -> tuple[dict[str, Part], int]:
    """Return the columns of a block and its number of rows."""
    from pyarrow import ArrowInvalid

    _require_plain(block, layout.delimiter)
    if not block.strip(b"\r\n"):
        return {}, 0
    try:
        found, n_rows = _converted(block, layout, names, texts)
        if not (any(map(_may_be_codes, found.values())) and _has_padded(block, layout.delimiter)):
            return found, n_rows
    except (ArrowInvalid, _Doubtful):  # a column is not numeric, or the block is malformed
        pass
    try:
        found, n_rows = _converted(block, layout, names, frozenset(names))
    except ArrowInvalid:
        raise NotPlain from None
    parts = {
        name: part if name in texts or not isinstance(part, Factors) else _numbers_if_all(part, layout)
        for name, part in found.items()
    }
    return parts, n_rows


def _require_plain(block: bytes, delimiter: str) -> None:
    """Raise `NotPlain` for stray quotes, zero bytes, byte-order marks and non-UTF-8."""
    try:
        plain = b"\0" not in block and (block.isascii() or not block.decode().startswith("\ufeff"))
    except UnicodeDecodeError:
        plain = False
    if not plain or not _well_quoted(block, delimiter) or len(block) >= 1 << 31:
        raise NotPlain


def _well_quoted(block: bytes, delimiter: str) -> bool:
    """Test whether quotes only enclose cells, or are doubled within them."""
    quotes = _places(block, _QUOTE)
    if not len(quotes):
        return True
    ends = np.array([_QUOTE, ord(delimiter), *_LINE_END], dtype=np.uint8)
    around = np.frombuffer(b"\n" + block + b"\n", dtype=np.uint8)
    opening, closing = quotes[0::2], quotes[1::2]
    return (
        len(quotes) % 2 == 0
        and bool(np.isin(around[opening], ends).all())
        and bool(np.isin(around[closing + 2], ends).all())
    )


def _places(block: bytes, byte: int) -> Array:
    """Return the positions of a byte in a block."""
    if byte not in block:
        return np.empty(0, dtype=np.intp)
    return np.flatnonzero(np.frombuffer(block, dtype=np.uint8) == byte)


class _Doubtful(Exception):
    """A cell that pyarrow parses as a number and Python does not, such as nan(1)."""


def _converted(
    block: bytes, layout: Layout, names: tuple[str, ...], texts: frozenset[str]
) -> tuple[dict[str, Part], int]:
    """Parse a block with pyarrow; return its columns and its number of rows."""
    import pyarrow
    from pyarrow import csv

    text = pyarrow.dictionary(pyarrow.int32(), pyarrow.string())
    place = {name: str(number) for number, name in enumerate(layout.names)}
    table = csv.read_csv(
        pyarrow.BufferReader(block),
        csv.ReadOptions(use_threads=False, block_size=len(block) + 1, column_names=list(place.values())),
        csv.ParseOptions(delimiter=layout.delimiter, newlines_in_values=True),
        csv.ConvertOptions(
            include_columns=[place[name] for name in names],
            column_types={place[name]: text if name in texts else pyarrow.float64() for name in names},
            null_values=sorted(layout.missing),
            decimal_point=layout.number_format.decimal,
        ),
    )
    columns = zip(names, table.columns, strict=True)
    parts = {name: _part(column.combine_chunks(), name in texts) for name, column in columns}
    return parts, table.num_rows


def _part(column: Any, is_text: bool) -> Part:
    """Return a pyarrow column (n,) as numbers or factors."""
    if is_text:
        return Factors(column.indices.to_numpy(), np.asarray(column.dictionary.to_numpy(zero_copy_only=False), object))
    numbers: Array = column.to_numpy(zero_copy_only=False)
    if np.isnan(numbers).sum() != column.null_count:
        raise _Doubtful
    return scaled_integers(numbers)  # a copy, to let pyarrow reuse its memory for the next block


def _may_be_codes(part: Part) -> bool:
    """Test whether numbers may be codes such as 01069: non-negative integers."""
    if isinstance(part, Factors) or (isinstance(part, ScaledIntegers) and part.scale != 1):
        return False
    numbers = part.as_floats() if isinstance(part, ScaledIntegers) else part
    return bool(((numbers >= 0) & (np.floor(numbers) == numbers) | np.isnan(numbers)).all())


def _has_padded(block: bytes, delimiter: str) -> bool:
    """Test whether a cell of a block begins with a zero and another digit."""
    zeros = _places(block, ord("0"))
    around = np.frombuffer(b"\n" + block + b"\n", dtype=np.uint8)
    after = around[zeros + 2]
    zeros = zeros[(after >= ord("0")) & (after <= ord("9"))]
    return bool(np.isin(around[zeros], np.array([_QUOTE, ord(delimiter), *_LINE_END, ord(" ")], dtype=np.uint8)).any())


def _numbers_if_all(found: Factors, layout: Layout) -> Part:
    """Return factors as numbers if all are plain numbers and not codes such as 01069."""
    values = [text for text in found.values.tolist() if not is_gap(text, layout.missing)]
    if not layout.number_format.in_numbers(values) or are_codes(values):
        return found
    numbers, bad = parse_texts(found.values, layout.missing, layout.number_format)
    return found if bad.any() else numbers[found.codes]


def _joined(parts: list[Part]) -> Column:
    """Join the parts of a column."""
    numbers = [part for part in parts if not isinstance(part, Factors)]
    if numbers:
        return NumericColumn(numbers)
    return joined([part for part in parts if isinstance(part, Factors)])


def joined(parts: Sequence[Factors]) -> Factors:
    """Join factors; the result has each text once."""
    code_of: dict[str, int] = {}
    codes = []
    for part in parts:
        place = [code_of.setdefault(text, len(code_of)) for text in part.values.tolist()]
        codes.append(np.array([*place, -1], dtype=np.int32)[part.codes])
    return Factors(np.concatenate(codes), np.fromiter(code_of, dtype=object, count=len(code_of)))
