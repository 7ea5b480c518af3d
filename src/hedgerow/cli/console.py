"""Console output: data on standard output, messages on standard error."""

from __future__ import annotations

import codecs
import io
import json
import math
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING

from hedgerow.util.text import number_of, printable, printable_lines

if TYPE_CHECKING:
    from rich.console import Console, Group, RenderableType
    from rich.table import Table

    from hedgerow.explain.presenters.base import Lines

#: Width of output that does not go to a terminal, whose tables must not depend on a window.
WIDTH = 100
#: Smaller files are read too fast for a progress bar.
MANY_BYTES = 1 << 25
#: Maximum number of messages printed about the partitions of a table.
MANY_SENTENCES = 5
#: Characters of messages that some terminals lack, in ASCII.
_ASCII = {"…": "...", "−": "-", "–": "-", "±": "+/-", "×": "x", "≤": "<=", "≥": ">=", "’": "'", "“": '"', "”": '"'}

#: Messages collected by `collected_notes`, or None if they are printed.
_collected: ContextVar[list[str] | None] = ContextVar("_collected", default=None)


def print_everything() -> None:
    """Make standard streams of any encoding print any character, by ASCII or an escape."""
    codecs.register_error("hedgerow", _in_ascii)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="hedgerow")


def _in_ascii(error: UnicodeError) -> tuple[str | bytes, int]:
    """Replace characters that an encoding lacks (`codecs.register_error`)."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    missing = error.object[error.start : error.end]
    return "".join(_ASCII.get(c) or c.encode("ascii", "backslashreplace").decode() for c in missing), error.end


def note(text: str, *, style: str | None = None) -> None:
    """Print a message on standard error; `style` applies to its first word."""
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


def warn_if(notice: str | None) -> None:
    """Print a warning, if there is one."""
    if notice is not None:
        warn(notice)


@contextmanager
def collected_notes() -> Iterator[list[str]]:
    """Collect messages instead of printing them, on workers and for repeated work."""
    collected: list[str] = []
    token = _collected.set(collected)
    try:
        yield collected
    finally:
        _collected.reset(token)


def say_once(sentences: Iterable[str]) -> None:
    """Print the distinct messages of all partitions, up to `MANY_SENTENCES`."""
    distinct = list(dict.fromkeys(sentences))
    for sentence in distinct[:MANY_SENTENCES]:
        note(sentence)
    if len(distinct) > MANY_SENTENCES:
        note(f"note: {number_of(len(distinct) - MANY_SENTENCES, 'similar message')} omitted.")


def show(*parts: RenderableType, stderr: bool = False) -> None:
    """Print tables and text one below the other."""
    console = _console(stderr=stderr)
    for part in parts:
        console.print(part)


def write_json(value: object) -> None:
    """Print one JSON object on standard output, in UTF-8."""
    sys.stdout.reconfigure(encoding="utf-8")  # type: ignore[union-attr]
    sys.stdout.write(to_json(value, indent=2) + "\n")


def to_json(value: object, indent: int | None = None) -> str:
    """Return strict JSON: null for infinities and NaN, escapes for unprintable text."""
    text = json.dumps(_finite(value), indent=indent, ensure_ascii=False, allow_nan=False)
    return text if text.isprintable() else "\n".join(map(_escaped, text.split("\n")))


def table(part: list[tuple[str, str]] | Lines) -> Table | Group:
    """Return the rich table of facts, or of lines with a title and heads."""
    return facts(part) if isinstance(part, list) else grid(part.title, part.heads, part.rows, left=part.left)


def facts(pairs: Iterable[tuple[str, str]]) -> Table:
    """Return a rich table with a row for each name and value."""
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, show_header=False, padding=(0, 2, 0, 0))
    table.add_column(style="bold", no_wrap=True)
    table.add_column()
    for name, value in pairs:
        table.add_row(Text(printable(name)), Text(printable(value)))
    return table


def grid(title: str, head: Iterable[str], rows: Iterable[Iterable[str]], *, left: int = 1) -> Group:
    """Return a rich table whose first `left` columns are left-aligned."""
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, padding=(0, 2, 0, 0))
    for number, name in enumerate(head):
        table.add_column(Text(printable(name)), justify="left" if number < left else "right", overflow="fold")
    for row in rows:
        table.add_row(*(Text(printable(cell)) for cell in row))
    return Group(Text(printable(title), style="bold"), table)  # rich wraps the title of a table to the table's width


@contextmanager
def progress(what: str, total: float, least: float = MANY_BYTES) -> Iterator[Callable[[float], None]]:
    """Show a progress bar on a terminal if `total` is at least `least`.

    Yields
    ------
    function
        Takes the amount of `total` that is done.
    """
    if total < least or not sys.stderr.isatty():
        yield lambda done: None
        return
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

    columns = [TextColumn(what), BarColumn(), TaskProgressColumn(), TimeRemainingColumn()]
    with Progress(*columns, console=_console(stderr=True), transient=True) as bar:
        task = bar.add_task(what, total=total)
        yield lambda done: bar.update(task, completed=done)


def _console(*, stderr: bool) -> Console:
    """Return the console; rich honours NO_COLOR and omits colours without a terminal."""
    from rich.console import Console

    class Pipe(Console):
        """A console that leaves closed pipes to `exit_codes.run`."""

        def on_broken_pipe(self) -> None:
            raise BrokenPipeError

    console = Pipe(stderr=stderr, highlight=False, emoji=False, markup=False)
    if console.is_terminal:
        return console
    return Pipe(stderr=stderr, highlight=False, emoji=False, markup=False, width=WIDTH)


def _escaped(line: str) -> str:
    """Escape the unprintable characters of a line of JSON."""
    return "".join(c if c.isprintable() else json.dumps(c)[1:-1] for c in line)


def _finite(value: object) -> object:
    """Replace infinities and NaN by None."""
    if isinstance(value, dict):
        return {name: _finite(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(each) for each in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
