"""Numbers: the commands where the target is a number -> fit, predict and evaluate of a regressor, told from others."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from hedgerow.commands.match import checked_caution, set_opinion
from hedgerow.commands.outcome import UsageError
from hedgerow.commands.source import read_model
from hedgerow.commands.talk import facts, share
from hedgerow.judge.answer import answers_of
from hedgerow.judge.number_answers import COVERAGE

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class NumberAnswers:
    """What a regressor says of n rows."""

    columns: dict[str, Floats]  # (n,) each

    @property
    def names(self) -> tuple[str, ...]:
        """The columns, in the order they are written."""
        return tuple(self.columns)

    @property
    def json_names(self) -> tuple[str, ...]:
        """The keys of a row in JSON."""
        return self.names

    def numbers(self) -> list[Floats]:
        """All columns."""
        return list(self.columns.values())

    def texts(self) -> list[list[Any]]:
        """Columns that come before the numbers: none."""
        return []

    def typed(self) -> list[list[Any]]:
        """The same for Parquet."""
        return []

    def objects(self) -> Iterator[dict[str, Any]]:
        """Row by row, for JSON."""
        for row in np.column_stack(self.numbers()).tolist():
            yield dict(zip(self.names, row, strict=True))


class AsksModel(Protocol):
    """Options of a command that asks a model, perhaps with another rule, caution or decision than its own."""

    @property
    def model(self) -> str: ...
    @property
    def rule(self) -> str | None: ...
    @property
    def caution(self) -> str | None: ...
    @property
    def decision(self) -> str | None: ...
    @property
    def coverage(self) -> float | None: ...


def is_regressor(model: Any) -> bool:
    """Whether a fitted model predicts numbers."""
    from sklearn.base import is_regressor as predicts_numbers

    return bool(predicts_numbers(model))


def model_asked(options: AsksModel) -> Any:
    """The model with the rule, caution and decision asked for, refused where the options do not fit it."""
    model = read_model(options.model)
    change = set_number_opinion if is_regressor(model) else set_opinion
    change(model, rule=options.rule, caution=options.caution, decision=options.decision)
    _check_coverage(model, options.coverage)
    return model


def number_estimator(model: str, caution: str, given: dict[str, Any], refused: list[tuple[str, Any]], seed: int) -> Any:
    """Options -> a regressor, what has no meaning for numbers refused."""
    import hedgerow

    kinds = {
        "forest": hedgerow.RandomForestRegressor,
        "extra": hedgerow.ExtraTreesRegressor,
        "tree": hedgerow.DecisionTreeRegressor,
    }
    if model not in kinds:
        raise UsageError(f"--model must be forest, extra or tree with --regression, got {model}")
    for option, value in refused:
        raise UsageError(f"{option} must not be given with --regression, got {value!r}: it is about classes")
    kind = kinds[model]
    known = kind().get_params(deep=False)
    kept = {name: value for name, value in given.items() if value is not None and name in known}
    return kind(caution=checked_caution(caution, auto=False), random_state=seed, **kept)


def number_summary(model: Any, y: Floats) -> dict[str, Any]:
    """A fitted regressor and its targets (n,) -> what `hedgerow fit` reports of it."""
    score = getattr(model, "oob_score_", None)
    return {
        "target": {"lowest": float(y.min()), "highest": float(y.max()), "mean": float(y.mean())},
        "caution": float(model.caution),
        "out_of_bag": None if score is None else {"r2": float(score)},
    }


def set_number_opinion(model: Any, *, rule: str | None, caution: str | None, decision: str | None) -> None:
    """Change the caution, as asked; a regressor has neither rule nor decision."""
    for option, value in (("--rule", rule), ("--decision", decision)):
        if value is not None:
            raise UsageError(f"{option} must go with a model of classes, got {value!r} for a {type(model).__name__}")
    if caution is not None:
        model.set_params(caution=checked_caution(caution, auto=False))


def number_answers(model: Any, table: Any, coverage: float | None) -> NumberAnswers:
    """A regressor and the table it expects -> prediction, interval, bounds of the mean, standard deviations."""
    columns: dict[str, Floats] = {"prediction": model.predict(table)}
    if has_intervals(model):
        lower, upper = model.predict_interval(table, COVERAGE if coverage is None else coverage).T
        columns |= {"lower": lower, "upper": upper}
    mean_lower, mean_upper = model.predict_bounds(table).T
    columns |= {"mean_lower": mean_lower, "mean_upper": mean_upper}
    uncertainty = model.predict_uncertainty(table)
    return NumberAnswers(
        columns | {f"{part}_std": np.sqrt(getattr(uncertainty, part)) for part in ("total", "aleatoric", "epistemic")}
    )


def has_intervals(model: Any) -> bool:
    """Whether the trees have left rows out, which tell how far predictions are off."""
    return bool(answers_of(model).has_residuals)


def number_facts(report: dict[str, Any]) -> Any:
    """Figures -> the table people read."""
    rows = [
        ("rows", f"{report['rows']:,}"),
        ("R²", "– (the targets are all the same)" if report["r2"] is None else f"{report['r2']:.4f}"),
        ("mean absolute error", f"{report['mean_absolute_error']:.6g}"),
        ("root mean squared error", f"{report['root_mean_squared_error']:.6g}"),
    ]
    if "coverage" in report:
        asked = f"{report['asked_coverage']:.0%}"
        rows += [
            ("coverage", f"{share(report['coverage'])} of the targets lie in their {asked} interval"),
            ("mean interval width", f"{report['mean_interval_width']:.6g}"),
        ]
    return facts(rows)


def _check_coverage(model: Any, coverage: float | None) -> None:
    """Refuse --coverage where there are no intervals."""
    if coverage is None:
        return
    if not is_regressor(model):
        raise UsageError(f"--coverage must go with a model of numbers, got a {type(model).__name__}")
    if not has_intervals(model):
        raise UsageError(
            f"--coverage must go with a forest whose trees leave rows out, got a {type(model).__name__} without"
            " a bootstrap"
        )
