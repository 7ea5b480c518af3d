"""The paper's tables with our results, and the fit of each variant."""

from __future__ import annotations

import numpy as np

from hedgerow.study.experiments.report import ReportTable, stars, t_test
from hedgerow.study.experiments.zhang_2021.paper import (
    BASELINE,
    COLUMNS,
    GOAL,
    TITLES,
    Floats,
    Ours,
    printed,
    printed_stars,
)
from hedgerow.study.experiments.zhang_2021.protocol import CAUTIONS


def paper_tables(ours: Ours) -> list[ReportTable]:
    """Return Tables 1 to 3: our value, the printed one and their difference."""
    theirs, their_stars = printed(), printed_stars()
    tables = []
    for number, caution in enumerate(CAUTIONS):
        rows = []
        for position, title in enumerate(TITLES):
            found = ours.scores[position]
            if found is None:
                continue
            mine = stars_of(found[:, number])
            best = int(ours.mean[position, number].argmax())
            row = [title]
            for rule in range(len(COLUMNS)):
                value, other = ours.mean[position, number, rule], theirs[position, number, rule]
                shown = f"**{value:.2f}**{mine.replace('*', '⋆')}" if rule == best else f"{value:.2f}"
                row.append(f"{shown} / {other:.2f} {value - other:+.2f}")
            rows.append([*row, their_stars[position, number].replace("*", "⋆")])
        tables.append(
            ReportTable(
                f"Table {number + 1}: u65 in percent with s = {caution:g}",
                ("set", *COLUMNS, "their stars"),
                rows,
                f"Ours / the paper's and the difference, {ours.repetitions} repetitions of ten folds, leaves"
                f" count `{ours.name}`. Bold:"
                " our best; stars: Student's t-test of the best belief rule against the baseline (⋆ 0.05, ⋆⋆"
                " 0.01, ⋆⋆⋆ 0.001).",
            )
        )
    return tables


def stars_of(scores: Floats) -> str:
    """Return the stars of the better of the best belief rule and the baseline."""
    if len(scores) < 2:
        return ""
    means = np.delete(scores.mean(axis=0), BASELINE)
    return stars(t_test(scores[:, int(means.argmax())], scores[:, BASELINE]))


def sense_table(senses: list[Ours]) -> ReportTable:
    """Return the table of the fit of each counting sense."""
    return ReportTable(
        "What a leaf counts: which of the four senses the paper's numbers fit",
        ("counts", "repetitions", f"cells within ±{GOAL:g}", "mean difference", "largest", "where"),
        [_fit_row(sense) for sense in senses],
        "Differences in points of u65, absolute. `all`: every training row in the leaf; `inbag`: bootstrap"
        " multiplicities;"
        " `distinct`: distinct rows of the bootstrap sample; `oob`: only out-of-bag rows.",
    )


def variant_table(usual: Ours, variants: list[Ours]) -> ReportTable:
    """Return the table of details that the paper leaves open."""
    return ReportTable(
        "What the paper leaves open, one thing changed at a time",
        ("variant", "repetitions", f"cells within ±{GOAL:g}", "mean difference", "largest", "where"),
        [_fit_row(usual, "as in the tables, counts all"), *(_fit_row(variant) for variant in variants)],
        "The usual way: folds drawn without regard to classes, Gini, √p features per split, constant features counted"
        " among them as scikit-learn does, a leaf decides when its lower bound is exactly 1/2, a belief of exactly 1/2"
        " does not decide. The last line has other trees and another program: scikit-learn's forests, and sets by the"
        " printed formulas; it leaves out the two largest sets.",
    )


def _fit_row(ours: Ours, name: str | None = None) -> list[str]:
    """Return a row about the fit of one variant."""
    gap = np.abs(ours.gap)
    worst = np.unravel_index(int(np.nanargmax(gap)), gap.shape)
    return [
        name or ours.name,
        f"{ours.repetitions}",
        f"{ours.within} of {ours.cells}",
        f"{ours.deviation:.3f}",
        f"{gap[worst]:.2f}",
        cell_name(*(int(i) for i in worst)),
    ]


def outside_table(best: Ours, ways: list[Ours]) -> ReportTable:
    """Return the table of cells outside the goal, with their values elsewhere."""
    rows = []
    for place in np.argwhere(np.abs(best.gap) > GOAL):
        at = tuple(int(i) for i in place)
        distance = best.gap[at] / best.error[at]
        others = [f"{way.gap[at]:+.2f}" for way in ways]
        rows.append([cell_name(*at), f"{best.mean[at]:.2f}", f"{printed()[at]:.2f}", f"{distance:+.1f}", *others])
    return ReportTable(
        f"Cells outside ±{GOAL:g}, and what was tried",
        ("cell", "ours", "paper", "standard errors", *(way.name for way in ways)),
        rows,
        "Right of the standard errors: the difference to the paper under each sense of counting and each variant.",
        brief=False,
    )


def cell_name(data_set: int, caution: int, rule: int) -> str:
    """Return a cell in words."""
    return f"{TITLES[data_set]}, s = {CAUTIONS[caution]:g}, {COLUMNS[rule]}"
