"""Scorers of prediction sets for cross-validation and searches."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn import get_config

from hedgerow.metrics import curves, sets


class SetScorer:
    """Metric of sets as a scikit-learn scorer; `scorer` creates it.

    It calls ``predict(X, return_set=True)``, which a Pipeline passes on, and takes the classes of the columns
    from ``classes_``. For a fitted search it uses ``best_estimator_``. It can be pickled, so it works with any
    ``n_jobs``, and larger is always better.

    Parameters
    ----------
    name : str
        Name given to `scorer`.
    options : dict
        Keyword arguments of the metric.
    """

    def __init__(self, name: str, options: Mapping[str, Any]) -> None:
        self.name = name
        self.options = dict(options)

    def __call__(self, estimator: Any, X: object, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """Return the score of a fitted estimator on X (n, p) and y (n,)."""
        scored = SCORERS[self.name]
        options = {**scored.options, **self.options, "sample_weight": sample_weight}
        return scored.sign * float(scored.metric(estimator, X, y, options))

    def __repr__(self) -> str:
        options = "".join(f", {name}={value!r}" for name, value in self.options.items())
        return f"scorer({self.name!r}{options})"


def scorer(name: str, **options: Any) -> SetScorer:
    """Create a scorer for ``cross_val_score``, ``GridSearchCV`` and the like.

    Parameters
    ----------
    name : str
        "u65", "u80", "utility", "discounted_accuracy", "f_beta_of_sets", "coverage", "determinacy",
        "single_set_accuracy", "set_accuracy", "neg_mean_set_size" or "area_under_accuracy_rejection" (of the
        labels of ``predict``, with the largest of ``predict_proba`` as confidence).
    **options
        Keyword arguments of the metric, such as ``z=0.7``, ``beta=2`` or ``otherwise=0.5``.

    Returns
    -------
    SetScorer
        Callable of (estimator, X, y). A score is always a number: if the metric has no value, the score is the value of
        ``otherwise`` that the metric's docstring names.

    Examples
    --------
    >>> scorer("utility", z=0.7)
    scorer('utility', z=0.7)
    """
    if name not in SCORERS:
        names = ", ".join(repr(known) for known in SCORERS)
        raise ValueError(f"name must be one of {names}, got {name!r}. Write a function of (estimator, X, y) instead.")
    return SetScorer(name, options)


class _Scored(NamedTuple):
    """A function, its default options, and -1 if smaller is better."""

    metric: Callable[[Any, Any, ArrayLike, dict[str, Any]], float]
    options: Mapping[str, Any] = MappingProxyType({})
    sign: float = 1.0


def _of_sets(metric: Callable[..., Any]) -> Callable[[Any, Any, ArrayLike, dict[str, Any]], float]:
    """Turn a metric of (y, sets) into a function of (estimator, X, y, options)."""

    def scorer(estimator: Any, X: object, y: ArrayLike, options: dict[str, Any]) -> float:
        chosen, classes = _predicted_sets(estimator, X)
        score: float = metric(y, chosen, classes=classes, **options)
        return score

    return scorer


def _of_confidence(estimator: Any, X: object, y: ArrayLike, options: dict[str, Any]) -> float:
    """Return the area under the accuracy-rejection curve."""
    probability = np.asarray(estimator.predict_proba(X))
    return curves.area_under_accuracy_rejection(y, estimator.predict(X), probability.max(axis=1), **options)


SCORERS: Mapping[str, _Scored] = MappingProxyType(
    {
        "u65": _Scored(_of_sets(sets.u65)),
        "u80": _Scored(_of_sets(sets.u80)),
        "utility": _Scored(_of_sets(sets.utility)),
        "discounted_accuracy": _Scored(_of_sets(sets.discounted_accuracy)),
        "f_beta_of_sets": _Scored(_of_sets(sets.f_beta_of_sets)),
        "coverage": _Scored(_of_sets(sets.coverage)),
        "determinacy": _Scored(_of_sets(sets.determinacy)),
        "single_set_accuracy": _Scored(_of_sets(sets.single_set_accuracy), {"otherwise": 0.0}),
        "set_accuracy": _Scored(_of_sets(sets.set_accuracy), {"otherwise": 1.0}),
        "neg_mean_set_size": _Scored(_of_sets(sets.mean_set_size), {"otherwise": 1.0}, -1.0),
        "area_under_accuracy_rejection": _Scored(_of_confidence),
    }
)

u65_scorer = scorer("u65")
u80_scorer = scorer("u80")
discounted_accuracy_scorer = scorer("discounted_accuracy")


def _predicted_sets(estimator: Any, X: Any) -> tuple[NDArray[np.bool_], NDArray[np.generic]]:
    """Return prediction sets (n, K) and classes (K,) of a fitted estimator."""
    if hasattr(estimator, "best_estimator_"):
        return _predicted_sets(estimator.best_estimator_, X)
    if get_config()["enable_metadata_routing"] and _is_pipeline(estimator):
        # With metadata routing, a pipeline rejects return_set unless the user requests it; its last step accepts it.
        before = estimator[:-1]
        return _predicted_sets(estimator[-1], before.transform(X) if len(before) else X)
    try:
        predicted = estimator.predict(X, return_set=True)
    except TypeError as error:
        if "return_set" not in str(error):
            raise
        raise TypeError(
            f"estimator must accept predict(X, return_set=True), got {type(estimator).__name__}. "
            "Put a hedgerow classifier last in the pipeline."
        ) from error
    # As with scikit-learn's return_std, the result is labels and sets; an estimator may also return the sets alone.
    chosen = predicted[1] if isinstance(predicted, tuple) else predicted
    return np.asarray(chosen), np.asarray(estimator.classes_)


def _is_pipeline(estimator: Any) -> bool:
    """Return whether it is a scikit-learn Pipeline, which is slow to import."""
    from sklearn.pipeline import Pipeline

    return isinstance(estimator, Pipeline)
