"""NoveltyScores one row, tree and feature at a time, from the values themselves."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow.inference.fitted import fitted_of


def slow_scores(forest: Any, features: NDArray[Any], X: Any, Z: Any, *, oob: bool) -> NDArray[np.float64]:
    """Training rows X, other rows Z (both data frames) -> (n, 2): total and single score; Z is X if `oob`."""
    rows = fitted_of(forest).rows
    assert rows is not None
    reached_X, reached_Z = forest.apply(X), forest.apply(Z)
    scores = []
    for i in range(len(Z)):
        total, n_judges, each = 0.0, 0, {}
        for tree in range(len(features)):
            times = rows.bags.times(tree)
            if oob and times[i]:
                continue
            n_judges += 1
            inside = [k for k in range(len(X)) if times[k] and reached_X[k, tree] == reached_Z[i, tree]]
            for feature in features[tree]:
                away = _away(X.iloc[:, feature].tolist(), inside, Z.iloc[i, feature], int(oob))
                total += min(away, 1.0)
                each.setdefault(feature, []).append(away)
        single = max((sum(away) / len(away) for away in each.values()), default=math.nan)
        scores.append((total / n_judges if n_judges else math.nan, single))
    return np.array(scores)


def _away(column: list[Any], inside: list[int], value: Any, own: int) -> float:
    """How far a value is from those of the rows inside; `own` is 1 if it is one of the column."""
    held = [column[k] for k in inside]
    n_rows, there = len(column), [each for each in held if not _is_missing(each)]
    if not held:
        return 0.0
    if _is_missing(value):
        gaps = sum(map(_is_missing, column))
        return 0.0 if len(there) < len(held) else _rarity(gaps - own, n_rows)
    if isinstance(value, str):
        return 0.0 if value in there else _rarity(column.count(value) - own, n_rows)
    present = [each for each in column if not _is_missing(each)]
    if not there:
        return _rarity(len(present) - own, n_rows)
    beyond = max(min(there) - value, value - max(there), 0.0)
    return min(beyond / float(np.std(present)), 100.0)


def _rarity(rows: int, n_rows: int) -> float:
    return math.log((n_rows + 1) / (rows + 0.5)) if rows > 0 else 100.0


def _is_missing(value: Any) -> bool:
    return value is None or value != value
