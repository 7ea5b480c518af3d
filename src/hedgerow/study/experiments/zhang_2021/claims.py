"""Claims of the paper, counted over sets in the paper and here."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hedgerow.study.experiments.report import ReportTable
from hedgerow.study.experiments.zhang_2021.ours import BASELINE, Floats, Ours
from hedgerow.study.experiments.zhang_2021.paper import printed


@dataclass(frozen=True)
class Claim:
    """A claim, and the number of sets on which it is true in the paper and here."""

    words: str
    theirs: int
    ours: int
    of: int

    @property
    def held(self) -> bool:
        """Whether it is true on more than half of the sets."""
        return 2 * self.ours > self.of

    @property
    def verdict(self) -> str:
        """Whether it holds, and on how many sets."""
        return f"{'held' if self.held else 'not held'} on {self.ours} of {self.of}"


def count_claims(ours: Ours) -> list[Claim]:
    """Return the claims of section 4, counted in the paper's numbers and in ours."""
    mass1, mass2, mass3 = range(3)
    statements: tuple[tuple[str, Callable[[Floats], NDArray[np.bool_]]], ...] = (
        ("for s = 1 the baseline is better than every belief rule", lambda u: u[:, 0, BASELINE] > _best_mass(u, 0)),
        ("for s = 5 the best belief rule is better than the baseline", lambda u: _best_mass(u, 2) > u[:, 2, BASELINE]),
        (
            "for s = 5 weights by epistemic uncertainty (mass3) beat the baseline",
            lambda u: u[:, 2, mass3] > u[:, 2, BASELINE],
        ),
        ("for s = 5 mass3 beats weights by size (mass2)", lambda u: u[:, 2, mass3] > u[:, 2, mass2]),
        ("mass2 does not beat the baseline, s = 1", lambda u: u[:, 0, mass2] <= u[:, 0, BASELINE]),
        (
            "mass1 stays within one point of the baseline, all s",
            lambda u: np.abs(u[:, :, mass1] - u[:, :, BASELINE]).max(axis=1) <= 1,
        ),
    )
    there = np.isfinite(ours.mean).all(axis=(1, 2))
    theirs, mine = printed()[there], ours.mean[there]
    return [
        Claim(words, int(holds(theirs).sum()), int(holds(mine).sum()), int(there.sum())) for words, holds in statements
    ]


def _best_mass(u: Floats, caution: int) -> Floats:
    """Return the score (sets,) of the best belief rule."""
    best: Floats = np.delete(u[:, caution], BASELINE, axis=1).max(axis=1)
    return best


def claim_table(claims: list[Claim]) -> ReportTable:
    """Return the table of claims."""
    rows = [[c.words, f"{c.theirs} of {c.of}", c.verdict] for c in claims]
    return ReportTable(
        "What the paper says of its tables",
        ("statement (section 4)", "sets in the paper", "here"),
        rows,
        "Held: true on more than half of the sets.",
    )
