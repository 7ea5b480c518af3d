"""Shapley values."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hedgerow.belief.additive import CARRIED, calibrated_shap
from hedgerow.forest.fold import fold
from hedgerow.forest.forest import Forest
from hedgerow.forest.states import lift_distinct
from hedgerow.inference.predictor import predictor_of
from hedgerow.rules import Setting
from hedgerow.rules.additive import Additive, additive
from hedgerow.rules.doubts import DOUBTS, UncertaintySums, doubt_sums
from hedgerow.table.bins import Codes
from hedgerow.tasks.classification.predictor import ClassificationPredictor
from hedgerow.tasks.regression.predictor import RegressionPredictor

Floats = NDArray[np.float64]

#: Values of leaves are computed for groups of trees, of about this many bytes.
GROUP_BYTES = 64 << 20
#: Deeper trees are not compared with a background, because every level takes space on the stack.
MAX_DEPTH = 10_000


class ShapValues(NamedTuple):
    """What features add: ``base + values.sum(axis=1)`` is the forest's answer for n samples and K classes.

    ``values`` is (n, p, K). With interactions it is (n, p, p, K) and symmetric, and row i sums to what feature i adds.
    ``base`` (K,) is the forest's answer if no feature is known. For a regressor there is no last axis.
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
    """Shapley values of a forest's answers, exact for everything that is a sum over its trees.

    The probabilities of a calibrated forest are a map of such sums. Its values are those of the sums, carried through
    the map (see Notes), and add up to what the forest answers.

    Parameters
    ----------
    forest : fitted classifier or regressor of hedgerow
        Its rule, caution and learned tree weights are used.
    X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
        Samples; nominal features and missing values are explained like any other.
    what : {"probability", "prediction", "lower", "upper", "width", "log_odds", "vacuity", "conflict", "epistemic"}
        The quantity to explain. None is "probability", or "prediction" for a regressor; bounds are those of
        `predict_bounds`. "width" (upper - lower) shows which features make the forest unsure. "log_odds" (under the
        rules "eva" and "dempster") compares a class with the geometric mean of the others; with two classes, with the
        other. The last three are kinds of doubt of a classifier as in `predict_uncertainty`. "vacuity" is exact.
        "conflict" and "epistemic" are not sums over trees; their values add up, but are approximate (see Notes).
    interactions : bool, default=False
        Whether to split what a feature adds into what it adds alone and together with each other feature.
    background : {array-like, sparse matrix, data frame} of shape (n_background, n_features), default=None
        Rows from which unknown features take their values, all at once ("interventional"). None follows the paths of
        the trees instead and weights branches by the training rows in their leaves ("path-dependent").
    rule : str or Rule, default=None
        Rule to use instead of the forest's.
    caution : float, default=None
        Caution to use instead of the forest's.

    Returns
    -------
    ShapValues
        ``values`` (n_samples, n_features, n_classes) or, with interactions, (n_samples, n_features, n_features,
        n_classes), and ``base`` (n_classes,). For a regressor, and for kinds of doubt, there is no axis of classes.

    Notes
    -----
    Time grows with nodes × distinct features on a path, not with their square; with a background it also grows with
    its rows. The number of threads is ``forest.n_jobs``; it does not change a single bit of the values.

    With ``calibration="oob"`` the answer is F(z), where z are the probabilities before the map, and for bounds also the
    vacuity. A feature with Shapley values φ of z adds A φ to the answer, where A is the mean derivative of F on the
    straight way from z0, the answer without any feature, to z. This is how integrated gradients share out a difference
    (Sundararajan et al. 2017), with the Shapley values of the trees as steps. ``base`` is F(z0). Conflict and epistemic
    doubt are shared out in the same way. On forests of 4 to 15 trees these values differ from Shapley values by
    definition by 17 to 35 % of their mean size (``tests/explain/test_shap_doubt.py``): they say which features matter
    most, not exactly how much.

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
    predictor = predictor_of(forest)
    if predictor.kind not in _EXPLAINERS:
        raise TypeError(
            f"forest must answer by the mean of its trees, got a {type(forest).__name__}, which combines its trees"
            " in another way; use another classifier or regressor"
        )
    codes, trees = predictor.read(X).codes, predictor.forest
    explained = _EXPLAINERS[predictor.kind](predictor.under(rule, caution), what)
    n_threads = predictor.threads(codes.shape[1] * trees.n_trees)
    others = None if background is None else predictor.read(background).codes
    values, base = explain_values(trees, codes, explained.groups(), explained.width, interactions, others, n_threads)
    found: ShapValues = explained.answer(
        values, explained.base(base) if others is None else explained.mean(others, n_threads)
    )
    return found


def shap_values_of_each(predictor: ClassificationPredictor, codes: Codes, whats: tuple[str, ...]) -> list[ShapValues]:
    """Codes (p, n), several quantities -> the Shapley values of each; the trees are read only once."""
    explained = [_Classes(predictor, what) for what in whats]
    both = _SideBySide([part for each in explained for part in each.sums.parts])
    groups = _leaf_values(predictor.forest, both, predictor.setting, predictor.weights)
    n_threads = predictor.threads(codes.shape[1] * predictor.forest.n_trees)
    widths = [each.width for each in explained]
    values, base = explain_values(predictor.forest, codes, groups, sum(widths), n_threads=n_threads)
    ends = np.cumsum(widths)
    return [
        each.answer(values[:, :, end - each.width : end], each.base(base[end - each.width : end]))
        for each, end in zip(explained, ends, strict=True)
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
        The mean over the training rows in the leaves, not over a background.
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


class _Classes:
    """An answer about classes: a sum over trees, or a map of such sums."""

    def __init__(self, predictor: ClassificationPredictor, what: str | None) -> None:
        self.predictor, self._what = predictor, what or "probability"
        self._maps = self._what in CARRIED and predictor.is_calibrated
        whats = CARRIED[self._what] if self._maps else (self._what,)
        self.sums = _SideBySide(
            [additive(predictor.plain_rule, each, predictor.forest.n_trees, predictor.weights) for each in whats]
        )
        self._widths = [part.width(predictor.setting) for part in self.sums.parts]
        self.width = sum(self._widths)

    def groups(self) -> Iterator[tuple[int, int, Floats]]:
        """Values (leaves, S) of trees first to last - 1, group by group."""
        return _leaf_values(self.predictor.forest, self.sums, self.predictor.setting, self.predictor.weights)

    def base(self, base: Floats) -> Floats:
        """Mean of the values (S,) -> the sums if no feature is known."""
        offsets = [self._of_classes(part, part.offset(self.predictor.setting)) for part in self.sums.parts]
        return self._sums(base) + np.concatenate(offsets)

    def mean(self, codes: Codes, n_threads: int) -> Floats:
        """Codes (p, n) -> the mean of the sums."""
        predictor = self.predictor
        text = fold(
            predictor.forest, codes, self.sums, predictor.setting, weights=predictor.weights, n_threads=n_threads
        )
        return self.base(np.asarray(text.mean(axis=0)))

    def answer(self, values: Floats, base: Floats) -> ShapValues:
        """What features add to the values (..., S), and the sums if none is known -> what they add to the answer."""
        sums = self._sums(values)
        if not self._maps:
            return ShapValues(sums, base)
        of_base, of_features = calibrated_shap(self.predictor.calibration, self._what, base, sums)
        return ShapValues(of_features, of_base)

    def _sums(self, values: Floats) -> Floats:
        """Values (..., S) -> the sums that the answer is made of: those of each class, a vacuity once (..., Z)."""
        ends, setting = np.cumsum(self._widths), self.predictor.setting
        parts = zip(self.sums.parts, ends, self._widths, strict=True)
        of_parts = [(part, part.of_classes(values[..., end - width : end], setting)) for part, end, width in parts]
        return np.concatenate([self._of_classes(part, each) for part, each in of_parts], axis=-1)

    def _of_classes(self, part: Additive, values: Floats) -> Floats:
        """What a part says of each class (..., K) -> the same; of the vacuity, which is that of all classes, one."""
        return values[..., :1] if self._maps and part.what == "width" else values


class _UncertaintyParts:
    """A kind of doubt of a classifier: vacuity, which is a sum over trees, conflict or epistemic doubt."""

    def __init__(self, predictor: ClassificationPredictor, what: Any) -> None:
        self.predictor, self._sums = predictor, doubt_sums(predictor.plain_rule, what, predictor.forest.n_trees)
        self.width = self._sums.width(predictor.setting)

    def groups(self) -> Iterator[tuple[int, int, Floats]]:
        """Values (leaves, S) of trees first to last - 1, group by group."""
        return _leaf_values(self.predictor.forest, self._sums, self.predictor.setting, None)

    def base(self, base: Floats) -> Floats:
        """Sums if no feature is known (S,) -> the same."""
        return base

    def mean(self, codes: Codes, n_threads: int) -> Floats:
        """Codes (p, n) -> the mean of the sums."""
        predictor = self.predictor
        text = fold(predictor.forest, codes, self._sums, predictor.setting, n_threads=n_threads)
        return np.asarray(text.mean(axis=0))

    def answer(self, values: Floats, base: Floats) -> ShapValues:
        """What features add to the sums (..., S), and the sums if none is known -> what they add to the doubt."""
        return ShapValues(self._sums.propagate(base, values), self._sums.doubt(base[None])[0])


class _Numbers:
    """An answer of a regressor, a mean over trees: the prediction, a bound, or the width between the bounds."""

    width = 1

    def __init__(self, predictor: RegressionPredictor, what: str | None) -> None:
        lower, upper = predictor.leaf_bounds()
        text = {"prediction": predictor.leaf_values, "lower": lower, "upper": upper, "width": upper - lower}
        what = what or "prediction"
        if what not in text:
            raise ValueError(
                f"what must be one of {', '.join(text)} for a regressor, got {what!r}; choose one of these"
            )
        self.predictor, self._leaves = predictor, text[what][:, None]

    def groups(self) -> Iterator[tuple[int, int, Floats]]:
        """Values (leaves, 1) of all trees."""
        yield 0, self.predictor.forest.n_trees, self._leaves / self.predictor.forest.n_trees

    def base(self, base: Floats) -> Floats:
        """(1,) -> the number."""
        return base[0]  # type: ignore[no-any-return]

    def answer(self, values: Floats, base: Floats) -> ShapValues:
        """Values (..., 1) and the number if no feature is known -> what features add."""
        return ShapValues(values[..., 0], base)

    def mean(self, codes: Codes, n_threads: int) -> Floats:
        """Codes (p, n) -> the mean answer."""
        return self.predictor.mean(codes, lambda at: self._leaves[at]).mean(axis=0)[0]  # type: ignore[no-any-return]


def _of_classes(predictor: ClassificationPredictor, what: Any) -> _Classes | _UncertaintyParts:
    """A classifier: the probabilities or bounds of its classes, or a kind of doubt."""
    return _UncertaintyParts(predictor, what) if what in DOUBTS else _Classes(predictor, what)


#: What can be explained, for each kind of answers.
_EXPLAINERS: dict[str, Any] = {"classes": _of_classes, "numbers": _Numbers}


def leaf_covers(trees: Forest) -> Floats:
    """A forest -> (leaves of all trees,): rows in each leaf, or their weight if rows have weights."""
    held = trees.counts if trees.weights is None else trees.weights
    if trees.entry_start is None:
        return np.asarray(held.reshape(-1, trees.n_classes).sum(axis=1, dtype=np.float64))
    running = np.concatenate([[0.0], np.cumsum(held, dtype=np.float64)])
    return np.ascontiguousarray(np.diff(running[trees.entry_start]))


class _SideBySide:
    """Several sums over trees as one, with their values in one row."""

    merge = "add"

    def __init__(self, parts: list[Additive]) -> None:
        self.parts = parts

    def class_blocks(self, setting: Setting) -> tuple[int, ...]:
        """Nothing is known of the values."""
        return ()

    def lift(self, counts: Floats, setting: Setting) -> Floats:
        """Counts (m, K) -> values of all parts side by side (m, S1 + S2 + ...)."""
        return np.hstack([part.lift(counts, setting) for part in self.parts])

    def finish(self, state: Floats, setting: Setting) -> Floats:
        """The state itself: the caller takes the parts out."""
        return state

    def check(self, counts: Floats) -> None:
        """Refuse leaves (m, K) that any part refuses."""
        for part in self.parts:
            part.check(counts)


def _leaf_values(
    trees: Forest, explained: Additive | UncertaintySums | _SideBySide, setting: Setting, weights: Floats | None
) -> Iterator[tuple[int, int, Floats]]:
    """Values (leaves, S) of trees first to last - 1, group by group."""
    per_tree = np.diff(trees.leaf_start) * 8 * trees.n_classes
    first = 0
    while first < trees.n_trees:
        last = max(first + 1, int(np.searchsorted(np.cumsum(per_tree[first:]), GROUP_BYTES)) + first)
        counts = [trees.evidence_in(tree) for tree in range(first, last)]
        leaves = np.concatenate(counts)
        explained.check(leaves)
        states = lift_distinct(explained, leaves, setting)
        if weights is not None:
            states *= np.repeat(weights[first:last], [len(part) for part in counts])[:, None]
        yield first, last, states
        first = last


def _with_own_part(values: Floats, pairs: Floats) -> Floats:
    """What features add (n, p, S), and in pairs off the diagonal (n, p, p, S) -> pairs, each alone on the diagonal."""
    each = np.arange(pairs.shape[1])
    pairs[:, each, each] = values - pairs.sum(axis=2)
    return pairs
