"""Inputs: real tables whose training cells are intervals -> accuracy and log-loss of fits to them, compared with
midpoints, missing values and drawn copies.

python -m benchmarks.inputs [--half report] [--data DIR] [--sets NAME ...] [--repeats 2] [--trees 50] [--json FILE]
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks import show
from benchmarks.caution import FOLDS
from benchmarks.data import DataNotFoundError, folder, table
from benchmarks.measure import quiet
from hedgerow import RandomForestClassifier, UncertainTable

HALVES = {
    "choose": ("glass", "ecoli", "wine", "heart-statlog"),
    "report": ("iris", "vehicle-silhouettes", "breast-cancer-wdbc", "pima-diabetes"),
}
"""Sets on which the rounds of refining were chosen, and those on which the result is reported."""
WIDTHS = (0.5, 1.0, 2.0)
"""Widths of intervals, in standard deviations of the column."""
SHARE = 0.5
"""The share of training cells that are intervals."""
ROWS = 300
"""The most training rows."""
COPIES = 8
"""How often each row is drawn."""

Rows = tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64], NDArray[np.bool_], NDArray[Any]]


@dataclass(frozen=True)
class Found:
    """Accuracy and log-loss on one set: in each fold, by width and way to treat intervals."""

    set: str
    accuracy: dict[str, dict[str, list[float]]]
    log_loss: dict[str, dict[str, list[float]]]


def main(arguments: list[str] | None = None) -> int:
    """Judge every set, and print a table for each width; 1 where a model raised an error."""
    options = _options(arguments)
    quiet()
    found, errors, start = [], [], time.monotonic()
    for name in options.sets or HALVES[options.half]:
        try:
            found.append(judge(name, *table(name, folder(options.data)), options))
        except DataNotFoundError as reason:
            print(f"{name} skipped: {reason}")
        except Exception as reason:
            errors.append(f"error: {name}: {type(reason).__name__}: {reason}")
        show.progress(f"{name}: {time.monotonic() - start:.1f} s")
    _print(found)
    for line in errors:
        print(line)
    if options.json:
        Path(options.json).write_text(json.dumps([asdict(one) for one in found], indent=1) + "\n")
    return int(bool(errors))


def judge(name: str, X: Any, y: NDArray[Any], options: argparse.Namespace) -> Found:
    """One set: the same folds, intervals and seeds for every way."""
    from sklearn.model_selection import RepeatedStratifiedKFold

    values = X.to_numpy(dtype=np.float64)
    scores: dict[str, Any] = {
        what: {f"{width:g}": {way: [] for way in WAYS} for width in WIDTHS} for what in ("accuracy", "log_loss")
    }
    folds = RepeatedStratifiedKFold(n_splits=FOLDS, n_repeats=options.repeats, random_state=0)
    for number, (whole, test) in enumerate(folds.split(values, y)):
        fit = np.random.default_rng(number).permutation(whole)[:ROWS]
        for width in WIDTHS:
            rows = blur(values[fit], y[fit], width, np.random.default_rng([number, round(100 * width)]))
            for way, learn in WAYS.items():
                model = RandomForestClassifier(options.trees, n_jobs=options.threads, random_state=number)
                learn(model, rows, np.random.default_rng(number))
                probability = model.predict_proba(values[test])
                truth = np.searchsorted(model.classes_, y[test])
                given = np.maximum(probability[np.arange(len(test)), truth], 1e-9)
                scores["accuracy"][f"{width:g}"][way].append(float((probability.argmax(axis=1) == truth).mean()))
                scores["log_loss"][f"{width:g}"][way].append(float(-np.log(given).mean()))
    return Found(name, **scores)


def blur(values: NDArray[np.float64], y: NDArray[Any], width: float, rng: np.random.Generator) -> Rows:
    """Values (n, p) -> the ends of intervals around them, which of them are intervals, and the labels.

    The value is anywhere in its interval, so the middle is off by a quarter of the width on average.
    """
    reach = width * values.std(axis=0) * np.ones(values.shape)
    low = values - rng.random(values.shape) * reach
    return values, low, low + reach, rng.random(values.shape) < SHARE, y


def _certain(model: Any, rows: Rows, rng: np.random.Generator) -> None:
    """The true values, as a limit."""
    values, _, _, _, y = rows
    model.fit(values, y, groups=None)


def _learn(rounds: int) -> Callable[[Any, Rows, np.random.Generator], None]:
    """Intervals as they are."""

    def learn(model: Any, rows: Rows, rng: np.random.Generator) -> None:
        values, low, high, blurred, y = rows
        cells = {(row, k): (low[row, k], high[row, k]) for row, k in np.argwhere(blurred).tolist()}
        model.set_params(label_rounds=rounds).fit(UncertainTable(values, cells), y, groups=None)

    return learn


def _midpoints(model: Any, rows: Rows, rng: np.random.Generator) -> None:
    """The middle of each interval."""
    values, low, high, blurred, y = rows
    model.fit(np.where(blurred, (low + high) / 2, values), y, groups=None)


def _missing(model: Any, rows: Rows, rng: np.random.Generator) -> None:
    """Intervals as missing values."""
    values, _, _, blurred, y = rows
    model.fit(np.where(blurred, np.nan, values), y, groups=None)


def _copies(model: Any, rows: Rows, rng: np.random.Generator) -> None:
    """Several draws of each row, in a bag together."""
    values, low, high, blurred, y = rows
    drawn = [np.where(blurred, rng.uniform(low, high), values) for _ in range(COPIES)]
    of_row = np.tile(np.arange(len(y)), COPIES)
    model.fit(np.concatenate(drawn), np.tile(y, COPIES), groups=of_row)


WAYS: dict[str, Callable[[Any, Rows, np.random.Generator], None]] = {
    "certain": _certain,
    "learn": _learn(5),
    "shares": _learn(0),
    "midpoints": _midpoints,
    "missing": _missing,
    "copies": _copies,
}
WORDS = {
    "certain": "true values",
    "learn": "intervals",
    "shares": "intervals, not refined",
    "midpoints": "midpoints",
    "missing": "missing values",
    "copies": f"{COPIES} drawn copies",
}


def _print(found: list[Found]) -> None:
    """A table of means over sets, with what intervals gain over each way and its standard error over sets."""
    out = show.console()
    for what, title in (("accuracy", "Accuracy"), ("log_loss", "Log-loss")):
        grid = show.ruled(f"{title} with {SHARE:.0%} of the training cells as intervals, mean over {len(found)} sets")
        grid.add_column("way")
        for width in WIDTHS:
            grid.add_column(f"{width:g} sd", justify="right")
            grid.add_column("intervals - it ± se", justify="right")
        for way, words in WORDS.items():
            line = [words]
            for width in WIDTHS:
                each = np.array([np.mean(vars(one)[what][f"{width:g}"][way]) for one in found])
                ours = np.array([np.mean(vars(one)[what][f"{width:g}"]["learn"]) for one in found])
                error = (ours - each).std(ddof=1) / np.sqrt(len(each)) if len(each) > 1 else float("nan")
                gain = "" if way == "learn" else f"{(ours - each).mean():+.4f} ± {error:.4f}"
                line += [f"{each.mean():.4f}", gain]
            grid.add_row(*line)
        out.print(grid)


def _options(arguments: list[str] | None) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.inputs", description=__doc__.splitlines()[0])
    parser.add_argument("--data", metavar="DIR", help="folder of data sets (else HEDGEROW_DATA, else ../shared/data)")
    parser.add_argument("--half", choices=sorted(HALVES), default="report", help="the sets")
    parser.add_argument("--sets", nargs="+", metavar="NAME", help="of the folder, in place of a half")
    parser.add_argument("--repeats", type=int, default=2, help=f"of {FOLDS}-fold cross-validation")
    parser.add_argument("--trees", type=int, default=50)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--json", metavar="FILE", help="write everything judged to a file")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main())
