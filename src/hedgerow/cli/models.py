"""Models loaded for a command, with its options."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

from hedgerow.cli.console import note
from hedgerow.cli.exit_codes import DataError, UsageError
from hedgerow.cli.files.sheet import Sheet
from hedgerow.cli.files.source import read_model
from hedgerow.cli.files.values import known_places
from hedgerow.cli.match import checked_caution, checked_decision, checked_rule
from hedgerow.cli.options import REMEMBERED, ModelOptions, ReadOptions
from hedgerow.errors import ModelFileError
from hedgerow.explain import presenters
from hedgerow.explain.presenters.base import Presenter
from hedgerow.inference.fitted import fitted_of
from hedgerow.inference.predictor import predictor_of
from hedgerow.util.text import listed

if TYPE_CHECKING:
    from hedgerow.estimators.supervised import SupervisedTrees

AnyReadOptions = TypeVar("AnyReadOptions", bound=ReadOptions)

#: Options that only some prediction types support.
OF_SOME_TYPES = ("rule", "decision", "coverage", "positive", "costs")


def presenter_of(model: SupervisedTrees) -> Presenter:
    """Return the presenter of a model; raise `UsageError` for unsupervised forests."""
    try:
        return presenters.presenter_of(model)
    except TypeError:
        raise UsageError(
            f"MODEL must be a classifier or a regressor, got a {type(model).__name__}. Fit one with hedgerow fit."
        ) from None


def model_for(options: ModelOptions, *, explained: bool = False) -> SupervisedTrees:
    """Load the model and set rule, caution and decision.

    Raises `UsageError` for options that the model does not support and, with `explained`, for a model without
    explanations.
    """
    model = read_model(options.model)
    presenter = presenter_of(model)
    if explained and not presenter.has_page:
        raise UsageError(f"{type(model).__name__} does not support explanations. Use a tree or a forest.")
    for option in OF_SOME_TYPES:
        value = getattr(options, option, None)
        needed = None if value is None else presenter.unsupported(model, option, value)
        if needed is not None:
            raise UsageError(f"--{option} requires {needed}.")
    _set_params(model, options)
    return model


def remember(model: SupervisedTrees, options: ReadOptions, units: Mapping[str, str]) -> None:
    """Keep in a model how the file of its table was read, and the units of its columns."""
    given = {name: getattr(options, name) for name in REMEMBERED}
    kept = {
        name: list(value) if isinstance(value, tuple) else value
        for name, value in given.items()
        if value not in (None, ()) and (value is not False or name == "day_first")
    } | ({"units": dict(units)} if units else {})
    unit = presenter_of(model).unit(options)
    if unit is not None:
        kept["unit"] = unit
    fitted_of(model).learned.put("reading", None, kept)


def as_in_training(model: SupervisedTrees, options: AnyReadOptions) -> AnyReadOptions:
    """Return options that read a table as the training table was read, except where they say otherwise."""
    known = (fitted_of(model).learned.last("reading") or (None, {}))[1]
    absent = {"missing": (), "exact_text": False}
    known = {name: value for name, value in known.items() if name in REMEMBERED}
    alike = {name: value for name, value in known.items() if getattr(options, name) == absent.get(name)}
    if alike:
        note(f"note: Reading the table as in training: {' '.join(_as_option(*each) for each in alike.items())}")
    given: dict[str, Any] = {name: tuple(value) if name == "missing" else value for name, value in alike.items()}
    return replace(options, **given)


def _as_option(name: str, value: object) -> str:
    """Return an option as a user would write it."""
    if name == "day_first":
        return "--day-first" if value else "--month-first"
    values = value if isinstance(value, list) else [] if value is True else [value]
    return " ".join([f"--{name.replace('_', '-')}", *(shlex.quote(str(each)) for each in values)])


def target_columns(presenter: Presenter, options: Any) -> tuple[str, ...]:
    """Return the target columns, or () if an option is not given; further columns that are not given are empty."""
    names: tuple[Any, ...] = tuple(getattr(options, option, None) for option in presenter.target_options)
    more = [getattr(options, option, None) or "" for option in presenter.more_target_options]
    while more and not more[-1]:
        more.pop()
    return () if None in names else (*names, *more)


def require_target(sheet: Sheet, presenter: Presenter, options: Any) -> tuple[str, ...]:
    """Return the target columns that options name, after checking the table."""
    names = target_columns(presenter, options)
    for option, name in zip((*presenter.target_options, *presenter.more_target_options), names, strict=False):
        if name:
            sheet.require(name, f"--{option}")
    return names


def read_target(presenter: Presenter, sheet: Sheet, names: tuple[str, ...], model: Any = None) -> Any:
    """Read the target columns; raise `DataError` for invalid values."""
    try:
        return presenter.read_y(sheet, names, model)
    except ValueError as reason:
        raise DataError(str(reason)) from None


def undecided_words(presenter: Presenter, n_rows: int) -> str:
    """Return the end of a message: the number of undecided rows of a classifier."""
    return f", {n_rows:,} of them undecided" if presenter.has_classes else ""


def positive_class(model: SupervisedTrees, text: str | None) -> int | None:
    """Return the index of the class of --positive; None without the option."""
    if text is None:
        return None
    names = predictor_of(model).classes.astype(str).astype(object)
    if len(names) != 2:
        raise UsageError(f"--positive requires a model of two classes, got {len(names)}.")
    place = known_places([text], names, exact=False)[0]
    if place < 0:
        raise UsageError(f"--positive must be one of the classes ({listed(names.tolist())}), got {text!r}.")
    return place


def _set_params(model: SupervisedTrees, options: ModelOptions) -> None:
    """Set rule, caution and decision; none of them refits the model."""
    rule, caution, decision = options.rule, options.caution, options.decision
    if rule is not None:
        model.set_params(rule=checked_rule(rule))
    if caution is not None:
        model.set_params(caution=checked_caution(caution, auto=False))
    if decision is not None:
        checked_decision(decision)
        model.set_params(decision=decision)
    try:  # results of out-of-bag rows are valid only for the rule, caution and decision of the fit
        predictor_of(model).learn()
    except (AttributeError, ValueError) as reason:
        if rule is caution is decision is None:
            raise ModelFileError(
                f"{options.model}: out-of-bag results that its parameters require are missing. {reason}"
            ) from None
        given = (("--rule", rule), ("--caution", caution), ("--decision", decision))
        named = " ".join(f"{option} {value}" for option, value in given if value is not None)
        raise UsageError(
            f"{named} requires training rows, which model files do not contain. Use it with hedgerow fit."
        ) from None
