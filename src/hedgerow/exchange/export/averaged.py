"""Averaged: a fitted model whose answer is a mean over trees -> what each node adds to it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hedgerow.belief.leaf import reserve
from hedgerow.belief.rules import Mean
from hedgerow.exchange.export.describe import evidence_of
from hedgerow.exchange.export.fitted import FittedClassifier, FittedRegressor
from hedgerow.forest.walk import Tree

Floats = NDArray[np.float64]


def check_averages(fitted: FittedClassifier | FittedRegressor, target: str) -> None:
    """Refuse rules whose probability is no mean over trees, and trees that would take no part in the mean."""
    if isinstance(fitted, FittedRegressor):
        return
    if not isinstance(fitted.rule, Mean):
        raise NotImplementedError(
            f"rule must average distributions of the leaves for {target}, got {fitted.rule!r}; choose another with"
            " set_params, or use to_onnx, which knows more"
        )
    if not all(tree.counts[tree.is_leaf].sum(axis=1).all() for tree in fitted.trees):
        raise NotImplementedError(
            f"leaves must hold rows for {target}, got empty ones, which {target} cannot leave out of a mean;"
            " fit with leaf_counts='all'"
        )


def node_answers(fitted: FittedClassifier | FittedRegressor, tree: Tree) -> Floats:
    """-> (N, K): the distribution of each node; (N, 1): what it predicts."""
    if isinstance(fitted, FittedRegressor):
        return fitted.node_states(tree)[:, :1]
    assert isinstance(fitted.rule, Mean)
    return fitted.rule.shares(evidence_of(tree))


def node_bounds(fitted: FittedClassifier | FittedRegressor, tree: Tree) -> tuple[Floats, Floats]:
    """-> (N, K), (N, K) or (N, 1), (N, 1): lower and upper bound of the same."""
    if isinstance(fitted, FittedRegressor):
        states = fitted.node_states(tree)
        return states[:, 1:2], states[:, 2:]
    held_back = reserve(evidence_of(tree), fitted.setting.caution)[:, None]
    lower = (1.0 - held_back) * node_answers(fitted, tree)
    return lower, lower + held_back
