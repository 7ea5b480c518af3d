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
from benchmarks.doubt_tuned import CatBoost

Floats = NDArray[np.float64]

LEVELS = (np.arange(200) + 0.5) / 200


class Told(NamedTuple):
    """Atoms of each row, (n, 200), predictions (n,), and the seconds of fit and prediction."""

    atoms: Floats
    predicted: Floats
    seconds: float


def distributions(model: Any, X: Any, y: Floats, fit: Rows, test: Rows) -> Told:
    """Fit on one part -> distributions of the other."""
    start = time.perf_counter()
    given = model(X.iloc[fit], y[fit], X.iloc[test])
    atoms, predicted = given if isinstance(given, tuple) else (given, np.mean(given, axis=1))
    seconds = time.perf_counter() - start
    return Told(np.sort(np.asarray(atoms, dtype=np.float64), axis=1), np.asarray(predicted), seconds)


# ---- the models: training rows, their numbers, rows to ask about -> atoms (n, 200) -------------------------


def _ours(method: str, kind: str = "RandomForestRegressor", **options: Any) -> Callable[[int, int], Any]:
    def make(trees: int, seed: int) -> Any:
        import hedgerow

        def answer(X: Any, y: Floats, asked: Any) -> Any:
            forest = getattr(hedgerow, kind)(trees, n_jobs=2, random_state=seed, **options).fit(X, y)
            return forest.predict_distribution(asked, method=method).ppf(LEVELS), forest.predict(asked)

        return answer

    return make


def _with_residuals(make: Callable[[int], Any]) -> Callable[[int, int], Any]:
    """A point model with its defaults: residuals of three-fold cross-validation around its predictions."""

    def of_seed(trees: int, seed: int) -> Any:
        def answer(X: Any, y: Floats, asked: Any) -> Any:
            from sklearn.model_selection import KFold

            left = np.empty(len(y))
            for fit, rest in KFold(3, shuffle=True, random_state=seed).split(y):
                left[rest] = y[rest] - make(seed).fit(X.iloc[fit], y[fit]).predict(X.iloc[rest])
            predicted = np.asarray(make(seed).fit(X, y).predict(asked))
            return predicted[:, None] + np.quantile(left, LEVELS), predicted

        return answer

    return of_seed


def _lightgbm(seed: int) -> Any:
    return imported("lightgbm").LGBMRegressor(random_state=seed, n_jobs=1, verbose=-1)


def _catboost(seed: int) -> Any:
    return CatBoost(imported("catboost"), seed, "CatBoostRegressor")


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
    "extra trees": _ours("scaled", "ExtraTreesRegressor", bootstrap=True),
    "mixed forest": _ours("scaled", "MixedForestRegressor"),
    "LightGBM": _with_residuals(_lightgbm),
    "CatBoost": _with_residuals(_catboost),
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


def _unexplained(told: Told, y: Floats) -> float:
    """One minus R²."""
    return float(np.mean((y - told.predicted) ** 2) / np.var(y))


def _r2(told: Told, y: Floats) -> float:
    return 1 - _unexplained(told, y)


def _seconds(told: Told, y: Floats) -> float:
    return told.seconds


STUDY = Study(
    tables={
        "distributions": (
            Table(
                "distributions of targets",
                (
                    Measure("CRPS", _score, how="ratio"),
                    Measure("unexplained variance", _unexplained, how="ratio"),
                    Measure("R²", _r2, larger=True),
                    Measure("time", _seconds, how="ratio"),
                ),
                tuple(MODELS),
                "forest, scaled",
                ("mixed forest", "forest, scaled", "forest, leaves", "extra trees"),
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
