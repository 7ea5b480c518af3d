"""Tables: a large file -> how long the commands take, and how much memory, beside polars and the library."""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

N_NUMBERS = 30
#: What is measured, and what it is compared with.
PAIRS = {
    "fit, CSV": ("command fit csv", "python fit csv"),
    "fit, Parquet": ("command fit parquet", "python fit parquet"),
    "fit, Arrow": ("command fit arrow", "python fit parquet"),
    "predict, CSV": ("command predict csv", "python predict csv"),
    "evaluate, CSV": ("command evaluate csv", "python evaluate csv"),
}
TIME_TARGET, MEMORY_TARGET = 1.3, 2.0


def main() -> None:
    """Write the files, measure each task in a process of its own, print a line for each pair."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--trees", type=int, default=100)
    parser.add_argument("--repeats", type=int, default=2, help="the least of so many is shown")
    parser.add_argument("--only", nargs="+", choices=list(PAIRS), default=list(PAIRS), metavar="PAIR")
    parser.add_argument("--quick", action="store_true", help="100,000 rows, 10 trees, once")
    parser.add_argument("--task", nargs=2, metavar=("TASK", "FOLDER"), help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.task:
        print(json.dumps(measured(*given.task, given.trees)))
        return
    if given.quick:
        given.rows, given.trees, given.repeats = 100_000, 10, 1
    with tempfile.TemporaryDirectory() as folder:
        # Not here: what this process has taken would count as taken by every process that it starts.
        in_a_process(f"files {given.rows}", Path(folder), given.trees)
        compare(Path(folder), given.rows, given.trees, given.repeats, given.only)


def make_files(n_rows: int, folder: Path) -> None:
    """Thirty numbers of four decimals, a colour and a label, as CSV, Parquet and Arrow, in blocks of rows."""
    import pyarrow
    from pyarrow import csv, ipc, parquet

    rng = np.random.default_rng(0)
    writers: list[Any] = []
    for first in range(0, n_rows, 250_000):
        n = min(250_000, n_rows - first)
        X = rng.normal(size=(n, N_NUMBERS))
        colour = np.array(["red", "green", "blue", "grey"])[rng.integers(0, 4, n)]
        ill = X[:, 0] + X[:, 1] * X[:, 2] + (colour == "red") + rng.normal(size=n) > 0.5
        columns = {f"x{j}": X[:, j].round(4) for j in range(N_NUMBERS)}
        table = pyarrow.table(columns | {"colour": colour, "y": np.where(ill, "ill", "well")})
        writers = writers or [
            csv.CSVWriter(folder / "table.csv", table.schema),
            parquet.ParquetWriter(folder / "table.parquet", table.schema),
            ipc.new_file(folder / "table.arrow", table.schema),
        ]
        for writer in writers:
            writer.write_table(table)
    for writer in writers:
        writer.close()


def compare(folder: Path, n_rows: int, n_trees: int, repeats: int, pairs: list[str]) -> None:
    """Print seconds and memory of each pair, and whether the targets are met."""
    start = in_a_process("nothing", folder, n_trees)["bytes"]
    print(
        f"{n_rows:,} rows x {N_NUMBERS + 1}, {n_trees} trees; a process that has only imported takes {start >> 20} MB"
    )
    print("pair            seconds  beside  ratio    CPU seconds  beside    MB  of them allowed")
    for pair in pairs:
        found = {task: [] for task in PAIRS[pair]}  # type: dict[str, list[dict[str, float]]]
        for _ in range(repeats):
            for task, results in found.items():
                results.append(in_a_process(task, folder, n_trees))
        ours, theirs = (
            {key: min(one[key] for one in found[task]) for key in ("seconds", "cpu", "bytes")} for task in PAIRS[pair]
        )
        model = (folder / "model.hedge").stat().st_size
        allowed = MEMORY_TARGET * (n_rows * (N_NUMBERS + 1) * 5 + model)  # four bytes as a float, and one as a code
        ratio = ours["seconds"] / theirs["seconds"]
        said = [
            "time met" if ratio <= TIME_TARGET else "time missed",
            "memory met" if ours["bytes"] <= allowed else "memory missed",
        ]
        print(
            f"{pair:<14} {ours['seconds']:>8.1f} {theirs['seconds']:>7.1f} {ratio:>6.2f} {ours['cpu']:>14.1f}"
            f" {theirs['cpu']:>7.1f} {ours['bytes'] / 1e6:>5.0f} {allowed / 1e6:>16.0f}  {', '.join(said)}",
            flush=True,
        )


def in_a_process(task: str, folder: Path, n_trees: int) -> dict[str, Any]:
    """What a task takes in a process that does nothing else."""
    command = [sys.executable, "-m", "benchmarks.tables", "--task", task, str(folder), "--trees", str(n_trees)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    result: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return result


def measured(task: str, folder: str, n_trees: int) -> dict[str, float]:
    """Do a task here -> its seconds, those of the processor, and the largest memory of the process."""
    kind, *words = task.split()
    os.chdir(folder)
    start, cpu = time.perf_counter(), time.process_time()
    if kind == "command":
        _command(*words, n_trees)
    elif kind == "python":
        _python(*words, n_trees)
    elif kind == "files":
        make_files(int(words[0]), Path())
    else:
        import pyarrow.csv  # noqa: F401

        import hedgerow.cli.fit  # noqa: F401
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    return {"seconds": time.perf_counter() - start, "cpu": time.process_time() - cpu, "bytes": peak}


def _command(verb: str, ending: str, n_trees: int) -> None:
    """Run a command, as a terminal would."""
    from hedgerow.cli.app import main as run

    table = f"table.{ending}"
    words = {
        "fit": ["fit", table, "--target", "y", "--trees", str(n_trees), "--out", "model.hedge", "--force"],
        "predict": ["predict", "model.hedge", table, "--target", "y", "--out", "answers.csv", "--force"],
        "evaluate": ["evaluate", "model.hedge", table, "--target", "y"],
    }[verb]
    sys.argv = ["hedgerow", *words]
    try:
        run()
    except SystemExit as end:
        if end.code:
            raise


def _python(verb: str, ending: str, n_trees: int) -> None:
    """The same with polars and the library."""
    import polars

    import hedgerow
    from hedgerow.explain.presenters import presenter
    from hedgerow.inference.predictor import predictor_of

    frame = polars.read_csv("table.csv") if ending == "csv" else polars.read_parquet("table.parquet")
    X, y = frame.drop("y"), frame["y"].to_numpy()
    if verb == "fit":
        forest = hedgerow.RandomForestClassifier(n_trees, n_jobs=-1, random_state=0, **presenter("classes").oob_params)
        hedgerow.save(forest.fit(X, y), "python.hedge")
        return
    model = hedgerow.load("model.hedge").set_params(n_jobs=-1)
    if verb == "evaluate":
        predictor_of(model).tally(X, y)
        return
    answers = predictor_of(model).columns(X)
    columns = dict(zip(answers.names, [*answers.texts(), *answers.numbers()], strict=True))
    polars.DataFrame(columns).write_csv("python.csv")


if __name__ == "__main__":
    main()
