"""Settings: the value of a parameter, and the size of the table -> the number that trees are grown with."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from functools import lru_cache
from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from hedgerow.forest.rows import MOST_DRAWS
from hedgerow.judge.oob import MOST_TREES

#: Rows are numbered in 32 bits.
MAX_ROWS = 2**31
NUMBER_CRITERIA = ("squared_error", "absolute_error", "poisson")
#: What scikit-learn has called the squared error in a criterion that makes the same splits.
FRIEDMAN_MSE = "friedman_mse"
#: What to do without a bootstrap, in the words of scikit-learn.
NO_BAGS_TO_SCORE = "Out of bag estimation only available if bootstrap=True"
NO_BAGS_TO_FILL = (
    "`max_sample` cannot be set if `bootstrap=False`. Either switch to `bootstrap=True` or set `max_sample=None`."
)
#: The bootstrap whose bags hold exactly so many rows.
MULTINOMIAL = "multinomial"
#: The result of `resolve_max_features` if out-of-bag rows are to choose.
TO_BE_CHOSEN = 0


def check_n_rows(n_rows: int) -> None:
    """Refuse a table of more rows than can be numbered."""
    if n_rows >= MAX_ROWS:
        raise ValueError(f"X must have fewer than 2**31 rows, got {n_rows}; train on a sample of them")


def most_trees(estimator: Any) -> int:
    """An estimator -> the largest number of trees it may have."""
    if estimator.__one_tree__:
        return 1
    return MOST_TREES if isinstance(estimator.n_estimators, str) else int(estimator.n_estimators)


def seed_from(random_state: Any) -> int:
    """``random_state`` -> the seed of the trees; a generator is advanced."""
    if isinstance(random_state, int):
        return _seed_from_number(random_state)
    return int(check_random_state(random_state).randint(0, 2**63 - 1, dtype=np.int64))


def how_to_bin(model: Any) -> dict[str, Any]:
    """How the columns of an estimator's training table are cut, as `find_bins` takes it."""
    return {"max_bins": model.max_bins, "gaps": model.splitter == "random_decision"}


def resolve_max_features(value: Any, n_features: int) -> int:
    """A word, share or number -> how many features that vary a split looks at."""
    if value is None:
        return n_features
    if is_whole(value):
        return min(int(value), n_features)
    if value == "oob":
        return TO_BE_CHOSEN
    words = {"sqrt": math.sqrt, "log2": math.log2}
    return max(1, int(words[value](n_features) if value in words else value * n_features))


def number_criterion(value: str) -> str:
    """The criterion with which trees are grown; scikit-learn has an old name of the squared error."""
    return NUMBER_CRITERIA[0] if value == FRIEDMAN_MSE else value


def warn_of_friedman(value: Any) -> None:
    """The criterion given to a constructor -> a warning if it is scikit-learn's old name of the squared error."""
    if is_word(value, FRIEDMAN_MSE):
        warnings.warn(
            'Value "friedman_mse" for `criterion` is deprecated, as in scikit-learn; use "squared_error", which makes'
            " the same splits.",
            FutureWarning,
            stacklevel=3,
        )


def rows_from(value: int | float, n_rows: int, least: int) -> int:
    """A number of rows, or a share of them -> rows."""
    return min(int(value), 2**31) if is_whole(value) else max(least, math.ceil(value * n_rows))


def bag_mean(bootstrap: bool | str, max_samples: Any, n_rows: int) -> float:
    """Size of the bootstrap sample -> expected multiplicity of a row; 0 means no bootstrap, negative: exactly drawn."""
    if not bootstrap:
        return 0.0
    mean = _mean_from(max_samples, n_rows)
    return -mean if is_word(bootstrap, MULTINOMIAL) else mean


def _mean_from(max_samples: Any, n_rows: int) -> float:
    """A number of rows, or how often a row is drawn, or None for as many as there are rows -> draws for each row."""
    if max_samples is None:
        return 1.0
    if is_whole(max_samples):
        if max_samples > MOST_DRAWS * n_rows:
            raise ValueError(
                f"max_samples must be at most {MOST_DRAWS} times the {n_rows} training rows, got {max_samples!r}"
            )
        return int(max_samples) / n_rows
    return max(float(max_samples), 1 / n_rows)


def signs_from(given: Any, n_features: int, names: Any, n_classes: int) -> list[int] | None:
    """``monotonic_cst`` by position or name -> one sign for each feature, or None without constraints."""
    if given is None:
        return None
    signs = _by_feature("monotonic_cst", given, names, 0)
    if len(signs) != n_features:
        raise ValueError(f"monotonic_cst must be one sign for each of the {n_features} features, got {signs[:10]!r}")
    if not all(sign in (-1, 0, 1) for sign in signs):
        raise ValueError(f"monotonic_cst must be made of -1, 0 and 1, got {signs[:10]!r}")
    if not any(signs):
        return None
    if n_classes > 2:
        raise ValueError(
            f"monotonic_cst must be None for more than two classes, got constraints for {n_classes} classes"
        )
    return [int(sign) for sign in signs]


def weights_from(given: Any, n_features: int, names: Any) -> list[float] | None:
    """``feature_weights`` by position or name -> one weight for each feature, or None if all are drawn alike."""
    if given is None:
        return None
    listed = _by_feature("feature_weights", given, names, 1)
    try:
        weights = [float(weight) for weight in listed]
    except (TypeError, ValueError, OverflowError):
        weights = []
    if len(weights) != n_features:
        raise ValueError(f"feature_weights must be one weight for each of the {n_features} features, got {given!r}")
    if not all(weight >= 0 for weight in weights) or not any(weights):
        raise ValueError(f"feature_weights must be numbers >= 0, one of them larger, got {weights[:10]!r}")
    drawn = [weight for weight in weights if 0 < weight < np.inf]
    if drawn and not np.isfinite(sum(drawn)):
        raise ValueError(
            f"feature_weights must have a finite sum besides those that are infinite, got {weights[:10]!r}"
        )
    return None if len(set(weights)) == 1 and np.isfinite(weights[0]) else weights


def _by_feature(parameter: str, given: Any, names: Any, otherwise: Any) -> list[Any]:
    """One value for each feature, by position, or by name with a value for the other features -> a list."""
    if not isinstance(given, dict):
        return list(np.asarray(given).ravel().tolist())
    unknown = [name for name in given if names is None or name not in set(names)]
    if unknown:
        raise ValueError(f"{parameter} must name features of the table, got {unknown[:5]}; use their names or an array")
    return [given.get(name, otherwise) for name in names]


def require_count(name: str, value: Any) -> int:
    """A value -> the same; refused unless it is an int >= 1."""
    must("an int >= 1", lambda value: is_whole(value, 1))(name, value)
    return int(value)


def must(be: str, holds: Callable[[Any], bool]) -> Callable[[str, Any], None]:
    """What a parameter must be, as text and as a test -> a check that raises an error."""

    def check(name: str, value: Any) -> None:
        if not holds(value):
            raise ValueError(f"{name} must be {be}, got {repr(value)[:200]}")

    return check


def is_bag_size(value: Any) -> bool:
    """Whether a value is a number of rows, how often a row is drawn on average, or None."""
    return value is None or is_whole(value, 1) or (is_real(value, 0, MOST_DRAWS) and value > 0)


def is_list_of_features(value: Any) -> bool:
    """Whether a value is a list of names or numbers of features, or None."""
    return value is None or (
        isinstance(value, list | tuple) and all(isinstance(each, str) or is_whole(each, 0) for each in value)
    )


def is_bootstrap(value: Any) -> bool:
    """Whether a value says how bags are drawn."""
    return isinstance(value, bool | np.bool_) or is_word(value, MULTINOMIAL)


def is_word(value: Any, *words: str) -> bool:
    """Whether a value is one of these words; False for an array."""
    return isinstance(value, str) and value in words


def is_whole(value: Any, least: float = -math.inf) -> bool:
    """Whether a value is an integer >= `least`."""
    known = isinstance(value, Integral) and not isinstance(value, bool)
    return known and bool(value >= least)


def is_real(value: Any, least: float = -math.inf, most: float = math.inf) -> bool:
    """Whether a value is a finite number within these bounds."""
    known = isinstance(value, Real) and not isinstance(value, bool)
    return known and math.isfinite(value) and bool(least <= value <= most)


def is_share(value: Any) -> bool:
    """Whether a value is a float above 0 and at most 1."""
    return is_real(value) and not is_whole(value) and 0 < value <= 1


def is_seed(value: Any) -> bool:
    """Whether a generator can be made of a value, or it is one, as scikit-learn has them."""
    if isinstance(value, Integral):
        return 0 <= int(value) < 2**32
    return value is None or value is np.random or isinstance(value, np.random.RandomState)


@lru_cache(maxsize=1024)
def _seed_from_number(number: int) -> int:
    """The same number gives the same seed; cached, as making a generator takes as long as growing two small trees."""
    return int(check_random_state(number).randint(0, 2**63 - 1, dtype=np.int64))
