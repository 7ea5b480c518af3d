"""Labels: real tables and a share of blurred labels -> accuracy, beside dropping those rows and guessing one class.

Then labels of a simulated crowd: accuracy with masses beside that with the majority's class (`--crowd-only`: on twelve
sets, in a few minutes).

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
from hedgerow.labels import UncertainLabels, from_masses, from_sets

SETS = ("glass", "vehicle-silhouettes", "vowel", "segment", "yeast")
CROWD_SETS = (*SETS, "iris", "wine", "ecoli", "dermatology", "breast-tissue", "balance-scale", "zoo")
CROWD_ROWS = 400
"""Training rows of a fold with labels of a crowd: a single tree is refined by 250 trees on all features and answers,
which took half a minute per fold with all 1,848 of segment."""
BLURRED = (0.0, 0.15, 0.3, 0.45, 0.6)
CLAIM = 0.3
"""The share of blurred labels at which learning from them must beat dropping them."""
WAYS = ("learn", "expect", "drop", "guess")
ANNOTATORS = 3
"""The number of people who label a row."""
RELIABILITY = 0.7
"""The mass that an answer gets; the rest says nothing."""


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
    found, crowds, errors, start = [], [], [], time.monotonic()
    for name in options.sets or (CROWD_SETS if options.crowd_only else SETS):
        try:
            X, y = table(name, folder(options.data))
        except DataNotFoundError as reason:
            print(f"{name} skipped: {reason}")
            continue
        try:
            if not options.crowd_only:
                found.extend(judge(name, X, y, options))
            crowds.extend(judge_crowd(name, X, y, options))
        except Exception as reason:
            errors.append(f"error: {name}: {type(reason).__name__}: {reason}")
        show.progress(f"{name}: {time.monotonic() - start:.1f} s")
    if found:
        _print(found, options, time.monotonic() - start)
    _print_crowds(crowds)
    for line in errors:
        print(line)
    if options.json:
        Path(options.json).write_text(json.dumps([asdict(one) for one in (*found, *crowds)], indent=1) + "\n")
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


@dataclass(frozen=True)
class Crowd:
    """One kind of model on one set of data: accuracy in each fold, with masses and with the majority's class."""

    set: str
    model: str
    accuracy: dict[str, list[float]]

    def gain(self) -> tuple[float, float]:
        """Mean over folds of what masses gain over hard labels, and its standard error."""
        gap, error, _ = paired(np.array(self.accuracy["masses"]), np.array(self.accuracy["hard"]))
        return gap, error


def judge_crowd(name: str, X: Any, y: NDArray[Any], options: argparse.Namespace) -> list[Crowd]:
    """One set: the same folds and answers for a tree and a forest."""
    from sklearn.model_selection import RepeatedStratifiedKFold

    classes = np.unique(y)
    kinds = {"tree": {}, "forest": {"n_estimators": options.trees, "n_jobs": options.threads}}
    scores: dict[str, Any] = {kind: {"masses": [], "hard": []} for kind in kinds}
    folds = RepeatedStratifiedKFold(n_splits=FOLDS, n_repeats=options.repeats, random_state=0)
    for number, (whole, test) in enumerate(folds.split(y, y)):
        fit = np.random.default_rng(number).permutation(whole)[:CROWD_ROWS]
        masses, hard = crowd(y[fit], classes, np.random.default_rng(number))
        for kind, parameters in kinds.items():
            make = DecisionTreeClassifier if kind == "tree" else RandomForestClassifier
            for way, labels in (("masses", masses), ("hard", hard)):
                model = make(random_state=number, **parameters).fit(X.iloc[fit], labels, groups=None)
                scores[kind][way].append(float((model.predict(X.iloc[test]) == y[test]).mean()))
    return [Crowd(name, kind, scores[kind]) for kind in kinds]


def crowd(y: NDArray[Any], classes: NDArray[Any], rng: np.random.Generator) -> tuple[UncertainLabels, NDArray[Any]]:
    """Labels (n,) -> masses of the answers of a crowd, and the class that most of them name.

    Each person is right with a probability of 0.45 to 0.9, and every third answer is the set of two classes. Masses are
    the mean of those of the answers.
    """
    truth, n_classes = np.searchsorted(classes, y), len(classes)
    table, votes = np.zeros((len(y), 1 << n_classes)), np.zeros((len(y), n_classes))
    every = np.arange(len(y))
    for _ in range(ANNOTATORS):
        skill = rng.uniform(0.45, 0.9)
        wrong = (truth + rng.integers(1, n_classes, len(y))) % n_classes
        named = np.where(rng.random(len(y)) < skill, truth, wrong)
        other = (named + rng.integers(1, n_classes, len(y))) % n_classes
        both = rng.random(len(y)) < 1 / 3
        sets = np.where(both, (1 << named) | (1 << other), 1 << named)
        table[every, sets] += RELIABILITY / ANNOTATORS
        votes[every, named] += np.where(both, 0.5, 1.0)
        votes[every, other] += np.where(both, 0.5, 0.0)
    table[:, -1] += 1 - RELIABILITY
    return from_masses(table, classes), classes[(votes + 1e-6 * rng.random(votes.shape)).argmax(axis=1)]


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


def _print_crowds(crowds: list[Crowd]) -> None:
    """A table of accuracies with masses and with hard labels, then whether masses are at least as good on average."""
    out = show.console()
    for kind in ("tree", "forest"):
        of_kind = [one for one in crowds if one.model == kind]
        if not of_kind:
            continue
        grid = show.ruled(f"Accuracy of a {kind} with labels of {ANNOTATORS} people")
        for column in ("set", "masses", "majority", "masses - majority ± se"):
            grid.add_column(column, justify="left" if column == "set" else "right")
        for one in of_kind:
            means = [f"{np.mean(one.accuracy[way]):.4f}" for way in ("masses", "hard")]
            grid.add_row(one.set, *means, "{:+.4f} ± {:.4f}".format(*one.gain()))
        gains = np.array([one.gain()[0] for one in of_kind])
        error = gains.std(ddof=1) / np.sqrt(len(gains)) if len(gains) > 1 else float("nan")
        out.print(grid)
        line = f"{kind}: masses gain {gains.mean():+.4f} ± {error:.4f} over the majority's class (mean over sets)"
        out.print(f"{line} {show.verdict(bool(gains.mean() >= 0))}", highlight=False, soft_wrap=True)


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
    parser.add_argument("--crowd-only", action="store_true", help="skip blurred labels")
    parser.add_argument("--json", metavar="FILE", help="write everything judged to a file")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main())
