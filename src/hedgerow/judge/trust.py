"""Trust: opinions of leaves, and what is unknown or unusual about their rows -> opinions that are open where needed.

Two things keep a forest from knowing. A *value* may be unknown: no training row had anything like it. Then the opinion
is widened until it holds for every value that is known (`hedgerow.judge.unknown`). And a *row* may be unlike the
training rows, so that its leaves know nothing of it. Below the level that the parameter `novelty` sets, its opinion is
discounted in Shafer's sense: with trust r, lower bounds become r · lower, upper bounds 1 − r · (1 − upper), and the
probability moves towards the same for all classes, which keeps the order of the classes.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow.belief.opinion import Opinion, opinion_from_bounds
from hedgerow.forest.blocks import with_rows
from hedgerow.judge.answer import ClassificationPredictor
from hedgerow.judge.batch import Batch
from hedgerow.judge.fitted import Fitted
from hedgerow.judge.novelty import PredictionNovelty
from hedgerow.judge.unknown import UnseenValues, opened
from hedgerow.judge.worlds import Completions, opinion_over_completions, values_over_completions
from hedgerow.table.bins import Codes

Floats = NDArray[np.float64]


class DiscountingPredictor(ClassificationPredictor):
    """The answers of a classifier whose opinions are open where it cannot know."""

    takes_uncertain = True

    def __init__(self, model: Any, fitted: Fitted | None = None) -> None:
        super().__init__(model, fitted)
        self.level = model.novelty

    @property
    def discounts(self) -> bool:  # type: ignore[override]
        """Whether opinions are discounted where rows are strangers."""
        return self.level is not None

    def doubted(self, batch: Batch) -> NDArray[np.bool_] | None:
        """(n,): the rows whose opinions are not those of the leaves; None if no row can be such a one."""
        unseen, novelty = batch.unseen, self.novelty(batch)
        if unseen is None and novelty is None:
            return None
        found = np.zeros(len(batch), dtype=bool) if novelty is None else trust(novelty, self.level) < 1
        if unseen is not None:
            found[unseen.rows] = True
        return found

    def novelty(self, batch: Batch) -> PredictionNovelty | None:
        """How unusual rows are, if opinions are discounted for it."""
        return None if self.level is None else batch.novelty

    def opinion(self, batch: Batch) -> Opinion:
        """The opinion of the forest, open where values are unknown or rows are strangers."""
        said = super().opinion(batch)
        if not batch.uncertain:
            return said
        if self.level is not None:
            raise ValueError(f"novelty must be None for uncertain cells, got {self.level!r}; set it to None")

        def ask(worlds: Completions) -> Opinion:
            return self._opened(self.combined(worlds.codes), worlds.codes, worlds.unknown(batch.unseen))

        return opinion_over_completions(said, self.fitted, batch, ask)

    def probability(self, batch: Batch) -> Floats:
        """(n, K): probabilities; of rows with uncertain cells the mean over what these may be."""
        said = self.plain_probability(batch.codes)
        if not batch.uncertain:
            return said
        mean_of = self.plain_probability
        return values_over_completions(said, self.fitted, batch, lambda worlds: worlds.mean(mean_of(worlds.codes)))

    said = probability  # the predicted probabilities

    def trusted(self, opinion: Opinion, batch: Batch) -> Opinion:
        """What leaves say about a batch -> what is left of it, given its unseen values and its novelty."""
        opinion, novelty = self._opened(opinion, batch.codes, batch.unseen), self.novelty(batch)
        return opinion if novelty is None else discounted(opinion, trust(novelty, self.level))

    def _opened(self, opinion: Opinion, codes: Codes, unseen: UnseenValues | None) -> Opinion:
        """What leaves say about codes (p, n) -> the same, wider where values are unseen."""
        return opinion if unseen is None else opened(opinion, codes, unseen, self.fitted, self.combined)

    def confidence(self, batch: Batch) -> Floats:
        """(n,): the probability of the label, lower where values are unknown or rows are strangers."""
        sure, rows = super().confidence(batch), self.doubted(batch)
        if rows is not None:
            sure[rows] = self.opinion(batch).probability[rows].max(axis=1)
        return sure


def trust(novelty: PredictionNovelty, level: float | None) -> Floats:
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
