"""Accuracy and AUC of every method, by data set, leaf size and repetition.

Each half grows one ensemble of random decision trees; every method then combines the same leaves.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow import DecisionTreeClassifier, Opinion, RandomDecisionTreesClassifier, RandomForestClassifier
from hedgerow.datasets import Dataset, describe_dataset, load_dataset, take_rows
from hedgerow.inference.evidence import Evidence
from hedgerow.rules import (
    Average,
    Cautious,
    ConfidenceBounds,
    Dempster,
    Eva,
    Laplace,
    Plausibility,
    Pool,
    Rule,
    Vote,
)
from hedgerow.study.experiments.frame import Arguments, Result, Unit

Floats = NDArray[np.float64]
ReportTable = Any  # an array (n, p) of numbers, or an Arrow table if columns are categorical

PAPER: dict[str, Any] = json.loads(
    files("hedgerow.study.experiments.busch_2021").joinpath("paper.json").read_text(encoding="utf-8")
)
TREES: int = PAPER["protocol"]["trees"]
LEAF_SIZES: tuple[int, ...] = tuple(PAPER["protocol"]["leaf_sizes"])
REPETITIONS: int = PAPER["protocol"]["repetitions"]
#: The nine combinations of the paper, its two references, and additions: one name per column of the results.
RULES: dict[str, Rule] = {
    "Probability": Average(),
    "Laplace": Laplace(),
    "Plausibility": Plausibility(),
    "Confidence Bounds": ConfidenceBounds(),
    "Voting": Vote(),
    "Pooling": Pool(),
    "Dempster": Dempster(),
    "Cautious": Cautious(),
    "EVA": Eva(prior="log"),
    "EVA, program's prior": Eva(prior="authors"),
    "EVA, no prior": Eva(prior=None),
}
PROGRAM = "EVA, program's prior"
BY_RATIO = "Dempster, log-ratio"
REFERENCES = ("Random Forest", "Single Tree")
COLUMNS = (*RULES, BY_RATIO, *REFERENCES)
METHODS = (*tuple(RULES)[:9], *REFERENCES)
#: Further leaf sizes of Figure 5; its other points are the first half of the first repetition.
CLOUD_SIZES = (6, 12, 16, 64, 128)
#: Larger sets skip the second halves: a hundred thousand test rows need no further averaging.
TWO_HALVES = 200_000
#: Larger sets are excluded from a quick run.
QUICK_ROWS = 6_000


def plan(sets: Sequence[str], quick: bool) -> list[Unit]:
    """Return one unit per set, leaf size and repetition, and the rest of Figure 5."""
    titles = {name: title for title, name in PAPER["files"].items()}
    units = []
    for name in sets:
        info = describe_dataset(name)
        size = info.rows * (1 + 20 * bool(info.nominal)) * (1 + info.features / 50)
        for leaf in LEAF_SIZES:
            for repetition in range(1 if quick else REPETITIONS):
                arguments = {"kind": "halves", "set": titles[name], "leaf": leaf, "repetition": repetition}
                units.append(
                    Unit(f"halves-{titles[name]}-{leaf:03d}-{repetition}", arguments, size / (1 + leaf) ** 0.2)
                )
        if titles[name] in PAPER["figure_5"]["sets"]:
            for leaf in CLOUD_SIZES:
                arguments = {"kind": "cloud", "set": titles[name], "leaf": leaf}
                units.append(Unit(f"cloud-{titles[name]}-{leaf:03d}", arguments, size / 4))
    return units


def work(arguments: Arguments, data: Path | None) -> Result:
    """Run a unit, in a process of its own."""
    dataset = load_dataset(PAPER["files"][arguments["set"]], data=data)
    X, y = features(dataset), dataset.is_positive()
    leaf, repetition = arguments["leaf"], arguments.get("repetition", 0)
    one, other = halves(len(y), repetition)
    only_trees = arguments["kind"] == "cloud"
    with_cloud = arguments["set"] in PAPER["figure_5"]["sets"] and repetition == 0
    found = [evaluate_split(X, y, one, other, leaf, repetition, references=not only_trees, cloud=with_cloud)]
    if not only_trees and len(y) < TWO_HALVES:
        found.append(evaluate_split(X, y, other, one, leaf, repetition))
    return {"halves": found}


def features(dataset: Dataset) -> ReportTable:
    """Read a data set as the authors' program does.

    Missing values are a category of categorical columns, and row identifiers are dropped.
    """
    X = dataset.X
    if dataset.info.name == "climate-crashes":
        X = X.drop_columns(X.column_names[:2])
    if not dataset.info.nominal:
        columns = [column.to_numpy().astype(np.float64) for column in X.itercolumns()]
        return np.ascontiguousarray(np.stack(columns, axis=1))
    for position, name in enumerate(X.column_names):
        if name in dataset.info.nominal and X.column(name).null_count:
            X = X.set_column(position, name, X.column(name).cast("string").fill_null("?").dictionary_encode())
    return X


def halves(n: int, repetition: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return two random halves of rows.

    Examples
    --------
    >>> one, other = halves(10, 0)
    >>> sorted([*one.tolist(), *other.tolist()]) == list(range(10))
    True
    """
    order = np.random.default_rng(repetition).permutation(n)
    return order[: n // 2], order[n // 2 :]


def evaluate_split(
    X: ReportTable,
    y: NDArray[np.int64],
    fit: NDArray[np.int64],
    test: NDArray[np.int64],
    leaf: int,
    seed: int,
    *,
    references: bool = True,
    cloud: bool = False,
) -> dict[str, list[float]]:
    """Return accuracy and AUC in the order of `COLUMNS`, and those of single trees."""
    X_fit, X_test, y_fit, y_test = take_rows(X, fit), take_rows(X, test), y[fit], y[test]
    options: dict[str, Any] = {
        "min_samples_leaf": leaf,
        "min_samples_split": 2 * leaf,
        "random_state": seed,
    }  # as in the authors' program
    ensemble = RandomDecisionTreesClassifier(TREES, **options).fit(X_fit, y_fit)
    scores = scores_of(ensemble.evidence(X_test))
    single = single_trees(ensemble, X_test, y_test) if cloud else []
    del ensemble  # frees a forest of a large set before the next is grown
    for model in (
        (RandomForestClassifier(TREES, calibration=None, **options), DecisionTreeClassifier(**options))
        if references
        else ()
    ):
        scores.append(model.fit(X_fit, y_fit).predict_proba(X_test)[:, 1] - 0.5)
    accuracy = [round(float(np.mean((score > 0) == y_test)), 6) for score in scores]
    return {"accuracy": accuracy, "auc": [round(auc(score, y_test), 6) for score in scores], "trees": single}


def scores_of(evidence: Evidence) -> list[Floats]:
    """Return the scores (n,) of all combinations, positive for class 1."""
    opinions = dict(zip(RULES, evidence.combine_each([(rule, 0.0) for rule in RULES.values()]), strict=True))
    ratio = opinions["Dempster"].log_odds
    return [*(raw_score(opinion) for opinion in opinions.values()), ratio[:, 1] - ratio[:, 0]]


def raw_score(opinion: Opinion) -> Floats:
    """Return the paper's score (n,) of two classes."""
    assert opinion.score is not None
    return opinion.score


def single_trees(ensemble: RandomDecisionTreesClassifier, X: ReportTable, y: NDArray[np.int64]) -> list[float]:
    """Return the accuracy of every single tree of the ensemble."""
    leaves = ensemble.evidence(X).leaves
    found = []
    for tree in range(TREES):
        counts = ensemble.forest_.leaf_counts(tree)
        positive = counts[:, 1] > counts[:, 0]
        found.append(round(float(np.mean(positive[leaves[:, tree]] == y)), 6))
    return found


def auc(score: Floats, y: NDArray[np.int64]) -> float:
    """Return the area under the ROC curve; equal scores count half.

    Examples
    --------
    >>> auc(np.array([0.1, 0.4, 0.4, 0.8]), np.array([0, 0, 1, 1]))
    0.875
    """
    from scipy.stats import rankdata

    positive = y == 1
    n_positive, n_negative = int(positive.sum()), int((~positive).sum())
    if not n_positive or not n_negative:
        return 0.5
    total = rankdata(score)[positive].sum() - n_positive * (n_positive + 1) / 2
    return float(total / (n_positive * n_negative))
