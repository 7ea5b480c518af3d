"""Monitor: real tables cut in two at random -> how often a batch raises an alarm, with and without a shift.

python -m benchmarks.monitor [--data DIR] [--sets NAME ...] [--tables 100] [--first-seed 0] [--trees 100]
                             [--most-rows 4000] [--level 0.05] [--json FILE]

Half of a table is fitted; the other half is the batch. Rows are shuffled, so there is no shift, and at most `level` of
the batches should raise an alarm. Then one numeric column, drawn at random, is moved by half a standard deviation.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from benchmarks import show
from benchmarks.data import folder_or_none, table
from benchmarks.measure import quiet
from hedgerow import RandomForestClassifier
from hedgerow.inference.drift import novel_rows_of, traffic_of
from hedgerow.inference.predictor import predictor_of

#: Classifications of real tables, with at least 250 rows and some numeric columns.
SETS = (
    "abalone", "banknote-authentication", "blood-transfusion", "breast-cancer-wdbc", "cardiotocography",
    "climate-crashes", "credit-australian", "credit-german", "heart-failure", "heart-statlog", "ilpd", "ionosphere",
    "magic-telescope", "mfeat-zernike", "page-blocks", "pendigits", "phoneme", "pima-diabetes", "qsar-biodegradation",
    "segment", "spambase", "vehicle-silhouettes", "wall-robot-navigation", "waveform-5000", "yeast",
)  # fmt: skip
SHIFT = 0.5


@dataclass(frozen=True)
class Found:
    """One batch: the p-values of both tests, as it is and with a moved column."""

    set: str
    seed: int
    drift: float
    strangers: float
    moved_drift: float
    moved_strangers: float

    def alarm(self, level: float, *, moved: bool) -> bool:
        """Whether `hedgerow monitor` would ask a person to look; the level is divided among the two tests."""
        found = (self.moved_drift, self.moved_strangers) if moved else (self.drift, self.strangers)
        return min(found) <= level / 2


def main(arguments: list[str] | None = None) -> int:
    """Judge all batches and print how many raise an alarm."""
    options = _options(arguments)
    quiet()
    place = folder_or_none(options.data)
    if place is None:
        return 0
    found = list(_batches(place, options))
    rows = []
    for name in dict.fromkeys(each.set for each in found):
        of_set = [each for each in found if each.set == name]
        counts = [sum(each.alarm(options.level, moved=moved) for each in of_set) for moved in (False, True)]
        rows.append([name, len(of_set), *counts])
    rows.append(["all", len(found), *(sum(row[i] for row in rows) for i in (2, 3))])
    _print(rows)
    if options.json:
        options.json.write_text(json.dumps([asdict(each) for each in found], indent=1))
    return 0


def _print(rows: list[list[object]]) -> None:
    """Counts -> the table people read."""
    grid = show.ruled("Alarms of hedgerow monitor, of half tables as they are and with one column moved")
    for head in ("set", "batches", "alarms", "alarms, moved"):
        grid.add_column(head, justify="left" if head == "set" else "right")
    for row in rows:
        grid.add_row(*(str(cell) for cell in row))
    show.console().print(grid)


def _batches(place: Path, options: argparse.Namespace) -> Iterator[Found]:
    """Tables in turn, each with other seeds."""
    for number in range(options.tables):
        name = options.sets[number % len(options.sets)]
        seed = options.first_seed + number
        yield _batch(name, seed, *table(name, place), options)


def _batch(name: str, seed: int, X: pd.DataFrame, y: np.ndarray, options: argparse.Namespace) -> Found:
    """One table, cut in two at random -> the p-values of its second half."""
    random = np.random.default_rng([seed, 77])
    order = random.permutation(len(X))[: options.most_rows]
    half = len(order) // 2
    fitted, batch = X.iloc[order[:half]], X.iloc[order[half:]]
    forest = RandomForestClassifier(options.trees, random_state=seed).fit(fitted, np.asarray(y)[order[:half]])
    numeric = [column for column in X.columns if X[column].dtype.kind in "fi"]
    column = numeric[int(random.integers(len(numeric)))]
    moved = batch.assign(**{column: batch[column] + SHIFT * fitted[column].std()})
    return Found(name, seed, *_p_values(forest, batch), *_p_values(forest, moved))


def _p_values(forest: RandomForestClassifier, batch: pd.DataFrame) -> tuple[float, float]:
    """A batch -> the p-values of drift and of strangers."""
    now = predictor_of(forest)
    read = now.table(batch)
    codes = now.encode(read)
    return traffic_of(now, codes).p_value, novel_rows_of(now, read, codes).p_value


def _options(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.monitor", description=__doc__)
    parser.add_argument("--data", default=None)
    parser.add_argument("--sets", nargs="+", default=list(SETS))
    parser.add_argument("--tables", type=int, default=100)
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--trees", type=int, default=100)
    parser.add_argument("--most-rows", type=int, default=4000)
    parser.add_argument("--level", type=float, default=0.05)
    parser.add_argument("--json", type=Path, default=None)
    return parser.parse_args(arguments)


if __name__ == "__main__":
    raise SystemExit(main())
