"""Kind: a model and a table -> what the commands do with them, in one way for classes and in another for numbers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from hedgerow.cli.files.sheet import Array, Sheet
from hedgerow.cli.options import Asking, EvaluateOptions, PredictOptions, Reading
from hedgerow.inference.columns import Columns
from hedgerow.table import NamedColumns
from hedgerow.tasks.classification.costs import Costs

#: In a table with fewer rows, nothing is remarkable about many different values.
FEW_ROWS = 20

#: A line of a table that people read: what it is about, and what it says.
Fact = tuple[str, str]


class Presenter(ABC):
    """A kind of model. It has no state; each method is told the model."""

    #: How the names of estimators end.
    suffix: ClassVar[str]
    #: Parameters of a bootstrapped forest without which its report would have no scores.
    asked_of_bags: ClassVar[dict[str, Any]]

    # ---- hedgerow fit --------------------------------------------------------------------------

    @abstractmethod
    def read_target(self, sheet: Sheet, name: str) -> Array:
        """A column of the training table -> what is learned (n,), none missing."""

    @abstractmethod
    def look_at_target(self, y: Array, name: str) -> None:
        """Warn about a target (n,) that seems to be of another kind."""

    @abstractmethod
    def summary(self, model: Any, y: Array) -> dict[str, Any]:
        """A fitted model and its target (n,) -> what `hedgerow fit` reports about them."""

    @abstractmethod
    def target_fact(self, report: dict[str, Any]) -> Fact:
        """The target, in a line."""

    @abstractmethod
    def opinion_fact(self, report: dict[str, Any]) -> str:
        """The parameters that may change on a fitted model, in a line."""

    @abstractmethod
    def score_facts(self, scores: dict[str, Any], by: str) -> list[Fact]:
        """Scores on rows that trees or whole models have not seen, and how these were held out -> lines."""

    @abstractmethod
    def classes(self, model: Any) -> dict[str, Any]:
        """What a report about a model says of its classes, if it has any."""

    # ---- hedgerow predict, evaluate, explain and report ----------------------------------------

    @abstractmethod
    def set_opinion(self, model: Any, options: Asking) -> None:
        """Set rule, caution and decision where they are given; those that the model cannot have are refused."""

    @abstractmethod
    def check_coverage(self, model: Any, coverage: float | None) -> None:
        """Refuse --coverage where the model has no intervals."""

    @abstractmethod
    def explains(self, model: Any) -> bool:
        """Whether the model can be explained and reported on."""

    @abstractmethod
    def known_target(self, model: Any, sheet: Sheet, name: str) -> Array:
        """A column of any table -> what is true of its rows (n,), in the terms of the model."""

    @abstractmethod
    def judged(self, model: Any, table: Any, y: Array, coverage: float | None) -> Any:
        """A model, the table it expects and what is true (n,) -> judgement."""

    @abstractmethod
    def details(self, model: Any, judged: Any, options: EvaluateOptions) -> tuple[dict[str, Any], tuple[Any, ...]]:
        """What else people want to know -> figures for JSON, and tables."""

    @abstractmethod
    def costs(self, model: Any, path: str | None, reading: Reading) -> Costs | None:
        """The file of --costs -> costs, None if it was not given; refused where there are no classes."""

    @abstractmethod
    def answers(self, model: Any, table: Any, options: PredictOptions) -> Columns:
        """A model and the table it expects -> its answers."""

    @abstractmethod
    def undecided(self, n_rows: int) -> str:
        """The number of rows with several classes -> the end of a message."""

    @abstractmethod
    def doubtful(self, model: Any, table: NamedColumns) -> NDArray[np.int64]:
        """The rows that are explained if none is named."""

    @abstractmethod
    def overview(self, found: list[Any]) -> Any:
        """Explanations -> a table that people read, a line for each."""

    @abstractmethod
    def evaluation(self, tally: Any, coverage: float | None) -> tuple[dict[str, Any], tuple[Any, ...]]:
        """A tally -> figures for JSON, and the tables people read."""

    # ---- hedgerow queue and learn ----------------------------------------------------------------

    @abstractmethod
    def said(self, model: Any, table: NamedColumns) -> list[dict[str, Any]]:
        """What the model says about each row, in a few words."""

    @abstractmethod
    def labels(self, model: Any, answers: list[Any]) -> Array:
        """What a reader has answered about some rows (m,) -> what the model is to learn (m,)."""

    @abstractmethod
    def doubt(self, model: Any, table: NamedColumns) -> Array:
        """How doubtful each row is (n,)."""

    @abstractmethod
    def learned(self, before: Array, after: Array, rows: Array) -> dict[str, Any]:
        """Doubt about all rows before and after some of them (m,) were learned -> what changed."""

    @abstractmethod
    def learned_facts(self, report: dict[str, Any]) -> list[Fact]:
        """The same in lines."""
