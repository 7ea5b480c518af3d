"""Null: tables in which no feature tells anything -> whether importances are zero and p-values uniform.

python -m benchmarks.null [--tables 400] [--permutations 19] [--json FILE]
"""

from __future__ import annotations

import argparse
import json
import sys
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from hedgerow import RandomForestClassifier
from hedgerow.explain import debiased_importance, importance_test

#: A verdict is missed where chance would do as badly in fewer than so many of a thousand runs.
UNLIKELY = 0.001
FEATURES = ("normal", "three values", "100 categories", "twice the first", "constant but one")
STATISTICS = ("permutation", "debiased", "impurity")


def main(arguments: list[str] | None = None) -> int:
    """Print two tables; a missed verdict is no error."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.null", description=__doc__.splitlines()[0])
    parser.add_argument("--tables", type=int, default=400)
    parser.add_argument("--rows", type=int, default=60)
    parser.add_argument("--trees", type=int, default=10)
    parser.add_argument("--permutations", type=int, default=19)
    parser.add_argument("--json", metavar="FILE", help="write everything measured to a file")
    options = parser.parse_args(arguments)
    debiased, impurity, pvalues = measure(options)
    what = f"{options.tables} tables of {options.rows} rows, {options.trees} trees each"
    print(f"Classes drawn at random: {what}")
    _print_importances(debiased, impurity)
    _print_pvalues(pvalues, options.permutations)
    if options.json:
        kept = {"debiased": debiased.tolist(), "pvalues": {name: each.tolist() for name, each in pvalues.items()}}
        with open(options.json, "w") as file:
            json.dump(kept, file)
    return 0


def measure(options: Any) -> tuple[NDArray[Any], NDArray[Any], dict[str, NDArray[Any]]]:
    """-> debiased and ordinary importances (tables, features), and p-values of each statistic, likewise."""
    debiased, impurity = [], []
    pvalues: dict[str, list[Any]] = {name: [] for name in STATISTICS}
    for table in range(options.tables):
        X, y = draw_table(table, options.rows)
        forest = RandomForestClassifier(options.trees, categorical_features=[2], random_state=table).fit(X, y)
        debiased.append(debiased_importance(forest).mean)
        impurity.append(forest.feature_importances_)
        for name in STATISTICS:
            asked = {"null": "labels", "n_permutations": options.permutations, "correction": None}
            pvalues[name].append(importance_test(forest, statistic=name, random_state=table, **asked).pvalue)
    return np.array(debiased), np.array(impurity), {name: np.array(each) for name, each in pvalues.items()}


def draw_table(seed: int, n_rows: int) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Features of all kinds, and two classes that have nothing to do with them."""
    rng = np.random.default_rng(seed)
    normal, alone = rng.normal(size=n_rows), np.zeros(n_rows)
    alone[0] = 1
    columns = [normal, rng.integers(0, 3, n_rows), rng.integers(0, 100, n_rows), 2 * normal, alone]
    return np.column_stack(columns), rng.permutation(np.arange(n_rows) % 2)


def _print_importances(debiased: NDArray[Any], impurity: NDArray[Any]) -> None:
    print(f"\n{'feature':20} {'impurity share':>15} {'debiased, ± se':>22}  {'p of zero':>9}  verdict")
    for i, name in enumerate(FEATURES):
        each = debiased[:, i]
        error = each.std(ddof=1) / np.sqrt(len(each))
        chance = 1.0 if error == 0 else float(2 * stats.norm.sf(abs(each.mean()) / error))
        verdict = "met" if chance >= UNLIKELY else "missed"
        print(f"{name:20} {impurity[:, i].mean():15.3f} {each.mean():+12.5f} ± {error:.5f}  {chance:9.3f}  {verdict}")


def _print_pvalues(pvalues: dict[str, NDArray[Any]], n_permutations: int) -> None:
    """A p-value is one of 1/(m + 1), …, 1; each should come as often (χ² with m degrees of freedom)."""
    print(f"\n{'statistic':12} {'feature':20} {'share p ≤ .05':>14} {'share p ≤ .5':>13} {'p of uniform':>13}  verdict")
    for statistic, found in pvalues.items():
        for i, name in enumerate(FEATURES):
            rank = np.rint(found[:, i] * (n_permutations + 1)).astype(int)
            counts = np.bincount(rank - 1, minlength=n_permutations + 1)
            chance = float(stats.chisquare(counts).pvalue)
            shares = [float(np.mean(found[:, i] <= level + 1e-9)) for level in (0.05, 0.5)]
            errors = [np.sqrt(level * (1 - level) / len(found)) for level in (0.05, 0.5)]
            cautious = shares[0] <= 0.05 + 3 * errors[0] and shares[1] <= 0.5 + 3 * errors[1]
            verdict = "met" if chance >= UNLIKELY else "ties, never too small" if cautious else "missed"
            print(f"{statistic:12} {name:20} {shares[0]:14.3f} {shares[1]:13.3f} {chance:13.3f}  {verdict}")


if __name__ == "__main__":
    sys.exit(main())
