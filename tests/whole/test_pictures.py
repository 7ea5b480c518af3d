"""The pictures of README and documentation are what ``python docs/pictures.py`` draws."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest
from PIL import Image, ImageOps

DOCS = Path(__file__).resolve().parents[2] / "docs"


@pytest.fixture(scope="module")
def pictures():
    spec = importlib.util.spec_from_file_location("pictures", DOCS / "pictures.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def drawn(tmp_path_factory):
    """The pictures, drawn in another process: a process has one playwright, and tests of the report have it."""
    folder = tmp_path_factory.mktemp("pictures")
    subprocess.run([sys.executable, DOCS / "pictures.py", folder], check=True)
    return folder


@pytest.mark.parametrize(
    "name",
    [
        "abstention.png",
        "plots.png",
        "tree.png",
        "log-loss.png",
        "trees.png",
        "risk.png",
        "novelty.png",
        "unseen.png",
        "intervals.png",
        "leaves.png",
    ],
)
def test_displays_are_drawn_as_they_are_shown(pictures, drawn, name):
    assert pictures.differs(pictures.IMAGES / name, drawn / name) < 0.01, "run python docs/pictures.py"


def test_the_report_is_drawn_as_it_is_shown(pictures, drawn):
    if not (drawn / "report.png").exists():
        pytest.skip("needs Chromium")
    found = pictures.differs(pictures.IMAGES / "report.png", drawn / "report.png")
    assert found < 0.03, "run python docs/pictures.py"  # fonts differ from machine to machine


def test_another_picture_differs(pictures, tmp_path):
    shown = Image.open(pictures.IMAGES / "tree.png").convert("L")
    ImageOps.mirror(shown).save(tmp_path / "mirrored.png")
    shown.resize((shown.width // 2, shown.height)).save(tmp_path / "narrow.png")
    assert pictures.differs(pictures.IMAGES / "tree.png", tmp_path / "mirrored.png") > 0.03
    assert pictures.differs(pictures.IMAGES / "tree.png", tmp_path / "narrow.png") == 1
