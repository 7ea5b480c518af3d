"""Risk: real tables and many calibrations -> how often promises about decisions are kept, and how much is decided.

python -m benchmarks.risk [--quick] [--sets NAME ...] [--error E] [--confidence C] [--calibrations N] [--refits N]

A forest is fitted once to half of a set. The other half is the population: calibration rows are drawn from it with
replacement, and a promise is kept if it holds for the population. So there is no noise of a test set. Out of bag, each
refit draws other training rows, and the promise is judged on the rows that are left.
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks import show
from benchmarks.accuracy import overall
from benchmarks.data import folder_or_none, manifest, table
from benchmarks.doubt_kit import NotInstalledError, classes_of, imported
from benchmarks.doubt_probabilities import halves, sklearn_forest
from benchmarks.measure import quiet
from benchmarks.record import record, with_error

Floats = NDArray[np.float64]
Rows = NDArray[np.int64]
Threshold = Callable[[Floats, Rows, Any], float]
"""Probabilities (n, K), classes (n,), options -> above which largest probability rows are decided."""

SETS, FIT, HELD, DRAWN = 20, 5_000, 20_000, 1_000
"""Sets, the largest of the half that reports; most rows to fit, to hold out, and to calibrate on."""
QUICK = ("credit-australian", "tic-tac-toe", "vowel", "cardiotocography")


@dataclass
class Found:
    """On one set, for each way: share of promises kept, and mean share of rows decided."""

    set: str
    kept: dict[str, float] = field(default_factory=dict)
    decided: dict[str, float] = field(default_factory=dict)

    def add(self, way: str, told: list[tuple[bool, float]]) -> None:
        """What came out, calibration by calibration."""
        self.kept[way], self.decided[way] = (float(np.mean(column)) for column in zip(*told, strict=True))


def main(arguments: list[str] | None = None) -> int:
    """All sets, and a table with a line for each way to find a threshold."""
    options = _options(arguments)
    quiet()
    warnings.simplefilter("ignore")
    place = folder_or_none(options.data)
    if place is None:
        return 0
    found, left_out = [], []
    for name in _chosen(options, place):
        start = time.monotonic()
        found.append(_examine(name, place, options, left_out))
        show.progress(f"{name}: {time.monotonic() - start:.1f} s")
    _print(found, options)
    if options.record:
        record("risk", _figures(found), "benchmarks.risk", sys.argv[1:])
    for line in dict.fromkeys(left_out):
        print(line)
    return 0


def _examine(name: str, place: Path, options: argparse.Namespace, left_out: list[str]) -> Found:
    """All ways on one set."""
    from hedgerow import RandomForestClassifier

    X, y = table(name, place)
    y = classes_of(y)
    random, found = np.random.default_rng(0), Found(name)
    rows = random.permutation(len(y))[: 2 * HELD]
    fit, held = np.split(rows, [min(len(rows) // 2, FIT)])
    held = held[:HELD]
    ours = RandomForestClassifier(options.trees, calibration="oob", random_state=0)
    said = {"ours": _said(ours, X, y, fit, held), "sklearn": _said(sklearn_forest(options.trees, 0), X, y, fit, held)}
    for way, (of, threshold) in WAYS.items():
        again = np.random.default_rng(1)  # the same draws for all
        draws = [again.integers(0, len(held), min(len(held), DRAWN)) for _ in range(options.calibrations)]
        try:
            told = [
                _judged(said[of], y[held], threshold(said[of][drawn], y[held][drawn], options), options)
                for drawn in draws
            ]
        except NotInstalledError as reason:
            left_out.append(f"left out: {reason}")
            continue
        found.add(way, told)
    found.add("Risk, out of bag", [_out_of_bag(X, y, rows, seed, options) for seed in range(options.refits)])
    return found


def _judged(said: Floats, y: Rows, threshold: float, options: argparse.Namespace) -> tuple[bool, float]:
    """Probabilities and classes of a population -> whether the promise is kept, and how much is decided."""
    decided = said.max(axis=1) > threshold
    wrong = (said.argmax(axis=1) != y)[decided]
    return not decided.any() or bool(wrong.mean() <= options.error), float(decided.mean())


def _out_of_bag(X: Any, y: Rows, rows: Rows, seed: int, options: argparse.Namespace) -> tuple[bool, float]:
    """One refit, on other rows: the same for a forest that has calibrated its decision out of bag."""
    from hedgerow import RandomForestClassifier
    from hedgerow.decisions import Risk

    drawn = np.random.default_rng(seed).permutation(rows)
    fit, held = np.split(drawn, [min(len(rows) // 2, FIT // 2)])
    promise = Risk(options.error, options.confidence)
    forest = RandomForestClassifier(options.trees, calibration="oob", decision=promise, random_state=seed)
    labels, sets = forest.fit(X.iloc[fit], y[fit]).predict(X.iloc[held[:HELD]], return_set=True)
    decided = sets.sum(axis=1) == 1
    wrong = (labels != y[held[:HELD]])[decided]
    return not decided.any() or bool(wrong.mean() <= options.error), float(decided.mean())


# ---- the ways ------------------------------------------------------------------------------------


def _ours(said: Floats, y: Rows, options: argparse.Namespace) -> float:
    from hedgerow.decisions import Risk

    decision = Risk(options.error, options.confidence)
    return decision.calibrate(said, y, classes=np.arange(said.shape[1])).threshold_


def _mapie(method: str) -> Threshold:
    """MAPIE's control of precision, of "the label is right" by the largest probability: the same promise."""

    def threshold(said: Floats, y: Rows, options: argparse.Namespace) -> float:
        control = imported("mapie.risk_control")
        right = (said.argmax(axis=1) == y).astype(int)
        if right.all():
            right[said.max(axis=1).argmin()] = 0  # it refuses a single class
        grid = np.linspace(0, 0.99, 100)
        model = control.BinaryClassificationController(
            predict_function=lambda sure: np.column_stack([1 - sure[:, 0], sure[:, 0]]),
            risk=control.precision,
            target_level=1 - options.error,
            confidence_level=options.confidence,
            list_predict_params=grid[::-1] if method == "fixed_sequence" else grid,
            fwer_method=method,
        )
        model.calibrate(said.max(axis=1, keepdims=True), right)
        valid = np.ravel(model.valid_predict_params)
        return float(valid.min()) if len(valid) else np.inf

    return threshold


WAYS: dict[str, tuple[str, Threshold]] = {
    "Risk": ("ours", _ours),
    "MAPIE, the same probabilities": ("ours", _mapie("bonferroni_holm")),
    "MAPIE in a fixed sequence, the same probabilities": ("ours", _mapie("fixed_sequence")),
    "Risk, scikit-learn's forest": ("sklearn", _ours),
    "MAPIE, scikit-learn's forest": ("sklearn", _mapie("bonferroni_holm")),
}


# ---- tables and fits -----------------------------------------------------------------------------


def _said(model: Any, X: Any, y: Rows, fit: Rows, asked: Rows) -> Floats:
    """Fit on some rows -> probabilities (n, K) of others."""
    model.fit(X.iloc[fit], y[fit])
    said = np.zeros((len(asked), int(y.max()) + 1))
    said[:, np.asarray(model.classes_, dtype=np.int64)] = model.predict_proba(X.iloc[asked])
    return said


def _chosen(options: argparse.Namespace, place: Path) -> list[str]:
    """The sets that are asked for, small ones first."""
    about = manifest(place)
    names = options.sets or (QUICK if options.quick else halves(place)["report"])
    return sorted(names, key=lambda name: int(about[name]["rows"]))[-SETS:]


def _print(found: list[Found], options: argparse.Namespace) -> None:
    promise = f"at most {options.error:g} of decisions wrong, with confidence {options.confidence:g}"
    grid = show.ruled(f"{promise}: {len(found)} sets, {options.calibrations} calibrations (mean ± standard error)")
    for column in ("way", "kept", "worst set", "decided"):
        grid.add_column(column, justify="left" if column == "way" else "right")
    for way in [*WAYS, "Risk, out of bag"]:
        some = [one for one in found if way in one.kept]
        if some:
            worst = min(some, key=lambda one: one.kept[way])
            cells = [f"{mean:.3f} ± {error:.3f}" for mean, error in _levels(way, some)]
            grid.add_row(way, cells[0], f"{worst.kept[way]:.2f} {worst.set}", cells[1])
    show.console().print(grid)


def _figures(found: list[Found]) -> dict[str, Any]:
    """The table as plain data."""
    told = {}
    for way in [*WAYS, "Risk, out of bag"]:
        if some := [one for one in found if way in one.kept]:
            kept, decided = [one.kept[way] for one in some], [one.decided[way] for one in some]
            told[way] = {"kept": with_error(kept), "worst": min(kept), "decided": with_error(decided)}
    return told


def _levels(way: str, some: list[Found]) -> list[tuple[float, float]]:
    return [overall([getattr(one, what)[way] for one in some]) for what in ("kept", "decided")]


def _options(arguments: list[str] | None) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.risk", description=__doc__.splitlines()[0])
    parser.add_argument("--data", metavar="DIR", help="folder of data sets (else HEDGEROW_DATA, else ../shared/data)")
    parser.add_argument("--sets", nargs="+", metavar="NAME", help="instead of the half that reports")
    parser.add_argument("--error", type=float, default=0.05)
    parser.add_argument("--confidence", type=float, default=0.95)
    parser.add_argument("--calibrations", type=int, default=100)
    parser.add_argument("--refits", type=int, default=10, help="of forests that calibrate out of bag")
    parser.add_argument("--trees", type=int, default=100)
    parser.add_argument("--quick", action="store_true", help="four small sets: a minute")
    parser.add_argument("--record", action="store_true", help="write means to docs/results.json, for the pages")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main())
