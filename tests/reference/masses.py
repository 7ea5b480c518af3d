"""Masses, slowly: sets as frozensets, numbers as rationals, every definition as it is written."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from itertools import chain, combinations, product

import numpy as np

Set = frozenset[int]
Mass = dict[Set, Fraction]


def subsets(frame: Set) -> Iterator[Set]:
    members = sorted(frame)
    return map(frozenset, chain.from_iterable(combinations(members, size) for size in range(len(members) + 1)))


def frame_of(n_classes: int) -> Set:
    return frozenset(range(n_classes))


def mask(members: Set) -> int:
    return sum(2**k for k in members)


def from_array(values: Sequence[Fraction]) -> Mass:
    n_classes = (len(values) - 1).bit_length()
    return {a: Fraction(values[mask(a)]) for a in subsets(frame_of(n_classes))}


def to_array(values: dict[Set, Fraction] | dict[Set, float]) -> np.ndarray:
    table = np.zeros(len(values))
    for members, value in values.items():
        table[mask(members)] = float(value)
    return table


def frame(m: Mass) -> Set:
    return max(m, key=len)


# ---- the functions that stand for a mass ---------------------------------------------------------------------


def belief(m: Mass) -> Mass:
    return {a: sum((m[b] for b in m if b and b <= a), Fraction(0)) for a in m}


def implicability(m: Mass) -> Mass:
    return {a: sum((m[b] for b in m if b <= a), Fraction(0)) for a in m}


def plausibility(m: Mass) -> Mass:
    return {a: sum((m[b] for b in m if b & a), Fraction(0)) for a in m}


def commonality(m: Mass) -> Mass:
    return {a: sum((m[b] for b in m if b >= a), Fraction(0)) for a in m}


def conjunctive_weights(m: Mass) -> Mass:
    q = commonality(m)
    weights = {
        a: math.prod((q[b] ** (-((-1) ** (len(b) - len(a)))) for b in m if b >= a), start=Fraction(1)) for a in m
    }
    return weights | {frame(m): Fraction(1)}


def disjunctive_weights(m: Mass) -> Mass:
    b = implicability(m)
    weights = {
        a: math.prod((b[c] ** (-((-1) ** (len(a) - len(c)))) for c in m if c <= a), start=Fraction(1)) for a in m
    }
    return weights | {frozenset(): Fraction(1)}


def mass_from_conjunctive_weights(weights: Mass) -> Mass:
    """The conjunctive combination of generalised simple masses: w(A) on the frame, 1 - w(A) on A."""
    whole = frame(weights)
    combined = vacuous(whole)
    for a, w in weights.items():
        if a != whole:
            combined = conjunctive([combined, dict.fromkeys(weights, Fraction(0)) | {a: 1 - w, whole: w}])
    return combined


def mass_from_disjunctive_weights(weights: Mass) -> Mass:
    """The disjunctive combination of generalised negative simple masses: v(A) on the empty set, 1 - v(A) on A."""
    combined = dict.fromkeys(weights, Fraction(0)) | {frozenset(): Fraction(1)}
    for a, v in weights.items():
        if a:
            combined = disjunctive([combined, dict.fromkeys(weights, Fraction(0)) | {a: 1 - v, frozenset(): v}])
    return combined


def vacuous(whole: Set) -> Mass:
    return dict.fromkeys(subsets(whole), Fraction(0)) | {whole: Fraction(1)}


# ---- combination ---------------------------------------------------------------------------------------------


def tuples(masses: Sequence[Mass]) -> Iterator[tuple[tuple[Set, ...], Fraction]]:
    """Every tuple of focal sets and the product of their masses."""
    focal = [[a for a in m if m[a]] for m in masses]
    for sets in product(*focal):
        yield sets, math.prod((m[a] for m, a in zip(masses, sets, strict=True)), start=Fraction(1))


def gather(masses: Sequence[Mass], target: Callable[[tuple[Set, ...]], Set]) -> Mass:
    combined = dict.fromkeys(masses[0], Fraction(0))
    for sets, value in tuples(masses):
        combined[target(sets)] += value
    return combined


def meet(sets: tuple[Set, ...]) -> Set:
    return frozenset.intersection(*sets)


def join(sets: tuple[Set, ...]) -> Set:
    return frozenset.union(*sets)


def conjunctive(masses: Sequence[Mass]) -> Mass:
    return gather(masses, meet)


def disjunctive(masses: Sequence[Mass]) -> Mass:
    return gather(masses, join)


def normalised(m: Mass) -> Mass:
    return {a: value / (1 - m[frozenset()]) if a else Fraction(0) for a, value in m.items()}


def dempster(masses: Sequence[Mass]) -> Mass:
    return normalised(conjunctive(masses))


def yager(masses: Sequence[Mass]) -> Mass:
    return gather(masses, lambda sets: meet(sets) or frame(masses[0]))


def dubois_prade(masses: Sequence[Mass]) -> Mass:
    return gather(masses, lambda sets: meet(sets) or join(sets))


def pcr6(masses: Sequence[Mass]) -> Mass:
    combined = dict.fromkeys(masses[0], Fraction(0))
    for sets, value in tuples(masses):
        if meet(sets):
            combined[meet(sets)] += value
        else:
            own = [m[a] for m, a in zip(masses, sets, strict=True)]
            for a, part in zip(sets, own, strict=True):
                combined[a] += value * part / sum(own)
    return combined


def mean(masses: Sequence[Mass], weights: Sequence[int]) -> Mass:
    return {a: sum(w * m[a] for w, m in zip(weights, masses, strict=True)) / sum(weights) for a in masses[0]}


def cautious(masses: Sequence[Mass]) -> Mass:
    weights = [conjunctive_weights(m) for m in masses]
    return mass_from_conjunctive_weights({a: min(w[a] for w in weights) for a in masses[0]})


def bold(masses: Sequence[Mass]) -> Mass:
    weights = [disjunctive_weights(m) for m in masses]
    return mass_from_disjunctive_weights({a: min(v[a] for v in weights) for a in masses[0]})


def frank(x: float, y: float, s: float) -> float:
    """Frank's t-norm as it is written."""
    return math.log(1 + (s**x - 1) * (s**y - 1) / (s - 1), s)


def tnorm(masses: Sequence[Mass], s: float) -> Mass:
    first, *rest = [conjunctive_weights(m) for m in masses]
    for w in rest:
        first = {
            a: Fraction(frank(float(first[a]), float(w[a]), s)) if max(first[a], w[a]) <= 1 else min(first[a], w[a])
            for a in first
        }
    return mass_from_conjunctive_weights(first)


# ---- change --------------------------------------------------------------------------------------------------


def discounted(m: Mass, rate: Fraction) -> Mass:
    return {a: (1 - rate) * value + (rate if a == frame(m) else 0) for a, value in m.items()}


def discounted_by_context(m: Mass, rates: Sequence[Fraction], contexts: Sequence[Set]) -> Mass:
    for rate, context in zip(rates, contexts, strict=True):
        m = disjunctive([m, dict.fromkeys(m, Fraction(0)) | {frozenset(): 1 - rate, context: rate}])
    return m


def conditioned(m: Mass, event: Set) -> Mass:
    return conjunctive([m, dict.fromkeys(m, Fraction(0)) | {event: Fraction(1)}])


# ---- distributions, uncertainty, distance --------------------------------------------------------------------


def pignistic(m: Mass) -> list[Fraction]:
    normal = normalised(m)
    return [sum((normal[a] / len(a) for a in m if k in a), Fraction(0)) for k in sorted(frame(m))]


def non_specificity(m: Mass) -> float:
    return sum(float(value) * math.log2(len(a)) for a, value in m.items() if value)


def discord(m: Mass) -> float:
    bet = pignistic(m)
    return -sum(float(value) * math.log2(sum(bet[k] for k in a)) for a, value in m.items() if value)


def deng(m: Mass) -> float:
    return -sum(float(value) * math.log2(value / (2 ** len(a) - 1)) for a, value in m.items() if value)


def jousselme(one: Mass, other: Mass) -> float:
    """Sets that neither mass gives anything to may be left out, so frames can be large."""

    def alike(a: Set, b: Set) -> Fraction:
        return Fraction(len(a & b), len(a | b)) if a | b else Fraction(1)

    sets = set(one) | set(other)
    difference = {a: one.get(a, Fraction(0)) - other.get(a, Fraction(0)) for a in sets}
    square = sum(difference[a] * difference[b] * alike(a, b) for a in sets for b in sets)
    return math.sqrt(square / 2)


# ---- counts --------------------------------------------------------------------------------------------------


def idm(counts: Sequence[int], caution: Fraction) -> Mass:
    whole, room = frame_of(len(counts)), sum(counts) + caution
    if room == 0:
        return vacuous(whole)
    m = dict.fromkeys(subsets(whole), Fraction(0))
    for k, count in enumerate(counts):
        m[frozenset({k})] += Fraction(count) / room
    m[whole] += caution / room
    return m


def goodman_lower(counts: Sequence[float], quantile: float) -> dict[Set, float]:
    """Lower probabilities of all sets, by the formulas as they are written; quantile of order 1 - alpha/K."""
    whole, n, q = frame_of(len(counts)), sum(counts), quantile
    roots = [math.sqrt(q * (q + (4 * c * (n - c) / n if n else 0))) for c in counts]
    low = [(q + 2 * c - root) / (2 * (n + q)) for c, root in zip(counts, roots, strict=True)]
    high = [(q + 2 * c + root) / (2 * (n + q)) for c, root in zip(counts, roots, strict=True)]
    return {a: max(sum(low[k] for k in a), 1 - sum(high[k] for k in whole - a)) for a in subsets(whole)}


def moebius_inverse(lower: dict[Set, float]) -> dict[Set, float]:
    return {a: sum((-1) ** (len(a) - len(b)) * lower[b] for b in lower if b <= a) for a in lower}


def programme(lower: dict[Set, float]) -> tuple[list[Set], list[Set], np.ndarray, np.ndarray, np.ndarray]:
    """The linear programme without any shortcut: unknown sets, constrained sets, gains, rows, right-hand sides."""
    whole = max(lower, key=len)
    unknown = [a for a in lower if a]
    limited = [a for a in lower if a and a != whole]
    gains = np.array([2.0 ** (len(whole) - len(a)) for a in unknown])
    rows = np.array([[float(b <= a) for b in unknown] for a in limited])
    return unknown, limited, gains, rows, np.array([lower[a] for a in limited])


def mode_contour(counts: Sequence[int]) -> list[float]:
    """Relative likelihood of the best theta whose largest entry is class k: k and the classes above it level."""

    def log_likelihood(theta: Sequence[Fraction]) -> float:
        return sum(c * math.log(t) for c, t in zip(counts, theta, strict=True) if c)

    n = sum(counts)
    best = log_likelihood([Fraction(c, n) for c in counts])
    contour = []
    for k in range(len(counts)):
        candidates = []
        others = [j for j in range(len(counts)) if j != k]
        for size in range(len(counts)):
            for tied in combinations(others, size):
                level = Fraction(counts[k] + sum(counts[j] for j in tied), n * (size + 1))
                theta = [level if j == k or j in tied else Fraction(c, n) for j, c in enumerate(counts)]
                if max(theta) == level:
                    candidates.append(log_likelihood(theta))
        contour.append(math.exp(max(candidates) - best))
    return contour
