"""Export to SVG."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from hedgerow.export.describe import (
    answer_words,
    check_caution,
    count_words,
    interval_words,
    split_of,
    title_words,
    tree_of,
    xml_safe,
)
from hedgerow.forest.walk import Held, Tree

if TYPE_CHECKING:
    from sklearn.base import BaseEstimator

#: Colours suitable for colour-blind readers (Okabe and Ito); further classes repeat them, paler.
COLOURS = ("#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#f0e442", "#999999")
#: Colour of the classes that do not fit into a bar.
_OTHERS = "#dddddd"
#: Largest number of nodes in a drawing.
MOST_BOXES = 10_000

_TEXT, _SMALL = 13.0, 11.0
_LINE, _BAR, _PAD = 17.0, 8.0, 9.0
_GAP_ACROSS, _GAP_DOWN, _MARGIN = 18.0, 62.0, 16.0
_NAMED_CLASSES, _SHOWN_CLASSES, _LEGEND_CLASSES, _LONGEST = 3, 20, 12, 40
_NARROW, _WIDE = set("ijltfr.,:;|!()[]{}' "), set("mwMW@%…")


@dataclass
class Box:
    """Node of a drawing: text, colours and shares of its classes, and the centre of its upper edge."""

    number: int
    lines: list[str]
    tooltip: str
    bar: list[tuple[str, float]]
    width: float
    children: list[int]
    x: float = 0.0
    y: float = 0.0

    @property
    def height(self) -> float:
        """Height of the text and of the bar below it."""
        return 2 * _PAD + _LINE * len(self.lines) + _BAR


def export_svg(
    tree: Tree | BaseEstimator, *, max_depth: int | None = 5, decimals: int = 2, caution: float | None = None
) -> str:
    """Draw a tree: its splits, and the class counts of its leaves as text and bars.

    The width of a line is proportional to the number of rows. Long names are cut; tooltips show them in full.

    Parameters
    ----------
    tree : Tree or fitted DecisionTreeClassifier
        The tree; for a forest, pass one of ``forest.trees_``.
    max_depth : int or None, default=5
        Largest depth of nodes; those at this depth show the number of nodes below. None draws up to 10,000 nodes.
    decimals : int, default=2
        Decimals of thresholds.
    caution : float, default=None
        Caution of the bounds of the most probable class in each leaf; None shows no bounds.

    Returns
    -------
    str
        A complete SVG document.

    Examples
    --------
    >>> from hedgerow import DecisionTreeClassifier
    >>> from hedgerow.export import export_svg
    >>> tree = DecisionTreeClassifier().fit([[1.0], [2.0], [3.0], [4.0]], ["no", "no", "yes", "yes"])
    >>> export_svg(tree).startswith("<svg xmlns=")
    True
    """
    check_caution(caution)
    found = tree_of(tree)
    legend, top = _legend(found)
    boxes = lay_out(found, max_depth=max_depth, decimals=decimals, caution=caution, top=top)
    right = max(max(box.x + box.width / 2 for box in boxes.values()), _legend_width(found) + _MARGIN)
    bottom = max(box.y + box.height for box in boxes.values())
    width, height = right + _MARGIN, bottom + _MARGIN
    parts = [*_edges(found, boxes), *(part for box in boxes.values() for part in _drawn(found, box)), *legend]
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}"'
            f' viewBox="0 0 {width:.0f} {height:.0f}" font-family="Helvetica, Arial, sans-serif"'
            f' font-size="{_TEXT:g}">',
            f'<rect width="{width:.0f}" height="{height:.0f}" fill="#ffffff"/>',
            *parts,
            "</svg>",
        ]
    )


def lay_out(tree: Tree, *, max_depth: int | None, decimals: int, caution: float | None, top: float) -> dict[int, Box]:
    """Lay out the boxes of a tree by node, parents before children."""
    drawn = np.cumsum(np.bincount(tree.node_depth)) <= MOST_BOXES  # levels within the limit
    deepest = max(int(drawn.sum()) - 1, 0) if not drawn.all() else tree.n_nodes
    boxes = _boxes(tree, deepest if max_depth is None else min(max_depth, deepest), decimals, caution)
    _place(boxes, tree, top)
    return boxes


def _boxes(tree: Tree, deepest: int, decimals: int, caution: float | None) -> dict[int, Box]:
    """Create the boxes of a tree by node, parents before children, without positions."""
    below = _nodes_below(tree)
    boxes = {}
    for number, held in tree.held(tree.node_depth <= deepest):
        node, bar = tree.at(number), _shares(held)
        words = count_words(held, tree.classes, _NAMED_CLASSES)
        full = count_words(held, tree.classes, _SHOWN_CLASSES)
        if node.is_leaf:
            lines = [words] if caution is None else [words, interval_words(held, tree.classes, caution)]
            boxes[number] = Box(number, _cut(lines), full, bar, _width(lines), [])
            continue
        hidden = tree.node_depth[number] == deepest
        last = f"… {below[number]} nodes below" if hidden else f"{int(tree.rows[number])} rows"
        lines = [words, last] if hidden else [title_words(split_of(node), decimals), last]
        children = [] if hidden else [child.number for child in node.children]
        boxes[number] = Box(number, _cut(lines), "\n".join([*node.questions, full]), bar, _width(lines), children)
    return dict(reversed(boxes.items()))


def _shares(held: Held) -> list[tuple[str, float]]:
    """Return colours and shares of the largest classes of a node, with the others in grey."""
    shares = held.weights / (held.weights.sum() or 1.0)
    shown = np.sort(np.argsort(-shares, kind="stable")[:_SHOWN_CLASSES])
    bar = [(colour_of(k), share) for k, share in zip(held.labels[shown].tolist(), shares[shown].tolist(), strict=True)]
    rest = 1.0 - sum(share for _, share in bar)
    return [each for each in bar if each[1]] + ([(_OTHERS, rest)] if len(shares) > len(shown) else [])


def _place(boxes: dict[int, Box], tree: Tree, top: float) -> None:
    """Place leaves next to each other, and other boxes above the middle of their children."""
    edge = _MARGIN
    order = _left_to_right(boxes)
    for number in order:
        box = boxes[number]
        if not box.children:
            box.x = edge + box.width / 2
            edge += box.width + _GAP_ACROSS
    for number in reversed(order):
        box = boxes[number]
        if box.children:
            box.x = (boxes[box.children[0]].x + boxes[box.children[-1]].x) / 2
    _pull_apart(boxes, tree)
    depth = tree.node_depth[list(boxes)]
    tallest = np.zeros(int(depth.max()) + 1)
    np.maximum.at(tallest, depth, [box.height for box in boxes.values()])
    starts = np.cumsum([top, *(tallest[:-1] + _GAP_DOWN)])
    for box in boxes.values():
        box.y = float(starts[tree.node_depth[box.number]])


def _pull_apart(boxes: dict[int, Box], tree: Tree) -> None:
    """Move branches to the right until no boxes of a level overlap."""
    order = _left_to_right(boxes)
    edges: dict[int, float] = {}
    shift = 0.0
    for number in order:  # everything to the right moves with a box
        box, level = boxes[number], int(tree.node_depth[number])
        box.x += shift
        missing = edges.get(level, _MARGIN - _GAP_ACROSS) + _GAP_ACROSS - (box.x - box.width / 2)
        if missing > 0:
            box.x += missing
            shift += missing
        edges[level] = box.x + box.width / 2


def _left_to_right(boxes: dict[int, Box]) -> list[int]:
    """List the nodes, parents before children, left branches first."""
    order, pending = [], [0]
    while pending:
        number = pending.pop()
        order.append(number)
        pending.extend(reversed(boxes[number].children))
    return order


def _edges(tree: Tree, boxes: dict[int, Box]) -> list[str]:
    """Draw curves from each box to its children, labelled with the answers."""
    rows = tree.rows
    paths: list[str] = []
    labels: list[str] = []
    for box in boxes.values():
        if not box.children:
            continue
        answers = answer_words(split_of(tree.at(box.number)))
        for child, answer in zip((boxes[number] for number in box.children), answers, strict=True):
            x, y, to = box.x, box.y + box.height, child.y
            middle = (y + to) / 2
            thick = 1 + 5 * float(rows[child.number]) / max(float(rows[0]), 1.0)
            dash = ' stroke-dasharray="3 3"' if tree.is_borrowed[child.number] else ""
            paths.append(
                f'<path d="M{x:.1f} {y:.1f} C{x:.1f} {middle:.1f} {child.x:.1f} {middle:.1f} {child.x:.1f} {to:.1f}"'
                f' fill="none" stroke="#b8b8b8" stroke-width="{thick:.1f}"{dash}/>'
            )
            labels.extend(_label(child.x, to - 8, _cut([answer])[0]))
    return paths + labels


def _label(x: float, y: float, words: str) -> Iterator[str]:
    """Draw text on a white background, legible on lines."""
    width = _measure(words) * _SMALL / _TEXT + 4
    yield (
        f'<rect x="{x - width / 2:.1f}" y="{y - _SMALL:.1f}" width="{width:.1f}" height="{_SMALL + 4:g}" rx="3"'
        ' fill="#ffffff" fill-opacity="0.85"/>'
    )
    yield _text(x, y, words, size=_SMALL, grey=True)


def _drawn(tree: Tree, box: Box) -> Iterator[str]:
    """Draw a box with its text and its bar."""
    left = box.x - box.width / 2
    leaf = bool(tree.is_leaf[box.number])
    fill, line = ("#ffffff", "#555555") if leaf else ("#f3f3f3", "#a0a0a0")
    yield f"<g><title>{escape(xml_safe(box.tooltip))}</title>"
    yield (
        f'<rect x="{left:.1f}" y="{box.y:.1f}" width="{box.width:.1f}" height="{box.height:.1f}" rx="6"'
        f' fill="{fill}" stroke="{line}"/>'
    )
    for i, line_of_text in enumerate(box.lines):
        yield _text(box.x, box.y + _PAD + _LINE * (i + 0.75), line_of_text, grey=not leaf and i > 0)
    yield from _bar(box, left + _PAD, box.y + box.height - _PAD - _BAR + 3)
    yield "</g>"


def _bar(box: Box, left: float, y: float) -> Iterator[str]:
    """Draw the class shares of a node as a bar, empty for an empty leaf."""
    room = box.width - 2 * _PAD
    if not box.bar:
        yield f'<rect x="{left:.1f}" y="{y:.1f}" width="{room:.1f}" height="{_BAR:g}" fill="none" stroke="#b8b8b8"/>'
        return
    at = left
    for colour, share in box.bar:
        width = room * share
        yield f'<rect x="{at:.1f}" y="{y:.1f}" width="{width:.1f}" height="{_BAR:g}" fill="{colour}"/>'
        at += width


def colour_of(k: int) -> str:
    """Return the colour of a class; repeated colours are halfway to white."""
    colour, rounds = COLOURS[k % len(COLOURS)], k // len(COLOURS)
    parts = [int(colour[i : i + 2], 16) for i in (1, 3, 5)]
    return "#" + "".join(f"{round(255 - (255 - part) * 0.5 ** min(rounds, 3)):02x}" for part in parts)


def _legend(tree: Tree) -> tuple[list[str], float]:
    """Draw the legend, and return the vertical position of the tree below it."""
    parts, x = [], _MARGIN
    for k, name in enumerate(_legend_names(tree)):
        if k < _LEGEND_CLASSES:
            parts.append(f'<rect x="{x:.1f}" y="{_MARGIN:g}" width="11" height="11" fill="{colour_of(k)}"/>')
        parts.append(_text(x + 16, _MARGIN + 10, name, anchor="start"))
        x += _measure(name) + 34
    return parts, _MARGIN + 34


def _legend_width(tree: Tree) -> float:
    """Return the width of the legend."""
    return _MARGIN + sum(_measure(name) + 34 for name in _legend_names(tree)) - 18


def _legend_names(tree: Tree) -> list[str]:
    """Return the names of the first classes, and the number of others."""
    names = _cut([str(label) for label in tree.classes.tolist()])
    more = len(names) - _LEGEND_CLASSES
    return names[:_LEGEND_CLASSES] + ([f"+{more} classes"] if more > 0 else [])


def _text(x: float, y: float, words: str, *, anchor: str = "middle", size: float = _TEXT, grey: bool = False) -> str:
    """Draw text."""
    colour = "#666666" if grey else "#111111"
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-size="{size:g}" fill="{colour}">'
        f"{escape(words)}</text>"
    )


def _width(lines: list[str]) -> float:
    """Return the width of a box with these lines."""
    return max(96.0, max(_measure(line) for line in _cut(lines)) + 2 * _PAD)


def _measure(words: str) -> float:
    """Return the approximate width of text in a sans-serif font."""
    widths = (0.36 if c in _NARROW else 0.95 if c in _WIDE else 0.72 if c.isupper() else 0.6 for c in words)
    return _TEXT * sum(widths)


def _cut(lines: list[str]) -> list[str]:
    """Cut long lines, and remove line breaks."""
    flat = [xml_safe(" ".join(line.split())) for line in lines]
    return [line if len(line) <= _LONGEST else line[: _LONGEST - 1] + "…" for line in flat]


def _nodes_below(tree: Tree) -> NDArray[np.int64]:
    """Return the number of nodes below each node (N,)."""
    below = np.zeros(tree.n_nodes, dtype=np.int64)
    levels = np.split(np.argsort(tree.node_depth, kind="stable"), np.cumsum(np.bincount(tree.node_depth))[:-1])
    for nodes in reversed(levels[1:]):
        np.add.at(below, tree.parent[nodes], below[nodes] + 1)
    return below
