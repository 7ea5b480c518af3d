"""Small tables: a few rows of real tables -> what calibration gains or costs there, in log-loss.

python -m benchmarks.doubt_small [--data DIR] [--half report] [--sizes 20 50 100 200] [--seeds 3] [--more 24]
                                 [--model forest]

A cell is a set and a size: so many rows of it are drawn, scikit-learn's forest and ours are fitted to them, and other
rows judge both. The worst of many cells is mostly noise. So the cells that look worst are drawn again with other
seeds, and these alone count for them.
"""

from __future__ import annotations

import argparse
import json
import sys
import warnings
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks import show
from benchmarks.accuracy import overall
from benchmarks.data import folder_or_none, manifest, table
from benchmarks.doubt_kit import Rows, classes_of
from benchmarks.doubt_probabilities import FLOOR, MODELS, halves, probabilities
from benchmarks.measure import log_loss, quiet

JUDGES, MOST_CLASSES, SUSPECT = 1_000, 20, 0.02
"""Most rows that judge; most classes of a set; cells above the last are drawn again."""
OURS, THEIRS = "forest", "sklearn"


@dataclass
class Cell:
    """A set and a size: differences of log-loss, ours minus theirs, draw by draw."""

    set: str
    rows: int
    classes: int
    first: list[float]
    again: list[float] = field(default_factory=list)

    @property
    def difference(self) -> float:
        """The mean; of the second draws, if there are any."""
        return float(np.mean(self.again or self.first))


def main(arguments: list[str] | None = None) -> int:
    """All cells, the suspect ones twice, and what they say."""
    options = _options(arguments)
    quiet()
    warnings.simplefilter("ignore")
    place = folder_or_none(options.data)
    if place is None:
        return 0
    cells: list[Cell] = []
    for name in sorted(halves(place)[options.half], key=lambda name: int(manifest(place)[name]["rows"])):
        cells += _cells(name, place, options)
        show.progress(f"{name}: {len(cells)} cells")
        if options.json:
            Path(options.json).write_text(json.dumps([asdict(cell) for cell in cells], indent=1) + "\n")
    _print(cells, options)
    return 0


def _cells(name: str, place: Path, options: argparse.Namespace) -> list[Cell]:
    """The cells of one set."""
    X, y = table(name, place)
    y, found = classes_of(y), []
    n_classes = int(y.max()) + 1
    for size in options.sizes if n_classes <= MOST_CLASSES else ():
        if 2 * size > len(y):
            continue
        cell = Cell(name, size, n_classes, [_drawn(X, y, size, seed, options) for seed in range(options.seeds)])
        if cell.difference > SUSPECT:
            seeds = range(options.seeds, options.seeds + options.more)
            cell.again = [_drawn(X, y, size, seed, options) for seed in seeds]
        found.append(cell)
    return found


def _drawn(X: Any, y: NDArray[Any], size: int, seed: int, options: argparse.Namespace) -> float:
    """One draw of so many rows, of two classes at least: our log-loss on others minus theirs."""
    order = np.random.default_rng(seed).permutation(len(y))
    fit: Rows = order[:size]
    if len(np.unique(y[fit])) == 1:
        fit = np.append(fit[:-1], order[y[order] != y[fit[0]]][0])
    test = np.setdiff1d(order[: size + JUDGES], fit)
    ours, theirs = (_log_loss(name, X, y, fit, test, seed, options.trees) for name in (options.model, THEIRS))
    return ours - theirs


def _log_loss(name: str, X: Any, y: Rows, fit: Rows, test: Rows, seed: int, trees: int) -> float:
    said = probabilities(MODELS[name](trees, seed), X, y, fit, test)
    return float(log_loss(said, y[test], FLOOR).mean())


def _print(cells: list[Cell], options: argparse.Namespace) -> None:
    """A line for each size, then the cells that were drawn again."""
    grid = show.ruled(f"log-loss, {options.model} minus {THEIRS}, {options.trees} trees, {options.seeds} draws a cell")
    for column in ("rows", "cells", "mean ± standard error over cells", "better", "worst"):
        grid.add_column(column, justify="right")
    for size in options.sizes:
        some = [cell for cell in cells if cell.rows == size]
        if some:
            mean, error = overall([cell.difference for cell in some])
            worst = max(some, key=lambda cell: cell.difference)
            better = sum(cell.difference < 0 for cell in some)
            cell = f"{worst.difference:+.3f} {worst.set}"
            grid.add_row(str(size), str(len(some)), f"{mean:+.4f} ± {error:.4f}", str(better), cell)
    show.console().print(grid)
    again = show.ruled(f"cells above {SUSPECT}, and what {options.more} other draws say of them")
    for column in ("set", "rows", "classes", "first draws", "other draws ± standard error"):
        again.add_column(column, justify="right")
    for cell in sorted((cell for cell in cells if cell.again), key=lambda cell: -cell.difference):
        mean, error = overall(cell.again)
        first = f"{np.mean(cell.first):+.3f}"
        again.add_row(cell.set, str(cell.rows), str(cell.classes), first, f"{mean:+.3f} ± {error:.3f}")
    show.console().print(again)
    print(f"{len(cells)} cells: mean {np.mean([cell.difference for cell in cells]):+.4f}")


def _options(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.doubt_small", description=__doc__.splitlines()[0])
    parser.add_argument("--data", metavar="DIR", help="folder of data sets (else HEDGEROW_DATA, else ../shared/data)")
    parser.add_argument("--half", choices=("choose", "report", "all"), default="report", help="of the sets")
    parser.add_argument("--sizes", nargs="+", type=int, default=[20, 50, 100, 200], help="rows to fit")
    parser.add_argument("--seeds", type=int, default=3, help="draws of each cell")
    parser.add_argument("--more", type=int, default=24, help="further draws of the cells that look worst")
    parser.add_argument("--trees", type=int, default=100)
    parser.add_argument("--model", choices=[name for name in MODELS if name != THEIRS], default=OURS)
    parser.add_argument("--json", metavar="FILE", help="write all differences to a file")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main())
