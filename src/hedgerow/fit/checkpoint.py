"""Checkpoints: trees in a folder, with which an interrupted fit continues."""

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
from hedgerow.forest.forest import Forest, counted_rows, join_forests, trees_between
from hedgerow.forest.grow import GrowthParams, bags_of
from hedgerow.forest.rows import Bags, Groups
from hedgerow.forest.target import CoreTarget
from hedgerow.table.bins import Bins, Codes
from hedgerow.util.disk import clear_partials, write_whole

#: Approximate seconds between two files of trees.
SECONDS = 10.0
FORMAT = 1
#: Maximum size in bytes of the file that identifies the fit.
MAX_IDENTITY = 1 << 20
_IDENTITY = "checkpoint.json"
_PART = re.compile(r"trees-(\d+)-(\d+)\.npz")

Grow = Callable[..., Forest]


class Checkpoint:
    """A folder with the trees of one fit.

    A tree depends only on the table, the parameters and its number. So trees in the folder are not grown again, and an
    interrupted fit ends with a bitwise identical forest. Files are written atomically.

    Parameters
    ----------
    folder : str or path
        Created if it does not exist. It must be empty, or contain trees of the same table, labels and parameters. The
        number of trees, the number of threads, and parameters that do not change trees may differ.
    """

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self._folder = Path(folder)
        self._identity = self._read_identity()

    def seed(self, random_state: Any, drawn: int) -> int:
        """Return the seed of the fit.

        Without ``random_state``, it is that of the folder, if it has one.
        """
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
        """Return `grow` with the folder as a cache of trees."""
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
        """Raise CheckpointError for the folder of another fit.

        Write the identity of this fit into an empty one.
        """
        if self._identity is None:
            self._folder.mkdir(parents=True, exist_ok=True)
            write_whole(self._folder / _IDENTITY, json.dumps(identity, indent=1).encode())
            self._identity = identity
            return
        different = _differences(self._identity, identity)
        if different:
            raise CheckpointError(
                f"checkpoint {str(self._folder)!r} must be of the same fit, got different {', '.join(different)}. Fit"
                " with the same table and parameters, or use another folder."
            )
        clear_partials(self._folder)

    def _read_identity(self) -> dict[str, Any] | None:
        """Return the identity of the fit of the folder; None if the folder is new."""
        path = self._folder / _IDENTITY
        try:
            with path.open("rb") as file:
                text = file.read(MAX_IDENTITY + 1)
        except (FileNotFoundError, NotADirectoryError):
            if self._folder.exists() and (not self._folder.is_dir() or any(map(_is_visible, self._folder.iterdir()))):
                raise CheckpointError(
                    f"checkpoint must be a new or empty folder, or one of an earlier fit, got {str(self._folder)!r}."
                ) from None
            return None
        try:
            identity = json.loads(text.decode("utf-8")) if len(text) <= MAX_IDENTITY else None
        except (ValueError, RecursionError) as reason:
            raise CheckpointError(f"{path}: malformed checkpoint (not JSON). Use another folder.") from reason
        if not isinstance(identity, dict):
            raise CheckpointError(f"{path}: malformed checkpoint (not a JSON object). Use another folder.")
        return identity

    def _spans(self) -> Iterator[tuple[int, int, Path]]:
        """Iterate over first tree, last tree + 1 and path of the files of trees."""
        for path in sorted(self._folder.iterdir()):
            if found := _PART.fullmatch(path.name):
                yield int(found[1]), int(found[2]), path

    def _next(self, tree: int) -> int:
        """Return the next tree in the folder, or a number larger than all."""
        return min((first for first, _, _ in self._spans() if first > tree), default=2**31)

    def _read(self, tree: int, last: int, bins: Bins, labels: CoreTarget, bags: Bags) -> Forest | None:
        """Read trees `tree` to at most ``last - 1`` from one file.

        Return None if `tree` is not in the folder.
        """
        for begin, end, path in self._spans():
            if begin <= tree < end:
                part = forest_from_bytes(path, bins, labels, replace(bags, first_tree=begin))
                if part.n_trees != end - begin:
                    raise CheckpointError(
                        f"{path}: checkpoint must have {end - begin} trees, found {part.n_trees}. Delete the file."
                    )
                return trees_between(part, tree - begin, min(last, end) - begin)
        return None

    def _write(self, first: int, forest: Forest) -> None:
        """Write trees, numbered from `first`, to a file."""
        if forest.n_trees == 0:
            return
        buffer = BytesIO()
        np.savez(buffer, n_classes=np.int64(forest.n_classes), **forest.arrays())  # type: ignore[arg-type]
        name = f"trees-{first:07}-{first + forest.n_trees:07}.npz"
        write_whole(self._folder / name, buffer.getvalue())


def _is_visible(path: Path) -> bool:
    """Return whether a file is not hidden.

    File managers leave hidden files in folders.
    """
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
    """Return parameters and checksums of everything that trees depend on, as JSON."""
    grown = {each.name: getattr(settings, each.name) for each in fields(settings)}
    seed = grown.pop("seed")
    of_groups = {} if groups is None else {"groups": zlib.crc32(groups.of_row.data)}
    return of_groups | {
        "format": FORMAT,
        "version of hedgerow": _version(),
        "estimator": estimator,
        "seed": seed,
        "table": [list(codes.shape), zlib.crc32(np.ascontiguousarray(codes).data), _checksum(vars(bins))],
        "labels or weights": _checksum(vars(labels)),
        "parameters": {name: repr(value) for name, value in grown.items()} | {"ccp_alpha": repr(ccp_alpha)},
    }


def forest_from_bytes(path: Path, bins: Bins, labels: CoreTarget, bags: Bags) -> Forest:
    """Read the trees of a file, and check them against labels and bags."""
    arrays = _read_arrays(path)
    try:
        forest = Forest.from_arrays(int(arrays.pop("n_classes")), arrays)
        _check_outputs(forest, labels)
        _check_rows(counted_rows(forest, bins), bags)
    except (ArithmeticError, KeyError, TypeError, ValueError) as reason:
        raise _damaged(path, reason) from reason
    return forest


def _read_arrays(path: Path) -> dict[str, NDArray[np.generic]]:
    """Read the arrays of a file by name, not yet checked.

    They are no larger than the file.
    """
    try:
        with ZipFile(path) as archive:
            members = archive.infolist()
            if any(each.compress_type != ZIP_STORED for each in members):
                raise ValueError("arrays must not be compressed")
            if sum(each.file_size for each in members) > path.stat().st_size:
                raise ValueError("arrays must not be larger than the file")
            return {each.filename.removesuffix(".npy"): _array_from(archive.read(each)) for each in members}
    except Exception as reason:  # readers of archives and arrays raise many types
        raise _damaged(path, reason) from reason


def _array_from(data: bytes) -> NDArray[np.generic]:
    """Return the array of an NPY file, without copying its bytes."""
    file = BytesIO(data)
    if read_magic(file) != (1, 0):
        raise ValueError("arrays must have NPY version 1.0")
    shape, column_by_column, dtype = read_array_header_1_0(file)
    if (column_by_column and len(shape) > 1) or dtype.hasobject:
        raise ValueError("arrays must be numeric, in row-major order")
    return np.frombuffer(data, dtype, offset=file.tell()).reshape(shape)


def _check_rows(found: NDArray[np.uint64], bags: Bags) -> None:
    """Raise ValueError unless trees (T,) have counted the rows of their bags."""
    for tree, rows in enumerate(found.tolist()):
        times = bags.counted(tree, 0, bags.n_rows)
        wanted = bags.n_rows if times is None else int(times.sum())
        least = int((bags.by_group.times(tree) > 0).sum()) if bags.leaf_counts == "groups" else wanted
        if not least <= rows <= wanted:  # a group counts once or more, at most once for each of its rows
            raise ValueError(f"tree {bags.first_tree + tree} must have counted {wanted:,} rows, got {rows:,}")


def _check_outputs(forest: Forest, labels: CoreTarget) -> None:
    """Raise ValueError unless trees match the outputs of these labels."""
    wanted, found = labels.parts, forest.outputs()
    if len(found) != len(wanted):
        raise ValueError(f"trees must have {len(wanted)} outputs, got {len(found)}")
    for output, own in zip(found, wanted, strict=True):
        _check_model(output, own)


def _check_model(forest: Forest, labels: CoreTarget) -> None:
    """Raise ValueError unless trees match the labels of one output."""
    if forest.n_classes != labels.n_classes:
        raise ValueError(f"trees must count {labels.n_classes} classes, got {forest.n_classes}")
    if (forest.values is None) == labels.of_numbers:
        raise ValueError("leaves must have moments in regression, and only there")


def _damaged(path: Path, reason: Exception) -> CheckpointError:
    """Return the error about a file that cannot be used."""
    return CheckpointError(f"{path}: damaged checkpoint ({reason}). Delete the file.")


def _version() -> str:
    """Return the version of hedgerow; another version may grow other trees."""
    try:
        return version("hedgerow")
    except PackageNotFoundError:
        return "unknown"


def _differences(there: dict[str, Any], wanted: dict[str, Any]) -> list[str]:
    """Return the names of the differences between two identities.

    Parameters have their own names.
    """
    named = [*wanted, *(name for name in there if name == "groups" and name not in wanted)]
    differ = [name for name in named if name != "parameters" and there.get(name) != wanted.get(name)]
    stored = there.get("parameters")
    stored = stored if isinstance(stored, dict) else {}
    return differ + [name for name, value in wanted["parameters"].items() if stored.get(name) != value]


def _checksum(values: dict[str, Any]) -> int:
    """Return a checksum of arrays and numbers by name."""
    total = 0
    for name, value in sorted(values.items()):
        data = np.ascontiguousarray(value).tobytes() if isinstance(value, np.ndarray) else repr(value).encode()
        total = zlib.crc32(data, zlib.crc32(name.encode(), total))
    return total


def progress_from(first: int, progress: Callable[[int], bool] | None) -> Callable[[int], bool] | None:
    """Shift a progress function by `first` earlier trees."""
    return None if progress is None else lambda done: progress(first + done)
