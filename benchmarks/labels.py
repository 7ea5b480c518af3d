"""Labels: real tables and a share of blurred labels -> accuracy, beside dropping those rows and guessing one class.

python -m benchmarks.labels [--data DIR] [--sets NAME ...] [--repeats 2] [--trees 100] [--json FILE]
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks import show
from benchmarks.caution import FOLDS, paired
from benchmarks.data import DataNotFoundError, folder, table
from benchmarks.measure import quiet
from hedgerow import DecisionTreeClassifier, RandomForestClassifier
from hedgerow.labels import UncertainLabels, from_sets

SETS = ("glass", "vehicle-silhouettes", "vowel", "segment", "yeast")
BLURRED = (0.0, 0.15, 0.3, 0.45, 0.6)
CLAIM = 0.3
"""The share of blurred labels at which learning from them must beat dropping them."""
WAYS = ("learn", "expect", "drop", "guess")


@dataclass(frozen=True)
class Found:
    """One kind of model on one set of data: accuracy in each fold, by share of blurred labels and way to treat them."""

    set: str
    model: str
    rows: int
    classes: int
    accuracy: dict[str, dict[str, list[float]]]

    def mean(self, share: float, way: str) -> float:
        """Mean accuracy over folds."""
        return float(np.mean(self.accuracy[f"{share:g}"][way]))

    def gain(self, share: float, over: str) -> tuple[float, float]:
        """Mean over folds of what learning gains over another way, and its standard error."""
        at = self.accuracy[f"{share:g}"]
        gap, error, _ = paired(np.array(at["learn"]), np.array(at[over]))
        return gap, error


def main(arguments: list[str] | None = None) -> int:
    """Judge every set, print a table for each kind of model and a verdict; 1 where a model raised an error."""
    options = _options(arguments)
    quiet()
    found, errors, start = [], [], time.monotonic()
    for name in options.sets or SETS:
        try:
            X, y = table(name, folder(options.data))
        except DataNotFoundError as reason:
            print(f"{name} skipped: {reason}")
            continue
        try:
            found.extend(judge(name, X, y, options))
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


def judge(name: str, X: Any, y: NDArray[Any], options: argparse.Namespace) -> list[Found]:
    """One set: the same folds, blurred labels and guesses for a tree and a forest."""
    from sklearn.model_selection import RepeatedStratifiedKFold

    classes = np.unique(y)
    kinds = {"tree": {}, "forest": {"n_estimators": options.trees, "n_jobs": options.threads}}
    scores: dict[str, Any] = {kind: {f"{share:g}": {way: [] for way in WAYS} for share in BLURRED} for kind in kinds}
    folds = RepeatedStratifiedKFold(n_splits=FOLDS, n_repeats=options.repeats, random_state=0)
    for number, (fit, test) in enumerate(folds.split(y, y)):
        for share in BLURRED:
            labels = blur(y[fit], classes, share, np.random.default_rng([number, round(100 * share)]))
            guessed = guess(labels, np.random.default_rng(number))
            for kind, parameters in kinds.items():
                make = DecisionTreeClassifier if kind == "tree" else RandomForestClassifier
                model = make(random_state=number, **parameters)
                told = {
                    "learn": (model, labels, slice(None)),
                    "expect": (make(random_state=number, label_rounds=0, **parameters), labels, slice(None)),
                    "drop": (model, y[fit], labels.certain),
                    "guess": (model, guessed, slice(None)),
                }
                for way, (learner, answers, rows) in told.items():
                    learner.fit(X.iloc[fit].iloc[rows], answers[rows])
                    scores[kind][f"{share:g}"][way].append(float(learner.score(X.iloc[test], y[test])))
    return [Found(name, kind, len(y), len(classes), scores[kind]) for kind in kinds]


def blur(y: NDArray[Any], classes: NDArray[Any], share: float, rng: np.random.Generator) -> UncertainLabels:
    """Labels (n,) -> sets that hold them; a share of them also holds one or more others, as many as a die says.

    >>> labels = blur(np.array(["a", "b", "c"]), np.array(["a", "b", "c"]), 1.0, np.random.default_rng(0))
    >>> labels.certain.any(), labels.plausibility_of(["a", "b", "c"]).tolist()
    (np.False_, [1.0, 1.0, 1.0])
    """
    sets = []
    for label in y.tolist():
        others = classes[classes != label]
        extra = rng.choice(others, rng.integers(1, len(classes)), replace=False) if rng.random() < share else []
        sets.append({label, *extra})
    return from_sets(sets, classes)


def guess(labels: UncertainLabels, rng: np.random.Generator) -> NDArray[Any]:
    """Labels -> (n,): one of the possible classes of each row, drawn evenly."""
    return labels.classes[(labels.shares.cumsum(axis=1) > rng.random((len(labels), 1))).argmax(axis=1)]


def _print(found: list[Found], options: argparse.Namespace, took: float) -> None:
    """A table for each kind of model, then whether the claim holds."""
    out = show.console()
    out.print(
        f"\nBlurred labels: {options.repeats} × {FOLDS} folds, forests of {options.trees} trees, {took:.0f} s. A"
        " blurred label holds the true class and one or more others, as many as a die says.",
        highlight=False,
        soft_wrap=True,
    )
    for kind in ("tree", "forest"):
        of_kind = [one for one in found if one.model == kind]
        out.print(_table(kind, of_kind))
        out.print(_verdict(kind, of_kind), highlight=False, soft_wrap=True)


def _table(kind: str, found: list[Found]) -> Any:
    """Rows: sets and ways to treat blurred labels. Columns: shares of them, and what learning gains at the claim's."""
    grid = show.ruled(f"Accuracy of a {kind} against the share of blurred labels")
    for column in ("set", "rows", "classes", "blurred labels"):
        grid.add_column(column)
    for column in (*(f"{share:.0%}" for share in BLURRED), f"learn - it at {CLAIM:.0%} ± se"):
        grid.add_column(column, justify="right")
    words = {"learn": "learned from", "expect": "expected shares", "drop": "dropped", "guess": "one guessed"}
    for one in found:
        for way in WAYS:
            about = (one.set, str(one.rows), str(one.classes)) if way == "learn" else ("", "", "")
            gain = "" if way == "learn" else "{:+.4f} ± {:.4f}".format(*one.gain(CLAIM, way))
            grid.add_row(*about, words[way], *(f"{one.mean(share, way):.4f}" for share in BLURRED), gain)
    return grid


def _verdict(kind: str, found: list[Found]) -> str:
    """The claim, its mean over sets, and on how many sets it holds."""
    gains = np.array([one.gain(CLAIM, "drop")[0] for one in found])
    error = gains.std(ddof=1) / np.sqrt(len(gains)) if len(gains) > 1 else float("nan")
    better = int((gains > 0).sum())
    return (
        f"{kind}: with {CLAIM:.0%} of the labels blurred, learning from them gains {gains.mean():+.4f} ± {error:.4f}"
        f" over dropping those rows (mean over {len(gains)} sets, standard error over sets), better on {better} of"
        f" {len(gains)} {show.verdict(bool(gains.mean() > 0))}"
    )


def _options(arguments: list[str] | None) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.labels", description=__doc__.splitlines()[0])
    parser.add_argument("--data", metavar="DIR", help="folder of data sets (else HEDGEROW_DATA, else ../shared/data)")
    parser.add_argument("--sets", nargs="+", metavar="NAME", help=f"of the folder (else {', '.join(SETS)})")
    parser.add_argument("--repeats", type=int, default=2, help=f"of {FOLDS}-fold cross-validation")
    parser.add_argument("--trees", type=int, default=100)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--json", metavar="FILE", help="write everything judged to a file")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main())
