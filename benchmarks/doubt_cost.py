"""Cost of doubt: a fit -> what learning the map, and hulls and the scores that are usual, add to it, in processor time.

python -m benchmarks.doubt_cost [--shapes 10kx20 100kx50] [--trees 100] [--repeats 5] [--catboost]

With ``--catboost``: a mixed forest of 300 trees with all that it learns, and CatBoost's defaults, in turns, one thread
each; CatBoost grows 100 of its 1,000 trees, and its time is ten times theirs.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from typing import Any

import hedgerow
from benchmarks.data import Shape, synthetic
from benchmarks.record import record
from hedgerow.forest.leaf_ranges import find_leaf_ranges
from hedgerow.inference.fitted import fitted_of
from hedgerow.inference.novelty import learn_novelty
from hedgerow.rules import resolve_rule
from hedgerow.tasks.classification.oob import learn_calibration

SHAPES = {shape.name: shape for shape in (Shape(1_000, 20), Shape(10_000, 20), Shape(100_000, 50))}
CATBOOST_SHARE, MIXED_TREES = 10, 300
#: Most that each may take of the fit.
MAP_TARGET, HULLS_TARGET = {"10kx20": 0.25, "100kx50": 0.10}, 0.10


def main() -> None:
    """Print a line for each shape: shares of the fit, in one thread, the least of the repeats."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--shapes", nargs="+", choices=list(SHAPES), default=["10kx20", "100kx50"])
    parser.add_argument("--trees", type=int, default=100)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--catboost", action="store_true", help="compare mixed forests with CatBoost instead")
    parser.add_argument(
        "--record", action="store_true", help="write the comparison to docs/results.json, for the pages"
    )
    given = parser.parse_args()
    if given.catboost:
        print("shape     mixed forest, CPU s   CatBoost, CPU s   share")
        found = {}
        for name in given.shapes:
            ours, theirs = beside_catboost(SHAPES[name], given.repeats)
            print(f"{name:<9} {ours:>19.2f} {theirs:>17.2f} {ours / theirs:>7.3f}", flush=True)
            found[name] = {"mixed forest": ours, "CatBoost": theirs, "share": ours / theirs}
        if given.record:
            record("mixed forests, time", found, "benchmarks.doubt_cost", sys.argv[1:])
        return
    print("shape     fit, CPU s     map  allowed   hulls  allowed   usual scores")
    for name in given.shapes:
        least = shares(SHAPES[name], given.trees, given.repeats)
        print(
            f"{name:<9} {least['fit']:>10.3f} {least['map']:>7.1%} {MAP_TARGET[name]:>8.0%}"
            f" {least['leaf_ranges']:>7.1%} {HULLS_TARGET:>8.0%} {least['usual']:>14.1%}",
            flush=True,
        )


def shares(shape: Shape, n_trees: int, repeats: int) -> dict[str, float]:
    """Seconds of a fit without doubt, and what each part of doubt takes as a share of them; all in turn."""
    split = synthetic(shape)

    def fit() -> Any:
        forest = hedgerow.RandomForestClassifier(n_trees, n_jobs=1, random_state=0, calibration=None)
        return fitted_of(forest.fit(split.X, split.y))

    fitted = fit()
    rows, forest, codebook = fitted.oob_rows, fitted.forest, fitted.codebook
    leaf_ranges = find_leaf_ranges(forest, rows.codes, rows.bags, codebook, fitted.seed)
    parts: dict[str, Callable[[], Any]] = {
        "fit": fit,
        "map": lambda: learn_calibration(forest, rows, resolve_rule("average"), fitted.info.prior, 1),
        "hulls": lambda: find_leaf_ranges(forest, rows.codes, rows.bags, codebook, fitted.seed),
        "usual": lambda: learn_novelty(forest, leaf_ranges, rows, codebook, 1),
    }
    least = dict.fromkeys(parts, float("inf"))
    for _ in range(repeats):
        for name, part in parts.items():
            start = time.process_time()
            part()
            least[name] = min(least[name], time.process_time() - start)
    return {name: seconds if name == "fit" else seconds / least["fit"] for name, seconds in least.items()}


def beside_catboost(shape: Shape, repeats: int) -> tuple[float, float]:
    """Processor seconds of a mixed forest with its calibrator, and of CatBoost's defaults; the least of the repeats."""
    import catboost

    split = synthetic(shape)

    def ours() -> None:
        _ = hedgerow.MixedForestClassifier(MIXED_TREES, n_jobs=1, random_state=0).fit(split.X, split.y).calibration_

    def theirs() -> None:
        quiet = {"verbose": False, "allow_writing_files": False, "thread_count": 1, "random_seed": 0}
        catboost.CatBoostClassifier(1000 // CATBOOST_SHARE, **quiet).fit(split.X, split.y)

    least = [float("inf"), float("inf")]
    for _ in range(repeats):
        for place, part in enumerate((ours, theirs)):
            start = time.process_time()
            part()
            least[place] = min(least[place], time.process_time() - start)
    return least[0], CATBOOST_SHARE * least[1]


if __name__ == "__main__":
    main()
