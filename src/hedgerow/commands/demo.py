"""Demo: the breast-cancer data -> a small table that shows what the evidence in leaves is good for."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split

from hedgerow import RandomForestClassifier
from hedgerow.commands.talk import write_json


def run_demo(seed: int = 0, *, as_json: bool = False) -> None:
    """Fit, judge, print."""
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
    if as_json:
        write_json(_figures(wrong, is_open, forest) | {"seconds": round(seconds, 3)})
        return

    console.print(
        f"\n[bold]Breast cancer[/bold]: {len(X)} patients to learn from, {len(X_new)} new ones, {X.shape[1]} "
        f"measurements.\n{forest.forest_.n_trees} trees grown and caution {forest.caution_:g} chosen on out-of-bag "
        f"evidence in {seconds * 1000:.0f} ms.\n"
    )
    console.print(_table(wrong, is_open, forest.oob_score_))
    _show_doubtful(console, forest, X_new, is_open)
    console.print(
        "\nTry this next; X may be a NumPy, pandas, polars or Arrow table, with text and missing values:\n"
        "  forest = RandomForestClassifier(caution='auto').fit(X, y)\n"
        "  forest.predict_set(X_new)          # the classes that cannot be told apart\n"
        "  forest.predict_bounds(X_new)       # lower and upper probability of each\n"
        "  forest.predict_uncertainty(X_new)  # how much is not known, and why\n"
    )


def _figures(wrong: NDArray[np.bool_], is_open: NDArray[np.bool_], forest: RandomForestClassifier) -> dict[str, Any]:
    """(n,) mistakes, (n,) undecided, the forest -> the figures of the table, for JSON."""
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
    """(n,) mistakes, (n,) undecided -> the table."""
    table = Table(box=None, padding=(0, 2))
    table.add_column("")
    table.add_column("ordinary forest", justify="right")
    table.add_column("hedgerow", justify="right")
    decided = ~is_open
    table.add_row("new patients it decides", f"{len(wrong)}", f"{decided.sum()}")
    table.add_row("accuracy where it decides", f"{np.mean(~wrong):.1%}", f"{np.mean(~wrong[decided]):.1%}")
    table.add_row("wrong decisions", f"{wrong.sum()}", f"{(wrong & decided).sum()}")
    table.add_row("mistakes left open instead", "", f"{(wrong & is_open).sum()} of {wrong.sum()}")
    table.add_row("accuracy it expects (out of bag)", f"{oob_score:.1%}", "")
    return table


def _show_doubtful(
    console: Console, forest: RandomForestClassifier, X: NDArray[np.float64], is_open: NDArray[np.bool_]
) -> None:
    """The undecided patient with the widest interval, in one line."""
    if not is_open.any():
        return
    bounds = forest.predict_bounds(X[is_open])
    widest = int((bounds[:, 0, 1] - bounds[:, 0, 0]).argmax())
    row = int(np.flatnonzero(is_open)[widest])
    said = ", ".join(
        f"{label} between {lower:.0%} and {upper:.0%}"
        for label, (lower, upper) in zip(forest.classes_, bounds[widest], strict=True)
    )
    console.print(f"\nThe most doubtful one, new patient {row}: {said}.")
