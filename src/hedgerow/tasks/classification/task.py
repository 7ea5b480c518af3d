"""Class task: labels as given -> the steps of a fit that are special to classes."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow.fit.run import FitRun, Task
from hedgerow.forest.forest import Forest
from hedgerow.forest.grow import GrowthParams
from hedgerow.forest.target import ReadTarget
from hedgerow.inference.evidence import require_certain
from hedgerow.inference.fitted import Fitted
from hedgerow.inference.oob import Trace, ensemble_error
from hedgerow.labels import read_labels
from hedgerow.params.resolve import resolve_settings
from hedgerow.rules import Setting, resolve_rule
from hedgerow.table import Schema
from hedgerow.tasks.classification.target import (
    ClassificationTarget,
    declared_classes,
    first_classes,
    read_class_target,
    read_classes,
    weigh_rows,
)
from hedgerow.tasks.multioutput.task import MultiOutput


class Classification(Task):
    """The steps of a fit for classes: labels are read, a rule judges the forest, later rows may have new classes."""

    kind = "classes"

    def read_target(
        self, model: Any, y: Any, sample_weight: Any, n_rows: int, before: Fitted | None, declared: Any
    ) -> ReadTarget:
        """Labels and weights -> the target of the rows whose weight is above zero."""
        if model.warm_start and isinstance(model.class_weight, str):
            warnings.warn(
                f'class_weight preset "{model.class_weight}" is not recommended for warm_start: each fit has weights of'
                " its own. Compute them once with sklearn.utils.class_weight.compute_class_weight, and pass them.",
                stacklevel=2,
            )
        read = read_class_target(y, sample_weight, n_rows, class_weight=model.class_weight, declared=declared)
        return _with_same_classes(read, before)

    def read_column(self, model: Any, y: Any, weights: Any, n_rows: int, before: Fitted | None) -> ReadTarget:
        """The labels of one of several outputs; the weights of rows include those of classes."""
        read = read_class_target(y, weights, n_rows)
        return _with_same_classes(read, before)

    def weigh(self, y: Any, weights: Any, n_rows: int, class_weight: Any) -> Any:
        """Weights of rows (n,) or None, times the weights of their classes in one of several outputs."""
        values = np.asarray(y)
        if values.dtype.kind == "f" and np.isfinite(values).all() and (values != np.floor(values)).any():
            raise ValueError(
                "y must hold labels in each of several columns, got numbers; for plausibilities and masses, pass"
                " hedgerow.labels.from_plausibilities(y) or from_masses(y)"
            )
        classes, labels = read_classes(y, n_rows)
        return weigh_rows(labels, classes, weights, class_weight)

    def for_outputs(self) -> Task:
        """The task for y of several columns."""
        return MultiOutput(self)

    def settings(self, model: Any, target: ClassificationTarget, schema: Schema) -> GrowthParams:
        """How trees are grown on these rows."""
        return resolve_settings(model, target.n_rows, schema.n_features, schema.names, len(target.classes))

    def trace(self, run: FitRun) -> Trace:
        """An object that follows the out-of-bag error under the rule while trees grow."""
        rows = run.rows
        require_certain(rows.oob_mask.certain)
        return Trace(rows, *_asked(run))

    def oob_error(self, forest: Forest, run: FitRun) -> float:
        """The out-of-bag error of a forest: how often it is wrong about rows outside the bags."""
        rows = run.rows
        require_certain(rows.oob_mask.certain)
        return ensemble_error(forest, rows, *_asked(run), n_threads=run.n_threads)

    def first_classes(self, classes: Any) -> NDArray[Any]:
        """The classes that the first call of `partial_fit` declares."""
        return first_classes(classes)

    def read_later(
        self, model: Any, y: Any, sample_weight: Any, n_rows: int, before: Fitted, classes: Any
    ) -> ReadTarget:
        """Labels of later rows, which must be among the known classes and those declared now."""
        if isinstance(model.class_weight, str):
            raise ValueError(
                f"class_weight must be None or a dict for partial_fit, got {model.class_weight!r}, which depends on all"
                " rows; give the weights as numbers"
            )
        if read_labels(y) is not None:
            raise ValueError("y must be certain labels for partial_fit, got uncertain ones; fit all rows together")
        known = declared_classes(before.info.names, classes)
        return read_class_target(y, sample_weight, n_rows, class_weight=model.class_weight, declared=known)


def _with_same_classes(read: ReadTarget, before: Fitted | None) -> ReadTarget:
    """A target, refused in a warm start if its classes are not those of the first fit."""
    if before is not None and not np.array_equal(read.target.classes, before.info.names):
        found = read.target.classes[:10]
        raise ValueError(f"y must hold the classes of the first fit in a warm start, got {found}")
    return read


def _asked(run: FitRun) -> tuple[Any, Setting]:
    """The rule and its setting, before the fit has chosen a caution."""
    model, target = run.model, run.rows.target
    caution = 1.0 if isinstance(model.caution, str) else float(model.caution)
    return resolve_rule(model.rule), Setting.of(len(target.classes), caution, target.info.prior)
