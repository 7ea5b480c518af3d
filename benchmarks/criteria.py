"""Criteria: what growing by each criterion costs -> time relative to Gini, nodes and accuracy beside it."""

from __future__ import annotations

import argparse
import time

from benchmarks.data import Shape, Split, synthetic
from hedgerow import RandomForestClassifier
from hedgerow.criteria import BeliefGain, Criterion, Entropy, Gini, ImpreciseGain

#: The multinomial mass needs a linear programme for each count vector of more than three classes.
CRITERIA: dict[str, tuple[Criterion, int]] = {
    "gini": (Gini(), 10**9),
    "entropy": (Entropy(), 10**9),
    "belief, lam 0.5": (BeliefGain(0.5), 10**9),
    "belief, lam 0.9": (BeliefGain(0.9), 10**9),
    "imprecise": (ImpreciseGain(), 10**9),
    "belief, multinomial": (BeliefGain(0.5, mass="multinomial"), 3),
}


def main() -> None:
    """Print one line per criterion and number of classes, fits interleaved, minimum of repeats."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=10_000)
    parser.add_argument("--classes", type=int, nargs="+", default=[2, 3, 7, 20])
    parser.add_argument("--trees", type=int, default=20)
    parser.add_argument("--repeats", type=int, default=3)
    given = parser.parse_args()
    print("classes  criterion              time ÷ gini    nodes ÷ gini    accuracy")
    for n_classes in given.classes:
        split = synthetic(Shape(given.rows, 20, n_classes), seed=0)
        measured = _measure(split, n_classes, given.trees, given.repeats)
        seconds, nodes, _ = measured["gini"]
        for name, (own_seconds, own_nodes, accuracy) in measured.items():
            print(
                f"{n_classes:<8} {name:<22} {own_seconds / seconds:>11.2f} {own_nodes / nodes:>15.2f} {accuracy:>11.4f}"
            )


def _measure(split: Split, n_classes: int, trees: int, repeats: int) -> dict[str, tuple[float, int, float]]:
    """-> by criterion: seconds, nodes, accuracy on fresh rows."""
    found: dict[str, tuple[float, int, float]] = {}
    for _ in range(repeats):
        for name, (criterion, most_classes) in CRITERIA.items():
            if n_classes > most_classes:
                continue
            start = time.perf_counter()
            forest = RandomForestClassifier(trees, criterion=criterion, calibration=None, n_jobs=2, random_state=0).fit(
                split.X, split.y
            )
            seconds = min(time.perf_counter() - start, found.get(name, (float("inf"),))[0])
            found[name] = (seconds, len(forest.forest_.nodes), forest.score(split.X_fresh, split.y_fresh))
    return found


if __name__ == "__main__":
    main()
