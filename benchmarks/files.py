"""Files: a model of a gigabyte -> what saving, loading and checking it cost beside pickle.

python -m benchmarks.files [--bytes 1e9] [--repeats 3] [--threads 2] [--folder DIR] [--json FILE]

Times are ratios to pickle (protocol 5) of the same model on the same disk, taken in turns, least of the repeats; files
are in the page cache. Pickle checks nothing and runs what the file says; hedgerow checks every node and count. Both
write a new file, flush it to the disk and put it in the place of the old one; "in place" is a plain ``pickle.dump``.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import pickle
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

import hedgerow
from benchmarks import show
from benchmarks.data import Shape, synthetic
from benchmarks.measure import in_turns, reset_peak, status
from hedgerow.forest.forest import join_forests
from hedgerow.inference.fitted import fitted_of, publish
from hedgerow.storage.state import tree_rows

MEMORY_TARGET = 64 << 20
"""Bytes beyond twice the file that loading may take."""
ASKED = 1000


def main(arguments: list[str] | None = None) -> int:
    """Make the model, measure, print; 1 when a loaded model says something else."""
    options = _options(arguments)
    if options.child:
        return _child(options.child, Path(options.folder))
    with tempfile.TemporaryDirectory(dir=options.folder) as name:
        return _measure(options, Path(name))


def _measure(options: argparse.Namespace, folder: Path) -> int:
    model, asked = large_model(int(options.bytes), options.threads)
    expected, kept = model.predict_bounds(asked), {}
    np.save(folder / "asked.npy", asked)

    def timed(name: str, call: Callable[[], Any]) -> Callable[[], float]:
        def run() -> float:
            kept.pop(name, None)
            gc.collect()
            os.sync()  # nobody waits for what another has left unwritten
            start = time.perf_counter()
            kept[name] = call()
            return time.perf_counter() - start

        return run

    ours, theirs, plain = folder / "model.hedge", folder / "model.pickle", folder / "plain.pickle"
    calls = {
        "save": {
            "hedgerow": timed("save", lambda: hedgerow.save(model, ours)),
            "pickle": timed("save", lambda: _dump_safely(model, theirs)),
            "pickle, in place": timed("save", lambda: _dump(model, plain)),
        },
        "load": {
            "hedgerow": timed("load", lambda: hedgerow.load(ours)),
            "hedgerow, not mapped": timed("load", lambda: hedgerow.load(ours, memory_map=False)),
            "pickle": timed("load", lambda: _undump(theirs)),
        },
        f"load and ask about {ASKED:,} rows": {
            "hedgerow": timed("load", lambda: hedgerow.load(ours).predict_proba(asked)),
            "hedgerow, not mapped": timed("load", lambda: hedgerow.load(ours, memory_map=False).predict_proba(asked)),
            "pickle": timed("load", lambda: _undump(theirs).predict_proba(asked)),
        },
        "check": {"hedgerow": timed("check", lambda: tree_rows(model.forest_, fitted_of(model).bins, options.threads))},
    }
    found = {
        what: {name: timing.best for name, timing in in_turns(each, options.repeats, most=options.repeats).items()}
        for what, each in calls.items()
    }
    sizes = {"hedgerow": ours.stat().st_size, "pickle": theirs.stat().st_size}
    peaks = {name: _peak(name, folder) for name in ("hedgerow", "hedgerow, not mapped", "pickle")}
    same = np.array_equal(hedgerow.load(ours).predict_bounds(asked), expected)
    _print(model, found, sizes, peaks, same)
    if options.json:
        Path(options.json).write_text(
            json.dumps({"seconds": found, "bytes": sizes, "peaks": peaks, "same": same}, indent=1)
        )
    return 0 if same else 1


def large_model(n_bytes: int, n_threads: int) -> tuple[Any, Any]:
    """A forest of about that many bytes, and rows to ask it about: trees on 200k rows, as often as it takes."""
    data = synthetic(Shape(200_000, 20, 2, 10), seed=0)
    model = hedgerow.RandomForestClassifier(10, n_jobs=n_threads, random_state=0).fit(data.X, data.y)
    forest, fitted = model.forest_, fitted_of(model)
    part, copies = forest, max(0, round(n_bytes / forest.nbytes) - 1)
    while copies:
        forest = join_forests(forest, part) if copies % 2 else forest
        part, copies = join_forests(part, part) if copies > 1 else part, copies // 2
    origins = (replace(fitted.origins[0], n_trees=forest.n_trees),)
    publish(model, replace(fitted.without_rows(), forest=forest, origins=origins))  # neither file keeps rows
    return model, data.X_fresh[:ASKED]


def _dump(model: Any, path: Path) -> None:
    with open(path, "wb") as file:
        pickle.dump(model, file, protocol=5)


def _dump_safely(model: Any, path: Path) -> None:
    """As `hedgerow.save` does: there is no moment at which half a file has the name."""
    passing = path.with_suffix(".partial")
    with open(passing, "wb") as file:
        pickle.dump(model, file, protocol=5)
        file.flush()
        os.fsync(file.fileno())
    os.replace(passing, path)


def _undump(path: Path) -> Any:
    with open(path, "rb") as file:
        return pickle.load(file)


def _peak(name: str, folder: Path) -> int:
    """Highest memory of loading beyond what was there before, in a process of its own."""
    command = [sys.executable, "-m", "benchmarks.files", "--child", name, "--folder", str(folder)]
    return int(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


def _child(name: str, folder: Path) -> int:
    """Load once and print the peak."""
    reset_peak()
    before = status("VmRSS") or 0
    kept = (
        _undump(folder / "model.pickle")
        if name == "pickle"
        else hedgerow.load(folder / "model.hedge", memory_map=name == "hedgerow")
    )
    print((status("VmHWM") or 0) - before)
    return 0 if kept is not None else 1


def _print(model: Any, found: dict[str, Any], sizes: dict[str, int], peaks: dict[str, int], same: bool) -> None:
    """One table, and what must hold."""
    out, forest = show.console(), model.forest_
    grid = show.ruled(f"A model of {forest.n_trees} trees, {len(forest.nodes) / 1e6:.0f}M nodes: ratios to pickle")
    names = ["hedgerow", "hedgerow, not mapped", "pickle", "pickle, in place"]
    for column in ("", *names, "pickle took"):
        grid.add_column(column, justify="right" if column else "left")
    for what, seconds in found.items():
        base = seconds.get("pickle") or found["load"]["pickle"]
        cells = [f"{seconds[name] / base:.2f}" if name in seconds else show.DASH for name in names]
        grid.add_row(what if "pickle" in seconds else f"{what} alone, to pickle's load", *cells, f"{base:.2f} s")
    grid.add_section()
    for what, values in (("bytes", sizes), ("peak memory of loading", peaks)):
        cells = [f"{values[name] / values['pickle']:.2f}" if name in values else show.DASH for name in names]
        grid.add_row(what, *cells, f"{values['pickle'] / 1e9:.2f} GB")
    out.print(grid)
    beyond = max(peaks["hedgerow"], peaks["hedgerow, not mapped"]) - 2 * sizes["hedgerow"]
    verdict = show.verdict(beyond <= MEMORY_TARGET)
    out.print(f"memory beyond twice the file: {max(0, beyond) / 2**20:.0f} MB, target 64 MB: {verdict}")
    out.print(f"the loaded model says the same, bit for bit: {'yes' if same else 'NO'}")


def _options(arguments: list[str] | None) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.files", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--bytes", type=float, default=1e9, help="size of the model, about (1e9)")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--folder", help="where to write the files (a temporary folder)")
    parser.add_argument("--json", metavar="FILE", help="write everything measured to a file")
    parser.add_argument("--child", help=argparse.SUPPRESS)
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main())
