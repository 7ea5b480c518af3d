"""Common style of all displays; only this module imports matplotlib.pyplot."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any, Literal, Protocol, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hedgerow.export.svg import colour_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure, SubFigure
    from scipy.sparse import csr_array

    from hedgerow.forest.walk import Tree
    from hedgerow.inference.evidence import Evidence

Floats = NDArray[np.float64]

INK, SOFT, LINE, TRACK = "#1f2421", "#5d665f", "#dcdcd2", "#ecebe3"
ACCENT, OPEN = "#2c6e4f", "#b27400"
#: Longest name; longer ones are truncated.
LONGEST = 28


class Classifier(Protocol):
    """Fitted classification tree or forest, as displays use it."""

    @property
    def classes_(self) -> NDArray[np.generic]: ...
    @property
    def trees_(self) -> Sequence[Tree]: ...
    def predict(self, X: object, return_set: bool = False) -> Any: ...
    def evidence(self, X: object) -> Evidence: ...
    def proximity(self, X: object) -> csr_array: ...


class Display(ABC):
    """Base class of displays, with the axes and the figure they were drawn on."""

    ax_: Axes
    figure_: Figure | SubFigure

    def plot(self, ax: Axes | None = None) -> Self:
        """Draw.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw on; None creates a figure.

        Returns
        -------
        display
            The display itself.
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
    def _draw(self, ax: Axes) -> None:
        """Draw on these axes."""


def pyplot() -> ModuleType:
    """Return matplotlib.pyplot, or raise with the package to install."""
    try:
        return import_module("matplotlib.pyplot")
    except ImportError as error:
        raise ImportError("hedgerow.plot requires matplotlib. Install it with pip install matplotlib.") from error


def patches() -> ModuleType:
    """Return matplotlib.patches."""
    pyplot()
    return import_module("matplotlib.patches")


def lines() -> ModuleType:
    """Return matplotlib.lines."""
    pyplot()
    return import_module("matplotlib.lines")


def calm(ax: Axes, *, grid: Literal["x", "y"] | None = None) -> None:
    """Remove the frame of the axes, and draw a thin grid."""
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)
    for side in ("left", "bottom"):
        ax.spines[side].set_color(LINE)
    ax.tick_params(colors=SOFT, labelcolor=INK)
    if grid:
        ax.grid(axis=grid, color=LINE, linewidth=0.7)
        ax.set_axisbelow(True)


def percent_axis(axis: Axis) -> None:
    """Show the shares on an axis as percentages."""
    axis.set_major_formatter(import_module("matplotlib.ticker").PercentFormatter(1.0))


def class_legend(ax: Axes, classes: list[str], **where: Any) -> None:
    """Add a legend with a coloured square and name per class."""
    if len(classes) > 12:
        return
    squares = [patches().Patch(color=colour_of(k), label=name) for k, name in enumerate(classes)]
    ax.legend(handles=squares, frameon=False, **where)


def class_names(classes: ArrayLike | None, n_classes: int) -> list[str]:
    """Return a short name for each class."""
    if classes is None:
        return [f"class {k}" for k in range(n_classes)]
    names = [cut(name) for name in np.asarray(classes).tolist()]
    if len(names) != n_classes:
        raise ValueError(f"classes must have {n_classes} names, got {len(names)}.")
    return names


def cut(value: object) -> str:
    """Return a short text on one line, without matplotlib formulas."""
    words = " ".join(str(value).split())
    words = words if len(words) <= LONGEST else words[: LONGEST - 1] + "…"
    return words.replace("$", r"\$")
