"""Groups: rows that belong together -> guarantees for new groups with and without groups, and the warning without them.

python -m benchmarks.groups [--question simulated numbers warning real cost] [--draws N] [--trees N] [--data DIR]

Simulated patients have six features and one label; each visit has the features with noise. Models are judged on new
patients, one visit each. `Risk` has a table with less noise in its labels, where it decides something. Real tables are
split by group: vowels by speaker, yachts by hull and concrete by mix.
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import log_loss
from sklearn.model_selection import GroupKFold

from benchmarks import show
from benchmarks.data import Shape, folder_or_none, manifest, synthetic, table
from benchmarks.measure import quiet
from hedgerow import DependentRowsWarning, RandomForestClassifier, RandomForestRegressor
from hedgerow.decisions import Coverage, Risk
from hedgerow.fit.dependence import warn_of_dependent_rows
from hedgerow.inference.fitted import fitted_of

Floats = NDArray[np.float64]
QUESTIONS = ("simulated", "numbers", "warning", "real", "cost")
SIZES: tuple[int | None, ...] = (8, 2, 4, 16, None)
"""Visits of a patient; None means 1 to 15."""
PATIENTS, NEW, NOISE = 150, 1_000, 0.15
COVERAGE, ERROR, CONFIDENCE = 0.9, 0.1, 0.95
REPEATED = {
    "airlines": "the same flights every week",
    "concrete": "mixes tested at several ages",
    "mfeat-zernike": "each nine is a six turned around",
    "phoneme": "three moments of each vowel",
    "splice": "copies of sequences",
    "vowel": "six utterances of each vowel by a speaker",
    "wine-quality-red": "copies of rows",
    "wine-quality-red-binary": "copies of rows",
    "wine-quality-white": "copies of rows",
    "yacht": "14 speeds of each hull",
}
"""Sets of the data folder whose rows are repeated, and how: warnings about them are right."""


def patients(
    n: int, seed: int, sizes: int | None, doubt: float = 1.2, within: float = 0.0
) -> tuple[Floats, NDArray[np.int64], NDArray[np.int64], Floats]:
    """-> features, labels, patients and scores of visits; `within` is the noise of labels between visits."""
    random = np.random.default_rng(seed)
    own = random.normal(size=(n, 6))
    score = own[:, 0] + own[:, 1] + doubt * random.normal(size=n)
    patient = np.repeat(np.arange(n), random.integers(1, 16, n) if sizes is None else sizes)
    scores = score[patient] + within * random.normal(size=len(patient))
    return own[patient] + NOISE * random.normal(size=(len(patient), 6)), (scores > 0).astype(int), patient, scores


def main(arguments: list[str] | None = None) -> int:
    """Ask the questions and print a table for each."""
    options = _options(arguments)
    quiet()
    for question in options.question:
        start = time.monotonic()
        {"simulated": _simulated, "numbers": _numbers, "warning": _warning, "real": _real, "cost": _cost}[question](
            options
        )
        print(
            f"({question}: {time.monotonic() - start:.0f} s, {options.draws} draws, {options.trees} trees)", flush=True
        )
    return 0


# ---- simulations ------------------------------------------------------------------------------------


def _simulated(options: Any) -> None:
    """Accuracy, coverage, risk and log-loss of classifiers for new patients."""
    grid = show.ruled("New patients, judged with (groups) and without groups; mean ± standard error")
    for column in (
        "visits",
        "groups",
        "out of bag",
        "accuracy",
        "coverage",
        "risk kept",
        "decided",
        "loss",
        "raw loss",
    ):
        grid.add_column(column, justify="left" if column in ("visits", "groups") else "right")
    cases = [*((f"{size or '1 to 15'}", size, 0.0) for size in SIZES), ("8, labels vary", 8, 1.0)]
    for name, sizes, within in cases:
        for grouped in (True, False):
            draws = range(options.draws if grouped else max(10, options.draws // 5))
            found = np.array([_judged(seed, sizes, within, grouped, options.trees) for seed in draws])
            mean, error = np.nanmean(found, axis=0), np.nanstd(found, axis=0) / len(found) ** 0.5
            grid.add_row(
                name,
                "yes" if grouped else "no",
                *(f"{value:.3f} ± {sd:.3f}" for value, sd in zip(mean[:3], error[:3], strict=True)),
                f"{np.nanmean(found[:, 3]):.1%}",
                f"{mean[4]:.1%}",
                *(f"{value:.3f}" for value in mean[5:]),
            )
    show.console().print(grid)


def _judged(seed: int, sizes: int | None, within: float, grouped: bool, trees: int) -> tuple[float, ...]:
    """One draw -> out-of-bag and new accuracy, coverage, whether the risk is kept and how much is decided, losses."""
    X, y, patient, _ = patients(PATIENTS, seed, sizes, within=within)
    new, truth, _, _ = patients(NEW, 10**6 + seed, 1, within=within)
    given = {"groups": patient if grouped else None}
    forest = RandomForestClassifier(trees, oob_score=True, decision=Coverage(COVERAGE), random_state=seed)
    forest.fit(X, y, **given)
    held = forest.predict_set(new)[np.arange(len(truth)), truth]
    probability = forest.predict_proba(new)
    raw = forest.set_params(calibration=None).predict_proba(new)
    kept, decided = _risk(seed, sizes, within, grouped, trees)
    return (
        forest.oob_score_,
        float((probability.argmax(axis=1) == truth).mean()),
        float(held.mean()),
        kept,
        decided,
        log_loss(truth, probability),
        log_loss(truth, raw),
    )


def _risk(seed: int, sizes: int | None, within: float, grouped: bool, trees: int) -> tuple[float, float]:
    """One draw of a table with clearer labels -> whether at most a tenth of the decisions is wrong, and their share."""
    X, y, patient, _ = patients(2 * PATIENTS, seed, sizes, 0.3, 0.3 * within)
    new, truth, _, _ = patients(4 * NEW, 10**6 + seed, 1, 0.3, 0.3 * within)
    forest = RandomForestClassifier(trees, decision=Risk(ERROR, CONFIDENCE), random_state=seed)
    sets = forest.fit(X, y, groups=patient if grouped else None).predict_set(new)
    decided = sets.sum(axis=1) == 1
    right = sets[np.arange(len(truth)), truth][decided]
    return float(not decided.any() or right.mean() >= 1 - ERROR), float(decided.mean())


def _numbers(options: Any) -> None:
    """Coverage of intervals and levels of novelty for new patients."""
    grid = show.ruled("Intervals of 90%, and share of new patients with a novelty p-value of at most 0.05")
    for column in ("visits", "groups", "scaled", "jackknife+", "novel"):
        grid.add_column(column, justify="left" if column in ("visits", "groups") else "right")
    for sizes in SIZES:
        for grouped in (True, False):
            draws = range(max(10, options.draws // 4) if grouped else max(5, options.draws // 20))
            found = np.array([_interval(seed, sizes, grouped, options.trees) for seed in draws])
            error = found.std(axis=0) / len(found) ** 0.5
            cells = (f"{value:.3f} ± {sd:.3f}" for value, sd in zip(found.mean(axis=0), error, strict=True))
            grid.add_row(f"{sizes or '1 to 15'}", "yes" if grouped else "no", *cells)
    show.console().print(grid)


def _interval(seed: int, sizes: int | None, grouped: bool, trees: int) -> tuple[float, ...]:
    """One draw -> coverage by both methods, and the share of novel rows."""
    X, _, patient, y = patients(PATIENTS, seed, sizes)
    new, _, _, truth = patients(NEW, 10**6 + seed, 1)
    forest = RandomForestRegressor(trees, random_state=seed).fit(X, y, groups=patient if grouped else None)
    found = []
    for method in ("scaled", "jackknife+"):
        low, high = forest.predict_interval(new, COVERAGE, method=method).T
        found.append(float(((low <= truth) & (truth <= high)).mean()))
    return (*found, float((forest.predict_novelty(new) <= 0.05).mean()))


# ---- the warning ------------------------------------------------------------------------------------


def _warns(X: Any, y: Any) -> bool:
    """Whether a fit without groups warns."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        RandomForestRegressor(1, random_state=0).fit(X, np.arange(len(X)) if y is None else y)
    return any(each.category is DependentRowsWarning for each in caught)


def _warning(options: Any) -> None:
    """How often the warning finds repeats, and which real sets raise it."""
    grid = show.ruled("Warning without groups: share of tables")
    for column in ("table", "warned"):
        grid.add_column(column, justify="left" if column == "table" else "right")
    for name, tables in _tables(options.draws):
        grid.add_row(name, f"{np.mean([_warns(X, None) for X in tables]):.1%}")
    show.console().print(grid)
    place = folder_or_none(options.data)
    if place is None:
        return
    names = list(manifest(place))
    raised = [name for name in names if _warns(table(name, place)[0], None)]
    print(f"real sets: {len(raised)} of {len(names)} raise the warning")
    for name in raised:
        print(f"  {name}: {REPEATED.get(name, 'FALSE ALARM')}")
    print(f"  false alarms: {sum(name not in REPEATED for name in raised)}")


def _tables(draws: int) -> Iterator[tuple[str, Iterator[Floats]]]:
    """Kinds of tables, and as many of each as there are draws."""
    yield "150 independent rows", (patients(PATIENTS, seed, 1)[0] for seed in range(draws))
    for sizes in SIZES:
        yield f"150 patients, {sizes or '1 to 15'} visits", (patients(PATIENTS, s, sizes)[0] for s in range(draws))
    once = [patients(500, seed, 1)[0] for seed in range(draws)]
    noise = np.random.default_rng(0)
    yield "500 rows, each three times", (np.tile(X, (3, 1)) for X in once)
    yield "500 rows, 50 of them twice", (np.concatenate([X, X[:50]]) for X in once)
    yield "500 rows, three noisy copies", (np.tile(X, (3, 1)) + 0.05 * noise.normal(size=(1500, 6)) for X in once)


# ---- real tables and cost ---------------------------------------------------------------------------


def _real(options: Any) -> None:
    """Real tables, judged by leaving whole groups out."""
    place = folder_or_none(options.data)
    if place is None:
        return
    grid = show.ruled("Real tables: out of bag, and for groups that were left out")
    for column in ("table", "groups", "out of bag", "new groups", "coverage", "loss"):
        grid.add_column(column, justify="left" if column in ("table", "groups") else "right")
    for name, (X, y, units) in _real_tables(place):
        for grouped in (True, False):
            cells = _left_out(X, y, units, grouped, options)
            grid.add_row(f"{name} ({len(np.unique(units))} groups)", "yes" if grouped else "no", *cells)
    show.console().print(grid)


def _real_tables(place: Path) -> Iterator[tuple[str, tuple[Any, Any, NDArray[Any]]]]:
    """Vowels with their speakers, yachts with their hulls, concrete with its mixes."""
    X, y = table("vowel", place)
    yield "vowel", (X.drop(columns=["Speaker Number", "Sex"]), y, X["Speaker Number"].astype(str).to_numpy())
    for name, changing in (("yacht", "froude"), ("concrete", "age")):
        X, y = table(name, place)
        units = X.drop(columns=changing).astype(str).agg("|".join, axis=1).to_numpy()
        yield name, (X, y.astype(np.float64), units)


def _left_out(X: Any, y: NDArray[Any], units: NDArray[Any], grouped: bool, options: Any) -> list[str]:
    """A table with groups -> the out-of-bag score, and score, coverage and log-loss on groups left out."""
    found = []
    for seed in range(max(1, options.draws // 40)):
        for train, test in GroupKFold(5, shuffle=True, random_state=seed).split(X, y, units):
            given = {"groups": units[train] if grouped else None}
            if y.dtype.kind == "f":
                model = RandomForestRegressor(options.trees, oob_score=True, random_state=seed)
                model.fit(X.iloc[train], y[train], **given)
                low, high = model.predict_interval(X.iloc[test], COVERAGE).T
                held = (low <= y[test]) & (y[test] <= high)
                found.append((model.oob_score_, model.score(X.iloc[test], y[test]), held.mean(), np.nan))
                continue
            model = RandomForestClassifier(
                options.trees, oob_score=True, decision=Coverage(COVERAGE), random_state=seed
            ).fit(X.iloc[train], y[train], **given)
            truth = np.searchsorted(model.classes_, y[test])
            held = model.predict_set(X.iloc[test])[np.arange(len(test)), truth]
            loss = log_loss(y[test], model.predict_proba(X.iloc[test]), labels=model.classes_)
            found.append((model.oob_score_, model.score(X.iloc[test], y[test]), held.mean(), loss))
    return ["-" if np.isnan(value) else f"{value:.3f}" for value in np.mean(found, axis=0)]


def _cost(options: Any) -> None:
    """Processor time of the warning and of groups, as shares of a fit; measured in turns."""
    for rows, features, trees in ((10_000, 20, 100), (100_000, 50, 20)):
        split, groups = synthetic(Shape(rows, features)), np.arange(rows) // 8
        fitted = fitted_of(RandomForestClassifier(1, random_state=0).fit(split.X, split.y, groups=None))
        names = [f"c{j}" for j in range(features)]
        runs = {
            "fit": partial(_fit, split, trees, "all", None),
            "warning": partial(warn_of_dependent_rows, fitted.rows.codes, fitted.bins, names),
            "distinct": partial(_fit, split, trees, "distinct", None),
            "groups": partial(_fit, split, trees, "distinct", groups),
            "leaves": partial(_fit, split, trees, "groups", groups),
        }
        times = {name: [] for name in runs}
        for _ in range(5):
            for name, run in runs.items():
                times[name].append(_seconds(run))
        best = {name: min(each) for name, each in times.items()}
        print(
            f"{rows:,} x {features}, {trees} trees: {best['fit']:.3f} s of processor time; warning"
            f" {best['warning'] / best['fit']:.1%}; groups {best['groups'] / best['distinct'] - 1:+.1%} (both with"
            f" leaf_counts='distinct'); leaf_counts='groups' {best['leaves'] / best['groups'] - 1:+.1%}"
        )


def _fit(split: Any, trees: int, leaf_counts: str, groups: Any) -> None:
    """One fit."""
    RandomForestClassifier(trees, leaf_counts=leaf_counts, random_state=0).fit(split.X, split.y, groups=groups)


def _seconds(run: Any) -> float:
    """Processor time of a call."""
    start = time.process_time()
    run()
    return time.process_time() - start


def _options(arguments: list[str] | None) -> Any:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.groups", description=__doc__.split("\n")[0])
    parser.add_argument("--question", nargs="+", choices=QUESTIONS, default=QUESTIONS)
    parser.add_argument("--draws", type=int, default=200)
    parser.add_argument("--trees", type=int, default=100)
    parser.add_argument("--data", help="folder of real data sets")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main())
