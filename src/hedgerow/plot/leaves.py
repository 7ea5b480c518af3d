"""Plots of leaf evidence."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

import numpy as np
from numpy.typing import ArrayLike

from hedgerow.belief.leaf import bounds_with_gaps, class_shares
from hedgerow.export.svg import colour_of
from hedgerow.inference.predictor import predictor_of
from hedgerow.plot.canvas import INK, SOFT, Classifier, Display, Floats, calm, class_legend, class_names, percent_axis

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class LeafEvidenceDisplay(Display):
    """Evidence of leaves: those that one row reaches in all trees, or a single leaf.

    With several leaves, each is a line, sorted by share: the interval of one class, and a dot at its share. The size of
    the dot shows the number of rows in the leaf, its colour the most frequent class. With one leaf, each class is a
    line.

    Parameters
    ----------
    counts : float64 (T, K)
        Rows per class in each leaf.
    classes : list of str
        Names of the classes.
    caution : float
        Pseudo-count *s* of the imprecise Dirichlet model.
    of : int
        Class whose intervals are plotted.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
        Axes and figure of the plot.

    Examples
    --------
    >>> display = LeafEvidenceDisplay.from_predictions([[4, 0], [10, 40]], classes=["no", "yes"])
    >>> display.classes[display.of]
    'no'
    """

    def __init__(self, counts: Floats, classes: list[str], caution: float, of: int, gaps: Floats | None = None) -> None:
        self.counts, self.classes, self.caution, self.of = counts, classes, caution, of
        none = np.zeros_like(counts)
        below, above = (none, none) if gaps is None else np.hsplit(gaps, 2)
        self.lower, self.upper = bounds_with_gaps(counts, below, above, caution)

    @classmethod
    def from_estimator(cls, forest: Classifier, X: object, *, of: object = None, ax: Axes | None = None) -> Self:
        """Plot the leaves that one row reaches.

        Parameters
        ----------
        forest : fitted classifier of hedgerow
            Its caution is used.
        X : {array-like, sparse matrix, data frame} of shape (1, n_features)
            One row.
        of : class, default=None
            Class whose intervals are plotted; None means the one with the largest mean share.
        ax : matplotlib Axes, default=None
            Axes to draw on; None creates a figure.

        Returns
        -------
        LeafEvidenceDisplay
        """
        evidence = forest.evidence(X)
        if evidence.n_samples != 1:
            raise ValueError(f"X must have one row, got {evidence.n_samples}. Pass X[:1].")
        predictor = predictor_of(forest)
        wide = predictor.forest.widened.counts_reached(evidence.codes)[0]
        held, gaps = wide[:, : len(forest.classes_)], wide[:, len(forest.classes_) :]
        return cls._of_leaves(held, forest.classes_, predictor.caution, of, gaps if gaps.size else None).plot(ax)

    @classmethod
    def from_predictions(
        cls,
        counts: ArrayLike,
        *,
        classes: ArrayLike | None = None,
        caution: float = 1.0,
        of: object = None,
        ax: Axes | None = None,
    ) -> Self:
        """Plot existing counts.

        Parameters
        ----------
        counts : array-like of shape (n_leaves, n_classes)
            Rows per class in each leaf.
        classes : array-like of shape (n_classes,), default=None
            Names of the classes.
        caution : float, default=1.0
            Pseudo-count *s* of the imprecise Dirichlet model.
        of : class, default=None
            Class whose intervals are plotted; None means the one with the largest mean share.
        ax : matplotlib Axes, default=None
            Axes to draw on; None creates a figure.

        Returns
        -------
        LeafEvidenceDisplay
        """
        return cls._of_leaves(counts, classes, caution, of).plot(ax)

    @classmethod
    def _of_leaves(
        cls, counts: ArrayLike, classes: ArrayLike | None, caution: float, of: object, gaps: Floats | None = None
    ) -> Self:
        """Return the display, unplotted, of counts with the gaps of uncertain labels."""
        table = np.asarray(counts, dtype=np.float64)
        if table.ndim != 2 or not table.size or (table < 0).any():
            raise ValueError(f"counts must be non-negative and of shape (leaves, classes), got shape {table.shape}.")
        names = class_names(classes, table.shape[1])
        given = list(range(table.shape[1])) if classes is None else np.asarray(classes).tolist()
        if of is not None and of not in given:
            raise ValueError(f"of must be one of the classes {given[:8]}, got {of!r}.")
        which = int(class_shares(table).mean(axis=0).argmax()) if of is None else given.index(of)
        return cls(table, names, float(caution), which, gaps)

    def _size(self) -> tuple[float, float]:
        return 6.4, 1.2 + 0.34 * len(self.classes) if len(self.counts) == 1 else 4.6

    def _draw(self, ax: Axes) -> None:
        (self._one_leaf if len(self.counts) == 1 else self._many_leaves)(ax)
        ax.set_xlim(-0.02, 1.02)
        percent_axis(ax.xaxis)
        calm(ax, grid="x")
        ax.spines["left"].set_visible(False)

    def _one_leaf(self, ax: Axes) -> None:
        """Draw a line per class, with its number of rows."""
        lower, upper = self.lower, self.upper
        for k, count in enumerate(self.counts[0]):
            ax.plot([lower[0, k], upper[0, k]], [k, k], color=colour_of(k), linewidth=9, solid_capstyle="butt")
            ax.plot(class_shares(self.counts)[0, k], k, "|", color=INK, markersize=13)
            ax.text(1.04, k, f"{count:g} row" + ("" if count == 1 else "s"), va="center", color=SOFT, clip_on=False)
        ax.set_yticks(range(len(self.classes)), self.classes)
        ax.set_ylim(len(self.classes) - 0.5, -0.5)
        ax.tick_params(axis="y", length=0)
        ax.set_xlabel(f"probability, at caution {self.caution:g}")

    def _many_leaves(self, ax: Axes) -> None:
        """Draw a line per leaf, sorted by share."""
        lower, upper = self.lower, self.upper
        share, size = class_shares(self.counts)[:, self.of], self.counts.sum(axis=1)
        order = np.lexsort((size, share))
        colours = [colour_of(int(k)) for k in self.counts.argmax(axis=1)[order]]
        y = np.arange(len(order))
        ax.hlines(y, lower[order, self.of], upper[order, self.of], colors=colours, linewidth=1.6, alpha=0.65)
        ax.scatter(
            share[order], y, s=6 + 12 * np.sqrt(size[order]), c=colours, edgecolors="white", linewidths=0.5, zorder=3
        )
        mean_low, mean_high = lower[:, self.of].mean(), upper[:, self.of].mean()
        ax.axvspan(mean_low, mean_high, color=SOFT, alpha=0.14, linewidth=0, zorder=0)
        ax.set_yticks([])
        ax.set_ylim(-1, len(order))
        ax.set_ylabel(f"{len(order)} trees, sorted")
        ax.set_xlabel(f"probability of {self.classes[self.of]}, at caution {self.caution:g} (grey: mean interval)")
        class_legend(ax, self.classes, loc="lower left", bbox_to_anchor=(0, 1), ncols=4, borderaxespad=0.2)
