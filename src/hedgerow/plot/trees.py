"""Plots of trees and of leaf evidence."""

from __future__ import annotations

from functools import lru_cache
from importlib import import_module
from typing import TYPE_CHECKING, Self

import numpy as np
from numpy.typing import ArrayLike

from hedgerow.belief.leaf import bounds_with_gaps, class_shares
from hedgerow.export.describe import answer_words, check_caution, split_of, tree_of
from hedgerow.export.svg import Box, colour_of, lay_out
from hedgerow.forest.walk import Tree
from hedgerow.inference.predictor import predictor_of
from hedgerow.plot.canvas import (
    INK,
    SOFT,
    Classifier,
    Display,
    Floats,
    calm,
    class_legend,
    class_names,
    patches,
    percent_axis,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.textpath import TextPath


#: Font sizes and gaps, in units of the layout; a new figure has 72 of them per inch.
_LETTERS, _SMALL, _PAD, _LINE, _BAR = 12.0, 10.0, 9.0, 17.0, 8.0


class TreeDisplay(Display):
    """Tree with the evidence in its leaves: rows per class as text and as a bar.

    Letters are drawn as shapes, which keeps them inside their boxes in a plot of any size. `hedgerow.export_svg`
    creates the same drawing without matplotlib, for a browser.

    Parameters
    ----------
    tree : Tree
        Tree to plot.
    max_depth : int or None
        Depth at which nodes only show the number of nodes below them.
    decimals : int
        Decimals of thresholds.
    caution : float or None
        If given, leaves show the interval of their most probable class.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
        Axes and figure of the plot.

    Examples
    --------
    >>> from hedgerow import DecisionTreeClassifier
    >>> tree = DecisionTreeClassifier().fit([[1.0], [2.0], [3.0], [4.0]], ["no", "no", "yes", "yes"])
    >>> len(TreeDisplay.from_estimator(tree).boxes_)
    3
    """

    def __init__(self, tree: Tree, max_depth: int | None, decimals: int, caution: float | None) -> None:
        self.tree, self.max_depth, self.decimals, self.caution = tree, max_depth, decimals, caution
        self.boxes_ = lay_out(tree, max_depth=max_depth, decimals=decimals, caution=caution, top=8.0)

    @classmethod
    def from_estimator(
        cls,
        model: Classifier | Tree,
        *,
        number: int = 0,
        max_depth: int | None = 4,
        decimals: int = 2,
        caution: float | None = None,
        ax: Axes | None = None,
    ) -> Self:
        """Plot one tree of a model.

        Parameters
        ----------
        model : fitted tree or forest of hedgerow
            Tree, or forest of which tree `number` is plotted.
        number : int, default=0
            Number of the tree in a forest.
        max_depth : int or None, default=4
            Depth at which nodes only show the number of nodes below them; None plots all nodes.
        decimals : int, default=2
            Decimals of thresholds.
        caution : float, default=None
            If given, leaves show the interval of their most probable class.
        ax : matplotlib Axes, default=None
            Axes to draw on; None creates a figure.

        Returns
        -------
        TreeDisplay
        """
        found = model if isinstance(model, Tree) or hasattr(model, "tree_") else model.trees_[number]
        return cls.from_predictions(found, max_depth=max_depth, decimals=decimals, caution=caution, ax=ax)

    @classmethod
    def from_predictions(
        cls,
        tree: object,
        *,
        max_depth: int | None = 4,
        decimals: int = 2,
        caution: float | None = None,
        ax: Axes | None = None,
    ) -> Self:
        """Plot one tree, such as one of ``forest.trees_``.

        Parameters
        ----------
        tree : Tree
            One of ``forest.trees_``.
        max_depth, decimals, caution, ax
            As in `from_estimator`.

        Returns
        -------
        TreeDisplay
        """
        check_caution(caution)
        return cls(tree_of(tree), max_depth, decimals, caution).plot(ax)

    def _size(self) -> tuple[float, float]:
        right, bottom = self._ends()
        return min(right / 72, 40), min(bottom / 72, 40) + 0.4

    def _draw(self, ax: Axes) -> None:
        # `add_artist` does not update the limits for every letter, unlike `add_patch`: a tenth of the time.
        right, bottom = self._ends()
        self._edges(ax)
        for box in self.boxes_.values():
            self._box(ax, box)
        ax.set_xlim(0, right)
        ax.set_ylim(bottom, 0)
        ax.set_aspect("equal")
        ax.set_axis_off()
        names = class_names(self.tree.classes, len(self.tree.classes))
        class_legend(ax, names, loc="lower left", bbox_to_anchor=(0, 1), ncols=4, borderaxespad=0.1)

    def _ends(self) -> tuple[float, float]:
        """Return the right and bottom ends of the layout."""
        boxes = self.boxes_.values()
        return max(box.x + box.width / 2 for box in boxes) + 8, max(box.y + box.height for box in boxes) + 8

    def _edges(self, ax: Axes) -> None:
        """Draw curves from boxes to their children, thicker for more rows."""
        path, rows = import_module("matplotlib.path").Path, self.tree.rows
        for box in self.boxes_.values():
            if not box.children:
                continue
            for number, answer in zip(box.children, answer_words(split_of(self.tree.at(box.number))), strict=True):
                child = self.boxes_[number]
                start, middle = box.y + box.height, (box.y + box.height + child.y) / 2
                curve = path([(box.x, start), (box.x, middle), (child.x, middle), (child.x, child.y)], [1, 4, 4, 4])
                thick = 0.8 + 3.5 * float(rows[number]) / max(float(rows[0]), 1.0)
                ax.add_artist(patches().PathPatch(curve, fill=False, edgecolor="#c4c4bb", linewidth=thick, zorder=1))
                self._words(ax, child.x, child.y - 8, answer, _SMALL, SOFT, child.width, ground=True)

    def _box(self, ax: Axes, box: Box) -> None:
        """Draw a box with its text and the bar of its classes."""
        leaf, left = bool(self.tree.is_leaf[box.number]), box.x - box.width / 2
        frame = patches().FancyBboxPatch(
            (left, box.y),
            box.width,
            box.height,
            boxstyle="round,pad=0,rounding_size=6",
            facecolor="#ffffff" if leaf else "#f4f3ee",
            edgecolor="#555555" if leaf else "#b5b5ab",
            linewidth=0.9,
            zorder=2,
        )
        ax.add_artist(frame)
        for line, words in enumerate(box.lines):
            colour = SOFT if line and not leaf else INK
            self._words(ax, box.x, box.y + _PAD + _LINE * (line + 0.72), words, _LETTERS, colour, box.width - _PAD)
        at = left + _PAD
        for colour, share in box.bar:
            width = (box.width - 2 * _PAD) * share
            bar = (at, box.y + box.height - _PAD - _BAR + 3)
            ax.add_artist(patches().Rectangle(bar, width, _BAR, facecolor=colour, linewidth=0, zorder=3))
            at += width

    def _words(
        self, ax: Axes, x: float, y: float, words: str, size: float, colour: str, room: float, *, ground: bool = False
    ) -> None:
        """Draw text as shapes, centred at x on a line at y, and condensed to `room`."""
        shape, left, width = _letters(words, size)
        narrow = min(1.0, room / max(width, 1.0))
        move = import_module("matplotlib.transforms").Affine2D()
        place = move.translate(-(left + width / 2), 0).scale(narrow, -1).translate(x, y)
        if ground:
            wide = width * narrow + 6
            white = patches().Rectangle((x - wide / 2, y - size), wide, size + 4, color="#ffffff", alpha=0.85, zorder=2)
            ax.add_artist(white)
        ax.add_artist(
            patches().PathPatch(shape, transform=place + ax.transData, facecolor=colour, linewidth=0, zorder=4)
        )


@lru_cache(maxsize=1024)
def _letters(words: str, size: float) -> tuple[TextPath, float, float]:
    """Return the shape, the start and the width of a text, which trees often repeat."""
    shape = import_module("matplotlib.textpath").TextPath((0, 0), words.replace("$", r"\$"), size=size)
    # The ends of a letter's curves lie at its edges; exact extents of curves take eight times as long.
    ends = shape.vertices[shape.codes != shape.CLOSEPOLY, 0]
    return (shape, float(ends.min()), float(np.ptp(ends))) if len(ends) else (shape, 0.0, 0.0)


# ---- Plots of leaf evidence ------------------------------------------------------------------------------------------


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
