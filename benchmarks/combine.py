"""Combine: a forest and every rule -> what an opinion costs, relative to predict_proba of the same forest.

python -m benchmarks.combine [--quick] [--classes 2 10] [--rules NAME ...] [--threads 2] [--json FILE]
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from copy import deepcopy
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from benchmarks import show
from benchmarks.data import Shape, synthetic
from benchmarks.measure import Timing, in_turns, quiet, reset_peak, status
from hedgerow import Opinion, RandomForestClassifier, combine
from hedgerow.forest.cache import Cache
from hedgerow.forest.fold import finish_rows
from hedgerow.inference.evidence import Evidence
from hedgerow.rules import Rule, Setting, all_rules

Array = NDArray[Any]
BATCH_TARGET, ONE_ROW_TARGET = 1.3, 2.0
GROWTH_TARGET = 1.0
"""Bytes a row and tree may add to the peak; the leaves reached alone would be four."""
FEATURES = 20
PEAK_RULES = ("average", "interval_conjunction", "median")
"""Rules whose memory is measured: the usual one, one with wide states that can still be kept, one that is no fold."""
PEAK_TREES, PEAK_ROWS = (50, 200), (10_000, 100_000)
AGREE = 1e-9
"""How far the forest and NumPy may differ: the order of the sums, and Dempster's products of 100 leaves."""


@dataclass(frozen=True)
class FoldPlan:
    """How much to measure."""

    classes: tuple[int, ...]
    rows: int
    trees: int
    fitted: int
    repeats: int
    spend: float
    numpy_rows: int
    one_row_calls: int
    threads: int
    seed: int
    rules: tuple[str, ...] | None
    memory: bool


@dataclass(frozen=True)
class Cost:
    """What one rule costs: times as ratios to predict_proba measured in the same rounds."""

    rule: str
    merge: str
    width: int
    """Numbers in a leaf's state."""
    batch: float
    """From X to opinion, states known."""
    encode: float
    fold: float
    finish: float
    """Where the batch goes: X to codes, codes to merged states (the rest), merged states to opinion."""
    learn: float | None
    """Lifting the states, once; None where the rule is no fold."""
    one_row: float
    one_row_unknown: float
    """One row's opinion over its predict_proba, in a forest that knows the states and in one that does not."""
    numpy: float
    """The plain NumPy version on counts that are already there, scaled to all rows."""
    seconds: float
    """Of predict_proba: the least of these rounds."""
    unrest: float
    """Median over least time of predict_proba: above 1.3 something else used the cores."""
    apart: float
    """Largest difference of a probability to the NumPy version's."""

    @property
    def is_fold(self) -> bool:
        """Whether states are merged leaf by leaf; the others stack the states of a block of rows."""
        return self.merge != "stack"


@dataclass(frozen=True)
class Peak:
    """Most memory a combine of so many rows took, beyond what was there before it."""

    rule: str
    classes: int
    trees: int
    rows: int
    known: bool
    """Whether the states were known."""
    bytes: int
    opinion: int
    """Bytes of the result itself."""


def main(arguments: list[str] | None = None) -> int:
    """Measure, print; 1 where forest and NumPy disagree. A missed target is no error."""
    options = _options(arguments)
    if options.peak:
        print(json.dumps([asdict(one) for one in _peaks_here(**json.loads(options.peak))]))
        return 0
    quiet()
    plan, start = _plan(options), time.monotonic()
    costs = {classes: _costs(classes, plan) for classes in plan.classes}
    peaks = [one for classes in plan.classes for one in _peaks(classes, plan)] if plan.memory else []
    _print(costs, peaks, plan, time.monotonic() - start)
    if options.json:
        rows = {str(classes): [asdict(one) for one in found] for classes, found in costs.items()}
        record = {"plan": asdict(plan), "costs": rows, "peaks": [asdict(one) for one in peaks]}
        Path(options.json).write_text(json.dumps(record, indent=1) + "\n")
    return int(any(one.apart > AGREE for found in costs.values() for one in found))


def _costs(classes: int, plan: FoldPlan) -> list[Cost]:
    """Every rule on one forest."""
    forest, X = _fitted(classes, plan.trees, plan.fitted, plan.rows, plan.threads, plan.seed)
    unlifted = deepcopy(forest)
    forest.predict_proba(X)
    counts = forest.evidence(X[: plan.numpy_rows]).counts
    found = []
    for rule in _rules(plan):
        show.progress(f"{classes} classes, {rule.name}")
        found.append(_cost(rule, forest, unlifted, X, counts, plan))
    return found


def _cost(
    rule: Rule,
    forest: RandomForestClassifier,
    unlifted: RandomForestClassifier,
    X: Array,
    counts: Array,
    plan: FoldPlan,
) -> Cost:
    """One rule: a cold call, then warm ones in turns with predict_proba; what keeps no states is timed cold."""
    evidence, is_fold = forest.evidence(X), rule.merge != "stack"
    start = time.perf_counter()
    opinion = evidence.combine(rule)  # the forest keeps the states of the rule before: these are new to it
    cold = time.perf_counter() - start
    calls: dict[str, Callable[[], Any]] = {
        "predict": lambda: forest.predict_proba(X),
        "encode": lambda: forest.evidence(X),
    }
    state, setting = _merged(rule, evidence if is_fold else forest.evidence(X[:10]))
    if is_fold:
        calls["combine"] = lambda: forest.evidence(X).combine(rule)
        calls["finish"] = lambda: finish_rows(rule, state, setting, plan.threads)
    timings = _in_turns(calls, plan.repeats, plan.spend if is_fold else 0.0)
    best = {name: timing.best or np.nan for name, timing in timings.items()}
    plain, in_numpy = _in_numpy(rule, counts, evidence.prior, plan.spend)
    predict, encode, finish = best["predict"], best["encode"], best.get("finish", np.nan)
    batch = best.get("combine", cold + encode)
    calls_each = plan.one_row_calls if is_fold else 10
    return Cost(
        rule=rule.name,
        merge=rule.merge,
        width=state.shape[-1] // (2 if rule.merge == "both" else 1),
        batch=batch / predict,
        encode=encode / predict,
        fold=(batch - encode - finish) / predict,
        finish=finish / predict,
        learn=max(0.0, cold - (batch - encode)) / predict if is_fold else None,
        one_row=_one_row(rule, forest, X, calls_each),
        one_row_unknown=_one_row(rule, unlifted, X, calls_each),
        numpy=in_numpy * len(X) / len(counts) / predict,
        seconds=predict,
        unrest=median(timings["predict"].seconds) / predict,
        apart=float(np.abs(plain.probability - opinion.probability[: len(counts)]).max()),
    )


def _merged(rule: Rule, evidence: Evidence) -> tuple[Array, Setting]:
    """What the rule's finish is given: merged states (or a stack of them), and the setting."""
    blocks: list[Array] = []
    settings: list[Setting] = []
    spy = clone(rule)

    def finish(state: Array, setting: Setting) -> Opinion:
        blocks.append(state)
        settings.append(setting)
        return rule.finish(state, setting)

    spy.finish = finish
    evidence.combine(spy)
    return np.concatenate(blocks), settings[0]


def _one_row(rule: Rule, forest: RandomForestClassifier, X: Array, calls: int) -> float:
    """Least time of one row's opinion over that of its predict_proba, in turns over many rows."""
    predict, judge = [], []
    for i in range(calls):
        row = X[i : i + 1]
        predict.append(_seconds(lambda row=row: forest.predict_proba(row)))
        judge.append(_seconds(lambda row=row: forest.evidence(row).combine(rule)))
    return min(judge) / min(predict)


def _in_numpy(rule: Rule, counts: Array, prior: Array, spend: float) -> tuple[Opinion, float]:
    """Counts (n, T, K) -> the opinion of the plain NumPy version, and its least seconds of one or two calls."""
    start = time.perf_counter()
    opinion = combine(counts, rule, prior=prior)
    took = time.perf_counter() - start
    if took < spend:
        took = min(took, _seconds(lambda: combine(counts, rule, prior=prior)))
    return opinion, took


def _in_turns(calls: dict[str, Callable[[], Any]], repeats: int, spend: float) -> dict[str, Timing]:
    """Each call timed in turn, A B C A B C ..."""
    timed = {name: (lambda call=call: _seconds(call)) for name, call in calls.items()}
    return in_turns(timed, repeats, spend=spend)


def _seconds(call: Callable[[], Any]) -> float:
    """How long a call takes, its result let go outside the clock."""
    start = time.perf_counter()
    result = call()
    took = time.perf_counter() - start
    del result
    return took


def _fitted(
    classes: int, trees: int, fitted: int, rows: int, threads: int, seed: int
) -> tuple[RandomForestClassifier, Array]:
    """A forest of synthetic data, and fresh rows."""
    split = synthetic(Shape(max(rows, fitted), FEATURES, classes), seed)
    forest = RandomForestClassifier(trees, calibration=None, n_jobs=threads, random_state=seed)
    return forest.fit(split.X[:fitted], split.y[:fitted]), split.X_fresh[:rows]


def _rules(plan: FoldPlan) -> Iterator[Rule]:
    """The default of every rule that needs no learned weights, folds first."""
    defaults: dict[str, Rule] = {}
    for rule in all_rules():
        if not rule.needs_weights and (plan.rules is None or rule.name in plan.rules):
            defaults.setdefault(rule.name, rule)
    yield from sorted(defaults.values(), key=lambda rule: rule.merge == "stack")


def _peaks(classes: int, plan: FoldPlan) -> list[Peak]:
    """Peak memory by rule, trees and rows; each forest in a process of its own."""
    found = []
    for trees in PEAK_TREES:
        show.progress(f"{classes} classes, memory with {trees} trees")
        given = {"classes": classes, "trees": trees, "fitted": plan.fitted, "threads": plan.threads, "seed": plan.seed}
        # large arrays go back to the system at once, so that a peak is not hidden in memory freed before
        env = os.environ | {"MALLOC_MMAP_THRESHOLD_": "65536", "MALLOC_TRIM_THRESHOLD_": "65536"}
        command = [sys.executable, "-m", "benchmarks.combine", "--peak", json.dumps(given)]
        answer = subprocess.run(command, env=env, check=True, stdout=subprocess.PIPE, text=True).stdout
        found += [Peak(**one) for one in json.loads(answer.splitlines()[-1])]
    return found


def _peaks_here(classes: int, trees: int, fitted: int, threads: int, seed: int) -> Iterator[Peak]:
    """In a fresh process: each rule on few and many rows, with states unknown, then known."""
    forest, X = _fitted(classes, trees, fitted, max(PEAK_ROWS), threads, seed)
    names = {rule.name: rule for rule in all_rules() if not rule.needs_weights}
    forest.evidence(X[:2000]).combine("pool")
    for rule in (names[name] for name in PEAK_RULES):
        for rows in PEAK_ROWS:
            evidence = replace(forest.evidence(X[:rows]), cache=Cache())
            for known in (False, True):
                if known and rule.merge == "stack":
                    continue
                taken, opinion = _peak_of(lambda evidence=evidence, rule=rule: evidence.combine(rule))
                yield Peak(rule.name, classes, trees, rows, known, taken, opinion)


def _peak_of(call: Callable[[], Opinion]) -> tuple[int, int]:
    """Most resident bytes during a call beyond those right before it, and the bytes of its result."""
    gc.collect()
    if not reset_peak():
        return 0, 0
    before = status("VmRSS") or 0
    opinion = call()
    taken = max(0, (status("VmHWM") or 0) - before)
    return taken, sum(value.nbytes for value in vars(opinion).values() if value is not None)


def _print(costs: dict[int, list[Cost]], peaks: list[Peak], plan: FoldPlan, took: float) -> None:
    """One table per number of classes, one of memory, and the verdicts."""
    out = show.console()
    out.print(f"\nEvery rule beside predict_proba: run of {took:.0f} s, {plan.threads} threads.", highlight=False)
    out.print(
        f"{plan.rows:,} rows × {plan.trees} trees, fitted on {plan.fitted:,} rows × {FEATURES} features; NumPy on "
        f"{plan.numpy_rows:,} rows, scaled to all.",
        highlight=False,
    )
    for classes, found in costs.items():
        out.print(_cost_table(classes, found))
        out.print("\n".join(_cost_verdicts(classes, found)), highlight=False, soft_wrap=True)
    if peaks:
        out.print(_peak_table(peaks))
        out.print("\n".join(_peak_verdicts(peaks)), highlight=False, soft_wrap=True)


def _cost_table(classes: int, found: list[Cost]) -> Any:
    """Rows: rules. Columns: ratios to predict_proba of the same forest."""
    grid = show.ruled(f"{classes} classes: time relative to predict_proba of the same rows, or of one row")
    for column in ("rule", "merge"):
        grid.add_column(column)
    for column in (
        "width", "batch", "verdict", "encode", "fold", "finish", "learn once", "one row", "verdict", "unlifted",
        "NumPy",
    ):  # fmt: skip
        grid.add_column(column, justify="right")
    for last, one in zip([None, *found], found, strict=False):
        if last is not None and last.is_fold and not one.is_fold:
            grid.add_section()
        parts = (_cell(one.encode), _cell(one.fold), _cell(one.finish), _cell(one.learn))
        batch = (f"{one.batch:.2f}", show.verdict(one.batch <= BATCH_TARGET if one.is_fold else None))
        single = (f"{one.one_row:.2f}", show.verdict(one.one_row <= ONE_ROW_TARGET if one.is_fold else None))
        merge = one.merge if one.is_fold else "stacked"
        grid.add_row(
            one.rule, merge, str(one.width), *batch, *parts, *single, _cell(one.one_row_unknown), _cell(one.numpy)
        )
    return grid


def _cost_verdicts(classes: int, found: list[Cost]) -> list[str]:
    """Targets, met or missed, and what to doubt."""
    folds = [one for one in found if one.is_fold]
    lines = []
    for title, target, values in (
        ("batch, states known", BATCH_TARGET, [one.batch for one in folds]),
        ("one row, states known", ONE_ROW_TARGET, [one.one_row for one in folds]),
        ("one row, states not known", ONE_ROW_TARGET, [one.one_row_unknown for one in folds]),
    ):
        if values:
            met = sum(value <= target for value in values)
            lines.append(
                f"{classes} classes, {title}: at most {target:g} × predict_proba for {met} of {len(values)} folds, "
                f"median {median(values):.2f}, largest {max(values):.2f}: {show.verdict(met == len(values))}"
            )
    base, encode = min(one.seconds for one in found), median(one.encode for one in found)
    lines.append(f"predict_proba took {base * 1e3:.0f} ms at best, {100 * encode:.0f} % of it to encode the rows")
    if noisy := [one.rule for one in found if one.unrest > show.NOISY and one.is_fold]:
        lines.append(f"noisy (predict_proba's median above {show.NOISY} times its best): {', '.join(noisy)}")
    for one in found:
        if one.apart > AGREE:
            lines.append(f"error: {one.rule}: the forest and NumPy differ by {one.apart:.1e}")
    return lines


def _peak_table(peaks: list[Peak]) -> Any:
    """Rows: rules. Columns: peaks by trees and rows, and what rows × trees × classes would be."""
    sizes = [(trees, rows) for trees in PEAK_TREES for rows in PEAK_ROWS]
    grid = show.ruled("Peak memory of a combine of trees × rows, beyond forest and codes, in MB; bytes a row and tree")
    for column in ("rule", "states", "classes"):
        grid.add_column(column, justify="right" if column == "classes" else "left")
    for trees, rows in sizes:
        grid.add_column(f"{trees} × {rows // 1000}k", justify="right")
    grid.add_column("a row and tree", justify="right")
    for rule, known, classes in dict.fromkeys((one.rule, one.known, one.classes) for one in peaks):
        cells = {(p.trees, p.rows): p for p in peaks if (p.rule, p.known, p.classes) == (rule, known, classes)}
        stacked = rule not in {p.rule for p in peaks if p.known}
        state = "stacked" if stacked else "known" if known else "lifted"
        slope = show.DASH if state == "lifted" else f"{_slope({size: p.bytes for size, p in cells.items()}):+.2f}"
        grid.add_row(rule, state, str(classes), *(f"{cells[size].bytes / 1e6:.1f}" for size in sizes), slope)
    grid.add_section()
    for classes in dict.fromkeys(one.classes for one in peaks):
        opinion = {(p.trees, p.rows): p.opinion for p in peaks if (p.rule, p.classes) == ("average", classes)}
        grid.add_row("average's opinion", "", str(classes), *(f"{opinion[size] / 1e6:.1f}" for size in sizes), "0")
        table = (trees * rows * classes * 8 for trees, rows in sizes)
        grid.add_row("rows × trees × classes", "", str(classes), *(f"{b / 1e6:.0f}" for b in table), f"{8 * classes}")
    return grid


def _peak_verdicts(peaks: list[Peak]) -> list[str]:
    """Whether memory grows with rows × trees, where states are known or stacked.

    A call that lifts the states first has two peaks, one that grows with leaves and one that grows with rows; it
    shows the larger, from which nothing follows for the product.
    """
    if not any(one.bytes for one in peaks):
        return ["memory: this system does not let a process reset its peak (/proc/self/clear_refs), not measured"]
    folds = {one.rule for one in peaks if one.known}
    slopes = []
    for rule, classes in dict.fromkeys((one.rule, one.classes) for one in peaks):
        of = [one for one in peaks if (one.rule, one.classes, one.known) == (rule, classes, rule in folds)]
        slopes.append(_slope({(one.trees, one.rows): one.bytes for one in of}))
    return [
        f"memory, states known or stacked: at most {max(slopes):.2f} bytes a row and tree, target {GROWTH_TARGET:g}: "
        f"{show.verdict(max(slopes) <= GROWTH_TARGET)}"
    ]


def _slope(peak: dict[tuple[int, int], int]) -> float:
    """Peaks by (trees, rows) -> bytes that a row and a tree take together: what is in neither alone.

    >>> _slope({(50, 10_000): 5, (50, 100_000): 9, (200, 10_000): 7, (200, 100_000): 11})
    0.0
    """
    (few, many), (short, long) = PEAK_TREES, PEAK_ROWS
    together = peak[many, long] - peak[many, short] - peak[few, long] + peak[few, short]
    return together / ((many - few) * (long - short))


def _cell(value: float | None) -> str:
    """A ratio, or a dash where there is none."""
    return show.DASH if value is None or np.isnan(value) else f"{value:.2f}" if value < 10 else f"{value:.0f}"


def _plan(options: argparse.Namespace) -> FoldPlan:
    """What the command line asks for."""
    quick = options.quick
    return FoldPlan(
        classes=tuple(options.classes),
        rows=options.rows or (5_000 if quick else 100_000),
        trees=options.trees,
        fitted=options.fitted or (2_000 if quick else 20_000),
        repeats=options.repeats or (3 if quick else 5),
        spend=0.0 if quick else 1.0,
        numpy_rows=200 if quick else 5_000,
        one_row_calls=10 if quick else 100,
        threads=options.threads,
        seed=options.seed,
        rules=tuple(options.rules) if options.rules else None,
        memory=not options.no_memory and not quick,
    )


def _options(arguments: list[str] | None) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.combine", description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="5k rows, few repeats, no memory: half a minute")
    parser.add_argument("--classes", type=int, nargs="+", default=[2, 10], metavar="K")
    parser.add_argument("--rules", nargs="+", metavar="NAME", help="of hedgerow.belief.rule_names() (else all)")
    parser.add_argument("--rows", type=int, help="to combine (100,000, quick 5,000)")
    parser.add_argument("--trees", type=int, default=100)
    parser.add_argument("--fitted", type=int, help="rows to fit (20,000, quick 2,000)")
    parser.add_argument("--repeats", type=int, help="of each timing, at least (5, quick 3)")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--no-memory", action="store_true")
    parser.add_argument("--json", metavar="FILE", help="write everything measured to a file")
    parser.add_argument("--peak", help=argparse.SUPPRESS)
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main())
