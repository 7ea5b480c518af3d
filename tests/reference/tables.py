"""Tables: a seed -> a small random table with everything that makes growing hard, and how to grow on it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow.criteria import resolve_criterion
from hedgerow.forest.grow import NO_LIMIT, GrowthParams
from hedgerow.table import read_training_table
from hedgerow.table.bins import Bins, encode, find_bins
from hedgerow.tasks.classification.target import ClassLabels, make_labels, weigh_rows


@dataclass(frozen=True)
class Drawn:
    """What one random case consists of."""

    X: NDArray[np.float64]
    nominal: list[int]
    codes: NDArray[Any]
    bins: Bins
    labels: ClassLabels
    settings: GrowthParams


def draw_column(rng: np.random.Generator, n_rows: int) -> tuple[NDArray[np.float64], bool]:
    """-> values with ties, gaps, infinities or none of these, and whether they are categories."""
    kind = rng.choice(["ties", "few", "continuous", "constant", "infinite", "binary", "nominal", "nominal"])
    if kind == "ties":
        column = rng.integers(0, 8, n_rows).astype(float)
    elif kind == "few":
        column = rng.choice([-1e300, -2.5, 0.0, 0.1, 1e-320, 7.0, 1e308], n_rows)
    elif kind == "continuous":
        column = rng.normal(size=n_rows)
    elif kind == "constant":
        column = np.full(n_rows, 3.0)
    elif kind == "infinite":
        column = rng.choice([-np.inf, -1.0, 0.0, 1.0, 5.0, np.inf], n_rows)
    elif kind == "binary":
        column = rng.integers(0, 2, n_rows).astype(float)
    else:
        column = rng.integers(0, rng.integers(2, 10), n_rows).astype(float)
    if rng.random() < 0.35:
        column[rng.random(n_rows) < rng.choice([0.1, 0.5, 1.0], p=[0.5, 0.45, 0.05])] = np.nan
    return column, kind == "nominal" and not np.isnan(column).all()


def draw_weights(rng: np.random.Generator, n_rows: int) -> NDArray[np.float64] | None:
    """-> none, whole numbers, or any numbers above zero."""
    kind = rng.integers(4)
    if kind < 2:
        return None
    if kind == 2:
        return rng.integers(1, 4, n_rows).astype(float)
    return rng.random(n_rows) * 10.0 ** rng.integers(-3, 4, n_rows) + 1e-6


def draw_case(seed: int, n_classes: int, splitter: str, criterion: str, focus: str = "") -> Drawn:
    """A table of 1 to 120 rows and 1 to 6 features, labels, weights and limits, all from the seed.

    `focus` makes one thing certain: "monotonic" constraints and a bag, "best first" growing over ties, or
    "nominal" features of up to 150 categories, or "listed" ones of up to 340.
    """
    rng = np.random.default_rng([seed, n_classes, len(splitter), len(str(criterion))])
    n_rows, n_features = int(rng.choice([1, 2, 5, 20, 60, 60, 120])), int(rng.integers(1, 7))
    n_rows = 340 if focus == "listed" else max(n_rows, 60) if focus else n_rows
    drawn = [draw_column(rng, n_rows) for _ in range(n_features)]
    if focus == "nominal":
        drawn = [(rng.integers(0, rng.choice([3, 9, 150]), n_rows).astype(float), True) for _ in drawn]
    elif focus == "listed":
        drawn = [(np.where(rng.random(n_rows) < 0.05, np.nan, rng.permutation(n_rows) // 1.1), True) for _ in drawn[:2]]
        n_features = len(drawn)
    elif focus == "best first":
        drawn = [(rng.integers(0, 3, n_rows).astype(float), False) for _ in drawn]
    X = np.column_stack([column for column, _ in drawn])
    nominal = [number for number, (_, is_nominal) in enumerate(drawn) if is_nominal]
    table = read_training_table(X, categorical_features=nominal)
    bins = find_bins(table)
    codes = encode(table, bins)
    if rng.random() < 0.3:  # two bytes a code, though one would do
        wide = codes.astype(np.uint16)
        wide[codes == 255] = 65535
        codes = wide
    # Labels that follow the first column now and then, so that trees are not all noise.
    numbers = rng.integers(0, n_classes, n_rows)
    followed = rng.random(n_rows) < 0.5
    numbers[followed] = (np.nan_to_num(X[:, 0], posinf=3, neginf=1) > 1)[followed] % n_classes
    words = ["balanced", "balanced_subsample"] if len(set(numbers)) == n_classes else ["balanced_subsample"]
    class_weight = str(rng.choice(words)) if rng.random() < 0.4 else None
    labels = labels_of(numbers, n_classes, draw_weights(rng, n_rows), class_weight)
    settings = draw_settings(rng, n_rows, n_features, n_classes, nominal, splitter, criterion)
    if focus == "monotonic":
        signs = [0 if j in nominal else int(rng.choice([-1, 1])) for j in range(n_features)]
        settings = replace(settings, monotonic=signs, bag_mean=1.0, leaf_counts="all", max_leaf_nodes=0)
    elif focus == "listed":  # lists are in small nodes
        settings = replace(settings, max_depth=NO_LIMIT, max_leaf_nodes=0, min_weight_fraction_leaf=0.0)
    elif focus == "best first":
        settings = replace(settings, max_leaf_nodes=int(rng.integers(3, 12)))
    return Drawn(X, nominal, codes, bins, labels, settings)


def draw_settings(
    rng: np.random.Generator,
    n_rows: int,
    n_features: int,
    n_classes: int,
    nominal: list[int],
    splitter: str,
    criterion: str,
) -> GrowthParams:
    """Each limit is set in a fifth of the cases."""

    def sometimes(value: Any, otherwise: Any) -> Any:
        return value if rng.random() < 0.2 else otherwise

    resampled = splitter != "random_decision" and rng.random() < 0.6
    senses = ["all", "inbag", "distinct", "oob"] if resampled else ["all", "inbag", "distinct"]
    signs = [0 if j in nominal else int(rng.integers(-1, 2)) for j in range(n_features)]
    constrained = n_classes == 2 and splitter != "random_decision" and any(signs)
    return GrowthParams(
        splitter=splitter,
        criterion=resolve_criterion(criterion),
        leaf_counts=str(rng.choice(senses)),
        max_features=int(rng.integers(1, n_features + 1)),
        max_depth=sometimes(int(rng.integers(1, 5)), NO_LIMIT),
        min_samples_split=sometimes(int(rng.integers(2, 9)), 2),
        min_samples_leaf=sometimes(int(rng.integers(2, 6)), 1),
        min_weight_fraction_leaf=sometimes(float(rng.random() / 4), 0.0),
        max_leaf_nodes=sometimes(int(rng.integers(2, 9)), 0) if splitter != "random_decision" else 0,
        min_impurity_decrease=sometimes(float(rng.random() / 10), 0.0),
        bag_mean=float(rng.choice([1.0, 0.5])) if resampled else 0.0,
        seed=int(rng.integers(0, 2**63)),
        monotonic=sometimes(signs, None) if constrained else None,
        constant_features=sometimes("count", "skip"),
        feature_weights=sometimes(draw_feature_weights(rng, n_features), None),
        min_gain=sometimes(float(rng.random() / 10), 0.0),
    )


def draw_feature_weights(rng: np.random.Generator, n_features: int) -> list[float]:
    """Weights of which some are 0 and some infinite, but not all 0."""
    weights = rng.choice([0.0, 0.5, 1.0, 3.7, np.inf], size=n_features)
    weights[rng.integers(n_features)] = 1.0
    return [float(weight) for weight in weights]


def labels_of(numbers, n_classes, weights=None, class_weight=None):
    """Class numbers, weights and class weights -> what the grower takes, as `fit` makes it."""
    weighed = weigh_rows(numbers, np.arange(n_classes), weights, class_weight)
    return make_labels(numbers, n_classes, weighed, balance_bag=class_weight == "balanced_subsample")
