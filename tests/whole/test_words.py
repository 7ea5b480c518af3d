"""Words: riddles stay out of docs, docstrings, comments and messages."""

from __future__ import annotations

import io
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

import pytest
from benchmarks.voice import PATTERNS, is_legitimate, unexplained

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "src" / "hedgerow"

#: Phrases that make a sentence a riddle, as regular expressions; upper and lower case differ, so that None is allowed.
RIDDLES = (
    r"(?<!there )\b(?:is|are) none\b(?! of these)",
    r"\bof now\b",
    r"\bwhatever dies\b",
    r"\bhears\b",
    r"\bby nobody\b",
    r"\bnobody offers\b",
    r"\bwho (?:loads|reads|gets|never)\b",
    r"\bsa(?:ys?|id) of (?:it|itself|them|themselves)\b",
    r"\bhad better\b",
    r"\bif need be\b",
    r"\bunless told\b",
    r"\bgo(?:es)? on from there\b",
    r"\btells? nothing\b",
    r"\b(?:and|or) its kin\b",
    r"\bthat are there already\b",
    r"\bnever saw\b",
    r"\bfor those who\b",
    r"\bmust go with(?:out)?\b",
    r"\bgot one that is none\b",
    r"\bnought times\b",
    r"\bas (?:it|they) lies?\b",
    r"\b(?:of numbers, None|None of numbers)\b",
    r"\btold otherwise\b",
    r"\bwhatever the (?:parameter|user) says\b",
    r"\bwere it a\b",
    r"\bled astray\b",
    r"\bS[01]'s\b",
)


def test_no_riddles_in_what_people_read() -> None:
    pattern = re.compile("|".join(RIDDLES))
    found = [
        f"{path.relative_to(ROOT)}:{line}: {match.group()!r}"
        for path in pages_and_modules()
        for line, text in texts_in(path)
        for match in pattern.finditer(text)
    ]
    assert not found, "rewrite these in plain English:\n" + "\n".join(found)


@pytest.mark.parametrize("said", ["switches that are none", "who loads hears one exception", "the parameters of now"])
def test_a_riddle_is_found(said: str) -> None:
    assert re.search("|".join(RIDDLES), said)


def test_pages_and_sources_have_no_retired_phrases() -> None:
    assert not (found := unexplained()), "\n".join(found)


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("so many", "cut into so many bins"),
        ("decimals", "a share of .05"),
        ("percent", "98.6 % of the rows"),
        ("reserve", "unseen rows in reserve"),
        ("doubt", "its doubt is small"),
        ("room", "rules are a room of their own"),
        ("left open", "rows that are left open"),
        ("what-summary", '"""What a leaf holds."""'),
    ],
)
def test_a_retired_phrase_is_found(name: str, line: str) -> None:
    assert re.search(PATTERNS[name], line)
    assert not is_legitimate(name, "src/hedgerow/errors.py", line)


def pages_and_modules() -> list[Path]:
    """Everything that people read: pages, modules, and the headers of the core."""
    pages = [ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "benchmarks/README.md")]
    pages += [*written_pages(), *(ROOT / "docs").glob("*.py"), *(ROOT / "docs" / "gallery").glob("*.py")]
    return sorted([*pages, *PACKAGE.rglob("*.py"), *(ROOT / "src").rglob("*.[ch]pp")])


def written_pages() -> list[Path]:
    """Return the pages of the site, without those that a build makes."""
    made = {ROOT / "docs" / name for name in ("reference/api", "reference/methods", "tutorials/examples")}
    return sorted(page for page in (ROOT / "docs").rglob("*.md") if not made & set(page.parents))


def texts_in(path: Path) -> Iterator[tuple[int, str]]:
    """Lines of a page or header, or comments and strings of a module, each with the number of its line."""
    text = path.read_text(encoding="utf-8")
    if path.suffix != ".py":
        yield from enumerate(text.splitlines(), 1)
        return
    kinds = {tokenize.COMMENT, tokenize.STRING, getattr(tokenize, "FSTRING_MIDDLE", tokenize.STRING)}
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type in kinds:
            yield token.start[0], " ".join(token.string.split())
