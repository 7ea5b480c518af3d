"""Discounting of opinions about novel rows."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hedgerow.belief.opinion import Opinion, opinion_from_bounds
from hedgerow.inference.novelty import PredictionNovelty
from hedgerow.util.runtime import with_rows

Floats = NDArray[np.float64]


def discount_factor(novelty: PredictionNovelty, level: float | None) -> Floats:
    """Return the factor by which the opinion about each row is discounted, (n,).

    It is the p-value divided by the level, at most 1. A small table has no small p-values, so the factor of rows beyond
    its most unusual row also falls with the square of their distance.
    """
    if level is None:
        return np.ones(len(novelty.p_value))
    return np.minimum(novelty.p_value * novelty.within**2 / level, 1.0)


def discounted(opinion: Opinion, factor: Floats) -> Opinion:
    """Discount the opinions about n samples by a factor each, (n,)."""
    rows = np.flatnonzero(factor < 1)
    if not len(rows):
        return opinion
    of_rows, share = opinion[rows], factor[rows, None]
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
