"""Merge: fitted forests with the same columns -> one with the trees of all."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from hedgerow.fit.later import provenance_with_classes, rows_of, with_origins
from hedgerow.forest.join import Side, merge_forests
from hedgerow.judge.answer import predictor_of
from hedgerow.judge.fitted import Fitted, Learned, fitted_of, publish
from hedgerow.target.base import TargetInfo
from hedgerow.target.classes import among_classes

_Model = TypeVar("_Model")


def merge(first: _Model, second: _Model, *others: _Model) -> _Model:
    """Merge forests with the same columns into one forest, which has all their trees in the given order.

    Splits do not change: if the forests cut a column at different places, the new forest has all cuts. It has the
    classes and categories of all forests; in the trees of a forest that does not know a category, the category counts
    as missing. Predictions are those of all trees together. It makes no difference whether `partial_fit` is called
    before or after merging, and merging is associative. The trees of different forests were grown on different rows, so
    the merged forest has no out-of-bag figures, and `grow_more` is not available.

    Parameters
    ----------
    first, second, *others : fitted forests of the same class
        They are not changed. Their columns must have the same names and kinds.

    Returns
    -------
    forest
        It has the parameters of the first forest, except that ``n_estimators`` is the number of all trees.

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
    here, there = (with_origins(fitted_of(model)) for model in (first, second))
    names, places = _all_names(here.info, there.info)
    left, right = (
        Side(each.forest, each.bins, each.schema, place) for each, place in zip((here, there), places, strict=True)
    )
    forest, bins, schema = merge_forests(left, right, len(names))
    origins = tuple(
        provenance_with_classes(origin, place, len(names))
        for each, place in zip((here, there), places, strict=True)
        for origin in each.origins
    )
    merged: Any = clone(first)
    merged.n_estimators = forest.n_trees
    learned = Learned()
    if isinstance(merged.caution, str):  # the first forest has chosen it; the merged one has no rows to choose on
        learned.put("caution", None, predictor_of(first).caution)
    return publish(  # type: ignore[no-any-return]
        merged,
        Fitted(
            schema=schema,
            bins=bins,
            info=here.info.joined(replace(there.info, names=names), rows_of(origins)),
            forest=forest,
            criterion=here.criterion,
            seed=here.seed,
            fingerprint=None,
            origins=origins,
            learned=learned,
        ),
    )


def _check_alike(first: Any, second: Any) -> None:
    """Refuse models that cannot be merged."""
    for model in (first, second):
        if not getattr(type(model), "_incremental", False) or model._single_tree:
            raise TypeError(f"merge must be given forests of hedgerow, got {type(model).__name__}")
        predictor_of(model, "merge must be given forests")
    if type(first) is not type(second):
        raise TypeError(
            f"forests must be of one class to be merged, got {type(first).__name__} and {type(second).__name__}"
        )
    for name in first._task.same_when_merged:
        pair = [model.get_params(deep=False).get(name) for model in (first, second)]
        if repr(pair[0]) != repr(pair[1]):
            raise ValueError(f"{name} must be the same in forests to be merged, got {pair[0]!r} and {pair[1]!r}")


def _all_names(first: TargetInfo, second: TargetInfo) -> tuple[NDArray[Any], tuple[NDArray[np.intp], NDArray[np.intp]]]:
    """The names of the counts of two forests -> all names, and the positions of those of each forest among them."""
    kinds = [{type(name) for name in info.names.tolist()} for info in (first, second)]
    if (str in kinds[0]) != (str in kinds[1]):
        raise ValueError(
            f"forests must name classes in the same way to be merged, got {first.names[:5].tolist()} and"
            f" {second.names[:5].tolist()}"
        )
    names = np.unique(np.concatenate([first.names, second.names]))
    return names, (among_classes(first.names, names), among_classes(second.names, names))
