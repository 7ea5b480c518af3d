"""Trees as text: one line per branch, and the conditions of nodes."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from hedgerow.forest.nodes import MULTIWAY

if TYPE_CHECKING:
    from hedgerow.forest.walk import Tree, TreeNode

#: Largest depth of text; each level adds indentation to all lines below.
MOST_DEPTH = 200
#: Largest number of categories listed in a condition.
MOST_CATEGORIES = 20


def lines_of(tree: Tree, max_depth: int, decimals: int, note: Callable[[TreeNode], str] | None) -> Iterator[str]:
    """Yield one line per branch, with the counts of leaves."""
    waiting: list[tuple[str, int, int]] = [("", 0, 0)]  # condition that leads to a node, node, depth
    leaves = tree.leaf_evidence
    while waiting:
        condition, number, depth = waiting.pop()
        if depth:
            yield "|   " * (depth - 1) + "|--- " + condition
        node, prefix = tree.at(number), "|   " * depth + "|--- "
        if node.is_leaf:
            words = leaves.words(int(tree.nodes.payload[number]), tree.classes, decimals)
            yield f"{prefix}{words}{note(node) if note else ''}"
        elif depth > max_depth:
            yield f"{prefix}… {int(tree.rows[number])} rows"
        else:
            below = zip(questions_of(node, decimals), node.children, strict=True)
            waiting += [(condition, child.number, depth + 1) for condition, child in below][::-1]


def questions_of(node: TreeNode, decimals: int) -> list[str]:
    """Return the condition of each child as text."""
    if node.is_leaf:
        return []
    tree, number = node.tree, node.number
    feature = int(tree.feature[number])
    name, known = tree.name_of(feature), tree.schema.categories[feature]
    if tree._kind[number] == MULTIWAY:
        return [f"{name} = {value}" for value in (() if known is None else known.tolist())] + [f"{name} missing or new"]
    missing = " or missing"
    left, right = (missing, "") if tree.missing_left[number] else ("", missing)
    if known is not None:
        goes_left = tree.codes_left(np.array([number]))[0]
        return [f"{name} in {_listed(known[goes_left])}{left}", f"{name} in {_listed(known[~goes_left])}{right}"]
    threshold = tree.threshold[number]
    if np.isinf(threshold):
        return [f"{name} known", f"{name} missing"]
    at, below = as_limit(threshold)
    less, more = ("<", ">=") if below else ("<=", ">")
    return [f"{name} {less} {at:.{decimals}f}{left}", f"{name} {more} {at:.{decimals}f}{right}"]


def as_limit(threshold: float) -> tuple[float, bool]:
    """Return a number to print for a threshold, and whether values must be below it.

    The threshold is the highest value that goes left. It is printed itself, unless the next number above is shorter:
    thresholds of random decision trees can be just below a value.

    Examples
    --------
    >>> as_limit(2.5), as_limit(9.999999999999998)
    ((2.5, False), (10.0, True))
    """
    here = float(threshold)
    above = math.nextafter(here, math.inf)
    return (above, True) if math.isfinite(above) and len(repr(above)) < len(repr(here)) else (here, False)


def _listed(values: NDArray[Any]) -> str:
    """Return categories (m,) as text, at most `MOST_CATEGORIES` by name."""
    named, more = str(values[:MOST_CATEGORIES].tolist()), len(values) - MOST_CATEGORIES
    return f"{named[:-1]}, … {more:,} more]" if more > 0 else named
