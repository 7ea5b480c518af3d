"""The report."""

from __future__ import annotations

from typing import Any

import numpy as np

from hedgerow.study.experiments.frame import Results
from hedgerow.study.experiments.report import Figure, ReportTable, StudyReport
from hedgerow.study.experiments.zhang_2021.beyond import (
    SHADES,
    beyond_table,
    decisions_table,
    figure_of_noise,
    noise_table,
)
from hedgerow.study.experiments.zhang_2021.paper import (
    COLUMNS,
    GOAL,
    PAPER,
    TITLES,
    Floats,
    Ours,
    collect,
    collect_decided,
)
from hedgerow.study.experiments.zhang_2021.protocol import CAUTIONS, DECIDED, SENSES, TWIN, VARIANTS
from hedgerow.study.experiments.zhang_2021.tables import outside_table, paper_tables, sense_table, variant_table
from hedgerow.study.experiments.zhang_2021.verdict import claim_table, count_claims, write_verdict


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
