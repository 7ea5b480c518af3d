"""Base class of predictors: a fit and the parameters under which it predicts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, TypeVar

import numpy as np
from numpy.typing import NDArray

from hedgerow.forest.forest import Forest
from hedgerow.forest.rows import Bags
from hedgerow.forest.training import TrainingRows
from hedgerow.inference.batch import Batch
from hedgerow.inference.fitted import Fitted, fitted_of, publish
from hedgerow.params.table import Params, key_of
from hedgerow.table import Table, check_table
from hedgerow.table.bins import Codes, encode
from hedgerow.table.codebook import Codebook
from hedgerow.util.threads import reading_threads

_Predictor = TypeVar("_Predictor")


class Predictor:
    """A fit under the parameters that an estimator has at one moment.

    A predictor has no state of a call, so calls and threads share it: see `current_predictor`.

    Parameters
    ----------
    fitted : Fitted
        The fit.
    params : Params
        The parameters.
    estimator : type
        The class of the estimator, which scikit-learn names in its errors.
    """

    #: The predictions: "classes", "numbers", "pairs" of classes, or only which "rows" are alike.
    kind: ClassVar[str] = "rows"
    #: Whether something is predicted; trees without labels only say which rows are alike.
    predicts: ClassVar[bool] = False
    #: Whether opinions are sums over trees of the states of leaves under a rule.
    combines_leaves: ClassVar[bool] = False
    #: Whether probabilities are calibrated on out-of-bag rows.
    is_calibrated: bool = False
    #: Whether cells may be uncertain, for the questions that allow it.
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
        """The training rows, if questions about them can be answered; otherwise None."""
        return self.fitted.rows

    @property
    def n_training_rows(self) -> int | None:
        """The number of training rows that were given; None if trees were grown on different rows."""
        return None if self.fitted.fingerprint is None else self.fitted.fingerprint.n_rows

    @property
    def classes(self) -> NDArray[Any]:
        """(K,): the labels; none if no classes are predicted."""
        return np.empty(0)

    def table(self, X: Any, *, uncertain: bool = False) -> Table:
        """Samples -> their columns; refused, in scikit-learn's words, if these do not match.

        An `UncertainTable` is refused unless the question and these answers allow `uncertain` cells.
        """
        table = check_table(lambda: publish(object.__new__(self.estimator), self.fitted), X, self.fitted.schema)
        if table.uncertain and not (uncertain and self.takes_uncertain):
            raise TypeError(
                "X must be certain for this question, got an UncertainTable; predict_bounds of a forest takes it"
            )
        return table

    def read(self, X: Any, *, uncertain: bool = False, all_features: bool = False) -> Batch:
        """Samples -> a batch; if the table is wide, only features that some tree uses are encoded, or all."""
        table, fitted = self.table(X, uncertain=uncertain), self.fitted
        threads, wanted = self.threads(table.n_rows), None if all_features else self.wanted_features
        codes = encode(table, fitted.bins, wanted=wanted, n_threads=threads)
        return Batch(codes, table.uncertain or None, table, fitted, threads)

    @property
    def wanted_features(self) -> NDArray[np.uint8] | None:
        """(p,): which features are encoded, if the table is wide; None means all."""
        return self.fitted.wanted_features

    def threads(self, n_rows: int) -> int:
        """The number of threads for so many rows, at most what `n_jobs` allows."""
        return reading_threads(self.n_jobs, n_rows)

    def many_threads(self, codes: Codes) -> int:
        """The number of threads for work on pairs of rows, which costs more than work on rows."""
        return self.threads(10 * codes.shape[1])

    def oob_rows(self, name: str = "oob_evidence_") -> TrainingRows:
        """Return the training rows, if some are out-of-bag; otherwise an error names what needs them."""
        rows = self.fitted.oob_rows
        if rows is None:
            raise AttributeError(
                f"{name} must be asked of a forest fitted here with bootstrap=True, got one without a bootstrap,"
                " unpickled or loaded, or warm-started on other rows or bags; fit it again"
            )
        return rows

    def training_codes(self) -> Codes:
        """(p, n) codes of the training rows; refused if they have not been kept."""
        rows = self.known_rows
        if rows is None:
            raise ValueError(
                "the training rows must be passed to a forest that has not kept them, got none: it is without a"
                " bootstrap, unpickled, loaded, or warm-started on other rows; pass them, or fit again"
            )
        return rows.codes

    def training_groups(self) -> NDArray[Any]:
        """(n,): the group of each training row; one group of all rows if there are no classes."""
        return np.zeros(self.training_codes().shape[1], dtype=np.int64)

    def groups(self, codes: Codes, y: Any = None) -> NDArray[Any]:
        """Codes (p, n), perhaps classes (n,) -> (n,): the group of training rows to which each sample belongs."""
        return np.zeros(codes.shape[1], dtype=np.int64)

    def bags(self) -> Bags:
        """How bags were drawn; refused if trees were grown on different rows."""
        drawn = self.fitted.fingerprint
        if drawn is None:
            raise ValueError("the trees must be grown on the same rows, got a forest warm-started on others; fit again")
        if self.fitted.rows is not None:
            return self.fitted.rows.bags
        if drawn.n_groups:
            raise ValueError(
                "bags of groups require the training rows, which a loaded or unpickled forest has not kept. Fit again."
            )
        return Bags(self.fitted.seed, drawn.bag_mean, drawn.n_rows, leaf_counts=drawn.leaf_counts)

    def evaluate_oob(self, metric: Any) -> Fitted:
        """Return the fit with what it learns and reports on out-of-bag rows; `metric` is ``oob_score``."""
        return self.fitted

    def learn(self) -> None:
        """Choose now what the current parameters need from training rows; by default nothing."""

    def for_file(self) -> Fitted:
        """The fit without its training rows, as a pickle stores it."""
        return self.fitted.without_rows()


def predictor_of(model: Any, wanted: str = "model must be a fitted estimator of hedgerow") -> Any:
    """Return the predictor of a fitted tree or forest of one output, under its current parameters."""
    make = getattr(type(model), "_predictor", None)
    if make is None:
        raise TypeError(f"{wanted}, got {type(model).__name__}")
    predictor = make(model)
    if predictor.kind == "several":
        raise ValueError(f"{wanted} of one output, got one of {len(predictor.outputs)}; pass one of its `outputs_`")
    return predictor


def current_predictor(
    make: Callable[[Fitted, Params, type[Any]], _Predictor], model: Any, fitted: Fitted | None = None
) -> _Predictor:
    """Return the predictor of an estimator under its current parameters, of its last fit or another one.

    That of the last fit is kept: for one row, to resolve rule, calibrator, caution and decision anew would take a fifth
    of the time of a prediction.
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
