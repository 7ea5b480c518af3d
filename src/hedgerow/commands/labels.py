"""Labels: a small table of readable names -> column -> value -> name."""

from __future__ import annotations

from hedgerow.commands.options.shared import Reading
from hedgerow.commands.outcome import DataError
from hedgerow.commands.source import read_sheet

#: The columns of the table.
HEADS = ("column", "value", "label")


def read_labels(path: str | None, reading: Reading) -> dict[str, dict[str, str]] | None:
    """The file of --labels -> names; an empty value names the column itself."""
    if path is None:
        return None
    sheet = read_sheet([path], reading)
    absent = [head for head in HEADS if head not in sheet.names]
    if absent:
        raise DataError(
            f"--labels must have the columns {', '.join(HEADS)}, got {', '.join(sheet.names)}; one line names one value"
        )
    sheet.prepare([], list(HEADS))
    found: dict[str, dict[str, str]] = {}
    for column, value, label in zip(*(sheet.cells(head).tolist() for head in HEADS), strict=True):
        found.setdefault(_text(column), {})[_text(value)] = _text(label)
    return found


def _text(cell: object) -> str:
    """A cell -> text; a missing one is empty."""
    return "" if cell is None or cell != cell else str(cell)
