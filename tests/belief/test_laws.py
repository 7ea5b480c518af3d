"""Laws: what holds for every rule, whatever the counts."""

from __future__ import annotations

import warnings
from importlib import import_module
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn.base import clone

from hedgerow import Opinion, combine
from hedgerow.rules import Average, Dempster, Rule, Setting, all_rules, merge_states

RULES = list(all_rules())
FOLDS = [rule for rule in RULES if rule.merge != "stack"]


def label(rule: Rule) -> str:
    return " ".join(repr(rule).split())


def obeying(law: str) -> list[Rule]:
    """The rules that promise a law; test_numbers and test_exact show what the others do instead."""
    return [rule for rule in RULES if law in rule.laws]


every_rule = pytest.mark.parametrize("rule", RULES, ids=label)


def weights_for(rule: Rule, n_trees: int) -> np.ndarray | None:
    """Tree weights where a rule cannot do without."""
    return np.linspace(1.0, 2.0, n_trees) if rule.needs_weights else None


def judge(counts: Any, rule: Rule, **given: Any) -> Opinion:
    table = np.asarray(counts, dtype=float)
    given.setdefault("weights", weights_for(rule, table.shape[1]))
    if not rule.uses_prior:  # which is an error
        given.pop("prior", None)
    return combine(table, rule, **given)


def many_counts(seed: int, n_classes: int, n_trees: int = 5, n: int = 200, empty: float = 0.15) -> np.ndarray:
    """Small counts with ties, pure and empty leaves."""
    rng = np.random.default_rng(seed)
    counts = rng.poisson(rng.gamma(0.6, 4.0, (n, n_trees, n_classes))).astype(float)
    counts[rng.random((n, n_trees)) < empty] = 0.0
    return counts


def untied_counts(seed: int, n_classes: int) -> np.ndarray:
    """Counts without empty leaves and without ties for the largest class."""
    counts = many_counts(seed, n_classes, empty=0.0)
    top = np.random.default_rng(seed).integers(0, n_classes, counts.shape[:2])
    raised = counts.max(axis=2) + 1
    np.put_along_axis(counts, top[:, :, None], raised[:, :, None], axis=2)
    return counts


def parts(opinion: Opinion) -> list[np.ndarray]:
    numbers = [opinion.lower, opinion.upper, opinion.probability, opinion.conflict, opinion.vacuity]
    return [*numbers, opinion.log_odds] + ([] if opinion.score is None else [opinion.score])


def assert_same(one: Opinion, other: Opinion) -> None:
    for a, b in zip(parts(one), parts(other), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-12)
    if one.chosen is not None:
        np.testing.assert_array_equal(one.chosen, other.chosen)


count_tables = st.tuples(st.integers(1, 3), st.integers(1, 5), st.integers(2, 4)).flatmap(
    lambda shape: arrays(np.int64, shape, elements=st.sampled_from([0, 0, 0, 1, 1, 2, 3, 5, 8, 40]))
)
real_tables = st.tuples(st.integers(1, 3), st.integers(1, 5), st.integers(2, 4)).flatmap(
    lambda shape: arrays(np.float64, shape, elements=st.sampled_from([0, 1e-100, 1e-50, 0.3, 1, 40, 1e16, 1e60, 1e100]))
)
cautions = st.sampled_from([0.0, 0.5, 1.0, 2.0, 3.0, 7.5, 1e150, 1.7e308])


@every_rule
@settings(max_examples=15, deadline=None, derandomize=True)
@given(counts=count_tables | real_tables, caution=cautions)
def test_every_rule_gives_distributions_within_their_bounds(rule, counts, caution):
    opinion = judge(counts, rule, caution=caution)
    assert np.abs(opinion.probability.sum(axis=1) - 1.0).max() <= 1e-12
    assert (opinion.lower <= opinion.probability).all()
    assert (opinion.probability <= opinion.upper).all()
    assert (opinion.lower >= 0).all()
    assert (opinion.upper <= 1).all()
    for values in (opinion.conflict, opinion.vacuity):
        assert ((values >= 0) & (values <= 1)).all()
    assert all(np.isfinite(values).all() for values in parts(opinion))


@pytest.mark.parametrize("count", [1e101, 1e156, 1.7e308, 1e-101, 5e-324, np.nan, np.inf, -1.0, 1 + 1j])
def test_counts_whose_squares_are_no_numbers_are_refused(count):
    with pytest.raises(ValueError, match="counts must be"):
        combine([[[count, 1.0]]], "dempster")


@every_rule
@pytest.mark.parametrize("n_classes", [2, 3, 7])
def test_the_order_of_trees_does_not_matter(rule, n_classes):
    counts = many_counts(1, n_classes)
    order = np.random.default_rng(2).permutation(counts.shape[1])
    weights = weights_for(rule, counts.shape[1])
    turned = None if weights is None else weights[order]
    assert_same(judge(counts, rule), judge(counts[:, order], rule, weights=turned))


@pytest.mark.parametrize("rule", FOLDS, ids=label)
@pytest.mark.parametrize("n_classes", [2, 4])
def test_merging_in_any_grouping_gives_the_same(rule, n_classes):
    counts = many_counts(3, n_classes, n_trees=6)
    setting = Setting.of(n_classes, 1.0)
    states = rule.lift(counts.reshape(-1, n_classes), setting).reshape(len(counts), 6, -1)

    def merged(groups: list[slice]) -> np.ndarray:
        folded = [merge_states(states[:, group], rule.merge) for group in groups]
        if rule.merge == "both":
            largest, added = zip(*(np.hsplit(part, 2) for part in folded), strict=True)
            return np.hstack([np.max(largest, axis=0), np.sum(added, axis=0)])
        return {"add": np.sum, "max": np.max}[rule.merge](folded, axis=0)

    whole = rule.finish(merge_states(states, rule.merge), setting)
    assert_same(whole, rule.finish(merged([slice(0, 1), slice(1, 6)]), setting))
    assert_same(whole, rule.finish(merged([slice(4, 6), slice(0, 3), slice(3, 4)]), setting))


@pytest.mark.parametrize("rule", obeying("widens"), ids=label)
@pytest.mark.parametrize("n_classes", [2, 3, 6])
def test_intervals_widen_with_caution_for_fixed_tree_weights(rule, n_classes):
    counts = many_counts(4, n_classes, n=120)
    narrow = judge(counts, rule, caution=0.0)
    for caution in (0.3, 1.0, 2.0, 40.0):
        wide = judge(counts, rule, caution=caution)
        assert (wide.lower <= narrow.lower + 1e-12).all()
        assert (wide.upper >= narrow.upper - 1e-12).all()
        narrow = wide
    assert (wide.vacuity > judge(counts, rule, caution=0.0).vacuity).any()


@pytest.mark.parametrize("rule", obeying("precise"), ids=label)
@pytest.mark.parametrize("n_classes", [2, 3, 6])
def test_caution_zero_is_the_precise_forest(rule, n_classes):
    opinion = judge(untied_counts(5, n_classes), rule, caution=0.0)
    np.testing.assert_allclose(opinion.lower, opinion.probability, rtol=0, atol=1e-12)
    np.testing.assert_allclose(opinion.upper, opinion.probability, rtol=0, atol=1e-12)


@pytest.mark.parametrize("caution", [0.0, 1.0, 5.0])
def test_the_average_is_the_mean_of_leaf_shares_whatever_the_caution(caution):
    counts = many_counts(6, 3)
    total = counts.sum(axis=2, keepdims=True)
    shares = np.divide(counts, total, out=np.full_like(counts, np.nan), where=total > 0)
    known = (total > 0).any(axis=1)[:, 0]
    expected = np.nanmean(shares[known], axis=1)
    np.testing.assert_allclose(combine(counts, caution=caution).probability[known], expected, atol=1e-14)


@every_rule
@pytest.mark.parametrize("n_classes", [2, 3, 6])
def test_a_vacuous_leaf_changes_nothing_or_only_widens(rule, n_classes):
    counts = many_counts(7, n_classes)
    weights = weights_for(rule, 6)
    without = np.zeros((len(counts), 1, n_classes))
    for caution in (0.0, 1.0):
        fewer = judge(counts, rule, caution=caution, weights=None if weights is None else weights[:5])
        more = judge(np.concatenate([counts, without], axis=1), rule, caution=caution, weights=weights)
        if "accumulates" in rule.laws:
            assert_same(more, fewer)
        else:
            assert (more.lower <= fewer.lower + 1e-12).all()
            assert (more.upper >= fewer.upper - 1e-12).all()


@every_rule
@pytest.mark.parametrize("n_classes", [2, 5])
def test_without_evidence_the_opinion_is_vacuous(rule, n_classes):
    prior = np.arange(1, n_classes + 1)
    for n_trees, caution in [(0, 0.0), (0, 1.0), (1, 0.0), (1, 1.0), (4, 0.0), (4, 2.5)]:
        opinion = judge(np.zeros((2, n_trees, n_classes)), rule, caution=caution, prior=prior)
        known = prior / prior.sum() if isinstance(rule, Dempster) and rule.prior else 1.0 / n_classes
        np.testing.assert_allclose(opinion.probability, np.broadcast_to(known, (2, n_classes)), atol=1e-15)
        assert (opinion.lower == 0).all()
        assert (opinion.upper == 1).all()
        assert (opinion.vacuity == 1).all()
        assert (opinion.conflict == 0).all()
        if opinion.chosen is not None:
            assert opinion.chosen.all()


@pytest.mark.parametrize("rule", FOLDS, ids=label)
def test_a_row_of_zeros_is_the_state_of_no_leaf(rule):
    setting = Setting.of(3, 1.0)
    copies = 2 if rule.merge == "both" else 1
    opinion = rule.finish(np.zeros((1, copies * rule.width(setting))), setting)
    np.testing.assert_allclose(opinion.probability, 1 / 3, atol=1e-15)
    assert (opinion.lower == 0).all()
    assert (opinion.upper == 1).all()


@pytest.mark.parametrize("rule", [rule for rule in RULES if rule.merge in ("max", "both")], ids=label)
def test_states_that_are_folded_by_maximum_are_never_negative(rule):
    assert (rule.lift(many_counts(8, 4).reshape(-1, 4), Setting.of(4, 1.5)) >= 0).all()


@every_rule
def test_naming_the_classes_otherwise_renames_the_opinion(rule):
    counts = many_counts(9, 4)
    order = np.array([2, 0, 3, 1])
    prior = np.array([0.1, 0.2, 0.3, 0.4])
    plain, turned = judge(counts, rule, prior=prior), judge(counts[:, :, order], rule, prior=prior[order])
    for name in ("lower", "upper", "probability", "log_odds"):
        np.testing.assert_allclose(getattr(plain, name)[:, order], getattr(turned, name), rtol=1e-12, atol=1e-12)


@every_rule
def test_swapping_two_classes_swaps_the_answer(rule):
    counts, prior = many_counts(23, 2), np.array([0.3, 0.7])
    plain, swapped = judge(counts, rule, prior=prior), judge(counts[:, :, ::-1], rule, prior=prior[::-1])
    for name in ("lower", "upper", "probability", "log_odds"):
        np.testing.assert_allclose(getattr(plain, name)[:, ::-1], getattr(swapped, name), rtol=1e-12, atol=1e-12)
    if plain.score is not None:
        np.testing.assert_allclose(plain.score, -swapped.score, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(plain.conflict, swapped.conflict, rtol=1e-9, atol=1e-12)
    if rule.chooses:
        assert (plain.chosen[:, ::-1] == swapped.chosen).all()


@every_rule
def test_the_leading_class_of_probability_leads_the_log_odds(rule):
    opinion = judge(untied_counts(10, 4), rule)
    leader = opinion.probability.argmax(axis=1)[:, None]
    top = np.take_along_axis(opinion.log_odds, leader, axis=1)
    assert (opinion.log_odds <= top + 1e-12).all()
    np.testing.assert_allclose(np.exp(opinion.log_odds).sum(axis=1), 1.0, atol=1e-12)


@pytest.mark.parametrize("rule", [rule for rule in RULES if rule.weighable], ids=label)
@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_tree_of_weight_two_is_two_trees_and_of_weight_zero_none(rule, n_classes):
    counts = many_counts(11, n_classes, n_trees=4)
    weighted = combine(counts, rule, weights=[2, 1, 0, 1])
    repeated = combine(counts[:, [0, 0, 1, 3]], rule, weights=np.ones(4))
    assert_same(weighted, repeated)


@pytest.mark.parametrize("rule", [rule for rule in RULES if not rule.weighable], ids=label)
def test_rules_that_do_not_add_refuse_tree_weights(rule):
    with pytest.raises(ValueError, match="weights must be None"):
        combine(np.ones((1, 2, 2)), rule, weights=[1, 2])


@every_rule
def test_rules_that_decide_choose_at_least_one_class(rule):
    for n_classes in (2, 5):
        opinion = judge(many_counts(12, n_classes), rule)
        if opinion.chosen is not None:
            assert opinion.chosen.shape == opinion.probability.shape
            assert opinion.chosen.any(axis=1).all()
    assert (opinion.chosen is not None) == rule.chooses


@every_rule
def test_one_class_is_certain(rule):
    opinion = judge([[[3.0], [2.0]]], rule)
    assert opinion.probability == pytest.approx(1.0, abs=1e-15)


@every_rule
def test_rules_are_cloned_with_their_parameters(rule):
    twin = clone(rule)
    assert twin is not rule
    assert twin.get_params() == rule.get_params()
    counts = many_counts(13, 3, n=20)
    assert_same(judge(counts, twin), judge(counts, rule))


@every_rule
def test_samples_do_not_influence_each_other(rule, monkeypatch):
    counts = many_counts(14, 3, n=30)
    whole = judge(counts, rule)
    monkeypatch.setattr(import_module("hedgerow.rules.combine"), "CELLS", 200)
    assert_same(judge(counts, rule), whole)
    assert_same(judge(counts[7:8], rule), whole[7:8])


@every_rule
def test_counts_that_nearly_tie_give_no_warning(rule):
    most = np.array([1.0, 3.7, 1e9, 1e-5])
    counts = np.stack([most + np.spacing(most), most, most / 3], axis=1)[:, None]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        opinion = judge(counts, rule)
    assert (opinion.lower <= opinion.upper).all()
    np.testing.assert_allclose(opinion.probability.sum(axis=1), 1)


@every_rule
def test_counts_may_be_real(rule):
    counts = many_counts(15, 3)
    near = judge(counts + 1e-9 * (counts > 0), rule, caution=1.5)
    if rule.smooth:
        np.testing.assert_allclose(near.probability, judge(counts, rule, caution=1.5).probability, atol=1e-6)
    assert np.abs(near.probability.sum(axis=1) - 1).max() <= 1e-12


@every_rule
def test_intervals_are_equally_wide_where_the_rule_says_so_and_only_there(rule):
    width = (opinion := judge(many_counts(17, 4), rule, caution=2.0)).upper - opinion.lower
    assert bool(np.ptp(width, axis=1).max() < 1e-9) == rule.even


@every_rule
def test_twice_the_rows_and_caution_change_nothing_where_the_rule_says_so_and_only_there(rule):
    counts = many_counts(18, 3)
    once, twice = judge(counts, rule, caution=1.5), judge(2 * counts, rule, caution=3.0)
    same = np.allclose(once.lower, twice.lower, atol=1e-12) and np.allclose(once.upper, twice.upper, atol=1e-12)
    assert same == rule.scale_free


@pytest.mark.parametrize("rule", [rule for rule in RULES if not rule.smooth], ids=label)
def test_rules_that_are_not_smooth_jump_where_a_tie_ends(rule):
    tied = np.random.default_rng(19).integers(1, 4, (200, 3, 3)).astype(float)
    nudged = tied + np.random.default_rng(20).uniform(0, 1e-9, tied.shape)
    moved = np.abs(judge(tied, rule).probability - judge(nudged, rule).probability).max()
    assert moved > 0.01


@pytest.mark.parametrize("rule", [rule for rule in RULES if rule.steady], ids=label)
def test_a_steady_rule_says_the_same_however_many_trees_sums_are_scaled_to(rule):
    setting, counts = Setting.of(3, 1.5), many_counts(21, 3)
    states = rule.lift(counts.reshape(-1, 3), setting).reshape(len(counts), counts.shape[1], -1)
    merged = merge_states(states, rule.merge)
    scaled = merged * 7 / 3 if rule.merge == "add" else merged  # as out-of-bag sums are
    assert_same(rule.finish(scaled, setting), rule.finish(merged, setting))


ADDING = [rule for rule in RULES if rule.adds_up]


def test_what_adds_up_is_what_it_has_been():
    bounds = ("lower", "upper", "width")
    expected = dict.fromkeys(("average", "laplace", "plausibility", "epistemic_weighted", "confidence_bounds", "vote"))
    expected |= dict.fromkeys(("interval_average", "cdm_ave", "ndc", "cr", "belief", "mva"))
    expected = dict.fromkeys(expected, ("probability", *bounds)) | {"dominance_vote": bounds}
    expected |= {"eva": ("log_odds",), "dempster": ("log_odds",)}
    assert {rule.name: rule.adds_up for rule in ADDING} == expected
    assert {rule.weights for rule in ADDING if rule.name == "belief"} == {"equal", "learned"}


@pytest.mark.parametrize("rule", ADDING, ids=label)
@pytest.mark.parametrize("n_classes", [2, 4])
def test_what_adds_up_is_the_sum_of_what_the_leaves_add(rule, n_classes):
    counts, prior = many_counts(22, n_classes), np.arange(1.0, n_classes + 1)
    if rule.skips_empty:
        counts = counts[(counts.sum(axis=2) > 0).all(axis=1)]
    setting, weights = Setting.of(n_classes, 1.5, prior), weights_for(rule, counts.shape[1])
    opinion = judge(counts, rule, caution=1.5, prior=prior)
    parts = rule.parts(rule.lift(counts.reshape(-1, n_classes), setting), setting)
    assert set(parts) == set(rule.adds_up) - {"width"}
    trees = np.ones(counts.shape[1]) if weights is None else weights
    sums = {name: np.einsum("ntk,t->nk", each.reshape(counts.shape), trees) for name, each in parts.items()}
    for name in sums.keys() - {"log_odds"}:
        np.testing.assert_allclose(sums[name] / trees.sum(), getattr(opinion, name), rtol=0, atol=1e-12)
    if "log_odds" in sums:
        scores = sums["log_odds"] + rule.prior_term(setting) - opinion.log_odds
        np.testing.assert_allclose(np.ptp(scores, axis=1), 0.0, atol=1e-9)


def test_a_subclass_does_not_inherit_the_name_of_arithmetic_it_may_have_changed():
    class Halved(Average):
        def shares(self, counts):
            return 0.5 * super().shares(counts) + 0.5 / counts.shape[1] * (counts.sum(axis=1, keepdims=True) > 0)

    assert (Average.plain_mean, Average.page, Average().on_page()) == (True, "average", ("average", {}))
    assert (Halved.plain_mean, Halved.page, Halved().on_page()) == (False, None, None)
    assert Halved.even
    assert Halved().adds_up == Average().adds_up


EXTREMES = {
    "ten thousand trees in total conflict": np.tile([[9.0, 0.0], [0.0, 9.0]], (5000, 1))[None],
    "ten thousand huge leaves in total conflict": np.tile([[1e9, 0.0], [0.0, 1e9]], (5000, 1))[None],
    "counts from nothing to a milliard": np.array(
        [[[0, 0, 0], [1, 0, 0], [10**9, 1, 0], [1, 10**9, 10**9], [10**9, 10**9, 10**9]]]
    ),
    "near draws of a milliard": np.array([[[5e8 + 1e4, 5e8 - 1e4], [5e8, 5e8], [5e8 + 1, 5e8]]]),
    "two hundred classes": np.random.default_rng(16).poisson(0.05, (3, 20, 200)).astype(float),
    "two hundred classes, one leaf each": np.eye(200)[None] * 7,
}


@every_rule
@pytest.mark.parametrize("case", EXTREMES)
def test_extreme_evidence_stays_finite_without_a_warning(rule, case):
    counts = np.asarray(EXTREMES[case], dtype=float)
    prior = np.linspace(1e-6, 1.0, counts.shape[2])
    for caution in (0.0, 1.0):
        with warnings.catch_warnings(), np.errstate(all="raise", under="ignore"):
            warnings.simplefilter("error")
            opinion = judge(counts, rule, prior=prior, caution=caution)
        assert all(np.isfinite(values).all() for values in parts(opinion))
        assert np.abs(opinion.probability.sum(axis=1) - 1).max() <= 1e-12
        assert (opinion.lower <= opinion.probability).all()
        assert (opinion.probability <= opinion.upper).all()
