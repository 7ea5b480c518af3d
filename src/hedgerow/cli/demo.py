"""`hedgerow demo` and `hedgerow reproduce`: a forest on breast-cancer data, and the experiments of papers."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.markup import escape
from rich.table import Table
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split

from hedgerow import RandomForestClassifier
from hedgerow.cli.console import note, write_json
from hedgerow.cli.exit_codes import UsageError
from hedgerow.cli.files.paths import PAGE, check_out, check_study
from hedgerow.cli.options import DemoOptions, ReproduceOptions
from hedgerow.datasets import DatasetError
from hedgerow.study.experiments import find_experiment
from hedgerow.study.experiments.frame import reproduce as run_experiment
from hedgerow.util.disk import write_whole
from hedgerow.util.text import printable

#: Cells of the notebook.
NOTEBOOK = (
    (
        "markdown",
        "# A forest that abstains\n\nBiopsies of breast tumours, half of them for training.",
    ),
    (
        "code",
        "from sklearn.datasets import load_breast_cancer\n"
        "from sklearn.model_selection import train_test_split\n"
        "from hedgerow import RandomForestClassifier\n\n"
        "data = load_breast_cancer(as_frame=True)\n"
        "y = data.target_names[data.target]\n"
        "X, X_new, y, y_new = train_test_split(\n"
        "    data.data, y, test_size=0.5, random_state={seed}, stratify=data.target\n"
        ")\n"
        'forest = RandomForestClassifier(caution="auto", oob_score=True, random_state={seed}).fit(X, y)\n'
        "forest.caution_, forest.oob_score_",
    ),
    ("markdown", "The number of undecided patients, and the accuracy of the labels of the others."),
    (
        "code",
        "labels, sets = forest.predict(X_new, return_set=True)\n"
        "undecided = sets.sum(axis=1) > 1\n"
        "undecided.sum(), (labels == y_new)[~undecided].mean()",
    ),
    ("markdown", "Why is the first of them undecided, and what would settle it?"),
    ("code", "if undecided.any():\n    print(forest.explain(X_new[undecided].iloc[:1])[0].to_text())"),
    ("markdown", "A report with everything."),
    ("code", 'forest.report(X_new, y_new, time_limit=1).save("hedgerow-demo.html")'),
)


def demo(options: DemoOptions) -> None:
    """Fit a forest, evaluate it, and write a report."""
    seed = options.seed
    if not options.as_json:
        check_out(options.out, PAGE, [], force=options.force)
        _check_notebook(options)
    console = Console(highlight=False)
    data = load_breast_cancer()
    X, X_new, y, y_new = train_test_split(
        data.data, data.target_names[data.target], test_size=0.5, random_state=seed, stratify=data.target
    )
    start = time.perf_counter()
    forest = RandomForestClassifier(caution="auto", oob_score=True, n_jobs=-1, random_state=seed).fit(X, y)
    seconds = time.perf_counter() - start
    labels, sets = forest.predict(X_new, return_set=True)
    wrong, is_open = labels != y_new, sets.sum(axis=1) > 1
    if options.as_json:
        write_json(_figures(wrong, is_open, forest) | {"seconds": round(seconds, 3)})
        return

    console.print(
        f"\n[bold]Breast cancer[/bold]: {len(X)} training patients, {len(X_new)} new patients, {X.shape[1]} "
        f"measurements.\nFitted {forest.forest_.n_trees} trees and chose caution {forest.caution_:g} out of bag "
        f"in {seconds * 1000:.0f} ms.\n"
    )
    console.print(_table(wrong, is_open, forest.oob_score_))
    _show_widest(console, forest, X_new, is_open)
    console.print(
        "\nNext steps; X may be a NumPy, pandas, polars or Arrow table, with text and missing values:\n"
        "  forest = RandomForestClassifier(caution='auto').fit(X, y)\n"
        "  forest.predict_set(X_new)          # prediction sets\n"
        "  forest.predict_bounds(X_new)       # lower and upper probabilities\n"
        "  forest.predict_uncertainty(X_new)  # sources of uncertainty\n"
    )
    _write_pages(console, options, forest, X_new, y_new)


def _write_pages(
    console: Console,
    options: DemoOptions,
    forest: RandomForestClassifier,
    X: NDArray[np.float64],
    y: NDArray[np.generic],
) -> None:
    """Write the report, and the notebook of --notebook, and print their paths."""
    names = {f"x[{j}]": {"": str(name)} for j, name in enumerate(load_breast_cancer().feature_names)}
    forest.report(X, y, title="Which biopsies can the forest not decide?", time_limit=1.0, labels=names).save(
        options.out
    )
    shown = escape(printable(options.out))
    console.print(f"Report of these patients: [bold]{shown}[/bold]. Open it in a browser:")
    console.print(f"  {Path(options.out).resolve().as_uri()}", soft_wrap=True)
    if options.notebook:
        path = _notebook_path(options)
        write_whole(path, _notebook(options.seed))
        console.print(f"Notebook of this demo: jupyter lab {escape(printable(str(path)))}")


def _check_notebook(options: DemoOptions) -> None:
    """Raise `UsageError` if the notebook exists and has been edited."""
    path = _notebook_path(options)
    if not options.notebook or options.force or not path.exists():
        return
    if path.is_dir() or path.read_bytes() not in (b"", _notebook(options.seed)):
        raise UsageError(
            f"--notebook would overwrite an edited notebook, got {str(path)!r}. Choose another --out, or add --force."
        )


def _notebook_path(options: DemoOptions) -> Path:
    return Path(options.out).with_suffix(".ipynb")


def _notebook(seed: int) -> bytes:
    """Return the notebook of the demo as a file."""
    cells = []
    for number, (kind, text) in enumerate(NOTEBOOK):
        lines = text.format(seed=seed).splitlines(keepends=True)
        more: dict[str, Any] = {"execution_count": None, "outputs": []} if kind == "code" else {}
        cells.append({"cell_type": kind, "id": f"cell-{number}", "metadata": {}, "source": lines, **more})
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    held = {"cells": cells, "metadata": {"kernelspec": kernel}, "nbformat": 4, "nbformat_minor": 5}
    return json.dumps(held, indent=1).encode()


def _figures(wrong: NDArray[np.bool_], is_open: NDArray[np.bool_], forest: RandomForestClassifier) -> dict[str, Any]:
    """Return the metrics (n,) mistakes and undecided rows as JSON."""
    return {
        "rows": len(wrong),
        "accuracy": float(np.mean(~wrong)),
        "wrong": int(wrong.sum()),
        "indeterminate": int(is_open.sum()),
        "single_set_accuracy": float(np.mean(~wrong[~is_open])) if not is_open.all() else None,
        "wrong_and_determinate": int((wrong & ~is_open).sum()),
        "oob_accuracy": float(forest.oob_score_),
        "caution": float(forest.caution_),
    }


def _table(wrong: NDArray[np.bool_], is_open: NDArray[np.bool_], oob_score: float) -> Table:
    """Return the table of metrics; `wrong` and `is_open` have shape (n,)."""
    table = Table(box=None, padding=(0, 2))
    table.add_column("")
    table.add_column("ordinary forest", justify="right")
    table.add_column("hedgerow", justify="right")
    decided = ~is_open
    table.add_row("decided new patients", f"{len(wrong)}", f"{decided.sum()}")
    table.add_row("right when decided", f"{np.mean(~wrong):.1%}", f"{np.mean(~wrong[decided]):.1%}")
    table.add_row("wrong decisions", f"{wrong.sum()}", f"{(wrong & decided).sum()}")
    table.add_row("errors among undecided patients", "", f"{(wrong & is_open).sum()} of {wrong.sum()}")
    table.add_row("out-of-bag accuracy", f"{oob_score:.1%}", "")
    return table


def _show_widest(
    console: Console, forest: RandomForestClassifier, X: NDArray[np.float64], is_open: NDArray[np.bool_]
) -> None:
    """Print the undecided patient with the widest interval."""
    if not is_open.any():
        return
    bounds = forest.predict_bounds(X[is_open])
    widest = int((bounds[:, 0, 1] - bounds[:, 0, 0]).argmax())
    row = int(np.flatnonzero(is_open)[widest])
    words = ", ".join(
        f"{label} between {lower:.0%} and {upper:.0%}"
        for label, (lower, upper) in zip(forest.classes_, bounds[widest], strict=True)
    )
    console.print(f"\nThe most uncertain new patient, {row}: {words}.")


# ---- `hedgerow reproduce`: the experiments of a paper ----------------------------------------------------------------


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
