"""Columns: the answers of a model about n rows -> columns, in the order and the form they are written."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from hedgerow.inference.batch import Batch
from hedgerow.table import NamedColumns
from hedgerow.tasks.regression.predictor import COVERAGE
from hedgerow.util.blocks import in_blocks
from hedgerow.util.text import whole

#: Rows of a large table are asked about in blocks of so many.
BLOCK_ROWS = 1 << 15

#: Separates the classes of a set in a CSV cell.
BAR = "|"

#: The parts of `predict_uncertainty` that are written.
PARTS = ("total", "aleatoric", "epistemic", "conflict", "vacuity")

Array = NDArray[Any]
Floats = NDArray[np.float64]


class Columns(Protocol):
    """Answers of any kind: columns of text, then columns of numbers."""

    @property
    def names(self) -> tuple[str, ...]:
        """The columns, in the order they are written."""

    @property
    def json_names(self) -> tuple[str, ...]:
        """The keys of a row in JSON."""

    @property
    def n_undecided(self) -> int:
        """How many rows have several classes left."""

    def texts(self) -> list[list[Any]]:
        """Columns before the numbers, for CSV."""

    def typed(self) -> list[list[Any]]:
        """The same for Parquet."""

    def numbers(self) -> list[Floats]:
        """The columns after them."""

    def objects(self) -> Iterator[dict[str, Any]]:
        """Row by row, for JSON."""


@dataclass(frozen=True)
class ClassificationColumns:
    """The answers of a classifier for n rows."""

    classes: Array  # (K,)
    label: Array  # (n,)
    probability: Floats  # (n,), of the label
    chosen: NDArray[np.bool_]  # (n, K)
    bounds: Floats  # (n, K, 2)
    uncertainty: dict[str, Floats]  # (n,) each
    novelty: Floats | None  # (n,)

    @property
    def names(self) -> tuple[str, ...]:
        """The columns, in the order they are written."""
        bounds = [f"{end}_{name}" for name in self.classes.tolist() for end in ("lower", "upper")]
        return ("label", "set", "probability", *bounds, *self.uncertainty, *self._of_novelty)

    @property
    def json_names(self) -> tuple[str, ...]:
        """The keys of a row in JSON."""
        return ("label", "set", "probability", "lower", "upper", "uncertainty", *self._of_novelty)

    @property
    def n_undecided(self) -> int:
        """How many sets hold several classes."""
        return int((self.chosen.sum(axis=1) > 1).sum())

    def texts(self) -> list[list[Any]]:
        """Label and set, the classes of a set in one cell."""
        packed = np.packbits(self.chosen, axis=1)
        rows = packed.view(np.dtype((np.void, packed.shape[1]))).ravel()
        _, examples, which = np.unique(rows, return_index=True, return_inverse=True)
        distinct = [BAR.join(map(_escaped, self.classes[row])) for row in self.chosen[examples]]
        return [self.label.tolist(), np.array(distinct, dtype=object)[which].tolist()]

    def typed(self) -> list[list[Any]]:
        """Label and set, the set a list of classes."""
        return [self.label.tolist(), self.sets()]

    def objects(self) -> Iterator[dict[str, Any]]:
        """Row by row, for JSON."""
        labels, names = self.label.tolist(), [str(name) for name in self.classes.tolist()]
        parts = {kind: values.tolist() for kind, values in self.uncertainty.items()}
        for row, members in enumerate(self.sets()):
            said = {
                "label": labels[row],
                "set": members,
                "probability": float(self.probability[row]),
                "lower": dict(zip(names, self.bounds[row, :, 0].tolist(), strict=True)),
                "upper": dict(zip(names, self.bounds[row, :, 1].tolist(), strict=True)),
            }
            if parts:
                said["uncertainty"] = {kind: values[row] for kind, values in parts.items()}
            yield said | {name: float(values[row]) for name, values in self._of_novelty.items()}

    def sets(self) -> list[list[Any]]:
        """(n,): the classes of each set."""
        names = self.classes.tolist()
        return [[names[k] for k in np.flatnonzero(row)] for row in self.chosen]

    def numbers(self) -> list[Floats]:
        """The columns after label and set."""
        n_rows = len(self.label)
        of_classes = self.bounds.reshape(n_rows, -1).T
        return [self.probability, *of_classes, *self.uncertainty.values(), *self._of_novelty.values()]

    @property
    def _of_novelty(self) -> dict[str, Floats]:
        """The last column, if the model knows its training rows."""
        return {} if self.novelty is None else {"novelty": self.novelty}


@dataclass(frozen=True)
class RegressionColumns:
    """The answers of a regressor for n rows."""

    columns: dict[str, Floats]  # (n,) each

    @property
    def names(self) -> tuple[str, ...]:
        """The columns, in the order they are written."""
        return tuple(self.columns)

    @property
    def json_names(self) -> tuple[str, ...]:
        """The keys of a row in JSON."""
        return self.names

    @property
    def n_undecided(self) -> int:
        """Numbers are never undecided."""
        return 0

    def numbers(self) -> list[Floats]:
        """All columns."""
        return list(self.columns.values())

    def texts(self) -> list[list[Any]]:
        """Columns of text: a regressor has none."""
        return []

    def typed(self) -> list[list[Any]]:
        """The same for Parquet."""
        return []

    def objects(self) -> Iterator[dict[str, Any]]:
        """Row by row, for JSON."""
        for row in np.column_stack(self.numbers()).tolist():
            yield dict(zip(self.names, row, strict=True))


def classification_columns(now: Any, X: Any) -> ClassificationColumns:
    """The answers of a classifier, and samples -> label, set, bounds, uncertainty and, if it is known, novelty."""
    classes = _whole_classes(now.classes)

    def ask(batch: Batch) -> dict[str, Any]:
        opinion = now.opinion(batch)
        best = opinion.probability.argmax(axis=1)
        uncertainty = now.uncertainty(batch)._asdict() if now.combines_leaves else {}
        return {
            "label": classes[best],
            "probability": opinion.probability[np.arange(len(best)), best],
            "chosen": now.decide(opinion),
            "bounds": np.stack([opinion.lower, opinion.upper], axis=2),
            "novelty": None if batch.novelty is None else batch.novelty.p_value,
            **{part: uncertainty[part] for part in PARTS if part in uncertainty},
        }

    found = _in_parts(now, X, ask)
    uncertainty = {part: found.pop(part) for part in PARTS if part in found}
    return ClassificationColumns(classes, uncertainty=uncertainty, **found)


def _in_parts(now: Any, X: Any, ask: Callable[[Batch], dict[str, Any]]) -> dict[str, Any]:
    """Samples, and what asks about a batch -> what it finds, by name; of columns without a frame in blocks of rows.

    What is found on the way to the answers takes several times their memory.
    """
    if not isinstance(X, NamedColumns) or X.shape[0] <= BLOCK_ROWS:
        return ask(now.read(X))

    def ask_from(first: int) -> SimpleNamespace:
        return SimpleNamespace(**ask(now.read(X.some(slice(first, first + BLOCK_ROWS)))))

    return vars(in_blocks(ask_from, X.shape[0], BLOCK_ROWS, 1))


def _whole_classes(classes: Array) -> Array:
    """Classes -> the same; text of an old model file that no table can hold is written with escapes."""
    if classes.dtype.kind not in "UO":
        return classes
    return np.array([whole(name) if isinstance(name, str) else name for name in classes.tolist()], dtype=object)


def regression_columns(now: Any, X: Any, coverage: float | None = None) -> RegressionColumns:
    """The answers of a regressor, and samples -> prediction, interval, bounds of the mean, deviations, novelty."""

    def ask(batch: Batch) -> dict[str, Any]:
        columns: dict[str, Floats] = {"prediction": now.predicted(batch)}
        if now.has_residuals:
            lower, upper = now.interval(batch, COVERAGE if coverage is None else coverage).T
            columns |= {"lower": lower, "upper": upper}
        mean_lower, mean_upper = now.bounds(batch).T
        variances = now.variance(batch.codes)._asdict()
        deviations = {f"{part}_std": np.sqrt(variance) for part, variance in variances.items()}
        columns |= {"mean_lower": mean_lower, "mean_upper": mean_upper} | deviations
        return columns if batch.novelty is None else columns | {"novelty": batch.novelty.p_value}

    return RegressionColumns(_in_parts(now, X, ask))


def _escaped(label: object) -> str:
    """A class within a set -> text with a backslash before each bar or backslash."""
    return str(label).replace("\\", "\\\\").replace(BAR, "\\" + BAR)
