"""Text for people: data go to standard output, everything else to standard error."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

from hedgerow.util.text import number_of, printable, printable_lines

if TYPE_CHECKING:
    from rich.console import Console, Group
    from rich.table import Table

#: Width of the output if it is not a terminal: tables in files should not depend on a window.
WIDTH = 100
#: Reading fewer bytes is too fast for a progress bar.
MANY_BYTES = 1 << 25
#: Print at most this many sentences about the partitions of a table.
MANY_SENTENCES = 5


#: The list that takes sentences while they are collected.
_collected: ContextVar[list[str] | None] = ContextVar("_collected", default=None)


def note(text: str, *, style: str | None = None) -> None:
    """Print one sentence on standard error; `style` is for its first word."""
    from rich.text import Text

    if (collected := _collected.get()) is not None:
        collected.append(text)
        return
    shown = Text(printable_lines(text))
    if style:
        shown.stylize(style, 0, text.find(" "))
    _console(stderr=True).print(shown, soft_wrap=True)


def warn(text: str) -> None:
    """Print a warning on standard error."""
    note(f"warning: {text}", style="bold yellow")


@contextmanager
def collected_notes() -> Iterator[list[str]]:
    """Collect sentences instead of printing them, for workers, where nobody would read them."""
    collected: list[str] = []
    token = _collected.set(collected)
    try:
        yield collected
    finally:
        _collected.reset(token)


def say_once(sentences: Iterable[str]) -> None:
    """Print the sentences of many partitions, each of them once, and only the first few."""
    distinct = list(dict.fromkeys(sentences))
    for sentence in distinct[:MANY_SENTENCES]:
        note(sentence)
    if len(distinct) > MANY_SENTENCES:
        note(f"note: and {number_of(len(distinct) - MANY_SENTENCES, 'sentence')} more like these")


def show(*parts: Any, stderr: bool = False) -> None:
    """Print tables and text, one below the other."""
    console = _console(stderr=stderr)
    for part in parts:
        console.print(part)


def write_json(value: Any) -> None:
    """Print one JSON object on standard output."""
    sys.stdout.write(to_json(value, indent=2) + "\n")


def to_json(value: Any, indent: int | None = None) -> str:
    """A value -> JSON that every reader understands: infinities and NaN become null, what is not printable escapes."""
    text = json.dumps(_finite(value), indent=indent, ensure_ascii=False, allow_nan=False)
    return text if text.isprintable() else "\n".join(map(_escaped, text.split("\n")))


def table(part: Any) -> Any:
    """Facts, or lines with a title and heads -> a table."""
    return facts(part) if isinstance(part, list) else grid(part.title, part.heads, part.rows, left=part.left)


def facts(pairs: Iterable[tuple[str, str]]) -> Table:
    """Names and values -> a table of two columns without lines."""
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, show_header=False, padding=(0, 2, 0, 0))
    table.add_column(style="bold", no_wrap=True)
    table.add_column()
    for name, value in pairs:
        table.add_row(Text(printable(name)), Text(printable(value)))
    return table


def grid(title: str, head: Iterable[str], rows: Iterable[Iterable[str]], *, left: int = 1) -> Group:
    """Heads and cells -> a table whose first `left` columns are aligned left and the others right."""
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, padding=(0, 2, 0, 0))
    for number, name in enumerate(head):
        table.add_column(Text(printable(name)), justify="left" if number < left else "right", overflow="fold")
    for row in rows:
        table.add_row(*(Text(printable(cell)) for cell in row))
    return Group(Text(printable(title), style="bold"), table)  # a title of the table would be wrapped to its width


@contextmanager
def progress(what: str, total: float, least: float = MANY_BYTES) -> Iterator[Callable[[float], None]]:
    """Show a bar on a terminal if there is much to do -> the function to call with how much of the total is done."""
    if total < least or not sys.stderr.isatty():
        yield lambda done: None
        return
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

    columns = [TextColumn(what), BarColumn(), TaskProgressColumn(), TimeRemainingColumn()]
    with Progress(*columns, console=_console(stderr=True), transient=True) as bar:
        task = bar.add_task(what, total=total)
        yield lambda done: bar.update(task, completed=done)


def _console(*, stderr: bool) -> Console:
    """Where to print; rich honours NO_COLOR, and uses no colours without a terminal."""
    from rich.console import Console

    class Pipe(Console):
        """A console that leaves a closed pipe to `exit_codes.run`."""

        def on_broken_pipe(self) -> None:
            raise BrokenPipeError

    console = Pipe(stderr=stderr, highlight=False, emoji=False, markup=False)
    if console.is_terminal:
        return console
    return Pipe(stderr=stderr, highlight=False, emoji=False, markup=False, width=WIDTH)


def _escaped(line: str) -> str:
    """A line of JSON -> the same, in which strings have escapes for characters that are not printable."""
    return "".join(c if c.isprintable() else json.dumps(c)[1:-1] for c in line)


def _finite(value: Any) -> Any:
    """The same with None instead of infinities and NaN."""
    if isinstance(value, dict):
        return {name: _finite(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(each) for each in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
