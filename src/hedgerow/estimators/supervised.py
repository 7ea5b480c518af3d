"""Base class for supervised estimators: updates, out-of-bag metrics, drift."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import copy
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hedgerow.estimators.trees import BaseTrees, as_attribute_error, require_metric
from hedgerow.fit.groups import GroupsLike
from hedgerow.fit.incremental import grow_more
from hedgerow.fit.run import with_callbacks
from hedgerow.fit.task import SupervisedTask
from hedgerow.forest.proximity import suggested_rows
from hedgerow.inference.drift import Drift, DriftRows, compare, sampled_rows
from hedgerow.inference.fitted import Fitted, fitted_of, publish, update_fitted
from hedgerow.inference.leakage import keep_row_sketch
from hedgerow.inference.novelty import keep_novelty, novelty_of
from hedgerow.inference.oob import BootstrapErrors
from hedgerow.inference.predictor import predictor_of
from hedgerow.params.checks import require_count
from hedgerow.params.resolve import resolve_max_features
from hedgerow.params.table import RandomState, TreeEstimator
from hedgerow.table.frames import OUTPUTS, frame_like, requested_output
from hedgerow.table.schema import TableLike, TargetLike

if TYPE_CHECKING:
    from hedgerow.explain.report import Report

Floats = NDArray[np.float64]


def leaves_are_sums(model: TreeEstimator) -> bool:
    """Return whether `partial_fit` can update the leaves.

    Raise AttributeError otherwise.
    """
    fitted: Fitted | None = model.__dict__.get("_fitted")
    if (model.criterion if fitted is None else fitted.criterion) == "absolute_error":
        raise AttributeError(
            "partial_fit does not support criterion='absolute_error'. Use 'squared_error' to add rows."
        )
    if model.monotonic_cst is not None:
        raise AttributeError("partial_fit does not support monotonic_cst: new rows may violate the constraints.")
    return True


class SupervisedTrees(BaseTrees):
    """Base class for classifiers and regressors."""

    _incremental: ClassVar[bool] = True
    #: The prediction type.
    _task: ClassVar[SupervisedTask]

    n_estimators: int | str  # of forests

    @with_callbacks
    def grow_more(
        self,
        n: int,
        X: TableLike | None = None,
        y: TargetLike | None = None,
        sample_weight: ArrayLike | None = None,
        *,
        groups: GroupsLike = None,
    ) -> Self:
        """Add trees grown on all rows so far.

        Without `partial_fit` in between, the forest is bitwise identical to one fitted with all trees at once.
        ``n_estimators`` becomes the new number of trees.

        Parameters
        ----------
        n : int
            Number of trees to add.
        X, y, sample_weight, groups : default=None
            All rows so far, in their original order. Required after loading or unpickling; a forest fitted in this
            process has kept the binned rows (one or two bytes per cell).

        Returns
        -------
        self

        Raises
        ------
        ValueError
            For a single tree, a merged forest, or one warm-started on other rows, and if the rows are required but
            not passed or differ from the rows so far.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from hedgerow import RandomForestClassifier
        >>> X, y = load_iris(return_X_y=True)
        >>> forest = RandomForestClassifier(10, random_state=0).fit(X, y).grow_more(5)
        >>> at_once = RandomForestClassifier(15, random_state=0).fit(X, y)
        >>> (forest.predict_proba(X) == at_once.predict_proba(X)).all()
        np.True_
        """
        after = update_fitted(self, partial(grow_more, self, n, X, y, sample_weight, groups))
        self.n_estimators = after.forest_.n_trees
        return self

    def drift(
        self,
        X: TableLike,
        y: TargetLike | None = None,
        *,
        reference: Any = None,
        min_rows: int = 20,
        n_permutations: int = 199,
        random_state: RandomState = 0,
    ) -> Drift:
        """Test whether new rows have the distribution of the training rows.

        The test compares the leaves that new rows and out-of-bag training rows reach, and with `y` also their labels
        within leaves. P-values come from random permutations of old and new rows.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
            New rows.
        y : array-like of shape (n_samples,), default=None
            Labels or targets of the new rows.
        reference : X or (X, y), default=None
            Old rows to compare with, which were not used to grow the trees. Required if the forest has no out-of-bag
            rows: without bootstrap, or after unpickling, loading or merging.
        min_rows : int, default=20
            A branch that fewer rows reach, old and new together, is treated as one leaf.
        n_permutations : int, default=199
            Number of permutations; the smallest possible p-value is 1 / (n_permutations + 1).
        random_state : int or Generator, default=0
            Seed of the permutations.

        Returns
        -------
        Drift
            ``p_value``, and the features and leaves that differ most; ``print`` shows it.

        Raises
        ------
        ValueError
            For a multi-output model, or if `reference` is required but missing.
        """
        predictor = predictor_of(self)
        require_count("min_rows", min_rows)
        require_count("n_permutations", n_permutations)
        classes = predictor.drift_classes(y)
        new = _drift_rows(predictor, X, y, classes)
        old = None
        if reference is not None:
            pair = isinstance(reference, tuple) and len(reference) == 2
            if y is not None and not pair:
                raise ValueError(
                    f"reference must be a pair (X, y) if y is given, got {type(reference).__name__}. Pass the labels of"
                    " the reference rows too."
                )
            X, y_old = reference if pair else (reference, None)
            old = _drift_rows(predictor, X, None if y is None else y_old, classes)
        options = {"min_rows": int(min_rows), "n_permutations": int(n_permutations), "random_state": random_state}
        return compare(predictor, new, old, classes, **options)

    def predict_novelty(self, X: TableLike) -> Floats:
        """Compute novelty p-values; small values mark novel samples.

        A sample is novel if it lies far outside the values, categories and missing values in the leaves that it
        reaches; each tree records them for a few random features. The p-value ranks the sample among out-of-bag
        training rows, so about 5% of rows like these have a p-value of at most 0.05.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        p_value : ndarray of shape (n_samples,)
            The smallest possible value is 1 / (k + 1), where k is the number of training rows, at most 2,048.

        Raises
        ------
        ValueError
            If the forest has no out-of-bag rows and was not saved with novelty scores.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from hedgerow import RandomForestClassifier
        >>> X, y = load_iris(return_X_y=True)
        >>> forest = RandomForestClassifier(random_state=0).fit(X, y)
        >>> forest.predict_novelty([[5.0, 3.4, 1.5, 0.2], [5.0, 3.4, 1.5, 90.0]]).round(3)
        array([1.   , 0.007])
        """
        predictor = self._predictor()
        table = predictor.table(X)
        return novelty_of(predictor.fitted, table, n_threads=predictor.threads(table.n_rows)).p_value

    def suggest(self, X: TableLike, n: int = 10, strategy: str = "margin") -> NDArray[np.int64]:
        """Select unlabelled rows to label next.

        A row is selected if it is uncertain, if many uncertain rows reach the same leaves, and if no similar row has
        been selected. The uncertainty of a classifier is one minus the difference between its two largest
        probabilities; that of a regressor is the standard deviation between its trees, relative to the largest.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
            Rows without labels.
        n : int, default=10
            Number of rows to select; all rows if there are fewer.
        strategy : {"margin", "klir"}, default="margin"
            Uncertainty of a row. "klir" is for classifiers: the mean of non-specificity and discord of the mass that
            gives each class its lower probability and the frame the rest (Hoarau et al., 2024).

        Returns
        -------
        rows : ndarray of shape (min(n, n_samples),)
            Row numbers, most useful first. If X has more than 50,000 rows, only the most uncertain are candidates. The
            uncertainty of a multi-output model is the mean over its outputs.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from hedgerow import RandomForestClassifier
        >>> X, y = load_iris(return_X_y=True)
        >>> forest = RandomForestClassifier(random_state=0).fit(X[::5], y[::5])
        >>> rows = forest.suggest(X, n=3)
        >>> forest.predict_proba(X[rows]).argmin(axis=1)
        array([0, 0, 0])
        """
        predictor = self._predictor()
        require_count("n", n)
        if strategy not in ("margin", "klir"):
            raise ValueError(f"strategy must be 'margin' or 'klir', got {strategy!r}.")
        batch = predictor.read(X)
        score = predictor.uncertainty_score if strategy == "margin" else predictor.klir_score
        codes, uncertainty = batch.codes, score(batch)
        return suggested_rows(predictor.forest, codes, uncertainty, int(n), predictor.many_threads(codes))

    def set_output(self, *, transform: str | None = None) -> Self:
        """Set the container that `predict_uncertainty` and `predict_frame` return.

        Parameters
        ----------
        transform : {"default", "pandas", "polars"}, default=None
            "pandas" and "polars" request data frames. "default" requests arrays from `predict_uncertainty`, and from
            `predict_frame` a frame of the same library as X. None leaves the setting unchanged. Before the first call,
            scikit-learn's global option ``transform_output`` applies.

        Returns
        -------
        self
        """
        if transform is not None:
            if transform not in OUTPUTS:
                raise ValueError(f"transform must be one of {', '.join(OUTPUTS)} or None, got {transform!r}.")
            self._sklearn_output_config = {"transform": transform}
        return self

    def explain(
        self,
        X: TableLike,
        *,
        train: TableLike | None = None,
        y_train: ArrayLike | None = None,
        cases: int = 5,
        shap: bool | None = None,
        immutable: Iterable[int | str] | None = None,
        increasing: Iterable[int | str] = (),
        decreasing: Iterable[int | str] = (),
        wanted: str | int | float | None = None,
        time_limit: float | None = None,
        coverage: float | None = None,
        time: float | None = None,
    ) -> list[Any]:
        """Explain the prediction for each sample, with counterfactuals.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
            Samples.
        train, y_train, cases, shap
            The training rows if the forest has not kept them, the number of nearest rows to show, and whether to
            compute feature contributions; see `hedgerow.explain.explain`.
        immutable, increasing, decreasing, wanted, time_limit
            For classifiers: constraints on counterfactuals; see `hedgerow.explain.explain`. None for `immutable` means
            ``immutable_features``.
        coverage : float, default=None
            For regressors: target coverage of the intervals; None means 0.9.
        time : float, default=None
            For survival models: the time to explain; None means the middle of ``event_times_``.

        Returns
        -------
        list of hedgerow.explain.Explanation
            Or of `hedgerow.explain.RegressionExplanation` for a regressor, of `hedgerow.explain.SurvivalExplanation`
            for a survival model. With ``sentence``, ``to_text()``, ``to_dict()`` and ``to_html()``.
        """
        from hedgerow.explain import explain  # imported here because it is slow

        return explain(
            self, X, train=train, y_train=y_train, cases=cases, shap=shap, immutable=immutable, increasing=increasing,
            decreasing=decreasing, wanted=wanted, time_limit=time_limit, coverage=coverage, time=time,
        )  # fmt: skip

    def report(
        self,
        X: TableLike,
        y: ArrayLike | None = None,
        *,
        names: ArrayLike | None = None,
        title: str = "Predictions and their uncertainty",
        max_cases: int = 1000,
        explained: str = "some",
        time_limit: float = 5.0,
        train: TableLike | None = None,
        y_train: ArrayLike | None = None,
        first_row: int = 0,
        immutable: Iterable[int | str] | None = None,
        labels: Mapping[str, Mapping[str, str]] | None = None,
        coverage: float | None = None,
        by: Mapping[str, ArrayLike] | None = None,
        costs: Any = None,
        groups: ArrayLike | None = None,
        progress: Callable[[int, int], None] | None = None,
        time: float | None = None,
    ) -> Report:
        """Write a self-contained HTML report: metrics, uncertainty, explanations.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
            Rows that were not used for training.
        y : array-like of shape (n_samples,), default=None
            Classes or targets of these rows; without them, the report has no metrics.
        names : array-like of shape (n_samples,), default=None
            Names of the rows; None means the index of a pandas frame, or row numbers.
        title, max_cases, explained, time_limit, train, y_train, first_row, immutable, labels
        coverage, by, costs, groups, progress, time
            As in `hedgerow.explain.report.make_report`. None for `immutable` means ``immutable_features``.

        Returns
        -------
        hedgerow.explain.report.Report
            With ``html``, ``figures`` and ``save(path)``.
        """
        from hedgerow.explain.report import make_report  # imported here because it is slow

        return make_report(
            self, X, y, names=names, title=title, max_cases=max_cases, explained=explained, time_limit=time_limit,
            train=train, y_train=y_train, first_row=first_row, immutable=immutable, labels=labels, coverage=coverage,
            by=by, costs=costs, groups=groups, progress=progress, time=time,
        )  # fmt: skip

    @property
    def n_outputs_(self) -> int:
        """Number of outputs, the columns of y in `fit`."""
        return len(self.outputs_)

    @property
    def outputs_(self) -> list[Self]:
        """Fitted single-output models, one per column of y.

        They share the trees and have the leaves of their output. Use them for explanations, reports, exports and plots.
        """
        fitted = fitted_of(self)
        return [publish(copy(self), output) for output in fitted.outputs or (fitted,)]

    @property
    def oob_score_(self) -> float:
        """Out-of-bag score, if fitted with ``oob_score``."""
        return float(require_metric(fitted_of(self).figures.oob_score, "oob_score_", "oob_score=True"))

    @property
    def oob_trace_(self) -> Floats:
        """Out-of-bag error after each tree, of shape (n_trees,).

        For a classifier, it is the uncalibrated error rate under its rule, with equal weights if the rule learns tree
        weights. For a regressor, it is the squared error, or the absolute error with ``criterion="absolute_error"``;
        for a survival forest, the negative log-likelihood. It is computed when first needed.
        """
        with as_attribute_error():
            return np.array(self._predictor().oob_trace())

    @property
    def oob_errors_(self) -> BootstrapErrors:
        """Out-of-bag, resubstitution, .632 and .632+ errors.

        ``out_of_bag`` (Err*), ``resubstitution``, ``err632`` and ``err632plus`` are errors of single trees;
        ``ensemble`` is the out-of-bag error of the forest. The loss is that of `oob_trace_`.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from hedgerow import RandomForestClassifier
        >>> forest = RandomForestClassifier(random_state=0).fit(*load_iris(return_X_y=True))
        >>> errors = forest.oob_errors_
        >>> errors.resubstitution < errors.err632 < errors.out_of_bag
        True
        """
        with as_attribute_error():
            errors: BootstrapErrors = self._predictor().oob_errors()
            return errors

    @property
    def feature_importances_(self) -> Floats:
        """Mean decrease in impurity of each feature, normalised, (n_features,).

        Impurities are computed from the evidence in the leaves. The impurity of a regressor is that of its criterion:
        squared error, deviance or absolute error (squared error after `merge`, for multi-output models and on a
        cluster). That of survival trees is the negative log-likelihood of the times. The importance of features with
        many distinct values is biased upwards; permutation importance does not have this bias.
        """
        mean = fitted_of(self).importances().mean(axis=0)
        return np.asarray(mean / mean.sum() if mean.sum() > 0 else mean)

    @property
    def max_features_(self) -> int:
        """Number of features tried per split, resolved from ``max_features``."""
        fitted = fitted_of(self)
        chosen = fitted.figures.max_features
        if chosen is None and self.max_features == "oob":
            raise AttributeError("max_features_ requires fitting with max_features='oob'.")
        return resolve_max_features(self.max_features, fitted.schema.n_features) if chosen is None else int(chosen)

    @property
    def max_features_errors_(self) -> dict[int, float]:
        """Out-of-bag error for each number of features that "oob" has tried."""
        errors = fitted_of(self).figures.max_features_errors
        return require_metric(errors, "max_features_errors_", "max_features='oob'")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags

    def __getstate__(self) -> dict[str, Any]:
        """Return the state for pickles, after learning all that needs training rows."""
        if self.__sklearn_is_fitted__():
            keep_novelty(fitted_of(self))
            keep_row_sketch(fitted_of(self))
        return super().__getstate__()

    def _framed(self, X: TableLike, columns: list[Any], names: Sequence[str]) -> Any:
        """Make a data frame of named columns with the index of X, following `set_output`."""
        return frame_like(X, dict(zip(names, columns, strict=True)), requested_output(self))

    def _as_requested(self, X: TableLike, found: Any) -> Any:
        """Make a data frame of named arrays if `set_output` requests one."""
        if requested_output(self) == "default" or isinstance(found, list):
            return found
        return self._framed(X, list(found), found._fields)


def _drift_rows(predictor: Any, X: TableLike, y: TargetLike | None, classes: NDArray[np.generic] | None) -> DriftRows:
    """Return at most `DRIFT_ROWS` rows, with their labels if any, for `compare`."""
    codes = predictor.read(X).codes
    return sampled_rows(codes, None if y is None else predictor.drift_labels(y, codes.shape[1], classes))
