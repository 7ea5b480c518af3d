"""Progress: what a fit on a cluster is doing -> a bar on the terminal."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def progress_on_cluster(verbose: int, n_trees: int) -> Iterator[Callable[[int, str], None]]:
    """Show a bar on stderr if `verbose` and stderr is a terminal -> a function to call with trees done and a text.

    If stderr is not a terminal and `verbose` is at least 2, a line is written for each new text.
    """
    if verbose and sys.stderr.isatty():
        yield from _bar(n_trees)
    elif verbose > 1:
        said = [""]

        def write(done: int, what: str) -> None:
            if what != said[0]:
                said[0] = what
                print(f"{done}/{n_trees} trees: {what}", file=sys.stderr)

        yield write
    else:
        yield lambda done, what: None


def _bar(n_trees: int) -> Iterator[Callable[[int, str], None]]:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = [
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("trees"),
        TimeElapsedColumn(),
        TextColumn("{task.description}"),
    ]
    with Progress(*columns, console=Console(stderr=True)) as bar:
        task = bar.add_task("", total=n_trees)

        def show(done: int, what: str) -> None:
            bar.update(task, completed=done, description=what)

        yield show
