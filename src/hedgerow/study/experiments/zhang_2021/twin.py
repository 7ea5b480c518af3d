"""The paper's protocol with scikit-learn's forests and the printed formulas.

A cell on which this program and hedgerow agree against the paper does not differ because of hedgerow's trees or rules.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
TREES, CAUTIONS = 100, (1.0, 3.0, 5.0)


def tables(X: Floats, y: Ints, repetitions: dict[int, list[tuple[Ints, Ints]]]) -> dict[str, Any]:
    """Return mean u65 by repetition, caution and rule."""
    from sklearn.ensemble import RandomForestClassifier

    found = []
    for number, parts in repetitions.items():
        scores = []
        for fold, (fit, test) in enumerate(parts):
            forest = RandomForestClassifier(TREES, random_state=len(parts) * number + fold).fit(X[fit], y[fit])
            inside, outside = forest.apply(X[fit]), forest.apply(X[test])
            counts = [_leaf_counts(inside[:, tree], outside[:, tree], y[fit]) for tree in range(TREES)]
            scores.append(scores_of(np.stack(counts, axis=1), y[test]))
        found.append(np.mean(scores, axis=0).tolist())
    return {"u65": found}


def scores_of(counts: Ints, y: Ints) -> list[list[float]]:
    """Return u65 by caution of mass1, mass2, mass3 and the baseline."""
    found = []
    n = counts.sum(axis=2)
    for s in CAUTIONS:
        lower, upper = counts[:, :, 1] / (n + s), (counts[:, :, 1] + s) / (n + s)
        row = []
        for weights in (np.ones_like(lower), n.astype(np.float64), 1 - s / (n + s)):
            bel, pl = ((weights * sure).sum(axis=1) for sure in (lower >= 0.5, upper > 0.5))
            row.append(u65(bel, pl, weights.sum(axis=1) / 2, y))  # not divided, to keep exactly half
        found.append([*row, u65(lower.mean(axis=1), upper.mean(axis=1), 0.5, y)])
    return found


def u65(bel: Floats, pl: Floats, half: Floats | float, y: Ints) -> float:
    """Return mean u65, 0.65 for undecided rows; `half` is half of the total mass."""
    decided = np.where(bel > half, 1, np.where(pl < half, 0, -1))
    return float(np.where(decided < 0, 0.65, decided == y).mean())


def _leaf_counts(inside: Ints, outside: Ints, y: Ints) -> Ints:
    """Return the counts (n_test, 2) of training rows in the leaves of test rows."""
    size = 1 + max(inside.max(), outside.max())
    counts = np.stack([np.bincount(inside[y == k], minlength=size) for k in (0, 1)], axis=1)
    return np.asarray(counts[outside])
