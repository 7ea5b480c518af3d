"""Arrays and leaf counts as short JSON, and other encodings of data in a page."""

from __future__ import annotations

import base64
import json
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow.belief.plausibility import preference
from hedgerow.forest.forest import Forest
from hedgerow.table.schema import Array

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
#: Longer names and values are cut.
LONGEST = 80

#: Short names of the typed arrays in the page's script.
_NAMES = {"uint8": "u8", "uint16": "u16", "uint32": "u32", "int16": "i16", "float64": "f64"}


def packed(values: Array) -> dict[str, str]:
    """Encode numbers of any shape as the smallest exact typed array, little-endian, in base64.

    Examples
    --------
    >>> packed(np.array([1, 2, 300]))
    {'t': 'u16', 'd': 'AQACACwB'}
    """
    flat = np.ravel(values)
    name = _smallest(flat)
    return {"t": _NAMES[name], "d": base64.b64encode(flat.astype(np.dtype(name).newbyteorder("<")).tobytes()).decode()}


def safe_json(value: object) -> str:
    """Encode JSON for a ``script`` element, without characters that could end the element or start another.

    Examples
    --------
    >>> safe_json("</script>")
    '"\\\\u003c/script\\\\u003e"'
    """
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    for each in "<>&\u2028\u2029":
        text = text.replace(each, f"\\u{ord(each):04x}")
    return text


def evenly(rows: NDArray[np.int64], most: int) -> NDArray[np.int64]:
    """Select at most `most` of the rows, evenly spread."""
    return rows if len(rows) <= most else rows[np.linspace(0, len(rows) - 1, max(most, 0)).astype(np.int64)]


def cut(value: object, longest: int = LONGEST) -> str:
    """Format a value on one line, cut if it is too long."""
    words = " ".join(str(value).split())
    return words if len(words) <= longest else words[: longest - 1] + "…"


def _smallest(flat: NDArray[np.generic]) -> str:
    """Return the name of the smallest type that represents all numbers (n,) exactly."""
    if not np.array_equal(flat, np.floor(flat)):
        return "float64"
    low, high = (flat.min(), flat.max()) if len(flat) else (0, 0)
    if low < 0:
        return "int16" if low >= -(2**15) and high < 2**15 else "float64"
    return next(
        (kind for kind, most in (("uint8", 2**8), ("uint16", 2**16), ("uint32", 2**32)) if high < most), "float64"
    )


# ---- Leaf counts of single rows, packed for the page -----------------------------------------------------------------


#: Size limit of the evidence of all cases in the page, in bytes; fewer cases are kept if it is exceeded.
EVIDENCE_BYTES = 1_100_000
#: Inverse of the least share of decided rows among those kept; from them the page estimates the figures of all rows.
DECIDED_SHARE = 4


@dataclass(frozen=True)
class Contents:
    """Leaf counts of m cases, with each distinct vector stored once.

    Attributes
    ----------
    counts : (D, K)
        The distinct vectors of class counts.
    start : (m + 1,)
        The first entry of each case.
    content, times : (entries,)
        A row of `counts`, and the number of trees in which the case reaches a leaf with these counts.
    """

    counts: Floats
    start: Ints
    content: Ints
    times: Ints

    def pack(self) -> dict[str, Any]:
        """Return sparse counts for JSON, with the weight of evidence for the largest class of each vector.

        The rules Dempster, cautious and plausibility use this weight, the root of an equation that the script does
        not solve.
        """
        leaf, label = np.nonzero(self.counts)
        n_entries = np.bincount(leaf, minlength=len(self.counts))
        return {
            "start": packed(self.start),
            "content": packed(self.content),
            "times": packed(self.times),
            "size": packed(n_entries),
            "label": packed(label),
            "count": packed(self.counts[leaf, label]),
            "weight": packed(preference(self.counts).weight),
        }


def contents_of(forest: Forest, codes: Array) -> Contents:
    """Collect the evidence of the leaves that samples (p, m) reach, without the order of the trees."""
    leaves, unseen = forest.leaves(codes), forest.unseen_rows(codes)
    reached, where = np.unique(leaves + forest.leaf_start[:-1], return_inverse=True)
    held, where = forest.evidence.read(reached), where.reshape(leaves.shape)
    if len(unseen):  # rows that follow both sides of splits have their own counts
        mixed = forest.mixed_counts(codes[:, unseen]).reshape(-1, forest.n_classes)
        where[unseen] = len(held) + np.arange(len(mixed)).reshape(len(unseen), -1)
        held = np.concatenate([held, mixed])
    counts, of_leaf = np.unique(held, axis=0, return_inverse=True)
    ids = np.sort(of_leaf.reshape(-1)[where], axis=1)
    fresh = np.ones(ids.shape, dtype=bool)
    fresh[:, 1:] = ids[:, 1:] != ids[:, :-1]
    first = np.flatnonzero(fresh.ravel())
    return Contents(
        counts=counts,
        start=np.concatenate([[0], np.cumsum(fresh.sum(axis=1))]),
        content=ids[fresh],
        times=np.diff(np.append(first, ids.size)),
    )


def choose_cases(is_open: NDArray[np.bool_], most: int, wanted: Ints | None = None) -> Ints:
    """Choose at most `most` rows: wanted ones, undecided ones, and decided ones in at least a quarter of the places.

    If the undecided (or decided) rows do not all fit, they are taken evenly from the table.
    """
    if len(is_open) <= most:
        return np.arange(len(is_open))
    rest = np.ones(len(is_open), dtype=bool)
    kept = [np.empty(0, dtype=np.int64) if wanted is None else wanted[:most]]
    rest[kept[0]] = False
    decided, undecided = np.flatnonzero(~is_open & rest), np.flatnonzero(is_open & rest)
    places = most - len(kept[0])
    n_decided = min(len(decided), max(places - len(undecided), min(most // DECIDED_SHARE, places)))
    kept += [evenly(undecided, places - n_decided), evenly(decided, n_decided)]
    return np.sort(np.concatenate(kept))


def rows_per_case(is_open: NDArray[np.bool_], rows: Ints) -> dict[str, float]:
    """Return how many undecided and decided rows of the table (n,) each such row of the page stands for."""
    kept = is_open[rows]
    return {
        "undecided": float(is_open.sum() / max(kept.sum(), 1)),
        "decided": float((~is_open).sum() / max((~kept).sum(), 1)),
    }


def pack_cases(
    forest: Forest, codes: Array, is_open: NDArray[np.bool_], most: int, wanted: Ints | None = None
) -> tuple[Ints, dict[str, Any]]:
    """Choose the rows to keep, and pack their evidence within the size limit."""
    while True:
        rows = choose_cases(is_open, most, wanted)
        evidence = contents_of(forest, np.ascontiguousarray(codes[:, rows])).pack()
        if most <= 1 or sum(len(array["d"]) for array in evidence.values()) <= EVIDENCE_BYTES:
            return rows, evidence
        most = len(rows) // 2
