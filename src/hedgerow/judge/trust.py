"""Trust: opinions of leaves, and what is unknown or unusual about their rows -> opinions that are open where needed.

Two things keep a forest from knowing. A *value* may be unknown: no training row had anything like it. Then the opinion
is widened until it holds for every value that is known (`hedgerow.judge.unknown`). And a *row* may be unlike the
training rows, so that its leaves know nothing of it. Below the level that the parameter `novelty` sets, its opinion is
discounted in Shafer's sense: with trust r, lower bounds become r · lower, upper bounds 1 − r · (1 − upper), and the
probability moves towards the same for all classes, which keeps the order of the classes.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hedgerow.belief.opinion import Opinion, opinion_from_bounds
from hedgerow.forest.blocks import with_rows
from hedgerow.judge.answer import ClassAnswers
from hedgerow.judge.fitted import Fitted
from hedgerow.judge.novelty import NoveltyOf, has_novelty, novelty_of
from hedgerow.judge.unknown import Unknown, opened, unknown_values
from hedgerow.judge.worlds import Worlds, numbers_over, opinion_over
from hedgerow.table.bins import Codes

Floats = NDArray[np.float64]


class Doubts(NamedTuple):
    """Why opinions about n rows are not to be trusted: their unknown values, and how unusual they are, or None."""

    unknown: Unknown | None
    novelty: NoveltyOf | None

    def doubted(self, n_rows: int, level: float | None) -> NDArray[np.bool_]:
        """(n,): the rows whose opinions are not those of the leaves."""
        found = np.zeros(n_rows, dtype=bool) if self.novelty is None else trust(self.novelty, level) < 1
        if self.unknown is not None:
            found[self.unknown.rows] = True
        return found

    def some(self, rows: slice, n_rows: int) -> Doubts:
        """The same for a slice of the n rows."""
        unknown, novelty = self
        return Doubts(unknown and unknown.some(rows, n_rows), novelty and novelty.some(rows))


class TrustingAnswers(ClassAnswers):
    """The answers of a classifier whose opinions are open where it cannot know."""

    takes_uncertain = True

    def __init__(self, model: Any, fitted: Fitted | None = None) -> None:
        super().__init__(model, fitted)
        self.level: float | None = model.novelty
        self._found: tuple[Codes, Doubts | None] | None = None

    @property
    def discounts(self) -> bool:  # type: ignore[override]
        """Whether opinions are discounted where rows are strangers."""
        return self.level is not None

    def doubts(self, codes: Codes) -> Doubts | None:
        """Codes that were read last (p, n) -> why opinions about them are not to be trusted; None for other codes."""
        if self._found is None or self._found[0] is not codes:
            self._found = codes, self._doubts(codes)
        return self._found[1]

    def _doubts(self, codes: Codes) -> Doubts | None:
        table = self.table_of(codes)
        if table is None:
            return None
        unknown = unknown_values(self.fitted, table, codes)
        novelty = novelty_of(self, table) if self.level is not None and has_novelty(self.fitted) else None
        return None if unknown is None and novelty is None else Doubts(unknown, novelty)

    def opinion(self, codes: Codes) -> Opinion:
        """Codes (p, n) -> the opinion of the forest, open where values are unknown or rows are strangers."""
        table, doubts = self.table_of(codes), self.doubts(codes)
        said = self.trusted(self.combined(codes), codes, doubts)
        if table is None or not table.uncertain:
            return said
        if self.level is not None:
            raise ValueError(f"novelty must be None for uncertain cells, got {self.level!r}; set it to None")

        def ask(worlds: Worlds) -> Opinion:
            unknown = worlds.unknown(None if doubts is None else doubts.unknown)
            return self.trusted(self.combined(worlds.codes), worlds.codes, unknown and Doubts(unknown, None))

        return opinion_over(said, self.fitted, table, codes, ask)

    def probability(self, codes: Codes) -> Floats:
        """Codes (p, n) -> probabilities (n, K); of rows with uncertain cells the mean over what these may be."""
        said, ask = super().probability(codes), super().probability
        return numbers_over(
            said, self.fitted, self.table_of(codes), codes, lambda worlds: worlds.mean(ask(worlds.codes))
        )

    said = probability  # the predicted probabilities

    def trusted(self, opinion: Opinion, codes: Codes, doubts: Doubts | None) -> Opinion:
        """What leaves say about codes (p, n), and why not to trust it -> what is left of it."""
        if doubts is None:
            return opinion
        if doubts.unknown is not None:
            opinion = opened(opinion, codes, doubts.unknown, self.fitted, self.combined)
        return opinion if doubts.novelty is None else discounted(opinion, trust(doubts.novelty, self.level))

    def confidence(self, codes: Codes) -> Floats:
        """Codes (p, n) -> (n,): the probability of the label, lower where values are unknown or rows are strangers."""
        sure, doubts = super().confidence(codes), self.doubts(codes)
        if doubts is None:
            return sure
        rows = doubts.doubted(len(sure), self.level)
        sure[rows] = self.opinion(codes).probability[rows].max(axis=1)
        return sure


def trust(novelty: NoveltyOf, level: float | None) -> Floats:
    """How unusual rows are -> (n,): how far opinions about them are trusted, from 0 to 1.

    It is the p-value divided by the level. A table of few rows has no small p-values, so beyond its strangest row trust
    falls with the square of the distance.
    """
    if level is None:
        return np.ones(len(novelty.p_value))
    return np.minimum(novelty.p_value * novelty.within**2 / level, 1.0)


def discounted(opinion: Opinion, trusted: Floats) -> Opinion:
    """An opinion about n samples, how far each is trusted (n,) -> the opinion that is left."""
    rows = np.flatnonzero(trusted < 1)
    if not len(rows):
        return opinion
    of_rows, share = opinion[rows], trusted[rows, None]
    score, chosen = of_rows.score, of_rows.chosen
    weak = opinion_from_bounds(
        share * of_rows.probability + (1 - share) / opinion.n_classes,
        share * of_rows.lower,
        1 - share * (1 - of_rows.upper),
        of_rows.conflict,
        score=None if score is None else score * (share if score.ndim > 1 else share[:, 0]),
        chosen=None if chosen is None else chosen | (share < 0.5),
    )
    return with_rows(opinion, rows, weak)
