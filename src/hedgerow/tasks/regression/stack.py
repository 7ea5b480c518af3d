"""Stacks of mixed regression forests: weights of the kinds of trees, learned on out-of-bag rows."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import nnls

from hedgerow.belief.calibrate import GRID
from hedgerow.forest.moments import LeafMoments
from hedgerow.inference.fitted import Fitted

if TYPE_CHECKING:
    from hedgerow.forest.forest import Forest
    from hedgerow.forest.grow import TrainingRows

Floats = NDArray[np.float64]

#: Kinds of trees of a mixed forest, which take turns.
KINDS = 3
#: Fewest out-of-bag rows to fit a stack, and the largest number, evenly spread.
FEWEST, MOST = 20, 4096
#: Largest weight of a kind of trees.
MOST_FACTOR = 100.0
#: Penalties of (sum of weights - 1)² and of squared distances to equal weights, in units of twice the squared error.
SUM_COST, APART_COST = 3.0, 3.0
#: Folds of `oob_predictions`, and rows whose leaves are found at a time.
FOLDS, _BLOCK = 5, 4096


@dataclass(frozen=True, eq=False)
class Stack:
    """Weights of the kinds of trees of a mixed regression forest, or the reason why there are none.

    With the mean prediction m_k of the trees of each kind, the forest predicts level + Σ w_k (m_k - c_k).

    Attributes
    ----------
    weights : float64 (3,)
        Weight w_k of each kind, not negative: best splits of ``max_features`` features, random thresholds of all
        features, and random thresholds of ``max_features`` features.
    centres : float64 (3,)
        Mean out-of-bag prediction c_k of each kind.
    level : float
        Mean target of the same rows.
    n_rows : int
        Number of rows the weights were fitted on.
    why : str
        Why the trees have equal weights; empty if weights were fitted.

    Examples
    --------
    >>> y = np.linspace(0, 1, 30)
    >>> learn_stack(np.column_stack([y + 0.1 * np.sin(99 * y), y**3, np.cos(99 * y)]), y)
    Stack(weights 0.72, 0.27, 0.00, learned on 30 rows)
    """

    weights: Floats = field(default_factory=lambda: np.full(KINDS, 1 / KINDS))
    centres: Floats = field(default_factory=lambda: np.zeros(KINDS))
    level: float = 0.0
    n_rows: int = 0
    why: str = ""

    def of(self, predicted: Floats) -> Floats:
        """Return the predictions (n,) of means over trees by kind (n, 3)."""
        found = np.full(len(predicted), self.level)
        for kind in range(KINDS):  # one by one, which fixes the order of the sum
            found += self.weights[kind] * (predicted[:, kind] - self.centres[kind])
        return found

    def of_leaves(self, means: Floats, kind: NDArray[np.intp] | int, n_trees: int) -> Floats:
        """Return values of leaves (m,) whose mean over `n_trees` trees is the prediction, from means and kinds."""
        factors = self.weights / _share_of_kinds(n_trees)
        return np.asarray(self.level + factors[kind] * (means - self.centres[kind]))

    def factors(self, n_trees: int) -> Floats:
        """Return the factor of the trees of each kind in a weighted mean over trees, (3,), in which they average 1."""
        total = self.weights.sum()
        shares = self.weights / total if total > 0 else np.full(KINDS, 1 / KINDS)
        return np.asarray(shares / _share_of_kinds(n_trees))

    def __repr__(self) -> str:
        if self.why:
            return f"Stack(none: {self.why})"
        weights = ", ".join(f"{weight:.2f}" for weight in self.weights)
        return f"Stack(weights {weights}, learned on {self.n_rows:,} rows)"


def _share_of_kinds(n_trees: int) -> Floats:
    """Return the share of the trees that each kind has, (3,)."""
    return np.maximum(np.bincount(np.arange(n_trees) % KINDS, minlength=KINDS), 1) / n_trees


def learn_stack(predicted: Floats, y: Floats, weights: Floats | None = None) -> Stack:
    """Fit a stack by penalised least squares with weights that are not negative.

    Parameters
    ----------
    predicted : (n, 3)
        Out-of-bag predictions of each kind of trees.
    y : (n,)
        Targets.
    weights : (n,), optional
        Weights of the rows; only their ratios count.
    """
    if len(y) < FEWEST:
        return Stack(why=f"{len(y)} out-of-bag rows are fewer than {FEWEST}")
    share = np.full(len(y), 1 / len(y)) if weights is None else weights / weights.sum()
    centres, level = (share[:, None] * predicted).sum(axis=0), float((share * y).sum())
    scale = float(np.abs(y - level).max())
    if not scale > 0:
        return Stack(why="all targets are equal")
    away, target = (predicted - centres) / scale, (y - level) / scale
    products = np.array([[(share * one * other).sum() for one in away.T] for other in away.T])
    with_target = np.array([(share * one * target).sum() for one in away.T])
    error = (share * target**2).sum() - 2 * with_target + products.diagonal()
    if not error.min() > 0:
        return Stack(why="a kind of trees makes no error")
    unit = 2 * error.min() / len(y)  # the penalty of a squared error
    products += unit * (APART_COST * (np.eye(KINDS) - 1 / KINDS) + SUM_COST)
    with_target += unit * SUM_COST
    found = nnls(np.linalg.cholesky(products).T, np.linalg.solve(np.linalg.cholesky(products), with_target))[0]
    return Stack(np.minimum(np.rint(found / GRID) * GRID, MOST_FACTOR), centres, level, len(y))


def stack_of(fitted: Fitted, n_threads: int) -> Stack:
    """Return the stack of a mixed forest, fitted when first needed.

    A model without its training rows keeps its stack.
    """
    rows = fitted.oob_rows
    if rows is not None:
        return fitted.learned.get("stack", None, lambda: _learned(fitted.forest, rows, fitted.criterion, n_threads))
    known = fitted.learned.last("stack")
    return Stack(why="there are no out-of-bag rows") if known is None else known[1]


def _learned(forest: Forest, rows: TrainingRows, criterion: object, n_threads: int) -> Stack:
    """Fit the stack of a forest on out-of-bag rows."""
    if criterion in ("absolute_error", "poisson"):
        return Stack(why=f"criterion={criterion!r}")
    sample = rows.bags.independent_rows(MOST)
    predicted = oob_kinds(forest, rows, sample, n_threads)
    usable = ~np.isnan(predicted).any(axis=1)
    weights = None if rows.target.weights is None else rows.target.weights[sample][usable]
    return learn_stack(predicted[usable], rows.target.values[sample][usable], weights)


def oob_predictions(forest: Forest, rows: TrainingRows, sample: NDArray[np.int64], n_threads: int) -> Floats:
    """Return cross-fitted out-of-bag predictions of a mixed forest for training rows, (m,); NaN without trees.

    The stack of a row is fitted on four of five folds, without the group of the row. Kinds that have no out-of-bag tree
    at a row predict the mean of the others.
    """
    by_kind, groups = oob_kinds(forest, rows, sample, n_threads), rows.bags.units
    complete = ~np.isnan(by_kind)
    number = complete.sum(axis=1)
    mean = np.where(complete, by_kind, 0.0).sum(axis=1) / np.where(number > 0, number, np.nan)
    by_kind = np.where(complete, by_kind, mean[:, None])
    fold = (np.arange(len(sample)) if groups is None else groups[sample]) % FOLDS
    y, weights = rows.target.values[sample], rows.target.weights
    found = np.empty(len(sample))
    for held_out in (fold == number for number in range(FOLDS)):
        held_in = complete.all(axis=1) & ~held_out
        of_rows = None if weights is None else weights[sample][held_in]
        learned = learn_stack(by_kind[held_in], y[held_in], of_rows)
        found[held_out] = mean[held_out] if learned.why else learned.of(by_kind[held_out])
    return found


def oob_kinds(forest: Forest, rows: TrainingRows, sample: NDArray[np.int64], n_threads: int) -> Floats:
    """Return the out-of-bag means of each kind of trees for training rows, (m, 3); NaN without such trees."""
    assert isinstance(forest.evidence, LeafMoments)
    found, means = np.empty((len(sample), KINDS)), forest.evidence.mean
    for first in range(0, len(sample), _BLOCK):
        part = sample[first : first + _BLOCK]
        oob = rows.bags.oob_each(forest.n_trees, part)
        values = means[forest.leaves(rows.codes_of(part), n_threads) + forest.leaf_start[:-1]] * oob
        for kind in range(KINDS):
            number = oob[:, kind::KINDS].sum(axis=1)
            sums = values[:, kind::KINDS].sum(axis=1)
            found[first : first + _BLOCK, kind] = np.divide(
                sums, number, out=np.full(len(part), np.nan), where=number > 0
            )
    return found


def stacked(forest: Forest, stack: Stack) -> Forest:
    """Return the same trees with other predictions in their leaves, whose mean is that of the stack."""
    assert isinstance(forest.evidence, LeafMoments)
    leaves = forest.evidence
    values = stack.of_leaves(leaves.mean, kind_of_leaf(forest), forest.n_trees)
    return replace(forest, evidence=replace(leaves, values=values, means=leaves.mean, incremental=None))


def kind_of_leaf(forest: Forest) -> NDArray[np.intp]:
    """Return the kind of the tree of each leaf, (L,)."""
    return np.repeat(np.arange(forest.n_trees) % KINDS, np.diff(forest.leaf_start))
