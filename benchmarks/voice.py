"""Counts of phrases that the style guide replaces, in pages and in sources.

python -m benchmarks.voice [--tree PATH] [--list NAME]

Counts lines, as ``git grep`` does, in the pages (both READMEs, CONTRIBUTING, CHANGELOG, ``docs``) and in ``src``.
Command output quoted on the pages is part of the count. The last column counts the lines of both that `LEGITIMATE`
does not explain. ``--tree`` measures another checkout; ``--list decimals`` prints the lines of one row, with a
star where they are not explained.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PAGES = ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "docs", "benchmarks/README.md")
KINDS = {".md", ".rst", ".py", ".hpp", ".cpp", ".html", ".js", ".css"}

PATTERNS = {
    "so many": r"\b[Ss]o (many|few|much|large|small|long|deep|seldom)\b",
    "decimals": r"(^|[ (±×−+≤≥=~{])\.[0-9]",
    "percent": r"[0-9}] %",
    "reserve": r"in reserve|unseen rows|reserves?\b",
    "map": r"\b(map of prob|a map\b|the map\b|its map|no map|any map|mapped)",
    "stranger": r"[Ss]trang(er|est|e\b)",
    "doubt": r"\b[Dd]oubt(ful|s)?\b",
    "outside bags": (
        r"(have|has|had) not seen|whose bags? do(es)? not|outside (the|its|their|some) bags?|rows outside"
    ),
    "got others": r"got (others?|none|something else|one that|some\b|another|other [a-z]+)",
    "refuse": r"\b[Rr]efuse[sd]?\b",
    "is there": r"\b(is|are|not) there\b",
    "what-summary": r'"""(What|How|Where|Whether|Which) ',
    "what-clause": r"[ (](of|on|by|with|from|to|than|is|are|holds?) what ",
    "is said": r"\b(is|are|was|were) (said|told|asked|looked at|called so)\b",
    "left open": r"left open|leaves? [a-z]* ?open|open (case|row)s?\b",
    "several outputs": r"several outputs",
    "beside": r"\b[Bb]eside\b",
    "room": r"\brooms?\b",
    "promise": r"\b[Pp]romis(e|es|ed)\b",
    "arrow summary": r'^"""[A-Z][A-Za-z -]+: .*->',
}

#: Uses of a phrase in its ordinary or technical sense, as regular expressions of "file: line".
LEGITIMATE = {
    "decimals": r"[{:][~+]?\.[0-9][f%]|~\.3f|\+\.[0-9]f|\.632|\.hedgerow-",  # formats, the .632 estimator, CSS
    "percent": r"\{% |5 % and|80 % of",  # templates; text that people write in tables
    "reserve": r"\breserve\(|preserves|^CHANGELOG",  # std::vector; renames
    "map": r"memory|mapped|plot/proximity|structure/spectrum|ProximityMap",  # files in memory; pictures of rows
    "stranger": r"benchmarks\.strangers|`strangers`|^benchmarks/README.md: \* strangers|^CHANGELOG",
    "doubt": r"benchmarks\.doubt|`doubt`|the doubt tables|^CHANGELOG",
    "outside bags": r"inside or outside the bag",
    "got others": r"got none (for|at) leaf",
    "refuse": r"^docs/tutorials/credit",  # an action of the example
    "what-summary": r'"""Whether ',  # properties that are true or false
    "is said": r"was told to stop",  # a thread
    "left open": r"(paper|details it) leaves open",
    "room": r"^(?!.*\b(rooms|(an?|the|each|every|its|other|this|which) room)\b)",  # headroom, not a layer
}


def main() -> int:
    """Print one row for each pattern: lines in the pages, in the sources, and without an explanation."""
    options = _options()
    if options.list:
        for place, number, line in _hits(options.tree, (*PAGES, "src"), PATTERNS[options.list]):
            print(f"{' ' if is_legitimate(options.list, place, line) else '*'} {place}:{number}: {line.strip()}")
        return 0
    print(f"{'phrase':<16} {'pages':>6} {'src':>6} {'unexplained':>12}")
    totals = [0, 0, 0]
    for name, pattern in PATTERNS.items():
        hits = [list(_hits(options.tree, places, pattern)) for places in (PAGES, ("src",))]
        wrong = sum(not is_legitimate(name, place, line) for place, _, line in (*hits[0], *hits[1]))
        counts = [len(hits[0]), len(hits[1]), wrong]
        totals = [total + count for total, count in zip(totals, counts, strict=True)]
        print(f"{name:<16} {counts[0]:>6} {counts[1]:>6} {counts[2]:>12}")
    print(f"{'sum':<16} {totals[0]:>6} {totals[1]:>6} {totals[2]:>12}")
    return 0


def unexplained(tree: Path = ROOT) -> list[str]:
    """Return "phrase: file:line: text" of each hit that `LEGITIMATE` does not explain."""
    return [
        f"{name}: {place}:{number}: {line.strip()}"
        for name, pattern in PATTERNS.items()
        for place, number, line in _hits(tree, (*PAGES, "src"), pattern)
        if not is_legitimate(name, place, line)
    ]


def is_legitimate(name: str, place: str, line: str) -> bool:
    """Check whether a line uses a phrase in its ordinary or technical sense."""
    return name in LEGITIMATE and re.search(LEGITIMATE[name], f"{place}: {line}") is not None


def _options() -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.voice", description=__doc__)
    parser.add_argument("--tree", type=Path, default=ROOT, help="a checkout to measure")
    parser.add_argument("--list", choices=PATTERNS, help="print the lines of one pattern")
    return parser.parse_args()


def _hits(tree: Path, places: tuple[str, ...], pattern: str) -> Iterator[tuple[str, int, str]]:
    """Yield file, line number and line of every tracked text file that matches."""
    found = re.compile(pattern)
    listed = subprocess.run(["git", "ls-files", *places], cwd=tree, capture_output=True, text=True, check=True).stdout
    for name in listed.splitlines():
        path = tree / name
        if path.suffix in KINDS and path.is_file():
            for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
                if found.search(line):
                    yield name, number, line


if __name__ == "__main__":
    sys.exit(main())
