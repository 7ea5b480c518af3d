"""Descriptions of trees, checks of models, and the export to indented text."""

from __future__ import annotations

import math
import re
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from hedgerow.belief.leaf import idm_bounds
from hedgerow.forest.walk import MOST_DEPTH, Held, Tree, TreeNode, as_limit
from hedgerow.inference.fitted import Fitted
from hedgerow.inference.predictor import predictor_of
from hedgerow.table.schema import Array

if TYPE_CHECKING:
    from sklearn.base import BaseEstimator


Category = str | bool | int | float

#: Destination of an answer: whether it is a leaf, and the number of its node or of the next question.
Target = tuple[bool, int]
_Format = TypeVar("_Format")


@dataclass(frozen=True)
class BranchQuestion:
    """Binary question: whether a value is at most a threshold, or in a set of categories.

    Parameters
    ----------
    feature : int
        The feature of the question.
    threshold : float or None
        The answer is yes for values up to it.
    among : list or None
        For a categorical feature, the categories for which the answer is yes; for missing and new ones it is no.
    missing_yes : bool
        Whether the answer is yes for a missing value; always False for categories.
    yes, no : (bool, int)
        Whether a leaf follows, and the number of the leaf's node or of the next question.
    """

    feature: int
    threshold: float | None
    among: list[Category] | None
    missing_yes: bool
    yes: Target
    no: Target


def questions_of(tree: Tree) -> list[BranchQuestion]:
    """Convert a tree to questions, the root's first.

    A single leaf has one question with equal answers.
    """
    if tree.is_leaf[0]:
        return [BranchQuestion(0, 0.0, None, False, (True, 0), (True, 0))]
    first = _first_questions(tree)
    questions: list[BranchQuestion] = []
    for number in range(tree.n_nodes):
        if not tree.is_leaf[number]:
            questions += _questions_of_node(tree, number, first)
    return questions


def _first_questions(tree: Tree) -> dict[int, int]:
    """Number the first question of each node.

    A node with m children has m - 1 questions.
    """
    first, n_questions = {}, 0
    for number in range(tree.n_nodes):
        if not tree.is_leaf[number]:
            first[number] = n_questions
            n_questions += int(tree.n_children[number]) - 1
    return first


def _questions_of_node(tree: Tree, number: int, first: dict[int, int]) -> list[BranchQuestion]:
    """Return the questions of an inner node."""
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
        # Neither list contains missing and new categories, so ask for the side they do not go to.
        if split.missing_left:
            return [BranchQuestion(split.feature, None, split.right, False, right, left)]
        return [BranchQuestion(split.feature, None, split.left, False, left, right)]
    return [BranchQuestion(split.feature, split.threshold, None, split.missing_left, left, right)]


Floats = NDArray[np.float64]

#: Number of categories of a set named in a drawing.
NAMED_CATEGORIES = 3
#: Characters that XML excludes or discourages.
_NOT_IN_XML = re.compile(r"[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


@dataclass(frozen=True)
class Split:
    """Split of an inner node.

    Parameters
    ----------
    feature, name : int, str
        The feature of the split.
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
    left: list[Category] | None
    right: list[Category] | None
    categories: list[Category] | None
    missing_left: bool


def tree_of(model: Tree | BaseEstimator) -> Tree:
    """Return the tree of a single-tree estimator, or the tree itself."""
    try:
        tree = model if isinstance(model, Tree) else model.tree_
    except AttributeError:
        tree = None
    if not isinstance(tree, Tree):
        raise TypeError(
            f"tree must be a Tree or a fitted single-tree estimator, got {type(model).__name__}."
            " For a forest, pass one of forest.trees_."
        )
    return tree


def split_of(node: TreeNode) -> Split:
    """Return the split of an inner node."""
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
    """Raise a ValueError unless the caution is None or a finite number >= 0."""
    if caution is not None and not (np.isfinite(caution) and caution >= 0):
        raise ValueError(f"caution must be a finite number >= 0 or None, got {caution!r}.")


def interval_words(held: Held, classes: Array, caution: float) -> str:
    """Describe the most probable class of a leaf and the bounds of its probability."""
    labels, rows, weights = held if len(held.labels) else (np.zeros(1, dtype=np.int64), np.zeros(1), np.zeros(1))
    evidence = rows.sum() * weights / (weights.sum() or 1.0)
    lower, upper = idm_bounds(evidence[None], caution)
    best = int(evidence.argmax())
    return f"{classes[labels[best : best + 1]].tolist()[0]} in [{lower[0, best]:.2f}, {upper[0, best]:.2f}]"


def count_words(held: Held, classes: Array, most: int) -> str:
    """List the class counts of a node, at most the `most` largest by name."""
    order = [at for at in np.argsort(-held.rows, kind="stable").tolist() if held.rows[at]]
    names = classes[held.labels[order[:most]]].tolist()
    words = [f"{name}: {int(held.rows[at])}" for name, at in zip(names, order, strict=False)]
    return ", ".join(words + ([f"+{len(order) - most} more"] if len(order) > most else [])) or "no rows"


def title_words(split: Split, decimals: int) -> str:
    """Describe a split as a question with the answer yes on the left.

    With many children, name the feature.
    """
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
    """Return the answer that leads to each child of a split."""
    if split.categories is not None:
        return [*map(_value_words, split.categories), "missing or new"]
    if split.left == [] or split.right == [] or (split.threshold is not None and np.isinf(split.threshold)):
        return ["yes", "no"]
    left, right = ("yes or missing", "no") if split.missing_left else ("yes", "no or missing")
    return [left, right]


def number_words(value: float, decimals: int) -> str:
    """Format a threshold with this many decimals, or with four digits if that would round it too much."""
    plain = f"{value:.{decimals}f}"
    off = abs(float(plain) - value)
    return plain if value == 0 or (abs(value) < 1e7 and off <= 0.01 * abs(value)) else f"{value:.4g}"


def xml_safe(words: str) -> str:
    """Escape control characters and unpaired surrogates, which XML does not allow."""
    return _NOT_IN_XML.sub(lambda found: found[0].encode("unicode_escape").decode(), words)


def _set_words(values: list[Category]) -> str:
    """List the first few categories in braces, and the number of others."""
    more = len(values) - NAMED_CATEGORIES
    return "{" + ", ".join(map(_value_words, values[:NAMED_CATEGORIES])) + (f", +{more}" if more > 0 else "") + "}"


def _value_words(value: Category) -> str:
    """Format a category, in quotation marks if it is blank."""
    words = str(value)
    return words if words.strip() else repr(words)


def are_doubles(categories: Array) -> bool:
    """Return whether all categories are numbers that doubles represent exactly."""
    if categories.dtype.kind not in "iufb":
        return False
    return all(float(value) == value for value in categories.tolist())


def python_tuple(values: Sequence[object]) -> str:
    """Write a tuple in Python."""
    return f"({', '.join(map(python_value, values))}{',' if len(values) == 1 else ''})"


def python_value(value: object) -> str:
    """Write a value in Python.

    Infinities, which have no literal, as ``float("inf")``.
    """
    infinite = isinstance(value, float) and math.isinf(value)
    return f'float("{value}")' if infinite else repr(value)


def c_number(value: float) -> str:
    """Write a double in C, exactly."""
    if math.isinf(value):
        return "-INFINITY" if value < 0 else "INFINITY"
    return repr(float(value))


def c_strings(values: Sequence[object]) -> str:
    """Write a list of string literals in C, with None as a null pointer."""
    return "{" + ", ".join("0" if value is None else f'"{_c_escaped(str(value))}"' for value in values) + "}"


def _c_escaped(text: str) -> str:
    """Escape UTF-8 bytes in octal, because hexadecimal escapes have no fixed length."""
    safe = {byte for byte in range(32, 127) if chr(byte) not in '"\\?'}
    return "".join(chr(byte) if byte in safe else f"\\{byte:03o}" for byte in text.encode("utf-8", "replace"))


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


def exported(model: BaseEstimator, formats: Mapping[str, _Format]) -> tuple[Any, _Format]:
    """Return the predictor of a fitted model and its format, by prediction type.

    Raise an error if unsupported.
    """
    wanted = "forest must be a fitted classifier or regressor of hedgerow"
    predictor = predictor_of(model, wanted)
    if not predictor.predicts:
        raise TypeError(f"{wanted}, got {type(model).__name__}")
    if predictor.kind not in formats and not len(predictor.classes):
        name = type(model).__name__
        raise NotImplementedError(f"This export does not support {name}. Share the model file (hedgerow.save) instead.")
    if predictor.kind not in formats:
        raise NotImplementedError(
            f"This export does not support {type(model).__name__}, whose trees separate two classes each. Export single"
            " trees with export_code."
        )
    if model.novelty is not None:
        raise NotImplementedError(
            f"novelty must be None for an export, got {model.novelty!r}. Use set_params(novelty=None)."
        )
    return predictor, formats[predictor.kind]


def require_certain_labels(predictor: Any) -> None:
    """Raise an error for a classifier fitted to uncertain labels or cells, whose bounds cannot be exported."""
    if predictor.kind == "classes" and predictor.has_gaps:
        raise NotImplementedError(
            "This export does not support classifiers fitted to uncertain labels or cells, whose bounds depend on the"
            " masses of sets of classes. Export probabilities with to_sklearn or to_treelite."
        )


class Support(NamedTuple):
    """Limits of the values that hedgerow treats as known, for each of p features.

    Numbers below `low` or above `high`, missing values where `gapless`, and new categories where `used` are out of
    support. Without `used` a feature has no limits.
    """

    low: NDArray[np.float64]
    high: NDArray[np.float64]
    gapless: NDArray[np.bool_]
    used: NDArray[np.bool_]


def support_of(fitted: Fitted) -> Support:
    """Return the limits of known values; there are none with ``unseen="larger"``."""
    forest, n_features = fitted.forest, fitted.schema.n_features
    used, gapless = np.zeros((2, n_features), dtype=bool)
    if forest.structure.unseen is not None:
        used[forest.used_features] = True
        gapless[forest.gapless_features] = True
    low, high = fitted.codebook.far
    return Support(np.where(used, low, -np.inf), np.where(used, high, np.inf), gapless, used)


def check_averages(predictor: Any, trees: list[Tree], program: str) -> None:
    """Raise an error for rules that are not means over trees and for empty leaves.

    Warn of a calibrator.
    """
    if not predictor.is_mean:
        raise NotImplementedError(
            f"rule must be a mean over trees for {program}, got {predictor.plain_rule!r}. Use another rule, or to_onnx."
        )
    if predictor.skips_empty and not all(tree.counts[tree.is_leaf].sum(axis=1).all() for tree in trees):
        raise NotImplementedError(
            f"{program} does not support empty leaves, which the rule skips. Refit with leaf_counts='all'."
        )
    if predictor.is_calibrated:
        warnings.warn(
            f"{program} does not support calibrators, so its probabilities are uncalibrated. Use to_onnx to keep the"
            " calibrator, or set calibration=None for the same probabilities here.",
            UserWarning,
            stacklevel=3,
        )


def require(package: str) -> None:
    """Raise an ImportError if a package is not installed."""
    if find_spec(package) is None:
        raise ImportError(f"This export requires {package}. Install it with pip install {package}.")
