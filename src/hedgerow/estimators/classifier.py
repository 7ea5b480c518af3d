"""Base class of the classifiers."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin
from sklearn.utils.metaestimators import available_if

from hedgerow.criteria import Criterion
from hedgerow.estimators.supervised import SupervisedTrees, leaves_are_sums
from hedgerow.estimators.trees import figure, or_not_there, stacked
from hedgerow.fit.incremental import partial_fit
from hedgerow.fit.progress import with_callbacks
from hedgerow.fit.run import fit
from hedgerow.fit.task import SupervisedTask
from hedgerow.forest.target import columns_of
from hedgerow.inference.evidence import CAUTIONS, Evidence, PredictionUncertainty
from hedgerow.inference.fitted import fitted_of, publish, update_fitted
from hedgerow.inference.predictor import predictor_of
from hedgerow.inference.variance import SamplingVariance
from hedgerow.labels import read_labels
from hedgerow.tasks.classification.evaluation import grid_scores
from hedgerow.tasks.classification.target import labels_as_given
from hedgerow.tasks.classification.task import Classification
from hedgerow.tasks.multioutput.predictor import side_by_side

if TYPE_CHECKING:
    from hedgerow.inference.fitted import Fitted
    from hedgerow.tasks.classification.predictor import ClassificationPredictor

Floats = NDArray[np.float64]


class TreesClassifier(ClassifierMixin, SupervisedTrees):  # type: ignore[misc]
    """Base class for tree and forest classifiers.

    `rule`, `caution` and `decision` can be changed on a fitted model; they do not change its trees.
    """

    _task: ClassVar[SupervisedTask] = Classification()

    rule: Any
    decision: Any

    @with_callbacks
    def fit(self, X: Any, y: Any, sample_weight: Any = None, *, groups: Any = None, checkpoint: Any = None) -> Self:
        """Fit to a table and labels.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
            The training table: numbers, booleans, categories or text. NaN, None and null are missing values.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs), or UncertainLabels
            Labels. A label may be uncertain (`hedgerow.labels`). With several columns, the trees are grown for all
            outputs together, and most answers are lists with one entry for each output; see `outputs_`.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows. They change splits and class shares, but never the amount of evidence.
        groups : array-like of shape (n_samples,) or str, default=None
            Groups of rows that belong together, such as the visits of a patient: their labels, or the name of a column
            of X, which is then not a feature. A bootstrap sample contains all rows of a group or none, and
            ``max_samples`` counts groups. Out-of-bag answers about a row come from trees without its whole group, so
            calibration, ``caution="auto"``, `Coverage`, `Risk` and scores are about rows of new groups. With groups,
            ``leaf_counts="all"`` becomes "distinct": leaves must not count the group of an out-of-bag row. The model
            does not keep the labels of groups. Without bootstrap they are ignored.
        checkpoint : str or path, default=None
            A folder for trees while the fit runs. After an interruption, the same call continues with them.

        Returns
        -------
        self
        """
        return publish(self, fit(self, X, y, sample_weight, groups=groups, checkpoint=checkpoint))

    @available_if(leaves_are_sums)  # type: ignore[untyped-decorator]
    @with_callbacks
    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Add the evidence of new rows to the existing leaves; the splits do not change.

        The result does not depend on how many calls add the rows. New rows are numbered after the earlier ones and
        drawn into bags in the same way: ``leaf_counts`` keeps its meaning, and new rows are out-of-bag evidence too.

        A forest that has not been fitted is fitted to these rows; then `classes` must be given. Later calls grow no
        trees (`grow_more` does), so pass many rows in this first call.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
            New rows, with the columns of the first table. New categories count as missing.
        y : array-like of shape (n_samples,)
            The labels of the new rows.
        classes : array-like of shape (n_classes,), default=None
            All classes that may occur; later calls may leave it out, or add new ones.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights, as in `fit`.

        Returns
        -------
        self

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from hedgerow import RandomForestClassifier
        >>> X, y = load_iris(return_X_y=True)
        >>> forest = RandomForestClassifier(10, random_state=0).fit(X[::2], y[::2])
        >>> forest.partial_fit(X[1::2], y[1::2]).evidence(X[:1]).counts[0, 0]
        array([50.,  0.,  0.])
        """
        return update_fitted(self, partial(partial_fit, self, X, y, sample_weight, classes))

    def predict(self, X: Any, return_set: bool = False) -> Any:
        """The most probable class of each sample.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features), or UncertainTable
            Samples.
        return_set : bool, default=False
            Whether to return also what `predict_set` returns. A pipeline passes this parameter on.

        Returns
        -------
        y : ndarray of shape (n_samples,), or (n_samples, n_outputs); with `return_set`, also the sets
        """
        predictor = self._predictor()
        batch = predictor.read(X, uncertain=True)
        return predictor.labels_and_sets(batch) if return_set else predictor.labels(batch)

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Return the probability of each class, calibrated if ``calibration_`` says so.

        Uncalibrated probabilities of the rule "average" are the mean of the class shares in the leaves reached.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features), or UncertainTable
            Samples.

        Returns
        -------
        probability : ndarray of shape (n_samples, n_classes), or a list of one for each output
            Rows sum to one. The columns are in the order of ``classes_``.
        """
        predictor = self._predictor()
        return predictor.probability(predictor.read(X, uncertain=True))

    def predict_log_proba(self, X: Any) -> NDArray[np.float64]:
        """Logarithm of `predict_proba`; minus infinity for a class of probability 0.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        log_probability : ndarray of shape (n_samples, n_classes)
        """
        said = self.predict_proba(X)
        with np.errstate(divide="ignore"):
            return [np.log(each) for each in said] if isinstance(said, list) else np.asarray(np.log(said))

    def predict_confidence(self, X: Any) -> Floats:
        """Return the probability that the label of `predict` is right.

        Only with ``calibration="oob"`` it is calibrated. With `novelty` it is discounted for strangers: r · p +
        (1 − r) / K, where r is how far the forest trusts its opinion.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features), or UncertainTable
            Samples.

        Returns
        -------
        confidence : ndarray of shape (n_samples,), or a list of one for each output
        """
        predictor = self._predictor()
        return predictor.confidence(predictor.read(X, uncertain=True))

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Accuracy of `predict`; for uncertain labels, the mean plausibility of the predicted classes.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
            Samples.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs), or UncertainLabels
            Labels as in `fit`.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the samples in the mean.

        Returns
        -------
        score : float
            The share of correct predictions; with several outputs, of samples for which all are correct.
        """
        if columns := columns_of(y):
            right = (side_by_side(columns) == self.predict(X)).all(axis=1)
            return float(np.average(right, weights=sample_weight))
        if (labels := read_labels(y)) is None:
            return float(super().score(X, labels_as_given(y), sample_weight))
        return float(np.average(labels.plausibility_of(self.predict(X)), weights=sample_weight))

    def predict_set(self, X: Any, *, labels: bool = False) -> NDArray[np.bool_] | list[list[Any]]:
        """The set of classes that remain for each sample after the decision; never empty.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features), or UncertainTable
            Samples.
        labels : bool, default=False
            Whether to return the classes of each set instead of a matrix; only for one output.

        Returns
        -------
        chosen : bool ndarray of shape (n_samples, n_classes), or a list of one for each output
            With `labels`, a list of the classes of each sample's set.
        """
        predictor = self._predictor()
        chosen = predictor.sets(predictor.read(X, uncertain=True))
        if not labels:
            return chosen
        names = predictor.classes.tolist()
        return [[names[place] for place in np.flatnonzero(row)] for row in chosen]

    def predict_bounds(self, X: Any) -> Floats:
        """Lower and upper probability of each class (belief and plausibility).

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features), or UncertainTable
            Samples.

        Returns
        -------
        bounds : ndarray of shape (n_samples, n_classes, 2), or a list of one for each output
        """
        predictor = self._predictor()
        return predictor.bounds(predictor.read(X, uncertain=True))

    def predict_mass(self, X: Any, model: str = "idm", *, alpha: float = 0.05, ordinal: bool = False) -> Floats:
        """Masses over all subsets of the classes: the mean of the masses of the leaves reached.

        The rule is not used. Belief and plausibility of the result are the means of those of the leaves; with
        ``model="idm"`` those of single classes are the bounds of "average" before any map. An empty leaf is vacuous.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
            Samples.
        model : {"idm", "dabt", "multinomial"}, default="idm"
            How counts become a mass (`hedgerow.belief.mass_from_counts`). On the set of all classes, "idm" puts the
            caution, "dabt" (only for two classes) one row, "multinomial" what confidence intervals leave open.
        alpha : float, default=0.05
            Only for "multinomial": one minus the confidence level.
        ordinal : bool, default=False
            Only for "multinomial": whether the classes are ordered; then only runs of neighbours have mass.

        Returns
        -------
        mass : ndarray of shape (n_samples, 2**n_classes)
            ``mass[:, 5]`` is the mass of the first and third of ``classes_`` together. At most 16 classes.
        """
        predictor = self._predictor()
        return predictor.mass(predictor.read(X).codes, model, alpha, ordinal)

    def predict_frame(self, X: Any) -> Any:
        """Everything about each sample in a data frame, with the columns of ``hedgerow predict``.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        frame : data frame with n_samples rows
            ``label``, ``set`` (a list of classes), ``probability`` (of the label), ``lower_…`` and ``upper_…`` of each
            class, uncertainty by kind, and ``novelty``. It is a frame of polars if X is one or `set_output` asks for
            it, otherwise of pandas; the index is that of X. Only for one output.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from hedgerow import RandomForestClassifier
        >>> X, y = load_iris(return_X_y=True, as_frame=True)
        >>> forest = RandomForestClassifier(caution=2, random_state=0).fit(X[::2], y[::2])
        >>> forest.predict_frame(X[1::2]).loc[[51, 119], ["label", "set"]]
             label     set
        51       1     [1]
        119      1  [1, 2]
        """
        found = predictor_of(self).columns(X)
        return self._framed(X, [*found.typed(), *found.numbers()], found.names)

    def predict_uncertainty(self, X: Any) -> PredictionUncertainty:
        """Return the uncertainty of each sample by kind; entropies are uncalibrated.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        PredictionUncertainty
            ``total``, ``aleatoric``, ``epistemic``, ``conflict``, ``vacuity`` and others, (n_samples,) each; a data
            frame with these columns if `set_output` asks for one.
        """
        predictor = self._predictor()
        return self._as_requested(X, predictor.uncertainty(predictor.read(X)))  # type: ignore[no-any-return]

    def predict_variance(self, X: Any) -> SamplingVariance:
        """Return the variance of the probabilities (rule "average") over training tables.

        The variance of a forest of B trees is ρσ² + (1 − ρ)σ²/B, where σ² is the variance of one tree and ρ the
        correlation of two. Both are estimated by leaving out one training row after the other: the trees whose bags do
        not hold the row are a forest without it. Such a jackknife tends to overestimate the variance.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        VarianceOf
            ``forest``, ``tree`` (σ²), ``correlation`` (ρ), ``limit`` (ρσ²), (n_samples, n_classes) each; noisy unless
            there are about as many trees as training rows.
        """
        predictor = self._predictor()
        return predictor.variance(predictor.read(X).codes)

    def evidence(self, X: Any) -> Evidence:
        """The leaves that samples reach, with their counts; any rule can combine them.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        Evidence
            With ``leaves`` (n, T), ``counts`` (n, T, K) and ``combine(rule, caution=...)``.
        """
        predictor = self._predictor()
        return predictor.evidence(predictor.read(X).codes)

    def tune(self, metric: Any = "u65", param_grid: dict[str, Any] | None = None) -> Self:
        """Choose rule, caution or decision by their scores on out-of-bag evidence; no tree is grown again.

        Parameters
        ----------
        metric : str or callable, default="u65"
            A name of `hedgerow.metrics.scorer`, "accuracy", or a function ``metric(y, sets)``; larger is better.
        param_grid : dict of str to list, default={"caution": [0, 0.25, 0.5, 1, 1.5, 2, 3, 4, 5]}
            Values of ``rule``, ``caution`` and ``decision`` to try, in all combinations.

        Returns
        -------
        self
            The best combination is set as parameters, and ``tuning_`` is a list of (score, parameters), best first.
        """
        predictor = self._predictor()
        results = grid_scores(predictor, metric, {"caution": list(CAUTIONS)} if param_grid is None else param_grid)
        self.set_params(**results[0][1])
        return publish(self, replace(predictor.fitted, figures=replace(predictor.fitted.figures, tuning=results)))

    @property
    def oob_evidence_(self) -> Evidence:
        """Evidence about the training rows from trees whose bags do not hold them, without their own counts."""
        with or_not_there():
            return self._predictor().oob_evidence()

    @property
    def classes_(self) -> NDArray[Any]:
        """(n_classes,): the labels; with several outputs, a list with the labels of each output."""
        return self._predictor().classes

    @property
    def n_classes_(self) -> int:
        """Number of classes; with several outputs, a list of numbers."""
        known = self.classes_
        return [len(each) for each in known] if isinstance(known, list) else len(known)

    @property
    def criterion_(self) -> Criterion:
        """The criterion with which the trees were grown, with all its parameters chosen."""
        return fitted_of(self).criterion  # type: ignore[no-any-return]

    @property
    def caution_(self) -> float:
        """The caution that ``caution="auto"`` has chosen."""
        chosen = fitted_of(self).learned.last("caution")
        return float(figure(chosen, "caution_", "once caution='auto' has chosen one")[1])

    @property
    def tree_weights_(self) -> Floats:
        """(n_trees,): the tree weights that were learned on out-of-bag evidence."""
        learned = fitted_of(self).learned.last("weights")
        return figure(learned, "tree_weights_", "once a rule has learned weights")[1]  # type: ignore[no-any-return]

    @property
    def oob_decision_function_(self) -> Floats:
        """(n_samples, n_classes[, n_outputs]): out-of-bag probabilities; a list if numbers of classes differ."""
        fitted, why = fitted_of(self), "after a fit with oob_score"
        answers = [each.figures.oob_predictions for each in fitted.outputs or (fitted,)]
        found = [figure(each, "oob_decision_function_", why) for each in answers]
        return stacked(found, bool(fitted.outputs))  # type: ignore[no-any-return]

    @property
    def label_shares_(self) -> Floats:
        """(n_samples, n_classes): expected shares of the classes, if labels were uncertain."""
        shares = fitted_of(self).figures.label_shares
        return figure(shares, "label_shares_", "if labels were uncertain")  # type: ignore[no-any-return]

    @property
    def tuning_(self) -> list[tuple[float, dict[str, Any]]]:
        """The settings that `tune` has tried and their scores, best first."""
        return figure(fitted_of(self).figures.tuning, "tuning_", "after `tune`")  # type: ignore[no-any-return]

    if TYPE_CHECKING:  # with several outputs, the same in lists

        def _predictor(self, fitted: Fitted | None = None) -> ClassificationPredictor: ...
