"""Exact: where tables should stop being exact -> accuracy and time of exact bins against 255 quantile bins."""

from __future__ import annotations

import argparse
import time

import numpy as np

import hedgerow.table.bins
from benchmarks.data import Shape, Split, synthetic
from hedgerow import RandomForestClassifier


def main() -> None:
    """Print one line per number of rows: exact against binned, interleaved, minimum of repeats."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, nargs="+", default=[500, 1000, 2000, 4000, 8000, 16000])
    parser.add_argument("--repeats", type=int, default=5)
    given = parser.parse_args()
    print("rows   time exact / binned   accuracy exact   accuracy binned   difference ± standard error")
    for n_rows in given.rows:
        times: dict[int, list[float]] = {0: [], n_rows: []}
        scores: dict[int, list[float]] = {0: [], n_rows: []}
        for repeat in range(given.repeats):
            split = synthetic(Shape(n_rows, 20), seed=repeat)
            for exact_rows in times:
                seconds, score = _fit(split, exact_rows, repeat)
                times[exact_rows].append(seconds)
                scores[exact_rows].append(score)
        difference = np.subtract(scores[n_rows], scores[0])
        error = difference.std(ddof=1) / np.sqrt(given.repeats)
        print(
            f"{n_rows:<6} {min(times[n_rows]) / min(times[0]):>19.2f} {np.mean(scores[n_rows]):>16.4f} "
            f"{np.mean(scores[0]):>17.4f} {difference.mean():>+12.4f} ± {error:.4f}"
        )


def _fit(split: Split, exact_rows: int, seed: int) -> tuple[float, float]:
    """Fit with tables of up to `exact_rows` rows exact -> seconds, accuracy on fresh rows."""
    defaults = hedgerow.table.bins.find_bins.__kwdefaults__
    before, defaults["exact_rows"] = defaults["exact_rows"], exact_rows
    try:
        start = time.perf_counter()
        forest = RandomForestClassifier(100, n_jobs=2, random_state=seed).fit(split.X, split.y)
        return time.perf_counter() - start, forest.score(split.X_fresh, split.y_fresh)
    finally:
        defaults["exact_rows"] = before


if __name__ == "__main__":
    main()
