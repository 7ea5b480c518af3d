"""Bias, variance and instability of learners over many training tables."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from hedgerow import DecisionTreeClassifier, DecisionTreeRegressor, RandomForestClassifier, RandomForestRegressor
from hedgerow.datasets import describe_dataset, load_dataset
from hedgerow.study.experiments.frame import Arguments, Result, Unit
from hedgerow.study.experiments.lectures import shown
from hedgerow.theory.tables import bias_and_variance, fits

CLASSES = (
    "breast-cancer-wdbc", "glass", "heart-cleveland-kaggle", "ionosphere", "pima-diabetes", "sonar",
    "vehicle-silhouettes", "wine-quality-red-binary",
)  # fmt: skip
NUMBERS = ("airfoil", "auto-mpg", "boston-housing", "concrete", "energy-heating", "yacht")
QUICK_SETS = ("heart-cleveland-kaggle", "sonar", "boston-housing", "yacht")
#: A tree, trees on bootstrap samples with all features at each split, and with some: bags and forests of B trees.
TREE, BAG, FOREST = "tree", "bag", "forest"
SIZES = (1, 5, 25, 100)
TABLES = 40
#: Training tables have this share of the rows: half to separate bias from variance, nearly all for instability.
HALF, NEARLY = 0.5, 0.95


def plan(sets: Sequence[str], quick: bool) -> list[Unit]:
    """Return a unit for each set, learner and share of rows."""
    asked = [(HALF, TREE, 1), *((HALF, kind, size) for kind in (BAG, FOREST) for size in SIZES)]
    asked += [(NEARLY, TREE, 1), (NEARLY, BAG, SIZES[-1]), (NEARLY, FOREST, SIZES[-1])]
    units = []
    for name in sets:
        for share, kind, size in asked:
            arguments = {"set": name, "kind": kind, "size": size, "share": share, "tables": TABLES}
            key = f"{kind}-{size:03d}-{share:g}-{name}"
            units.append(Unit(key, arguments, cost=describe_dataset(name).rows * (2 + size)))
    return units + _figures(sets)


def _figures(sets: Sequence[str]) -> list[Unit]:
    """Return a unit for each figure of the lectures."""
    units = [Unit(f"figure-{name}", {"figure": name}, cost=1e4) for name in ("votes", "curve")]
    for name in sets:
        if name in CLASSES:
            cost = 9.0 * describe_dataset(name).rows
            units.append(Unit(f"figure-features-{name}", {"figure": "features", "on": name}, cost=cost))
    return units


def work(arguments: Arguments, data: Path | None) -> Result:
    """Run a unit; squared errors of regression are relative to the target variance."""
    if "figure" in arguments:
        return shown.work(arguments, data)
    dataset = load_dataset(arguments["set"], data=data)
    X, y = dataset.as_floats(), dataset.y
    learner = learner_of(arguments["kind"], arguments["size"], numbers=arguments["set"] in NUMBERS)
    told: dict[str, Any] = {"n_tables": arguments["tables"], "share": arguments["share"]}
    found = bias_and_variance(learner, X, y, **told)
    scale = float(np.var(y.astype(np.float64))) if arguments["set"] in NUMBERS else 1.0
    result: Result = {name: float(getattr(found, name)) / scale for name in ("error", "bias", "variance")}
    result |= {"errors": (found.errors / scale).tolist(), "disagreement": found.disagreement}
    if arguments["kind"] == TREE:
        models = fits(learner, X, y, **told, test_share=1 / 3, random_state=0)
        result["roots"] = dict(Counter(str(int(model.tree_.feature[0])) for model, _ in models))
    return result


def learner_of(kind: str, size: int, *, numbers: bool) -> Any:
    """Return a learner with fully grown trees."""
    if kind == TREE:
        return DecisionTreeRegressor() if numbers else DecisionTreeClassifier()
    if numbers:
        return RandomForestRegressor(size, max_features=None if kind == BAG else 1 / 3)
    return RandomForestClassifier(size, max_features=None if kind == BAG else "sqrt", calibration=None)
