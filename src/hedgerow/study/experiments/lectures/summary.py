"""Tables, plots, and the statements of the lectures that hold."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow.study.experiments.frame import Results
from hedgerow.study.experiments.lectures.protocol import BAG, FOREST, HALF, NEARLY, NUMBERS, SIZES, TABLES, TREE
from hedgerow.study.experiments.lectures.shown import FEATURES, STEPS
from hedgerow.study.experiments.report import Figure, ReportTable, StudyReport

Floats = NDArray[np.float64]

TITLE = "Bias, variance and instability of trees (lectures)"
SHADES = {TREE: "#444444", BAG: "#1b6ca8", FOREST: "#d1495b"}
MANY = SIZES[-1]
#: The three learners that tables and figures compare.
LEARNERS = {"one tree": (TREE, 1), f"{MANY} bagged": (BAG, MANY), f"forest of {MANY}": (FOREST, MANY)}


def report(results: Results) -> StudyReport:
    """Return the report on bias, variance and instability."""
    parts: list[ReportTable | Figure] = [_parts_table(results), _figure_of_parts(results), _figure_of_sizes(results)]
    parts += [_figure_of_errors(results), _instability_table(results), _figure_of_roots(results)]
    parts += [_figure_of_features(results), _figure_of_votes(results), _curve_table(results)]
    return StudyReport(
        title=TITLE,
        source="What two lectures on ensembles, bagging and random forests say, measured on real sets.",
        command="hedgerow reproduce lectures" + (" --quick" if results.quick else ""),
        verdict=_verdict(results),
        parts=parts,
        data={"results": [{"arguments": arguments, "result": result} for arguments, result in results.done]},
    )


def sets_of(results: Results) -> list[str]:
    """Return the sets with results, classification first."""
    found = dict.fromkeys(arguments["set"] for arguments, _ in results.done if "set" in arguments)
    return sorted(found, key=lambda name: (name in NUMBERS, name))


def of(results: Results, what: str, kind: str, size: int, share: float = HALF) -> Floats:
    """Return a metric of one learner on each set (sets,)."""
    found = [results.of(set=name, kind=kind, size=size, share=share)[0][1] for name in sets_of(results)]
    return np.array([result[what] for result in found], dtype=np.float64)


def _parts_table(results: Results) -> ReportTable:
    rows = []
    for position, name in enumerate(sets_of(results)):
        cells = []
        for learner in LEARNERS.values():
            bias, variance = (of(results, what, *learner)[position] for what in ("bias", "variance"))
            cells.append(f"{bias:.3f} + {variance:.3f}")
        rows.append([name, *cells])
    return ReportTable(
        "Squared error = bias + variance",
        ("set", *LEARNERS),
        rows,
        "Each learner was fitted to forty tables, each a random half of two thirds of the rows; the other third was for"
        " testing. Classes: squared error of the probabilities (Brier score). Numbers: squared error divided by the"
        " variance of the target. Bias is the squared error of the mean answer, with the noise of the labels and a"
        " fortieth of the variance.",
    )


def _figure_of_parts(results: Results) -> Figure:
    def draw(canvas: Any) -> None:
        axis, sets = canvas.subplots(), sets_of(results)
        for position, (name, learner) in enumerate(LEARNERS.items()):
            x = np.arange(len(sets)) + 0.27 * (position - 1)
            bias, variance = (of(results, what, *learner) for what in ("bias", "variance"))
            axis.bar(x, bias, 0.25, color=SHADES[learner[0]], label=f"{name}: bias")
            axis.bar(x, variance, 0.25, bottom=bias, color=SHADES[learner[0]], alpha=0.4, label=f"{name}: variance")
        axis.set_xticks(np.arange(len(sets)), sets, rotation=60, ha="right")
        axis.set_ylabel("squared error")
        canvas.legend(*axis.get_legend_handles_labels(), loc="outside upper center", fontsize=7, ncols=3)

    return Figure("parts", "Bias and variance of a tree against many", draw, (9, 4))


def _figure_of_sizes(results: Results) -> Figure:
    def draw(canvas: Any) -> None:
        axes = canvas.subplots(1, 2, sharex=True)
        for axis, what in zip(axes, ("variance", "bias"), strict=True):
            for kind in (BAG, FOREST):
                curves = np.array([of(results, what, kind, size) for size in SIZES])
                mean = np.median(curves / of(results, what, TREE, 1), axis=1)
                axis.plot(SIZES, mean, "o-", ms=3, color=SHADES[kind], label=kind)
                if what == "variance":  # a straight line in 1/B through the first and the last point
                    slope = (mean[0] - mean[-1]) / (1 - 1 / MANY)
                    fine = np.geomspace(1, MANY, 50)
                    axis.plot(fine, mean[0] - slope * (1 - 1 / fine), ":", color=SHADES[kind])
            axis.axhline(1, color=SHADES[TREE], lw=0.8)
            axis.set_xscale("log")
            axis.set_xlabel("number of trees B")
            axis.set_ylabel(f"{what}, relative to one tree on all rows")
        axes[0].legend(fontsize=7)

    return Figure(
        "sizes",
        "Variance falls with the number of trees, bias hardly changes",
        draw,
        (8, 3.2),
        "Median over sets. Dotted: ρσ² + (1 − ρ)σ²/B through the points of one tree and of all trees.",
    )


def _figure_of_errors(results: Results) -> Figure:
    def draw(canvas: Any) -> None:
        axis, sets = canvas.subplots(), sets_of(results)
        for position, (name, (kind, size)) in enumerate(LEARNERS.items()):
            for place, data_set in enumerate(sets):
                errors = results.of(set=data_set, kind=kind, size=size, share=HALF)[0][1]["errors"]
                x = np.full(len(errors), place + 0.27 * (position - 1))
                axis.plot(x, errors, ".", ms=3, alpha=0.5, color=SHADES[kind], label=name if place == 0 else None)
        axis.set_xticks(np.arange(len(sets)), sets, rotation=60, ha="right")
        axis.set_ylabel("squared error of each table")
        axis.legend(fontsize=7)

    return Figure("errors", "The error of each training table", draw, (9, 3.6))


def _instability_table(results: Results) -> ReportTable:
    rows = []
    for position, name in enumerate(sets_of(results)):
        roots = _roots(results, name)
        cells = [f"{of(results, 'variance', *learner, NEARLY)[position]:.3f}" for learner in LEARNERS.values()]
        differ = [of(results, "disagreement", *learner, NEARLY)[position] for learner in LEARNERS.values()]
        shown = [f"{100 * value:.1f}" if np.isfinite(value) else "–" for value in differ]
        rows.append([name, f"{len(roots)}", f"{100 * max(roots) / sum(roots):.0f}", *cells, *shown])
    return ReportTable(
        "Small changes: tables that share nearly all their rows",
        (
            "set", "features at the root", "most frequent, %",
            *(f"variance, {name}" for name in LEARNERS), *(f"labels differ, {name}, %" for name in LEARNERS),
        ),
        rows,
        "Forty tables, each 95% of two thirds of the rows, so that two of them share about 95% of their rows. Labels"
        " differ: how often two tables give a test row different labels.",
    )  # fmt: skip


def _figure_of_roots(results: Results) -> Figure:
    def draw(canvas: Any) -> None:
        axis, sets = canvas.subplots(), sets_of(results)
        for place, name in enumerate(sets):
            bottom, roots = 0.0, _roots(results, name)
            for position, number in enumerate(sorted(roots, reverse=True)):
                height = number / sum(roots)
                axis.bar(place, height, 0.7, bottom=bottom, color=SHADES[BAG], alpha=max(0.15, 1 - 0.25 * position))
                bottom += height
        axis.set_xticks(np.arange(len(sets)), sets, rotation=60, ha="right")
        axis.set_ylabel("share of tables")

    return Figure(
        "roots",
        "Which feature a tree asks about first, over tables that share nearly all their rows",
        draw,
        (9, 3.4),
        "A shade for each feature, the most frequent below.",
    )


def _figure_of_features(results: Results) -> Figure:
    def draw(canvas: Any) -> None:
        axis, found = canvas.subplots(), results.of(figure="features")
        for label, shade in zip(FEATURES, SHADES.values(), strict=True):
            axis.plot(
                STEPS, np.mean([result[label] for _, result in found], axis=0), "o-", ms=3, color=shade, label=label
            )
        axis.set_xscale("log")
        axis.set_xlabel("number of trees B")
        axis.set_ylabel("share of wrong labels")
        axis.legend(fontsize=7)

    n_sets = len(results.of(figure="features"))
    note = f"Mean over {n_sets} sets, of whose rows a third was for testing. m = p is bagging."
    return Figure("features", "Error against the number of trees, by the features that compete", draw, (6, 3.4), note)


def _figure_of_votes(results: Results) -> Figure:
    def draw(canvas: Any) -> None:
        axis, found = canvas.subplots(), results.of(figure="votes")[0][1]
        for (label, errors), kind in zip(found.items(), (FOREST, BAG), strict=True):
            axis.plot(STEPS, errors, "o-", ms=3, color=SHADES[kind], label=label)
        axis.axhline(0.2, color=SHADES[TREE], lw=0.8, label="smallest possible")
        axis.set_xscale("log")
        axis.set_xlabel("number of trees B")
        axis.set_ylabel("share of wrong labels")
        axis.legend(fontsize=7)

    return Figure(
        "votes",
        "Bagged trees: majority vote or mean probability",
        draw,
        (6, 3.4),
        "Mean over forty tables of 30 rows: five normal features with correlations of 0.95, of which the first decides,"
        " with 20% of the labels wrong. Leaves have at least 5 rows.",
    )


def _curve_table(results: Results) -> ReportTable:
    found = results.of(figure="curve")[0][1]
    rows = [[name, *(f"{value:.4f}" for value in parts)] for name, parts in found.items()]
    return ReportTable(
        "scikit-learn's example of bias and variance",
        ("learner", "error", "bias²", "variance", "noise"),
        rows,
        "Fifty tables of 50 rows of exp(−x²) + 1.5 exp(−(x − 2)²) with noise. scikit-learn's page has"
        " 0.0255 = 0.0003 + 0.0152 + 0.0098 for a tree and 0.0196 = 0.0004 + 0.0092 + 0.0098 for bagged trees.",
    )


def _roots(results: Results, name: str) -> list[int]:
    """Count the root features of the trees grown on nearly all rows of a set."""
    return list(results.of(set=name, kind=TREE, share=NEARLY)[0][1]["roots"].values())


def _verdict(results: Results) -> list[str]:
    """Return the statements of the lectures, with numbers."""
    tree, bag, forest = (
        {what: of(results, what, *learner) for what in ("error", "bias", "variance")} for learner in LEARNERS.values()
    )
    said = [
        _remark_on_variance(tree, bag, forest),
        _remark_on_gain(tree, bag, forest),
        _remark_on_bias(tree, bag, forest),
        _remark_on_equal_bias(results),
    ]
    spread = [
        np.array([np.std(results.of(set=name, kind=kind, size=size, share=HALF)[0][1]["errors"], ddof=1)
                  for name in sets_of(results)]) for kind, size in LEARNERS.values()
    ]  # fmt: skip
    said.append(
        "“The variance in the error is much lower for bagging” (S4): the standard deviation of the error over tables is"
        f" {np.median(spread[1] / spread[0]):.2f} of a tree's for bagged trees and"
        f" {np.median(spread[2] / spread[0]):.2f} for forests, in the median; lower on"
        f" {int((spread[1] < spread[0]).sum())} and {int((spread[2] < spread[0]).sum())} of {len(spread[0])} sets."
    )
    roots = [_roots(results, name) for name in sets_of(results)]
    moved = sum(len(each) > 1 for each in roots)
    differ = [np.nanmean(of(results, "disagreement", *learner, NEARLY)) for learner in LEARNERS.values()]
    said.append(
        "“A small change in the data can result in a very different series of splits” (S4): with 95% of the rows,"
        f" trees begin with more than one feature on {moved} of {len(roots)} sets. Two trees give a row different"
        f" labels in {100 * differ[0]:.1f}% of cases, two sets of bagged trees in {100 * differ[1]:.1f}%, two forests"
        f" in {100 * differ[2]:.1f}%."
    )
    if results.quick:
        said.append("This was a quick run: four sets.")
    said += [f"{name} was left out: {reason}." for name, reason in results.absent.items()]
    return said


def _remark_on_variance(tree: dict[str, Floats], bag: dict[str, Floats], forest: dict[str, Floats]) -> str:
    ratios = [np.median(many["variance"] / tree["variance"]) for many in (bag, forest)]
    lower = [int((many["variance"] < tree["variance"]).sum()) for many in (bag, forest)]
    return (
        f"“Bagging can dramatically reduce the variance of unstable methods” (S3): with {MANY} trees the variance is"
        f" {ratios[0]:.2f} of a tree's for bagged trees and {ratios[1]:.2f} for forests, in the median over"
        f" {len(tree['variance'])} sets; it is lower on {lower[0]} and {lower[1]} of them."
    )


def _remark_on_gain(tree: dict[str, Floats], bag: dict[str, Floats], forest: dict[str, Floats]) -> str:
    words = []
    for many in (bag, forest):
        gain, by_variance = tree["error"] - many["error"], tree["variance"] - many["variance"]
        words.append(f"{np.sum(by_variance) / np.sum(gain):.2f}")
    return (
        "“The improvements in prediction accuracy obtained by bagging and random forests are solely the result of"
        f" variance reduction” (S4): of the fall of the error, summed over sets, variance accounts for {words[0]} with"
        f" bagged trees and {words[1]} with forests; more than 1 means that bias rises."
    )


def _remark_on_bias(tree: dict[str, Floats], bag: dict[str, Floats], forest: dict[str, Floats]) -> str:
    higher = [int((many["bias"] > tree["bias"]).sum()) for many in (bag, forest)]
    change = [np.median(many["bias"] / tree["bias"]) for many in (bag, forest)]
    return (
        "“In absolute value, the bias is usually higher than that of an unpruned tree” (S4): it is higher on"
        f" {higher[0]} of {len(tree['bias'])} sets with bagged trees and on {higher[1]} with forests; the median of"
        f" the ratios is {change[0]:.2f} and {change[1]:.2f}. Bias here includes the noise of the labels, which"
        " is the same for all."
    )


def _remark_on_equal_bias(results: Results) -> str:
    """Compare the bias of many trees with that of one of them, without the variance of the mean over tables."""
    ratios = []
    for kind in (BAG, FOREST):
        few, many = (
            of(results, "bias", kind, size) - of(results, "variance", kind, size) / (TABLES - 1) for size in (1, MANY)
        )
        ratios.append(many / few)
    return (
        "“The bias of a random forest is the same as the bias of a single tree T(x, Θ(Z))” (S4), that is, of one random"
        f" tree: the bias of {MANY} trees is {np.median(ratios[0]):.2f} of that of one tree on a bootstrap sample with"
        f" bagged trees, and {np.median(ratios[1]):.2f} with forests, in the median over sets."
    )
