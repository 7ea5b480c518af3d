"""Averaged: a fitted model whose answer is a mean over trees -> what each node contributes."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hedgerow.exchange.export.describe import evidence_of
from hedgerow.exchange.export.fitted import FittedClassifier, FittedRegressor
from hedgerow.forest.walk import Tree

Floats = NDArray[np.float64]


def check_averages(fitted: FittedClassifier | FittedRegressor, target: str) -> None:
    """Refuse rules whose probability is not a mean over trees, and trees with empty leaves."""
    if isinstance(fitted, FittedRegressor):
        return
    rule = fitted.rule
    if "probability" not in rule.adds_up or rule.needs_weights:
        raise NotImplementedError(
            f"rule must average distributions of the leaves for {target}, got {rule!r}; choose another with"
            " set_params, or use to_onnx, which supports more rules"
        )
    if rule.skips_empty and not all(tree.counts[tree.is_leaf].sum(axis=1).all() for tree in fitted.trees):
        raise NotImplementedError(
            f"leaves must hold rows for {target}, got empty leaves, which {target} cannot leave out of a mean;"
            " fit with leaf_counts='all'"
        )


def node_answers(fitted: FittedClassifier | FittedRegressor, tree: Tree) -> Floats:
    """A tree -> the distribution of each node (N, K), or for a regressor its prediction (N, 1)."""
    if isinstance(fitted, FittedRegressor):
        return fitted.node_states(tree)[:, :1]
    return _parts(fitted, tree)["probability"]


def node_bounds(fitted: FittedClassifier | FittedRegressor, tree: Tree) -> tuple[Floats, Floats]:
    """A tree -> lower and upper bounds of the same, (N, K) each, or (N, 1) each for a regressor."""
    if isinstance(fitted, FittedRegressor):
        states = fitted.node_states(tree)
        return states[:, 1:2], states[:, 2:]
    parts = _parts(fitted, tree)
    return parts["lower"], parts["upper"]


def _parts(fitted: FittedClassifier, tree: Tree) -> dict[str, Floats]:
    """A tree -> {name: (N, K)}: what each node would add under the rule if it were a leaf."""
    return fitted.rule.parts(fitted.rule.lift(evidence_of(tree), fitted.setting), fitted.setting)
