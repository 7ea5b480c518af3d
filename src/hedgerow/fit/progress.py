"""Progress of a fit: scikit-learn's callbacks, and a bar on the terminal."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import Any, TypeVar

from hedgerow.util.compat import sklearn_callbacks

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
