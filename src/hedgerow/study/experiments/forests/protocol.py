"""Accuracy and Brier score of every rule, by set, type of trees and leaf size.

Each half grows one ensemble per number of trees; every rule then combines the same leaves.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow import RandomDecisionTreesClassifier, RandomForestClassifier
from hedgerow.datasets import describe_dataset, load_dataset, take_rows
from hedgerow.rules import Eva, Rule, resolve_rule
from hedgerow.study.experiments.busch_2021.protocol import features, halves
from hedgerow.study.experiments.frame import Arguments, Result, Unit

Floats = NDArray[np.float64]

#: Sets of at most 2,400 rows; one half trains, the other tests, then the reverse.
SETS = (
    "arrhythmia", "balance-scale", "banknote-authentication", "blood-transfusion", "breast-cancer-ljubljana",
    "breast-cancer-wdbc", "breast-cancer-wisconsin", "breast-tissue", "car", "cardiotocography", "climate-crashes",
    "congressional-voting", "credit-australian", "credit-german", "dermatology", "digits", "ecoli", "glass", "haberman",
    "heart-failure", "heart-statlog", "hepatitis", "ilpd", "ionosphere", "iris", "lymphography", "mfeat-zernike",
    "pima-diabetes", "qsar-biodegradation", "segment", "sonar", "soybean", "spect", "spectf", "tic-tac-toe",
    "vehicle-silhouettes", "vowel", "wine", "wine-quality-red", "yeast",
)  # fmt: skip
QUICK_SETS = ("ecoli", "glass", "haberman", "heart-statlog", "iris", "pima-diabetes", "sonar", "wine")
KINDS: dict[str, Any] = {"forest": RandomForestClassifier, "random trees": RandomDecisionTreesClassifier}
LEAF_SIZES = (1, 8)
SIZES = (5, 10, 20, 50, 100)
#: Rules of the paper, those that its authors' program adds, and those of the mass algebra, with their defaults.
NAMES = (
    "average", "laplace", "plausibility", "confidence_bounds", "vote", "pool", "dempster", "cautious", "eva", "median",
    "signed_maximum", "generalised_mixture", "epistemic_weighted", "weighted_average", "dubois_prade", "lns",
)  # fmt: skip
RULES: dict[str, Rule] = {name: resolve_rule(name) for name in NAMES} | {"eva, no prior": Eva(prior=None)}


def plan(sets: Sequence[str], quick: bool) -> list[Unit]:
    """Return a unit for each set, type of trees and leaf size."""
    units = []
    for name in sets:
        for kind in KINDS:
            for leaf in LEAF_SIZES:
                arguments = {"set": name, "kind": kind, "leaf": leaf, "sizes": list(SIZES), "rules": list(RULES)}
                key = f"{kind.replace(' ', '_')}-{leaf}-{name}"
                units.append(Unit(key, arguments, cost=describe_dataset(name).rows))
    return units


def work(arguments: Arguments, data: Path | None) -> Result:
    """Run a unit: accuracy and Brier score (sizes, rules), means over both halves."""
    dataset = load_dataset(arguments["set"], data=data)
    X, y = features(dataset), np.unique(dataset.y, return_inverse=True)[1]
    one, other = halves(len(y), 0)
    found = [
        evaluate_split(X, y, *parts, arguments["kind"], arguments["leaf"]) for parts in ((one, other), (other, one))
    ]
    accuracy, brier = np.mean(found, axis=0)
    return {"accuracy": accuracy.round(6).tolist(), "brier": brier.round(6).tolist()}


def evaluate_split(
    X: Any, y: NDArray[np.int64], fit: NDArray[np.int64], test: NDArray[np.int64], kind: str, leaf: int
) -> tuple[Floats, Floats]:
    """Return accuracy and Brier score (sizes, rules) of one half on the other."""
    X_fit, X_test = take_rows(X, fit), take_rows(X, test)
    scores = np.empty((2, len(SIZES), len(RULES)))
    for position, size in enumerate(SIZES):
        options: dict[str, Any] = {"min_samples_leaf": leaf, "min_samples_split": 2 * leaf, "random_state": 0}
        options |= {"calibration": None} if kind == "forest" else {}
        model = KINDS[kind](size, **options).fit(X_fit, y[fit])
        opinions = model.evidence(X_test).combine_each([(rule, 0.0) for rule in RULES.values()])
        for column, opinion in enumerate(opinions):
            scores[:, position, column] = scored(opinion.probability, model.classes_, y[test])
    return scores[0], scores[1]


def scored(probability: Floats, classes: NDArray[np.int64], y: NDArray[np.int64]) -> tuple[float, float]:
    """Return accuracy and Brier score of probabilities (n, K) of classes (K,).

    A class that is not in the training rows has probability 0.

    Examples
    --------
    >>> scored(np.array([[0.8, 0.2], [0.4, 0.6]]), np.array([0, 1]), np.array([0, 2]))
    (0.5, 0.8)
    """
    right = classes[probability.argmax(axis=1)] == y
    own = np.where(classes == y[:, None], probability, 0.0).sum(axis=1)
    errors = (probability**2).sum(axis=1) - 2 * own + 1
    return float(right.mean()), float(errors.mean())
