"""Averaged: a fitted model whose answer is a mean over trees -> what each node adds to it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hedgerow.exchange.export.describe import evidence_of
from hedgerow.exchange.export.fitted import FittedClassifier, FittedRegressor
from hedgerow.forest.tree import Tree

Floats = NDArray[np.float64]


def check_averages(fitted: FittedClassifier | FittedRegressor, target: str) -> None:
    """Refuse rules whose probability is no mean over trees, and trees that would take no part in the mean."""
    if isinstance(fitted, FittedRegressor):
        return
    rule = fitted.rule
    if "probability" not in rule.adds_up or rule.needs_weights:
        raise NotImplementedError(
            f"rule must average distributions of the leaves for {target}, got {rule!r}; choose another with"
            " set_params, or use to_onnx, which knows more"
        )
    if rule.skips_empty and not all(tree.counts[tree.is_leaf].sum(axis=1).all() for tree in fitted.trees):
        raise NotImplementedError(
            f"leaves must hold rows for {target}, got empty ones, which {target} cannot leave out of a mean;"
            " fit with leaf_counts='all'"
        )


def node_answers(fitted: FittedClassifier | FittedRegressor, tree: Tree) -> Floats:
    """-> (N, K): the distribution of each node; (N, 1): what it predicts."""
    if isinstance(fitted, FittedRegressor):
        return fitted.node_states(tree)[:, :1]
    return _parts(fitted, tree)["probability"]


def node_bounds(fitted: FittedClassifier | FittedRegressor, tree: Tree) -> tuple[Floats, Floats]:
    """-> (N, K), (N, K) or (N, 1), (N, 1): lower and upper bound of the same."""
    if isinstance(fitted, FittedRegressor):
        states = fitted.node_states(tree)
        return states[:, 1:2], states[:, 2:]
    parts = _parts(fitted, tree)
    return parts["lower"], parts["upper"]


def _parts(fitted: FittedClassifier, tree: Tree) -> dict[str, Floats]:
    """-> name -> (N, K): what each node, were it a leaf, would add under the rule."""
    return fitted.rule.parts(fitted.rule.lift(evidence_of(tree), fitted.setting), fitted.setting)
