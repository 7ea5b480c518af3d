"""Verdict: our means and the paper's -> what holds, what does not, and why, in sentences."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from hedgerow.study.experiments.frame import Results
from hedgerow.study.experiments.zhang_2021.claims import Claim
from hedgerow.study.experiments.zhang_2021.ours import GOAL, Floats, Ours
from hedgerow.study.experiments.zhang_2021.paper import printed, printed_stars
from hedgerow.study.experiments.zhang_2021.protocol import CAUTIONS, MANY
from hedgerow.study.experiments.zhang_2021.tables import cell_name, stars_of


def write_verdict(
    results: Results,
    best: Ours,
    senses: list[Ours],
    variants: list[Ours],
    claims: list[Claim],
    noise: dict[float, Floats],
) -> list[str]:
    """What holds, what does not, and why: sentences made from the figures."""
    said = [
        f"**{best.within} of {best.cells} printed cells are within ±{GOAL:g} points** when leaves count"
        f" `{best.name}`, with"
        f" {best.repetitions} repetitions; the mean absolute difference is {best.deviation:.3f} points.",
        f"The paper does not say which rows a leaf counts. Its numbers fit `{best.name}` best; the mean"
        " differences are "
        + ", ".join(f"{s.deviation:.3f} (`{s.name}`)" for s in sorted(senses, key=lambda s: s.deviation))
        + ".",
    ]
    said += _said_of_outside(best, [*senses, *variants])
    held = [claim for claim in claims if claim.held]
    said.append(
        f"{len(held)} of {len(claims)} statements the paper makes about its tables hold here"
        + "".join(f"; not held: {c.words} ({c.ours} of {c.of} sets, paper {c.theirs})" for c in claims if not c.held)
        + "."
    )
    said.append(_said_of_stars(best))
    if noise:
        said.append(_said_of_noise(noise))
    said += [f"{name} was left out: {reason}." for name, reason in results.absent.items()]
    return said


def _said_of_outside(best: Ours, ways: list[Ours]) -> list[str]:
    """Each cell outside the goal: how far, its neighbours over s, and which variants bring it inside."""
    said = []
    others = [way for way in ways if way is not best]
    for place in np.argwhere(np.abs(best.gap) > GOAL):
        at = tuple(int(i) for i in place)
        inside = [f"`{way.name}` ({way.gap[at]:+.2f})" for way in others if abs(way.gap[at]) <= GOAL]
        under = f"inside only under {' and '.join(inside)}" if inside else "outside under each of them"
        said.append(
            f"Outside, {cell_name(*at)}: {best.gap[at]:+.2f} points, {abs(best.gap[at] / best.error[at]):.1f} standard"
            f" errors. Over s = {_series(CAUTIONS, 0)} the paper has {_series(printed()[at[0], :, at[2]])}, we"
            f" {_series(best.mean[at[0], :, at[2]])}. Of {len(others)} other ways to count, fold, grow and decide:"
            f" {under}."
        )
    return said


def _series(values: Iterable[float], digits: int = 2) -> str:
    """Numbers with commas."""
    return ", ".join(f"{value:.{digits}f}" for value in values)


def _said_of_stars(ours: Ours) -> str:
    """How our significance compares with the printed stars."""
    theirs, both, more, fewer, rows = printed_stars(), 0, 0, 0, 0
    for position, scores in enumerate(ours.scores):
        if scores is None:
            continue
        for caution in range(len(CAUTIONS)):
            mine, printed_ones = len(stars_of(scores[:, caution])), len(theirs[position, caution])
            rows, both = rows + 1, both + (mine == printed_ones)
            more, fewer = more + (mine > printed_ones), fewer + (mine < printed_ones)
    return (
        f"Stars: of {rows} rows, {both} carry as many as in the paper, {more} more, {fewer} fewer. A t-test of"
        f" {ours.repetitions}"
        " repetitions on one data set measures the noise of folds and seeds, not of the data, and more"
        " repetitions give more stars."
    )


def _said_of_noise(means: dict[float, Floats]) -> str:
    """Which rule of many classes leads without noise and with most of it."""
    names = list(MANY)
    first, last = min(means), max(means)
    leaders = [names[int(means[noise][1:, 0].argmax())] for noise in (first, last)]
    gains = [means[noise][1:, 0].max() - means[noise][0, 0] for noise in (first, last)]
    return (
        f"Beyond the paper, many classes: {leaders[0]} has the highest mean u65 with {first:.0%} of wrong labels,"
        f" {leaders[1]} with {last:.0%}; the best rule is {gains[0]:+.1f} and {gains[1]:+.1f} points from the"
        " precise forest's accuracy."
    )
