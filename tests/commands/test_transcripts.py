"""The page about the command line shows what the commands print."""

from __future__ import annotations

from tests.reference.transcripts import DOCUMENT, renew, steady


def test_transcripts_are_what_the_commands_print(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    written = DOCUMENT.read_text(encoding="utf-8")
    assert steady(renew(written)) == steady(written)
    assert "[exit code 4]" in written
