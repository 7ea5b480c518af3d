"""Kinds: a model, or --regression -> its kind; the one place that tells classes from numbers."""

from __future__ import annotations

from typing import Any

from hedgerow.commands.kind import Presenter
from hedgerow.commands.of_classes import ClassificationPresenter
from hedgerow.commands.of_numbers import RegressionPresenter
from hedgerow.commands.options.shared import Asking
from hedgerow.commands.outcome import UsageError
from hedgerow.commands.source import read_model
from hedgerow.judge.answer import ClassificationPredictor, predictor_of
from hedgerow.judge.number_answers import RegressionPredictor

OF_CLASSES, OF_NUMBERS = ClassificationPresenter(), RegressionPresenter()


def presenter_of(model: Any) -> Presenter:
    """A fitted model -> its kind; a model of neither is refused."""
    now = predictor_of(model)
    for answers, kind in ((ClassificationPredictor, OF_CLASSES), (RegressionPredictor, OF_NUMBERS)):
        if isinstance(now, answers):
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
