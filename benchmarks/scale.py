"""Scale: the same forest here and on a Dask cluster of two processes -> time, memory, traffic, faults and peers."""

from __future__ import annotations

import argparse
import json
import math
import os
import random
import resource
import signal
import subprocess
import sys
import tempfile
import threading
import time
import zlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

WORKERS = 2
PEERS = {
    "sklearn": "scikit-learn, one machine",
    "joblib": "scikit-learn by joblib on Dask",
    "xgboost": "XGBoost rf on Dask",
}


def main() -> None:
    """Print a table per size; each measurement is a process of its own, so that peaks of memory are its own."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, nargs="+", default=[200_000])
    parser.add_argument("--features", type=int, default=30)
    parser.add_argument("--trees", type=int, default=20)
    parser.add_argument("--partitions", type=int, nargs="+", default=[8])
    parser.add_argument("--peers", action="store_true", help="joblib on Dask, XGBoost rf on Dask, scikit-learn too")
    parser.add_argument("--faults", type=int, default=0, help="fits during which a worker is killed at a random moment")
    parser.add_argument("--worker-memory", type=int, default=0, metavar="MB", help="what a worker may use, 0 for all")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.worker_memory:  # processes of single measurements, and workers, inherit it
        os.environ["HEDGEROW_WORKER_MEMORY"] = str(given.worker_memory)
    if given.one:
        print(json.dumps(MEASURED[given.one](given.rows[0], given.features, given.trees, given.partitions[0])))
        return
    for n_rows in given.rows:
        _print_size(n_rows, given)
    _print_faults(given)
    print_traffic(10**9, given.features, 100, 100)


def make_block(number: int, n_rows: int, n_features: int) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    """Rows of a block: two classes that a few features tell apart, as well as noise allows."""
    rng = np.random.default_rng(number)
    X = rng.normal(size=(n_rows, n_features)).astype(np.float32)
    score = X[:, 0] * X[:, 1] + X[:, 2] + np.sin(2 * X[:, 3]) + 0.7 * rng.normal(size=n_rows)
    return X, (score > 0).astype(np.int64)


def blocks_of(n_rows: int, n_partitions: int) -> list[int]:
    """Rows of each partition."""
    return np.diff(np.linspace(0, n_rows, n_partitions + 1).astype(int)).tolist()


# ---- measurements, each in its own process ----------------------------------------------------------------


def measure_here(n_rows: int, n_features: int, n_trees: int, n_partitions: int) -> dict[str, Any]:
    """hedgerow on one machine, on as many threads as the cluster has workers."""
    from hedgerow import RandomForestClassifier

    X, y = _whole(n_rows, n_features, n_partitions)
    start, cpu = time.perf_counter(), time.process_time()
    forest = RandomForestClassifier(n_trees, n_jobs=WORKERS, random_state=0).fit(X, y)
    spent = {"seconds": time.perf_counter() - start, "cpu": time.process_time() - cpu}
    return spent | {"driver": _peak(), "trees": _checksum(forest)}


def measure_whole(n_rows: int, n_features: int, n_trees: int, n_partitions: int) -> dict[str, Any]:
    """The cluster, the table gathered once to each worker."""
    return _on_cluster(n_rows, n_features, n_trees, n_partitions, n_rows * n_features * 4)


def measure_top(n_rows: int, n_features: int, n_trees: int, n_partitions: int) -> dict[str, Any]:
    """The cluster, nodes of more than an eighth of the rows, or than a worker can take, grown where the rows are."""
    gather_bytes = None if _worker_memory() else n_rows * n_features // 8
    return _on_cluster(n_rows, n_features, n_trees, n_partitions, gather_bytes)


def measure_fault(n_rows: int, n_features: int, n_trees: int, n_partitions: int) -> dict[str, Any]:
    """The same, with a worker killed after a random part of the time it takes."""
    return _on_cluster(n_rows, n_features, n_trees, n_partitions, n_rows * n_features // 8, kills=True)


def measure_sklearn(n_rows: int, n_features: int, n_trees: int, n_partitions: int) -> dict[str, Any]:
    """scikit-learn's forest on one machine."""
    from sklearn.ensemble import RandomForestClassifier

    X, y = _whole(n_rows, n_features, n_partitions)
    start = time.perf_counter()
    RandomForestClassifier(n_trees, n_jobs=WORKERS, random_state=0).fit(X, y)
    return {"seconds": time.perf_counter() - start, "driver": _peak()}


def measure_joblib(n_rows: int, n_features: int, n_trees: int, n_partitions: int) -> dict[str, Any]:
    """scikit-learn's forest, its trees sent to Dask by joblib: every worker gets the whole table."""
    import joblib
    from sklearn.ensemble import RandomForestClassifier

    X, y = _whole(n_rows, n_features, n_partitions)
    with _cluster() as client:
        start = time.perf_counter()
        with joblib.parallel_config("dask", scatter=[X, y]):
            RandomForestClassifier(n_trees, n_jobs=WORKERS, random_state=0).fit(X, y)
        return {"seconds": time.perf_counter() - start, "driver": _peak(), "workers": _peaks(client)}


def measure_xgboost(n_rows: int, n_features: int, n_trees: int, n_partitions: int) -> dict[str, Any]:
    """XGBoost's forest on Dask: depth 20 in place of trees to the end, which it cannot grow."""
    from xgboost import dask as on_dask

    with _cluster() as client:
        X, y = _lazy(n_rows, n_features, n_partitions)
        start = time.perf_counter()
        options = {"max_depth": 20, "tree_method": "hist", "colsample_bynode": 1 / math.sqrt(n_features)}
        model = on_dask.DaskXGBRFClassifier(n_estimators=n_trees, **options)
        model.client = client
        model.fit(X, y)
        return {"seconds": time.perf_counter() - start, "driver": _peak(), "workers": _peaks(client)}


MEASURED = {
    "here": measure_here,
    "whole": measure_whole,
    "top": measure_top,
    "fault": measure_fault,
    "sklearn": measure_sklearn,
    "joblib": measure_joblib,
    "xgboost": measure_xgboost,
}


def _on_cluster(
    n_rows: int, n_features: int, n_trees: int, n_partitions: int, gather_bytes: int | None, *, kills: bool = False
) -> dict[str, Any]:
    from distributed import wait

    from hedgerow.dask import RandomForestClassifier

    with _cluster() as client, tempfile.TemporaryDirectory() as folder:
        X, y = _lazy(n_rows, n_features, n_partitions, folder if _worker_memory() else None)
        if not _worker_memory():  # else files are read whenever rows are needed
            X, y = client.persist([X, y])
            wait([X, y])
        if kills:
            victim = random.choice(list(client.run(os.getpid).values()))
            moment = random.uniform(0.2, float(os.environ.get("HEDGEROW_FIT_SECONDS", "5")))
            threading.Timer(moment, os.kill, (victim, signal.SIGKILL)).start()
        start, cpu = time.perf_counter(), _cpu(client)
        forest = RandomForestClassifier(n_trees, random_state=0)
        forest.fit(X, y, client=client, gather_bytes=gather_bytes)
        spent = {"seconds": time.perf_counter() - start}
        if not kills:  # else a process and its time are gone
            spent["cpu"] = _cpu(client) - cpu
        return spent | {"driver": _peak(), "workers": _peaks(client), "trees": _checksum(forest)}


def _cluster() -> Any:
    """Two processes of a thread each, which have imported what they need, as those of a standing cluster have."""
    from distributed import Client

    options = {"dashboard_address": ":0", "memory_limit": _worker_memory(), "preload": ["hedgerow.dask"]}
    client = Client(n_workers=WORKERS, threads_per_worker=1, **options)
    client.run(_import)
    return client


def _worker_memory() -> int:
    """Bytes a worker may use, 0 for all there are."""
    return int(os.environ.get("HEDGEROW_WORKER_MEMORY", "0")) << 20


def _import() -> None:
    import sklearn.ensemble  # noqa: F401

    import hedgerow.dask  # noqa: F401


def _whole(n_rows: int, n_features: int, n_partitions: int) -> tuple[NDArray[Any], NDArray[Any]]:
    parts = [make_block(i, size, n_features) for i, size in enumerate(blocks_of(n_rows, n_partitions))]
    return np.concatenate([X for X, _ in parts]), np.concatenate([y for _, y in parts])


def _lazy(n_rows: int, n_features: int, n_partitions: int, folder: str | None = None) -> tuple[Any, Any]:
    """The same rows, made by the workers; with a folder, they write files before, and read them whenever needed."""
    import dask.array as da
    from dask import compute, delayed

    sizes = blocks_of(n_rows, n_partitions)
    if folder is not None:
        compute(*(delayed(_store_block)(folder, i, size, n_features) for i, size in enumerate(sizes)))
    X, y = [], []
    for i, size in enumerate(sizes):
        block = delayed(make_block, nout=2)(i, size, n_features)
        if folder is not None:
            block = delayed(_stored_block, nout=2)(folder, i)
        X.append(da.from_delayed(block[0], (size, n_features), np.float32))
        y.append(da.from_delayed(block[1], (size,), np.int64))
    return da.concatenate(X), da.concatenate(y)


def _store_block(folder: str, number: int, n_rows: int, n_features: int) -> None:
    for name, array in zip("Xy", make_block(number, n_rows, n_features), strict=True):
        np.save(f"{folder}/{name}{number}.npy", array)


def _stored_block(folder: str, number: int) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    return np.load(f"{folder}/X{number}.npy"), np.load(f"{folder}/y{number}.npy")


def _peak() -> float:
    """Most megabytes this process has had in memory."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def _cpu(client: Any) -> float:
    """Processor seconds of this process, which holds client and scheduler, and of the workers."""
    return time.process_time() + float(sum(client.run(time.process_time).values()))


def _peaks(client: Any) -> float:
    return float(max(client.run(_peak).values()))


def _checksum(forest: Any) -> int:
    total = 0
    for array in forest.forest_.arrays().values():
        total = zlib.crc32(array.tobytes(), total)
    return total


# ---- tables -----------------------------------------------------------------------------------------------


def _print_size(n_rows: int, given: argparse.Namespace) -> None:
    print(f"\n{n_rows:,} rows x {given.features} features, {given.trees} trees, {WORKERS} cores")
    print(f"{'':34} {'time':>8} {'/ here':>7} {'CPU':>8} {'/ here':>7} {'driver MB':>10} {'worker MB':>10}  trees")
    here: dict[str, Any] = {}
    for n_partitions in given.partitions:
        here = _run("here", n_rows, n_partitions, given)  # other blocks are other rows
        rows = [("one machine", here)]
        both = (("whole", "cluster, table gathered"), ("top", "cluster, tops on workers"))
        for name, said in both[1:] if given.worker_memory else both:
            rows.append((f"{said}, {n_partitions} parts", _run(name, n_rows, n_partitions, given)))
        for said, found in rows:
            _print_row(said, found, here)
    if given.peers:
        for name, said in PEERS.items():
            _print_row(said, _run(name, n_rows, given.partitions[0], given), here)


def _print_row(said: str, found: dict[str, Any], here: dict[str, Any]) -> None:
    if "failed" in found:
        print(f"{said:34} {found['failed']}")
        return
    same = "" if "trees" not in found else "the same bytes" if found["trees"] == here["trees"] else "OTHER BYTES"
    workers = f"{found['workers']:10.0f}" if "workers" in found else f"{'':10}"
    columns = [
        f"{found[each]:7.1f}s {found[each] / here[each]:7.2f}" if each in found else f"{'':16}"
        for each in ("seconds", "cpu")
    ]
    print(f"{said:34} {' '.join(columns)} {found['driver']:10.0f} {workers}  {same}")


def _print_faults(given: argparse.Namespace) -> None:
    """A worker dies at a random moment: the same bytes, and how much longer it takes."""
    if not given.faults:
        return
    n_rows, n_partitions = given.rows[0], given.partitions[0]
    whole = _run("top", n_rows, n_partitions, given)
    fits = f"{given.faults} fits of {n_rows:,} rows"
    print(f"\nA worker killed at a random moment, {fits}; undisturbed {whole['seconds']:.1f}s")
    os.environ["HEDGEROW_FIT_SECONDS"] = str(whole["seconds"])
    for _ in range(given.faults):
        _print_row("a worker killed", _run("fault", n_rows, n_partitions, given), whole)


def _run(name: str, n_rows: int, n_partitions: int, given: argparse.Namespace) -> dict[str, Any]:
    """A measurement in a process of its own."""
    command = [sys.executable, "-m", "benchmarks.scale", "--one", name, "--rows", str(n_rows)]
    command += ["--features", str(given.features), "--trees", str(given.trees), "--partitions", str(n_partitions)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        return {"failed": done.stderr.strip().splitlines()[-1][:120]}
    found: dict[str, Any] = json.loads(done.stdout.strip().splitlines()[-1])
    return found


def print_traffic(n_rows: int, n_features: int, n_trees: int, n_workers: int, *, n_classes: int = 2) -> None:
    """What a fit of so many rows sends over the network, level by level, with the arithmetic."""
    gather_bytes = 64 << 20
    row_bytes = n_features + 4
    gather_rows = gather_bytes // row_bytes
    features = max(1, int(math.sqrt(n_features)))
    node_bytes = features * 256 * (n_classes + 1) * 4
    n_levels = max(0, math.ceil(math.log2(n_rows / gather_rows)))
    what = f"{n_rows:,} rows x {n_features} features, {n_trees} trees"
    print(f"\nTraffic of {what}, {n_workers} workers with a partition each (arithmetic, not run)")
    cells = f"{features} features x 256 bins x {n_classes + 1} cells x 4 bytes"
    print(f"  sums of a node: {cells} = {node_bytes / 1e3:.1f} kB")
    print(f"  a node is gathered from {gather_rows:,} rows on: {gather_bytes >> 20} MiB / {row_bytes} bytes a row")
    print(f"  so about log2({n_rows:,} / {gather_rows:,}) = {n_levels} levels of balanced trees")
    print("  level   nodes   sums a worker sends   all workers")
    total = 0.0
    for level in range(n_levels):
        nodes = n_trees * 2**level
        sent = nodes * node_bytes
        total += sent
        print(f"  {level:5} {nodes:7,} {sent / 1e6:18.1f} MB {sent * n_workers / 1e9:10.2f} GB")
    gathered = n_trees * n_rows * row_bytes
    print(f"  all levels: {total / 1e6:,.0f} MB from each partition, added up eight at a time")
    print(
        f"  gathering: {n_trees} trees x {n_rows:,} rows x {row_bytes} bytes = {gathered / 1e12:.1f} TB,"
        f" {gathered / n_workers / 1e9:.0f} GB for each worker, {gathered / n_workers / 1.25e9:.0f} s at 10 Gbit/s"
    )
    print(f"  codes on a worker: {n_rows * n_features / n_workers / 1e6:,.0f} MB")


if __name__ == "__main__":
    main()
