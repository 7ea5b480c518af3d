"""Checks of parameter values."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any

import numpy as np

from hedgerow.forest.rows import MOST_DRAWS

if TYPE_CHECKING:
    from hedgerow.params.table import Parameter, TreeEstimator

#: Rows are numbered in 31 bits.
MAX_ROWS = 2**31
#: The value of ``bootstrap`` that draws samples of exact size.
MULTINOMIAL = "multinomial"


# ---- the parameters of an estimator ----------------------------------------------------------------


def parameters_of(estimator: TreeEstimator | type[TreeEstimator]) -> Mapping[str, Parameter]:
    """Return the parameter rows of an estimator or its class, in constructor order."""
    return estimator._parameters


def check_parameters(estimator: TreeEstimator) -> None:
    """Raise an error for invalid or contradictory values, before a table is read."""
    rows = parameters_of(estimator)
    for name, row in rows.items():
        value = getattr(estimator, name)
        row.check(name, value)
        if row.needs_bags(value) and not estimator.bootstrap:
            hint = f" {row.without_bags}" if row.without_bags and "bootstrap" in rows else ""
            raise ValueError(f"{name}={value!r} requires bootstrap=True.{hint}")
    if estimator.warm_start and isinstance(estimator.n_estimators, str):
        raise ValueError(f"n_estimators must be an int in a warm start, got {estimator.n_estimators!r}.")


def check_on_fitted(estimator: TreeEstimator) -> None:
    """Raise an error for invalid values that a fitted model uses.

    `set_params` may have changed them since `fit`.
    """
    for name, row in parameters_of(estimator).items():
        if row.on_fitted:
            row.check(name, getattr(estimator, name))


def check_once_fitted(estimator: TreeEstimator) -> None:
    """Raise an error for invalid values of a fitted model.

    None is valid where only `fit` reads a value.
    """
    for name, row in parameters_of(estimator).items():
        value = getattr(estimator, name)
        if row.on_fitted or value is not None:
            row.check(name, value)


def require_resolved(estimator: TreeEstimator, where: str, hint: str) -> None:
    """Raise an error for values that would be chosen on training rows.

    `where` describes the fit in which this is impossible.
    """
    for name, row in parameters_of(estimator).items():
        if row.needs_rows(value := getattr(estimator, name)):
            raise ValueError(f"{name} must be {row.instead} {where}, got {value!r}. {hint}")


# ---- single values ---------------------------------------------------------------------------------


def must(be: str, holds: Callable[[Any], bool]) -> Callable[[str, Any], None]:
    """Return a check that raises ValueError unless a value passes a test.

    `be` describes the values for which `holds` returns True.
    """

    def check(name: str, value: object) -> None:
        if not holds(value):
            raise ValueError(f"{name} must be {be}, got {repr(value)[:200]}.")

    return check


def require_count(name: str, value: Any) -> int:
    """Return a value as int; raise ValueError unless it is an int >= 1."""
    must("an int >= 1", lambda value: is_whole(value, 1))(name, value)
    return int(value)


def check_n_rows(n_rows: int) -> None:
    """Raise ValueError if a table has more rows than 31 bits can number."""
    if n_rows >= MAX_ROWS:
        raise ValueError(f"X must have fewer than 2**31 rows, got {n_rows}. Train on a sample of them.")


def is_whole(value: Any, least: float = -math.inf) -> bool:
    """Return whether a value is an integer >= `least`."""
    is_integer = isinstance(value, Integral) and not isinstance(value, bool)
    return is_integer and bool(value >= least)


def is_real(value: Any, least: float = -math.inf, most: float = math.inf) -> bool:
    """Return whether a value is a finite number within these bounds."""
    is_number = isinstance(value, Real) and not isinstance(value, bool)
    return is_number and math.isfinite(value) and bool(least <= value <= most)


def is_share(value: Any) -> bool:
    """Return whether a value is a float above 0 and at most 1."""
    return is_real(value) and not is_whole(value) and 0 < value <= 1


def is_word(value: object, *words: str) -> bool:
    """Return whether a value is one of these words; False for an array."""
    return isinstance(value, str) and value in words


def is_switch(value: object) -> bool:
    """Return whether a value is True or False."""
    return isinstance(value, bool | np.bool_)


def is_bootstrap(value: object) -> bool:
    """Return whether a value is valid for ``bootstrap``."""
    return is_switch(value) or is_word(value, MULTINOMIAL)


def is_bag_size(value: Any) -> bool:
    """Return whether a value is valid for ``max_samples``."""
    return value is None or is_whole(value, 1) or (is_real(value, 0, MOST_DRAWS) and value > 0)


def is_list_of_features(value: object) -> bool:
    """Return whether a value is a list of names or numbers of features, or None."""
    return value is None or (
        isinstance(value, list | tuple) and all(isinstance(each, str) or is_whole(each, 0) for each in value)
    )


def is_seed(value: object) -> bool:
    """Return whether a value is a random state in the sense of scikit-learn."""
    if isinstance(value, Integral):
        return 0 <= int(value) < 2**32
    return value is None or value is np.random or isinstance(value, np.random.RandomState)


# ---- class_weight ------------------------------------------------------------------------------------

#: Values of ``class_weight`` that depend on the rows.
BALANCED = ("balanced", "balanced_subsample")


def check_class_weights(class_weight: object) -> None:
    """Raise ValueError for an invalid `class_weight` or list of these."""
    for each in class_weight if isinstance(class_weight, list) else [class_weight]:
        check_class_weight(each)


def check_class_weight(class_weight: object) -> None:
    """Raise ValueError for an invalid `class_weight` of one output."""
    if not (class_weight is None or isinstance(class_weight, dict) or is_word(class_weight, *BALANCED)):
        raise ValueError(f"class_weight must be one of {BALANCED}, a dict or None, got {class_weight!r}.")
