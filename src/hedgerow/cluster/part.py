"""Part: codes and targets of one partition, on a worker -> the whole table, and trees grown on it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hedgerow.cluster.target import PartitionTarget
from hedgerow.forest.forest import Forest
from hedgerow.forest.grow import GrowthParams, grow_forest
from hedgerow.forest.rows import Bags
from hedgerow.forest.training import bags_of
from hedgerow.table.bins import Bins, Codes
from hedgerow.target.base import ClassLabels, RealTargets


@dataclass(frozen=True)
class Part:
    """Some consecutive rows of the training table.

    Parameters
    ----------
    first_row : int
        Number of its first row in the whole table.
    codes : (p, n) uint8 or uint16
        The codes of its rows.
    target : PartitionTarget
        The target of its rows.
    """

    first_row: int
    codes: Codes
    target: PartitionTarget

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return int(self.codes.shape[1])


@dataclass(frozen=True)
class PartPlan:
    """What every task of a fit must know.

    Parameters
    ----------
    bins, settings : Bins, GrowthParams
        The same as in a fit on one machine.
    n_rows : int
        Number of rows of the whole table.
    has_missing : (p,) uint8
        Which features have missing values anywhere in the table.
    target : PartitionTarget
        The target of a part without rows; it has the classes and units of the whole table.
    keeps : bool
        Whether workers have room to keep, from one level to the next, which rows are in which nodes.
    """

    bins: Bins
    settings: GrowthParams
    n_rows: int
    has_missing: NDArray[np.uint8]
    target: PartitionTarget
    keeps: bool = True

    @property
    def labels(self) -> ClassLabels | RealTargets:
        """The target without rows, in the form in which the core takes it."""
        labels: ClassLabels | RealTargets = self.target.core
        return labels

    @property
    def is_weighted(self) -> bool:
        """Whether rows weigh differently."""
        return self.target.is_weighted

    @property
    def is_blind(self) -> bool:
        """Whether splits do not depend on labels."""
        return self.settings.splitter == "random_decision"

    @property
    def n_cells(self) -> int:
        """The number of sums of a bin: those of the target, or only amounts, and rows."""
        return 2 if self.is_blind else self.target.n_sums + 1

    @property
    def cell_type(self) -> type[np.uint32] | type[np.float64]:
        """The type of sums: counts fit into 32 bits; weights and numbers are whole numbers in a double."""
        return self.target.cell_type

    @property
    def bags(self) -> Bags:
        """How bags are drawn, and which rows leaves count."""
        return bags_of(self.settings, self.n_rows)

    def bag(self, tree: int) -> tuple[int, int, int, float]:
        """What the core must know to draw the bag of a tree."""
        bags = self.bags
        return bags.seed, tree, bags.n_rows, bags.mean

    @property
    def row_codes(self) -> int:
        """Codes of a row that is stored as a whole: those of its features, and zeros up to a full word."""
        per_word = 8 // np.dtype(self.bins.code_type).itemsize
        return -(-len(self.bins.n_bins) // per_word) * per_word

    @property
    def row_bytes(self) -> int:
        """Bytes of a gathered row: codes, label, multiplicity and weight."""
        return self.row_codes * np.dtype(self.bins.code_type).itemsize + 4 + (8 if self.is_weighted else 0)


def join_parts(*parts: Part) -> Part:
    """Parts in the order of the table -> one part that is the whole table."""
    codes = np.concatenate([part.codes for part in parts], axis=1)
    return Part(parts[0].first_row, codes, parts[0].target.joined([part.target for part in parts]))


def grow_trees(table: Part, plan: PartPlan, first: int, last: int) -> Forest:
    """The whole table -> trees number `first` to ``last - 1``."""
    return grow_forest(table.codes, plan.bins, table.target.core, plan.settings, first_tree=first, n_trees=last - first)
