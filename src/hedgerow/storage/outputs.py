"""Multi-output model files, with shared arrays stored once."""

from __future__ import annotations

import reprlib
from collections.abc import Iterable, Iterator
from typing import Any, TypeAlias

import numpy as np

from hedgerow.errors import ModelFileError
from hedgerow.storage.values import Arrays

Json: TypeAlias = Any

#: Maximum number of outputs in a file.
MAX_OUTPUTS = 10_000


def join_outputs(each: Iterable[tuple[dict[str, Json], Arrays]]) -> tuple[list[dict[str, Json]], Arrays]:
    """Join the outputs; arrays that differ get the number of the output as prefix."""
    outputs = list(each)
    first, others = outputs[0][1], [arrays for _, arrays in outputs[1:]]
    shared = {name: array for name, array in first.items() if all(_same(array, more.get(name)) for more in others)}
    arrays = dict(shared)
    for number, (_, own) in enumerate(outputs):
        arrays |= {f"{number}.{name}": array for name, array in own.items() if name not in shared}
    return [contents for contents, _ in outputs], arrays


def split_outputs(given: dict[str, Json], arrays: Arrays) -> Iterator[tuple[dict[str, Json], Arrays]]:
    """Yield the JSON and arrays of each output, validated.

    The consumer must remove the arrays that it uses; they are then removed from `arrays` too.
    """
    parts = _parts(arrays)
    shared = parts.pop("", {})
    for number, contents in enumerate(checked_outputs(given)):
        held = _joined(number, parts.get(str(number), {}), shared)
        yield contents, held
        if held.keys() - shared.keys():
            others = sorted(held.keys() - shared.keys())
            raise ModelFileError(f"unexpected arrays of output {number}: {str(others)[:200]}.")
        for name in parts.get(str(number), ()):
            del arrays[f"{number}.{name}"]
        if number == 0:  # shared arrays that the first output does not use are not used by any
            shared = {name: array for name, array in shared.items() if name not in held}
    for name in shared:
        del arrays[name]


def checked_outputs(given: dict[str, Json]) -> list[dict[str, Json]]:
    """Validate the JSON of a multi-output model and return that of each output."""
    outputs: list[dict[str, Json]] = given["outputs"]
    known = isinstance(outputs, list) and 2 <= len(outputs) <= MAX_OUTPUTS
    if not known or not all(isinstance(contents, dict) for contents in outputs):
        raise ModelFileError(f"outputs must be a list of 2 to {MAX_OUTPUTS:,} objects, got {reprlib.repr(outputs)}.")
    return outputs


def output_of(given: dict[str, Json], arrays: Arrays, number: int) -> tuple[dict[str, Json], Arrays]:
    """Return the JSON and arrays of one output of a multi-output model."""
    parts = _parts(arrays)
    return checked_outputs(given)[number], _joined(number, parts.get(str(number), {}), parts.get("", {}))


def _parts(arrays: Arrays) -> dict[str, Arrays]:
    """Return the arrays of each output by its number, and the shared ones under ""."""
    parts: dict[str, Arrays] = {}
    for name, array in arrays.items():
        number, _, rest = name.partition(".")
        parts.setdefault(number if number.isdigit() else "", {})[rest if number.isdigit() else name] = array
    return parts


def _joined(number: int, own: Arrays, shared: Arrays) -> Arrays:
    """Return the arrays of an output, with the shared ones."""
    if own.keys() & shared.keys():
        both = sorted(own.keys() & shared.keys())
        raise ModelFileError(f"output {number} repeats shared arrays {str(both)[:200]}.")
    return own | shared


def _same(one: Any, other: Any) -> bool:
    """Test whether two arrays are bitwise identical."""
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
