"""Trees as lists of yes-or-no questions."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow.belief.leaf import idm_bounds
from hedgerow.forest.lines import as_limit
from hedgerow.forest.walk import Held, Tree, TreeNode

#: Where an answer leads: whether to a leaf, and the number of the leaf's node or of the next question.
Target = tuple[bool, int]


@dataclass(frozen=True)
class BranchQuestion:
    """Whether a value is at most a threshold, or one of some categories.

    Parameters
    ----------
    feature : int
        The feature asked about.
    threshold : float or None
        The answer is yes for values up to it.
    among : list or None
        For a nominal feature, the categories for which the answer is yes; for missing and new ones it is no.
    missing_yes : bool
        Whether the answer is yes for a missing value; always False for categories.
    yes, no : (bool, int)
        Whether a leaf follows, and the number of the leaf's node or of the next question.
    """

    feature: int
    threshold: float | None
    among: list[Any] | None
    missing_yes: bool
    yes: Target
    no: Target


def questions_of(tree: Tree) -> list[BranchQuestion]:
    """A tree -> its questions, the root's first; a tree of a single leaf gets one question that does not matter."""
    if tree.is_leaf[0]:
        return [BranchQuestion(0, 0.0, None, False, (True, 0), (True, 0))]
    first = _first_questions(tree)
    questions: list[BranchQuestion] = []
    for number in range(tree.n_nodes):
        if not tree.is_leaf[number]:
            questions += _questions_of_node(tree, number, first)
    return questions


def _first_questions(tree: Tree) -> dict[int, int]:
    """A tree -> {node: number of its first question}; a node with m children has m - 1 questions."""
    first, so_far = {}, 0
    for number in range(tree.n_nodes):
        if not tree.is_leaf[number]:
            first[number] = so_far
            so_far += int(tree.n_children[number]) - 1
    return first


def _questions_of_node(tree: Tree, number: int, first: dict[int, int]) -> list[BranchQuestion]:
    """An inner node -> its questions."""
    node = tree.at(number)
    split = split_of(node)
    places = [(child.is_leaf, child.number if child.is_leaf else first[child.number]) for child in node.children]
    if split.categories is not None:
        following: list[Target] = [(False, first[number] + i + 1) for i in range(len(split.categories) - 1)]
        return [
            BranchQuestion(split.feature, None, [value], False, places[i], after)
            for i, (value, after) in enumerate(zip(split.categories, [*following, places[-1]], strict=True))
        ]
    left, right = places
    if split.left is not None and split.right is not None:
        # Neither list has missing and new categories, so ask about the side they do not go to.
        if split.missing_left:
            return [BranchQuestion(split.feature, None, split.right, False, right, left)]
        return [BranchQuestion(split.feature, None, split.left, False, left, right)]
    return [BranchQuestion(split.feature, split.threshold, None, split.missing_left, left, right)]


Floats = NDArray[np.float64]

#: A drawing names at most this many categories of a set, and counts the rest.
NAMED_CATEGORIES = 3
#: Characters that XML does not have, or advises against.
_NOT_IN_XML = re.compile(r"[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


@dataclass(frozen=True)
class Split:
    """The split of an inner node.

    Parameters
    ----------
    feature, name : int, str
        The feature asked about.
    threshold : float or None
        Values up to it go left; infinite if all values go left and only missing ones go right.
    left, right : list or None
        For a split into two sets of categories, both sets.
    categories : list or None
        For a split with a child for each category, the categories; one more child is for missing and new ones.
    missing_left : bool
        Whether missing values and new categories go left.
    """

    feature: int
    name: str
    threshold: float | None
    left: list[Any] | None
    right: list[Any] | None
    categories: list[Any] | None
    missing_left: bool


def tree_of(model: Any) -> Tree:
    """A tree, or a fitted estimator with one tree -> the tree."""
    try:
        tree = model if isinstance(model, Tree) else model.tree_
    except AttributeError:
        tree = None
    if not isinstance(tree, Tree):
        raise TypeError(
            f"tree must be a Tree or a fitted single-tree estimator, got {type(model).__name__};"
            " pick one of forest.trees_"
        )
    return tree


def split_of(node: TreeNode) -> Split:
    """An inner node -> its split."""
    tree, number = node.tree, node.number
    feature = int(tree.feature[number])
    known = tree.schema.categories[feature]
    missing_left = bool(tree.missing_left[number])
    name = tree.name_of(feature)
    if known is None:
        return Split(feature, name, float(tree.threshold[number]), None, None, None, missing_left)
    if tree.is_multiway[number]:
        return Split(feature, name, None, None, None, known.tolist(), False)
    goes_left = tree.codes_left(np.array([number]))[0]
    return Split(feature, name, None, known[goes_left].tolist(), known[~goes_left].tolist(), None, missing_left)


def check_caution(caution: float | None) -> None:
    """Refuse a caution that is not a finite number >= 0."""
    if caution is not None and not (np.isfinite(caution) and caution >= 0):
        raise ValueError(f"caution must be a finite number >= 0 or None, got {caution!r}; None shows no intervals")


def interval_words(held: Held, classes: NDArray[Any], caution: float) -> str:
    """What a leaf holds -> the most probable class and the bounds of its probability."""
    labels, rows, weights = held if len(held.labels) else (np.zeros(1, dtype=np.int64), np.zeros(1), np.zeros(1))
    evidence = rows.sum() * weights / (weights.sum() or 1.0)
    lower, upper = idm_bounds(evidence[None], caution)
    best = int(evidence.argmax())
    return f"{classes[labels[best : best + 1]].tolist()[0]} in [{lower[0, best]:.2f}, {upper[0, best]:.2f}]"


def count_words(held: Held, classes: NDArray[Any], most: int) -> str:
    """What a node holds -> the classes with their rows, at most the `most` largest of them by name."""
    order = [at for at in np.argsort(-held.rows, kind="stable").tolist() if held.rows[at]]
    names = classes[held.labels[order[:most]]].tolist()
    words = [f"{name}: {int(held.rows[at])}" for name, at in zip(names, order, strict=False)]
    return ", ".join(words + ([f"+{len(order) - most} more"] if len(order) > most else [])) or "no rows"


def title_words(split: Split, decimals: int) -> str:
    """A split -> a question whose answer is yes on the left, or the feature if there are many children."""
    if split.categories is not None:
        return f"{split.name}?"
    if split.left is not None and split.right is not None:
        if not split.left or not split.right:
            return f"{split.name} {'known' if split.left else 'missing or new'}"
        if len(split.left) <= len(split.right) or len(split.left) <= NAMED_CATEGORIES:
            return f"{split.name} in {_set_words(split.left)}"
        return f"{split.name} not in {_set_words(split.right)}"
    if split.threshold is None or np.isinf(split.threshold):
        return f"{split.name} known"
    at, below = as_limit(split.threshold)
    return f"{split.name} {'<' if below else '≤'} {number_words(at, decimals)}"


def answer_words(split: Split) -> list[str]:
    """A split -> the answer that leads to each child."""
    if split.categories is not None:
        return [*map(_value_words, split.categories), "missing or new"]
    if split.left == [] or split.right == [] or (split.threshold is not None and np.isinf(split.threshold)):
        return ["yes", "no"]
    left, right = ("yes or missing", "no") if split.missing_left else ("yes", "no or missing")
    return [left, right]


def number_words(value: float, decimals: int) -> str:
    """A threshold with this many decimals, or with four digits if that would round it too much."""
    plain = f"{value:.{decimals}f}"
    off = abs(float(plain) - value)
    return plain if value == 0 or (abs(value) < 1e7 and off <= 0.01 * abs(value)) else f"{value:.4g}"


def spelt(words: str) -> str:
    """Text -> the same with escapes for control characters and halves of surrogate pairs, which no picture has."""
    return _NOT_IN_XML.sub(lambda found: found[0].encode("unicode_escape").decode(), words)


def _set_words(values: list[Any]) -> str:
    """Categories -> the first few of them in braces, and how many more."""
    more = len(values) - NAMED_CATEGORIES
    return "{" + ", ".join(map(_value_words, values[:NAMED_CATEGORIES])) + (f", +{more}" if more > 0 else "") + "}"


def _value_words(value: Any) -> str:
    """A category as text, in quotation marks if it is blank."""
    words = str(value)
    return words if words.strip() else repr(words)


def are_doubles(categories: NDArray[Any]) -> bool:
    """Whether every category is a number that a double holds exactly."""
    if categories.dtype.kind not in "iufb":
        return False
    return all(float(value) == value for value in categories.tolist())


def python_tuple(values: list[Any]) -> str:
    """The text of a tuple."""
    return f"({', '.join(map(python_value, values))}{',' if len(values) == 1 else ''})"


def python_value(value: Any) -> str:
    """The text of a value; infinities, which have no literal, are written as ``float("inf")``."""
    infinite = isinstance(value, float) and math.isinf(value)
    return f'float("{value}")' if infinite else repr(value)


def c_number(value: float) -> str:
    """A double -> text from which C reads the same double."""
    if math.isinf(value):
        return "-INFINITY" if value < 0 else "INFINITY"
    return repr(float(value))


def c_strings(values: list[Any]) -> str:
    """A brace-enclosed list of string literals, None as a null pointer."""
    return "{" + ", ".join("0" if value is None else f'"{_c_escaped(str(value))}"' for value in values) + "}"


def _c_escaped(text: str) -> str:
    """Text as UTF-8 bytes in octal escapes, because a hexadecimal escape would include the digits that follow it."""
    safe = {byte for byte in range(32, 127) if chr(byte) not in '"\\?'}
    return "".join(chr(byte) if byte in safe else f"\\{byte:03o}" for byte in text.encode("utf-8", "replace"))
