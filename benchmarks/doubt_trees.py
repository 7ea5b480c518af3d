"""Trees: real tables of classes and the same folds for all -> what more trees of a mixed forest cost, and gain."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmarks.doubt_kit import Measure, Rows, Study, Table, classes_of
from benchmarks.doubt_probabilities import accuracy, halves, log_loss_of, risk_coverage, sklearn_forest

Floats = NDArray[np.float64]

NUMBERS = (50, 100, 300, 600)
"""Trees of mixed forests; those of ``--trees`` are a hundred here."""


class Told(NamedTuple):
    """Probabilities and sets of u80, (n, K) each; processor seconds of fit and prediction, bytes."""

    probability: Floats
    sets: NDArray[np.bool_]
    seconds: float
    bytes: float


def told(model: Any, X: Any, y: Rows, fit: Rows, test: Rows) -> Told:
    """Fit on one part -> what is told of the other, and costs."""
    from hedgerow import decide

    start = time.process_time()
    model.fit(X.iloc[fit], y[fit])
    classes, shape = np.asarray(model.classes_, dtype=np.int64), (len(test), int(y.max()) + 1)
    probability, sets = np.zeros(shape), np.zeros(shape, dtype=bool)
    probability[:, classes] = model.predict_proba(X.iloc[test])
    seconds = time.process_time() - start
    sets[:, classes] = decide(_as_opinion(probability[:, classes]), "u80")
    return Told(probability, sets, seconds, _bytes(model))


def _as_opinion(probability: Floats) -> Any:
    """Probabilities as an opinion without ignorance, so that the sets of all models follow from probabilities alone."""
    from types import SimpleNamespace

    return SimpleNamespace(lower=probability, upper=probability, probability=probability)


def _bytes(model: Any) -> float:
    """Bytes of the model file, of ours only."""
    from io import BytesIO

    from hedgerow import save

    if not hasattr(model, "predict_set"):
        return np.nan
    kept = BytesIO()
    save(model, kept)
    return float(len(kept.getvalue()))


def _mixed(number: int) -> Callable[[int, int], Any]:
    def make(trees: int, seed: int) -> Any:
        from hedgerow import MixedForestClassifier

        return MixedForestClassifier(max(3, number * trees // 100), random_state=seed)

    return make


def _forest(number: int) -> Callable[[int, int], Any]:
    def make(trees: int, seed: int) -> Any:
        from hedgerow import RandomForestClassifier

        return RandomForestClassifier(number * trees // 100, random_state=seed)

    return make


def _sklearn(number: int) -> Callable[[int, int], Any]:
    return lambda trees, seed: sklearn_forest(number * trees // 100, seed)


MODELS: dict[str, Callable[[int, int], Any]] = {
    "sklearn, 100": _sklearn(100),
    "sklearn, 300": _sklearn(300),
    "forest, 100": _forest(100),
    "forest, 300": _forest(300),
} | {f"mixed forest, {number}": _mixed(number) for number in NUMBERS}


# ---- the measures --------------------------------------------------------------------------------


def _u80(said: Told, y: Rows) -> float:
    from hedgerow.metrics import u80

    return float(u80(y, said.sets, classes=np.arange(said.sets.shape[1])))


_OURS = tuple(f"mixed forest, {number}" for number in (300, 50, 100, 600))
STUDY = Study(
    tables={
        "trees": (
            Table(
                "trees of a mixed forest",
                (
                    Measure("log-loss", lambda said, y: log_loss_of(said.probability, y)),
                    Measure("risk–coverage", lambda said, y: risk_coverage(said.probability, y), how="ratio"),
                    Measure("accuracy, points", lambda said, y: accuracy(said.probability, y), larger=True, scale=100),
                    Measure("u80, points", _u80, larger=True, scale=100),
                    Measure("time of fit and prediction", lambda said, y: said.seconds, how="ratio"),
                    Measure("file, MB", lambda said, y: said.bytes / 1e6, how="level"),
                ),
                tuple(MODELS),
                "sklearn, 100",
                _OURS,
            ),
        )
    },
    models=MODELS,
    ask=told,
    halves=halves,
    truth=classes_of,
    quick_sets=("glass", "heart-statlog"),
    quick_models=("sklearn, 100", "mixed forest, 50", "mixed forest, 100"),
)
