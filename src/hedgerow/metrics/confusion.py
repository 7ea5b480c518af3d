"""Confusion matrices with prediction sets, and binary metrics with confidence intervals."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.stats import norm, rankdata

from hedgerow.decisions.base import columns_from_labels
from hedgerow.metrics.sets import checked_sets, checked_weight

Floats = NDArray[np.float64]
Array = NDArray[Any]


@dataclass(frozen=True, eq=False)
class SetConfusion:
    """Confusion matrix whose columns are prediction sets.

    Attributes
    ----------
    counts : array (K, C)
        Rows, or their weight, of each true class with each set.
    classes : tuple of K labels
        True class of each row.
    sets : tuple of C tuples of labels
        Set of each column: the K single classes, then the larger sets that occur, by size.
    """

    counts: Array
    classes: tuple[Any, ...]
    sets: tuple[tuple[Any, ...], ...]

    @property
    def column_labels(self) -> tuple[str, ...]:
        """Text of each column: ``a`` for a single class, ``{a, b}`` for a set."""
        return tuple(_set_label(members) for members in self.sets)

    def __str__(self) -> str:
        head = ["true \\ chosen", *self.column_labels]
        body = [
            [str(label), *(f"{count:g}" for count in row)]
            for label, row in zip(self.classes, self.counts.tolist(), strict=True)
        ]
        widths = [max(len(line[column]) for line in [head, *body]) for column in range(len(head))]
        return "\n".join(_aligned(line, widths) for line in [head, *body])

    __repr__ = __str__

    def to_frame(self) -> Any:
        """Return a pandas DataFrame with true classes as index and sets as columns."""
        try:
            pandas = import_module("pandas")
        except ImportError as error:
            raise ImportError("to_frame requires pandas. Install it with pip install pandas, or use counts.") from error
        index = pandas.Index(self.classes, name="true")
        return pandas.DataFrame(self.counts, index=index, columns=pandas.Index(self.column_labels, name="chosen"))


def confusion_matrix_with_sets(
    y: ArrayLike,
    sets: ArrayLike,
    *,
    classes: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
) -> SetConfusion:
    """Count each true class with each prediction set.

    Parameters
    ----------
    y : array-like (n,)
        True classes.
    sets : bool array-like (n, K)
        Prediction sets, at least one class per row.
    classes : array-like (K,) or None
        Class of each column of ``sets``. None: the sorted distinct labels of ``y``.
    sample_weight : array-like (n,) or None
        Weight of each row; without weights the counts are integers.

    Returns
    -------
    SetConfusion
        Rows are true classes; columns are the single classes, then the larger sets that occur.

    Examples
    --------
    >>> sets = [[True, False], [True, True], [False, True], [True, False]]
    >>> confusion_matrix_with_sets(["cat", "dog", "dog", "dog"], sets)
    true \\ chosen  cat  dog  {cat, dog}
    cat              1    0           0
    dog              1    1           1
    """
    chosen = checked_sets(sets)
    n_classes = chosen.shape[1]
    columns, labels = columns_from_labels(y, n_classes, classes)
    if len(columns) != len(chosen):
        raise ValueError(f"y must have one label for each of the {len(chosen)} rows of sets, got {len(columns)}.")
    patterns, column = _patterns(chosen)
    cell = columns * len(patterns) + column
    weight = None if sample_weight is None else checked_weight(sample_weight, len(chosen))
    counts = np.bincount(cell, weight, minlength=n_classes * len(patterns)).reshape(n_classes, -1)
    names = labels.tolist()
    members = tuple(tuple(names[position] for position in np.nonzero(row)[0]) for row in patterns)
    return SetConfusion(counts, tuple(names), members)


def _patterns(chosen: NDArray[np.bool_]) -> tuple[NDArray[np.bool_], NDArray[np.intp]]:
    """Return the columns of the matrix (C, K), and the column of each row (n,)."""
    n_classes = chosen.shape[1]
    found, group = np.unique(np.vstack([np.eye(n_classes, dtype=bool), chosen]), axis=0, return_inverse=True)
    # Sort by size, then alphabetically by class: {a, b}, {a, c}, {b, c}, {a, b, c}.
    order = np.lexsort((*(~found).T[::-1], found.sum(axis=1)))
    place = np.empty_like(order)
    place[order] = np.arange(len(order))
    return found[order], place[group.reshape(-1)[n_classes:]]


def _set_label(members: tuple[Any, ...]) -> str:
    """Return the text of a column."""
    return str(members[0]) if len(members) == 1 else "{" + ", ".join(map(str, members)) + "}"


def _aligned(line: list[str], widths: list[int]) -> str:
    """Join cells to a line, the first cell left-aligned and the others right-aligned."""
    first = line[0].ljust(widths[0])
    return "  ".join([first, *(cell.rjust(width) for cell, width in zip(line[1:], widths[1:], strict=True))])


# ---- Binary metrics with confidence intervals ------------------------------------------------------------------------


class Estimate(NamedTuple):
    """A share or an area with its 95% interval; None without rows."""

    value: float | None
    lower: float | None = None
    upper: float | None = None


def share_of(right: int, rows: int, confidence: float = 0.95) -> Estimate:
    """Return the share of correct rows, with Wilson's interval.

    Examples
    --------
    >>> [round(each, 3) for each in share_of(9, 10)]
    [0.9, 0.596, 0.982]
    """
    if rows == 0:
        return Estimate(None)
    z = float(norm.ppf((1 + confidence) / 2))
    share, bend = right / rows, z * z / rows
    centre = (share + bend / 2) / (1 + bend)
    half = z * np.sqrt(share * (1 - share) / rows + bend / (4 * rows)) / (1 + bend)
    return Estimate(share, max(0.0, float(centre - half)), min(1.0, float(centre + half)))


def rates(truth: ArrayLike, predicted: ArrayLike) -> dict[str, Estimate]:
    """Return sensitivity, specificity and predictive values of positive rows (n,)."""
    is_positive, called = np.asarray(truth, dtype=bool), np.asarray(predicted, dtype=bool)
    both, neither = int((is_positive & called).sum()), int((~is_positive & ~called).sum())
    return {
        "sensitivity": share_of(both, int(is_positive.sum())),
        "specificity": share_of(neither, int((~is_positive).sum())),
        "positive_predictive_value": share_of(both, int(called.sum())),
        "negative_predictive_value": share_of(neither, int((~called).sum())),
    }


def auc(truth: ArrayLike, score: ArrayLike, confidence: float = 0.95) -> Estimate:
    """Return the area under the ROC curve, with DeLong's interval.

    The area is the probability that a positive row has a higher score than a negative one; a tie counts half.

    References
    ----------
    E. DeLong, D. DeLong, D. Clarke-Pearson: Comparing the areas under two or more correlated receiver operating
    characteristic curves: a nonparametric approach. Biometrics 44 (1988).

    Examples
    --------
    >>> auc([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8]).value
    0.75
    """
    is_positive, scores = np.asarray(truth, dtype=bool), np.asarray(score, dtype=np.float64)
    positive, negative = scores[is_positive], scores[~is_positive]
    n_positive, n_negative = len(positive), len(negative)
    if not n_positive or not n_negative:
        return Estimate(None)
    ranks = rankdata(np.concatenate([positive, negative]))
    above = (ranks[:n_positive] - rankdata(positive)) / n_negative  # share of negatives below each positive row
    below = 1 - (ranks[n_positive:] - rankdata(negative)) / n_positive
    area = float(above.mean())
    if n_positive < 2 or n_negative < 2:
        return Estimate(area)
    spread = np.sqrt(above.var(ddof=1) / n_positive + below.var(ddof=1) / n_negative)
    half = float(norm.ppf((1 + confidence) / 2) * spread)
    return Estimate(area, max(0.0, area - half), min(1.0, area + half))
