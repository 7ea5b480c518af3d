"""Shapley values."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hedgerow.forest.fold import fold
from hedgerow.forest.forest import Forest
from hedgerow.forest.reducers import lift_distinct
from hedgerow.inference.predictor import predictor_of
from hedgerow.rules import Setting
from hedgerow.rules.additive import (
    CARRIED,
    UNCERTAINTIES,
    Additive,
    UncertaintySums,
    additive,
    calibrated_shap,
    uncertainty_sums,
)
from hedgerow.table.bins import Codes
from hedgerow.tasks.classification.predictor import ClassificationPredictor
from hedgerow.tasks.regression.predictor import RegressionPredictor
from hedgerow.tasks.survival.predictor import SurvivalPredictor

if TYPE_CHECKING:
    from sklearn.base import BaseEstimator

    from hedgerow.table.schema import TableLike

Floats = NDArray[np.float64]

#: Leaf values are computed for groups of trees of about this many bytes.
GROUP_BYTES = 64 << 20
#: Deeper trees do not support a background, because the recursion needs stack space for every level.
MAX_DEPTH = 10_000
#: Samples are explained in blocks of about this many numbers, if a quantity is a function of many sums.
MOST_NUMBERS = 1 << 26


class ShapValues(NamedTuple):
    """Feature contributions: ``base + values.sum(axis=1)`` is the output for n samples and K classes.

    ``values`` is (n, p, K). With interactions it is (n, p, p, K) and symmetric, and row i sums to the contribution of
    feature i. ``base`` (K,) is the output if no feature is known. For a regressor there is no last axis.
    """

    values: Floats
    base: Floats


def shap_values(
    forest: BaseEstimator,
    X: TableLike,
    what: str | None = None,
    *,
    interactions: bool = False,
    background: TableLike | None = None,
    rule: Any = None,
    caution: float | None = None,
    time: float | None = None,
) -> ShapValues:
    """Compute Shapley values, exact for quantities that are sums over trees.

    Calibrated probabilities are a function of such sums. Their values are the Shapley values of the sums, propagated
    through the calibrator (see Notes), and add up to the calibrated probabilities.

    Parameters
    ----------
    forest : fitted classifier, regressor or survival model of hedgerow
        The values use its rule, caution and learned tree weights.
    X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
        Samples; categorical features and missing values are supported.
    what : {"probability", "prediction", "lower", "upper", "width", "log_odds", "vacuity", "conflict", "epistemic"}
        The quantity to explain. None is "probability", "prediction" for a regressor, or "survival" for a survival
        model, which also has "rmst" and "risk"; bounds are those of `predict_bounds`. "width" (upper - lower) shows
        which features make the forest uncertain. "log_odds" (under the rules "eva" and "dempster") compares a class
        with the geometric mean of the others; with two classes, with the other. The last three are uncertainties of a
        classifier as in `predict_uncertainty`. "vacuity" is exact. "conflict" and "epistemic" are not sums over trees;
        their values add up, but are approximate (see Notes).
    interactions : bool, default=False
        Whether to divide contributions into main effects and pairwise interactions.
    background : {array-like, sparse matrix, data frame} of shape (n_background, n_features), default=None
        Rows from which unknown features take their values jointly ("interventional"). None follows the paths of the
        trees instead and weights branches by the training rows in their leaves ("path-dependent").
    rule : str or Rule, default=None
        Combination rule; None means that of the forest.
    caution : float, default=None
        Caution; None means that of the forest.
    time : float, default=None
        For a survival model: the time of the survival probability and its bounds (None means the middle of
        ``event_times_``), or the horizon of the restricted mean "rmst" (None means the last event time).

    Returns
    -------
    ShapValues
        ``values`` (n_samples, n_features, n_classes) or, with interactions, (n_samples, n_features, n_features,
        n_classes), and ``base`` (n_classes,). For regressors, survival models and uncertainties there is no axis of
        classes.

    Notes
    -----
    The time is proportional to nodes × distinct features on a path, and with a background also to its rows. The number
    of threads is ``forest.n_jobs``; values are bitwise identical for any number.

    With ``calibration="oob"`` the output is F(z), where z are the uncalibrated probabilities, and for bounds also the
    vacuity. A feature with Shapley values φ of z contributes A φ, where A is the mean derivative of F on the line from
    z0, the value without any feature, to z. These are integrated gradients (Sundararajan et al. 2017) with the Shapley
    values of the trees as steps. ``base`` is F(z0). Conflict and epistemic uncertainty are treated in the same way. On
    forests of 4 to 15 trees these values differ from exact Shapley values by 17% to 35% of their mean size
    (``tests/explain/test_shap_uncertainty.py``): use them to rank features.

    The survival probability at a time, its bounds, and the risk are sums over trees, whose values are exact with
    ``calibration=None``. A calibrated survival probability is a function F of such a sum, and its contributions are
    those of the sum times (F(z) - F(z0)) / (z - z0). The restricted mean is an integral of survival probabilities.

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
            "forest must be a classifier, regressor or survival model whose trees predict all classes, got"
            f" {type(forest).__name__}."
        )
    codes, trees = predictor.read(X).codes, predictor.forest
    explained = _EXPLAINERS[predictor.kind](predictor.under(rule, caution), what, time)
    n_threads = predictor.threads(codes.shape[1] * trees.n_trees)
    others = None if background is None else predictor.read(background).codes
    mean = None if others is None else explained.mean(others, n_threads)
    found = []
    numbers = explained.width * len(codes) ** (2 if interactions else 1)
    block = max(1, MOST_NUMBERS // max(numbers, 1))
    for first in range(0, max(codes.shape[1], 1), block):
        some = np.ascontiguousarray(codes[:, first : first + block])
        sums = explain_values(trees, some, explained.groups(), explained.width, interactions, others, n_threads)
        found.append(explained.shap(sums[0], explained.base(sums[1]) if mean is None else mean))
    return ShapValues(np.concatenate([each.values for each in found]), found[0].base)


def shap_values_of_each(predictor: ClassificationPredictor, codes: Codes, whats: tuple[str, ...]) -> list[ShapValues]:
    """Compute the Shapley values of several quantities for samples (p, n), in one pass over the trees."""
    return _in_one_pass(predictor, codes, [_ClassOutput(predictor, what) for what in whats])


def curve_shap(predictor: SurvivalPredictor, codes: Codes, time: float) -> list[ShapValues]:
    """Compute the Shapley values of survival at a time, and of the width of its bounds, for samples (p, n)."""
    return _in_one_pass(predictor, codes, [_CurveOutput(predictor, what, time) for what in ("survival", "width")])


def _in_one_pass(
    predictor: ClassificationPredictor | SurvivalPredictor, codes: Codes, explained: Sequence[_Output]
) -> list[ShapValues]:
    """Compute the Shapley values of several quantities in one pass over the trees."""
    groups = _joined([each.groups() for each in explained])
    n_threads = predictor.threads(codes.shape[1] * predictor.forest.n_trees)
    widths = [each.width for each in explained]
    values, base = explain_values(predictor.forest, codes, groups, sum(widths), n_threads=n_threads)
    ends = np.cumsum(widths)
    return [
        each.shap(values[:, :, end - each.width : end], each.base(base[end - each.width : end]))
        for each, end in zip(explained, ends, strict=True)
    ]


def _joined(
    groups: list[Iterator[tuple[int, int, Floats]]],
) -> Iterator[tuple[int, int, Floats]]:
    """Yield the leaf values (leaves, S) of several quantities side by side."""
    for parts in zip(*groups, strict=True):
        first, last, _ = parts[0]
        yield first, last, np.hstack([values for _, _, values in parts])


def explain_values(
    trees: Forest,
    codes: Codes,
    groups: Iterator[tuple[int, int, Floats]],
    width: int,
    interactions: bool = False,
    background: Codes | None = None,
    n_threads: int = 1,
) -> tuple[Floats, Floats]:
    """Compute the Shapley values of samples (p, n).

    `groups` yields leaf values (leaves, S) of the trees from first to last - 1.

    Returns
    -------
    values : (n, p, S) or (n, p, p, S)
    base : (S,)
        The mean over the training rows in the leaves, not over a background.
    """
    if background is not None and trees.depth.max(initial=0) > MAX_DEPTH:
        raise ValueError(
            f"background must be None for trees deeper than {MAX_DEPTH}, got depth {trees.depth.max()}. Set max_depth."
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


class _ClassOutput:
    """A quantity of each class: a sum over trees, or a calibrated function of such sums."""

    def __init__(self, predictor: ClassificationPredictor, what: str | None) -> None:
        self.predictor, self._what = predictor, what or "probability"
        self._calibrated = self._what in CARRIED and predictor.is_calibrated
        whats = CARRIED[self._what] if self._calibrated else (self._what,)
        if predictor.has_gaps and predictor.is_calibrated and self._what not in ("probability", "log_odds"):
            raise ValueError(
                f"what must be 'probability' or 'log_odds' for a calibrated forest fitted to uncertain labels, got"
                f" {self._what!r}. Set calibration=None to explain bounds."
            )
        #: Views whose probabilities replace the sums for the probability.
        self.views = predictor.calibration.views if self._calibrated else None
        self._n_shares = 0 if self.views is None else self.views.number * predictor.forest.n_classes
        self.sums = _SideBySide(
            [
                additive(predictor.plain_wide_rule, each, predictor.forest.n_trees, predictor.weights)
                for each in whats
                if self.views is None or each != "probability"
            ]
        )
        self._widths = [part.width(predictor.setting) for part in self.sums.parts]
        self.width = sum(self._widths) + self._n_shares

    def groups(self) -> Iterator[tuple[int, int, Floats]]:
        """Yield leaf values (leaves, S) of the trees from first to last - 1, those of views first."""
        forest, setting = self.predictor.forest, self.predictor.setting
        groups = _leaf_values(forest.widened, self.sums, setting, self.predictor.weights)
        if self.views is None:
            return groups
        reader = forest.viewed(self.views)
        return ((first, last, np.hstack([reader.leaf_states(first, last), own])) for first, last, own in groups)

    def base(self, base: Floats) -> Floats:
        """Return the sums if no feature is known, from the mean of the values (S,)."""
        offsets = [np.zeros(self._n_shares)]
        offsets += [self._of_classes(part, part.offset(self.predictor.setting)) for part in self.sums.parts]
        return self._sums(base) + np.concatenate(offsets)

    def mean(self, codes: Codes, n_threads: int) -> Floats:
        """Return the mean of the sums over samples (p, n)."""
        predictor = self.predictor
        sums = fold(
            predictor.forest.widened,
            codes,
            self.sums,
            predictor.setting,
            weights=predictor.weights,
            n_threads=n_threads,
        )
        if self.views is not None:
            sums = np.hstack([predictor.forest.viewed(self.views).probability(codes, n_threads), sums])
        return self.base(np.asarray(sums.mean(axis=0)))

    def shap(self, values: Floats, base: Floats) -> ShapValues:
        """Convert the Shapley values of the sums (..., S) to those of the quantity."""
        sums = self._sums(values)
        if not self._calibrated:
            return ShapValues(sums, base)
        of_base, of_features = calibrated_shap(self.predictor.calibration, self._what, base, sums)
        return ShapValues(of_features, of_base)

    def _sums(self, values: Floats) -> Floats:
        """Return the sums (..., Z) of which the quantity is a function, from the values (..., S)."""
        ends, setting = self._n_shares + np.cumsum(self._widths), self.predictor.setting
        parts = zip(self.sums.parts, ends, self._widths, strict=True)
        of_parts = [(part, part.of_classes(values[..., end - width : end], setting)) for part, end, width in parts]
        sums = [self._of_classes(part, each) for part, each in of_parts]
        return np.concatenate([values[..., : self._n_shares], *sums], axis=-1)

    def _of_classes(self, part: Additive, values: Floats) -> Floats:
        """Keep one of the values (..., K) of the vacuity, which is the same for all classes."""
        return values[..., :1] if self._calibrated and part.what == "width" else values


class _UncertaintyOutput:
    """An uncertainty of a classifier: vacuity, conflict or epistemic uncertainty."""

    def __init__(self, predictor: ClassificationPredictor, what: Any) -> None:
        if predictor.has_gaps:
            raise ValueError(
                f"what must be a quantity of each class for a forest fitted to uncertain labels, got {what!r}. Explain"
                " 'probability', or with calibration=None 'width'."
            )
        self.predictor, self._sums = predictor, uncertainty_sums(predictor.plain_rule, what, predictor.forest.n_trees)
        self.width = self._sums.width(predictor.setting)

    def groups(self) -> Iterator[tuple[int, int, Floats]]:
        """Yield leaf values (leaves, S) of the trees from first to last - 1."""
        return _leaf_values(self.predictor.forest, self._sums, self.predictor.setting, None)

    def base(self, base: Floats) -> Floats:
        """Return the sums if no feature is known (S,)."""
        return base

    def mean(self, codes: Codes, n_threads: int) -> Floats:
        """Return the mean of the sums over samples (p, n)."""
        predictor = self.predictor
        sums = fold(predictor.forest, codes, self._sums, predictor.setting, n_threads=n_threads)
        return np.asarray(sums.mean(axis=0))

    def shap(self, values: Floats, base: Floats) -> ShapValues:
        """Convert the Shapley values of the sums (..., S) to those of the uncertainty."""
        return ShapValues(self._sums.propagate(base, values), self._sums.uncertainty(base[None])[0])


class _NumberOutput:
    """A quantity of a regressor: the prediction, a bound, or the width between the bounds."""

    width = 1

    def __init__(self, predictor: RegressionPredictor, what: str | None, time: float | None = None) -> None:
        _check_no_time(time, "a regressor")
        lower, upper = predictor.leaf_bounds()
        quantities = {"prediction": predictor.leaf_values, "lower": lower, "upper": upper, "width": upper - lower}
        what = what or "prediction"
        if what not in quantities:
            raise ValueError(f"what must be one of {', '.join(quantities)} for a regressor, got {what!r}.")
        self.predictor, self._leaves = predictor, quantities[what][:, None]

    def groups(self) -> Iterator[tuple[int, int, Floats]]:
        """Yield the values (leaves, 1) of all trees."""
        yield 0, self.predictor.forest.n_trees, self._leaves / self.predictor.forest.n_trees

    def base(self, base: Floats) -> Floats:
        """Return the value if no feature is known."""
        return np.asarray(base[0])

    def shap(self, values: Floats, base: Floats) -> ShapValues:
        """Drop the last axis of the values (..., 1)."""
        return ShapValues(values[..., 0], base)

    def mean(self, codes: Codes, n_threads: int) -> Floats:
        """Return the mean over samples (p, n)."""
        return np.asarray(self.predictor.mean(codes, lambda at: self._leaves[at]).mean(axis=0)[0])


class _CurveOutput:
    """A quantity of a survival model: survival or a bound at a time, their width, the restricted mean, or the risk.

    It is a weighted sum of calibrated probabilities, each a function of a sum over trees.
    """

    def __init__(self, predictor: SurvivalPredictor, what: str | None, time: float | None = None) -> None:
        what = what or "survival"
        if what not in SURVIVAL_QUANTITIES:
            raise ValueError(
                f"what must be one of {', '.join(SURVIVAL_QUANTITIES)} for a survival model, got {what!r}."
            )
        if what == "risk":
            _check_no_time(time, "the risk")
        self.predictor, self._kind = predictor, SURVIVAL_QUANTITIES[what]
        self._columns, self._weights = self._parts(what, time)
        self._calibrator = None if what == "risk" else predictor.calibrator()
        self.width = 1 if self._calibrator is None else len(self._weights)

    def groups(self) -> Iterator[tuple[int, int, Floats]]:
        """Yield leaf values (leaves, S) of the trees from first to last - 1."""
        forest = self.predictor.forest
        for tree in range(forest.n_trees):
            leaves = self.predictor.curves_of_leaves(self._kind, *forest.leaf_start[tree : tree + 2].tolist())
            yield tree, tree + 1, self._values(leaves) / forest.n_trees

    def base(self, base: Floats) -> Floats:
        """Return the sums if no feature is known (S,)."""
        return base

    def mean(self, codes: Codes, n_threads: int) -> Floats:
        """Return the mean of the sums over samples (p, n)."""
        return np.asarray(self._values(self.predictor.means(codes, self._kind)).mean(axis=0))

    def shap(self, values: Floats, base: Floats) -> ShapValues:
        """Convert the Shapley values of the sums (..., S) to those of the quantity."""
        if self._calibrator is None:
            return ShapValues(values[..., 0], np.asarray(base[0]))
        ends = base + values.sum(axis=tuple(range(1, values.ndim - 1)))
        rates = _secants(self._calibrator, base, ends) * self._weights
        return ShapValues(np.einsum("n...s,ns->n...", values, rates), self._calibrator(base) @ self._weights)

    def _parts(self, what: str, time: float | None) -> tuple[NDArray[np.intp], Floats]:
        """Return the columns of curves of which the quantity is a sum, and their weights."""
        times = self.predictor.info.times
        if what == "risk":
            return np.arange(len(times) + 1), np.ones(len(times) + 1)
        if what == "rmst":
            steps = np.trim_zeros(self.predictor.widths(float(times[-1]) if time is None else time), "b")
            return np.arange(len(steps)), steps
        column = self.predictor.columns_of(self.predictor.middle if time is None else time)
        upper = len(times) + 1 + column
        return {
            "upper": (upper, np.ones(1)),
            "width": (np.concatenate([upper, column]), np.array([1.0, -1.0])),
        }.get(what, (column, np.ones(1)))

    def _values(self, curves: Floats) -> Floats:
        """Return the sums (m, S): one for each probability, or a single one if they are not calibrated."""
        values = np.ascontiguousarray(curves[:, self._columns])
        return values if self._calibrator is not None else np.asarray(values @ self._weights[:, None])


#: Quantities of a survival model, and the curves from which they are computed.
SURVIVAL_QUANTITIES = {
    "survival": "survival",
    "lower": "bounds",
    "upper": "bounds",
    "width": "bounds",
    "rmst": "survival",
    "risk": "hazard",
}


def _secants(function: Callable[[Floats], Floats], start: Floats, ends: Floats) -> Floats:
    """Return the mean slope of a function of each quantity from its start (S,) to its ends (n, S)."""
    step = ends - start
    far = np.abs(step) > 1e-9
    change = function(ends) - function(start)
    slope = (function(start + 1e-6) - function(start - 1e-6)) / 2e-6
    return np.where(far, change / np.where(far, step, 1.0), slope)


def _check_no_time(time: float | None, subject: str) -> None:
    """Raise a ValueError for the time of a quantity that has none."""
    if time is not None:
        raise ValueError(f"time must be None for {subject}, got {time!r}.")


_Output = _ClassOutput | _CurveOutput


def _of_classes(
    predictor: ClassificationPredictor, what: Any, time: float | None = None
) -> _ClassOutput | _UncertaintyOutput:
    """Choose the output of a classifier: a quantity of its classes, or an uncertainty."""
    _check_no_time(time, "a classifier")
    return _UncertaintyOutput(predictor, what) if what in UNCERTAINTIES else _ClassOutput(predictor, what)


#: Outputs by type of predictor.
_EXPLAINERS: dict[str, Any] = {"classes": _of_classes, "numbers": _NumberOutput, "survival": _CurveOutput}


def leaf_covers(trees: Forest) -> Floats:
    """Return the number of rows in each leaf of all trees, or their weight if rows have weights."""
    held = trees.counts if trees.weights is None else trees.weights
    if trees.entry_start is None:
        return np.asarray(held.reshape(-1, trees.n_classes).sum(axis=1, dtype=np.float64))
    running = np.concatenate([[0.0], np.cumsum(held, dtype=np.float64)])
    return np.ascontiguousarray(np.diff(running[trees.entry_start]))


class _SideBySide:
    """Several sums over trees, concatenated."""

    merge = "add"

    def __init__(self, parts: list[Additive]) -> None:
        self.parts = parts

    def class_blocks(self, setting: Setting) -> tuple[int, ...]:
        """Return no blocks, because the values have no known structure."""
        return ()

    def lift(self, counts: Floats, setting: Setting) -> Floats:
        """Concatenate the values of all parts for counts (m, K)."""
        return np.hstack([np.zeros((len(counts), 0)), *(part.lift(counts, setting) for part in self.parts)])

    def finish(self, state: Floats, setting: Setting) -> Floats:
        """Return the state itself; the caller splits it."""
        return state

    def check(self, counts: Floats) -> None:
        """Raise an error for leaves (m, K) that a part does not support."""
        for part in self.parts:
            part.check(counts)


def _leaf_values(
    trees: Forest,
    explained: Additive | UncertaintySums | _SideBySide,
    setting: Setting,
    weights: Floats | None,
) -> Iterator[tuple[int, int, Floats]]:
    """Yield leaf values (leaves, S) of the trees from first to last - 1."""
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
    """Set the diagonal of the pairs (n, p, p, S) to the main effects, given the contributions (n, p, S)."""
    each = np.arange(pairs.shape[1])
    pairs[:, each, each] = values - pairs.sum(axis=2)
    return pairs
