"""What people see of a prediction type, as plain data.

A presenter turns models and tables into numbers, texts and tables of text; the command line prints them, and the report
puts them on its page. `registry` lists the presenters.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from hedgerow.explain.breakdown import Lines
from hedgerow.explain.request import ExplainRequest
from hedgerow.inference.columns import Columns
from hedgerow.table import NamedColumns
from hedgerow.tasks.classification.costs import Costs

Array = NDArray[Any]
Floats = NDArray[np.float64]

#: A line that people read: its name and its text.
Fact = tuple[str, str]


class TargetSheet(Protocol):
    """A table as a file holds it; the errors about its cells are those of the file."""

    def labels(self, name: str) -> Array:
        """Return a column as labels (n,), none missing."""

    def known_labels(self, name: str, classes: Array) -> Array:
        """Return a column as labels (n,) that are all among the classes."""

    def targets(self, name: str) -> Floats:
        """Return a column as finite numbers (n,)."""


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
    """The change of uncertainty by rows that a model has learned."""

    values: dict[str, Any]  # for JSON
    facts: list[Fact]


class Feedback(ABC):
    """Asking people about rows, and learning from their answers."""

    @abstractmethod
    def predictions(self, model: Any, table: NamedColumns) -> list[dict[str, Any]]:
        """Return the prediction of each row in a few words."""

    @abstractmethod
    def uncertainty(self, model: Any, table: NamedColumns) -> Array:
        """Return the uncertainty of each row (n,)."""

    @abstractmethod
    def targets(self, model: Any, answers: list[Any]) -> Array:
        """Return the targets (m,) that a reader has marked in a report; raise a ValueError for other values."""

    @abstractmethod
    def change(self, before: Array, after: Array, rows: Array) -> FeedbackChange:
        """Compare the uncertainty of all rows (n,) before and after some of them (m,) were learned."""


class Presenter(ABC):
    """What people see of a prediction type. It has no state."""

    #: Suffix of the names of estimators.
    suffix: ClassVar[str]
    #: Option of `hedgerow fit` that chooses this type; None for the default type.
    option: ClassVar[str | None] = None
    #: Options that name the columns of the target.
    target_options: ClassVar[tuple[str, ...]] = ("target",)
    #: Whether targets are classes: folds are stratified, and rows may be undecided.
    has_classes: ClassVar[bool] = False
    #: Whether `explain` and `report` support the type.
    explained: ClassVar[bool] = True
    #: Parameters without which the fit of a bootstrapped forest computes no out-of-bag scores.
    oob_params: ClassVar[dict[str, Any]] = {}
    #: Feedback of people about single rows; None if the type does not support it.
    feedback: ClassVar[Feedback | None] = None

    @abstractmethod
    def read_y(self, sheet: TargetSheet, names: tuple[str, ...], model: Any = None) -> Array:
        """Read the columns of the target, in the terms of a fitted model if there is one."""

    @abstractmethod
    def summary(self, model: Any, y: Array) -> FitSummary:
        """Summarise a fitted model and its target (n,)."""

    @abstractmethod
    def columns(self, model: Any, table: NamedColumns, coverage: float | None, costs: Costs | None) -> Columns:
        """Return the predictions as columns of a table."""

    @abstractmethod
    def evaluate(self, model: Any, table: NamedColumns, y: Array, coverage: float | None) -> Any:
        """Compare predictions with true targets (n,); the result has `tally` and `group(rows)`."""

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
        """Return the metrics of a tally, and of the evaluation it comes from if that is at hand."""

    @abstractmethod
    def explain(self, model: Any, X: Any, request: ExplainRequest) -> list[Any]:
        """Explain each row."""

    @abstractmethod
    def uncertain_rows(self, model: Any, table: NamedColumns) -> NDArray[np.int64]:
        """Choose the rows that are explained if none is named."""

    @abstractmethod
    def overview(self, explanations: list[Any]) -> Lines:
        """Return a table with a line for each explanation."""

    @abstractmethod
    def page(self, model: Any, X: Any, y: Any, request: Any) -> Any:
        """Return the parts of the page of a report; arguments that the type does not support are refused."""

    def unsupported(self, model: Any, option: str, value: Any) -> str | None:
        """Return what an option of the command line must be used with, if it does not suit the model."""
        return None
