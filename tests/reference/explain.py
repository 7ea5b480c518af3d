"""Explanations by their definitions, slowly: doubt in fractions, the smallest change by trying everything."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import numpy as np

from hedgerow.explain.change import Limits, Space
from hedgerow.explain.question import counts_of, only_class


def doubt(leaves: list[list[int]], caution: Fraction, distrust: list[Fraction]) -> list[Fraction]:
    """Counts of the leaves reached, caution, distrust of each leaf -> few, overlap, disagree, missing, outside."""
    n_trees, n_classes = len(leaves), len(leaves[0])
    few = outside = Fraction(0)
    held, shares, rows = [], [], []
    for counts, astray in zip(leaves, distrust, strict=True):
        n = Fraction(sum(counts))
        unseen = caution / (n + caution) if n else Fraction(1)
        few += unseen / n_trees
        outside += (1 - unseen) * astray / n_trees
        held.append((1 - unseen) * (1 - astray) / n_trees)
        shares.append([Fraction(count) / n if n else Fraction(0) for count in counts])
        rows.append(n)
    by_class = [sum(h * p[k] for h, p in zip(held, shares, strict=True)) for k in range(n_classes)]
    first, second = [*sorted(by_class, reverse=True), Fraction(0)][:2]
    rivals = sum(by_class) - (first - second)
    apart = _apart(held, shares, rows)
    return [few, rivals * (1 - apart), rivals * apart, Fraction(0), outside]


def _apart(held: list[Fraction], shares: list[list[Fraction]], rows: list[Fraction]) -> Fraction:
    """The part of the mixture that lies between trees, beyond chance."""
    total = sum(held)
    if total == 0:
        return Fraction(0)
    weight = [h / total for h in held]
    mean = [sum(w * p[k] for w, p in zip(weight, shares, strict=True)) for k in range(len(shares[0]))]
    impurity = 1 - sum(m * m for m in mean)
    if impurity == 0:
        return Fraction(0)
    between = impurity - sum(w * (1 - sum(x * x for x in p)) for w, p in zip(weight, shares, strict=True))
    chance = Fraction(0)
    for w, p, n in zip(weight, shares, rows, strict=True):
        agrees = sum(x * m for x, m in zip(p, mean, strict=True))
        chance += w / max(n * (1 - agrees), Fraction(1))
    return min(max(between / impurity - chance, Fraction(0)), Fraction(1))


def cheapest(space: Space, codes: np.ndarray, values: list[float], limits: Limits, wanted: int | None) -> float | None:
    """One sample -> what the cheapest of all points costs that are allowed and leave one class; None if none does."""
    now, choices = space.predictor, []
    for feature in space.features.tolist():
        at, last = int(codes[feature]), int(now.fitted.bins.n_bins[feature])
        if at == now.codebook.missing_code or feature in limits.immutable:
            choices.append([at])
        else:
            low = at if feature in limits.increasing else 0
            choices.append(list(range(low, at + 1 if feature in limits.decreasing else last)))
    points = np.array(list(product(*choices)))
    filled = np.repeat(codes[:, None], len(points), axis=1)
    filled[space.features] = points.T
    alone = only_class(now, counts_of(now, filled), None)
    fine = (alone >= 0 if wanted is None else alone == wanted) & _plausible(now, codes, filled)
    costs = [_cost(now, space, codes, values, point) for point in points[fine]]
    return min(costs, default=None)


def _plausible(now, codes: np.ndarray, filled: np.ndarray) -> np.ndarray:
    """(p,), (p, n) -> (n,): whether every leaf holds rows of its own, or is one the sample itself reaches."""
    own, nodes = now.forest.leaf_nodes(codes[:, None].copy()), now.forest.leaf_nodes(filled)
    fine = np.ones(len(nodes), dtype=bool)
    for number, tree in enumerate(now.fitted.trees()):
        held = (tree.counts.sum(axis=1) > 0) & ~tree.is_borrowed
        fine &= held[nodes[:, number]] | (nodes[:, number] == own[0, number])
    return fine


def _cost(now, space: Space, codes: np.ndarray, values: list[float], point: np.ndarray) -> float:
    """Shares of the training range moved, one for another category."""
    total = 0.0
    for feature, code in zip(space.features.tolist(), point.tolist(), strict=True):
        if code == codes[feature]:
            continue
        if now.fitted.bins.nominal[feature]:
            total += 1.0
        else:
            low, high = now.codebook.range_of(feature)
            total += abs(now.codebook.value_of_code(feature, code) - values[feature]) / (high - low)
    return total
