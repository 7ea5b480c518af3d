"""Error rates of chosen candidates, for any grid and any rule for ties."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow.study.experiments.frame import Results
from hedgerow.study.experiments.sutton_2012.paper import Cell
from hedgerow.study.experiments.sutton_2012.protocol import COARSE, THRESHOLDS, VARIANTS, WAYS

Floats = NDArray[np.float64]

NEAR = 2.0  # standard deviations of a difference
#: Candidates of λ and of β; the first is our choice.
LAM_GRIDS: dict[str, tuple[float, ...]] = {
    "λ in 0.1, 0.2, …, 1": COARSE,
    "λ in 0, 0.02, 0.05, 0.1, …, 1": (0.0, 0.02, 0.05, *COARSE),
    "λ in 0.1, …, 0.5": COARSE[:5],
    "λ in 0.1, 0.5, 1": (0.1, 0.5, 1.0),
    "λ = 0.5, not tuned": (0.5,),
}
THRESHOLD_GRIDS: dict[str, tuple[float, ...]] = {
    "β in 0, 0.001, …, 0.2": THRESHOLDS,
    "β in 0.01, 0.02, 0.05, 0.1": (0.01, 0.02, 0.05, 0.1),
    "β = 0, not tuned": (0.0,),
}
SMALLER = "of equals the smaller tree"


@dataclass(frozen=True)
class Rates:
    """Error rates in percent on the four test sets of every repetition."""

    quarters: Floats  # (repetitions, 4)
    leaves: float

    @property
    def rates(self) -> Floats:
        """Mean of the four test sets of each repetition (repetitions,)."""
        return np.asarray(self.quarters.mean(axis=1))

    @property
    def mean(self) -> float:
        """Mean over repetitions."""
        return float(self.rates.mean())

    @property
    def scatter(self) -> float:
        """Standard deviation of one repetition: that of independent test sets over √4."""
        return float(self.quarters.std(ddof=1) / np.sqrt(self.quarters.shape[1]))

    def gap(self, cell: Cell) -> float:
        """Return our value minus the printed one."""
        return self.mean - cell.percent

    def distance(self, cell: Cell) -> float:
        """Return the gap in standard deviations, if the printed value is one repetition."""
        scatter = self.scatter * np.sqrt(1 + 1 / len(self.rates))
        return self.gap(cell) / scatter if scatter > 0 else float("inf")

    def is_near(self, cell: Cell) -> bool:
        """Test whether the printed value could be one of our repetitions."""
        return abs(self.distance(cell)) <= NEAR


def rates_of(
    results: Results,
    data_set: str,
    way: str,
    *,
    variant: str | None = None,
    grid: tuple[float, ...] | None = None,
    smaller: bool = False,
) -> Rates | None:
    """Return error rates of the choice by inner cross-validation; None if not run."""
    wanted: dict[str, Any] = {"kind": "variant", "variant": variant} if variant else {"kind": "table"}
    found = [result for _, result in results.of(set=data_set, way=way, **wanted)]
    if not found:
        return None
    inner, outer, leaves = (
        np.concatenate([np.array(one[name]) for one in found]) for name in ("inner", "outer", "leaves")
    )
    if inner.shape[2] == 1:  # chosen already
        allowed = np.array([0])
    else:
        candidates = WAYS[way]["candidates"]
        allowed = np.array([candidates.index(value) for value in (grid or usual_grid(way))])
    chosen = allowed[_first_least(inner[:, :, allowed], backwards=(way == "CART") == smaller)]
    errors = np.take_along_axis(outer, chosen[:, :, None], axis=2)[:, :, 0]
    kept = np.take_along_axis(leaves, chosen[:, :, None], axis=2)
    return Rates(100 * errors / found[0]["rows"], float(kept.mean()))


def usual_grid(way: str) -> tuple[float, ...]:
    """Return the candidates of our choice."""
    return next(iter(grids_of(way).values()))


def grids_of(way: str) -> dict[str, tuple[float, ...]]:
    """Return the grids whose values were all grown, by name."""
    grids = THRESHOLD_GRIDS if way == "CART" else LAM_GRIDS
    return {name: grid for name, grid in grids.items() if set(grid) <= set(WAYS[way]["candidates"])}


def alternatives(results: Results, data_set: str, way: str) -> dict[str, Rates]:
    """Return all alternatives of one set and one way."""
    tried: dict[str, Rates | None] = {
        name: rates_of(results, data_set, way, grid=grid) for name, grid in list(grids_of(way).items())[1:]
    }
    tried[SMALLER] = rates_of(results, data_set, way, smaller=True)
    for variant, (of_way, _) in VARIANTS.items():
        if of_way == way:
            tried[variant] = rates_of(results, data_set, way, variant=variant)
    return {name: rates for name, rates in tried.items() if rates is not None}


def change(usual: Rates, other: Rates) -> tuple[float, float]:
    """Return the mean paired difference in points over common repetitions, and its standard error."""
    both = min(len(usual.rates), len(other.rates))
    paired = other.rates[:both] - usual.rates[:both]
    return float(paired.mean()), float(paired.std(ddof=1) / np.sqrt(both)) if both > 1 else np.inf


def signed(points: float) -> str:
    """Format points with a sign and one decimal; values that round to zero are +0.0.

    Examples
    --------
    >>> signed(1.26), signed(-0.04)
    ('+1.3', '+0.0')
    """
    return f"{round(points, 1) + 0.0:+.1f}"


def _first_least(errors: NDArray[np.int64], backwards: bool) -> NDArray[np.int64]:
    """Return the first or last candidate with the least error (R, Q)."""
    if not backwards:
        return np.asarray(errors.argmin(axis=2))
    return np.asarray(errors.shape[2] - 1 - errors[:, :, ::-1].argmin(axis=2))
