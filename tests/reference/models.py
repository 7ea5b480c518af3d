"""Models: small fitted estimators of every kind a file can hold, and rows to ask them about."""

from __future__ import annotations

import io
import json
import warnings
from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from hedgerow import (
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    ExtraSurvivalTrees,
    ExtraTreeClassifier,
    ExtraTreeRegressor,
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    MixedForestClassifier,
    MixedForestRegressor,
    PairwiseTreesClassifier,
    RandomDecisionTreesClassifier,
    RandomForestClassifier,
    RandomForestRegressor,
    RandomSurvivalForest,
    RandomTreesEmbedding,
    SurvivalTree,
    UnsupervisedForest,
    merge,
    save,
)
from hedgerow.decisions import Coverage, Hurwicz, Maximality
from hedgerow.labels import from_plausibilities
from hedgerow.rules import Belief, CdmAve, Eva

N_ROWS, N_ASKED, N_LISTED = 60, 25, 600


class Fitted(NamedTuple):
    """A fitted estimator, and a table with missing and unseen values to ask it about."""

    model: Any
    asked: Any


def numbers(seed: int, n_rows: int) -> NDArray[np.float64]:
    """(n_rows, 4): two columns of numbers, one of few values, one of category numbers; some cells are missing."""
    rng = np.random.default_rng(seed)
    X = np.column_stack([rng.normal(size=(n_rows, 2)), rng.integers(0, 5, n_rows), rng.integers(0, 70, n_rows)])
    X = np.round(X, 2)
    X[rng.random(X.shape) < 0.1] = np.nan
    return X


def frame(seed: int, n_rows: int) -> pd.DataFrame:
    """The same with names, text, truth values and a categorical column."""
    X = numbers(seed, n_rows)
    words = np.array(["oak", "ash", "élan", "", "<b>", "hazel"], dtype=object)
    few = np.nan_to_num(X[:, 2]).astype(int)
    text = pd.Series(words[(few + seed) % 6], dtype=object)
    text[np.isnan(X[:, 2])] = None
    return pd.DataFrame(
        {"height": X[:, 0], "tree": text, "old": few > 2, "ring": pd.Categorical(words[few]), "w": X[:, 1]}
    )


def labels(X: NDArray[np.float64], n_classes: int) -> NDArray[np.int64]:
    """Numbers (n, 4) -> class numbers (n,) that depend on them."""
    rank = np.nan_to_num(X[:, 0] + 0.5 * X[:, 1]).argsort().argsort()
    return np.asarray(rank * n_classes // len(rank), dtype=np.int64)


def _numeric(model: Any, n_classes: int, names: Callable[[NDArray[np.int64]], Any] = lambda y: y, **fit: Any) -> Fitted:
    X = numbers(0, N_ROWS)
    return Fitted(model.fit(X, names(labels(X, n_classes)), **fit), numbers(1, N_ASKED))


def _framed(model: Any, n_classes: int, names: Callable[[NDArray[np.int64]], Any] = lambda y: y) -> Fitted:
    return Fitted(model.fit(frame(0, N_ROWS), names(labels(numbers(0, N_ROWS), n_classes))), frame(1, N_ASKED))


def _listed(model: Any) -> Fitted:
    """A model whose splits list categories, because there are six hundred."""
    X, asked = numbers(0, 3 * N_LISTED // 2), numbers(1, N_ASKED)
    X[:, 3] = np.arange(len(X)) * 7 % N_LISTED
    X[::20, 3] = np.nan
    asked[:, 3] = np.arange(N_ASKED) * 13 % (N_LISTED + 9)
    y = (np.nan_to_num(X[:, 3]) % 5 > 2) + (np.nan_to_num(X[:, 0]) > 0)
    y = np.where(np.arange(len(X)) % 3 == 0, np.arange(len(X)) * 31 % 3, y)  # noise, for more splits
    return Fitted(model.set_params(categorical_features=[3]).fit(X, y), asked)


def _words(y: NDArray[np.int64]) -> NDArray[Any]:
    return np.array(["no", "perhaps", "yes"])[y]


#: Every estimator, layout of leaves, kind of split, type of class and learned attribute comes up in one of them.
MODELS: dict[str, Callable[[], Fitted]] = {
    "tree": lambda: _numeric(DecisionTreeClassifier(max_depth=4, random_state=0), 3),
    "extra-tree": lambda: _numeric(ExtraTreeClassifier(max_depth=4, random_state=0), 3),
    "forest": lambda: _framed(RandomForestClassifier(4, max_depth=4, random_state=0), 3, _words),
    "extra": lambda: _numeric(ExtraTreesClassifier(4, categorical_features=[2, 3], max_depth=5, random_state=0), 2),
    "mixed": lambda: _numeric(MixedForestClassifier(6, categorical_features=[2, 3], max_depth=5, random_state=0), 2),
    "random": lambda: _framed(RandomDecisionTreesClassifier(4, max_depth=3, random_state=0), 2, lambda y: y > 0),
    "many": lambda: _numeric(RandomForestClassifier(3, max_depth=5, random_state=0), 12, lambda y: y * 4.0),
    "pairs": lambda: _numeric(PairwiseTreesClassifier(max_depth=3, random_state=0), 3),
    "weighted": lambda: _numeric(
        RandomForestClassifier(
            3, class_weight={0: 2.0, 1: 0.5}, leaf_counts="oob", decision=Hurwicz(0.3), random_state=0
        ),
        2,
    ),
    "learned": lambda: _numeric(
        RandomForestClassifier(
            5,
            max_depth=3,
            rule=Belief(weights="learned"),
            caution="auto",
            decision=Coverage(0.8),
            oob_score=True,
            random_state=0,
        ),
        3,
        lambda y: y.astype(np.int8),
    ),
    "tuned": lambda: Fitted(
        (
            fitted := _numeric(RandomForestClassifier(3, max_depth=3, leaf_counts="distinct", random_state=0), 2)
        ).model.tune(param_grid={"rule": ["average", Eva()], "caution": [0.5, 2]}),
        fitted.asked,
    ),
    "chosen": lambda: _numeric(RandomForestClassifier(3, max_features="oob", max_depth=3, random_state=0), 2),
    "listed": lambda: _listed(RandomForestClassifier(3, max_depth=7, random_state=0)),
    "pruned": lambda: _numeric(ExtraTreesClassifier(3, ccp_alpha=0.01, categorical_features=[3], random_state=0), 9),
}


def _targets(model: Any, **fit: Any) -> Fitted:
    X = numbers(0, N_ROWS)
    return Fitted(model.fit(X, np.nan_to_num(X[:, 0] + 0.5 * X[:, 1]) + 5, **fit), numbers(1, N_ASKED))


def _survival(model: Any) -> Fitted:
    X = numbers(0, N_ROWS)
    times = np.exp(np.nan_to_num(X[:, 0])).round(2)
    return Fitted(model.fit(X, np.column_stack([times, np.arange(N_ROWS) % 3 > 0])), numbers(1, N_ASKED))


#: The same for numbers.
NUMBER_MODELS: dict[str, Callable[[], Fitted]] = {
    "number-tree": lambda: _targets(DecisionTreeRegressor(max_depth=4, leaf_rows=True, random_state=0)),
    "number-extra-tree": lambda: _targets(ExtraTreeRegressor(max_depth=4, random_state=0)),
    "number-forest": lambda: _targets(
        RandomForestRegressor(9, max_depth=4, leaf_rows=True, oob_score=True, random_state=0),
        sample_weight=np.arange(N_ROWS) % 4 + 0.5,
    ),
    "number-mixed": lambda: _targets(MixedForestRegressor(6, categorical_features=[2, 3], max_depth=5, random_state=0)),
    "number-extra": lambda: _targets(
        ExtraTreesRegressor(
            4, criterion="absolute_error", bootstrap=True, categorical_features=[2, 3], max_depth=5, random_state=0
        )
    ),
    "number-poisson": lambda: _targets(
        RandomForestRegressor(4, criterion="poisson", monotonic_cst=[1, 0, 0, 0], bootstrap=False, random_state=0)
    ),
}


def _unlabelled(model: Any) -> Fitted:
    return Fitted(model.fit(np.nan_to_num(numbers(0, N_ROWS))), np.nan_to_num(numbers(1, N_ASKED)))


#: The same without labels.
UNLABELLED_MODELS: dict[str, Callable[[], Fitted]] = {
    "embedding": lambda: _unlabelled(RandomTreesEmbedding(4, max_depth=3, random_state=0)),
    "unsupervised": lambda: _unlabelled(UnsupervisedForest(4, max_depth=4, random_state=0)),
}


SURVIVAL_MODELS: dict[str, Callable[[], Fitted]] = {
    "survival": lambda: _survival(RandomSurvivalForest(5, min_samples_leaf=5, oob_score=True, random_state=0)),
    "survival-extra": lambda: _survival(ExtraSurvivalTrees(5, min_samples_leaf="oob", random_state=0)),
    "survival-tree": lambda: _survival(SurvivalTree(min_samples_leaf=5, random_state=0)),
}


def tampered(data: bytes, change: Any) -> bytes:
    """Change the JSON of the model, and leave everything else."""
    n_header = int.from_bytes(data[:8], "little")
    header = json.loads(data[8 : 8 + n_header])
    model = json.loads(header["__metadata__"]["model"])
    change(header["__metadata__"], model)
    header["__metadata__"]["model"] = json.dumps(model)
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    return len(text).to_bytes(8, "little") + text + data[8 + n_header :]


def _with_later_rows(fitted: Fitted, n_rows: int = 20, **weighted: Any) -> Fitted:
    """The same after rows have come."""
    X = numbers(2, n_rows)
    is_regressor = hasattr(fitted.model, "predict_interval")
    y = np.nan_to_num(X[:, 0]) + 5 if is_regressor else fitted.model.classes_[labels(X, len(fitted.model.classes_))]
    return fitted._replace(model=fitted.model.partial_fit(X, y, **weighted))


#: What else a file can hold: many classes, one class, rows that came later, uncertain labels, merged forests,
#: parameters that are arrays, maps of probabilities, several outputs.
ODD_MODELS: dict[str, Callable[[], Fitted]] = {
    "forty": lambda: _numeric(
        RandomForestClassifier(3, rule=CdmAve(utility=np.linspace(1, 0.1, 40)), decision="rule", random_state=0), 40
    ),
    "one-class": lambda: _numeric(RandomForestClassifier(2, random_state=0), 1),
    "one-row": lambda: Fitted(DecisionTreeClassifier().fit([[1.0, 2.0]], ["a"]), np.zeros((3, 2))),
    "later": lambda: _with_later_rows(
        _numeric(RandomForestClassifier(3, max_depth=4, random_state=0), 3), sample_weight=np.linspace(0.1, 3, 20)
    ),
    "uncertain": lambda: _numeric(
        RandomForestClassifier(3, max_depth=4, random_state=0),
        3,
        lambda y: from_plausibilities(np.maximum(np.eye(3)[y], 0.3 * (np.arange(len(y)) % 3 == 0)[:, None])),
    ),
    "merged": lambda: Fitted(
        merge(
            (fitted := _framed(RandomForestClassifier(2, max_depth=4, random_state=0), 3, _words)).model,
            RandomForestClassifier(2, max_depth=3, random_state=1).fit(
                frame(2, N_ROWS), _words(labels(numbers(2, N_ROWS), 3))
            ),
        ),
        fitted.asked,
    ),
    "actions": lambda: _numeric(
        ExtraTreesClassifier(3, decision=Maximality([[1, 0, 0], [0, 1, -2.0]]), monotonic_cst=None, random_state=0), 3
    ),
    "pairs-framed": lambda: _framed(PairwiseTreesClassifier(max_depth=3, random_state=0), 3, _words),
    "number-framed": lambda: Fitted(
        ExtraTreesRegressor(3, max_depth=4, bootstrap=True, random_state=0).fit(
            frame(0, N_ROWS), np.nan_to_num(numbers(0, N_ROWS)[:, 0])
        ),
        frame(1, N_ASKED),
    ),
    "number-later": lambda: _with_later_rows(_targets(RandomForestRegressor(4, max_depth=4, random_state=0))),
    "embedding-framed": lambda: Fitted(
        RandomTreesEmbedding(3, max_depth=3, random_state=0).fit(frame(0, N_ROWS)), frame(1, N_ASKED)
    ),
    "calibrated": lambda: _numeric(
        RandomForestClassifier(6, max_depth=4, calibration="oob", oob_score=True, random_state=0), 3
    ),
    "calibrated-framed": lambda: _framed(
        ExtraTreesClassifier(5, max_depth=4, bootstrap=True, calibration="oob", novelty=0.1, random_state=0), 2
    ),
    "strangers": lambda: _numeric(RandomForestClassifier(5, max_depth=3, novelty=0.05, random_state=0), 3),
    "outputs": lambda: _several(
        RandomForestClassifier(4, max_depth=3, calibration="oob", novelty=0.1, oob_score=True, random_state=0),
        lambda X: np.column_stack([labels(X, 3), labels(-X, 2)]),
    ),
    "outputs-framed": lambda: Fitted(
        ExtraTreesClassifier(3, max_depth=3, caution="auto", bootstrap=True, random_state=0).fit(
            frame(0, N_ROWS), frame(0, N_ROWS)[["ring", "old"]].to_numpy(object)
        ),
        frame(1, N_ASKED),
    ),
    "number-outputs": lambda: _several(
        RandomForestRegressor(4, max_depth=3, leaf_rows=True, oob_score=True, random_state=0),
        lambda X: np.nan_to_num(X[:, :2]) * [1.0, 50.0],
    ),
}


def _several(model: Any, columns: Callable[[NDArray[np.float64]], NDArray[Any]]) -> Fitted:
    """A model of several outputs."""
    X = numbers(0, N_ROWS)
    return Fitted(model.fit(X, columns(X)), numbers(1, N_ASKED))


#: All of them.
EVERY_MODEL = MODELS | NUMBER_MODELS | UNLABELLED_MODELS | SURVIVAL_MODELS | ODD_MODELS


@cache
def saved(name: str) -> bytes:
    """The file of one of them, which is fitted once in a process."""
    file = io.BytesIO()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        save(EVERY_MODEL[name]().model, file)
    return file.getvalue()
