"""Training: partitions of a table -> codes and labels on the workers, and the plan that all tasks share."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hedgerow.cluster.describe import (
    Seen,
    Targets,
    by_partition,
    classes_of_all,
    encode_partition,
    find_cuts,
    kept_rows,
    missing_in,
    sample_columns,
    schema_of_all,
    see,
)
from hedgerow.cluster.part import Part, Plan
from hedgerow.cluster.partitions import Partitions
from hedgerow.cluster.run import Runner, pick
from hedgerow.estimators.trees import MAX_ROWS
from hedgerow.fit.parameters import resolve_settings
from hedgerow.forest.grow import GrowSettings
from hedgerow.forest.rows import Grid as OriginGrid
from hedgerow.forest.rows import Origin, weight_steps
from hedgerow.table import Schema
from hedgerow.table.bins import Bins
from hedgerow.table.sums import Spread, exact_sums_by, spread_of
from hedgerow.target.base import Labels, Numbers
from hedgerow.target.classes import (
    FixedPoint,
    check_class_weight,
    check_some_weight,
    class_weights,
    fixed_point_of_rows,
    labels_from,
)
from hedgerow.target.numbers import check_poisson, find_grid, values_of, weights_of

Floats = NDArray[np.float64]
Array = NDArray[Any]


@dataclass(frozen=True)
class Described:
    """What a fit must remember of its table, in place of the table itself."""

    schema: Schema


@dataclass(frozen=True)
class Training:
    """A training table that lies on a cluster, on its way through `fit`.

    Parameters
    ----------
    table, classes, labels, settings, prior, bag
        As in a fit on one machine; labels are those of a part without rows, or of two rows with the least and the
        greatest of all numbers.
    bins : Bins
        Where features are cut.
    plan : Plan
        What all tasks know.
    parts : list of futures
        Codes and labels on the workers, in the order of the table.
    part_rows : list of int
        Rows of each part.
    """

    table: Described
    classes: Array
    labels: Labels | Numbers
    settings: GrowSettings
    prior: Floats
    bag: object
    bins: Bins
    plan: Plan
    parts: list[Any]
    part_rows: list[int]
    class_rows: tuple[float, ...]
    weight_scale: float
    weight_unit: float
    shares: None = None

    def origin(self, n_trees: int, first_tree: int) -> Origin:
        """What trees that were grown on these rows know of them."""
        settings, n_rows, labels = self.settings, self.plan.n_rows, self.labels
        drawn = (n_trees, first_tree, settings.seed, settings.bag_mean, settings.leaf_counts, n_rows, n_rows)
        if not isinstance(labels, Numbers):
            return Origin(*drawn, self.class_rows, self.weight_scale, self.weight_unit)
        grid = OriginGrid.of(float(labels.values.min()), float(labels.values.max()))
        return Origin(*drawn, self.class_rows, self.weight_scale, grid=grid)


@dataclass(frozen=True)
class Weighed:
    """Targets of one partition, without rows that weigh nothing: class numbers or values, and weights.

    `rows` are those that weigh something, None for all.
    """

    values: Array
    weights: Floats | None
    rows: NDArray[np.int64] | None


class Told(NamedTuple):
    """What a partition tells of its weighed targets: rows, whether they have weights, rows of each class."""

    n_rows: int
    weighted: bool
    counts: NDArray[np.intp] | None


def read_on_cluster(run: Runner, estimator: Any, partitions: Partitions, *, regression: bool) -> Training:
    """Read, check and encode a table where it lies; nothing of the estimator changes."""
    categorical = getattr(estimator, "categorical_features", None)
    criterion = estimator.criterion if regression else None
    given = run.compute(by_partition(see, partitions, categorical_features=categorical, criterion=criterion))
    seen: list[Seen] = _each(run, "see", pick, given, [0] * len(given))
    n_seen = sum(each.n_rows for each in seen)
    if n_seen >= MAX_ROWS:
        raise ValueError(f"X must have fewer than 2**31 rows, got {n_seen}; train on a sample of them")
    schema = schema_of_all(seen, n_seen)
    check_some_weight(any(each.weighs for each in seen))
    reading = (_Numbers if regression else _Classes)(run, estimator, seen, given)
    return reading.read(partitions, schema)


class _Reading(ABC):
    """What labels and numbers have in common on their way to the workers."""

    def __init__(self, run: Runner, estimator: Any, seen: list[Seen], targets: list[Any]) -> None:
        self.run, self.estimator, self.seen = run, estimator, seen
        self.weighed = self._weigh(targets)
        n_classes = len(self._classes())
        self.told: list[Told] = _each(run, "weigh", partial(tell, n_classes), self.weighed)
        run.forget(targets)
        n_rows = [each.n_rows for each in self.told]
        self.n_rows, self.first_rows = sum(n_rows), np.cumsum([0, *n_rows[:-1]]).tolist()
        self.weighted = any(each.weighted for each in self.told)

    def read(self, partitions: Partitions, schema: Schema) -> Training:
        n_rows = self.n_rows
        settings = self._settings(n_rows, schema)
        nothing, make = self._labels(settings)
        bins = self._find_bins(partitions, schema, n_rows)
        each = {"weighed": self.weighed, "first_row": self.first_rows}
        encoded = by_partition(encode_part, partitions, each, schema=schema, bins=bins, make=make)
        parts = self.run.compute(encoded)
        missing = np.max(_each(self.run, "encode", _missing_in, parts), axis=0)
        origin = self._origin()
        self.run.forget(self.weighed)
        plan = Plan(bins, settings, n_rows, missing, nothing)
        bag = (None, n_rows, settings.bag_mean, settings.leaf_counts)
        kept = self._kept_labels(nothing)
        rows = [each.n_rows for each in self.told]
        return Training(
            Described(schema), self._classes(), kept, settings, self._prior(), bag, bins, plan, parts, rows, *origin
        )

    def ask(self, function: Any) -> Spread:
        """A function of targets and weights -> the spread of what it makes of those of all rows."""
        spreads = _each(self.run, "spread", partial(_spread, function), self.weighed)
        total: Spread = sum(spreads[1:], start=spreads[0])
        return total

    def _find_bins(self, partitions: Partitions, schema: Schema, n_rows: int) -> Bins:
        samples = self.run.compute(
            by_partition(
                sample_part,
                partitions,
                {"weighed": self.weighed, "first_row": self.first_rows},
                schema=schema,
                n_rows=n_rows,
            )
        )
        cuts = self.run.submit("cuts", find_cuts, schema, n_rows, *samples)
        self.run.wait(samples, lambda i: f"partition {i} (sample)")
        bins: Bins = self.run.gather([cuts], lambda _: "the cuts")[0]
        self.run.forget(samples)
        return bins

    def _settings_for(self, n_rows: int, schema: Schema, n_classes: int) -> GrowSettings:
        settings = resolve_settings(self.estimator, n_rows, schema.n_features, schema.names, n_classes)
        if any(sign and nominal for sign, nominal in zip(settings.monotonic or [], schema.nominal, strict=False)):
            raise ValueError("monotonic_cst must be 0 for nominal features, got a constraint on one")
        return settings

    @abstractmethod
    def _weigh(self, targets: list[Any]) -> list[Any]:
        """Targets on the workers -> the same without rows that weigh nothing, with weights."""

    @abstractmethod
    def _settings(self, n_rows: int, schema: Schema) -> GrowSettings:
        """How trees are grown."""

    @abstractmethod
    def _labels(self, settings: GrowSettings) -> tuple[Labels | Numbers, Callable[[Weighed], Labels | Numbers]]:
        """What the rows are labelled with: that of a part without rows, and how to make that of others."""

    def _kept_labels(self, nothing: Labels | Numbers) -> Labels | Numbers:
        return nothing

    def _classes(self) -> Array:
        return np.empty(0)

    def _prior(self) -> Floats:
        return np.empty(0)

    @abstractmethod
    def _origin(self) -> tuple[tuple[float, ...], float, float]:
        """Rows of each class, and what weights are divided by and rounded to in the leaves."""


class _Classes(_Reading):
    """Labels."""

    def _weigh(self, targets: list[Any]) -> list[Any]:
        classes = self.classes = classes_of_all(self.seen)
        class_weight = getattr(self.estimator, "class_weight", None)
        check_class_weight(class_weight)
        self.balance_bag = isinstance(class_weight, str) and class_weight == "balanced_subsample"
        known = [np.searchsorted(classes, each.classes) for each in self.seen]
        of_class = None
        if class_weight is not None and not self.balance_bag:
            amounts = partial(self._exact_amounts, targets, known)
            of_class = class_weights(class_weight, classes, amounts)
        return self.run.submit_each("weigh", weigh_labels, targets, known, [of_class] * len(targets), keep=True)

    def _exact_amounts(self, targets: list[Any], known: list[Any]) -> list[int]:
        amounts = _each(self.run, "classes", partial(exact_amounts, len(self.classes)), targets, known)
        return [sum(each) for each in zip(*amounts, strict=True)]

    def _settings(self, n_rows: int, schema: Schema) -> GrowSettings:
        if n_rows == 0:
            class_weight = getattr(self.estimator, "class_weight", None)
            raise ValueError(f"class_weight must leave some row a weight above zero, got {class_weight!r}")
        return self._settings_for(n_rows, schema, len(self.classes))

    def _labels(self, settings: GrowSettings) -> tuple[Labels | Numbers, Callable[[Weighed], Labels | Numbers]]:
        n_classes, balance = len(self.classes), self.balance_bag
        fixed = None
        if self.weighted or balance:
            fixed = fixed_point_of_rows(self._ask_weights, balance_bag=balance)
        nothing = labels_from(np.empty(0, dtype=np.uint16), n_classes, np.empty(0), fixed, balance_bag=balance)
        self.fixed = fixed
        return nothing, partial(make_labels_of, n_classes, fixed, balance)

    def _origin(self) -> tuple[tuple[float, ...], float, float]:
        of_parts = [each.counts for each in self.told if each.counts is not None]
        rows, fixed = tuple(np.sum(of_parts, axis=0).astype(np.float64).tolist()), self.fixed
        scale = 1.0
        if self.weighted:
            exact = fixed is not None and self._ask_weights(partial(_off_by, fixed)).high == 0
            scale = 1.0 if exact else self._ask_weights(_as_given).high
        if fixed is None or fixed.unit != 1.0:
            return rows, scale, weight_steps(None, 1.0) if fixed is None else fixed.unit
        total = int(self._ask_weights(partial(_in_units, fixed)).sum)
        return rows, scale, weight_steps(np.array([total]), fixed.unit)

    def _ask_weights(self, function: Any) -> Spread:
        return self.ask(partial(_of_weights, function))

    def _classes(self) -> Array:
        return self.classes

    def _prior(self) -> Floats:
        of_parts = [each.counts for each in self.told if each.counts is not None]
        counts = np.maximum(np.sum(of_parts, axis=0), 0.5)
        return np.asarray(counts / counts.sum(), dtype=np.float64)


class _Numbers(_Reading):
    """Numbers to be predicted."""

    def _weigh(self, targets: list[Any]) -> list[Any]:
        return self.run.submit_each("weigh", weigh_numbers, targets, keep=True)

    def _settings(self, n_rows: int, schema: Schema) -> GrowSettings:
        settings = replace(self._settings_for(n_rows, schema, 1), leaf_counts="inbag")
        if settings.criterion == "poisson":
            check_poisson(min(each.low for each in self.seen), max(each.high for each in self.seen))
        return settings

    def _labels(self, settings: GrowSettings) -> tuple[Labels | Numbers, Callable[[Weighed], Labels | Numbers]]:
        self.grid = find_grid(self.ask, weighted=self.weighted, centred=settings.criterion != "poisson")
        self.range = self.ask(values_of)
        weights = np.empty(0) if self.weighted else None
        return self.grid.numbers(np.empty(0), weights), partial(make_numbers, self.grid)

    def _origin(self) -> tuple[tuple[float, ...], float, float]:
        scale = 1.0
        if self.weighted and self.grid.scale != 1.0:
            scale = self.ask(weights_of).high
        return (float(self.n_rows),), scale, weight_steps(None, 1.0)

    def _kept_labels(self, nothing: Labels | Numbers) -> Labels | Numbers:
        assert isinstance(nothing, Numbers)
        return replace(nothing, values=np.array([self.range.low, self.range.high]))


def encode_part(
    X: Any,
    y: Any,
    weights: Any,
    target: Any,
    weight: Any,
    *,
    schema: Schema,
    bins: Bins,
    weighed: Weighed,
    first_row: int,
    make: Callable[[Weighed], Labels | Numbers],
) -> Part:
    """One partition, and its targets -> the part of the table it is."""
    codes = encode_partition(X, y, weights, target, weight, schema=schema, bins=bins, rows=weighed.rows)
    return Part(first_row, codes, make(weighed))


def sample_part(
    X: Any,
    y: Any,
    weights: Any,
    target: Any,
    weight: Any,
    *,
    schema: Schema,
    n_rows: int,
    weighed: Weighed,
    first_row: int,
) -> list[Array]:
    """One partition, and its targets -> the columns of those of its rows that decide the cuts."""
    which: dict[str, Any] = {"rows": weighed.rows, "n_rows": n_rows, "first_row": first_row}
    return sample_columns(X, y, weights, target, weight, schema=schema, **which)


def weigh_labels(given: tuple[Seen, Targets], known: NDArray[np.intp], of_class: Floats | None) -> Weighed:
    """Labels of one partition, and the numbers of its classes -> class numbers of the rows that weigh anything."""
    target = given[1]
    numbers = known[target.values.astype(np.intp)].astype(np.uint16) if len(known) else np.empty(0, dtype=np.uint16)
    weights = target.weights
    if of_class is not None:
        weights = of_class[numbers] * (1.0 if weights is None else weights)
    return _without_zeros(numbers, weights)


def weigh_numbers(given: tuple[Seen, Targets]) -> Weighed:
    """Numbers of one partition -> those of rows that weigh anything."""
    return _without_zeros(given[1].values.astype(np.float64), given[1].weights)


def tell(n_classes: int, weighed: Weighed) -> Told:
    """Weighed targets -> what is to be known of them."""
    counts = np.bincount(weighed.values, minlength=n_classes) if n_classes else None
    return Told(len(weighed.values), weighed.weights is not None, counts)


def exact_amounts(n_classes: int, given: tuple[Seen, Targets], known: NDArray[np.intp]) -> list[int]:
    """Labels of one partition -> what the rows of each class weigh, exactly."""
    target = given[1]
    numbers = known[target.values.astype(np.intp)] if len(known) else np.empty(0, dtype=np.intp)
    return exact_sums_by(numbers, target.weights, n_classes)


def make_labels_of(n_classes: int, fixed: Any, balance_bag: bool, weighed: Weighed) -> Labels:
    """Class numbers and weights of one partition -> what the grower takes."""
    weights = weighed.weights
    if weights is None and balance_bag:
        weights = np.ones(len(weighed.values))
    return labels_from(weighed.values, n_classes, weights, fixed, balance_bag=balance_bag)


def make_numbers(grid: Any, weighed: Weighed) -> Numbers:
    """Numbers and weights of one partition -> what the grower takes."""
    numbers: Numbers = grid.numbers(weighed.values, weighed.weights)
    return numbers


def _without_zeros(values: Array, weights: Floats | None) -> Weighed:
    rows = kept_rows(weights)
    if rows is None or weights is None:
        return Weighed(values, weights, None)
    return Weighed(values[rows], weights[rows], rows)


def _each(run: Runner, name: str, function: Any, *futures: list[Any]) -> list[Any]:
    """A function of futures, and of what else there is for each partition -> its results, partition by partition."""
    tasks = run.submit_each(name, function, *futures)
    return run.gather(tasks, lambda i: f"partition {i} ({name})")


def _spread(function: Any, weighed: Weighed) -> Spread:
    return spread_of(function(weighed.values, weighed.weights))


def _as_given(weights: Floats) -> Floats:
    return weights


def _in_units(fixed: FixedPoint, weights: Floats) -> Floats:
    return fixed.of(weights).astype(np.float64)


def _off_by(fixed: FixedPoint, weights: Floats) -> Floats:
    """How far weights in fixed point are from those given."""
    return np.asarray(np.abs(fixed.of(weights) * fixed.unit - weights))


def _of_weights(function: Any, values: Array, weights: Floats | None) -> Floats:
    return np.asarray(function(np.ones(len(values)) if weights is None else weights))


def _missing_in(part: Part) -> NDArray[np.uint8]:
    return missing_in(part.codes)
