"""Engine: the same forest, bit for bit, on a cluster that is not Dask."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from itertools import pairwise
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from tests.cluster.futures_engine import FuturesEngine
from tests.cluster.tables import FEATURES, LITTLE, N_ROWS, assert_same_bytes, each_kind, make_frame

import hedgerow
from hedgerow.cli.options import ModelOptions
from hedgerow.cluster.estimators import fit_on_cluster
from hedgerow.fit.distributed import add_arrays
from hedgerow.forest.nodes import SUBSET

ROOT = Path(__file__).resolve().parents[2]


def threads() -> Executor:
    return ThreadPoolExecutor(2)


class Lent(Executor):
    """An executor that an engine uses and does not end: the next test finds its processes, with all their imports."""

    def __init__(self, executor: Executor) -> None:
        self.executor = executor

    def submit(self, *asked: Any, **named: Any) -> Future[Any]:
        return self.executor.submit(*asked, **named)


@pytest.fixture(scope="module")
def processes(start_method: str) -> Iterator[Executor]:
    with ProcessPoolExecutor(2, mp_context=get_context(start_method)) as executor:
        yield Lent(executor)


def in_parts(frame: pd.DataFrame, lengths: list[int], target: str, weight: str | None = None) -> list[Any]:
    """A frame -> partitions of these lengths, which hold features, targets and weights."""
    frame = frame[[*FEATURES, target, *([] if weight is None else [weight])]]
    return [(frame.iloc[first:last], None, None, target, weight) for first, last in pairwise(np.cumsum([0, *lengths]))]


def fit_both(
    name: str,
    target: str,
    weight: str | None = None,
    *,
    make: Callable[[], Executor] = threads,
    gather_bytes: int | None = LITTLE,
    frame: pd.DataFrame | None = None,
    **parameters: Any,
) -> tuple[Any, Any]:
    """The same estimator fitted here and by the engine."""
    frame = make_frame() if frame is None else frame
    here, there = (getattr(hedgerow, name)(random_state=1, **parameters) for _ in range(2))
    here.fit(frame[FEATURES], frame[target], None if weight is None else frame[weight])
    parts = in_parts(frame, [700, 0, 1_000, 700], target, weight)
    fit_on_cluster(there, parts, FuturesEngine(make(), 2), gather_bytes=gather_bytes)
    return here, there


@each_kind
def test_every_kind_of_tree_is_the_same_on_another_engine(
    name: str, target: str, weight: str | None, parameters: dict[str, Any]
) -> None:
    assert_same_bytes(*fit_both(name, target, weight, **parameters))


@pytest.mark.parametrize(
    ("name", "target"),
    [("RandomForestClassifier", "class"), ("ExtraTreesClassifier", "two"), ("RandomForestRegressor", "number")],
)
def test_splits_that_list_categories_are_the_same_on_another_engine(name: str, target: str) -> None:
    frame, rng = make_frame(), np.random.default_rng(2)
    frame["size"] = pd.Categorical(rng.integers(0, 700, len(frame)))
    frame.loc[rng.random(len(frame)) < 0.1, "size"] = None
    frame["number"] += frame["size"].isin(range(0, 700, 9))
    here, there = fit_both(name, target, frame=frame, n_estimators=2)
    nodes = here.forest_.structure
    assert nodes.has_lists
    assert (nodes.code[nodes.splits(SUBSET)] == 0).any()
    assert_same_bytes(here, there)


@pytest.mark.parametrize("gather_bytes", [LITTLE, None], ids=["tops", "gathered"])
@pytest.mark.parametrize(("name", "target"), [("RandomForestClassifier", "class"), ("RandomForestRegressor", "number")])
def test_plain_processes_grow_the_same_forest(
    processes: Executor, name: str, target: str, gather_bytes: int | None
) -> None:
    how = {"make": lambda: processes, "gather_bytes": gather_bytes}
    assert_same_bytes(*fit_both(name, target, "weight", **how, n_estimators=2, max_depth=6))


class RunsAgain(FuturesEngine):
    """After each task, an earlier one is run again, as if its result had been lost."""

    def __init__(self, executor: Executor, n_workers: int) -> None:
        super().__init__(executor, n_workers)
        self.ran: list[tuple[Any, Any]] = []
        self.rng = np.random.default_rng(0)

    def _submit(self, function: Any, arguments: Any) -> Any:
        self.ran.append((function, arguments))
        task = super()._submit(function, arguments)
        super()._submit(*self.ran[self.rng.integers(len(self.ran))]).result()
        return task


@pytest.mark.parametrize(("name", "target"), [("RandomForestClassifier", "class"), ("RandomForestRegressor", "number")])
def test_the_forest_does_not_depend_on_what_pieces_remember(name: str, target: str) -> None:
    frame = make_frame()
    here, there = (getattr(hedgerow, name)(3, random_state=1) for _ in range(2))
    here.fit(frame[FEATURES], frame[target])
    fit_on_cluster(there, in_parts(frame, [700, 1_700], target), RunsAgain(threads(), 2), gather_bytes=LITTLE)
    assert_same_bytes(here, there)


def test_a_forest_of_another_engine_is_an_ordinary_one() -> None:
    frame = make_frame()
    here, there = fit_both("RandomForestClassifier", "class", n_estimators=3)
    assert np.array_equal(here.predict_bounds(frame[FEATURES]), there.predict_bounds(frame[FEATURES]))
    for model in (here, there):
        model.partial_fit(frame[FEATURES][:50], frame["class"][:50])
    assert np.array_equal(here.forest_.counts, there.forest_.counts)


class _Unreadable(pd.DataFrame):
    def __len__(self) -> int:
        raise OSError("no such disk")


def test_errors_name_the_partition_and_leave_the_estimator_as_it_was() -> None:
    frame, forest = make_frame(), hedgerow.RandomForestClassifier(2)
    parts = in_parts(frame, [800, 1_600], "class")
    unreadable = (_Unreadable(frame[FEATURES]), frame["class"], None)
    with pytest.raises(hedgerow.errors.ClusterError, match=r"partition 2 \(see\) failed: .*no such disk"):
        fit_on_cluster(forest, [*parts, unreadable], FuturesEngine(threads(), 2))
    weighed = [(frame[FEATURES], frame["class"], sign * frame["weight"]) for sign in (1, -1)]
    with pytest.raises(ValueError, match=r"partition 1 \(see\): sample_weight must be >= 0"):
        fit_on_cluster(forest, weighed, FuturesEngine(threads(), 2))
    with pytest.raises(ValueError, match="oob_score must be False on futures, got True"):
        fit_on_cluster(hedgerow.RandomForestClassifier(oob_score=True), parts, FuturesEngine(threads(), 2))
    assert not hasattr(forest, "forest_")


def finished(engine: FuturesEngine, asking: ModelOptions) -> Any:
    """Wait for all tasks that are asked for -> what is returned in the end."""
    while True:
        try:
            info = next(asking)
        except StopIteration as end:
            return end.value
        assert set(engine.as_finished(info)) == set(info)


def test_what_follows_from_the_abstract_methods() -> None:
    with FuturesEngine(threads(), 2) as engine:
        numbers = engine.each("number", np.arange, range(1, 20))
        assert [len(each) for each in engine.gather(numbers, "number {}")] == list(range(1, 20))
        assert engine.fetch(engine.one("one", max, 3, engine.put("put", 7)), "the greatest") == 7
        ones = engine.each("ones", np.ones, [3] * 100)
        assert engine.fetch(engine.sum("ones", ones, add_arrays), "the sum").tolist() == [100] * 3
        for n_parts in (3, 20):
            total = finished(
                engine, engine.total("shared", np.full, [4] * n_parts, engine.put("two", 2), add=add_arrays)
            )
            assert total.tolist() == [2 * n_parts] * 4
        assert set(engine.as_finished(dict.fromkeys(numbers, "a number"))) == set(numbers)
        with pytest.raises(TypeError, match=r"^partition 1 \(wrong\): "):
            finished(engine, engine.total("wrong", np.full, [2, "x"], 1, add=add_arrays))


def test_only_dask_needs_dask(tmp_path: Path) -> None:
    """Without Dask, all but the modules that know it can be imported, and another engine fits forests."""
    program = f"""
import sys
sys.modules["dask"] = sys.modules["distributed"] = None
sys.path.insert(0, {str(ROOT)!r})
from concurrent.futures import ThreadPoolExecutor
import numpy as np
import hedgerow
from hedgerow.cluster.estimators import fit_on_cluster
from tests.cluster.futures_engine import FuturesEngine

X = np.random.default_rng(0).normal(size=({N_ROWS}, 3))
y = X[:, 0] > 0
forest = hedgerow.RandomForestClassifier(2, random_state=0)
fit_on_cluster(forest, [(X[:900], y[:900], None), (X[900:], y[900:], None)], FuturesEngine(ThreadPoolExecutor(1), 1))
print(np.array_equal(forest.predict(X), hedgerow.RandomForestClassifier(2, random_state=0).fit(X, y).predict(X)))
try:
    import hedgerow.dask
except ImportError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("True\nhedgerow.dask requires dask and distributed. Install them with pip install")
