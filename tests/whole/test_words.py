"""Words: retired words stay out of names, and riddles stay out of docs, docstrings, comments and messages."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "src" / "hedgerow"
GLOSSARY = ROOT / "docs" / "glossary.md"

#: Public names that keep a retired word.
PUBLIC = {("belief/learn.py", "seen")}

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


def test_retired_words_stay_out_of_names() -> None:
    retired, found = retired_words(), set()
    for path in sorted(PACKAGE.rglob("*.py")):
        file = path.relative_to(PACKAGE).as_posix()
        found |= {(file, name) for name in names_in(path) if is_retired(name, retired)}
    new = found - PUBLIC
    assert not new, f"names must not use the retired words of docs/glossary.md, got {sorted(new)}"
    gone = PUBLIC - found
    assert not gone, f"names that are gone must leave the list of this test, got {sorted(gone)}"


@pytest.mark.parametrize("name", ["unite_forests", "Bagged", "_seen_so_far", "OutOfBag", "_Training", "row_numbers"])
def test_a_retired_word_is_found_inside_a_name(name: str) -> None:
    assert is_retired(name, retired_words())


@pytest.mark.parametrize("name", ["unseen", "training_rows", "TrainingRows", "grow", "n_numbers", "out_of_bag", "row"])
def test_a_name_that_only_resembles_a_retired_word_is_left_alone(name: str) -> None:
    assert not is_retired(name, retired_words())


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


def retired_words() -> tuple[str, ...]:
    """The first column of the last table of the glossary."""
    section = GLOSSARY.read_text(encoding="utf-8").split("## Retired words")[1]
    rows = [line.split("|")[1] for line in section.splitlines() if line.startswith("| `")]
    words = tuple(word for row in rows for word in re.findall(r"`(\w+)`", row))
    assert "unite" in words
    return words


def is_retired(name: str, retired: tuple[str, ...]) -> bool:
    """Whether a name is, or holds, a retired word; a word in capitals must be the whole name."""
    parts = "_" + "_".join(part.lower() for part in re.findall(r"[A-Z]?[a-z0-9]+|[A-Z]+(?![a-z])", name)) + "_"
    return any(
        name.lstrip("_") == word if word != word.lower() else f"_{word}_" in parts or f"_{word}s_" in parts
        for word in retired
    )


def names_in(path: Path) -> Iterator[str]:
    """The names of a module, its classes, functions and arguments."""
    yield path.stem
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            yield node.name
        elif isinstance(node, ast.arg):
            yield node.arg


def pages_and_modules() -> list[Path]:
    """Everything that people read: pages, modules, and the headers of the core."""
    pages = [ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")]
    pages += [*(ROOT / "docs").glob("*.md"), *(ROOT / "docs").glob("*.py"), *(ROOT / "docs" / "gallery").glob("*.py")]
    return sorted([*pages, *PACKAGE.rglob("*.py"), *(ROOT / "src").rglob("*.[ch]pp")])


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
