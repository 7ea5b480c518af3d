"""Base class of the regressors."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self, overload

import numpy as np
from numpy.typing import NDArray
from sklearn.base import RegressorMixin
from sklearn.utils.metaestimators import available_if

from hedgerow.estimators.supervised import SupervisedTrees, leaves_are_sums
from hedgerow.estimators.trees import figure
from hedgerow.fit.incremental import partial_fit
from hedgerow.fit.progress import with_callbacks
from hedgerow.fit.run import fit
from hedgerow.fit.task import SupervisedTask
from hedgerow.inference.fitted import fitted_of, publish, update_fitted
from hedgerow.inference.predictor import predictor_of
from hedgerow.inference.variance import SamplingVariance
from hedgerow.tasks.regression.predictor import TargetVariance
from hedgerow.tasks.regression.task import Regression

if TYPE_CHECKING:
    from hedgerow.inference.fitted import Fitted
    from hedgerow.tasks.regression.predictor import RegressionPredictor

Floats = NDArray[np.float64]


class TreesRegressor(RegressorMixin, SupervisedTrees):  # type: ignore[misc]
    """Base class for tree and forest regressors."""

    _task: ClassVar[SupervisedTask] = Regression()

    criterion: str

    @with_callbacks
    def fit(self, X: Any, y: Any, sample_weight: Any = None, *, groups: Any = None, checkpoint: Any = None) -> Self:
        """Fit to a table and numbers.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
            The training table: numbers, booleans, categories or text. NaN, None and null are missing values; infinities
            are not.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Targets. With several columns, splits are chosen by the mean error of all outputs: bring them to
            scales that compare. Bounds, intervals and quantiles are then lists with one entry for each output.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows. They change splits, means and variances, but never the amount of evidence: three rows
            are three rows.
        groups : array-like of shape (n_samples,) or str, default=None
            Groups of rows that belong together, such as the visits of a patient: their labels, or the name of a column
            of X, which is then not a feature. A bootstrap sample contains all rows of a group or none, and
            ``max_samples`` counts groups. Out-of-bag answers about a row come from trees without its whole group, so
            intervals, quantiles and scores are about rows of new groups. The model does not keep the labels of groups.
            Without bootstrap they are ignored.
        checkpoint : str or path, default=None
            A folder in which trees are stored while the fit runs. After an interruption, the same call continues with
            them and ends with the same forest, bit for bit.

        Returns
        -------
        self
        """
        return publish(self, fit(self, X, y, sample_weight, groups=groups, checkpoint=checkpoint))

    @available_if(leaves_are_sums)  # type: ignore[untyped-decorator]
    @with_callbacks
    def partial_fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Add the evidence of new rows to the existing leaves; the splits do not change.

        The means and variances of leaves become those of all rows so far. The result does not depend on how many calls
        add the rows. New rows are numbered after the earlier ones, and drawn into the bags of all trees in the same
        way: a leaf counts a row as often as the bag holds it, and out-of-bag predictions, intervals and quantiles
        include the new rows. A forest that has not been fitted is fitted to these rows.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
            New rows, with the columns of the first table. New categories count as missing.
        y : array-like of shape (n_samples,)
            The targets of the new rows.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights, as in `fit`.

        Returns
        -------
        self

        Examples
        --------
        >>> import numpy as np
        >>> from hedgerow import DecisionTreeRegressor
        >>> tree = DecisionTreeRegressor(max_depth=1).fit([[0], [1]], [0.0, 1.0])
        >>> tree.partial_fit([[1], [1]], [2.0, 3.0]).predict([[0], [1]])
        array([0., 2.])
        """
        return update_fitted(self, partial(partial_fit, self, X, y, sample_weight, None))

    @overload
    def predict(self, X: Any, return_std: Literal[False] = False) -> NDArray[np.float64]: ...
    @overload
    def predict(self, X: Any, return_std: Literal[True]) -> tuple[NDArray[np.float64], NDArray[np.float64]]: ...
    def predict(self, X: Any, return_std: bool = False) -> Any:
        """Prediction for each sample: the mean over trees of the predictions of the leaves reached.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features), or UncertainTable
            Samples.
        return_std : bool, default=False
            Whether to return also a standard deviation, the square root of ``predict_uncertainty(X).total``.

        Returns
        -------
        y : ndarray of shape (n_samples,), or (n_samples, n_outputs)
        std : ndarray of the same shape
            Only with ``return_std=True``.
        """
        predictor = self._predictor()
        batch = predictor.read(X, uncertain=not return_std)
        predicted = predictor.predicted(batch)
        return (predicted, predictor.standard_deviation(batch.codes)) if return_std else predicted

    def predict_uncertainty(self, X: Any) -> TargetVariance:
        """Variance of the target of each sample, and its two parts: within leaves and between trees.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        VarianceOf
            ``total``, ``aleatoric`` (within leaves) and ``epistemic`` (between trees), (n_samples,) each; a data frame
            with these columns if `set_output` asks for one.
        """
        predictor = self._predictor()
        return self._as_requested(X, predictor.variance(predictor.read(X).codes))  # type: ignore[no-any-return]

    def predict_frame(self, X: Any, coverage: float = 0.9) -> Any:
        """Everything about each sample in a data frame, with the columns of ``hedgerow predict``.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
            Samples.
        coverage : float, default=0.9
            The share of targets that intervals should hold; not used without a bootstrap.

        Returns
        -------
        frame : data frame with n_samples rows
            ``prediction``, ``lower`` and ``upper`` (the interval, if bags leave rows out), ``mean_lower`` and
            ``mean_upper`` (the bounds), standard deviations, and ``novelty``. It is a frame of polars if X is one or
            `set_output` asks for it, otherwise of pandas; the index is that of X. Only for one output.
        """
        found = predictor_of(self).columns(X, checked_coverage(coverage))
        return self._framed(X, found.numbers(), found.names)

    def predict_variance(self, X: Any) -> SamplingVariance:
        """Return the variance of the predictions over training tables.

        The variance of a forest of B trees is ρσ² + (1 − ρ)σ²/B, where σ² is the variance of one tree and ρ the
        correlation of two. ρσ² is estimated by the infinitesimal jackknife, less what chance adds to it with so few
        trees [1]_; the rest is measured between the trees. The root of ``forest`` is a standard error of the
        prediction, not of the target.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        VarianceOf
            ``forest``, ``tree`` (σ²), ``correlation`` (ρ), ``limit`` (ρσ²), (n_samples,) each; noisy unless there are
            about as many trees as training rows.

        References
        ----------
        .. [1] S. Wager, T. Hastie, B. Efron: Confidence intervals for random forests. JMLR 15, 2014.
        """
        predictor = self._predictor()
        return predictor.jackknife(predictor.read(X).codes)

    def predict_bounds(self, X: Any) -> Floats:
        """Lower and upper prediction: if every leaf had ``caution`` more rows, all with the smallest or largest target.

        A leaf of n rows with mean m has the interval from (n m + caution low) / (n + caution) to (n m + caution high) /
        (n + caution), where low and high are the smallest and the largest training target. The interval is wide if
        leaves have few rows. With ``caution=0`` both bounds are the prediction.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features), or UncertainTable
            Samples.

        Returns
        -------
        bounds : ndarray of shape (n_samples, 2)
        """
        predictor = self._predictor()
        return predictor.bounds(predictor.read(X, uncertain=True))

    def predict_interval(self, X: Any, coverage: float = 0.9, *, method: str = "auto") -> Floats:
        """Interval that holds the target of each sample with a given probability, calibrated on out-of-bag rows.

        No rows are held out, and no tree is grown again: training rows are judged by the trees whose bags do not hold
        them. At most 4,096 training rows are used, evenly spread. If there are too few rows to keep the promise, the
        interval is infinite.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features), or UncertainTable
            Samples.
        coverage : float, default=0.9
            The share of targets that should be inside.
        method : {"auto", "scaled", "jackknife+"}, default="auto"
            "scaled" makes intervals wide where trees disagree or leaves are noisy, and narrow elsewhere. The spread at
            a sample is the root of the variance between trees, that within leaves, and 3 % of the mean squared error;
            the ends are the prediction plus the spread times quantiles of the out-of-bag residuals, each divided by
            the spread at its row. Coverage is approximately as asked. "jackknife+" is the jackknife+-after-bootstrap,
            with intervals that are almost equally wide everywhere. Suppose that rows are exchangeable and that the
            number of trees was drawn at random (Binomial, like the number of bags without a given row). Then the
            target of a new sample is inside with probability at least ``2 * coverage - 1``, on average over training
            sets of any size and for any distribution [1]_; in practice it is close to ``coverage``. "auto" is
            "scaled", except for models that were saved before there was "scaled", which can only do "jackknife+".

        Returns
        -------
        bounds : ndarray of shape (n_samples, 2)

        References
        ----------
        .. [1] B. Kim, C. Xu, R. F. Barber: Predictive inference is free with the jackknife+-after-bootstrap. NeurIPS
           2020.
        """
        predictor = self._predictor()
        return predictor.interval(predictor.read(X, uncertain=True), checked_coverage(coverage), method)

    def predict_quantiles(
        self,
        X: Any,
        quantiles: Any = (0.05, 0.5, 0.95),
        *,
        weighting: str = "tree",
        interpolation: str = "linear",
        method: str = "leaves",
    ) -> Floats:
        """Quantiles of the target of each sample, by a quantile regression forest [1]_ or by scaled residuals.

        The quantiles of a quantile regression forest are those of the training rows that share leaves with the sample,
        weighted by how often they do. The rows of every leaf are found in the first call, by sending the binned
        training table down the trees, and kept, which takes four bytes for each row and tree.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features) or None
            Samples. None stands for the training rows, each judged only by the trees whose bags do not hold it; the
            quantiles of a row that is in every bag are NaN.
        quantiles : float or array-like of shape (n_quantiles,), default=(0.05, 0.5, 0.95)
            The quantiles to compute, from 0 to 1.
        weighting : {"tree", "row"}, default="tree"
            Whether every tree weighs the same, as in the paper, or every row in the leaves reached.
        interpolation : {"linear", "inverse", "lower", "higher", "midpoint", "nearest"}, default="linear"
            "linear" interpolates between the two nearest targets, as if each occurred as often as it weighs
            (`numpy.quantile` and quantile-forest do this). "lower", "higher", "midpoint" and "nearest" take one of
            these two, or the middle between them. "inverse" takes the smallest target at which the share reaches the
            quantile, as in the paper.
        method : {"leaves", "scaled"}, default="leaves"
            "leaves" is the quantile regression forest. "scaled" calibrates on out-of-bag rows: a quantile is the
            prediction plus the spread at the sample times that quantile of the scaled residuals, as in
            `predict_interval`, and infinite where there are too few rows to tell. It needs a bootstrap, works for
            loaded models, and does not use `weighting` and `interpolation`.

        Returns
        -------
        values : ndarray of shape (n_samples, n_quantiles)

        References
        ----------
        .. [1] N. Meinshausen: Quantile regression forests. JMLR 7, 2006.
        """
        predictor = self._predictor()
        return predictor.quantiles(
            None if X is None else predictor.read(X).codes, quantiles, weighting, interpolation, method
        )

    def quantile_ranks(self, X: Any, y: Any, *, weighting: str = "tree", kind: str = "rank") -> Floats:
        """Return the rank of each target in its predicted distribution.

        Ranks of targets near 0 or 1 are surprising. Over many samples whose distributions are right, they are uniform.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features) or None
            Samples, or None for the training rows, out of bag, as in `predict_quantiles`.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            A number for each sample.
        weighting : {"tree", "row"}, default="tree"
            As in `predict_quantiles`.
        kind : {"rank", "weak", "strict", "mean"}, default="rank"
            What becomes of training rows with the same number, as in `scipy.stats.percentileofscore`: "strict" is the
            share of smaller rows, "weak" of smaller and equal ones, "mean" lies half way, and "rank" is the mean rank
            of the equal rows.

        Returns
        -------
        ranks : ndarray of shape (n_samples,) or (n_samples, n_outputs)
        """
        predictor = self._predictor()
        return predictor.quantile_ranks(None if X is None else predictor.read(X).codes, y, weighting, kind)

    @property
    def criterion_(self) -> str:
        """The criterion with which the trees were grown, even if the parameter has been changed since."""
        return fitted_of(self).criterion  # type: ignore[no-any-return]

    @property
    def oob_prediction_(self) -> Floats:
        """(n_samples,): out-of-bag predictions for the training rows; NaN for a row that is in every bag.

        With several outputs, (n_samples, n_outputs).
        """
        fitted = fitted_of(self)
        found: list[Any] = [each.figures.oob_predictions for each in fitted.outputs or (fitted,)]
        figure(found[0], "oob_prediction_", "after a fit with oob_score")
        return np.column_stack(found) if fitted.outputs else np.asarray(found[0])

    if TYPE_CHECKING:  # with several outputs, the same in lists

        def _predictor(self, fitted: Fitted | None = None) -> RegressionPredictor: ...


def checked_coverage(coverage: Any) -> float:
    """Return a coverage; raise an error unless it is between 0 and 1."""
    if not (isinstance(coverage, float | int | np.floating) and 0 < coverage < 1):
        raise ValueError(f"coverage must be a number between 0 and 1, got {coverage!r}")
    return float(coverage)
