"""Sentences about a table that make its predictions or metrics questionable."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hedgerow.inference.batch import Batch
from hedgerow.inference.fitted import Fitted
from hedgerow.inference.leakage import TrainingOverlap, training_overlap
from hedgerow.util.text import number_of

#: Values outside the training range are reported from this number and this share of a column on.
FEW_OUTSIDE, SHARE_OUTSIDE = 5, 0.2
#: Novel rows are those with at most this p-value, reported from this number and this share of the rows on.
NOVEL, FEW_NOVEL, SHARE_NOVEL = 0.01, 5, 0.2
#: From this share on, all rows are training rows.
ALMOST_ALL = 0.99


def notices_about(fitted: Fitted, batch: Batch, *, has_truth: bool) -> list[str]:
    """Return the notices about a batch with its table; those about metrics if it has true targets."""
    overlap = training_overlap(fitted, [batch.codes]) if has_truth else None
    novelty = batch.novelty
    found = [
        None if overlap is None else overlap_notice(overlap),
        *(range_notice(name, values, fitted, j) for j, name, values in _numeric(fitted, batch)),
        None if novelty is None else novelty_notice(novelty.p_value),
    ]
    return [notice for notice in found if notice is not None]


def overlap_notice(overlap: TrainingOverlap) -> str:
    """Return the notice about rows on which a model was trained."""
    rows = "" if overlap.share > ALMOST_ALL else f"about {overlap.share:.0%} of "
    return f"The model was trained on {rows}these rows, so the metrics are optimistic."


def range_notice(name: str, values: ArrayLike, fitted: Fitted, feature: int) -> str | None:
    """Return a notice if many values (n,) of a numeric feature lie outside the training range."""
    numbers = np.asarray(values, dtype=np.float64)
    numbers = numbers[np.isfinite(numbers)]
    least, most = fitted.codebook.range_of(feature)
    outside = int(((numbers < least) | (numbers > most)).sum())
    if outside < max(FEW_OUTSIDE, SHARE_OUTSIDE * len(numbers)):
        return None
    return (
        f"Column {name!r}: {outside:,} of {number_of(len(numbers), 'value')} lie outside the training range"
        f" ({least:g} to {most:g}). Check its unit and notation."
    )


def novelty_notice(p_value: NDArray[np.float64]) -> str | None:
    """Return a notice if many rows, with these p-values (n,), are novel."""
    n_rows, n_novel = len(p_value), int((p_value <= NOVEL).sum())
    if n_novel < max(FEW_NOVEL, SHARE_NOVEL * n_rows):
        return None
    return (
        f"{n_novel:,} of {number_of(n_rows, 'row')} are novel (p ≤ {NOVEL:g}), unlike the training rows."
        " Predictions for them are unreliable."
    )


def share_explained(codes: NDArray[np.integer[Any]], y: NDArray[Any], *, nominal: bool, has_classes: bool) -> float:
    """Return the share of the error (classes) or variance of y (n,) that one column, as bin indices (n,), explains.

    Bins predict their most frequent class, or their mean. Each change from one bin to the next counts as an error, and
    half the squared difference between neighbouring rows as variance, so that a column with a value for every row
    explains nothing unless y changes little along it.
    """
    bins = np.unique(codes, return_inverse=True)[1]
    if has_classes:
        counts = np.zeros((bins.max() + 1, int(y.max()) + 1), dtype=np.int64)
        np.add.at(counts, (bins, y), 1)
        base = len(y) - int(counts.sum(axis=0).max())
        best = counts.argmax(axis=1)
        changes = len(counts) - 1 if nominal else int((best[1:] != best[:-1]).sum())
        error = len(y) - int(counts.max(axis=1).sum()) + max(0, changes - (counts.shape[1] - 1))
        return 1 - error / base if base else 0.0
    y = y / (np.abs(y).max(initial=0.0) or 1.0)  # squares of large targets overflow
    total = float(np.var(y)) * len(y)
    if total == 0:
        return 0.0
    means = np.bincount(bins, y) / np.bincount(bins)
    within, free = float(((y - means[bins]) ** 2).sum()), len(y) - len(means)
    if nominal:
        return 1 - (within / free) / (total / (len(y) - 1)) if free else 0.0
    return 1 - (within + 0.5 * float((np.diff(means) ** 2).sum())) / total


def _numeric(fitted: Fitted, batch: Batch) -> Iterable[tuple[int, str, ArrayLike]]:
    """Return number, name and values (n,) of the numeric features."""
    names = fitted.codebook.names
    for feature, (known, values) in enumerate(zip(fitted.schema.categories, batch.columns, strict=False)):
        if known is None:
            yield feature, names[feature], values
