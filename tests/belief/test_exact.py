"""Exact: the rules against rational arithmetic, power sets and exhaustive search."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from decimal import Decimal, localcontext
from fractions import Fraction
from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.reference import belief as slow

from hedgerow import combine
from hedgerow.belief import combine_masses, plausibility_degrees, preference, undominated
from hedgerow.rules import (
    Average,
    Belief,
    Cautious,
    CdmAve,
    CdmVote,
    ConfidenceBounds,
    Dempster,
    DominanceVote,
    DuboisPrade,
    Eva,
    GeneralisedMixture,
    IntervalConjunction,
    IntervalDisjunction,
    Laplace,
    Median,
    Ndc,
    Pool,
    Setting,
    Vote,
)
from hedgerow.rules import Rule as RuleBase
from hedgerow.rules.evidence import masses_from_weights, pignistic_from_weights

EXACT = 1e-10
G = {
    "u65": lambda k: Fraction(16, 10 * k) - Fraction(6, 10 * k * k),
    "u80": lambda k: Fraction(22, 10 * k) - Fraction(12, 10 * k * k),
    "f1": lambda k: Fraction(2, 1 + k),
}


def samples(seed: int, n_classes: int, n: int, n_trees: int = 4) -> np.ndarray:
    """Integer counts (n, T, K), every sample with at least one row; empty and tied leaves occur."""
    rng = np.random.default_rng(seed)
    counts = rng.poisson(rng.gamma(0.7, 3.0, (n, n_trees, n_classes)))
    counts[rng.random((n, n_trees)) < 0.1] = 0
    counts[counts.sum(axis=(1, 2)) == 0, 0, 0] = 1
    return counts


def assert_near(found: np.ndarray, exact: list[list[Fraction]]) -> None:
    expected = np.array([[float(value) for value in row] for row in exact])
    np.testing.assert_allclose(found, expected, rtol=0, atol=EXACT)


@pytest.mark.parametrize("n_classes", [2, 3, 5])
@pytest.mark.parametrize("caution", [0, 1, 3])
@pytest.mark.parametrize(
    ("rule", "leaf"),
    [
        (Average(), slow.shares),
        (Laplace(alpha=0.25), lambda leaf: slow.laplace(leaf, Fraction(1, 4))),
        (Vote(), slow.votes),
        (ConfidenceBounds(), slow.confidence),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, RuleBase) else "",
)
def test_mean_rules_agree_with_rationals(rule, leaf: Callable, n_classes, caution):
    counts = samples(1, n_classes, 60)
    opinion = combine(counts, rule, caution=caution)
    exact = [slow.averaged(sample, Fraction(caution), leaf) for sample in counts.tolist()]
    assert_near(opinion.lower, [row[0] for row in exact])
    assert_near(opinion.probability, [row[1] for row in exact])
    assert_near(opinion.upper, [row[2] for row in exact])


@pytest.mark.parametrize("n_classes", [2, 4])
def test_pooling_agrees_with_rationals(n_classes):
    counts = samples(2, n_classes, 300)
    opinion = combine(counts, Pool(), caution=2)
    pooled = counts.sum(axis=1).tolist()
    room = [sum(row) + 2 * len(slow.filled(sample)) for row, sample in zip(pooled, counts.tolist(), strict=True)]
    assert_near(opinion.probability, [slow.shares(row) for row in pooled])
    assert_near(opinion.lower, [[Fraction(c, r) for c in row] for row, r in zip(pooled, room, strict=True)])


@pytest.mark.parametrize("n_classes", [2, 3, 5])
@pytest.mark.parametrize("caution", [0, 2])
def test_eva_agrees_with_rational_products(n_classes, caution):
    counts = samples(3, n_classes, 250)
    prior = [Fraction(k + 1, n_classes * (n_classes + 1) // 2) for k in range(n_classes)]
    floats = [float(p) for p in prior]
    tenth = Fraction(1, 10)
    opinion = combine(counts, Eva(), prior=floats, caution=caution)
    table = counts.tolist()
    assert_near(opinion.probability, [slow.eva(sample, prior, tenth) for sample in table])
    bounds = [slow.eva_bounds(sample, prior, tenth, caution) for sample in table]
    assert_near(opinion.lower, [lower for lower, _ in bounds])
    assert_near(opinion.upper, [upper for _, upper in bounds])
    plain = combine(counts, Eva(prior=None))
    assert_near(plain.probability, [slow.eva(sample, prior, tenth, power=0) for sample in table])


@pytest.mark.parametrize("n_classes", [2, 3, 5])
@pytest.mark.parametrize("caution", [0, 1, 3])
@pytest.mark.parametrize("name", ["equal", "size", "precision"])
def test_belief_agrees_with_rationals(n_classes, caution, name):
    counts = samples(4, n_classes, 120)
    caution_ = Fraction(caution)
    weigh = {
        "equal": lambda leaf: Fraction(1),
        "size": lambda leaf: Fraction(sum(leaf)),
        "precision": lambda leaf: Fraction(sum(leaf)) / (sum(leaf) + caution_) if sum(leaf) else Fraction(0),
    }[name]
    opinion = combine(counts, Belief(weights=name), caution=caution)
    exact = [slow.belief(sample, caution_, weigh) for sample in counts.tolist()]
    assert_near(opinion.lower, [bel for bel, _, _ in exact])
    assert_near(opinion.probability, [bet for _, bet, _ in exact])
    assert_near(opinion.upper, [pl for _, _, pl in exact])
    if name == "equal":
        against = [float(sum(bel) - max(bel)) for bel, _, _ in exact]
        np.testing.assert_allclose(opinion.conflict, against, atol=EXACT)
        np.testing.assert_allclose(combine(counts, DominanceVote(), caution=caution).lower, opinion.lower, atol=EXACT)


@settings(max_examples=300, deadline=None, derandomize=True)
@given(st.lists(st.integers(0, 12), min_size=2, max_size=5), st.integers(0, 4), st.booleans())
def test_undominated_classes_by_counts_are_those_by_bounds(leaf, caution, strict):
    found = frozenset(np.flatnonzero(undominated([leaf], caution, strict=strict)[0]).tolist())
    assert found == slow.undominated(leaf, Fraction(caution), strict)


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("caution", [0, 1, 6])
def test_hull_and_intersection_agree_with_rationals(n_classes, caution):
    counts = samples(5, n_classes, 200, n_trees=3)
    hull = combine(counts, IntervalDisjunction(), caution=caution)
    meet = combine(counts, IntervalConjunction(), caution=caution)
    seen = set()
    for row, sample in enumerate(counts.tolist()):
        bounds = [slow.idm(leaf, Fraction(caution)) for leaf in sample]
        lowers, uppers = zip(*bounds, strict=True)
        columns = list(zip(*lowers, strict=True)), list(zip(*uppers, strict=True))
        assert_near(hull.lower[row : row + 1], [[min(c) for c in columns[0]]])
        assert_near(hull.upper[row : row + 1], [[max(c) for c in columns[1]]])
        low, high = [max(c) for c in columns[0]], [min(c) for c in columns[1]]
        meets = all(a <= b for a, b in zip(low, high, strict=True)) and sum(low) <= 1 <= sum(high)
        seen.add(meets)
        assert (meet.conflict[row] == 0) == meets
        if not meets:
            low, _, high = slow.averaged(slow.filled(sample), Fraction(caution), slow.shares)
        assert_near(meet.lower[row : row + 1], [low])
        assert_near(meet.upper[row : row + 1], [high])
    assert seen == {True, False}


@pytest.mark.parametrize("theta", ["mean", "median", "max"])
def test_mixtures_and_medians_agree_with_rationals(theta):
    counts = samples(6, 2, 300)
    mixed, median = combine(counts, GeneralisedMixture(theta)), combine(counts, Median())
    exact = []
    for row, sample in enumerate(counts.tolist()):
        values = [slow.shares(leaf)[1] for leaf in slow.filled(sample)]
        exact.append([slow.mixture(values, theta)])
        assert median.probability[row, 1] == pytest.approx(float(np.median([float(v) for v in values])), abs=EXACT)
    assert_near(mixed.probability[:, 1:], exact)


supports = st.lists(
    st.tuples(st.integers(0, 3), st.integers(0, 19).map(lambda k: Fraction(k, 20))), min_size=1, max_size=5
)


def folded(pieces: list[tuple[int, Fraction]], n_classes: int, fold: Callable) -> np.ndarray:
    table = np.zeros((len(pieces), n_classes))
    for row, (k, s) in enumerate(pieces):
        table[row, k] = -np.log1p(-float(s))
    return fold(table, axis=0)[None]


@settings(max_examples=80, deadline=None, derandomize=True)
@given(supports, st.sampled_from(["dempster", "cautious"]))
def test_dempster_and_cautious_equal_the_power_set_definitions(pieces, name):
    n_classes = 4
    masses = [slow.support_mass(n_classes, k, s) for k, s in pieces]
    if name == "cautious":
        rule, weight, mass = Cautious, folded(pieces, n_classes, np.max), slow.cautious(masses)
    else:
        rule, weight = Dempster, folded(pieces, n_classes, np.sum)
        mass = masses[0]
        for other in masses[1:]:
            mass = slow.conjunctive(mass, other)
    singles, frame, empty = masses_from_weights(weight)
    assert_near(singles, [[mass[1 << k] for k in range(n_classes)]])
    assert_near(np.stack([frame, empty], axis=1), [[mass[-1], mass[0]]])
    assert_near(pignistic_from_weights(weight), [[slow.pignistic(mass, k) for k in range(n_classes)]])
    state = np.hstack([weight, weight])
    opinion = rule().finish(state, Setting.of(n_classes, 0.0))
    assert_near(opinion.lower, [[slow.belief_of(mass, 1 << k) for k in range(n_classes)]])
    assert_near(opinion.upper, [[slow.plausibility_of(mass, 1 << k) for k in range(n_classes)]])
    assert_near(opinion.conflict[:, None], [[mass[0]]])
    open_world = rule(normalised=False).finish(state, Setting.of(n_classes, 0.0))
    assert_near(open_world.lower, [[mass[1 << k] for k in range(n_classes)]])
    room = mass[-1] + mass[0]
    assert_near(open_world.upper, [[mass[1 << k] + room for k in range(n_classes)]])


def test_dempster_on_counts_combines_the_leaves_degrees_of_preference():
    counts = samples(7, 3, 60, n_trees=3)
    opinion = combine(counts, Dempster(), caution=0)
    for row, sample in enumerate(counts):
        mass = [Fraction(0)] * 7 + [Fraction(1)]
        for leaf in sample:
            found = preference(leaf[None])
            part = slow.support_mass(3, int(found.winner[0]), Fraction(float(found.support[0])))
            mass = slow.conjunctive(mass, part)
        assert_near(opinion.lower[row : row + 1], [[slow.belief_of(mass, 1 << k) for k in range(3)]])


def test_degrees_of_two_classes_agree_with_exact_bisection():
    pairs = [(p, q) for p in range(13) for q in range(13) if p + q]
    found = plausibility_degrees([[q, p] for p, q in pairs])
    assert_near(found[:, 1:], [[slow.degree_of_two(p, q)] for p, q in pairs])
    assert_near(found[:, :1], [[slow.degree_of_two(q, p)] for p, q in pairs])


@pytest.mark.parametrize(("p", "q"), [(900, 1100), (3000, 2950), (10**9, 3), (7 * 10**8, 7 * 10**8 - 10**5)])
def test_degrees_of_many_rows_lie_on_the_likelihood(p, q):
    """At the degree, the relative likelihood of the margin is the degree itself: checked in 60 digits."""
    for own, rival in ((p, q), (q, p)):
        margin = plausibility_degrees([[own, rival]])[0, 0]
        with localcontext() as context:
            context.prec = 60
            n, t = Decimal(own + rival), Decimal(float(margin))
            likelihood = own * ((1 + t) / 2 * n / own).ln() + rival * ((1 - t) / 2 * n / rival).ln()
            slope = own / (1 + t) - rival / (1 - t) - 1 / t if t else Decimal(1)
            miss = abs((likelihood - t.ln()) / slope) if t else Decimal(0)
        assert miss < Decimal("1e-10")


@pytest.mark.parametrize("leaf", [[3, 1, 0], [5, 3, 2], [4, 4, 4], [6, 5, 5], [0, 2, 0], [3, 3, 2, 1]])
def test_degrees_of_many_classes_agree_with_a_general_solver(leaf):
    found = plausibility_degrees([leaf])[0]
    expected = [slow.degree_of_many(leaf, k) for k in range(len(leaf))]
    np.testing.assert_allclose(found, expected, atol=2e-7)


@pytest.mark.parametrize("n_classes", [2, 3, 6])
def test_the_two_largest_degrees_are_those_of_the_two_largest_counts(n_classes):
    leaves = samples(11, n_classes, 400, n_trees=1)[:, 0] ** np.array([[1], [2]] * 200)
    degrees = np.sort(plausibility_degrees(leaves), axis=1)
    found = preference(leaves)
    np.testing.assert_allclose(np.exp(found.log_epistemic), degrees[:, -2], rtol=0, atol=1e-12)
    np.testing.assert_allclose(1 - np.exp(found.log_aleatoric), degrees[:, -1], rtol=0, atol=1e-12)


@pytest.mark.parametrize("name", ["u65", "u80", "f1"])
def test_averaged_best_sets_are_the_best_of_all_subsets(name):
    counts = samples(8, 4, 150)
    g = G[name]
    by_bounds = combine(counts, CdmAve(utility=name), caution=1).chosen
    by_shares = combine(counts, Ndc(utility=name), caution=1).chosen
    for row, sample in enumerate(counts.tolist()):
        lower, shares, _ = slow.averaged(sample, Fraction(1), slow.shares)
        lower, shares = ([round(v, 9) for v in values] for values in (lower, shares))
        for support, chosen in ((lower, by_bounds[row]), (shares, by_shares[row])):

            def value(classes, support=support):
                return g(len(classes)) * (1 if len(classes) == 4 else sum(support[k] for k in classes))

            top, _ = slow.best_set(value, 4)
            assert abs(float(value(frozenset(np.flatnonzero(chosen).tolist())) - top)) < 1e-8


@pytest.mark.parametrize("name", ["u65", "u80", "f1"])
@pytest.mark.parametrize("n_classes", [2, 4, 5])
def test_cdm_vote_finds_the_best_of_all_subsets_and_the_smallest_of_these(name, n_classes):
    counts = samples(9, n_classes, 80, n_trees=2 if n_classes == 2 else 6)
    chosen = combine(counts, CdmVote(utility=name), caution=1).chosen
    sizes = set()
    for row, sample in enumerate(counts.tolist()):
        sets = [slow.undominated(leaf, Fraction(1), strict=True) for leaf in sample]

        def value(classes, sets=sets):
            return G[name](len(classes)) * sum(s <= classes for s in sets)

        top, size = slow.best_set(value, n_classes)
        found = frozenset(np.flatnonzero(chosen[row]).tolist())
        assert value(found) == top
        assert len(found) == size
        sizes.add(size)
    assert len(sizes) > 1


@pytest.mark.parametrize("n_classes", [2, 3, 5])
def test_dubois_and_prade_keep_together_what_contradicts(n_classes):
    counts = samples(24, n_classes, 40, n_trees=5)
    opinion = combine(counts, DuboisPrade(), caution=0.0)
    for row, sample in enumerate(counts):
        leaf = preference(sample.astype(float))
        support = -np.expm1(-leaf.weight)
        mass: dict[frozenset[int], float] = {}
        for voting in product([False, True], repeat=len(sample)):
            named = frozenset(leaf.winner[list(voting)].tolist()) or frozenset(range(n_classes))
            mass[named] = mass.get(named, 0.0) + float(np.where(voting, support, 1 - support).prod())
        for k in range(n_classes):
            assert opinion.lower[row, k] == pytest.approx(mass.get(frozenset({k}), 0.0), abs=1e-12)
            assert opinion.upper[row, k] == pytest.approx(sum(m for s, m in mass.items() if k in s), abs=1e-12)
            shared = sum(m / len(s) for s, m in mass.items() if k in s)
            assert opinion.probability[row, k] == pytest.approx(shared, abs=1e-12)


@pytest.mark.parametrize("n_classes", [2, 3, 4])
@pytest.mark.parametrize("n_trees", [1, 2, 3, 5])
def test_dubois_and_prade_of_all_leaves_is_the_rule_on_masses(n_classes, n_trees):
    counts = samples(25, n_classes, 30, n_trees=n_trees)
    opinion = combine(counts, DuboisPrade(pooled=False), caution=0.0)
    for row, sample in enumerate(counts):
        leaf = preference(sample.astype(float))
        masses = np.zeros((n_trees, 1, 2**n_classes))
        support = np.where(leaf.weight > 1e-14, -np.expm1(-leaf.weight), 0.0)
        masses[np.arange(n_trees), 0, 2**leaf.winner] = support
        masses[:, 0, -1] = 1 - support
        mass = combine_masses(list(masses), "dubois_prade")[0]
        sets = np.arange(2**n_classes)
        sizes = np.array([each.bit_count() for each in sets.tolist()])
        for k in range(n_classes):
            assert opinion.lower[row, k] == pytest.approx(mass[2**k], abs=1e-12)
            has = (sets >> k) & 1 == 1
            assert opinion.upper[row, k] == pytest.approx(mass[has].sum(), abs=1e-12)
            assert opinion.probability[row, k] == pytest.approx((mass[has] / sizes[has]).sum(), abs=1e-12)


def test_cdm_vote_beyond_ten_classes_misses_no_set_of_two():
    rng = np.random.default_rng(10)
    counts = rng.poisson(0.25, (60, 9, 14)) * 2
    counts[counts.sum(axis=2) == 0, 0] = 1
    chosen = combine(counts, CdmVote(), caution=1).chosen
    for row, sample in enumerate(counts.tolist()):
        sets = [slow.undominated(leaf, Fraction(1), strict=True) for leaf in sample]
        found = frozenset(np.flatnonzero(chosen[row]).tolist())
        worth = G["u65"](len(found)) * sum(s <= found for s in sets)
        small = [frozenset(c) for size in (1, 2) for c in combinations(range(14), size)]
        assert worth >= max(G["u65"](len(c)) * sum(s <= c for s in sets) for c in small)


def test_cdm_vote_takes_memory_linear_in_the_classes():
    counts = np.zeros((1, 2, 20_000))
    counts[0, 0, 7], counts[0, 1, 11] = 3, 2
    tracemalloc.start()
    chosen = combine(counts, CdmVote(), caution=1).chosen
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert np.flatnonzero(chosen[0]).tolist() == [7, 11]
    assert peak < 100e6  # all sets looked at as rows of a table took 400 MB
