"""Classification task."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from hedgerow.fit.run import FitRun
from hedgerow.fit.task import SupervisedTask
from hedgerow.forest.forest import Forest
from hedgerow.forest.grow import TrainingRows
from hedgerow.forest.target import ReadTarget
from hedgerow.inference.evidence import require_certain
from hedgerow.inference.fitted import Fitted
from hedgerow.inference.oob import Trace, ensemble_error
from hedgerow.labels import read_labels
from hedgerow.params.resolve import most_trees, resolve_max_features
from hedgerow.params.table import Params
from hedgerow.rules import Setting, resolve_rule
from hedgerow.storage.values import Arrays, Once
from hedgerow.table.bins import Codes
from hedgerow.tasks.classification.criterion import choose_lam
from hedgerow.tasks.classification.predictor import ClassificationPredictor
from hedgerow.tasks.classification.soft_labels import refine, settings_for_shares
from hedgerow.tasks.classification.storage import KEYS, classifier_from_contents, classifier_to_contents
from hedgerow.tasks.classification.target import (
    ClassLabels,
    declared_classes,
    first_classes,
    read_class_target,
    read_classes,
    weigh_rows,
)
from hedgerow.tasks.multioutput.task import MultiOutput

if TYPE_CHECKING:
    from hedgerow.tasks.classification.distributed import DistributedClasses


class Classification(SupervisedTask):
    """Classification with certain or uncertain labels."""

    name = "classification"
    file_keys = KEYS

    def read_y(
        self, model: Any, y: Any, sample_weight: Any, n_rows: int, before: Fitted | None = None, classes: Any = None
    ) -> ReadTarget:
        """Read labels and weights of rows with positive weight."""
        if model.warm_start and isinstance(model.class_weight, str):
            warnings.warn(
                f'class_weight preset "{model.class_weight}" is not recommended for warm_start: each fit computes its'
                " own weights. Compute them once with sklearn.utils.class_weight.compute_class_weight, and pass them.",
                stacklevel=2,
            )
        read = read_class_target(y, sample_weight, n_rows, class_weight=model.class_weight, declared=classes)
        return _with_same_classes(read, before)

    def first_classes(self, classes: Any) -> NDArray[Any]:
        """Return the classes declared in the first call of `partial_fit`."""
        return first_classes(classes)

    def read_more_y(
        self, model: Any, y: Any, sample_weight: Any, n_rows: int, before: Fitted, classes: Any = None
    ) -> ReadTarget:
        """Read labels of later rows; they must be known or declared classes."""
        if isinstance(model.class_weight, str):
            raise ValueError(
                f"class_weight must be None or a dict for partial_fit, got {model.class_weight!r}. Balanced weights"
                " depend on all rows."
            )
        if read_labels(y) is not None:
            raise ValueError("partial_fit does not support uncertain labels. Fit all rows together.")
        known = declared_classes(before.info.names, classes)
        return read_class_target(y, sample_weight, n_rows, class_weight=model.class_weight, declared=known)

    def weigh_column(self, y: Any, weights: Any, n_rows: int, class_weight: Any) -> Any:
        """Multiply row weights by the class weights of one output."""
        values = np.asarray(y)
        if values.dtype.kind == "f" and np.isfinite(values).all() and (values != np.floor(values)).any():
            raise ValueError(
                "y must have labels in each column of a multi-output target, got fractions. For plausibilities and"
                " masses, pass hedgerow.labels.from_plausibilities(y) or from_masses(y)."
            )
        classes, labels = read_classes(y, n_rows)
        return weigh_rows(labels, classes, weights, class_weight)

    def read_column(self, model: Any, y: Any, weights: Any, n_rows: int, before: Fitted | None) -> ReadTarget:
        """Read the labels of one output; weights include class weights."""
        return _with_same_classes(read_class_target(y, weights, n_rows), before)

    def for_outputs(self) -> SupervisedTask:
        """Return the task for multi-output y."""
        return MultiOutput(self)

    def prepare(self, run: FitRun) -> FitRun:
        """Refine uncertain labels, and resolve the criterion."""
        return self._with_criterion(_with_shares(run))

    def tables(self, rows: TrainingRows) -> Iterable[tuple[Codes, ClassLabels]]:
        """Return the codes (p, n) and labels on which trees are grown, per table."""
        return [(rows.codes, rows.target.for_core())]

    def oob_trace(self, run: FitRun) -> Trace:
        """Return a trace of the out-of-bag error under the rule."""
        rows = run.rows
        require_certain(rows.oob_mask.certain)
        return Trace(rows, *_rule_of(run))

    def oob_error(self, forest: Forest, run: FitRun) -> float:
        """Return the out-of-bag error rate."""
        rows = run.rows
        require_certain(rows.oob_mask.certain)
        return ensemble_error(forest, rows, *_rule_of(run), n_threads=run.n_threads)

    def predictor(self, fitted: Fitted, params: Params, estimator: type) -> ClassificationPredictor:
        """Return the predictor of classes."""
        return ClassificationPredictor(fitted, params, estimator)

    def dump(self, model: Any) -> tuple[dict[str, Any], Arrays]:
        """Return the JSON and arrays of a fitted classifier."""
        return classifier_to_contents(model)

    def load(self, estimator: type, given: dict[str, Any], arrays: Arrays, once: Once | None = None) -> Any:
        """Read a fitted classifier from JSON and arrays."""
        return classifier_from_contents(estimator, given, arrays, once, shape=self.tree_shape)

    def tree_shape(self, estimator: type, n_classes: int) -> tuple[int, int | None]:
        """Return the number of classes per leaf, and of trees (None means any)."""
        return n_classes, 1 if estimator._single_tree else None  # type: ignore[attr-defined]

    def distributed(self, model: Any) -> DistributedClasses | None:
        """Return the target on a cluster; imported late because only clusters need it."""
        from hedgerow.tasks.classification.distributed import DistributedClasses

        return DistributedClasses(model.class_weight)

    def _with_criterion(self, run: FitRun) -> FitRun:
        """Resolve the criterion; a warm start keeps the earlier choice."""
        settings, rows = run.settings, run.rows
        if settings.criterion.is_resolved:
            return run
        if run.before:
            return replace(run, settings=replace(settings, criterion=run.before.criterion))
        n_trees = most_trees(run.model) if self.one_table else 1
        n_features = settings.max_features or resolve_max_features("sqrt", rows.codes.shape[0])  # 0: not resolved yet
        tried = replace(settings, max_features=n_features)
        groups = rows.bags.groups if self.one_table else None
        criterion = choose_lam(self.tables(rows), run.bins, tried, n_trees, run.n_threads, groups)
        return replace(run, settings=replace(settings, criterion=criterion))


def _with_shares(run: FitRun) -> FitRun:
    """Return the fit with expected class shares in place of uncertain labels."""
    rows = run.rows
    if rows.target.known is None:
        return run
    settings = settings_for_shares(run.settings, rows.n_rows)
    if rows.target.shares is None:
        rounds = run.model.label_rounds
        shares = refine(rows.target.soft, rows.codes, run.bins, settings, rounds, run.n_threads, rows.bags.groups)
        rows = replace(rows, target=rows.target.with_shares(shares))
    figures = replace(run.figures, label_shares=rows.target.shares)
    return replace(run, rows=rows, settings=settings, figures=figures)


def _with_same_classes(read: ReadTarget, before: Fitted | None) -> ReadTarget:
    """Return the target; raise if a warm start has other classes."""
    if before is not None and not np.array_equal(read.target.classes, before.info.names):
        found = read.target.classes[:10]
        raise ValueError(f"y must have the classes of the first fit in a warm start, got {found}.")
    return read


def _rule_of(run: FitRun) -> tuple[Any, Setting]:
    """Return the rule and its setting before caution is resolved."""
    model, target = run.model, run.rows.target
    caution = 1.0 if isinstance(model.caution, str) else float(model.caution)
    return resolve_rule(model.rule), Setting.of(len(target.classes), caution, target.info.prior)
