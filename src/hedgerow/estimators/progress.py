"""Progress: trees done -> scikit-learn's callbacks, or a bar on the terminal."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

try:  # scikit-learn >= 1.9
    from sklearn.callback import CallbackSupportMixin, with_callbacks
except ImportError:
    _Method = TypeVar("_Method", bound=Callable[..., Any])

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """Stands in for scikit-learn's mixin where there is none; it adds nothing."""

    def with_callbacks(method: _Method) -> _Method:
        """Stands in for scikit-learn's decorator where there is none; it adds nothing."""
        return method


def has_callbacks(estimator: Any) -> bool:
    """Whether the user, or a meta-estimator, has set callbacks."""
    return bool(getattr(estimator, "_skl_callbacks", None))


@contextmanager
def progress_bar(verbose: int, n_trees: int) -> Iterator[Callable[[int], bool] | None]:
    """A bar on stderr when `verbose` and stderr is a terminal -> what to call with the trees done."""
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


__all__ = ["CallbackSupportMixin", "has_callbacks", "progress_bar", "with_callbacks"]
