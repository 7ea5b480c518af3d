"""Classification targets of a table on a cluster."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from hedgerow.belief.calibrate import rows_to_learn_on
from hedgerow.fit.distributed import (
    DistributedTarget,
    Engine,
    Handle,
    PartitionTarget,
    ResolvedTarget,
    Targets,
    Weighed,
    WeighedTable,
)
from hedgerow.forest.grow import GrowthParams
from hedgerow.forest.rows import Bags, times_counted
from hedgerow.inference.fitted import Fitted
from hedgerow.inference.oob import Sample, calibration_obstacle
from hedgerow.labels import read_labels
from hedgerow.params.checks import check_class_weight
from hedgerow.rules import resolve_rule
from hedgerow.table.sums import Spread, exact_sums_by
from hedgerow.tasks.classification.oob import learn_on_sample, rule_key
from hedgerow.tasks.classification.target import (
    ClassInfo,
    ClassLabels,
    FixedPoint,
    class_weights,
    fixed_point_of_rows,
    labels_from,
    read_classes,
    weight_steps,
)

Floats = NDArray[np.float64]
Array = NDArray[Any]


@dataclass(frozen=True)
class DistributedClasses(DistributedTarget):
    """Labels of a table on a cluster.

    Parameters
    ----------
    class_weight : None, str or dict
        The parameter of the estimator.
    classes : (K,) array
        The classes, sorted; empty until all partitions have been read.
    weight_of_class : (K,) float64 or None
        Factors for the row weights of each class.
    """

    class_weight: Any = None
    classes: Array = field(default_factory=lambda: np.empty(0))
    weight_of_class: Floats | None = None

    def __post_init__(self) -> None:
        check_class_weight(self.class_weight)

    @property
    def balances_bags(self) -> bool:
        """Whether classes are balanced in the bag of every tree, not in the table."""
        return isinstance(self.class_weight, str) and self.class_weight == "balanced_subsample"

    def read(self, y: Any, n_rows: int) -> tuple[Array, Any]:
        """Read the labels of a partition as class numbers, and the classes."""
        if read_labels(y) is not None:
            raise ValueError(
                "y must have certain labels on Dask, got sets of classes. Fit uncertain labels in one process."
            )
        with warnings.catch_warnings():  # a partition of few rows may have many classes
            warnings.simplefilter("ignore")
            classes, values = read_classes(y, n_rows)
        return values, classes

    def known(self, engine: Engine, summary: list[Any], given: list[Handle]) -> Self:
        """Combine the classes of all partitions, and resolve their weights."""
        known = replace(self, classes=_all_classes(summary))
        if self.class_weight is None or self.balances_bags:
            return known
        amounts = partial(_exact_amounts, engine, given, known)
        return replace(known, weight_of_class=class_weights(self.class_weight, known.classes, amounts))

    def labels(self, given: Targets) -> NDArray[np.intp]:
        """Return the class numbers of a partition, (n,)."""
        if given.summary is None:
            return np.empty(0, dtype=np.intp)
        return np.asarray(np.searchsorted(self.classes, given.summary)[given.values])

    def weigh(self, given: Targets) -> Weighed:
        """Return the class numbers of rows with positive weight, and their weights."""
        labels, weights = self.labels(given), given.weights
        if self.weight_of_class is not None:
            weights = self.weight_of_class[labels] * (1.0 if weights is None else weights)
        return Weighed.of(labels.astype(np.uint16), weights)

    def class_rows(self, values: Array) -> NDArray[np.intp]:
        """Count the rows of each class, (K,)."""
        return np.bincount(values, minlength=len(self.classes))

    def resolve(self, table: WeighedTable, settings_for: Callable[[int, int], GrowthParams]) -> ResolvedTarget:
        """Choose the fixed point of the weights, and summarise rows and classes."""
        if table.n_rows == 0:
            raise ValueError(
                f"class_weight must leave at least one row with a positive weight, got {self.class_weight!r}."
            )
        settings = settings_for(table.n_rows, len(self.classes))
        fixed = None
        if table.is_weighted or self.balances_bags:
            fixed = fixed_point_of_rows(partial(_spread_of_weights, table), balance_bag=self.balances_bags)
        tally = {
            "class_rows": tuple(table.class_rows.astype(np.float64).tolist()),
            "weight_scale": _weight_scale(table, fixed),
            "weight_unit": _weight_unit(table, fixed),
        }
        make = partial(_make, len(self.classes), fixed, self.balances_bags)
        return ResolvedTarget(
            settings, make, tally, ClassInfo.counting(self.classes, table.class_rows.astype(np.float64))
        )

    def rows_to_learn_on(self, estimator: Any, bags: Bags, n_classes: int) -> NDArray[np.int64] | None:
        """Return the rows on which to fit the calibrator; None if it cannot be fitted.

        Single training rows are enough only for rules whose probabilities are means of class shares.
        """
        rule, wanted = resolve_rule(estimator.rule), estimator.calibration == "oob"
        learns = wanted and not calibration_obstacle(rule) and rule.plain_mean
        return rows_to_learn_on(bags.n_rows, n_classes) if learns else None

    def learn(self, estimator: Any, fitted: Fitted, sample: Sample, bags: Bags, n_threads: int) -> None:
        """Fit the calibrator."""
        learned = learn_on_sample(fitted.forest, sample, bags, n_threads)
        fitted.learned.put("calibration", rule_key(estimator.rule), learned)


class PartitionClasses(PartitionTarget):
    """Class numbers and weights of the rows of a partition, in `ClassLabels`."""

    core: ClassLabels
    per_row = ("numbers", "weights")
    leaves_add_up = True

    @property
    def truth(self) -> Array:
        """Class numbers, (n,)."""
        return self.core.numbers

    @property
    def is_weighted(self) -> bool:
        """Whether row weights differ."""
        return self.core.weights is not None

    @property
    def n_sums(self) -> int:
        """One sum per class."""
        return self.core.n_classes

    @property
    def groups(self) -> NDArray[np.uint16] | None:
        """Class numbers, (n,)."""
        return self.core.numbers

    def amounts(
        self, rows: NDArray[Any], times: NDArray[np.uint32], balance: Floats | None
    ) -> tuple[Array, Floats | None]:
        """Return the weight of each row in the bag, (r,)."""
        if self.core.weights is None:
            return times, None
        return _weights_inside(self.take(rows).core, times, balance).astype(np.float64), None

    def gathered(self, rows: NDArray[Any], times: NDArray[np.uint32], balance: Floats | None) -> Self:
        """Return labels with weights multiplied by the multiplicities of the bag."""
        labels = self.take(rows).core
        weights = None if labels.weights is None else _weights_inside(labels, times, balance)
        return type(self)(replace(labels, weights=weights, balance_bag=False))

    def count(
        self, sense: str, times: NDArray[np.uint32], spans: list[tuple[int, int]], balance: Floats | None
    ) -> NDArray[np.int64]:
        """Count rows of each class and their weight in units, (2, spans, K)."""
        labels, counted = self.core, times_counted(sense, times).astype(np.int64)
        found = np.zeros((2, len(spans), labels.n_classes), dtype=np.int64)
        amounts = [counted]
        if labels.weights is not None:
            weights = _weights_inside(labels, times, balance)
            if sense != "inbag":  # a weight that balancing rounded up to one unit stays positive
                weights = np.maximum(weights > 0, weights // np.maximum(times, 1).astype(np.int64))
            amounts.append(weights * (counted > 0))
        for i, (first, last) in enumerate(spans):
            for row, each in enumerate(amounts):
                # Sums of whole numbers below 2**53 are exact in a double.
                sums = np.bincount(labels.numbers[first:last], weights=each[first:last], minlength=labels.n_classes)
                found[row, i] = sums.astype(np.int64)
        return found


def _all_classes(summary: list[Array]) -> Array:
    """Return the sorted classes of all partitions."""
    kinds = {classes.dtype.kind for classes in summary}
    if len(kinds) > 1 and kinds - set("iufb"):
        raise ValueError(f"y must have labels of one type in all partitions, got dtype kinds {sorted(kinds)}.")
    return np.unique(np.concatenate(summary))


def _exact_amounts(engine: Engine, given: list[Handle], target: DistributedClasses) -> list[int]:
    """Return the exact total weight of each class over all partitions."""
    asked = engine.ask("classes", _amounts_in, given, engine.put("target", target))
    return [sum(each) for each in zip(*engine.gather(asked, "partition {} (classes)"), strict=True)]


def _amounts_in(given: tuple[Any, Targets], target: DistributedClasses) -> list[int]:
    return exact_sums_by(target.labels(given[1]), given[1].weights, len(target.classes))


def _make(n_classes: int, fixed: FixedPoint | None, balances_bags: bool, weighed: Weighed) -> PartitionClasses:
    """Return the labels of one partition for the core."""
    weights = weighed.weights
    if weights is None and balances_bags:
        weights = np.ones(len(weighed.values))
    labels = weighed.values.astype(np.uint16, copy=False)
    return PartitionClasses(labels_from(labels, n_classes, weights, fixed, balance_bag=balances_bags))


def _weight_scale(table: WeighedTable, fixed: FixedPoint | None) -> float:
    """Return the scale by which leaves divide weights."""
    if not table.is_weighted:
        return 1.0
    if fixed is not None and _spread_of_weights(table, partial(_off_by, fixed)).high == 0:
        return 1.0
    return _spread_of_weights(table, _as_given).high


def _weight_unit(table: WeighedTable, fixed: FixedPoint | None) -> float:
    """Return the unit to which leaves round the weights of later rows."""
    if fixed is None or fixed.unit != 1.0:
        return weight_steps(None, 1.0) if fixed is None else fixed.unit
    total = int(_spread_of_weights(table, partial(_in_units, fixed)).sum)
    return weight_steps(np.array([total]), fixed.unit)


def _spread_of_weights(table: WeighedTable, function: Callable[[Floats], Floats]) -> Spread:
    return table.spread(partial(_of_weights, function))


def _of_weights(function: Callable[[Floats], Floats], values: Array, weights: Floats | None) -> Floats:
    return np.asarray(function(np.ones(len(values)) if weights is None else weights))


def _as_given(weights: Floats) -> Floats:
    return weights


def _in_units(fixed: FixedPoint, weights: Floats) -> Floats:
    return fixed.of(weights).astype(np.float64)


def _off_by(fixed: FixedPoint, weights: Floats) -> Floats:
    """Return the rounding errors of weights in fixed point."""
    return np.asarray(np.abs(fixed.of(weights) * fixed.unit - weights))


def _weights_inside(labels: ClassLabels, times: NDArray[np.uint32], balance: Floats | None) -> NDArray[np.int64]:
    """Return row weights times multiplicities, balanced as the grower does it, (n,)."""
    assert labels.weights is not None
    weights: NDArray[np.int64] = labels.weights * np.maximum(times, 1).astype(np.int64)
    if balance is None:
        return weights
    scaled = weights.astype(np.float64) * balance[labels.numbers]
    whole = np.floor(scaled)
    return np.maximum(1, (whole + (scaled - whole >= 0.5)).astype(np.int64))  # halves are rounded up
