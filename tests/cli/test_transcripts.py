"""Pages with commands show what the commands print."""

from __future__ import annotations

import pytest
from tests.reference.transcripts import DOCUMENTS, renew, steady


@pytest.mark.parametrize("name", DOCUMENTS)
def test_transcripts_are_what_the_commands_print(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    written = DOCUMENTS[name].read_text(encoding="utf-8")
    assert steady(renew(written)) == steady(written)
    assert "$ hedgerow" in written
