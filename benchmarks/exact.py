"""Exact: where tables should stop being exact -> accuracy and time of a bin for every value against 255 bins."""

from __future__ import annotations

import argparse
import time

import numpy as np

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
        times: dict[int | None, list[float]] = {255: [], None: []}
        scores: dict[int | None, list[float]] = {255: [], None: []}
        for repeat in range(given.repeats):
            split = synthetic(Shape(n_rows, 20), seed=repeat)
            for max_bins in times:
                seconds, score = _fit(split, max_bins, repeat)
                times[max_bins].append(seconds)
                scores[max_bins].append(score)
        difference = np.subtract(scores[None], scores[255])
        error = difference.std(ddof=1) / np.sqrt(given.repeats)
        print(
            f"{n_rows:<6} {min(times[None]) / min(times[255]):>19.2f} {np.mean(scores[None]):>16.4f} "
            f"{np.mean(scores[255]):>17.4f} {difference.mean():>+12.4f} ± {error:.4f}"
        )


def _fit(split: Split, max_bins: int | None, seed: int) -> tuple[float, float]:
    """Fit with at most `max_bins` bins -> seconds, accuracy on fresh rows."""
    start = time.perf_counter()
    forest = RandomForestClassifier(100, max_bins=max_bins, calibration=None, n_jobs=2, random_state=seed).fit(
        split.X, split.y
    )
    return time.perf_counter() - start, forest.score(split.X_fresh, split.y_fresh)


if __name__ == "__main__":
    main()
