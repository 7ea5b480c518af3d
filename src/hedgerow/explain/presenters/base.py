"""Interface of presenters, and tables of costs and of metrics by group.

A presenter turns models and tables into numbers, texts and tables of text, which the command line prints and the report
shows. `registry` lists the presenters.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hedgerow.explain.cases import number
from hedgerow.explain.explanation import ExplainRequest
from hedgerow.inference.columns import Columns
from hedgerow.table import NamedColumns
from hedgerow.table.schema import Array
from hedgerow.tasks.classification.costs import Costs

if TYPE_CHECKING:
    from sklearn.base import BaseEstimator

    from hedgerow.explain.report.request import Parts, ReportRequest
    from hedgerow.table.schema import TableLike


Groups = Mapping[str, Mapping[str, NDArray[np.bool_]]]

#: Metrics that are shares of the rows, and short names for column headers.
_SHARES = ("accuracy", "coverage", "undecided")
_HEADS = {
    "r2": "R²",
    "mean_absolute_error": "MAE",
    "root_mean_squared_error": "RMSE",
    "mean_interval_width": "mean width",
}
_LESS = ("R²", "MAE")
_COSTS = (
    "Mean over all rows at the given costs: of the action with the lowest expected cost per row; of the prediction"
    " sets, with another look at undecided rows; of the most probable classes; and of one action for all rows."
)
_FOLLOWED = {"cheapest_action": "cheapest action", "sets": "prediction sets", "labels": "labels"}


class HasGroups(Protocol):
    """Evaluation with metrics of groups of rows."""

    def group(self, rows: NDArray[np.bool_]) -> dict[str, Any]:
        """Return the metrics of some rows (n,)."""


class Lines(NamedTuple):
    """A table of text: title, column headers and rows."""

    title: str
    heads: list[str]
    rows: list[list[str]]
    note: str = ""  # meaning of the numbers
    less: tuple[str, ...] = ()  # headers of columns hidden on narrow screens
    left: int = 1  # columns that are aligned left


def figures_by(evaluated: HasGroups, by: Groups) -> dict[str, dict[str, dict[str, float | None]]]:
    """Compute the metrics of groups, by column and group.

    Groups without rows are left out.
    """
    return {
        name: {group: evaluated.group(rows) for group, rows in groups.items() if rows.any()}
        for name, groups in by.items()
    }


def cost_lines(found: dict[str, float]) -> Lines:
    """Format the mean cost of each policy."""
    rows = [[_FOLLOWED.get(name, name), f"{value:.6g}"] for name, value in found.items()]
    return Lines("Cost per row", ["policy", "cost"], rows, _COSTS)


def group_lines(name: str, groups: dict[str, dict[str, float | None]]) -> Lines:
    """Format the metrics of the groups of a column, one row per group."""
    heads = list(next(iter(groups.values())))
    rows = [[group, *(_cell(head, found[head]) for head in heads)] for group, found in groups.items()]
    return Lines(f"By {name}", [name, *(_HEADS.get(head, head.replace("_", " ")) for head in heads)], rows, less=_LESS)


def _cell(head: str, value: float | None) -> str:
    if value is None:
        return "–"
    if isinstance(value, int):
        return f"{value:,}"
    return f"{value:.1%}" if head in _SHARES else number(value)


Floats = NDArray[np.float64]

#: Name and text of a line.
Fact = tuple[str, str]


class TargetSheet(Protocol):
    """A table from a file; errors about its cells name the file and the line."""

    def labels(self, name: str) -> Array:
        """Return a column as labels (n,), none missing."""

    def known_labels(self, name: str, classes: Array) -> Array:
        """Return a column as labels (n,) that are all among the classes."""

    def targets(self, name: str) -> Floats:
        """Return a column as finite numbers (n,)."""


class Evaluation(HasGroups, Protocol):
    """Predictions compared with true targets."""

    @property
    def tally(self) -> Any:
        """Sums from which `Presenter.figures` computes metrics."""


@dataclass(frozen=True)
class FitSummary:
    """The part of the summary of a fit that depends on the prediction type."""

    values: dict[str, Any]  # for JSON; "out_of_bag" is None without out-of-bag rows
    target: Fact
    parameters: str  # those that may change on a fitted model
    scores: list[Fact]  # out-of-bag scores


@dataclass(frozen=True)
class Figures:
    """Metrics of predictions."""

    values: dict[str, Any]  # for JSON
    tables: list[list[Fact] | Lines]
    scores: list[Fact] = field(default_factory=list)  # the most important ones


@dataclass(frozen=True)
class FeedbackChange:
    """Change of uncertainty after a model has learned some rows."""

    values: dict[str, Any]  # for JSON
    facts: list[Fact]


class Feedback(ABC):
    """Questions to people about rows, and their answers."""

    @abstractmethod
    def predictions(self, model: BaseEstimator, table: NamedColumns) -> list[dict[str, Any]]:
        """Return the prediction of each row in a few words."""

    @abstractmethod
    def uncertainty(self, model: BaseEstimator, table: NamedColumns) -> Array:
        """Return the uncertainty of each row (n,)."""

    @abstractmethod
    def targets(self, model: BaseEstimator, answers: list[Any]) -> Array:
        """Convert the answers saved from a report to targets (m,).

        Raise a ValueError for invalid ones.
        """

    @abstractmethod
    def change(self, before: Array, after: Array, rows: Array) -> FeedbackChange:
        """Compare the uncertainty of all rows (n,) before and after some of them (m,) were learned."""


class Explainer(ABC):
    """Explanations of single rows."""

    @abstractmethod
    def explain(self, model: BaseEstimator, X: TableLike, request: ExplainRequest) -> list[Any]:
        """Explain each row."""

    @abstractmethod
    def uncertain_rows(self, model: BaseEstimator, table: NamedColumns, time: float | None = None) -> NDArray[np.int64]:
        """Choose the rows to explain by default; the time is for survival models."""

    @abstractmethod
    def overview(self, explanations: list[Any]) -> Lines:
        """Return a table with a line for each explanation."""


class Presenter(ABC):
    """Stateless presentation of a prediction type."""

    #: Suffix of the names of estimators.
    suffix: ClassVar[str]
    #: Estimators by --model, if their names do not end with the suffix.
    models: ClassVar[dict[str, str]] = {}
    #: Option of `hedgerow fit` that chooses this type; None for the default type.
    option: ClassVar[str | None] = None
    #: Options that name the columns of the target.
    target_options: ClassVar[tuple[str, ...]] = ("target",)
    #: Options that name further columns of the target, if they are given.
    more_target_options: ClassVar[tuple[str, ...]] = ()
    #: Whether targets are classes: folds are stratified, and rows may be undecided.
    has_classes: ClassVar[bool] = False
    #: Whether `report` supports the type.
    has_page: ClassVar[bool] = True
    #: Parameters that a bootstrapped forest needs to compute out-of-bag scores.
    oob_params: ClassVar[dict[str, bool]] = {}
    #: Explanations of single rows; None if the type does not support them.
    explainer: ClassVar[Explainer | None] = None
    #: Feedback of people about single rows; None if the type does not support it.
    feedback: ClassVar[Feedback | None] = None

    @abstractmethod
    def read_y(self, sheet: TargetSheet, names: tuple[str, ...], model: BaseEstimator = None) -> Array:
        """Read the columns of the target.

        Labels must be classes of the fitted model, if there is one.
        """

    @abstractmethod
    def summary(self, model: BaseEstimator, y: Array) -> FitSummary:
        """Summarise a fitted model and its target (n,)."""

    @abstractmethod
    def columns(
        self, model: BaseEstimator, table: NamedColumns, coverage: float | None, costs: Costs | None
    ) -> Columns:
        """Return the predictions as columns of a table."""

    @abstractmethod
    def evaluate(self, model: BaseEstimator, table: NamedColumns, y: Array, coverage: float | None) -> Evaluation:
        """Compare predictions with true targets (n,)."""

    @abstractmethod
    def figures(
        self,
        tally: Any,
        *,
        coverage: float | None = None,
        evaluated: Any = None,
        positive: int | None = None,
        costs: Costs | None = None,
    ) -> Figures:
        """Return the metrics of a tally, and of the evaluation it comes from if available."""

    @abstractmethod
    def page(self, model: BaseEstimator, X: TableLike, y: ArrayLike | None, request: ReportRequest) -> Parts:
        """Return the parts of a report.

        Raise a ValueError for arguments that the type does not support.
        """

    def columns_at(self, model: BaseEstimator, table: NamedColumns, times: Floats) -> Columns:
        """Return the predictions at some times; raise a ValueError unless the type predicts times."""
        raise ValueError(f"times require a survival model, got a {type(model).__name__}.")

    def unit(self, options: Any) -> str | None:
        """Return the unit of the target, as far as the options of `hedgerow fit` name it."""
        return None

    def unsupported(self, model: BaseEstimator, option: str, value: object) -> str | None:
        """Return the requirement of a command-line option that the model does not meet, or None."""
        return None
