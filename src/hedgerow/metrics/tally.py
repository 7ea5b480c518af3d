"""Sums of evaluation results, which can be added over the parts of a table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import reduce
from operator import add
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hedgerow.decisions.base import columns_from_labels
from hedgerow.metrics import sets as of_sets
from hedgerow.metrics.confusion import SetConfusion, confusion_matrix_with_sets


@dataclass(frozen=True, eq=False)
class SetTally:
    """Counts of the combinations of true class, label and prediction set.

    Parameters
    ----------
    classes : (K,) array
        Class of each column of `sets`.
    truth, label : (u,) int
        Columns of the true and of the predicted class, one per combination that occurs.
    sets : (u, K) bool
        Prediction sets.
    rows : (u,) int
        Number of rows with this combination.
    """

    classes: NDArray[np.generic]
    truth: NDArray[np.int64]
    label: NDArray[np.int64]
    sets: NDArray[np.bool_]
    rows: NDArray[np.int64]

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return int(self.rows.sum())

    def __add__(self, other: SetTally) -> SetTally:
        """Return the tally of two parts of a table together."""
        columns = [np.concatenate(pair) for pair in zip(self._columns(), other._columns(), strict=True)]
        return _counted(self.classes, *columns)

    def figures(self) -> dict[str, Any]:
        """Return scores of labels and sets; None, never NaN, for a mean of no rows."""
        y, predicted, weight = self.classes[self.truth], self.classes[self.label], self.rows
        known: dict[str, Any] = {"classes": self.classes, "sample_weight": weight}
        size = self.sets.sum(axis=1)
        return {
            "rows": self.n_rows,
            "indeterminate": int(weight[size > 1].sum()),
            "accuracy": float(np.average(self.truth == self.label, weights=weight)),
            "u65": of_sets.u65(y, self.sets, **known),
            "u80": of_sets.u80(y, self.sets, **known),
            "determinacy": of_sets.determinacy(y, self.sets, **known),
            "single_set_accuracy": of_sets.single_set_accuracy(y, self.sets, **known),
            "abstention_accuracy": of_sets.abstention_accuracy(y, self.sets, predicted, **known),
            "coverage": of_sets.coverage(y, self.sets, **known),
            "mean_set_size": float(np.average(size, weights=weight)),
        }

    def confusion(self) -> SetConfusion:
        """Return the confusion matrix of true classes and sets."""
        y = self.classes[self.truth]
        found = confusion_matrix_with_sets(y, self.sets, classes=self.classes, sample_weight=self.rows)
        return replace(found, counts=found.counts.astype(np.int64))

    def _columns(self) -> tuple[NDArray[np.generic], ...]:
        return self.truth, self.label, self.sets, self.rows


@dataclass(frozen=True)
class RegressionTally:
    """Sums of the errors of a regression, and the number of covered targets.

    Parameters
    ----------
    n_rows : int
        Number of rows.
    mean, spread : float
        Mean of the targets, and sum of their squared distances from it.
    squared, absolute : float
        Sums of squared and of absolute errors.
    inside, width : float or None
        Number of targets within their interval, and sum of the interval widths; None without intervals.
    """

    n_rows: int
    mean: float
    spread: float
    squared: float
    absolute: float
    inside: float | None = None
    width: float | None = None

    def __add__(self, other: RegressionTally) -> RegressionTally:
        """Return the tally of two parts of a table together."""
        n_rows = self.n_rows + other.n_rows
        apart = other.mean - self.mean
        both = self.inside is not None and other.inside is not None
        return RegressionTally(
            n_rows,
            self.mean + apart * (other.n_rows / n_rows),
            self.spread + other.spread + apart**2 * (self.n_rows * (other.n_rows / n_rows)),
            self.squared + other.squared,
            self.absolute + other.absolute,
            (self.inside or 0.0) + (other.inside or 0.0) if both else None,
            (self.width or 0.0) + (other.width or 0.0) if both else None,
        )

    def figures(self) -> dict[str, Any]:
        """Return errors and interval coverage; ``r2`` is None for equal targets."""
        n_rows = self.n_rows
        found: dict[str, Any] = {
            "rows": n_rows,
            "r2": 1 - self.squared / self.spread if self.spread > 0 else None,
            "mean_absolute_error": self.absolute / n_rows,
            "root_mean_squared_error": float(np.sqrt(self.squared / n_rows)),
        }
        if self.inside is not None and self.width is not None:
            found |= {"coverage": self.inside / n_rows, "mean_interval_width": self.width / n_rows}
        return found


def tally_sets(y: ArrayLike, labels: ArrayLike, sets: ArrayLike, *, classes: ArrayLike) -> SetTally:
    """Count the combinations of true class, label and set in (a part of) a table.

    Parameters
    ----------
    y, labels : array-like (n,)
        True and predicted classes.
    sets : bool array-like (n, K)
        Prediction sets, at least one class per row.
    classes : array-like (K,)
        Class of each column of `sets`.

    Returns
    -------
    SetTally
        Tallies of parts add up to that of the whole: ``sum(others, start=first)``.

    Examples
    --------
    >>> sets = [[True, False], [True, True], [True, False]]
    >>> first = tally_sets(["cat", "dog", "cat"], ["cat", "cat", "cat"], sets, classes=["cat", "dog"])
    >>> whole = first + tally_sets(["dog"], ["dog"], [[False, True]], classes=["cat", "dog"])
    >>> whole.figures()["accuracy"], whole.figures()["determinacy"]
    (0.75, 0.75)
    """
    chosen = of_sets.checked_sets(sets)
    truth, names = columns_from_labels(y, chosen.shape[1], classes)
    label, _ = columns_from_labels(labels, chosen.shape[1], classes)
    return _counted(names, truth, label, chosen, np.ones(len(chosen), dtype=np.int64))


def tally_numbers(y: ArrayLike, predicted: ArrayLike, interval: ArrayLike | None = None) -> RegressionTally:
    """Sum the errors of predictions in (a part of) a table.

    Parameters
    ----------
    y, predicted : array-like (n,)
        Targets and predictions.
    interval : array-like (n, 2) or None
        Lower and upper end of the interval of each row, both inclusive.

    Returns
    -------
    RegressionTally

    Examples
    --------
    >>> tally = tally_numbers([1.0, 2.0, 3.0], [1.0, 2.0, 4.0])
    >>> tally.figures()["r2"], tally.figures()["mean_absolute_error"]
    (0.5, 0.3333333333333333)
    """
    truth = np.asarray(y, dtype=np.float64)
    off = np.asarray(predicted, dtype=np.float64) - truth
    mean = float(truth.mean())
    sums = (float(np.sum((truth - mean) ** 2)), float(np.sum(off**2)), float(np.abs(off).sum()))
    if interval is None:
        return RegressionTally(len(truth), mean, *sums)
    lower, upper = np.asarray(interval, dtype=np.float64).T
    inside = float(np.sum((lower <= truth) & (truth <= upper)))
    return RegressionTally(len(truth), mean, *sums, inside, float(np.sum(upper - lower)))


def add_tallies(tallies: Sequence[Any]) -> Any:
    """Add tallies of parts, None for parts without rows; None if no part has rows."""
    present = [tally for tally in tallies if tally is not None]
    return reduce(add, present) if present else None


def _counted(
    classes: NDArray[np.generic],
    truth: NDArray[np.int64],
    label: NDArray[np.int64],
    sets: NDArray[np.bool_],
    rows: NDArray[np.int64],
) -> SetTally:
    """Return the tally of distinct combinations, with the sums of their rows."""
    _, pattern = np.unique(np.packbits(sets, axis=1), axis=0, return_inverse=True)
    n_classes = sets.shape[1]
    key = (pattern.reshape(-1) * n_classes + truth) * n_classes + label
    _, first, which = np.unique(key, return_index=True, return_inverse=True)
    total = np.zeros(len(first), dtype=np.int64)
    np.add.at(total, which.reshape(-1), rows)
    return SetTally(classes, truth[first], label[first], sets[first], total)
