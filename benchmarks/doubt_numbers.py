"""Trees that stop by themselves: real tables of numbers and the same folds for all -> errors and leaves beside CART."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.doubt_intervals import halves
from benchmarks.doubt_kit import Measure, Rows, Study, Table

Floats = NDArray[np.float64]


def predictions(model: Any, X: Any, y: Floats, fit: Rows, test: Rows) -> Floats:
    """Fit on one part -> predictions of the other and the mean number of leaves, (n, 2)."""
    fitted = model.fit(X.iloc[fit], y[fit])
    trees = getattr(fitted, "estimators_", [fitted])
    leaves = float(np.mean([tree.get_n_leaves() for tree in trees]))
    return np.column_stack([fitted.predict(X.iloc[test]), np.full(len(test), leaves)])


def _tree(lam: Any = None, caution: float = 0.03, **options: Any) -> Callable[[int, int], Any]:
    def make(trees: int, seed: int) -> Any:
        from hedgerow import DecisionTreeRegressor

        return DecisionTreeRegressor(criterion=_criterion(lam, caution), random_state=seed, **options)

    return make


def _forest(lam: Any = None, caution: float = 0.03) -> Callable[[int, int], Any]:
    def make(trees: int, seed: int) -> Any:
        from hedgerow import RandomForestRegressor

        return RandomForestRegressor(trees, criterion=_criterion(lam, caution), random_state=seed)

    return make


def _criterion(lam: Any, caution: float) -> Any:
    from hedgerow.criteria import BeliefVariance

    return "squared_error" if lam is None else BeliefVariance(lam, caution)


TREES: dict[str, Callable[[int, int], Any]] = {
    "tree": _tree(),
    "tree, 5 rows per leaf": _tree(min_samples_leaf=5),
    "tree, 10 rows per leaf": _tree(min_samples_leaf=10),
    **{
        f"tree, belief {lam}, caution {caution}": _tree(lam, caution)
        for lam in (0.5, "auto")
        for caution in (1.0, 0.3, 0.1, 0.03, 0.01)
    },
}
FORESTS: dict[str, Callable[[int, int], Any]] = {
    "forest": _forest(),
    **{f"forest, belief {lam}": _forest(lam) for lam in (0.5,)},
}


def _error(said: Floats, y: Floats) -> float:
    return float(np.mean((said[:, 0] - y) ** 2) / np.var(y))


def _leaves(said: Floats, y: Floats) -> float:
    return float(said[0, 1])


MEASURES = (Measure("squared error", _error, how="ratio"), Measure("leaves", _leaves, how="ratio"))

STUDY = Study(
    tables={
        "stopping": (
            Table("trees that stop by themselves", MEASURES, tuple(TREES), "tree", ("tree, belief 0.5, caution 0.03",)),
            Table("forests of them", MEASURES, tuple(FORESTS), "forest", ("forest, belief 0.5",)),
        )
    },
    models=TREES | FORESTS,
    ask=predictions,
    halves=halves,
    truth=lambda y: y.astype(np.float64),
    quick_sets=("energy-heating", "boston-housing", "airfoil"),
    quick_models=(
        "tree",
        "tree, belief 0.5, caution 0.03",
        "tree, belief auto, caution 0.03",
        "forest",
        "forest, belief 0.5",
    ),
)
