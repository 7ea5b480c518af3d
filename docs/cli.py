"""The reference page of the command line, made from the options of `hedgerow.cli`.

``python docs/cli.py`` writes ``reference/cli.md``; a test compares them.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from inspect import Parameter, signature
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

from typer.models import ArgumentInfo

from hedgerow.cli import exit_codes
from hedgerow.cli.app import COMMANDS, command
from hedgerow.cli.options import ReadOptions

PAGE = Path(__file__).parent / "reference" / "cli.md"
#: The meaning of each exit code of `hedgerow.cli.exit_codes`.
EXIT_CODES = {
    "FINE": "success",
    "FAILURE": "failure: a file cannot be written, an optional package is not installed, there is not enough memory",
    "USAGE": "usage: an option is wrong, a file does not exist",
    "BAD_DATA": "bad data: the table cannot be read or does not fit the model",
    "BAD_MODEL": "the model file is unsafe, corrupt, or of a newer format",
    "LOOK": "`monitor`: a person should look",
    "INTERRUPTED": "stopped by Ctrl-C",
}


@dataclass(frozen=True)
class Word:
    """An argument or an option of a command."""

    name: str
    spellings: tuple[str, ...]  # none for an argument
    value: str  # "" for a flag
    help: str
    default: Any
    several: bool

    @property
    def required(self) -> bool:
        """Whether the command needs it."""
        return self.default is Parameter.empty

    def line(self) -> str:
        """Return its line of the table."""
        named = ", ".join(f"`{each}`" for each in self.spellings)
        shown = " ".join(filter(None, [named, f"`{self.value}`" if self.value else ""]))
        return f"| {shown} | {escaped(self.help)} | {self._default()} |".replace("|  |", "| |")

    def usage(self) -> str:
        """Return it as it is typed."""
        return f"{self.spellings[0]} {self.value}" if self.spellings else f"{self.value}{' …' if self.several else ''}"

    def _default(self) -> str:
        if self.required:
            return "required"
        return f"`{self.default}`" if self.value and self.default not in (None, (), "") else ""


def page() -> str:
    """Return the text of the page."""
    shared = {field.name for field in fields(ReadOptions)}
    words = {name: words_of(options) for name, options, _ in COMMANDS}
    readers = [name for name, options, _ in COMMANDS if issubclass(options, ReadOptions)]
    reading = [word for word in words[readers[0]] if word.name in shared]
    sections = [section(name, about, words[name], shared if name in readers else set()) for name, _, about in COMMANDS]
    codes = [f"| {getattr(exit_codes, name)} | {meaning} |" for name, meaning in EXIT_CODES.items()]
    return "\n".join(
        [
            "# Command-line reference\n",
            "This page is made from the options of the commands, which `hedgerow COMMAND --help` prints.",
            "The [command-line guide](../how-to/command-line.md) has examples,",
            "and [files and spreadsheets](../how-to/files.md) describes the tables that commands read.",
            "`hedgerow --version` prints the version.\n",
            *sections,
            "## Options about tables\n",
            f"{listed(readers)} also take these options:\n",
            table(reading),
            "\n## Exit codes\n",
            "| code | meaning |\n|---|---|",
            *codes,
            "",
        ]
    )


def words_of(options: Any) -> list[Word]:
    """Return the arguments and options of a command: arguments first, then options in the order of its help."""
    parameters = signature(command(options, lambda _: None)).parameters.values()
    return sorted((word_of(each) for each in parameters), key=lambda word: bool(word.spellings))


def word_of(parameter: Parameter) -> Word:
    """Return a parameter of a command as its reader sees it."""
    kind, info = get_args(parameter.annotation)
    kinds = {kind, *get_args(kind)}
    several, flag = any(get_origin(each) is list for each in kinds), bool in kinds
    spellings: tuple[str, ...] = ()
    if not isinstance(info, ArgumentInfo):
        given = [each for each in (info.default, *(info.param_decls or ())) if isinstance(each, str)]
        declared = [name for each in given for name in each.split("/")]
        spellings = tuple(declared) or (f"--{parameter.name.replace('_', '-')}",)
    choices = get_args(kind) if get_origin(kind) is Literal else ()
    typed = "NUMBER" if kinds & {int, float} else "PATH" if Path in kinds else "TEXT"
    value = info.metavar or " or ".join(choices) or (typed if spellings else parameter.name.upper())
    return Word(parameter.name, spellings, "" if flag else value, info.help, parameter.default, several)


def section(name: str, about: str, words: list[Word], left_out: set[str]) -> str:
    """Return the section of a command: purpose, usage, arguments and options."""
    usage = " ".join([f"hedgerow {name}", *(word.usage() for word in words if word.required), "[OPTIONS]"])
    note = "\nIt also takes the [options about tables](#options-about-tables).\n" if left_out else ""
    rows = table([word for word in words if word.name not in left_out])
    return f"## {name}\n\n{escaped(about)}\n\n```sh\n{usage}\n```\n\n{rows}\n{note}"


def table(words: list[Word]) -> str:
    """Return the table of arguments and options."""
    return "\n".join(["| option | meaning | default |", "|---|---|---|", *(word.line() for word in words)])


def escaped(text: str) -> str:
    """Return text that Markdown shows as it is."""
    return text.replace("|", "\\|").replace("*", "\\*").replace("<", "&lt;").replace("--", "\\-\\-")


def listed(commands: list[str]) -> str:
    """Return the names of commands as the subject of a sentence."""
    return f"{', '.join(f'`{name}`' for name in commands[:-1])} and `{commands[-1]}`"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
