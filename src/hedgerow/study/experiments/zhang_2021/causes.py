"""Causes of cells outside the goal: explained, a misprint, or unexplained."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hedgerow.study.experiments.zhang_2021.ours import GOAL, Floats, Ours
from hedgerow.study.experiments.zhang_2021.paper import printed
from hedgerow.study.experiments.zhang_2021.protocol import TWIN
from hedgerow.study.experiments.zhang_2021.tables import cell_name

EXPLAINED, MISPRINT, UNEXPLAINED = "explained", "probably a misprint", "unexplained"
At = tuple[int, ...]


@dataclass(frozen=True)
class Deviation:
    """A cell outside the goal: distances, cause, and its row over s."""

    name: str
    gap: float
    errors: float
    cause: str
    reason: str
    theirs: Floats
    ours: Floats


def deviations(best: Ours, ways: list[Ours]) -> list[Deviation]:
    """Return every cell outside the goal with its cause."""
    others = [way for way in ways if way is not best]
    found = []
    for place in np.argwhere(np.abs(best.gap) > GOAL):
        at = tuple(int(i) for i in place)
        cause, reason = cause_of(at, best, others)
        errors = abs(best.gap[at] / best.error[at])
        rows = (printed()[at[0], :, at[2]], best.mean[at[0], :, at[2]])
        found.append(Deviation(cell_name(*at), float(best.gap[at]), errors, cause, reason, *rows))
    return found


def cause_of(at: At, best: Ours, others: list[Ours]) -> tuple[str, str]:
    """Return the cause of a cell outside the goal, and the reason.

    Another way explains a cell if it brings it inside and fits the whole no worse. A cell is probably a misprint if
    it alone breaks the order of its row over s, its neighbours are inside, and both programs agree against it.
    """
    inside = [way for way in others if abs(way.gap[at]) <= GOAL]
    better = [way for way in inside if _share(way) >= _share(best)]
    if better:
        ways = " and ".join(f"`{way.name}` ({way.gap[at]:+.2f})" for way in better)
        return EXPLAINED, f"inside under {ways}, which fits all cells no worse"
    twin = next((way for way in others if way.name == TWIN and np.isfinite(way.gap[at])), None)
    told = f"scikit-learn's forests with the printed formulas give {twin.mean[at]:.2f}" if twin else ""
    if twin is not None and _breaks_order(at, best) and abs(twin.mean[at] - best.mean[at]) <= GOAL < abs(twin.gap[at]):
        return MISPRINT, (
            f"it alone breaks the order of its row over s, which ours keeps, its neighbours are within ±{GOAL:g}, and"
            f" both programs agree against it: hedgerow {best.mean[at]:.2f}, {told}"
        )
    tried = f"of {len(others)} other ways to count, fold, grow and decide"
    worse = " and ".join(f"`{way.name}` ({way.gap[at]:+.2f})" for way in inside if way is not twin)
    under = f"it is inside only under {worse}, which fit the other cells worse" if worse else "none brings it inside"
    return UNEXPLAINED, "; ".join(part for part in (f"{tried}, {under}", told) if part)


def _share(way: Ours) -> float:
    """Return the share of cells within the goal."""
    return way.within / max(way.cells, 1)


def _breaks_order(at: At, best: Ours) -> bool:
    """Test whether a cell alone breaks the order of its row over s, which ours keeps."""
    ours, theirs = np.diff(best.mean[at[0], :, at[2]]), np.diff(printed()[at[0], :, at[2]])
    neighbours = np.delete(np.abs(best.gap[at[0], :, at[2]]), at[1])
    steady = bool((ours > 0).all() or (ours < 0).all())
    return steady and not bool((theirs > 0).all() or (theirs < 0).all()) and bool((neighbours <= GOAL).all())
