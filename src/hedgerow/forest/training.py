"""Training rows: a binned table and its target -> what trees were grown on, and who may judge which row."""

from __future__ import annotations

import zlib
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hedgerow.forest.add import NO_GRID, Grid, Origin
from hedgerow.forest.fold import OutOfBag
from hedgerow.forest.grow import GrowSettings
from hedgerow.table.bins import Codes


class Fingerprint(NamedTuple):
    """What two fits must share for the bags of one to be known to the other."""

    rows: tuple[int, int] | None  # checksums of labels and codes, where a warm start will ask for them
    n_rows: int
    bag_mean: float
    leaf_counts: str


@dataclass(frozen=True, eq=False, repr=False)
class TrainingRows:
    """The binned training rows of a forest, their target, and how bags were drawn from them.

    They stay with a fitted forest (a byte or two per cell) and are left out of pickles and model files.

    Parameters
    ----------
    codes : (p, n)
        Of the rows that weigh something.
    all_codes : (p, m)
        Of all rows that were given.
    kept : (n,) uint32 or None
        Which of all rows weigh something; None for all of them.
    target : Target
        Of the n rows.
    seed, bag_mean : int, float
        What the bags are drawn with; a mean of 0 for no bootstrap.
    leaf_counts : str
        Which rows leaves count.
    """

    codes: Codes
    all_codes: Codes
    kept: NDArray[np.uint32] | None
    target: Any
    seed: int
    bag_mean: float
    leaf_counts: str

    @classmethod
    def of(cls, all_codes: Codes, kept: NDArray[np.uint32] | None, target: Any, settings: GrowSettings) -> TrainingRows:
        """Codes of all rows, those that weigh something, their target, and how trees are to be grown."""
        codes = all_codes if kept is None else np.ascontiguousarray(all_codes[:, kept])
        return cls(codes, all_codes, kept, target, settings.seed, settings.bag_mean, settings.leaf_counts)

    @property
    def n_rows(self) -> int:
        """n."""
        return int(self.codes.shape[1])

    @property
    def has_bags(self) -> bool:
        """Whether trees leave rows out, which can then judge them."""
        return self.bag_mean > 0

    @property
    def counts_itself(self) -> bool:
        """Whether a leaf counts a row that its tree has not seen."""
        return self.leaf_counts in ("all", "oob")

    @property
    def judges(self) -> OutOfBag:
        """How to find the trees that have not seen a row, and what the row itself has added to its leaves."""
        counted, own = self.counts_itself, self.target.own
        if own is not None:
            return OutOfBag(self.seed, self.bag_mean, None, own=own if counted else None, known=self.target.known)
        return OutOfBag(self.seed, self.bag_mean, self.target.labels if counted else None)

    def plus(self, codes: Codes, target: Any) -> TrainingRows:
        """These rows, and after them rows that came later: codes (p, m) with their target."""
        kept, whole = self.kept, np.concatenate([self.codes, codes], axis=1)
        if kept is not None:
            later = self.all_codes.shape[1] + np.arange(codes.shape[1])
            kept = np.concatenate([kept, later]).astype(np.uint32)
        everything = whole if kept is None else np.concatenate([self.all_codes, codes], axis=1)
        return replace(self, codes=whole, all_codes=everything, kept=kept, target=self.target.plus(target))

    def under(self, settings: GrowSettings) -> TrainingRows:
        """The same rows, with the bags of other settings."""
        return replace(self, seed=settings.seed, bag_mean=settings.bag_mean, leaf_counts=settings.leaf_counts)

    def origin(self, n_trees: int, first_tree: int) -> Origin:
        """What trees that were grown on these rows know of them."""
        weighing = self.target.weighing()
        return Origin(
            n_trees,
            first_tree,
            self.seed,
            self.bag_mean,
            self.leaf_counts,
            self.n_rows,
            self.n_rows,
            self.target.class_rows,
            weighing.scale,
            weighing.unit,
            NO_GRID if weighing.extremes is None else Grid.of(*weighing.extremes),
        )

    def fingerprint(self, *, of_rows: bool) -> Fingerprint:
        """What a later fit must share with this one; `of_rows` is whether the rows themselves are compared."""
        checksums = self.checksums() if of_rows else None
        return Fingerprint(checksums, self.n_rows, self.bag_mean, self.leaf_counts)

    def checksums(self) -> tuple[int, int]:
        """Of the labels and of the codes."""
        identity = np.ascontiguousarray(self.target.identity)
        return zlib.crc32(identity.data), zlib.crc32(np.ascontiguousarray(self.codes).data)
