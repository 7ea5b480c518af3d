"""Ternary plots of credal sets."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Self

import numpy as np
from numpy.typing import ArrayLike

from hedgerow.decisions import reachable
from hedgerow.export.svg import colour_of
from hedgerow.inference.predictor import predictor_of
from hedgerow.plot.canvas import INK, LINE, SOFT, Classifier, Display, Floats, class_legend, class_names

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Corners of the triangle, one per class.
CORNERS = np.array([[0.0, 0.0], [1.0, 0.0], [0.5, np.sqrt(0.75)]])


class TernaryDisplay(Display):
    """Credal sets of three classes, in a triangle of distributions.

    The closer a point is to a corner, the more probable is the class of this corner. Dashed lines divide the triangle
    into regions where each class is the most probable. A credal set within one region is decided.

    Parameters
    ----------
    lower, upper : float64 (n, 3)
        Lower and upper probabilities of n rows.
    probability : float64 (n, 3), default=None
        Probabilities, drawn as dots.
    classes : list of str
        Names of the classes.

    Attributes
    ----------
    polygons_ : list of float64 (m, 3)
        Corners of each credal set, in order.
    ax_, figure_ : matplotlib Axes and Figure
        Axes and figure of the plot.

    Examples
    --------
    >>> display = TernaryDisplay.from_predictions([[0.2, 0.3, 0.1]], [[0.6, 0.7, 0.5]])
    >>> display.polygons_[0].shape
    (3, 3)
    """

    def __init__(self, lower: Floats, upper: Floats, probability: Floats | None, classes: list[str]) -> None:
        self.lower, self.upper, self.probability, self.classes = lower, upper, probability, classes
        self.polygons_ = [credal_polygon(low, high) for low, high in zip(lower, upper, strict=True)]

    @classmethod
    def from_estimator(cls, forest: Classifier, X: object, *, ax: Axes | None = None) -> Self:
        """Plot credal sets of a forest of three classes.

        Parameters
        ----------
        forest : fitted classifier of hedgerow
            Its rule and caution are used.
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
            Rows to plot.
        ax : matplotlib Axes, default=None
            Axes to draw on; None creates a figure.

        Returns
        -------
        TernaryDisplay
        """
        predictor = predictor_of(forest)
        opinion = predictor.opinion(predictor.read(X))
        return cls.from_predictions(opinion.lower, opinion.upper, opinion.probability, classes=forest.classes_, ax=ax)

    @classmethod
    def from_predictions(
        cls,
        lower: ArrayLike,
        upper: ArrayLike,
        probability: ArrayLike | None = None,
        *,
        classes: ArrayLike | None = None,
        ax: Axes | None = None,
    ) -> Self:
        """Plot existing lower and upper probabilities.

        Parameters
        ----------
        lower, upper : array-like of shape (n_samples, 3)
            Lower and upper probabilities.
        probability : array-like of shape (n_samples, 3), default=None
            Probabilities, drawn as dots.
        classes : array-like of shape (3,), default=None
            Names of the classes.
        ax : matplotlib Axes, default=None
            Axes to draw on; None creates a figure.

        Returns
        -------
        TernaryDisplay
        """
        low, high = reachable(lower, upper)
        if low.ndim != 2 or low.shape[1] != 3:
            raise ValueError(f"lower and upper must have three classes, got shape {low.shape}. Use IntervalDisplay.")
        middle = None if probability is None else np.asarray(probability, dtype=np.float64)
        return cls(low, high, middle, class_names(classes, 3)).plot(ax)

    def _size(self) -> tuple[float, float]:
        return 6.0, 5.6

    def _draw(self, ax: Axes) -> None:
        self._triangle(ax)
        middles = (self.lower + self.upper) / 2 if self.probability is None else self.probability
        for polygon, middle in zip(self.polygons_, middles, strict=True):
            colour = colour_of(int(middle.argmax()))
            ax.fill(*(polygon @ CORNERS).T, facecolor=colour, alpha=0.25, edgecolor="none", zorder=2)
            ax.fill(*(polygon @ CORNERS).T, facecolor="none", edgecolor=colour, linewidth=1.0, zorder=3)
            if self.probability is not None:
                ax.plot(*(middle @ CORNERS), "o", color=colour, markersize=3.5, zorder=4)
        class_legend(ax, self.classes, loc="upper left", title="most probable", alignment="left")
        ax.set_aspect("equal")
        ax.set_axis_off()
        ax.set_xlim(-0.12, 1.12)
        ax.set_ylim(-0.12, 1.0)

    def _triangle(self, ax: Axes) -> None:
        """Draw the frame, a grid, the regions of the classes, and names at the corners."""
        # Lines drawn together take a fifth of the time of lines drawn one by one.
        together = import_module("matplotlib.collections").LineCollection
        ends = np.zeros((3, 3, 2, 3))  # share, class, end, coordinate
        for at, share in enumerate((0.25, 0.5, 0.75)):
            for k in range(3):
                ends[at, k, :, k] = share
                ends[at, k, 0, (k + 1) % 3] = ends[at, k, 1, (k + 2) % 3] = 1 - share
        ax.add_collection(
            together(ends.reshape(9, 2, 3) @ CORNERS, colors=LINE, linewidths=0.6, zorder=1), autolim=False
        )
        halves = (0.5 - 0.5 * np.eye(3)) @ CORNERS
        rays = np.stack([np.broadcast_to(CORNERS.mean(axis=0), halves.shape), halves], axis=1)
        dashed = together(rays, colors=SOFT, linewidths=1.0, linestyles=[(0, (4, 3))], zorder=1)
        ax.add_collection(dashed, autolim=False)
        ax.plot(*np.vstack([CORNERS, CORNERS[:1]]).T, color=INK, linewidth=1.1, zorder=5)
        for name, (x, y), place in zip(self.classes, CORNERS, ("top", "top", "bottom"), strict=True):
            ax.text(x, y + (0.03 if place == "bottom" else -0.03), name, ha="center", va=place, color=INK)


def credal_polygon(lower: Floats, upper: Floats) -> Floats:
    """Return the corners (m, 3), in order, of the distributions between bounds (3,).

    Examples
    --------
    >>> credal_polygon(np.array([0.5, 0.2, 0.1]), np.array([0.7, 0.4, 0.3])).round(3).tolist()
    [[0.7, 0.2, 0.1], [0.5, 0.4, 0.1], [0.5, 0.2, 0.3]]
    """
    found = []
    for i, j, k in ((0, 1, 2), (1, 2, 0), (2, 0, 1)):
        for first in (lower[i], upper[i]):
            for second in (lower[j], upper[j]):
                third = 1.0 - first - second
                if lower[k] - 1e-9 <= third <= upper[k] + 1e-9:
                    point = np.zeros(3)
                    point[[i, j, k]] = first, second, third
                    found.append(point)
    points = np.unique(np.round(found, 9), axis=0)[::-1]
    flat = points @ CORNERS
    around = flat - flat.mean(axis=0)
    return np.asarray(points[np.argsort(np.arctan2(around[:, 1], around[:, 0]), kind="stable")])
