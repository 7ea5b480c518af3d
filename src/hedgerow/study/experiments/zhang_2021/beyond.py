"""Additions: learned weights, cautions chosen out of bag, classes under noise."""

from __future__ import annotations

from typing import Any

import numpy as np

from hedgerow.study.experiments.frame import Results
from hedgerow.study.experiments.report import Figure, ReportTable
from hedgerow.study.experiments.zhang_2021.paper import BASELINE, PAPER, Floats, Ours
from hedgerow.study.experiments.zhang_2021.protocol import CAUTIONS, DECISIONS, MANY, NOISES
from hedgerow.theory.ranks import mean_ranks

SHADES = ("#1b6ca8", "#d1495b", "#2e8b57", "#7a5195", "#8c6d31", "#444444")


def beyond_table(results: Results, fixed: Ours) -> ReportTable:
    """Return the table of learned weights and cautions chosen out of bag."""
    rows = []
    for position, (title, data_set) in enumerate(PAPER["sets"].items()):
        found = results.of(kind="beyond", set=data_set)
        scores = fixed.scores[position]
        if not found or scores is None:
            continue
        u = 100 * np.concatenate([np.array(result["u65"]) for _, result in found]).mean(axis=0)
        chosen = np.mean([result["cautions"] for _, result in found], axis=0)
        same = scores[: len(found)].mean(axis=0)  # repetitions with the same folds
        cautions = [f"{value:.2f} (s̄ = {caution:.1f})" for value, caution in zip(u[3:], chosen, strict=True)]
        rows.append(
            [
                title,
                f"{same[:, :3].max():.2f}",
                f"{same[:, BASELINE].max():.2f}",
                *(f"{v:.2f}" for v in u[:3]),
                *cautions,
            ]
        )
    return ReportTable(
        "Beyond the paper: weights learned, caution chosen on out-of-bag evidence",
        (
            "set", "best fixed belief rule", "best fixed baseline",
            *(f"learned, s = {s:g}" for s in CAUTIONS), "mass1, s auto", "mass3, s auto", "baseline, s auto",
        ),
        rows,
        "u65 in percent on the same folds. The two fixed columns choose s (and the weights) by looking at the"
        " test rows; the"
        " others look only at out-of-bag rows of the training folds. s̄: mean of the cautions chosen.",
    )  # fmt: skip


def noise_table(results: Results) -> tuple[ReportTable, dict[float, Floats]]:
    """Return the table of multiclass rules under label noise."""
    means: dict[float, Floats] = {}
    rows = []
    for noise in NOISES:
        found = results.of(kind="noise", noise=noise)
        if not found:
            continue
        scores = 100 * np.array([np.mean(result["scores"], axis=0) for _, result in found])  # (sets, 1 + rules, 3)
        means[noise] = scores.mean(axis=0)
        ranks = mean_ranks(scores[:, 1:, 0])
        cells = [f"{value:.1f} ({rank:.1f})" for value, rank in zip(means[noise][1:, 0], ranks, strict=True)]
        rows.append([f"{noise:.0%}", f"{len(found)}", f"{means[noise][0, 0]:.1f}", *cells])
    table = ReportTable(
        "Beyond the paper: rules of many classes under label noise",
        ("wrong training labels", "sets", "accuracy, precise", *MANY),
        rows,
        "Mean u65 in percent over sets (mean rank among the six rules, 1 is best), s = 1, ten folds. Test labels are"
        " never changed. CR keeps 95% of the averaged probability.",
    )
    return table, means


def decisions_table(results: Results) -> ReportTable:
    """Return the table of decisions on averaged evidence under label noise."""
    columns = []
    for noise in (noise for noise in NOISES if results.of(kind="noise", noise=noise)):
        found = [result["decisions"] for _, result in results.of(kind="noise", noise=noise)]
        columns.append(100 * np.mean(np.concatenate(found), axis=0))  # (decisions, 3)
    shown = [noise for noise in NOISES if results.of(kind="noise", noise=noise)]
    rows = [
        [name, *(f"{column[position, 0]:.1f} ({column[position, 2]:.0f})" for column in columns)]
        for position, name in enumerate(DECISIONS if columns else ())
    ]
    return ReportTable(
        "Beyond the paper: every decision under label noise",
        ("decision", *(f"{noise:.0%} wrong" for noise in shown)),
        rows,
        "Mean u65 in percent over the same sets and forests (determinacy in percent), rule `average`, s = 1. Decisions"
        " for one class have u65 = accuracy. `coverage` (90%) and `risk` are calibrated out of bag, on labels as noisy"
        " as the training labels.",
    )


def figure_of_noise(means: dict[float, Floats]) -> Figure:
    """Return the plot of u65 and determinacy against noise."""

    def draw(canvas: Any) -> None:
        left, right = canvas.subplots(1, 2)
        noises = list(means)
        left.plot(noises, [means[noise][0, 0] for noise in noises], "k:", label="precise forest")
        for rule, (name, colour) in enumerate(zip(MANY, SHADES, strict=True), start=1):
            left.plot(noises, [means[noise][rule, 0] for noise in noises], "o-", ms=3, color=colour, label=name)
            right.plot(noises, [means[noise][rule, 2] for noise in noises], "o-", ms=3, color=colour)
        for axis, words in ((left, "mean u65, percent"), (right, "mean determinacy, percent")):
            axis.set_xlabel("share of wrong training labels")
            axis.set_ylabel(words)
        left.legend(fontsize=7)

    return Figure("noise", "Rules of many classes under label noise", draw, (8, 3.2))
