"""Dask: the same forest, bit for bit, however the rows are partitioned and whichever worker dies."""

from __future__ import annotations

import _thread
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from functools import partial
from itertools import pairwise
from typing import Any

import cloudpickle
import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

dask = pytest.importorskip("dask")
da = pytest.importorskip("dask.array")
dd = pytest.importorskip("dask.dataframe")
distributed = pytest.importorskip("distributed")

from dask import compute, delayed  # noqa: E402
from dask.sizeof import sizeof  # noqa: E402
from tests.cluster.tables import FEATURES, LITTLE, N_ROWS, assert_same_bytes, each_kind, make_frame  # noqa: E402

import hedgerow  # noqa: E402
import hedgerow.dask  # noqa: E402
from hedgerow.cli.app import _with_address, app  # noqa: E402
from hedgerow.cluster.dask_engine import DaskEngine  # noqa: E402
from hedgerow.cluster.estimators import checked_target, fit_on_cluster, settings_of  # noqa: E402
from hedgerow.cluster.forest import join_small  # noqa: E402
from hedgerow.cluster.limits import (  # noqa: E402
    Worker,
    limits_for,
    rows_from,
)
from hedgerow.cluster.part import join_parts  # noqa: E402
from hedgerow.cluster.partitions import partitions_from  # noqa: E402
from hedgerow.cluster.training import ClusterTable, read_on_cluster  # noqa: E402
from hedgerow.inference.fitted import fitted_of  # noqa: E402


@pytest.fixture(scope="module", autouse=True)
def quick_workers(start_method: str) -> Iterator[None]:
    """Workers begin quickly, and do not look a hundred times a second at what they do."""
    options = {"multiprocessing-method": start_method, "profile.enabled": False}
    with dask.config.set({f"distributed.worker.{name}": value for name, value in options.items()}):
        yield


@pytest.fixture(scope="module")
def client() -> Iterator[Any]:
    options = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": ":0"}
    with distributed.LocalCluster(**options) as cluster, distributed.Client(cluster) as client:
        yield client


def in_parts(frame: pd.DataFrame, lengths: list[int]) -> Any:
    """A frame -> the same on Dask, with partitions of these lengths."""
    ends = np.cumsum([0, *lengths])
    parts = [delayed(frame.iloc[first:last]) for first, last in pairwise(ends)]
    return dd.from_delayed(parts, meta=frame.iloc[:0], verify_meta=False)


def fit_both(
    name: str,
    target: str,
    lengths: list[int],
    weight: str | None = None,
    gather_bytes: int = LITTLE,
    groups: np.ndarray | None = None,
    **parameters: Any,
) -> tuple[Any, Any]:
    """The same estimator fitted here and on the cluster."""
    frame = make_frame().assign(group=groups)
    X = frame[FEATURES]
    here = getattr(hedgerow, name)(random_state=1, **parameters)
    here.fit(X, frame[target], None if weight is None else frame[weight], groups=groups)
    there = getattr(hedgerow.dask, name)(random_state=1, **parameters)
    parts = in_parts(frame, lengths)
    weights = None if weight is None else parts[weight]
    labels = None if groups is None else parts["group"]
    there.fit(parts[FEATURES], parts[target], weights, gather_bytes=gather_bytes, groups=labels)
    return here, there


def read_table(engine: DaskEngine, estimator: Any, X: Any, y: Any) -> ClusterTable:
    """Dask collections -> what a fit of an estimator makes of them before it grows trees."""
    target, settings_for = checked_target(estimator), partial(settings_of, estimator)
    return read_on_cluster(engine, partitions_from(X, y).each, target, settings_for)


@pytest.mark.parametrize("n_parts", [1, 2, 7, 16])
def test_a_forest_does_not_depend_on_its_partitions(client: Any, n_parts: int) -> None:
    lengths = np.diff(np.linspace(0, N_ROWS, n_parts + 1).astype(int)).tolist()
    assert_same_bytes(*fit_both("RandomForestClassifier", "class", lengths, n_estimators=2))


def test_partitions_may_be_empty_lack_a_class_or_be_a_hundred_times_as_long_as_others(client: Any) -> None:
    frame = make_frame().sort_values("class", ignore_index=True)
    lengths = [0, 20, 2_000, 0, 380]
    X, y = frame[["a", "b"]], frame["class"]
    here = hedgerow.RandomForestClassifier(3, random_state=0).fit(X, y)
    parts = in_parts(frame, lengths)
    there = hedgerow.dask.RandomForestClassifier(3, random_state=0)
    assert_same_bytes(here, there.fit(parts[["a", "b"]], parts["class"], gather_bytes=LITTLE))


@each_kind
def test_every_kind_of_tree_is_the_same_on_the_cluster(
    client: Any, name: str, target: str, weight: str | None, parameters: dict[str, Any]
) -> None:
    assert_same_bytes(*fit_both(name, target, [700, 1_000, 700], weight, **parameters))


def row_groups(kind: str) -> np.ndarray:
    """Groups of one to twenty rows, in any order."""
    numbers = np.random.default_rng(3).integers(0, 240, N_ROWS)
    return {"numbers": numbers, "text": np.array([f"p{k}" for k in numbers]), "alone": np.arange(N_ROWS)}[kind]


@pytest.mark.parametrize(
    ("name", "target", "weight", "parameters"),
    [
        ("RandomForestClassifier", "class", "weight", {"class_weight": "balanced", "leaf_counts": "inbag"}),
        ("RandomForestClassifier", "two", None, {"class_weight": "balanced_subsample"}),
        ("ExtraTreesClassifier", "two", None, {"bootstrap": True, "max_depth": 6}),
        ("RandomForestRegressor", "number", "weight", {"max_depth": 4}),
    ],
)
def test_forests_with_groups_are_the_same_on_the_cluster(
    client: Any, name: str, target: str, weight: str | None, parameters: dict[str, Any]
) -> None:
    how = parameters | {"n_estimators": 2, "groups": row_groups("text")}
    here, there = fit_both(name, target, [700, 0, 1_000, 700], weight, **how)
    assert_same_bytes(here, there)
    assert fitted_of(there).origins == fitted_of(here).origins
    frame = make_frame()
    weights = None if weight is None else frame[weight]
    plain = getattr(hedgerow, name)(2, random_state=1, **parameters).fit(frame[FEATURES], frame[target], weights)
    assert plain.forest_.arrays()["nodes"].tobytes() != there.forest_.arrays()["nodes"].tobytes()


@pytest.mark.parametrize("kind", ["numbers", "alone"])
@pytest.mark.parametrize(("gather_bytes", "bootstrap"), [(LITTLE, True), (1 << 20, True), (1 << 20, "multinomial")])
def test_groups_on_a_cluster_are_those_of_one_machine(
    client: Any, gather_bytes: int, kind: str, bootstrap: bool | str
) -> None:
    lengths = [100, 1_300, 1_000]
    how = {"n_estimators": 4, "gather_bytes": gather_bytes, "groups": row_groups(kind), "bootstrap": bootstrap}
    how |= {"max_samples": 100}
    assert_same_bytes(*fit_both("RandomForestClassifier", "two", lengths, **how))
    here, there = fit_both("RandomForestRegressor", "number", lengths, **how)
    X = make_frame()[FEATURES]
    for method in ("scaled", "jackknife+"):
        found, expected = (each.predict_interval(X, method=method) for each in (there.to_local(), here))
        np.testing.assert_array_equal(found, expected)


def test_groups_may_be_a_column_an_array_or_part_of_a_file(client: Any, tmp_path: Any) -> None:
    frame = make_frame().assign(group=row_groups("text"))
    X, y, groups = frame[["a", "b"]], frame["two"], frame["group"]
    here = hedgerow.RandomForestClassifier(3, random_state=0).fit(X, y, groups=groups)
    parts = in_parts(frame, [1_000, 1_400])
    make = partial(hedgerow.dask.RandomForestClassifier, 3, random_state=0)
    assert_same_bytes(here, make().fit(parts[["a", "b", "group"]], parts["two"], groups="group"))
    frame[["a", "b", "two", "group"]].to_parquet(tmp_path / "t.parquet")
    assert_same_bytes(here, make().fit_parquet(str(tmp_path / "t.parquet"), "two", groups="group"))
    there = make().fit(
        *(da.from_array(each.to_numpy(), chunks=1_200) for each in (X, y)),
        groups=da.from_array(groups.to_numpy(), chunks=1_200),
    )
    here = hedgerow.RandomForestClassifier(3, random_state=0).fit(X.to_numpy(), y, groups=groups)
    assert_same_bytes(here, there)
    with pytest.raises(ValueError, match="groups must be a column of X"):
        make().fit(parts[["a", "b"]], parts["two"], groups="nobody")
    with pytest.raises(TypeError, match="groups must be a dask array or series"):
        make().fit(parts[["a", "b"]], parts["two"], groups=groups)
    with pytest.raises(ValueError, match="leaf_counts='groups' is not supported on a cluster"):
        make(leaf_counts="groups").fit(parts[["a", "b"]], parts["two"], groups=parts["group"])


def test_a_small_table_is_gathered_whole_and_its_trees_are_the_same(client: Any) -> None:
    grown = fit_both("RandomForestClassifier", "two", [800, 1_600], None, 1 << 20, n_estimators=4, max_leaf_nodes=9)
    assert_same_bytes(*grown)


def test_what_is_gathered_follows_from_the_memory_of_the_smallest_worker(client: Any) -> None:
    large, small = (Worker(gigabytes << 30, 4) for gigabytes in (16, 4))
    assert limits_for([large, small]) == ((1024 - 64 << 20) // 8, (1024 - 64 << 20) // 16, 32 << 20, 16 << 20)
    assert limits_for([large]).sum_bytes == limits_for([]).sum_bytes == 64 << 20
    tiny = limits_for([Worker(100 << 20, 1)])
    assert tiny.gather_bytes > tiny.sum_bytes > 100_000
    assert limits_for([Worker(0, 1)]) == limits_for([])
    with DaskEngine(client) as engine:
        assert limits_for(engine.workers()).gather_bytes > 0


@pytest.mark.parametrize("index", ["numbered", "from zero in each", "shuffled"])
def test_frames_from_different_sources_belong_together_partition_by_partition(client: Any, index: str) -> None:
    frame, lengths = make_frame(), [900, 0, 700, 800]
    if index == "from zero in each":
        frame.index = np.concatenate([np.arange(length) for length in lengths])
    elif index == "shuffled":
        frame.index = np.random.default_rng(0).permutation(N_ROWS)
    X, y, weight = frame[["a", "b"]], frame["class"], frame["weight"]
    parts, other, third = (in_parts(frame[names], lengths) for names in (["a", "b"], ["class"], ["weight"]))
    here = hedgerow.RandomForestClassifier(2, random_state=0).fit(X, y, weight)
    there = hedgerow.dask.RandomForestClassifier(2, random_state=0)
    assert_same_bytes(here, there.fit(parts, other["class"], third["weight"], gather_bytes=LITTLE))
    with pytest.raises(ValueError, match=r"y must have as many partitions as X, got 3 and 4\. Repartition"):
        there.fit(parts, in_parts(frame, [900, 700, 800])["class"])
    with pytest.raises(
        ValueError, match=r"partitions of X and y must have the same rows, got \d+ and \d+\. Repartition"
    ):
        there.fit(parts, in_parts(frame, [800, 100, 700, 800])["class"])


def test_frames_with_divisions_are_aligned_by_them(client: Any) -> None:
    frame = make_frame()
    X, y = dd.from_pandas(frame[["a", "b"]], npartitions=4), dd.from_pandas(frame["class"], npartitions=3)
    here = hedgerow.RandomForestClassifier(2, random_state=0).fit(frame[["a", "b"]], frame["class"])
    assert_same_bytes(here, hedgerow.dask.RandomForestClassifier(2, random_state=0).fit(X, y, gather_bytes=LITTLE))


def test_small_parts_are_joined_though_not_into_fewer_than_threads_can_use(client: Any) -> None:
    frame = make_frame()
    lengths = [100] * 10 + [0] * 3 + [1_000] + [40] * 10
    parts = in_parts(frame, lengths)
    X, y = parts[["a", "b"]], parts["class"]
    with DaskEngine(client) as engine:
        training = read_table(engine, hedgerow.RandomForestClassifier(2), X, y)
        assert training.part_rows == lengths
        whole = join_parts(*engine.gather(training.parts, "{}"))
        pieces = engine.gather(
            join_small(engine, engine.put("plan", training.plan), training.parts, lengths, 10_000), "{}"
        )
        assert [piece.n_rows for piece in pieces] == [1_000, 1_400]  # 1,700 at most: a half, and half a part
        assert np.array_equal(np.concatenate([piece.rows for piece in pieces])[:, :2].T, whole.codes)
        again = whole.target.joined([piece.target for piece in pieces])
        assert np.array_equal(again.core.numbers, whole.target.core.numbers)
        assert [piece.first_row for piece in pieces] == [0, 1_000]


def test_arrays_of_many_classes_in_uneven_chunks_are_sampled_and_grown_alike(client: Any) -> None:
    """More than 4,096 rows, so that cuts come from quantiles; more than eight classes, so that leaves are sparse."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(5_000, 5)).astype(np.float32)
    y = (np.digitize(X[:, 0] + rng.normal(size=5_000), np.linspace(-2, 2, 11))).astype(np.uint8)
    here = hedgerow.RandomForestClassifier(2, random_state=2, max_depth=5).fit(X, y)
    chunks = (100, 3_900, 1_000)
    there = hedgerow.dask.RandomForestClassifier(2, random_state=2, max_depth=5)
    there.fit(da.from_array(X, chunks=(chunks, 2)), da.from_array(y, chunks=2_500), gather_bytes=LITTLE)
    assert_same_bytes(here, there)


def test_parquet_files_are_fitted_and_predicted_where_they_are(client: Any, tmp_path: Any) -> None:
    frame = make_frame().drop(columns=["two", "number", "weight"])
    for i in range(3):
        frame.iloc[800 * i : 800 * (i + 1)].to_parquet(tmp_path / f"{i}.parquet")
    here = hedgerow.RandomForestClassifier(3, random_state=0).fit(frame.drop(columns="class"), frame["class"])
    there = hedgerow.dask.RandomForestClassifier(3, random_state=0)
    there.fit_parquet(str(tmp_path / "*.parquet"), target="class")
    assert_same_bytes(here, there)
    X = dd.read_parquet(tmp_path).drop(columns="class")
    probability = there.predict_proba(X)
    assert isinstance(probability, dd.DataFrame)
    expected = here.predict_proba(frame.drop(columns="class"))
    computed = probability.compute()
    assert (computed.to_numpy() == expected).all()
    assert computed.columns.tolist() == ["high", "low", "middle"]
    assert (computed.index == X.index.compute()).all()


def test_the_command_line_fits_and_predicts_parquet_files(client: Any, tmp_path: Any) -> None:
    frame = make_frame().drop(columns=["two", "number", "weight"])
    for i in range(2):
        frame.iloc[1_200 * i : 1_200 * (i + 1)].to_parquet(tmp_path / f"{i}.parquet")
    files, model, out = sorted(map(str, tmp_path.glob("*.parquet"))), str(tmp_path / "m.hedge"), str(tmp_path / "out")
    on = ["--dask", client.scheduler.address]
    options = ["--target", "class", "--drop", "d", "--nominal", "a", "--trees", "3", "--json"]
    fitted = CliRunner().invoke(app, ["fit", *files, *on, *options, "-o", model])
    assert fitted.exit_code == 0, fitted.output
    assert json.loads(fitted.stdout)["features"] == {"all": 5, "numeric": 2, "nominal": 3}
    predicted = CliRunner().invoke(app, ["predict", model, *files, *on, "-o", out, "--target", "class"])
    assert predicted.exit_code == 0, predicted.output
    answers = pd.read_parquet(out)
    assert answers["class"].tolist() == frame["class"].tolist()
    loaded = hedgerow.load(model)
    assert answers["label"].tolist() == loaded.predict(frame[["a", "b", "c", "colour", "size"]]).tolist()
    judged = CliRunner().invoke(app, ["evaluate", model, *files, *on, "--target", "class", "--json"])
    assert judged.exit_code == 0, judged.output
    frame.to_parquet(tmp_path / "all.parquet")
    here = CliRunner().invoke(app, ["evaluate", model, str(tmp_path / "all.parquet"), "--target", "class", "--json"])
    alone = json.loads(here.stdout)
    del alone["log_loss"]  # a cluster adds up counts, not probabilities
    assert json.loads(judged.stdout) == alone


def test_the_command_line_fits_groups(client: Any, tmp_path: Any) -> None:
    frame = make_frame()[["a", "b", "two"]].assign(group=row_groups("text"))
    frame.to_parquet(tmp_path / "t.parquet")
    words = ["fit", str(tmp_path / "t.parquet"), "--target", "two", "--groups", "group", "--trees", "4"]
    for name, where in (("here", []), ("there", ["--dask", client.scheduler.address])):
        asked = CliRunner().invoke(app, [*words, *where, "-o", str(tmp_path / name)])
        assert asked.exit_code == 0, asked.stderr
    here, there = (fitted_of(hedgerow.load(tmp_path / name)) for name in ("here", "there"))
    assert here.origins == there.origins
    assert here.origins[0].n_groups == 240
    assert here.forest.arrays()["counts"].tobytes() == there.forest.arrays()["counts"].tobytes()


def test_the_command_line_says_which_partition_does_not_fit_the_model(client: Any, tmp_path: Any) -> None:
    frame, model = make_frame()[["a", "b", "class"]], str(tmp_path / "m.hedge")
    hedgerow.save(hedgerow.RandomForestClassifier(1).fit(frame[["a", "b"]], frame["class"]), model)
    words = ["evaluate", model, str(tmp_path / "*.parquet"), "--dask", client.scheduler.address, "--target"]
    for number in range(3):
        frame.assign(later=number).to_parquet(tmp_path / f"{number}.parquet")
    assert CliRunner().invoke(app, [*words, "class"]).stderr.count("Ignored column: later") == 1
    frame.assign(**{"class": "none of these", "later": 1}).to_parquet(tmp_path / "1.parquet")
    asked = CliRunner().invoke(app, [*words, "class"])
    assert asked.exit_code == 3, asked.output
    assert "partition 1: Target 'class' must be one of the classes" in " ".join(asked.stderr.split())
    asked = CliRunner().invoke(app, [*words, "species"])
    assert asked.exit_code == 3, asked.output
    assert "species" in asked.stderr


def test_predicting_on_a_cluster_refuses_what_it_would_ignore(tmp_path: Any) -> None:
    frame = make_frame()[["a", "b", "class"]]
    data, model, out = str(tmp_path / "data.parquet"), str(tmp_path / "m.hedge"), tmp_path / "out"
    frame.to_parquet(data)
    hedgerow.save(hedgerow.RandomForestClassifier(1).fit(frame[["a", "b"]], frame["class"]), model)

    def refusal(*options: str) -> str:
        asked = CliRunner().invoke(app, ["predict", model, data, "--dask", "tcp://127.0.0.1:1", *options])
        assert asked.exit_code == 2, asked.output
        return " ".join(asked.stderr.split())

    assert "--dask does not support --missing" in refusal("-o", str(out), "--missing", "?")
    assert "--coverage requires a regressor" in refusal("-o", str(out), "--coverage", "0.9")
    assert "--out must be a folder with --dask" in refusal("-o", data)
    out.mkdir()
    (out / "part-00007.parquet").touch()
    assert "must be a new or empty folder with --dask" in refusal("-o", str(out))


@pytest.mark.parametrize("command", ["fit", "predict", "evaluate"])
def test_files_that_are_not_there_or_no_parquet_are_named(client: Any, tmp_path: Any, command: str) -> None:
    frame, model = make_frame()[["a", "class"]], str(tmp_path / "m.hedge")
    hedgerow.save(hedgerow.RandomForestClassifier(1).fit(frame[["a"]], frame["class"]), model)
    (tmp_path / "no.parquet").write_text("a,class\n")
    words = {"fit": ["fit"], "predict": ["predict", model], "evaluate": ["evaluate", model]}[command]
    options = ["--target", "class", "--dask", client.scheduler.address]
    options += [] if command == "evaluate" else ["-o", str(tmp_path / "out")]
    for name, code, said in (("no", 3, "no.parquet: not a Parquet file"), ("none", 1, "none.parquet: no such file")):
        asked = CliRunner().invoke(app, [*words, str(tmp_path / f"{name}.parquet"), *options])
        assert asked.exit_code == code, asked.output
        assert said in " ".join(asked.stderr.split())


def test_an_address_may_be_left_out_on_the_command_line() -> None:
    assert _with_address(["fit", "--dask", "--target", "y"]) == ["fit", "--dask", "local", "--target", "y"]
    assert _with_address(["fit", "--dask", "tcp://h:1", "x"]) == ["fit", "--dask", "tcp://h:1", "x"]
    assert _with_address(["fit", "a.parquet", "--dask"]) == ["fit", "a.parquet", "--dask", "local"]


def test_every_prediction_is_lazy_and_the_same(client: Any) -> None:
    frame = make_frame()[["a", "b", "class"]].set_index(np.arange(N_ROWS) * 3)
    X, parts = frame[["a", "b"]], in_parts(frame[["a", "b"]], [1_000, 0, 1_400])
    there = hedgerow.dask.RandomForestClassifier(3, random_state=0).fit(X, frame["class"])
    here = there.to_local()
    assert type(here) is hedgerow.RandomForestClassifier
    assert (there.predict(parts).compute().to_numpy() == here.predict(X)).all()
    assert (there.predict(parts).compute().index == X.index).all()
    assert (there.predict_set(parts).compute().to_numpy() == here.predict_set(X)).all()
    assert (there.predict_bounds(parts).compute().to_numpy() == here.predict_bounds(X).reshape(N_ROWS, -1)).all()
    assert (there.predict_uncertainty(parts)["vacuity"].compute() == here.predict_uncertainty(X).vacuity).all()
    opinion = here.evidence(X).combine("eva", caution=2.0)
    combined = there.evidence(parts).combine("eva", caution=2.0).compute()
    assert (combined.filter(like="probability").to_numpy() == opinion.probability).all()
    blocks = da.from_array(X.to_numpy(), chunks=(900, 2))
    assert (there.predict_bounds(blocks).compute() == here.predict_bounds(X)).all()
    assert (there.predict_uncertainty(blocks).conflict.compute() == here.predict_uncertainty(X).conflict).all()


@pytest.mark.parametrize("n_trees", [1, 3])
def test_evidence_of_partitions_is_that_of_the_table(n_trees: int) -> None:
    """Three trees, and three classes: leaves must not be called after classes."""
    frame = make_frame()[["a", "d", "class"]]
    X, lengths = frame[["a", "d"]], (1_000, 0, 1_400)
    blocks = da.from_array(X.to_numpy(), chunks=(lengths, 2))
    asked: dict[str, Any] = {"caution": 2, "prior": [0.7, 0.2, 0.1], "weights": np.arange(n_trees) + 1}
    for X_here, X_there in ((X, in_parts(X, list(lengths))), (X.to_numpy(), blocks)):
        model = hedgerow.RandomForestClassifier(n_trees, random_state=0, max_depth=5).fit(X_here, frame["class"])
        here, there = model.evidence(X_here), hedgerow.dask.LazyEvidence(model, X_there)
        leaves = there.leaves.compute(scheduler="synchronous")
        assert np.array_equal(leaves, here.leaves)
        assert np.asarray(leaves).dtype == here.leaves.dtype
        assert list(getattr(leaves, "columns", "012"[:n_trees])) == list("012"[:n_trees])
        opinion = here.combine("eva", **asked)
        expected = np.stack([opinion.lower, opinion.probability, opinion.upper], axis=2)
        combined = np.asarray(there.combine("eva", **asked).compute(scheduler="synchronous"))
        assert np.array_equal(combined.reshape(expected.shape), expected)
        with pytest.raises(ValueError, match=f"weights must be {n_trees} finite non-negative numbers"):
            there.combine("eva", weights=[1.0] * (n_trees + 1))


def test_a_result_of_several_arrays_is_a_tuple_of_lazy_ones() -> None:
    frame, lengths = make_frame(), (1_000, 0, 1_400)
    X = frame[["a", "d"]].set_index(np.arange(N_ROWS) * 3)
    forest = hedgerow.RandomForestClassifier(3, random_state=0).fit(X, frame["class"])
    labels, sets = forest.predict(X, return_set=True)
    found = hedgerow.dask.lazily(forest, "predict", in_parts(X, list(lengths)), return_set=True)
    there = compute(*found, scheduler="synchronous")
    assert np.array_equal(there[0], labels)
    assert np.array_equal(there[1], sets)
    assert there[1].columns.tolist() == forest.classes_.tolist()
    assert all((part.index == X.index).all() for part in there)
    forest.fit(X.to_numpy(), frame["class"])
    blocks = da.from_array(X.to_numpy(), chunks=(lengths, 1))
    found = hedgerow.dask.lazily(forest, "predict", blocks, return_set=True)
    assert [(part.shape, part.dtype) for part in found] == [(labels.shape, labels.dtype), (sets.shape, sets.dtype)]
    there = compute(*found, scheduler="synchronous")
    assert np.array_equal(there[0], labels)
    assert np.array_equal(there[1], sets)
    assert np.array_equal(found[1][::7].compute(scheduler="synchronous"), sets[::7])


def test_evaluating_partitions_is_evaluating_the_table(client: Any) -> None:
    frame = make_frame()
    forest = hedgerow.RandomForestClassifier(5, random_state=0).fit(frame[["c", "d"]], frame["class"])
    parts = in_parts(frame, [30, 0, 370, *[50] * 40])
    found = hedgerow.dask.evaluate(forest, parts[["c", "d"]], parts["class"]).compute()
    labels, sets = forest.predict(frame[["c", "d"]], return_set=True)
    expected = hedgerow.metrics.tally_sets(frame["class"], labels, sets, classes=forest.classes_).figures()
    assert found == pytest.approx(expected, abs=1e-12)
    assert found["rows"] == N_ROWS
    with pytest.raises(ValueError, match="coverage must be None for a classifier"):
        hedgerow.dask.evaluate(forest, parts[["c", "d"]], parts["class"], coverage=0.8).compute()


def test_evaluating_a_regressor_judges_its_intervals_where_it_has_them(client: Any) -> None:
    frame = make_frame()
    X, y, parts = frame[["a", "b"]], frame["number"], in_parts(frame, [300, 0, 2_100])
    forest = hedgerow.RandomForestRegressor(20, random_state=0).fit(X, y)
    found = hedgerow.dask.evaluate(forest, parts[["a", "b"]], parts["number"], coverage=0.7).compute()
    lower, upper = forest.predict_interval(X, 0.7).T
    assert found["r2"] == pytest.approx(forest.score(X, y), abs=1e-12)
    assert found["coverage"] == pytest.approx(np.mean((lower <= y) & (y <= upper)), abs=1e-12)
    there = hedgerow.dask.ExtraTreesRegressor(3, random_state=0).fit(parts[["a", "b"]], parts["number"])
    assert "coverage" not in hedgerow.dask.evaluate(there, parts[["a", "b"]], parts["number"]).compute()


def test_every_kind_of_prediction_of_a_regressor_is_lazy(client: Any) -> None:
    frame = make_frame()
    X, y, parts = frame[["a", "b"]], frame["number"], in_parts(frame, [300, 0, 2_100])[["a", "b"]]
    forest = hedgerow.RandomForestRegressor(20, leaf_rows=True, random_state=0).fit(X, y)
    for name, options, expected in (
        ("predict_interval", {"coverage": 0.8}, forest.predict_interval(X, 0.8)),
        ("predict_interval", {"method": "jackknife+"}, forest.predict_interval(X, method="jackknife+")),
        ("predict_quantiles", {"quantiles": [0.1, 0.5, 0.9]}, forest.predict_quantiles(X, [0.1, 0.5, 0.9])),
        ("predict_uncertainty", {}, np.column_stack(forest.predict_uncertainty(X))),
    ):
        assert np.array_equal(hedgerow.dask.lazily(forest, name, parts, **options).compute(), expected), name


@pytest.mark.parametrize("weight", [None, "weight"])
@pytest.mark.parametrize("gather_bytes", [LITTLE, 1 << 30])
def test_a_regressor_has_the_intervals_of_one_machine(client: Any, weight: str | None, gather_bytes: int) -> None:
    here, there = fit_both("RandomForestRegressor", "number", [300, 0, 2_100], weight, gather_bytes, n_estimators=9)
    X = make_frame()[FEATURES]
    for method in ("scaled", "jackknife+"):
        expected = here.predict_interval(X, 0.8, method=method)
        assert np.isfinite(expected).all()
        assert np.array_equal(there.to_local().predict_interval(X, 0.8, method=method), expected)
    lazy = there.predict_interval(in_parts(X, [300, 0, 2_100])).compute()
    assert np.array_equal(np.asarray(lazy), here.predict_interval(X))
    assert np.array_equal(*(each.predict_quantiles(X, [0.3], method="scaled") for each in (here, there.to_local())))


def test_a_regressor_without_bags_has_no_intervals(client: Any) -> None:
    parts = in_parts(make_frame(), [300, 0, 2_100])
    there = hedgerow.dask.ExtraTreesRegressor(3, random_state=0).fit(parts[["a", "b"]], parts["number"])
    with pytest.raises(ValueError, match="predict_interval requires out-of-bag residuals"):
        there.predict_interval(parts[["a", "b"]])


@pytest.mark.parametrize(("name", "target"), [("RandomForestClassifier", "class"), ("RandomForestRegressor", "number")])
def test_dask_knows_how_much_memory_things_take(client: Any, name: str, target: str) -> None:
    frame = make_frame()
    X, y = in_parts(frame[["a", "b"]], [N_ROWS]), in_parts(frame[[target]], [N_ROWS])
    with DaskEngine(client) as engine:
        (there,) = read_table(engine, getattr(hedgerow, name)(3), X, y).parts
        part = engine.fetch(there, "the part")
        known = client.run_on_scheduler(lambda key, dask_scheduler: dask_scheduler.tasks[key].nbytes, there.key)
    held = part.target.core
    assert known >= part.codes.nbytes + (held.values if target == "number" else held.numbers).nbytes
    forest = getattr(hedgerow, name)(3).fit(frame[["a", "b"]], frame[target]).forest_
    assert sizeof(forest) >= sum(array.nbytes for array in forest.arrays().values())


def test_a_function_that_mentions_the_package_travels_to_workers() -> None:
    function = cloudpickle.loads(cloudpickle.dumps(eval("lambda: hedgerow.load", {"hedgerow": hedgerow})))
    assert function() is hedgerow.load


def test_what_needs_the_training_rows_is_refused(client: Any) -> None:
    parts = in_parts(make_frame(), [1_200, 1_200])
    for parameters in (
        {"oob_score": True},
        {"caution": "auto"},
        {"n_estimators": "auto"},
        {"max_features": "oob"},
        {"warm_start": True},
    ):
        for name in ("RandomForestClassifier", "RandomForestRegressor", "ExtraTreesClassifier", "ExtraTreesRegressor"):
            chosen_nowhere = "caution" in parameters and "Regressor" in name
            on_dask = "must be (an explicit value|a number|False) on Dask"
            words = "caution must be a number >= 0, got" if chosen_nowhere else on_dask
            with pytest.raises(ValueError, match=words):
                getattr(hedgerow.dask, name)(**parameters).fit(parts[["a"]], parts["two"])
    with pytest.raises(ValueError, match="max_leaf_nodes must be None for a table of more than gather_bytes"):
        hedgerow.dask.DecisionTreeClassifier(max_leaf_nodes=5).fit(parts[["a"]], parts["two"], gather_bytes=100)


@pytest.mark.parametrize(
    "parameters",
    [{"caution": -1}, {"caution": "x"}, {"leaf_rows": 3}, {"leaf_rows": None}, {"verbose": -1}],
    ids=lambda parameters: str(*parameters.items()),
)
def test_parameters_of_a_regressor_are_refused_before_anything_is_read(client: Any, parameters: dict[str, Any]) -> None:
    def read() -> None:
        raise AssertionError("a partition was read")

    frame = make_frame()
    unread = dd.from_delayed([delayed(read)()], meta=frame.iloc[:0], verify_meta=False)
    name = next(iter(parameters))
    with pytest.raises(ValueError, match=f"^{name} must be"):
        hedgerow.dask.RandomForestRegressor(**parameters).fit(unread[["a"]], unread["number"])


def test_targets_of_several_columns_are_refused_on_a_cluster(client: Any) -> None:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(40, 2)), rng.integers(0, 2, size=(40, 2))
    blocks, frame = da.from_array(X, chunks=(20, 2)), in_parts(pd.DataFrame(X, columns=["a", "b"]), [20, 20])
    several = da.from_array(y, chunks=(20, 2))
    y_frame = in_parts(pd.DataFrame(y, columns=["y", "z"]), [20, 20])
    for kind in ("DecisionTreeClassifier", "DecisionTreeRegressor"):
        for given in ((blocks, several), (frame, several), (blocks, y_frame), (frame, y_frame)):
            with pytest.raises(
                ValueError, match=r"y must be a 1d array .*got (an array of shape \(40, 2\)|the columns)"
            ):
                getattr(hedgerow.dask, kind)().fit(*given)
    rows = rows_from(X[:20], y[:20, :1], None)
    assert rows.y.tolist() == y[:20, 0].tolist()
    with pytest.raises(ValueError, match="y must be a 1d array"):
        rows_from(X[:20], y[:20], None)


@pytest.mark.parametrize(("weight", "reason"), [(np.nan, "must be finite"), (-1.0, "must be >= 0, got -1")])
def test_weights_that_are_none_are_refused_though_a_partition_has_no_others(
    client: Any, weight: float, reason: str
) -> None:
    frame = make_frame().assign(weight=1.0)
    frame.loc[1_200:, "weight"] = weight
    parts = in_parts(frame, [1_200, 1_200])
    with pytest.raises(ValueError, match=f"partition 1.*sample_weight {reason}"):
        hedgerow.dask.RandomForestClassifier(1).fit(parts[["a"]], parts["two"], parts["weight"])


def test_a_partition_may_weigh_nothing_but_not_the_table(client: Any) -> None:
    frame = make_frame().assign(weight=1.0)
    frame.loc[1_200:, "weight"] = 0.0
    here = hedgerow.RandomForestClassifier(2, random_state=0).fit(frame[["a"]], frame["two"], frame["weight"])
    parts = in_parts(frame, [1_200, 1_200])
    there = hedgerow.dask.RandomForestClassifier(2, random_state=0)
    assert_same_bytes(here, there.fit(parts[["a"]], parts["two"], parts["weight"]))
    with pytest.raises(ValueError, match="sample_weight must have at least one positive weight"):
        there.fit(parts[["a"]], parts["two"], 0 * parts["weight"])


def test_a_partition_that_cannot_be_read_is_named(client: Any) -> None:
    def fail(frame: pd.DataFrame, partition_info: Any = None) -> pd.DataFrame:
        if partition_info is not None and partition_info["number"] == 2:
            raise OSError("no such disk")
        return frame

    parts = in_parts(make_frame()[["a", "b", "two"]], [800, 800, 800])
    broken = parts.map_partitions(fail, meta=parts._meta)
    with pytest.raises(hedgerow.dask.ClusterError, match=r"partition 2 .*no such disk"):
        hedgerow.dask.RandomForestClassifier(2).fit(broken[["a", "b"]], broken["two"])


class _Killing(DaskEngine):
    """Kills the worker that holds most results as soon as tasks of this name are submitted, so never after the fit."""

    def __init__(self, client: Any, name: str) -> None:
        super().__init__(client)
        self.victim_of, self.killed = name, 0

    def each(self, name: str, *asked: Any) -> list[Any]:
        handles = super().each(name, *asked)
        if name == self.victim_of and not self.killed:
            held = self.client.has_what()
            self.killed = self.client.run(os.getpid)[max(held, key=lambda worker: len(held[worker]))]
            os.kill(self.killed, signal.SIGKILL)
        return handles


@pytest.mark.parametrize("name", ["missing", "level", "gather", "grow"])
def test_a_killed_worker_changes_nothing(name: str) -> None:
    """Dask starts another, and runs again what was lost."""
    frame = make_frame()
    here = hedgerow.RandomForestClassifier(6, random_state=1).fit(frame[["a", "b", "c"]], frame["class"])
    parts = in_parts(frame, [800, 800, 800])
    options = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": ":0", "memory_limit": 0}
    with distributed.LocalCluster(**options) as cluster, distributed.Client(cluster, set_as_default=False) as client:
        there, engine = hedgerow.RandomForestClassifier(6, random_state=1), _Killing(client, name)
        fit_on_cluster(there, partitions_from(parts[["a", "b", "c"]], parts["class"]).each, engine, gather_bytes=LITTLE)
    assert engine.killed
    assert_same_bytes(here, there)


def test_an_interrupted_fit_leaves_no_task_behind(client: Any) -> None:
    frame = make_frame()
    parts = in_parts(frame, [800, 800, 800])
    forest = hedgerow.dask.RandomForestClassifier(100_000, random_state=0)
    before = client.run_on_scheduler(_task_keys)
    usual = signal.signal(signal.SIGINT, signal.default_int_handler)  # shells let what runs in the background ignore it
    try:
        threading.Timer(1.0, _thread.interrupt_main).start()
        with pytest.raises(KeyboardInterrupt):
            forest.fit(parts[["a", "b", "c"]], parts["class"])
    finally:
        signal.signal(signal.SIGINT, usual)
    assert not hasattr(forest, "forest_")
    given_up = time.monotonic() + 300  # only tasks that never end take so long
    while left := client.run_on_scheduler(_task_keys) - before:
        assert time.monotonic() < given_up, f"tasks go on: {sorted(left)[:5]}"
        time.sleep(0.1)


def _task_keys(dask_scheduler: Any) -> set[str]:
    return set(map(str, dask_scheduler.tasks))


def test_a_cluster_without_workers_is_given_up_soon() -> None:
    with distributed.LocalCluster(n_workers=0, dashboard_address=":0") as cluster, distributed.Client(cluster) as alone:
        command = [sys.executable, "-m", "distributed.cli.dask_worker", cluster.scheduler_address, "--no-nanny"]
        with subprocess.Popen([*command, "--nthreads", "1"], stderr=subprocess.DEVNULL) as worker:
            alone.wait_for_workers(1, timeout=30)
            threading.Timer(0.3, worker.kill).start()
            parts = in_parts(make_frame(), [800, 800, 800])
            with pytest.raises(hedgerow.dask.ClusterError, match=r"no workers for 2 seconds while waiting for \w"):
                hedgerow.dask.RandomForestClassifier(200).fit(
                    parts[["a", "b"]], parts["class"], client=alone, gather_bytes=LITTLE, patience=2
                )


def test_a_cluster_of_paused_workers_is_given_up() -> None:
    """Workers whose memory stays full take no task, and say nothing."""
    one = {"n_workers": 1, "processes": False, "memory_limit": 0, "dashboard_address": ":0"}
    with distributed.LocalCluster(**one) as cluster, distributed.Client(cluster, set_as_default=False) as full:
        full.run(_pause)
        parts = in_parts(make_frame(), [800, 800, 800])
        with pytest.raises(hedgerow.dask.ClusterError, match=r"paused for \d seconds while .*more memory, or use"):
            hedgerow.dask.RandomForestClassifier(2).fit(parts[["a"]], parts["class"], client=full, patience=0.2)


def _pause(dask_worker: Any) -> None:
    dask_worker.status = distributed.Status.paused


@pytest.mark.parametrize(
    ("target", "weight", "parameters"),
    [
        ("class", None, {}),
        ("two", "weight", {"class_weight": "balanced"}),
        ("class", None, {"class_weight": "balanced_subsample", "leaf_counts": "inbag"}),
        ("two", None, {"max_depth": 5, "ccp_alpha": 0.002}),
    ],
)
def test_a_map_learned_on_the_cluster_is_that_of_one_machine(
    client: Any, target: str, weight: str | None, parameters: dict[str, Any], monkeypatch: Any
) -> None:
    monkeypatch.setattr("hedgerow.belief.calibrate.MOST_ROWS", 1_000)
    here, there = fit_both(
        "RandomForestClassifier", target, [700, 0, 1_000, 700], weight, n_estimators=8, calibration="oob", **parameters
    )
    assert 0 < here.calibration_.n_rows <= 1_000
    assert here.calibration_.numbers() == there.calibration_.numbers()
    X = make_frame()[FEATURES]
    np.testing.assert_array_equal(there.predict_proba(X), here.predict_proba(X))


def test_a_cluster_says_where_it_learns_no_map(client: Any) -> None:
    _, there = fit_both("RandomForestClassifier", "two", [2_400], n_estimators=2, calibration="oob", rule="vote")
    assert "training rows" in there.calibration_.why
