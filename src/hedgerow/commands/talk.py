"""Talk: figures and sentences -> what people read; data go to standard output, everything else to standard error."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console, Group
    from rich.table import Table

#: Columns where the output is no terminal: tables in files should not depend on a window.
WIDTH = 100
#: Fewer lines are read before a bar could be seen.
MANY_LINES = 50_000
#: More sentences about the partitions of a table would not be read.
MANY_SENTENCES = 5


#: Where sentences go while they are collected.
_collected: ContextVar[list[str] | None] = ContextVar("_collected", default=None)


def say(text: str, *, style: str | None = None) -> None:
    """One sentence on standard error; the style is that of its first word."""
    from rich.text import Text

    if (collected := _collected.get()) is not None:
        collected.append(text)
        return
    shown = Text(printable(text))
    if style:
        shown.stylize(style, 0, text.find(" "))
    _console(stderr=True).print(shown, soft_wrap=True)


@contextmanager
def what_is_said() -> Iterator[list[str]]:
    """Collect sentences instead of writing them: on a worker, where nobody reads them."""
    collected: list[str] = []
    token = _collected.set(collected)
    try:
        yield collected
    finally:
        _collected.reset(token)


def say_once(sentences: Iterable[str]) -> None:
    """Sentences of many partitions -> each of them once, the first few."""
    distinct = list(dict.fromkeys(sentences))
    for sentence in distinct[:MANY_SENTENCES]:
        say(sentence)
    if len(distinct) > MANY_SENTENCES:
        say(f"note: and {number_of(len(distinct) - MANY_SENTENCES, 'sentence')} more like these")


def show(*parts: Any, stderr: bool = False) -> None:
    """Tables and text, below each other."""
    console = _console(stderr=stderr)
    for part in parts:
        console.print(part)


def write_json(value: Any) -> None:
    """One JSON object on standard output."""
    sys.stdout.write(to_json(value, indent=2) + "\n")


def to_json(value: Any, indent: int | None = None) -> str:
    """JSON that every reader knows: infinities and NaN are null."""
    return json.dumps(_finite(value), indent=indent, ensure_ascii=False, allow_nan=False)


def facts(pairs: Iterable[tuple[str, str]]) -> Table:
    """What and how much -> a table of two columns without lines."""
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, show_header=False, padding=(0, 2, 0, 0))
    table.add_column(style="bold", no_wrap=True)
    table.add_column()
    for name, value in pairs:
        table.add_row(Text(name), Text(printable(value)))
    return table


def grid(title: str, head: Iterable[str], rows: Iterable[Iterable[str]], *, left: int = 1) -> Group:
    """Heads and cells -> a table whose first `left` columns stand to the left, the others to the right."""
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, padding=(0, 2, 0, 0))
    for number, name in enumerate(head):
        table.add_column(Text(printable(name)), justify="left" if number < left else "right", overflow="fold")
    for row in rows:
        table.add_row(*(Text(printable(cell)) for cell in row))
    return Group(Text(title, style="bold"), table)  # a title of its own would be as narrow as the table


def printable(text: str) -> str:
    """Text of any origin -> the same without characters that could command a terminal."""
    return "".join(c if c.isprintable() or c == "\n" else c.encode("unicode_escape").decode() for c in text)


def listed(names: Iterable[Any], most: int = 8) -> str:
    """Names -> ``a, b, c … (12 in all)``."""
    every = [str(name) for name in names]
    more = f" … ({len(every):,} in all)" if len(every) > most else ""
    return ", ".join(every[:most]) + more


def number_of(count: int, thing: str, things: str | None = None) -> str:
    """``1 row``, ``2,000 rows``."""
    return f"{count:,} {thing if count == 1 else things or thing + 's'}"


def share(value: float | None) -> str:
    """A share -> ``97.2 %``, or a dash where there is none."""
    return "–" if value is None else f"{value:.1%}".replace("%", " %")


def score(value: float | None) -> str:
    """A utility -> three decimals, or a dash where there is none."""
    return "–" if value is None else f"{value:.3f}"


@contextmanager
def progress(what: str, total: int) -> Iterator[Callable[[int], None]]:
    """A bar on standard error while lines are read, on a terminal and for many -> what to call with those done."""
    if total < MANY_LINES or not sys.stderr.isatty():
        yield lambda done: None
        return
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

    columns = [TextColumn(what), BarColumn(), TaskProgressColumn(), TimeRemainingColumn()]
    with Progress(*columns, console=_console(stderr=True), transient=True) as bar:
        task = bar.add_task(what, total=total)
        yield lambda done: bar.update(task, completed=done)


def _console(*, stderr: bool) -> Console:
    """Where to print; rich honours NO_COLOR, and leaves colours away where there is no terminal."""
    from rich.console import Console

    class Pipe(Console):
        """A console that leaves it to `outcome.run` what a reader who has seen enough means."""

        def on_broken_pipe(self) -> None:
            raise BrokenPipeError

    console = Pipe(stderr=stderr, highlight=False, emoji=False, markup=False)
    if console.is_terminal:
        return console
    return Pipe(stderr=stderr, highlight=False, emoji=False, markup=False, width=WIDTH)


def _finite(value: Any) -> Any:
    """The same, numbers that are none replaced by None."""
    if isinstance(value, dict):
        return {name: _finite(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(each) for each in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
