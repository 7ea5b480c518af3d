"""Checks of parameters: values -> errors that say what a parameter must be."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any

import numpy as np

from hedgerow.forest.rows import MOST_DRAWS

if TYPE_CHECKING:
    from hedgerow.params.table import Parameter

#: Rows are numbered in 31 bits.
MAX_ROWS = 2**31
#: The bootstrap whose samples have an exact size.
MULTINOMIAL = "multinomial"


# ---- the parameters of an estimator ----------------------------------------------------------------


def parameters_of(estimator: Any) -> Mapping[str, Parameter]:
    """An estimator or its class -> the rows of its parameters, in the order of its signature."""
    rows: Mapping[str, Parameter] = estimator._parameters
    return rows


def check_parameters(estimator: Any) -> None:
    """Refuse values that are wrong for every table, and values that contradict each other, before a table is read."""
    rows = parameters_of(estimator)
    for name, row in rows.items():
        value = getattr(estimator, name)
        row.check(name, value)
        if row.needs_bags(value) and not estimator.bootstrap:
            advice = f"; {row.without_bags}" if "bootstrap" in rows else ""
            raise ValueError(f"{name} must be {row.instead} without a bootstrap, got {value!r}{advice}")
    if estimator.warm_start and isinstance(estimator.n_estimators, str):
        raise ValueError(f"n_estimators must be an int in a warm start, got {estimator.n_estimators!r}")


def check_on_fitted(estimator: Any) -> None:
    """Refuse wrong values of parameters that a fitted model uses; `set_params` may have changed them since `fit`."""
    for name, row in parameters_of(estimator).items():
        if row.on_fitted:
            row.check(name, getattr(estimator, name))


def check_once_fitted(estimator: Any) -> None:
    """Refuse values that no fit takes; those that only another fit reads may have been set to None since."""
    for name, row in parameters_of(estimator).items():
        value = getattr(estimator, name)
        if row.on_fitted or value is not None:
            row.check(name, value)


def refuse_unsettled(estimator: Any, where: str, advice: str) -> None:
    """Refuse values that must be settled on training rows, in a case (`where`) in which this is not possible."""
    for name, row in parameters_of(estimator).items():
        if row.needs_rows(value := getattr(estimator, name)):
            raise ValueError(f"{name} must be {row.instead} {where}, got {value!r}; {advice}")


# ---- single values ---------------------------------------------------------------------------------


def must(be: str, holds: Callable[[Any], bool]) -> Callable[[str, Any], None]:
    """What a parameter must be, as text and as a test -> a check that raises an error."""

    def check(name: str, value: Any) -> None:
        if not holds(value):
            raise ValueError(f"{name} must be {be}, got {repr(value)[:200]}")

    return check


def require_count(name: str, value: Any) -> int:
    """A value -> the same; refused unless it is an int >= 1."""
    must("an int >= 1", lambda value: is_whole(value, 1))(name, value)
    return int(value)


def check_n_rows(n_rows: int) -> None:
    """Refuse a table of more rows than can be numbered."""
    if n_rows >= MAX_ROWS:
        raise ValueError(f"X must have fewer than 2**31 rows, got {n_rows}; train on a sample of them")


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


def is_word(value: Any, *words: str) -> bool:
    """Whether a value is one of these words; False for an array."""
    return isinstance(value, str) and value in words


def is_switch(value: Any) -> bool:
    """Whether a value is True or False."""
    return isinstance(value, bool | np.bool_)


def is_bootstrap(value: Any) -> bool:
    """Whether a value says how bags are drawn."""
    return is_switch(value) or is_word(value, MULTINOMIAL)


def is_bag_size(value: Any) -> bool:
    """Whether a value is a number of rows, how often a row is drawn on average, or None."""
    return value is None or is_whole(value, 1) or (is_real(value, 0, MOST_DRAWS) and value > 0)


def is_list_of_features(value: Any) -> bool:
    """Whether a value is a list of names or numbers of features, or None."""
    return value is None or (
        isinstance(value, list | tuple) and all(isinstance(each, str) or is_whole(each, 0) for each in value)
    )


def is_seed(value: Any) -> bool:
    """Whether a generator can be made of a value, or it is one, as scikit-learn has them."""
    if isinstance(value, Integral):
        return 0 <= int(value) < 2**32
    return value is None or value is np.random or isinstance(value, np.random.RandomState)


# ---- class_weight ------------------------------------------------------------------------------------

#: Values of ``class_weight`` that depend on the rows.
BALANCED = ("balanced", "balanced_subsample")


def check_class_weights(class_weight: Any) -> None:
    """Refuse an invalid `class_weight`, which may be a list with one entry for each output."""
    for each in class_weight if isinstance(class_weight, list) else [class_weight]:
        check_class_weight(each)


def check_class_weight(class_weight: Any) -> None:
    """Refuse an invalid `class_weight` of one output."""
    if not (class_weight is None or isinstance(class_weight, dict) or is_word(class_weight, *BALANCED)):
        raise ValueError(f"class_weight must be one of {BALANCED}, a dict or None, got {class_weight!r}")
