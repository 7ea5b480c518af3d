"""Rows: a seed, a tree and rows -> how often the tree has counted them, and what is known of all it has counted."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hedgerow import _core

#: A bag whose mean size is above this is never empty, so never drawn again.
SURE_SIZE = 100
#: Weights of later rows are whole numbers of this, where the first table had none or whole ones.
FINEST_WEIGHT = 2.0**-24
#: Sums of weights up to two to this many units are exact.
_WEIGHT_BITS = 50


class Grid(NamedTuple):
    """Where the targets of the first table lie: sums are of differences from the centre, in units of the spread."""

    centre: float
    exponent: int  # targets differ from the centre by less than two to this

    @classmethod
    def of(cls, low: float, high: float) -> Grid:
        """The extremes of the first targets -> their grid."""
        centre = low / 2 + high / 2
        size = max(high - centre, centre - low) or abs(centre) or 1.0
        return cls(centre, int(np.frexp(size)[1]))


#: Of forests that count classes.
NO_GRID = Grid(0.0, 0)


@dataclass(frozen=True)
class Origin:
    """What is known of the rows that some neighbouring trees of a forest have counted.

    Parameters
    ----------
    n_trees, first_tree : int
        How many trees, and the number by which the bag of the first of them is drawn.
    seed, bag_mean : int, float
        What their bags are drawn with; 0 for no bootstrap.
    leaf_counts : str
        Which rows their leaves count.
    bag_rows, n_rows : int
        Rows they were grown on, and rows counted since then as well: by these the next ones are numbered.
    class_rows : tuple of float, length K
        How many of the rows are of each class.
    weight_scale, weight_unit : float
        What a weight of the user's is divided by, and then rounded to, in the leaves of these trees.
    grid : Grid
        Of a regression: where the first targets lie.
    """

    n_trees: int
    first_tree: int
    seed: int
    bag_mean: float
    leaf_counts: str
    bag_rows: int
    n_rows: int
    class_rows: tuple[float, ...]
    weight_scale: float = 1.0
    weight_unit: float = FINEST_WEIGHT
    grid: Grid = NO_GRID

    @property
    def whole_weight(self) -> int:
        """Units of a row that weighs one."""
        return max(1, round(1 / self.weight_unit))

    def times(self, tree: int, first: int, last: int) -> NDArray[np.uint32] | None:
        """How often the leaves of a tree count rows first to last - 1 of those that come next; None for once each."""
        if self.bag_mean == 0 or self.leaf_counts == "all":
            return None
        rows = self.n_rows + first, self.n_rows + last
        drawn = _core.bag(self.seed, self.first_tree + tree, self.bag_rows, self.bag_mean, *rows)
        if self.leaf_counts == "inbag":
            return drawn
        return np.asarray((drawn == 0) if self.leaf_counts == "oob" else (drawn > 0), dtype=np.uint32)

    def after(self, labels: NDArray[np.integer[Any]]) -> Origin:
        """The same once rows with these class numbers (m,), all 0 in a regression, have been counted."""
        added = np.bincount(labels, minlength=len(self.class_rows))
        counted = tuple((np.array(self.class_rows) + added).tolist())
        return replace(self, n_rows=self.n_rows + len(labels), class_rows=counted)


def drawn_once(origin: Origin) -> bool:
    """Whether no tree had to draw its bag again because it was empty, which later rows might have spared it.

    It takes a table of a few rows, or bags of a few, to make an empty bag at all likely.
    """
    if origin.bag_mean == 0 or origin.bag_rows * origin.bag_mean > SURE_SIZE:
        return True
    trees = range(origin.first_tree, origin.first_tree + origin.n_trees)
    both = (
        [_core.bag(origin.seed, tree, rows, origin.bag_mean, 0, origin.n_rows) for tree in trees]
        for rows in (origin.bag_rows, origin.n_rows)
    )
    return all(np.array_equal(a, b) for a, b in zip(*both, strict=True))


def outside_bags(
    seed: int, bag_mean: float, n_trees: int, n_rows: int, numbers: NDArray[np.int64]
) -> NDArray[np.bool_]:
    """Numbers of rows (m,), from `n_rows` on of those that come later -> (m, T): trees whose bags do not hold them."""
    last = int(numbers.max(initial=-1)) + 1
    bags = [_core.bag(seed, tree, n_rows, bag_mean, 0, last)[numbers] == 0 for tree in range(n_trees)]
    return np.stack(bags, axis=1)


def weight_steps(fixed: NDArray[np.int64] | None, unit: float) -> float:
    """Weights of the first table in fixed point -> the unit that weights of later rows are rounded to.

    Where it is 1, weights were whole numbers; later ones need not be.
    """
    if fixed is None or unit != 1.0:
        return FINEST_WEIGHT if fixed is None else unit
    spare = _WEIGHT_BITS - int(fixed.sum()).bit_length()
    return float(2.0 ** -min(24, max(0, spare)))


def spans_of(origins: Sequence[Origin]) -> Iterator[slice]:
    """Origins -> the trees of each."""
    first = 0
    for origin in origins:
        yield slice(first, first + origin.n_trees)
        first += origin.n_trees
