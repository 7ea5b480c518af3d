"""Trust: the opinion about a row and how unusual the row is -> an opinion that is open where the row is a stranger.

A row that is not like the training rows is sent to leaves that know nothing of it. Below the level that the parameter
`novelty` sets, the opinion is discounted in Shafer's sense: with trust r, lower bounds become r · lower, upper bounds
1 − r · (1 − upper), and the probability moves towards the same for all classes, which keeps the order of the classes.
"""

from __future__ import annotations

from copy import copy
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow.belief import Opinion
from hedgerow.belief.opinion import opinion_from_bounds
from hedgerow.judge.answer import ClassAnswers
from hedgerow.judge.fitted import Fitted
from hedgerow.judge.novelty import NoveltyOf, has_novelty, novelty_of
from hedgerow.table import Table
from hedgerow.table.bins import Codes

Floats = NDArray[np.float64]


class TrustingAnswers(ClassAnswers):
    """The answers of a classifier whose opinions about strangers are discounted."""

    def __init__(self, model: Any, fitted: Fitted | None = None) -> None:
        super().__init__(model, fitted)
        self.level: float | None = model.novelty
        self._read: tuple[Codes, Table] | None = None

    @property
    def discounts(self) -> bool:  # type: ignore[override]
        """Whether opinions are discounted where rows are strangers."""
        return self.level is not None

    def encode(self, table: Table) -> Codes:
        """A table that has been read -> codes (p, n); the table is remembered, because codes have lost what is new."""
        codes = super().encode(table)
        self.remember(codes, table)
        return codes

    def remember(self, codes: Codes, table: Table) -> None:
        """Remember the table that became these codes."""
        self._read = codes, table

    def opinion(self, codes: Codes) -> Opinion:
        """Codes (p, n) -> the opinion of the forest, discounted where rows are strangers."""
        novelty = self.novelty(codes)
        opinion = super().opinion(codes)
        return opinion if novelty is None else discounted(opinion, trust(novelty, self.level))

    def probability(self, codes: Codes) -> Floats:
        """Codes (p, n) -> probabilities (n, K), which are not discounted: `predict_proba` is that of any forest."""
        plain = self
        if self.level is not None:
            plain = copy(self)
            plain.level = None
        return super(TrustingAnswers, plain).probability(codes)

    said = probability

    def confidence(self, codes: Codes) -> Floats:
        """Codes (p, n) -> (n,): the probability of the label, discounted where rows are strangers."""
        novelty = self.novelty(codes)
        sure = super().confidence(codes)
        if novelty is None:
            return sure
        trusted = trust(novelty, self.level)
        return np.where(trusted >= 1, sure, trusted * sure + (1 - trusted) / len(self.classes))

    def novelty(self, codes: Codes) -> NoveltyOf | None:
        """Codes that were read last (p, n) -> how unusual the rows are; None if opinions are not discounted."""
        known = self._read is not None and self._read[0] is codes and has_novelty(self.fitted)
        if self.level is None or not known:
            return None
        assert self._read is not None
        return novelty_of(self, self._read[1])


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
    if (trusted >= 1).all():
        return opinion
    share = trusted[:, None]
    weak = opinion_from_bounds(
        share * opinion.probability + (1 - share) / opinion.n_classes,
        share * opinion.lower,
        1 - share * (1 - opinion.upper),
        opinion.conflict,
        score=None if opinion.score is None else opinion.score * (trusted if opinion.score.ndim == 1 else share),
        chosen=None if opinion.chosen is None else opinion.chosen | (share < 0.5),
    )
    weak = replace(weak, groups=opinion.groups)
    whole = trusted >= 1  # opinions that are trusted keep their bits
    for name, kept in vars(opinion).items():
        if kept is not None:
            getattr(weak, name)[whole] = kept[whole]
    return weak
