"""Intervals: real tables of numbers and the same folds for all -> whether intervals cover, and how wide they are."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.accuracy import _encoded
from benchmarks.data import manifest
from benchmarks.doubt_kit import Measure, Rows, Study, Table, imported

Floats = NDArray[np.float64]

COVERAGE = 0.9
CALIBRATED_ON = 0.3
"""Share of the rows that peers set aside."""
EDGES = [0.05, 0.95]


def halves(place: Path) -> dict[str, list[str]]:
    """Sets of numbers by name: on every third things are chosen, the others are reported."""
    names = sorted(name for name, about in manifest(place).items() if about["task"] == "regression")
    return {"choose": names[2::3], "report": [name for name in names if name not in names[2::3]], "all": names}


def intervals(model: Any, X: Any, y: Floats, fit: Rows, test: Rows) -> Floats:
    """Fit on one part -> intervals (n, 2) of the other."""
    said: Floats = np.asarray(model(X.iloc[fit], y[fit], X.iloc[test]), dtype=np.float64)
    return np.sort(said, axis=1)


# ---- the models: training rows, their numbers, rows to ask about -> intervals (n, 2) ----------------


def _ours(**options: Any) -> Callable[[int, int], Any]:
    def make(trees: int, seed: int) -> Any:
        from hedgerow import RandomForestRegressor

        def answer(X: Any, y: Floats, asked: Any) -> Any:
            forest = RandomForestRegressor(trees, random_state=seed).fit(X, y)
            return forest.predict_interval(asked, COVERAGE, **options)

        return answer

    return make


def _our_quantiles(trees: int, seed: int) -> Any:
    from hedgerow import RandomForestRegressor

    return lambda X, y, asked: RandomForestRegressor(trees, random_state=seed).fit(X, y).predict_quantiles(asked, EDGES)


def _quantile_forest(trees: int, seed: int) -> Any:
    kind = imported("quantile_forest").RandomForestQuantileRegressor
    return _on_numbers(lambda X, y, asked: kind(trees, random_state=seed).fit(X, y).predict(asked, EDGES))


def _mapie_quantiles(trees: int, seed: int) -> Any:
    """Conformalised quantile regression with three boosted models."""
    library = imported("mapie.regression")

    def answer(X: Floats, y: Floats, asked: Floats) -> Any:
        from sklearn.ensemble import HistGradientBoostingRegressor

        fit, rest = _set_aside(y, seed)
        levels = ((1 - COVERAGE) / 2, (1 + COVERAGE) / 2, 0.5)
        models = [
            HistGradientBoostingRegressor(loss="quantile", quantile=level, random_state=seed).fit(X[fit], y[fit])
            for level in levels
        ]
        model = library.ConformalizedQuantileRegressor(models, confidence_level=COVERAGE, prefit=True)
        return model.conformalize(X[rest], y[rest]).predict_interval(asked)[1][:, :, 0]

    return _on_numbers(answer)


def _mapie_cross(trees: int, seed: int) -> Any:
    """CV+ of scikit-learn's forest."""
    library = imported("mapie.regression")

    def answer(X: Floats, y: Floats, asked: Floats) -> Any:
        from sklearn.ensemble import RandomForestRegressor

        forest = RandomForestRegressor(trees, random_state=seed)
        model = library.CrossConformalRegressor(forest, confidence_level=COVERAGE, cv=5, random_state=seed)
        return model.fit_conformalize(X, y).predict_interval(asked)[1][:, :, 0]

    return _on_numbers(answer)


def _crepes(trees: int, seed: int) -> Any:
    """crepes on out-of-bag rows, normalised by the variance between trees."""
    library, extras = imported("crepes"), imported("crepes.extras")

    def answer(X: Floats, y: Floats, asked: Floats) -> Any:
        from sklearn.ensemble import RandomForestRegressor

        model = library.WrapRegressor(RandomForestRegressor(trees, oob_score=True, random_state=seed))
        model.fit(X, y)
        difficulty = extras.DifficultyEstimator()
        difficulty.fit(X=X, learner=model.learner, scaler=True, oob=True)
        model.calibrate(X, y, de=difficulty, oob=True)
        return model.predict_int(asked, confidence=COVERAGE)

    return _on_numbers(answer)


def _on_numbers(answer: Callable[[Floats, Floats, Floats], Any]) -> Callable[[Any, Floats, Any], Any]:
    """A model of arrays without gaps -> a model of data frames: one-hot encoded, medians for missing values."""

    def asked_of_frames(X: Any, y: Floats, asked: Any) -> Any:
        from sklearn.impute import SimpleImputer
        from sklearn.pipeline import make_pipeline

        columns = make_pipeline(_encoded(SimpleImputer(strategy="median"), "onehot")).fit(X)
        return answer(columns.transform(X), y, columns.transform(asked))

    return asked_of_frames


def _set_aside(y: Floats, seed: int) -> tuple[Rows, Rows]:
    from sklearn.model_selection import train_test_split

    fit, rest = train_test_split(np.arange(len(y)), test_size=CALIBRATED_ON, random_state=seed)
    return fit, rest


MODELS: dict[str, Callable[[int, int], Any]] = {
    "forest": _ours(),
    "forest, quantiles": _our_quantiles,
    "quantile-forest": _quantile_forest,
    "MAPIE CQR": _mapie_quantiles,
    "MAPIE CV+": _mapie_cross,
    "crepes": _crepes,
}


# ---- the measures --------------------------------------------------------------------------------


def _score(said: Floats, y: Floats) -> float:
    """Mean interval score (Gneiting and Raftery 2007): the width, and 20 times how far targets lie outside."""
    lower, upper = said.T
    outside = np.maximum(lower - y, 0) + np.maximum(y - upper, 0)
    return float((upper - lower + 2 / (1 - COVERAGE) * outside).mean())


def _width(said: Floats, y: Floats) -> float:
    return float((said[:, 1] - said[:, 0]).mean())


def _coverage(said: Floats, y: Floats) -> float:
    return float(((said[:, 0] <= y) & (y <= said[:, 1])).mean())


def _coverage_of_widest(said: Floats, y: Floats) -> float:
    """Coverage in the third of the rows with the widest intervals; of equal widths, the first rows."""
    widest = np.argsort(said[:, 0] - said[:, 1], kind="stable")[: max(1, len(y) // 3)]
    return _coverage(said[widest], y[widest])


STUDY = Study(
    tables={
        "intervals": (
            Table(
                f"intervals that promise to hold {COVERAGE:.0%}",
                (
                    Measure("interval score", _score, how="ratio"),
                    Measure("width", _width, how="ratio"),
                    Measure("coverage", _coverage, how="level"),
                    Measure("coverage in the widest third", _coverage_of_widest, how="level"),
                ),
                tuple(MODELS),
                "quantile-forest",
                ("forest", "forest, quantiles"),
            ),
        )
    },
    models=MODELS,
    ask=intervals,
    halves=halves,
    truth=lambda y: y.astype(np.float64),
    quick_sets=("energy-heating", "boston-housing", "airfoil"),
    quick_models=("forest", "quantile-forest", "MAPIE CQR", "crepes"),
)
