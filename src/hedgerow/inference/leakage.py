"""Detection of training rows in a table, from a row sketch that the model keeps.

The sketch of a row is a hash of its codes to sixteen bits. A model keeps the sketches of up to 1,024 training rows,
those with the smallest hashes, so the hash of any row shows whether its sketch would have been kept. Sixteen bits
suffice to estimate the share of training rows, but not to identify a single one: one row in seventy matches by chance.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.stats import binom

from hedgerow.inference.fitted import Fitted
from hedgerow.table.bins import Codes

Hashes = NDArray[np.uint64]

#: Maximum number of sketches that a model keeps.
MOST_MARKS = 1024
#: Largest 32-bit hash, which selects the rows to keep, and the number of 16-bit sketches.
ALL_HASHES, ALL_MARKS = 2**32 - 1, 2**16
#: The share of repeated training rows is estimated from about this many rows.
MANY_ROWS = 100_000
#: Overlap is reported if its probability by chance is at most this, and its share at least this.
IMPROBABLE, LEAST_SHARE = 1e-4, 0.1
#: New numbers are common in a feature if more than this share of its training values are unique.
NEW_SHARE = 0.05
#: Rows are hashed in blocks that fit the CPU cache: 0.07 s instead of 0.3 s for a million rows and 30 features.
_BLOCK = 8192
_ODD = np.uint64(0x9E3779B97F4A7C15)


@dataclass(frozen=True, eq=False, repr=False)
class RowSketch:
    """Sketches of training rows, by which a model recognises them.

    Parameters
    ----------
    kept : (k,) uint16
        Distinct sketches of training rows, in ascending order.
    below : int
        Largest hash of a row that is kept.
    repeats : float
        Share of training rows that equal another training row, up to binning.
    """

    kept: NDArray[np.uint16]
    below: int
    repeats: float

    @property
    def chance(self) -> float:
        """Probability that a new row has the sketch of a training row."""
        return 1 - (1 - self.repeats) * (1 - len(self.kept) / ALL_MARKS)


class TrainingOverlap(NamedTuple):
    """Share of rows that a model was trained on, and the number of rows compared."""

    share: float
    looked_at: int


def training_overlap(fitted: Fitted, blocks: Iterable[Codes]) -> TrainingOverlap | None:
    """Estimate the share of training rows among blocks of codes (p, n).

    Return None if the overlap is not significant, or if the fit has no sketch.
    """
    marks = row_sketch(fitted)
    if marks is None:
        return None
    each = (_hashes(fitted, codes) for codes in blocks)
    hashes = np.concatenate([found[found >> np.uint64(32) <= marks.below] for found in each])
    distinct, again = np.unique(hashes, return_counts=True)
    found = np.isin(_sketch_of(distinct), marks.kept)
    if not found.any() or binom.sf(int(found.sum()) - 1, len(found), marks.chance) > IMPROBABLE:
        return None
    share = (again[found].sum() / len(hashes) - marks.chance) / (1 - marks.chance)
    return TrainingOverlap(float(share), len(hashes)) if share >= LEAST_SHARE else None


def row_sketch(fitted: Fitted) -> RowSketch | None:
    """Return the sketch of the training rows, made when first needed.

    Return None without sketch and rows.
    """
    if fitted.rows is None:
        known = fitted.learned.last("marks")
        return None if known is None else known[1]
    return fitted.learned.get("marks", None, lambda: _row_sketch(fitted))


def keep_row_sketch(fitted: Fitted) -> None:
    """Make the sketch before a file or a pickle leaves out the training rows."""
    marks = row_sketch(fitted)
    for output in fitted.outputs if marks is not None else ():  # the same rows
        output.learned.put("marks", None, marks)


def _row_sketch(fitted: Fitted) -> RowSketch:
    """Return the sketch of the training rows."""
    assert fitted.rows is not None
    hashes = _hashes(fitted, fitted.rows.codes)
    distinct = np.unique(hashes)
    below = ALL_HASHES if len(distinct) <= MOST_MARKS else int(distinct[MOST_MARKS - 1] >> np.uint64(32))
    return RowSketch(np.unique(_sketch_of(distinct[:MOST_MARKS])), below, _repeats(fitted, hashes))


def _repeats(fitted: Fitted, hashes: Hashes) -> float:
    """Return the share of training rows, with hashes (n,), that equal another.

    In a small table every number has its own bin, but a new number falls into the bin of a neighbour. So where new
    numbers are common, rows are compared in pairs of bins.
    """
    assert fitted.rows is not None
    if fitted.codebook.exact:
        codes = fitted.rows.codes
        halved = frozenset(j for j, nominal in enumerate(fitted.schema.nominal) if not nominal and _has_new(codes[j]))
        hashes = _hashes(fitted, codes, halved)
    if len(hashes) > MANY_ROWS:  # sampled by hash, because equal rows must be sampled together
        hashes = hashes[hashes >> np.uint64(32) <= ALL_HASHES * MANY_ROWS // len(hashes)]
    _, again = np.unique(hashes, return_counts=True)
    return float(again[again > 1].sum() / max(1, len(hashes)))


def _has_new(codes: Codes) -> bool:
    """Return whether new numbers are common in a feature with codes (n,).

    They are estimated to be as common as numbers that only one row has.
    """
    return bool((np.bincount(codes) == 1).sum() > NEW_SHARE * len(codes))


def _hashes(fitted: Fitted, codes: Codes, halved: frozenset[int] = frozenset()) -> Hashes:
    """Return hashes (n,) of codes (p, n) in the features used.

    `halved` features have pairs of bins joined.
    """
    used = fitted.forest.used_features.tolist()
    result = np.zeros(codes.shape[1], dtype=np.uint64)
    for first in range(0, codes.shape[1], _BLOCK):
        part = result[first : first + _BLOCK]
        for feature in used:
            values = codes[feature, first : first + _BLOCK]
            part ^= values >> 1 if feature in halved else values
            part *= _ODD
            part ^= part >> np.uint64(29)
    return result * _ODD


def _sketch_of(hashes: Hashes) -> NDArray[np.uint16]:
    """Return sketches (n,), from bits of hashes that do not select rows."""
    return ((hashes >> np.uint64(8)) & np.uint64(ALL_MARKS - 1)).astype(np.uint16)
