"""Model files of several outputs: the contents of each output, with arrays that all share written once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, TypeAlias

import numpy as np

from hedgerow.errors import ModelFileError
from hedgerow.storage.values import Arrays

Json: TypeAlias = Any

#: Largest number of outputs in a file.
MAX_OUTPUTS = 10_000


def join_outputs(each: Iterable[tuple[dict[str, Json], Arrays]]) -> tuple[list[dict[str, Json]], Arrays]:
    """JSON and arrays of each output -> those of all; names of arrays begin with the number of an output."""
    outputs = list(each)
    first, others = outputs[0][1], [arrays for _, arrays in outputs[1:]]
    shared = {name: array for name, array in first.items() if all(_same(array, more.get(name)) for more in others)}
    arrays = dict(shared)
    for number, (_, own) in enumerate(outputs):
        arrays |= {f"{number}.{name}": array for name, array in own.items() if name not in shared}
    return [contents for contents, _ in outputs], arrays


def split_outputs(given: dict[str, Json], arrays: Arrays) -> Iterator[tuple[dict[str, Json], Arrays]]:
    """The inverse of `join_outputs`, with checks: JSON and arrays of each output, one after another.

    Whoever reads an output must remove the arrays that it uses; they are then removed from `arrays` too.
    """
    parts = _parts(arrays)
    shared = parts.pop("", {})
    for number, contents in enumerate(checked_outputs(given)):
        held = _joined(number, parts.get(str(number), {}), shared)
        yield contents, held
        if held.keys() - shared.keys():
            raise ModelFileError(f"output {number} of a model file must hold only its own arrays, got others too")
        for name in parts.get(str(number), ()):
            del arrays[f"{number}.{name}"]
        if number == 0:  # what the first output does not use belongs to none
            shared = {name: array for name, array in shared.items() if name not in held}
    for name in shared:
        del arrays[name]


def checked_outputs(given: dict[str, Json]) -> list[dict[str, Json]]:
    """The JSON of a model of several outputs -> that of each."""
    outputs = given["outputs"]
    known = isinstance(outputs, list) and 2 <= len(outputs) <= MAX_OUTPUTS
    if not known or not all(isinstance(contents, dict) for contents in outputs):
        raise ModelFileError(
            f"outputs of a model file must be a list of 2 to {MAX_OUTPUTS} with their contents, got something else"
        )
    return outputs  # type: ignore[no-any-return]


def output_of(given: dict[str, Json], arrays: Arrays, number: int) -> tuple[dict[str, Json], Arrays]:
    """JSON and arrays of a model of several outputs -> those of one output."""
    parts = _parts(arrays)
    return checked_outputs(given)[number], _joined(number, parts.get(str(number), {}), parts.get("", {}))


def _parts(arrays: Arrays) -> dict[str, Arrays]:
    """Arrays -> those of each output, by its number and without it, and under "" those that all outputs share."""
    parts: dict[str, Arrays] = {}
    for name, array in arrays.items():
        number, _, rest = name.partition(".")
        parts.setdefault(number if number.isdigit() else "", {})[rest if number.isdigit() else name] = array
    return parts


def _joined(number: int, own: Arrays, shared: Arrays) -> Arrays:
    """The arrays of an output, and those that all share."""
    if own.keys() & shared.keys():
        raise ModelFileError(f"output {number} of a model file must not hold arrays that all share, got some")
    return own | shared


def _same(one: Any, other: Any) -> bool:
    """Whether two arrays are the same, bit for bit."""
    return (
        other is not None
        and one.dtype == other.dtype
        and one.shape == other.shape
        and bool(
            np.array_equal(
                one.view(np.uint8) if one.dtype.kind == "f" else one,
                other.view(np.uint8) if other.dtype.kind == "f" else other,
            )
        )
    )
