"""Pictures are drawn without a screen and closed again."""

from __future__ import annotations

import pytest


@pytest.fixture(autouse=True)
def _closed_figures():
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("agg")
    yield
    matplotlib.pyplot.close("all")
