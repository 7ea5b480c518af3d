"""The report, with additions to the paper."""

from __future__ import annotations

from typing import Any

import numpy as np

from hedgerow.study.experiments.frame import Results
from hedgerow.study.experiments.report import Figure, ReportTable, StudyReport
from hedgerow.study.experiments.zhang_2021.paper import (
    BASELINE,
    COLUMNS,
    GOAL,
    PAPER,
    TITLES,
    Floats,
    Ours,
    collect,
    collect_decided,
)
from hedgerow.study.experiments.zhang_2021.protocol import (
    CAUTIONS,
    DECIDED,
    DECISIONS,
    MANY,
    NOISES,
    SENSES,
    TWIN,
    VARIANTS,
)
from hedgerow.study.experiments.zhang_2021.tables import outside_table, paper_tables, sense_table, variant_table
from hedgerow.study.experiments.zhang_2021.verdict import claim_table, count_claims, write_verdict
from hedgerow.theory.ranks import mean_ranks


def report(results: Results) -> StudyReport:
    """Return the report: the printed tables, and additions."""
    senses = [collect(results, sense, sense=sense) for sense in SENSES]
    variants = [collect(results, name, kind="variant", variant=name) for name in VARIANTS]
    variants += [collect_decided(results, name) for name in DECIDED]
    variants.append(collect(results, TWIN, kind="twin"))
    variants = [variant for variant in variants if variant.cells]
    best = min(senses, key=lambda sense: sense.deviation)
    parts: list[ReportTable | Figure] = [*paper_tables(best), sense_table(senses), _figure_of_gaps(senses)]
    outside = outside_table(best, [*senses, *variants])
    parts += [outside] if outside.rows else []
    parts += [variant_table(senses[0], variants)] if variants else []
    claims = count_claims(best)
    parts.append(claim_table(claims))
    beyond = beyond_table(results, senses[0])
    noise, noise_means = noise_table(results)
    parts += [beyond] if beyond.rows else []
    parts += [noise, figure_of_noise(noise_means), decisions_table(results)] if noise.rows else []
    return StudyReport(
        title=f"{PAPER['title']} (zhang-2021)",
        source=f"{PAPER['authors']}. {PAPER['where']}.",
        command="hedgerow reproduce zhang-2021" + (" --quick" if results.quick else ""),
        verdict=write_verdict(results, best, senses, variants, claims, noise_means),
        parts=parts,
        data=_data(senses, variants, noise_means),
    )


def _figure_of_gaps(senses: list[Ours]) -> Figure:
    """Return the plot of the 96 differences to the paper, for each counting sense."""

    def draw(canvas: Any) -> None:
        axes = canvas.subplots(1, len(senses))
        nearer = np.nanmax([np.abs(sense.gap).max() for sense in senses if sense.name != "oob"])
        for axis, sense in zip(axes, senses, strict=True):
            axis.axhspan(-GOAL, GOAL, color="#dddddd", zorder=0)
            for rule, (name, colour) in enumerate(zip(COLUMNS, SHADES, strict=False)):
                x = np.repeat(np.arange(len(TITLES)), len(CAUTIONS)) + 0.15 * (rule - 1.5)
                axis.plot(x, sense.gap[:, :, rule].ravel(), ".", ms=4, color=colour, label=name)
            axis.set_title(f"{sense.name}: {sense.within} of {sense.cells} within ±{GOAL:g}")
            if sense.name != "oob":  # far from the paper: would need a scale of its own
                axis.set_ylim(-1.1 * nearer, 1.1 * nearer)
            axis.set_xticks(np.arange(len(TITLES)), TITLES, rotation=60)
        axes[0].set_ylabel("ours − paper, points of u65")
        canvas.legend(*axes[0].get_legend_handles_labels(), loc="outside right center", fontsize=7)

    return Figure("gaps", "Differences to the 96 printed cells", draw, (10, 3.2))


def _data(senses: list[Ours], variants: list[Ours], noise: dict[float, Floats]) -> dict[str, Any]:
    """Return the data behind the tables as JSON."""
    ways = {
        way.name: {"repetitions": way.repetitions, "u65": np.round(way.mean, 4).tolist()}
        for way in [*senses, *variants]
    }
    return {
        "sets": list(TITLES), "cautions": list(CAUTIONS), "rules": list(COLUMNS), "u65": ways,
        "noise": {f"{share:g}": np.round(values, 4).tolist() for share, values in noise.items()},
    }  # fmt: skip


# ---- Additions: learned weights, cautions chosen out of bag, classes under noise -------------------------------------


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
