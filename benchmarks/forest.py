"""Forest: shapes and forests -> tables of ratios measured side by side in one run.

python -m benchmarks.forest [--smoke | --quick | --full] [--shapes SHAPE ...] [--peers NAME ...] [--json F]
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import re
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import show
from benchmarks.data import Shape, save, synthetic
from benchmarks.measure import (
    Crew,
    FailedError,
    LeftOutError,
    Timing,
    Worker,
    in_turns,
    log_loss,
    peak_of_fit,
    say,
)
from benchmarks.peers import PEERS, missing

ALL_SHAPES = ("500x10", "10kx20", "5kx1000", "100kx50", "1Mx30", "1Mx30k7")


@dataclass(frozen=True)
class FoldPlan:
    """How much to measure: which shapes and forests, how often, and what a slow forest may take."""

    mode: str
    shapes: tuple[Shape, ...]
    forests: tuple[str, ...]
    repeats: int
    timeout: float
    slow: float = 20.0
    spend: float = 1.0
    threads: int = 2
    seed: int = 0
    dtype: str = "float32"
    memory: bool = True
    growth: Shape | None = None


@dataclass
class Result:
    """What was measured at one shape: seconds, scores and bytes by forest, and what went wrong."""

    shape: Shape
    seconds: dict[str, dict[str, Timing]] = field(default_factory=dict)
    score: dict[str, dict[str, float]] = field(default_factory=dict)
    against: dict[str, dict[str, float]] = field(default_factory=dict)
    peak: dict[str, dict[str, Any]] = field(default_factory=dict)
    model: dict[str, int] = field(default_factory=dict)
    problems: dict[str, str] = field(default_factory=dict)
    once: list[str] = field(default_factory=list)

    def best(self, quantity: str) -> dict[str, float | None]:
        """The minimum of the repeats by forest."""
        return {name: timing.best for name, timing in self.seconds.get(quantity, {}).items()}


def main(arguments: list[str] | None = None) -> int:
    """Measure and print; 1 where a forest raised an error. Slow timings and absent peers are no errors."""
    options = _options(arguments)
    plan, start = _plan(options), time.monotonic()
    results: list[Result] = []
    growth: dict[str, Result] = {}
    with Crew(plan.threads) as crew:
        for shape in plan.shapes:
            results.append(measure(shape, plan, crew))
            _keep(options.json, results, growth, plan)
        for name, shape in _growth_shapes(plan.growth).items():
            growth[name] = measure(shape, _growth_plan(plan), crew)
    took = time.monotonic() - start
    _keep(options.json, results, growth, plan)
    show.forest_tables(results, plan, took)
    if growth:
        show.growth_table(growth)
    everything = [*results, *growth.values()]
    return int(any(text.startswith("error") for result in everything for text in result.problems.values()))


def measure(shape: Shape, plan: FoldPlan, crew: Crew) -> Result:
    """All quantities of all forests at one shape."""
    result = Result(shape, problems={name: why for name in plan.forests if (why := missing(PEERS[name]))})
    with tempfile.TemporaryDirectory(prefix="hedgerow-bench-") as place:
        save(synthetic(shape, plan.seed, plan.dtype), Path(place))
        installed = [name for name in plan.forests if name not in result.problems]
        workers = crew.get(installed)
        _load(workers, place, result)
        _fit(workers, plan, result)
        _predict(workers, plan, result)
        _scores(Path(place), result)
        if plan.memory:
            _peaks(Path(place), plan, result)
    return result


def _load(workers: dict[str, Worker], place: str, result: Result) -> None:
    """Data and libraries into every worker; those that cannot import theirs leave."""
    show.progress(f"{result.shape.name}: load the data and the libraries")
    for worker in workers.values():
        worker.tell("load", place)
    for name in list(workers):
        _try(workers, name, result, workers[name].answer, "load")


def _fit(workers: dict[str, Worker], plan: FoldPlan, result: Result) -> None:
    """A small fit of each to learn who is slow (and to warm up), then the fits that count, in turns."""
    shape = result.shape
    few = max(1, shape.trees // 10) if shape.rows * shape.features < 2_000_000 else 1
    expected: dict[str, float] = {}
    for name in list(workers):
        show.progress(f"{shape.name}: {few} trees of {name} to learn its pace")
        pace = _try(workers, name, result, _pace, workers[name], few, plan, shape.trees)
        if pace is not None:
            expected[name] = pace
    fastest = min(expected.values(), default=0.0)
    out = {n: s for n, s in expected.items() if s > plan.timeout and not PEERS[n].ours}
    result.once = [n for n, s in expected.items() if n not in out and s > max(1.0, plan.slow * fastest)]
    calls = {name: partial(_told, worker, "fit", shape.trees, plan) for name, worker in workers.items()}
    calls = {name: call for name, call in calls.items() if name not in out}
    timings = in_turns(calls, plan.repeats, result.once, plan.spend, problems=result.problems)
    result.seconds["fit"] = timings | {n: Timing([s], estimated=True, done=True) for n, s in out.items()}
    for name, seconds in out.items():
        result.problems[name] = f"left out: some {seconds:.0f} s expected from {few} trees (shown as ~)"
    for name in set(workers) & set(result.problems):
        workers.pop(name)


def _predict(workers: dict[str, Worker], plan: FoldPlan, result: Result) -> None:
    """Fresh rows, and one row, in turns; then the size of each model."""
    for quantity, repeats, spend in (("predict", max(3, plan.repeats), plan.spend / 2), ("one_row", 3, 0.0)):
        calls = {name: partial(_told, worker, quantity, None, plan) for name, worker in workers.items()}
        if quantity == "one_row" and "sklearn" in workers:
            calls["sklearn, 1 thread"] = partial(_told, workers["sklearn"], quantity, 1, plan)
        result.seconds[quantity] = in_turns(calls, repeats, (), spend, problems=result.problems)
    for name in list(workers):
        size = _try(workers, name, result, workers[name].ask, "size", timeout=plan.timeout)
        if size is not None:
            result.model[name] = size


def _scores(place: Path, result: Result) -> None:
    """Accuracy and log-loss on the fresh rows, and the paired difference of ours to the fastest peer."""
    y, right, loss = np.load(place / "y_fresh.npy"), {}, {}
    for name in result.seconds["predict"]:
        file = place / f"probability-{name}.npy"
        if file.is_file():
            probability = np.load(file)
            right[name] = (probability.argmax(axis=1) == y).astype(np.float64)
            loss[name] = log_loss(probability, y, clip_of(result.shape))
    for quantity, rows in (("accuracy", right), ("log-loss", loss)):
        result.score[quantity] = {name: float(values.mean()) for name, values in rows.items()}
        fastest = show.fastest(result)
        if "hedgerow" in rows and fastest in rows:
            gap = rows["hedgerow"] - rows[fastest]
            error = float(gap.std(ddof=1) / np.sqrt(len(gap)))
            result.against[quantity] = {"difference": float(gap.mean()), "error": error}


def _peaks(place: Path, plan: FoldPlan, result: Result) -> None:
    """Peak memory of one fit of each, in a fresh process; forests that were run only once are spared
    and a smoke run looks at hedgerow and scikit-learn alone."""
    for name, timing in result.seconds["fit"].items():
        if plan.mode == "smoke" and name not in ("hedgerow", "sklearn"):
            continue
        if timing.estimated or timing.best is None or name in result.once:
            continue
        show.progress(f"{result.shape.name}: peak memory of {name}")
        try:
            result.peak[name] = peak_of_fit(name, place, plan.threads, result.shape.trees, 4 * plan.timeout)
        except (LeftOutError, FailedError) as reason:
            result.problems[name] = f"{say(reason)} (peak memory)"


def clip_of(shape: Shape) -> float:
    """Where shares are clipped before the log: half a tree's vote."""
    return 0.5 / shape.trees


def parse_shape(text: str, trees: int | None = None) -> Shape:
    """``10kx20`` or ``1Mx30k7`` -> Shape; 100 trees, 10 from a million rows on, unless told otherwise.

    >>> parse_shape("1Mx30k7")
    Shape(rows=1000000, features=30, classes=7, trees=10)
    """
    found = re.fullmatch(r"(\d+)([kM]?)x(\d+)(?:k(\d+))?", text)
    if not found:
        raise argparse.ArgumentTypeError(f"a shape must look like 10kx20 or 1Mx30k7, got {text!r}")
    rows = int(found[1]) * {"": 1, "k": 1_000, "M": 1_000_000}[found[2]]
    return Shape(rows, int(found[3]), int(found[4] or 2), trees or (10 if rows >= 1_000_000 else 100))


def _told(worker: Worker, request: str, argument: int | None, plan: FoldPlan) -> float:
    """Seconds a worker reports for a request."""
    show.progress(f"{request} {worker.name}")
    return worker.ask(request, *(() if argument is None else (argument,)), timeout=2 * plan.timeout)


def _pace(worker: Worker, few: int, plan: FoldPlan, trees: int) -> float:
    """Seconds to expect of a fit of all trees, from a fit of a few, or two where it looks long."""
    first = worker.ask("fit", few, timeout=plan.timeout)
    if first * trees / few <= plan.timeout or first > plan.timeout / 4:
        return first * trees / few
    second = worker.ask("fit", 2 * few, timeout=plan.timeout)
    return second + max(0.0, second - first) * (trees / few - 2)


def _try(
    workers: dict[str, Worker], name: str, result: Result, call: Callable[..., Any], *args: Any, **how: Any
) -> Any:
    """Call something of a worker; when it cannot answer, note why and go on without it."""
    try:
        return call(*args, **how)
    except (LeftOutError, FailedError) as reason:
        result.problems[name] = say(reason)
        workers.pop(name)
        return None


def _growth_shapes(base: Shape | None) -> dict[str, Shape]:
    """The base and what becomes of it when one thing is ten times as large."""
    if base is None:
        return {}
    rows, features, classes, trees = base.rows, base.features, base.classes, base.trees
    return {
        "base": base,
        "rows": Shape(rows * 10, features, classes, trees),
        "features": Shape(rows, features * 10, classes, trees),
        "classes": Shape(rows, features, classes * 10, trees),
        "trees": Shape(rows, features, classes, trees * 10),
    }


def _growth_plan(plan: FoldPlan) -> FoldPlan:
    """Growth looks at hedgerow, with scikit-learn beside it."""
    kept = tuple(name for name in plan.forests if name in ("hedgerow", "sklearn"))
    return replace(plan, forests=kept, memory=False, growth=None)


def _plan(options: argparse.Namespace) -> FoldPlan:
    """Options -> plan: each mode's shapes, repeats and patience, and whatever was said explicitly."""
    mode = "smoke" if options.smoke else "full" if options.full else "quick"
    names, repeats, timeout, spend, base = {
        "smoke": (ALL_SHAPES[:2], 2, 4.0, 0.2, Shape(500, 5, 2, 5)),
        "quick": (ALL_SHAPES[:5], 2, 120.0, 1.0, Shape(10_000, 20, 2, 20)),
        "full": (ALL_SHAPES, 3, 900.0, 2.0, Shape(100_000, 20, 2, 20)),
    }[mode]
    trees = options.trees or (20 if mode == "smoke" else None)
    return FoldPlan(
        mode,
        tuple(parse_shape(text, trees) for text in options.shapes or names),
        tuple(name for name in PEERS if not options.peers or name in options.peers),
        repeats=options.repeats or repeats,
        timeout=options.timeout or timeout,
        spend=spend,
        threads=options.threads,
        seed=options.seed,
        dtype=options.dtype,
        memory=not options.no_memory,
        growth=None if options.no_growth else base,
    )


def _options(arguments: list[str] | None) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.forest", description=__doc__.splitlines()[0])
    mode = parser.add_mutually_exclusive_group()
    mode.add_argument("--smoke", action="store_true", help="under a minute: 500x10 and 10kx20, few trees")
    mode.add_argument("--quick", action="store_true", help="up to 1Mx30, two repeats (the default)")
    mode.add_argument("--full", action="store_true", help="all six shapes, three repeats, patient with slow peers")
    parser.add_argument("--shapes", nargs="+", metavar="SHAPE", help=f"of {', '.join(ALL_SHAPES)}, or any alike")
    parser.add_argument("--peers", nargs="+", choices=list(PEERS), metavar="NAME", help=", ".join(PEERS))
    parser.add_argument("--json", metavar="FILE", help="write everything measured to a file")
    parser.add_argument("--trees", type=int, help="trees at every shape (else 100, and 10 from a million rows on)")
    parser.add_argument("--repeats", type=int, help="rounds of fits, at least")
    parser.add_argument("--timeout", type=float, help="seconds a fit may take")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--dtype", choices=("float32", "float64"), default="float32", help="of the NumPy input")
    parser.add_argument("--no-memory", action="store_true", help="leave peak memory out")
    parser.add_argument("--no-growth", action="store_true", help="leave the growth table out")
    return parser.parse_args(arguments)


def _keep(file: str | None, results: list[Result], growth: dict[str, Result], plan: FoldPlan) -> None:
    """Write what is known so far, so that an interrupted run is not lost."""
    if file:
        Path(file).write_text(json.dumps(_record(results, growth, plan), indent=1) + "\n")


def _record(results: list[Result], growth: dict[str, Result], plan: FoldPlan) -> dict[str, Any]:
    """Everything measured, as plain data."""
    versions = {name: PEERS[name].version for name in plan.forests if not missing(PEERS[name])}
    machine = {"python": platform.python_version(), "machine": platform.machine(), "cores": os.cpu_count()}
    return {
        "mode": plan.mode,
        "threads": plan.threads,
        "dtype": plan.dtype,
        "machine": machine | {"numpy": np.__version__},
        "versions": versions,
        "shapes": {result.shape.name: asdict(result) for result in results},
        "growth": {name: asdict(result) for name, result in growth.items()},
    }


if __name__ == "__main__":
    sys.exit(main())
