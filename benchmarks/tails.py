"""Tails: rare positives and heavy tails -> what forests find, beside their peers, and what more bins cost."""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.data import Shape, synthetic

Floats = NDArray[np.float64]
QUANTILES = (0.99, 0.998, 0.9995)


def main() -> None:
    """Print a line for each table and learner."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--rows", type=int, nargs="+", default=[20_000, 200_000, 2_000_000], help="of the rare positives"
    )
    parser.add_argument(
        "--numbers", type=int, nargs="+", default=[4_000, 40_000, 400_000], help="rows of the regression"
    )
    parser.add_argument("--slow-rows", type=int, default=200_000, help="the most rows that scikit-learn's forests get")
    parser.add_argument("--trees", type=int, default=100)
    parser.add_argument("--repeats", type=int, default=3, help="of the cost")
    parser.add_argument("--quick", action="store_true", help="20 trees, 20,000 and 40,000 rows")
    parser.add_argument("--cost-of", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.cost_of:
        print(*_cost_here(given.cost_of, given.trees))
        return
    if given.quick:
        given.rows, given.numbers, given.trees = [20_000], [4_000, 40_000], 20
    rare_positives(given.rows, given.slow_rows, given.trees)
    heavy_tails(given.numbers, given.slow_rows, given.trees)
    cost(given.trees, given.repeats)


def rare_positives(all_rows: list[int], slow_rows: int, n_trees: int) -> None:
    """The class is whether the first of ten columns is above a quantile; 80,000 fresh rows, or four times as many."""
    print("rows      quantile  learner                  found of       false alarms")
    for n_rows in all_rows:
        for quantile in QUANTILES:
            X, y, fresh, truth = _rare(n_rows, quantile)
            for name, make in _classifiers(n_trees, n_rows <= slow_rows).items():
                found = make().fit(X, y).predict(fresh) == 1
                hits, alarms = int((found & truth).sum()), int((found & ~truth).sum())
                print(f"{n_rows:<9} {quantile:<9} {name:<22} {hits:>7} {int(truth.sum()):>6} {alarms:>14}", flush=True)


def heavy_tails(all_rows: list[int], slow_rows: int, n_trees: int) -> None:
    """The number is a sum of columns, three of which are exp of 1.5 times a normal; R² on 20,000 fresh rows."""
    print("rows      learner                     R²")
    for n_rows in all_rows:
        X, y = _heavy(n_rows, 0)
        fresh, truth = _heavy(20_000, 1)
        for name, make in _regressors(n_trees, n_rows <= slow_rows).items():
            print(f"{n_rows:<9} {name:<22} {make().fit(X, y).score(fresh, truth):>8.4f}", flush=True)


def cost(n_trees: int, repeats: int) -> None:
    """Fit time and peak memory of more bins, as ratios to 255; each fit in a process of its own, in turns."""
    print("shape       bins     CPU time of fit   peak memory, as ratios to 255 bins")
    for shape in ("10000x20", "100000x50"):
        measured: dict[str, list[tuple[float, float]]] = {"255": [], "4096": [], "None": []}
        for _ in range(repeats):
            for max_bins, found in measured.items():
                found.append(_cost_there(f"{shape}:{max_bins}", n_trees))
        base = np.min(measured["255"], axis=0)
        for max_bins, found in measured.items():
            seconds, memory = np.min(found, axis=0) / base
            print(f"{shape:<11} {max_bins:<8} {seconds:>15.2f} {memory:>13.2f}", flush=True)


def _rare(n_rows: int, quantile: float) -> tuple[Floats, NDArray[np.int64], Floats, NDArray[np.bool_]]:
    rng = np.random.default_rng(int(quantile * 10_000))
    X = rng.normal(size=(n_rows + 80_000, 10))
    y = X[:, 0] > np.quantile(X[:, 0], quantile)
    return X[:n_rows], y[:n_rows].astype(np.int64), X[n_rows:], y[n_rows:]


def _heavy(n_rows: int, seed: int) -> tuple[Floats, Floats]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, 10))
    X[:, :3] = np.exp(1.5 * X[:, :3])
    return X, X[:, :3].sum(axis=1) + X[:, 3] / 2 + 0.1 * rng.normal(size=n_rows)


def _classifiers(n_trees: int, slow_too: bool) -> dict[str, Callable[[], Any]]:
    from sklearn.ensemble import HistGradientBoostingClassifier
    from sklearn.ensemble import RandomForestClassifier as Theirs

    from hedgerow import RandomForestClassifier

    made: dict[str, Callable[[], Any]] = {
        "hedgerow": lambda: RandomForestClassifier(n_trees, n_jobs=2, random_state=0),
        "hedgerow, 4096 bins": lambda: RandomForestClassifier(n_trees, max_bins=4096, n_jobs=2, random_state=0),
        "histogram boosting": lambda: HistGradientBoostingClassifier(random_state=0),
    }
    slow = {"scikit-learn": lambda: Theirs(n_trees, n_jobs=2, random_state=0)}
    return made | (slow if slow_too else {})


def _regressors(n_trees: int, slow_too: bool) -> dict[str, Callable[[], Any]]:
    from sklearn.ensemble import HistGradientBoostingRegressor
    from sklearn.ensemble import RandomForestRegressor as Theirs

    from hedgerow import RandomForestRegressor

    made: dict[str, Callable[[], Any]] = {
        "hedgerow": lambda: RandomForestRegressor(n_trees, n_jobs=2, random_state=0),
        "hedgerow, 4096 bins": lambda: RandomForestRegressor(n_trees, max_bins=4096, n_jobs=2, random_state=0),
        "histogram boosting": lambda: HistGradientBoostingRegressor(random_state=0),
    }
    slow = {"scikit-learn": lambda: Theirs(n_trees, n_jobs=2, random_state=0)}
    return made | (slow if slow_too else {})


def _cost_there(task: str, n_trees: int) -> tuple[float, float]:
    """CPU seconds and bytes of a fit in a process of its own."""
    command = [sys.executable, "-m", "benchmarks.tails", "--cost-of", task, "--trees", str(n_trees)]
    seconds, memory = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()
    return float(seconds), float(memory)


def _cost_here(task: str, n_trees: int) -> tuple[float, int]:
    """``rowsxfeatures:bins`` -> CPU seconds and peak memory of a fit in this process, which has done nothing else."""
    import resource

    from hedgerow import RandomForestClassifier

    shape, bins = task.split(":")
    n_rows, n_features = map(int, shape.split("x"))
    split = synthetic(Shape(n_rows, n_features), seed=0)
    max_bins = None if bins == "None" else int(bins)
    begun = time.process_time()
    RandomForestClassifier(n_trees, max_bins=max_bins, n_jobs=2, random_state=0).fit(split.X, split.y)
    return time.process_time() - begun, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


if __name__ == "__main__":
    main()
