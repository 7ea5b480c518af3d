"""Three figures that the lectures show: features per split, votes or probabilities, and a regression curve."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import BaggingRegressor
from sklearn.tree import DecisionTreeRegressor as SklearnTree

from hedgerow import DecisionTreeRegressor, RandomForestClassifier, RandomForestRegressor
from hedgerow.datasets import load_dataset
from hedgerow.study.experiments.frame import Arguments, Result

Floats = NDArray[np.float64]

#: Numbers of trees at which errors are measured.
STEPS = (1, 2, 3, 5, 10, 20, 30, 50, 100, 200, 300)
#: Features that compete for a split, of p.
FEATURES: dict[str, float | str | None] = {"m = p": None, "m = p/2": 0.5, "m = √p": "sqrt"}
#: Training tables of 30 rows, and test rows of each.
TABLES, TEST_ROWS = 40, 2000
#: Training tables, rows and noise of scikit-learn's example of bias and variance.
REPEATS, ROWS, NOISE = 50, 50, 0.1


def work(arguments: Arguments, data: Path | None) -> Result:
    """Run the unit of a figure."""
    figure = arguments["figure"]
    if figure == "features":
        return errors_by_features(arguments["on"], data)
    return vote_or_average() if figure == "votes" else curve()


def errors_by_features(name: str, data: Path | None) -> Result:
    """Return test errors by the number of trees, for each number of features per split."""
    dataset = load_dataset(name, data=data)
    X, y = dataset.as_floats(), np.unique(dataset.y, return_inverse=True)[1]
    rows = np.random.default_rng(0).permutation(len(y))
    test, train = np.split(rows, [len(rows) // 3])
    found: Result = {}
    for label, features in FEATURES.items():
        model = RandomForestClassifier(STEPS[-1], max_features=features, calibration=None, random_state=0)
        counts = model.fit(X[train], y[train]).evidence(X[test]).counts
        found[label] = errors_of_averages(counts, model.classes_, y[test])
    return found


def vote_or_average() -> Result:
    """Return errors of bagged trees by vote and by mean probability, with 30 rows of five correlated features.

    The features are normal with correlation 0.95, and P(y = 1) is 0.2 if the first is at most 0.5, otherwise 0.8.
    """
    rng = np.random.default_rng(0)
    covariance = np.full((5, 5), 0.95) + 0.05 * np.eye(5)
    sums = {"vote": np.zeros(len(STEPS)), "mean probability": np.zeros(len(STEPS))}
    for table in range(TABLES):
        X = rng.multivariate_normal(np.zeros(5), covariance, 30 + TEST_ROWS)
        y = (rng.random(len(X)) < np.where(X[:, 0] <= 0.5, 0.2, 0.8)).astype(np.int64)
        y[:2] = 0, 1
        told: dict[str, Any] = {"max_features": None, "min_samples_leaf": 5, "calibration": None}
        model = RandomForestClassifier(STEPS[-1], random_state=table, **told).fit(X[:30], y[:30])
        counts = model.evidence(X[30:]).counts
        votes = (counts == counts.max(axis=2, keepdims=True)).astype(np.float64)
        sums["vote"] += errors_of_averages(votes, model.classes_, y[30:])
        sums["mean probability"] += errors_of_averages(counts, model.classes_, y[30:])
    return {name: (total / TABLES).tolist() for name, total in sums.items()}


def errors_of_averages(counts: Floats, classes: NDArray[np.int64], y: NDArray[np.int64]) -> list[float]:
    """Return the error of the mean shares of the first trees, for each of `STEPS`, of counts (n, T, K).

    Examples
    --------
    >>> counts = np.array([[[1.0, 0.0], [0.0, 4.0], [0.0, 1.0]]] * 2).repeat(100, axis=1)
    >>> errors_of_averages(counts, np.array([0, 1]), np.array([0, 1]))[-1]
    0.5
    """
    sums = (counts / counts.sum(axis=2, keepdims=True)).cumsum(axis=1)
    steps = [size for size in STEPS if size <= counts.shape[1]]
    return [float((classes[sums[:, size - 1].argmax(axis=1)] != y).mean()) for size in steps]


def curve() -> Result:
    """Return error, squared bias, variance and noise of scikit-learn's example, also with its own trees."""
    learners: dict[str, Callable[[], Any]] = {
        "hedgerow, one tree": lambda: DecisionTreeRegressor(),
        "scikit-learn, one tree": lambda: SklearnTree(),
        "hedgerow, 10 bagged": lambda: RandomForestRegressor(10),
        "scikit-learn, 10 bagged": lambda: BaggingRegressor(SklearnTree()),
    }
    return {name: list(parts_of_curve(make)) for name, make in learners.items()}


def parts_of_curve(make: Callable[[], Any]) -> tuple[float, float, float, float]:
    """Return error, squared bias, variance and noise of a learner on the curve exp(-x²) + 1.5 exp(-(x - 2)²)."""
    random = np.random.RandomState(0)
    tables = [_draw(random, ROWS, 1) for _ in range(REPEATS)]
    x, truth = _draw(random, 1000, REPEATS)
    answers = np.empty((1000, REPEATS))
    for table, (x_train, y_train) in enumerate(tables):
        answers[:, table] = (
            make().set_params(random_state=table).fit(x_train[:, None], y_train[:, 0]).predict(x[:, None])
        )
    error = float(((truth[:, :, None] - answers[:, None]) ** 2).mean())
    bias = float(((_curve(x) - answers.mean(axis=1)) ** 2).mean())
    return error, bias, float(answers.var(axis=1).mean()), float(truth.var(axis=1).mean())


def _draw(random: np.random.RandomState, n_rows: int, n_repeats: int) -> tuple[Floats, Floats]:
    """Draw sorted places (n,), and noisy values (n, repeats) of the curve."""
    x = np.sort(random.rand(n_rows) * 10 - 5)
    return x, _curve(x)[:, None] + random.normal(0.0, NOISE, (n_rows, n_repeats))


def _curve(x: Floats) -> Floats:
    """Return the curve of the example at places (n,)."""
    return np.asarray(np.exp(-(x**2)) + 1.5 * np.exp(-((x - 2) ** 2)))
