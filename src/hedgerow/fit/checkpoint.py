"""Checkpoint: trees that have been grown -> files in a folder, with which an interrupted fit continues."""

from __future__ import annotations

import json
import os
import re
import time
import zlib
from collections.abc import Callable, Iterator
from dataclasses import fields, replace
from functools import reduce
from importlib.metadata import PackageNotFoundError, version
from io import BytesIO
from pathlib import Path
from typing import Any
from zipfile import ZIP_STORED, ZipFile

import numpy as np
from numpy.lib.format import read_array_header_1_0, read_magic
from numpy.typing import NDArray

from hedgerow.errors import CheckpointError
from hedgerow.fit.progress import progress_from
from hedgerow.forest.forest import Forest, counted_rows, join_forests, trees_between
from hedgerow.forest.grow import GrowthParams
from hedgerow.forest.rows import Bags, Groups
from hedgerow.forest.target import CoreTarget
from hedgerow.forest.training import bags_of
from hedgerow.table.bins import Bins, Codes
from hedgerow.util.disk import clear_partials, write_whole

#: Trees are written this many seconds after the last ones.
SECONDS = 10.0
FORMAT = 1
#: Most bytes of the file that says what fit a folder is of.
MAX_IDENTITY = 1 << 20
_IDENTITY = "checkpoint.json"
_PART = re.compile(r"trees-(\d+)-(\d+)\.npz")

Grow = Callable[..., Forest]


class Checkpoint:
    """A folder that keeps the trees of one fit.

    A tree depends on the table, the parameters and its number. So trees in the folder need not be grown again, and a
    fit that was interrupted ends with the same forest, bit for bit, as one that was not. Files are written completely
    or not at all.

    Parameters
    ----------
    folder : str or path
        It is made if it does not exist. It must be empty, or hold trees of the same table, labels and parameters. The
        number of trees, the number of threads, and parameters that do not change trees may differ.
    """

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self._folder = Path(folder)
        self._identity = self._read_identity()

    def seed(self, random_state: Any, drawn: int) -> int:
        """The seed of the fit; without a ``random_state``, the seed of the folder, if it has one."""
        if random_state is not None or self._identity is None:
            return drawn
        seed = self._identity.get("seed")
        return seed if isinstance(seed, int) and 0 <= seed < 2**64 else drawn

    def wrap(
        self,
        grow: Grow,
        estimator: str,
        labels: CoreTarget,
        codes: Codes,
        bins: Bins,
        settings: GrowthParams,
        ccp_alpha: float,
        n_threads: int,
        groups: Groups | None = None,
    ) -> Grow:
        """A function that grows trees -> one that first looks for them in the folder, and writes new trees there."""
        self._resolve(identity_of(estimator, labels, codes, bins, settings, ccp_alpha, groups))
        bags = bags_of(settings, codes.shape[1], groups)

        def kept(first_tree: int, n_trees: int, progress: Callable[[int], bool] | None = None) -> Forest:
            parts: list[Forest] = []
            done, last = first_tree, first_tree + n_trees
            batch, pause, stopped = n_threads, SECONDS, False
            while done < last:
                found = self._read(done, last, bins, labels, bags)
                if found is None:
                    began = time.monotonic()
                    end = min(last, done + batch, self._next(done))
                    found = grow(
                        first_tree=done, n_trees=end - done, progress=progress_from(done - first_tree, progress)
                    )
                    self._write(done, found)
                    spent = max(time.monotonic() - began, 1e-6)
                    batch = max(n_threads, n_threads * int(batch * pause / spent / n_threads))
                    stopped = found.n_trees < end - done
                parts.append(found)
                done += found.n_trees
                if stopped or (progress is not None and progress(done - first_tree)):
                    break
            return reduce(join_forests, parts)

        return kept

    def _resolve(self, identity: dict[str, Any]) -> None:
        """Refuse a folder of another fit; write into an empty one which fit it belongs to."""
        if self._identity is None:
            self._folder.mkdir(parents=True, exist_ok=True)
            write_whole(self._folder / _IDENTITY, json.dumps(identity, indent=1).encode())
            self._identity = identity
            return
        different = _differences(self._identity, identity)
        if different:
            raise CheckpointError(
                f"checkpoint {str(self._folder)!r} must be of the same fit, got one that differs in"
                f" {', '.join(different)}; fit with the same table and parameters, or name another folder"
            )
        clear_partials(self._folder)

    def _read_identity(self) -> dict[str, Any] | None:
        """The identity of the fit that the folder belongs to; None if the folder is new."""
        path = self._folder / _IDENTITY
        try:
            with path.open("rb") as file:
                text = file.read(MAX_IDENTITY + 1)
        except (FileNotFoundError, NotADirectoryError):
            if self._folder.exists() and (not self._folder.is_dir() or any(map(_is_visible, self._folder.iterdir()))):
                raise CheckpointError(
                    f"checkpoint must be a new or empty folder, or one of an earlier fit, got {str(self._folder)!r},"
                    " which is something else; name another folder"
                ) from None
            return None
        try:
            identity = json.loads(text.decode("utf-8")) if len(text) <= MAX_IDENTITY else None
        except (ValueError, RecursionError) as reason:
            raise CheckpointError(
                f"checkpoint file {path} must be JSON, got something else; name another folder"
            ) from reason
        if not isinstance(identity, dict):
            raise CheckpointError(
                f"checkpoint file {path} must describe a fit, got something else; name another folder"
            )
        return identity

    def _spans(self) -> Iterator[tuple[int, int, Path]]:
        """First tree, last tree + 1 and path of every part in the folder; files with other names are ignored."""
        for path in sorted(self._folder.iterdir()):
            if found := _PART.fullmatch(path.name):
                yield int(found[1]), int(found[2]), path

    def _next(self, tree: int) -> int:
        """The next tree after this one that is in the folder, or a number larger than all."""
        return min((first for first, _, _ in self._spans() if first > tree), default=2**31)

    def _read(self, tree: int, last: int, bins: Bins, labels: CoreTarget, bags: Bags) -> Forest | None:
        """Trees `tree` to at most ``last - 1``, as many as one part has; None if `tree` is not in the folder."""
        for begin, end, path in self._spans():
            if begin <= tree < end:
                part = forest_from_bytes(path, bins, labels, replace(bags, first_tree=begin))
                if part.n_trees != end - begin:
                    raise CheckpointError(
                        f"checkpoint file {path} must hold {end - begin} trees, got {part.n_trees}; delete it"
                    )
                return trees_between(part, tree - begin, min(last, end) - begin)
        return None

    def _write(self, first: int, forest: Forest) -> None:
        """Trees from number `first` on -> a file."""
        if forest.n_trees == 0:
            return
        buffer = BytesIO()
        np.savez(buffer, n_classes=np.int64(forest.n_classes), **forest.arrays())  # type: ignore[arg-type]
        name = f"trees-{first:07}-{first + forest.n_trees:07}.npz"
        write_whole(self._folder / name, buffer.getvalue())


def _is_visible(path: Path) -> bool:
    """Whether the file is not hidden: file managers leave hidden files in folders."""
    return not path.name.startswith(".")


def identity_of(
    estimator: str,
    labels: CoreTarget,
    codes: Codes,
    bins: Bins,
    settings: GrowthParams,
    ccp_alpha: float,
    groups: Groups | None = None,
) -> dict[str, Any]:
    """Everything that trees depend on -> values for JSON: a few words and checksums."""
    told = vars(labels)
    grown = {each.name: getattr(settings, each.name) for each in fields(settings)}
    seed = grown.pop("seed")
    together = {} if groups is None else {"groups": zlib.crc32(groups.of_row.data)}
    return together | {
        "format": FORMAT,
        "version of hedgerow": _version(),
        "estimator": estimator,
        "seed": seed,
        "table": [list(codes.shape), zlib.crc32(np.ascontiguousarray(codes).data), _checksum(vars(bins))],
        "labels or weights": _checksum(told),
        "parameters": {name: repr(value) for name, value in grown.items()} | {"ccp_alpha": repr(ccp_alpha)},
    }


def forest_from_bytes(path: Path, bins: Bins, labels: CoreTarget, bags: Bags) -> Forest:
    """A file of trees -> the trees, which have been checked, and are of the kind that fits these labels and bags."""
    arrays = _read_arrays(path)
    try:
        forest = Forest.from_arrays(int(arrays.pop("n_classes")), arrays)
        _check_outputs(forest, labels)
        _check_rows(counted_rows(forest, bins), bags)
    except (ArithmeticError, KeyError, TypeError, ValueError) as reason:
        raise _damaged(path, reason) from reason
    return forest


def _read_arrays(path: Path) -> dict[str, NDArray[Any]]:
    """A file -> its arrays by name, not yet checked; they are no larger than the file."""
    try:
        with ZipFile(path) as archive:
            members = archive.infolist()
            if any(each.compress_type != ZIP_STORED for each in members):
                raise ValueError("its arrays must not be packed")
            if sum(each.file_size for each in members) > path.stat().st_size:
                raise ValueError("its arrays must fit into the file")
            return {each.filename.removesuffix(".npy"): _array_from(archive.read(each)) for each in members}
    except Exception as reason:  # readers of archives and arrays raise many types
        raise _damaged(path, reason) from reason


def _array_from(data: bytes) -> NDArray[Any]:
    """The bytes of an array as NumPy writes it -> the array, if it has as many cells as there are bytes for."""
    file = BytesIO(data)
    if read_magic(file) != (1, 0):
        raise ValueError("its arrays must be of version 1.0")
    shape, column_by_column, dtype = read_array_header_1_0(file)
    if (column_by_column and len(shape) > 1) or dtype.hasobject:
        raise ValueError("its arrays must be numbers, row by row")
    return np.frombuffer(data, dtype, offset=file.tell()).reshape(shape)


def _check_rows(found: NDArray[np.uint64], bags: Bags) -> None:
    """Refuse trees (T,) that have counted other numbers of rows than their bags say."""
    for tree, rows in enumerate(found.tolist()):
        times = bags.counted(tree, 0, bags.n_rows)
        wanted = bags.n_rows if times is None else int(times.sum())
        if rows != wanted:
            raise ValueError(f"tree {bags.first_tree + tree} must have counted {wanted:,} rows, got {rows:,}")


def _check_outputs(forest: Forest, labels: CoreTarget) -> None:
    """Refuse trees that cannot be in one forest with trees grown for these labels."""
    wanted, found = labels.parts, forest.outputs()
    if len(found) != len(wanted):
        raise ValueError(f"trees must be of {len(wanted)} outputs, got {len(found)}")
    for output, own in zip(found, wanted, strict=True):
        _check_model(output, own)


def _check_model(forest: Forest, labels: CoreTarget) -> None:
    """The same for one output."""
    if forest.n_classes != labels.n_classes:
        raise ValueError(f"trees must count {labels.n_classes} classes, got {forest.n_classes}")
    if (forest.values is None) == labels.of_numbers:
        raise ValueError("leaves must predict numbers in a regression, and only there")


def _damaged(path: Path, reason: Exception) -> CheckpointError:
    """The error about a file that cannot be used."""
    return CheckpointError(f"checkpoint file {path} must hold trees, got a damaged file: {reason}; delete it")


def _version() -> str:
    """The version of hedgerow; another version may grow other trees."""
    try:
        return version("hedgerow")
    except PackageNotFoundError:
        return "unknown"


def _differences(there: dict[str, Any], wanted: dict[str, Any]) -> list[str]:
    """Two identities -> the names of what differs; parameters by their own names."""
    named = [*wanted, *(name for name in there if name == "groups" and name not in wanted)]
    differ = [name for name in named if name != "parameters" and there.get(name) != wanted.get(name)]
    held = there.get("parameters")
    held = held if isinstance(held, dict) else {}
    return differ + [name for name, value in wanted["parameters"].items() if held.get(name) != value]


def _checksum(values: dict[str, Any]) -> int:
    """Arrays and numbers by name -> one number."""
    total = 0
    for name, value in sorted(values.items()):
        data = np.ascontiguousarray(value).tobytes() if isinstance(value, np.ndarray) else repr(value).encode()
        total = zlib.crc32(data, zlib.crc32(name.encode(), total))
    return total
