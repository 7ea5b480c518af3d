"""Choice of ``lam`` of a belief criterion by cross-validation."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow.criteria import Criterion
from hedgerow.forest.fold import fold
from hedgerow.forest.grow import GrowthParams, TrainingRows, grow_forest
from hedgerow.forest.reducers import MeanReducer, predictions
from hedgerow.forest.rows import Groups
from hedgerow.table.bins import Bins

N_FOLDS = 5
MOST_TREES = 10
"""Number of trees for each candidate, which is enough to rank them."""


def choose_lam(rows: TrainingRows, bins: Bins, settings: GrowthParams, n_trees: int, n_threads: int) -> Criterion:
    """Return the criterion with the ``lam`` of the smallest squared error on held-out rows.

    All candidates use the same folds, and ties go to the largest ``lam``, which grows larger trees. If there are fewer
    rows than folds, the middle candidate is chosen. Groups are kept together in folds.
    """
    candidates: list[Criterion] = settings.criterion.candidates()
    groups = rows.bags.groups
    fold_of = _folds(rows.n_rows if groups is None else groups.n_groups, settings.seed)
    if len(fold_of) < N_FOLDS:
        return candidates[len(candidates) // 2]
    if groups is not None:
        fold_of = fold_of[groups.of_row]
    errors = sum(_errors(rows, bins, settings, n_trees, n_threads, fold_of == fold) for fold in range(N_FOLDS))
    return candidates[len(candidates) - 1 - int(np.asarray(errors)[::-1].argmin())]


def _errors(
    rows: TrainingRows, bins: Bins, settings: GrowthParams, n_trees: int, n_threads: int, held_out: NDArray[np.bool_]
) -> NDArray[np.float64]:
    """Return the sum of squared errors of each candidate on the held-out rows."""
    train, test = np.flatnonzero(~held_out), np.flatnonzero(held_out)
    target, groups = rows.target.take(train), rows.bags.groups
    weights: Any = 1.0 if rows.target.weights is None else rows.target.weights[test]
    errors = []
    for criterion in settings.criterion.candidates():
        forest = grow_forest(
            np.ascontiguousarray(rows.codes[:, train]),
            bins,
            target.for_core(),
            replace(settings, criterion=criterion),
            n_trees=min(n_trees, MOST_TREES),
            n_threads=n_threads,
            groups=None if groups is None else Groups.of(groups.of_row[train]),
        )
        codes = np.ascontiguousarray(rows.codes[:, test])
        found = fold(forest, codes, MeanReducer(predictions), None, n_threads=n_threads)[:, 0]
        errors.append(float((weights * (found - rows.target.values[test]) ** 2).sum()))
    return np.array(errors)


def _folds(n: int, seed: int) -> NDArray[np.int64]:
    """Deal n shuffled rows or groups to folds, (n,)."""
    folds = np.empty(n, dtype=np.int64)
    folds[np.random.default_rng(seed).permutation(n)] = np.arange(n) % N_FOLDS
    return folds
