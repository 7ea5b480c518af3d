"""Columns of many categories: the forest, compared with dropping them, one-hot columns, CatBoost and YDF.

    HEDGEROW_DATA=... python -m benchmarks.categories [--half choose] [--repeats 5] [--leaf 1 5]

Simulated codes are three columns next to eight numeric ones; codes have unequal frequencies, three in ten of them an
effect, and the third column none. "places" and "hours" are real tables whose location or time is a code (California
housing in cells of a quarter of a degree, bike sharing by weekday and hour), with the median as threshold of the
target. The number of groups of categories was chosen on the half `choose`. Printed are AUC and log-loss on held-out
rows, the paired difference in AUC from dropping all columns of more than 32 categories (or, if there are none, of
text), means and standard errors over repeats, and the importance of these columns relative to the others.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.metrics import log_loss, roc_auc_score

from benchmarks import data
from hedgerow import ExtraTreesClassifier, RandomForestClassifier

Table = tuple[pd.DataFrame, NDArray[np.int64]]
MANY = 32
REAL = ["places", "hours", "airlines-late", "nursery", "mushroom", "car", "soybean", "kr-vs-kp"]
HALVES = {
    "choose": ["codes-weak", "codes", "airlines"],
    "report": ["codes-strong", "codes-900", "codes-null", *REAL],
}


def codes(rng: np.random.Generator, effect: float, n_codes: int = 350, n_rows: int = 6000) -> Table:
    """Simulate diagnoses: three columns of codes and eight numeric columns."""
    X = rng.normal(size=(n_rows, 8))
    X[:, 5], X[:, 6] = rng.poisson(2, n_rows), rng.integers(0, 5, n_rows)
    logit = 0.45 * (X[:, 0] + 0.7 * X[:, 1] * X[:, 2] + 0.5 * np.abs(X[:, 3])) + 0.15 * X[:, 5] - 1.6
    table = pd.DataFrame({f"x{j}": X[:, j] for j in range(8)})
    frequency = 1 / np.arange(1, n_codes + 1) ** 0.8
    for column, strength in (("icd1", effect), ("icd2", effect), ("icd3", 0.0)):
        drawn = rng.choice(n_codes, n_rows, p=frequency / frequency.sum())
        logit += (rng.normal(0, 1, n_codes) * strength * (rng.random(n_codes) < 0.3))[drawn]
        table[column] = [f"{column}-{code:03d}" for code in drawn]
    return table, (rng.random(n_rows) < 1 / (1 + np.exp(-logit))).astype(np.int64)


def real(name: str, rng: np.random.Generator, n_rows: int = 6000) -> Table:
    """Read a real table, as many rows at random, with the most frequent class against the others."""
    place = data.folder()
    X, text = data.table(name, place)
    if data.manifest(place)[name]["task"] == "regression":
        target = text.astype(np.float64) > np.median(text.astype(np.float64))
    else:
        labels, counts = np.unique(text, return_counts=True)
        target = text == labels[counts.argmax()]
    drawn = rng.permutation(len(X))[:n_rows]
    words = {column: str for column in X if X[column].dtype == "category"}
    found = X.iloc[drawn].reset_index(drop=True).astype(words)
    return found.where(X.iloc[drawn].reset_index(drop=True).notna(), None), target[drawn].astype(np.int64)


def places(rng: np.random.Generator) -> Table:
    """California housing, with the location as a code."""
    X, y = real("california-housing", rng)
    where = [column for column in X if str(column).lower() in ("latitude", "longitude")]
    cells = (X[where] * 4).round().astype(int).astype(str)
    return X.drop(columns=where).assign(cell=cells.iloc[:, 0] + "/" + cells.iloc[:, 1]), y


def hours(rng: np.random.Generator) -> Table:
    """Bike sharing, with weekday and hour as a code."""
    X, y = real("bike-sharing-hour", rng)
    names = {str(column).lower(): column for column in X}
    of_hour = [names.get("hr", names.get("hour")), names["weekday"]]
    code = X[of_hour[1]].astype(str) + " " + X[of_hour[0]].astype(str)
    return X.drop(columns=of_hour).assign(weekday_hour=code), y


def table_of(name: str, seed: int) -> Table:
    """Return a table by name."""
    rng = np.random.default_rng([seed, len(name)])
    if name.startswith("codes"):
        effects = {"codes-weak": 0.5, "codes": 1.0, "codes-strong": 2.0, "codes-900": 1.0, "codes-null": 0.0}
        return codes(rng, effects[name], 900 if name == "codes-900" else 350)
    if name in ("places", "hours"):
        return places(rng) if name == "places" else hours(rng)
    return real(name.removesuffix("-late"), rng)


def many(X: pd.DataFrame) -> list[str]:
    """Return the columns of more than 32 categories; if there are none, all columns of text."""
    text = [column for column in X if not pd.api.types.is_numeric_dtype(X[column])]
    return [column for column in text if X[column].nunique() > MANY] or text


Fit = Callable[[pd.DataFrame, NDArray[np.int64], pd.DataFrame, int, int], NDArray[np.float64]]


def default(X: pd.DataFrame, y: NDArray[np.int64], new: pd.DataFrame, leaf: int, seed: int) -> NDArray[np.float64]:
    """Fit the forest and return probabilities of the second class for new rows."""
    return _probability(RandomForestClassifier(100, min_samples_leaf=leaf, random_state=seed).fit(X, y), new)


def extra(X: pd.DataFrame, y: NDArray[np.int64], new: pd.DataFrame, leaf: int, seed: int) -> NDArray[np.float64]:
    """Fit extremely randomised trees with a bootstrap."""
    model = ExtraTreesClassifier(100, min_samples_leaf=leaf, bootstrap=True, random_state=seed)
    return _probability(model.fit(X, y), new)


def dropped(X: pd.DataFrame, y: NDArray[np.int64], new: pd.DataFrame, leaf: int, seed: int) -> NDArray[np.float64]:
    """Fit the forest without the columns."""
    rest = X.columns.difference(many(X))
    if len(rest) == 0:
        return np.full(len(new), y.mean())
    return default(X[rest], y, new[rest], leaf, seed)


def one_hot(X: pd.DataFrame, y: NDArray[np.int64], new: pd.DataFrame, leaf: int, seed: int) -> NDArray[np.float64]:
    """Fit the forest with a column for each category."""
    both = pd.get_dummies(pd.concat([X, new]), columns=many(X), dtype=float)
    return default(both[: len(X)], y, both[len(X) :], leaf, seed)


def catboost(X: pd.DataFrame, y: NDArray[np.int64], new: pd.DataFrame, leaf: int, seed: int) -> NDArray[np.float64]:
    """Fit CatBoost with its defaults, except for 300 instead of 1,000 trees."""
    from catboost import CatBoostClassifier

    text = [column for column in X if not pd.api.types.is_numeric_dtype(X[column])]
    model = CatBoostClassifier(
        cat_features=text, verbose=0, random_seed=seed, thread_count=1, allow_writing_files=False
    )
    filled, of_new = (each.fillna(dict.fromkeys(text, "missing")) for each in (X, new))
    return np.asarray(model.fit(filled, y).predict_proba(of_new)[:, 1])


def ydf(X: pd.DataFrame, y: NDArray[np.int64], new: pd.DataFrame, leaf: int, seed: int) -> NDArray[np.float64]:
    """Fit YDF's forest with its defaults."""
    import ydf

    ydf.verbose(0)
    learner = ydf.RandomForestLearner(
        label="target", num_trees=100, random_seed=seed, num_threads=1, winner_take_all=False, min_examples=leaf
    )
    return np.asarray(learner.train(X.assign(target=y)).predict(new), dtype=np.float64)


WAYS: dict[str, Fit] = {
    "default": default, "extra trees": extra, "dropped": dropped, "one-hot": one_hot, "CatBoost": catboost, "YDF": ydf,
}  # fmt: skip


def _probability(model: Any, new: pd.DataFrame) -> NDArray[np.float64]:
    return np.asarray(model.predict_proba(new)[:, 1])


def importance_ratio(X: pd.DataFrame, y: NDArray[np.int64], leaf: int, seed: int) -> float:
    """Return the mean importance of columns of many categories over that of the others; NaN without any."""
    model = RandomForestClassifier(100, min_samples_leaf=leaf, random_state=seed).fit(X, y)
    coded = np.isin(X.columns, many(X))
    found = model.feature_importances_
    return float(found[coded].mean() / found[~coded].mean()) if 0 < coded.sum() < len(coded) else float("nan")


def measure(name: str, leaf: int, repeats: int, ways: list[str]) -> None:
    """Print a line for each way to treat the columns of one table."""
    found: dict[str, list[tuple[float, float]]] = {way: [] for way in ways}
    ratios = []
    for seed in range(repeats):
        X, y = table_of(name, seed)
        cut = len(X) * 2 // 3
        train, new = (X[:cut], y[:cut]), (X[cut:].reset_index(drop=True), y[cut:])
        ratios.append(importance_ratio(*train, leaf, seed))
        for way in ways:
            try:
                p = WAYS[way](*train, new[0], leaf, seed)
            except ImportError:
                continue
            p = np.clip(p, 1e-6, 1 - 1e-6)
            found[way].append((roc_auc_score(new[1], p), log_loss(new[1], p)))
    base = np.array(found["dropped"])
    for way, scores in found.items():
        if not scores:
            print(f"{name:14}{leaf:5}  {way:12}  not installed")
            continue
        pairs = np.array(scores)
        mean, gain = pairs.mean(axis=0), pairs[:, 0] - base[:, 0]
        error = gain.std(ddof=1) / np.sqrt(len(gain)) if repeats > 1 else float("nan")
        importance = f"  importance × {np.mean(ratios):.2f}" if way == "default" else ""
        figures = f"AUC {mean[0]:.4f}  log-loss {mean[1]:.4f}  {gain.mean():+.4f} ± {error:.4f}"
        print(f"{name:14}{leaf:5}  {way:12}  {figures}{importance}", flush=True)


def main() -> None:
    """Measure the tables of a half."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--half", choices=HALVES, default="report")
    parser.add_argument("--tables", nargs="+")
    parser.add_argument("--ways", nargs="+", choices=WAYS, default=list(WAYS))
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--leaf", type=int, nargs="+", default=[1, 5])
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    for name in given.tables or HALVES[given.half]:
        for leaf in given.leaf:
            measure(name, leaf, given.repeats, given.ways)


if __name__ == "__main__":
    main()
