"""Training: partitions of a table -> their codes and targets on the workers, and the plan that all tasks share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow.cluster.describe import Described, encode_rows, find_cuts, sample_columns, schema_of_all, see
from hedgerow.cluster.engine import Engine, Handle
from hedgerow.cluster.part import Part, PartPlan
from hedgerow.cluster.rows import Rows
from hedgerow.cluster.target import DistributedTarget, PartitionTarget, Weighed, WeighedTable
from hedgerow.forest.grow import GrowthParams
from hedgerow.forest.rows import Provenance
from hedgerow.params.checks import check_n_rows
from hedgerow.table import Schema
from hedgerow.table.bins import Bins, bin_limits
from hedgerow.target.base import TargetInfo
from hedgerow.target.classes import check_some_weight

#: A schema, rows and classes of a table -> how trees are grown on it.
SettingsFor = Callable[[Schema, int, int], GrowthParams]


@dataclass(frozen=True)
class ClusterTable:
    """A training table on a cluster.

    Parameters
    ----------
    schema : Schema
        The schema of the whole table.
    plan : Plan
        What all tasks must know.
    parts : list of handles
        The `Part` of each partition, in the order of the table.
    part_rows : list of int
        Number of rows of each part.
    about : About
        What a fitted model keeps of its target.
    tally : dict
        What an `Provenance` keeps of the rows, beside their number and bags.
    """

    schema: Schema
    plan: PartPlan
    parts: list[Handle]
    part_rows: list[int]
    info: TargetInfo
    tally: dict[str, Any]

    def origin(self, n_trees: int) -> Provenance:
        """The origin of trees that were grown on these rows."""
        bags = self.plan.bags
        return Provenance(n_trees, 0, bags.seed, bags.mean, bags.leaf_counts, bags.n_rows, bags.n_rows, **self.tally)


def read_on_cluster(
    engine: Engine,
    partitions: Sequence[Any],
    target: DistributedTarget,
    settings_for: SettingsFor,
    categorical_features: Any = None,
    max_bins: int | str | None = "auto",
) -> ClusterTable:
    """Read, check and encode a table on its workers."""
    given = engine.read("see", partial(see, target, categorical_features), partitions)
    seen: list[Described] = engine.gather(engine.each("seen", _first, given), "partition {} (see)")
    check_n_rows(sum(each.n_rows for each in seen))
    schema = schema_of_all(seen)
    check_some_weight(any(each.weighs for each in seen))
    target = target.known(engine, [each.told for each in seen if each.n_rows], given)
    table = WeighedTable.of(engine, given, target)
    settled = target.settle(table, partial(settings_for, schema))
    gaps = settled.settings.splitter == "random_decision"
    bins = _find_bins(engine, partitions, table, schema, max_bins, gaps)
    parts = engine.read(
        "encode", partial(_encode_part, schema, bins, settled.make), partitions, table.parts, table.first_rows
    )
    missing = np.max(engine.gather(engine.each("missing", _missing_in, parts), "partition {} (encode)"), axis=0)
    engine.forget(table.parts)
    nothing = settled.make(Weighed(np.empty(0), np.empty(0) if table.is_weighted else None))
    plan = PartPlan(bins, settled.settings, table.n_rows, missing, nothing)
    return ClusterTable(schema, plan, parts, table.part_rows, settled.info, settled.tally)


def _find_bins(
    engine: Engine,
    partitions: Sequence[Any],
    table: WeighedTable,
    schema: Schema,
    max_bins: int | str | None,
    gaps: bool,
) -> Bins:
    """A sample of the rows of all partitions -> where features are cut."""
    sample_rows, most_bins = bin_limits(table.n_rows, max_bins)
    columns = (table.parts, table.first_rows)
    samples = engine.read("sample", partial(sample_columns, schema, table.n_rows, sample_rows), partitions, *columns)
    cuts = engine.one("cuts", partial(find_cuts, schema, most_bins, gaps), *samples)
    engine.wait(samples, "partition {} (sample)")
    bins: Bins = engine.fetch(cuts, "the cuts")
    engine.forget(samples)
    return bins


def _encode_part(
    schema: Schema, bins: Bins, make: Callable[[Weighed], PartitionTarget], rows: Rows, weighed: Weighed, first_row: int
) -> Part:
    """The rows of a partition, and their weighed targets -> its part of the table."""
    return Part(first_row, encode_rows(schema, bins, rows, weighed), make(weighed))


def _missing_in(part: Part) -> NDArray[np.uint8]:
    """-> (p,): whether a value of each feature is missing in some row."""
    return np.asarray((part.codes == np.iinfo(part.codes.dtype).max).any(axis=1), dtype=np.uint8)


def _first(given: tuple[Described, Any]) -> Described:
    return given[0]
