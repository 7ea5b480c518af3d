"""Guarantees of decisions that `calibrate` learns on held-out rows, simulated.

    python -m benchmarks.guarantees [--calibrations 1000]

Each population is a table of 30,000 rows with ties, of which a forest of 10 trees is grown on 600. In each calibration
400 other rows are drawn. The guarantee is then evaluated on 5,000 rows that nothing has seen. Printed are the mean
coverage, which must not be below the target, and the share of calibrations that break a guarantee, which must not
exceed one minus the confidence, with standard errors, for the class or group in which they are worst.
"""

from __future__ import annotations

import argparse
import copy
import warnings
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from hedgerow import RandomForestClassifier
from hedgerow.decisions import Coverage, Decision, Risk, Screening

Bools = NDArray[np.bool_]
N_TRAIN, N_ASIDE, N_ROWS = 600, 400, 30_000
GROUPS = ("north", "south")


def populations() -> dict[str, tuple[NDArray[np.float64], NDArray[np.int64]]]:
    """Return balanced classes, a rare class, and three classes; the last column is a group of unequal difficulty."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N_ROWS, 5)).round(1)
    X[:, 4] = rng.random(N_ROWS) < 0.4
    signal = X[:, 0] + X[:, 1] + rng.normal(0, np.where(X[:, 4] == 1, 1.5, 0.7))
    return {
        "balanced": (X, (signal > 0).astype(np.int64)),
        "rare": (X, (signal > 2.2).astype(np.int64)),
        "three": (X, np.digitize(signal, [-0.8, 0.8]).astype(np.int64)),
    }


def promises() -> dict[str, Decision]:
    """Return the decisions under test."""
    return {
        "Coverage(0.9)": Coverage(0.9),
        "Coverage(0.9), by class": Coverage(0.9, per_class=True),
        "Coverage(0.9), by group": Coverage(0.9, groups=4),
        "Risk(0.1, 0.9)": Risk(0.1, 0.9),
        "Screening(0.9, 0.9, npv=0.9, ppv=0.6)": Screening(0.9, 0.9, npv=0.9, ppv=0.6, confidence=0.9),
        "Screening(0.9, 0.9), by group": Screening(0.9, 0.9, confidence=0.9, groups=4),
    }


def parts_of(name: str, truth: NDArray[np.int64], group: NDArray[np.float64]) -> Iterator[Bools]:
    """Yield the rows within which a guarantee holds."""
    whole = np.ones(len(truth), dtype=bool)
    values = truth if name.endswith("by class") else group if name.endswith("by group") else whole
    for value in np.unique(values):
        yield values == value


def kept(decision: Decision, sets: Bools, truth: NDArray[np.int64]) -> bool | float:
    """Return the coverage of sets, or whether `Risk` or `Screening` keeps all its limits."""
    if isinstance(decision, Coverage):
        return float(sets[np.arange(len(truth)), truth].mean())
    if isinstance(decision, Risk):
        sure = sets.sum(axis=1) == 1
        return not sure.any() or float((sets[sure].argmax(axis=1) != truth[sure]).mean()) <= decision.error
    positive = truth == sets.shape[1] - 1
    ruled_out, ruled_in = ~sets[:, -1], sets[:, -1] & (sets.sum(axis=1) == 1)
    limits = {
        "sensitivity": (~ruled_out, positive),
        "specificity": (~ruled_in, ~positive),
        "npv": (~positive, ruled_out),
        "ppv": (positive, ruled_in),
    }
    return all(
        decision.get_params()[name] is None or not among.any() or right[among].mean() >= decision.get_params()[name]
        for name, (right, among) in limits.items()
    )


def main() -> None:
    """Print a line per population and decision."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--calibrations", type=int, default=1000)
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    print(f"{'population':12}{'guarantee':40}{'least coverage':>18}{'broken':>18}{'decided':>10}")
    for population, (X, y) in populations().items():
        forest = RandomForestClassifier(10, min_samples_leaf=5, random_state=0).fit(X[:N_TRAIN], y[:N_TRAIN])
        others, test = np.arange(N_TRAIN, N_ROWS // 2), slice(N_ROWS // 2, N_ROWS, 3)
        truth, group = y[test], X[test, 4]
        for name, decision in promises().items():
            rng, found, decided = np.random.default_rng(1), [], []
            for _ in range(given.calibrations):
                drawn = rng.choice(others, N_ASIDE, replace=False)
                sets = (
                    copy.copy(forest).set_params(decision=decision).calibrate(X[drawn], y[drawn]).predict_set(X[test])
                )
                found.append([kept(decision, sets[part], truth[part]) for part in parts_of(name, truth, group)])
                decided.append((sets.sum(axis=1) == 1).mean())
            print(_line(population, name, np.array(found, dtype=np.float64), float(np.mean(decided))), flush=True)


def _line(population: str, name: str, found: NDArray[np.float64], decided: float) -> str:
    """Format the results of (calibrations, parts): the part with the least mean, and the most broken one."""
    error = found.std(axis=0) / np.sqrt(len(found))
    worst = int(found.mean(axis=0).argmin())
    shown = f"{found[:, worst].mean():.4f} ± {error[worst]:.4f}"
    broken = f"{1 - found[:, worst].mean():.4f} ± {error[worst]:.4f}"
    cells = (shown, "") if name.startswith("Coverage") else ("", broken)
    return f"{population:12}{name:40}{cells[0]:>18}{cells[1]:>18}{decided:10.3f}"


if __name__ == "__main__":
    main()
