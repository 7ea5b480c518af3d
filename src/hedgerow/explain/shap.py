"""Shap: a forest, samples and what to explain -> what each feature adds to it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hedgerow.belief import Setting
from hedgerow.belief.additive import Additive, additive
from hedgerow.forest.fold import fold
from hedgerow.forest.forest import Forest
from hedgerow.forest.lift import lift_distinct
from hedgerow.judge.answer import ClassAnswers, answers_of, checked_caution
from hedgerow.judge.number_answers import NumberAnswers
from hedgerow.table.bins import Codes

Floats = NDArray[np.float64]

#: Values of leaves are made for groups of trees that take about this many bytes.
GROUP_BYTES = 64 << 20
#: Trees deeper than this are not compared with a background: every level takes some of the stack.
MAX_DEPTH = 10_000


class ShapValues(NamedTuple):
    """What features add: ``base + values.sum(axis=1)`` is what the forest says of n samples and K classes.

    ``values`` is (n, p, K), or with interactions (n, p, p, K), symmetric, where row i sums to what feature i adds.
    ``base`` (K,) is what the forest says when no feature is known. Of a regressor the last axis is left out.
    """

    values: Floats
    base: Floats


def shap_values(
    forest: Any,
    X: Any,
    what: str | None = None,
    *,
    interactions: bool = False,
    background: Any = None,
    rule: Any = None,
    caution: float | None = None,
) -> ShapValues:
    """Shapley values of what a forest says, exact for everything that is a sum over its trees.

    Parameters
    ----------
    forest : fitted classifier or regressor of hedgerow
        Its rule, caution and learned tree weights are used.
    X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
        Samples; nominal features and missing values are explained like any other.
    what : {"probability", "prediction", "lower", "upper", "width", "log_odds"}, default=None
        None is "probability", of a regressor "prediction"; bounds are those of `predict_bounds`. "width" (upper -
        lower) shows what made the forest ignorant here. "log_odds" (under the rules "eva" and "dempster") are those of
        a class against the geometric mean of the others, for two classes against the other.
    interactions : bool, default=False
        Whether to split what a feature adds into what it adds alone and together with each other one.
    background : {array-like, sparse matrix, data frame} of shape (n_background, n_features), default=None
        Rows from which unknown features take their values, all at once ("interventional"). None follows the paths of
        the trees instead and weighs branches by the training rows in their leaves ("path-dependent").
    rule : str or Rule, default=None
        Instead of the forest's.
    caution : float, default=None
        Instead of the forest's.

    Returns
    -------
    ShapValues
        ``values`` (n_samples, n_features, n_classes) or, with interactions, (n_samples, n_features, n_features,
        n_classes), and ``base`` (n_classes,).

    Notes
    -----
    Time grows with nodes × distinct features on a path, not with its square; with a background it grows with its rows
    as well. Threads are those of ``forest.n_jobs``; their number does not change a bit of the values.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from hedgerow import RandomForestClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> forest = RandomForestClassifier(20, random_state=0).fit(X, y)
    >>> found = shap_values(forest, X[:3])
    >>> found.values.shape
    (3, 4, 3)
    >>> bool(np.allclose(found.base + found.values.sum(axis=1), forest.predict_proba(X[:3])))
    True
    """
    now = answers_of(forest)
    codes, trees = now.read(X), now.forest
    if isinstance(now, NumberAnswers):
        if rule is not None:
            raise ValueError(f"rule must be None for a regressor, got {rule!r}: its trees are averaged; leave it out")
        return _of_numbers(now, codes, what or "prediction", interactions, background, caution)
    if not now.combines_leaves:
        raise TypeError(
            f"forest must answer by the mean of its trees, got a {type(forest).__name__}, whose pairs are put together"
            " by a quadratic programme; ask another classifier"
        )
    now = now.under(rule, caution)
    setting, weights = now.setting, now.weights
    asked = additive(now.rule, what or "probability", trees.n_trees, weights)
    groups, width = _leaf_values(trees, asked, setting, weights), asked.width(setting)
    n_threads = now.threads(codes.shape[1] * trees.n_trees)
    others = None if background is None else now.read(background)
    values, base = explain_values(trees, codes, groups, width, interactions, others, n_threads)
    if others is not None:
        base = fold(trees, others, asked, setting, weights=weights, n_threads=n_threads).mean(axis=0)
    else:
        base = asked.of_classes(base, setting) + asked.offset(setting)
    return ShapValues(asked.of_classes(values, setting), base)


def shap_values_together(now: ClassAnswers, codes: Codes, whats: tuple[str, ...]) -> list[ShapValues]:
    """Codes (p, n), several things to explain -> the Shapley values of each, the trees being read once for all."""
    trees, weights, setting = now.forest, now.weights, now.setting
    parts = [additive(now.rule, what, trees.n_trees, weights) for what in whats]
    together = _SideBySide(parts)
    groups = _leaf_values(trees, together, setting, weights)
    n_threads = now.threads(codes.shape[1] * trees.n_trees)
    widths = [part.width(setting) for part in parts]
    values, base = explain_values(trees, codes, groups, sum(widths), n_threads=n_threads)
    ends = np.cumsum(widths)
    return [
        ShapValues(
            part.of_classes(values[:, :, end - width : end], setting),
            part.of_classes(base[end - width : end], setting) + part.offset(setting),
        )
        for part, end, width in zip(parts, ends, widths, strict=True)
    ]


def explain_values(
    trees: Forest,
    codes: Codes,
    groups: Iterator[tuple[int, int, Floats]],
    width: int,
    interactions: bool = False,
    background: Codes | None = None,
    n_threads: int = 1,
) -> tuple[Floats, Floats]:
    """Codes (p, n), values (leaves, S) of trees first to last - 1, group by group -> what features add.

    Returns
    -------
    values : (n, p, S) or (n, p, p, S)
    base : (S,)
        The mean by the covers of the leaves; not that of a background.
    """
    if background is not None and trees.depth.max(initial=0) > MAX_DEPTH:
        raise ValueError(
            f"background must be None for trees deeper than {MAX_DEPTH}, got depth {trees.depth.max()}; limit max_depth"
        )
    n_features, n_rows = codes.shape
    covers = leaf_covers(trees)
    reached = trees._reader.leaf_shares(covers)
    most = int(min(n_features, trees.depth.max(initial=0)))
    base, values = np.zeros(width), np.zeros((n_rows, n_features, width))
    pairs = np.zeros((n_rows, n_features, n_features, width)) if interactions else None
    for first, last, states in groups:
        trees._reader.explain(codes, states, first, last - first, covers, background, most, n_threads, values, pairs)
        base += reached[trees.leaf_start[first] : trees.leaf_start[last]] @ states
    scale = 1.0 if background is None else 1.0 / background.shape[1]
    return (values if pairs is None else _with_own_part(values, pairs)) * scale, base


def _of_numbers(
    now: NumberAnswers, codes: Codes, what: str, interactions: bool, background: Any, caution: float | None
) -> ShapValues:
    """The same of a regressor: leaves say a number, or one of its bounds."""
    trees, n_threads = now.forest, now.threads(codes.shape[1] * now.forest.n_trees)
    limits = (now.about.low, now.about.high)
    said = _leaf_numbers(
        trees, what, limits, now.caution if caution is None else checked_caution(caution, "a number >= 0")
    )
    groups = iter([(0, trees.n_trees, said[:, None] / trees.n_trees)])
    others = None if background is None else now.read(background)
    values, base = explain_values(trees, codes, groups, 1, interactions, others, n_threads)
    if others is not None:
        base = now.mean(others, said[:, None]).mean(axis=0)
    return ShapValues(values[..., 0], base[0])


def _leaf_numbers(trees: Forest, what: str, limits: tuple[float, float], caution: float) -> Floats:
    """-> (leaves of all trees,): what each leaf of a regressor says."""
    assert trees.values is not None
    share = trees.counts / (trees.counts + caution) if caution > 0 else np.ones(len(trees.counts))
    bounds = {
        end: share * trees.values + (1 - share) * limit for end, limit in zip(("lower", "upper"), limits, strict=True)
    }
    said = {"prediction": trees.values, **bounds, "width": bounds["upper"] - bounds["lower"]}
    if what not in said:
        raise ValueError(f"what must be one of {', '.join(said)} for a regressor, got {what!r}; choose one of these")
    return said[what]


def leaf_covers(trees: Forest) -> Floats:
    """-> (leaves of all trees,): rows in each leaf, or their weight where rows have weights."""
    held = trees.counts if trees.weights is None else trees.weights
    if trees.entry_start is None:
        return np.asarray(held.reshape(-1, trees.n_classes).sum(axis=1, dtype=np.float64))
    running = np.concatenate([[0.0], np.cumsum(held, dtype=np.float64)])
    return np.ascontiguousarray(np.diff(running[trees.entry_start]))


class _SideBySide:
    """Several sums over trees as one, their values in one row."""

    merge = "add"

    def __init__(self, parts: list[Additive]) -> None:
        self._parts = parts

    def lift(self, counts: Floats, setting: Setting) -> Floats:
        """Counts (m, K) -> values of all parts side by side (m, S1 + S2 + ...)."""
        return np.hstack([part.lift(counts, setting) for part in self._parts])

    def finish(self, state: Floats, setting: Setting) -> Floats:
        """Nothing is made of them together."""
        return state

    def check(self, counts: Floats) -> None:
        """Refuse leaves (m, K) that one part refuses."""
        for part in self._parts:
            part.check(counts)


def _leaf_values(
    trees: Forest, asked: Additive | _SideBySide, setting: Setting, weights: Floats | None
) -> Iterator[tuple[int, int, Floats]]:
    """Values (leaves, S) of trees first to last - 1, group by group."""
    per_tree = np.diff(trees.leaf_start) * 8 * trees.n_classes
    first = 0
    while first < trees.n_trees:
        last = max(first + 1, int(np.searchsorted(np.cumsum(per_tree[first:]), GROUP_BYTES)) + first)
        counts = [trees.evidence_in(tree) for tree in range(first, last)]
        together = np.concatenate(counts)
        asked.check(together)
        states = lift_distinct(asked, together, setting)
        if weights is not None:
            states *= np.repeat(weights[first:last], [len(part) for part in counts])[:, None]
        yield first, last, states
        first = last


def _with_own_part(values: Floats, pairs: Floats) -> Floats:
    """What features add (n, p, S), in pairs off the diagonal (n, p, p, S) -> the same with what each adds alone."""
    each = np.arange(pairs.shape[1])
    pairs[:, each, each] = values - pairs.sum(axis=2)
    return pairs
