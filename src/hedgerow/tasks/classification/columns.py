"""Predictions of a classifier as columns."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from hedgerow.inference.batch import Batch
from hedgerow.inference.columns import BAR, predicted_columns
from hedgerow.util.text import whole

if TYPE_CHECKING:
    from hedgerow.tasks.classification.predictor import ClassificationPredictor

#: The parts of `predict_uncertainty` that are written.
PARTS = ("total", "aleatoric", "epistemic", "conflict", "vacuity")

Array = NDArray[Any]
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class ClassificationColumns:
    """The predictions of a classifier for n rows."""

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
            cells = {
                "label": labels[row],
                "set": members,
                "probability": float(self.probability[row]),
                "lower": dict(zip(names, self.bounds[row, :, 0].tolist(), strict=True)),
                "upper": dict(zip(names, self.bounds[row, :, 1].tolist(), strict=True)),
            }
            if parts:
                cells["uncertainty"] = {kind: values[row] for kind, values in parts.items()}
            yield cells | {name: float(values[row]) for name, values in self._of_novelty.items()}

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


def classification_columns(predictor: ClassificationPredictor, X: Any) -> ClassificationColumns:
    """Predict label, set, bounds, uncertainty and, if the model has it, novelty."""
    classes = _whole_classes(predictor.classes)

    def predict(batch: Batch) -> dict[str, Any]:
        opinion = predictor.opinion(batch)
        best = opinion.probability.argmax(axis=1)
        uncertainty = predictor.uncertainty(batch)._asdict() if predictor.combines_leaves else {}
        return {
            "label": classes[best],
            "probability": opinion.probability[np.arange(len(best)), best],
            "chosen": predictor.decide(opinion),
            "bounds": np.stack([opinion.lower, opinion.upper], axis=2),
            "novelty": None if batch.novelty is None else batch.novelty.p_value,
            **{part: uncertainty[part] for part in PARTS if part in uncertainty},
        }

    found = predicted_columns(predictor, X, predict)
    uncertainty = {part: found.pop(part) for part in PARTS if part in found}
    return ClassificationColumns(classes, uncertainty=uncertainty, **found)


def _whole_classes(classes: Array) -> Array:
    """Classes -> the same; text of an old model file that no table can hold is written with escapes."""
    if classes.dtype.kind not in "UO":
        return classes
    return np.array([whole(name) if isinstance(name, str) else name for name in classes.tolist()], dtype=object)


def _escaped(label: object) -> str:
    """A class within a set -> text with a backslash before each bar or backslash."""
    return str(label).replace("\\", "\\\\").replace(BAR, "\\" + BAR)
