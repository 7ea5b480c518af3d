"""What tests on a cluster share: processes that begin with the libraries of others imported."""

from __future__ import annotations

from multiprocessing import forkserver, get_all_start_methods, set_forkserver_preload

import pytest

#: What a worker imports anyway, in two CPU seconds. Not hedgerow: tests look at what tasks make workers import.
IMPORTED = ["dask.array", "dask.dataframe", "distributed", "pandas", "scipy.stats", "sklearn.base", "sklearn.pipeline"]


@pytest.fixture(scope="session")
def start_method() -> str:
    """How processes begin: as copies of one that has imported much, or anew where a system cannot copy processes.

    The tests that kill workers took 27 CPU seconds with processes that begin anew, and take 17.
    """
    if "forkserver" not in get_all_start_methods():
        return "spawn"
    set_forkserver_preload(IMPORTED)
    forkserver.ensure_running()
    return "forkserver"
