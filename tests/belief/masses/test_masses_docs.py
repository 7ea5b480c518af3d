"""The page on masses: complete, and its examples run."""

from __future__ import annotations

import doctest
from pathlib import Path

from hedgerow import belief
from hedgerow.belief import masses

PAGE = Path(__file__).resolve().parents[3] / "docs" / "explanation" / "belief.md"


def test_every_function_of_masses_is_on_the_page_and_in_hedgerow_belief():
    text = PAGE.read_text(encoding="utf-8")
    for name in masses.__all__:
        assert f"`{name}" in text, name
        assert getattr(belief, name) is getattr(masses, name)
        assert name in belief.__all__


def test_the_examples_of_the_page_run_as_printed():
    failed, attempted = doctest.testfile(str(PAGE), module_relative=False)
    assert attempted > 0
    assert failed == 0
