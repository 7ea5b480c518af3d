"""Branches: a tree -> a list of yes-or-no questions, for programs that have only binary trees."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from hedgerow.exchange.export.describe import split_of
from hedgerow.forest.walk import Tree

#: Where an answer leads: whether to a leaf, and the number of the leaf's node or of the next question.
Target = tuple[bool, int]


@dataclass(frozen=True)
class Question:
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


def questions_of(tree: Tree) -> list[Question]:
    """A tree -> its questions, the root's first; a tree of a single leaf gets one question that does not matter."""
    if tree.is_leaf[0]:
        return [Question(0, 0.0, None, False, (True, 0), (True, 0))]
    first = _first_questions(tree)
    questions: list[Question] = []
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


def _questions_of_node(tree: Tree, number: int, first: dict[int, int]) -> list[Question]:
    """An inner node -> its questions."""
    node = tree.at(number)
    split = split_of(node)
    places = [(child.is_leaf, child.number if child.is_leaf else first[child.number]) for child in node.children]
    if split.categories is not None:
        following: list[Target] = [(False, first[number] + i + 1) for i in range(len(split.categories) - 1)]
        return [
            Question(split.feature, None, [value], False, places[i], after)
            for i, (value, after) in enumerate(zip(split.categories, [*following, places[-1]], strict=True))
        ]
    left, right = places
    if split.left is not None and split.right is not None:
        # Neither list has missing and new categories, so ask about the side they do not go to.
        if split.missing_left:
            return [Question(split.feature, None, split.right, False, right, left)]
        return [Question(split.feature, None, split.left, False, left, right)]
    return [Question(split.feature, split.threshold, None, split.missing_left, left, right)]
