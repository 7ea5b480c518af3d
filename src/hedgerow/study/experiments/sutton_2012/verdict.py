"""Verdict: the printed results that hold, and explanations of the others."""

from __future__ import annotations

import numpy as np

from hedgerow.datasets import describe_dataset
from hedgerow.study.experiments.frame import Results
from hedgerow.study.experiments.sutton_2012.paper import PAPER, Cell, is_attainable
from hedgerow.study.experiments.sutton_2012.protocol import CODED, QUARTERS
from hedgerow.study.experiments.sutton_2012.scores import (
    LITTLE,
    NEAR,
    SMALL,
    Curve,
    Rates,
    alternatives,
    change,
    rates_of,
    signed,
)

COMPARABLE = 3.0  # points


def write_verdict(results: Results, ours: dict[Cell, Rates], curves: list[Curve]) -> list[str]:
    """Return the verdict as sentences."""
    counted = {cell: rates for cell, rates in ours.items() if not cell.misprinted}
    near = [cell for cell, rates in counted.items() if rates.is_near(cell)]
    gaps = [abs(rates.gap(cell)) for cell, rates in counted.items()]
    said = [
        f"**{len(near)} of {len(counted)} printed error rates are within {NEAR:g} standard deviations of ours**; the"
        f" mean absolute difference is {np.mean(gaps):.1f} points. One repetition, as printed in the paper,"
        f" scatters by {np.mean([rates.scatter for rates in counted.values()]):.1f} points on average: the standard"
        f" deviation of single test sets over √{QUARTERS}, because each test set is a quarter drawn from all rows,"
        f" whatever the others hold ({next(iter(ours.values())).quarters.size} draws a cell)."
    ]
    said += _remark_on_codes(results, counted)
    said += [_remark_on_misprint(cell, rates) for cell, rates in ours.items() if cell.misprinted]
    said += [_remark_on_deviations(results, cell, rates) for cell, rates in counted.items() if cell not in near]
    said += _remark_on_comparison(ours)
    said += _remark_on_tic_tac(results, ours)
    said += [_remark_on_curve(curve) for curve in curves]
    said += _remark_on_cost(results)
    said += _remark_on_features()
    said += [f"{name} was left out: {reason}." for name, reason in results.absent.items()]
    return said


def _remark_on_misprint(cell: Cell, rates: Rates) -> str:
    """Explain why the marked cell is a misprint."""
    tests = PAPER["table_2"]["rows"][cell.title][3]
    possible = [number for number in range(1, 7) if is_attainable(cell.percent, number * tests)]
    words = f"only {', '.join(map(str, possible))} would give it" if possible else "no number up to six gives it"
    return (
        f"Table 3, {cell.title}/{cell.column}, {cell.percent:.1f}, is **probably a misprint**: it repeats the row"
        f" below, and four test sets of {tests} rows, which every other cell allows, cannot give it ({words}). Ours is"
        f" {rates.mean:.1f}."
    )


def _remark_on_codes(results: Results, counted: dict[Cell, Rates]) -> list[str]:
    """Describe the effect of coding categorical features as numbers."""
    coded = {cell: rates_of(results, cell.data_set, cell.way, variant=CODED.get(cell.way)) for cell in counted}
    both = {cell: coded[cell] if cell.way in CODED and coded[cell] else rates for cell, rates in counted.items()}
    changed = [cell for cell in both if both[cell] is not counted[cell]]
    if not changed:
        return []
    near = sum(rates.is_near(cell) for cell, rates in both.items() if rates is not None)
    told = ", ".join(
        f"{cell.column} {counted[cell].mean:.1f} and {both[cell].mean:.1f} (the paper's {cell.percent:.1f})"  # type: ignore[union-attr]
        for cell in changed
    )
    return [
        f"{changed[0].title} is nominal, and the paper does not say how it is coded. As sets of values, and as numbers"
        f" in the order of the alphabet, b < o < x: {told}. With numbers {near} of {len(counted)} cells are near."
    ]


def _remark_on_deviations(results: Results, cell: Cell, rates: Rates) -> str:
    """Describe a cell that is not reproduced, and an alternative that explains it."""
    tried = alternatives(results, cell.data_set, cell.way)
    said = (
        f"Outside: Table {cell.table}, {cell.title}/{cell.column}, ours {rates.mean:.1f}, the paper's"
        f" {cell.percent:.1f} ({rates.distance(cell):+.1f} standard deviations)"
    )
    if not tried:
        return said + "."
    nearest = min(tried, key=lambda name: abs(tried[name].gap(cell)))
    other = tried[nearest]
    moved, error = change(rates, other)
    if other.is_near(cell) and abs(moved) > NEAR * error:
        return said + (
            f". **Explained** if it was done otherwise: `{nearest}` gives {other.mean:.1f}"
            f" ({other.distance(cell):+.1f} standard deviations), {moved:+.1f} ± {error:.1f} points (SE) from ours,"
            f" paired over {len(other.rates)} repetitions; one of {len(tried)} alternatives tried."
        )
    if abs(other.gap(cell)) >= abs(rates.gap(cell)):
        return said + f". **Unexplained**: none of {len(tried)} alternatives comes nearer."
    return said + (
        f". **Unexplained**: of {len(tried)} alternatives `{nearest}` comes nearest, with {other.mean:.1f}"
        f" ({moved:+.1f} ± {error:.1f} points (SE) from ours, paired over {len(other.rates)} repetitions)."
    )


def _remark_on_comparison(ours: dict[Cell, Rates]) -> list[str]:
    """Compare trees of belief functions with CART, as both sections do."""
    said = []
    for table in (1, 3):
        for column in PAPER[f"table_{table}"]["columns"][1:]:
            pairs = [
                (cell, cart)
                for cell in ours
                for cart in ours
                if (cell.table, cell.column, cell.misprinted) == (table, column, False)
                and (cart.table, cart.title, cart.column) == (table, cell.title, "CART")
            ]
            if pairs:
                theirs = np.array([cell.percent - cart.percent for cell, cart in pairs])
                mine = np.array([ours[cell].mean - ours[cart].mean for cell, cart in pairs])
                held = "holds" if abs(mine.mean()) <= COMPARABLE else "does not hold"
                said.append(
                    f"Table {table}: {column} comparable with CART {held}: it errs less on {(mine < 0).sum()} of"
                    f" {len(pairs)} sets (paper {(theirs < 0).sum()}), by {signed(-mine.mean())} points on average"
                    f" (paper {signed(-theirs.mean())})."
                )
    return said


def _remark_on_tic_tac(results: Results, ours: dict[Cell, Rates]) -> list[str]:
    """Describe the paper's largest difference between CART and U."""
    cells = {cell.column: cell for cell in ours if cell.title == "Tic-tac"}
    if len(cells) < 2:
        return []
    shown = []
    for column, cell in cells.items():
        tried = alternatives(results, cell.data_set, cell.way)
        coded = [ours[cell].mean + change(ours[cell], tried[name])[0] for name in tried if "values as numbers" in name]
        shown.append(f"{column} {ours[cell].mean:.1f}" + "".join(f", as numbers {value:.1f}" for value in coded))
    cart, belief = cells["CART"], cells["U_λ"]
    theirs, mine = cart.percent - belief.percent, ours[cart].mean - ours[belief].mean
    return [
        f"The paper's largest gain, Tic-tac ({cart.percent:.1f} to {belief.percent:.1f}), is"
        f" {'reproduced' if mine >= theirs / 2 else 'not reproduced'} when both criteria see the features coded alike:"
        f" {'; '.join(shown)}."
    ]


def _remark_on_curve(curve: Curve) -> str:
    """Describe one curve of Figure 1."""
    return (
        f"Figure 1, {curve.name}: that nodes increase with λ {'holds' if curve.rises else 'does not hold'}"
        f" ({curve.nodes[0]:.1f} to {curve.nodes[-1]:.1f}, largest fall {curve.fall:.1f}); that small λ err least"
        f" {'holds' if curve.best <= SMALL else 'does not hold'} ({curve.rates.min():.1f}% at λ = {curve.best:g},"
        f" {curve.rates[-1]:.1f}% at 1); that λ matters little"
        f" {'holds' if curve.flat_from <= SMALL else 'does not hold'} (all errors are within {LITTLE:g} points from λ ="
        f" {curve.flat_from:g} on)."
    )


def _remark_on_features() -> list[str]:
    """List sets with another number of features than in the paper."""
    return [
        f"The paper counts {told} features in {title}; ours, `{info.name}`, has {info.features}."
        for title, told in PAPER["table_1"]["features"].items()
        if (info := describe_dataset(PAPER["sets"][title])).features != told
    ]


def _remark_on_cost(results: Results) -> list[str]:
    """Describe the cost of the linear programmes."""
    seconds = [result["seconds"] for _, result in results.of(kind="slow curve")]
    if not seconds:
        return []
    lams = len(next(iter(results.of(kind="slow curve")))[1]["errors"])
    return [
        f"The multinomial mass of six classes needs a linear programme per distinct count vector: {lams} trees on one"
        f" training set of Breast Tissue, which share them, took {np.median(seconds):.0f} s of one core (median of"
        f" {len(seconds)}). Its curve therefore has {lams} values of λ and"
        " one repetition."
    ]
