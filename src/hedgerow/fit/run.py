"""Run: an estimator, a table and a target -> `Fitted`."""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from functools import partial
from types import SimpleNamespace
from typing import Any, ClassVar

from hedgerow.fit.checkpoint import Checkpoint
from hedgerow.fit.progress import batches, has_callbacks, progress_bar, progress_from
from hedgerow.fit.search import choose_lam, feature_numbers
from hedgerow.fit.soft_labels import refine, settings_for_shares
from hedgerow.forest.forest import Forest, join_forests
from hedgerow.forest.grow import GrowthParams, grow_forest
from hedgerow.forest.impurity import impurities_of
from hedgerow.forest.prune import prune_by_rows
from hedgerow.forest.rows import Provenance
from hedgerow.forest.target import columns_of
from hedgerow.forest.training import Fingerprint, TrainingRows
from hedgerow.forest.unseen import unseen_of, unseen_of_all
from hedgerow.inference.fitted import FitMetrics, Fitted, publish
from hedgerow.inference.oob import is_flat, stages, warn_of_unjudged
from hedgerow.params.checks import check_n_rows, check_parameters
from hedgerow.params.resolve import TO_BE_CHOSEN, how_to_bin, most_trees, resolve_max_features
from hedgerow.table import Schema, Table, read_table, read_training_table
from hedgerow.table.binned import BinnedTable, bins_and_codes
from hedgerow.table.bins import Bins, Codes
from hedgerow.util.threads import thread_count

#: Number of trees of each forest that ``max_features="oob"`` tries.
PILOT_TREES = 50


@dataclass(frozen=True, eq=False)
class FitRun:
    """A fit in progress: everything except its trees.

    Parameters
    ----------
    model : estimator
        The estimator whose parameters are used. It is not changed.
    rows, schema, bins : TrainingRows, Schema, Bins
        The binned training rows and the meaning of their codes.
    settings : GrowthParams
        How trees are grown.
    fingerprint : Fingerprint or None
        The fingerprint of the rows and bags of all trees; None if those of an earlier fit differ.
    before : Fitted or None
        The fit to which this one adds trees.
    given : (X, y)
        X and y as the user passed them, for callbacks.
    task : Task
        The steps of a fit that depend on the target; None for trees without labels.
    n_trees : int or None
        The number of trees, including those of `before`; None means what the parameters say.
    checkpoint : Checkpoint or None
        Where trees are stored while the fit runs.
    figures : Figures
        The figures so far.
    """

    model: Any
    rows: TrainingRows
    schema: Schema
    bins: Bins
    settings: GrowthParams
    fingerprint: Fingerprint | None
    before: Fitted | None
    given: tuple[Any, Any]
    task: Any = None
    n_trees: int | None = None
    checkpoint: Checkpoint | None = None
    figures: FitMetrics = field(default_factory=FitMetrics)

    @property
    def there(self) -> int:
        """The number of trees of the earlier fit."""
        return 0 if self.before is None else self.before.forest.n_trees

    @property
    def n_threads(self) -> int:
        """The number of threads that grow trees."""
        return thread_count(self.model.n_jobs)

    def published(self, forest: Forest) -> Fitted:
        """The trees -> `Fitted`, before it is judged on out-of-bag rows."""
        rows_known = self.fingerprint is not None
        rows = self.rows if rows_known and self.model._keeps_training_rows else None
        unseen = unseen_of(self.rows.codes, self.model.unseen)
        if self.before:
            unseen = unseen_of_all([self.before.forest.structure.unseen, unseen])
        fitted = Fitted(
            schema=self.schema,
            bins=self.bins,
            info=self.rows.target.info,
            forest=forest.with_unseen(unseen),
            criterion=self.settings.criterion,
            seed=self.settings.seed,
            fingerprint=self.fingerprint,
            origins=_origins_after(self, forest) if self.model._incremental else (),
            rows=rows,
            figures=self.figures,
        )
        if rows_known and (known := impurities_of(forest, self.rows, fitted.criterion, self.n_threads)) is not None:
            fitted.learned.put("impurities", None, known)
        return fitted.with_outputs()


class Task(ABC):
    """The steps of a fit that depend on what is predicted; implemented by `Classification` and `Regression`."""

    #: What is to be predicted: "classes" or "numbers".
    kind: ClassVar[str]
    #: Parameters that decide what leaves hold; forests must have the same to be merged.
    same_when_merged: ClassVar[tuple[str, ...]] = ("monotonic_cst",)
    #: Whether all trees have the same classes and rows.
    one_table: ClassVar[bool] = True

    @abstractmethod
    def read_target(
        self, model: Any, y: Any, sample_weight: Any, n_rows: int, before: Fitted | None, declared: Any
    ) -> Any:
        """y and weights as given -> the target of the rows whose weight is above zero, and which rows these are."""

    def read_column(self, model: Any, y: Any, weights: Any, n_rows: int, before: Fitted | None) -> Any:
        """The same for one of several outputs; the weights of rows include those of classes."""
        raise NotImplementedError(f"{type(self).__name__} is of one output")

    def weigh(self, y: Any, weights: Any, n_rows: int, class_weight: Any) -> Any:
        """Weights of rows (n,) or None, times the weights of their classes in one of several outputs."""
        return weights

    def for_outputs(self) -> Task:
        """The task for y of several columns; a task that has only one output refuses it like other wrong labels."""
        return self

    @abstractmethod
    def settings(self, model: Any, target: Any, schema: Schema) -> GrowthParams:
        """How trees are grown on these rows."""

    def tables(self, rows: TrainingRows) -> Iterable[tuple[Codes, Any]]:
        """Training rows -> the codes (p, n) and labels that trees are grown on; several if trees have other classes."""
        return [(rows.codes, rows.target.for_core())]

    def grow(self, run: FitRun) -> Forest:
        """Training rows -> the trees; those of an earlier fit come first."""
        return grow(run)

    @abstractmethod
    def trace(self, run: FitRun) -> Any:
        """An object that follows the out-of-bag error while trees grow."""

    @abstractmethod
    def oob_error(self, forest: Forest, run: FitRun) -> float:
        """The out-of-bag error of a forest."""

    @abstractmethod
    def first_classes(self, classes: Any) -> Any:
        """The classes that the first call of `partial_fit` declares; None in a regression."""

    @abstractmethod
    def read_later(self, model: Any, y: Any, sample_weight: Any, n_rows: int, before: Fitted, classes: Any) -> Any:
        """The target of later rows."""


def fit(
    model: Any, X: Any, y: Any, sample_weight: Any = None, *, checkpoint: Any = None, classes: Any = None
) -> Fitted:
    """Read the table, bin it, settle the parameters, grow trees and judge them. Declared classes need not all occur."""
    check_parameters(model)
    saved = None if checkpoint is None else Checkpoint(checkpoint)
    before = _earlier(model)
    table = read_rows(model, X, before)
    task = _task_for(model, y, before)
    target, kept = task.read_target(model, y, sample_weight, table.n_rows, before, classes)
    settings = task.settings(model, target, table.schema)
    if before:  # so that all trees are as if they had been grown in one fit
        settings = replace(settings, seed=before.seed)
    if saved:
        settings = replace(settings, seed=saved.seed(model.random_state, settings.seed))
    check_constraints(settings, table.schema)
    n_threads = thread_count(model.n_jobs)
    known = before.bins if before else None
    bins, codes = bins_and_codes(table, known, rows=kept, **how_to_bin(model), n_threads=n_threads)
    rows = TrainingRows.of(codes, kept, target, settings)
    rows, settings = with_shares(model, rows, bins, settings)
    fingerprint = _shared_fingerprint(model, rows, before)
    run = FitRun(model, rows, table.schema, bins, settings, fingerprint, before, (X, y), task, checkpoint=saved)
    return finish(run)


def finish(run: FitRun) -> Fitted:
    """Binned rows -> a fitted forest: choose what is open, grow trees, judge them on out-of-bag rows."""
    run = _choose_features(_settle_criterion(run))
    run = replace(run, figures=replace(run.figures, label_shares=run.rows.target.shares))
    forest: Forest = run.task.grow(run)
    return judged(run.model, run.published(forest))


def judged(model: Any, fitted: Fitted) -> Fitted:
    """A fit -> the same, with what it learns and reports on out-of-bag rows; a warning if some rows have no judge."""
    if model.oob_score:
        warn_of_unjudged(fitted.rows, fitted.forest.n_trees)
    return model._predictor(fitted).evaluate_oob(model.oob_score)  # type: ignore[no-any-return]


def grow(run: FitRun, kept: Callable[[Forest], Forest] = lambda forest: forest) -> Forest:
    """The trees; those of an earlier fit come first. `kept` says what of the new trees is kept."""
    model, before, there = run.model, run.before, run.there
    wanted = run.n_trees or most_trees(model)
    if wanted < there:
        raise ValueError(f"n_estimators must be at least the {there} of the first fit in a warm start, got {wanted}")
    if wanted == there and before:
        warnings.warn("Warm-start fitting without increasing n_estimators does not fit new trees.", stacklevel=2)
        return before.forest
    make: Callable[..., Forest] = partial(grow_pruned, run)
    if run.checkpoint:
        made_of = (run.rows.target.for_core(), run.rows.codes, run.bins, run.settings, model.ccp_alpha)
        make = run.checkpoint.around(make, type(model).__name__, *made_of, n_threads=run.n_threads)
    open_ended = not model._single_tree and isinstance(model.n_estimators, str) and not run.n_trees
    watch = _watch(run) if open_ended else None
    if has_callbacks(model):
        spans = list(stages()) if watch else batches(there, wanted, run.n_threads)
        forest = _grow_with_callbacks(run, make, spans, watch)
    else:
        with progress_bar(model.verbose, wanted - there) as progress:
            if watch:
                forest = _grow_until_flat(make, watch, progress)
            else:
                forest = make(first_tree=there, n_trees=wanted - there, progress=progress)
    return join_forests(before.forest, kept(forest)) if before else kept(forest)


def grow_pruned(run: FitRun, **which: Any) -> Forest:
    """Some of the trees, without the branches that ``ccp_alpha`` cuts."""
    rows, settings = run.rows, run.settings
    labels = rows.target.for_core()
    forest = grow_forest(rows.codes, run.bins, labels, settings, n_threads=run.n_threads, **which)
    first, alpha = which.get("first_tree", 0), run.model.ccp_alpha
    return prune_by_rows(forest, rows, settings.criterion, alpha, first, run.n_threads)


def with_shares(
    model: Any, rows: TrainingRows, bins: Bins, settings: GrowthParams
) -> tuple[TrainingRows, GrowthParams]:
    """Give rows of uncertain class expected shares of the classes, and with them labels on which trees are grown."""
    if rows.target.known is None:
        return rows, settings
    settings = settings_for_shares(settings, rows.n_rows)
    n_threads = thread_count(model.n_jobs)
    shares = refine(rows.target.soft, rows.codes, bins, settings, model.label_rounds, n_threads)
    return replace(rows, target=rows.target.with_shares(shares)), settings


def check_constraints(settings: GrowthParams, schema: Schema) -> None:
    """Refuse a monotonic constraint on a nominal feature, which has no order."""
    signs = zip(settings.monotonic or [], schema.nominal, strict=False)
    if any(sign and nominal for sign, nominal in signs):
        raise ValueError("monotonic_cst must be 0 for nominal features, got a constraint on one")


# ---- reading ------------------------------------------------------------------------------------


def _earlier(model: Any) -> Fitted | None:
    """The fit to which a warm start adds trees, with checksums of its rows if it has kept them."""
    before: Fitted | None = model.__dict__.get("_fitted")
    if before is None or not model.warm_start:
        return None
    if before.rows is None or before.fingerprint is None:
        return before
    return replace(before, fingerprint=before.fingerprint._replace(rows=before.rows.checksums()))


def read_rows(model: Any, X: Any, before: Fitted | None = None) -> Any:
    """The table of a first fit, or one with the columns of an earlier fit: a `Table` or a `BinnedTable`."""
    table: Table | BinnedTable = X
    if before:
        table = read_table(X, before.schema)
    elif not isinstance(X, BinnedTable):
        table = read_training_table(X, categorical_features=model.categorical_features)
    check_n_rows(table.n_rows)
    return table


def _task_for(model: Any, y: Any, before: Fitted | None) -> Task:
    """The task for y of one column or of several; a warm start must have as many columns as the first fit."""
    columns = columns_of(y) or [y]
    if before and len(columns) != max(1, len(before.outputs)):
        had = max(1, len(before.outputs))
        raise ValueError(f"y must have the {had} outputs of the first fit in a warm start, got {len(columns)}")
    return task_of(model, several=len(columns) > 1)


def task_of(model: Any, *, several: bool) -> Task:
    """The task of an estimator for y of one column or of several."""
    return model._task.for_outputs() if several else model._task  # type: ignore[no-any-return]


def _shared_fingerprint(model: Any, rows: TrainingRows, before: Fitted | None) -> Fingerprint | None:
    """The fingerprint of all trees; a warm start on other rows or bags cannot give out-of-bag figures."""
    if not model._task.one_table:
        return None
    found = rows.fingerprint(of_rows=bool(model.warm_start))
    if before is None or before.fingerprint == found:
        return found
    if model.oob_score or isinstance(model.caution, str):
        known = model.get_params(deep=False)
        same = ["X", "y", *(name for name in ("bootstrap", "max_samples", "leaf_counts") if name in known)]
        without = "oob_score and caution='auto'" if "rule" in known else "oob_score"
        raise ValueError(
            f"{', '.join(same[:-1])} and {same[-1]} must be those of the first fit for out-of-bag figures in a warm"
            f" start, got others; fit all trees at once, or without {without}"
        )
    return None


# ---- what is chosen before trees grow ---------------------------------------------------------------


def _settle_criterion(run: FitRun) -> FitRun:
    """Choose what the criterion leaves open; a warm start keeps what was chosen."""
    settings, model, rows = run.settings, run.model, run.rows
    if isinstance(settings.criterion, str) or settings.criterion.is_resolved:
        return run
    if run.before:
        return replace(run, settings=replace(settings, criterion=run.before.criterion))
    n_trees = most_trees(model) if run.task.one_table else 1
    n_features = settings.max_features or resolve_max_features("sqrt", rows.codes.shape[0])  # not chosen yet
    tried = replace(settings, max_features=n_features)
    criterion = choose_lam(run.task.tables(rows), run.bins, tried, n_trees, run.n_threads)
    return replace(run, settings=replace(settings, criterion=criterion))


def _choose_features(run: FitRun) -> FitRun:
    """With ``max_features="oob"``, choose the number whose forest of a few trees errs least; the smallest of a tie.

    All these forests have the same bags. A warm start keeps the number that was chosen.
    """
    settings, rows = run.settings, run.rows
    if settings.max_features != TO_BE_CHOSEN:
        return run
    figures = run.before.figures if run.before else FitMetrics()
    best, errors = figures.max_features, figures.max_features_errors
    if best is None:
        errors = {}
        for number in feature_numbers(rows.codes.shape[0]):
            pilot = replace(run, settings=replace(settings, max_features=number))
            labels = rows.target.for_core()
            grown = grow_forest(
                rows.codes, run.bins, labels, pilot.settings, n_trees=PILOT_TREES, n_threads=run.n_threads
            )
            errors[number] = run.task.oob_error(grown, pilot)
        best = min(errors, key=errors.__getitem__)
    figures = replace(run.figures, max_features=best, max_features_errors=errors)
    return replace(run, settings=replace(settings, max_features=best), figures=figures)


# ---- growing in stages ------------------------------------------------------------------------------


def _watch(run: FitRun) -> Callable[[Forest], bool]:
    """For ``n_estimators="auto"``: a function that tells whether the out-of-bag error of a forest no longer falls."""
    trace = run.task.trace(run)

    def enough(forest: Forest) -> bool:
        trace.extend(forest, run.n_threads)
        return is_flat(trace.errors, trace.standard_error)

    return enough


def _grow_until_flat(
    make: Callable[..., Forest], enough: Callable[[Forest], bool], progress: Callable[[int], bool] | None
) -> Forest:
    """Grow stage by stage until the trees are enough, or until the largest number is reached."""
    forest: Forest | None = None
    for first, last in stages():
        grown = make(first_tree=first, n_trees=last - first, progress=progress_from(first, progress))
        forest = join_forests(forest, grown) if forest else grown
        if enough(forest):
            break
    assert forest is not None
    return forest


def _grow_with_callbacks(
    run: FitRun,
    make: Callable[..., Forest],
    spans: list[tuple[int, int]],
    watch: Callable[[Forest], bool] | None,
) -> Forest:
    """Grow in batches and call scikit-learn's callbacks after each; growing ends if one of them asks for it."""
    model, (X, y) = run.model, run.given
    context = model._init_callback_context(max_subtasks=len(spans))
    context.call_on_fit_task_begin(estimator=model, X=X, y=y)
    forest: Forest | None = None
    so_far: Callable[[], dict[str, Any]] | None = None
    for first, last in spans:
        step = context.subcontext(task_name="trees").call_on_fit_task_begin(estimator=model, X=X, y=y)
        grown = make(first_tree=first, n_trees=last - first)
        forest = join_forests(forest, grown) if forest else grown
        so_far = partial(_as_attributes, run, forest)
        if step.call_on_fit_task_end(estimator=model, X=X, y=y, reconstruction_attributes=so_far):
            break
        if watch and watch(forest):
            break
    assert forest is not None
    context.call_on_fit_task_end(estimator=model, X=X, y=y, reconstruction_attributes=so_far)
    return forest


def _as_attributes(run: FitRun, forest: Forest) -> dict[str, Any]:
    """The attributes that a callback sets on a copy of the estimator, so that it predicts with the trees so far."""
    return vars(publish(SimpleNamespace(), run.published(forest)))


# ---- what trees have counted --------------------------------------------------------------------------


def _origins_after(run: FitRun, forest: Forest) -> tuple[Provenance, ...]:
    """The origins of all trees."""
    there = run.there
    before = run.before.origins if run.before else ()
    grown = run.rows.origin(forest.n_trees - there, there)
    if not before or grown.n_trees == 0:
        return before or (grown,)
    same = replace(before[-1], n_trees=grown.n_trees, first_tree=there)
    if same == grown and before[-1].first_tree + before[-1].n_trees == there:
        return (*before[:-1], replace(before[-1], n_trees=before[-1].n_trees + grown.n_trees))
    return (*before, grown)
