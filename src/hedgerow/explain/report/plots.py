"""Small plots of a report."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from hedgerow.explain.cases import number
from hedgerow.explain.report.pack import evenly

Floats = NDArray[np.float64]

#: Largest number of points of a plot, taken evenly from the table.
MOST_POINTS = 1500
#: The frame of a plot: left, right, top and bottom, of 360 by 260.
LEFT, RIGHT, TOP, BOTTOM = 66, 350, 10, 216


Line = tuple[str, float, float, float, float]
Word = tuple[float, float, str, str]


@dataclass(frozen=True)
class Plot:
    """A plot: title, caption, a path of dots, lines (class and two ends), words (position, anchor, text), and paths."""

    title: str
    hint: str
    path: str
    lines: list[Line]
    words: list[Word]
    paths: tuple[tuple[str, str], ...] = ()  # class and path


def error_plots(predicted: Floats, truth: Floats, ends: Floats | None) -> list[Plot]:
    """Plot targets and residuals against predictions (n,) and, with intervals (n, 2), errors against widths."""
    rows = evenly(np.arange(len(truth)), MOST_POINTS)
    predictions, true = predicted[rows], truth[rows]
    low, high = float(min(predictions.min(), true.min())), float(max(predictions.max(), true.max()))
    both = Frame((low, high), (low, high))
    residual = true - predictions
    largest = float(np.abs(residual).max(initial=0.0)) or 1.0
    around = Frame((float(predictions.min()), float(predictions.max())), (-largest, largest))
    plots = [
        both.plot(
            "Targets against predictions",
            "Points on the line are predicted exactly.",
            predictions,
            true,
            ("predicted", "true"),
            (low, low, high, high),
        ),
        around.plot(
            "Residuals against predictions",
            "Target minus prediction. A good model shows no pattern.",
            predictions,
            residual,
            ("predicted", "residual"),
            (float(predictions.min()), 0.0, float(predictions.max()), 0.0),
        ),
    ]
    if ends is not None and np.isfinite(ends).all():
        plots.append(_by_width(predicted, truth, ends))
    return plots


def _by_width(predicted: Floats, truth: Floats, ends: Floats) -> Plot:
    """Plot the mean error of ten groups of rows by width of the interval."""
    width, error = ends[:, 1] - ends[:, 0], np.abs(truth - predicted)
    groups = [each for each in np.array_split(np.argsort(width, kind="stable"), 10) if len(each)]
    wide = np.array([width[each].mean() for each in groups])
    off = np.array([error[each].mean() for each in groups])
    frame = Frame((float(wide.min()), float(wide.max())), (0.0, float(off.max()) or 1.0))
    hint = "Ten groups of rows by the width of their interval. Wider intervals should mean larger errors."
    return frame.plot("Errors against widths", hint, wide, off, ("mean width", "mean error"), None)


@dataclass(frozen=True)
class Frame:
    """Ranges of the two axes."""

    across: tuple[float, float]
    up: tuple[float, float]

    def plot(
        self,
        title: str,
        hint: str,
        x: Floats,
        y: Floats,
        names: tuple[str, str],
        line: tuple[float, float, float, float] | None,
    ) -> Plot:
        """Draw points, the names of the axes and optionally a line."""
        places = zip(self._x(x).tolist(), self._y(y).tolist(), strict=True)
        path = "".join(f"M{a:.1f} {b:.1f}h0" for a, b in places)
        frame: list[Line] = [("grid", LEFT, BOTTOM, RIGHT, BOTTOM), ("grid", LEFT, TOP, LEFT, BOTTOM)]
        if line is not None:
            ends = np.array(line)
            (x1, x2), (y1, y2) = self._x(ends[::2]).tolist(), self._y(ends[1::2]).tolist()
            frame.append(("now", round(x1, 1), round(y1, 1), round(x2, 1), round(y2, 1)))
        words: list[Word] = [
            (LEFT, BOTTOM + 16, "start", number(self.across[0])),
            (RIGHT, BOTTOM + 16, "end", number(self.across[1])),
            ((LEFT + RIGHT) / 2, BOTTOM + 34, "middle", names[0]),
            (LEFT - 6, BOTTOM, "end", number(self.up[0])),
            (LEFT - 6, TOP + 10, "end", number(self.up[1])),
            (LEFT - 6, (TOP + BOTTOM) / 2, "end", names[1]),
        ]
        return Plot(title, hint, path, frame, words)

    def with_lines(self, plot: Plot, css_class: str, ends: Floats) -> Plot:
        """Add lines of a CSS class, whose ends (m, 4) are given."""
        x, y = self._x(ends[:, ::2]).round(1).tolist(), self._y(ends[:, 1::2]).round(1).tolist()
        more = [(css_class, a[0], b[0], a[1], b[1]) for a, b in zip(x, y, strict=True)]
        return replace(plot, lines=[*plot.lines, *more])

    def with_steps(self, plot: Plot, css_class: str, times: Floats, curve: Floats) -> Plot:
        """Add a right-continuous curve."""
        return replace(plot, paths=(*plot.paths, (css_class, f"M{_path(self._steps(times, curve))}")))

    def with_band(self, plot: Plot, css_class: str, times: Floats, lower: Floats, upper: Floats) -> Plot:
        """Add the area between two right-continuous curves."""
        edge = [*self._steps(times, upper), *self._steps(times, lower)[::-1]]
        return replace(plot, paths=(*plot.paths, (css_class, f"M{_path(edge)}Z")))

    def with_key(self, plot: Plot, entries: list[tuple[str, str]], *, top: bool = True) -> Plot:
        """Add names of the classes of curves, on the right."""
        first = TOP + 12 if top else BOTTOM - 6 - 15 * (len(entries) - 1)
        words, paths = list(plot.words), list(plot.paths)
        for place, (css_class, name) in enumerate(entries):
            y = first + 15 * place
            words.append((RIGHT - 26, y, "end", name))
            paths.append((css_class, f"M{RIGHT - 20} {y - 4}H{RIGHT}"))
        return replace(plot, words=words, paths=tuple(paths))

    def _steps(self, times: Floats, curve: Floats) -> list[tuple[float, float]]:
        """Return the corners of a right-continuous curve."""
        x, y = np.repeat(self._x(times), 2)[1:], np.repeat(self._y(curve), 2)[:-1]
        return list(zip(x.tolist(), y.tolist(), strict=True))

    def _x(self, values: Floats) -> Floats:
        return LEFT + (RIGHT - LEFT) * _share(values, *self.across)

    def _y(self, values: Floats) -> Floats:
        return BOTTOM - (BOTTOM - TOP) * _share(values, *self.up)


def _path(points: list[tuple[float, float]]) -> str:
    """Return the points of a path."""
    return "L".join(f"{x:.1f} {y:.1f}" for x, y in points)


def _share(values: Floats, low: float, high: float) -> Floats:
    """Scale numbers linearly from [low, high] to [0, 1]."""
    return np.asarray((values - low) / (high - low) if high > low else np.full(len(values), 0.5))
