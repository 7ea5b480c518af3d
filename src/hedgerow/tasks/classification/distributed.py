"""Classes: the labels of a table on a cluster -> class numbers and weights, and what they add to nodes and leaves."""

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
    PartitionTarget,
    ResolvedTarget,
    Targets,
    Weighed,
    WeighedTable,
)
from hedgerow.fit.engine import Engine, Handle
from hedgerow.forest.grow import GrowthParams
from hedgerow.forest.rows import Bags, times_counted
from hedgerow.inference.calibration import calibration_obstacle
from hedgerow.inference.fitted import Fitted
from hedgerow.inference.oob import Sample
from hedgerow.params.checks import check_class_weight
from hedgerow.rules import resolve_rule
from hedgerow.table.sums import Spread, exact_sums_by
from hedgerow.tasks.classification.calibration import learn_on_sample, rule_key
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
    """The labels of a table.

    Parameters
    ----------
    class_weight : Any
        The parameter of the estimator.
    classes : (K,) array
        The classes, sorted; an empty array before they are known.
    weight_of_class : (K,) float64 or None
        Factors by which the weights of rows are multiplied.
    """

    class_weight: Any = None
    classes: Array = field(default_factory=lambda: np.empty(0))
    weight_of_class: Floats | None = None

    def __post_init__(self) -> None:
        check_class_weight(self.class_weight)

    @property
    def balances_bags(self) -> bool:
        """Whether classes weigh the same in the bag of every tree, instead of in the table."""
        return isinstance(self.class_weight, str) and self.class_weight == "balanced_subsample"

    def read(self, y: Any, n_rows: int) -> tuple[Array, Any]:
        """Labels of a partition -> which of its classes each row has, and these classes."""
        with warnings.catch_warnings():  # a partition of few rows may have many classes
            warnings.simplefilter("ignore")
            classes, values = read_classes(y, n_rows)
        return values, classes

    def known(self, engine: Engine, summary: list[Any], given: list[Handle]) -> Self:
        """Classes of each partition -> the classes of the table, with their weights."""
        known = replace(self, classes=_all_classes(summary))
        if self.class_weight is None or self.balances_bags:
            return known
        amounts = partial(_exact_amounts, engine, given, known)
        return replace(known, weight_of_class=class_weights(self.class_weight, known.classes, amounts))

    def labels(self, given: Targets) -> NDArray[np.intp]:
        """Labels of a partition -> (n,) class numbers."""
        if given.summary is None:
            return np.empty(0, dtype=np.intp)
        return np.asarray(np.searchsorted(self.classes, given.summary)[given.values])

    def weigh(self, given: Targets) -> Weighed:
        """Labels of a partition -> class numbers of the rows whose weight is above zero."""
        labels, weights = self.labels(given), given.weights
        if self.weight_of_class is not None:
            weights = self.weight_of_class[labels] * (1.0 if weights is None else weights)
        return Weighed.of(labels.astype(np.uint16), weights)

    def class_rows(self, values: Array) -> NDArray[np.intp]:
        """(K,): rows of each class."""
        return np.bincount(values, minlength=len(self.classes))

    def resolve(self, table: WeighedTable, settings_for: Callable[[int, int], GrowthParams]) -> ResolvedTarget:
        """Choose how weights become whole numbers, and what a model keeps of the rows and classes."""
        if table.n_rows == 0:
            raise ValueError(f"class_weight must leave some row a weight above zero, got {self.class_weight!r}")
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

    def rows_to_learn_on(self, estimator: Any, n_rows: int, n_classes: int) -> NDArray[np.int64] | None:
        """The rows for a map of probabilities.

        Only the maps of rules whose probabilities are means of class shares can be learned on single training rows.
        """
        rule, wanted = resolve_rule(estimator.rule), estimator.calibration == "oob"
        learns = wanted and not calibration_obstacle(rule) and rule.plain_mean
        return rows_to_learn_on(n_rows, n_classes) if learns else None

    def learn(self, estimator: Any, fitted: Fitted, sample: Sample, bags: Bags, n_threads: int) -> None:
        """Learn the map of probabilities."""
        learned = learn_on_sample(fitted.forest, sample, bags, n_threads)
        fitted.learned.put("calibration", rule_key(estimator.rule), learned)


class PartitionClasses(PartitionTarget):
    """Class numbers and weights of the rows of a part, in `ClassLabels`."""

    core: ClassLabels
    per_row = ("numbers", "weights")
    leaves_add_up = True

    @property
    def truth(self) -> Array:
        """(n,): class numbers."""
        return self.core.numbers

    @property
    def is_weighted(self) -> bool:
        """Whether rows weigh differently."""
        return self.core.weights is not None

    @property
    def n_sums(self) -> int:
        """One for each class."""
        return self.core.n_classes

    @property
    def groups(self) -> NDArray[np.uint16] | None:
        """(n,): class numbers."""
        return self.core.numbers

    def amounts(
        self, rows: NDArray[Any], times: NDArray[np.uint32], balance: Floats | None
    ) -> tuple[Array, Floats | None]:
        """(r,): the weight of each row in the bag."""
        if self.core.weights is None:
            return times, None
        return _weights_inside(self.take(rows).core, times, balance).astype(np.float64), None

    def gathered(self, rows: NDArray[Any], times: NDArray[np.uint32], balance: Floats | None) -> Self:
        """Labels whose weights are multiplied by how often the bag holds each row."""
        labels = self.take(rows).core
        weights = None if labels.weights is None else _weights_inside(labels, times, balance)
        return type(self)(replace(labels, weights=weights, balance_bag=False))

    def count(
        self, sense: str, times: NDArray[np.uint32], spans: list[tuple[int, int]], balance: Floats | None
    ) -> NDArray[np.int64]:
        """(2, spans, K): rows of each class, and their weight in units."""
        labels, counted = self.core, times_counted(sense, times).astype(np.int64)
        found = np.zeros((2, len(spans), labels.n_classes), dtype=np.int64)
        amounts = [counted]
        if labels.weights is not None:
            weights = _weights_inside(labels, times, balance)
            if sense != "inbag":  # what a balanced bag has rounded to one unit stays above zero
                weights = np.maximum(weights > 0, weights // np.maximum(times, 1).astype(np.int64))
            amounts.append(weights * (counted > 0))
        for i, (first, last) in enumerate(spans):
            for row, each in enumerate(amounts):
                # These are sums of whole numbers below 2**53, which are exact in a double.
                sums = np.bincount(labels.numbers[first:last], weights=each[first:last], minlength=labels.n_classes)
                found[row, i] = sums.astype(np.int64)
        return found


def _all_classes(summary: list[Array]) -> Array:
    """Classes of each partition -> all classes, sorted."""
    kinds = {classes.dtype.kind for classes in summary}
    if len(kinds) > 1 and kinds - set("iufb"):
        raise ValueError(f"y must hold labels of one kind in all partitions, got {sorted(kinds)}; convert them")
    return np.unique(np.concatenate(summary))


def _exact_amounts(engine: Engine, given: list[Handle], target: DistributedClasses) -> list[int]:
    """The exact weight of the rows of each class in all partitions."""
    asked = engine.ask("classes", _amounts_in, given, engine.put("target", target))
    return [sum(each) for each in zip(*engine.gather(asked, "partition {} (classes)"), strict=True)]


def _amounts_in(given: tuple[Any, Targets], target: DistributedClasses) -> list[int]:
    return exact_sums_by(target.labels(given[1]), given[1].weights, len(target.classes))


def _make(n_classes: int, fixed: FixedPoint | None, balances_bags: bool, weighed: Weighed) -> PartitionClasses:
    """Class numbers and weights of one partition -> labels for the core."""
    weights = weighed.weights
    if weights is None and balances_bags:
        weights = np.ones(len(weighed.values))
    labels = weighed.values.astype(np.uint16, copy=False)
    return PartitionClasses(labels_from(labels, n_classes, weights, fixed, balance_bag=balances_bags))


def _weight_scale(table: WeighedTable, fixed: FixedPoint | None) -> float:
    """The scale by which weights are divided in the leaves."""
    if not table.is_weighted:
        return 1.0
    if fixed is not None and _spread_of_weights(table, partial(_off_by, fixed)).high == 0:
        return 1.0
    return _spread_of_weights(table, _as_given).high


def _weight_unit(table: WeighedTable, fixed: FixedPoint | None) -> float:
    """The unit to which weights of later rows are rounded in the leaves."""
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
    """How far weights in fixed point are from those given."""
    return np.asarray(np.abs(fixed.of(weights) * fixed.unit - weights))


def _weights_inside(labels: ClassLabels, times: NDArray[np.uint32], balance: Floats | None) -> NDArray[np.int64]:
    """(n,): weights times multiplicities, balanced if classes are balanced, as the grower computes them."""
    assert labels.weights is not None
    weights: NDArray[np.int64] = labels.weights * np.maximum(times, 1).astype(np.int64)
    if balance is None:
        return weights
    scaled = weights.astype(np.float64) * balance[labels.numbers]
    whole = np.floor(scaled)
    return np.maximum(1, (whole + (scaled - whole >= 0.5)).astype(np.int64))  # halves are rounded up
