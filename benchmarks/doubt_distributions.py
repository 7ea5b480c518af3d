"""Distributions: real tables of numbers and the same folds for all -> CRPS and time beside other libraries.

Every model tells 200 quantiles (treeffuser: draws) of each row, which are scored as equal atoms.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmarks.doubt_intervals import _on_numbers, halves
from benchmarks.doubt_kit import Measure, Rows, Study, Table, imported

Floats = NDArray[np.float64]

LEVELS = (np.arange(200) + 0.5) / 200


class Told(NamedTuple):
    """Atoms of each row, (n, 200), and the seconds of fit and prediction."""

    atoms: Floats
    seconds: float


def distributions(model: Any, X: Any, y: Floats, fit: Rows, test: Rows) -> Told:
    """Fit on one part -> distributions of the other."""
    start = time.perf_counter()
    atoms = np.asarray(model(X.iloc[fit], y[fit], X.iloc[test]), dtype=np.float64)
    return Told(np.sort(atoms, axis=1), time.perf_counter() - start)


# ---- the models: training rows, their numbers, rows to ask about -> atoms (n, 200) -------------------------


def _ours(method: str) -> Callable[[int, int], Any]:
    def make(trees: int, seed: int) -> Any:
        from hedgerow import RandomForestRegressor

        return lambda X, y, asked: (
            RandomForestRegressor(trees, n_jobs=2, random_state=seed)
            .fit(X, y)
            .predict_distribution(asked, method=method)
            .ppf(LEVELS)
        )

    return make


def _quantile_forest(trees: int, seed: int) -> Any:
    kind = imported("quantile_forest").RandomForestQuantileRegressor
    return _on_numbers(
        lambda X, y, asked: kind(trees, n_jobs=2, random_state=seed).fit(X, y).predict(asked, LEVELS.tolist())
    )


def _crepes(trees: int, seed: int) -> Any:
    """Conformal predictive systems of scikit-learn's forest out of bag, normalised by the variance between trees."""
    library, extras = imported("crepes"), imported("crepes.extras")

    def answer(X: Floats, y: Floats, asked: Floats) -> Any:
        from sklearn.ensemble import RandomForestRegressor

        model = library.WrapRegressor(RandomForestRegressor(trees, oob_score=True, n_jobs=2, random_state=seed))
        model.fit(X, y)
        difficulty = extras.DifficultyEstimator()
        difficulty.fit(X=X, learner=model.learner, scaler=True, oob=True)
        model.calibrate(X, y, de=difficulty, oob=True, cps=True, seed=seed)
        return np.quantile(np.asarray(model.predict_cpds(asked)), LEVELS, axis=1).T

    return _on_numbers(answer)


def _ngboost(trees: int, seed: int) -> Any:
    """Normal distributions by natural gradient boosting, with the defaults of the library."""
    kind = imported("ngboost").NGBRegressor

    def answer(X: Floats, y: Floats, asked: Floats) -> Any:
        found = kind(random_state=seed, verbose=False).fit(X, y).pred_dist(asked)
        return np.stack([found.ppf(level) for level in LEVELS], axis=1)

    return _on_numbers(answer)


def _treeffuser(trees: int, seed: int) -> Any:
    """Diffusion by gradient-boosted trees, with the defaults of the library."""
    kind = imported("treeffuser").Treeffuser

    def answer(X: Floats, y: Floats, asked: Floats) -> Any:
        model = kind(seed=seed, n_jobs=2).fit(X, y)
        return np.asarray(model.sample(asked, n_samples=len(LEVELS), seed=seed)).reshape(len(LEVELS), len(asked)).T

    return _on_numbers(answer)


MODELS: dict[str, Callable[[int, int], Any]] = {
    "forest, scaled": _ours("scaled"),
    "forest, leaves": _ours("leaves"),
    "quantile-forest": _quantile_forest,
    "crepes, predictive system": _crepes,
    "NGBoost": _ngboost,
    "treeffuser": _treeffuser,
}


# ---- the measures --------------------------------------------------------------------------------


def _score(told: Told, y: Floats) -> float:
    """CRPS divided by the standard deviation of the targets."""
    from hedgerow.metrics import crps

    return crps(y, told.atoms) / float(np.std(y))


def _seconds(told: Told, y: Floats) -> float:
    return told.seconds


STUDY = Study(
    tables={
        "distributions": (
            Table(
                "distributions of targets",
                (Measure("CRPS", _score, how="ratio"), Measure("time", _seconds, how="ratio")),
                tuple(MODELS),
                "forest, scaled",
                ("forest, scaled", "forest, leaves"),
            ),
        )
    },
    models=MODELS,
    ask=distributions,
    halves=halves,
    truth=lambda y: y.astype(np.float64),
    quick_sets=("energy-heating", "boston-housing", "airfoil"),
    quick_models=("forest, scaled", "forest, leaves", "quantile-forest"),
)
