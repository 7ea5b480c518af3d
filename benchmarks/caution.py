"""Caution: real tables and one forest per fold -> what caution leaves open, and whether "auto" finds the best one.

python -m benchmarks.caution [--data DIR] [--sets NAME ...] [--repeats 5] [--trees 100] [--json FILE]
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
from numpy.typing import NDArray

from benchmarks import show
from benchmarks.data import DataNotFoundError, folder, table
from benchmarks.measure import quiet
from hedgerow import RandomForestClassifier
from hedgerow.metrics import u65

BUILT_IN = "breast-cancer"
"""scikit-learn's own copy: needs no data folder."""
SETS = (BUILT_IN, "pima-diabetes", "credit-german", "vehicle-silhouettes", "glass", "yeast")
FIXED = (0.0, 1.0, 2.0, 3.0, 5.0)
FOLDS = 5


@dataclass(frozen=True)
class Tally:
    """How the sets of one caution fare on one set of data: rows in all folds, and shares of them."""

    wrong: int
    """Rows that the precise forest gets wrong."""
    saved: int
    """Of these, rows left open with the truth in the set."""
    astray: int
    """Of these, rows left open without it."""
    doubted: int
    """Rows that the precise forest gets right and this one leaves open."""
    determinacy: float
    single: float
    """Accuracy where one class remains."""


@dataclass(frozen=True)
class Found:
    """Everything about one set of data."""

    set: str
    rows: int
    classes: int
    folds: int
    accuracy: float
    """Of the precise forest."""
    auto: Tally
    usual: Tally
    """At caution 1, the default."""
    u65: dict[str, float]
    """Mean over folds, by caution."""
    chosen: list[float]
    """What "auto" chose in each fold."""
    best: float
    """The fixed caution with the highest mean."""
    gap: float
    error: float
    plain_error: float
    """u65 of "auto" minus that of the best, its standard error, and the one that ignores what folds share."""

    @property
    def not_below(self) -> bool:
        """Whether "auto" is not below the best fixed caution by more than the standard error."""
        return self.gap >= -self.error

    @property
    def not_below_plain(self) -> bool:
        """The same with the smaller standard error."""
        return self.gap >= -self.plain_error


def main(arguments: list[str] | None = None) -> int:
    """Judge every set, print two tables and a verdict; 1 where a forest raised an error."""
    options = _options(arguments)
    quiet()
    found, errors, start = [], [], time.monotonic()
    for name in options.sets or SETS:
        try:
            X, y = _read(name, options.data)
        except DataNotFoundError as reason:
            print(f"{name} skipped: {reason}")
            continue
        try:
            found.append(judge(name, X, y, options))
        except Exception as reason:
            errors.append(f"error: {name}: {type(reason).__name__}: {reason}")
        show.progress(f"{name}: {time.monotonic() - start:.1f} s")
    if found:
        _print(found, options, time.monotonic() - start)
    for line in errors:
        print(line)
    if options.json:
        Path(options.json).write_text(json.dumps([asdict(one) for one in found], indent=1) + "\n")
    return int(bool(errors))


def judge(name: str, X: Any, y: NDArray[Any], options: argparse.Namespace) -> Found:
    """One set: a forest per fold, judged at every caution without growing it again."""
    names = ["auto", *(f"{caution:g}" for caution in FIXED)]
    scores: dict[str, list[float]] = {name: [] for name in names}
    sets: dict[str, list[NDArray[np.bool_]]] = {name: [] for name in names}
    truth, right, chosen = [], [], []
    for number, (fit, test) in enumerate(_folds(y, options.repeats)):
        forest = RandomForestClassifier(options.trees, caution="auto", n_jobs=options.threads, random_state=number)
        forest.fit(_rows(X, fit), y[fit])
        chosen.append(float(forest.caution_))
        X_test = _rows(X, test)
        right.append(forest.predict(X_test) == y[test])
        truth.append(y[test][:, None] == forest.classes_)
        for caution in ("auto", *FIXED):
            key = caution if isinstance(caution, str) else f"{caution:g}"
            sets[key].append(forest.set_params(caution=caution).predict_set(X_test))
            scores[key].append(u65(y[test], sets[key][-1], classes=forest.classes_))
    means = {name: float(np.mean(values)) for name, values in scores.items()}
    best = max(FIXED, key=lambda caution: means[f"{caution:g}"])
    gap, error, plain = paired(np.array(scores["auto"]), np.array(scores[f"{best:g}"]))
    return Found(
        set=name,
        rows=len(y),
        classes=len(np.unique(y)),
        folds=len(chosen),
        accuracy=float(np.concatenate(right).mean()),
        auto=_tally(np.concatenate(right), np.vstack(truth), np.vstack(sets["auto"])),
        usual=_tally(np.concatenate(right), np.vstack(truth), np.vstack(sets["1"])),
        u65=means,
        chosen=chosen,
        best=best,
        gap=gap,
        error=error,
        plain_error=plain,
    )


def paired(ours: NDArray[np.float64], theirs: NDArray[np.float64]) -> tuple[float, float, float]:
    """(folds,) twice -> the mean difference, its standard error, and the one for independent folds.

    Folds share their training rows, so the variance is that of Nadeau and Bengio (2003): 1/J + test/train.

    >>> paired(np.array([1.0, 3.0]), np.array([1.0, 1.0]))[0]
    1.0
    """
    gap = ours - theirs
    spread = gap.var(ddof=1) if len(gap) > 1 else np.nan
    error = np.sqrt(spread * (1.0 / len(gap) + 1.0 / (FOLDS - 1)))
    return float(gap.mean()), float(error), float(np.sqrt(spread / len(gap)))


def _tally(right: NDArray[np.bool_], truth: NDArray[np.bool_], sets: NDArray[np.bool_]) -> Tally:
    """Whether the precise forest is right (n,), true class (n, K), chosen classes (n, K) -> the tally."""
    holds, opened = (truth & sets).any(axis=1), sets.sum(axis=1) > 1
    return Tally(
        wrong=int((~right).sum()),
        saved=int((~right & opened & holds).sum()),
        astray=int((~right & opened & ~holds).sum()),
        doubted=int((right & opened).sum()),
        determinacy=float(1.0 - opened.mean()),
        single=float(holds[~opened].mean()) if (~opened).any() else float("nan"),
    )


def _read(name: str, place: str | None) -> tuple[Any, NDArray[Any]]:
    """One set by name: features and labels."""
    if name != BUILT_IN:
        return table(name, folder(place))
    from sklearn.datasets import load_breast_cancer

    bunch = load_breast_cancer()
    return bunch.data, bunch.target_names[bunch.target]


def _rows(X: Any, chosen: NDArray[np.int64]) -> Any:
    """Some rows of an array or a frame."""
    return X.iloc[chosen] if hasattr(X, "iloc") else X[chosen]


def _folds(y: NDArray[Any], repeats: int) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """Stratified folds, repeated."""
    from sklearn.model_selection import RepeatedStratifiedKFold

    yield from RepeatedStratifiedKFold(n_splits=FOLDS, n_repeats=repeats, random_state=0).split(y, y)


def _print(found: list[Found], options: argparse.Namespace, took: float) -> None:
    """What is left open and at which price; then u65 by caution, and the verdict."""
    out = show.console()
    out.print(
        f"\nCaution: {options.repeats} × {FOLDS} folds, one forest of {options.trees} trees each, {took:.0f} s; "
        "rows are counted per cross-validation.",
        highlight=False,
    )
    out.print(_open_table(found, options.repeats))
    out.print(_u65_table(found))
    out.print(_verdict(found), highlight=False, soft_wrap=True)


def _open_table(found: list[Found], repeats: int) -> Any:
    """Rows: sets of data at "auto" and at caution 1. What the precise forest gets wrong, and what becomes of it."""
    grid = show.ruled("What a precise forest gets wrong, and what a cautious one leaves open")
    for column in ("set", "caution"):
        grid.add_column(column)
    for column in (
        "rows", "classes", "accuracy", "wrong", "left open, truth in", "without it", "right, left open",
        "determinacy", "single-set accuracy",
    ):  # fmt: skip
        grid.add_column(column, justify="right")
    for one in found:
        for caution, tally in ((f"auto, {np.mean(one.chosen):.2f}", one.auto), ("1", one.usual)):
            about = (one.set, caution, str(one.rows), str(one.classes), f"{one.accuracy:.4f}")
            share = tally.saved / tally.wrong if tally.wrong else 0.0
            counts = (
                f"{tally.wrong / repeats:.1f}",
                f"{tally.saved / repeats:.1f} ({share:.0%})",
                f"{tally.astray / repeats:.1f}",
                f"{tally.doubted / repeats:.1f}",
            )
            grid.add_row(*about, *counts, f"{tally.determinacy:.4f}", f"{tally.single:.4f}")
    return grid


def _u65_table(found: list[Found]) -> Any:
    """Rows: sets of data. Columns: cautions, what "auto" makes of it, and the difference to the best."""
    grid = show.ruled("u65 by caution, the same forests: mean over folds")
    grid.add_column("set")
    cautions = [f"{caution:g}" for caution in FIXED]
    for column in (*cautions, "auto", "chosen", "best fixed", "auto - best ± se", "verdict"):
        grid.add_column(column, justify="right")
    for one in found:
        values = (f"{one.u65[caution]:.4f}" for caution in cautions)
        low, middle, high = np.quantile(one.chosen, (0.0, 0.5, 1.0))
        chosen = f"{middle:g} ({low:g} to {high:g})"
        gap = f"{one.gap:+.4f} ± {one.error:.4f}"
        verdict = show.verdict(one.not_below)
        grid.add_row(one.set, *values, f"{one.u65['auto']:.4f}", chosen, f"{one.best:g}", gap, verdict)
    return grid


def _verdict(found: list[Found]) -> str:
    """The claim, and on how many sets it holds."""
    held, plain = sum(one.not_below for one in found), sum(one.not_below_plain for one in found)
    return (
        f"auto is not below the best fixed caution by more than its standard error: {held} of {len(found)} sets "
        f"{show.verdict(held == len(found))} ({plain} of {len(found)} by the smaller standard error that takes folds "
        "for independent; the best fixed caution is the one best on the very rows it is judged on)"
    )


def _options(arguments: list[str] | None) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.caution", description=__doc__.splitlines()[0])
    parser.add_argument("--data", metavar="DIR", help="folder of data sets (else HEDGEROW_DATA, else ../shared/data)")
    parser.add_argument("--sets", nargs="+", metavar="NAME", help=f"of the folder, or {BUILT_IN} (else {len(SETS)})")
    parser.add_argument("--repeats", type=int, default=5, help=f"of {FOLDS}-fold cross-validation")
    parser.add_argument("--trees", type=int, default=100)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--json", metavar="FILE", help="write everything judged to a file")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main())
