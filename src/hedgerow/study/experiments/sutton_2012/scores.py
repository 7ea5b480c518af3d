"""Error rates of chosen candidates, for any grid and any rule for ties, and the curves of figure 1."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow.study.experiments.frame import Results
from hedgerow.study.experiments.report import Figure, ReportTable
from hedgerow.study.experiments.sutton_2012.paper import Cell
from hedgerow.study.experiments.sutton_2012.protocol import (
    COARSE,
    CURVE_LAMS,
    CURVES,
    SLOW_CURVE,
    SLOW_LAMS,
    THRESHOLDS,
    VARIANTS,
    WAYS,
)

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


# ---- Figure 1: trees of Breast Tissue for every λ --------------------------------------------------------------------


SHADES = ("#1b6ca8", "#d1495b", "#2e8b57")
SMALL = 0.5  # λ
LITTLE = 3.0  # points


@dataclass(frozen=True)
class Curve:
    """Nodes and error rates in percent against λ."""

    name: str
    lams: tuple[float, ...]
    nodes: Floats
    rates: Floats

    @property
    def fall(self) -> float:
        """The largest mean loss of nodes from one λ to the next."""
        return float(np.maximum(-np.diff(self.nodes), 0).max())

    @property
    def rises(self) -> bool:
        """Whether the number of nodes increases with λ, within half a split on average."""
        return self.fall < 1

    @property
    def best(self) -> float:
        """The smallest λ with the least error."""
        return self.lams[int(self.rates.argmin())]

    @property
    def flat_from(self) -> float:
        """The smallest λ from which on all errors are within `LITTLE` points."""
        spans = [np.ptp(self.rates[start:]) for start in range(len(self.lams))]
        return self.lams[next(start for start, span in enumerate(spans) if span <= LITTLE)]


def collect_curves(results: Results) -> list[Curve]:
    """Return the curves that have been computed."""
    curves = []
    for name in CURVES:
        found = [result for _, result in results.of(kind="curve", curve=name)]
        if found:
            errors, leaves = (
                np.concatenate([one[what] for one in found]).mean(axis=0) for what in ("errors", "leaves")
            )
            curves.append(Curve(name, CURVE_LAMS, 2 * leaves - 1, 100 * errors / found[0]["rows"]))
    slow = [result for _, result in results.of(kind="slow curve")]
    if slow:
        errors, rows = np.sum([one["errors"] for one in slow], axis=0), sum(one["rows"] for one in slow)
        nodes = 2 * np.mean([one["leaves"] for one in slow], axis=0) - 1
        curves.append(Curve(SLOW_CURVE, SLOW_LAMS, nodes, 100 * errors / rows))
    return curves


def figure_1(curves: list[Curve]) -> Figure:
    """Return the plot of nodes against λ and error rate against nodes."""

    def draw(canvas: Any) -> None:
        top, bottom = canvas.subplots(2, 1)
        for curve, colour, mark in zip(curves, SHADES, "os^", strict=False):
            top.plot(curve.lams, curve.nodes, f"{mark}-", ms=3, color=colour, label=curve.name)
            bottom.plot(curve.nodes, curve.rates, f"{mark}-", ms=3, lw=0.7, color=colour)
        top.set_xlabel("λ")
        top.set_ylabel("number of nodes")
        bottom.set_xlabel("number of nodes")
        bottom.set_ylabel("error rate, percent")
        bottom.set_ylim(bottom=0)
        top.legend(fontsize=7)

    return Figure(
        "figure_1",
        "Figure 1: number of nodes against λ (top), error rate against number of nodes (bottom), Breast Tissue",
        draw,
        (6, 6),
        "Each point is one λ: means over ten folds, for the IDM over ten repetitions of them, for the multinomial mass"
        " over one. The paper says neither which mass it uses here nor how small a child may be; where not stated"
        " children have over ten rows.",
    )


def curve_table(curves: list[Curve]) -> ReportTable:
    """Return the table of the paper's statements about its figure."""
    rows = [
        [
            curve.name,
            f"{_held(curve.rises)} ({curve.nodes[0]:.1f} to {curve.nodes[-1]:.1f}, largest fall {curve.fall:.1f})",
            f"{_held(curve.best <= SMALL)} ({curve.rates.min():.1f}% at λ = {curve.best:g})",
            f"{_held(curve.flat_from <= SMALL)} (from λ = {curve.flat_from:g} on)",
        ]
        for curve in curves
    ]
    return ReportTable(
        "What the paper reads from Figure 1",
        ("curve", "nodes increase with λ", "the best error at a small λ", "error depends little on λ"),
        rows,
        f"Small: at most {SMALL:g}. Little: from a small λ on all errors are within {LITTLE:g} points. The paper"
        " prints no numbers of this figure.",
    )


def _held(holds: bool) -> str:
    """Return in words whether a statement holds."""
    return "held" if holds else "not held"
