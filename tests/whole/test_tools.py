"""Other tools work with our forests: a few of those that ``python -m benchmarks.tools`` tries every night."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest
from benchmarks import tools

#: Names of modules that differ from those of their packages.
MODULES = {"quantile-forest": "quantile_forest", "scikit-learn": "matplotlib"}


@pytest.mark.parametrize("name", tools.QUICK)
@pytest.mark.filterwarnings("ignore")
def test_a_tool_works(name: str) -> None:
    if importlib.util.find_spec(MODULES.get(name, name)) is None:
        pytest.skip(f"{name} is not installed")
    tools.TOOLS[name]()


def test_there_are_forty_tools_and_reasons_are_about_tools() -> None:
    assert len(tools.TOOLS) >= 40
    assert set(tools.REASONS) <= set(tools.TOOLS)


#: They read tables of the data folder, and have nothing to do without it.
OF_REAL_DATA = ("accuracy", "doubt", "doubt_small", "monitor", "risk", "suggest", "unknown")


def test_benchmarks_without_data_say_so_and_end(tmp_path: Path) -> None:
    runs = "".join(f"from benchmarks import {name}\n{name}.main(['--data', '.'])\n" for name in OF_REAL_DATA)
    known = os.environ | {
        "PYTHONPATH": str(Path(__file__).parents[2])
    }  # in a process of its own: they switch off logging
    done = subprocess.run([sys.executable, "-c", runs], cwd=tmp_path, env=known, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    said = (
        "skipped: the data folder must hold schema.json, got .; name it with --data DIR or in the environment variable"
        " HEDGEROW_DATA"
    )
    assert done.stdout.splitlines() == [said] * len(OF_REAL_DATA)
