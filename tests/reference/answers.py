"""What the command line reads and writes, read with the csv module alone."""

from __future__ import annotations

import csv
from pathlib import Path


def rows_of(text: str) -> list[dict[str, str]]:
    """CSV -> one dict per row."""
    return list(csv.DictReader(text.splitlines()))


def read_patients(path: Path) -> list[dict[str, str]]:
    """The rows of a file of patients."""
    return rows_of(path.read_text())
