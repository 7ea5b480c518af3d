"""Counts of splits by feature."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray


class SplitCounts(NamedTuple):
    """How often the trees of a forest split on each feature: anywhere (``splits``), and at the root (``roots``)."""

    splits: NDArray[np.int64]
    roots: NDArray[np.int64]


def split_counts(forest: Any) -> SplitCounts:
    """Count the splits on each feature, and how often it is the first one of a tree.

    Parameters
    ----------
    forest : fitted tree or forest
        Any tree or forest; no rows are needed.

    Returns
    -------
    SplitCounts
        Two arrays of shape (n_features,).

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from hedgerow import DecisionTreeClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> split_counts(DecisionTreeClassifier(max_depth=2, random_state=0).fit(X, y))
    SplitCounts(splits=array([0, 0, 0, 2]), roots=array([0, 0, 0, 1]))
    """
    nodes, n_features = forest.forest_.structure, forest.n_features_in_
    inner = nodes.families()[0]
    first = np.isin(inner, nodes.node_start[:-1])
    splits, roots = (np.bincount(nodes.feature[each], minlength=n_features) for each in (inner, inner[first]))
    return SplitCounts(splits, roots)
