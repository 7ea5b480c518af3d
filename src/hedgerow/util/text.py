"""Text: checks of encoding, and safe display."""

from __future__ import annotations

import re
from collections.abc import Iterable


def require_text(values: Iterable[object], subject: str) -> None:
    """Raise if text has half of a surrogate pair, which UTF-8 cannot encode."""
    for value in values:
        if isinstance(value, str) and not _is_whole(value):
            raise ValueError(
                f"{subject} must be text that UTF-8 can encode, got {value!r} with half of a surrogate pair."
                " Correct the text, or read its file with the right encoding."
            )


def whole(text: str) -> str:
    r"""Escape halves of surrogate pairs, which UTF-8 cannot encode.

    Examples
    --------
    >>> whole("old \ud800 file") == r"old \ud800 file", whole("élan")
    (True, 'élan')
    """
    return text.encode(errors="backslashreplace").decode()


def printable(text: str) -> str:
    """Return one line with control and other unprintable characters escaped."""
    return text if text.isprintable() else "".join(map(_shown, text))


def printable_lines(text: str) -> str:
    """Return the same lines, each printable."""
    return "\n".join(map(printable, text.split("\n")))


def tied(text: str) -> str:
    """Replace spaces between a number and ``%`` or ``±`` by no-break spaces.

    Examples
    --------
    >>> tied("80 % of 5 rows")
    '80\\xa0% of 5 rows'
    """
    return re.sub(r"(?<=\d) (?=%)|(?<=±) (?=\d)", "\N{NO-BREAK SPACE}", text)


def folded(text: str) -> str:
    """Normalise spaces and case, for comparison with other spellings.

    Examples
    --------
    >>> folded(" Very  Healthy ")
    'very healthy'
    """
    return " ".join(text.split()).casefold()


def _shown(character: str) -> str:
    return character if character.isprintable() else character.encode("unicode_escape").decode()


def _is_whole(text: str) -> bool:
    """Return whether UTF-8 can encode a text."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def listed(names: Iterable[object], most: int = 8) -> str:
    """List names: ``a, b, c … (12 in all)``."""
    every = [printable(str(name)) for name in names]
    more = f" … ({len(every):,} in all)" if len(every) > most else ""
    return ", ".join(every[:most]) + more


def number_of(count: int, thing: str, things: str | None = None) -> str:
    """Count things: ``1 row``, ``2,000 rows``."""
    return f"{count:,} {thing if count == 1 else things or thing + 's'}"


def in_groups(count: int | None) -> str:
    """Continue a number of rows: `` in 3 groups``, or nothing without groups."""
    return f" in {number_of(count, 'group')}" if count else ""


def share(value: float | None) -> str:
    """Format a share: ``97.2%``, or a dash for None."""
    return "–" if value is None else f"{value:.1%}"


def score(value: float | None) -> str:
    """Format a utility with three decimals, or a dash for None."""
    return "–" if value is None else f"{value:.3f}"
