"""Novelty: what a forest knows of its training rows, to tell what is new <-> JSON and arrays."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np

from hedgerow.errors import ModelFileError
from hedgerow.exchange.files.state import State, checked_number
from hedgerow.exchange.files.values import Array, Arrays, Once, take
from hedgerow.forest.hulls import LeafRanges, Usual, check_marks
from hedgerow.judge.fitted import Fitted, Learned
from hedgerow.judge.novelty import Novelty, has_novelty, learned_novelty
from hedgerow.params.checks import MAX_ROWS

Json: TypeAlias = Any

#: Most scores in a file; earlier versions wrote this many, later ones write fewer.
MAX_SCORES = 4096
#: The scores of training rows.
_SCORES = ("total", "single", "both")


def novelty_to_contents(fitted: Fitted) -> tuple[dict[str, Json], Arrays]:
    """A fit -> JSON and arrays; empty if it cannot tell what is new."""
    if not has_novelty(fitted):
        return {}, {}
    known = learned_novelty(fitted)
    leaf_ranges, usual = known.leaf_ranges, known.leaf_ranges.usual
    arrays: Arrays = {"hulls.features": leaf_ranges.features, "hulls.marks": leaf_ranges.marks}
    arrays |= {"hulls.spread": usual.spread, "hulls.missing": usual.missing, "hulls.rows": usual.rows}
    return {"novelty": usual.n_rows}, arrays | {f"novelty.{name}": vars(known)[name] for name in _SCORES}


def novelty_from_contents(
    learned: Learned, state: State, given: dict[str, Json], arrays: Arrays, once: Once | None = None
) -> None:
    """The inverse of `novelty_to_contents`, everything checked; what is there becomes known to `learned`."""
    if "novelty" in given:
        n_rows = checked_number("novelty", given["novelty"], int, 1, MAX_ROWS)
        key = ("novelty", id(state.forest.structure), n_rows)
        learned.put("novelty", None, (once or Once()).read(key, arrays, lambda: _novelty_from(state, n_rows, arrays)))


def _novelty_from(state: State, n_rows: int, arrays: Arrays) -> Novelty:
    """What a forest knows of its training rows."""
    leaf_ranges = _hulls_from(state, n_rows, arrays)
    total, single, both = (take(arrays, f"novelty.{name}", np.float64).copy() for name in _SCORES)
    alike = len(total) == len(single) == len(both) <= MAX_SCORES
    if not alike or not all(np.isfinite(each).all() and (np.diff(each) >= 0).all() for each in (total, single, both)):
        raise ModelFileError(f"scores of novelty must be finite and ascend, at most {MAX_SCORES} each, got others")
    return Novelty(leaf_ranges, total, single, both)


def _hulls_from(state: State, n_rows: int, arrays: Arrays) -> LeafRanges:
    """What leaves have seen, and what is usual for each feature."""
    bins, n_features = state.bins, state.schema.n_features
    features = take(arrays, "hulls.features", np.int32, shape=(None, None))
    if len(features) > state.forest.n_trees:
        raise ModelFileError(f"hulls must be of at most {state.forest.n_trees} trees, got {len(features)}")
    n_leaves = int(state.forest.leaf_start[len(features)])
    marks = take(arrays, "hulls.marks", np.uint16, shape=(n_leaves, features.shape[1]))
    spread = take(arrays, "hulls.spread", np.float64, length=n_features)
    missing = take(arrays, "hulls.missing", np.int64, length=n_features)
    rows = take(arrays, "hulls.rows", np.int64, length=int(bins.n_bins[bins.nominal == 1].sum()))
    known = features.min() >= 0 and features.max() < n_features and (np.diff(features, axis=1) > 0).all()
    if (
        not known
        or not ((spread >= 0) & np.isfinite(spread)).all()
        or not (_counted(missing, n_rows) and _counted(rows, n_rows))
    ):
        raise ModelFileError("hulls must be of different features, with finite spreads and rows >= 0, got others")
    leaf_ranges = LeafRanges(features, marks, Usual(n_rows, spread, missing, rows))
    if not check_marks(leaf_ranges, state.forest, bins):
        raise ModelFileError("hulls of leaves must go from a low level to a high one, got others")
    return leaf_ranges


def _counted(rows: Array, n_rows: int) -> bool:
    """Whether these are numbers of rows."""
    return bool(((rows >= 0) & (rows <= n_rows)).all())
