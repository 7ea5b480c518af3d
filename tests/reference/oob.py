"""Out of bag, slowly: each row, each tree, one after the other -> errors and leave-one-out forests."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from tests.reference.fold import multiplicities, out_of_bag_counts

Floats = NDArray[np.float64]


def wrong_share(counts: Floats, label: int) -> float | None:
    """Counts of a leaf -> how wrong its vote is about a row of the class; None for an empty leaf."""
    if counts.sum() == 0:
        return None
    winners = np.flatnonzero(counts == counts.max())
    return 1 - (label in winners) / len(winners)


def slow_errors(forest: Any, X: Any, y: NDArray[Any]) -> tuple[float, float, float]:
    """-> Err*, resubstitution error, and the error without information, by their definitions."""
    outside_counts, outside = out_of_bag_counts(forest, X, y)
    whole = forest.evidence(X).counts
    lists: tuple[list[float], list[float]] = ([], [])
    answers = np.zeros(len(forest.classes_))
    for row, label in enumerate(np.searchsorted(forest.classes_, y)):
        errors: tuple[list[float], list[float]] = ([], [])
        for tree in range(outside.shape[1]):
            counts = whole[row, tree]
            winners = counts == counts.max()
            if counts.sum():
                answers += winners / winners.sum()
            error = wrong_share(outside_counts[row, tree] if outside[row, tree] else counts, label)
            if error is not None:
                errors[0 if outside[row, tree] else 1].append(error)
        for means, of_row in zip(lists, errors, strict=True):
            if of_row:
                means.append(float(np.mean(of_row)))
    shares = np.array([(y == label).mean() for label in forest.classes_])
    return float(np.mean(lists[0])), float(np.mean(lists[1])), float(1 - shares @ answers / answers.sum())


def slow_limit(forest: Any, X: Any, y: NDArray[Any], asked: Any, weights: Any = 1.0) -> Floats:
    """-> (m, K): variance over leave-one-out forests, less what so few trees differ by chance."""
    bag, labels = multiplicities(forest, len(y)), np.searchsorted(forest.classes_, y)
    times = {"all": np.ones_like(bag), "inbag": bag, "distinct": bag > 0, "oob": bag == 0}[forest.leaf_counts]
    times = times * np.broadcast_to(weights, len(y))[:, None]
    train, query = forest.apply(X), forest.apply(asked)
    n_rows, n_trees, n_classes = len(y), bag.shape[1], len(forest.classes_)
    result = np.zeros((len(asked), n_classes))
    for sample in range(len(asked)):
        shares = np.full((n_trees, n_classes), np.nan)
        without = np.full((n_rows, n_trees, n_classes), np.nan)
        for tree in range(n_trees):
            inside = train[:, tree] == query[sample, tree]
            counts = np.bincount(labels[inside], times[inside, tree], n_classes)
            if counts.sum():
                shares[tree] = counts / counts.sum()
            for row in np.flatnonzero(bag[:, tree] == 0):
                rest = counts.copy()
                rest[labels[row]] -= inside[row] * times[row, tree]
                if rest.sum():
                    without[row, tree] = rest / rest.sum()
        mean = np.nanmean(shares, axis=0)
        shares = np.where(np.isnan(shares), mean, shares)
        without = np.where(np.isnan(without) & (bag == 0)[:, :, None], mean, without)
        judged = (bag == 0).any(axis=1)
        left_out = np.array([np.nanmean(without[row], axis=0) for row in np.flatnonzero(judged)])
        oob_mask = (bag == 0).sum(axis=1)[judged]
        chance = shares.var(axis=0, ddof=1) * np.mean(1 / oob_mask - 1 / n_trees)
        result[sample] = np.maximum((n_rows - 1) * (left_out.var(axis=0) - chance), 0)
    return result
