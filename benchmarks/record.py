"""Record: figures of a run -> a section of ``docs/results.json``, from which pages and charts are made.

A benchmark with ``--record`` calls `record`. Then ``python docs/results.py`` and ``python docs/pictures.py`` renew the
pages and charts, and a test names the sentences of other pages that quote an old figure.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Sequence
from datetime import date
from pathlib import Path
from typing import Any

from benchmarks.accuracy import overall

RESULTS = Path(__file__).resolve().parents[1] / "docs" / "results.json"
#: Digits that are kept: more would change from machine to machine.
DIGITS = 4


def record(section: str, figures: dict[str, Any], command: str, arguments: Sequence[str], note: str = "") -> None:
    """Replace a section of the results by the figures of this run, with its date and command."""
    words = [word for word in arguments if word not in ("--record", "--resume")]
    for option in ("--data", "--json"):  # paths of this machine
        if option in words:
            del words[words.index(option) : words.index(option) + 2]
    found = json.loads(RESULTS.read_text(encoding="utf-8")) if RESULTS.exists() else {}
    made = {"date": date.today().isoformat(), "command": " ".join(["python -m", command, shlex.join(words)]).strip()}
    found[section] = made | ({"note": note} if note else {}) | {"figures": rounded(figures)}
    RESULTS.write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def with_error(each: Sequence[float], **more: Any) -> dict[str, Any]:
    """Return the mean over sets with its standard error.

    >>> with_error([1.0, 3.0], sets=2)
    {'value': 2.0, 'error': 1.0, 'sets': 2}
    """
    mean, error = overall(list(each))
    return {"value": mean, "error": error} | more


def rounded(figures: Any) -> Any:
    """Return the same figures with few digits.

    >>> rounded({"a": [0.123456], "b": 3})
    {'a': [0.1235], 'b': 3}
    """
    if isinstance(figures, dict):
        return {name: rounded(each) for name, each in figures.items()}
    if isinstance(figures, list):
        return [rounded(each) for each in figures]
    return round(figures, DIGITS) if isinstance(figures, float) else figures
