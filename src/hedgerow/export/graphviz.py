"""Export to Graphviz."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

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
from hedgerow.forest.walk import Tree

if TYPE_CHECKING:
    from sklearn.base import BaseEstimator

#: Number of classes named in a node.
_NAMED_CLASSES = 4


def export_graphviz(
    tree: Tree | BaseEstimator, *, max_depth: int | None = None, decimals: int = 2, caution: float | None = None
) -> str:
    """Export a tree in the DOT language, with the class counts of its nodes.

    Parameters
    ----------
    tree : Tree or fitted DecisionTreeClassifier
        The tree; for a forest, pass one of ``forest.trees_``.
    max_depth : int, default=None
        Largest depth of nodes; None means no limit.
    decimals : int, default=2
        Decimals of thresholds.
    caution : float, default=None
        Caution of the bounds of the most probable class in each leaf; None shows no bounds.

    Returns
    -------
    str
        Input of ``dot -Tsvg``; `export_svg` draws without Graphviz.

    Examples
    --------
    >>> from hedgerow import DecisionTreeClassifier
    >>> from hedgerow.export import export_graphviz
    >>> tree = DecisionTreeClassifier().fit([[1.0], [2.0], [3.0], [4.0]], ["no", "no", "yes", "yes"])
    >>> print(export_graphviz(tree))
    digraph Tree {
    node [shape=box, style="rounded", fontname="Helvetica"];
    edge [fontname="Helvetica"];
    0 [label="x[0] ≤ 2.50\\nno: 2, yes: 2"];
    1 [label="no: 2"];
    2 [label="yes: 2"];
    0 -> 1 [label="yes"];
    0 -> 2 [label="no or missing"];
    }
    """
    check_caution(caution)
    found = tree_of(tree)
    head = [
        "digraph Tree {",
        'node [shape=box, style="rounded", fontname="Helvetica"];',
        'edge [fontname="Helvetica"];',
    ]
    deepest = found.n_nodes if max_depth is None else max_depth
    nodes, edges = [*_nodes(found, deepest, decimals, caution)][::-1], list(_edges(found, deepest))
    return "\n".join([*head, *nodes, *edges, "}"])


def _nodes(tree: Tree, deepest: int, decimals: int, caution: float | None) -> Iterator[str]:
    """Yield one line per node down to the depth `deepest`, the last node first."""
    for number, held in tree.held(tree.node_depth <= deepest):
        node = tree.at(number)
        lines = [count_words(held, tree.classes, _NAMED_CLASSES)]
        if not node.is_leaf:
            lines.insert(0, title_words(split_of(node), decimals))
            if tree.node_depth[number] == deepest:
                lines.append("…")
        elif caution is not None:
            lines.append(interval_words(held, tree.classes, caution))
        yield f'{number} [label="{_quoted(lines)}"];'


def _edges(tree: Tree, deepest: int) -> Iterator[str]:
    """Yield one line per edge."""
    for number in (~tree.is_leaf & (tree.node_depth < deepest)).nonzero()[0].tolist():
        node = tree.at(number)
        for child, answer in zip(node.children, answer_words(split_of(node)), strict=True):
            yield f'{number} -> {child.number} [label="{_quoted([answer])}"];'


def _quoted(lines: list[str]) -> str:
    """Escape lines for a DOT string."""
    plain = [" ".join(xml_safe(line).replace("\\", "\\\\").replace('"', '\\"').split()) for line in lines]
    return "\\n".join(plain)
