"""Proximity maps of rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from hedgerow.export.svg import colour_of
from hedgerow.plot.canvas import INK, SOFT, Classifier, Display, Floats, class_names, lines

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Bools = NDArray[np.bool_]
Ints = NDArray[np.int64]

#: Largest number of rows, which limits the table of pairs.
MOST_ROWS = 5000
#: Markers of the classes, in addition to their colours.
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")


class ProximityMapDisplay(Display):
    """Rows as points, closer if more trees put them into the same leaf.

    This is classical scaling of ``1 - proximity``; the axis label has the share of the squared distances that the map
    keeps. Undecided rows have a ring.

    Parameters
    ----------
    places : float64 (n, 2)
        Coordinates of the rows on the map.
    kept : float
        Share of the squared distances (of their positive part) that the map keeps.
    labels : int64 (n,), default=None
        Label of each row.
    is_open : bool (n,), default=None
        Whether rows are undecided.
    classes : list of str
        Names of the classes.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
        Axes and figure of the plot.

    Examples
    --------
    >>> display = ProximityMapDisplay.from_predictions([[1, 0.9, 0], [0.9, 1, 0], [0, 0, 1]])
    >>> left = display.places
    >>> bool(np.linalg.norm(left[0] - left[1]) < np.linalg.norm(left[0] - left[2]))
    True
    """

    def __init__(
        self, places: Floats, kept: float, labels: Ints | None, is_open: Bools | None, classes: list[str]
    ) -> None:
        self.places, self.kept, self.labels, self.is_open, self.classes = places, kept, labels, is_open, classes

    @classmethod
    def from_estimator(
        cls, forest: Classifier, X: object, y: ArrayLike | None = None, *, ax: Axes | None = None
    ) -> Self:
        """Plot rows by the leaves of a forest.

        Parameters
        ----------
        forest : fitted classifier of hedgerow
            Its trees are used.
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
            At most 5,000 rows.
        y : array-like of shape (n_samples,), default=None
            Their classes, for the colours; None uses the predicted classes.
        ax : matplotlib Axes, default=None
            Axes to draw on; None creates a figure.

        Returns
        -------
        ProximityMapDisplay
        """
        labels, sets = forest.predict(X, return_set=True)
        if len(labels) > MOST_ROWS:
            raise ValueError(f"X must have at most {MOST_ROWS:,} rows, got {len(labels):,}. Take a sample.")
        return cls.from_predictions(
            forest.proximity(X),
            labels if y is None else y,
            is_open=sets.sum(axis=1) > 1,
            classes=forest.classes_,
            ax=ax,
        )

    @classmethod
    def from_predictions(
        cls,
        proximity: ArrayLike | sparse.sparray,
        y: ArrayLike | None = None,
        *,
        is_open: ArrayLike | None = None,
        classes: ArrayLike | None = None,
        ax: Axes | None = None,
    ) -> Self:
        """Plot existing proximities.

        Parameters
        ----------
        proximity : array-like or sparse of shape (n_samples, n_samples)
            Symmetric proximities between 0 and 1, with 1 on the diagonal.
        y : array-like of shape (n_samples,), default=None
            Classes, for the colours.
        is_open : array-like of shape (n_samples,), default=None
            Whether rows are undecided.
        classes : array-like of shape (n_classes,), default=None
            Classes in order; None uses those in y.
        ax : matplotlib Axes, default=None
            Axes to draw on; None creates a figure.

        Returns
        -------
        ProximityMapDisplay
        """
        table = np.asarray(
            proximity.toarray() if isinstance(proximity, sparse.sparray | sparse.spmatrix) else proximity, np.float64
        )
        if table.ndim != 2 or table.shape[0] != table.shape[1] or not 2 <= len(table) <= MOST_ROWS:
            raise ValueError(
                f"proximity must be a square table of 2 to {MOST_ROWS:,} rows, got shape {table.shape}. Take a sample."
            )
        places, kept = classical_scaling(1.0 - table)
        labels, names = (None, []) if y is None else _labels(y, classes)
        return cls(places, kept, labels, None if is_open is None else np.asarray(is_open, dtype=bool), names).plot(ax)

    def _size(self) -> tuple[float, float]:
        return 6.4, 5.4

    def _draw(self, ax: Axes) -> None:
        if self.labels is None:
            ax.scatter(self.places[:, 0], self.places[:, 1], s=22, c=SOFT, alpha=0.7, linewidths=0)
        for k in np.unique(self.labels if self.labels is not None else []).astype(int).tolist():
            here = self.places[self.labels == k]
            ax.scatter(
                here[:, 0], here[:, 1], s=22, c=colour_of(k), marker=MARKERS[k % len(MARKERS)], alpha=0.7, linewidths=0
            )
        if self.is_open is not None and self.is_open.any():
            ring = self.places[self.is_open]
            ax.scatter(
                ring[:, 0], ring[:, 1], s=70, facecolors="none", edgecolors=INK, linewidths=1.1, label="undecided"
            )
        ax.set_xticks([])
        ax.set_yticks([])
        ax.set_aspect("equal", adjustable="datalim")
        for spine in ax.spines.values():
            spine.set_color("#dcdcd2")
        ax.set_xlabel(f"two axes keep {self.kept:.0%} of the squared distances", color=SOFT)
        self._legend(ax)

    def _legend(self, ax: Axes) -> None:
        """Add a legend with the colours and shapes of the classes, and the ring."""
        if len(self.classes) > 12:
            return
        marks = [
            lines().Line2D([], [], linestyle="", marker=MARKERS[k % len(MARKERS)], color=colour_of(k), label=name)
            for k, name in enumerate(self.classes)
        ]
        if self.is_open is not None and self.is_open.any():
            ring = {"markerfacecolor": "none", "markeredgecolor": INK, "markersize": 9}
            marks.append(lines().Line2D([], [], linestyle="", marker="o", label="undecided", **ring))
        if marks:
            ax.legend(handles=marks, frameon=False, loc="lower left", bbox_to_anchor=(0, 1), ncols=4, borderaxespad=0.2)


def _labels(y: ArrayLike, classes: ArrayLike | None) -> tuple[Ints, list[str]]:
    """Return labels (n,) and names of the classes."""
    labels = np.asarray(y).tolist()
    known = np.unique(np.asarray(y)) if classes is None else np.asarray(classes)
    place = {label: number for number, label in enumerate(known.tolist())}
    absent = [label for label in labels if label not in place]
    if absent:
        raise ValueError(f"y must have labels among the classes {known.tolist()[:8]}, got {absent[0]!r}.")
    return np.array([place[label] for label in labels]), class_names(known, len(known))


def classical_scaling(distance: Floats) -> tuple[Floats, float]:
    """Return places (n, 2) of squared distances (n, n), and the share that they keep."""
    centred = distance - distance.mean(axis=0) - distance.mean(axis=1)[:, None] + distance.mean()
    values, vectors = np.linalg.eigh(-0.5 * centred)
    top = np.maximum(values[::-1][:2], 0.0)
    axes = vectors[:, ::-1][:, :2]
    signs = np.where(axes[np.abs(axes).argmax(axis=0), [0, 1]] < 0, -1.0, 1.0)  # a fixed orientation
    whole = np.maximum(values, 0.0).sum()
    return np.asarray(axes * signs * np.sqrt(top)), float(top.sum() / whole) if whole > 0 else 0.0
