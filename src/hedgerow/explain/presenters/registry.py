"""Registry of presenters: a new prediction type adds its line to `PRESENTERS`."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import Any

from hedgerow.explain.presenters.base import Presenter
from hedgerow.inference.predictor import predictor_of

#: Module and class by the kind of predictor; the first is the default of `hedgerow fit`.
PRESENTERS = {
    "classes": "classification.ClassificationPresenter",
    "pairs": "classification.PairwisePresenter",
    "numbers": "regression.RegressionPresenter",
    "survival": "survival.SurvivalPresenter",
}


@cache
def presenter(kind: str) -> Presenter:
    """Return the presenter of a kind of predictor, imported when it is first needed."""
    module, name = PRESENTERS[kind].split(".")
    found: Presenter = getattr(import_module(f"hedgerow.explain.presenters.{module}"), name)()
    return found


def presenter_of(model: Any) -> Presenter:
    """Return the presenter of a fitted model; raise a TypeError for trees without a target."""
    kind = predictor_of(model).kind
    if kind not in PRESENTERS:
        raise TypeError(f"model must predict classes or numbers, got a {type(model).__name__}")
    return presenter(kind)


def explaining_presenter(model: Any, action: str) -> Presenter:
    """Return the presenter of a fitted model; raise a TypeError if the type does not support explanations."""
    kind = predictor_of(model).kind
    if kind not in PRESENTERS or not presenter(kind).explained:
        raise TypeError(
            f"forest must be a tree or forest with leaves of its own, got {type(model).__name__}; {action} its members"
        )
    return presenter(kind)


def presenter_for(options: Any) -> Presenter:
    """Return the presenter of the type that options of `hedgerow fit` ask for."""
    default, *others = map(presenter, PRESENTERS)
    return next((each for each in others if each.option and getattr(options, each.option, None)), default)
