"""Model files, and the options that suit them."""

from __future__ import annotations

from typing import Any

from hedgerow.cli.exit_codes import UsageError
from hedgerow.cli.files.sheet import Sheet
from hedgerow.cli.files.source import read_model
from hedgerow.cli.files.values import known_places
from hedgerow.cli.match import checked_caution, checked_decision, checked_rule
from hedgerow.cli.options import ModelOptions
from hedgerow.errors import ModelFileError
from hedgerow.explain.presenters import registry
from hedgerow.explain.presenters.base import Presenter
from hedgerow.inference.predictor import predictor_of
from hedgerow.util.text import listed

#: Options that suit only some prediction types.
OF_SOME_TYPES = ("rule", "decision", "coverage", "positive", "costs")


def presenter_of(model: Any) -> Presenter:
    """Return the presenter of a model; trees without a target are refused."""
    try:
        return registry.presenter_of(model)
    except TypeError:
        raise UsageError(
            f"MODEL must predict classes or numbers, got a {type(model).__name__}, whose trees have no labels; fit one"
            " with hedgerow fit"
        ) from None


def model_for(options: ModelOptions, *, explained: bool = False) -> Any:
    """Read the model and set rule, caution and decision; options that do not suit the model are refused.

    With `explained`, a model that does not support explanations is refused, too.
    """
    model = read_model(options.model)
    presenter = presenter_of(model)
    if explained and not presenter.explained:
        raise UsageError(
            f"MODEL must be a tree or forest with leaves of its own, got a {type(model).__name__}; fit one"
        )
    for option in OF_SOME_TYPES:
        value = getattr(options, option, None)
        needed = None if value is None else presenter.unsupported(model, option, value)
        if needed is not None:
            raise UsageError(f"--{option} must be used with {needed}; leave it out")
    _set_params(model, options)
    return model


def target_columns(presenter: Presenter, options: Any) -> tuple[str, ...]:
    """Return the columns of the target, if options name them all."""
    names = tuple(getattr(options, option) for option in presenter.target_options)
    return () if None in names else names


def require_target(sheet: Sheet, presenter: Presenter, options: Any) -> tuple[str, ...]:
    """Return the columns of the target, if options name them all; the table must have them."""
    names = target_columns(presenter, options)
    for option, name in zip(presenter.target_options, names, strict=False):
        sheet.require(name, f"--{option}")
    return names


def undecided_words(presenter: Presenter, n_rows: int) -> str:
    """Return the end of a message: how many rows are undecided, if they can be."""
    return f", {n_rows:,} of them undecided" if presenter.has_classes else ""


def positive_class(model: Any, text: str | None) -> int | None:
    """Return the number of the class of --positive; None if it was not given."""
    if text is None:
        return None
    names = predictor_of(model).classes.astype(str).astype(object)
    if len(names) != 2:
        raise UsageError(f"--positive must be used with two classes, got {len(names)}; leave it out")
    place = known_places([text], names, exact=False)[0]
    if place < 0:
        raise UsageError(f"--positive must be one of the classes ({listed(names.tolist())}), got {text!r}")
    return place


def _set_params(model: Any, options: ModelOptions) -> None:
    """Set rule, caution and decision where they are given; none of them needs another fit."""
    rule, caution, decision = options.rule, options.caution, options.decision
    if rule is not None:
        model.set_params(rule=checked_rule(rule))
    if caution is not None:
        model.set_params(caution=checked_caution(caution, auto=False))
    if decision is not None:
        checked_decision(decision)
        model.set_params(decision=decision)
    try:  # what was learned out of bag holds only for the rule, caution and decision it was learned with
        predictor_of(model).learn()
    except (AttributeError, ValueError) as reason:
        if rule is caution is decision is None:
            raise ModelFileError(
                f"a model must have learned what its parameters need, got a model without it: {reason}"
            ) from None
        given = (("--rule", rule), ("--caution", caution), ("--decision", decision))
        named = " ".join(f"{option} {value}" for option, value in given if value is not None)
        raise UsageError(
            f"--rule, --caution and --decision must not need training rows, which a model file does not hold, got"
            f" {named}; give it to hedgerow fit"
        ) from None
