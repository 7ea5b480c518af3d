"""Several: a fitted model of several outputs <-> the contents of each output; shared arrays are written once."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any, TypeAlias

import numpy as np

from hedgerow.errors import ModelFileError
from hedgerow.exchange.files.state import checked_number
from hedgerow.exchange.files.values import Arrays
from hedgerow.forest.forest import Forest
from hedgerow.forest.several import SeveralLeaves
from hedgerow.judge.fitted import Fitted, fitted_of, with_fitted
from hedgerow.target.base import AboutSeveral

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
    score = fitted_of(model).figures.oob_score
    return {"outputs": [contents for contents, _ in each], "oob_score_": score}, arrays


def outputs_from_contents(
    read: Callable[[Any, dict[str, Json], Arrays], Any], kind: type, given: dict[str, Json], arrays: Arrays
) -> Any:
    """The inverse of `outputs_to_contents`, with checks; arrays that are used are removed from `arrays`."""
    shared = _shared(arrays)
    models, left = [], dict(shared)
    for number in range(len(checked_outputs(given))):
        contents, own = output_of(given, arrays, number)
        models.append(read(kind, contents, own))
        left = {name: array for name, array in left.items() if name in own}
        if own.keys() - left.keys():
            raise ModelFileError(f"output {number} of a model file must hold only its own arrays, got others too")
        for name in [name for name in arrays if name.startswith(f"{number}.")]:
            del arrays[name]
    for name in shared.keys() - left.keys():
        del arrays[name]
    score = given["oob_score_"]
    score = None if score is None else checked_number("oob_score_", score, float, -math.inf, math.inf)
    return with_fitted(models[0], _whole([fitted_of(model) for model in models], score))


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
    prefix, shared = f"{number}.", _shared(arrays)
    own = {name.removeprefix(prefix): array for name, array in arrays.items() if name.startswith(prefix)}
    if own.keys() & shared.keys():
        raise ModelFileError(f"output {number} of a model file must not hold arrays that all share, got some")
    return checked_outputs(given)[number], own | shared


def _shared(arrays: Arrays) -> Arrays:
    """The arrays that all outputs share."""
    return {name: array for name, array in arrays.items() if not name.partition(".")[0].isdigit()}


def _whole(outputs: list[Fitted], score: float | None) -> Fitted:
    """The fits of all outputs, which must have the same trees -> one fit of all outputs."""
    first = outputs[0]
    trees = first.forest.structure.arrays()
    for output in outputs[1:]:
        own = output.forest.structure.arrays()
        same = all(np.array_equal(trees[name], own[name]) for name in trees)
        if not same or (output.seed, output.fingerprint) != (first.seed, first.fingerprint):
            raise ModelFileError("all outputs of a model file must be of the same trees and bags, got different ones")
    leaves = SeveralLeaves(tuple(output.forest.evidence for output in outputs))
    about = AboutSeveral(first.about.names, tuple(output.about for output in outputs))
    figures = replace(first.figures, oob_score=score, oob_answers=None)
    forest = Forest(first.forest.structure, leaves)
    return replace(first, forest=forest, about=about, figures=figures, outputs=tuple(outputs))


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
