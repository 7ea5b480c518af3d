"""The call stack, for warnings."""

from __future__ import annotations

import sys

#: Packages whose frames are not those of the user.
_INSIDE = ("hedgerow", "sklearn")


def outside_level() -> int:
    """The `stacklevel` with which the calling function warns about the user's line that has called the package."""
    level, frame = 1, sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] in _INSIDE:
        level, frame = level + 1, frame.f_back
    return level
