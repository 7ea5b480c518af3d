"""Reader of attribute-relation files (ARFF)."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

_ATTRIBUTE = re.compile(r"""@attribute\s+(?:'((?:[^'\\]|\\.)*)'|"((?:[^"\\]|\\.)*)"|(\S+))\s+(.*)""", re.IGNORECASE)


@dataclass
class ArffRows:
    """Column names, and rows of text; None means missing."""

    names: list[str]
    rows: Iterable[list[str | None]]

    def select(self, names: list[str]) -> ArffRows:
        """Return the columns of these names, in this order."""
        at = [self.names.index(name) for name in names]
        return ArffRows(names, ([row[i] for i in at] for row in self.rows))


def read_arff(lines: Iterable[str]) -> ArffRows:
    """Read names and rows of lines; rows may be sparse (``{3 1, 7 2.5}``).

    Parameters
    ----------
    lines : iterable of str

    Returns
    -------
    ArffRows

    Examples
    --------
    >>> text = ["@relation r", "@attribute a numeric", "@attribute 'b c' {x, 'y z'}", "@data", "1, 'y z'", "?, x"]
    >>> rows = read_arff(text)
    >>> rows.names, list(rows.rows)
    (['a', 'b c'], [['1', 'y z'], [None, 'x']])
    """
    remaining = iter(lines)
    names: list[str] = []
    first_values: list[str] = []
    for line in remaining:
        line = line.strip()
        if line.lower().startswith("@data"):
            break
        if found := _ATTRIBUTE.match(line):
            names.append(next(part for part in found.groups()[:3] if part is not None).replace("\\", ""))
            first_values.append(_first_value(found.group(4)))
    return ArffRows(names, _rows(remaining, first_values))


def _rows(lines: Iterable[str], first_values: list[str]) -> Iterator[list[str | None]]:
    """Yield rows; cells omitted in a sparse row are zero, or the first category."""
    content = (line.strip() for line in lines)
    kept = (line for line in content if line and not line.startswith("%"))
    for line in kept:
        if line.startswith("{"):
            row: list[str | None] = list(first_values)
            for cell in _cells(line.strip("{}")):
                number, value = cell.split(None, 1)
                row[int(number)] = _value(value)
            yield row
        else:
            yield [_value(cell) for cell in _cells(line)]


def _cells(line: str) -> list[str]:
    """Split a line into cells; text may be in single or double quotes."""
    quote = '"' if '"' in line and "'" not in line else "'"
    cells = next(csv.reader([line], quotechar=quote, skipinitialspace=True, escapechar="\\"), [])
    return [cell.strip() for cell in cells if cell is not None]


def _value(cell: str) -> str | None:
    """Return the text of a cell, None for a question mark."""
    cell = cell.strip("'\"") if len(cell) > 1 else cell
    return None if cell == "?" else cell


def _first_value(attribute_type: str) -> str:
    """Return the value of a cell omitted in a sparse row, by the attribute's type."""
    attribute_type = attribute_type.strip()
    return _cells(attribute_type.strip("{}"))[0].strip("'\"") if attribute_type.startswith("{") else "0"
