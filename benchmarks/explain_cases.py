"""Explain cases: a table -> what one explained case and one report cost, beside `hedgerow fit` of the same table."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import numpy as np

from benchmarks import show
from benchmarks.data import Shape, Split, synthetic
from hedgerow import RandomForestClassifier

FEATURES, CASES = 30, 100
FEW = 5_000
"""Rows of the smaller report."""
MOST_CASE, MOST_FEW, MOST_MANY, MOST_PAGE = 0.020, 1.5, 3.0, 3e6
"""Goals: seconds of a case, fits of a report of few and of many rows, bytes of a page."""


@dataclass(frozen=True)
class CaseCosts:
    """Seconds of cases and commands, and the size of the larger page."""

    rows: int
    trees: int
    first: float
    """The first case of a process, which finds out which training rows are in which leaves."""
    case: float
    """The median of the cases after it, without what features add."""
    cpu: float
    """The same in seconds of a processor."""
    proven: float
    """Share of the cases whose smallest change is proven to be the smallest."""
    fit: float
    report_few: float
    report_many: float
    page: int


def case_costs(rows: int, trees: int, threads: int, seed: int) -> CaseCosts:
    """Fit, explain a hundred undecided rows one by one, then run the commands on files."""
    split = synthetic(Shape(rows, FEATURES, 2), seed)
    first, cases, cpu, proven = _cases(split, trees, threads, seed)
    with tempfile.TemporaryDirectory() as folder:
        at = Path(folder)
        _write(at / "train.csv", split.X, split.y)
        _write(at / "few.csv", split.X_fresh[:FEW], split.y_fresh[:FEW])
        _write(at / "many.csv", split.X_fresh[:rows], split.y_fresh[:rows])
        fit = _command("fit", at / "train.csv", "--target", "y", "--trees", trees, "--seed", seed, "-o", at / "m.hedge")
        few, many = (
            _command("report", at / "m.hedge", at / f"{which}.csv", "--target", "y", "-o", at / f"{which}.html")
            for which in ("few", "many")
        )
        page = (at / "many.html").stat().st_size
    return CaseCosts(rows, trees, first, cases, cpu, proven, fit, few, many, page)


def print_case_costs(costs: CaseCosts) -> None:
    """Every figure with its goal."""
    out = show.console()
    grid = show.ruled(f"Cases and reports: {costs.trees} trees on {costs.rows:,} rows × {FEATURES} features")
    for column in ("what", "figure", "goal"):
        grid.add_column(column, justify="left" if column == "what" else "right")
    few, many = costs.report_few / costs.fit, costs.report_many / costs.fit
    lines = [
        (f"a case, median of {CASES}", f"{1e3 * costs.case:.1f} ms", f"{1e3 * MOST_CASE:.0f} ms"),
        ("the same, of one processor", f"{1e3 * costs.cpu:.1f} ms", show.DASH),
        ("the first case of a process", f"{costs.first:.2f} s", show.DASH),
        ("smallest changes proven smallest", f"{costs.proven:.0%}", show.DASH),
        ("hedgerow fit", f"{costs.fit:.1f} s", show.DASH),
        (f"hedgerow report of {FEW:,} rows", f"{few:.2f} fits", f"{MOST_FEW} fits"),
        (f"hedgerow report of {costs.rows:,} rows", f"{many:.2f} fits", f"{MOST_MANY} fits"),
        ("the page of the larger report", f"{costs.page / 1e6:.2f} MB", f"{MOST_PAGE / 1e6:.0f} MB"),
    ]
    for line in lines:
        grid.add_row(*line)
    out.print(grid)


def _cases(split: Split, trees: int, threads: int, seed: int) -> tuple[float, float, float, float]:
    """-> seconds of the first case and of a usual one, those of a processor, and the share that is proven."""
    forest = RandomForestClassifier(trees, n_jobs=threads, random_state=seed).fit(split.X, split.y)
    undecided = np.flatnonzero(forest.predict_set(split.X_fresh).sum(axis=1) > 1)[: CASES + 1]
    wall, processor, proven = [], [], []
    for row in undecided.tolist():
        start, worked = time.perf_counter(), time.process_time()
        found = forest.explain(split.X_fresh[row : row + 1], shap=False)[0]
        wall.append(time.perf_counter() - start)
        processor.append(time.process_time() - worked)
        proven.append(
            found.remedies is not None
            and found.remedies.counterfactual is not None
            and found.remedies.counterfactual["optimal"]
        )
    return wall[0], median(wall[1:]), median(processor[1:]), float(np.mean(proven))


def _write(path: Path, X: np.ndarray, y: np.ndarray) -> None:
    """A table with a header; the target is the last column."""
    names = ",".join([*(f"x{j}" for j in range(X.shape[1])), "y"])
    np.savetxt(
        path, np.column_stack([X, y]), fmt=["%.7g"] * X.shape[1] + ["%d"], delimiter=",", header=names, comments=""
    )


def _command(*words: object) -> float:
    """A command of hedgerow, in a process of its own -> its seconds."""
    start = time.perf_counter()
    subprocess.run([sys.executable, "-m", "hedgerow", *map(str, words)], check=True, capture_output=True)
    return time.perf_counter() - start
