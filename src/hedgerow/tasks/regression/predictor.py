"""Predictor of regressors."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import r2_score

from hedgerow.belief import RandomFuzzyNumbers
from hedgerow.forest.fold import Which, fold, mean_of_leaves
from hedgerow.forest.forest import Forest
from hedgerow.forest.grow import TrainingRows
from hedgerow.forest.quantiles import LeafRows, checked_quantiles, leaf_rows_of, oob_leaves, quantiles_of, ranks_of
from hedgerow.forest.reducers import MeanReducer, predictions
from hedgerow.forest.walk import ancestor_moments
from hedgerow.inference.batch import Batch, UnseenValues, widened_intervals
from hedgerow.inference.completions import Completions, mean_of_groups, values_over_completions
from hedgerow.inference.evidence import checked_caution, checked_interval
from hedgerow.inference.fitted import Fitted, Learned
from hedgerow.inference.oob import BootstrapErrors, Trace, regression_errors
from hedgerow.inference.predictor import Predictor
from hedgerow.inference.variance import SamplingVariance, jackknife_variance
from hedgerow.metrics import RegressionTally, tally_numbers
from hedgerow.table.bins import Codes
from hedgerow.tasks.regression.distribution import LeafDistribution, PredictedDistribution, ScaledDistribution
from hedgerow.tasks.regression.evaluation import (
    RegressionColumns,
    RegressionEvaluation,
    evaluate_regressor,
    regression_columns,
)
from hedgerow.tasks.regression.oob import (
    JOINT,
    MAX_ROWS,
    METHODS,
    Residuals,
    TreeMoments,
    absolute_scaled,
    jackknife_plus,
    joint_radius,
    learn_residuals,
    scaled_interval,
    scaled_quantiles,
)
from hedgerow.tasks.regression.stack import KINDS, Stack, kind_of_leaf, oob_predictions, stack_of, stacked
from hedgerow.tasks.regression.target import RangeInfo, read_targets
from hedgerow.util.runtime import lazy_property, thread_count

Floats = NDArray[np.float64]

#: Default coverage of intervals.
COVERAGE = 0.9
#: Leaves with fewer rows are replaced by their ancestors to estimate noise. Chosen out of 3, 5 and 10.
ROWS_OF_NOISE = 10
#: Sources of quantiles: the rows in the leaves reached, or scaled residuals.
QUANTILE_METHODS = ("leaves", "scaled")
#: The same for distributions; the first is the default.
DISTRIBUTION_METHODS = ("scaled", "leaves")


class TargetVariance(NamedTuple):
    """Variances of the targets of n samples, by source, (n,) each.

    ``total`` is the sum of ``aleatoric`` and ``epistemic``. ``aleatoric`` is the mean over trees of the variance in the
    leaf reached: noise that more rows would not remove. ``epistemic`` is the variance of the leaf means over trees.
    Leaves of a few rows underestimate noise. If some leaves have fewer than ten rows, the total is still that of the
    leaves, but it is divided in the proportion found in their smallest ancestors with at least ten rows.
    """

    total: Floats
    aleatoric: Floats
    epistemic: Floats


class RegressionPredictor(Predictor):
    """Predictor of a regressor."""

    kind = "numbers"
    predicts = True
    takes_uncertain = True
    is_mean: ClassVar[bool] = True
    skips_empty: ClassVar[bool] = False

    @property
    def info(self) -> RangeInfo:
        """Range of the training targets."""
        return self.fitted.info  # type: ignore[return-value]

    @lazy_property
    def caution(self) -> float:
        """Pseudo-count of the bounds of leaf means."""
        return checked_caution(self.params.caution, "a number >= 0")

    @lazy_property
    def stack(self) -> Stack | None:
        """Weights of the kinds of trees of a mixed forest; None for other forests."""
        return stack_of(self.fitted, self.threads(MAX_ROWS)) if self.params.splitter == "mixed" else None

    @property
    def is_stacked(self) -> bool:
        """Whether the kinds of trees have weights."""
        return self.stack is not None and not self.stack.why

    @lazy_property
    def forest(self) -> Forest:
        """The trees; with a stack, their leaves predict what it makes of their means."""
        forest = self.fitted.forest
        return stacked(forest, self.stack) if self.stack is not None and self.is_stacked else forest

    @property
    def leaf_values(self) -> Floats:
        """Prediction of every leaf, (L,)."""
        return self.forest.values  # type: ignore[return-value]

    def predicted(self, batch: Batch) -> Floats:
        """Return the mean over trees of the predictions of the leaves reached, (n,)."""

        def ask(codes: Codes) -> Floats:
            threads = self.threads(codes.shape[1])
            return fold(self.forest, codes, MeanReducer(predictions), None, n_threads=threads)[:, 0]

        return values_over_completions(
            ask(batch.codes), self.fitted, batch, lambda completions: completions.mean(ask(completions.codes))
        )

    def score(self, y: NDArray[Any], predicted: Floats) -> float:
        """Return R² of predictions (n,)."""
        return float(r2_score(y, predicted))

    @staticmethod
    def whole_score(y: Floats, predicted: Floats) -> float:
        """Return the mean R² over outputs, (n, m)."""
        return float(r2_score(y, predicted))

    def named(self, predicted: Floats) -> Floats:
        """Return the predictions unchanged; classifiers return names."""
        return predicted

    def named_truth(self, truth: Floats) -> Floats:
        """Return the targets unchanged; classifiers return names."""
        return truth

    def standard_deviation(self, codes: Codes) -> Floats:
        """Return the square root of the total variance, (n,)."""
        return np.asarray(np.sqrt(self.variance(codes).total))

    def uncertainty_score(self, batch: Batch) -> Floats:
        """Return the standard deviation between trees relative to the largest, (n,)."""
        between = np.sqrt(self.variance(batch.codes).epistemic)
        return np.asarray(between / max(between.max(initial=0.0), np.finfo(np.float64).tiny))

    def under(self, rule: Any = None, caution: float | None = None) -> RegressionPredictor:
        """Return a predictor of the same fit with another caution."""
        if rule is not None:
            raise ValueError(f"rule must be None for a regressor, got {rule!r}. Regression trees are averaged.")
        params = self.params if caution is None else replace(self.params, caution=caution)
        return type(self)(self.fitted, params, self.estimator)

    def bounds(self, batch: Batch) -> Floats:
        """Return bounds of the mean, (n, 2).

        They are the predictions if every leaf had `caution` more rows, all at the smallest or all at the largest
        training target.
        """

        def ask(codes: Codes) -> Floats:
            return self.mean(codes, lambda at: np.column_stack(self.leaf_bounds(at)))

        return self._widened(batch, ask, mean_of_groups)

    def belief_between(self, batch: Batch, interval: Any) -> Floats:
        """Return belief and plausibility that targets lie in an interval, (n, 2)."""
        low, high = checked_interval(interval)
        rows = self.leaf_rows("predict_belief")
        halves = 0.0 if rows.halves is None else rows.halves
        least, most = rows.values - halves, rows.values + halves
        meets = np.column_stack([(low <= least) & (most <= high), (low <= most) & (least <= high)])
        found = np.cumsum(np.vstack([[0, 0], meets[rows.ranks]]), axis=0)
        within = found[rows.row_start[1:]] - found[rows.row_start[:-1]]
        known = np.array(
            [low <= self.info.low and self.info.high <= high, low <= self.info.high and self.info.low <= high]
        )
        amount = np.diff(rows.row_start)[:, None] + self.caution
        states = (within + self.caution * known) / amount

        def ask(codes: Codes) -> Floats:
            return self.mean(codes, lambda at: states[at])

        return self._widened(batch, ask, mean_of_groups)

    def leaf_bounds(self, at: Which = slice(None)) -> list[Floats]:
        """Return the lower and upper mean of leaves, (m,) each."""
        counts, stack = self.forest.counts[at], self.stack
        halves = None if self.forest.halves is None else self.forest.halves[at]
        if stack is None or not self.is_stacked:
            return mean_bounds(self.leaf_values[at], counts, self.caution, self.info, halves)
        bounds = mean_bounds(self._leaf_means[at], counts, self.caution, self.info, halves)
        return [stack.of_leaves(bound, self._kind_of_leaf[at], self.forest.n_trees) for bound in bounds]

    def leaf_states(self) -> Floats:
        """Return prediction, lower and upper bound of every leaf, (L, 3)."""
        return np.column_stack([self.leaf_values, *self.leaf_bounds()])

    def node_predictions(self, tree: Any) -> list[Floats]:
        """Return prediction, lower and upper bound of every node, (N, 1) each."""
        stack, stacks = self.stack, self.is_stacked
        values = tree.evidence.mean if stacks else tree.evidence.values
        halves = tree.evidence.halves
        found = [values, *mean_bounds(values, tree.counts[:, 0], self.caution, self.info, halves)]
        if stack is not None and stacks:
            found = [stack.of_leaves(each, tree.number % KINDS, self.forest.n_trees) for each in found]
        return [each[:, None] for each in found]

    def variance(self, codes: Codes) -> TargetVariance:
        """Return the variance of targets by source."""
        forest, of_ancestors = self.forest, self._ancestor_moments()
        assert forest.variances is not None
        own = (self._leaf_means, forest.variances, self._middle)
        of_leaves, *of_nodes = self._moments(codes, own, *([] if of_ancestors is None else [(*of_ancestors, 0.0)]))
        total = of_leaves.within + of_leaves.between
        if not of_nodes:
            return TargetVariance(total, of_leaves.within, of_leaves.between)
        noise = of_nodes[0].within
        whole = noise + of_nodes[0].between
        share = np.divide(noise, whole, out=np.zeros(len(whole)), where=whole > 0)
        return TargetVariance(total, share * total, total - share * total)

    def fuzzy_numbers(self, codes: Codes) -> RandomFuzzyNumbers:
        """Return random fuzzy numbers whose variance is aleatoric and whose fuzziness is epistemic."""
        variance, mean = self.variance(codes), self.predicted(Batch(codes))
        with np.errstate(divide="ignore"):
            return RandomFuzzyNumbers(mean, variance.aleatoric, 1 / variance.epistemic)

    def moments(self, codes: Codes) -> TreeMoments:
        """Return the prediction, and the variance between trees and within leaves."""
        n_trees, variances = self.forest.n_trees, self.forest.variances
        assert variances is not None
        unbiased = n_trees / max(n_trees - 1, 1)
        if self.stack is None or not self.is_stacked:
            mean, between, within = self._moments(codes, (self.leaf_values, variances, self._middle))[0]
            return TreeMoments(self._middle + mean, between * unbiased, within)
        middle, factors, means, values = self._middle, self._leaf_factors, self._leaf_means, self.leaf_values

        def says(at: Which) -> Floats:
            found = np.empty((len(values[at]), 4))
            found[:, 0] = values[at] - middle
            away, counted = means[at] - middle, factors[at]
            found[:, 1] = weighed = counted * away
            found[:, 2] = weighed * away
            found[:, 3] = counted * variances[at]
            return found

        predicted, mean, square, within = self.mean(codes, says).T
        return TreeMoments(middle + predicted, np.maximum(square - mean**2, 0) * unbiased, within)

    def _moments(self, codes: Codes, *each: tuple[Floats, Floats, float]) -> list[TreeMoments]:
        """Return moments over trees, with means relative to a middle.

        Each of `each` has means and variances of leaves (L,), and a middle. Subtracting the middle of the targets
        avoids cancellation in squares. Leaves are found once for all of them.
        """

        def says(at: Which) -> Floats:
            n_leaves = len(self.leaf_values) if isinstance(at, slice) else len(at)
            found = np.empty((n_leaves, 3 * len(each)))
            for first, (means, variances, middle) in enumerate(each):
                found[:, 3 * first] = away = means[at] - middle
                found[:, 3 * first + 1] = away**2
                found[:, 3 * first + 2] = variances[at]
            return found

        sums = self.mean(codes, says).T
        mean, square, within = sums[::3], sums[1::3], sums[2::3]
        return list(map(TreeMoments, mean, np.maximum(square - mean**2, 0), within))

    @property
    def _leaf_means(self) -> Floats:
        """Mean target of every leaf, (L,)."""
        return self.leaf_values if self.forest.means is None else self.forest.means

    @lazy_property
    def _kind_of_leaf(self) -> NDArray[np.intp]:
        """Kind of the tree of every leaf of a mixed forest, (L,)."""
        return kind_of_leaf(self.forest)

    @lazy_property
    def _leaf_factors(self) -> Floats:
        """Factor of every leaf in weighted moments over the trees of a mixed forest, (L,)."""
        assert self.stack is not None
        return self.stack.factors(self.forest.n_trees)[self._kind_of_leaf]

    @property
    def _middle(self) -> float:
        """Midpoint of the range of the training targets."""
        return sum((self.info.low, self.info.high)) / 2

    def _ancestor_moments(self) -> tuple[Floats, Floats] | None:
        """Return mean, minus the midpoint, and variance of small leaves' ancestors."""

        def make() -> tuple[Floats, Floats] | None:
            found = ancestor_moments(self.forest, ROWS_OF_NOISE)
            return None if found is None else (found[0] - self._middle, found[1])

        return self.fitted.learned.get("ancestor_moments", None, make)

    def interval(self, batch: Batch, coverage: float, method: str = "auto") -> Floats:
        """Return intervals for the targets, (n, 2)."""
        if method == JOINT:
            raise ValueError("method='joint' requires a multi-output model, got one output. Use method='scaled'.")
        if method not in METHODS:
            raise ValueError(f"method must be one of {', '.join(METHODS)}, got {method!r}.")
        residuals = self.residuals("predict_interval")
        if method == "jackknife+" or (method == "auto" and residuals.scaled is None):
            return self._of_one_sign(
                self._widened(batch, lambda codes: self._jackknife_plus(codes, residuals, coverage))
            )
        _check_scaled(residuals, "predict_interval", 'method="jackknife+"')
        found = self._widened(batch, lambda codes: scaled_interval(self.moments(codes), residuals, coverage))
        return self._of_one_sign(found)

    def _of_one_sign(self, intervals: Floats) -> Floats:
        """Cut intervals (n, 2) at 0 if all training targets lie on one side of it, as costs and counts do."""
        if self.info.low >= 0:
            return np.maximum(intervals, 0.0)
        return np.minimum(intervals, 0.0) if self.info.high <= 0 else intervals

    def joint_intervals(self, batch: Batch, coverage: float, outputs: list[RegressionPredictor], known: Learned) -> Any:
        """Return intervals (n, 2) of each output, which contain all targets of a row together."""
        radius = joint_radius(known.get("joint", None, lambda: self._largest_residuals(outputs)), coverage)
        return [each._box(batch, radius) for each in outputs]

    def _largest_residuals(self, outputs: list[RegressionPredictor]) -> Floats:
        """Return the largest scaled residual over the outputs of each out-of-bag row, ascending, (m,)."""
        rows = self.oob_rows("predict_interval with method='joint'")
        sample = rows.bags.independent_rows(MAX_ROWS)
        oob = rows.bags.oob_each(self.forest.n_trees, sample)
        sample, oob = sample[oob.any(axis=1)], oob[oob.any(axis=1)]
        leaves = self.forest.leaves(rows.codes_of(sample), self.threads(len(sample)))
        found = []
        for each in outputs:
            own = each.oob_rows("predict_interval with method='joint'")
            stack = each._stack_of_rows(own, sample)
            found.append(absolute_scaled(each.fitted.forest, leaves, own.target.values[sample], oob, *stack))
        return np.sort(np.max(found, axis=0))

    def _stack_of_rows(self, rows: TrainingRows, sample: NDArray[np.int64]) -> tuple[Floats | None, Floats | None]:
        """Return out-of-bag predictions of rows (m,) by a stack, and factors of its trees; None without one."""
        forest = self.fitted.forest
        if self.stack is None or not self.is_stacked:
            return None, None
        factors = self.stack.factors(forest.n_trees)[np.arange(forest.n_trees) % KINDS]
        return oob_predictions(forest, rows, sample, self.threads(len(sample))), factors

    def _box(self, batch: Batch, radius: float) -> Floats:
        """Return intervals (n, 2) of as many spreads to both sides."""
        residuals = self.residuals("predict_interval")

        def ask(codes: Codes) -> Floats:
            moments = self.moments(codes)
            width = radius * moments.spread(residuals.mean_square) if np.isfinite(radius) else np.inf
            return np.column_stack([moments.mean - width, moments.mean + width])

        return self._widened(batch, ask)

    def _widened(
        self,
        batch: Batch,
        ask: Callable[[Codes], Floats],
        join: Callable[[Completions, Floats], Floats] = Completions.envelope,
    ) -> Floats:
        """Return intervals, (n, 2), widened for out-of-support and uncertain values."""

        def wide(codes: Codes, unknown: UnseenValues | None) -> Floats:
            intervals = ask(codes)
            return intervals if unknown is None else widened_intervals(intervals, codes, unknown, self.fitted, ask)

        def of_completions(completions: Completions) -> Floats:
            return join(completions, wide(completions.codes, completions.unknown(batch.unseen)))

        return values_over_completions(wide(batch.codes, batch.unseen), self.fitted, batch, of_completions)

    def _jackknife_plus(self, codes: Codes, residuals: Residuals, coverage: float) -> Floats:
        """Return the jackknife+-after-bootstrap interval, (n, 2)."""
        forest, threads = self.forest, self.threads(codes.shape[1])
        kinds = KINDS if self.is_stacked else 1
        found = jackknife_plus(forest.leaves(codes, threads), self._values_at, residuals, coverage, kinds)
        unseen = forest.unseen_rows(codes)
        if len(unseen):
            predicted = forest.mixed_states(codes[:, unseen], self.leaf_values[:, None], threads)[:, :, 0]
            found[unseen] = jackknife_plus(predicted, np.asarray, residuals, coverage, kinds)
        return found

    def _values_at(self, leaves: NDArray[np.int32]) -> Floats:
        """Return the predictions of leaves (n, T), (n, T)."""
        return np.asarray(self.leaf_values[leaves + self.forest.leaf_start[:-1]])

    def quantiles(
        self, codes: Codes | None, quantiles: Any, weighting: str, interpolation: str, method: str = "leaves"
    ) -> Floats:
        """Return quantiles, (n, q); out of bag for the training rows if `codes` is None."""
        wanted = checked_quantiles(quantiles, weighting, interpolation)
        self._check_known_targets("predict_quantiles")
        if method not in QUANTILE_METHODS:
            raise ValueError(f"method must be one of {', '.join(QUANTILE_METHODS)}, got {method!r}.")
        if method == "scaled":
            if codes is None:
                raise ValueError('X must be samples for method="scaled", got None. Use method="leaves".')
            residuals = self.residuals("predict_quantiles")
            _check_scaled(residuals, "predict_quantiles", 'method="leaves"')
            return scaled_quantiles(self.moments(codes), residuals, wanted)
        leaves, threads = self._reached(codes, "predict_quantiles")
        return quantiles_of(self.forest, leaves, self.leaf_rows(), wanted, weighting, interpolation, threads)

    def distribution(self, codes: Codes | None, method: str, weighting: str) -> PredictedDistribution:
        """Return the distributions of the targets; out of bag for the training rows if `codes` is None."""
        checked_quantiles(0.5, weighting, "linear")
        self._check_known_targets("predict_distribution")
        if method not in DISTRIBUTION_METHODS:
            raise ValueError(f"method must be one of {', '.join(DISTRIBUTION_METHODS)}, got {method!r}.")
        if method == "leaves":
            leaves, threads = self._reached(codes, "predict_distribution")
            leaf_rows = self.leaf_rows("predict_distribution")
            return LeafDistribution(self.forest, leaves, leaf_rows, weighting, threads)
        if codes is None:
            raise ValueError('X must be samples for method="scaled", got None. Use method="leaves".')
        residuals = self.residuals("predict_distribution")
        _check_scaled(residuals, "predict_distribution", 'method="leaves"')
        if residuals.scaled is None or not len(residuals.scaled):
            raise ValueError("predict_distribution requires rows that are out of bag for two trees. Grow more trees.")
        return ScaledDistribution(self.moments(codes), residuals)

    def quantile_ranks(self, codes: Codes | None, y: Any, weighting: str, kind: str) -> Floats:
        """Return the rank of each target in its predicted distribution, (n,).

        If `codes` is None, ranks are those of the training rows, out of bag.
        """
        self._check_known_targets("quantile_ranks")
        leaves, threads = self._reached(codes, "quantile_ranks")
        numbers = read_targets(y, len(leaves), "squared_error")
        return ranks_of(self.forest, leaves, self.leaf_rows("quantile_ranks"), numbers, weighting, kind, threads)

    def _check_known_targets(self, name: str) -> None:
        """Raise if targets of training rows are intervals."""
        if self.forest.halves is not None:
            raise ValueError(
                f"{name} requires targets that are numbers, got intervals in the fit. Use predict_interval or"
                " predict_belief."
            )

    def _reached(self, codes: Codes | None, name: str) -> tuple[NDArray[np.int32], int]:
        """Return leaves (n, T) and threads; training rows, -1 in bag, if `codes` is None."""
        rows = self.fitted.oob_rows
        if codes is not None:
            return self.forest.leaves(codes, threads := self.threads(codes.shape[1])), threads
        if rows is None:
            raise ValueError(
                f"{name} requires out-of-bag training rows if X is None. Pass X, or refit with bootstrap=True."
            )
        return oob_leaves(self.forest, rows, threads := self.threads(rows.n_rows)), threads

    def tally(self, X: Any, y: Any, coverage: float | None = None) -> RegressionTally:
        """Tally predictions and, if available, intervals."""
        batch = self.read(X)
        predicted = self.predicted(batch)
        if coverage is None and not self.has_residuals:
            return tally_numbers(y, predicted)
        return tally_numbers(y, predicted, self.interval(batch, COVERAGE if coverage is None else coverage))

    def columns(self, X: Any, coverage: float | None = None) -> RegressionColumns:
        """Return predictions, intervals, bounds, deviations and novelty as columns."""
        return regression_columns(self, X, COVERAGE if coverage is None else coverage)

    def evaluate(self, table: Any, y: NDArray[Any], coverage: float | None = None) -> RegressionEvaluation:
        """Return predictions and intervals, with true targets, to compute metrics from."""
        if coverage is None and self.has_residuals:
            coverage = COVERAGE
        return evaluate_regressor(self, table, y, coverage)

    # ---- out of bag -----------------------------------------------------------------------------

    def jackknife(self, codes: Codes) -> SamplingVariance:
        """Return the sampling variance of predictions."""
        rows = self.oob_rows("predict_variance")
        return jackknife_variance(self.forest, codes, rows.bags, self.threads(codes.shape[1]))

    def drift_classes(self, y: Any) -> None:
        """Return None, because targets have no classes."""

    def drift_labels(self, y: Any, n_rows: int, classes: None) -> Floats:
        """Return the targets of n rows, (n,)."""
        return read_targets(y, n_rows, "squared_error")

    @property
    def has_residuals(self) -> bool:
        """Whether residuals are known, or can be computed from out-of-bag rows."""
        return self.fitted.oob_rows is not None or self.fitted.learned.last("residuals") is not None

    @property
    def has_leaf_rows(self) -> bool:
        """Whether the training rows of the leaves are known or can be found."""
        return self.fitted.rows is not None or self.fitted.learned.last("leaf_rows") is not None

    def residuals(self, name: str) -> Residuals:
        """Return out-of-bag residuals, computed when first needed by the method `name`."""

        def make() -> Residuals:
            rows = self.fitted.oob_rows
            if rows is None:
                raise ValueError(
                    f"{name} requires out-of-bag residuals. Refit on all rows with bootstrap=True; forests that were"
                    " merged, warm-started on other rows, or extended after loading or a fit on a cluster have none."
                )
            sample = rows.bags.independent_rows(MAX_ROWS)
            known = (sample, rows.codes_of(sample), rows.target.values[sample], rows.bags)
            threads, halves = self.threads(len(sample)), rows.target.core.halves
            wide = None if halves is None else halves[sample]
            predicted, factors = self._stack_of_rows(rows, sample)
            return learn_residuals(self.fitted.forest, *known, threads, predicted, factors, wide)

        return self.fitted.learned.get("residuals", None, make)

    def leaf_rows(self, name: str = "predict_quantiles") -> LeafRows:
        """Return the training rows of every leaf, found when first needed by `name`."""

        def make() -> LeafRows:
            rows = self.fitted.rows
            if rows is None:
                raise ValueError(
                    f"{name} requires the training rows of the leaves. Refit with leaf_rows=True to keep them in"
                    " saved models."
                )
            return leaf_rows_of(self.forest, rows, self.threads(rows.n_rows))

        return self.fitted.learned.get("leaf_rows", None, make)

    def oob_trace(self) -> Floats:
        """Return the out-of-bag error after each tree, (T,)."""

        def make() -> Floats:
            rows = self.oob_rows("oob_trace_")
            trace = regression_trace(rows)
            trace.extend(self.fitted.forest, self.threads(rows.n_rows))
            return np.array(trace.errors)

        return self.fitted.learned.get("trace", None, make)

    def oob_errors(self) -> BootstrapErrors:
        """Return in-bag and out-of-bag errors of the forest and its trees."""
        rows = self.oob_rows("oob_errors_")
        return regression_errors(self.fitted.forest, rows, float(self.oob_trace()[-1]), self.threads(rows.n_rows))

    def evaluate_oob(self, metric: Any) -> Fitted:
        """Return the fit with out-of-bag metrics, given a `metric`."""
        fitted, rows = self.fitted, self.fitted.rows
        if rows is None:
            return fitted
        if self.params.leaf_rows:
            self.leaf_rows()
        if not metric:
            return fitted
        values = rows.target.values
        threads = thread_count(self.n_jobs)
        if self.is_stacked:
            predicted = oob_predictions(self.fitted.forest, rows, np.arange(rows.n_rows), threads)
        else:
            predicted = out_of_bag_prediction(self.forest, rows, threads)
        seen = ~np.isnan(predicted)
        score = np.nan  # if every row is in the bags of all trees
        if seen.any():
            score = float((metric if callable(metric) else r2_score)(values[seen], predicted[seen]))
        whole = predicted
        if rows.kept is not None:  # rows without weight are in no bag
            whole = self.predicted(Batch(rows.all_codes))
            whole[rows.kept] = predicted
        return replace(fitted, figures=replace(fitted.figures, oob_score=score, oob_predictions=whole))

    def for_file(self) -> Fitted:
        """Return the fit without its training rows, but with its stack and residuals."""
        self.learn()
        if self.has_residuals:
            self.residuals("predict_interval")
        bare = self.fitted.without_rows()
        return bare if self.params.leaf_rows else replace(bare, learned=bare.learned.without("leaf_rows"))

    def learn(self) -> None:
        """Fit the stack of a mixed forest now."""
        _ = self.stack

    def mean(self, codes: Codes, says: Callable[[Which], Floats]) -> Floats:
        """Return means over trees, (n, S), of the values (m, S) that `says` returns."""
        return mean_of_leaves(self.forest, codes, says, self.threads(codes.shape[1]))


def _check_scaled(residuals: Residuals, name: str, instead: str) -> None:
    """Raise if an early version saved the model without scaled residuals."""
    if residuals.scaled is None:
        raise ValueError(
            f'{name} with method="scaled" requires scaled residuals, which models of early versions lack. Use'
            f" {instead}, or refit."
        )


def mean_bounds(
    values: Floats, counts: NDArray[Any], caution: float, info: RangeInfo, halves: Floats | None = None
) -> list[Floats]:
    """Return the lower and upper means of leaves or nodes, (m,) each.

    `halves` (m,) are the mean half widths of targets that are intervals. Values that rounding put outside the range of
    the targets are their own bound.
    """
    share = counts / (counts + caution)
    extremes = np.minimum(info.low, values), np.maximum(info.high, values)
    if halves is None:
        return [share * values + (1 - share) * extreme for extreme in extremes]
    ends = np.maximum(values - halves, info.low), np.minimum(values + halves, info.high)
    return [share * end + (1 - share) * extreme for end, extreme in zip(ends, extremes, strict=True)]


def regression_trace(rows: TrainingRows) -> Trace:
    """Return a trace of the out-of-bag error."""
    return Trace(rows, MeanReducer(predictions))


def out_of_bag_prediction(forest: Forest, rows: TrainingRows, n_threads: int) -> Floats:
    """Return out-of-bag predictions of the training rows, (n,); NaN if in all bags."""
    oob_mask = rows.oob_mask
    return fold(forest, rows.codes, MeanReducer(predictions), None, oob_mask=oob_mask, n_threads=n_threads)[:, 0]
