"""Recognise: rows of any table -> how many of them a model was trained on, although its file does not hold them.

Every row has a mark: a number of sixteen bits made of its codes. A model keeps the marks of up to a thousand training
rows, those with the lowest hashes; so it is known of any row whether its mark would have been kept. Sixteen bits are
enough to count rows, and too few to tell of a single row whether it was there: one row in seventy has the mark of
another.
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

#: Most marks that a model keeps.
MOST_MARKS = 1024
#: Hashes of 32 bits say which marks are kept; marks have sixteen.
ALL_HASHES, ALL_MARKS = 2**32 - 1, 2**16
#: How often training rows repeat is measured on about this many rows.
MANY_ROWS = 100_000
#: Rows are recognised if so many coincidences have at most this probability, and if they are at least this share.
IMPROBABLE, LEAST_SHARE = 1e-4, 0.1
#: New numbers are usual in a feature if more than this share of its training rows have a number of their own.
NEW_SHARE = 0.05
#: Rows are hashed in blocks that fit a cache; for a million rows and 30 features .07 s instead of .3.
_BLOCK = 8192
_ODD = np.uint64(0x9E3779B97F4A7C15)


@dataclass(frozen=True, eq=False, repr=False)
class RowSketch:
    """What a model knows of its training rows, to recognise them.

    Parameters
    ----------
    kept : (k,) uint16
        Marks of training rows, all different, in ascending order.
    below : int
        A row whose hash is at most this would have been kept.
    repeats : float
        The share of training rows that equal another one, as far as the bins of other rows can tell.
    """

    kept: NDArray[np.uint16]
    below: int
    repeats: float

    @property
    def chance(self) -> float:
        """The probability that a row of the same kind, which was not there, has the mark of a training row."""
        return 1 - (1 - self.repeats) * (1 - len(self.kept) / ALL_MARKS)


class TrainingOverlap(NamedTuple):
    """The share of rows that a model was trained on, and how many rows were looked at."""

    share: float
    looked_at: int


def training_overlap(fitted: Fitted, blocks: Iterable[Codes]) -> TrainingOverlap | None:
    """A fit, codes (p, n) of blocks of rows -> what share it was trained on; None if none seem to be, or unknown."""
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
    """The marks of the training rows, made when first needed; None if the fit has neither marks nor rows."""
    if fitted.rows is None:
        known = fitted.learned.last("marks")
        return None if known is None else known[1]
    return fitted.learned.get("marks", None, lambda: _marks(fitted))


def keep_row_sketch(fitted: Fitted) -> None:
    """Make the marks before a file or a pickle leaves out the training rows."""
    marks = row_sketch(fitted)
    for output in fitted.outputs if marks is not None else ():  # the same rows
        output.learned.put("marks", None, marks)


def _marks(fitted: Fitted) -> RowSketch:
    """Training rows -> their marks."""
    assert fitted.rows is not None
    hashes = _hashes(fitted, fitted.rows.codes)
    distinct = np.unique(hashes)
    below = ALL_HASHES if len(distinct) <= MOST_MARKS else int(distinct[MOST_MARKS - 1] >> np.uint64(32))
    return RowSketch(np.unique(_sketch_of(distinct[:MOST_MARKS])), below, _repeats(fitted, hashes))


def _repeats(fitted: Fitted, hashes: Hashes) -> float:
    """Hashes of training rows (n,) -> the share of rows that equal another.

    In a small table every number has a bin, but a number that was not there falls into the bin of a neighbour. So where
    new numbers are usual, they are compared in bins of two.
    """
    assert fitted.rows is not None
    if fitted.codebook.exact:
        codes = fitted.rows.codes
        halved = frozenset(j for j, nominal in enumerate(fitted.schema.nominal) if not nominal and _has_new(codes[j]))
        hashes = _hashes(fitted, codes, halved)
    if len(hashes) > MANY_ROWS:  # equal rows have equal hashes, so they are taken together
        hashes = hashes[hashes >> np.uint64(32) <= ALL_HASHES * MANY_ROWS // len(hashes)]
    _, again = np.unique(hashes, return_counts=True)
    return float(again[again > 1].sum() / max(1, len(hashes)))


def _has_new(codes: Codes) -> bool:
    """Codes (n,) of a feature -> whether new numbers are usual: as usual as numbers that only one row has."""
    return bool((np.bincount(codes) == 1).sum() > NEW_SHARE * len(codes))


def _hashes(fitted: Fitted, codes: Codes, halved: frozenset[int] = frozenset()) -> Hashes:
    """Codes (p, n) -> hashes (n,) of the features that trees use; in `halved` ones, every two bins are one."""
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
    """Hashes (n,) -> marks (n,), of bits that do not say which are kept."""
    return ((hashes >> np.uint64(8)) & np.uint64(ALL_MARKS - 1)).astype(np.uint16)
