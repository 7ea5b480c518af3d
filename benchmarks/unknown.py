"""Unknown: real tables, values hidden or moved far outside -> what is left open, and how often decisions are right.

python -m benchmarks.unknown [--data DIR] [--half report] [--trees 100] [--most-rows 2500] [--threads 1]
"""

from __future__ import annotations

import argparse
import sys
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from benchmarks import show
from benchmarks.data import folder_or_none, manifest, table
from benchmarks.measure import quiet
from benchmarks.record import record
from hedgerow import RandomForestClassifier
from hedgerow.metrics import u65

#: Forests that know what is unknown, and those that answer as scikit-learn's do.
FORESTS = {"unseen='shares'": "shares", "unseen='larger'": "larger"}
FIGURES = ("left open", "error of decisions", "holds the truth", "u65")
ROWS = ("as they are", "best feature hidden", "middling feature hidden", "quarter hidden", "best one far off", "blank")


def main(arguments: list[str] | None = None) -> int:
    """Judge every set of one half and print a table of means over sets."""
    options = _options(arguments)
    quiet()
    place = folder_or_none(options.data)
    if place is None:
        return 0
    found = []
    for name in names_of(place, options.half):
        show.progress(name)
        found.append(judge(*table(name, place), options))
    _print(found, options)
    if options.record:
        record("unseen", _figures(found), "benchmarks.unknown", sys.argv[1:])
    return 0


def names_of(place: Any, half: str) -> list[str]:
    """The sets of 100 to 6,000 rows and at most 70 features; every other one has chosen the method."""
    about = manifest(place)
    fits = [
        name
        for name, row in sorted(about.items())
        if row["task"].startswith("class") and 100 <= int(row["rows"]) <= 6000 and int(row["features"]) <= 70
    ]
    return fits[1::2] if half == "report" else fits[::2]


def judge(X: pd.DataFrame, y: NDArray[Any], options: argparse.Namespace) -> dict[tuple[str, str], NDArray[np.float64]]:
    """A set -> (forest, rows) -> the four figures, from a third of its rows."""
    order = np.random.default_rng(0).permutation(len(y))[: options.most_rows]
    known, asked = order[len(order) // 3 :], order[: len(order) // 3]
    asked = asked[np.isin(y[asked], y[known])]
    found = {}
    for forest_name, policy in FORESTS.items():
        forest = RandomForestClassifier(options.trees, random_state=0, unseen=policy, n_jobs=options.threads)
        forest.fit(X.iloc[known], y[known])
        for name, rows in odd_rows(X.iloc[known], X.iloc[asked], forest.feature_importances_).items():
            found[forest_name, name] = figures(forest, rows, y[asked])
    return found


def odd_rows(known: pd.DataFrame, asked: pd.DataFrame, importance: NDArray[np.float64]) -> dict[str, pd.DataFrame]:
    """Training rows and others -> the others with values that no training row has; columns with gaps are left alone."""
    whole = [j for j in np.argsort(-importance).tolist() if not known.iloc[:, j].isna().any()]
    quarter = np.random.default_rng(0).permutation(whole)[: max(1, known.shape[1] // 4)].tolist()
    hidden = {"best feature hidden": whole[:1], "middling feature hidden": whole[len(whole) // 2 :][:1]}
    hidden |= {"quarter hidden": quarter, "blank": list(range(known.shape[1]))}
    found = {"as they are": asked} | {name: _hidden(asked, columns) for name, columns in hidden.items()}
    numbers = [
        j for j in whole if pd.api.types.is_numeric_dtype(known.dtypes.iloc[j]) and known.iloc[:, j].nunique() > 2
    ]
    if numbers:
        column = known.iloc[:, numbers[0]]
        name = known.columns[numbers[0]]
        far = asked.astype({name: np.float64})
        far[name] = column.max() + 10 * (column.max() - column.min())
        found["best one far off"] = far
    return found


def figures(forest: RandomForestClassifier, X: pd.DataFrame, y: NDArray[Any]) -> NDArray[np.float64]:
    """-> share left open, error among decisions, share of sets that hold the truth, u65."""
    sets = forest.predict_set(X)
    right = sets[np.arange(len(y)), np.searchsorted(forest.classes_, y)]
    decided = sets.sum(axis=1) == 1
    wrong = (~right[decided]).mean() if decided.any() else np.nan
    return np.array([1 - decided.mean(), wrong, right.mean(), u65(y, sets, classes=forest.classes_)])


def _hidden(rows: pd.DataFrame, columns: list[int]) -> pd.DataFrame:
    hidden = rows.copy()
    for column in columns:
        name = rows.columns[column]
        hidden[name] = np.nan if pd.api.types.is_numeric_dtype(rows[name]) else None
    return hidden


def _print(found: list[dict[tuple[str, str], NDArray[np.float64]]], options: argparse.Namespace) -> None:
    out = show.console()
    grid = show.ruled(f"Values that no training row has: {len(found)} sets, {options.trees} trees, means over sets")
    for title in ("rows", "forest", *FIGURES):
        grid.add_column(title, justify="left" if title in ("rows", "forest") else "right")
    for name in ROWS:
        for forest in FORESTS:
            each = [one[forest, name] for one in found if (forest, name) in one]
            grid.add_row(name, forest, *(f"{value:.3f}" for value in np.nanmean(each, axis=0)))
    out.print(grid)
    gaps = [one["unseen='shares'", "as they are"] - one["unseen='larger'", "as they are"] for one in found]
    mean, error = np.mean(gaps, axis=0), np.std(gaps, axis=0, ddof=1) / np.sqrt(len(gaps))
    words = (f"{name} {gap:+.4f} ± {se:.4f}" for name, gap, se in zip(FIGURES, mean, error, strict=True))
    out.print(f"What it costs on rows as they are: {', '.join(words)}.")


def _figures(found: list[dict[tuple[str, str], NDArray[np.float64]]]) -> dict[str, Any]:
    """The table as plain data; a figure that no set has is left out."""
    told: dict[str, Any] = {"sets": len(found)}
    for name in ROWS:
        told[name] = {}
        for forest, policy in FORESTS.items():
            each = np.array([one[forest, name] for one in found if (forest, name) in one])
            shown = zip(("undecided", "error", "coverage", "u65"), each.T, strict=True)
            told[name][policy] = {title: float(np.nanmean(some)) for title, some in shown if not np.isnan(some).all()}
    return told


def _options(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.unknown", description=__doc__)
    parser.add_argument("--data", help="the folder of real sets")
    parser.add_argument("--half", choices=["choose", "report"], default="report", help="which half of the sets")
    parser.add_argument("--trees", type=int, default=100)
    parser.add_argument("--most-rows", type=int, default=2500, help="rows of a set that are used")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--record", action="store_true", help="write means to docs/results.json, for the pages")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    raise SystemExit(main())
