"""Tasks: the list of what a prediction type defines.

A prediction type is one package, ``hedgerow/tasks/<type>``. It has a task, made of the methods below, a target
(`hedgerow.forest.target.Target`) and a predictor (`hedgerow.inference.predictor.Predictor`). Fits, files, clusters and
predictions ask the task of an estimator, its class attribute ``_task``, and know no type by name.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar

from hedgerow.fit.grow import grow
from hedgerow.forest.forest import Forest
from hedgerow.forest.grow import GrowthParams
from hedgerow.forest.target import ReadTarget
from hedgerow.inference.fitted import Fitted
from hedgerow.inference.predictor import Predictor
from hedgerow.params.resolve import resolve_settings
from hedgerow.params.table import Params
from hedgerow.storage.values import Arrays, Once
from hedgerow.table import Schema

if TYPE_CHECKING:
    from hedgerow.fit.distributed import DistributedTarget
    from hedgerow.fit.run import FitRun


class Task(ABC):
    """A prediction type: its predictor and its files. `SupervisedTask` adds how it is fitted to y."""

    #: The name of the type, such as "classification".
    name: ClassVar[str]
    #: The keys in the JSON of a model file.
    file_keys: ClassVar[frozenset[str]]

    @abstractmethod
    def predictor(self, fitted: Fitted, params: Params, estimator: type) -> Predictor:
        """Return the predictor of a fit under parameters of an estimator of this class."""

    def predictor_of(self, fitted: Fitted, params: Params, estimator: type) -> Predictor:
        """Return the predictor of a fit of one output or of several."""
        task = self.for_outputs() if fitted.outputs else self
        return task.predictor(fitted, params, estimator)

    @abstractmethod
    def dump(self, model: Any) -> tuple[dict[str, Any], Arrays]:
        """A fitted estimator -> the JSON and the arrays of its file; names in the JSON are `file_keys`."""

    @abstractmethod
    def load(self, estimator: type, given: dict[str, Any], arrays: Arrays, once: Once | None = None) -> Any:
        """The inverse of `dump`: the class, JSON and arrays of a file -> the fitted estimator; everything is checked.

        Arrays that are used are removed from `arrays`. The outputs of a model of several share `once`.
        """

    def for_outputs(self) -> Task:
        """The task for y of several columns; the same if the type has one output, and so decides about y itself."""
        return self


class SupervisedTask(Task):
    """A prediction type that is fitted to y. It must define `read_y` and `oob_trace`; the rest has defaults.

    A fit calls `read_y`, `growth`, `prepare` and `grow`, in this order. Models are `Classification`, whose leaves are
    `ClassCounts`, and `Regression`, whose leaves are `LeafMoments`. `MultiOutput` makes a task of several outputs of a
    task of one.
    """

    #: Parameters that decide what leaves hold; forests must have the same to be merged.
    merge_params: ClassVar[tuple[str, ...]] = ("monotonic_cst",)
    #: Whether all trees are grown on the same rows and classes.
    one_table: ClassVar[bool] = True

    @abstractmethod
    def read_y(
        self, model: Any, y: Any, sample_weight: Any, n_rows: int, before: Fitted | None = None, classes: Any = None
    ) -> ReadTarget:
        """y and weights as given -> the target of the rows whose weight is above zero, and which rows these are.

        In a warm start, `before` is the fit to which trees are added. Declared `classes` need not all occur.
        """

    @abstractmethod
    def oob_trace(self, run: FitRun) -> Any:
        """A `Trace`, or an object like it, that follows the out-of-bag error while trees grow."""

    # ---- y -----------------------------------------------------------------------------------------

    def first_classes(self, classes: Any) -> Any:
        """The classes that the first call of `partial_fit` declares, checked; None if the type has none."""
        return None

    def read_more_y(
        self, model: Any, y: Any, sample_weight: Any, n_rows: int, before: Fitted, classes: Any = None
    ) -> ReadTarget:
        """The target of rows that `partial_fit` adds to a fit."""
        return self.read_y(model, y, sample_weight, n_rows)

    def weigh_column(self, y: Any, weights: Any, n_rows: int, class_weight: Any) -> Any:
        """Weights (n,) or None, times those that one of several columns of y gives to rows by its ``class_weight``."""
        return weights

    def read_column(self, model: Any, y: Any, weights: Any, n_rows: int, before: Fitted | None) -> ReadTarget:
        """The target of one of several columns of y; the weights are those of `weigh_column` for all columns."""
        return self.read_y(model, y, weights, n_rows, before)

    # ---- trees -------------------------------------------------------------------------------------

    def growth(self, model: Any, target: Any, schema: Schema) -> GrowthParams:
        """How trees are grown on these rows."""
        n_classes = target.for_core().n_classes
        return resolve_settings(model, target.n_rows, schema.n_features, schema.names, n_classes)

    def prepare(self, run: FitRun) -> FitRun:
        """A fit whose table is binned -> the same, with what the type must settle before trees grow."""
        return run

    def grow(self, run: FitRun) -> Forest:
        """The trees of a fit; those of an earlier fit come first."""
        return grow(run)

    # ---- out-of-bag rows -----------------------------------------------------------------------------

    def oob_error(self, forest: Forest, run: FitRun) -> float:
        """The out-of-bag error of a forest, for ``max_features="oob"``."""
        trace = self.oob_trace(run)
        trace.extend(forest, run.n_threads)
        return float(trace.errors[-1])

    # ---- clusters --------------------------------------------------------------------------------------

    def distributed(self, model: Any) -> DistributedTarget | None:
        """The target of a table on a cluster, before anything is read; None if the type is fitted on one machine."""
        return None
