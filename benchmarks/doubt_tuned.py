"""Tuned peers of `benchmarks.doubt`: a random search by cross-validation inside the training rows, then calibration.

All searches minimise the log-loss of `FOLDS`-fold cross-validation. They try the defaults, then random draws of
parameters, until `SECONDS` of processor time or `DRAWS` draws are used up; the last draw is finished. The final fit on
all rows is not part of the budget. Boosting is calibrated by the temperature that is best for the held-out folds of the
best draw, which costs no further fit.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.accuracy import _encoded, _nominal
from benchmarks.doubt_kit import NotSuitedError, imported

FOLDS, DRAWS, SECONDS, FEWEST = 3, 20, 5.0, 5
"""Folds, draws and processor seconds of a search; smallest class that has rows in every fold."""
SHARE = 1e-6
"""Probabilities are raised to this before their logarithm, when a search compares draws."""
BOOSTING: dict[str, Mapping[str, Sequence[Any]]] = {
    "LightGBM": {
        "n_estimators": (50, 100, 200),
        "learning_rate": (0.02, 0.05, 0.1),
        "num_leaves": (7, 15, 31),
        "min_child_samples": (5, 20, 50),
        "colsample_bytree": (0.5, 1.0),
        "reg_lambda": (0.0, 1.0, 10.0),
    },
    "CatBoost": {
        "iterations": (100, 300),
        "learning_rate": (0.03, 0.1),
        "depth": (4, 6),
        "l2_leaf_reg": (1.0, 3.0, 10.0),
    },
}
FOREST: dict[str, Sequence[Any]] = {"min_samples_leaf": (1, 2, 5, 10), "max_features": ("sqrt", 0.5, 1.0)}


class Tuned:
    """A model whose parameters are searched, with or without calibration of the best one."""

    def __init__(self, make: Any, space: Mapping[str, Sequence[Any]], seed: int, *, calibrated: bool) -> None:
        self.make, self.space, self.seed, self.calibrated = make, space, seed, calibrated

    def fit(self, X: Any, y: NDArray[Any]) -> Tuned:
        """Search, then fit the best on all rows, and choose its temperature if asked to."""
        if np.bincount(y).min() < FEWEST:
            raise NotSuitedError(f"a class has fewer than {FEWEST} rows")
        start, best, rng = time.process_time(), (np.inf, {}, np.empty(0)), np.random.default_rng(self.seed)
        for draw in range(DRAWS):
            given = {name: values[rng.integers(len(values))] for name, values in self.space.items()} if draw else {}
            held_out = self._held_out(given, X, y)
            loss = _loss(held_out, y, 1.0)
            if loss < best[0]:
                best = loss, given, held_out
            if time.process_time() - start > SECONDS:
                break
        self.temperature = _temperature(best[2], y) if self.calibrated else 1.0
        self.model = self.make(**best[1]).fit(X, y)
        self.classes_ = self.model.classes_
        return self

    def predict_proba(self, X: Any) -> NDArray[Any]:
        """Probabilities (n, K)."""
        return _sharpened(np.asarray(self.model.predict_proba(X)), self.temperature)

    def _held_out(self, given: dict[str, Any], X: Any, y: NDArray[Any]) -> NDArray[Any]:
        """Probabilities of all rows (n, K) by models that have not seen them."""
        from sklearn.model_selection import StratifiedKFold

        held_out = np.empty((len(y), int(y.max()) + 1))
        for fit, test in StratifiedKFold(FOLDS, shuffle=True, random_state=self.seed).split(X, y):
            held_out[test] = self.make(**given).fit(X.iloc[fit], y[fit]).predict_proba(X.iloc[test])
        return held_out


def _temperature(probability: NDArray[Any], y: NDArray[Any]) -> float:
    """Factor of the log-probabilities, from a twentieth to 20, with the least log-loss."""
    from scipy.optimize import minimize_scalar

    found = minimize_scalar(lambda log: _loss(probability, y, np.exp(log)), bounds=(-3, 3), method="bounded")
    return float(np.exp(found.x))


def _loss(probability: NDArray[Any], y: NDArray[Any], temperature: float) -> float:
    """Mean log-loss of sharpened probabilities (n, K)."""
    shares = _sharpened(probability, temperature)[np.arange(len(y)), y]
    return float(-np.log(np.maximum(shares, SHARE)).mean())


def _sharpened(probability: NDArray[Any], temperature: float) -> NDArray[Any]:
    """Shares (n, K) in proportion to a power of probabilities."""
    shares = np.maximum(probability, SHARE) ** temperature
    return np.asarray(shares / shares.sum(axis=1, keepdims=True))


class CatBoost:
    """CatBoost wants names of nominal columns, and words in all of their cells."""

    def __init__(self, library: Any, seed: int, kind: str = "CatBoostClassifier", **given: Any) -> None:
        quiet = {"random_seed": seed, "thread_count": 1, "verbose": False, "allow_writing_files": False}
        self.model = getattr(library, kind)(**quiet, **given)

    def fit(self, X: Any, y: Any) -> CatBoost:
        """Fit to a frame."""
        self.model.fit(_in_words(X), y, cat_features=_nominal(X))
        self.classes_ = np.asarray(self.model.classes_).ravel()  # empty for numbers
        return self

    def predict(self, X: Any) -> Any:
        """Targets (n,)."""
        return self.model.predict(_in_words(X))

    def predict_proba(self, X: Any) -> Any:
        """Probabilities (n, K)."""
        return self.model.predict_proba(_in_words(X))


def _in_words(X: Any) -> Any:
    return X.assign(
        **{name: X[name].astype(object).where(X[name].notna(), "missing").astype(str) for name in _nominal(X)}
    )


def tuned_forest(trees: int, seed: int) -> Tuned:
    """scikit-learn's forest with leaf size and features by cross-validation."""
    from sklearn.ensemble import RandomForestClassifier

    def make(**given: Any) -> Any:
        return _encoded(RandomForestClassifier(trees, random_state=seed, **given), "onehot")

    return Tuned(make, FOREST, seed, calibrated=False)


def tuned_lightgbm(trees: int, seed: int) -> Tuned:
    """LightGBM, tuned and calibrated by a temperature."""
    library = imported("lightgbm")

    def make(**given: Any) -> Any:
        return library.LGBMClassifier(random_state=seed, n_jobs=1, verbose=-1, **given)

    return Tuned(make, BOOSTING["LightGBM"], seed, calibrated=True)


def tuned_catboost(trees: int, seed: int) -> Tuned:
    """CatBoost, tuned and calibrated by a temperature."""
    library = imported("catboost")
    return Tuned(lambda **given: CatBoost(library, seed, **given), BOOSTING["CatBoost"], seed, calibrated=True)


def boosted_additive(trees: int, seed: int) -> Any:
    """The explainable boosting machine of interpret, with its defaults."""
    return imported("interpret.glassbox").ExplainableBoostingClassifier(random_state=seed, n_jobs=1)


class VennAbersOutOfBag:
    """Venn–Abers on the out-of-bag shares of scikit-learn's forest, which then grows on all rows."""

    def __init__(self, library: Any, trees: int, seed: int) -> None:
        self.library, self.trees, self.seed = library, trees, seed

    def fit(self, X: Any, y: NDArray[Any]) -> VennAbersOutOfBag:
        """Grow the forest, and keep its out-of-bag shares."""
        from sklearn.ensemble import RandomForestClassifier

        forest = RandomForestClassifier(self.trees, oob_score=True, random_state=self.seed)
        self.model = _encoded(forest, "onehot").fit(X, y)
        self.classes_ = self.model.classes_
        shares = forest.oob_decision_function_
        judged = ~np.isnan(shares).any(axis=1)
        self.known = shares[judged], y[judged]
        return self

    def predict_proba(self, X: Any) -> Any:
        """Probabilities (n, K)."""
        said = self.model.predict_proba(X)
        return self.library.VennAbersCalibrator().predict_proba(p_cal=self.known[0], y_cal=self.known[1], p_test=said)


def venn_abers_out_of_bag(trees: int, seed: int) -> VennAbersOutOfBag:
    """Venn–Abers on out-of-bag shares."""
    return VennAbersOutOfBag(imported("venn_abers"), trees, seed)
