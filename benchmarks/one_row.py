"""One row: questions to a forest about single rows -> microseconds of each, as a service asks them."""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

import hedgerow

OF_CLASSES = ("predict_proba", "predict_confidence", "predict_uncertainty", "predict_bounds", "predict_set")
OF_NUMBERS = ("predict", "predict_interval", "predict_uncertainty", "predict_bounds")


def main() -> None:
    """Fit a classifier and a regressor, and print the median of each question."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--features", type=int, default=50)
    parser.add_argument("--trees", type=int, default=100)
    parser.add_argument("--kind", choices=("RandomForest", "MixedForest", "ExtraTrees"), default="RandomForest")
    parser.add_argument("--questions", type=int, default=1000, help="of each kind, about another row each time")
    given = parser.parse_args()
    rng = np.random.default_rng(0)
    X = rng.normal(size=(given.rows + given.questions, given.features)).astype(np.float32)
    number = X[:, 0] + X[:, 1] * (X[:, 2] > 0) + rng.normal(size=len(X))
    learn, asked = slice(given.rows), X[given.rows :]
    options = {"n_estimators": given.trees, "n_jobs": -1, "random_state": 0}
    print(f"{given.rows:,} rows x {given.features}, {given.trees} trees; microseconds of one row, median and least")
    classifier = getattr(hedgerow, f"{given.kind}Classifier")(**options).fit(X[learn], (number > 0)[learn])
    regressor = getattr(hedgerow, f"{given.kind}Regressor")(**options).fit(X[learn], number[learn])
    for model, questions in ((classifier, OF_CLASSES), (regressor, OF_NUMBERS)):
        for question in questions:
            times = measured(getattr(model, question), asked)
            print(f"{type(model).__name__:<23} {question:<20} {statistics.median(times):>7.1f} {min(times):>7.1f}")


def measured(ask: Callable[..., Any], asked: NDArray[np.float32]) -> list[float]:
    """A method, and rows -> the microseconds that it takes for each of them alone."""
    ask(asked[:1])  # what is learned or kept at the first question
    times = []
    for row in range(len(asked)):
        start = time.perf_counter()
        ask(asked[row : row + 1])
        times.append((time.perf_counter() - start) * 1e6)
    return times


if __name__ == "__main__":
    main()
