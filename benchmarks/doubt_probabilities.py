"""Probabilities: real tables of classes, the same folds for all -> how good they are, and if doubt finds errors."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.accuracy import _encoded
from benchmarks.data import manifest
from benchmarks.doubt_kit import Measure, NotSuitedError, Rows, Study, Table, classes_of, every_other, imported
from benchmarks.doubt_tuned import (
    CatBoost,
    boosted_additive,
    tuned_catboost,
    tuned_forest,
    tuned_lightgbm,
    venn_abers_out_of_bag,
)
from benchmarks.measure import log_loss

Floats = NDArray[np.float64]

FLOOR = 0.0025
"""Shares of all are raised to this before the logarithm."""
BINS = 15
"""Of the calibration error."""
SUREST = 0.8
"""Share of the cases that are decided, where the error among the surest is asked."""


def halves(place: Path) -> dict[str, list[str]]:
    """Sets of classes by name, every other one: on the first half things are chosen, on the second reported."""
    return every_other([name for name, about in manifest(place).items() if about["task"] == "classification"])


def probabilities(model: Any, X: Any, y: Rows, fit: Rows, test: Rows) -> Floats:
    """Fit on one part -> probabilities (n, K) of the other."""
    model.fit(X.iloc[fit], y[fit])
    said = np.zeros((len(test), int(y.max()) + 1))
    said[:, np.asarray(model.classes_, dtype=np.int64)] = model.predict_proba(X.iloc[test])
    return said


# ---- the models ----------------------------------------------------------------------------------


def _ours(kind: str, **options: Any) -> Callable[[int, int], Any]:
    def make(trees: int, seed: int) -> Any:
        import hedgerow

        return getattr(hedgerow, kind)(trees, bootstrap=True, random_state=seed, **options)

    return make


def _mixed(trees: int, seed: int) -> Any:
    """A mixed forest with as many trees of each of its three kinds."""
    from hedgerow import MixedForestClassifier

    return MixedForestClassifier(3 * trees, random_state=seed)


def sklearn_forest(trees: int, seed: int) -> Any:
    """scikit-learn's forest, nominal columns one-hot encoded."""
    from sklearn.ensemble import RandomForestClassifier

    return _encoded(RandomForestClassifier(trees, random_state=seed), "onehot")


def _refitted(method: str) -> Callable[[int, int], Any]:
    """scikit-learn's forest in its own calibration: four further forests, each judged on a fourth of the rows."""

    def make(trees: int, seed: int) -> Any:
        from sklearn.calibration import CalibratedClassifierCV

        return CalibratedClassifierCV(sklearn_forest(trees, seed), method=method, cv=4)

    return make


def _boosted(trees: int, seed: int) -> Any:
    from sklearn.ensemble import HistGradientBoostingClassifier

    return HistGradientBoostingClassifier(random_state=seed, categorical_features="from_dtype")


def _lightgbm(trees: int, seed: int) -> Any:
    return imported("lightgbm").LGBMClassifier(random_state=seed, n_jobs=1, verbose=-1)


def _catboost(trees: int, seed: int) -> Any:
    return CatBoost(imported("catboost"), seed)


def _venn_abers(trees: int, seed: int) -> Any:
    return _VennAbers(imported("venn_abers"), trees, seed)


class _VennAbers:
    """Inductive Venn–Abers: scikit-learn's forest on four fifths of the rows, the rest to calibrate it."""

    def __init__(self, library: Any, trees: int, seed: int) -> None:
        self.library, self.trees, self.seed = library, trees, seed

    def fit(self, X: Any, y: Any) -> _VennAbers:
        from sklearn.model_selection import train_test_split

        if np.bincount(y).min() < 5:
            raise NotSuitedError("a class has fewer than five rows")
        fit, rest = train_test_split(np.arange(len(y)), test_size=0.2, stratify=y, random_state=self.seed)
        self.forest = sklearn_forest(self.trees, self.seed).fit(X.iloc[fit], y[fit])
        self.classes_ = self.forest.classes_
        self.known = self.forest.predict_proba(X.iloc[rest]), y[rest]
        return self

    def predict_proba(self, X: Any) -> Any:
        said = self.forest.predict_proba(X)
        return self.library.VennAbersCalibrator().predict_proba(p_cal=self.known[0], y_cal=self.known[1], p_test=said)


MODELS: dict[str, Callable[[int, int], Any]] = {
    "forest": _ours("RandomForestClassifier", calibration="oob"),
    "extra trees": _ours("ExtraTreesClassifier", calibration="oob"),
    "mixed forest": _mixed,
    "forest, plain": _ours("RandomForestClassifier", calibration=None),
    "extra trees, plain": _ours("ExtraTreesClassifier", calibration=None),
    "sklearn": sklearn_forest,
    "sklearn isotonic": _refitted("isotonic"),
    "sklearn sigmoid": _refitted("sigmoid"),
    "sklearn temperature": _refitted("temperature"),
    "sklearn boosting": _boosted,
    "LightGBM": _lightgbm,
    "CatBoost": _catboost,
    "venn-abers": _venn_abers,
    "venn-abers, out of bag": venn_abers_out_of_bag,
    "sklearn, tuned": tuned_forest,
    "LightGBM, tuned and calibrated": tuned_lightgbm,
    "CatBoost, tuned and calibrated": tuned_catboost,
    "EBM": boosted_additive,
}
"""Ours and their peers: trees, seed -> an estimator for data frames. Boosting has its own number of trees."""


# ---- the measures --------------------------------------------------------------------------------


def _brier(probability: Floats, y: Rows) -> float:
    truth = np.eye(probability.shape[1])[y]
    return float(((probability - truth) ** 2).sum(axis=1).mean())


def accuracy(probability: Floats, y: Rows) -> float:
    return float((probability.argmax(axis=1) == y).mean())


def _calibration_error(probability: Floats, y: Rows) -> float:
    """Mean distance of the largest probability from the share that is right, over bins of as many rows each."""
    sure, right = probability.max(axis=1), probability.argmax(axis=1) == y
    parts = np.array_split(np.argsort(sure, kind="stable"), min(BINS, len(y)))
    return float(sum(abs(sure[part].sum() - right[part].sum()) for part in parts) / len(y))


def risk_coverage(probability: Floats, y: Rows) -> float:
    """Area under the error of the surest cases, from few to all; cases that are equally sure share their errors."""
    return float(_errors_by_sureness(probability, y).mean())


def _error_among_surest(probability: Floats, y: Rows) -> float:
    return float(_errors_by_sureness(probability, y)[max(0, round(SUREST * len(y)) - 1)])


def _errors_by_sureness(probability: Floats, y: Rows) -> Floats:
    """-> (n,): error among the 1, 2, … n surest cases."""
    sure, wrong = probability.max(axis=1), probability.argmax(axis=1) != y
    levels, level = np.unique(-sure, return_inverse=True)
    shared = np.bincount(level, wrong, len(levels)) / np.bincount(level, minlength=len(levels))
    return shared[np.sort(level)].cumsum() / np.arange(1, len(y) + 1)


def log_loss_of(probability: Floats, y: Rows) -> float:
    return float(log_loss(probability, y, FLOOR).mean())


_OURS = ("forest", "extra trees", "mixed forest", "forest, plain", "extra trees, plain")
STUDY = Study(
    tables={
        "probabilities": (
            Table(
                "probabilities",
                (
                    Measure("log-loss", log_loss_of),
                    Measure("Brier score", _brier),
                    Measure("calibration error", _calibration_error),
                    Measure("accuracy, points", accuracy, larger=True, scale=100),
                ),
                tuple(MODELS),
                "sklearn",
                _OURS,
            ),
        ),
        "errors": (
            Table(
                "errors found",
                (
                    Measure("risk–coverage", risk_coverage, how="ratio"),
                    Measure("error of the 80 % surest, points", _error_among_surest, scale=100),
                ),
                tuple(MODELS),
                "sklearn",
                _OURS,
            ),
        ),
    },
    models=MODELS,
    ask=probabilities,
    halves=halves,
    truth=classes_of,
    quick_sets=("glass", "heart-statlog", "vehicle-silhouettes", "vowel", "tic-tac-toe", "dermatology"),
    quick_models=("forest", "extra trees", "sklearn", "sklearn isotonic"),
)
