"""Export to indented text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hedgerow.export.describe import check_caution, interval_words, tree_of
from hedgerow.forest.lines import MOST_DEPTH
from hedgerow.forest.walk import Tree, TreeNode

if TYPE_CHECKING:
    from sklearn.base import BaseEstimator


def export_text(
    tree: Tree | BaseEstimator, *, max_depth: int = 10, decimals: int = 2, caution: float | None = None
) -> str:
    """Export a tree as indented text, with the class counts of its leaves.

    Parameters
    ----------
    tree : Tree or fitted DecisionTreeClassifier
        The tree; for a forest, pass one of ``forest.trees_``.
    max_depth : int, default=10
        Largest depth of branches, at most 200; deeper ones are counted.
    decimals : int, default=2
        Decimals of thresholds.
    caution : float, default=None
        Caution of the bounds of the most probable class in each leaf; None shows no bounds.

    Returns
    -------
    str

    Examples
    --------
    >>> from hedgerow import DecisionTreeClassifier
    >>> from hedgerow.export import export_text
    >>> tree = DecisionTreeClassifier().fit([[1.0], [2.0], [3.0], [4.0]], ["no", "no", "yes", "yes"])
    >>> print(export_text(tree, caution=1))
    |--- x[0] <= 2.50
    |   |--- no: 2 (no in [0.67, 1.00])
    |--- x[0] > 2.50 or missing
    |   |--- yes: 2 (yes in [0.67, 1.00])
    """
    check_caution(caution)
    found = tree_of(tree)
    if caution is None:
        return found.to_text(max_depth=max_depth, decimals=decimals)
    shown = found.is_leaf & (found.node_depth <= min(max_depth, MOST_DEPTH) + 1)
    words = {number: interval_words(held, found.classes, caution) for number, held in found.held(shown)}

    def note(leaf: TreeNode) -> str:
        return f" ({words[leaf.number]})"

    return found.to_text(max_depth=max_depth, decimals=decimals, note=note)
