"""Fits: an estimator, a table and y -> `Fitted`."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from hedgerow.fit.checkpoint import Checkpoint
from hedgerow.fit.groups import read_groups, settings_for_groups, split_groups
from hedgerow.fit.task import SupervisedTask
from hedgerow.forest.forest import Forest
from hedgerow.forest.grow import GrowthParams, grow_forest
from hedgerow.forest.impurity import impurities_of
from hedgerow.forest.rows import Provenance
from hedgerow.forest.target import columns_of
from hedgerow.forest.training import Fingerprint, TrainingRows
from hedgerow.forest.unseen import unseen_of, unseen_of_all
from hedgerow.inference.fitted import FitMetrics, Fitted
from hedgerow.inference.oob import warn_of_unjudged
from hedgerow.params.checks import check_n_rows, check_parameters
from hedgerow.params.resolve import TO_BE_CHOSEN, how_to_bin
from hedgerow.params.table import Params
from hedgerow.table import Schema, Table, read_table, read_training_table
from hedgerow.table.binned import BinnedTable, bins_and_codes
from hedgerow.table.bins import Bins
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
        The fingerprint of the rows and bags of all trees; None before `Task.prepare`, and if those of an earlier fit
        differ.
    before : Fitted or None
        The fit to which this one adds trees.
    given : (X, y)
        X and y as the user passed them, for callbacks.
    task : SupervisedTask
        The prediction type; None for trees without labels.
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


def fit(
    model: Any,
    X: Any,
    y: Any,
    sample_weight: Any = None,
    *,
    groups: Any = None,
    checkpoint: Any = None,
    classes: Any = None,
) -> Fitted:
    """Read the table and y, bin the table, grow trees, and evaluate them on out-of-bag rows.

    Rows of the same of `groups` are drawn into bags together. Declared `classes` need not all occur.
    """
    check_parameters(model)
    X, groups = split_groups(X, groups)
    saved = None if checkpoint is None else Checkpoint(checkpoint)
    before = _earlier(model)
    table = read_rows(model, X, before)
    task = _task_for(model, y, before)
    target, kept = task.read_y(model, y, sample_weight, table.n_rows, before, classes)
    settings = task.growth(model, target, table.schema)
    together = read_groups(groups, table.n_rows, kept)
    settings = settings_for_groups(settings, model, together)
    if before:  # so that all trees are as if they had been grown in one fit
        settings = replace(settings, seed=before.seed)
    if saved:
        settings = replace(settings, seed=saved.seed(model.random_state, settings.seed))
    check_constraints(settings, table.schema)
    n_threads = thread_count(model.n_jobs)
    known = before.bins if before else None
    bins, codes = bins_and_codes(table, known, rows=kept, **how_to_bin(model), n_threads=n_threads)
    rows = TrainingRows.of(codes, kept, target, settings, together)
    run = FitRun(model, rows, table.schema, bins, settings, None, before, (X, y), task, checkpoint=saved)
    run = task.prepare(run)
    return finish(replace(run, fingerprint=_shared_fingerprint(model, run.rows, before)))


def finish(run: FitRun) -> Fitted:
    """A fit whose task has prepared it -> the fitted forest, evaluated on out-of-bag rows."""
    run = _choose_features(run)
    forest: Forest = run.task.grow(run)
    return evaluate_oob(run.task, run.model, run.published(forest))


def evaluate_oob(task: SupervisedTask, model: Any, fitted: Fitted) -> Fitted:
    """A fit -> the same, with what it learns and reports on out-of-bag rows; a warning if some rows are in all bags."""
    if model.oob_score:
        warn_of_unjudged(fitted.rows, fitted.forest.n_trees)
    return task.predictor(fitted, Params.of(model), type(model)).evaluate_oob(model.oob_score)


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


def _task_for(model: Any, y: Any, before: Fitted | None) -> Any:
    """The task for y of one column or of several; a warm start must have as many columns as the first fit."""
    columns = columns_of(y) or [y]
    task: SupervisedTask = model._task
    if task.for_outputs() is task:  # it reads all columns itself
        return task
    if before and len(columns) != max(1, len(before.outputs)):
        had = max(1, len(before.outputs))
        raise ValueError(f"y must have the {had} outputs of the first fit in a warm start, got {len(columns)}")
    return task_of(model, multi_output=len(columns) > 1)


def task_of(model: Any, *, multi_output: bool) -> Any:
    """The task of an estimator for y of one column or of several."""
    return model._task.for_outputs() if multi_output else model._task


def _shared_fingerprint(model: Any, rows: TrainingRows, before: Fitted | None) -> Fingerprint | None:
    """The fingerprint of all trees; a warm start on other rows or bags cannot give out-of-bag figures."""
    if not model._task.one_table:
        return None
    found = rows.fingerprint(of_rows=bool(model.warm_start))
    if before is None or before.fingerprint == found:
        return found
    if model.oob_score or isinstance(model.caution, str):
        known = model.get_params(deep=False)
        same = [
            "X",
            "y",
            *(["groups"] if rows.n_groups else []),
            *(name for name in ("bootstrap", "max_samples", "leaf_counts") if name in known),
        ]
        without = "oob_score and caution='auto'" if "rule" in known else "oob_score"
        raise ValueError(
            f"{', '.join(same[:-1])} and {same[-1]} must be those of the first fit for out-of-bag figures in a warm"
            f" start, got others; fit all trees at once, or without {without}"
        )
    return None


# ---- max_features="oob" --------------------------------------------------------------------------------


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
                rows.codes,
                run.bins,
                labels,
                pilot.settings,
                n_trees=PILOT_TREES,
                n_threads=run.n_threads,
                groups=rows.bags.groups,
            )
            errors[number] = run.task.oob_error(grown, pilot)
        best = min(errors, key=errors.__getitem__)
    figures = replace(run.figures, max_features=best, max_features_errors=errors)
    return replace(run, settings=replace(settings, max_features=best), figures=figures)


def feature_numbers(n_features: int) -> list[int]:
    """How many of p features to try: 1, √p and its half and double, a third, a half and all of them."""
    root = n_features**0.5
    numbers = {1, root / 2, root, 2 * root, n_features / 3, n_features / 2, n_features}
    return sorted({min(n_features, max(1, round(number))) for number in numbers})


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
