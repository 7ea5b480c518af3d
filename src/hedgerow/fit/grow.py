"""Growth of the trees of a fit: at once, in stages, or with callbacks, and its progress."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial, wraps
from typing import TYPE_CHECKING, Any, TypeVar

from hedgerow.forest.add import count_groups
from hedgerow.forest.forest import Forest, join_forests
from hedgerow.forest.grow import grow_forest
from hedgerow.forest.prune import prune_by_rows
from hedgerow.inference.fitted import Fitted
from hedgerow.inference.oob import is_flat, stages
from hedgerow.params.resolve import most_trees
from hedgerow.util.compat import sklearn_callbacks

if TYPE_CHECKING:
    from hedgerow.fit.run import FitRun


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
    labels = rows.target.for_core()
    forest = grow_forest(
        rows.codes, run.bins, labels, settings, n_threads=run.n_threads, groups=rows.bags.groups, **which
    )
    first, alpha = which.get("first_tree", 0), run.model.ccp_alpha
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


def progress_from(first: int, progress: Callable[[int], bool] | None) -> Callable[[int], bool] | None:
    """Shift a progress function by `first` earlier trees."""
    return None if progress is None else lambda done: progress(first + done)


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
