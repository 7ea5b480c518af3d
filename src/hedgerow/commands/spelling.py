"""Spelling: texts that differ only by spaces or case -> one text."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow.safe.text import folded
from hedgerow.table import Factors


def merged(found: Factors) -> tuple[Factors, dict[str, list[str]]]:
    """Texts with codes -> one text, the most frequent, for all its spellings; and which others it stands for."""
    values = found.values.tolist()
    keys = [folded(text) for text in values]
    if len(set(keys)) == len(keys):
        return found, {}
    counts = np.bincount(found.codes[found.codes >= 0], minlength=len(values))
    best: dict[str, int] = {}
    for place, key in enumerate(keys):
        if key not in best or counts[place] > counts[best[key]]:
            best[key] = place
    kept = sorted(best.values())
    code_of = np.append(np.array([kept.index(best[key]) for key in keys], dtype=found.codes.dtype), -1)
    others: dict[str, list[str]] = {}
    for place, key in enumerate(keys):
        if place != best[key]:
            others.setdefault(values[best[key]], []).append(values[place])
    return Factors(code_of[found.codes], found.values[kept]), others


def known_places(texts: Iterable[Any], known: NDArray[Any], *, exact: bool) -> list[int]:
    """Texts and known texts (k,) -> the place of each among the known, else of its only spelling, else -1."""
    place = {label: number for number, label in enumerate(known.tolist())}
    keys: dict[str, int] = {}
    for label, number in place.items():
        if isinstance(label, str):
            keys[folded(label)] = -1 if folded(label) in keys else number  # two known spellings: neither
    found = []
    for text in texts:
        same = place.get(text, -1)
        found.append(same if same >= 0 or exact or not isinstance(text, str) else keys.get(folded(text), -1))
    return found
