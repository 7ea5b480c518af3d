"""Side: two fitted forests with the same columns -> one with the trees of both."""

from __future__ import annotations

from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from hedgerow.estimators.base import TreesClassifier
from hedgerow.estimators.later import prior_of, widened
from hedgerow.estimators.regression import TreesRegressor
from hedgerow.estimators.trees import MIXED, TreesEstimator
from hedgerow.forest.fold import StateCache
from hedgerow.forest.join import Side, merge_forests
from hedgerow.table import remember_features
from hedgerow.target.classes import among_classes

_Model = TypeVar("_Model", bound=TreesEstimator)

#: What must be the same in both, because it says what the leaves are.
_SAME = ("criterion", "monotonic_cst")


def merge(first: _Model, second: _Model, *others: _Model) -> _Model:
    """Merge forests with the same columns: all their trees, in the order given.

    Every split stays what it was: where the forests are cut at different places, the new one has all cuts. Classes and
    categories are those of any; a category that a forest does not know is as good as missing in its trees. Predictions
    are those of all trees together, and `partial_fit` of the merged forest is the merged forest of `partial_fit`;
    merging is associative. Trees of different forests have seen different rows, so the merged forest has no out-of-bag
    figures, and `grow_more` is not for it.

    Parameters
    ----------
    first, second, *others : fitted forests of the same class
        They stay as they are. Their columns must have the same names and kinds.

    Returns
    -------
    forest
        With the parameters of the first, and ``n_estimators`` the number of all trees.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from hedgerow import RandomForestClassifier, merge
    >>> X, y = load_iris(return_X_y=True)
    >>> here = RandomForestClassifier(10, random_state=0).fit(X[::2], y[::2])
    >>> there = RandomForestClassifier(20, random_state=1).fit(X[1::2], y[1::2])
    >>> both = merge(here, there)
    >>> both.n_estimators, both.score(X, y) > 0.95
    (30, True)
    """
    if others:
        return merge(merge(first, second), *others)
    _check_alike(first, second)
    classes, places = _all_classes(first, second)
    here, there = (
        Side(model.forest_, model._bins, model._schema, place)
        for model, place in zip((first, second), places, strict=True)
    )
    forest, bins, schema = merge_forests(here, there, len(classes))
    merged: Any = clone(first)
    merged.n_estimators = forest.n_trees
    merged.forest_, merged._bins, merged._schema = forest, bins, schema
    merged._seed, merged._bag = first._seed, MIXED
    origins = [
        widened(origin, place, len(classes))
        for model, place in zip((first, second), places, strict=True)
        for origin in model._known_origins()
    ]
    merged._origins, merged.criterion_ = tuple(origins), first.criterion_
    remember_features(merged, schema)
    if isinstance(first, TreesClassifier):
        merged.classes_, merged.n_classes_ = classes, len(classes)
        merged._prior, merged._cache = prior_of(merged._origins), StateCache()
        if isinstance(first.caution, str):
            merged.caution_ = first._caution
    else:
        merged._range = _range_of(first, second)
    return merged  # type: ignore[no-any-return]


def _check_alike(first: Any, second: Any) -> None:
    """Refuse what cannot be merged, with a sentence."""
    for model in (first, second):
        forest = isinstance(model, TreesClassifier | TreesRegressor) and not model._one_tree
        if not forest or not model._can_be_added_to:
            raise TypeError(f"merge must be given forests of hedgerow, got {type(model).__name__}")
        check_is_fitted(model)
    if type(first) is not type(second):
        raise TypeError(
            f"forests must be of one class to be merged, got {type(first).__name__} and {type(second).__name__}"
        )
    names = _SAME[1:] if isinstance(first, TreesClassifier) else _SAME
    for name in names:
        pair = [getattr(model, name, None) for model in (first, second)]
        if repr(pair[0]) != repr(pair[1]):
            raise ValueError(f"{name} must be the same in forests to be merged, got {pair[0]!r} and {pair[1]!r}")


def _all_classes(first: Any, second: Any) -> tuple[NDArray[Any], tuple[NDArray[np.intp], NDArray[np.intp]]]:
    """Two classifiers -> all classes, and where those of each stand among them; a regressor has one, its rows."""
    if not isinstance(first, TreesClassifier):
        nought = np.zeros(1, dtype=np.intp)
        return np.array(["rows"]), (nought, nought)
    kinds = [{type(name) for name in model.classes_.tolist()} for model in (first, second)]
    if (str in kinds[0]) != (str in kinds[1]):
        raise ValueError(
            f"forests must name classes in the same way to be merged, got {first.classes_[:5].tolist()} and"
            f" {second.classes_[:5].tolist()}"
        )
    classes = np.unique(np.concatenate([first.classes_, second.classes_]))
    return classes, (among_classes(first.classes_, classes), among_classes(second.classes_, classes))


def _range_of(first: Any, second: Any) -> tuple[float, float]:
    """Two regressors -> the extremes of all targets."""
    return min(first._range[0], second._range[0]), max(first._range[1], second._range[1])
