"""Novelty on real tables: rows of a class missing from training, spoiled rows, and the cost of abstention.

python -m benchmarks.strangers [--data DIR] [--sets NAME ...] [--trees 150] [--most-rows 1500] [--classes 4]
                               [--threads 1] [--json FILE]
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from benchmarks import show
from benchmarks.data import DataNotFoundError, folder, table
from benchmarks.measure import quiet
from benchmarks.record import record, with_error
from hedgerow import RandomForestClassifier
from hedgerow.metrics import u65, u80

Floats = NDArray[np.float64]

#: Details of the score were chosen on these.
CHOSEN_ON = ("glass", "vehicle-silhouettes", "yeast", "ecoli", "wine", "balance-scale")
#: These chose nothing.
OTHERS = ("segment", "pendigits", "satimage", "optdigits", "cardiotocography", "mfeat-zernike")
#: Sets with nominal columns, for values, categories and gaps that do not belong there.
NOMINAL = ("credit-german", "hepatitis", "credit-australian", "soybean")
LEVELS = (0.01, 0.05, 0.10)
SHIFTS = ("one value 10 sd off", "one value 5 sd off", "new category", "blank row")
NEIGHBOURS, TREES = 5, 150
#: The level of ``novelty`` whose cost on ordinary rows is measured.
ABSTENTION = 0.01


@dataclass(frozen=True)
class Found:
    """One set: means over the classes that were left out."""

    set: str
    auroc: dict[str, float]
    """Of rows of a class never seen against ordinary rows, by score."""
    level: dict[str, float]
    """Share of ordinary rows whose p-value is at most the level."""
    caught: dict[str, float]
    """Share of rows with p <= 0.05, by the kind of novelty; without the kinds for which the set has no column."""
    cost: dict[str, float]
    """Of ordinary rows under ``novelty``: the share that becomes undecided, and the loss of u65 and u80."""


def main(arguments: list[str] | None = None) -> int:
    """Judge every set and print three tables."""
    ask(arguments)
    return 0


def ask(arguments: list[str] | None = None) -> list[Found]:
    """Judge every set, print three tables -> what was found."""
    options = _options(arguments)
    quiet()
    found, start = [], time.monotonic()
    for name in options.sets or (*CHOSEN_ON, *OTHERS, *NOMINAL):
        try:
            found.append(judge(name, *table(name, folder(options.data)), options))
        except DataNotFoundError as reason:
            print(f"{name} skipped: {reason}")
            continue
        show.progress(f"{name}: {time.monotonic() - start:.1f} s")
    if found:
        _print(found, options, time.monotonic() - start)
    if options.record:
        trees = "" if options.trees == TREES else f", {options.trees} trees"
        record(f"novelty{trees}", _figures(found), "benchmarks.strangers", sys.argv[1:])
        costs = {name: with_error([one.cost[name] for one in found]) for name in found[0].cost}
        record(f"novelty, abstention{trees}", costs, "benchmarks.strangers", sys.argv[1:], f"{len(found)} sets")
    if options.json:
        Path(options.json).write_text(json.dumps([asdict(one) for one in found], indent=1) + "\n")
    return found


def sentences(found: list[Found]) -> list[str]:
    """What the tables say, for the verdict of `benchmarks.doubt`: means over sets."""
    said = []
    auroc = _mean([one.auroc for one in found if one.auroc])
    if auroc:
        ours = auroc.pop("hulls")
        best = max(auroc, key=lambda name: auroc[name])
        said.append(f"AUROC of unseen classes {ours:.3f}, best peer {best} {auroc[best]:.3f}")
    levels = _mean([one.level for one in found])
    said += [f"ordinary rows with p <= {level}: {share:.3f}" for level, share in levels.items()]
    return said


def judge(name: str, X: pd.DataFrame, y: NDArray[Any], options: argparse.Namespace) -> Found:
    """One set: a forest for each class that is left out, on two thirds of the other rows."""
    from sklearn.metrics import roc_auc_score

    auroc, level, caught, cost = [], [], [], []
    for seed, (fit, ordinary, strangers) in enumerate(_left_out(y, options)):
        forest = RandomForestClassifier(options.trees, n_jobs=options.threads, random_state=seed)
        forest.fit(X.iloc[fit], y[fit])
        asked = X.iloc[np.concatenate([ordinary, strangers])]
        p = forest.predict_novelty(asked)
        usual, is_strange = p[: len(ordinary)], np.arange(len(p)) >= len(ordinary)
        level.append({f"{each:g}": float((usual <= each).mean()) for each in LEVELS})
        caught.append(_caught(forest, X.iloc[ordinary], seed) | {"class": float((p[is_strange] <= 0.05).mean())})
        cost.append(_cost(forest, X.iloc[ordinary], y[ordinary]))
        scores = {"hulls": -p} | _peers(X.iloc[fit], y[fit], asked, seed, options)
        if name not in NOMINAL:
            auroc.append({which: float(roc_auc_score(is_strange, score)) for which, score in scores.items()})
    return Found(name, _mean(auroc), _mean(level), _mean(caught), _mean(cost))


def _left_out(y: NDArray[Any], options: argparse.Namespace) -> Iterator[tuple[NDArray[Any], ...]]:
    """Labels -> training rows, ordinary rows and rows of a class never seen, for each class of at least 5 %."""
    rng = np.random.default_rng(0)
    rows = rng.permutation(len(y))[: options.most_rows]
    classes, counts = np.unique(y[rows], return_counts=True)
    large = classes[counts >= 0.05 * len(rows)]
    for left_out in rng.permutation(large)[: options.classes]:
        known = rng.permutation(rows[y[rows] != left_out])
        if len(np.unique(y[known])) < 2:  # with two classes, the forest is asked about ordinary rows of both
            known = rng.permutation(rows)
        cut = len(known) * 2 // 3
        yield known[:cut], known[cut:], rows[y[rows] == left_out]


def _caught(forest: RandomForestClassifier, X: pd.DataFrame, seed: int) -> dict[str, float]:
    """Ordinary rows, spoiled in four ways -> the share of them that is noticed."""
    rng = np.random.default_rng(seed)
    nominal = [j for j, kind in enumerate(X.dtypes) if isinstance(kind, pd.CategoricalDtype)]
    numeric = [j for j in range(X.shape[1]) if j not in nominal and X.iloc[:, j].std() > 0]
    spoiled: dict[str, pd.DataFrame] = {}
    for shift, distance in ((SHIFTS[0], 10), (SHIFTS[1], 5)):
        if numeric:
            moved = X.copy().astype({X.columns[j]: float for j in numeric})
            for row in range(len(X)):
                j = int(rng.choice(numeric))
                value = X.iloc[row, j]
                centre = X.iloc[:, j].mean() if pd.isna(value) else value
                moved.iat[row, j] = centre + rng.choice([-1, 1]) * distance * X.iloc[:, j].std()
            spoiled[shift] = moved
    if nominal:
        other = X.copy().astype({X.columns[j]: object for j in nominal})
        for row in range(len(X)):
            other.iat[row, int(rng.choice(nominal))] = "never seen"
        spoiled[SHIFTS[2]] = other.astype({X.columns[j]: "category" for j in nominal})
    blank = X.iloc[:1].copy().astype({X.columns[j]: float for j in numeric})
    blank.iloc[0, :] = np.nan
    spoiled[SHIFTS[3]] = blank
    return {shift: float((forest.predict_novelty(rows) <= 0.05).mean()) for shift, rows in spoiled.items()}


def _cost(forest: RandomForestClassifier, X: pd.DataFrame, y: NDArray[Any]) -> dict[str, float]:
    """Return the cost of abstention on ordinary rows; the parameters of the forest are restored."""
    plain = forest.predict_set(X)
    widened = forest.set_params(novelty=ABSTENTION).predict_set(X)
    forest.set_params(novelty=None)
    known = np.isin(y, forest.classes_)
    utilities = {
        name: float(metric(y[known], plain[known], classes=forest.classes_))
        - float(metric(y[known], widened[known], classes=forest.classes_))
        for name, metric in (("u65", u65), ("u80", u80))
    }
    return {"ordinary rows": float(((widened.sum(axis=1) > 1) & (plain.sum(axis=1) == 1)).mean())} | utilities


def _peers(X: pd.DataFrame, y: NDArray[Any], asked: pd.DataFrame, seed: int, options: Any) -> dict[str, Floats]:
    """Training rows, and rows that are asked about -> how strange each peer finds these."""
    from scipy.stats import entropy
    from sklearn.ensemble import IsolationForest
    from sklearn.ensemble import RandomForestClassifier as TheirForest
    from sklearn.neighbors import LocalOutlierFactor, NearestNeighbors
    from sklearn.preprocessing import StandardScaler

    if any(isinstance(kind, pd.CategoricalDtype) for kind in X.dtypes) or X.isna().any(axis=None):
        return {}
    scaler = StandardScaler().fit(X.to_numpy(float))
    ours, theirs = scaler.transform(X.to_numpy(float)), scaler.transform(asked.to_numpy(float))
    forest = TheirForest(options.trees, n_jobs=options.threads, random_state=seed).fit(ours, y)
    isolation = IsolationForest(n_estimators=options.trees, random_state=seed).fit(ours)
    near = NearestNeighbors(n_neighbors=NEIGHBOURS).fit(ours)
    return {
        f"{NEIGHBOURS} nearest neighbours": near.kneighbors(theirs)[0].mean(axis=1),
        "local outlier factor": -LocalOutlierFactor(novelty=True).fit(ours).score_samples(theirs),
        "entropy of scikit-learn's forest": np.asarray(entropy(forest.predict_proba(theirs), axis=1)),
        "isolation forest": -isolation.score_samples(theirs),
    }


def _mean(each: list[dict[str, float]]) -> dict[str, float]:
    """Figures by name, several times -> their means."""
    return {name: float(np.mean([one[name] for one in each])) for name in (each[0] if each else {})}


def _print(found: list[Found], options: argparse.Namespace, took: float) -> None:
    """Three tables: unseen classes, levels of p-values, and what is caught."""
    out = show.console()
    out.print(f"\nStrangers: forests of {options.trees} trees, at most {options.most_rows} rows a set, {took:.0f} s.")
    for title, sets in (("sets on which details were chosen", CHOSEN_ON), ("sets that chose nothing", OTHERS)):
        some = [one for one in found if one.set in sets and one.auroc]
        if some:
            out.print(_grid(f"AUROC of rows of a class never seen: {title}", [one.auroc for one in some], some))
    parts = (
        ("Share of ordinary rows with p at most", "level"),
        ("Share with p <= 0.05", "caught"),
        (f"Cost of novelty={ABSTENTION} on ordinary rows", "cost"),
    )
    for title, part in parts:
        out.print(_grid(title, [vars(one)[part] for one in found], found))


def _grid(title: str, figures: list[dict[str, float]], sets: list[Found]) -> Any:
    """One line for each set, then means and standard errors over sets."""
    names = list(dict.fromkeys(name for each in figures for name in each))
    grid = show.ruled(title)
    grid.add_column("set")
    for name in names:
        grid.add_column(name, justify="right")
    for one, each in zip(sets, figures, strict=True):
        grid.add_row(one.set, *(f"{each[name]:.3f}" if name in each else show.DASH for name in names))
    columns = [np.array([each[name] for each in figures if name in each]) for name in names]
    grid.add_row("mean", *(f"{column.mean():.3f}" for column in columns))
    errors = (column.std(ddof=1) / np.sqrt(len(column)) if len(column) > 1 else np.nan for column in columns)
    grid.add_row("standard error", *(f"{error:.4f}" for error in errors))
    return grid


def _figures(found: list[Found]) -> dict[str, Any]:
    """The tables as plain data."""
    groups = {"used for tuning": CHOSEN_ON, "others": OTHERS}
    told: dict[str, Any] = {
        title: _mean([one.auroc for one in found if one.set in sets and one.auroc]) for title, sets in groups.items()
    }
    levels = {f"{each:g}": [one.level[f"{each:g}"] for one in found] for each in LEVELS}
    told["level"] = {level: with_error(shares) for level, shares in levels.items()}
    names = dict.fromkeys(name for one in found for name in one.caught)
    told["caught"] = {name: float(np.mean([one.caught[name] for one in found if name in one.caught])) for name in names}
    return told


def _options(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.strangers", description=__doc__)
    parser.add_argument("--data", help="the folder of real sets")
    parser.add_argument("--sets", nargs="+", help="names of sets; by default all")
    parser.add_argument("--trees", type=int, default=TREES)
    parser.add_argument("--most-rows", type=int, default=1500, help="rows of a set that are used")
    parser.add_argument("--classes", type=int, default=4, help="classes of a set that are left out in turn")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--json", help="a file for the figures")
    parser.add_argument("--record", action="store_true", help="write means to docs/results.json, for the pages")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    raise SystemExit(main())
