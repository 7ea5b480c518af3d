"""Bias, variance and instability of an estimator over many training tables."""

from __future__ import annotations

from collections.abc import Iterator
from numbers import Integral
from typing import Any, NamedTuple

import narwhals as nw
import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import issparse
from sklearn.base import clone, is_classifier
from sklearn.utils import check_random_state

Floats = NDArray[np.float64]
Array = NDArray[Any]


class BiasVariance(NamedTuple):
    """Bias and variance of an estimator over many training tables.

    ``error`` is the mean squared error over tables and test rows; for classes, that of the probabilities, summed over
    classes. It is the sum of ``bias``, the squared error of the mean over tables, which includes the noise of the
    labels, and ``variance``, the mean squared distance from this mean. ``disagreement`` is how often the labels of two
    tables differ for the same row; NaN for regressors. ``errors`` (tables,) are the errors of the tables.
    """

    error: float
    bias: float
    variance: float
    disagreement: float
    errors: Floats


def bias_and_variance(
    estimator: Any,
    X: object,
    y: ArrayLike,
    *,
    n_tables: int = 50,
    share: float = 0.5,
    test_share: float = 1 / 3,
    random_state: int | np.random.RandomState | None = 0,
) -> BiasVariance:
    """Fit an estimator to many random parts of a table, and decompose its test error.

    Parameters
    ----------
    estimator : classifier with predict_proba, or regressor
        A clone is fitted to each part; if it has a `random_state`, each clone has its own.
    X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
        Feature table.
    y : array-like of shape (n_samples,)
        Labels or continuous targets.
    n_tables : int, default=50
        Number of parts, at least 2.
    share : float, default=0.5
        Share of the rows not used for testing that each part contains, drawn without replacement. Parts of nearly all
        rows show the effect of small changes.
    test_share : float, default=1/3
        Share of test rows.
    random_state : int, RandomState or None, default=0
        Seed of the parts.

    Returns
    -------
    BiasVariance

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from hedgerow import DecisionTreeClassifier, RandomForestClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> tree = bias_and_variance(DecisionTreeClassifier(), X, y, n_tables=20)
    >>> forest = bias_and_variance(RandomForestClassifier(50, calibration=None), X, y, n_tables=20)
    >>> forest.variance < tree.variance
    True
    """
    labels, predictions = np.asarray(y), []
    classes, numbers = np.unique(labels, return_inverse=True)
    test: Array = np.empty(0)
    for model, test in fits(estimator, X, labels, n_tables, share, test_share, random_state):
        rows = _taken(X, test)
        predicted = _aligned(model, rows, classes) if is_classifier(model) else np.asarray(model.predict(rows))
        predictions.append(predicted)
    truth = numbers[test] if is_classifier(estimator) else labels[test]
    return decomposed(np.array(predictions), truth)


def decomposed(predictions: Floats, truth: Array) -> BiasVariance:
    """Decompose the error of predictions (tables, n) or probabilities (tables, n, K).

    Examples
    --------
    >>> parts = decomposed(np.array([[1.0, 4.0], [3.0, 4.0]]), np.array([2.0, 5.0]))
    >>> parts.error, parts.bias, parts.variance
    (1.0, 0.5, 0.5)
    """
    classes = predictions.ndim == 3
    aim = np.eye(predictions.shape[2])[truth] if classes else truth[:, None]
    cells = predictions if classes else predictions[:, :, None]
    mean = cells.mean(axis=0)
    errors = ((cells - aim) ** 2).sum(axis=2).mean(axis=1)
    bias, variance = ((mean - aim) ** 2).sum(axis=1).mean(), ((cells - mean) ** 2).sum(axis=2).mean()
    differ = disagreement(predictions.argmax(axis=2)) if classes else np.nan
    return BiasVariance(float(errors.mean()), float(bias), float(variance), float(differ), errors)


def disagreement(labels: NDArray[np.int64]) -> float:
    """Return how often labels (tables, n) of two tables differ, over rows and pairs.

    Examples
    --------
    >>> round(disagreement(np.array([[0, 1], [0, 1], [0, 2]])), 3)  # two of three pairs differ in the second row
    0.333
    """
    n_tables = len(labels)
    alike = sum((labels == label).sum(axis=0) * ((labels == label).sum(axis=0) - 1) for label in np.unique(labels))
    return float(1 - np.mean(alike / (n_tables * (n_tables - 1))))


def fits(
    estimator: Any,
    X: object,
    y: Array,
    n_tables: int,
    share: float,
    test_share: float,
    random_state: int | np.random.RandomState | None,
) -> Iterator[tuple[Any, Array]]:
    """Yield a model fitted to each random part, and the test rows, always the same."""
    if not isinstance(n_tables, Integral) or isinstance(n_tables, bool) or n_tables < 2:
        raise ValueError(f"n_tables must be an integer of at least 2, got {n_tables!r}. 50 is usual.")
    for name, value in (("share", share), ("test_share", test_share)):
        if not 0 < value < 1:
            raise ValueError(f"{name} must lie strictly between 0 and 1, got {value!r}.")
    random = check_random_state(random_state)
    order = random.permutation(len(y))
    n_test = max(1, round(test_share * len(y)))
    test, pool = np.sort(order[:n_test]), order[n_test:]
    size = round(share * len(pool))
    if size < 1:
        raise ValueError(f"share must leave at least one row in each table, got {share!r} of {len(pool)} rows.")
    for _ in range(int(n_tables)):
        rows, seed = np.sort(random.permutation(pool)[:size]), int(random.randint(2**31 - 1))
        model = clone(estimator)
        if "random_state" in model.get_params():
            model.set_params(random_state=seed)
        yield model.fit(_taken(X, rows), y[rows]), test


def _taken(X: Any, rows: Array) -> Any:
    """Return some rows of an array, a sparse matrix or a data frame."""
    frame = nw.from_native(X, eager_only=True, pass_through=True)
    if isinstance(frame, nw.DataFrame):
        return frame[rows.tolist()].to_native()
    return X[rows] if issparse(X) else np.asarray(X)[rows]


def _aligned(model: Any, X: Any, classes: Array) -> Floats:
    """Return probabilities (n, K) of all classes; 0 for classes unknown to the model."""
    probability = np.asarray(model.predict_proba(X))
    found = np.zeros((len(probability), len(classes)))
    found[:, np.searchsorted(classes, model.classes_)] = probability
    return found
