"""Numbers: the targets of a regression on a cluster -> numbers on a grid, and what they add to nodes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

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
from hedgerow.forest.rows import Bags, ProvenanceGrid
from hedgerow.inference.fitted import Fitted
from hedgerow.inference.oob import Sample
from hedgerow.tasks.regression.oob import calibration_rows, learn_residuals
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
    """The smallest and the largest number of a table, once they are known; rows of weight 0 count too."""

    low: float = np.nan
    high: float = np.nan

    def read(self, y: Any, n_rows: int) -> tuple[Array, Any]:
        """Numbers of a partition -> the same, and the lowest and the highest of them."""
        values = read_targets(y, n_rows, "squared_error")  # "poisson" looks at the numbers of all partitions
        return values, (float(values.min()), float(values.max()))

    def known(self, engine: Engine, summary: list[Any], given: list[Handle]) -> Self:
        """The lowest and the highest number of each partition -> those of the table."""
        return replace(self, low=min(low for low, _ in summary), high=max(high for _, high in summary))

    def weigh(self, given: Targets) -> Weighed:
        """Numbers of one partition -> those of the rows whose weight is above zero."""
        return Weighed.of(given.values.astype(np.float64), given.weights)

    def class_rows(self, values: Array) -> NDArray[np.intp]:
        """(1,): the number of rows."""
        return np.array([len(values)])

    def resolve(self, table: WeighedTable, settings_for: Callable[[int, int], GrowthParams]) -> ResolvedTarget:
        """Choose the grid of the numbers, and what a model keeps of rows and numbers."""
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

    def rows_to_learn_on(self, estimator: Any, n_rows: int, n_classes: int) -> NDArray[np.int64]:
        """The rows for intervals."""
        return calibration_rows(n_rows)

    def learn(self, estimator: Any, fitted: Fitted, sample: Sample, bags: Bags, n_threads: int) -> None:
        """Learn the residuals of which intervals are made."""
        known = (sample.rows, sample.codes, sample.labels, bags)
        fitted.learned.put("residuals", None, learn_residuals(fitted.forest, *known, n_threads))


class PartitionReals(PartitionTarget):
    """The numbers of the rows of a part, in `RealTargets`."""

    core: RealTargets
    per_row = ("values", "weights", "sums", "amounts")
    leaves_add_up = False  # because the last bits of a mean depend on the order of the rows

    @property
    def truth(self) -> Array:
        """(n,): the numbers as given."""
        return self.core.values

    @property
    def is_weighted(self) -> bool:
        """Whether rows weigh differently."""
        return self.core.amounts is not None

    @property
    def n_sums(self) -> int:
        """Two: amounts and sums."""
        return 2

    @property
    def groups(self) -> NDArray[np.uint16] | None:
        """None, because every row adds to both sums."""
        return None

    def amounts(
        self, rows: NDArray[Any], times: NDArray[np.uint32], balance: Floats | None
    ) -> tuple[Array, Floats | None]:
        """(r,), (r,): the weight of each row in the bag, and its weighted number."""
        multiple = np.maximum(times, 1)
        amounts = self.core.amounts
        weighed = multiple.astype(np.float64) if amounts is None else multiple * amounts[rows]
        return weighed, multiple * self.core.sums[rows]

    def gathered(self, rows: NDArray[Any], times: NDArray[np.uint32], balance: Floats | None) -> Self:
        """The numbers of the rows."""
        return self.take(rows)

    def all_equal(self, times: NDArray[np.uint16], first: int, last: int) -> bool:
        """Whether rows `first` to ``last - 1``, as far as they are in the bag, all have the same number."""
        values = self.core.values[first:last][times[first:last] > 0]
        return bool(len(values) and (values == values[0]).all())

    def look(self, rows: NDArray[Any], times: NDArray[np.uint32], spans: list[tuple[int, int]]) -> Floats:
        """Rows (r,), and spans of them -> (spans, 4): lowest and highest number, amount and sum of the first row."""
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
    """Numbers and weights of one partition -> numbers for the core."""
    return PartitionReals(grid.numbers(weighed.values, weighed.weights))
