"""Choice of a criterion parameter by cross-validation."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from hedgerow.criteria import Criterion
from hedgerow.forest.grow import GrowthParams, grow_forest
from hedgerow.forest.rows import Groups
from hedgerow.table.bins import Bins, Codes
from hedgerow.tasks.classification.target import ClassLabels

N_FOLDS = 5
MOST_TREES = 10
"""Number of trees for each candidate, which is enough to rank them."""


def choose_lam(
    tables: Iterable[tuple[Codes, ClassLabels]],
    bins: Bins,
    settings: GrowthParams,
    n_trees: int,
    n_threads: int = 1,
    groups: Groups | None = None,
) -> Criterion:
    """Return the criterion with the ``lam`` that classifies most held-out rows.

    Each table has codes (p, n) and labels. A ``size_cost`` times the number of leaves is subtracted from the number of
    correct rows. All candidates use the same folds, and ties go to the largest ``lam``, which grows larger trees. If
    every table has fewer rows than folds, the middle candidate is chosen. `groups` are kept together in folds and are
    supported for a single table only.
    """
    candidates: list[Criterion] = settings.criterion.candidates()
    worth = [_worth(codes, bins, labels, settings, n_trees, n_threads, groups) for codes, labels in tables]
    judged = [each for each in worth if each is not None]
    if not judged:
        return candidates[len(candidates) // 2]
    return candidates[len(candidates) - 1 - int(np.sum(judged, axis=0)[::-1].argmax())]


def _worth(
    codes: Codes,
    bins: Bins,
    labels: ClassLabels,
    settings: GrowthParams,
    n_trees: int,
    n_threads: int,
    groups: Groups | None,
) -> NDArray[np.float64] | None:
    """Count correct held-out rows of each candidate, less the cost of leaves.

    Returns None if there are too few rows.
    """
    candidates = settings.criterion.candidates()
    numbers = _first_numbers(labels)
    n_folds = min(N_FOLDS, int(np.bincount(numbers).max())) if len(numbers) else 0
    if n_folds < 2:
        return None
    worth = np.zeros(len(candidates))
    fold_of = _folds(numbers, n_folds, settings.seed)
    if groups is not None:  # a group is in the fold of its first row
        fold_of = fold_of[np.unique(groups.of_row, return_index=True)[1]][groups.of_row]
    for fold in range(n_folds):
        train, test = np.flatnonzero(fold_of != fold), np.flatnonzero(fold_of == fold)
        together = None if groups is None else Groups.of(groups.of_row[train])
        held_in, held_out = np.ascontiguousarray(codes[:, train]), np.ascontiguousarray(codes[:, test])
        for number, criterion in enumerate(candidates):
            forest = grow_forest(
                held_in,
                bins,
                labels.take(train),
                replace(settings, criterion=criterion),
                n_trees=min(n_trees, MOST_TREES),
                n_threads=n_threads,
                groups=together,
            )
            guessed = forest.probability(held_out, n_threads).argmax(axis=1)
            worth[number] += (guessed == numbers[test]).sum()
            worth[number] -= settings.criterion.size_cost * forest.evidence.n_leaves / (n_folds * forest.n_trees)
    return worth


def _first_numbers(labels: ClassLabels) -> NDArray[np.uint16]:
    """Return the class of each row, (n,); the most probable one for uncertain labels."""
    if labels.rows is None:
        return labels.numbers
    return labels.numbers[np.flatnonzero(np.diff(labels.rows, prepend=-1))]


def _folds(numbers: NDArray[np.uint16], n_folds: int, seed: int) -> NDArray[np.int64]:
    """Deal shuffled rows to folds class by class, (n,)."""
    shuffled = np.random.default_rng(seed).permutation(len(numbers))
    by_class = shuffled[np.argsort(numbers[shuffled], kind="stable")]
    folds = np.empty(len(numbers), dtype=np.int64)
    folds[by_class] = np.arange(len(numbers)) % n_folds
    return folds
