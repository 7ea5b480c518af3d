"""Figure 1: trees of Breast Tissue for every λ."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow.study.experiments.frame import Results
from hedgerow.study.experiments.report import Figure, ReportTable
from hedgerow.study.experiments.sutton_2012.protocol import CURVE_LAMS, CURVES, SLOW_CURVE, SLOW_LAMS

Floats = NDArray[np.float64]

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
