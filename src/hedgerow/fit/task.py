"""Interface of prediction types.

A prediction type is one package, ``hedgerow/tasks/<type>``, with a task, a target (`hedgerow.forest.target.Target`) and
a predictor (`hedgerow.inference.predictor.Predictor`). Fits, files, clusters and predictions use the task of an
estimator, its class attribute ``_task``, and do not test for its type.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar

from numpy.typing import ArrayLike

from hedgerow.fit.run import grow
from hedgerow.forest.forest import Forest
from hedgerow.forest.grow import GrowthParams, TrainingRows
from hedgerow.forest.rows import Entries
from hedgerow.forest.target import ReadTarget
from hedgerow.inference.fitted import Fitted
from hedgerow.inference.predictor import Predictor
from hedgerow.params.resolve import resolve_settings
from hedgerow.params.table import Params, TreeEstimator
from hedgerow.storage.values import Arrays, Once
from hedgerow.table import Schema
from hedgerow.table.schema import TargetLike

if TYPE_CHECKING:
    from hedgerow.fit.distributed import DistributedTarget
    from hedgerow.fit.run import FitRun


class Task(ABC):
    """A prediction type: its predictor and its file state.

    `SupervisedTask` adds the fit to y.
    """

    #: Name of the type, such as "classification".
    name: ClassVar[str]
    #: Keys in the JSON of a model file.
    file_keys: ClassVar[frozenset[str]]

    @abstractmethod
    def predictor(self, fitted: Fitted, params: Params, estimator: type) -> Predictor:
        """Return the predictor of a fit under parameters of an estimator of this class."""

    def predictor_of(self, fitted: Fitted, params: Params, estimator: type) -> Predictor:
        """Return the predictor of a single-output or multi-output fit."""
        task = self.for_outputs() if fitted.outputs else self
        return task.predictor(fitted, params, estimator)

    @abstractmethod
    def dump(self, model: TreeEstimator) -> tuple[dict[str, Any], Arrays]:
        """Return the JSON and the arrays of the file of a fitted estimator.

        The keys of the JSON are `file_keys`.
        """

    @abstractmethod
    def load(self, estimator: type, given: dict[str, Any], arrays: Arrays, once: Once | None = None) -> Any:
        """Return the fitted estimator of a file, after checking its JSON and arrays.

        Arrays that are used are removed from `arrays`. The outputs of a multi-output model share `once`.
        """

    def for_outputs(self) -> Task:
        """Return the task for y of several columns.

        Return this task if the type reads all columns of y itself.
        """
        return self


class SupervisedTask(Task):
    """A prediction type that is fitted to y.

    It must define `read_y` and `oob_trace`; the other methods have defaults. A fit calls `read_y`, `growth`, `prepare`
    and `grow`, in this order. Examples are `Classification`, whose leaves are `ClassCounts`, and `Regression`, whose
    leaves are `LeafMoments`. `MultiOutput` wraps the task of a single output.
    """

    #: Parameters that determine the content of leaves; forests to be merged must have the same values.
    merge_params: ClassVar[tuple[str, ...]] = ("monotonic_cst",)
    #: Whether all trees are grown on the same rows and classes.
    one_table: ClassVar[bool] = True
    #: Whether cells of the training table may be uncertain.
    reads_cells: ClassVar[bool] = False

    @abstractmethod
    def read_y(
        self,
        model: TreeEstimator,
        y: TargetLike | None,
        sample_weight: ArrayLike | None,
        n_rows: int,
        before: Fitted | None = None,
        classes: ArrayLike | None = None,
    ) -> ReadTarget:
        """Return the target of the rows of weight above zero, and their numbers.

        In a warm start, `before` is the fit to which trees are added. Not all of the declared `classes` need to occur.
        """

    @abstractmethod
    def oob_trace(self, run: FitRun) -> Any:
        """Return a `Trace` or a similar object of the out-of-bag error during growth."""

    # ---- y -----------------------------------------------------------------------------------------

    def first_classes(self, classes: Any) -> Any:
        """Check and return the classes of the first call of `partial_fit`."""
        return None

    def read_more_y(
        self,
        model: TreeEstimator,
        y: TargetLike | None,
        sample_weight: ArrayLike | None,
        n_rows: int,
        before: Fitted,
        classes: ArrayLike | None = None,
    ) -> ReadTarget:
        """Read the target of rows that `partial_fit` adds to a fit."""
        return self.read_y(model, y, sample_weight, n_rows)

    def weigh_column(self, y: TargetLike | None, weights: Any, n_rows: int, class_weight: Any) -> Any:
        """Multiply weights (n,) or None by the ``class_weight`` of one column of y."""
        return weights

    def read_column(
        self, model: TreeEstimator, y: TargetLike | None, weights: Any, n_rows: int, before: Fitted | None
    ) -> ReadTarget:
        """Read the target of one column of a multi-output y.

        The weights are those of `weigh_column` for all columns.
        """
        return self.read_y(model, y, weights, n_rows, before)

    def with_entries(self, rows: TrainingRows, entries: Entries) -> TrainingRows:
        """Return training rows of which some have uncertain cells, if the task `reads_cells`."""
        raise NotImplementedError

    # ---- trees -------------------------------------------------------------------------------------

    def growth(self, model: TreeEstimator, target: Any, schema: Schema) -> GrowthParams:
        """Return the growth parameters for these rows."""
        n_classes = target.for_core().n_classes
        return resolve_settings(model, target.n_rows, schema.n_features, schema.names, n_classes)

    def prepare(self, run: FitRun) -> FitRun:
        """Make the choices of the type that precede growth."""
        return run

    def grow(self, run: FitRun) -> Forest:
        """Grow the trees of a fit after those of an earlier fit."""
        return grow(run)

    # ---- out-of-bag rows -----------------------------------------------------------------------------

    def oob_error(self, forest: Forest, run: FitRun) -> float:
        """Return the out-of-bag error of a forest, for ``max_features="oob"``."""
        trace = self.oob_trace(run)
        trace.extend(forest, run.n_threads)
        return float(trace.errors[-1])

    # ---- clusters --------------------------------------------------------------------------------------

    def distributed(self, model: TreeEstimator) -> DistributedTarget | None:
        """Return the target of a table on a cluster, before reading.

        Return None if clusters are not supported.
        """
        return None
