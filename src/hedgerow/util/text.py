"""Text: text of any origin -> refused if UTF-8 cannot hold it; shown without what could control a terminal."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any


def require_text(values: Iterable[Any], subject: str) -> None:
    """Refuse text with half of a surrogate pair: no file and no other program could hold it; other values are fine."""
    for value in values:
        if isinstance(value, str) and not _is_whole(value):
            raise ValueError(
                f"{subject} must be text that UTF-8 can hold, got {value!r} with half of a surrogate pair; correct the"
                " text, or read its file with the right encoding"
            )


def whole(text: str) -> str:
    r"""Text -> the same with halves of surrogate pairs as escapes, so that UTF-8 can hold it.

    Examples
    --------
    >>> whole("old \ud800 file") == r"old \ud800 file", whole("élan")
    (True, 'élan')
    """
    return text.encode(errors="backslashreplace").decode()


def printable(text: str) -> str:
    """Text -> one line in which control characters, marks of direction and the like are written as ``\\x1b``."""
    return text if text.isprintable() else "".join(map(_shown, text))


def printable_lines(text: str) -> str:
    """Text of several lines -> the same lines, each printable."""
    return "\n".join(map(printable, text.split("\n")))


def tied(text: str) -> str:
    """Text -> the same with no place to break the line between a number and its sign, ``%`` or ``±``.

    Examples
    --------
    >>> tied("80 % of 5 rows")
    '80\\xa0% of 5 rows'
    """
    return re.sub(r"(?<=\d) (?=%)|(?<=±) (?=\d)", "\N{NO-BREAK SPACE}", text)


def folded(text: str) -> str:
    """A text -> what it has in common with its other spellings.

    Examples
    --------
    >>> folded(" Very  Healthy ")
    'very healthy'
    """
    return " ".join(text.split()).casefold()


def _shown(character: str) -> str:
    return character if character.isprintable() else character.encode("unicode_escape").decode()


def _is_whole(text: str) -> bool:
    """Whether UTF-8 can hold a text."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def listed(names: Iterable[Any], most: int = 8) -> str:
    """List names: ``a, b, c … (12 in all)``."""
    every = [printable(str(name)) for name in names]
    more = f" … ({len(every):,} in all)" if len(every) > most else ""
    return ", ".join(every[:most]) + more


def number_of(count: int, thing: str, things: str | None = None) -> str:
    """Count things: ``1 row``, ``2,000 rows``."""
    return f"{count:,} {thing if count == 1 else things or thing + 's'}"


def share(value: float | None) -> str:
    """Format a share: ``97.2 %``, or a dash for None."""
    return "–" if value is None else f"{value:.1%}".replace("%", " %")


def score(value: float | None) -> str:
    """Format a utility with three decimals, or a dash for None."""
    return "–" if value is None else f"{value:.3f}"
