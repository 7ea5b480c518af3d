"""Fitted: a fitted estimator -> what another program needs to give its answers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import is_classifier, is_regressor
from sklearn.utils.validation import check_is_fitted

from hedgerow.belief.rules import Rule, Setting
from hedgerow.decide import Decision
from hedgerow.forest.forest import Forest
from hedgerow.forest.walk import NumberTree, Tree
from hedgerow.judge.answer import answers_of
from hedgerow.judge.number_answers import NumberAnswers
from hedgerow.table import Schema

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Fitted(ABC):
    """Trees, and what their features are."""

    forest: Forest
    trees: list[Tree]
    schema: Schema

    @abstractmethod
    def leaf_states(self) -> Floats:
        """-> (L, S): what every leaf adds to an answer, leaves numbered over all trees."""

    def leaf_numbers(self, tree: int) -> NDArray[np.int64]:
        """-> (nodes of the tree,): number over all trees of the leaf a node is; meaningless for others."""
        numbers: NDArray[np.int64] = self.trees[tree]._payload + self.forest.leaf_start[tree]
        return numbers


@dataclass(frozen=True)
class FittedClassifier(Fitted):
    """A classifier as it answers now.

    Parameters
    ----------
    classes : (K,) array
        The labels.
    rule, setting : Rule, Setting
        How leaves are combined, and with which caution and prior.
    decision : Decision
        How sets are chosen, calibrated where it makes a promise.
    tree_weights : (T,) float64 or None
        Weights of the trees, for a rule that has learned some.
    """

    classes: NDArray[Any]
    rule: Rule
    setting: Setting
    decision: Decision
    tree_weights: Floats | None

    def leaf_states(self) -> Floats:
        """-> (L, S): the state of every leaf under the rule."""
        evidence = (self.forest.evidence_in(tree) for tree in range(len(self.trees)))
        return np.concatenate([self.rule.lift(counts, self.setting) for counts in evidence])


@dataclass(frozen=True)
class FittedRegressor(Fitted):
    """A regressor as it answers now.

    Parameters
    ----------
    caution : float
        Unseen rows each leaf keeps in reserve.
    extremes : (float, float)
        The smallest and the largest target seen.
    """

    caution: float
    extremes: tuple[float, float]

    def leaf_states(self) -> Floats:
        """-> (L, 3): what every leaf predicts, and its lower and upper bound."""
        forest = self.forest
        assert forest.values is not None
        return np.column_stack([forest.values, *self._bounds(forest.values, forest.counts)])

    def node_states(self, tree: Tree) -> Floats:
        """-> (N, 3): the same of every node of a tree."""
        assert isinstance(tree, NumberTree)
        return np.column_stack([tree.value, *self._bounds(tree.value, tree.counts[:, 0])])

    def _bounds(self, values: Floats, counts: NDArray[Any]) -> list[Floats]:
        share = counts / (counts + self.caution)
        return [share * values + (1 - share) * extreme for extreme in self.extremes]


def fitted_model(model: Any) -> FittedClassifier | FittedRegressor:
    """A fitted tree or forest of ours -> what others need of it."""
    if not hasattr(type(model), "trees_") or not (is_classifier(model) or is_regressor(model)):
        raise TypeError(f"forest must be a fitted classifier or regressor of hedgerow, got {type(model).__name__}")
    check_is_fitted(model)
    if hasattr(model, "pairs_"):
        raise NotImplementedError(
            f"forest must have trees that are about all classes, got {type(model).__name__}, whose trees are about two"
            " each; export them one by one with export_code"
        )
    now = answers_of(model)
    trees = now.forest, now.fitted.trees(), now.fitted.schema
    if isinstance(now, NumberAnswers):
        return FittedRegressor(*trees, caution=now.caution, extremes=(now.about.low, now.about.high))
    return FittedClassifier(
        *trees,
        classes=now.classes,
        rule=now.rule,
        setting=now.setting,
        decision=now.decision,
        tree_weights=now.weights,
    )


def require(package: str, extra: str) -> None:
    """Refuse to go on without a package that is not installed."""
    if find_spec(package) is None:
        raise ImportError(f"{package} must be installed for this, got none; pip install 'hedgerow[{extra}]'")


def number_of(value: Any, name: str) -> float:
    """A category that is a number -> the double that is equal to it, refused where there is none."""
    number = float(value)
    if number != value:
        raise ValueError(
            f"categories of {name} must be numbers that a double holds exactly, got {value!r}; make them text"
        )
    return number
