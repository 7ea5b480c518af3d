"""`hedgerow reproduce`: the experiments of a paper."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

from rich.console import Console

from hedgerow.cli.console import note
from hedgerow.cli.exit_codes import UsageError
from hedgerow.cli.files.paths import check_study
from hedgerow.cli.options import ReproduceOptions
from hedgerow.datasets import DatasetError
from hedgerow.study.experiments import find_experiment
from hedgerow.study.experiments.frame import reproduce as run_experiment

WIDTH = 150  # columns if the output is not a terminal


def reproduce(options: ReproduceOptions) -> None:
    """Run an experiment, write its report to a folder and print it."""
    folder = options.out or Path("-".join(filter(None, (options.paper, options.study))))
    check_study(folder, options.data, force=options.force)
    start = time.monotonic()
    try:
        experiment = find_experiment(options.paper, options.study)
        report = run_experiment(experiment, folder, data=options.data, quick=options.quick, jobs=options.jobs)
    except KeyboardInterrupt:
        kept = folder / "units"
        raise KeyboardInterrupt(f"Stopped. Finished parts are in {kept}; run the same command to resume.") from None
    except (DatasetError, ImportError, ValueError) as reason:
        raise UsageError(str(reason)) from None
    if options.as_json:
        sys.stdout.write(json.dumps(report.as_json(), indent=1) + "\n")
    else:
        terminal = Console(highlight=False)
        report.show(terminal if terminal.is_terminal else Console(highlight=False, width=WIDTH))
    note(f"{time.monotonic() - start:.0f} s; report and plots in {folder / 'README.md'}")
