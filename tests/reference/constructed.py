"""Constructed: samples whose cause of doubt is known; ``python -m tests.reference.constructed`` prints their shares.

Each case is a forest, a sample and the cause that must come out on top.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from hedgerow import RandomForestClassifier
from hedgerow.explain.words import percents

CAUSES = ("few", "overlap", "disagree", "missing", "out_of_range")


class Constructed(NamedTuple):
    """A forest, a sample (1, p), and the cause of doubt."""

    forest: Any
    sample: np.ndarray
    cause: str


def three_cases() -> Constructed:
    """Two hundred common cases, and three rare ones far away; the sample lies among the three; caution 5."""
    draw = np.random.default_rng(0)
    X = np.concatenate([draw.random((200, 2)), [5.0, 0.0] + 0.1 * draw.random((3, 2))])
    forest = RandomForestClassifier(caution=5.0, random_state=0).fit(X, ["common"] * 200 + ["rare"] * 3)
    return Constructed(forest, np.array([[5.05, 0.05]]), "few")


def coins() -> Constructed:
    """Labels are tossed coins; every tree ends in pure leaves of a few rows."""
    draw = np.random.default_rng(1)
    forest = RandomForestClassifier(random_state=0).fit(draw.random((1000, 3)), draw.integers(0, 2, 1000))
    return Constructed(forest, np.array([[0.5, 0.5, 0.5]]), "overlap")


def equal_rows() -> Constructed:
    """Six hundred rows of four kinds, labels are tossed coins; no tree can tell rows of one kind apart."""
    draw = np.random.default_rng(2)
    forest = RandomForestClassifier(random_state=0).fit(draw.integers(0, 2, (600, 2)), draw.integers(0, 2, 600))
    return Constructed(forest, np.array([[0, 1]]), "overlap")


def two_witnesses() -> Constructed:
    """Two features that always said the same, each of them alone enough; in the sample they contradict each other."""
    draw = np.random.default_rng(3)
    y = draw.integers(0, 2, 400)
    forest = RandomForestClassifier(max_features=1, random_state=0).fit(y[:, None] + draw.normal(0, 0.1, (400, 2)), y)
    return Constructed(forest, np.array([[0.0, 1.0]]), "disagree")


def the_key_is_missing() -> Constructed:
    """One feature decides, and the sample lacks it."""
    forest, sample = _one_decides()
    return Constructed(forest, np.array([[np.nan, *sample]]), "missing")


def far_outside() -> Constructed:
    """One feature decides, and its value in the sample is thirty times as far out as training went."""
    forest, sample = _one_decides()
    return Constructed(forest, np.array([[60.0, *sample]]), "out_of_range")


def _one_decides() -> tuple[Any, list[float]]:
    draw = np.random.default_rng(4)
    y = draw.integers(0, 2, 400)
    X = np.column_stack([y + draw.normal(0, 0.1, 400), draw.random((400, 2))])
    X[draw.random(400) < 0.1, 0] = np.nan
    return RandomForestClassifier(random_state=0).fit(X, y), [0.5, 0.5]


ALL: dict[str, Callable[[], Constructed]] = {
    "three similar cases, caution 5": three_cases,
    "coins, leaves grown until pure": coins,
    "coins, rows that cannot be told apart": equal_rows,
    "two witnesses that contradict each other": two_witnesses,
    "the value that decides is missing": the_key_is_missing,
    "the value that decides is far outside": far_outside,
}


def table() -> str:
    """-> the table of the documentation: per cents of each cause."""
    lines = [f"| case | {' | '.join(CAUSES)} |", "|---|" + "---|" * len(CAUSES)]
    for name, make in ALL.items():
        case = make()
        doubt = case.forest.explain(case.sample, time_limit=0, shap=False)[0].uncertainty
        shares = dict(zip([each.cause for each in doubt], percents(each.share for each in doubt), strict=True))
        cells = [f"**{shares[cause]}%**" if cause == case.cause else f"{shares[cause]}%" for cause in CAUSES]
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return "\n".join(lines)


if __name__ == "__main__":
    print(table())
