"""Parts of a training table: summaries, schema, bins and codes."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hedgerow import _core
from hedgerow.cluster.limits import Rows
from hedgerow.fit.distributed import DistributedTarget, PartitionTarget, Targets, Weighed
from hedgerow.forest.forest import Forest
from hedgerow.forest.grow import GrowthParams, bags_of, grow_forest
from hedgerow.forest.rows import Bags, Groups
from hedgerow.forest.target import CoreTarget, read_weights_of_part
from hedgerow.table import Schema, Table, read_table, read_training_table, values_of_one_type
from hedgerow.table.bins import Bins, Codes, bins_from_columns, encode
from hedgerow.table.schema import Kind

Array = NDArray[Any]


class Described(NamedTuple):
    """The summary of one partition.

    Attributes
    ----------
    n_rows : int
        Number of rows.
    schema : Schema or None
        Schema of the partition as a table of its own; None if it has no rows.
    summary : Any
        Summary of its targets by `DistributedTarget.read`; None if it has no rows.
    weighs : bool
        Whether some row has a weight above zero.
    """

    n_rows: int
    schema: Schema | None
    summary: Any
    weighs: bool


def see(target: DistributedTarget, categorical_features: Any, rows: Rows) -> tuple[Described, Targets]:
    """Return the summary and the targets of the rows of a partition."""
    n_rows = len(rows.X)
    if n_rows == 0:
        nothing = np.empty(0)
        return Described(0, None, None, False), Targets(nothing, None, None if rows.weights is None else nothing)
    schema = read_training_table(rows.X, categorical_features=categorical_features).schema
    # All weights of a partition may be zero, but not all weights of the table.
    weights = read_weights_of_part(rows.weights, n_rows)
    weighs = weights is None or bool((weights > 0).any())
    values, summary = target.read(rows.y, n_rows)
    return Described(n_rows, schema, summary, weighs), Targets(values, summary, weights)


def schema_of_all(parts: list[Described]) -> Schema:
    """Return the schema of the table, given summaries of its partitions."""
    schemas = {number: each.schema for number, each in enumerate(parts) if each.schema is not None}
    if not schemas:
        raise ValueError(f"Found array with 0 sample(s) in {len(parts)} partitions while a minimum of 1 is required")
    first = next(iter(schemas.values()))
    for number, schema in schemas.items():
        if schema.names != first.names or schema.n_features != first.n_features:
            raise ValueError(
                f"partition {number} must have the columns of the first, {_shortened(first)}, got {_shortened(schema)}."
            )
    merged = [_column_of_all(schemas, feature) for feature in range(first.n_features)]
    categories = tuple(known for known, _ in merged)
    nominal = tuple(known is not None for known in categories)
    return replace(first, nominal=nominal, categories=categories, kinds=tuple(kind for _, kind in merged))


def sample_columns(
    schema: Schema, n_rows: int, sample_rows: int, rows: Rows, weighed: Weighed, first_row: int
) -> list[Array]:
    """Return the columns of the rows of a partition that determine the bin edges."""
    table = _table(rows.X, schema)
    if table is None:
        return [np.empty(0, dtype=np.int32 if nominal else np.float64) for nominal in schema.nominal]
    weighing = np.arange(table.n_rows) if weighed.rows is None else weighed.rows
    chosen = weighing[_core.sampled_rows(n_rows, sample_rows, first_row, len(weighing))]
    return [np.array(column[chosen]) for _, columns in table.column_blocks() for column in columns]


def find_cuts(schema: Schema, max_bins: int, gaps: bool, *samples: list[Array]) -> Bins:
    """Return the bins of the table, given the sampled columns of all partitions."""
    columns = [np.concatenate(parts) for parts in zip(*samples, strict=True)]
    return bins_from_columns(schema, [columns], None, max(1, len(columns[0])), max_bins, 1, gaps)


def encode_rows(schema: Schema, bins: Bins, rows: Rows, weighed: Weighed) -> Codes:
    """Return the codes (p, n) of the rows of a partition of weight above zero."""
    table = _table(rows.X, schema)
    if table is None:
        return np.empty((schema.n_features, 0), dtype=bins.code_type)
    codes = encode(table, bins)
    return codes if weighed.rows is None else np.ascontiguousarray(codes[:, weighed.rows])


def _table(X: Any, schema: Schema) -> Table | None:
    """Read the features of a partition with the schema of the whole table.

    Return None without rows.
    """
    return read_table(X, schema) if len(X) else None


def _column_of_all(schemas: dict[int, Schema], feature: int) -> tuple[Array | None, Kind]:
    """Return the categories of a column, None if numeric, and its kind."""
    kinds = {schema.kinds[feature]: number for number, schema in schemas.items() if schema.kinds[feature] != "null"}
    if not kinds:
        return None, "null"
    found = [known for schema in schemas.values() if (known := schema.categories[feature]) is not None]
    where = f"column {feature}"
    if not found:
        if "text" in kinds and len(kinds) > 1:
            raise ValueError(f"{where} must have values of one type, got {sorted(kinds)} in partitions {kinds}.")
        return None, "number" if len(kinds) > 1 else next(iter(kinds))
    numeric = all(known.dtype.kind != "O" for known in found)
    values = np.concatenate([known if numeric else known.astype(object) for known in found])
    categories = np.unique(values if numeric else values_of_one_type(values, where))
    kind: Kind = "category" if "category" in kinds else next(iter(kinds))
    return categories, kind


def _shortened(schema: Schema) -> str:
    return f"{schema.n_features}" if schema.names is None else str(list(schema.names[:10]))


@dataclass(frozen=True)
class Part:
    """Consecutive rows of the training table, from one partition.

    Parameters
    ----------
    first_row : int
        Number of the first row in the whole table.
    codes : (p, n) uint8 or uint16
        Codes of the rows.
    target : PartitionTarget
        Target of the rows.
    units : (n,) uint32 or None
        Group of each row in the whole table; None without groups.
    """

    first_row: int
    codes: Codes
    target: PartitionTarget
    units: NDArray[np.uint32] | None = None

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return int(self.codes.shape[1])


@dataclass(frozen=True)
class PartPlan:
    """Data that all tasks of a fit share.

    Parameters
    ----------
    bins, settings : Bins, GrowthParams
        The same as in a fit on one machine.
    n_rows : int
        Number of rows of the whole table.
    has_missing : (p,) uint8
        Whether each feature has missing values anywhere in the table.
    target : PartitionTarget
        Target of an empty part, with the classes and units of the whole table.
    keeps : bool
        Whether workers have memory to cache the rows of nodes from one level to the next.
    n_groups : int
        Number of groups of the whole table; 0 without groups.
    """

    bins: Bins
    settings: GrowthParams
    n_rows: int
    has_missing: NDArray[np.uint8]
    target: PartitionTarget
    keeps: bool = True
    n_groups: int = 0

    @property
    def labels(self) -> CoreTarget:
        """Target without rows, in the form that the core takes."""
        core: CoreTarget = self.target.core
        return core

    @property
    def is_weighted(self) -> bool:
        """True if rows have weights."""
        return self.target.is_weighted

    @property
    def is_blind(self) -> bool:
        """True if splits ignore labels."""
        return self.settings.splitter == "random_decision"

    @property
    def n_cells(self) -> int:
        """Number of sums per bin: those of the target, or only amounts, and rows."""
        return 2 if self.is_blind else self.target.n_sums + 1

    @property
    def cell_type(self) -> type[np.uint32] | type[np.float64]:
        """Type of sums.

        Counts fit into 32 bits; weights and targets are whole numbers in a double.
        """
        return self.target.cell_type

    @property
    def bags(self) -> Bags:
        """Bootstrap samples, and the rows that leaves count."""
        return bags_of(self.settings, self.n_rows)

    def bag(self, tree: int) -> tuple[int, int, int, float]:
        """Return the arguments with which the core draws the bag of a tree."""
        bags = self.bags
        return bags.seed, tree, self.n_groups or bags.n_rows, bags.mean

    @property
    def row_codes(self) -> int:
        """Number of codes of a row, padded with zeros to a full word."""
        per_word = 8 // np.dtype(self.bins.code_type).itemsize
        return -(-len(self.bins.n_bins) // per_word) * per_word

    @property
    def row_bytes(self) -> int:
        """Bytes per gathered row: codes, label, multiplicity and weight."""
        return self.row_codes * np.dtype(self.bins.code_type).itemsize + 4 + (8 if self.is_weighted else 0)


def join_parts(*parts: Part) -> Part:
    """Concatenate parts in the order of the table."""
    codes = np.concatenate([part.codes for part in parts], axis=1)
    units = [part.units for part in parts if part.units is not None]
    target = parts[0].target.joined([part.target for part in parts])
    return Part(parts[0].first_row, codes, target, np.concatenate(units) if units else None)


def grow_trees(table: Part, plan: PartPlan, first: int, last: int) -> Forest:
    """Grow trees number `first` to ``last - 1`` on the whole table."""
    groups = None if table.units is None else Groups(table.units, plan.n_groups)
    return grow_forest(
        table.codes,
        plan.bins,
        table.target.core,
        plan.settings,
        first_tree=first,
        n_trees=last - first,
        groups=groups,
    )
