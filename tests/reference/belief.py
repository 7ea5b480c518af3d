"""Belief, slowly: one sample at a time, exact rationals and power sets -> the numbers the rules must give."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import combinations
from typing import Any

import numpy as np
from scipy.optimize import minimize

Leaf = Sequence[int]
Number = Fraction
HALF = Fraction(1, 2)


# ---- leaves -------------------------------------------------------------------------------------------------


def shares(leaf: Leaf) -> list[Number]:
    return [Fraction(c, sum(leaf)) for c in leaf]


def laplace(leaf: Leaf, alpha: Number) -> list[Number]:
    return [(c + alpha) / (sum(leaf) + len(leaf) * alpha) for c in leaf]


def votes(leaf: Leaf) -> list[Number]:
    winners = [c == max(leaf) for c in leaf]
    return [Fraction(int(w), sum(winners)) for w in winners]


def idm(leaf: Leaf, caution: Number) -> tuple[list[Number], list[Number]]:
    room = sum(leaf) + caution
    if sum(leaf) == 0:
        return [Fraction(0)] * len(leaf), [Fraction(1)] * len(leaf)
    return [c / room for c in leaf], [(c + caution) / room for c in leaf]


def undominated(leaf: Leaf, caution: Number, strict: bool = False) -> frozenset[int]:
    """By the bounds: a dominates b when lower(a) > upper(b), or unless strict >=, if they are not equal points."""
    lower, upper = idm(leaf, caution)
    classes = range(len(leaf))

    def beats(a: int, b: int) -> bool:
        return lower[a] > upper[b] or (not strict and lower[a] == upper[b] > lower[b])

    return frozenset(b for b in classes if not any(beats(a, b) for a in classes if a != b))


def forecast(p: int, q: int, k: int) -> Number:
    """Beta-binomial probability of k in p + q trials after p and q."""
    n = p + q

    def beta(a: int, b: int) -> Number:
        return Fraction(math.factorial(a - 1) * math.factorial(b - 1), math.factorial(a + b - 1))

    return math.comb(n, k) * beta(k + p + 1, n - k + q + 1) / beta(p + 1, q + 1)


def confidence_score(p: int, q: int) -> Number:
    n = p + q
    if n == 0:
        return Fraction(0)
    outcomes = [forecast(p, q, k) for k in range(n + 1)]
    middle = outcomes[n // 2] if n % 2 == 0 else (outcomes[n // 2] + outcomes[n // 2 + 1]) / 2
    return (1 - middle / max(outcomes)) * (Fraction(p, n) - HALF)


def confidence(leaf: Leaf) -> list[Number]:
    best = max(leaf)
    scores = [confidence_score(c, best) for c in leaf]
    odds = [(HALF + s) / (HALF - s) for s in scores]
    return [o / sum(odds) for o in odds]


def degree_of_two(p: int, q: int, bits: int = 60) -> Number:
    """pi+ by bisection with exact comparisons: the margin t where the likelihood of t has fallen to t."""
    n = p + q
    top = Fraction(p, n) ** p * Fraction(q, n) ** q

    def above(t: Number) -> bool:
        theta = (1 + t) / 2
        return theta**p * (1 - theta) ** q >= t * top

    low, high = max(Fraction(p - q, n), Fraction(0)), Fraction(1)
    if above(high):
        return high
    for _ in range(bits):
        middle = (low + high) / 2
        low, high = (middle, high) if above(middle) else (low, middle)
    return low


def degree_of_many(leaf: Leaf, k: int) -> float:
    """sup over theta of min(L(theta), theta_k - max theta_j), by a general solver."""
    n, classes = sum(leaf), len(leaf)
    peak = sum(c * math.log(c / n) for c in leaf if c)

    def log_likelihood(theta: Any) -> float:
        return sum(c * math.log(max(x, 1e-300)) for c, x in zip(leaf, theta, strict=True) if c) - peak

    def degree(theta: Any) -> float:
        margin = theta[k] - max(x for j, x in enumerate(theta) if j != k)
        return min(math.exp(log_likelihood(theta)), float(margin))

    rules: list[dict[str, Any]] = [
        {"type": "eq", "fun": lambda v: v[:-1].sum() - 1},
        {"type": "ineq", "fun": lambda v: log_likelihood(v[:-1]) - math.log(v[-1])},
    ]
    rules += [{"type": "ineq", "fun": lambda v, j=j: v[k] - v[j] - v[-1]} for j in range(classes) if j != k]
    best = 0.0
    for spread in (0.0, 0.2, 0.5, 0.9, 1 - 1e-9):
        start = np.full(classes, (1 - spread) / classes)
        start[k] += spread
        found = minimize(
            lambda v: -v[-1],
            np.append(start, max(degree(start), 1e-3)),
            method="SLSQP",
            bounds=[(1e-12, 1)] * (classes + 1),
            constraints=rules,
            options={"maxiter": 500, "ftol": 1e-14},
        )
        theta = np.maximum(found.x[:-1], 0)
        best = max(best, degree(theta / theta.sum()))
    return best


# ---- folds --------------------------------------------------------------------------------------------------


def mean(rows: Sequence[Sequence[Number]]) -> list[Number]:
    return [sum(column, Fraction(0)) / len(rows) for column in zip(*rows, strict=True)]


def filled(leaves: Sequence[Leaf]) -> list[Leaf]:
    return [leaf for leaf in leaves if sum(leaf)]


def averaged(
    leaves: Sequence[Leaf], caution: Number, of: Callable[[Leaf], list[Number]]
) -> tuple[list[Number], list[Number], list[Number]]:
    """lower, probability, upper of any mean of distributions, each held back by caution/(n + caution)."""
    lower, upper = [], []
    for leaf in leaves:
        held = caution / (sum(leaf) + caution) if sum(leaf) else Fraction(1)
        values = of(leaf) if sum(leaf) else [Fraction(0)] * len(leaf)
        lower.append([(1 - held) * v for v in values])
        upper.append([(1 - held) * v + held for v in values])
    return mean(lower), mean([of(leaf) for leaf in filled(leaves)]), mean(upper)


def eva(leaves: Sequence[Leaf], prior: Sequence[Number], smoothing: Number, power: int = 1) -> list[Number]:
    """P(y) prod P(y|w)/P(y), normalised; power 0 leaves the prior out."""
    used = filled(leaves)
    scores = []
    for k in range(len(leaves[0])):
        value = Fraction(1)
        for leaf in used:
            value *= (leaf[k] + smoothing) / (sum(leaf) + len(leaf) * smoothing)
        scores.append(value / prior[k] ** (power * (len(used) - 1)))
    return [s / sum(scores) for s in scores]


def eva_bounds(
    leaves: Sequence[Leaf], prior: Sequence[Number], smoothing: Number, caution: int
) -> tuple[list[Number], list[Number]]:
    """The range of EVA when the reserve of all leaves falls on one class, over the classes."""
    used, classes = filled(leaves), range(len(leaves[0]))
    moved = [
        eva([[c + caution * (k == j) for k, c in enumerate(leaf)] for leaf in used], prior, smoothing) for j in classes
    ]
    lower = [min(moved[j][k] for j in classes if j != k) for k in classes]
    return lower, [moved[k][k] for k in classes]


def belief(
    leaves: Sequence[Leaf], caution: Number, weight: Callable[[Leaf], Number]
) -> tuple[list[Number], list[Number], list[Number]]:
    """bel, pignistic, pl of S0's masses: the weight of each tree on its undominated set."""
    sets = [(undominated(leaf, caution), weight(leaf)) for leaf in leaves]
    total = sum(w for _, w in sets)
    classes = range(len(leaves[0]))
    bel = [sum((w for s, w in sets if s == {k}), Fraction(0)) / total for k in classes]
    pl = [sum((w for s, w in sets if k in s), Fraction(0)) / total for k in classes]
    bet = [sum((w / len(s) for s, w in sets if k in s), Fraction(0)) / total for k in classes]
    return bel, bet, pl


def mixture(values: Sequence[Number], theta: str) -> Number:
    ordered = sorted(values)
    size = len(ordered)
    median = (ordered[(size - 1) // 2] + ordered[size // 2]) / 2
    furthest = {ordered[0]: HALF - ordered[0], ordered[-1]: ordered[-1] - HALF}
    sides = {value for value, distance in furthest.items() if distance == max(furthest.values())}
    signed = sum(sides, Fraction(0)) / len(sides)
    centre = {"mean": sum(values, Fraction(0)) / size, "median": median, "max": signed}[theta]
    apart = [abs(v - centre) for v in values]
    if size == 1 or sum(apart) == 0:
        return sum(values, Fraction(0)) / size
    return sum((v - v * d / sum(apart) for v, d in zip(values, apart, strict=True)), Fraction(0)) / (size - 1)


# ---- power sets ---------------------------------------------------------------------------------------------


def support_mass(n_classes: int, k: int, s: Number) -> list[Number]:
    """Mass by bit mask: s on class k, the rest on the frame."""
    mass = [Fraction(0)] * (1 << n_classes)
    mass[1 << k] += s
    mass[-1] += 1 - s
    return mass


def conjunctive(a: Sequence[Number], b: Sequence[Number]) -> list[Number]:
    result = [Fraction(0)] * len(a)
    for i, x in enumerate(a):
        for j, y in enumerate(b):
            result[i & j] += x * y
    return result


def commonality(mass: Sequence[Number]) -> list[Number]:
    return [sum((m for b, m in enumerate(mass) if b & a == a), Fraction(0)) for a in range(len(mass))]


def conjunctive_weights(mass: Sequence[Number]) -> list[Number]:
    """Denœux's canonical decomposition: w(A) = prod over B containing A of q(B)^((-1)^(|B| - |A| + 1))."""
    q = commonality(mass)
    weights = []
    for a in range(len(mass) - 1):
        value = Fraction(1)
        for b in range(len(mass)):
            if b & a == a:
                odd = (b.bit_count() - a.bit_count()) % 2
                value = value * q[b] if odd else value / q[b]
        weights.append(value)
    return weights


def cautious(masses: Sequence[Sequence[Number]]) -> list[Number]:
    """The smallest weight of every set, then the conjunction of what they stand for."""
    smallest = [min(column) for column in zip(*(conjunctive_weights(m) for m in masses), strict=True)]
    size = len(masses[0])
    result = [Fraction(0)] * (size - 1) + [Fraction(1)]
    for a, w in enumerate(smallest):
        part = [Fraction(0)] * size
        part[a] += 1 - w
        part[-1] += w
        result = conjunctive(result, part)
    return result


def belief_of(mass: Sequence[Number], classes: int) -> Number:
    """Bel of a set (bit mask), normalised."""
    inside = sum((m for b, m in enumerate(mass) if b and b & ~classes == 0), Fraction(0))
    return inside / (1 - mass[0])


def plausibility_of(mass: Sequence[Number], classes: int) -> Number:
    """Pl of a set (bit mask), normalised."""
    return sum((m for b, m in enumerate(mass) if b & classes), Fraction(0)) / (1 - mass[0])


def pignistic(mass: Sequence[Number], k: int) -> Number:
    shared = sum((m / b.bit_count() for b, m in enumerate(mass) if b >> k & 1), Fraction(0))
    return shared / (1 - mass[0])


# ---- sets ---------------------------------------------------------------------------------------------------


def best_set(value: Callable[[frozenset[int]], Number], n_classes: int) -> tuple[Number, int]:
    """The largest value of a set of classes and the size of the smallest set that has it."""
    sets = [frozenset(c) for size in range(1, n_classes + 1) for c in combinations(range(n_classes), size)]
    top = max(value(s) for s in sets)
    return top, min(len(s) for s in sets if value(s) == top)
