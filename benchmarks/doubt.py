"""Doubt: real tables and the same folds for all -> how good probabilities are, and whether doubt finds the errors.

python -m benchmarks.doubt [--quick] [--half choose|report|all] [--models NAME ...] [--sets NAME ...] [--json FILE]
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks import show
from benchmarks.accuracy import _encoded, _nominal, overall
from benchmarks.data import DataNotFoundError, folder, manifest, table
from benchmarks.measure import log_loss, quiet

Floats = NDArray[np.float64]

REFERENCE = "sklearn"
FOLDS, ROWS, MOST_ROWS = 3, 4_000, 50_000
"""Folds; rows of a set times repeats stay below the second; of larger sets so many rows, evenly spread, are taken."""
FLOOR = 0.0025
"""Shares of all are raised to this before the logarithm."""
BINS = 15
"""Of the calibration error."""
SUREST = 0.8
"""Share of the cases that are decided, where the error among the surest is asked."""
QUICK = ("glass", "heart-statlog", "vehicle-silhouettes", "vowel", "tic-tac-toe", "wine-quality-red", "dermatology")
QUICK_MODELS = ("forest", "extra trees", "sklearn", "sklearn isotonic")


class NotInstalledError(Exception):
    """A peer that is not there."""


# ---- the models ----------------------------------------------------------------------------------


def _ours(kind: str, **options: Any) -> Callable[[int, int], Any]:
    def make(trees: int, seed: int) -> Any:
        import hedgerow

        return getattr(hedgerow, kind)(trees, bootstrap=True, random_state=seed, **options)

    return make


def _forest(trees: int, seed: int) -> Any:
    from sklearn.ensemble import RandomForestClassifier

    return _encoded(RandomForestClassifier(trees, random_state=seed), "onehot")


def _refitted(method: str) -> Callable[[int, int], Any]:
    """scikit-learn's forest in its own calibration: four further forests, each judged on a fourth of the rows."""

    def make(trees: int, seed: int) -> Any:
        from sklearn.calibration import CalibratedClassifierCV

        return CalibratedClassifierCV(_forest(trees, seed), method=method, cv=4)

    return make


def _boosted(trees: int, seed: int) -> Any:
    from sklearn.ensemble import HistGradientBoostingClassifier

    return HistGradientBoostingClassifier(random_state=seed, categorical_features="from_dtype")


def _lightgbm(trees: int, seed: int) -> Any:
    return _imported("lightgbm").LGBMClassifier(random_state=seed, n_jobs=1, verbose=-1)


def _catboost(trees: int, seed: int) -> Any:
    return _CatBoost(_imported("catboost"), seed)


class _CatBoost:
    """CatBoost wants names of nominal columns, and words in all of their cells."""

    def __init__(self, library: Any, seed: int) -> None:
        self.model = library.CatBoostClassifier(
            random_seed=seed, thread_count=1, verbose=False, allow_writing_files=False
        )

    def fit(self, X: Any, y: Any) -> _CatBoost:
        self.model.fit(_in_words(X), y, cat_features=_nominal(X))
        self.classes_ = np.asarray(self.model.classes_).ravel()
        return self

    def predict_proba(self, X: Any) -> Any:
        return self.model.predict_proba(_in_words(X))


def _in_words(X: Any) -> Any:
    return X.assign(
        **{name: X[name].astype(object).where(X[name].notna(), "missing").astype(str) for name in _nominal(X)}
    )


def _imported(name: str) -> Any:
    from importlib import import_module

    try:
        return import_module(name)
    except ImportError as reason:
        raise NotInstalledError(f"{name} is not installed") from reason


MODELS: dict[str, Callable[[int, int], Any]] = {
    "forest": _ours("RandomForestClassifier", calibration="oob"),
    "extra trees": _ours("ExtraTreesClassifier", calibration="oob"),
    "forest, plain": _ours("RandomForestClassifier", calibration=None),
    "extra trees, plain": _ours("ExtraTreesClassifier", calibration=None),
    "sklearn": _forest,
    "sklearn isotonic": _refitted("isotonic"),
    "sklearn sigmoid": _refitted("sigmoid"),
    "sklearn temperature": _refitted("temperature"),
    "sklearn boosting": _boosted,
    "LightGBM": _lightgbm,
    "CatBoost": _catboost,
}
"""Ours and their peers: trees, seed -> an estimator for data frames. Boosting has its own number of trees."""


# ---- the questions -------------------------------------------------------------------------------


@dataclass(frozen=True)
class Measure:
    """One column: probabilities (n, K) and classes (n,) -> a number, and how two models are compared by it."""

    title: str
    of: Callable[[Floats, NDArray[np.int64]], float]
    ratio: bool = False
    larger: bool = False
    scale: float = 1.0

    def gap(self, ours: float, theirs: float) -> float:
        """Difference, or logarithm of the ratio, negative where ours is better."""
        if self.ratio:
            return float(np.log((ours + 1e-4) / (theirs + 1e-4)))
        return self.scale * (theirs - ours if self.larger else ours - theirs)

    def shown(self, gap: float) -> str:
        """A gap as people read it."""
        if self.ratio:
            return f"× {np.exp(gap):.3f}"
        return f"{-gap if self.larger else gap:+.4f}" if self.scale == 1 else f"{-gap if self.larger else gap:+.2f}"


def _brier(probability: Floats, y: NDArray[np.int64]) -> float:
    truth = np.eye(probability.shape[1])[y]
    return float(((probability - truth) ** 2).sum(axis=1).mean())


def _accuracy(probability: Floats, y: NDArray[np.int64]) -> float:
    return float((probability.argmax(axis=1) == y).mean())


def _calibration_error(probability: Floats, y: NDArray[np.int64]) -> float:
    """Mean distance of the largest probability from the share that is right, over bins of as many rows each."""
    sure, right = probability.max(axis=1), probability.argmax(axis=1) == y
    parts = np.array_split(np.argsort(sure, kind="stable"), min(BINS, len(y)))
    return float(sum(abs(sure[part].sum() - right[part].sum()) for part in parts) / len(y))


def _risk_coverage(probability: Floats, y: NDArray[np.int64]) -> float:
    """Area under the error of the surest cases, from few to all; cases that are equally sure share their errors."""
    return float(_errors_by_sureness(probability, y).mean())


def _error_among_surest(probability: Floats, y: NDArray[np.int64]) -> float:
    return float(_errors_by_sureness(probability, y)[max(0, round(SUREST * len(y)) - 1)])


def _errors_by_sureness(probability: Floats, y: NDArray[np.int64]) -> Floats:
    """-> (n,): error among the 1, 2, … n surest cases."""
    sure, wrong = probability.max(axis=1), probability.argmax(axis=1) != y
    levels, level = np.unique(-sure, return_inverse=True)
    shared = np.bincount(level, wrong, len(levels)) / np.bincount(level, minlength=len(levels))
    return shared[np.sort(level)].cumsum() / np.arange(1, len(y) + 1)


def _log_loss(probability: Floats, y: NDArray[np.int64]) -> float:
    return float(log_loss(probability, y, FLOOR).mean())


QUESTIONS = {
    "probabilities": (
        Measure("log-loss", _log_loss),
        Measure("Brier score", _brier),
        Measure("calibration error", _calibration_error),
        Measure("accuracy, points", _accuracy, larger=True, scale=100),
    ),
    "errors found": (
        Measure("risk–coverage", _risk_coverage, ratio=True),
        Measure("error of the 80 % surest, points", _error_among_surest, scale=100),
    ),
}
"""A table for each. A further question is a line here where probabilities answer it."""


# ---- the examination -----------------------------------------------------------------------------


@dataclass
class Found:
    """What the models did on one set: for each measure by title, for each model, the mean over folds."""

    set: str
    rows: int
    classes: int
    folds: int
    scores: dict[str, dict[str, float]] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)


def main(arguments: list[str] | None = None) -> int:
    """Examine all models on all sets, print a table for each question; 1 where a model raised an error."""
    options = _options(arguments)
    quiet()
    try:
        place = folder(options.data)
    except DataNotFoundError as reason:
        print(f"skipped: {reason}")
        return 0
    found, errors = [], []
    for name in _chosen(options, place):
        start = time.monotonic()
        found.append(examine(name, place, options, errors))
        show.progress(f"{name}: {time.monotonic() - start:.1f} s")
        if options.json:
            Path(options.json).write_text(json.dumps([vars(one) for one in found], indent=1) + "\n")
    for question, measures in QUESTIONS.items():
        _print(question, measures, found, options)
    for line in dict.fromkeys(errors):
        print(line)
    return int(any(line.startswith("error") for line in errors))


def halves(place: Path) -> dict[str, list[str]]:
    """Sets of classes by name, every other one: on the first half things are chosen, on the second reported."""
    names = sorted(name for name, about in manifest(place).items() if about["task"] == "classification")
    return {"choose": names[0::2], "report": names[1::2], "all": names}


def examine(name: str, place: Path, options: argparse.Namespace, errors: list[str]) -> Found:
    """All models on the same folds of one set."""
    X, y = table(name, place)
    some = np.linspace(0, len(y) - 1, min(len(y), MOST_ROWS)).astype(np.int64)
    X, labels = X.iloc[some], np.unique(y[some], return_inverse=True)[1]
    measures = [measure for question in QUESTIONS.values() for measure in question]
    folds = list(_folds(labels, max(1, min(options.repeats, ROWS // len(labels)))))
    found = Found(name, len(labels), int(labels.max()) + 1, len(folds), {measure.title: {} for measure in measures})
    for model in options.models:
        scores, start = [], time.monotonic()
        try:
            for seed, (fit, test) in enumerate(folds):
                said = _said(MODELS[model](options.trees, seed), X, labels, fit, test)
                scores.append([measure.of(said, labels[test]) for measure in measures])
        except NotInstalledError as reason:
            errors.append(f"left out: {reason}")
            continue
        except Exception as reason:
            errors.append(f"error: {model} on {name}: {type(reason).__name__}: {reason}")
            continue
        found.seconds[model] = time.monotonic() - start
        for measure, score in zip(measures, np.mean(scores, axis=0), strict=True):
            found.scores[measure.title][model] = float(score)
    return found


def _said(model: Any, X: Any, y: NDArray[np.int64], fit: NDArray[np.int64], test: NDArray[np.int64]) -> Floats:
    """Fit on one part -> probabilities (n, K) of the other."""
    model.fit(X.iloc[fit], y[fit])
    said = np.zeros((len(test), int(y.max()) + 1))
    said[:, np.asarray(model.classes_, dtype=np.int64)] = model.predict_proba(X.iloc[test])
    return said


def _folds(y: NDArray[np.int64], repeats: int) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    from sklearn.model_selection import RepeatedStratifiedKFold

    yield from RepeatedStratifiedKFold(n_splits=FOLDS, n_repeats=repeats, random_state=0).split(y, y)


def _chosen(options: argparse.Namespace, place: Path) -> list[str]:
    """The sets that are asked for, small ones first."""
    about = manifest(place)
    names = options.sets or (QUICK if options.quick else halves(place)[options.half])
    return sorted((n for n in names if int(about[n]["rows"]) <= options.rows), key=lambda n: int(about[n]["rows"]))


def _print(question: str, measures: tuple[Measure, ...], found: list[Found], options: argparse.Namespace) -> None:
    """One table: a line for each model, paired with the reference over sets."""
    title = f"{question}: difference to scikit-learn's forest, {len(found)} sets, {options.trees} trees"
    grid = show.ruled(f"{title} (mean ± standard error over sets; sets that are better; worst)")
    grid.add_column("model")
    for measure in measures:
        for column in (measure.title, "better", "worst"):
            grid.add_column(column, justify="right")
    for model in options.models:
        cells = [cell for measure in measures for cell in _cells(measure, model, found)]
        if any(cells):
            grid.add_row(model, *cells)
    show.console().print(grid)


def _cells(measure: Measure, model: str, found: list[Found]) -> list[str]:
    """Mean difference, sets that are better, and the worst set."""
    both = [one for one in found if {model, REFERENCE} <= one.scores[measure.title].keys()]
    if not both:
        return ["", "", ""]
    scores = [one.scores[measure.title] for one in both]
    if model == REFERENCE:
        return [f"{measure.scale * float(np.mean([score[model] for score in scores])):.4g}", "", ""]
    gaps = [measure.gap(score[model], score[REFERENCE]) for score in scores]
    mean, error = overall(gaps)
    worst = int(np.argmax(gaps))
    spread = f"{error:.3f}" if measure.ratio or measure.scale == 1 else f"{error:.2f}"
    better = f"{sum(gap < 0 for gap in gaps)} of {len(gaps)}"
    return [f"{measure.shown(mean)} ± {spread}", better, f"{measure.shown(gaps[worst])} {both[worst].set}"]


def _options(arguments: list[str] | None) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.doubt", description=__doc__.splitlines()[0])
    parser.add_argument("--data", metavar="DIR", help="folder of data sets (else HEDGEROW_DATA, else ../shared/data)")
    parser.add_argument("--half", choices=("choose", "report", "all"), default="report", help="of the sets of classes")
    parser.add_argument("--sets", nargs="+", metavar="NAME", help="these instead")
    parser.add_argument("--models", nargs="+", metavar="NAME", choices=list(MODELS), help="these, and the reference")
    parser.add_argument("--rows", type=int, default=60_000, help="leave out larger sets")
    parser.add_argument("--repeats", type=int, default=4, help=f"of {FOLDS}-fold cross-validation; fewer on large sets")
    parser.add_argument("--trees", type=int, default=100)
    parser.add_argument("--quick", action="store_true", help="seven small sets, four models: two minutes")
    parser.add_argument("--json", metavar="FILE", help="write all scores to a file, set by set")
    options = parser.parse_args(arguments)
    asked = options.models or (QUICK_MODELS if options.quick else MODELS)
    options.models = [name for name in MODELS if name in asked or name == REFERENCE]
    if options.quick:
        options.repeats = min(options.repeats, 2)
    return options


if __name__ == "__main__":
    sys.exit(main())
