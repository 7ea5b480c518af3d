"""Regression targets of a table on a cluster."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

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
from hedgerow.forest.rows import Bags, ProvenanceGrid
from hedgerow.inference.fitted import Fitted
from hedgerow.inference.oob import Sample
from hedgerow.tasks.regression.oob import MAX_ROWS, learn_residuals
from hedgerow.tasks.regression.target import (
    Grid,
    RangeInfo,
    RealTargets,
    check_poisson,
    find_grid,
    read_targets,
    values_of,
    weights_of,
)

Floats = NDArray[np.float64]
Array = NDArray[Any]


@dataclass(frozen=True)
class DistributedReals(DistributedTarget):
    """Range of the targets of a table, including rows of weight 0."""

    low: float = np.nan
    high: float = np.nan

    def read(self, y: Any, n_rows: int) -> tuple[Array, Any]:
        """Read the targets of a partition, and their range."""
        values = read_targets(y, n_rows, "squared_error")  # `resolve` checks Poisson targets of all partitions
        return values, (float(values.min()), float(values.max()))

    def known(self, engine: Engine, summary: list[Any], given: list[Handle]) -> Self:
        """Combine the ranges of all partitions."""
        return replace(self, low=min(low for low, _ in summary), high=max(high for _, high in summary))

    def weigh(self, given: Targets) -> Weighed:
        """Return the targets of rows with positive weight."""
        return Weighed.of(given.values.astype(np.float64), given.weights)

    def class_rows(self, values: Array) -> NDArray[np.intp]:
        """Return the number of rows, (1,)."""
        return np.array([len(values)])

    def resolve(self, table: WeighedTable, settings_for: Callable[[int, int], GrowthParams]) -> ResolvedTarget:
        """Choose the grid of the targets, and summarise rows and targets."""
        settings = replace(settings_for(table.n_rows, 1), leaf_counts="inbag")
        if settings.criterion == "poisson":
            check_poisson(self.low, self.high)
        grid = find_grid(table.spread, weighted=table.is_weighted, centred=settings.criterion != "poisson")
        values = table.spread(values_of)
        scaled = table.is_weighted and grid.scale != 1.0
        tally = {
            "class_rows": (float(table.n_rows),),
            "weight_scale": table.spread(weights_of).high if scaled else 1.0,
            "grid": ProvenanceGrid.of(values.low, values.high),
        }
        return ResolvedTarget(settings, partial(_make, grid), tally, RangeInfo.between(values.low, values.high))

    def rows_to_learn_on(self, estimator: Any, bags: Bags, n_classes: int) -> NDArray[np.int64]:
        """Return the rows on which intervals are calibrated."""
        return bags.independent_rows(MAX_ROWS)

    def learn(self, estimator: Any, fitted: Fitted, sample: Sample, bags: Bags, n_threads: int) -> None:
        """Compute the out-of-bag residuals for intervals."""
        known = (sample.rows, sample.codes, sample.labels, bags)
        fitted.learned.put("residuals", None, learn_residuals(fitted.forest, *known, n_threads))


class PartitionReals(PartitionTarget):
    """Targets of the rows of a partition, in `RealTargets`."""

    core: RealTargets
    per_row = ("values", "weights", "sums", "amounts")
    leaves_add_up = False  # the last bits of a mean depend on the order of the rows

    @property
    def truth(self) -> Array:
        """Targets as given, (n,)."""
        return self.core.values

    @property
    def is_weighted(self) -> bool:
        """Whether row weights differ."""
        return self.core.amounts is not None

    @property
    def n_sums(self) -> int:
        """Two sums: amounts and weighted targets."""
        return 2

    @property
    def groups(self) -> NDArray[np.uint16] | None:
        """None, because every row adds to both sums."""
        return None

    def amounts(
        self, rows: NDArray[Any], times: NDArray[np.uint32], balance: Floats | None
    ) -> tuple[Array, Floats | None]:
        """Return the weight of each row in the bag, and its weighted target, (r,) each."""
        multiple = np.maximum(times, 1)
        amounts = self.core.amounts
        weighed = multiple.astype(np.float64) if amounts is None else multiple * amounts[rows]
        return weighed, multiple * self.core.sums[rows]

    def gathered(self, rows: NDArray[Any], times: NDArray[np.uint32], balance: Floats | None) -> Self:
        """Return the targets of the rows."""
        return self.take(rows)

    def all_equal(self, times: NDArray[np.uint16], first: int, last: int) -> bool:
        """Return whether the in-bag rows from `first` to ``last - 1`` have equal targets."""
        values = self.core.values[first:last][times[first:last] > 0]
        return bool(len(values) and (values == values[0]).all())

    def look(self, rows: NDArray[Any], times: NDArray[np.uint32], spans: list[tuple[int, int]]) -> Floats:
        """Return target range, amount and sum of the first row of each span, (spans, 4)."""
        values = self.core.values[rows]
        amounts, sums = self.amounts(rows, times, None)
        assert sums is not None
        found = np.full((len(spans), 4), np.nan)
        for i, (first, last) in enumerate(spans):
            if first < last:
                of_node = values[first:last]
                found[i] = of_node.min(), of_node.max(), amounts[first], sums[first]
        return found


def _make(grid: Grid, weighed: Weighed) -> PartitionReals:
    """Return the targets of one partition for the core."""
    return PartitionReals(grid.numbers(weighed.values, weighed.weights))
