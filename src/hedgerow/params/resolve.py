"""Resolution of parameters: words and shares become numbers."""

from __future__ import annotations

import math
import warnings
from functools import lru_cache
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from hedgerow.criteria import Criterion, resolve_criterion
from hedgerow.forest.grow import NO_LIMIT, GrowthParams
from hedgerow.forest.rows import MOST_DRAWS
from hedgerow.params.checks import MULTINOMIAL, is_whole, is_word, parameters_of
from hedgerow.params.table import FRIEDMAN_MSE, NUMBER_WORDS, TreeEstimator

#: Largest number of trees with ``n_estimators="auto"``.
MOST_TREES = 1000
#: The result of `resolve_max_features` for "oob".
TO_BE_CHOSEN = 0


def resolve_settings(
    estimator: TreeEstimator, n_rows: int, n_features: int, names: Any, n_classes: int
) -> GrowthParams:
    """Check the parameters of an estimator, and resolve them for a table.

    `n_rows` counts the rows of weight above zero.
    """
    checked = {name: row.check(name, getattr(estimator, name)) for name, row in parameters_of(estimator).items()}
    min_samples_leaf = estimator.min_samples_leaf
    assert not isinstance(min_samples_leaf, str)  # a task that takes a word has replaced it by a number
    return GrowthParams(
        splitter=estimator.splitter,
        criterion=checked["criterion"] if "criterion" in checked else _fixed_criterion(estimator.criterion),
        leaf_counts=estimator.leaf_counts,
        max_features=resolve_max_features(estimator.max_features, n_features),
        constant_features=estimator.constant_features,
        max_depth=NO_LIMIT if estimator.max_depth is None else min(int(estimator.max_depth), NO_LIMIT),
        min_samples_split=rows_from(estimator.min_samples_split, n_rows, 2),
        min_samples_leaf=rows_from(min_samples_leaf, n_rows, 1),
        min_weight_fraction_leaf=float(estimator.min_weight_fraction_leaf),
        max_leaf_nodes=0 if estimator.max_leaf_nodes is None else min(int(estimator.max_leaf_nodes), NO_LIMIT),
        min_impurity_decrease=float(estimator.min_impurity_decrease),
        min_gain=float(estimator.min_gain),
        bag_mean=bag_mean(estimator.bootstrap, estimator.max_samples, n_rows),
        seed=seed_from(estimator.random_state),
        monotonic=signs_from(estimator.monotonic_cst, n_features, names, n_classes),
        feature_weights=weights_from(estimator.feature_weights, n_features, names),
    )


def most_trees(estimator: TreeEstimator) -> int:
    """Return the largest number of trees that an estimator may have."""
    if estimator._single_tree:
        return 1
    return MOST_TREES if isinstance(estimator.n_estimators, str) else int(estimator.n_estimators)


def how_to_bin(model: TreeEstimator) -> dict[str, Any]:
    """Return the options of `find_bins` for the training table of an estimator."""
    return {"max_bins": model.max_bins, "gaps": model.splitter == "random_decision"}


def _fixed_criterion(value: Any) -> str | Criterion:
    """Return the criterion of a class without this parameter: a word of regression, or a criterion of classes."""
    return str(value) if is_word(value, *NUMBER_WORDS) else resolve_criterion(value)


def warn_of_friedman(value: Any) -> None:
    """Warn if a constructor gets scikit-learn's old name of the squared error."""
    if is_word(value, FRIEDMAN_MSE):
        warnings.warn(
            'Value "friedman_mse" for `criterion` is deprecated, as in scikit-learn. Use "squared_error", which makes'
            " the same splits.",
            FutureWarning,
            stacklevel=3,
        )


def resolve_max_features(value: Any, n_features: int) -> int:
    """Return the number of features to try per split, given a word, share or number."""
    if value is None:
        return n_features
    if is_whole(value):
        return min(int(value), n_features)
    if value == "oob":
        return TO_BE_CHOSEN
    words = {"sqrt": math.sqrt, "log2": math.log2}
    return max(1, int(words[value](n_features) if value in words else value * n_features))


def rows_from(value: int | float, n_rows: int, least: int) -> int:
    """Return a number of rows, given a number or a share of `n_rows`."""
    return min(int(value), 2**31) if is_whole(value) else max(least, math.ceil(value * n_rows))


def bag_mean(bootstrap: bool | str, max_samples: Any, n_rows: int, units: str = "training rows") -> float:
    """Return the expected multiplicity of a row in a bootstrap sample.

    0 means no bootstrap; a negative number means samples of exact size. `units` names the rows in errors.
    """
    if not bootstrap:
        return 0.0
    mean = _mean_from(max_samples, n_rows, units)
    return -mean if is_word(bootstrap, MULTINOMIAL) else mean


def seed_from(random_state: Any) -> int:
    """Return the seed of the trees, given ``random_state``; a generator is advanced."""
    if isinstance(random_state, int):
        return _seed_from_number(random_state)
    return int(check_random_state(random_state).randint(0, 2**63 - 1, dtype=np.int64))


def signs_from(given: Any, n_features: int, names: Any, n_classes: int) -> list[int] | None:
    """Return one sign per feature, given ``monotonic_cst`` by position or name.

    Return None without constraints.
    """
    if given is None:
        return None
    signs = _by_feature("monotonic_cst", given, names, 0)
    if len(signs) != n_features:
        raise ValueError(f"monotonic_cst must be one sign for each of the {n_features} features, got {signs[:10]!r}.")
    if not all(sign in (-1, 0, 1) for sign in signs):
        raise ValueError(f"monotonic_cst must contain only -1, 0 and 1, got {signs[:10]!r}.")
    if not any(signs):
        return None
    if n_classes > 2:
        raise ValueError(f"monotonic_cst must be None for more than two classes, got {n_classes} classes.")
    return [int(sign) for sign in signs]


def weights_from(given: Any, n_features: int, names: Any) -> list[float] | None:
    """Return one weight per feature, given ``feature_weights`` by position or name.

    Return None if all are equal.
    """
    if given is None:
        return None
    listed = _by_feature("feature_weights", given, names, 1)
    try:
        weights = [float(weight) for weight in listed]
    except (TypeError, ValueError, OverflowError):
        weights = []
    if len(weights) != n_features:
        raise ValueError(f"feature_weights must be one weight for each of the {n_features} features, got {given!r}.")
    if not all(weight >= 0 for weight in weights) or not any(weights):
        raise ValueError(f"feature_weights must be non-negative and not all zero, got {weights[:10]!r}.")
    drawn = [weight for weight in weights if 0 < weight < np.inf]
    if drawn and not np.isfinite(sum(drawn)):
        raise ValueError(f"the sum of finite feature_weights must be finite, got {weights[:10]!r}.")
    return None if len(set(weights)) == 1 and np.isfinite(weights[0]) else weights


def _by_feature(parameter: str, given: Any, names: Any, otherwise: Any) -> list[Any]:
    """Return one value per feature, given by position, or by name with a default."""
    if not isinstance(given, dict):
        return list(np.asarray(given).ravel().tolist())
    unknown = [name for name in given if names is None or name not in set(names)]
    if unknown:
        raise ValueError(f"{parameter} must name features of the table, got {unknown[:5]}.")
    return [given.get(name, otherwise) for name in names]


def _mean_from(max_samples: Any, n_rows: int, units: str) -> float:
    """Return the expected draws per row, given ``max_samples``."""
    if max_samples is None:
        return 1.0
    if is_whole(max_samples):
        if max_samples > MOST_DRAWS * n_rows:
            raise ValueError(
                f"max_samples must be at most {MOST_DRAWS} times the {n_rows} {units}, got {max_samples!r}."
            )
        return int(max_samples) / n_rows
    return max(float(max_samples), 1 / n_rows)


@lru_cache(maxsize=1024)
def _seed_from_number(number: int) -> int:
    """Return the seed of a number.

    Cached, because making a generator takes as long as growing two small trees.
    """
    return int(check_random_state(number).randint(0, 2**63 - 1, dtype=np.int64))
