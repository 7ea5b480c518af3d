"""Regression: shapes -> what forests of numbers cost to fit and to predict, beside their peers, and their accuracy.

python -m benchmarks.regression [--shapes 500x10 10kx20 100kx50] [--features 1.0] [--peers NAME ...] [--json FILE]
python -m benchmarks.regression --coverage [--rows 100 10000] [--repeats 200]

All forests: full depth, the same share of features per node, bootstrap (63.2 % of the rows without replacement where a
library has none), one row per leaf allowed, the same trees and threads. Everything is measured in one run, in turns
(A B C A B C ...), the least of the repeats; numbers are ratios to the fastest peer. A peer whose first fit of a few
trees says that it would take longer than --patience is left out, and its cell is scaled from those trees (~).
quantile-forest keeps one row per leaf, as is its default; "quantiles" is the median and a 90 % interval of fresh rows.
"""

from __future__ import annotations

import argparse
import importlib
import json
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.data import Shape, synthetic
from benchmarks.forest import parse_shape
from benchmarks.measure import in_turns
from benchmarks.peers import DISTINCT

Array = NDArray[Any]
LEVELS = [0.05, 0.5, 0.95]


@dataclass(frozen=True)
class Task:
    """A forest to be grown: trees, threads, share of features per node, seed."""

    trees: int
    threads: int
    share: float
    seed: int = 0


@dataclass
class Regressor:
    """A fitted forest: how it predicts, and quantiles where it can."""

    predict: Callable[[Array], Array]
    quantiles: Callable[[Array], Array] | None = None


@dataclass
class Result:
    """What one shape showed."""

    shape: str
    trees: int
    fit: dict[str, float] = field(default_factory=dict)
    scaled: dict[str, float] = field(default_factory=dict)
    predict: dict[str, float] = field(default_factory=dict)
    quantiles: dict[str, float] = field(default_factory=dict)
    r2: dict[str, float] = field(default_factory=dict)


def main(arguments: list[str] | None = None) -> int:
    """Measure and print."""
    options = _options(arguments)
    if options.coverage:
        for rows in options.rows:
            _print_coverage(rows, options.repeats, options.threads)
        return 0
    results = []
    for text in options.shapes:
        shape = parse_shape(text)
        trees = options.trees or {500: 100, 10_000: 100, 100_000: 10}.get(shape.rows, 20)
        results.append(measure(shape, Task(trees, options.threads, options.features), options))
        print(_table(results[-1]), flush=True)
    if options.json:
        Path(options.json).write_text(json.dumps([vars(result) for result in results], indent=1) + "\n")
    return 0


def measure(shape: Shape, task: Task, options: argparse.Namespace) -> Result:
    """All forests on one shape, in turns."""
    X, y, fresh, truth = numbers(shape)
    result = Result(shape.name, task.trees)
    fitted: dict[str, Regressor] = {}
    calls: dict[str, Callable[[], float]] = {}
    for name, make in PEERS.items():
        if options.peers and name not in options.peers:
            continue
        few = max(1, task.trees // 10)
        pace = _timed(lambda make=make, few=few: make(Task(few, task.threads, task.share), X, y))  # type: ignore[misc]
        if pace is None:
            print(f"{name}: not installed", flush=True)
        elif pace * task.trees / few > options.patience:
            result.scaled[name] = pace * task.trees / few
        else:
            calls[name] = lambda name=name, make=make: _fit(fitted, name, make, task, X, y)  # type: ignore[misc]
    result.fit = _least(in_turns(calls, options.rounds, spend=1.0))
    result.r2 = {name: _r2(truth, model.predict(fresh)) for name, model in fitted.items()}
    asked = {name: (lambda model=model: _seconds(model.predict, fresh)) for name, model in fitted.items()}  # type: ignore[misc]
    result.predict = _least(in_turns(asked, 3, spend=0.5))
    able = {name: model.quantiles for name, model in fitted.items() if model.quantiles is not None}
    asked = {name: (lambda ask=ask: _seconds(ask, fresh[:10_000])) for name, ask in able.items()}  # type: ignore[misc]
    result.quantiles = _least(in_turns(asked, 2, spend=0.0))
    return result


def numbers(shape: Shape) -> tuple[Array, Array, Array, Array]:
    """Rows to fit and fresh rows: mixed columns, and a noisy sum of effects and two interactions of some of them."""
    split = synthetic(shape)
    X = np.concatenate([split.X, split.X_fresh])
    rng = np.random.default_rng(shape.rows)
    Z = X[:, : min(10, shape.features)].astype(np.float64)
    Z = (Z - Z.mean(axis=0)) / Z.std(axis=0)
    y = Z @ rng.normal(0, 0.8, Z.shape[1]) + np.sin(2 * Z) @ rng.normal(0, 0.8, Z.shape[1])
    y += Z[:, 0] * Z[:, 1] - 0.5 * Z[:, 2] * Z[:, 3]
    y += 0.5 * y.std() * rng.normal(size=len(y))
    return split.X, y[: shape.rows], split.X_fresh, y[shape.rows :]


def _print_coverage(rows: int, repeats: int, threads: int) -> None:
    """Training sets of `rows` rows -> share of fresh targets inside the 90 % interval, and how far it is from .9."""
    from hedgerow import RandomForestRegressor

    rng, shares = np.random.default_rng(0), []
    for repetition in range(repeats):
        X, y = _curve(rng, rows)
        forest = RandomForestRegressor(100, min_samples_leaf=5, n_jobs=threads, random_state=repetition).fit(X, y)
        fresh, target = _curve(rng, 200)
        lower, upper = forest.predict_interval(fresh, 0.9).T
        shares.append(float(np.mean((lower <= target) & (target <= upper))))
    mean, error = float(np.mean(shares)), float(np.std(shares, ddof=1) / np.sqrt(repeats))
    away = (mean - 0.9) / error
    print(
        f"coverage of 90 % intervals, {repeats} training sets of {rows:,} rows: {mean:.4f} ± {error:.4f},"
        f" {away:+.1f} standard errors from nominal: {'met' if abs(away) <= 3 else 'missed'}"
    )


def _curve(rng: np.random.Generator, n: int) -> tuple[Array, Array]:
    """A curve with noise that grows to one side."""
    X = rng.uniform(-2, 2, (n, 2))
    return X, np.sin(2 * X[:, 0]) + rng.normal(size=n) * (0.3 + 0.2 * (X[:, 0] > 0))


# ---- forests ------------------------------------------------------------------------------------------------


def _scikit(module: str, **more: Any) -> Callable[[Task, Array, Array], Regressor]:
    """Any forest with scikit-learn's parameters."""

    def make(task: Task, X: Array, y: Array) -> Regressor:
        model = importlib.import_module(module).RandomForestRegressor(
            n_estimators=task.trees, max_features=task.share, n_jobs=task.threads, random_state=task.seed, **more
        )
        model.fit(X, y)
        ask = getattr(model, "predict_quantiles", None)
        return Regressor(model.predict, None if ask is None else lambda fresh: ask(fresh, LEVELS))

    return make


def _quantile_forest(task: Task, X: Array, y: Array) -> Regressor:
    kind = importlib.import_module("quantile_forest").RandomForestQuantileRegressor
    model = kind(task.trees, max_features=task.share, n_jobs=task.threads, random_state=task.seed).fit(X, y)
    return Regressor(lambda fresh: model.predict(fresh, "mean"), lambda fresh: model.predict(fresh, LEVELS))


def _lightgbm(task: Task, X: Array, y: Array) -> Regressor:
    lightgbm = importlib.import_module("lightgbm")
    params = {
        "objective": "regression",
        "boosting": "rf",
        "num_leaves": max(2, min(int(len(X) * DISTINCT) + 1, 131_072)),
        "min_data_in_leaf": 1,
        "min_data_in_bin": 1,
        "min_sum_hessian_in_leaf": 0.0,
        "bagging_fraction": DISTINCT,
        "bagging_freq": 1,
        "feature_fraction_bynode": task.share,
        "histogram_pool_size": 512,
        "num_threads": task.threads,
        "seed": task.seed,
        "verbose": -1,
    }
    model = lightgbm.train(params, lightgbm.Dataset(X, y, params=params), task.trees)
    return Regressor(lambda fresh: model.predict(fresh, num_threads=task.threads))


def _ydf(task: Task, X: Array, y: Array) -> Regressor:
    ydf = importlib.import_module("ydf")
    ydf.verbose(0)
    learner = ydf.RandomForestLearner(
        label="y",
        task=ydf.Task.REGRESSION,
        num_trees=task.trees,
        max_depth=-1,
        min_examples=1,
        num_candidate_attributes_ratio=task.share,
        winner_take_all=False,
        compute_oob_performances=False,
        num_threads=task.threads,
        random_seed=task.seed,
    )
    model = learner.train({"X": X, "y": y})
    return Regressor(lambda fresh: model.predict({"X": fresh}))


PEERS: dict[str, Callable[[Task, Array, Array], Regressor]] = {
    "hedgerow": _scikit("hedgerow"),
    "intelex": _scikit("sklearnex.ensemble"),
    "sklearn": _scikit("sklearn.ensemble"),
    "quantile-forest": _quantile_forest,
    "lightgbm": _lightgbm,
    "ydf": _ydf,
}


# ---- measuring and printing ---------------------------------------------------------------------------------


def _fit(fitted: dict[str, Regressor], name: str, make: Any, task: Task, X: Array, y: Array) -> float:
    start = time.perf_counter()
    fitted[name] = make(task, X, y)
    return time.perf_counter() - start


def _timed(call: Callable[[], Any]) -> float | None:
    """Seconds of a call after a first one that warms up; None where a library is not installed."""
    try:
        call()
    except ImportError:
        return None
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def _seconds(call: Callable[[Array], Any], X: Array) -> float:
    start = time.perf_counter()
    call(X)
    return time.perf_counter() - start


def _least(timings: dict[str, Any]) -> dict[str, float]:
    return {name: timing.best for name, timing in timings.items() if timing.best is not None}


def _r2(truth: Array, predicted: Array) -> float:
    return float(1 - np.mean((truth - predicted) ** 2) / np.var(truth))


def _table(result: Result) -> str:
    """One line per forest: ratios to the fastest peer, and R² of fresh rows."""

    def ratio(values: dict[str, float], name: str) -> str:
        peers = [value for key, value in values.items() if key != "hedgerow"]
        if name in values and peers:
            return f"{values[name] / min(peers):.2f}"
        return f"~{result.scaled[name] / min(peers):.1f}" if values is result.fit and name in result.scaled else "-"

    lines = [f"{result.shape}, {result.trees} trees", f"{'':16}{'fit':>8}{'predict':>9}{'quantiles':>11}{'R²':>8}"]
    for name in [*result.fit, *result.scaled]:
        score = f"{result.r2[name]:.3f}" if name in result.r2 else "-"
        cells = [ratio(values, name) for values in (result.fit, result.predict, result.quantiles)]
        lines.append(f"{name:16}{cells[0]:>8}{cells[1]:>9}{cells[2]:>11}{score:>8}")
    return "\n".join(lines) + "\n"


def _options(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.regression", description=__doc__.splitlines()[0])
    parser.add_argument("--shapes", nargs="+", default=["500x10", "10kx20", "100kx50"], metavar="SHAPE")
    parser.add_argument("--features", type=float, default=1.0, help="share of features per node")
    parser.add_argument("--peers", nargs="+", choices=list(PEERS), metavar="NAME", help=", ".join(PEERS))
    parser.add_argument("--trees", type=int, help="else 100, and 10 at 100k rows")
    parser.add_argument("--rounds", type=int, default=2, help="rounds of fits, at least")
    parser.add_argument("--patience", type=float, default=60.0, help="seconds a fit may take")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--json", metavar="FILE", help="write everything measured to a file")
    parser.add_argument("--coverage", action="store_true", help="coverage of intervals instead of speed")
    parser.add_argument("--rows", type=int, nargs="+", default=[100, 10_000])
    parser.add_argument("--repeats", type=int, default=200)
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main())
