"""Command: options of ``hedgerow reproduce`` -> a paper's experiment, run or resumed, and its report."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

from rich.console import Console

from hedgerow.study.datasets import DatasetError
from hedgerow.study.experiments import find_experiment
from hedgerow.study.experiments.frame import reproduce

WIDTH = 150  # columns if the output is not a terminal


def run_reproduce(paper: str, *, quick: bool, out: Path | None, data: Path | None, as_json: bool, jobs: int) -> int:
    """Run an experiment and print its report -> exit code: 0, 2 for a wrong option, 130 after an interruption."""
    notes = Console(stderr=True, highlight=False)
    folder = out or Path(paper)
    start = time.monotonic()
    try:
        experiment = find_experiment(paper)
        report = reproduce(experiment, folder, data=data, quick=quick, jobs=jobs)
    except KeyboardInterrupt:
        notes.print(f"\nStopped. Finished parts are kept in {folder / 'units'}; the same command continues from there.")
        return 130
    except (DatasetError, ImportError, ValueError) as reason:
        notes.print(f"error: {reason}", markup=False, soft_wrap=True)
        return 2
    if as_json:
        sys.stdout.write(json.dumps(report.as_json(), indent=1) + "\n")
    else:
        terminal = Console(highlight=False)
        report.show(terminal if terminal.is_terminal else Console(highlight=False, width=WIDTH))
    notes.print(f"\n{time.monotonic() - start:.0f} s. Report and figures: {folder / 'README.md'}")
    return 0
