"""Survival forest: the public estimator for right-censored times."""

from __future__ import annotations

from functools import partial
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from hedgerow.estimators.supervised import SupervisedTrees
from hedgerow.fit.groups import NOT_GIVEN
from hedgerow.fit.incremental import partial_fit
from hedgerow.fit.progress import with_callbacks
from hedgerow.fit.run import fit
from hedgerow.fit.task import SupervisedTask
from hedgerow.inference.fitted import publish, update_fitted
from hedgerow.inference.predictor import predictor_of
from hedgerow.metrics.survival import harrell_c
from hedgerow.params.table import (
    REGRESSION,
    CategoricalFeatures,
    MaxFeatures,
    OobScore,
    RandomState,
    rows_of,
    with_parameters_described,
)
from hedgerow.tasks.survival.predictor import SurvivalPredictor
from hedgerow.tasks.survival.task import LOG_RANK, Survival

Floats = NDArray[np.float64]


@with_parameters_described
class RandomSurvivalForest(SupervisedTrees):
    """A random survival forest with lower and upper survival curves.

    Splits maximise the log-rank statistic. A leaf keeps the right-censored times of its rows on a grid of at most 255
    event times; its curve is the Kaplan–Meier estimate, and the curve of the forest is the mean over trees.

    Parameters
    ----------
    {parameters}

    Attributes
    ----------
    event_times_ : ndarray of shape (n_times,)
        Grid of times: the distinct event times of the training rows, or their quantiles.
    n_features_in_, feature_names_in_, trees_, forest_, feature_importances_
        As in `RandomForestRegressor`.
    oob_score_ : float
        Harrell's concordance index on out-of-bag rows, with ``oob_score=True``.

    References
    ----------
    H. Ishwaran et al.: Random survival forests. Annals of Applied Statistics 2, 2008. F. Mangili et al.: Reliable
    survival analysis based on the Dirichlet process. Biometrical Journal 57, 2015.

    Examples
    --------
    >>> import numpy as np
    >>> from hedgerow import RandomSurvivalForest
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(300, 2))
    >>> time, end = rng.exponential(np.exp(X[:, 0])), rng.exponential(3.0, 300)
    >>> y = np.column_stack([np.minimum(time, end), time <= end])
    >>> forest = RandomSurvivalForest(20, random_state=0).fit(X, y)
    >>> low, high = forest.predict_survival_function([[-2.0, 0.0], [2.0, 0.0]], times=[1.0])[:, 0]
    >>> bool(low < high)
    True
    """

    _task: ClassVar[SupervisedTask] = Survival()
    _parameters = rows_of(
        "n_estimators",
        "caution",
        "max_depth",
        "min_samples_split",
        "min_samples_leaf",
        "max_features",
        "max_leaf_nodes",
        "bootstrap",
        "max_samples",
        "oob_score",
        "unseen",
        "categorical_features",
        "max_bins",
        "leaf_counts",
        "warm_start",
        "n_jobs",
        "random_state",
        "verbose",
        variants={name: REGRESSION[name] for name in ("caution", "oob_score")},
    )
    criterion = LOG_RANK

    def __init__(
        self,
        n_estimators: int | str = 100,
        *,
        caution: float = 1.0,
        max_depth: int | None = None,
        min_samples_split: int | float = 2,
        min_samples_leaf: int | float = 15,
        max_features: MaxFeatures = "sqrt",
        max_leaf_nodes: int | None = None,
        bootstrap: bool | str = True,
        max_samples: int | float | None = None,
        oob_score: OobScore = False,
        unseen: str = "shares",
        categorical_features: CategoricalFeatures = "from_dtype",
        max_bins: int | str | None = "auto",
        leaf_counts: str = "all",
        warm_start: bool = False,
        n_jobs: int | None = None,
        random_state: RandomState = None,
        verbose: int = 0,
    ) -> None:
        self.n_estimators = n_estimators
        self.caution = caution
        self.max_depth = max_depth
        self.min_samples_split = min_samples_split
        self.min_samples_leaf = min_samples_leaf
        self.max_features = max_features
        self.max_leaf_nodes = max_leaf_nodes
        self.bootstrap = bootstrap
        self.max_samples = max_samples
        self.oob_score = oob_score
        self.unseen = unseen
        self.categorical_features = categorical_features
        self.max_bins = max_bins
        self.leaf_counts = leaf_counts
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    @with_callbacks
    def fit(
        self, X: Any, y: Any, sample_weight: Any = None, *, groups: Any = NOT_GIVEN, checkpoint: Any = None
    ) -> Self:
        """Grow the trees on a table, times and events.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
            The training table.
        y : structured array, data frame or array of shape (n_samples, 2), or pair of arrays
            Time of each row, and whether its event was observed or the time is censored. A boolean column is the event;
            without one, the first column is the time. Arrays of scikit-survival's ``Surv`` are accepted.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows.
        groups : array-like of shape (n_samples,), str or None, optional
            Groups of rows that belong together; see `RandomForestRegressor.fit`.
        checkpoint : str or path, default=None
            Folder in which trees are stored during the fit; see `RandomForestRegressor.fit`.

        Returns
        -------
        self
        """
        return publish(self, fit(self, X, y, sample_weight, checkpoint=checkpoint, groups=groups))

    @with_callbacks
    def partial_fit(self, X: Any, y: Any, sample_weight: Any = None, *, groups: Any = NOT_GIVEN) -> Self:
        """Add the evidence of new rows to the leaves, on the grid of the first fit.

        Parameters
        ----------
        X, y, sample_weight
            As in `fit`.
        groups : array-like of shape (n_samples,), str or None, optional
            Groups of the new rows; see `RandomForestRegressor.partial_fit`.

        Returns
        -------
        self
        """
        return update_fitted(self, partial(partial_fit, self, X, y, sample_weight, None, groups=groups))

    def predict(self, X: Any) -> Floats:
        """Predict the risk of each sample; higher risk means earlier events.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        risk : ndarray of shape (n_samples,)
            Cumulative hazard, summed over the event times.
        """
        predictor: SurvivalPredictor = predictor_of(self)
        return predictor.risk(predictor.read(X))

    def predict_survival_function(self, X: Any, times: Any = None) -> Floats:
        """Predict the probability of survival at each time.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
            Samples.
        times : array-like of shape (n_times,), default=None
            Times up to the last event time of the training rows; None means ``event_times_``.

        Returns
        -------
        survival : ndarray of shape (n_samples, n_times)
        """
        predictor: SurvivalPredictor = predictor_of(self)
        return predictor.at(predictor.curves(predictor.read(X)), self._times(times))

    def predict_cumulative_hazard_function(self, X: Any, times: Any = None) -> Floats:
        """Predict the cumulative hazard at each time.

        Parameters
        ----------
        X, times
            As in `predict_survival_function`.

        Returns
        -------
        hazard : ndarray of shape (n_samples, n_times)
        """
        predictor: SurvivalPredictor = predictor_of(self)
        return predictor.at(predictor.hazards(predictor.read(X)), self._times(times))

    def predict_bounds(self, X: Any, times: Any = None) -> Floats:
        """Predict lower and upper probabilities of survival at each time.

        They are means over trees; each leaf has an imprecise Dirichlet process with pseudo-count ``caution``.

        Parameters
        ----------
        X, times
            As in `predict_survival_function`.

        Returns
        -------
        bounds : ndarray of shape (n_samples, n_times, 2)
        """
        predictor: SurvivalPredictor = predictor_of(self)
        return predictor.at(predictor.bounds(predictor.read(X)), self._times(times))

    def score(self, X: Any, y: Any) -> float:
        """Return Harrell's concordance index of the predicted risks.

        Parameters
        ----------
        X, y
            As in `fit`.

        Returns
        -------
        score : float
        """
        return harrell_c(y, self.predict(X))

    @property
    def event_times_(self) -> Floats:
        """Grid of event times, of shape (n_times,)."""
        predictor: SurvivalPredictor = predictor_of(self)
        return predictor.info.times

    def _times(self, times: Any) -> Any:
        return self.event_times_ if times is None else times
