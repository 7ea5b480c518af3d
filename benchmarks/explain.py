"""Explain: a forest -> what SHAP values, importances, proximities, explained cases and reports cost.

python -m benchmarks.explain [--quick] [--only shap permutation] [--trees 100] [--threads 2] [--no-memory] [--json FILE]
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import RandomForestClassifier as SklearnForest
from sklearn.inspection import permutation_importance as sklearn_importance
from tests.reference.shap import trees_for_shap

from benchmarks import show
from benchmarks.data import Shape, Split, synthetic
from benchmarks.explain_cases import case_costs, print_case_costs
from benchmarks.measure import quiet, reset_peak, status
from hedgerow import RandomForestClassifier
from hedgerow.explain import (
    debiased_importance,
    first_use_depth,
    oob_permutation_importance,
    permutation_importance,
    shap_values,
)

Array = NDArray[Any]
FEATURES, BACKGROUND, REPEATS = 20, 100, 5
TOP = 50
"""Proximities kept of each row where memory is measured."""
OURS = "hedgerow"
SHAP_AGREE, SAME_AGREE = 1e-6, 1e-12
"""How far answers to the same question may differ: `shap` keeps part of its sums in single precision."""


@dataclass(frozen=True)
class FoldPlan:
    """How much to measure."""

    rows: int
    trees: int
    threads: int
    seed: int
    repeats: int
    patience: float
    """Seconds: what takes longer is called once."""
    shap_rows: dict[str, int]
    """Rows that hedgerow, shap and ydf explain: times are per row."""
    permuted_rows: int
    pair_rows: int
    memory_rows: int


@dataclass(frozen=True)
class Call:
    """Something to be timed: how many rows it does, and an answer to compare, where others give the same."""

    run: Callable[[], Any]
    rows: int
    answer: Callable[[Any], Array] | None = None


@dataclass(frozen=True)
class Cost:
    """One line of a table: a program's time per row over hedgerow's, measured in turns with it."""

    question: str
    program: str
    ratio: float
    seconds: float
    """Of one call."""
    rows: int
    unrest: float
    """Median over least time."""
    apart: float | None
    """Largest difference to hedgerow's answer, where both define the same number."""


@dataclass(frozen=True)
class Peak:
    """Memory and time of the proximities of many rows."""

    rows: int
    trees: int
    kept: int
    bytes: int
    result: int
    whole: float
    """Bytes of a sparse table of all pairs that meet, estimated from a sample of rows."""
    seconds: float
    fit_seconds: float


def main(arguments: list[str] | None = None) -> int:
    """Measure, print; 1 where answers that should be the same are not."""
    options = _options(arguments)
    if options.peak:
        print(json.dumps(asdict(_peak_here(**json.loads(options.peak)))))
        return 0
    quiet()
    plan, start = _plan(options), time.monotonic()
    costs, peak, cases = [], None, None
    if words := [word for word in options.only or QUESTIONS if word != "cases"]:
        split = synthetic(Shape(plan.rows, FEATURES, 2), plan.seed)
        forest = _forest(plan.trees, plan.threads, plan.seed).fit(split.X, split.y)
        for word in words:
            title, calls = QUESTIONS[word]
            show.progress(title)
            costs += _compare(title, calls(forest, split, plan), plan)
        peak = None if options.no_memory else _peak(plan)
        _print(costs, peak, plan, time.monotonic() - start)
    if not options.only or "cases" in options.only:
        show.progress("cases and reports")
        cases = case_costs(plan.memory_rows, plan.trees, plan.threads, plan.seed)
        print_case_costs(cases)
    if options.json:
        record = {"plan": asdict(plan), "costs": [asdict(cost) for cost in costs], "peak": peak and asdict(peak)}
        record["cases"] = cases and asdict(cases)
        Path(options.json).write_text(json.dumps(record, indent=1) + "\n")
    return int(any(cost.apart is not None and cost.apart > _tolerance(cost) for cost in costs))


def _shap_calls(forest: RandomForestClassifier, split: Split, plan: FoldPlan) -> dict[str, Call]:
    """The same trees for `shap`; YDF explains a forest it has grown itself."""
    X, rows = split.X_fresh, plan.shap_rows
    calls = {OURS: Call(lambda: shap_values(forest, X[: rows[OURS]]), rows[OURS], lambda found: found.values)}
    if package := _imported("shap"):
        peer = package.TreeExplainer({"trees": _for_shap(forest)})
        calls["shap"] = Call(
            lambda: peer.shap_values(X[: rows["shap"]], check_additivity=False), rows["shap"], np.asarray
        )
    if ydf := _imported("ydf"):
        model = _ydf_forest(ydf, split, plan)
        calls["ydf (its own trees)"] = Call(lambda: model.predict_shap(_ydf_table(X[: rows["ydf"]])), rows["ydf"])
    return calls


def _background_calls(forest: RandomForestClassifier, split: Split, plan: FoldPlan) -> dict[str, Call]:
    """Interventional SHAP values, the same trees and background for both."""
    X, rows, background = split.X_fresh, plan.shap_rows, split.X[:BACKGROUND]
    calls = {
        OURS: Call(
            lambda: shap_values(forest, X[: rows[OURS]], background=background), rows[OURS], lambda found: found.values
        )
    }
    if package := _imported("shap"):
        trees = {"trees": _for_shap(forest)}
        peer = package.TreeExplainer(trees, data=background, feature_perturbation="interventional")
        calls["shap"] = Call(
            lambda: peer.shap_values(X[: rows["shap"]], check_additivity=False), rows["shap"], np.asarray
        )
    return calls


def _permutation_calls(forest: RandomForestClassifier, split: Split, plan: FoldPlan) -> dict[str, Call]:
    """scikit-learn's function asks our forest, and its own."""
    n = plan.permuted_rows
    X, y = split.X_fresh[:n], split.y_fresh[:n]
    theirs = SklearnForest(plan.trees, n_jobs=plan.threads, random_state=plan.seed).fit(split.X, split.y)
    given = {"n_repeats": REPEATS, "random_state": plan.seed}
    return {
        OURS: Call(lambda: permutation_importance(forest, X, y, **given), n, lambda found: found.importances),
        "sklearn, our forest": Call(
            lambda: sklearn_importance(forest, X, y, **given), n, lambda found: found.importances
        ),
        "sklearn, its forest": Call(lambda: sklearn_importance(theirs, X, y, **given), n),
    }


def _outside_calls(forest: RandomForestClassifier, split: Split, plan: FoldPlan) -> dict[str, Call]:
    """What the bags give without another table, relative to a fit."""
    other = _forest(plan.trees, plan.threads, plan.seed)
    return {
        "hedgerow, a fit": Call(lambda: other.fit(split.X, split.y), plan.rows),
        "permutation in each tree": Call(lambda: oob_permutation_importance(forest), plan.rows),
        "debiased": Call(lambda: debiased_importance(forest), plan.rows),
        "impurity": Call(lambda: forest.feature_importances_, plan.rows),
        "depth of first use": Call(lambda: first_use_depth(forest), plan.rows),
    }


def _pair_calls(forest: RandomForestClassifier, split: Split, plan: FoldPlan) -> dict[str, Call]:
    """Sparse, dense from sparse, dense tree by tree in NumPy, and YDF's distances in its own trees."""
    X = split.X_fresh[: plan.pair_rows]
    n = len(X)
    calls = {
        OURS: Call(lambda: forest.proximity(X), n, lambda found: found.toarray()),
        f"hedgerow, top {TOP}": Call(lambda: forest.proximity(X, top=TOP), n),
        "hedgerow, made dense": Call(lambda: forest.proximity(X).toarray(), n, np.asarray),
        "NumPy, dense": Call(lambda: _dense_proximity(forest.apply(X)), n, np.asarray),
    }
    if ydf := _imported("ydf"):
        model, table = _ydf_forest(ydf, split, plan), _ydf_table(X) | {"y": split.y_fresh[:n]}
        calls["ydf (its own trees)"] = Call(lambda: model.distance(table, table), n)
    return calls


def _dense_proximity(leaves: Array) -> Array:
    """Leaves (n, T) -> (n, n), one tree after the other."""
    table = np.zeros((len(leaves), len(leaves)))
    for tree in range(leaves.shape[1]):
        table += leaves[:, tree, None] == leaves[None, :, tree]
    return table / leaves.shape[1]


#: What is compared: a word for the command line, a title, and who answers.
QUESTIONS: dict[str, tuple[str, Callable[[RandomForestClassifier, Split, FoldPlan], dict[str, Call]]]] = {
    "shap": ("SHAP, path-dependent", _shap_calls),
    "background": (f"SHAP, against {BACKGROUND} background rows", _background_calls),
    "permutation": (f"permutation importance, {REPEATS} repeats", _permutation_calls),
    "outside": ("out-of-bag importances, beside a fit", _outside_calls),
    "pairs": ("proximities of all pairs", _pair_calls),
}


def _compare(question: str, calls: dict[str, Call], plan: FoldPlan) -> list[Cost]:
    """Every call in turns; the first is the measure of the others."""
    answers: dict[str, Array] = {}
    timings: dict[str, list[float]] = {name: [] for name in calls}
    for number in range(plan.repeats):
        for name, call in calls.items():
            if number and timings[name][0] > plan.patience:
                continue
            start = time.perf_counter()
            found = call.run()
            timings[name].append(time.perf_counter() - start)
            if call.answer and not number:
                answers[name] = call.answer(found)
            del found
    first = next(iter(calls))
    base = min(timings[first]) / calls[first].rows
    costs = []
    for name, call in calls.items():
        least, apart = min(timings[name]), None
        if name != first and name in answers and first in answers:
            n = min(len(answers[name]), len(answers[first]))
            apart = float(np.abs(answers[name][:n] - answers[first][:n]).max())
        ratio = least / call.rows / base
        costs.append(Cost(question, name, ratio, least, call.rows, median(timings[name]) / least, apart))
    return costs


def _tolerance(cost: Cost) -> float:
    return SHAP_AGREE if cost.program == "shap" else SAME_AGREE


def _peak(plan: FoldPlan) -> Peak:
    """Proximities of many rows, in a process of their own."""
    show.progress(f"memory with {plan.memory_rows:,} rows")
    given = {"rows": plan.memory_rows, "trees": plan.trees, "threads": plan.threads, "seed": plan.seed}
    env = os.environ | {"MALLOC_MMAP_THRESHOLD_": "65536", "MALLOC_TRIM_THRESHOLD_": "65536"}
    command = [sys.executable, "-m", "benchmarks.explain", "--peak", json.dumps(given)]
    answer = subprocess.run(command, env=env, check=True, stdout=subprocess.PIPE, text=True).stdout
    return Peak(**json.loads(answer.splitlines()[-1]))


def _peak_here(rows: int, trees: int, threads: int, seed: int) -> Peak:
    """In a fresh process: the training rows of a forest with each other."""
    split = synthetic(Shape(rows, FEATURES, 2), seed)
    forest = _forest(trees, threads, seed)
    fit_seconds = _seconds(lambda: forest.fit(split.X, split.y))
    sample = np.random.default_rng(seed).choice(rows, 200, replace=False)
    met = forest.proximity(split.X[sample], split.X).nnz / len(sample)
    gc.collect()
    before = (status("VmRSS") or 0) if reset_peak() else 0
    start = time.perf_counter()
    found = forest.proximity(top=TOP)
    seconds = time.perf_counter() - start
    taken = max(0, (status("VmHWM") or 0) - before) if before else 0
    result = found.data.nbytes + found.indices.nbytes + found.indptr.nbytes
    return Peak(rows, trees, TOP, taken, result, met * rows * 12.0, seconds, fit_seconds)


def _print(costs: list[Cost], peak: Peak | None, plan: FoldPlan, took: float) -> None:
    """One table of ratios, one line about memory, and what to doubt."""
    out = show.console()
    out.print(f"\nExplanations side by side: run of {took:.0f} s, {plan.threads} threads.", highlight=False)
    out.print(
        f"A forest of {plan.trees} trees on {plan.rows:,} rows × {FEATURES} features, 2 classes, full depth.",
        highlight=False,
    )
    grid = show.ruled("Time per row relative to the first of each question, in turns, least of the repeats")
    for column in ("question", "program", "ratio", "rows", "apart"):
        grid.add_column(column, justify="left" if column in ("question", "program") else "right")
    asked = ""
    for cost in costs:
        if asked and cost.question != asked:
            grid.add_section()
        title, asked = cost.question if cost.question != asked else "", cost.question
        apart = show.DASH if cost.apart is None else f"{cost.apart:.0e}"
        ratio = f"{cost.ratio:.2f}" if cost.ratio < 10 else f"{cost.ratio:,.0f}"
        grid.add_row(title, cost.program, ratio, f"{cost.rows:,}", apart)
    out.print(grid)
    if peak:
        out.print(_peak_line(peak), highlight=False, soft_wrap=True)
    noisy = [f"{cost.question}: {cost.program}" for cost in costs if cost.unrest > show.NOISY]
    if noisy:
        out.print(f"noisy (median above {show.NOISY} times the least): {'; '.join(noisy)}", soft_wrap=True)
    for cost in costs:
        if cost.apart is not None and cost.apart > _tolerance(cost):
            out.print(f"error: {cost.question}: {cost.program} and hedgerow differ by {cost.apart:.1e}")


def _peak_line(peak: Peak) -> str:
    sizes = [peak.bytes, peak.result, peak.whole, peak.rows**2 * 8]
    taken, result, whole, dense = (f"{size / 1e6:,.0f} MB" for size in sizes)
    return (
        f"Memory, proximities of {peak.rows:,} training rows, {peak.trees} trees, the {peak.kept} largest of each: peak"
        f" {taken}, of which the result {result}; all pairs that meet would take about {whole}, a dense table {dense}."
        f" Time: {peak.seconds / peak.fit_seconds:.0f} fits."
    )


def _seconds(call: Callable[[], Any]) -> float:
    """How long a call takes, its result let go outside the clock."""
    start = time.perf_counter()
    result = call()
    took = time.perf_counter() - start
    del result
    return took


def _forest(trees: int, threads: int, seed: int) -> RandomForestClassifier:
    return RandomForestClassifier(trees, calibration=None, n_jobs=threads, random_state=seed)


def _for_shap(forest: RandomForestClassifier) -> list[dict[str, Any]]:
    """Our trees and the class shares of their leaves, each tree's part of the mean, as `shap` takes them."""
    shares = []
    for number in range(forest.forest_.n_trees):
        counts = forest.forest_.leaf_counts(number)
        shares.append(counts / counts.sum(axis=1, keepdims=True) / forest.forest_.n_trees)
    return trees_for_shap(forest.trees_, shares)


def _ydf_forest(ydf: Any, split: Split, plan: FoldPlan) -> Any:
    """A forest of YDF on the same rows, grown as ours: full depth, √p features a node."""
    learner = ydf.RandomForestLearner(
        label="y",
        num_trees=plan.trees,
        max_depth=-1,
        min_examples=1,
        num_candidate_attributes=int(FEATURES**0.5),
        winner_take_all=False,
        compute_oob_performances=False,
        num_threads=plan.threads,
        random_seed=plan.seed,
    )
    ydf.verbose(0)
    return learner.train(_ydf_table(split.X) | {"y": split.y})


def _ydf_table(X: Array) -> dict[str, Array]:
    return {f"x{j}": np.ascontiguousarray(X[:, j]) for j in range(X.shape[1])}


def _imported(name: str) -> Any:
    """A package, or None where it is not installed."""
    try:
        return __import__(name)
    except ImportError:
        return None


def _plan(options: argparse.Namespace) -> FoldPlan:
    """What the command line asks for."""
    quick = options.quick
    return FoldPlan(
        rows=options.rows or (2_000 if quick else 10_000),
        trees=options.trees or (20 if quick else 100),
        threads=options.threads,
        seed=options.seed,
        repeats=2 if quick else 4,
        patience=3.0,
        shap_rows={OURS: 200, "shap": 10, "ydf": 10},
        permuted_rows=2_000 if quick else 5_000,
        pair_rows=1_000 if quick else 3_000,
        memory_rows=10_000 if quick else 100_000,
    )


def _options(arguments: list[str] | None) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.explain", description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="2k rows, 20 trees, few repeats: half a minute")
    parser.add_argument("--only", nargs="+", choices=[*QUESTIONS, "cases"], help="some of the questions (else all)")
    parser.add_argument("--rows", type=int, help="to fit (10,000, quick 2,000)")
    parser.add_argument("--trees", type=int, help="(100, quick 20)")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--no-memory", action="store_true")
    parser.add_argument("--json", metavar="FILE", help="write everything measured to a file")
    parser.add_argument("--peak", help=argparse.SUPPRESS)
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main())
