"""Other tools work with our forests: a few of those that ``python -m benchmarks.tools`` tries every night."""

from __future__ import annotations

import importlib.util

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
