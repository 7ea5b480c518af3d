"""Training rows: binned table, target and bags."""

from __future__ import annotations

import zlib
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hedgerow.forest.grow import GrowthParams
from hedgerow.forest.rows import NO_GRID, Bags, Groups, OobMask, Provenance, ProvenanceGrid
from hedgerow.table.bins import Codes


class Fingerprint(NamedTuple):
    """Summary of rows and bags, which must agree between fits for a warm start."""

    rows: tuple[int, int] | None  # checksums of labels and codes, if a warm start will need them
    n_rows: int
    bag_mean: float
    leaf_counts: str
    n_groups: int = 0  # groups so far; 0 if every row was drawn on its own


@dataclass(frozen=True, eq=False, repr=False)
class TrainingRows:
    """Binned training rows of a forest, with their target and bags.

    A fitted forest keeps them at one or two bytes per cell of the table; pickles and model files do not contain them.

    Parameters
    ----------
    codes : (p, n)
        The codes of rows with positive weight.
    all_codes : (p, m)
        The codes of all rows that were given.
    kept : (n,) uint32 or None
        The rows with positive weight; None means all.
    target : Target
        The target of the n rows.
    bags : Bags
        The bags drawn from these rows, and the rows that leaves count.
    """

    codes: Codes
    all_codes: Codes
    kept: NDArray[np.uint32] | None
    target: Any
    bags: Bags

    @classmethod
    def of(
        cls,
        all_codes: Codes,
        kept: NDArray[np.uint32] | None,
        target: Any,
        settings: GrowthParams,
        groups: Groups | None = None,
    ) -> TrainingRows:
        """Return training rows from all codes, rows of positive weight and target."""
        codes = all_codes if kept is None else np.ascontiguousarray(all_codes[:, kept])
        return cls(codes, all_codes, kept, target, bags_of(settings, codes.shape[1], groups))

    @property
    def n_rows(self) -> int:
        """Number of rows n."""
        return int(self.codes.shape[1])

    @property
    def has_bags(self) -> bool:
        """Whether bags leave rows out."""
        return self.bags.mean != 0

    @property
    def oob_mask(self) -> OobMask:
        """Out-of-bag mask, with the contributions of rows to leaves that count them."""
        if not self.bags.counts_oob:
            return OobMask(self.bags, None, self.target.known)
        own, masses = self.target.own, self.target.own_masses
        if masses is not None:
            own = np.hstack([own, masses.belief(), masses.plausibility()])
        own = self.target.labels if own is None else own
        return OobMask(self.bags, own, self.target.known, own_masses=masses)

    @property
    def groups(self) -> NDArray[np.uint32] | None:
        """Group of each row, (n,); None without groups."""
        return self.bags.units

    @property
    def n_groups(self) -> int:
        """Number of groups that bags are drawn from; 0 without bags or groups."""
        return 0 if self.bags.groups is None or not self.has_bags else self.bags.groups.n_groups

    def concat(self, codes: Codes, target: Any, groups: Groups | None = None) -> TrainingRows:
        """Return these rows followed by later rows, codes (p, m), with groups of all."""
        kept, whole = self.kept, np.concatenate([self.codes, codes], axis=1)
        if kept is not None:
            later = self.all_codes.shape[1] + np.arange(codes.shape[1])
            kept = np.concatenate([kept, later]).astype(np.uint32)
        everything = whole if kept is None else np.concatenate([self.all_codes, codes], axis=1)
        bags = replace(self.bags, n_rows=whole.shape[1], groups=groups)
        return TrainingRows(whole, everything, kept, self.target.concat(target), bags)

    def codes_of(self, rows: NDArray[np.int64]) -> Codes:
        """Return the codes (p, m) of ascending rows (m,), without a copy for all rows."""
        return self.codes if len(rows) == self.n_rows else np.ascontiguousarray(self.codes[:, rows])

    def under(self, settings: GrowthParams) -> TrainingRows:
        """Return the rows with the bags of other settings."""
        return replace(self, bags=bags_of(settings, self.n_rows, self.bags.groups))

    def origin(self, n_trees: int, first_tree: int) -> Provenance:
        """Return the provenance of trees that were grown on these rows."""
        weighing = self.target.weighing()
        return Provenance(
            n_trees,
            first_tree,
            self.bags.seed,
            self.bags.mean,
            self.bags.leaf_counts,
            self.n_rows,
            self.n_rows,
            self.target.class_rows,
            weighing.scale,
            weighing.unit,
            NO_GRID if weighing.extremes is None else ProvenanceGrid.of(*weighing.extremes),
            self.n_groups,
            self.n_groups,
        )

    def fingerprint(self, *, of_rows: bool) -> Fingerprint:
        """Return the fingerprint for warm starts, with checksums of rows if `of_rows`."""
        checksums = self.checksums() if of_rows else None
        return Fingerprint(checksums, self.n_rows, self.bags.mean, self.bags.leaf_counts, self.n_groups)

    def checksums(self) -> tuple[int, int]:
        """Return checksums of labels, with groups if there are any, and of codes."""
        identity = zlib.crc32(np.ascontiguousarray(self.target.identity).data)
        if self.n_groups:
            identity = zlib.crc32(self.groups.data, identity)  # type: ignore[union-attr]
        return identity, zlib.crc32(np.ascontiguousarray(self.codes).data)


def bags_of(settings: GrowthParams, n_rows: int, groups: Groups | None = None) -> Bags:
    """Return the bags that trees with these settings draw from rows or groups."""
    return Bags(settings.seed, settings.bag_mean, n_rows, leaf_counts=settings.leaf_counts, groups=groups)
