"""Axes in the style of all displays; the only module that imports matplotlib.pyplot."""

from __future__ import annotations

from abc import ABC, abstractmethod
from importlib import import_module
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from hedgerow.export.svg import colour_of

Floats = NDArray[np.float64]

INK, SOFT, LINE, TRACK = "#1f2421", "#5d665f", "#dcdcd2", "#ecebe3"
ACCENT, OPEN = "#2c6e4f", "#b27400"
#: Longer names are cut.
LONGEST = 28


class Display(ABC):
    """What every display has: the axes and the figure it was drawn on."""

    ax_: Any
    figure_: Any

    def plot(self, ax: Any = None) -> Self:
        """Draw.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; None makes a new figure.

        Returns
        -------
        display
            Itself.
        """
        if ax is None:
            _, ax = pyplot().subplots(figsize=self._size(), layout="constrained")
        self.ax_, self.figure_ = ax, ax.figure
        self._draw(ax)
        return self

    def _size(self) -> tuple[float, float]:
        """Width and height of a new figure, in inches."""
        return 6.0, 4.0

    @abstractmethod
    def _draw(self, ax: Any) -> None:
        """Draw on these axes."""


def pyplot() -> Any:
    """matplotlib.pyplot, or an error that says what to install."""
    try:
        return import_module("matplotlib.pyplot")
    except ImportError as error:
        raise ImportError(
            "hedgerow.plot needs matplotlib, which is not installed; pip install 'hedgerow[plot]'"
        ) from error


def patches() -> Any:
    """matplotlib.patches."""
    pyplot()
    return import_module("matplotlib.patches")


def lines() -> Any:
    """matplotlib.lines."""
    pyplot()
    return import_module("matplotlib.lines")


def calm(ax: Any, *, grid: str | None = None) -> None:
    """Remove the frame of the axes, and draw a thin grid."""
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)
    for side in ("left", "bottom"):
        ax.spines[side].set_color(LINE)
    ax.tick_params(colors=SOFT, labelcolor=INK)
    if grid:
        ax.grid(axis=grid, color=LINE, linewidth=0.7)
        ax.set_axisbelow(True)


def percent_axis(axis: Any) -> None:
    """Show the shares on an axis as percentages."""
    axis.set_major_formatter(import_module("matplotlib.ticker").PercentFormatter(1.0, symbol=" %"))


def class_legend(ax: Any, classes: list[str], **where: Any) -> None:
    """Add a legend: a square in the colour of each class, and its name."""
    if len(classes) > 12:
        return
    squares = [patches().Patch(color=colour_of(k), label=name) for k, name in enumerate(classes)]
    ax.legend(handles=squares, frameon=False, **where)


def class_names(classes: Any, n_classes: int) -> list[str]:
    """Classes or None -> a short name for each."""
    if classes is None:
        return [f"class {k}" for k in range(n_classes)]
    names = [cut(name) for name in np.asarray(classes).tolist()]
    if len(names) != n_classes:
        raise ValueError(f"classes must name the {n_classes} classes, got {len(names)}; give a name for each")
    return names


def cut(value: Any) -> str:
    """Any value -> a short text on one line that matplotlib does not read as a formula."""
    words = " ".join(str(value).split())
    words = words if len(words) <= LONGEST else words[: LONGEST - 1] + "…"
    return words.replace("$", r"\$")
