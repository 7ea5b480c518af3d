"""Plots of trees."""

from __future__ import annotations

from functools import lru_cache
from importlib import import_module
from typing import TYPE_CHECKING, Self

import numpy as np

from hedgerow.export.describe import answer_words, check_caution, split_of, tree_of
from hedgerow.export.svg import Box, lay_out
from hedgerow.forest.walk import Tree
from hedgerow.plot.canvas import INK, SOFT, Classifier, Display, class_legend, class_names, patches

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
