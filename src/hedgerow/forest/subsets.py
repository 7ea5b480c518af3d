"""Subsets: which categories go left at a split -> the form in which trees store it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

#: The code of a subset split tells its form: 0 for bits; otherwise the first, plus the second if the listed categories
#: go right, plus their number.
IS_LIST, LISTS_RIGHT = 0x8000, 0x4000

#: A feature with up to so many categories never has lists, so that codes of one byte need not know them.
MOST_WITH_BITS = 255


class Subset(NamedTuple):
    """A subset of the categories of a feature, as trees store it.

    Its words are bits, one for each category, set if it goes left; or, where that takes at most a quarter of the words,
    the categories of its smaller side, ascending, two bytes each, the last repeated until the word is full.
    """

    form: int
    words: NDArray[np.uint64]


def subset_from(left: NDArray[np.bool_]) -> Subset:
    """Which categories go left (C,) -> the subset; the form depends on nothing else."""
    n_left = int(np.count_nonzero(left))
    right = 2 * n_left > len(left)
    n_listed = len(left) - n_left if right else n_left
    if len(left) <= MOST_WITH_BITS or 4 * n_list_words(n_listed) > n_words(len(left)):
        return Subset(0, words_from(left))
    listed = np.flatnonzero(left != right).astype("<u2")
    words = np.pad(listed, (0, -n_listed % 4), mode="edge" if n_listed else "empty").view(np.uint64)
    return Subset(IS_LIST | LISTS_RIGHT * right | n_listed, words)


def words_from(left: NDArray[np.bool_]) -> NDArray[np.uint64]:
    """Which categories go left (C,) -> words of 64 categories each."""
    bits = np.zeros(64 * n_words(len(left)), dtype=np.uint8)
    bits[: len(left)] = left
    return np.packbits(bits, bitorder="little").view(np.uint64)


def n_words(n_categories: int, form: int = 0) -> int:
    """The number of words that a subset of so many categories takes in this form."""
    return n_list_words(form & (LISTS_RIGHT - 1)) if form else (n_categories + 63) // 64


def n_list_words(n_listed: int) -> int:
    """The number of words that a list of so many categories takes."""
    return (n_listed + 3) // 4
