"""Dirichlet calibration of class probabilities."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln
from threadpoolctl import ThreadpoolController

from hedgerow.belief.opinion import Opinion, across, is_row, opinion_from_bounds, opinion_from_lower
from hedgerow.belief.scalar import RowOpinion, calibrated_shares, with_shares

Floats = NDArray[np.float64]
Labels = NDArray[np.integer[Any]]
Limits = tuple[float | None, float | None]

#: Share added to every class before taking logarithms.
FLOOR = 0.005
#: Fewest rows per class to fit a calibrator.
ROWS_PER_CLASS = 5
#: Largest numbers of rows per class, of rows and of shares to fit a calibrator. More hardly change it.
MOST_ROWS_PER_CLASS, MOST_ROWS, MOST_CELLS = 2_500, 20_000, 1_000_000
#: Largest number of classes with a mixing matrix. Beyond it, all classes share one slope.
MOST_MIXED = 100
#: With many classes, the loss stores shares above zero only, if at most one share in this many is.
MOST_HELD = 4
#: Penalties, in nats, of (slope - 1)², of the squared mix and of the squared offsets. The mix costs more if it has more
#: parameters than a twentieth of the rows.
SLOPE_COST, MIX_COST, OFFSET_COST, MIX_ROWS = 1.0, 3.0, 3.0, 20
#: Folds of `cross_fitted`.
FOLDS = 5
#: Fitted parameters are rounded to multiples of this.
GRID = 2.0**-20
#: Matrix products of at most this many multiplications run in one thread, which fixes the order of their sums.
_ONE_THREAD = 1 << 18
#: Rows calibrated at a time.
_BLOCK = 4096


@dataclass(frozen=True)
class Views:
    """Ways to read a forest: each kind of its trees at each of several depths.

    A view has probabilities of its own, the mean class shares of the trees of its kind at its depth.

    Attributes
    ----------
    kinds : int
        Number of kinds of trees; tree number t is of kind t modulo `kinds`.
    least : tuple of int
        For each depth, the smallest number of rows of the node that is read: the leaf or its smallest ancestor with as
        many rows.

    Examples
    --------
    >>> Views(3, (1, 5, 20)).number
    9
    """

    kinds: int
    least: tuple[int, ...]

    @property
    def number(self) -> int:
        """Number of views V."""
        return self.kinds * len(self.least)

    @property
    def first(self) -> list[int]:
        """The view of each kind at the first depth."""
        return list(range(0, self.number, len(self.least)))


@dataclass(frozen=True, eq=False)
class Calibration:
    """Calibrator of class probabilities, or the reason why none was fitted.

    With L = log((p + 0.005) / (1 + 0.005 K)), the calibrated probability is softmax(g (t L + L M) + c). For a forest
    with several views, it is softmax(g (Σ t_v L_v + L M) + c), where L_v is that of a view, and L the mean over all
    kinds of trees at the first depth.

    Attributes
    ----------
    slope : float
        Slope t, at least 1: the factor by which log-odds are sharpened. With several views, the sum of their weights.
    mix : float64 (K, K) or None
        Mixing matrix M: the effect of the share of one class on another. None if it is not fitted.
    offsets : float64 (K,)
        Offsets c of the classes.
    gain : float
        Factor g, by which a whole forest is sharper than the out-of-bag trees of a row.
    n_rows : int
        Number of rows the calibrator was fitted on.
    why : str
        Why probabilities are not calibrated; empty if they are.
    views : Views or None
        The views of the forest; None if the calibrator acts on its probabilities.
    weights : float64 (V,) or None
        Weight t_v of each view, kind after kind.

    Examples
    --------
    >>> shares = np.array([[0.6, 0.4], [0.7, 0.3], [0.4, 0.6], [0.2, 0.8]] * 5)
    >>> learned = learn_calibrator(shares, np.array([0, 0, 1, 1] * 5))
    >>> learned
    Calibration(slope 2.06, learned on 20 rows)
    >>> learned.of(np.array([[0.6, 0.4]])).round(3)
    array([[0.721, 0.279]])
    """

    slope: float = 1.0
    mix: Floats | None = None
    offsets: Floats = field(default_factory=lambda: np.zeros(0))
    gain: float = 1.0
    n_rows: int = 0
    why: str = ""
    views: Views | None = None
    weights: Floats | None = None

    @cached_property
    def by_class(self) -> tuple[list[list[float]], list[float]]:
        """Return the transposed mix, empty rows without one, and the offsets, as lists."""
        k = len(self.offsets)
        return [[] for _ in range(k)] if self.mix is None else self.mix.T.tolist(), self.offsets.tolist()

    def of(self, probability: Floats) -> Floats:
        """Return calibrated probabilities (n, K), bitwise independent of other rows.

        Given are probabilities (n, K) or, with several views, those of each view (n, V · K).
        """
        if self.why:
            return probability
        if is_row(probability, len(self.offsets)):
            return np.array([calibrated_shares(self, FLOOR, probability[0].tolist())])
        if len(probability) <= _BLOCK:
            return softmax(self.scores(self.logs(probability)))
        calibrated = np.empty((len(probability), len(self.offsets)))
        for first in range(0, len(probability), _BLOCK):
            part = slice(first, first + _BLOCK)
            calibrated[part] = softmax(self.scores(self.logs(probability[part])))
        return calibrated

    def logs(self, probability: Floats) -> Floats:
        """Return logarithms of probabilities (n, K) or (n, V · K)."""
        return log_shares(probability, len(self.offsets))

    def scores(self, logs: Floats) -> Floats:
        """Return the scores (n, K) whose softmax is the calibrated probability.

        Without those of single views, logarithms (n, K) are those of all.
        """
        if self.views is None or self.weights is None or logs.shape[1] == len(self.offsets):
            scores = self.slope * logs
        else:
            scores, logs = _pooled(logs, self.weights, self.views.first)
        if self.mix is not None:  # class by class: the order of sums in a matrix product is undefined
            for label, row in enumerate(self.mix):
                scores = scores + logs[:, label : label + 1] * row
        return self.gain * scores + self.offsets

    def opinion(self, opinion: Opinion) -> Opinion:
        """Return an opinion with calibrated probabilities and their bounds."""
        if self.why:
            return opinion
        given = opinion.probability if self.views is None or opinion.views is None else opinion.views
        return with_probability(opinion, softmax(self.scores(self.logs(given))))

    def row(self, row: RowOpinion) -> RowOpinion:
        """Return the calibrated opinion of one row."""
        return row if self.why else with_shares(row, calibrated_shares(self, FLOOR, row.probability))

    def numbers(self) -> dict[str, Any]:
        """Return floor, slope, mix, offsets and gain as plain Python objects."""
        mix = None if self.mix is None else self.mix.tolist()
        offsets = self.offsets.tolist()
        return {"floor": FLOOR, "slope": self.slope, "mix": mix, "offsets": offsets, "gain": self.gain}

    def __repr__(self) -> str:
        if self.why:
            return f"Calibration(none: {self.why})"
        if self.views is not None:
            return f"Calibration({self.views.number} views, slope {self.slope:.2f}, learned on {self.n_rows:,} rows)"
        return f"Calibration(slope {self.slope:.2f}, learned on {self.n_rows:,} rows)"


def with_probability(opinion: Opinion, probability: Floats) -> Opinion:
    """Return an opinion with other probabilities (n, K).

    The lower probability becomes (1 - vacuity) · probability, the upper one adds the vacuity. Vacuity, conflict, score
    and groups do not change. A row without any evidence keeps its opinion. Where uncertain labels widened the bounds,
    the ratios of lower to probability, and of one minus upper to one minus probability, do not change instead.
    """
    uncalibrated, vacuity = opinion.probability, opinion.vacuity[:, None]
    known = (vacuity < 1) | (across(uncalibrated, "max") > across(uncalibrated, "min"))
    replaced = np.where(known, probability, uncalibrated)
    lower = (1.0 - vacuity) * replaced
    made = opinion_from_lower(replaced, lower, opinion.conflict, score=opinion.score, vacuity=opinion.vacuity)
    if opinion.gaps is not None and opinion.gaps.any():
        made = _with_ratios(made, opinion)
    return made if opinion.groups is None else replace(made, groups=opinion.groups)


def _with_ratios(made: Opinion, opinion: Opinion) -> Opinion:
    """Return an opinion whose bounds, in rows with gaps, have the same ratios to probabilities as another's."""
    old, new, gaps = opinion.probability, made.probability, opinion.gaps
    assert gaps is not None
    certain = np.divide(opinion.lower, old, out=np.zeros_like(old), where=old > 0)
    against = np.divide(1.0 - opinion.upper, 1.0 - old, out=np.zeros_like(old), where=old < 1)
    wide = opinion_from_bounds(new, certain * new, 1.0 - against * (1.0 - new), made.conflict, score=made.score)
    return replace(
        made,
        lower=np.where(gaps[:, None], wide.lower, made.lower),
        upper=np.where(gaps[:, None], wide.upper, made.upper),
        vacuity=np.where(gaps, wide.vacuity, made.vacuity),
        gaps=gaps,
    )


def log_shares(probability: Floats, n_classes: int | None = None) -> Floats:
    """Return finite logarithms of shares (n, K), each raised by `FLOOR`; of several views, (n, V · K)."""
    logs: Floats = np.log((probability + FLOOR) / (1 + FLOOR * (n_classes or probability.shape[1])))
    return logs


def _pooled(logs: Floats, weights: Floats, first: list[int]) -> tuple[Floats, Floats]:
    """Return the weighted sum of the logarithms (n, V · K) of views, and the mean of the `first` ones, (n, K) each.

    Views are added one by one, which fixes the order of sums.
    """
    n_classes = logs.shape[1] // len(weights)
    each = [logs[:, view * n_classes : (view + 1) * n_classes] for view in range(len(weights))]
    scores, total = weights[0] * each[0], each[first[0]]
    for weight, own in zip(weights[1:].tolist(), each[1:], strict=True):
        scores = scores + weight * own
    for view in first[1:]:
        total = total + each[view]
    return scores, total * (1 / len(first))


def softmax(scores: Floats) -> Floats:
    """Return positive shares (n, K) that sum to one in each row."""
    shares: Floats = np.exp(scores - across(scores, "max"))
    return shares / across(shares, "sum")


def learn_calibrator(
    probability: Floats,
    labels: Labels,
    weights: Floats | None = None,
    groups: Labels | None = None,
    *,
    start: Calibration | None = None,
    views: Views | None = None,
) -> Calibration:
    """Fit the calibrator with the least penalised log-loss.

    The loss is convex. Its penalty shrinks the mix and the offsets to 0, the slope to 1, and the weights of views to
    equal ones. Weights of rows are relative: only their effective sample size counts.

    Parameters
    ----------
    probability : (n, K) or (n, V · K)
        Uncalibrated probabilities; with `views`, those of each view.
    labels : (n,)
        Class numbers.
    weights : (n,), optional
    groups : (n,), optional
        The rows of a group share the weight of one row.
    start : Calibration, optional
        Where to start from, which saves time and does not change the result.
    views : Views, optional
        The views of a forest.
    """
    n_rows, width = probability.shape
    n_classes = width if views is None else width // views.number
    if why := _why_not(n_rows if groups is None else len(np.unique(groups)), n_classes):
        return Calibration(why=why)
    if views is not None:
        return replace(_pool_of(probability, labels, weights, groups, start, views), n_rows=n_rows)
    found = _minimum(_loss_of(probability, labels, weights, groups), start)
    if n_classes == 2 and not _is_monotone(found):
        found = _minimum(_Loss(probability, labels, weights, groups, mixes=False), None)
    return replace(found, n_rows=n_rows)


def cross_fitted(
    probability: Floats,
    labels: Labels,
    weights: Floats | None = None,
    groups: Labels | None = None,
    *,
    start: Calibration | None = None,
    views: Views | None = None,
) -> Floats:
    """Return calibrated probabilities (n, K) by cross-fitting.

    The calibrator of a row is fitted on four of five folds, without the group of the row. Arguments are those of
    `learn_calibrator`.
    """
    if start is not None and start.why:
        return probability
    calibrated = np.empty((len(probability), probability.shape[1] // (1 if views is None else views.number)))
    for held_in, held_out in _parts(labels, groups):
        of_part = None if weights is None else weights[held_in]
        together = None if groups is None else groups[held_in]
        given = (probability[held_in], labels[held_in], of_part, together)
        learned = learn_calibrator(*given, start=start, views=views)
        given_out = probability[held_out]
        if views is not None and learned.why:  # too few rows are left: the mean of all views
            given_out = given_out.reshape(len(given_out), views.number, -1).mean(axis=1)
        calibrated[held_out] = learned.of(given_out)
    return calibrated


def rows_to_learn_on(n_rows: int, n_classes: int) -> NDArray[np.int64]:
    """Return the rows to fit a calibrator on, evenly spaced if there are many."""
    most = min(MOST_ROWS_PER_CLASS * n_classes, MOST_ROWS, MOST_CELLS // n_classes)
    most = max(ROWS_PER_CLASS * n_classes, most)
    return np.linspace(0, n_rows - 1, min(n_rows, most)).astype(np.int64)


def gain_of(n_trees: int, bag_mean: float) -> float:
    """Return the gain of a forest of `n_trees` over the out-of-bag trees of a row.

    `bag_mean` is the mean multiplicity of a row in a bootstrap sample. A row has J of T trees out of bag, and fewer
    trees are less extreme. If each row is out of bag with probability exp(-mean), the slope is too low by about
    2.33 (1 - 1/T) (E[1/J] - 1/T): by 7% with 50 trees, 4% with 100 and 1% with 300. Measured on eleven tables with 1 to
    100 trees.
    """
    oob_mask = np.arange(1, n_trees + 1)
    ways = gammaln(n_trees + 1) - gammaln(oob_mask + 1) - gammaln(n_trees - oob_mask + 1)
    outside = np.exp(ways - bag_mean * oob_mask + (n_trees - oob_mask) * np.log(-np.expm1(-bag_mean)))
    excess = (outside / oob_mask).sum() / outside.sum() - 1 / n_trees
    return float(1 + 2.33 * (1 - 1 / n_trees) * excess)


def _why_not(n_rows: int, n_classes: int) -> str:
    """Return why rows and classes do not suffice, or an empty string."""
    if n_classes < 2:
        return "there is only one class"
    needed = ROWS_PER_CLASS * n_classes
    if n_rows < needed:
        return f"{n_rows} out-of-bag rows have a certain class, {n_classes} classes need {needed}"
    return ""


def _is_monotone(found: Calibration) -> bool:
    """Return whether, with two classes, calibration keeps the order of probabilities."""
    if found.mix is None:
        return True
    own, other = np.diagonal(found.mix), np.diagonal(found.mix[:, ::-1])
    return bool((found.slope + own - other >= 0).all())


def _parts(labels: Labels, groups: Labels | None = None) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """Yield rows to fit on and rows to calibrate, without splitting groups."""
    part = _folds(labels)
    if groups is not None:
        _, first, of_row = np.unique(groups, return_index=True, return_inverse=True)
        part = _folds(labels[first])[of_row]
    for number in range(FOLDS):
        yield np.flatnonzero(part != number), np.flatnonzero(part == number)


def _folds(labels: Labels) -> NDArray[np.int64]:
    """Return the fold (n,) of each row: shuffled, then dealt class by class."""
    shuffled = np.random.default_rng(0).permutation(len(labels))
    by_class = shuffled[np.argsort(labels[shuffled], kind="stable")]
    part = np.empty(len(labels), dtype=np.int64)
    part[by_class] = np.arange(len(labels)) % FOLDS
    return part


def _loss_of(
    probability: Floats,
    labels: Labels,
    weights: Floats | None,
    groups: Labels | None,
) -> _Loss | _SlopeLoss:
    """Choose the cheapest loss: with a mix for few classes, sparse for many."""
    n_classes = probability.shape[1]
    if n_classes > MOST_MIXED and np.count_nonzero(probability) * MOST_HELD <= probability.size:
        return _SlopeLoss(probability, labels, weights, groups)
    return _Loss(probability, labels, weights, groups, mixes=n_classes <= MOST_MIXED)


def _relative(weights: Floats | None, n_rows: int, groups: Labels | None = None) -> Floats:
    """Return weights (n,) scaled to sum to their effective sample size.

    With `groups` (n,), a group has the mean weight of its rows, and the effective number of groups counts.
    """
    if groups is not None:
        shared = (np.ones(n_rows) if weights is None else weights) / np.bincount(groups)[groups]
        of_group = np.bincount(groups, shared)
        return np.asarray(shared * (of_group.sum() / (of_group**2).sum()))
    return np.ones(n_rows) if weights is None else weights * (weights.sum() / (weights**2).sum())


def _minimum(loss: _Loss | _SlopeLoss, start: Calibration | None) -> Calibration:
    """Return the calibrator of least loss, with rounded parameters."""
    numbers = loss.numbers_of(start)
    return loss.calibrator_of(_least(loss, numbers, [(1.0, None)] + [(None, None)] * (len(numbers) - 1)))


def _least(loss: Callable[[Floats], tuple[float, Floats]], start: Floats, limits: list[Limits]) -> Floats:
    """Return the parameters of least loss within limits."""
    from scipy.optimize import minimize  # slow to import, and only `fit` needs it

    options = {"maxcor": 30, "maxiter": 500, "maxfun": 1000, "ftol": 1e-10, "gtol": 1e-3}
    with _one_thread:
        found: Floats = minimize(loss, start, jac=True, method="L-BFGS-B", bounds=limits, options=options).x
    return found


def _pool_of(
    probability: Floats,
    labels: Labels,
    weights: Floats | None,
    groups: Labels | None,
    start: Calibration | None,
    views: Views,
) -> Calibration:
    """Return the calibrator of several views of least loss, with rounded parameters.

    The weights of views are at least 0, and their sum is at least 1. If the sum is less without its limit, it is 1 at
    the minimum, because the loss is convex.
    """
    n_classes = probability.shape[1] // views.number
    loss = _PoolLoss(probability, labels, weights, groups, mixes=n_classes <= MOST_MIXED, views=views)
    found = loss.calibrator_of(_least_of_pool(loss, start))
    if n_classes == 2 and not _is_monotone(found):
        loss = _PoolLoss(probability, labels, weights, groups, mixes=False, views=views)
        found = loss.calibrator_of(_least_of_pool(loss, None))
    return found


def _least_of_pool(loss: _PoolLoss, start: Calibration | None) -> Floats:
    """Return the parameters of least loss with weights that are at least 0 and sum to at least 1."""
    numbers, n_views = loss.numbers_of(start), loss.n_views
    limits: list[Limits] = [(0.0, None)] * n_views + [(None, None)] * (len(numbers) - n_views)
    numbers = _least(loss, numbers, limits)
    return numbers if numbers[:n_views].sum() >= 1 else _least_on_simplex(loss, numbers, limits)


def _least_on_simplex(loss: _PoolLoss, numbers: Floats, limits: list[Limits]) -> Floats:
    """Return the parameters of least loss with weights that are at least 0 and sum to 1.

    The largest weight is one minus the others. Should it become negative, it is 0 at the minimum, because the loss is
    convex, and the largest of the others takes its place.
    """
    n_views, limits = loss.n_views, list(limits)
    numbers[:n_views] += (1 - numbers[:n_views].sum()) / n_views
    while True:
        free = [view for view in range(n_views) if limits[view] != (0.0, 0.0)]
        last = free[int(np.argmax(numbers[free]))]
        of_last = np.where(np.arange(len(numbers)) < n_views, -1.0, 0.0)
        of_last[last] = 0.0

        def along(others: Floats, last: int = last, of_last: Floats = of_last) -> tuple[float, Floats]:
            value, slopes = loss(np.insert(others, last, 1 + np.delete(of_last, last) @ others))
            return value, np.delete(slopes + of_last * slopes[last], last)

        others = _least(along, np.delete(numbers, last), [limit for at, limit in enumerate(limits) if at != last])
        numbers = np.insert(others, last, 1 + np.delete(of_last, last) @ others)
        if numbers[last] >= 0:
            return numbers
        numbers[last], limits[last] = 0.0, (0.0, 0.0)


class _OneThread:
    """Context in which BLAS uses one thread, restored by the last user.

    The matrices of L-BFGS are tiny, and BLAS threads wait for each other on busy cores. On two such cores, one thread
    reduces a fit of 50 trees to load_digits from 0.94 to 0.10 CPU seconds.
    """

    def __init__(self) -> None:
        self._lock, self._n_inside = Lock(), 0
        self._libraries: Any = None
        self._limited: Any = None

    def __enter__(self) -> None:
        with self._lock:
            if self._n_inside == 0:
                self._libraries = self._libraries or ThreadpoolController()  # finding them takes 4 ms
                self._limited = self._libraries.limit(limits=1, user_api="blas")
            self._n_inside += 1

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._n_inside -= 1
            if self._n_inside == 0:
                self._limited.restore_original_limits()


_one_thread = _OneThread()


class _Loss:
    """Penalised log-loss of a calibrator, and its gradient.

    Logarithms are centred, which the offsets compensate: L-BFGS then takes a third of the steps. Rows are stored in
    blocks (B, K, m), the last one padded with rows of weight 0. This keeps matrix products small enough for one thread.
    """

    def __init__(
        self,
        probability: Floats,
        labels: Labels,
        weights: Floats | None,
        groups: Labels | None = None,
        *,
        mixes: bool,
    ) -> None:
        n_rows, self.n_classes = probability.shape
        self.mixes = mixes
        weights = _relative(weights, n_rows, groups)
        self.mix_cost = MIX_COST * max(1.0, MIX_ROWS * self.n_classes**2 / weights.sum())
        logs = log_shares(probability)
        self.centre = (logs * weights[:, None]).sum(axis=0) / weights.sum()
        self.weights = self._blocks(weights[:, None])
        self.logs = self._blocks(logs - self.centre)
        self.truth = self._blocks((labels[:, None] == np.arange(self.n_classes)) * weights[:, None])

    def __call__(self, numbers: Floats) -> tuple[float, Floats]:
        slope, mix, centred = self._split(numbers)
        offsets = centred - self.centre @ mix if self.mixes else centred
        scores = slope * self.logs + (slope * self.centre + centred)[:, None]
        if self.mixes:
            scores += np.matmul(mix.T, self.logs)
        highest = scores.max(axis=1, keepdims=True)
        scores -= highest
        shares = np.exp(scores)
        total = shares.sum(axis=1, keepdims=True)
        # the truth of a row is its weight at its class, which already includes the weights
        loss = (self.weights * np.log(total)).sum() - (self.truth * scores).sum()
        loss += SLOPE_COST * (slope - 1) ** 2 + OFFSET_COST * (offsets**2).sum() + self.mix_cost * (mix**2).sum()
        shares *= self.weights / total
        shares -= self.truth
        sums = shares.sum(axis=(0, 2))
        by_slope = (shares * self.logs).sum() + sums @ self.centre + 2 * SLOPE_COST * (slope - 1)
        by_offsets = 2 * OFFSET_COST * offsets
        if not self.mixes:
            return float(loss), np.concatenate([[by_slope], sums + by_offsets])
        by_mix = np.matmul(self.logs, shares.transpose(0, 2, 1)).sum(axis=0) + 2 * self.mix_cost * mix
        by_mix -= self.centre[:, None] * by_offsets
        return float(loss), np.concatenate([[by_slope], by_mix.ravel(), sums + by_offsets])

    def numbers_of(self, start: Calibration | None) -> Floats:
        """Return the parameters of a calibrator, or those of the identity for None."""
        n_classes = self.n_classes
        if start is None:
            return np.concatenate([[1.0], np.zeros((n_classes**2 if self.mixes else 0) + n_classes)])
        mix = np.zeros((n_classes, n_classes)) if start.mix is None else start.mix
        if not self.mixes:
            return np.concatenate([[start.slope], start.offsets])
        return np.concatenate([[start.slope], mix.ravel(), start.offsets + self.centre @ mix])

    def calibrator_of(self, numbers: Floats) -> Calibration:
        """Return the calibrator with these parameters, rounded."""
        slope, mix, centred = self._split(numbers)
        offsets = centred - self.centre @ mix if self.mixes else centred
        on_grid = [np.rint(each / GRID) * GRID for each in (slope, mix, offsets)]
        return Calibration(float(on_grid[0]), on_grid[1] if self.mixes else None, on_grid[2])

    def _split(self, numbers: Floats) -> tuple[float, Floats, Floats]:
        """Split parameters into slope, mix, empty without one, and centred offsets."""
        n_mixed = self.n_classes**2 if self.mixes else 0
        mix = numbers[1 : 1 + n_mixed]
        return float(numbers[0]), mix.reshape(self.n_classes, -1) if self.mixes else mix, numbers[1 + n_mixed :]

    def _blocks(self, rows: NDArray[Any]) -> Floats:
        """Arrange rows (n, k) in blocks (B, k, m)."""
        size = min(len(rows), max(8, min(1024, _ONE_THREAD // self.n_classes**2)))
        padded = np.zeros((-(-len(rows) // size) * size, rows.shape[1]))
        padded[: len(rows)] = rows
        return np.ascontiguousarray(padded.reshape(-1, size, rows.shape[1]).transpose(0, 2, 1))


class _PoolLoss(_Loss):
    """The loss of a calibrator of several views, and its gradient.

    Parameters are the weights of views (V,), mix and offsets. The mix acts on the mean logarithms at the first depth:
    those of larger nodes are too smooth, and cost 0.02 of log-loss on tables of many clean classes.
    """

    def __init__(
        self,
        probability: Floats,
        labels: Labels,
        weights: Floats | None,
        groups: Labels | None = None,
        *,
        mixes: bool,
        views: Views,
    ) -> None:
        n_rows, self.views, self.n_views = len(probability), views, views.number
        each = probability.reshape(n_rows, self.n_views, -1)
        super().__init__(np.exp(log_shares(each[:, 0])), labels, weights, groups, mixes=mixes)
        logs = log_shares(probability, self.n_classes).reshape(each.shape)
        mean, relative = logs[:, views.first].mean(axis=1), _relative(weights, n_rows, groups)
        self.centre = (mean * relative[:, None]).sum(axis=0) / relative.sum()
        self.logs = self._blocks(mean - self.centre)
        self.of_views = np.stack([self._blocks(logs[:, view]).ravel() for view in range(self.n_views)])

    def __call__(self, numbers: Floats) -> tuple[float, Floats]:
        weights, (slope, mix, centred) = numbers[: self.n_views], self._split(numbers[self.n_views - 1 :])
        slope = weights.sum()
        offsets = centred - self.centre @ mix if self.mixes else centred
        scores = (weights @ self.of_views).reshape(self.logs.shape) + centred[:, None]
        if self.mixes:
            scores += np.matmul(mix.T, self.logs)
        scores -= scores.max(axis=1, keepdims=True)
        shares = np.exp(scores)
        total = shares.sum(axis=1, keepdims=True)
        apart = weights - slope / self.n_views
        loss = (self.weights * np.log(total)).sum() - (self.truth * scores).sum()
        loss += SLOPE_COST * ((slope - 1) ** 2 + (apart**2).sum())
        loss += OFFSET_COST * (offsets**2).sum() + self.mix_cost * (mix**2).sum()
        shares *= self.weights / total
        shares -= self.truth
        by_weights = self.of_views @ shares.ravel() + 2 * SLOPE_COST * (slope - 1 + apart)
        sums, by_offsets = shares.sum(axis=(0, 2)), 2 * OFFSET_COST * offsets
        if not self.mixes:
            return float(loss), np.concatenate([by_weights, sums + by_offsets])
        by_mix = np.matmul(self.logs, shares.transpose(0, 2, 1)).sum(axis=0) + 2 * self.mix_cost * mix
        by_mix -= self.centre[:, None] * by_offsets
        return float(loss), np.concatenate([by_weights, by_mix.ravel(), sums + by_offsets])

    def numbers_of(self, start: Calibration | None) -> Floats:
        """Return the parameters of a calibrator, or those of the mean of all views for None."""
        weights = np.full(self.n_views, 1 / self.n_views) if start is None or start.weights is None else start.weights
        return np.concatenate([weights, super().numbers_of(start)[1:]])

    def calibrator_of(self, numbers: Floats) -> Calibration:
        """Return the calibrator with these parameters, rounded."""
        weights = np.maximum(np.rint(numbers[: self.n_views] / GRID) * GRID, 0.0)
        weights[weights.argmax()] += max(0.0, 1 - weights.sum())  # which rounding may have left below 1
        found = super().calibrator_of(numbers[self.n_views - 1 :])
        return replace(found, slope=float(weights.sum()), views=self.views, weights=weights)


class _SlopeLoss:
    """The same loss without a mix, at the cost of the shares above zero.

    All classes without a share have the same logarithm, which is subtracted from all scores. The sum over classes is
    then one sum for all rows, corrected at the shares above zero. With 2,000 classes and 10,000 rows an evaluation
    takes a hundredth of the time, but sums in another order.
    """

    def __init__(
        self,
        probability: Floats,
        labels: Labels,
        weights: Floats | None,
        groups: Labels | None = None,
    ) -> None:
        self.n_rows, self.n_classes = probability.shape
        self.weights, self.labels = _relative(weights, self.n_rows, groups), labels
        self.row, self.label = np.nonzero(probability)
        self.logs = self._above_floor(probability[self.row, self.label])
        self.true_logs = self._above_floor(probability[np.arange(self.n_rows), labels])
        self.wanted = np.bincount(labels, self.weights, self.n_classes)

    def __call__(self, numbers: Floats) -> tuple[float, Floats]:
        slope, offsets = float(numbers[0]), numbers[1:]
        scores = slope * self.logs + offsets[self.label]
        highest = np.full(self.n_rows, offsets.max())
        np.maximum.at(highest, self.row, scores)
        held = np.exp(scores - highest[self.row])
        more = held - np.exp(offsets[self.label] - highest[self.row])  # what the share adds to its class
        top = offsets.max()
        everywhere = np.exp(offsets - top)
        total = np.exp(top - highest) * everywhere.sum() + np.bincount(self.row, more, self.n_rows)
        loss = (self.weights * (np.log(total) + highest - slope * self.true_logs - offsets[self.labels])).sum()
        loss += SLOPE_COST * (slope - 1) ** 2 + OFFSET_COST * (offsets**2).sum()
        factor = self.weights / total
        by_slope = (factor[self.row] * held * self.logs).sum() - (self.weights * self.true_logs).sum()
        by_offsets = everywhere * (factor * np.exp(top - highest)).sum() - self.wanted + 2 * OFFSET_COST * offsets
        by_offsets += np.bincount(self.label, factor[self.row] * more, self.n_classes)
        return float(loss), np.concatenate([[by_slope + 2 * SLOPE_COST * (slope - 1)], by_offsets])

    def numbers_of(self, start: Calibration | None) -> Floats:
        """Return the parameters of a calibrator, or those of the identity for None."""
        if start is None:
            return np.concatenate([[1.0], np.zeros(self.n_classes)])
        return np.concatenate([[start.slope], start.offsets])

    def calibrator_of(self, numbers: Floats) -> Calibration:
        """Return the calibrator with these parameters, rounded."""
        on_grid = np.rint(numbers / GRID) * GRID
        return Calibration(float(on_grid[0]), None, on_grid[1:])

    def _above_floor(self, shares: Floats) -> Floats:
        """Return logarithms of shares (m,), minus that of a share of zero."""
        return np.log((shares + FLOOR) / FLOOR)
