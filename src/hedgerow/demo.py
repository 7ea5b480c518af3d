"""Demo: the breast-cancer data -> a small table that shows what leaves with a memory are good for."""

from __future__ import annotations

import time

import numpy as np
from rich.console import Console
from rich.table import Table
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split

from hedgerow import RandomForestClassifier


def run_demo(seed: int = 0) -> None:
    """Fit, judge, print."""
    console = Console()
    data = load_breast_cancer()
    X, X_test, y, y_test = train_test_split(
        data.data, data.target, test_size=0.5, random_state=seed, stratify=data.target
    )
    start = time.perf_counter()
    forest = RandomForestClassifier(oob_score=True, n_jobs=-1, random_state=seed).fit(X, y)
    seconds = time.perf_counter() - start
    probability = forest.predict_proba(X_test)
    predicted = probability.argmax(axis=1)
    wrong = predicted != y_test

    console.print(
        f"\n[bold]Breast cancer[/bold]: {len(X)} patients to learn from, {len(X_test)} to judge, "
        f"{X.shape[1]} measurements. {forest.forest_.n_trees} trees grown in {seconds * 1000:.0f} ms.\n"
    )
    table = Table(show_header=False, box=None, padding=(0, 2))
    table.add_row("accuracy on new patients", f"{np.mean(~wrong):.1%}")
    table.add_row("accuracy the forest expects of itself (out of bag)", f"{forest.oob_score_:.1%}")
    table.add_row("patients it gets wrong", f"{wrong.sum()}")
    console.print(table)
    console.print(
        "\nTry next:\n"
        "  from hedgerow import RandomForestClassifier\n"
        "  forest = RandomForestClassifier(n_jobs=-1).fit(X, y)\n"
        "  print(forest.trees_[0].to_text())\n"
        "X may be a NumPy array, a pandas, polars or Arrow table, with text columns and gaps."
    )
