"""Tuned peers of `benchmarks.doubt`: a search by cross-validation inside the training rows, then calibration.

All searches minimise the log-loss of `FOLDS`-fold cross-validation over `DRAWS` draws of parameters, the defaults among
them. A tuned model fits ``DRAWS * FOLDS + 1`` times, and ``CALIBRATION_FOLDS`` times more where it is calibrated.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.accuracy import _encoded
from benchmarks.doubt_kit import NotSuitedError, imported

FOLDS, CALIBRATION_FOLDS, DRAWS, FEWEST = 3, 4, 6, 5
"""Folds of the search and of the calibration; draws of parameters; smallest class that has rows in every fold."""
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
        """Search, then fit the best on all rows, and calibrate it if asked to."""
        from sklearn.calibration import CalibratedClassifierCV

        if np.bincount(y).min() < FEWEST:
            raise NotSuitedError(f"a class has fewer than {FEWEST} rows")
        best = min(self._draws(), key=lambda given: self._loss(given, X, y))
        self.model = self.make(**best)
        if self.calibrated:
            self.model = CalibratedClassifierCV(self.model, method="temperature", cv=CALIBRATION_FOLDS, ensemble=False)
        self.model.fit(X, y)
        self.classes_ = self.model.classes_
        return self

    def predict_proba(self, X: Any) -> Any:
        """Probabilities (n, K)."""
        return self.model.predict_proba(X)

    def _draws(self) -> list[dict[str, Any]]:
        """The defaults, and random combinations."""
        rng = np.random.default_rng(self.seed)
        names = {name: list(values) for name, values in self.space.items()}
        more = [{name: values[rng.integers(len(values))] for name, values in names.items()} for _ in range(DRAWS - 1)]
        return [{}, *more]

    def _loss(self, given: dict[str, Any], X: Any, y: NDArray[Any]) -> float:
        """Log-loss by cross-validation."""
        from sklearn.model_selection import StratifiedKFold, cross_val_score

        folds = StratifiedKFold(FOLDS, shuffle=True, random_state=self.seed)
        return -float(cross_val_score(self.make(**given), X, y, scoring="neg_log_loss", cv=folds).mean())


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
    """CatBoost, tuned and calibrated by a temperature; nominal columns one-hot encoded, so that it can be cloned."""
    library = imported("catboost")

    def make(**given: Any) -> Any:
        quiet = {"random_seed": seed, "thread_count": 1, "verbose": False, "allow_writing_files": False}
        return _encoded(library.CatBoostClassifier(**quiet, **given), "onehot")

    return Tuned(make, BOOSTING["CatBoost"], seed, calibrated=True)


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
