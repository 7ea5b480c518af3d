"""Base class of classifiers and regressors: out-of-bag results, updates, drift."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import copy
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from hedgerow.estimators.trees import BaseTrees, figure, or_not_there
from hedgerow.fit.incremental import grow_more
from hedgerow.fit.progress import with_callbacks
from hedgerow.fit.task import SupervisedTask
from hedgerow.inference.drift import Drift, Newcomers, compare, newcomers
from hedgerow.inference.fitted import Fitted, fitted_of, publish, update_fitted
from hedgerow.inference.leakage import keep_row_sketch
from hedgerow.inference.novelty import keep_novelty, novelty_of
from hedgerow.inference.oob import BootstrapErrors
from hedgerow.inference.predictor import predictor_of
from hedgerow.inference.suggest import suggested_rows
from hedgerow.params.checks import require_count
from hedgerow.params.resolve import resolve_max_features
from hedgerow.table.output import OUTPUTS, frame_like, requested_output

if TYPE_CHECKING:
    from hedgerow.explain.report import Report

Floats = NDArray[np.float64]


def leaves_are_sums(model: Any) -> bool:
    """Return whether leaves are sums over their rows; raise AttributeError otherwise."""
    fitted: Fitted | None = model.__dict__.get("_fitted")
    if (model.criterion if fitted is None else fitted.criterion) == "absolute_error":
        raise AttributeError(
            "partial_fit needs leaves that are means, got medians; use criterion='squared_error' to add rows"
        )
    if model.monotonic_cst is not None:
        raise AttributeError("partial_fit needs monotonic_cst=None, got constraints, which new rows may break")
    return True


class SupervisedTrees(BaseTrees):
    """Base class for classifiers and regressors."""

    _incremental: ClassVar[bool] = True
    #: The prediction type.
    _task: ClassVar[SupervisedTask]

    @with_callbacks
    def grow_more(self, n: int, X: Any = None, y: Any = None, sample_weight: Any = None, *, groups: Any = None) -> Self:
        """Add trees that are grown on all rows so far.

        Without `partial_fit` in between, the forest is the same, bit for bit, as a fit with this number of trees would
        have grown. ``n_estimators`` becomes the new number of trees.

        Parameters
        ----------
        n : int
            How many trees to add.
        X, y, sample_weight, groups : default=None
            All rows so far, in the order in which they came. They are not needed if the forest was fitted in this
            process, because it keeps the binned rows (one or two bytes for each cell). A forest that was unpickled or
            loaded needs them.

        Returns
        -------
        self

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
        X: Any,
        y: Any = None,
        *,
        reference: Any = None,
        min_rows: int = 20,
        n_permutations: int = 199,
        random_state: Any = 0,
    ) -> Drift:
        """Test whether new rows are of the same kind as the training rows.

        New rows are compared with the training rows leaf by leaf; a training row counts in the trees whose bags do not
        hold it. The test compares which leaves rows reach, and with `y` which labels they have there. The p-values come
        from relabelling old and new rows at random.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
            New rows.
        y : array-like of shape (n_samples,), default=None
            The labels or targets of the new rows.
        reference : X or (X, y), default=None
            Old rows to compare with, which were not used to grow the trees. It is needed if the forest draws no bags,
            or if it was unpickled, loaded or merged.
        min_rows : int, default=20
            A branch that fewer rows reach, old and new together, is treated as one leaf.
        n_permutations : int, default=199
            Number of random relabellings; the smallest possible p-value is 1 / (n_permutations + 1).
        random_state : int or Generator, default=0
            Seed of the relabellings.

        Returns
        -------
        Drift
            ``p_value``, and the features and leaves that differ most; ``print`` shows it.
        """
        predictor = predictor_of(self)
        require_count("min_rows", min_rows)
        require_count("n_permutations", n_permutations)
        classes = predictor.drift_classes(y)
        new = _newcomers(predictor, X, y, classes)
        old = None
        if reference is not None:
            pair = isinstance(reference, tuple) and len(reference) == 2
            if y is not None and not pair:
                raise ValueError("reference must be a pair (X, y) if y is given, got X alone; pass its labels too")
            X, y_old = reference if pair else (reference, None)
            old = _newcomers(predictor, X, None if y is None else y_old, classes)
        options = {"min_rows": int(min_rows), "n_permutations": int(n_permutations), "random_state": random_state}
        return compare(predictor, new, old, classes, **options)

    def predict_novelty(self, X: Any) -> Floats:
        """Return novelty p-values: about 5% of ordinary rows have one of at most 0.05.

        Leaves remember which values the rows of their bags had in a few features, drawn for each tree. A sample is
        strange if it lies far outside what its leaves have seen: values, categories and missing values. How strange
        training rows are to trees that have not seen them says what is usual.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        p_value : ndarray of shape (n_samples,)
            The smallest possible one is 1 / (k + 1) for k training rows, of which at most 2048 are used.

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

    def suggest(self, X: Any, n: int = 10) -> NDArray[np.int64]:
        """Select unlabelled rows to label next.

        A row is useful if the forest doubts its label, if many doubtful rows reach the same leaves, and if no row like
        it has been suggested already. The doubt of a classifier is one minus the difference between its two largest
        probabilities; that of a regressor is the standard deviation between its trees, relative to the largest.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
            Rows without labels.
        n : int, default=10
            How many rows to suggest; all rows, if there are fewer.

        Returns
        -------
        rows : ndarray of shape (min(n, n_samples),)
            Numbers of rows of X, the most useful first. With more than 50,000 rows, only the most doubtful are looked
            at. With several outputs, doubt is the mean over outputs.

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
        batch = predictor.read(X)
        codes, uncertainty = batch.codes, predictor.uncertainty_score(batch)
        return suggested_rows(predictor.forest, codes, uncertainty, int(n), predictor.many_threads(codes))

    def set_output(self, *, transform: str | None = None) -> Self:
        """Choose what `predict_uncertainty` and `predict_frame` return, as for transformers of scikit-learn.

        Parameters
        ----------
        transform : {"default", "pandas", "polars"}, default=None
            "pandas" and "polars" are data frames of these libraries. "default" means arrays in `predict_uncertainty`,
            and in `predict_frame` a frame like X. None changes nothing; if nothing was ever chosen, scikit-learn's
            configuration (``transform_output``) says what is returned.

        Returns
        -------
        self
        """
        if transform is not None:
            if transform not in OUTPUTS:
                raise ValueError(f"transform must be one of {', '.join(OUTPUTS)} or None, got {transform!r}")
            self._sklearn_output_config = {"transform": transform}
        return self

    def explain(
        self,
        X: Any,
        *,
        train: Any = None,
        y_train: Any = None,
        cases: int = 5,
        shap: bool | None = None,
        immutable: Iterable[int | str] | None = None,
        increasing: Iterable[int | str] = (),
        decreasing: Iterable[int | str] = (),
        wanted: Any = None,
        time_limit: float | None = None,
        coverage: float | None = None,
    ) -> list[Any]:
        """Explain why each sample gets its answer, and what would settle it if several classes remain.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
            Samples.
        train, y_train, cases, shap
            The training rows if the forest has not kept them, how many of the nearest to show, and whether to compute
            what each feature adds; see `hedgerow.explain.explain`.
        immutable, increasing, decreasing, wanted, time_limit
            Of a classifier: limits of the smallest change; see `hedgerow.explain.explain`. None for `immutable` means
            ``immutable_features``.
        coverage : float, default=None
            Of a regressor: the share of targets that intervals should hold; None means .9.

        Returns
        -------
        list of hedgerow.explain.Explanation, or of hedgerow.explain.RegressionExplanation for a regressor
            With ``sentence``, ``to_text()``, ``to_dict()`` and ``to_html()``.
        """
        from hedgerow.explain import explain  # here, because it takes time to import

        return explain(
            self, X, train=train, y_train=y_train, cases=cases, shap=shap, immutable=immutable, increasing=increasing,
            decreasing=decreasing, wanted=wanted, time_limit=time_limit, coverage=coverage,
        )  # fmt: skip

    def report(
        self,
        X: Any,
        y: Any = None,
        *,
        names: Any = None,
        title: str = "What the forest knows, and what it does not",
        max_cases: int = 1000,
        explained: str = "some",
        time_limit: float = 5.0,
        train: Any = None,
        y_train: Any = None,
        first_row: int = 0,
        immutable: Iterable[int | str] | None = None,
        labels: Mapping[str, Mapping[str, str]] | None = None,
        coverage: float | None = None,
        by: Mapping[str, Any] | None = None,
        costs: Any = None,
        progress: Callable[[int, int], None] | None = None,
    ) -> Report:
        """Make one HTML page, which can be e-mailed: how good answers are, where doubt is, and each case with reasons.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
            Rows on which the forest was not trained.
        y : array-like of shape (n_samples,), default=None
            The classes or targets of these rows; without them the report has no metrics.
        names : array-like of shape (n_samples,), default=None
            Names of the rows; None means the index of a pandas frame, or their numbers.
        title, max_cases, explained, time_limit, train, y_train, first_row, immutable, labels
        coverage, by, costs, progress
            As in `hedgerow.explain.report.make_report`. None for `immutable` means ``immutable_features``.

        Returns
        -------
        hedgerow.explain.report.Report
            With ``html``, ``figures`` and ``save(path)``.
        """
        from hedgerow.explain.report import make_report  # here, because it takes time to import

        return make_report(
            self, X, y, names=names, title=title, max_cases=max_cases, explained=explained, time_limit=time_limit,
            train=train, y_train=y_train, first_row=first_row, immutable=immutable, labels=labels, coverage=coverage,
            by=by, costs=costs, progress=progress,
        )  # fmt: skip

    @property
    def n_outputs_(self) -> int:
        """Number of columns of y in the fit."""
        return len(self.outputs_)

    @property
    def outputs_(self) -> list[Self]:
        """A fitted model for each column of y, with the same trees and the leaves of that output.

        Each is an ordinary model of one output, for explanations, reports, exports and plots too.
        """
        fitted = fitted_of(self)
        return [publish(copy(self), output) for output in fitted.outputs or (fitted,)]

    @property
    def oob_score_(self) -> float:
        """Out-of-bag score, after a fit with ``oob_score``."""
        return float(figure(fitted_of(self).figures.oob_score, "oob_score_", "after a fit with oob_score"))

    @property
    def oob_trace_(self) -> Floats:
        """(n_trees,): out-of-bag error of the forest after each tree; the last one is that of the whole forest.

        For a classifier it is the error under its rule (all trees weigh the same if the rule learns tree weights); for
        a regressor the squared error, or the absolute error if the criterion is "absolute_error". It is computed in one
        pass when first needed.
        """
        with or_not_there():
            return np.array(self._predictor().oob_trace())

    @property
    def oob_errors_(self) -> BootstrapErrors:
        """Errors of the forest and of its trees on in-bag and out-of-bag rows.

        ``out_of_bag`` (Err*), ``resubstitution``, ``err632``, ``err632plus``, and ``ensemble``, that of the forest.
        Errors are those of `oob_trace_`: shares of wrong classes, squared or absolute errors.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from hedgerow import RandomForestClassifier
        >>> forest = RandomForestClassifier(random_state=0).fit(*load_iris(return_X_y=True))
        >>> errors = forest.oob_errors_
        >>> errors.resubstitution < errors.err632 < errors.out_of_bag
        True
        """
        with or_not_there():
            return self._predictor().oob_errors()  # type: ignore[no-any-return]

    @property
    def feature_importances_(self) -> Floats:
        """(n_features,): share of the decrease in impurity, measured on the evidence in the leaves.

        For a regressor, impurity is what its criterion says: squared error, deviance, or absolute error (squared error
        after `merge`, for several outputs and on a cluster, where the rows are not in one place). Features with many
        values look more important than they are; permutation importance does not have this bias.
        """
        mean = fitted_of(self).importances().mean(axis=0)
        return np.asarray(mean / mean.sum() if mean.sum() > 0 else mean)

    @property
    def max_features_(self) -> int:
        """The number of features for each split, as ``max_features`` says or as "oob" has chosen."""
        fitted = fitted_of(self)
        chosen = fitted.figures.max_features
        if chosen is None and self.max_features == "oob":
            raise AttributeError("max_features_ is there after a fit with max_features='oob', got a model without it")
        return resolve_max_features(self.max_features, fitted.schema.n_features) if chosen is None else int(chosen)

    @property
    def max_features_errors_(self) -> dict[int, float]:
        """The out-of-bag errors of all numbers of features that ``max_features="oob"`` has tried."""
        errors = fitted_of(self).figures.max_features_errors
        return figure(  # type: ignore[no-any-return]
            errors, "max_features_errors_", "after a fit with max_features='oob'"
        )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags

    def __getstate__(self) -> dict[str, Any]:
        """The state for pickles; what `predict_novelty` needs of the training rows is learned first."""
        if self.__sklearn_is_fitted__():
            keep_novelty(fitted_of(self))
            keep_row_sketch(fitted_of(self))
        return super().__getstate__()

    def _framed(self, X: Any, columns: list[Any], names: Sequence[str]) -> Any:
        """Make a data frame of named columns with the index of X, following `set_output`."""
        return frame_like(X, dict(zip(names, columns, strict=True)), requested_output(self))

    def _as_requested(self, X: Any, found: Any) -> Any:
        """Make a data frame of named arrays if `set_output` requests one."""
        if requested_output(self) == "default" or isinstance(found, list):
            return found
        return self._framed(X, list(found), found._fields)


def _newcomers(predictor: Any, X: Any, y: Any, classes: NDArray[Any] | None) -> Newcomers:
    """Draw rows, with their labels if any, for `compare`."""
    codes = predictor.read(X).codes
    return newcomers(codes, None if y is None else predictor.drift_labels(y, codes.shape[1], classes))
