"""Judgement: a sheet -> its groups of rows; figures of two classes, by group and in costs -> tables people read."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow.cli.console import facts, grid, share, warn
from hedgerow.cli.exit_codes import DataError
from hedgerow.cli.files.sheet import Sheet
from hedgerow.explain.breakdown import cost_lines, group_lines
from hedgerow.inference.evaluation import BLOCK_ROWS, MOST_GROUPS, group_rows
from hedgerow.inference.leakage import training_overlap
from hedgerow.inference.predictor import predictor_of
from hedgerow.metrics.two_classes import Estimate
from hedgerow.table import Factors

#: A larger share of training rows is said to be all rows.
ALMOST_ALL = 0.99
WORDS = {
    "sensitivity": "of the {positive} rows are called {positive}",
    "specificity": "of the others are not called {positive}",
    "positive_predictive_value": "of those called {positive} are {positive}",
    "negative_predictive_value": "of the others are not {positive}",
}


def groups_of(sheet: Sheet, name: str) -> dict[str, NDArray[np.bool_]]:
    """A column -> its groups, by what they are called, and which rows (n,) belong to each."""
    held = sheet.held(name)
    many = not isinstance(held, Factors) and len(np.unique(held[~sheet.is_missing(name)])) > MOST_GROUPS
    try:
        return group_rows(name, sheet.numbers(name) if many else sheet.factors(name), dates=name in sheet.dates)
    except ValueError as reason:
        raise DataError(f"--{reason}") from None


def rows_of_fit(model: Any, table: Any) -> float | None:
    """Say if the model was trained on many of these rows -> their share, or None."""
    predictor, n_rows = predictor_of(model), table.shape[0]
    parts = (slice(first, first + BLOCK_ROWS) for first in range(0, n_rows, BLOCK_ROWS))
    found = training_overlap(predictor.fitted, (predictor.read(table.some(part)).codes for part in parts))
    if found is None:
        return None
    rows = "" if found.share > ALMOST_ALL else f"about {found.share:.0%} of ".replace("%", " %")
    warn(
        f"the model was trained on {rows}these rows, so figures are better than on other rows; take others, or fit with"
        " --folds 5 or --test-split 0.2"
    )
    return found.share


def two_class_facts(found: dict[str, Any]) -> Any:
    """Figures of two classes -> the table people read."""
    positive = str(found["positive"])
    rows = [("positive class", f"{positive} (--positive names the other)")]
    for name, words in WORDS.items():
        rows.append((name.replace("_", " "), f"{_interval(found[name])} {words.format(positive=positive)}"))
    rows.append(("AUC", _interval(found["auc"], as_share=False)))
    decided = ", ".join(f"{name.replace('_', ' ')} {share(each['value'])}" for name, each in found["decided"].items())
    return facts([*rows, ("where it decides", decided)])


def cost_grid(found: dict[str, float]) -> Any:
    """Costs -> the table people read."""
    lines = cost_lines(found)
    return grid(lines.title, lines.heads, lines.rows)


def group_grid(name: str, groups: dict[str, dict[str, Any]]) -> Any:
    """Figures by group -> the table people read."""
    lines = group_lines(name, groups)
    return grid(lines.title, lines.heads, lines.rows)


def _interval(found: dict[str, Any], *, as_share: bool = True) -> str:
    """An estimate -> ``95.4 % (91.0 to 97.8)``."""
    value, lower, upper = Estimate(**found)
    if value is None:
        return "–"
    if as_share:
        ends = "" if lower is None or upper is None else f" ({100 * lower:.1f} to {100 * upper:.1f})"
        return share(value) + ends
    return f"{value:.3f}" + ("" if lower is None else f" ({lower:.3f} to {upper:.3f})")
