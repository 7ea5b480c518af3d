"""Suggest: real tables whose labels cost something -> what `suggest` gains over asking at random or the most doubtful.

python -m benchmarks.suggest [--task classification] [--half report] [--data DIR] [--sets NAME ...] [--json FILE]
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
from benchmarks.accuracy import overall
from benchmarks.data import folder_or_none, manifest, table
from benchmarks.doubt_kit import classes_of, every_other
from benchmarks.measure import quiet
from benchmarks.record import record, with_error
from hedgerow import RandomForestClassifier, RandomForestRegressor

START, STEP, ROUNDS = 20, 10, 10
"""Labels at the start, labels asked for in each round, rounds."""
POOL, TEST = 1_000, 1_000
"""Rows that may be asked about, and rows to test on, at most."""
SIZES, FEATURES = (300, 12_000), 100
"""Sets with so many rows, and at most so many features."""


@dataclass(frozen=True)
class Found:
    """One set: for each way to ask, the mean score of all rounds in each repeat, and that of the last round."""

    set: str
    rows: int
    mean: dict[str, list[float]]
    last: dict[str, list[float]]


def main(arguments: list[str] | None = None) -> int:
    """Ask on every set, print a table; 1 where a model raised an error."""
    options = _options(arguments)
    quiet()
    place, start, found = folder_or_none(options.data), time.monotonic(), []
    if place is None:
        return 0
    for name in options.sets or halves(place, options.task)[options.half]:
        found.append(judge(name, place, options))
        show.progress(f"{name}: {time.monotonic() - start:.1f} s")
        if options.json:
            Path(options.json).write_text(json.dumps([asdict(one) for one in found], indent=1) + "\n")
    _print(found, options)
    if options.record:
        record("active learning", _figures(found), "benchmarks.suggest", sys.argv[1:])
    return 0


def halves(place: Path, task: str) -> dict[str, list[str]]:
    """The sets to choose a way on, and those to report on."""
    sizes = {name: (int(about["rows"]), int(about["features"])) for name, about in manifest(place).items()
             if about["task"] == task}  # fmt: skip
    fit = [name for name, (rows, columns) in sizes.items() if SIZES[0] <= rows <= SIZES[1] and columns <= FEATURES]
    return every_other(fit)


def judge(name: str, place: Path, options: argparse.Namespace) -> Found:
    """One set: every way to ask begins with the same labels, and is tested on the same rows."""
    X, y = table(name, place)
    y = classes_of(y) if options.task == "classification" else np.asarray(y, dtype=np.float64)
    mean: dict[str, list[float]] = {way: [] for way in WAYS}
    last: dict[str, list[float]] = {way: [] for way in WAYS}
    for repeat in range(options.repeats):
        order = np.random.default_rng([repeat, 17]).permutation(len(y))
        test, pool = np.split(order[: min(len(y), TEST + POOL)], [min(TEST, len(y) // 3)])
        for way in WAYS:
            scores = learn(X, y, pool, test, way, repeat, options)
            mean[way].append(float(np.mean(scores)))
            last[way].append(scores[-1])
    return Found(name, len(y), mean, last)


def learn(
    X: Any, y: NDArray[Any], pool: NDArray[Any], test: NDArray[Any], way: str, seed: int, options: argparse.Namespace
) -> list[float]:
    """A pool of rows, of which the first have labels, and a way to ask -> accuracy or R² after each round."""
    make = RandomForestClassifier if options.task == "classification" else RandomForestRegressor
    rng, known, scores = np.random.default_rng(seed), pool[:START], []
    left = pool[START:]
    while options.task == "classification" and len(np.unique(y[known])) < 2:
        known, left = np.append(known, left[0]), left[1:]
    for _ in range(ROUNDS):
        forest = make(options.trees, random_state=seed, n_jobs=options.threads).fit(X.iloc[known], y[known])
        asked = WAYS[way](forest, X.iloc[left], rng)
        known, left = np.append(known, left[asked]), np.delete(left, asked)
        forest.fit(X.iloc[known], y[known])
        scores.append(float(forest.score(X.iloc[test], y[test])))
        if len(left) <= STEP:
            break
    return scores


def _random(forest: Any, X: Any, rng: np.random.Generator) -> NDArray[Any]:
    """Rows at random."""
    return rng.permutation(len(X))[:STEP]


def _most_doubtful(forest: Any, X: Any, rng: np.random.Generator) -> NDArray[Any]:
    """Margin sampling; for a regressor, the rows about which the trees differ most."""
    if hasattr(forest, "classes_"):
        ordered = np.sort(forest.predict_proba(X), axis=1)
        return np.argsort(ordered[:, -1] - ordered[:, -2], kind="stable")[:STEP]
    return np.argsort(-forest.predict_uncertainty(X).epistemic, kind="stable")[:STEP]


WAYS: dict[str, Callable[[Any, Any, np.random.Generator], NDArray[Any]]] = {
    "random": _random,
    "most doubtful": _most_doubtful,
    "suggest": lambda forest, X, rng: forest.suggest(X, STEP),
}


def _print(found: list[Found], options: argparse.Namespace) -> None:
    """A line for each set, then what `suggest` gains over the other ways."""
    score = "accuracy" if options.task == "classification" else "R²"
    words = f"from {START} to {START + STEP * ROUNDS} labels, {options.repeats} repeats, {options.trees} trees"
    grid = show.ruled(f"Mean {score} over {ROUNDS} rounds, {words}")
    grid.add_column("set")
    for column in ("rows", *WAYS):
        grid.add_column(column, justify="right")
    for one in found:
        grid.add_row(one.set, str(one.rows), *(f"{np.mean(one.mean[way]):.4f}" for way in WAYS))
    out = show.console()
    out.print(grid)
    for other in ("random", "most doubtful"):
        for what in ("mean", "last"):
            gaps = [float(np.mean(getattr(one, what)["suggest"]) - np.mean(getattr(one, what)[other])) for one in found]
            gain, error = overall(gaps)
            when = "over all rounds" if what == "mean" else "after the last round"
            out.print(
                f"suggest minus {other}, {when}: {gain:+.4f} ± {error:.4f}, better on {sum(gap > 0 for gap in gaps)} of"
                f" {len(gaps)} sets",
                highlight=False,
            )


def _figures(found: list[Found]) -> dict[str, Any]:
    """What `suggest` gains over the other ways, as plain data."""
    told: dict[str, Any] = {"sets": len(found)}
    for other in ("random", "most doubtful"):
        told[other] = {}
        for what in ("mean", "last"):
            gaps = [float(np.mean(getattr(one, what)["suggest"]) - np.mean(getattr(one, what)[other])) for one in found]
            told[other][what] = with_error(gaps, better=sum(gap > 0 for gap in gaps))
    return told


def _options(arguments: list[str] | None) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.suggest", description=__doc__.splitlines()[0])
    parser.add_argument("--task", choices=("classification", "regression"), default="classification")
    parser.add_argument("--half", choices=("choose", "report"), default="report")
    parser.add_argument("--data", metavar="DIR", help="folder of data sets (else HEDGEROW_DATA, else ../shared/data)")
    parser.add_argument("--sets", nargs="+", metavar="NAME", help="of the folder")
    parser.add_argument("--repeats", type=int, default=2)
    parser.add_argument("--trees", type=int, default=100)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--json", metavar="FILE", help="write everything judged to a file")
    parser.add_argument("--record", action="store_true", help="write means to docs/results.json, for the pages")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main())
