"""Base class for predictors, and their cache."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from operator import itemgetter
from typing import Any, ClassVar, TypeVar

import numpy as np
from numpy.typing import NDArray

from hedgerow.forest.forest import Forest
from hedgerow.forest.grow import TrainingRows
from hedgerow.forest.rows import Bags
from hedgerow.inference.batch import Batch
from hedgerow.inference.fitted import Fitted, fitted_of, publish
from hedgerow.params.checks import parameters_of
from hedgerow.params.table import Params, TreeEstimator
from hedgerow.table import Table, check_table
from hedgerow.table.bins import Codebook, Codes, encode
from hedgerow.table.schema import TableLike, TargetLike
from hedgerow.util.runtime import reading_threads

_Predictor = TypeVar("_Predictor")


class Predictor:
    """A fit under given parameters.

    A predictor keeps no state of a call, so calls and threads share it; see `current_predictor`.

    Parameters
    ----------
    fitted : Fitted
        The fit.
    params : Params
        The parameters.
    estimator : type
        The class of the estimator, which scikit-learn names in its errors.
    """

    #: Prediction type: "classes", "numbers", "pairs" of classes, or "rows" for unsupervised trees.
    kind: ClassVar[str] = "rows"
    #: Whether the model predicts a target; unsupervised trees do not.
    predicts: ClassVar[bool] = False
    #: Whether opinions are sums over trees of leaf states under a rule.
    combines_leaves: ClassVar[bool] = False
    #: Whether probabilities are calibrated on out-of-bag rows.
    is_calibrated: bool = False
    #: Whether the predictor supports uncertain cells.
    takes_uncertain: bool = False

    def __init__(self, fitted: Fitted, params: Params, estimator: type[Any]) -> None:
        self.fitted, self.params, self.estimator = fitted, params, estimator
        self.n_jobs = params.n_jobs

    @property
    def forest(self) -> Forest:
        """The trees."""
        return self.fitted.forest

    @property
    def codebook(self) -> Codebook:
        """The meaning of the codes of the table."""
        return self.fitted.codebook

    @property
    def known_rows(self) -> TrainingRows | None:
        """Training rows, if predictions about them are available; otherwise None."""
        return self.fitted.rows

    @property
    def n_training_rows(self) -> int | None:
        """Number of rows passed to `fit`; None if trees were grown on different rows."""
        return None if self.fitted.fingerprint is None else self.fitted.fingerprint.n_rows

    @property
    def n_training_groups(self) -> int:
        """Number of groups passed to `fit`; 0 without groups, or if trees were grown on different rows."""
        return 0 if self.fitted.fingerprint is None else self.fitted.fingerprint.n_groups

    @property
    def classes(self) -> NDArray[np.generic]:
        """Classes (K,); empty if no classes are predicted."""
        return np.empty(0)

    def table(self, X: TableLike, *, uncertain: bool = False) -> Table:
        """Read samples as a table.

        Raise scikit-learn's errors if their columns do not match. An `UncertainTable` raises TypeError unless both the
        caller (`uncertain`) and the predictor support it.
        """
        table = check_table(lambda: publish(object.__new__(self.estimator), self.fitted), X, self.fitted.schema)
        if table.uncertain and not (uncertain and self.takes_uncertain):
            raise TypeError(
                "X must not have uncertain cells for this method, got UncertainTable. Use predict_bounds of a forest."
            )
        return table

    def read(self, X: TableLike, *, uncertain: bool = False, all_features: bool = False) -> Batch:
        """Read samples as a batch.

        Of wide tables, only features that trees use are encoded by default.
        """
        table, fitted = self.table(X, uncertain=uncertain), self.fitted
        threads, wanted = self.threads(table.n_rows), None if all_features else self.wanted_features
        codes = encode(table, fitted.bins, wanted=wanted, n_threads=threads)
        return Batch(codes, table.uncertain or None, table, fitted, threads)

    @property
    def wanted_features(self) -> NDArray[np.uint8] | None:
        """Mask (p,) of the features to encode, if the table is wide; None means all."""
        return self.fitted.wanted_features

    def klir_score(self, batch: Batch) -> NDArray[np.float64]:
        """Return non-specificity and discord of a mass on classes, (n,); raise if there are no classes."""
        raise ValueError(f"strategy must be 'margin' for {self.estimator.__name__}, got 'klir'.")

    def threads(self, n_rows: int) -> int:
        """Return the number of threads for this many rows, limited by `n_jobs`."""
        return reading_threads(self.n_jobs, n_rows)

    def many_threads(self, codes: Codes) -> int:
        """Return the number of threads for work on pairs of rows."""
        return self.threads(10 * codes.shape[1])

    def oob_rows(self, name: str = "oob_evidence_") -> TrainingRows:
        """Return the training rows; raise AttributeError if none are out-of-bag.

        `name` is that of the attribute or method in the error.
        """
        rows = self.fitted.oob_rows
        if rows is None:
            raise AttributeError(f"{name} requires out-of-bag rows. Refit in this process with bootstrap=True.")
        return rows

    def training_codes(self) -> Codes:
        """Return the codes (p, n) of the training rows.

        Raise ValueError if they have not been kept.
        """
        rows = self.known_rows
        if rows is None:
            raise ValueError(
                "This method requires the training rows, which the forest has not kept. Pass them, or refit in this"
                " process with bootstrap=True."
            )
        return rows.codes

    def training_groups(self) -> NDArray[np.generic]:
        """Return the group (n,) of each training row.

        Without classes, all rows are one group.
        """
        return np.zeros(self.training_codes().shape[1], dtype=np.int64)

    def groups(self, codes: Codes, y: TargetLike | None = None) -> NDArray[np.generic]:
        """Return the group (n,) of samples, given codes (p, n) and perhaps classes."""
        return np.zeros(codes.shape[1], dtype=np.int64)

    def bags(self) -> Bags:
        """Return the bootstrap samples.

        Raise ValueError if trees were grown on different rows.
        """
        drawn = self.fitted.fingerprint
        if drawn is None:
            raise ValueError("This method requires trees grown on the same rows. Fit all trees at once.")
        if self.fitted.rows is not None:
            return self.fitted.rows.bags
        if drawn.n_groups:
            raise ValueError(
                "This method requires the groups of the training rows, which a loaded or unpickled forest has not kept."
                " Fit again."
            )
        return Bags(self.fitted.seed, drawn.bag_mean, drawn.n_rows, leaf_counts=drawn.leaf_counts)

    def evaluate_oob(self, metric: Any) -> Fitted:
        """Return the fit with out-of-bag choices and metrics; `metric` is ``oob_score``."""
        return self.fitted

    def learn(self) -> None:
        """Make all choices on training rows that the current parameters need.

        By default none.
        """

    def for_file(self) -> Fitted:
        """Return the fit as pickles store it, without training rows."""
        return self.fitted.without_rows()


def predictor_of(model: object, wanted: str = "model must be a fitted estimator of hedgerow") -> Any:
    """Return the predictor of a single-output model under its parameters."""
    make = getattr(type(model), "_predictor", None)
    if make is None:
        raise TypeError(f"{wanted}, got {type(model).__name__}.")
    predictor = make(model)
    if predictor.kind == "several":
        raise ValueError(f"{wanted} of one output, got {len(predictor.outputs)} outputs. Use model.outputs_[i].")
    return predictor


def current_predictor(
    make: Callable[[Fitted, Params, type[Any]], _Predictor], model: TreeEstimator, fitted: Fitted | None = None
) -> _Predictor:
    """Return the predictor of the last or another fit under current parameters.

    That of the last fit is cached: resolving rule, calibrator, caution and decision takes a fifth of the time of a
    prediction for one row.
    """
    if fitted is not None:
        return make(fitted, Params.of(model), type(model))
    fitted, key = fitted_of(model), key_of(model)
    if key is None:
        return make(fitted.twin, Params.of(model), type(model))
    key = (type(model), fitted.version, *key)
    found: _Predictor | None = fitted.cache.peek(key)
    if found is None:
        found = make(fitted.twin, Params.of(model), type(model))
        fitted.cache.put(key, found)
    return found


def key_of(model: TreeEstimator) -> tuple[Any, ...] | None:
    """Return the parameters on which predictions depend, as the cache key of a predictor.

    None if one of them is an object, such as a rule, because its own parameters can change.
    """
    given = vars(model)
    kind: type = type(model)
    values = _keyed_of(kind)(given)
    features = given.get("immutable_features")
    if features is not None:
        if not isinstance(features, list | tuple):
            return None
        values += tuple(features)
    return values if _PLAIN.issuperset(map(type, values)) else None


#: Parameters on which predictors depend, in addition to ``immutable_features``.
_KEYED = ("rule", "caution", "decision", "calibration", "novelty", "n_jobs", "leaf_rows")


@lru_cache(maxsize=128)
def _keyed_of(kind: type) -> Callable[[Mapping[str, Any]], tuple[Any, ...]]:
    """Return a reader of the parameters on which predictors depend."""
    names = [name for name in _KEYED if name in parameters_of(kind)]
    return itemgetter(*names) if len(names) > 1 else lambda given: tuple(map(given.get, names))


#: Types of values that cannot change.
_PLAIN = frozenset((str, int, float, bool, type(None)))
