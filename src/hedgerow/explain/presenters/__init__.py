"""Presenters, by prediction type: a new type adds its line to `PRESENTERS`."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any

from hedgerow.explain.presenters.base import Explainer, Presenter
from hedgerow.inference.predictor import predictor_of

if TYPE_CHECKING:
    from sklearn.base import BaseEstimator


#: Module and class by prediction type; the first is the default of `hedgerow fit`.
PRESENTERS = {
    "classes": "classification.ClassificationPresenter",
    "pairs": "classification.PairwisePresenter",
    "numbers": "regression.RegressionPresenter",
    "survival": "survival.SurvivalPresenter",
}


@cache
def presenter(prediction_type: str) -> Presenter:
    """Return the presenter of a prediction type, imported at first use."""
    module, name = PRESENTERS[prediction_type].split(".")
    found: Presenter = getattr(import_module(f"hedgerow.explain.presenters.{module}"), name)()
    return found


def presenter_of(model: BaseEstimator) -> Presenter:
    """Return the presenter of a fitted model.

    Raise a TypeError for unsupervised forests.
    """
    prediction_type = predictor_of(model).kind
    if prediction_type not in PRESENTERS:
        raise TypeError(f"model must predict classes or numbers, got a {type(model).__name__}")
    return presenter(prediction_type)


def explainer_of(model: BaseEstimator) -> Explainer:
    """Return the explainer of a fitted model; raise a TypeError if its type has none."""
    found = presenter_of(model).explainer
    if found is None:
        raise TypeError(f"explain does not support {type(model).__name__}.")
    return found


def presenter_for(options: Any) -> Presenter:
    """Return the presenter of the prediction type that the options of `hedgerow fit` select."""
    default, *others = map(presenter, PRESENTERS)
    return next((each for each in others if each.option and getattr(options, each.option, None)), default)
