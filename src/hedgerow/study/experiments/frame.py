"""Experiments as units of work, with results saved on disk."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from hedgerow.datasets import DatasetError, UnreachableError, find_dataset
from hedgerow.study.experiments.report import StudyReport
from hedgerow.util.disk import write_whole

Arguments = dict[str, Any]
Result = dict[str, Any]


@dataclass(frozen=True)
class Unit:
    """A piece of work that depends on no other; its result is one small file.

    Parameters
    ----------
    key : str
        Name of the file.
    arguments : dict
        Arguments of `Experiment.work`, as JSON. A saved result is reused only if its arguments are equal.
    cost : float
        Duration relative to other units; the longest units start first.
    """

    key: str
    arguments: Arguments
    cost: float = 1.0


@dataclass(frozen=True)
class Results:
    """Arguments and results of all units, and reasons for unavailable data sets."""

    done: tuple[tuple[Arguments, Result], ...]
    absent: dict[str, str]
    quick: bool

    def of(self, **wanted: Any) -> list[tuple[Arguments, Result]]:
        """Return the units with these argument values."""
        return [pair for pair in self.done if all(pair[0].get(name) == value for name, value in wanted.items())]


@dataclass(frozen=True)
class Experiment:
    """A paper: its data sets, the units of work, and the report on the results.

    Parameters
    ----------
    name, title : str
    sets : callable (quick) -> names of data sets
    plan : callable (names of the available sets, quick) -> units
    work : callable (arguments, data folder) -> result, JSON; called in other processes
    report : callable (results) -> Report
    """

    name: str
    title: str
    sets: Callable[[bool], Sequence[str]]
    plan: Callable[[Sequence[str], bool], list[Unit]]
    work: Callable[[Arguments, Path | None], Result]
    report: Callable[[Results], StudyReport]


def reproduce(
    experiment: Experiment,
    out: Path,
    *,
    data: Path | None = None,
    quick: bool = False,
    jobs: int = -1,
    progress: bool = True,
) -> StudyReport:
    """Run the units of an experiment that are not saved yet, and write its report.

    Parameters
    ----------
    experiment : Experiment
    out : Path
        Folder for the results, created if necessary. Units of an earlier run, even a quick one, are reused.
    data : Path, default=None
        Folder of data sets, see `hedgerow.datasets`.
    quick : bool, default=False
        Whether to run only some of the units, for a first result.
    jobs : int, default=-1
        Number of processes; -1 for one per core.
    progress : bool, default=True
        Whether to show a progress bar on standard error.

    Returns
    -------
    Report
    """
    _require("pyarrow", "matplotlib")  # raise before the work, not after it
    present, absent = _look_for(experiment.sets(quick), data)
    units = experiment.plan(present, quick)
    store = out / "units"
    store.mkdir(parents=True, exist_ok=True)
    done = {unit.key: kept for unit in units if (kept := _kept(store, unit)) is not None}
    left = sorted((unit for unit in units if unit.key not in done), key=lambda unit: -unit.cost)
    with _bar(experiment.name, units, done, progress) as step:
        for unit, result in _worked(experiment.work, left, data, jobs):
            _keep(store, unit, result)
            done[unit.key] = result
            step(unit.cost)
    results = Results(tuple((unit.arguments, done[unit.key]) for unit in units), absent, quick)
    report = experiment.report(results)
    report.write(out)
    return report


def _require(*modules: str) -> None:
    """Raise `ImportError` without the packages for data and plots."""
    missing = [module for module in modules if find_spec(module) is None]
    if missing:
        raise ImportError(f"Reproducing a paper requires {' and '.join(modules)}. Run pip install {' '.join(missing)}.")


def _look_for(names: Sequence[str], data: Path | None) -> tuple[list[str], dict[str, str]]:
    """Return the available data sets, and reasons for the others."""
    present, absent, online = [], {}, True
    for name in names:
        try:
            find_dataset(name, data=data, download=online)
            present.append(name)
        except DatasetError as reason:
            absent[name] = str(reason)
            online = online and not isinstance(
                reason, UnreachableError
            )  # wait only once for a server that does not answer
    if names and not present:
        raise DatasetError(next(iter(absent.values())))
    return present, absent


def _worked(
    work: Callable[[Arguments, Path | None], Result], units: Sequence[Unit], data: Path | None, jobs: int
) -> Iterator[tuple[Unit, Result]]:
    """Yield each unit with its result as soon as it is done."""
    if jobs == 1 or len(units) < 2:
        yield from ((unit, work(unit.arguments, data)) for unit in units)
        return
    from joblib import Parallel, delayed

    parallel = Parallel(n_jobs=jobs, batch_size=1, return_as="generator_unordered")
    yield from parallel(delayed(_with_result)(work, unit, data) for unit in units)


def _with_result(
    work: Callable[[Arguments, Path | None], Result], unit: Unit, data: Path | None
) -> tuple[Unit, Result]:
    """Return a unit with its result, because results arrive in any order."""
    return unit, work(unit.arguments, data)


def _kept(store: Path, unit: Unit) -> Result | None:
    """Return the saved result of an earlier run with equal arguments, or None."""
    try:
        kept = json.loads((store / f"{unit.key}.json").read_text(encoding="utf-8"))
    except (FileNotFoundError, json.JSONDecodeError):
        return None
    result: Result | None = kept["result"] if kept.get("arguments") == unit.arguments else None
    return result


def _keep(store: Path, unit: Unit, result: Result) -> None:
    """Save a result; the file is renamed into place when complete."""
    kept = json.dumps({"arguments": unit.arguments, "result": result})
    write_whole(store / f"{unit.key}.json", kept.encode())


class _bar:
    """A progress bar on standard error, in units of cost: ``with _bar(...) as step``."""

    def __init__(self, name: str, units: Sequence[Unit], done: dict[str, Result], shown: bool) -> None:
        from rich.console import Console
        from rich.progress import (
            BarColumn,
            Progress,
            TaskProgressColumn,
            TextColumn,
            TimeElapsedColumn,
            TimeRemainingColumn,
        )

        columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeElapsedColumn())
        self._progress = Progress(*columns, TimeRemainingColumn(), console=Console(stderr=True), disable=not shown)
        total, before = sum(unit.cost for unit in units), sum(unit.cost for unit in units if unit.key in done)
        self._task = self._progress.add_task(name, total=total, completed=0)
        self._progress.advance(self._task, before)

    def __enter__(self) -> Callable[[float], None]:
        self._progress.start()
        return lambda cost: self._progress.advance(self._task, cost)

    def __exit__(self, *reason: object) -> None:
        self._progress.stop()
