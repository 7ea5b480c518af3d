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
# Ten times as many examples: `HYPOTHESIS_PROFILE=nightly pytest`.
settings.register_profile("nightly", deadline=None, max_examples=1000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "hedgerow"))


@pytest.fixture(scope="session")
def data_folder() -> Path:
    """The folder of real data sets: ``HEDGEROW_DATA``, or ``shared/data`` beside the project."""
    folder = Path(os.environ.get("HEDGEROW_DATA", ROOT.parent / "shared" / "data"))
    if not folder.is_dir():
        pytest.skip(f"no data sets in {folder}; set HEDGEROW_DATA to a folder that holds them")
    return folder
