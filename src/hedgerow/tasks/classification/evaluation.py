"""Predictions of a classifier as columns, and evaluation: on held-out rows, out of bag, and over a grid."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from hedgerow.belief.calibrate import rows_to_learn_on, with_probability
from hedgerow.belief.opinion import Opinion
from hedgerow.decisions import decide, resolve_decision
from hedgerow.inference.batch import Batch
from hedgerow.inference.columns import BAR, predicted_columns
from hedgerow.inference.evidence import require_certain, score_sets
from hedgerow.inference.oob import CrossCalibrated, given_to_calibrators
from hedgerow.metrics import SetTally, tally_sets
from hedgerow.metrics.confusion import auc, rates
from hedgerow.rules import resolve_rule
from hedgerow.table import NamedColumns
from hedgerow.table.groups import BLOCK_ROWS as EVALUATED_ROWS
from hedgerow.table.schema import Array, TableLike
from hedgerow.tasks.classification.costs import Costs
from hedgerow.util.runtime import map_in_threads
from hedgerow.util.text import whole

if TYPE_CHECKING:
    from hedgerow.tasks.classification.predictor import ClassificationPredictor


#: Number of rows per thread whose out-of-bag opinions are in memory at once.
BLOCK_ROWS = 16_384
#: Parameters that can be tuned without growing trees again.
TUNABLE = ("rule", "caution", "decision")


@dataclass(frozen=True, eq=False)
class ClassificationEvaluation:
    """Predictions of a classifier for n rows, and the true classes."""

    classes: Array  # (K,)
    truth: NDArray[np.int64]  # (n,)
    probability: NDArray[np.float64]  # (n, K)
    sets: NDArray[np.bool_]  # (n, K)

    @property
    def tally(self) -> SetTally:
        """Tally of labels and prediction sets."""
        return self.tally_of(np.ones(len(self.truth), dtype=bool))

    def tally_of(self, rows: NDArray[np.bool_]) -> SetTally:
        """Tally labels and prediction sets of the selected rows, (n,)."""
        label, numbers = self.probability.argmax(axis=1), np.arange(len(self.classes))
        found = tally_sets(self.truth[rows], label[rows], self.sets[rows], classes=numbers)
        return replace(found, classes=self.classes)

    def log_loss(self) -> float:
        """Return the mean log-loss."""
        return mean_log_loss(self.probability, self.truth)

    def two_classes(self, positive: int) -> dict[str, Any]:
        """Return binary rates of all labels and of decided rows, and the AUC."""
        probability = self.probability[:, positive]
        is_so, called = self.truth == positive, self.probability.argmax(axis=1) == positive
        decided = self.sets.sum(axis=1) == 1
        one = self.sets[:, positive]
        return {
            "positive": self.classes.tolist()[positive],
            **{name: found._asdict() for name, found in rates(is_so, called).items()},
            "auc": auc(is_so, probability)._asdict(),
            "decided": {name: found._asdict() for name, found in rates(is_so[decided], one[decided]).items()},
        }

    def costs(self, costs: Costs) -> dict[str, float]:
        """Return the mean cost per row of several ways to act on predictions."""
        return costs.figures(self.truth, self.probability, self.sets)

    def group(self, rows: NDArray[np.bool_]) -> dict[str, Any]:
        """Return metrics of the selected rows, (n,)."""
        found = self.tally_of(rows).figures()
        return {
            "rows": found["rows"],
            "accuracy": found["accuracy"],
            "coverage": found["coverage"],
            "undecided": 1 - found["determinacy"],
        }


def evaluate_classifier(predictor: ClassificationPredictor, table: NamedColumns, y: Array) -> ClassificationEvaluation:
    """Compare predictions with the true classes (n,), in blocks of rows."""
    n_rows = len(y)
    probability = np.empty((n_rows, len(predictor.classes)))
    sets = np.empty(probability.shape, dtype=bool)
    for first in range(0, n_rows, EVALUATED_ROWS):
        part = slice(first, first + EVALUATED_ROWS)
        opinion = predictor.opinion(predictor.read(table.some(part)))
        probability[part], sets[part] = opinion.probability, predictor.class_sets(opinion)
    return ClassificationEvaluation(predictor.classes, np.searchsorted(predictor.classes, y), probability, sets)


def mean_log_loss(probability: NDArray[np.float64], truth: NDArray[np.int64]) -> float:
    """Return the mean log-loss of probabilities (n, K), clipped below at 2e-16."""
    given = probability[np.arange(len(truth)), truth]
    return float(-np.log(np.maximum(given, np.finfo(np.float64).eps)).mean())


def oob_tally(predictor: ClassificationPredictor) -> SetTally | None:
    """Tally labels and prediction sets of out-of-bag rows; None if there are none.

    The result is that of `ClassificationPredictor.try_out`, which keeps the opinions about all rows in memory.
    """
    evidence, decision = predictor.oob_evidence(), resolve_decision(predictor.given_decision)
    known = predictor.oob_rows()
    target = known.target
    if not decision.is_ready:  # calibration needs the opinions about all rows
        trial = predictor.try_out(evidence, evidence.rule, predictor.caution, predictor.given_decision)
        labels = trial.judged.labels
        return _tally(predictor, labels, trial.opinion, trial.sets) if len(labels) else None
    certain = evidence.certain(target)
    require_certain(certain.known)
    rows = np.flatnonzero(certain.is_covered & certain.known)
    if not len(rows):
        return None
    opinion_of, views = evidence.as_forest().combine_rows(predictor.weights), evidence.rule.views
    calibrator = None
    if predictor.is_calibrated:
        some = rows[rows_to_learn_on(len(rows), len(predictor.classes))]
        weights = None if target.sure_weights is None else target.sure_weights[some]
        groups = None if known.groups is None else known.groups[some]
        learned_on = (given_to_calibrators(opinion_of(some), views), target.labels[some], weights, groups)
        calibrator = CrossCalibrated.learned_on(some, *learned_on, views)

    def tally_of(part: NDArray[np.int64]) -> SetTally:
        opinion = opinion_of(part)
        if calibrator is not None and not calibrator.learned.why:
            opinion = with_probability(opinion, calibrator.of(given_to_calibrators(opinion, views), part))
        if evidence.groups is not None:
            opinion = replace(opinion, groups=evidence.groups[part])
        return _tally(predictor, target.labels[part], opinion, decide(opinion, decision))

    parts = np.split(rows, range(BLOCK_ROWS, len(rows), BLOCK_ROWS))
    first, *others = map_in_threads(tally_of, parts, predictor.threads(len(rows)))
    return sum(others, start=first)


def _tally(predictor: ClassificationPredictor, labels: Array, opinion: Opinion, sets: NDArray[np.bool_]) -> SetTally:
    """Tally opinions and prediction sets of n rows with class numbers (n,)."""
    numbers = np.arange(len(predictor.classes))
    found = tally_sets(labels, opinion.probability.argmax(axis=1), sets, classes=numbers)
    return replace(found, classes=predictor.classes)


def grid_scores(
    predictor: ClassificationPredictor, metric: Any, param_grid: dict[str, Any]
) -> list[tuple[float, dict[str, Any]]]:
    """Score all combinations of rule, caution and decision, best first.

    `metric` is a name from `hedgerow.metrics.scorer`, "accuracy", or a function ``metric(y, sets)``; larger is better.
    """
    _check_grid(param_grid)
    evidence, calibrator = predictor.oob_evidence(), predictor.cross_calibration()
    results = []
    for values in product(*param_grid.values()):
        setting = dict(zip(param_grid, values, strict=True))
        rule = resolve_rule(setting.get("rule", predictor.plain_rule))
        caution = float(setting.get("caution", predictor.caution))
        decision = setting.get("decision", predictor.given_decision)
        trial = predictor.try_out(evidence, rule, caution, decision, calibrator=calibrator)
        results.append((score_sets(metric, predictor.classes, trial.judged, trial.opinion, trial.sets), setting))
    return sorted(results, key=lambda result: -result[0])


def _check_grid(param_grid: dict[str, Any]) -> None:
    """Raise if the grid has other parameters or invalid values."""
    unknown = [name for name in param_grid if name not in TUNABLE]
    if unknown or not param_grid or not all(len(values) for values in param_grid.values()):
        raise ValueError(
            f"param_grid must map 'rule', 'caution' or 'decision' to non-empty lists, got {param_grid!r}."
            " Use GridSearchCV for parameters that need new trees."
        )
    for caution in param_grid.get("caution", []):
        if not (isinstance(caution, int | float | np.number) and caution >= 0):
            raise ValueError(f"caution in param_grid must be a number >= 0, got {caution!r}.")


# ---- Predictions of a classifier as columns --------------------------------------------------------------------------


#: Columns of `predict_uncertainty` in the output.
PARTS = ("total", "aleatoric", "epistemic", "conflict", "vacuity")

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


def classification_columns(predictor: ClassificationPredictor, X: TableLike) -> ClassificationColumns:
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
