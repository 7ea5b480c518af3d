"""Fixtures all tests share: where real data lie, and ``tests.reference`` importable however pytest is started."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
from hypothesis import settings

ROOT = Path(__file__).resolve().parents[1]
if str(ROOT) not in sys.path:
    sys.path.insert(0, str(ROOT))

# Before NumPy is loaded: every core has a test process, and arrays are small. The threads of BLAS wait for each
# other on busy cores: tests/fit/test_partial_fit.py and tests/belief/test_laws.py took 70 CPU seconds, now 34.
for library in ("OPENBLAS", "MKL", "OMP"):
    os.environ.setdefault(f"{library}_NUM_THREADS", "1")

# No test asserts a time: a busy machine must not turn one red.
settings.register_profile("hedgerow", deadline=None)
settings.load_profile("hedgerow")

#: `HEDGEROW_EXAMPLES=10 pytest` tries ten times as many examples of each property, drawn at random.
EXAMPLES = int(os.environ.get("HEDGEROW_EXAMPLES", "1"))


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    if EXAMPLES == 1:
        return
    # A profile would not do: it is overruled where a test says how many examples it needs.
    for test in {item.obj for item in items if item.get_closest_marker("hypothesis")}:
        few = test._hypothesis_internal_use_settings
        many = settings(few, max_examples=EXAMPLES * few.max_examples, derandomize=False)
        test._hypothesis_internal_use_settings = many


@pytest.fixture(scope="session")
def data_folder() -> Path:
    """The folder of real data sets: ``HEDGEROW_DATA``, or ``shared/data`` beside the project."""
    folder = Path(os.environ.get("HEDGEROW_DATA", ROOT.parent / "shared" / "data"))
    if not folder.is_dir():
        pytest.skip(f"no data sets in {folder}; set HEDGEROW_DATA to a folder that holds them")
    return folder
