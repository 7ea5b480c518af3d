"""Verdict: the printed results that hold, and explanations of the others."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hedgerow.study.experiments.frame import Results
from hedgerow.study.experiments.report import ReportTable
from hedgerow.study.experiments.zhang_2021.paper import (
    BASELINE,
    GOAL,
    Floats,
    Ours,
    paired_change,
    printed,
    printed_stars,
)
from hedgerow.study.experiments.zhang_2021.protocol import CAUTIONS, MANY, SKIPPED, TWIN
from hedgerow.study.experiments.zhang_2021.tables import cell_name, stars_of

At = tuple[int, ...]

SURE = 2  # standard errors of a paired difference that is more than noise


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
    moved, errors = paired_change(skipped[0], best)
    inside = [tuple(int(i) for i in place) for place in np.argwhere(was & ~is_)]
    told = (
        f"{cell_name(*at)} ({skipped[0].gap[at]:+.2f}, moved by {moved[at]:+.2f} ± {errors[at]:.2f})"
        for at in inside
        if abs(moved[at]) > SURE * errors[at]
    )
    noise = sum(abs(moved[at]) <= SURE * errors[at] for at in inside)
    return [
        "Explained, by how constant features are counted: when a node draws √p features, scikit-learn, which the"
        " authors used, lets a feature that is constant there take one of the places; hedgerow by default draws"
        f" another. Skipping them leaves {int(was.sum())} cells outside in {skipped[0].repetitions} repetitions,"
        f" counting them {int(is_.sum())} in {best.repetitions}. Inside since they are counted, with paired differences"
        f" over {min(skipped[0].repetitions, best.repetitions)} repetitions and their standard errors:"
        f" {', '.join(told) or 'none'}. Cells inside by at most {SURE} standard errors, not counted: {noise}."
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


@dataclass(frozen=True)
class Claim:
    """A claim, and the number of sets on which it is true in the paper and here."""

    words: str
    theirs: int
    ours: int
    of: int

    @property
    def held(self) -> bool:
        """Whether it is true on more than half of the sets."""
        return 2 * self.ours > self.of

    @property
    def verdict(self) -> str:
        """Whether it holds, and on how many sets."""
        return f"{'held' if self.held else 'not held'} on {self.ours} of {self.of}"


def count_claims(ours: Ours) -> list[Claim]:
    """Return the claims of section 4, counted in the paper's numbers and in ours."""
    mass1, mass2, mass3 = range(3)
    statements: tuple[tuple[str, Callable[[Floats], NDArray[np.bool_]]], ...] = (
        ("for s = 1 the baseline is better than every belief rule", lambda u: u[:, 0, BASELINE] > _best_mass(u, 0)),
        ("for s = 5 the best belief rule is better than the baseline", lambda u: _best_mass(u, 2) > u[:, 2, BASELINE]),
        (
            "for s = 5 weights by epistemic uncertainty (mass3) beat the baseline",
            lambda u: u[:, 2, mass3] > u[:, 2, BASELINE],
        ),
        ("for s = 5 mass3 beats weights by size (mass2)", lambda u: u[:, 2, mass3] > u[:, 2, mass2]),
        ("mass2 does not beat the baseline, s = 1", lambda u: u[:, 0, mass2] <= u[:, 0, BASELINE]),
        (
            "mass1 stays within one point of the baseline, all s",
            lambda u: np.abs(u[:, :, mass1] - u[:, :, BASELINE]).max(axis=1) <= 1,
        ),
    )
    there = np.isfinite(ours.mean).all(axis=(1, 2))
    theirs, mine = printed()[there], ours.mean[there]
    return [
        Claim(words, int(holds(theirs).sum()), int(holds(mine).sum()), int(there.sum())) for words, holds in statements
    ]


def _best_mass(u: Floats, caution: int) -> Floats:
    """Return the score (sets,) of the best belief rule."""
    best: Floats = np.delete(u[:, caution], BASELINE, axis=1).max(axis=1)
    return best


def claim_table(claims: list[Claim]) -> ReportTable:
    """Return the table of claims."""
    rows = [[c.words, f"{c.theirs} of {c.of}", c.verdict] for c in claims]
    return ReportTable(
        "What the paper says of its tables",
        ("statement (section 4)", "sets in the paper", "here"),
        rows,
        "Held: true on more than half of the sets.",
    )


EXPLAINED, MISPRINT, UNEXPLAINED = "explained", "probably a misprint", "unexplained"


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

    Another way explains a cell if it brings it inside, by more than noise, and fits the whole no worse. A cell is
    probably a misprint if it alone breaks the order of its row over s, its neighbours are inside, and both programs
    agree against it.
    """
    inside = [way for way in others if abs(way.gap[at]) <= GOAL]
    better = [_moved(at, best, way) for way in inside if _share(way) >= _share(best)]
    if explained := [words for words, is_sure in better if is_sure]:
        return EXPLAINED, f"inside under {' and '.join(explained)}, which fits all cells no worse"
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


def _moved(at: At, best: Ours, way: Ours) -> tuple[str, bool]:
    """Return how far a cell moves under another way, in words, and whether by more than noise."""
    change, error = (each[at] for each in paired_change(best, way))
    return f"`{way.name}` ({way.gap[at]:+.2f}, moved by {change:+.2f} ± {error:.2f})", abs(change) > SURE * error


def _share(way: Ours) -> float:
    """Return the share of cells within the goal."""
    return way.within / max(way.cells, 1)


def _breaks_order(at: At, best: Ours) -> bool:
    """Test whether a cell alone breaks the order of its row over s, which ours keeps."""
    ours, theirs = np.diff(best.mean[at[0], :, at[2]]), np.diff(printed()[at[0], :, at[2]])
    neighbours = np.delete(np.abs(best.gap[at[0], :, at[2]]), at[1])
    steady = bool((ours > 0).all() or (ours < 0).all())
    return steady and not bool((theirs > 0).all() or (theirs < 0).all()) and bool((neighbours <= GOAL).all())
