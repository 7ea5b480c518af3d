"""Tables, plots, and the rules that improve each ensemble."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow.study.experiments.frame import Results
from hedgerow.study.experiments.report import Figure, ReportTable, StudyReport
from hedgerow.theory.plots import plot_critical_difference

Floats = NDArray[np.float64]

WORDS = {"forest": "ordinary forests", "random trees": "random decision trees"}
SHADES = ("#1b6ca8", "#d1495b", "#2e8b57", "#7a5195", "#8c6d31")
#: Number of trees for which rules are ranked.
RANKED = 10


@dataclass(frozen=True)
class Ensembles:
    """Accuracy and Brier score (sets, sizes, rules) of one type and leaf size."""

    kind: str
    leaf: int
    sets: tuple[str, ...]
    sizes: tuple[int, ...]
    rules: tuple[str, ...]
    accuracy: Floats
    brier: Floats

    @property
    def title(self) -> str:
        """Type of trees and leaf size in words."""
        return f"{WORDS[self.kind]}, at least {self.leaf} row{'s' if self.leaf > 1 else ''} in a leaf"

    def gain(self) -> Floats:
        """Return accuracy minus that of averaging (sets, sizes, rules), in points."""
        return np.asarray(100 * (self.accuracy - self.accuracy[:, :, :1]))

    def chosen(self) -> list[tuple[int, str, float, float]]:
        """Return by size the best rule on every other set, and its gain on the rest."""
        found = []
        for position, size in enumerate(self.sizes):
            gain = self.gain()[:, position]
            best = int(gain[::2].mean(axis=0).argmax())
            mean, error = mean_and_error(gain[1::2, best])
            found.append((size, self.rules[best], mean, error))
        return found


def report(results: Results) -> StudyReport:
    """Return the report on gains over averaging."""
    ensembles = collect(results)
    parts: list[ReportTable | Figure] = []
    for each in ensembles:
        parts.append(_gain_table(each))
    parts += [_figure_of_gains(ensembles), _figure_of_ranks(ensembles), _brier_table(ensembles)]
    return StudyReport(
        title="Which rules help ordinary forests and small ensembles (busch-2021, forests)",
        source="A question that the paper leaves to future work, on real sets.",
        command="hedgerow reproduce busch-2021 --study forests" + (" --quick" if results.quick else ""),
        verdict=_verdict(results, ensembles),
        parts=parts,
        data={each.title: np.round(each.accuracy, 5).tolist() for each in ensembles}
        | {"sets": list(ensembles[0].sets)},
    )


def collect(results: Results) -> list[Ensembles]:
    """Return the scores by type of trees and leaf size."""
    found = []
    for kind, leaf in dict.fromkeys((told["kind"], told["leaf"]) for told, _ in results.done):
        units = results.of(kind=kind, leaf=leaf)
        told = units[0][0]
        sets = tuple(arguments["set"] for arguments, _ in units)
        accuracy, brier = (np.array([result[what] for _, result in units]) for what in ("accuracy", "brier"))
        found.append(Ensembles(kind, leaf, sets, tuple(told["sizes"]), tuple(told["rules"]), accuracy, brier))
    return found


def mean_and_error(values: Floats) -> tuple[float, float]:
    """Return the mean of values (n,) and its standard error; infinite for one value.

    Examples
    --------
    >>> mean_and_error(np.array([1.0, 3.0]))
    (2.0, 1.0)
    """
    error = values.std(ddof=1) / np.sqrt(len(values)) if len(values) > 1 else np.inf
    return float(values.mean()), float(error)


def _gain_table(ensembles: Ensembles) -> ReportTable:
    """Return the table of accuracy gains over averaging, with standard errors."""
    rows = [["average: accuracy", *(f"{100 * value:.2f}" for value in ensembles.accuracy[:, :, 0].mean(axis=0))]]
    gain = ensembles.gain()
    order = np.argsort(-gain[:, :, 1:].mean(axis=(0, 1))) + 1
    for rule in order.tolist():
        cells = []
        for position in range(len(ensembles.sizes)):
            mean, error = mean_and_error(gain[:, position, rule])
            said = f"{mean:+.2f} ± {error:.2f}"
            cells.append(f"**{said}**" if abs(mean) > 2 * error else said)
        rows.append([ensembles.rules[rule], *cells])
    return ReportTable(
        f"Accuracy over averaging, in points: {ensembles.title}",
        ("rule", *(f"{size} trees" for size in ensembles.sizes)),
        rows,
        f"Mean over {len(ensembles.sets)} sets ± its standard error; bold beyond two standard errors. Of forty such"
        " numbers one or two are bold by chance.",
    )


def _brier_table(ensembles: list[Ensembles]) -> ReportTable:
    """Return the table of Brier scores of small ensembles."""
    rows = []
    for rule, name in enumerate(ensembles[0].rules):
        cells = []
        for each in ensembles:
            place = each.sizes.index(RANKED)
            mean, error = mean_and_error(100 * (each.brier[:, place, rule] - each.brier[:, place, 0]))
            cells.append(f"{100 * each.brier[:, place, 0].mean():.2f}" if rule == 0 else f"{mean:+.2f} ± {error:.2f}")
        rows.append([name, *cells])
    return ReportTable(
        f"Squared error of probabilities with {RANKED} trees, times 100: difference to averaging",
        ("rule", *(f"{each.kind}, leaf {each.leaf}" for each in ensembles)),
        rows,
        "Lower is better. Accuracy alone does not tell whether probabilities can be used.",
        brief=False,
    )


def _figure_of_gains(ensembles: list[Ensembles]) -> Figure:
    def draw(canvas: Any) -> None:
        axes = canvas.subplots(1, len(ensembles), sharey=True)
        for axis, each in zip(np.atleast_1d(axes), ensembles, strict=True):
            gain = each.gain()
            best = np.argsort(-gain[:, :, 1:].mean(axis=(0, 1)))[: len(SHADES)] + 1
            for rule, colour in zip(best.tolist(), SHADES, strict=False):
                pairs = [mean_and_error(gain[:, position, rule]) for position in range(len(each.sizes))]
                mean, error = np.array(pairs).T
                axis.errorbar(each.sizes, mean, error, fmt="o-", ms=3, capsize=2, color=colour, label=each.rules[rule])
            axis.axhline(0, color="#444444", lw=0.8)
            axis.set_xscale("log")
            axis.set_xlabel("trees")
            axis.set_title(f"{each.kind}, leaf {each.leaf}")
            axis.legend(fontsize=6)
        np.atleast_1d(axes)[0].set_ylabel("accuracy over averaging, points")

    return Figure("gains", "The five best rules of each kind, against the number of trees", draw, (11, 3.6))


def _figure_of_ranks(ensembles: list[Ensembles]) -> Figure:
    def draw(canvas: Any) -> None:
        axes = np.atleast_1d(canvas.subplots(len(ensembles), 1))
        for axis, each in zip(axes, ensembles, strict=True):
            plot_critical_difference(each.accuracy[:, each.sizes.index(RANKED)], list(each.rules), ax=axis)
            axis.set_title(each.title)

    return Figure("ranks", f"Mean ranks in accuracy with {RANKED} trees, and critical differences", draw, (9, 11))


def _verdict(results: Results, ensembles: list[Ensembles]) -> list[str]:
    """Return the verdict: rules chosen on half of the sets, evaluated on the others."""
    said = []
    for each in ensembles:
        shown = [
            f"{size} trees: {rule} {mean:+.2f} ± {error:.2f}" if rule != "average" else f"{size} trees: none"
            for size, rule, mean, error in each.chosen()
        ]
        said.append(
            f"**{each.title[0].upper()}{each.title[1:]}**: the rule that gains most over averaging on every other set,"
            f" and what it gains on the remaining {len(each.sets) // 2} sets, which did not choose it (points of"
            f" accuracy): {'; '.join(shown)}."
        )
        harms = _always_worse(each)
        if harms:
            said.append(f"{each.title[0].upper()}{each.title[1:]}: worse than averaging at every size: {harms}.")
    if results.quick:
        said.append("This was a quick run: eight sets.")
    said += [f"{name} was left out: {reason}." for name, reason in results.absent.items()]
    return said


def _always_worse(ensembles: Ensembles) -> str:
    """List rules that lose to averaging by two standard errors at every size."""
    gain, found = ensembles.gain(), []
    for rule, name in enumerate(ensembles.rules):
        pairs = [mean_and_error(gain[:, position, rule]) for position in range(len(ensembles.sizes))]
        if all(mean < -2 * error for mean, error in pairs):
            found.append(f"{name} ({pairs[0][0]:+.2f} with {ensembles.sizes[0]} trees)")
    return ", ".join(found)
