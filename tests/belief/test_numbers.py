"""Numbers: the worked examples and values of the papers."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import log_expit, softmax
from tests.reference import belief as slow

from hedgerow import combine
from hedgerow.belief import confidence_scores, idm_bounds, learn_tree_weights, plausibility_degrees, preference
from hedgerow.belief.learn import _indicators, _Objective
from hedgerow.rules import (
    Average,
    Belief,
    Cautious,
    CdmAve,
    CdmVote,
    ConfidenceBounds,
    Cr,
    Dempster,
    DominanceVote,
    EpistemicWeighted,
    Eva,
    GeneralisedMixture,
    IntervalAverage,
    IntervalConjunction,
    Laplace,
    Median,
    Mva,
    Ndc,
    Plausibility,
    Pool,
    Setting,
    SignedMaximum,
    Uncertainty,
    Vote,
    all_rules,
    merge_states,
    resolve_rule,
    rule_names,
)
from hedgerow.rules.evidence import _faint_lower_beliefs, lower_beliefs, masses_from_weights


def leaf(p: float, q: float) -> list[list[list[float]]]:
    """p positive and q negative rows, as one sample that reaches one leaf; class 1 is positive."""
    return [[[q, p]]]


@pytest.mark.parametrize(
    ("p", "q", "positive", "negative"),
    [
        (1, 0, 1.0, 1 / 3),
        (2, 0, 1.0, 0.171573),
        (3, 1, 0.765236, 0.281592),
        (10, 40, 0.000065, 0.691102),
    ],
)
def test_plausibility_degrees_are_those_of_the_paper(p, q, positive, negative):
    degrees = plausibility_degrees([[q, p]])[0]
    assert degrees == pytest.approx([negative, positive], abs=5e-7)
    assert combine(leaf(p, q), Plausibility()).score == pytest.approx(positive - negative, abs=1e-6)


def test_one_row_has_exactly_one_third_of_doubt_and_two_rows_a_quadratic_root():
    doubt = np.exp(preference([[0, 1], [0, 2]]).log_epistemic)
    np.testing.assert_allclose(doubt, [1 / 3, 3 - 2 * np.sqrt(2)], rtol=1e-14)


@pytest.mark.parametrize(("p", "q", "score"), [(3, 1, 0.0625), (10, 40, -0.298193), (5, 5, 0.0)])
def test_confidence_bounds_are_those_of_the_paper(p, q, score):
    assert combine(leaf(p, q), ConfidenceBounds()).score == pytest.approx(score, abs=5e-7)


def test_the_average_of_the_papers_two_leaves_is_point_six_for_the_first_class():
    np.testing.assert_allclose(combine([[[4, 0], [10, 40]]]).probability, [[0.6, 0.4]], rtol=1e-15)


def weights_of(signed: list[float]) -> np.ndarray:
    """Signed supports (T,) -> weights of evidence (T, 2), class 1 positive."""
    s = np.array(signed)
    return np.stack([-np.log1p(-np.maximum(-s, 0)), -np.log1p(-np.maximum(s, 0))], axis=1)


def test_cautious_ties_on_point_four_twice_and_minus_point_four():
    weight = weights_of([0.4, 0.4, -0.4])
    state = np.concatenate([weight.max(axis=0)] * 2)[None]
    opinion = Cautious().finish(state, Setting.of(2, 0.0))
    assert opinion.score == pytest.approx([0.0], abs=1e-16)
    np.testing.assert_allclose(opinion.probability, 0.5, rtol=1e-15)
    dempster = Dempster().finish(np.concatenate([weight.sum(axis=0)] * 2)[None], Setting.of(2, 0.0))
    assert dempster.score > 0.1


def test_dempster_and_cautious_on_the_papers_conflict():
    weight = weights_of([0.8, 0.8, -0.98])
    singles, _, empty = masses_from_weights(weight.sum(axis=0)[None])
    assert empty == pytest.approx(0.9408, abs=1e-14)
    assert singles[0, 0] > singles[0, 1]
    singles, _, empty = masses_from_weights(weight.max(axis=0)[None])
    assert singles[0, 0] == pytest.approx(0.196, abs=1e-14)
    assert empty == pytest.approx(0.784, abs=1e-14)


def test_eva_finds_the_one_suspect_both_witnesses_name():
    suspects = [[[1, 1, 1, 0, 0], [0, 0, 1, 1, 1]]]
    opinion = combine(suspects, Eva(smoothing=1e-12))
    np.testing.assert_allclose(opinion.probability, [[0, 0, 1, 0, 0]], atol=1e-11)


def test_eva_log_odds_are_the_printed_formula():
    counts = np.array([[[3, 1], [0, 2], [5, 0]]])
    evidence = np.log((counts[0, :, 1] + 0.1) / (counts[0, :, 0] + 0.1)).sum()
    prior = np.array([0.8, 0.2])
    opinion = combine(counts, Eva(), prior=prior)
    assert opinion.score == pytest.approx(evidence - 2 * np.log(0.2 / 0.8), rel=1e-13)
    assert opinion.log_odds[0, 1] - opinion.log_odds[0, 0] == pytest.approx(opinion.score[0], rel=1e-13)
    authors = combine(counts, Eva(prior="authors"), prior=prior)
    assert authors.score == pytest.approx(evidence - 2 * (0.2 - 0.8), rel=1e-13)
    assert combine(counts, Eva(prior=None)).score == pytest.approx(evidence, rel=1e-13)


@pytest.mark.parametrize("prior", [np.array([0.8, 0.2]), np.array([0.2, 0.5, 0.3])], ids=len)
def test_eva_score_as_printed_is_the_difference_of_the_products(prior):
    counts = np.random.default_rng(len(prior)).integers(0, 6, (20, 3, len(prior))).astype(float) + 1
    shares = (counts + 0.1) / (counts + 0.1).sum(axis=2, keepdims=True)
    products = prior * np.prod(shares / prior, axis=1)
    expected = products[:, 1] - products[:, 0] if len(prior) == 2 else products
    found = combine(counts, Eva(score="difference"), prior=prior)
    np.testing.assert_allclose(found.score, expected, rtol=1e-12)
    np.testing.assert_array_equal(found.probability, combine(counts, Eva(), prior=prior).probability)
    if len(prior) == 2:
        np.testing.assert_array_equal(np.sign(found.score), np.sign(combine(counts, Eva(), prior=prior).score))


@pytest.mark.parametrize("rule", list(all_rules()), ids=repr)
def test_a_prior_that_a_rule_ignores_is_refused(rule):
    """A rule that accepts a prior changes its answer by it, and any other raises."""
    counts, prior = np.array([[[3.0, 1.0], [0.0, 2.0], [5.0, 0.0]]]), [0.9, 0.1]
    weights = [1.0, 2.0, 3.0] if rule.needs_weights else None
    if rule.uses_prior:
        assert combine(counts, rule, prior=prior).score != combine(counts, rule).score
    else:
        with pytest.raises(ValueError, match="which ignores it"):
            combine(counts, rule, prior=prior, weights=weights)


@pytest.mark.parametrize(("smoothing", "caution"), [(0.1, 1e308), (5e-324, 1.0), (1e-310, 1e308), (1.7e308, 1.7e308)])
def test_eva_has_answers_where_a_ratio_is_more_than_a_double_holds(smoothing, caution):
    opinion = combine([[[3, 0], [0, 5.0]], [[0, 0], [2, 1]]], Eva(smoothing=smoothing), caution=caution)
    assert np.allclose(opinion.probability.sum(axis=1), 1.0, rtol=0, atol=1e-12)
    assert (opinion.lower <= opinion.probability).all()
    assert (opinion.probability <= opinion.upper).all()
    if smoothing < 1:  # the shares are those of the products of the counts
        assert np.allclose(opinion.probability, [[3 / 8, 5 / 8], [2 / 3, 1 / 3]], rtol=0, atol=0.02)


def test_dempster_ranks_where_the_raw_score_has_drowned():
    balanced = np.tile([[30.0, 0.0], [0.0, 30.0]], (500, 1))
    counts = np.stack([np.vstack([balanced, [[0.0, rows]]]) for rows in (1.0, 2.0, 3.0)])
    opinion = combine(counts, Dempster())
    assert (opinion.score == 0).all()
    assert (np.diff(opinion.log_odds[:, 1] - opinion.log_odds[:, 0]) > 0).all()
    assert (np.diff(opinion.probability[:, 1]) > 0).all()


def test_scores_of_two_classes_are_those_of_the_paper():
    counts = [[[1, 3], [2, 2], [4, 0]]]
    assert combine(counts, Average()).score == pytest.approx([(0.25 + 0.0 - 0.5) / 3])
    assert combine(counts, Laplace()).score == pytest.approx([(4 / 6 - 0.5 + 0.0 + 1 / 6 - 0.5) / 3])
    assert combine(counts, Vote()).score == pytest.approx([0.0], abs=1e-16)
    assert combine(counts, Pool()).score == pytest.approx([5 / 12 - 0.5])
    assert combine(counts, Median()).score == pytest.approx([0.0], abs=1e-16)
    assert combine(counts, SignedMaximum()).score == pytest.approx([-0.5])
    leaves = preference([[1, 3], [2, 2], [4, 0]])
    signed = leaves.support * [1, 0, -1]
    assert combine(counts, Plausibility()).score == pytest.approx([signed.mean()])
    weighted = (1 - np.exp(leaves.log_epistemic)) * signed
    assert combine(counts, EpistemicWeighted()).score == pytest.approx([weighted.mean()])
    q_positive, q_negative = 1 - leaves.support[0], 1 - leaves.support[2]
    assert combine(counts, Dempster()).score == pytest.approx([q_negative - q_positive])
    assert combine(counts, Cautious()).score == pytest.approx([leaves.support[0] - leaves.support[2]])


def test_imprecise_dirichlet_intervals_are_walleys():
    lower, upper = idm_bounds([[3, 1]], 2.0)
    np.testing.assert_allclose([lower[0], upper[0]], [[0.5, 1 / 6], [5 / 6, 0.5]])


def test_belief_with_one_unseen_row_on_pure_leaves_is_the_majority_vote():
    rng = np.random.default_rng(0)
    counts = np.eye(4)[rng.integers(0, 4, (300, 9))] * rng.integers(1, 5, (300, 9, 1))
    vote = combine(counts, Vote(), caution=1.0)
    opinion = combine(counts, Belief(), caution=1.0)
    np.testing.assert_array_equal(opinion.lower, opinion.upper)
    np.testing.assert_allclose(opinion.lower, vote.probability, atol=1e-15)


def test_cautious_ignores_repeated_evidence():
    counts = np.random.default_rng(1).integers(0, 9, (50, 4, 3)).astype(float)
    once, twice = (combine(table, Cautious()) for table in (counts, np.tile(counts, (1, 3, 1))))
    np.testing.assert_array_equal(once.lower, twice.lower)
    np.testing.assert_array_equal(once.conflict, twice.conflict)
    assert (combine(np.tile(counts, (1, 3, 1)), Dempster()).conflict > once.conflict).any()


def test_belief_weighs_trees_as_s0_does():
    counts, caution = [[[0, 1], [6, 2], [0, 3]]], 3.0
    size = np.array([1, 8, 3])
    decided = {0: [0, 1, 0], 1: [0, 0, 1]}  # by lower >= 1/2: (1,0) is open, (6,2) and (0,3) are not
    for name, weight in {
        "equal": np.ones(3),
        "size": size,
        "precision": 1 - caution / (size + caution),
    }.items():
        bel = combine(counts, Belief(weights=name), caution=caution).lower[0]
        expected = [weight @ decided[k] / weight.sum() for k in (0, 1)]
        np.testing.assert_allclose(bel, expected, rtol=1e-14)


def test_s0_decides_at_one_half_and_the_baseline_above_it():
    at_half = [[[0, 1]]]
    assert combine(at_half, Belief(), caution=1.0).lower[0].tolist() == [0.0, 1.0]
    assert combine(at_half, IntervalAverage(), caution=1.0).chosen.all()
    assert combine([[[0, 2]]], IntervalAverage(), caution=1.0).chosen.tolist() == [[False, True]]


def test_dominance_vote_leaves_undecided_trees_out():
    counts = [[[0, 5], [0, 5], [9, 1], [2, 3], [3, 2]]]
    opinion = combine(counts, DominanceVote(), caution=2.0)
    np.testing.assert_allclose(opinion.probability, [[1 / 3, 2 / 3]])
    np.testing.assert_allclose(opinion.lower, [[0.2, 0.4]])
    np.testing.assert_allclose(opinion.conflict, [0.2])
    assert opinion.chosen.tolist() == [[False, True]]


def test_a_prior_inside_dempster_is_one_more_source():
    counts, prior = [[[1, 0], [3, 1], [0, 2]]], [0.2, 0.8]
    plain, informed = combine(counts, Dempster()), combine(counts, Dempster(prior="log"), prior=prior)
    np.testing.assert_array_equal(plain.probability, combine(counts, Dempster()).probability)
    leaves = [
        slow.support_mass(2, 0, 2 / 3),
        slow.support_mass(2, 0, 0.765236 - 0.281592),
        slow.support_mass(2, 1, 1 - 0.171573),
    ]
    mass = [0.0, *prior, 0.0]
    for leaf in leaves:
        mass = slow.conjunctive(mass, [float(value) for value in leaf])
    np.testing.assert_allclose(informed.probability[0], np.array(mass[1:3]) / sum(mass[1:3]), atol=2e-6)
    np.testing.assert_allclose(informed.score, mass[2] - mass[1], atol=2e-6)
    odds = informed.log_odds - plain.log_odds
    np.testing.assert_allclose(odds[0, 1] - odds[0, 0], np.log(4))
    equal = combine(counts, Dempster(prior="log"))
    np.testing.assert_allclose(np.exp(equal.log_odds), equal.probability)
    with pytest.raises(ValueError, match="prior must be one of"):
        combine(counts, Dempster(prior="authors"))


def test_mva_counts_the_votes_against():
    counts = [[[9, 8, 0], [9, 0, 0], [0, 9, 0], [4, 4, 4]]]
    # against: class 0 once, class 1 once, class 2 three times
    assert combine(counts, Mva(), caution=2.0).chosen.tolist() == [[True, True, False]]


@pytest.mark.parametrize("rule", [Mva(), CdmVote()])
def test_one_row_at_caution_one_rules_out_no_class(rule):
    # lower bound of class 0: 1/2, upper bound of the others: 1/2, so nothing is below
    assert combine([[[1, 0, 0]]], rule, caution=1.0).chosen.tolist() == [[True, True, True]]
    assert combine([[[2, 0, 0]]], rule, caution=1.0).chosen.tolist() == [[True, False, False]]
    assert combine([[[1, 0]]], Belief(), caution=1.0).lower.tolist() == [[1.0, 0.0]]  # but a half decides there


def test_pure_leaves_of_one_row_do_not_make_cdm_vote_the_rule_of_precise_probabilities():
    counts = [[[1, 0, 0], [1, 0, 0], [1, 0, 0]]]
    assert combine(counts, Ndc(), caution=1.0).chosen.tolist() == [[True, False, False]]
    assert combine(counts, CdmVote(), caution=1.0).chosen.tolist() == [[True, True, True]]


def test_a_contradiction_is_reported_and_answered_by_the_average():
    counts = [[[9, 1], [1, 9]]]
    opinion = combine(counts, IntervalConjunction(), caution=2.0)
    average = combine(counts, Average(), caution=2.0)
    assert opinion.conflict == pytest.approx([9 / 12 - 3 / 12])
    np.testing.assert_allclose(opinion.lower, average.lower)
    np.testing.assert_allclose(opinion.upper, average.upper)
    meeting = combine(counts, IntervalConjunction(), caution=10.0)
    assert meeting.conflict == [0.0]
    np.testing.assert_allclose(meeting.lower, 9 / 20)
    np.testing.assert_allclose(meeting.upper, 11 / 20)


def test_the_end_of_a_contradiction_narrows_the_conjunction():
    counts = [[[9, 1], [1, 9]]]
    before, after = (combine(counts, IntervalConjunction(), caution=s) for s in (7.9, 8.1))
    assert before.conflict > 0
    assert after.conflict == 0
    assert (after.lower > before.lower).all()
    assert "widens" not in IntervalConjunction().laws


def test_precision_weights_move_with_caution_so_their_intervals_need_not_nest():
    counts = [[[0, 3], [3000, 0]]]
    mild, strong = (combine(counts, Belief(weights="precision"), caution=s) for s in (0.1, 3.0))
    assert strong.lower[0, 0] > mild.lower[0, 0]
    assert "widens" not in Belief(weights="precision").laws


def test_generalised_mixtures_are_the_printed_formula():
    counts = [[[1, 3], [2, 2], [4, 0], [1, 4]]]
    x = np.array([0.25, 0.0, -0.5, 0.3])
    for theta, centre in {"mean": x.mean(), "median": np.median(x), "max": -0.5}.items():
        apart = np.abs(x - centre)
        expected = (x - x * apart / apart.sum()).sum() / 3
        assert combine(counts, GeneralisedMixture(theta)).score == pytest.approx([expected], rel=1e-13)


def test_the_best_sets_of_cdm_ave_ndc_and_cr_on_a_worked_sample():
    counts = [[[6, 5, 1, 0]]]
    lower, shares = np.array([6, 5, 1, 0]) / 14, np.array([6, 5, 1, 0]) / 12
    u65 = {size: 1.6 / size - 0.6 / size**2 for size in range(1, 5)}
    assert u65[2] * lower[:2].sum() > max(u65[1] * lower[0], u65[3] * lower[:3].sum(), u65[4])
    assert combine(counts, CdmAve(), caution=2.0).chosen.tolist() == [[True, True, False, False]]
    assert u65[2] * shares[:2].sum() > max(u65[1] * shares[0], u65[3])
    assert combine(counts, Ndc(), caution=2.0).chosen.tolist() == [[True, True, False, False]]
    assert combine(counts, Cr(epsilon=0.1)).chosen.tolist() == [[True, True, False, False]]
    assert combine(counts, Cr(epsilon=0.05)).chosen.tolist() == [[True, True, True, False]]


def test_entropy_splits_into_aleatoric_and_epistemic():
    counts = np.array([[[8.0, 0.0], [4.0, 4.0]], [[0.0, 0.0], [1.0, 0.0]], [[0.0, 0.0], [0.0, 0.0]]])
    split, setting = Uncertainty(), Setting.of(2, 1.0)
    states = split.lift(counts.reshape(-1, 2), setting).reshape(3, 2, -1)
    found = split.finish(merge_states(states, split.merge), setting)
    total = -(0.75 * np.log2(0.75) + 0.25 * np.log2(0.25))
    np.testing.assert_allclose(found.total, [total, 0.0, 1.0], atol=1e-15)
    np.testing.assert_allclose(found.aleatoric, [0.5, 0.0, 0.0], atol=1e-15)
    np.testing.assert_allclose(found.epistemic, [total - 0.5, 0.0, 1.0], atol=1e-15)
    np.testing.assert_allclose(found.relative_epistemic[1:], [(1 + 1 / 3) / 2, 1.0])
    np.testing.assert_allclose(found.relative_aleatoric[1:], 0.0)


def example_objective(seed: int, n_classes: int, masked: bool) -> tuple[_Objective, tuple]:
    rng = np.random.default_rng(seed)
    counts = rng.poisson(2.0, (40, 6, n_classes))
    lower, upper = idm_bounds(counts.reshape(-1, n_classes), 1.0)
    lower, upper = (bound.reshape(40, 6, n_classes) for bound in (lower, upper))
    y = rng.integers(0, n_classes, 40)
    seen = rng.random((40, 6)) < 0.5 if masked else np.ones((40, 6), dtype=bool)
    seen[:, 0] |= ~seen.any(axis=1)
    alone, possible = (part * seen[:, :, None] for part in _indicators(lower, upper))
    return _Objective(alone, possible, y, seen.astype(float), 0.2, 0.3, 1e-3 / 6 * masked), (lower, upper, y, seen)


@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize("masked", [False, True])
def test_the_gradient_of_the_tree_weights_is_analytic(n_classes, masked):
    objective, _ = example_objective(1, n_classes, masked)
    w = np.random.default_rng(2).dirichlet(np.ones(6))
    _, gradient = objective(w)
    for t in range(6):
        step = np.zeros(6)
        step[t] = 1e-6
        numeric = (objective(w + step)[0] - objective(w - step)[0]) / 2e-6
        assert gradient[t] == pytest.approx(numeric, abs=1e-8)


def test_the_objective_of_two_classes_is_s0s():
    objective, (lower, upper, y, _) = example_objective(3, 2, False)
    w = np.random.default_rng(4).dirichlet(np.ones(6))
    bel, pl = (lower[:, :, 1] >= 0.5) @ w, (upper[:, :, 1] > 0.5) @ w

    def sigma(x):
        return 1 / (1 + np.exp(-x))

    inner = y * np.log(sigma(10 * (bel - 0.5))) + (1 - y) * np.log(1 - sigma(10 * (pl - 0.5)))
    inner = inner + 0.2 * np.log(1 - sigma(2 * (bel - 0.5) * (pl - 0.5)))
    assert objective(w)[0] == pytest.approx(-inner.mean() + 0.15 * w @ w, rel=1e-12)


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("masked", [False, True])
def test_learned_tree_weights_minimise_the_objective_over_the_simplex(n_classes, masked):
    objective, (lower, upper, y, seen) = example_objective(5, n_classes, masked)
    w = learn_tree_weights(lower, upper, y, gamma=0.2, lam=0.3, seen=seen if masked else None)
    assert w.sum() == pytest.approx(1.0, abs=1e-12)
    assert (w >= 0).all()
    found = minimize(
        lambda v: objective(v)[0],
        np.full(6, 1 / 6),
        jac=lambda v: objective(v)[1],
        method="SLSQP",
        bounds=[(0, 1)] * 6,
        constraints={"type": "eq", "fun": lambda v: v.sum() - 1},
        options={"ftol": 1e-14, "maxiter": 300},
    )
    other = np.maximum(found.x, 0) / np.maximum(found.x, 0).sum()
    assert objective(w)[0] <= objective(other)[0] + 1e-10
    assert np.abs(w - 1 / 6).max() > 0.01


def test_averaged_bounds_take_the_place_of_votes_in_the_objective():
    """The second strategy of the cautious weighted random forest, term by term."""
    _, (lower, upper, y, _) = example_objective(3, 2, False)

    def objective(w):
        bel, pl = lower[:, :, 1] @ w, upper[:, :, 1] @ w
        right = np.where(y == 1, log_expit(10 * (bel - 0.5)), log_expit(-10 * (pl - 0.5)))
        return -(right + 0.2 * log_expit(-2 * (bel - 0.5) * (pl - 0.5))).mean() + 0.05 * w @ w

    found = learn_tree_weights(lower, upper, y, objective="bounds", gamma=0.2, lam=0.1)
    best = slowly_over_the_simplex(objective, 6)
    assert objective(found) == pytest.approx(objective(best), abs=1e-8)
    assert objective(found) < objective(np.full(6, 1 / 6)) - 1e-4
    votes = learn_tree_weights(lower, upper, y, gamma=0.2, lam=0.1)
    assert np.abs(found - votes).max() > 0.01


@pytest.mark.parametrize("n_classes", [2, 3])
def test_minimax_weights_minimise_the_worst_distance_over_all_distributions_of_all_trees(n_classes):
    """Every tree may put its pseudo-counts into any class: K^T choices for each row."""
    rng = np.random.default_rng(n_classes)
    counts, y = rng.poisson(2.0, (15, 4, n_classes)), rng.integers(0, n_classes, 15)
    lower, upper = (bound.reshape(counts.shape) for bound in idm_bounds(counts.reshape(-1, n_classes), 1.0))
    left, corners = 1 - lower.sum(axis=2), np.eye(n_classes)
    choices = np.array(list(product(range(n_classes), repeat=4)))
    trees = lower[:, None] + left[:, None, :, None] * corners[choices]  # (rows, choices, T, K)

    def objective(w):
        apart = np.einsum("ictk,t->ick", trees, w) - corners[y][:, None]
        return (apart**2).sum(axis=2).max(axis=1).mean() + 0.01 * w @ w

    found = learn_tree_weights(lower, upper, y, objective="minimax", lam=0.02)
    best = slowly_over_the_simplex(objective, 4)
    assert objective(found) <= objective(best) + 1e-5
    assert objective(found) < objective(np.full(4, 0.25)) - 1e-4


def slowly_over_the_simplex(objective, n_trees):
    """Minimise without a gradient, from many starts, by softmax coordinates."""
    starts = np.random.default_rng(0).normal(0, 1, (6, n_trees))
    told = {"method": "Nelder-Mead", "options": {"maxiter": 4000, "maxfev": 4000, "xatol": 1e-9, "fatol": 1e-12}}
    found = [minimize(lambda z: objective(softmax(z)), start, **told) for start in starts]
    return softmax(min(found, key=lambda each: each.fun).x)


def test_learned_weights_are_equal_when_the_penalty_is_heavy():
    _, (lower, upper, y, _) = example_objective(6, 2, False)
    np.testing.assert_allclose(learn_tree_weights(lower, upper, y, lam=1e6), 1 / 6, atol=1e-5)


def test_confidence_bounds_agree_across_the_change_to_stirlings_series():
    """p + q = 1000 takes log-gamma, 1002 the series: exact rationals say both are right."""
    for p, q in [(520, 480), (521, 481), (600, 410)]:
        k = (p + q) // 2
        c = float(slow.forecast(p, q, k) / slow.forecast(p, q, p))
        expected = (1 - c) * (p / (p + q) - 0.5)
        assert confidence_scores([[q, p]])[0, 1] == pytest.approx(expected, rel=1e-11)


def test_names_resolve_and_unknown_names_are_answered_with_the_list():
    for name in rule_names():
        assert resolve_rule(name).name == name
    rule = Eva(prior=None)
    assert resolve_rule(rule) is rule
    with pytest.raises(ValueError, match=r"average, belief, cautious.*got 'mean'"):
        resolve_rule("mean")


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: combine([[1, 2]]), "counts must have the shape"),
        (lambda: combine([[[1, -2]]]), "counts must be finite and non-negative"),
        (lambda: combine([[[1, np.nan]]]), "counts must be finite and non-negative"),
        (lambda: combine([[[1, 2]]], caution=-1), "caution must be"),
        (lambda: combine([[[1, 2]]], Eva(), prior=[0.0, 1.0]), "prior must be"),
        (lambda: combine([[[1, 2]]], weights=[1, 2]), "weights must be 1 finite"),
        (lambda: combine([[[1, 2]]], Belief(weights="learned")), "requires tree weights"),
        (lambda: combine([[[1, 2]]], Belief(weights="best")), "weights must be one of"),
        (lambda: combine([[[1, 2]]], Eva(prior="flat")), "prior must be one of"),
        (lambda: combine([[[1, 2]]], Eva(smoothing=0)), "smoothing must be"),
        (lambda: combine([[[1, 2]]], Eva(reliability=np.nan)), r"reliability must be one of \(True, False\)"),
        (lambda: combine([[[1, 2]]], Cautious(normalised=np.nan)), r"normalised must be one of \(True, False\)"),
        (lambda: combine([[[1, 2]]], Dempster(normalised="no")), r"normalised must be one of \(True, False\)"),
        (lambda: combine([[[1, 2]]], Laplace(alpha=-1)), "alpha must be"),
        (lambda: combine([[[1, 2]]], CdmAve(utility="u99")), "utility must be one of"),
        (lambda: combine([[[1, 2]]], Cr(epsilon=1)), "epsilon must lie in"),
        (lambda: combine([[[1, 2]]], GeneralisedMixture(theta="mode")), "theta must be one of"),
        (lambda: learn_tree_weights([[0.1]], [[0.2]], [2]), "y must be"),
        (lambda: learn_tree_weights([[0.1]], [[0.2]], [1], objective="gini"), "objective must be"),
        (lambda: combine([[[1, 2]]], Belief(gamma=-1)), "gamma must be a finite non-negative"),
        (lambda: combine([[[1, 2]]], IntervalAverage(lam=np.inf)), "lam must be a finite non-negative"),
        (lambda: combine([[[1, 2]]], IntervalAverage("size")), "weights must be one of"),
        (lambda: combine([[[1, 2]]], DominanceVote("minimax")), "weights must be one of"),
        (lambda: learn_tree_weights([0.1], [0.2], [1]), "lower and upper must have the same shape"),
    ],
)
def test_what_cannot_be_is_refused_in_words(call, words):
    with pytest.raises(ValueError, match=words):
        call()


@pytest.mark.parametrize("n_classes", [2, 3, 10])
def test_beliefs_hold_their_digits_beside_a_weight_that_drowns_them(n_classes):
    rng = np.random.default_rng(n_classes)
    weight = rng.gamma(1.0, 10.0 ** rng.integers(-3, 4, (500, 1)), (500, n_classes))
    discounted = weight * rng.random(weight.shape)
    top = weight.max(axis=1, keepdims=True)
    slowly = _faint_lower_beliefs(weight, discounted, top)
    np.testing.assert_allclose(lower_beliefs(weight, discounted, normalised=True), slowly, rtol=1e-11, atol=1e-50)
