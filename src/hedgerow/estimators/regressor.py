"""Base class for regressors."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import RegressorMixin
from sklearn.utils.metaestimators import available_if

from hedgerow.criteria import Criterion
from hedgerow.estimators.supervised import SupervisedTrees, leaves_are_sums
from hedgerow.estimators.trees import require_metric
from hedgerow.fit.groups import NOT_GIVEN, GroupsLike
from hedgerow.fit.incremental import partial_fit
from hedgerow.fit.run import fit, with_callbacks
from hedgerow.fit.task import SupervisedTask
from hedgerow.inference.fitted import fitted_of, publish, update_fitted
from hedgerow.inference.predictor import predictor_of
from hedgerow.inference.variance import SamplingVariance
from hedgerow.table.schema import TableLike, TargetLike
from hedgerow.tasks.regression.predictor import TargetVariance
from hedgerow.tasks.regression.task import Regression
from hedgerow.util.disk import Path_

if TYPE_CHECKING:
    from hedgerow.belief import RandomFuzzyNumbers
    from hedgerow.inference.fitted import Fitted
    from hedgerow.tasks.regression.distribution import PredictedDistribution
    from hedgerow.tasks.regression.predictor import RegressionPredictor

Floats = NDArray[np.float64]


class TreesRegressor(RegressorMixin, SupervisedTrees):
    """Base class for tree and forest regressors."""

    _task: ClassVar[SupervisedTask] = Regression()

    criterion: str | Criterion

    @with_callbacks
    def fit(
        self,
        X: TableLike,
        y: TargetLike,
        sample_weight: ArrayLike | None = None,
        *,
        groups: GroupsLike = NOT_GIVEN,
        checkpoint: Path_ | None = None,
    ) -> Self:
        """Grow the trees on a table and its targets.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
            The training table: numbers, booleans, categories or text. NaN, None and null are missing values; infinities
            are not.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs), or IntervalTargets
            Targets. With several columns, splits minimise the mean error of all outputs, so scale these alike. Bounds,
            intervals and quantiles are then lists with one entry per output. `hedgerow.labels.from_intervals` makes
            targets that are intervals: trees are grown on their midpoints, while bounds, beliefs and intervals hold for
            all values inside.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows. They change splits, means and variances, but never the amount of evidence: a row counts
            as one row.
        groups : array-like of shape (n_samples,), str or None, optional
            Groups of rows that belong together, such as the visits of a patient: their labels, or the name of a column
            of X, which is then not a feature. A bootstrap sample contains all rows of a group or none, and
            ``max_samples`` counts groups. Trees evaluate a row out of bag only if they lack its whole group, so
            intervals, quantiles and scores apply to rows of new groups. The model does not keep the labels of groups.
            Without bootstrap, groups are ignored.
            By default, `fit` warns of rows that seem to belong
            together (`DependentRowsWarning`); None declares that all rows are independent.
        checkpoint : str or path, default=None
            Folder in which trees are stored during the fit. After an interruption, the same call continues with them
            and ends with the same forest, bit for bit.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            If a parameter, X, y, `sample_weight` or `groups` is invalid.
        CheckpointError
            If `checkpoint` is not an empty folder or one of the same fit.
        """
        return publish(self, fit(self, X, y, sample_weight, groups=groups, checkpoint=checkpoint))

    @available_if(leaves_are_sums)  # type: ignore[untyped-decorator]
    @with_callbacks
    def partial_fit(
        self, X: TableLike, y: TargetLike, sample_weight: ArrayLike | None = None, *, groups: GroupsLike = NOT_GIVEN
    ) -> Self:
        """Add the evidence of new rows to the leaves; splits do not change.

        Leaf means and variances become those of all rows so far. The result does not depend on the number of calls that
        add the rows. New rows are numbered after the earlier ones and drawn into bootstrap samples in the same way, so
        out-of-bag predictions, intervals and quantiles include them. The first call on an unfitted forest fits it to
        these rows.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
            New rows, with the columns of the first table. New categories count as missing values.
        y : array-like of shape (n_samples,)
            Targets of the new rows.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows, as in `fit`.
        groups : array-like of shape (n_samples,), str or None, optional
            Groups of the new rows, as in `fit`. A forest fitted with groups requires it; None means that every row is a
            group of its own. Labels are matched with those of earlier rows, unless the forest was loaded, unpickled or
            merged: then all groups are new.

        Returns
        -------
        self

        Raises
        ------
        AttributeError
            If the criterion is "absolute_error" or ``monotonic_cst`` is set.
        ValueError
            If `groups` do not match the forest, or it is a multi-output model.

        Examples
        --------
        >>> import numpy as np
        >>> from hedgerow import DecisionTreeRegressor
        >>> tree = DecisionTreeRegressor(max_depth=1).fit([[0], [1]], [0.0, 1.0])
        >>> tree.partial_fit([[1], [1]], [2.0, 3.0]).predict([[0], [1]])
        array([0., 2.])
        """
        return update_fitted(self, partial(partial_fit, self, X, y, sample_weight, None, groups=groups))

    @overload
    def predict(self, X: TableLike, return_std: Literal[False] = False) -> NDArray[np.float64]: ...
    @overload
    def predict(self, X: TableLike, return_std: Literal[True]) -> tuple[NDArray[np.float64], NDArray[np.float64]]: ...
    def predict(self, X: TableLike, return_std: bool = False) -> Any:
        """Predict the target of each sample, the mean over the leaves reached.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features), or UncertainTable
            Samples.
        return_std : bool, default=False
            Whether to return standard deviations too: the square roots of ``predict_uncertainty(X).total``.

        Returns
        -------
        y : ndarray of shape (n_samples,) or (n_samples, n_outputs)
            The predictions.
        std : ndarray of the same shape
            Only with ``return_std=True``.
        """
        predictor = self._predictor()
        batch = predictor.read(X, uncertain=not return_std)
        predicted = predictor.predicted(batch)
        return (predicted, predictor.standard_deviation(batch.codes)) if return_std else predicted

    def predict_uncertainty(self, X: TableLike) -> TargetVariance:
        """Predict the variance of each target: within leaves and between trees.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        TargetVariance
            ``total``, ``aleatoric`` (within leaves) and ``epistemic`` (between trees), (n_samples,) each; a data frame
            with these columns if `set_output` requests one.
        """
        predictor = self._predictor()
        found: TargetVariance = self._as_requested(X, predictor.variance(predictor.read(X).codes))
        return found

    def predict_frame(self, X: TableLike, coverage: float = 0.9) -> Any:
        """Return all predictions as a data frame, as ``hedgerow predict`` does.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
            Samples.
        coverage : float, default=0.9
            Target coverage of the intervals; not used without bootstrap.

        Returns
        -------
        frame : data frame with n_samples rows
            ``prediction``, ``lower`` and ``upper`` (the interval, if there are out-of-bag rows), ``mean_lower`` and
            ``mean_upper`` (the bounds), standard deviations, and ``novelty``. It is a polars frame if X is one or
            `set_output` requests it, otherwise a pandas frame with the index of X. Only for a single output.
        """
        found = predictor_of(self).columns(X, checked_coverage(coverage))
        return self._framed(X, found.numbers(), found.names)

    def predict_variance(self, X: TableLike) -> SamplingVariance:
        """Estimate the variance of the predictions over training sets.

        The variance of a forest of B trees is ρσ² + (1 − ρ)σ²/B, where σ² is the variance of one tree and ρ the
        correlation of two. ρσ² is estimated by the infinitesimal jackknife, corrected for the finite number of trees
        [1]_, and (1 − ρ)σ² by the variance between the trees. The square root of ``forest`` is a standard error of the
        prediction, not of the target.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        SamplingVariance
            ``forest``, ``tree`` (σ²), ``correlation`` (ρ), ``limit`` (ρσ²), (n_samples,) each; noisy unless there are
            about as many trees as training rows.

        References
        ----------
        .. [1] S. Wager, T. Hastie, B. Efron: Confidence intervals for random forests. JMLR 15, 2014.
        """
        predictor = self._predictor()
        return predictor.jackknife(predictor.read(X).codes)

    def predict_bounds(self, X: TableLike) -> Floats:
        """Predict lower and upper means by the pseudo-count ``caution``.

        A leaf of n rows with mean m has the interval from (n m + s low) / (n + s) to (n m + s high) / (n + s), where s
        is ``caution``, and low and high are the smallest and the largest training target. The bounds are the means over
        the leaves reached. They are far apart if leaves have few rows; with ``caution=0``, both are the prediction. If
        training targets are intervals, the mean of their low ends and that of their high ends take the place of m.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features), or UncertainTable
            Samples.

        Returns
        -------
        bounds : ndarray of shape (n_samples, 2), or a list with one per output
        """
        predictor = self._predictor()
        return predictor.bounds(predictor.read(X, uncertain=True))

    def predict_belief(self, X: TableLike, interval: tuple[float, float]) -> Floats:
        """Predict belief and plausibility that the target lies in an interval.

        In a leaf of n rows, each target has the mass 1 / (n + s), and the range of all training targets has the mass
        s / (n + s), where s is ``caution``. Belief is the mass of targets and ranges within the interval, plausibility
        the mass of those that meet it; both are means over the leaves reached. With ``caution=0``, both are the share
        of the training targets in the interval. A training target that is an interval itself has its mass on all of it.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features), or UncertainTable
            Samples.
        interval : (float, float)
            Ends, which belong to the interval; they may be infinite.

        Returns
        -------
        bounds : ndarray of shape (n_samples, 2), or a list with one per output

        Raises
        ------
        ValueError
            If the model has not kept its training rows: it was loaded or unpickled and ``leaf_rows`` was False.

        Examples
        --------
        >>> from hedgerow import DecisionTreeRegressor
        >>> tree = DecisionTreeRegressor(max_depth=1).fit([[0], [0], [0], [1]], [1.0, 2.0, 3.0, 9.0])
        >>> tree.predict_belief([[0]], (0, 2.5))  # two of three rows, and one more that may be anywhere from 1 to 9
        array([[0.5 , 0.75]])
        """
        predictor = self._predictor()
        return predictor.belief_between(predictor.read(X, uncertain=True), interval)

    def predict_interval(self, X: TableLike, coverage: float = 0.9, *, method: str = "auto") -> Floats:
        """Predict an interval for each target, calibrated on out-of-bag rows.

        The calibration uses at most 4,096 training rows, evenly spread. If there are too few rows for the requested
        coverage, the interval is infinite.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features), or UncertainTable
            Samples.
        coverage : float, default=0.9
            Target coverage, between 0 and 1.
        method : {"auto", "scaled", "jackknife+", "joint"}, default="auto"
            "scaled" intervals are wide where trees disagree or leaves are noisy, and approximately cover the requested
            fraction. The scale at a sample is the square root of the sum of the variance between trees, the variance
            within leaves, and 3% of the mean squared error. The ends are the prediction plus the scale times quantiles
            of the scaled out-of-bag residuals. "jackknife+" is the jackknife+-after-bootstrap, whose intervals have
            almost constant width. If rows are exchangeable and the number of trees is random (Binomial), it covers the
            target with probability at least ``2 * coverage - 1``, marginally over training sets and samples, for any
            distribution [1]_; in practice coverage is close to ``coverage``. "auto" is "scaled", or "jackknife+" for
            models saved by versions without "scaled". "joint" is for multi-output models that still have their training
            rows: the intervals of all outputs are a box that approximately covers the requested fraction of whole rows
            of y. Its sides extend from the prediction by the same number of scales, a quantile of the largest absolute
            scaled out-of-bag residual of a row.

        Returns
        -------
        bounds : ndarray of shape (n_samples, 2), or a list with one per output
            If no training target is negative (or none positive), intervals end at 0, as costs and counts do.

        Raises
        ------
        ValueError
            If the forest has no out-of-bag residuals: it was fitted without bootstrap, merged, or warm-started on
            other rows.

        References
        ----------
        .. [1] B. Kim, C. Xu, R. F. Barber: Predictive inference is free with the jackknife+-after-bootstrap. NeurIPS
           2020.
        """
        predictor = self._predictor()
        return predictor.interval(predictor.read(X, uncertain=True), checked_coverage(coverage), method)

    def predict_quantiles(
        self,
        X: TableLike,
        quantiles: Any = (0.05, 0.5, 0.95),
        *,
        weighting: str = "tree",
        interpolation: str = "linear",
        method: str = "leaves",
    ) -> Floats:
        """Predict quantiles of each target.

        A quantile regression forest [1]_ weights the training rows by how often they share a leaf with the sample. The
        first call finds the training rows of all leaves and keeps them, which takes four bytes per row and tree.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features) or None
            Samples. None means the training rows, evaluated out of bag; the quantiles of a row that is in every
            bootstrap sample are NaN.
        quantiles : float or array-like of shape (n_quantiles,), default=(0.05, 0.5, 0.95)
            Quantiles to compute, from 0 to 1.
        weighting : {"tree", "row"}, default="tree"
            Whether all trees have the same weight, as in the paper, or all rows in the leaves reached.
        interpolation : {"linear", "inverse", "lower", "higher", "midpoint", "nearest"}, default="linear"
            "linear" interpolates between the two nearest targets, with weights as multiplicities, as `numpy.quantile`
            and quantile-forest do. "lower", "higher", "midpoint" and "nearest" take one of these two, or their mean.
            "inverse" takes the smallest target whose cumulative weight reaches the quantile, as in the paper.
        method : {"leaves", "scaled"}, default="leaves"
            "leaves" is the quantile regression forest. "scaled" uses the scaled out-of-bag residuals of
            `predict_interval`: it requires bootstrap, works for loaded models, ignores `weighting` and
            `interpolation`, and is infinite where there are too few rows.

        Returns
        -------
        values : ndarray of shape (n_samples, n_quantiles), or a list with one per output

        Raises
        ------
        ValueError
            If the model has not kept its training rows: it was loaded or unpickled and ``leaf_rows`` was False.

        References
        ----------
        .. [1] N. Meinshausen: Quantile regression forests. JMLR 7, 2006.
        """
        predictor = self._predictor()
        return predictor.quantiles(
            None if X is None else predictor.read(X).codes, quantiles, weighting, interpolation, method
        )

    def predict_distribution(
        self, X: TableLike, *, method: str = "scaled", weighting: str = "tree"
    ) -> PredictedDistribution:
        """Predict the whole distribution of each target.

        The result has ``cdf``, ``ppf`` (quantiles), ``interval``, ``histogram``, ``sample``, ``mean``, ``std``, ``pit``
        (the probability of at most each target) and ``crps`` (the continuous ranked probability score).

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features) or None
            Samples. None means the training rows, evaluated out of bag; only for ``method="leaves"``.
        method : {"scaled", "leaves"}, default="scaled"
            "scaled" is the prediction plus the scale of `predict_interval` times the scaled out-of-bag residuals, so it
            is calibrated out of bag. It requires bootstrap and works for loaded models. Its intervals are those of
            `predict_interval` and its quantiles those of `predict_quantiles` with the same method, where these are
            finite; out-of-support values do not widen it. "leaves" weights the training targets in the leaves reached,
            as `predict_quantiles` does. Its shape may differ between samples, but it is not calibrated.
        weighting : {"tree", "row"}, default="tree"
            Only for "leaves", as in `predict_quantiles`.

        Returns
        -------
        PredictedDistribution, or a list with one per output

        Raises
        ------
        ValueError
            If the forest lacks out-of-bag residuals ("scaled") or its training rows ("leaves").

        Examples
        --------
        >>> import numpy as np
        >>> from hedgerow import RandomForestRegressor
        >>> X = np.random.default_rng(0).uniform(-3, 3, (500, 1))
        >>> y = X[:, 0] + np.random.default_rng(1).normal(size=500)
        >>> forest = RandomForestRegressor(min_samples_leaf=20, random_state=0).fit(X, y)
        >>> distribution = forest.predict_distribution([[0.0], [2.0]])
        >>> distribution.cdf(1.0).round(1)  # probability of a target up to 1
        array([0.9, 0.1])
        """
        predictor = self._predictor()
        return predictor.distribution(None if X is None else predictor.read(X).codes, method, weighting)

    def predict_fuzzy_numbers(self, X: TableLike) -> RandomFuzzyNumbers:
        """Predict a Gaussian random fuzzy number for each target.

        Its mean is the prediction, its variance the aleatoric variance of `predict_uncertainty`, and its precision the
        reciprocal of the epistemic variance. So the plausibility of single values is proportional to a normal density
        with the total variance. Where trees agree, belief and plausibility of an interval are nearly equal; where they
        disagree, they are far apart. The result also has ``contour``, ``interval`` and ``combine``, which adds
        independent evidence of another model. This choice of parameters is not that of a paper, and it is not
        calibrated out of bag.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        RandomFuzzyNumbers, or a list with one per output

        Examples
        --------
        >>> import numpy as np
        >>> from hedgerow import RandomForestRegressor
        >>> X = np.random.default_rng(0).uniform(-3, 3, (500, 1))
        >>> y = X[:, 0] + np.random.default_rng(1).normal(size=500)
        >>> forest = RandomForestRegressor(min_samples_leaf=20, random_state=0).fit(X, y)
        >>> numbers = forest.predict_fuzzy_numbers([[0.0], [2.0]])
        >>> numbers.belief(-np.inf, 1.0).round(1), numbers.plausibility(-np.inf, 1.0).round(1)
        (array([0.9, 0. ]), array([1. , 0.1]))
        """
        predictor = self._predictor()
        return predictor.fuzzy_numbers(predictor.read(X).codes)

    def quantile_ranks(self, X: TableLike, y: TargetLike, *, weighting: str = "tree", kind: str = "rank") -> Floats:
        """Return the rank of each target in its predicted distribution.

        Ranks near 0 or 1 are surprising targets. If the predicted distributions are correct, ranks are uniform.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features) or None
            Samples, or None for the training rows out of bag, as in `predict_quantiles`.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Targets of the samples.
        weighting : {"tree", "row"}, default="tree"
            As in `predict_quantiles`.
        kind : {"rank", "weak", "strict", "mean"}, default="rank"
            Treatment of ties, as in `scipy.stats.percentileofscore`: "strict" is the share of smaller training targets,
            "weak" that of smaller and equal ones, "mean" the average of the two, and "rank" the mean rank of the ties.

        Returns
        -------
        ranks : ndarray of shape (n_samples,) or (n_samples, n_outputs)
        """
        predictor = self._predictor()
        return predictor.quantile_ranks(None if X is None else predictor.read(X).codes, y, weighting, kind)

    @property
    def criterion_(self) -> str | Criterion:
        """Split criterion of the fit, with its choices, even if the parameter has changed since."""
        criterion: str | Criterion = fitted_of(self).criterion
        return criterion

    @property
    def oob_prediction_(self) -> Floats:
        """Out-of-bag predictions, of shape (n_samples[, n_outputs]).

        NaN for a row that is in every bootstrap sample.
        """
        fitted = fitted_of(self)
        outputs = fitted.outputs or (fitted,)
        found = [require_metric(each.figures.oob_predictions, "oob_prediction_", "oob_score=True") for each in outputs]
        return np.column_stack(found) if fitted.outputs else found[0]

    if TYPE_CHECKING:  # multi-output models return the same in lists

        def _predictor(self, fitted: Fitted | None = None) -> RegressionPredictor: ...


def checked_coverage(coverage: Any) -> float:
    """Return a coverage; raise ValueError unless it is between 0 and 1."""
    if not (isinstance(coverage, float | int | np.floating) and 0 < coverage < 1):
        raise ValueError(f"coverage must be a number between 0 and 1, got {coverage!r}.")
    return float(coverage)
