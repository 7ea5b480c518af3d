"""Transcripts: commands in documents -> what they print; ``python -m tests.reference.transcripts`` renews them."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

from typer.testing import CliRunner

from hedgerow.cli.app import app

_NAMES = ("how-to/command-line.md", "tutorials/hospital.md", "tutorials/credit.md")
DOCUMENTS = {name: Path(__file__).resolve().parents[2] / "docs" / name for name in _NAMES}
_BLOCK = re.compile(r"```(console|python)\n(.*?)```", re.DOTALL)


def renew(text: str) -> str:
    """A document -> the same with the output of its commands, run one after the other in the working folder."""
    return _BLOCK.sub(_renewed, text)


def steady(text: str) -> str:
    """A document -> the same without what differs from run to run and from version to version."""
    text = re.sub(r"in \d+\.\d\d s", "in 0.00 s", text)
    text = re.sub(r"\(\d\.\d\d MB\)", "(0.00 MB)", text)
    return re.sub(r"hedgerow \d\S*, format", "hedgerow 0.0.0, format", text)


def _renewed(block: re.Match[str]) -> str:
    """One block -> the same with its output; Python is run and stays as it is."""
    language, body = block.groups()
    if language == "python":
        exec(body, {})
        return block.group(0)
    commands = [line for line in body.splitlines() if line.startswith("$ ")]
    return "```console\n" + "".join(f"{line}\n{_output(line[2:])}" for line in commands) + "```"


def _output(command: str) -> str:
    """A command -> what a terminal shows, lines without trailing blanks, and the exit code where it is not 0."""
    words = shlex.split(command)
    if words[0] == "hedgerow":
        result = CliRunner().invoke(app, words[1:])
        text, code = result.output, result.exit_code
    else:
        done = subprocess.run(command, shell=True, capture_output=True, text=True)
        text, code = done.stdout + done.stderr, done.returncode
    lines = [line.rstrip() for line in text.splitlines()] + ([f"[exit code {code}]"] if code else [])
    return "".join(f"{line}\n" for line in lines)


if __name__ == "__main__":
    for document in [DOCUMENTS[name] for name in sys.argv[1:] or _NAMES]:
        text = document.read_text(encoding="utf-8")
        with tempfile.TemporaryDirectory() as folder:
            os.chdir(folder)
            document.write_text(renew(text), encoding="utf-8")
