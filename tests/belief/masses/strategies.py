"""Random masses, normalised and not, dogmatic and not, with few or many focal sets, as rationals."""

from __future__ import annotations

from fractions import Fraction

from hypothesis import strategies as st
from tests.reference import masses as slow


@st.composite
def masses(
    draw: st.DrawFn,
    n_classes: int | None = None,
    *,
    normal: bool | None = None,
    dogmatic: bool | None = None,
    most_classes: int = 4,
) -> slow.Mass:
    """One mass; ``normal`` and ``dogmatic`` are left to chance when None, on the empty set and frame if False."""
    size = draw(st.integers(1, most_classes)) if n_classes is None else n_classes
    parts = draw(
        st.lists(st.sampled_from([0, 0, 0, 1, 2, 3, 7, 50]), min_size=2**size, max_size=2**size).filter(
            lambda values: sum(values[1:-1]) > 0 if size > 1 else True
        )
    )
    parts[0] = _end(draw, normal, parts[0])
    parts[-1] = _end(draw, dogmatic, parts[-1])
    total = sum(parts)
    if total == 0:
        parts[-1] = total = 1
    return slow.from_array([Fraction(part, total) for part in parts])


def _end(draw: st.DrawFn, absent: bool | None, drawn: int) -> int:
    """What the empty set or the frame weighs."""
    if absent is None:
        return drawn
    return 0 if absent else draw(st.integers(1, 9))


def several(least: int = 2, most: int = 4, most_classes: int = 3, **kinds: bool) -> st.SearchStrategy[list[slow.Mass]]:
    """Some masses on one frame."""
    return st.integers(1, most_classes).flatmap(
        lambda size: st.lists(masses(size, **kinds), min_size=least, max_size=most)
    )
