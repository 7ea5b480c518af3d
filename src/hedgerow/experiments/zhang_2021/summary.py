"""Summary: results of all units -> tables with ours beside the paper's, figures, and the verdict."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow.experiments.frame import Results
from hedgerow.experiments.report import Figure, Report, Table
from hedgerow.experiments.statistics import mean_ranks, stars, t_test
from hedgerow.experiments.zhang_2021.paper import COLUMNS, PAPER, TITLES, printed, printed_stars
from hedgerow.experiments.zhang_2021.protocol import CAUTIONS, MANY, NOISES, REPETITIONS, SENSES, VARIANTS

Floats = NDArray[np.float64]

GOAL = 0.4  # points
BASELINE = COLUMNS.index("baseline")
DISTINCT_SHADES = ("#1b6ca8", "#d1495b", "#2e8b57", "#7a5195", "#8c6d31", "#444444")


@dataclass(frozen=True)
class Ours:
    """u65 in percent of one way to do it: (sets, cautions, rules), NaN for a set that is absent."""

    name: str
    repetitions: int
    mean: Floats
    error: Floats  # standard error of the difference to the paper, if the paper's repetitions scatter as ours do
    scores: tuple[Floats | None, ...]  # (repetitions, cautions, rules) for each set

    @property
    def gap(self) -> Floats:
        """Ours minus the paper's."""
        return self.mean - printed()

    @property
    def within(self) -> int:
        """Cells within the goal."""
        return int((np.abs(self.gap) <= GOAL).sum())

    @property
    def cells(self) -> int:
        """Cells there are."""
        return int(np.isfinite(self.gap).sum())

    @property
    def deviation(self) -> float:
        """Mean absolute difference to the paper."""
        return float(np.nanmean(np.abs(self.gap)))


def report(results: Results) -> Report:
    """Everything the paper prints and what we add to it."""
    senses = [_collect(results, sense, kind="tables", sense=sense) for sense in SENSES]
    variants = [_collect(results, name, kind="variant", variant=name) for name in VARIANTS]
    variants = [variant for variant in variants if variant.cells]
    best = min(senses, key=lambda sense: sense.deviation)
    parts: list[Table | Figure] = [*_paper_tables(best), _sense_table(senses), _figure_of_gaps(senses)]
    outside = _outside(best, [*senses, *variants])
    parts += [outside] if outside.rows else []
    parts += [_variant_table(senses[0], variants)] if variants else []
    claims = _claims(best)
    parts.append(_claim_table(claims))
    beyond = _beyond_table(results, senses[0])
    noise, noise_means = _noise_table(results)
    parts += [beyond] if beyond.rows else []
    parts += [noise, _figure_of_noise(noise_means)] if noise.rows else []
    return Report(
        title=f"{PAPER['title']} (zhang-2021)",
        source=f"{PAPER['authors']}. {PAPER['where']}.",
        command="hedgerow reproduce zhang-2021" + (" --quick" if results.quick else ""),
        verdict=_verdict(results, best, senses, variants, claims, noise_means),
        parts=parts,
        data=_data(senses, variants, noise_means),
    )


# ---- from units to arrays ---------------------------------------------------------------------------------------


def _collect(results: Results, name: str, **wanted: Any) -> Ours:
    """Units of one way to do it -> means, errors, scores."""
    scores: list[Floats | None] = []
    for data_set in PAPER["sets"].values():
        found = [np.array(result["u65"]) for _, result in results.of(set=data_set, **wanted)]
        scores.append(100 * np.concatenate(found) if found else None)
    shape = (len(CAUTIONS), len(COLUMNS))
    mean = np.array([np.full(shape, np.nan) if one is None else one.mean(axis=0) for one in scores])
    error = np.array([_error(one) for one in scores])
    return Ours(name, max((len(one) for one in scores if one is not None), default=0), mean, error, tuple(scores))


def _error(scores: Floats | None) -> Floats:
    """(repetitions, cautions, rules) -> standard error of the difference of our mean and the paper's."""
    if scores is None or len(scores) < 2:
        return np.full((len(CAUTIONS), len(COLUMNS)), np.nan)
    error: Floats = scores.std(axis=0, ddof=1) * np.sqrt(1 / len(scores) + 1 / REPETITIONS)
    return error


# ---- tables -------------------------------------------------------------------------------------------------------


def _paper_tables(ours: Ours) -> list[Table]:
    """Tables 1 to 3, each cell: ours, the paper's, the difference; the best of a row in bold, with its stars."""
    theirs, their_stars = printed(), printed_stars()
    tables = []
    for number, caution in enumerate(CAUTIONS):
        rows = []
        for position, title in enumerate(TITLES):
            found = ours.scores[position]
            if found is None:
                continue
            mine = _stars(found[:, number])
            best = int(ours.mean[position, number].argmax())
            row = [title]
            for rule in range(len(COLUMNS)):
                value, other = ours.mean[position, number, rule], theirs[position, number, rule]
                shown = f"**{value:.2f}**{mine.replace('*', '⋆')}" if rule == best else f"{value:.2f}"
                row.append(f"{shown} / {other:.2f} {value - other:+.2f}")
            rows.append([*row, their_stars[position, number].replace("*", "⋆")])
        tables.append(
            Table(
                f"Table {number + 1}: u65 in percent with s = {caution:g}",
                ("set", *COLUMNS, "their stars"),
                rows,
                f"Ours / the paper's and the difference, {ours.repetitions} repetitions of ten folds, leaves count `{ours.name}`. Bold:"
                " our best; stars: Student's t-test of the best belief rule against the baseline (⋆ .05, ⋆⋆ .01, ⋆⋆⋆ .001).",
            )
        )
    return tables


def _stars(scores: Floats) -> str:
    """(repetitions, rules) -> stars of the better of: the best belief rule, the baseline."""
    if len(scores) < 2:
        return ""
    means = np.delete(scores.mean(axis=0), BASELINE)
    return stars(t_test(scores[:, int(means.argmax())], scores[:, BASELINE]))


def _sense_table(senses: list[Ours]) -> Table:
    """How each sense of counting fits."""
    return Table(
        "What a leaf counts: which of the four senses the paper's numbers fit",
        ("counts", "repetitions", f"cells within ±{GOAL:g}", "mean difference", "largest", "where"),
        [_fit_row(sense) for sense in senses],
        "Differences in points of u65, absolute. `all`: every training row in the leaf; `inbag`: bootstrap multiplicities;"
        " `distinct`: distinct rows of the bag; `oob`: only rows outside the bag.",
    )


def _variant_table(usual: Ours, variants: list[Ours]) -> Table:
    """How each thing the paper leaves open changes the fit."""
    return Table(
        "What the paper leaves open, one thing changed at a time",
        ("variant", "repetitions", f"cells within ±{GOAL:g}", "mean difference", "largest", "where"),
        [_fit_row(usual, "as in the tables, counts all"), *(_fit_row(variant) for variant in variants)],
        "The usual way: stratified folds, Gini, √p features per split, a leaf decides when its lower bound is exactly 1/2,"
        " a belief of exactly 1/2 does not decide.",
    )


def _fit_row(ours: Ours, name: str | None = None) -> list[str]:
    """One way to do it -> a row on how it fits."""
    gap = np.abs(ours.gap)
    worst = np.unravel_index(int(np.nanargmax(gap)), gap.shape)
    return [
        name or ours.name,
        f"{ours.repetitions}",
        f"{ours.within} of {ours.cells}",
        f"{ours.deviation:.3f}",
        f"{gap[worst]:.2f}",
        _cell_name(*(int(i) for i in worst)),
    ]


def _outside(best: Ours, ways: list[Ours]) -> Table:
    """Cells that miss the goal, in standard errors, and what each other way makes of them."""
    rows = []
    for place in np.argwhere(np.abs(best.gap) > GOAL):
        at = tuple(int(i) for i in place)
        distance = best.gap[at] / best.error[at]
        others = [f"{way.gap[at]:+.2f}" for way in ways]
        rows.append([_cell_name(*at), f"{best.mean[at]:.2f}", f"{printed()[at]:.2f}", f"{distance:+.1f}", *others])
    return Table(
        f"Cells outside ±{GOAL:g}, and what was tried",
        ("cell", "ours", "paper", "standard errors", *(way.name for way in ways)),
        rows,
        "Right of the standard errors: the difference to the paper under each sense of counting and each variant.",
        brief=False,
    )


def _cell_name(data_set: int, caution: int, rule: int) -> str:
    """Position -> words."""
    return f"{TITLES[data_set]}, s = {CAUTIONS[caution]:g}, {COLUMNS[rule]}"


# ---- claims ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Claim:
    """A sentence of the paper, on how many sets it is true, there and here, and on how many it must be."""

    words: str
    theirs: int
    ours: int
    of: int

    @property
    def held(self) -> bool:
        """Whether it is true of more than half of the sets."""
        return 2 * self.ours > self.of


def _claims(ours: Ours) -> list[Claim]:
    """What section 4 says, counted over sets in the paper's numbers and in ours."""
    mass1, mass2, mass3 = range(3)
    statements: tuple[tuple[str, Callable[[Floats], NDArray[np.bool_]]], ...] = (
        ("for s = 1 the baseline is better than every belief rule", lambda u: u[:, 0, BASELINE] > _best_mass(u, 0)),
        ("for s = 5 the best belief rule is better than the baseline", lambda u: _best_mass(u, 2) > u[:, 2, BASELINE]),
        ("for s = 5 weights by epistemic uncertainty (mass3) beat the baseline", lambda u: u[:, 2, mass3] > u[:, 2, BASELINE]),
        ("for s = 5 mass3 beats weights by size (mass2)", lambda u: u[:, 2, mass3] > u[:, 2, mass2]),
        ("mass2 does not beat the baseline, s = 1", lambda u: u[:, 0, mass2] <= u[:, 0, BASELINE]),
        ("mass1 stays within one point of the baseline, all s", lambda u: np.abs(u[:, :, mass1] - u[:, :, BASELINE]).max(axis=1) <= 1),
    )
    there = np.isfinite(ours.mean).all(axis=(1, 2))
    theirs, mine = printed()[there], ours.mean[there]
    return [Claim(words, int(holds(theirs).sum()), int(holds(mine).sum()), int(there.sum())) for words, holds in statements]


def _best_mass(u: Floats, caution: int) -> Floats:
    """(sets, cautions, rules) -> the best belief rule's score (sets,)."""
    best: Floats = np.delete(u[:, caution], BASELINE, axis=1).max(axis=1)
    return best


def _claim_table(claims: list[Claim]) -> Table:
    """Each claim with the sets on which it is true."""
    rows = [[c.words, f"{c.theirs} of {c.of}", f"{c.ours} of {c.of}", "held" if c.held else "not held"] for c in claims]
    return Table("What the paper says of its tables", ("statement (section 4)", "paper", "ours", ""), rows)


# ---- beyond the paper ---------------------------------------------------------------------------------------------


def _beyond_table(results: Results, fixed: Ours) -> Table:
    """Learned weights and cautions chosen out of bag, beside the best of the paper's rules at a fixed caution."""
    rows = []
    for position, (title, data_set) in enumerate(PAPER["sets"].items()):
        found = results.of(kind="beyond", set=data_set)
        scores = fixed.scores[position]
        if not found or scores is None:
            continue
        u = 100 * np.concatenate([np.array(result["u65"]) for _, result in found]).mean(axis=0)
        chosen = np.mean([result["cautions"] for _, result in found], axis=0)
        same = scores[: found[0][0]["repetitions"][1]].mean(axis=0)
        cautions = [f"{value:.2f} (s̄ = {caution:.1f})" for value, caution in zip(u[3:], chosen, strict=True)]
        rows.append([title, f"{same[:, :3].max():.2f}", f"{same[:, BASELINE].max():.2f}", *(f"{v:.2f}" for v in u[:3]), *cautions])
    return Table(
        "Beyond the paper: weights learned, caution chosen on out-of-bag evidence",
        (
            "set", "best fixed belief rule", "best fixed baseline",
            *(f"learned, s = {s:g}" for s in CAUTIONS), "mass1, s auto", "mass3, s auto", "baseline, s auto",
        ),
        rows,
        "u65 in percent on the same folds. The two fixed columns choose s (and the weights) by looking at the test rows; the"
        " others look only at rows outside the bags of the training folds. s̄: mean of the cautions chosen.",
    )  # fmt: skip


def _noise_table(results: Results) -> tuple[Table, dict[float, Floats]]:
    """Rules of many classes under label noise: mean u65 and mean rank over sets."""
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
    table = Table(
        "Beyond the paper: rules of many classes under label noise",
        ("wrong training labels", "sets", "accuracy, precise", *MANY),
        rows,
        "Mean u65 in percent over sets (mean rank among the six rules, 1 is best), s = 1, ten folds. Test labels are never"
        " changed. CR keeps 95 % of the averaged probability, as its authors do.",
    )
    return table, means


# ---- figures --------------------------------------------------------------------------------------------------------


def _figure_of_gaps(senses: list[Ours]) -> Figure:
    """The 96 differences to the paper, for each sense of counting."""

    def draw(canvas: Any) -> None:
        axes = canvas.subplots(1, len(senses), sharey=True)
        for axis, sense in zip(axes, senses, strict=True):
            axis.axhspan(-GOAL, GOAL, color="#dddddd", zorder=0)
            for rule, (name, colour) in enumerate(zip(COLUMNS, DISTINCT_SHADES, strict=False)):
                x = np.repeat(np.arange(len(TITLES)), len(CAUTIONS)) + 0.15 * (rule - 1.5)
                axis.plot(x, sense.gap[:, :, rule].ravel(), ".", ms=4, color=colour, label=name)
            axis.set_title(f"{sense.name}: {sense.within} of {sense.cells} within ±{GOAL:g}")
            axis.set_xticks(np.arange(len(TITLES)), TITLES, rotation=60)
        axes[0].set_ylabel("ours − paper, points of u65")
        axes[-1].legend(fontsize=7)

    return Figure("gaps", "Differences to the 96 printed cells", draw, (10, 3.2))


def _figure_of_noise(means: dict[float, Floats]) -> Figure:
    """u65 and determinacy of the rules of many classes against noise."""

    def draw(canvas: Any) -> None:
        left, right = canvas.subplots(1, 2)
        noises = list(means)
        left.plot(noises, [means[noise][0, 0] for noise in noises], "k:", label="precise forest")
        for rule, (name, colour) in enumerate(zip(MANY, DISTINCT_SHADES, strict=True), start=1):
            left.plot(noises, [means[noise][rule, 0] for noise in noises], "o-", ms=3, color=colour, label=name)
            right.plot(noises, [means[noise][rule, 2] for noise in noises], "o-", ms=3, color=colour)
        for axis, words in ((left, "mean u65, percent"), (right, "mean determinacy, percent")):
            axis.set_xlabel("share of wrong training labels")
            axis.set_ylabel(words)
        left.legend(fontsize=7)

    return Figure("noise", "Rules of many classes under label noise", draw, (8, 3.2))


# ---- verdict --------------------------------------------------------------------------------------------------------


def _verdict(
    results: Results, best: Ours, senses: list[Ours], variants: list[Ours], claims: list[Claim], noise: dict[float, Floats]
) -> list[str]:
    """What holds, what does not, and why: sentences made of the numbers."""
    said = [
        f"**{best.within} of {best.cells} printed cells are within ±{GOAL:g} points** when leaves count `{best.name}`, with"
        f" {best.repetitions} repetitions; the mean absolute difference is {best.deviation:.3f} points.",
        f"The paper does not say which rows a leaf counts. Its numbers fit `{best.name}` best; the mean differences are "
        + ", ".join(f"{s.deviation:.3f} (`{s.name}`)" for s in sorted(senses, key=lambda s: s.deviation))
        + ".",
    ]
    said += _said_of_outside(best, [*senses, *variants])
    held = [claim for claim in claims if claim.held]
    said.append(
        f"{len(held)} of the {len(claims)} statements the paper makes about its tables hold here"
        + "".join(f"; not held: {c.words} ({c.ours} of {c.of} sets, paper {c.theirs})" for c in claims if not c.held)
        + "."
    )
    said.append(_said_of_stars(best))
    if noise:
        said.append(_said_of_noise(noise))
    said += [f"{name} was left out: {reason}." for name, reason in results.absent.items()]
    return said


def _said_of_outside(best: Ours, ways: list[Ours]) -> list[str]:
    """Cells outside the goal, by set, and the way that comes nearest."""
    said = []
    for position, title in enumerate(TITLES):
        outside = np.abs(best.gap[position]) > GOAL
        if not outside.any():
            continue
        at = np.argwhere(outside)
        distances = [abs(best.gap[position][tuple(i)] / best.error[position][tuple(i)]) for i in at]
        cells = ", ".join(f"{COLUMNS[i[1]]} at s = {CAUTIONS[i[0]]:g} ({best.gap[position][tuple(i)]:+.2f})" for i in at)
        nearest = min(ways, key=lambda way: float(np.abs(way.gap[position]).mean()))
        said.append(
            f"Outside on {title}: {cells}; {min(distances):.1f} to {max(distances):.1f} standard errors. Of everything tried,"
            f" `{nearest.name}` comes nearest on this set (mean difference {np.abs(nearest.gap[position]).mean():.2f},"
            f" here {np.abs(best.gap[position]).mean():.2f})."
        )
    return said


def _said_of_stars(ours: Ours) -> str:
    """How our significance compares with the printed stars."""
    theirs, both, more, fewer, rows = printed_stars(), 0, 0, 0, 0
    for position, scores in enumerate(ours.scores):
        if scores is None:
            continue
        for caution in range(len(CAUTIONS)):
            mine, printed_ones = len(_stars(scores[:, caution])), len(theirs[position, caution])
            rows, both = rows + 1, both + (mine == printed_ones)
            more, fewer = more + (mine > printed_ones), fewer + (mine < printed_ones)
    return (
        f"Stars: of {rows} rows, {both} carry as many as in the paper, {more} more, {fewer} fewer. A t-test of {ours.repetitions}"
        " repetitions on one data set measures the noise of folds and seeds, not of the data, and more repetitions give more stars."
    )


def _said_of_noise(means: dict[float, Floats]) -> str:
    """Which rule of many classes leads without noise and with most of it."""
    names = list(MANY)
    first, last = min(means), max(means)
    leaders = [names[int(means[noise][1:, 0].argmax())] for noise in (first, last)]
    gains = [means[noise][1:, 0].max() - means[noise][0, 0] for noise in (first, last)]
    return (
        f"Beyond the paper, many classes: {leaders[0]} has the highest mean u65 with {first:.0%} of wrong labels,"
        f" {leaders[1]} with {last:.0%}; the best rule is {gains[0]:+.1f} and {gains[1]:+.1f} points from the precise forest's accuracy."
    )


def _data(senses: list[Ours], variants: list[Ours], noise: dict[float, Floats]) -> dict[str, Any]:
    """The numbers behind the tables, for other programs."""
    ways = {way.name: {"repetitions": way.repetitions, "u65": np.round(way.mean, 4).tolist()} for way in [*senses, *variants]}
    return {
        "sets": list(TITLES), "cautions": list(CAUTIONS), "rules": list(COLUMNS), "u65": ways,
        "noise": {f"{share:g}": np.round(values, 4).tolist() for share, values in noise.items()},
    }  # fmt: skip
