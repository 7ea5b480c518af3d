"""Details that the paper leaves open, our choices, and alternatives."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from hedgerow.study.experiments.frame import Results
from hedgerow.study.experiments.report import ReportTable
from hedgerow.study.experiments.sutton_2012.paper import PAPER, Cell
from hedgerow.study.experiments.sutton_2012.scores import SMALLER, Rates, alternatives, change, signed


@dataclass(frozen=True)
class OpenQuestion:
    """A detail that the paper leaves open, our choice, and the alternatives to it."""

    what: str
    choice: str
    concerns: Callable[[str], bool]


QUESTIONS = (
    OpenQuestion(
        "s of the IDM", "1, with which two classes give the paper's equation 2", lambda name: name[:3] == "s ="
    ),
    OpenQuestion(
        "α of the confidence intervals, and the order of the quantile",
        "0.05 with Goodman's 1 − α/K (printed: 1 − α, which with three classes is our α = 0.15)",
        lambda name: name[:1] == "α",
    ),
    OpenQuestion(
        "grid of λ",
        "0.1, 0.2, …, 1, the library's",
        lambda name: name[:4] in ("λ in", "λ = "),
    ),
    OpenQuestion("grid of β", "twelve values from 0 to 0.2", lambda name: name[:1] == "β"),
    OpenQuestion("ties between candidates", "the larger tree: largest λ, smallest β", lambda name: name == SMALLER),
    OpenQuestion(
        "folds that choose λ", "ten, as printed; the library's own choice takes five", lambda name: "auto" in name
    ),
    OpenQuestion(
        "decision in a leaf",
        "most frequent class: there, largest pignistic probability, belief and plausibility agree; for combined pairs"
        " they do not, and we take the pignistic one",
        lambda name: "decision" in name,
    ),
    OpenQuestion(
        "least rows of a child",
        "as printed: at least 10 in Table 1, more than 10 in Table 3; the alternative exchanges them",
        lambda name: "10 / 11" in name,
    ),
    OpenQuestion(
        "test sets",
        "four quarters, each drawn from all rows without regard to classes or to the other quarters, see above",
        lambda name: "stratified" in name,
    ),
    OpenQuestion(
        "nominal features (Tic-tac)", "a split sends any set of values left", lambda name: "nominal value" in name
    ),
)


def open_table(results: Results, ours: dict[Cell, Rates]) -> ReportTable:
    """Return the table of open questions, with the spread over alternatives."""
    tried = _changes(results, ours)
    rows = []
    for question in QUESTIONS:
        info = {key: value for key, value in tried.items() if question.concerns(key[1])}
        names = list(dict.fromkeys(_plain(name) for _, name in info))
        if info:
            low, high = min(info, key=lambda key: info[key]), max(info, key=lambda key: info[key])
            spread = f"{signed(info[low])} ({_where(*low)}) to {signed(info[high])} ({_where(*high)})"
            mean = f"{sum(map(abs, info.values())) / len(info):.2f}"
        else:
            spread, mean = "not run", ""
        rows.append([question.what, question.choice, "; ".join(names), spread, mean])
    return ReportTable(
        "What the paper leaves open, our choice, and the spread of results over the alternatives",
        ("open", "our choice", "alternatives", "least and largest change of a cell, points", "mean change"),
        rows,
        "Changes of an error rate against our choice, same repetitions; the mean is of absolute changes over all cells"
        " concerned. Alternatives that need other trees are run with fewer repetitions.",
    )


def alternative_tables(results: Results, ours: dict[Cell, Rates]) -> list[ReportTable]:
    """Return the tables of all alternatives on all sets."""
    tables = []
    changes = _changes(results, ours)
    for table in (1, 3):
        titles = [title for title in PAPER[f"table_{table}"]["rows"] if any(cell.title == title for cell in ours)]
        rows = []
        for column in PAPER[f"table_{table}"]["columns"]:
            cells = {cell.title: cell for cell in ours if cell.table == table and cell.column == column}
            names = dict.fromkeys(name for cell, name in changes if cell in cells.values())
            for name in names:
                found = [changes.get((cells[title], name)) if title in cells else None for title in titles]
                rows.append([f"{column}: {_plain(name)}", *("" if one is None else signed(one) for one in found)])
        tables.append(
            ReportTable(
                f"Alternatives to our choices, sets of Table {table}",
                ("changed", *titles),
                rows,
                "Points of error rate against our choice, on the same rows but where quarters are stratified.",
                brief=False,
            )
        )
    return tables


def _changes(results: Results, ours: dict[Cell, Rates]) -> dict[tuple[Cell, str], float]:
    """Return the change of each cell and alternative, in points."""
    return {
        (cell, name): change(usual, other)
        for cell, usual in ours.items()
        for name, other in alternatives(results, cell.data_set, cell.way).items()
    }


def _plain(name: str) -> str:
    """Return the name of an alternative without that of its method."""
    first, _, rest = name.partition(", ")
    return rest if first in ("CART", "IDM", "multi") else name


def _where(cell: Cell, name: str) -> str:
    """Return a cell and an alternative in words."""
    return f"{cell.title}, {cell.column}: {_plain(name)}"
