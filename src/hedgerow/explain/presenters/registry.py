"""Kinds: a model, or --regression -> its kind; the one place that tells classes from numbers."""

from __future__ import annotations

from typing import Any

from hedgerow.cli.exit_codes import UsageError
from hedgerow.cli.files.source import read_model
from hedgerow.cli.options import Asking
from hedgerow.explain.presenters.base import Presenter
from hedgerow.explain.presenters.classification import ClassificationPresenter
from hedgerow.explain.presenters.regression import RegressionPresenter
from hedgerow.inference.predictor import predictor_of
from hedgerow.tasks.classification.predictor import ClassificationPredictor
from hedgerow.tasks.regression.predictor import RegressionPredictor

OF_CLASSES, OF_NUMBERS = ClassificationPresenter(), RegressionPresenter()


def presenter_of(model: Any) -> Presenter:
    """A fitted model -> its kind; a model of neither is refused."""
    predictor = predictor_of(model)
    for answers, kind in ((ClassificationPredictor, OF_CLASSES), (RegressionPredictor, OF_NUMBERS)):
        if isinstance(predictor, answers):
            return kind
    raise UsageError(
        f"MODEL must predict classes or numbers, got a {type(model).__name__}, whose trees have no labels; fit one"
        " with hedgerow fit"
    )


def presenter_for(regression: bool) -> Presenter:
    """Whether `hedgerow fit` was asked for a regression -> the kind of the model it makes."""
    return OF_NUMBERS if regression else OF_CLASSES


def model_asked(options: Asking, coverage: float | None = None) -> Any:
    """Read the model and set rule, caution and decision; options that do not fit the model are refused."""
    model = read_model(options.model)
    kind = presenter_of(model)
    kind.set_opinion(model, options)
    kind.check_coverage(model, coverage)
    return model


def explained_model(options: Asking) -> Any:
    """The same, for a command that explains: a model that cannot be explained is refused."""
    model = read_model(options.model)
    kind = presenter_of(model)
    if not kind.explains(model):
        raise UsageError(
            f"MODEL must be a tree or forest with leaves of its own, got a {type(model).__name__}; fit one"
        )
    kind.set_opinion(model, options)
    return model
