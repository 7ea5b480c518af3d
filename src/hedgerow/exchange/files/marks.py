"""Marks: what a model knows of its training rows, to recognise them <-> JSON and an array."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np

from hedgerow.errors import ModelFileError
from hedgerow.exchange.files.state import checked_number
from hedgerow.exchange.files.values import Arrays, Once, take
from hedgerow.judge.fitted import Fitted, Learned
from hedgerow.judge.recognise import ALL_HASHES, MOST_MARKS, RowSketch, row_sketch

Json: TypeAlias = Any


def sketch_to_contents(fitted: Fitted) -> tuple[dict[str, Json], Arrays]:
    """A fit -> JSON and arrays; empty if it knows nothing of its training rows."""
    marks = row_sketch(fitted)
    if marks is None:
        return {}, {}
    return {"marks": {"below": marks.below, "repeats": marks.repeats}}, {"marks": marks.kept}


def sketch_from_contents(learned: Learned, given: dict[str, Json], arrays: Arrays, once: Once | None = None) -> None:
    """The inverse of `sketch_to_contents`, everything checked; files of earlier versions have none."""
    if "marks" in given:
        told = given["marks"]
        learned.put("marks", None, (once or Once()).read(("marks", repr(told)), arrays, lambda: _marks(told, arrays)))


def _marks(told: Json, arrays: Arrays) -> RowSketch:
    """JSON and an array -> marks."""
    if not isinstance(told, dict) or told.keys() != {"below", "repeats"}:
        raise ModelFileError("marks must have below and repeats, got something else")
    below = checked_number("below of marks", told["below"], int, 0, ALL_HASHES)
    repeats = checked_number("repeats of marks", told["repeats"], float, 0, 1)
    kept = take(arrays, "marks", np.uint16).copy()
    if not 1 <= len(kept) <= MOST_MARKS or not (kept[1:] > kept[:-1]).all():
        raise ModelFileError(f"marks must be 1 to {MOST_MARKS} different numbers that ascend, got others")
    return RowSketch(kept, below, repeats)
