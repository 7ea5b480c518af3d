"""Several: a fitted model of several outputs <-> the contents of each output; shared arrays are written once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, TypeAlias

import numpy as np

from hedgerow.errors import ModelFileError
from hedgerow.forest.forest import Forest
from hedgerow.forest.multioutput import MultiOutputLeaves
from hedgerow.forest.target import MultiOutputInfo
from hedgerow.inference.fitted import Fitted, fitted_of, publish
from hedgerow.storage.parameters import Decoder, Encoder
from hedgerow.storage.state import checked_score
from hedgerow.storage.values import Arrays, Once

Json: TypeAlias = Any

#: The keys in the JSON of a model of several outputs: the contents of each output, and the out-of-bag score of all.
OUTPUT_KEYS = frozenset({"outputs", "oob_score_"})
#: Largest number of outputs in a file.
MAX_OUTPUTS = 10_000


def outputs_to_contents(
    write: Callable[[Any], tuple[dict[str, Json], Arrays]], model: Any
) -> tuple[dict[str, Json], Arrays]:
    """A function that writes one output, a model -> JSON and arrays; names begin with the number of an output."""
    each = [write(output) for output in model.outputs_]
    first, others = each[0][1], [arrays for _, arrays in each[1:]]
    shared = {name: array for name, array in first.items() if all(_same(array, more.get(name)) for more in others)}
    arrays = dict(shared)
    for number, (_, own) in enumerate(each):
        arrays |= {f"{number}.{name}": array for name, array in own.items() if name not in shared}
    score = Encoder().encode(fitted_of(model).figures.oob_score, "oob_score_")
    return {"outputs": [contents for contents, _ in each], "oob_score_": score}, arrays


def outputs_from_contents(read: Callable[..., Any], kind: type, given: dict[str, Json], arrays: Arrays) -> Any:
    """The inverse of `outputs_to_contents`, with checks; arrays that are used are removed from `arrays`."""
    parts, once, models = _parts(arrays), Once(), []
    shared = parts.pop("", {})
    for number, contents in enumerate(checked_outputs(given)):
        held = _joined(number, parts.get(str(number), {}), shared)
        models.append(read(kind, contents, held, once))
        if held.keys() - shared.keys():
            raise ModelFileError(f"output {number} of a model file must hold only its own arrays, got others too")
        for name in parts.get(str(number), ()):
            del arrays[f"{number}.{name}"]
        if number == 0:  # what the first output does not use belongs to none
            shared = {name: array for name, array in shared.items() if name not in held}
    for name in shared:
        del arrays[name]
    score = Decoder({}, 1).decode(given["oob_score_"])
    score = None if score is None else checked_score(score)
    return publish(models[0], _whole([fitted_of(model) for model in models], score))


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


def _whole(outputs: list[Fitted], score: float | None) -> Fitted:
    """The fits of all outputs, which must have the same trees -> one fit of all outputs."""
    first = outputs[0]
    for output in outputs[1:]:
        same = output.forest.structure is first.forest.structure  # it was read once
        if (
            not same
            or output.bins is not first.bins
            or (output.seed, output.fingerprint) != (first.seed, first.fingerprint)
        ):
            raise ModelFileError("all outputs of a model file must share table, trees and bags, got different ones")
    answers = [output.figures.oob_answers for output in outputs]
    if len({None if each is None else len(each) for each in answers}) > 1:
        raise ModelFileError("all outputs of a model file must have out-of-bag answers about the same rows, got others")
    leaves = MultiOutputLeaves(tuple(output.forest.evidence for output in outputs))
    info = MultiOutputInfo(first.info.names, tuple(output.info for output in outputs))
    figures = replace(first.figures, oob_score=score, oob_answers=None)
    forest = Forest(first.forest.structure, leaves)
    return replace(first, forest=forest, info=info, figures=figures, outputs=tuple(outputs))


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
