"""Trees as SVG."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from html import escape
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow.export.describe import (
    answer_words,
    check_caution,
    count_words,
    interval_words,
    spelt,
    split_of,
    title_words,
    tree_of,
)
from hedgerow.forest.walk import Held, Tree

#: Colours that colour-blind readers can tell apart (Okabe and Ito); further classes repeat them, paler.
COLOURS = ("#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#f0e442", "#999999")
#: The colour of all classes of a node that are too many for a bar.
_OTHERS = "#dddddd"
#: A picture has at most this many nodes.
MOST_BOXES = 10_000

_TEXT, _SMALL = 13.0, 11.0
_LINE, _BAR, _PAD = 17.0, 8.0, 9.0
_GAP_ACROSS, _GAP_DOWN, _MARGIN = 18.0, 62.0, 16.0
_NAMED_CLASSES, _SHOWN_CLASSES, _LEGEND_CLASSES, _LONGEST = 3, 20, 12, 40
_NARROW, _WIDE = set("ijltfr.,:;|!()[]{}' "), set("mwMW@%…")


@dataclass
class Box:
    """A node in the drawing: its text, colours and shares of its classes, and the centre of its upper edge."""

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
        """Height of the lines of text and the bar of shares below them."""
        return 2 * _PAD + _LINE * len(self.lines) + _BAR


def export_svg(tree: Any, *, max_depth: int | None = 5, decimals: int = 2, caution: float | None = None) -> str:
    """A picture of a tree: its splits, and the evidence in its leaves as rows and as bars of class shares.

    The thickness of a line shows how many rows go that way. Long names are cut; a tooltip shows them in full.

    Parameters
    ----------
    tree : Tree or fitted DecisionTreeClassifier
        The tree; for a forest, pass one of ``forest.trees_``.
    max_depth : int or None, default=5
        Nodes at this depth show how many nodes are hidden below them; None draws as many levels as have 10,000 nodes.
    decimals : int, default=2
        Decimals of thresholds.
    caution : float, default=None
        If given, leaves show the bounds of the probability of their most probable class.

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
    """A tree -> {node: box with its text and its place}, parents before children."""
    drawn = np.cumsum(np.bincount(tree.node_depth)) <= MOST_BOXES  # the levels that a picture has room for
    deepest = max(int(drawn.sum()) - 1, 0) if not drawn.all() else tree.n_nodes
    boxes = _boxes(tree, deepest if max_depth is None else min(max_depth, deepest), decimals, caution)
    _place(boxes, tree, top)
    return boxes


def _boxes(tree: Tree, deepest: int, decimals: int, caution: float | None) -> dict[int, Box]:
    """A tree -> {node: box without a place}, parents before children."""
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
    """What a node holds -> colours and shares of its classes; of many classes the largest, and the others in grey."""
    shares = held.weights / (held.weights.sum() or 1.0)
    shown = np.sort(np.argsort(-shares, kind="stable")[:_SHOWN_CLASSES])
    bar = [(colour_of(k), share) for k, share in zip(held.labels[shown].tolist(), shares[shown].tolist(), strict=True)]
    rest = 1.0 - sum(share for _, share in bar)
    return [each for each in bar if each[1]] + ([(_OTHERS, rest)] if len(shares) > len(shown) else [])


def _place(boxes: dict[int, Box], tree: Tree, top: float) -> None:
    """Place boxes without children side by side, and the others above the middle of their children."""
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
    """Move branches to the right until no box overlaps its neighbour of the same level."""
    order = _left_to_right(boxes)
    edges: dict[int, float] = {}
    shift = 0.0
    for number in order:  # if a box must move, everything to its right moves with it
        box, level = boxes[number], int(tree.node_depth[number])
        box.x += shift
        missing = edges.get(level, _MARGIN - _GAP_ACROSS) + _GAP_ACROSS - (box.x - box.width / 2)
        if missing > 0:
            box.x += missing
            shift += missing
        edges[level] = box.x + box.width / 2


def _left_to_right(boxes: dict[int, Box]) -> list[int]:
    """Nodes, parents before children, left branches first."""
    order, waiting = [], [0]
    while waiting:
        number = waiting.pop()
        order.append(number)
        waiting.extend(reversed(boxes[number].children))
    return order


def _edges(tree: Tree, boxes: dict[int, Box]) -> list[str]:
    """Curves from each box to its children, and the answers that lead there above them."""
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
    """Text on a white background, so that it can be read on a line."""
    width = _measure(words) * _SMALL / _TEXT + 4
    yield (
        f'<rect x="{x - width / 2:.1f}" y="{y - _SMALL:.1f}" width="{width:.1f}" height="{_SMALL + 4:g}" rx="3"'
        ' fill="#ffffff" fill-opacity="0.85"/>'
    )
    yield _text(x, y, words, size=_SMALL, grey=True)


def _drawn(tree: Tree, box: Box) -> Iterator[str]:
    """A box with its text and its bar."""
    left = box.x - box.width / 2
    leaf = bool(tree.is_leaf[box.number])
    fill, line = ("#ffffff", "#555555") if leaf else ("#f3f3f3", "#a0a0a0")
    yield f"<g><title>{escape(spelt(box.tooltip))}</title>"
    yield (
        f'<rect x="{left:.1f}" y="{box.y:.1f}" width="{box.width:.1f}" height="{box.height:.1f}" rx="6"'
        f' fill="{fill}" stroke="{line}"/>'
    )
    for i, line_of_text in enumerate(box.lines):
        yield _text(box.x, box.y + _PAD + _LINE * (i + 0.75), line_of_text, grey=not leaf and i > 0)
    yield from _bar(box, left + _PAD, box.y + box.height - _PAD - _BAR + 3)
    yield "</g>"


def _bar(box: Box, left: float, y: float) -> Iterator[str]:
    """The class shares of a node, side by side; an empty leaf has an empty bar."""
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
    """Class number -> colour; each further round of the palette is halfway to white."""
    colour, rounds = COLOURS[k % len(COLOURS)], k // len(COLOURS)
    parts = [int(colour[i : i + 2], 16) for i in (1, 3, 5)]
    return "#" + "".join(f"{round(255 - (255 - part) * 0.5 ** min(rounds, 3)):02x}" for part in parts)


def _legend(tree: Tree) -> tuple[list[str], float]:
    """Squares and names of the classes in a line -> SVG, and the place where the tree begins below it."""
    parts, x = [], _MARGIN
    for k, name in enumerate(_legend_names(tree)):
        if k < _LEGEND_CLASSES:
            parts.append(f'<rect x="{x:.1f}" y="{_MARGIN:g}" width="11" height="11" fill="{colour_of(k)}"/>')
        parts.append(_text(x + 16, _MARGIN + 10, name, anchor="start"))
        x += _measure(name) + 34
    return parts, _MARGIN + 34


def _legend_width(tree: Tree) -> float:
    """Width of the legend."""
    return _MARGIN + sum(_measure(name) + 34 for name in _legend_names(tree)) - 18


def _legend_names(tree: Tree) -> list[str]:
    """Names of the first classes, and how many more there are."""
    names = _cut([str(label) for label in tree.classes.tolist()])
    more = len(names) - _LEGEND_CLASSES
    return names[:_LEGEND_CLASSES] + ([f"+{more} classes"] if more > 0 else [])


def _text(x: float, y: float, words: str, *, anchor: str = "middle", size: float = _TEXT, grey: bool = False) -> str:
    """Text at a place."""
    colour = "#666666" if grey else "#111111"
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-size="{size:g}" fill="{colour}">'
        f"{escape(words)}</text>"
    )


def _width(lines: list[str]) -> float:
    """Lines -> width of their box."""
    return max(96.0, max(_measure(line) for line in _cut(lines)) + 2 * _PAD)


def _measure(words: str) -> float:
    """Text -> its approximate width in a sans-serif font."""
    widths = (0.36 if c in _NARROW else 0.95 if c in _WIDE else 0.72 if c.isupper() else 0.6 for c in words)
    return _TEXT * sum(widths)


def _cut(lines: list[str]) -> list[str]:
    """Lines, each on one row and cut if it is too long."""
    flat = [spelt(" ".join(line.split())) for line in lines]
    return [line if len(line) <= _LONGEST else line[: _LONGEST - 1] + "…" for line in flat]


def _nodes_below(tree: Tree) -> NDArray[np.int64]:
    """A tree -> (N,): how many nodes are below each."""
    below = np.zeros(tree.n_nodes, dtype=np.int64)
    levels = np.split(np.argsort(tree.node_depth, kind="stable"), np.cumsum(np.bincount(tree.node_depth))[:-1])
    for nodes in reversed(levels[1:]):
        np.add.at(below, tree.parent[nodes], below[nodes] + 1)
    return below
