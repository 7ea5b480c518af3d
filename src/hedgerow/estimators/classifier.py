"""Base class for classifiers."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassifierMixin
from sklearn.utils.metaestimators import available_if

from hedgerow.criteria import Criterion
from hedgerow.decisions import Decision
from hedgerow.estimators.supervised import SupervisedTrees, leaves_are_sums
from hedgerow.estimators.trees import as_attribute_error, require_metric, stacked
from hedgerow.fit.groups import NOT_GIVEN, GroupsLike
from hedgerow.fit.incremental import partial_fit
from hedgerow.fit.run import fit, with_callbacks
from hedgerow.fit.task import SupervisedTask
from hedgerow.forest.target import columns_of
from hedgerow.inference.evidence import CAUTIONS, CredalUncertainty, Evidence, PredictionUncertainty
from hedgerow.inference.fitted import fitted_of, publish, update_fitted
from hedgerow.inference.predictor import predictor_of
from hedgerow.inference.variance import SamplingVariance
from hedgerow.labels import read_labels
from hedgerow.rules import Rule
from hedgerow.table.schema import Array, TableLike, TargetLike
from hedgerow.tasks.classification.costs import Costs
from hedgerow.tasks.classification.evaluation import grid_scores
from hedgerow.tasks.classification.target import labels_as_given
from hedgerow.tasks.classification.task import Classification
from hedgerow.tasks.multi_output import side_by_side
from hedgerow.util.disk import Path_

if TYPE_CHECKING:
    from hedgerow.inference.fitted import Fitted
    from hedgerow.tasks.classification.predictor import ClassificationPredictor

Floats = NDArray[np.float64]


class TreesClassifier(ClassifierMixin, SupervisedTrees):
    """Base class for tree and forest classifiers.

    `rule`, `caution` and `decision` can be changed on a fitted model; they do not change its trees.
    """

    _task: ClassVar[SupervisedTask] = Classification()

    rule: str | Rule
    decision: str | Decision

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
        """Grow the trees on a table and its labels.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features), or UncertainTable
            The training table: numbers, booleans, categories or text. NaN, None and null are missing values.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs), or UncertainLabels
            Labels, which may be uncertain (`hedgerow.labels`). With several columns, the same trees predict all
            outputs, and most methods return a list with one entry per output; see `outputs_`.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows. They change splits and class shares, but never the amount of evidence.
        groups : array-like of shape (n_samples,), str or None, optional
            Groups of rows that belong together, such as the visits of a patient: their labels, or the name of a column
            of X, which is then not a feature. A bootstrap sample contains all rows of a group or none, and
            ``max_samples`` counts groups. Trees evaluate a row out of bag only if they lack its whole group, so
            calibration, ``caution="auto"``, `Coverage`, `Risk` and scores apply to rows of new groups. With groups,
            ``leaf_counts="all"`` becomes "distinct", because leaves must not count the group of an out-of-bag row. The
            model does not keep the labels of groups. Without bootstrap, groups are ignored.
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
        self,
        X: TableLike,
        y: TargetLike,
        classes: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        *,
        groups: GroupsLike = NOT_GIVEN,
    ) -> Self:
        """Add the evidence of new rows to the leaves; splits do not change.

        The result does not depend on the number of calls that add the rows. New rows are numbered after the earlier
        ones and drawn into bootstrap samples in the same way: ``leaf_counts`` keeps its meaning, and new rows are
        out-of-bag evidence too.

        The first call on an unfitted forest fits it to these rows and requires `classes`. Later calls grow no trees
        (use `grow_more`), so pass many rows in the first call.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
            New rows, with the columns of the first table. New categories count as missing values.
        y : array-like of shape (n_samples,)
            Labels of the new rows.
        classes : array-like of shape (n_classes,), default=None
            All classes that may occur. Required in the first call; later calls may omit it or add classes.
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
            If ``monotonic_cst`` is set.
        ValueError
            If `groups` do not match the forest, or it is a multi-output model.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from hedgerow import RandomForestClassifier
        >>> X, y = load_iris(return_X_y=True)
        >>> forest = RandomForestClassifier(10, random_state=0).fit(X[::2], y[::2])
        >>> forest.partial_fit(X[1::2], y[1::2]).evidence(X[:1]).counts[0, 0]
        array([50.,  0.,  0.])
        """
        return update_fitted(self, partial(partial_fit, self, X, y, sample_weight, classes, groups=groups))

    def predict(self, X: TableLike, return_set: bool = False) -> Any:
        """Predict the most probable class of each sample.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features), or UncertainTable
            Samples.
        return_set : bool, default=False
            Whether to return prediction sets too, as `predict_set` does. A pipeline passes this parameter on.

        Returns
        -------
        y : ndarray of shape (n_samples,) or (n_samples, n_outputs)
            The classes.
        sets : bool ndarray of shape (n_samples, n_classes), or a list with one per output
            The prediction sets; only with ``return_set=True``.
        """
        predictor = self._predictor()
        batch = predictor.read(X, uncertain=True)
        return predictor.labels_and_sets(batch) if return_set else predictor.labels(batch)

    def predict_proba(self, X: TableLike) -> NDArray[np.float64]:
        """Predict the probability of each class.

        With ``calibration="oob"``, probabilities are calibrated on out-of-bag rows; ``calibration_.why`` is the reason
        if they are not. Uncalibrated probabilities of the rule "average" are the mean class shares of the leaves
        reached.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features), or UncertainTable
            Samples.

        Returns
        -------
        probability : ndarray of shape (n_samples, n_classes), or a list with one per output
            Rows sum to one. The columns are in the order of ``classes_``.
        """
        predictor = self._predictor()
        return predictor.probability(predictor.read(X, uncertain=True))

    def predict_log_proba(self, X: TableLike) -> NDArray[np.float64]:
        """Predict the logarithm of the probability of each class.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        log_probability : ndarray of shape (n_samples, n_classes), or a list with one per output
            Logarithm of `predict_proba`; minus infinity for a class of probability 0.
        """
        probability = self.predict_proba(X)
        with np.errstate(divide="ignore"):
            if isinstance(probability, list):
                return [np.log(each) for each in probability]
            return np.asarray(np.log(probability))

    def predict_confidence(self, X: TableLike) -> Floats:
        """Predict the probability that the class of `predict` is correct.

        It is calibrated only with ``calibration="oob"``. With `novelty`, the confidence in a novel sample shrinks from
        p to r · p + (1 − r) / K, where the discount factor r falls with the novelty p-value.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features), or UncertainTable
            Samples.

        Returns
        -------
        confidence : ndarray of shape (n_samples,), or a list with one per output
        """
        predictor = self._predictor()
        return predictor.confidence(predictor.read(X, uncertain=True))

    def score(self, X: TableLike, y: TargetLike, sample_weight: ArrayLike | None = None) -> float:
        """Return the accuracy of `predict`.

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
            Share of correct predictions. For multi-output models, all outputs of a sample must be correct; for
            uncertain labels, it is the mean plausibility of the predicted classes.
        """
        weights = None if sample_weight is None else np.asarray(sample_weight)
        if columns := columns_of(y):
            right = (side_by_side(columns) == self.predict(X)).all(axis=1)
            return float(np.average(right, weights=weights))
        if (labels := read_labels(y)) is None:
            return float(super().score(X, labels_as_given(y), sample_weight))
        return float(np.average(labels.plausibility_of(self.predict(X)), weights=weights))

    def predict_set(self, X: TableLike, *, labels: bool = False) -> NDArray[np.bool_] | list[list[Any]]:
        """Predict a set of classes for each sample by the decision rule.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features), or UncertainTable
            Samples.
        labels : bool, default=False
            Whether to return the classes of each set instead of a matrix; only for a single output.

        Returns
        -------
        sets : bool ndarray of shape (n_samples, n_classes), or a list with one per output
            True for the classes in the prediction set, which is never empty. With ``labels=True``, a list with the
            classes of each set.

        Raises
        ------
        ValueError
            If `labels` is True for a multi-output model.
        """
        predictor = self._predictor()
        chosen = predictor.sets(predictor.read(X, uncertain=True))
        if not labels:
            return chosen
        if isinstance(chosen, list):
            raise ValueError("labels=True does not support multi-output models. Use model.outputs_[i].")
        names = predictor.classes.tolist()
        return [[names[place] for place in np.flatnonzero(row)] for row in chosen]

    def predict_bounds(self, X: TableLike) -> Floats:
        """Predict lower and upper probabilities (belief and plausibility).

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features), or UncertainTable
            Samples.

        Returns
        -------
        bounds : ndarray of shape (n_samples, n_classes, 2), or a list with one per output
        """
        predictor = self._predictor()
        return predictor.bounds(predictor.read(X, uncertain=True))

    def predict_belief(self, X: TableLike, interval: tuple[float, float], *, weights: str = "equal") -> Floats:
        """Predict belief and plausibility that the probability of a class lies in an interval.

        The leaf of each tree gives an interval of the probability, from n_k / (n + s) to (n_k + s) / (n + s), where s
        is ``caution``; it is wider if labels are uncertain. Belief is the share of the trees whose intervals lie within
        the given one, plausibility of those whose intervals meet it [1]_. The combination rule and the calibrator are
        not used; out-of-support values do not widen the result.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
            Samples.
        interval : (float, float)
            Ends, which belong to the interval. With (0.5, 1) and two classes, it is the rule `Belief` up to ties.
        weights : {"equal", "size", "precision"}, default="equal"
            Weights of the trees, as in the rule `Belief`.

        Returns
        -------
        bounds : ndarray of shape (n_samples, n_classes, 2), or a list with one per output

        References
        ----------
        .. [1] H. Zhang, B. Quost, M.-H. Masson: Cautious random forests: a new decision strategy and some experiments.
           ISIPTA, 2021.

        Examples
        --------
        >>> from hedgerow import DecisionTreeClassifier
        >>> tree = DecisionTreeClassifier(caution=1).fit([[0], [0], [0], [1]], list("aaab"))
        >>> tree.predict_belief([[0]], (0.5, 0.9))[0]  # of a: from 3/4 to 1, of b: from 0 to 1/4
        array([[0., 1.],
               [0., 0.]])
        """
        predictor = self._predictor()
        return predictor.belief_between(predictor.read(X).codes, interval, weights)

    def predict_mass(self, X: TableLike, model: str = "idm", *, alpha: float = 0.05, ordinal: bool = False) -> Floats:
        """Predict a mass function over all subsets of the classes.

        It is the mean of the mass functions of the leaves reached; the combination rule is not used. Belief and
        plausibility are the means of those of the leaves. With ``model="idm"``, those of single classes are the
        uncalibrated lower and upper probabilities of the rule "average". An empty leaf is vacuous.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
            Samples.
        model : {"idm", "dabt", "multinomial"}, default="idm"
            Mass function of leaf counts; see `hedgerow.belief.mass_from_counts`. "idm" gives the set of all classes
            the weight of ``caution`` rows, "dabt" (two classes only) that of one row. "multinomial" uses simultaneous
            confidence intervals.
        alpha : float, default=0.05
            Only for "multinomial": one minus the confidence level.
        ordinal : bool, default=False
            Only for "multinomial": whether the classes are ordered. Then only sets of consecutive classes have mass.

        Returns
        -------
        mass : ndarray of shape (n_samples, 2**n_classes)
            The index of a set is its bit mask: ``mass[:, 5]`` is the mass of the first and third of ``classes_``.

        Raises
        ------
        ValueError
            If there are more than 16 classes.
        """
        predictor = self._predictor()
        return predictor.mass(predictor.read(X).codes, model, alpha, ordinal)

    def predict_frame(self, X: TableLike) -> Any:
        """Return all predictions as a data frame, as ``hedgerow predict`` does.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        frame : data frame with n_samples rows
            ``label``, ``set`` (a list of classes), ``probability`` (of the label), ``p_…``, ``lower_…`` and ``upper_…``
            of each class (probability and bounds), uncertainty by source, and ``novelty``. With a `decision` that has a
            utility, ``actions`` (a list) stands in place of ``set``. It is a polars frame if X is one or `set_output`
            requests it, otherwise a pandas frame with the index of X. Only for a single output.

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

    def predict_action(self, X: TableLike, costs: Any) -> Array:
        """Return the action with the lowest expected cost for each sample.

        Expected costs are those of the adjusted probabilities, which `novelty` and out-of-support values move
        towards equal probabilities. An action such as "look again" has costs like any other. To act on bounds instead,
        use a `decision` with a `utility`.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
            Samples.
        costs : mapping of str to costs, or pandas data frame
            Cost of each action if each class is true: a mapping from the name of each action to its costs, by class or
            in the order of ``classes_``, or a frame with a row for each class and a column for each action. Of equally
            cheap actions, the first is chosen.

        Returns
        -------
        actions : object array of shape (n_samples,)
            Names of the actions.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from hedgerow import RandomForestClassifier
        >>> X, y = load_iris(return_X_y=True)
        >>> forest = RandomForestClassifier(random_state=0).fit(X[::2], y[::2])
        >>> costs = {"keep": {0: 0, 1: 0, 2: 9}, "look again": {0: 1, 1: 1, 2: 1}, "remove": {0: 9, 1: 9, 2: 0}}
        >>> forest.predict_action(X[[1, 51, 119, 149]], costs).tolist()
        ['keep', 'keep', 'look again', 'remove']
        """
        predictor = predictor_of(self)
        table = Costs.of(costs, predictor.classes)
        best = table.cheapest(predictor.opinion(predictor.read(X)).probability)
        return np.array(table.actions, dtype=object)[best]

    @overload
    def predict_uncertainty(self, X: TableLike, measure: Literal["entropy"] = "entropy") -> PredictionUncertainty: ...
    @overload
    def predict_uncertainty(self, X: TableLike, measure: Literal["credal"]) -> CredalUncertainty: ...
    def predict_uncertainty(self, X: TableLike, measure: str = "entropy") -> PredictionUncertainty | CredalUncertainty:
        """Predict the uncertainty of each sample by source.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
            Samples.
        measure : {"entropy", "credal"}, default="entropy"
            "entropy" divides the entropy of the mean distribution. "credal" measures the distributions between the
            bounds, and those of the trees, as sets: largest and smallest entropy, their difference, and the
            generalised Hartley measure (Shaker and Hüllermeier, 2021); for at most ten classes.

        Returns
        -------
        PredictionUncertainty or CredalUncertainty
            ``total``, ``aleatoric``, ``epistemic``, ``conflict``, ``vacuity`` and others, (n_samples,) each; a data
            frame with these columns if `set_output` requests one. Entropies of "entropy" and of trees are uncalibrated.
        """
        predictor = self._predictor()
        if measure not in ("entropy", "credal"):
            raise ValueError(f"measure must be 'entropy' or 'credal', got {measure!r}.")
        uncertainty = predictor.uncertainty if measure == "entropy" else predictor.credal_uncertainty
        found: PredictionUncertainty | CredalUncertainty = self._as_requested(X, uncertainty(predictor.read(X)))
        return found

    def predict_variance(self, X: TableLike) -> SamplingVariance:
        """Estimate the variance of the probabilities over training sets.

        The variance of a forest of B trees is ρσ² + (1 − ρ)σ²/B, where σ² is the variance of one tree and ρ the
        correlation of two. Both are estimated by the jackknife after bootstrap: the trees for which a training row is
        out-of-bag are a forest grown without it. It tends to overestimate the variance. Probabilities are those of the
        rule "average", uncalibrated.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        SamplingVariance
            ``forest``, ``tree`` (σ²), ``correlation`` (ρ), ``limit`` (ρσ²), (n_samples, n_classes) each; noisy unless
            there are about as many trees as training rows.

        Raises
        ------
        AttributeError
            If the forest has no out-of-bag rows: it was fitted without bootstrap, loaded or merged.
        """
        predictor = self._predictor()
        return predictor.variance(predictor.read(X).codes)

    def evidence(self, X: TableLike) -> Evidence:
        """Return the leaves that samples reach, with their class counts.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        Evidence
            With ``leaves`` (n_samples, n_trees), ``counts`` (n_samples, n_trees, n_classes), and
            ``combine(rule, caution=...)``, which applies any combination rule.
        """
        predictor = self._predictor()
        return predictor.evidence(predictor.read(X).codes)

    def tune(self, metric: Any = "u65", param_grid: dict[str, Any] | None = None) -> Self:
        """Choose rule, caution or decision on out-of-bag rows, without refitting.

        Parameters
        ----------
        metric : str or callable, default="u65"
            "accuracy", a name that `hedgerow.metrics.scorer` accepts, or a function ``metric(y, sets)``; larger is
            better.
        param_grid : dict of str to list, default={"caution": [0, 0.25, 0.5, 1, 1.5, 2, 3, 4, 5]}
            Values of ``rule``, ``caution`` and ``decision`` to try, in all combinations.

        Returns
        -------
        self
            The best combination is set as parameters; ``tuning_`` is a list of (score, parameters), best first.
        """
        predictor = self._predictor()
        results = grid_scores(predictor, metric, {"caution": list(CAUTIONS)} if param_grid is None else param_grid)
        self.set_params(**results[0][1])
        return publish(self, replace(predictor.fitted, figures=replace(predictor.fitted.figures, tuning=results)))

    def calibrate(self, X: TableLike, y: TargetLike, *, groups: ArrayLike | None = None) -> Self:
        """Calibrate probabilities and decision on held-out rows instead of out-of-bag rows.

        Guarantees of `Coverage`, `Risk` and `Screening` are approximate on out-of-bag rows, the default. On held-out
        rows, which are drawn like future rows and not used in the fit, they are exact. With ``calibration="oob"``
        probabilities are calibrated on these rows too, for instance those of another hospital. If both are calibrated,
        one half of the rows, drawn at random, calibrates the probabilities, and the other the decision, because a
        guarantee does not hold for the rows that its probabilities were fitted to. Trees, caution and out-of-bag
        results do not change.

        Set the decision first: another rule or decision is calibrated out of bag, as after a fit. Model files and
        pickles keep the result. `grow_more` drops it, and so does `partial_fit`, unless the model was loaded.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
            Held-out rows.
        y : array-like of shape (n_samples,)
            Their classes.
        groups : array-like of shape (n_samples,) or None
            Groups of rows that belong together, such as the visits of a patient. The guarantee is then about rows of
            new groups. None means that rows are independent.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            If neither probabilities nor the decision can be calibrated, or there are fewer than five rows per class.
            The model does not change.

        Examples
        --------
        >>> from sklearn.datasets import load_breast_cancer
        >>> from hedgerow import RandomForestClassifier
        >>> from hedgerow.decisions import Coverage
        >>> X, y = load_breast_cancer(return_X_y=True)
        >>> forest = RandomForestClassifier(random_state=0, decision=Coverage(0.9)).fit(X[:250], y[:250])
        >>> forest.calibrate(X[250:450], y[250:450]).calibration_.n_rows
        100
        """
        return update_fitted(self, lambda _: predictor_of(self).calibrated_on(X, y, groups))

    @property
    def oob_evidence_(self) -> Evidence:
        """Out-of-bag evidence about the training rows, without their own counts."""
        with as_attribute_error():
            return self._predictor().oob_evidence()

    @property
    def classes_(self) -> Array:
        """Classes, of shape (n_classes,); for multi-output models, a list."""
        return self._predictor().classes

    @property
    def n_classes_(self) -> int:
        """Number of classes; for multi-output models, a list."""
        classes = self.classes_
        return [len(each) for each in classes] if isinstance(classes, list) else len(classes)

    @property
    def criterion_(self) -> Criterion:
        """Split criterion of the fit, with the parameters that it has chosen."""
        criterion: Criterion = fitted_of(self).criterion
        return criterion

    @property
    def caution_(self) -> float:
        """Caution that ``caution="auto"`` has chosen."""
        chosen = fitted_of(self).learned.last("caution")
        return float(require_metric(chosen, "caution_", "caution='auto'")[1])

    @property
    def tree_weights_(self) -> Floats:
        """Tree weights learned on out-of-bag rows, of shape (n_trees,)."""
        learned = fitted_of(self).learned.last("weights")
        weights: Floats = require_metric(learned, "tree_weights_", "a rule that learns tree weights")[1]
        return weights

    @property
    def oob_decision_function_(self) -> Floats:
        """Out-of-bag probabilities, of shape (n_samples, n_classes[, n_outputs]).

        A list with one array per output if their numbers of classes differ.
        """
        fitted = fitted_of(self)
        outputs = fitted.outputs or (fitted,)
        found = [
            require_metric(each.figures.oob_predictions, "oob_decision_function_", "oob_score=True") for each in outputs
        ]
        probability: Floats = stacked(found, bool(fitted.outputs))
        return probability

    @property
    def label_shares_(self) -> Floats:
        """Expected class shares of uncertain labels, (n_samples, n_classes)."""
        return require_metric(fitted_of(self).figures.label_shares, "label_shares_", "uncertain labels")

    @property
    def tuning_(self) -> list[tuple[float, dict[str, Any]]]:
        """Scores and parameters that `tune` has tried, best first."""
        tuning = fitted_of(self).figures.tuning
        if tuning is None:
            raise AttributeError("tuning_ requires a call of tune.")
        return tuning

    if TYPE_CHECKING:  # multi-output models return the same in lists

        def _predictor(self, fitted: Fitted | None = None) -> ClassificationPredictor: ...
