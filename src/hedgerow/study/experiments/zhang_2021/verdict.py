"""Verdict: the printed results that hold, and explanations of the others."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from hedgerow.study.experiments.frame import Results
from hedgerow.study.experiments.zhang_2021.causes import Deviation, deviations
from hedgerow.study.experiments.zhang_2021.claims import Claim
from hedgerow.study.experiments.zhang_2021.ours import GOAL, Floats, Ours
from hedgerow.study.experiments.zhang_2021.paper import printed_stars
from hedgerow.study.experiments.zhang_2021.protocol import CAUTIONS, MANY, SKIPPED
from hedgerow.study.experiments.zhang_2021.tables import cell_name, stars_of


def write_verdict(
    results: Results,
    best: Ours,
    senses: list[Ours],
    variants: list[Ours],
    claims: list[Claim],
    noise: dict[float, Floats],
) -> list[str]:
    """Return the verdict as sentences."""
    said = [
        f"**{best.within} of {best.cells} printed cells are within ±{GOAL:g} points** when leaves count"
        f" `{best.name}`, with"
        f" {best.repetitions} repetitions; the mean absolute difference is {best.deviation:.3f} points.",
        f"The paper does not say which rows a leaf counts. Its numbers fit `{best.name}` best; the mean"
        " differences are "
        + ", ".join(f"{s.deviation:.3f} (`{s.name}`)" for s in sorted(senses, key=lambda s: s.deviation))
        + ".",
    ]
    said += _remark_on_constants(best, variants)
    said += [_remark_on_deviations(one) for one in deviations(best, [*senses, *variants])]
    said.append(_remark_on_claims(claims))
    said.append(_remark_on_stars(best))
    if noise:
        said.append(_remark_on_noise(noise))
    said += [f"{name} was left out: {reason}." for name, reason in results.absent.items()]
    return said


def _remark_on_constants(best: Ours, variants: list[Ours]) -> list[str]:
    """List cells that are inside if constant features count as in scikit-learn."""
    skipped = [variant for variant in variants if variant.name == SKIPPED]
    if not skipped:
        return []
    was, is_ = np.abs(skipped[0].gap) > GOAL, np.abs(best.gap) > GOAL
    moved = [tuple(int(i) for i in place) for place in np.argwhere(was & ~is_)]
    told = ", ".join(f"{cell_name(*at)} ({skipped[0].gap[at]:+.2f} → {best.gap[at]:+.2f})" for at in moved) or "none"
    return [
        "Explained, by how constant features are counted: when a node draws √p features, scikit-learn, which the"
        " authors used, lets a feature that is constant there take one of the places; hedgerow by default draws"
        f" another. Skipping them leaves {int(was.sum())} cells outside in {skipped[0].repetitions} repetitions,"
        f" counting them {int(is_.sum())}. Inside since they are counted: {told}."
    ]


def _remark_on_deviations(one: Deviation) -> str:
    """Describe a cell outside the goal and its cause."""
    return (
        f"Outside, {one.name}: {one.gap:+.2f} points, {one.errors:.1f} standard errors. **{one.cause}**: {one.reason}."
        f" Over s = {_series(CAUTIONS, 0)} the paper has {_series(one.theirs)}, we {_series(one.ours)}."
    )


def _remark_on_claims(claims: list[Claim]) -> str:
    """Count the claims that hold, and the sets of each."""
    held = [claim for claim in claims if claim.held]
    told = "; ".join(f"{claim.words}: {claim.verdict} (paper {claim.theirs})" for claim in claims)
    return (
        f"{len(held)} of {len(claims)} statements the paper makes about its tables hold here, where to hold is to be"
        f" true on more than half of the sets. {told[:1].upper()}{told[1:]}."
    )


def _series(values: Iterable[float], digits: int = 2) -> str:
    """Format numbers with commas."""
    return ", ".join(f"{value:.{digits}f}" for value in values)


def _remark_on_stars(ours: Ours) -> str:
    """Compare our significance with the printed stars."""
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


def _remark_on_noise(means: dict[float, Floats]) -> str:
    """Name the best multiclass rule without noise and with most of it."""
    names = list(MANY)
    first, last = min(means), max(means)
    leaders = [names[int(means[noise][1:, 0].argmax())] for noise in (first, last)]
    gains = [means[noise][1:, 0].max() - means[noise][0, 0] for noise in (first, last)]
    return (
        f"Beyond the paper, many classes: {leaders[0]} has the highest mean u65 with {first:.0%} of wrong labels,"
        f" {leaders[1]} with {last:.0%}; the best rule is {gains[0]:+.1f} and {gains[1]:+.1f} points from the"
        " precise forest's accuracy."
    )
