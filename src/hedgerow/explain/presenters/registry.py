"""Registry of presenters: a new prediction type adds its line to `PRESENTERS`."""

from __future__ import annotations

from typing import Any

from hedgerow.explain.presenters.base import Presenter
from hedgerow.explain.presenters.classification import ClassificationPresenter, PairwisePresenter
from hedgerow.explain.presenters.regression import RegressionPresenter
from hedgerow.inference.predictor import predictor_of

#: By the name of the prediction type; the first is the default of `hedgerow fit`.
PRESENTERS: dict[str, Presenter] = {
    "classes": ClassificationPresenter(),
    "pairs": PairwisePresenter(),
    "numbers": RegressionPresenter(),
}


def presenter_of(model: Any) -> Presenter:
    """Return the presenter of a fitted model; raise a TypeError for trees without a target."""
    found = PRESENTERS.get(predictor_of(model).kind)
    if found is None:
        raise TypeError(f"model must predict classes or numbers, got a {type(model).__name__}")
    return found


def explaining_presenter(model: Any, action: str) -> Presenter:
    """Return the presenter of a fitted model; raise a TypeError if the type does not support explanations."""
    found = PRESENTERS.get(predictor_of(model).kind)
    if found is None or not found.explained:
        raise TypeError(
            f"forest must be a tree or forest with leaves of its own, got {type(model).__name__}; {action} its members"
        )
    return found


def presenter_for(options: Any) -> Presenter:
    """Return the presenter of the type that options of `hedgerow fit` ask for."""
    default, *others = PRESENTERS.values()
    return next((each for each in others if each.option and getattr(options, each.option)), default)
