"""Rules and leaf scores of the sources: each against its definition, enumerated or computed in the mass algebra."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from scipy.stats import beta, binom

from hedgerow import combine
from hedgerow.belief import combine_masses, confidence_scores, discount_mass, normalise_mass, preference
from hedgerow.rules import (
    Belief,
    Cautious,
    ConfidenceBounds,
    CredalTrees,
    Dempster,
    DominanceVote,
    Eva,
    GeneralisedMixture,
    ImpreciseWeights,
    Lns,
    Median,
    Pcr6,
    SignedMaximum,
    WeightedAverage,
)


def some_leaves(n_classes: int, n_trees: int = 4, n: int = 12, seed: int = 0) -> np.ndarray:
    """Counts (n, T, K) with pure, small and one empty leaf."""
    counts = np.random.default_rng([seed, n_classes]).poisson(2.0, (n, n_trees, n_classes)).astype(float)
    counts[0, 0] = 0
    counts[1, :, 0] += 9
    return counts


def leaf_masses(counts: np.ndarray) -> list[np.ndarray]:
    """Counts (T, K) -> T masses (2^K,): the degree of preference on the winner, the rest on all classes."""
    leaf, n_classes = preference(counts), counts.shape[1]
    masses = []
    for winner, support in zip(leaf.winner, leaf.support, strict=True):
        mass = np.zeros(2**n_classes)
        mass[1 << winner] += support
        mass[-1] += 1 - support
        masses.append(mass)
    return masses


def singles(mass: np.ndarray, n_classes: int) -> np.ndarray:
    return np.array([mass[1 << k] for k in range(n_classes)])


@pytest.mark.parametrize("n_classes", [2, 3, 4])
def test_pcr6_is_the_sum_over_all_choices(n_classes):
    """Every tree chooses its class or all classes; classes in conflict share the product by their masses."""
    counts = some_leaves(n_classes)
    found = combine(counts, Pcr6(), caution=0.0)
    for row, leaves in enumerate(counts):
        leaf = preference(leaves)
        expected, conflict = np.zeros(n_classes), 0.0
        for chosen in product([False, True], repeat=len(leaves)):
            part = float(np.prod(np.where(chosen, leaf.support, 1 - leaf.support)))
            classes = leaf.winner[np.array(chosen)]
            masses = leaf.support[np.array(chosen)]
            if len(set(classes)) == 1:
                expected[classes[0]] += part
            elif len(classes) and part > 0:
                conflict += part
                np.add.at(expected, classes, part * masses / masses.sum())
        np.testing.assert_allclose(found.lower[row], expected, atol=1e-12)
        assert found.conflict[row] == pytest.approx(conflict, abs=1e-12)


def test_pcr6_of_two_sure_leaves_is_that_of_the_mass_algebra():
    """With hardly anything left open, no set but the classes takes part, and PCR6+ is PCR6."""
    counts = np.array([[[900.0, 0.0], [0.0, 700.0]]])
    algebra = combine_masses([mass[None] for mass in leaf_masses(counts[0])], "pcr6")[0]
    np.testing.assert_allclose(combine(counts, Pcr6(), caution=0.0).lower[0], singles(algebra, 2), atol=1e-12)


@pytest.mark.parametrize("normalised", [True, False])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_lns_combines_groups_and_discounts_them_by_their_number(normalised, n_classes):
    counts = some_leaves(n_classes)
    found = combine(counts, Lns(normalised), caution=0.0)
    for row, leaves in enumerate(counts):
        leaf, masses = preference(leaves), leaf_masses(leaves)
        speaking = leaf.support > 1e-12
        groups = []
        for k in range(n_classes):
            mine = [masses[i][None] for i in range(len(leaves)) if speaking[i] and leaf.winner[i] == k]
            if mine:
                rate = 1 - len(mine) / speaking.sum()
                groups.append(discount_mass(combine_masses(mine, "conjunctive"), rate))
        whole = combine_masses(groups, "conjunctive")
        belief = normalise_mass(whole) if normalised else whole
        np.testing.assert_allclose(found.lower[row], singles(belief[0], n_classes), atol=1e-12)
        assert found.conflict[row] == pytest.approx(whole[0, 0], abs=1e-12)


@pytest.mark.parametrize("dependence", [0.01, 0.5, 0.99])
def test_dependence_is_the_t_norm_of_the_mass_algebra(dependence):
    counts = some_leaves(3)
    found = combine(counts, Dempster(normalised=False, dependence=dependence), caution=0.0)
    for row, leaves in enumerate(counts):
        algebra = combine_masses([mass[None] for mass in leaf_masses(leaves)], "tnorm", dependence=dependence)[0]
        np.testing.assert_allclose(found.lower[row], singles(algebra, 3), atol=1e-9)
        assert found.conflict[row] == pytest.approx(algebra[0], abs=1e-9)


def test_dependence_leads_from_dempsters_rule_to_the_cautious_one():
    counts = some_leaves(3)
    for dependence, limit in [(1e-9, Dempster()), (1 - 1e-12, Cautious())]:
        near, at = combine(counts, Dempster(dependence=dependence)), combine(counts, limit)
        np.testing.assert_allclose(near.probability, at.probability, atol=0.03)
    with pytest.raises(ValueError, match="dependence must lie in"):
        combine(counts, Dempster(dependence=1.0))


def test_reliability_weighs_the_evidence_of_a_leaf_by_hand():
    """(1, 0) has u_e = 1/3, so two thirds of log(1.1 / .1) count; the prior is subtracted as often."""
    opinion = combine([[[1, 0]]], Eva(reliability=True), prior=[0.2, 0.8])
    evidence = 2 / 3 * (np.log(1.1 / 0.1) - np.log(0.2 / 0.8))
    assert float(opinion.score[0]) == pytest.approx(-(evidence + np.log(0.2 / 0.8)), abs=1e-12)


def test_reliability_matters_less_the_larger_the_leaves_are():
    near = [[[900.0, 100.0], [800.0, 200.0]]]
    plain, weighed = (combine(near, Eva(reliability=each)).score for each in (False, True))
    assert weighed == pytest.approx(plain, abs=1e-9)


@pytest.mark.parametrize(("p", "q"), [(3, 1), (1, 0), (2, 0), (5, 4), (10, 40), (33, 32)])
def test_models_of_a_draw_are_their_definitions(p, q):
    n, share = p + q, p / (p + q)
    flips = binom.pmf(np.arange(n + 1), n, share)
    low = n // 2
    draws = {"binomial": (flips[low] + flips[n - low]) / 2 / flips.max()}
    draws["beta"] = beta.pdf(0.5, p + 1, q + 1) / beta.pdf(share, p + 1, q + 1)
    draws["tail"] = 2 * beta.cdf(0.5, max(p, q) + 1, min(p, q) + 1)
    for model, draw in draws.items():
        assert confidence_scores([[p, q]], model)[0, 0] == pytest.approx((1 - draw) * (share - 0.5), abs=1e-12)
        score = combine([[[p, q]]], ConfidenceBounds(model)).score
        assert float(score[0]) == pytest.approx(-(1 - draw) * (share - 0.5), abs=1e-12)


def test_an_unknown_model_of_a_draw_is_refused():
    with pytest.raises(ValueError, match="model must be one of"):
        confidence_scores([[1, 2]], "normal")


def test_interval_valued_weights_are_the_extremes_over_all_weights():
    """The extreme points of the weights give all that is open to one tree."""
    counts, part, caution = some_leaves(3)[2:], 0.3, 1.5
    found = combine(counts, ImpreciseWeights(part), caution=caution)
    total = counts.sum(axis=2, keepdims=True) + caution
    corners = (1 - part) / 4 + part * np.eye(4)
    lower = np.einsum("ct,ntk->nck", corners, counts / total).min(axis=1)
    upper = np.einsum("ct,ntk->nck", corners, (counts + caution) / total).max(axis=1)
    np.testing.assert_allclose(found.lower, lower, atol=1e-12)
    np.testing.assert_allclose(found.upper, upper, atol=1e-12)


def test_weights_that_are_known_or_not_known_at_all_are_other_rules():
    counts = some_leaves(3)
    for part, same in [(0.0, "average"), (1.0, "interval_disjunction")]:
        found, expected = combine(counts, ImpreciseWeights(part)), combine(counts, same)
        np.testing.assert_allclose(found.lower, expected.lower, atol=1e-12)
        np.testing.assert_allclose(found.upper, expected.upper, atol=1e-12)


def test_weights_of_leaves_by_hand():
    leaves = [[[9, 3], [1, 0]]]
    shares, weights = np.array([0.25, 0.0]), {"purity": (0.625, 1), "root": (12**0.5, 1), "size": (12, 1)}
    weights["precision"] = (12 / 14, 1 / 3)
    for name, each in weights.items():
        expected = float(np.average(shares, weights=each))
        assert combine(leaves, WeightedAverage(name), caution=2.0).probability[0, 1] == pytest.approx(expected)
    assert combine(leaves, Belief("purity"), caution=2.0).lower[0, 0] == pytest.approx(0.625 / 1.625)


SCORES = {
    "probability": lambda p, q: p / (p + q) - 0.5,
    "laplace": lambda p, q: (p + 1) / (p + q + 2) - 0.5,
    "plausibility": lambda p, q: signed_preference(p, q),
    "confidence_bounds": lambda p, q: float(confidence_scores([[q, p]])[0, 1]),
    "epistemic_weighted": lambda p, q: -np.expm1(preference([[q, p]]).log_epistemic[0]) * signed_preference(p, q),
    "vote": lambda p, q: float(np.sign(p - q)),
}


def signed_preference(p: float, q: float) -> float:
    leaf = preference([[q, p]])
    return float(leaf.support[0] * (1 if leaf.winner[0] else -1))


@pytest.mark.parametrize("score", SCORES)
def test_every_score_of_a_leaf_can_be_aggregated_in_every_way(score):
    """Two classes: median, signed maximum and mixture of the signed scores that the paper defines."""
    leaves = np.random.default_rng(0).integers(0, 9, (25, 5, 2)) + np.array([0.0, 1.0])
    for counts in leaves:
        values = np.array([SCORES[score](p, q) for q, p in counts])
        furthest = values[np.abs(values).argmax()]
        far = np.abs(values - values.mean())
        mixed = (values - values * far / far.sum()).sum() / 4 if far.sum() > 0 else values[0]
        found = combine(counts[None], Median(score)).score[0]
        assert found == pytest.approx(np.median(values), abs=1e-12)
        assert combine(counts[None], GeneralisedMixture(score=score)).score[0] == pytest.approx(mixed, abs=1e-12)
        if not np.isclose(values, -furthest).any():  # of equal strengths on both sides neither wins
            assert combine(counts[None], SignedMaximum(score)).score[0] == pytest.approx(furthest, abs=1e-12)


def test_votes_of_decided_trees_have_weights_by_hand():
    """Leaves (0, 6) and (3, 0) decide at caution 2, (3, 2) does not; an empty one neither."""
    leaves = [[[0, 6], [3, 0], [3, 2], [0, 0]]]
    weights = {"equal": (1, 1, 1, 1), "size": (6, 3, 5, 0), "purity": (1, 1, 0.52, 0)}
    weights["precision"] = (6 / 8, 3 / 5, 5 / 7, 0)
    for name, (positive, negative, *others) in weights.items():
        opinion = combine(leaves, DominanceVote(name), caution=2.0)
        assert opinion.probability[0, 1] == pytest.approx(positive / (positive + negative))
        assert opinion.lower[0, 1] == pytest.approx(positive / (positive + negative + sum(others)))
        assert opinion.chosen[0].tolist() == [positive <= negative, positive >= negative]


@pytest.mark.parametrize("caution", [0.0, 1.0])
@pytest.mark.parametrize("admit", ["maximality", "e_admissibility"])
def test_a_credal_set_of_trees_is_searched_tree_by_tree(admit, caution):
    counts = some_leaves(3, n_trees=5)
    found = combine(counts, CredalTrees(trim=0.2, admit=admit), caution=caution)
    for row, leaves in enumerate(counts):
        filled = leaves[leaves.sum(axis=1) > 0]
        shares = filled / filled.sum(axis=1, keepdims=True)
        far = np.abs(shares - np.median(shares, axis=0)).sum(axis=1)
        kept = far <= np.sort(far)[len(filled) - round(0.2 * len(filled)) - 1] + 1e-12
        some, total = filled[kept], filled[kept].sum(axis=1, keepdims=True) + caution
        assert found.lower[row] == pytest.approx((some / total).min(axis=0))
        assert found.upper[row] == pytest.approx(((some + caution) / total).max(axis=0))
        assert found.probability[row] == pytest.approx(shares[kept].mean(axis=0))
        for k in range(3):
            rivals = [j for j in range(3) if j != k]
            # the unseen rows of every tree go to class k
            if admit == "maximality":
                stays = not any((some[:, j] > some[:, k] + caution).all() for j in rivals)
            else:
                stays = bool((some[:, k] + caution >= some[:, rivals].max(axis=1)).any())
            assert found.chosen[row, k] == stays


def test_admissible_classes_are_maximal():
    counts = some_leaves(4, n_trees=6, n=60)
    admissible, maximal = (
        combine(counts, CredalTrees(admit=admit)).chosen for admit in ("e_admissibility", "maximality")
    )
    assert not (admissible & ~maximal).any()
    assert (maximal & ~admissible).any()


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        (CredalTrees(trim=1.0), "trim must lie in"),
        (CredalTrees(admit="dominance"), "admit must be one of"),
        (ImpreciseWeights(1.5), "contamination must lie in"),
        (WeightedAverage("equal"), "weights must be one of"),
        (Median("pool"), "score must be one of"),
        (SignedMaximum("pool"), "score must be one of"),
    ],
)
def test_parameters_out_of_range_are_refused(rule, message):
    with pytest.raises(ValueError, match=message):
        combine([[[1, 2]]], rule)
