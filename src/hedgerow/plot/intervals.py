"""Plots of lower and upper probabilities."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hedgerow.export.svg import colour_of
from hedgerow.inference.predictor import predictor_of
from hedgerow.plot.canvas import (
    INK,
    TRACK,
    Classifier,
    Display,
    Floats,
    calm,
    class_legend,
    class_names,
    cut,
    patches,
    percent_axis,
)
from hedgerow.table.frames import index_names

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Bools = NDArray[np.bool_]

#: Gap between rows, in heights of a bar.
GAP = 0.9


class IntervalDisplay(Display):
    """Bar from lower to upper probability for each class.

    Classes outside the prediction set are pale; a tick is the probability.

    Parameters
    ----------
    lower, upper : float64 (n, K)
        Lower and upper probabilities of n rows.
    probability : float64 (n, K), default=None
        Probabilities, drawn as ticks.
    chosen : bool (n, K), default=None
        Prediction sets.
    classes : list of str, default=None
        Names of the classes.
    names : list of str, default=None
        Names of the rows.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
        Axes and figure of the plot.

    Examples
    --------
    >>> display = IntervalDisplay.from_predictions([[0.2, 0.5]], [[0.5, 0.8]], classes=["no", "yes"])
    >>> display.ax_.get_xlabel()
    'probability'
    """

    def __init__(
        self,
        lower: Floats,
        upper: Floats,
        probability: Floats | None,
        chosen: Bools | None,
        classes: list[str],
        names: list[str],
    ) -> None:
        self.lower, self.upper, self.probability, self.chosen = lower, upper, probability, chosen
        self.classes, self.names = classes, names

    @classmethod
    def from_estimator(
        cls, forest: Classifier, X: object, *, names: Sequence[object] | None = None, ax: Axes | None = None
    ) -> Self:
        """Plot intervals and prediction sets of a forest.

        Parameters
        ----------
        forest : fitted classifier of hedgerow
            Its rule, caution and decision are used.
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
            A few rows.
        names : array-like of shape (n_samples,), default=None
            Names of the rows; None uses the index of a pandas frame, or their numbers.
        ax : matplotlib Axes, default=None
            Axes to draw on; None creates a figure.

        Returns
        -------
        IntervalDisplay
        """
        predictor = predictor_of(forest)
        opinion = predictor.opinion(predictor.read(X))
        return cls.from_predictions(
            opinion.lower,
            opinion.upper,
            opinion.probability,
            chosen=predictor.class_sets(opinion),
            classes=forest.classes_,
            names=index_names(X) if names is None else names,
            ax=ax,
        )

    @classmethod
    def from_predictions(
        cls,
        lower: ArrayLike,
        upper: ArrayLike,
        probability: ArrayLike | None = None,
        *,
        chosen: ArrayLike | None = None,
        classes: ArrayLike | None = None,
        names: Sequence[object] | None = None,
        ax: Axes | None = None,
    ) -> Self:
        """Plot existing intervals.

        Parameters
        ----------
        lower, upper : array-like of shape (n_samples, n_classes)
            Lower and upper probabilities.
        probability, chosen : array-like of shape (n_samples, n_classes), default=None
            Probabilities and prediction sets.
        classes : array-like of shape (n_classes,), default=None
            Names of the classes.
        names : array-like of shape (n_samples,), default=None
            Names of the rows; None uses their numbers.
        ax : matplotlib Axes, default=None
            Axes to draw on; None creates a figure.

        Returns
        -------
        IntervalDisplay
        """
        low, high = np.asarray(lower, dtype=np.float64), np.asarray(upper, dtype=np.float64)
        if low.ndim != 2 or low.shape != high.shape:
            raise ValueError(f"lower and upper must have the same shape (n, K), got {low.shape} and {high.shape}.")
        called = [f"row {row}" for row in range(len(low))] if names is None else [cut(name) for name in names]
        middle = None if probability is None else np.asarray(probability, dtype=np.float64)
        remains = None if chosen is None else np.asarray(chosen, dtype=bool)
        return cls(low, high, middle, remains, class_names(classes, low.shape[1]), called).plot(ax)

    def _size(self) -> tuple[float, float]:
        return 7.0, 0.9 + 0.24 * (self.lower.shape[1] + GAP) * len(self.lower)

    def _draw(self, ax: Axes) -> None:
        n_rows, n_classes = self.lower.shape
        step = n_classes + GAP
        for row in range(n_rows):
            for k in range(n_classes):
                self._bar(ax, row, k, row * step + k)
        if self.probability is not None:
            y = (np.arange(n_rows)[:, None] * step + np.arange(n_classes)).ravel()
            ax.vlines(self.probability.ravel(), y - 0.45, y + 0.45, color=INK, linewidth=1.2, zorder=3)
        ax.set_yticks([row * step + (n_classes - 1) / 2 for row in range(n_rows)], self.names)
        ax.set_ylim(n_rows * step - 1.0, -0.9)
        ax.set_xlim(0, 1)
        ax.set_xlabel("probability")
        percent_axis(ax.xaxis)
        calm(ax, grid="x")
        ax.spines["left"].set_visible(False)
        ax.tick_params(axis="y", length=0)
        class_legend(ax, self.classes, loc="lower left", bbox_to_anchor=(0, 1), ncols=min(n_classes, 4))

    def _bar(self, ax: Axes, row: int, k: int, y: float) -> None:
        """Draw the interval of a class, six times as fast as `barh`."""
        kept = self.chosen is None or bool(self.chosen[row, k])
        low, high = self.lower[row, k], self.upper[row, k]
        ax.add_artist(patches().Rectangle((0, y - 0.15), 1, 0.3, facecolor=TRACK, zorder=1))
        size = (max(high - low, 0.004), 0.72)
        alpha = 1 if kept else 0.3
        ax.add_artist(patches().Rectangle((low, y - 0.36), *size, facecolor=colour_of(k), alpha=alpha, zorder=2))
