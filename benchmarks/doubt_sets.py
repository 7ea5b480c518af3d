"""Sets: real tables of classes and the same folds for all -> what sets of classes are worth, and whether they cover."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.accuracy import _encoded
from benchmarks.doubt_kit import Measure, NotSuitedError, Rows, Study, Table, classes_of, imported
from benchmarks.doubt_probabilities import halves, sklearn_forest

Bools = NDArray[np.bool_]
Sets = dict[str, Bools]
"""Sets (n, K) by what they are for: "u65", "u80" or "coverage"; and "groups" (n, G): the group of each row."""

COVERAGE = 0.9
CALIBRATED_ON = 0.3
"""Share of the rows that peers set aside."""
LEAST = 30
"""Rows that a class or group must have in a fold for its coverage to be counted."""
MOST_GROUPS = 10
"""The first column with 2 to so many values that no row lacks, each in 5 % of the rows or more, makes the groups."""


def sets(model: Any, X: Any, y: Rows, fit: Rows, test: Rows) -> Sets:
    """Fit on one part -> sets of the other, in columns of all classes."""
    said: Sets = {}
    for what, some in model(X.iloc[fit], y[fit], X.iloc[test]).items():
        said[what] = np.zeros((len(test), int(y.max()) + 1), dtype=bool)
        said[what][:, np.unique(y[fit])] = some
    column = _group_column(X)
    if column is not None:
        of_row, names = X[column].iloc[test].to_numpy(), X[column].unique()
        said["groups"] = np.stack([of_row == name for name in names], axis=1)
    return said


def _group_column(X: Any) -> Any:
    """The name of the column that makes groups; None if there is none."""
    for name in X.columns:
        shares = X[name].value_counts(normalize=True, dropna=False)
        shares = shares[shares > 0]
        if 2 <= len(shares) <= MOST_GROUPS and shares.min() >= 0.05 and not X[name].isna().any():
            return name
    return None


# ---- the models: training rows, their classes, rows to ask about -> sets ---------------------------


def _ours(kind: str = "RandomForestClassifier", kinds: int = 1, **options: Any) -> Callable[[int, int], Any]:
    def make(trees: int, seed: int) -> Any:
        import hedgerow
        from hedgerow.decisions import Coverage

        def answer(X: Any, y: Rows, asked: Any) -> Sets:
            forest = getattr(hedgerow, kind)(kinds * trees, random_state=seed, **options).fit(X, y)
            wishes = {"u65": "u65", "u80": "u80", "coverage": Coverage(COVERAGE)}
            return {what: forest.set_params(decision=wish).predict_set(asked) for what, wish in wishes.items()}

        return answer

    return make


def _by_group(trees: int, seed: int) -> Any:
    """The sets of our forest with a threshold for each group."""
    from hedgerow import RandomForestClassifier
    from hedgerow.decisions import Coverage

    def answer(X: Any, y: Rows, asked: Any) -> Sets:
        column = _group_column(X)
        if column is None:
            raise NotSuitedError("no column makes groups")
        forest = RandomForestClassifier(trees, decision=Coverage(COVERAGE, groups=column), random_state=seed)
        return {"coverage": forest.fit(X, y).predict_set(asked)}

    return answer


def _cautious(trees: int, seed: int) -> Any:
    """The sets of our forest without calibration, when caution is chosen out of bag."""
    from hedgerow import RandomForestClassifier

    def answer(X: Any, y: Rows, asked: Any) -> Sets:
        forest = RandomForestClassifier(trees, calibration=None, caution="auto", random_state=seed).fit(X, y)
        chosen = forest.predict_set(asked)
        return {"u65": chosen, "u80": chosen}

    return answer


def _sklearn(trees: int, seed: int) -> Any:
    """The set of largest expected utility under scikit-learn's probabilities; split conformal sets of a forest."""
    from hedgerow import decide
    from hedgerow.decisions import Coverage

    def answer(X: Any, y: Rows, asked: Any) -> Sets:
        opinion = _as_opinion(sklearn_forest(trees, seed).fit(X, y).predict_proba(asked))
        fit, rest = _set_aside(y, seed)
        forest = sklearn_forest(trees, seed).fit(X.iloc[fit], y[fit])
        threshold = Coverage(COVERAGE).calibrate(forest.predict_proba(X.iloc[rest]), y[rest], classes=forest.classes_)
        covering = threshold.choose(_as_opinion(forest.predict_proba(asked)))
        return {"u65": decide(opinion, "u65"), "u80": decide(opinion, "u80"), "coverage": covering}

    return answer


def _mapie_split(trees: int, seed: int) -> Any:
    library = imported("mapie.classification")

    def answer(X: Any, y: Rows, asked: Any) -> Sets:
        fit, rest = _set_aside(y, seed)
        forest = sklearn_forest(trees, seed).fit(X.iloc[fit], y[fit])
        model = library.SplitConformalClassifier(forest, confidence_level=COVERAGE, prefit=True)
        return {"coverage": model.conformalize(X.iloc[rest], y[rest]).predict_set(asked)[1][:, :, 0]}

    return answer


def _mapie_cross(trees: int, seed: int) -> Any:
    library = imported("mapie.classification")

    def answer(X: Any, y: Rows, asked: Any) -> Sets:
        from sklearn.model_selection import StratifiedKFold

        if np.bincount(y).min() < 5:
            raise NotSuitedError("a class has fewer than five rows")
        model = library.CrossConformalClassifier(
            sklearn_forest(trees, seed),
            confidence_level=COVERAGE,
            cv=StratifiedKFold(5, shuffle=True, random_state=seed),
        )
        return {"coverage": model.fit_conformalize(X, y).predict_set(asked)[1][:, :, 0]}

    return answer


def _crepes(trees: int, seed: int) -> Any:
    """crepes on out-of-bag rows, as ours."""
    library = imported("crepes")

    def answer(X: Any, y: Rows, asked: Any) -> Sets:
        from sklearn.ensemble import RandomForestClassifier

        columns = _encoded("passthrough", "onehot").fit(X)
        model = library.WrapClassifier(RandomForestClassifier(trees, oob_score=True, random_state=seed))
        model.fit(columns.transform(X), y)
        model.calibrate(columns.transform(X), y, oob=True, seed=seed)
        said = model.predict_set(columns.transform(asked), labels=False, confidence=COVERAGE, smoothing=False)
        return {"coverage": np.asarray(said, dtype=bool)}

    return answer


def _as_opinion(probability: Any) -> Any:
    return SimpleNamespace(lower=probability, upper=probability, probability=probability)


def _set_aside(y: Rows, seed: int) -> tuple[Rows, Rows]:
    """-> rows to fit, which hold every class, and rows to calibrate on."""
    from sklearn.model_selection import train_test_split

    if np.bincount(y).min() < 4:
        raise NotSuitedError("a class has fewer than four rows")
    fit, rest = train_test_split(np.arange(len(y)), test_size=CALIBRATED_ON, stratify=y, random_state=seed)
    return fit, rest


MODELS: dict[str, Callable[[int, int], Any]] = {
    "forest": _ours(calibration="oob"),
    "mixed forest": _ours("MixedForestClassifier", kinds=3),
    "forest, plain": _ours(calibration=None),
    'forest, plain, caution="auto"': _cautious,
    "forest, by group": _by_group,
    "sklearn": _sklearn,
    "MAPIE split": _mapie_split,
    "MAPIE cross": _mapie_cross,
    "crepes": _crepes,
}


# ---- the measures --------------------------------------------------------------------------------


def _utility(name: str) -> Callable[[Sets, Rows], float]:
    def of(said: Sets, y: Rows) -> float:
        from hedgerow import metrics

        return float(getattr(metrics, name)(y, said[name], classes=np.arange(said[name].shape[1])))

    return of


def _size(said: Sets, y: Rows) -> float:
    """Mean number of classes; an empty set, which some peers give, counts as one: somebody must decide."""
    return float(np.maximum(said["coverage"].sum(axis=1), 1).mean())


def _held(said: Sets, y: Rows) -> Bools:
    return said["coverage"][np.arange(len(y)), y]


def _coverage(said: Sets, y: Rows) -> float:
    return float(_held(said, y).mean())


def _coverage_by_class(said: Sets, y: Rows) -> list[float]:
    large = np.flatnonzero(np.bincount(y) >= LEAST)
    return [float(_held(said, y)[y == k].mean()) for k in large]


def _mean_of_classes(said: Sets, y: Rows) -> float:
    return float(np.mean(_coverage_by_class(said, y) or np.nan))


def _worst_class(said: Sets, y: Rows) -> float:
    return float(np.min(_coverage_by_class(said, y) or np.nan))


def _coverage_by_group(said: Sets, y: Rows) -> list[float]:
    groups = said["groups"].T if "groups" in said else []
    return [float(_held(said, y)[rows].mean()) for rows in groups if rows.sum() >= LEAST]


def _mean_of_groups(said: Sets, y: Rows) -> float:
    return float(np.mean(_coverage_by_group(said, y) or np.nan))


def _farthest_group(said: Sets, y: Rows) -> float:
    return float(np.max(np.abs(np.subtract(_coverage_by_group(said, y), COVERAGE)), initial=0)) or np.nan


STUDY = Study(
    tables={
        "sets": (
            Table(
                "sets, by their utility",
                (
                    Measure("u80, points", _utility("u80"), larger=True, scale=100),
                    Measure("u65, points", _utility("u65"), larger=True, scale=100),
                ),
                ("forest", "mixed forest", "forest, plain", 'forest, plain, caution="auto"', "sklearn"),
                "sklearn",
                ("forest", "mixed forest", "forest, plain", 'forest, plain, caution="auto"'),
            ),
            Table(
                f"sets that promise to hold {COVERAGE:.0%}",
                (
                    Measure("size", _size, how="ratio"),
                    Measure("coverage", _coverage, how="level"),
                    Measure("mean of classes", _mean_of_classes, how="level"),
                    Measure("worst class", _worst_class, how="level"),
                ),
                ("forest", "mixed forest", "forest, plain", "sklearn", "MAPIE split", "MAPIE cross", "crepes"),
                "sklearn",
                ("forest", "mixed forest", "forest, plain"),
            ),
            Table(
                f"sets that promise to hold {COVERAGE:.0%} of each group",
                (
                    Measure("size", _size, how="ratio"),
                    Measure("mean of groups", _mean_of_groups, how="level"),
                    Measure("farthest group, distance", _farthest_group, how="level"),
                ),
                ("forest, by group", "forest"),
                "forest",
                ("forest, by group",),
            ),
        )
    },
    models=MODELS,
    ask=sets,
    halves=halves,
    truth=classes_of,
    quick_sets=("heart-statlog", "vehicle-silhouettes", "vowel", "tic-tac-toe"),
    quick_models=("forest", 'forest, plain, caution="auto"', "sklearn", "MAPIE split", "crepes"),
)
