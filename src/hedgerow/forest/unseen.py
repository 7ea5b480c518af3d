"""Unseen: codes of training rows -> the features without gaps; codes of other rows -> those with values never seen."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hedgerow.table.bins import Codes

_NONE = np.empty(0, dtype=np.intp)
_FEW = 4096
#: What trees do with a value that no training row had.
POLICIES = ("shares", "sum", "larger")


class UnseenPolicy(NamedTuple):
    """What trees know of values that no training row had.

    A new category has the code of a missing value. Where no training row misses a value, splits have not learned where
    such a row belongs.

    Parameters
    ----------
    gapless : (p,) uint8
        1 for features of which no training row misses the value.
    policy : {"shares", "sum"}
        A row goes down both sides of a split on such a feature. "shares" weights what the leaves say by the shares of
        the sides; "sum" adds up their rows.
    """

    gapless: NDArray[np.uint8]
    policy: str


def unseen_of(codes: Codes, policy: str) -> UnseenPolicy | None:
    """Codes (p, n) of the training rows, a policy -> what trees know; None if rows go to the larger side."""
    return unseen_from(codes.max(axis=1, initial=0) == np.iinfo(codes.dtype).max, policy)


def unseen_from(has_missing: NDArray[np.bool_], policy: str) -> UnseenPolicy | None:
    """Whether some training row misses each feature (p,), a policy -> the same."""
    return None if policy == "larger" else UnseenPolicy((~has_missing).astype(np.uint8), policy)


def unseen_of_all(parts: list[UnseenPolicy | None]) -> UnseenPolicy | None:
    """What trees of several fits know -> what all of them know; None if some rows go to the larger side."""
    policies = {None if part is None else part.policy for part in parts}
    if len(policies) > 1 or None in policies:
        return None
    gapless = np.min([part.gapless for part in parts if part is not None], axis=0)
    return UnseenPolicy(gapless, str(policies.pop()))


def rows_with_gaps(codes: Codes, features: NDArray[np.intp]) -> NDArray[np.intp]:
    """Codes (p, n), some features -> the rows that miss one of them."""
    missing = 255 if codes.itemsize == 1 else 65_535
    if not len(features):
        return _NONE
    # Nearly always no code is missing. One pass takes 0.2 ms for five million codes, but 3 µs at least; to look for the
    # bytes takes half a microsecond for a row, and what it finds may be the halves of two codes.
    if int(codes.max()) < missing if codes.size > _FEW else b"\xff" * codes.itemsize not in codes.tobytes():
        return _NONE
    return np.flatnonzero((codes[features] == missing).any(axis=0))
