"""The generic fit of an estimator to a table and y: reading, growth in stages, and progress."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial, wraps
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from hedgerow.fit.checkpoint import Checkpoint, progress_from
from hedgerow.fit.groups import (
    NOT_GIVEN,
    GroupsLike,
    read_groups,
    settings_for_groups,
    split_groups,
    warn_of_dependent_rows,
)
from hedgerow.forest.add import count_groups
from hedgerow.forest.forest import Forest, join_forests
from hedgerow.forest.grow import Fingerprint, GrowthParams, TrainingRows, grow_forest
from hedgerow.forest.nodes import unseen_of, unseen_of_all
from hedgerow.forest.prune import BY_ROWS, impurities_of, prune_by_rows
from hedgerow.forest.rows import Provenance
from hedgerow.forest.target import columns_of
from hedgerow.inference.completions import entries_of
from hedgerow.inference.fitted import FitMetrics, Fitted
from hedgerow.inference.oob import is_flat, stages, warn_of_unjudged
from hedgerow.params.checks import check_n_rows, check_parameters
from hedgerow.params.resolve import TO_BE_CHOSEN, how_to_bin, most_trees
from hedgerow.params.table import Params, TreeEstimator
from hedgerow.table import Schema, Table, read_table, read_training_table
from hedgerow.table.binned import BinnedTable, bins_and_codes
from hedgerow.table.bins import EXACT_ROWS, Bins, Codebook
from hedgerow.table.schema import TableLike, TargetLike
from hedgerow.table.uncertain import UncertainTable, is_single, located, with_typical_values
from hedgerow.util.compat import sklearn_callbacks
from hedgerow.util.disk import Path_
from hedgerow.util.runtime import thread_count

if TYPE_CHECKING:
    from hedgerow.fit.task import SupervisedTask

#: Number of trees per value that ``max_features="oob"`` tries.
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
        Growth parameters.
    fingerprint : Fingerprint or None
        Fingerprint of the rows and bags of all trees; None before `Task.prepare`, and if those of an earlier fit
        differ.
    before : Fitted or None
        The fit to which this one adds trees.
    given : (X, y)
        X and y as the user passed them, for callbacks.
    task : SupervisedTask
        The prediction type; None for unsupervised trees.
    n_trees : int or None
        Number of trees, including those of `before`; None means ``n_estimators``.
    checkpoint : Checkpoint or None
        Folder of trees during the fit.
    figures : FitMetrics
        Metrics so far.
    """

    model: TreeEstimator
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
        """Number of trees of the earlier fit."""
        return 0 if self.before is None else self.before.forest.n_trees

    @property
    def n_threads(self) -> int:
        """Number of threads that grow trees."""
        return thread_count(self.model.n_jobs)

    def published(self, forest: Forest) -> Fitted:
        """Return the `Fitted` of the trees, not yet evaluated on out-of-bag rows."""
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
        if rows_known and fitted.criterion in BY_ROWS:
            known = impurities_of(forest, self.rows, fitted.criterion, self.n_threads)
            if known is not None:
                fitted.learned.put("impurities", None, known)
        return fitted.with_outputs()


def fit(
    model: TreeEstimator,
    X: TableLike,
    y: TargetLike | None,
    sample_weight: ArrayLike | None = None,
    *,
    groups: GroupsLike = NOT_GIVEN,
    checkpoint: Path_ | None = None,
    classes: ArrayLike | None = None,
) -> Fitted:
    """Read and bin the table, grow trees, and evaluate them on out-of-bag rows.

    Bootstrap samples draw `groups` of rows as units. If these are not given, rows that seem to belong together raise a
    warning. Not all of the declared `classes` need to occur.
    """
    check_parameters(model)
    unknown = groups is NOT_GIVEN
    before = _earlier(model)
    X, cells = _certain_table(model, X, y, before, checkpoint)
    X, groups = split_groups(X, None if unknown else groups)
    saved = None if checkpoint is None else Checkpoint(checkpoint)
    table = read_rows(model, X, before)
    task = _task_for(model, y, before)
    target, kept = task.read_y(model, y, sample_weight, table.n_rows, before, classes)
    settings = task.growth(model, target, table.schema)
    row_groups = read_groups(groups, table.n_rows, kept)
    settings = settings_for_groups(settings, model, target, row_groups)
    if before:  # all trees must be as if they had been grown in one fit
        settings = replace(settings, seed=before.seed)
    if saved:
        settings = replace(settings, seed=saved.seed(model.random_state, settings.seed))
    check_constraints(settings, table.schema)
    n_threads = thread_count(model.n_jobs)
    known = before.bins if before else None
    bins, codes = bins_and_codes(table, known, rows=kept, **how_to_bin(model), n_threads=n_threads)
    rows = TrainingRows.of(codes, kept, target, settings, row_groups)
    if cells:
        rows, settings = _with_entries(task, rows, cells, bins, table.schema, settings)
    if unknown and rows.has_bags and before is None:
        warn_of_dependent_rows(table, kept, rows.codes, bins)
    run = FitRun(model, rows, table.schema, bins, settings, None, before, (X, y), task, checkpoint=saved)
    run = task.prepare(run)
    return finish(replace(run, fingerprint=_shared_fingerprint(model, run.rows, before)))


def finish(run: FitRun) -> Fitted:
    """Grow the trees of a prepared fit, and evaluate them on out-of-bag rows."""
    run = _choose_features(run)
    forest: Forest = run.task.grow(run)
    return evaluate_oob(run.task, run.model, run.published(forest))


def evaluate_oob(task: SupervisedTask, model: TreeEstimator, fitted: Fitted) -> Fitted:
    """Return a fit with out-of-bag choices and metrics.

    Warn if some rows are in every bootstrap sample.
    """
    if model.oob_score:
        warn_of_unjudged(fitted.rows, fitted.forest.n_trees)
    return task.predictor(fitted, Params.of(model), type(model)).evaluate_oob(model.oob_score)


def check_constraints(settings: GrowthParams, schema: Schema) -> None:
    """Raise ValueError for a monotonic constraint on a categorical feature."""
    signs = zip(settings.monotonic or [], schema.nominal, strict=False)
    for feature, (sign, nominal) in enumerate(signs):
        if sign and nominal:
            raise ValueError(f"monotonic_cst must be 0 for categorical features, got {sign} for feature {feature}.")


# ---- reading ------------------------------------------------------------------------------------


def _earlier(model: TreeEstimator) -> Fitted | None:
    """Return the fit to which a warm start adds trees, with checksums of its rows."""
    before: Fitted | None = model.__dict__.get("_fitted")
    if before is None or not model.warm_start:
        return None
    if before.rows is None or before.fingerprint is None:
        return before
    return replace(before, fingerprint=before.fingerprint._replace(rows=before.rows.checksums()))


def read_rows(model: TreeEstimator, X: TableLike, before: Fitted | None = None) -> Any:
    """Read the table of a first fit, or one with the columns of an earlier fit."""
    table: Table | BinnedTable
    if before:
        table = read_table(X, before.schema)
    elif isinstance(X, BinnedTable):
        table = X
    else:
        table = read_training_table(X, categorical_features=model.categorical_features)
    check_n_rows(table.n_rows)
    return table


def _certain_table(
    model: TreeEstimator, X: TableLike, y: TargetLike | None, before: Fitted | None, checkpoint: Path_ | None
) -> tuple[Any, dict[tuple[int, int], Any]]:
    """Return a table with typical values in place of uncertain cells, and these by row and feature."""
    if not isinstance(X, UncertainTable):
        return X, {}
    if not model._task.reads_cells or columns_of(y) is not None:
        raise TypeError(
            f"X must not have uncertain cells for {type(model).__name__}, got UncertainTable: only leaves that count"
            " the classes of one output keep what is uncertain. Use a forest or a tree of classes."
        )
    if before is not None or checkpoint is not None:
        raise ValueError(
            "warm_start and checkpoint do not support uncertain cells. Fit all trees at once without them."
        )
    if model.leaf_counts in ("groups", "oob") or model.ccp_alpha != 0:
        raise ValueError(
            "leaf_counts='groups' or 'oob' and ccp_alpha do not support uncertain cells, whose rows are in several"
            " leaves. Use leaf_counts='distinct' and limit the depth instead."
        )
    table = read_training_table(X.X, categorical_features=model.categorical_features)
    cells = located(X.cells, table.schema, table.n_rows)
    certain = with_typical_values(X.X, cells) if cells else X.X
    return certain, {place: known for place, known in cells.items() if not is_single(known)}


def _with_entries(
    task: Any, rows: TrainingRows, cells: dict[tuple[int, int], Any], bins: Bins, schema: Schema, settings: GrowthParams
) -> tuple[TrainingRows, GrowthParams]:
    """Return training rows with the entries of those with uncertain cells, and their growth parameters.

    Leaves count the rows of the bag only: how much a row adds to a leaf depends on the tree, and so could not be taken
    out again before the row is evaluated out of bag.
    """
    place = np.arange(rows.n_rows) if rows.kept is None else rows.kept
    kept = {int(row): number for number, row in enumerate(place.tolist())}
    known = {(kept[row], feature): cell for (row, feature), cell in cells.items() if row in kept}
    codebook = Codebook(bins, schema, exact=rows.n_rows <= EXACT_ROWS)
    entries = entries_of(known, rows.codes, bins, codebook, settings.seed)
    if entries is None:
        return rows, settings
    if settings.leaf_counts == "all" and settings.bag_mean != 0:
        settings = replace(settings, leaf_counts="distinct")
    return task.with_entries(rows.under(settings), entries), settings


def _task_for(model: TreeEstimator, y: TargetLike | None, before: Fitted | None) -> Any:
    """Return the task for y of one or several columns.

    A warm start must have as many as the first fit.
    """
    n_outputs, had = len(columns_of(y) or [y]), max(1, len(before.outputs)) if before else None
    task: SupervisedTask = model._task
    if n_outputs == 1 and had in (1, None):
        return task
    if task.for_outputs() is task:  # it reads all columns itself
        return task
    if had not in (n_outputs, None):
        raise ValueError(f"y must have the {had} outputs of the first fit in a warm start, got {n_outputs}.")
    return task_of(model, multi_output=n_outputs > 1)


def task_of(model: TreeEstimator, *, multi_output: bool) -> Any:
    """Return the task of an estimator for y of one or several columns."""
    return model._task.for_outputs() if multi_output else model._task


def _shared_fingerprint(model: TreeEstimator, rows: TrainingRows, before: Fitted | None) -> Fingerprint | None:
    """Return the fingerprint of all trees.

    A warm start on other rows or bags has no out-of-bag metrics.
    """
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
            f"Out-of-bag metrics in a warm start require the {', '.join(same[:-1])} and {same[-1]} of the first fit."
            f" Fit all trees at once, or without {without}."
        )
    return None


# ---- max_features="oob" --------------------------------------------------------------------------------


def _choose_features(run: FitRun) -> FitRun:
    """Choose the number of features with the smallest out-of-bag error, for "oob".

    Of a tie, the smallest number is chosen. All these forests have the same bags. A warm start keeps the first choice.
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
    """Return the numbers of features that "oob" tries.

    For p features they are 1, √p / 2, √p, 2√p, p / 3, p / 2 and p.
    """
    root = n_features**0.5
    numbers = {1, root / 2, root, 2 * root, n_features / 3, n_features / 2, n_features}
    return sorted({min(n_features, max(1, round(number))) for number in numbers})


# ---- provenance ---------------------------------------------------------------------------------------


def _origins_after(run: FitRun, forest: Forest) -> tuple[Provenance, ...]:
    """Return the provenance of all trees."""
    there = run.there
    before = run.before.origins if run.before else ()
    grown = run.rows.origin(forest.n_trees - there, there)
    if not before or grown.n_trees == 0:
        return before or (grown,)
    same = replace(before[-1], n_trees=grown.n_trees, first_tree=there)
    if same == grown and before[-1].first_tree + before[-1].n_trees == there:
        return (*before[:-1], replace(before[-1], n_trees=before[-1].n_trees + grown.n_trees))
    return (*before, grown)


# ---- Growth of the trees of a fit: at once, in stages, or with callbacks, and its progress ---------------------------


def grow(run: FitRun, kept: Callable[[Forest], Forest] = lambda forest: forest) -> Forest:
    """Grow the trees of a fit after those of an earlier fit.

    `kept` transforms the new trees.
    """
    model, before, there = run.model, run.before, run.there
    wanted = run.n_trees or most_trees(model)
    if wanted < there:
        raise ValueError(f"n_estimators must be at least the {there} of the first fit in a warm start, got {wanted}.")
    if wanted == there and before:
        warnings.warn("Warm-start fitting without increasing n_estimators does not fit new trees.", stacklevel=2)
        return before.forest
    make: Callable[..., Forest] = partial(grow_pruned, run)
    if run.checkpoint:
        identity = (run.rows.target.for_core(), run.rows.codes, run.bins, run.settings, model.ccp_alpha)
        make = run.checkpoint.wrap(
            make, type(model).__name__, *identity, n_threads=run.n_threads, groups=run.rows.bags.groups
        )
    open_ended = not model._single_tree and isinstance(model.n_estimators, str) and not run.n_trees
    enough = _stop_rule(run) if open_ended else None
    if has_callbacks(model):
        spans = list(stages()) if enough else batches(there, wanted, run.n_threads)
        forest = _grow_with_callbacks(run, make, spans, enough)
    else:
        with progress_bar(model.verbose, wanted - there) as progress:
            if enough:
                forest = _grow_until_flat(make, enough, progress)
            else:
                forest = make(first_tree=there, n_trees=wanted - there, progress=progress)
    return join_forests(before.forest, kept(forest)) if before else kept(forest)


def grow_pruned(run: FitRun, **which: Any) -> Forest:
    """Grow some of the trees, and prune them by ``ccp_alpha``."""
    rows, settings = run.rows, run.settings
    codes, labels, groups = rows.to_grow
    forest = grow_forest(codes, run.bins, labels, settings, n_threads=run.n_threads, groups=groups, **which)
    first, alpha = which.get("first_tree", 0), run.model.ccp_alpha
    if alpha:
        forest = prune_by_rows(forest, rows, settings.criterion, alpha, first, run.n_threads)
    return count_groups(forest, rows, first, run.n_threads) if settings.leaf_counts == "groups" else forest


def _stop_rule(run: FitRun) -> Callable[[Forest], bool]:
    """Return a test of whether the out-of-bag error has stopped falling."""
    trace = run.task.oob_trace(run)

    def enough(forest: Forest) -> bool:
        trace.extend(forest, run.n_threads)
        return is_flat(trace.errors, trace.standard_error)

    return enough


def _grow_until_flat(
    make: Callable[..., Forest], enough: Callable[[Forest], bool], progress: Callable[[int], bool] | None
) -> Forest:
    """Grow in stages until `enough` returns True, or to the maximum number."""
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
    enough: Callable[[Forest], bool] | None,
) -> Forest:
    """Grow in batches, with scikit-learn's callbacks after each.

    A callback can stop the fit.
    """
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
        if enough and enough(forest):
            break
    assert forest is not None
    context.call_on_fit_task_end(estimator=model, X=X, y=y, reconstruction_attributes=so_far)
    return forest


def _as_attributes(run: FitRun, forest: Forest) -> dict[str, Fitted]:
    """Return the fitted attributes of the trees so far, for callbacks."""
    return {"_fitted": run.published(forest)}


# ---- Progress of a fit: scikit-learn's callbacks, and a bar on the terminal ------------------------------------------


_Method = TypeVar("_Method", bound=Callable[..., Any])


def with_callbacks(fit: _Method) -> _Method:
    """Wrap a fit method in scikit-learn's management of callbacks."""

    @wraps(fit)
    def managed(estimator: Any, *args: Any, **kwargs: Any) -> Any:
        if has_callbacks(estimator):
            return sklearn_callbacks().with_callbacks(fit)(estimator, *args, **kwargs)
        return fit(estimator, *args, **kwargs)

    return managed  # type: ignore[return-value]


def has_callbacks(estimator: Any) -> bool:
    """Return whether the user or a meta-estimator has set callbacks."""
    return bool(getattr(estimator, "_skl_callbacks", None))


def batches(first: int, last: int, n_threads: int) -> list[tuple[int, int]]:
    """Divide trees `first` to ``last - 1`` into about fifty batches.

    Each batch has at least one tree per thread.
    """
    batch = n_threads * max(1, (last - first) // (50 * n_threads))
    return [(start, min(start + batch, last)) for start in range(first, last, batch)]


@contextmanager
def progress_bar(verbose: int, n_trees: int) -> Iterator[Callable[[int], bool] | None]:
    """Show a bar on stderr; yield a function of the trees done.

    Yield None unless `verbose` is set and stderr is a terminal.
    """
    if not verbose or not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = [
        TextColumn("growing"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("trees"),
        TimeRemainingColumn(),
    ]
    with Progress(*columns, console=Console(stderr=True)) as bar:
        task = bar.add_task("growing", total=n_trees)

        def show(done: int) -> bool:
            bar.update(task, completed=done)
            return False

        yield show
        bar.update(task, completed=n_trees)
