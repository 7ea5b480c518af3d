"""Tables, plot, open questions and verdict."""

from __future__ import annotations

from typing import Any

import numpy as np

from hedgerow.datasets import describe_dataset
from hedgerow.study.experiments.frame import Results
from hedgerow.study.experiments.report import Figure, ReportTable, StudyReport
from hedgerow.study.experiments.sutton_2012.curves import collect_curves, curve_table, figure_1
from hedgerow.study.experiments.sutton_2012.open import alternative_tables, open_table
from hedgerow.study.experiments.sutton_2012.paper import PAPER, Cell, is_attainable, printed
from hedgerow.study.experiments.sutton_2012.protocol import CODED, QUARTERS
from hedgerow.study.experiments.sutton_2012.scores import NEAR, Rates, rates_of, signed
from hedgerow.study.experiments.sutton_2012.verdict import write_verdict

MOST_TESTS = 6


def report(results: Results) -> StudyReport:
    """Return the report: the paper's results, and the details it leaves open."""
    ours = collect_cells(results)
    curves = collect_curves(results)
    parts: list[ReportTable | Figure] = [
        paper_table(results, 1, ours),
        paper_table(results, 3, ours),
        test_set_table(),
    ]
    if curves:
        parts += [figure_1(curves), curve_table(curves)]
    parts += [open_table(results, ours), *alternative_tables(results, ours)]
    return StudyReport(
        title=f"{PAPER['title']} (sutton-2012)",
        source=f"{PAPER['authors']}. {PAPER['where']}.",
        command="hedgerow reproduce sutton-2012" + (" --quick" if results.quick else ""),
        verdict=write_verdict(results, ours, curves),
        parts=parts,
        data=_data(ours),
    )


def collect_cells(results: Results) -> dict[Cell, Rates]:
    """Return our error rates for the printed cells of available sets."""
    found = {cell: rates_of(results, cell.data_set, cell.way) for table in (1, 3) for cell in printed(table)}
    return {cell: rates for cell, rates in found.items() if rates is not None}


def paper_table(results: Results, table: int, ours: dict[Cell, Rates]) -> ReportTable:
    """Return a table of our values, the printed ones, and their difference."""
    told = PAPER[f"table_{table}"]
    rows = []
    for title in told["rows"]:
        cells = [cell for cell in ours if cell.table == table and cell.title == title]
        if cells:
            rows.append([title, *(_shown(cell, ours[cell]) for cell in cells)])
        coded = [rates_of(results, cell.data_set, cell.way, variant=CODED.get(cell.way)) for cell in cells]
        if table == 1 and cells and all(rates is not None for rates in coded):
            shown = [_shown(cell, rates) for cell, rates in zip(cells, coded, strict=True) if rates is not None]
            rows.append([f"{title}, values as numbers (b < o < x)", *shown])
    repetitions = max((len(rates.rates) for cell, rates in ours.items() if cell.table == table), default=0)
    return ReportTable(
        f"Table {table}: error rates in percent",
        ("set", *told["columns"]),
        rows,
        f"Ours (standard deviation of a repetition) / the paper's, the difference; bold where it is more than {NEAR:g}"
        " standard deviations of a difference of one repetition, the paper's, and the mean of ours. The paper calls"
        f" the numbers accuracies; they are error rates. {repetitions} repetitions of four test sets, each drawn from"
        " all rows; the standard deviation is that of single test sets over √4, in quick and in full runs."
        + (" †: a misprint, see the verdict; not counted." if table == 3 else ""),
    )


def _shown(cell: Cell, rates: Rates) -> str:
    """Format one cell."""
    gap = signed(rates.gap(cell))
    if cell.misprinted:
        gap += " †"
    elif not rates.is_near(cell):
        gap = f"**{gap}**"
    return f"{rates.mean:.1f} ({rates.scatter:.1f}) / {cell.percent:.1f} {gap}"


def test_set_table() -> ReportTable:
    """Return the table of numbers of test sets that the printed decimals allow."""
    rows = []
    for table in (1, 3):
        for title in PAPER[f"table_{table}"]["rows"]:
            cells = [cell for cell in printed(table) if cell.title == title]
            size = describe_dataset(PAPER["sets"][title]).rows // QUARTERS
            counts = [
                "".join("·" if is_attainable(cell.percent, tests * size) else "✗" for cell in cells)
                for tests in range(1, MOST_TESTS + 1)
            ]
            rows.append([title, f"{size}", *counts])
    return ReportTable(
        "How many test sets the printed decimals allow",
        ("set", "rows of a quarter", *map(str, range(1, MOST_TESTS + 1))),
        rows,
        "For each printed cell of a row: · when some number of errors gives it, ✗ when none does, if errors are counted"
        " over this many test sets of a quarter of the rows (the sizes of Table 2). The smallest number that allows"
        f" every cell but the misprinted one is {fewest_tests()}, and that is how many we take; the paper does not"
        " say it.",
        brief=False,
    )


def fewest_tests() -> int:
    """Return the least number of test sets that allows every cell but the misprint."""
    cells = [cell for table in (1, 3) for cell in printed(table) if not cell.misprinted]
    sizes = {cell: describe_dataset(cell.data_set).rows // QUARTERS for cell in cells}
    return next(
        tests for tests in range(1, 100) if all(is_attainable(cell.percent, tests * sizes[cell]) for cell in cells)
    )


def _data(ours: dict[Cell, Rates]) -> dict[str, Any]:
    """Return the data behind the tables as JSON."""
    return {
        f"table_{table}": [
            {
                "set": cell.title, "column": cell.column, "paper": cell.percent, "ours": round(rates.mean, 4),
                "repetitions": np.round(rates.rates, 4).tolist(), "leaves": round(rates.leaves, 2),
                "misprint": cell.misprinted,
            }
            for cell, rates in ours.items() if cell.table == table
        ]
        for table in (1, 3)
    }  # fmt: skip
