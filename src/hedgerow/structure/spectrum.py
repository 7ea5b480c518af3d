"""Leading eigenvectors of proximities: maps and clusters."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse.linalg import LinearOperator, eigsh
from sklearn.cluster import KMeans
from sklearn.utils import check_random_state

from hedgerow.forest.proximity import leaf_table
from hedgerow.inference.predictor import predictor_of
from hedgerow.table.schema import TableLike

Floats = NDArray[np.float64]
Product = Callable[[Floats], Floats]
Seed = int | np.random.RandomState


def proximity_map(
    forest: Any, X: Any = None, *, n_components: int = 2, oob: bool = False, random_state: Seed = 0
) -> Floats:
    """Return points whose squared distances approximate 1 - proximity.

    This is classical multidimensional scaling. Proximities are products of rows of leaves, so the table of all pairs is
    not needed: memory grows with rows × trees.

    Parameters
    ----------
    forest : fitted forest
        Any tree or forest.
    X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features), default=None
        Samples; None uses the training rows, which a bootstrapped forest keeps after `fit`.
    n_components : int, default=2
        Dimensions of the map.
    oob : bool, default=False
        Whether to count only trees for which both training rows are out of bag. Otherwise, labels that trees have
        memorised push rows apart. All pairs that share a leaf are then kept in memory.
    random_state : int or RandomState, default=0
        Seed of the eigenvector search; it changes only the last digits.

    Returns
    -------
    points : ndarray of shape (n_samples, n_components)
        Axes in descending order of eigenvalues; the most extreme point of each axis is on the positive side.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from hedgerow import RandomForestClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> points = proximity_map(RandomForestClassifier(random_state=0).fit(X, y))
    >>> points.shape
    (150, 2)
    """
    product, n_rows = _proximity_product(forest, X, oob)
    if not (isinstance(n_components, int | np.integer) and 1 <= n_components <= n_rows):
        raise ValueError(f"n_components must be an integer from 1 to {n_rows} (the rows), got {n_components!r}.")

    def centred(vector: Floats) -> Floats:
        moved = product(vector - vector.mean(axis=0))
        return np.asarray((moved - moved.mean(axis=0)) / 2)

    values, vectors = _leading(centred, n_rows, int(n_components), random_state)
    farthest = vectors[np.abs(vectors).argmax(axis=0), np.arange(vectors.shape[1])]
    return np.asarray(vectors * np.sign(farthest) * np.sqrt(np.maximum(values, 0)))


def cluster_rows(
    forest: Any, n_clusters: int, X: Any = None, *, oob: bool = False, random_state: Seed = 0
) -> NDArray[np.int32]:
    """Cluster rows that share leaves, by spectral clustering of proximities.

    Parameters
    ----------
    forest : fitted forest
        A classifier finds clusters relevant for its classes, an unsupervised forest clusters by dependence between
        features.
    n_clusters : int
        Number of clusters.
    X, oob
        As in `proximity_map`.
    random_state : int or RandomState, default=0
        Seed of the eigenvector search and of k-means.

    Returns
    -------
    clusters : int32 ndarray of shape (n_samples,)
        Cluster numbers from 0, in the order of their first rows.

    References
    ----------
    A. Ng, M. Jordan, Y. Weiss: On spectral clustering: analysis and an algorithm. NeurIPS 2001.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from hedgerow import RandomForestClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> clusters = cluster_rows(RandomForestClassifier(random_state=0).fit(X, y), 3)
    >>> clusters[[0, 50, 149]]
    array([0, 1, 2], dtype=int32)
    """
    product, n_rows = _proximity_product(forest, X, oob)
    if not (isinstance(n_clusters, int | np.integer) and 1 <= n_clusters <= n_rows):
        raise ValueError(f"n_clusters must be an integer from 1 to {n_rows} (the rows), got {n_clusters!r}.")
    rng = check_random_state(random_state)
    degree = product(np.ones(n_rows))
    scale = 1 / np.sqrt(np.where(degree > 0, degree, 1.0))

    def normalised(vector: Floats) -> Floats:
        by = scale if vector.ndim == 1 else scale[:, None]
        return by * product(by * vector)

    _, vectors = _leading(normalised, n_rows, int(n_clusters), rng)
    length = np.sqrt((vectors**2).sum(axis=1, keepdims=True))
    directions = vectors / np.where(length > 0, length, 1.0)
    found = KMeans(int(n_clusters), n_init=10, random_state=rng).fit(directions).labels_
    _, first, number = np.unique(found, return_index=True, return_inverse=True)
    return np.asarray(np.argsort(np.argsort(first))[number], dtype=np.int32)


def _proximity_product(forest: Any, X: TableLike, oob: bool) -> tuple[Product, int]:
    """Return a function that multiplies by the proximities of n rows, and n."""
    if oob:
        table = forest.proximity(X, oob=True)
        return (lambda vector: np.asarray(table @ vector)), table.shape[0]
    predictor = predictor_of(forest)
    codes = predictor.training_codes() if X is None else predictor.read(X).codes
    leaves = leaf_table(predictor.forest, codes, predictor.many_threads(codes))
    across, n_trees = leaves.T.tocsr(), predictor.forest.n_trees
    return (lambda vector: np.asarray(leaves @ (across @ vector)) / n_trees), codes.shape[1]


def _leading(product: Product, n_rows: int, n_vectors: int, random_state: Seed) -> tuple[Floats, Floats]:
    """Return the largest eigenvalues (k,), descending, and their vectors (n, k)."""
    if n_rows <= max(50, 2 * n_vectors + 1):  # too few for Lanczos
        whole = product(np.eye(n_rows))
        values, vectors = np.linalg.eigh((whole + whole.T) / 2)
    else:
        start = check_random_state(random_state).uniform(-1, 1, n_rows)
        operator = LinearOperator((n_rows, n_rows), matvec=product, matmat=product, dtype=np.float64)
        values, vectors = eigsh(operator, k=n_vectors, which="LA", v0=start)
    order = np.argsort(-values)[:n_vectors]
    return values[order], vectors[:, order]
