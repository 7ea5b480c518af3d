"""Watch: a fitted forest and a batch of rows -> whether they are like the training rows, which a file does not hold.

Two tests need nothing but the model. *Traffic*: leaves know how many training rows they hold, so the shares of the
batch in them can be compared with those of the training rows. *Strangers*: p-values of novelty are ranks among training
rows, so the number of small ones has a known distribution.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.stats import betabinom

from hedgerow.forest.around import ancestor_at
from hedgerow.forest.rows import spread_evenly
from hedgerow.forest.walk import TreeArrays
from hedgerow.judge.base import Predictor
from hedgerow.judge.novelty import PredictionNovelty, learned_novelty
from hedgerow.table.bins import Codes

Floats = NDArray[np.float64]

#: At most so many rows of a batch, evenly spread, are compared.
MOST_ROWS = 2000
#: Leaves are joined to branches of at least so many training rows, and of at least this share of them.
BRANCH_ROWS, BRANCH_SHARE = 20, 0.02
#: How often the statistic is drawn as it would be without a shift.
DRAWS, AT_ONCE = 999, 111
#: A row is strange if its p-value is at most this.
STRANGE = 0.05


class Traffic(NamedTuple):
    """How improbable the traffic is without a shift, and the features whose splits the batch passes differently."""

    p_value: float
    features: list[tuple[str, float]]  # name and share of the difference, the largest first


class NovelRows(NamedTuple):
    """How many rows are strange, how many are expected, and how improbable so many are without a shift."""

    number: int
    expected: float
    p_value: float


def traffic_of(now: Predictor, codes: Codes, seed: int = 0) -> Traffic:
    """Codes (p, n) of a batch -> how its traffic differs from that of the training rows.

    The statistic is the mean over trees of Pearson's chi-squared of the branches. Trees share the rows, so it is not
    distributed like chi-squared. Its distribution without a shift is drawn by giving the rows of the batch normal
    weights instead of ones, and widened for the chance in the training rows.
    """
    some = spread_evenly(codes.shape[1], MOST_ROWS)
    nodes = now.forest.leaf_nodes(np.ascontiguousarray(codes[:, some]), now.threads(len(some)))
    n_rows, columns, values, excess = len(some), [], [], np.zeros(now.codebook.schema.n_features)
    offset, known, beyond = 0, np.inf, 0.0
    for number in range(now.forest.n_trees):
        tree = TreeArrays(now.forest, number)
        total = float(tree.rows[0])
        known = min(known, total)
        branch = _branches(tree, int(max(BRANCH_ROWS, BRANCH_SHARE * total)))
        ends, place = np.unique(branch[np.flatnonzero(tree.is_leaf)], return_inverse=True)
        end_of_node = np.zeros(tree.n_nodes, dtype=np.int64)
        end_of_node[np.flatnonzero(tree.is_leaf)] = place
        reached, share = end_of_node[nodes[:, number]], tree.rows[ends] / total
        columns.append(offset + reached)
        values.append(1 / np.sqrt(share[reached]))
        held_now = np.bincount(reached, minlength=len(ends)) / n_rows
        beyond += float(((held_now - share) ** 2 / share).sum())
        _add_excess(excess, tree, ends, held_now, share)
        offset += len(ends)
    shape = (n_rows, offset)
    start = np.arange(0, n_rows * now.forest.n_trees + 1, now.forest.n_trees)
    table = sparse.csr_array((np.stack(values, 1).ravel(), np.stack(columns, 1).ravel(), start), shape=shape)
    drawn = _drawn(table, seed) * (1 + n_rows * _chance(now, known))
    p_value = (1 + int((drawn >= n_rows * beyond).sum())) / (1 + DRAWS)
    order = np.argsort(-excess, kind="stable").tolist()
    whole = excess.sum() or 1.0
    return Traffic(p_value, [(now.codebook.names[j], float(excess[j] / whole)) for j in order if excess[j] > 0])


def strangers_of(now: Predictor, novelty: PredictionNovelty) -> NovelRows:
    """How unusual the rows of a batch are -> how many are strange, and how improbable so many are.

    The number is beta-binomial, because ranks are among a finite number of rows. Training rows are judged by some of
    the trees only, so their scores are noisy: they count as half as many rows.
    """
    known = len(learned_novelty(now.fitted).both)
    p_value = novelty.p_value
    number, rank = int((p_value <= STRANGE).sum()), int(STRANGE * (known + 1))
    if rank < 1:
        return NovelRows(number, 0.0, 1.0)
    chance = float(betabinom.sf(number - 1, len(p_value), rank / 2, (known + 1 - rank) / 2))
    return NovelRows(number, len(p_value) * rank / (known + 1), min(1.0, chance))


def _branches(tree: TreeArrays, least: int) -> NDArray[np.int64]:
    """-> (N,): for the nodes that are leaves, the smallest node around them with so many rows."""
    found = np.zeros(tree.n_nodes, dtype=np.int64)
    leaves = np.flatnonzero(tree.is_leaf)
    found[leaves] = ancestor_at(tree, least)[tree.nodes.payload[leaves]]
    # A branch must not lie inside another: the topmost of those that lead to a leaf counts.
    is_end = np.zeros(tree.n_nodes, dtype=bool)
    is_end[found[leaves]] = True
    at, top = found[leaves].copy(), found[leaves].copy()
    while (inside := tree.parent[at] >= 0).any():
        at[inside] = tree.parent[at[inside]]
        top[inside] = np.where(is_end[at[inside]], at[inside], top[inside])
    found[leaves] = top
    return found


def _drawn(table: sparse.csr_array, seed: int) -> Floats:
    """Rows (n, m) -> (DRAWS,): the squared length of their sum with normal weights, centred, divided by n."""
    random, n_rows = np.random.default_rng(seed), table.shape[0]
    mean = np.asarray(table.sum(axis=0)).ravel() / n_rows
    across, drawn = table.T.tocsr(), []
    for _ in range(DRAWS // AT_ONCE):
        weights = random.normal(size=(n_rows, AT_ONCE))
        sums = across @ weights - mean[:, None] * weights.sum(axis=0)
        drawn.append((sums**2).sum(axis=0) / n_rows)
    return np.concatenate(drawn)


def _chance(now: Predictor, known: float) -> float:
    """How much chance the counts of a tree have: a little over one by its training rows, twice as much in a bag.

    A little over, because trees cut where their own rows are. The quarter was chosen on sixty tables without a shift.
    """
    drawn = now.fitted.fingerprint
    return (2.25 if drawn is not None and drawn.leaf_counts == "inbag" else 1.25) / known


def _add_excess(excess: Floats, tree: TreeArrays, ends: NDArray[np.int64], held_now: Floats, share: Floats) -> None:
    """Add the information of every split above the ends to its feature: how much children differ more than it does."""
    new, old = np.zeros(tree.n_nodes), np.zeros(tree.n_nodes)
    at, new_part, old_part = ends.copy(), held_now.copy(), share.copy()
    inner = np.zeros(tree.n_nodes, dtype=bool)
    while len(at):
        np.add.at(new, at, new_part)
        np.add.at(old, at, old_part)
        above = tree.parent[at]
        keep = above >= 0
        at, new_part, old_part = above[keep], new_part[keep], old_part[keep]
        inner[at] = True
    with np.errstate(divide="ignore", invalid="ignore"):
        information = np.where(new > 0, new * np.log(new / old), 0.0)
    child = np.flatnonzero((tree.parent >= 0) & (old > 0))
    np.add.at(excess, tree.nodes.feature[tree.parent[child]], information[child])
    np.subtract.at(excess, tree.nodes.feature[np.flatnonzero(inner)], information[inner])
