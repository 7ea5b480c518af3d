"""The six figures of the paper."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from hedgerow import combine
from hedgerow.study.experiments.busch_2021.claims import FIVE, Clouds
from hedgerow.study.experiments.busch_2021.protocol import (
    COLUMNS,
    LEAF_SIZES,
    METHODS,
    PROGRAM,
    RULES,
    TREES,
    raw_score,
)
from hedgerow.study.experiments.busch_2021.scores import EVEN, UNEVEN, Floats, Scores
from hedgerow.study.experiments.report import LEVELS, Figure, pairwise_wins

COLOURS = dict(
    zip(
        METHODS,
        (
            "#d62728",
            "#ff9896",
            "#17becf",
            "#2ca02c",
            "#7f7f7f",
            "#8c564b",
            "#9467bd",
            "#e377c2",
            "#1f77b4",
            "black",
            "#bcbd22",
        ),
        strict=True,
    )
)
MARKS = ("", "•", "⋄", "⋆")
TRIALS, SHARE = 100, 0.75  # simulated leaves of Figures 1 and 2
SIZES = np.array([*range(1, 17), *range(20, 65, 4)])


def all_figures(scores: Scores, clouds: Clouds) -> list[Figure]:
    """Return the six figures, in order."""
    figures = [_evolution(1), _evolution(2), _ranks(scores), _heatmaps(scores)]
    return [*figures, *([_leaf_sizes(clouds, scores.eva)] if clouds else []), _ranks_by_balance(scores)]


def simulated_scores(name: str, n_leaves: int) -> Floats:
    """Return scores (trials, leaf sizes) of simulated ensembles of growing leaves."""
    rng = np.random.default_rng(0)
    positive = np.cumsum(rng.random((TRIALS, n_leaves, SIZES[-1])) < SHARE, axis=2)[:, :, SIZES - 1]
    counts = np.stack([SIZES - positive, positive], axis=3)
    prior = (1 - SHARE, SHARE) if RULES[name].uses_prior else None
    opinions = [combine(counts[:, :, size], RULES[name], caution=0.0, prior=prior) for size in range(len(SIZES))]
    return np.stack([raw_score(opinion) for opinion in opinions], axis=1)


def _evolution(number: int) -> Figure:
    """Return Figure 1 or 2: scores of a growing leaf, or of a hundred."""
    names = (
        ("Probability", "Laplace", "Plausibility", "Confidence Bounds")
        if number == 1
        else ("Pooling", "Dempster", "Cautious", "EVA")
    )
    n_leaves = 1 if number == 1 else TREES

    def draw(canvas: Any) -> None:
        axes = canvas.subplots(1, len(names))
        for axis, name in zip(axes, names, strict=True):
            scores = simulated_scores(name, n_leaves)
            axis.plot(SIZES, scores[::4].T, color="#9edae5", lw=0.4, alpha=0.6, rasterized=True)
            axis.plot(SIZES, np.quantile(scores, (0.1, 0.9), axis=0).T, color="purple", lw=0.8)
            axis.plot(SIZES, np.quantile(scores, (0.25, 0.75), axis=0).T, color="green", lw=0.8)
            axis.plot(SIZES, scores.mean(axis=0), color="red", lw=1.5)
            axis.set_title(name)
            axis.set_xlabel("rows in the leaf")

    what = "one leaf" if number == 1 else f"an ensemble of {TREES} leaves"
    note = "Red: mean of 100 trials; green, purple: quartiles, deciles; light: every fourth trial. EVA: log-odds."
    return Figure(
        f"figure_{number}",
        f"Figure {number}: scores of {what} that grow row by row, {SHARE:.0%} positive",
        draw,
        (9, 2.4),
        note,
        "png",
    )


def _ranks(scores: Scores) -> Figure:
    """Return Figure 3: mean ranks of the eleven methods and six leaf sizes together."""

    def draw(canvas: Any) -> None:
        for axis, measure in zip(canvas.subplots(1, 2, sharey=True), ("auc", "accuracy"), strict=True):
            _draw_ranks(axis, scores, measure)
            axis.set_title("AUC" if measure == "auc" else "accuracy")
        canvas.axes[0].set_ylabel("mean rank of 66")
        canvas.legend(*canvas.axes[1].get_legend_handles_labels(), loc="outside right center", fontsize=7)

    return Figure("figure_3", "Figure 3: mean ranks of methods and leaf sizes (1 is best)", draw, (9, 3.4))


def _ranks_by_balance(scores: Scores) -> Figure:
    """Return Figure 6: accuracy ranks on balanced and on imbalanced sets."""

    def draw(canvas: Any) -> None:
        for axis, which in zip(canvas.subplots(1, 2, sharey=True), (EVEN, UNEVEN), strict=True):
            chosen = sum(scores.kind(name) == which for name in scores.sets)
            if chosen:
                _draw_ranks(axis, scores, "accuracy", which)
            axis.set_title(f"{which}: {chosen} sets")
        canvas.axes[0].set_ylabel("mean accuracy rank of 66")
        canvas.legend(*canvas.axes[0].get_legend_handles_labels(), loc="outside right center", fontsize=7)

    return Figure(
        "figure_6", "Figure 6: accuracy ranks by class ratio (0.4 to 0.6; below 0.3 or above 0.7)", draw, (9, 3.4)
    )


def _draw_ranks(axis: Any, scores: Scores, measure: str, which: str | None = None) -> None:
    """Draw one line per method; EVA with the program's prior is dashed."""
    places = np.arange(len(LEAF_SIZES))
    ranks = scores.ranks(measure, which=which)
    for position, name in enumerate(METHODS):
        style = ":" if position >= 9 else "-"
        axis.plot(places, ranks[:, position], "o" + style, ms=3, lw=1.2, color=COLOURS[name], label=name)
    if measure == "accuracy":
        other = replace(scores, eva=PROGRAM).ranks(measure, which=which)[:, METHODS.index("EVA")]
        axis.plot(places, other, "--", lw=1.2, color=COLOURS["EVA"], label=PROGRAM)
    axis.set_xticks(places, LEAF_SIZES)
    axis.set_xlabel("minimum leaf size")
    if not axis.yaxis_inverted():
        axis.invert_yaxis()


def _heatmaps(scores: Scores) -> Figure:
    """Return Figure 4: pairwise wins in AUC, with marks of significance."""
    short = ("prob", "lap", "pls", "cb", "eva")

    def draw(canvas: Any) -> None:
        for position, axis in enumerate(canvas.subplots(1, len(LEAF_SIZES))):
            wins, p_values = pairwise_wins(scores.of("auc", FIVE)[:, position])
            np.fill_diagonal(wins, np.nan)
            axis.imshow(wins, cmap="RdYlGn", vmin=0, vmax=len(scores.sets))
            for row in range(len(FIVE)):
                for column in range(len(FIVE)):
                    if row != column:
                        mark = MARKS[sum(p_values[row, column] < level for level in LEVELS)]
                        axis.text(column, row, f"{wins[row, column]:g}{mark}", ha="center", va="center", fontsize=6)
            axis.set_xticks(range(len(FIVE)), short, rotation=60, fontsize=6)
            axis.set_yticks(range(len(FIVE)), short if position == 0 else [""] * len(FIVE), fontsize=6)
            axis.set_title(f"leaf {LEAF_SIZES[position]}")

    note = "Bonferroni-corrected Wilcoxon signed-rank test over sets: • 0.05, ⋄ 0.01, ⋆ 0.001."
    return Figure("figure_4", f"Figure 4: pairwise wins in AUC on {len(scores.sets)} sets", draw, (9.5, 2.2), note)


def _leaf_sizes(clouds: Clouds, eva: str) -> Figure:
    """Return Figure 5: accuracy against leaf size, with the cloud of single trees."""
    shown = ("Probability", "Confidence Bounds", "Plausibility", "Pooling", "EVA")

    def draw(canvas: Any) -> None:
        for axis, (title, points) in zip(np.atleast_1d(canvas.subplots(1, len(clouds))), clouds.items(), strict=True):
            sizes = np.array(list(points))
            trees = np.array([points[size][0] for size in sizes])
            mean, spread = trees.mean(axis=1), trees.std(axis=1)
            for width in (3, 2, 1):
                axis.fill_between(sizes, mean - width * spread, mean + width * spread, color="b", alpha=0.12, lw=0)
            axis.plot(np.repeat(sizes, trees.shape[1]), trees.ravel(), ".", ms=2, color="c", alpha=0.3, rasterized=True)
            axis.plot(sizes, mean, "b--", lw=1, label="mean of single trees")
            for name in shown:
                column = COLUMNS.index(eva if name == "EVA" else name)
                axis.plot(sizes, [points[size][1][column] for size in sizes], color=COLOURS[name], lw=1.4, label=name)
            axis.set_xscale("log", base=2)
            axis.set_title(title)
            axis.set_xlabel("minimum leaf size")
        canvas.axes[0].set_ylabel("accuracy")
        canvas.legend(*canvas.axes[0].get_legend_handles_labels(), loc="outside right center", fontsize=7)

    return Figure(
        "figure_5",
        "Figure 5: accuracy against leaf size, one random half to learn from",
        draw,
        (10.5, 2.8),
        format="png",
    )
