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

#: Columns of `predict_uncertainty` in the output.
PARTS = ("total", "aleatoric", "epistemic", "conflict", "vacuity")

Array = NDArray[Any]
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class ClassificationColumns:
    """Predictions of a classifier for n rows."""

    classes: Array  # (K,)
    label: Array  # (n,)
    probability: Floats  # (n,), of the label
    probabilities: Floats  # (n, K)
    chosen: NDArray[np.bool_]  # (n, K), or (n, A) with actions
    bounds: Floats  # (n, K, 2)
    uncertainty: dict[str, Floats]  # (n,) each
    novelty: Floats | None  # (n,)
    actions: Array | None = None  # (A,)

    @property
    def names(self) -> tuple[str, ...]:
        """Column names in output order."""
        of_classes = [f"{part}_{name}" for name in self.classes.tolist() for part in ("p", "lower", "upper")]
        return ("label", self._name_of_sets, "probability", *of_classes, *self.uncertainty, *self._of_novelty)

    @property
    def json_names(self) -> tuple[str, ...]:
        """Keys of a row in JSON."""
        return ("label", self._name_of_sets, "probability", "p", "lower", "upper", "uncertainty", *self._of_novelty)

    @property
    def n_undecided(self) -> int:
        """Number of undecided rows."""
        return int((self.chosen.sum(axis=1) > 1).sum())

    def texts(self) -> list[list[Any]]:
        """Return labels and sets of classes or actions, each set as one text cell."""
        packed = np.packbits(self.chosen, axis=1)
        rows = packed.view(np.dtype((np.void, packed.shape[1]))).ravel()
        _, examples, which = np.unique(rows, return_index=True, return_inverse=True)
        distinct = [BAR.join(map(_escaped, self._members[row])) for row in self.chosen[examples]]
        return [self.label.tolist(), np.array(distinct, dtype=object)[which].tolist()]

    def typed(self) -> list[list[Any]]:
        """Return labels and sets, each set as a list of classes or actions."""
        return [self.label.tolist(), self.sets()]

    def objects(self) -> Iterator[dict[str, Any]]:
        """Yield one dictionary per row, for JSON."""
        labels, names = self.label.tolist(), [str(name) for name in self.classes.tolist()]
        parts = {kind: values.tolist() for kind, values in self.uncertainty.items()}
        for row, members in enumerate(self.sets()):
            cells = {
                "label": labels[row],
                self._name_of_sets: members,
                "probability": float(self.probability[row]),
                "p": dict(zip(names, self.probabilities[row].tolist(), strict=True)),
                "lower": dict(zip(names, self.bounds[row, :, 0].tolist(), strict=True)),
                "upper": dict(zip(names, self.bounds[row, :, 1].tolist(), strict=True)),
            }
            if parts:
                cells["uncertainty"] = {kind: values[row] for kind, values in parts.items()}
            yield cells | {name: float(values[row]) for name, values in self._of_novelty.items()}

    def sets(self) -> list[list[Any]]:
        """Return the classes of each prediction set, or the actions of each row, n lists."""
        names = self._members.tolist()
        return [[names[k] for k in np.flatnonzero(row)] for row in self.chosen]

    def numbers(self) -> list[Floats]:
        """Return the numeric columns, which follow label and set."""
        parts = np.concatenate([self.probabilities[:, :, None], self.bounds], axis=2)
        of_classes = parts.reshape(len(self.label), -1).T
        return [self.probability, *of_classes, *self.uncertainty.values(), *self._of_novelty.values()]

    @property
    def _members(self) -> Array:
        """Classes, or actions if the decision chooses among them."""
        return self.classes if self.actions is None else self.actions

    @property
    def _name_of_sets(self) -> str:
        """Name of the column of sets."""
        return "set" if self.actions is None else "actions"

    @property
    def _of_novelty(self) -> dict[str, Floats]:
        """Novelty column; empty if novelty is not available."""
        return {} if self.novelty is None else {"novelty": self.novelty}


def classification_columns(predictor: ClassificationPredictor, X: Any) -> ClassificationColumns:
    """Predict label, set, bounds, uncertainty and, if available, novelty."""
    classes = _whole_classes(predictor.classes)

    def predict(batch: Batch) -> dict[str, Any]:
        opinion = predictor.opinion(batch)
        best = opinion.probability.argmax(axis=1)
        uncertainty = predictor.uncertainty(batch)._asdict() if predictor.combines_leaves else {}
        return {
            "label": classes[best],
            "probability": opinion.probability[np.arange(len(best)), best],
            "probabilities": opinion.probability,
            "chosen": predictor.decide(opinion),
            "bounds": np.stack([opinion.lower, opinion.upper], axis=2),
            "novelty": None if batch.novelty is None else batch.novelty.p_value,
            **{part: uncertainty[part] for part in PARTS if part in uncertainty},
        }

    found = predicted_columns(predictor, X, predict)
    uncertainty = {part: found.pop(part) for part in PARTS if part in found}
    decision = predictor.decision
    actions = np.array(decision.actions, dtype=object) if decision.has_actions else None
    return ClassificationColumns(classes, uncertainty=uncertainty, actions=actions, **found)


def _whole_classes(classes: Array) -> Array:
    """Return the classes; escape text from old model files that no table can hold."""
    if classes.dtype.kind not in "UO":
        return classes
    return np.array([whole(name) if isinstance(name, str) else name for name in classes.tolist()], dtype=object)


def _escaped(label: object) -> str:
    """Return a class as text, with bars and backslashes escaped."""
    return str(label).replace("\\", "\\\\").replace(BAR, "\\" + BAR)
