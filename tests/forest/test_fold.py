"""The compiled fold against plain NumPy on materialised counts: every rule, every path, every sense of counting."""

from __future__ import annotations

import tracemalloc
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
from tests.reference.fold import (
    assert_same_bits,
    assert_same_opinion,
    combine_seen,
    multiplicities,
    out_of_bag_counts,
    prior_for,
)

import hedgerow.forest.cache
import hedgerow.forest.fold
import hedgerow.forest.forest
import hedgerow.forest.reducers
from hedgerow import RandomForestClassifier, combine
from hedgerow.forest.cache import Cache
from hedgerow.forest.class_counts import DENSE_CLASSES
from hedgerow.forest.fold import fold
from hedgerow.forest.forest import Forest
from hedgerow.forest.reducers import Votes
from hedgerow.inference.predictor import predictor_of
from hedgerow.rules import Average, Eva, Laplace, Rule, Setting, Uncertainty, all_rules, merge_states, resolve_rule
from hedgerow.rules.uncertainty import UncertaintyWith

RULES = list(all_rules())
ROOT = Path(__file__).resolve().parents[2]
SENSES = ("all", "inbag", "distinct", "oob")
N_TREES = 10
EVERY_RULE = pytest.mark.parametrize("rule", RULES, ids=repr)
MERGES = [resolve_rule(name) for name in ("average", "cautious", "interval_disjunction", "median")]
ONE_OF_EACH_MERGE = pytest.mark.parametrize("rule", MERGES, ids=lambda rule: rule.merge)


def draw_rows(n_rows: int, n_classes: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Coarse columns with gaps, so that leaves hold several classes and rows reach the same leaf."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, n_classes, n_rows)
    y[:n_classes] = np.arange(n_classes)
    X = np.round(rng.normal(size=(n_rows, 4)) + 0.7 * (y[:, None] % 3), 1)
    X[rng.random(X.shape) < 0.05] = np.nan
    return X, y


@cache
def fitted(n_classes: int, weighting: str = "none", leaf_counts: str = "all", n_rows: int = 240) -> Any:
    """-> forest, training table, labels, weights of the rows or None."""
    X, y = draw_rows(n_rows, n_classes, seed=n_classes)
    rng = np.random.default_rng(99)
    by_class = {label: 1.0 + (label % 4) * 3.0 for label in range(n_classes)}
    weights = {"none": None, "rows": rng.uniform(0.5, 4.0, n_rows), "classes": np.array([by_class[k] for k in y])}
    forest = RandomForestClassifier(
        N_TREES,
        min_samples_leaf=2,
        leaf_counts=leaf_counts,
        class_weight=by_class if weighting == "classes" else None,
        random_state=7,
    )
    forest.fit(X, y, sample_weight=weights["rows"] if weighting == "rows" else None)
    return forest, X, y, weights[weighting]


@cache
def slowly(n_classes: int, leaf_counts: str, weighting: str) -> Any:
    """-> forest, counts (n, T, K) without the row itself, which trees have not seen the row (n, T)."""
    forest, X, y, weights = fitted(n_classes, weighting, leaf_counts, n_rows=60)
    return forest, *out_of_bag_counts(forest, X, y, weights)


def weights_for(rule: Rule) -> np.ndarray | None:
    """Weights from outside for a rule that cannot do without."""
    return np.linspace(0.5, 2.0, N_TREES) if rule.needs_weights else None


def count_kernel_calls(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, int]]:
    """-> a list that every call of the compiled fold adds its first and last tree to."""
    calls: list[tuple[int, int]] = []
    compiled = Forest.fold

    def counted(
        self: Forest, codes: Any, states: Any, distinct: Any, merge: int, first: int, last: int, *rest: Any
    ) -> None:
        calls.append((first, last))
        compiled(self, codes, states, distinct, merge, first, last, *rest)

    monkeypatch.setattr(Forest, "fold", counted)
    return calls


# ---- distinct leaves -------------------------------------------------------------------------


@pytest.mark.parametrize("n_classes", [2, 3, 20])
def test_leaves_of_one_content_share_a_number_and_no_others_do(n_classes):
    forest = fitted(n_classes)[0].forest_
    distinct = forest.distinct()
    counts = np.concatenate([forest.leaf_counts(tree) for tree in range(forest.n_trees)])
    np.testing.assert_array_equal(forest.evidence.table(distinct.examples)[distinct.of_leaf], counts)
    assert len(distinct.examples) == len(np.unique(counts, axis=0)) < len(counts)


def test_threads_do_not_change_the_numbers_of_distinct_leaves():
    forest = fitted(3)[0].forest_
    one, three = (replace(forest).distinct(n_threads) for n_threads in (1, 3))
    np.testing.assert_array_equal(one.examples, three.examples)
    np.testing.assert_array_equal(one.of_leaf, three.of_leaf)


@pytest.mark.parametrize("leaf_counts", ["all", "oob"])
@pytest.mark.parametrize("n_classes", [2, 7, 20])
def test_a_probability_is_the_same_bits_whether_distinct_leaves_are_known_or_not(n_classes, leaf_counts):
    estimator, X, _, _ = fitted(n_classes, leaf_counts=leaf_counts)
    codes = predictor_of(estimator).read(X).codes
    alone, together = replace(estimator.forest_), replace(estimator.forest_)
    assert not alone.repays_distinct(1)
    assert together.repays_distinct(len(X))
    one_by_one = [alone.probability(np.ascontiguousarray(codes[:, i : i + 1])) for i in range(len(X))]
    np.testing.assert_array_equal(np.concatenate(one_by_one), together.probability(codes))


def test_shares_beyond_the_budget_are_read_from_the_counts(monkeypatch):
    estimator, X, _, _ = fitted(3)
    monkeypatch.setattr(hedgerow.forest.forest, "SHARE_BUDGET", 0)
    codes = predictor_of(estimator).read(X).codes
    np.testing.assert_array_equal(replace(estimator.forest_).probability(codes), estimator.forest_.probability(codes))


# ---- samples -----------------------------------------------------------------------------


def test_the_forests_of_these_tests_store_counts_both_ways():
    assert fitted(3)[0].forest_.entry_class is None
    assert fitted(20)[0].forest_.entry_class is not None
    assert 3 <= DENSE_CLASSES < 9


@pytest.mark.parametrize("weighting", ["none", "rows"])
@pytest.mark.parametrize("n_classes", [2, 3, 9, 20])
def test_counts_are_those_of_the_leaves_that_apply_names(n_classes, weighting):
    forest = fitted(n_classes, weighting)[0]
    X, _ = draw_rows(50, n_classes, seed=1)
    nodes = forest.apply(X)
    counts = np.stack([tree.counts[nodes[:, t]] for t, tree in enumerate(forest.trees_)], axis=1)
    weights = np.stack([tree.weights[nodes[:, t]] for t, tree in enumerate(forest.trees_)], axis=1)
    expected = counts.sum(axis=2, keepdims=True) * weights / weights.sum(axis=2, keepdims=True)
    np.testing.assert_allclose(forest.evidence(X).counts, expected, rtol=1e-12)


@pytest.mark.parametrize(
    ("n_classes", "weighting", "caution"), [(2, "none", 1.0), (3, "rows", 0.0), (9, "rows", 2.5), (20, "none", 1.0)]
)
@EVERY_RULE
def test_many_rows_are_folded_by_the_kernel_as_combine_does_it(rule, n_classes, weighting, caution, monkeypatch):
    forest = fitted(n_classes, weighting)[0]
    X, _ = draw_rows(60, n_classes, seed=2)
    calls = count_kernel_calls(monkeypatch)
    evidence, weights = forest.evidence(X), weights_for(rule)
    opinion = evidence.combine(rule, caution=caution, weights=weights)
    expected = combine(evidence.counts, rule, prior=prior_for(rule, evidence.prior), caution=caution, weights=weights)
    assert_same_opinion(opinion, expected)
    assert bool(calls) == (rule.merge != "stack")


@pytest.mark.parametrize(("n_classes", "weighting"), [(2, "rows"), (3, "none"), (20, "rows")])
@EVERY_RULE
def test_few_rows_are_gathered_as_combine_does_it(rule, n_classes, weighting, monkeypatch):
    forest = fitted(n_classes, weighting)[0]
    X, _ = draw_rows(200, n_classes, seed=3)
    calls = count_kernel_calls(monkeypatch)
    evidence, weights = replace(forest.evidence(X[:3]), cache=Cache()), weights_for(rule)
    opinion = evidence.combine(rule, caution=1.5, weights=weights)
    expected = combine(evidence.counts, rule, prior=prior_for(rule, evidence.prior), caution=1.5, weights=weights)
    assert_same_opinion(opinion, expected)
    assert not calls


@EVERY_RULE
def test_a_row_gets_the_same_label_and_set_alone_and_among_others(rule):
    forest, X, _, _ = fitted(3)
    weights = weights_for(rule)
    together = forest.evidence(X).combine(rule, caution=0.5, weights=weights)
    rows = [replace(forest.evidence(X[i : i + 1]), cache=Cache()) for i in range(15)]
    alone = [row.combine(rule, caution=0.5, weights=weights) for row in rows]
    if together.chosen is not None:
        np.testing.assert_array_equal([one.chosen[0] for one in alone], together.chosen[:15])
    labels = [one.probability[0].argmax() for one in alone]
    np.testing.assert_array_equal(labels, together.probability[:15].argmax(axis=1))


@pytest.mark.parametrize(("n_classes", "weighting"), [(3, "rows"), (9, "none")])
@EVERY_RULE
def test_trees_lifted_in_groups_give_the_same(rule, n_classes, weighting, monkeypatch):
    forest = fitted(n_classes, weighting)[0]
    X, _ = draw_rows(60, n_classes, seed=4)
    weights = weights_for(rule)
    evidence = replace(forest.evidence(X), cache=Cache())
    whole = evidence.combine(rule, weights=weights)
    monkeypatch.setattr(hedgerow.forest.fold, "GROUP_BYTES", 5_000)
    monkeypatch.setattr(hedgerow.forest.cache, "BUDGET", 0)
    calls = count_kernel_calls(monkeypatch)
    assert_same_opinion(replace(evidence, cache=Cache()).combine(rule, weights=weights), whole)
    if rule.merge != "stack":
        assert [first for first, _ in calls[1:]] == [last for _, last in calls[:-1]]
        assert (calls[0][0], calls[-1][1]) == (0, N_TREES)
        assert len(calls) > 1


@ONE_OF_EACH_MERGE
def test_states_lifted_in_groups_and_kept_are_folded_at_once(rule, monkeypatch):
    forest, X, _, _ = fitted(9)
    evidence = replace(forest.evidence(X), cache=Cache())
    whole = evidence.combine(rule)
    monkeypatch.setattr(hedgerow.forest.fold, "GROUP_BYTES", 5_000)
    calls = count_kernel_calls(monkeypatch)
    assert_same_opinion(replace(evidence, cache=Cache()).combine(rule), whole)
    assert calls == ([] if rule.merge == "stack" else [(0, N_TREES)])


@ONE_OF_EACH_MERGE
def test_threads_do_not_change_a_bit(rule):
    forest = fitted(3)[0]
    X, _ = draw_rows(9000, 3, seed=5)
    one = replace(forest.evidence(X), n_threads=1, cache=Cache()).combine(rule)
    two = replace(forest.evidence(X), n_threads=2, cache=Cache()).combine(rule)
    assert_same_bits(one, two)


def test_n_jobs_does_not_change_a_bit_of_what_a_forest_says():
    X, y = draw_rows(2000, 3, seed=6)
    one, two = (
        RandomForestClassifier(8, rule="eva", caution="auto", n_jobs=jobs, random_state=0).fit(X, y) for jobs in (1, 2)
    )
    assert one.caution_ == two.caution_
    assert (one.evidence(X).n_threads, two.evidence(X).n_threads) == (1, 2)
    np.testing.assert_array_equal(one.predict_bounds(X), two.predict_bounds(X))
    assert_same_bits(one.oob_evidence_.combine(), two.oob_evidence_.combine())
    for part_of_one, part_of_two in zip(one.predict_uncertainty(X), two.predict_uncertainty(X), strict=True):
        np.testing.assert_array_equal(part_of_one, part_of_two)


@pytest.mark.parametrize("n_rows", [3, 200])
@pytest.mark.parametrize("rule", [rule for rule in RULES if rule.weighable], ids=repr)
def test_tree_weights_multiply_as_in_combine(rule, n_rows):
    forest = fitted(3)[0]
    X, _ = draw_rows(200, 3, seed=8)
    weights = np.random.default_rng(0).uniform(0, 3, N_TREES)
    weights[2] = 0.0
    evidence = forest.evidence(X[:n_rows])
    opinion = evidence.combine(rule, weights=weights)
    assert_same_opinion(opinion, combine(evidence.counts, rule, prior=prior_for(rule, evidence.prior), weights=weights))
    without = combine(
        np.delete(evidence.counts, 2, axis=1),
        rule,
        prior=prior_for(rule, evidence.prior),
        weights=np.delete(weights, 2),
    )
    assert_same_opinion(opinion, without)


@pytest.mark.parametrize("rule", [rule for rule in RULES if not rule.weighable], ids=repr)
def test_rules_that_do_not_add_refuse_tree_weights(rule):
    with pytest.raises(ValueError, match="weights must be"):
        fitted(3)[0].evidence(fitted(3)[1]).combine(rule, weights=np.ones(N_TREES))


@pytest.mark.parametrize("weights", [np.ones(N_TREES + 1), np.full(N_TREES, -1.0), np.full(N_TREES, np.nan)])
def test_weights_that_are_none_are_refused_as_combine_refuses_them(weights):
    evidence = fitted(3)[0].evidence(fitted(3)[1])
    with pytest.raises(ValueError, match="weights must be"):
        combine(evidence.counts, "average", weights=weights)
    with pytest.raises(ValueError, match="weights must be"):
        evidence.combine("average", weights=weights)


def test_a_rule_that_needs_weights_asks_for_them():
    with pytest.raises(ValueError, match="requires tree weights"):
        fitted(3)[0].evidence(fitted(3)[1]).combine(next(rule for rule in RULES if rule.needs_weights))


class Watched(Average):
    """The average, which writes down how many leaves it lifts."""

    lifted: ClassVar[list[int]] = []

    def lift(self, counts, setting):
        self.lifted.append(len(counts))
        return super().lift(counts, setting)


def leaves_lifted(evidence: Any) -> int:
    """-> how many leaves a combination lifts; finding out how wide a state is takes one that is none."""
    Watched.lifted.clear()
    evidence.combine(Watched())
    return sum(number for number in Watched.lifted if number > 1)


def test_leaves_are_lifted_once_however_often_they_are_asked():
    forest, X, _, _ = fitted(3)
    evidence = replace(forest.evidence(X), cache=Cache())
    assert leaves_lifted(evidence) > 0
    assert leaves_lifted(evidence) == 0
    assert leaves_lifted(replace(evidence, codes=evidence.codes[:, :1].copy())) == 0


def test_states_larger_than_the_budget_are_lifted_again(monkeypatch):
    forest, X, _, _ = fitted(3)
    monkeypatch.setattr(hedgerow.forest.cache, "BUDGET", 1000)
    evidence = replace(forest.evidence(X), cache=Cache())
    assert leaves_lifted(evidence) == leaves_lifted(evidence) > 0


@pytest.mark.parametrize("base", ["average", "median"])
def test_one_row_lifts_its_own_leaves_however_often_states_that_cannot_be_kept_were_lifted(base, monkeypatch):
    forest, X, _, _ = fitted(3)
    monkeypatch.setattr(hedgerow.forest.cache, "BUDGET", 1000)
    lifted: list[int] = []
    kind = type(resolve_rule(base))
    lift = kind.lift
    monkeypatch.setattr(kind, "lift", lambda *asked: (lifted.append(len(asked[1])), lift(*asked))[1])
    evidence = replace(forest.evidence(X), cache=Cache())
    evidence.combine(base)
    assert sum(lifted) > N_TREES
    lifted.clear()
    replace(evidence, codes=evidence.codes[:, :1].copy()).combine(base)
    assert sum(lifted) <= N_TREES + 1


def test_rows_that_come_one_by_one_are_lifted_for_good_in_the_end(monkeypatch):
    forest, X, _, _ = fitted(3)
    calls, cache = count_kernel_calls(monkeypatch), Cache()
    rows = forest.forest_.leaf_start[-1] // (64 * N_TREES) + 3
    for i in range(rows):
        replace(forest.evidence(X[i : i + 1]), cache=cache).combine("vote")
    assert 0 < len(calls) < 4


@pytest.mark.parametrize("rule", ["average", "pool", "vote", "laplace"])
def test_uncertainty_and_doubt_in_one_pass_are_those_of_two(rule):
    forest, X, _, _ = fitted(3)
    rule = resolve_rule(rule)
    for some in (X[:1], X):
        evidence = replace(forest.evidence(some), cache=Cache())
        setting = Setting.of(evidence.forest.n_classes, evidence.caution, evidence.prior)
        doubt, parts = fold(evidence.forest, evidence.codes, UncertaintyWith(rule), setting)
        opinion = evidence.combine(rule)
        np.testing.assert_array_equal([doubt.conflict, doubt.vacuity], [opinion.conflict, opinion.vacuity])
        for name, expected in vars(evidence.uncertainty()).items():
            np.testing.assert_array_equal(getattr(parts, name), expected)


@pytest.mark.parametrize("n_trees", [1, 7, 8, 13])
@pytest.mark.parametrize("kind", ["numbers", "gaps", "categories"])
def test_few_rows_reach_the_leaves_that_they_reach_among_many(kind, n_trees):
    X, y = draw_rows(300, 3, seed=5)
    if kind == "gaps":
        X[np.random.default_rng(0).random(X.shape) < 0.2] = np.nan
    if kind == "categories":
        X[:, 0] = np.random.default_rng(0).integers(0, 9, len(X))
    nominal = [0] if kind == "categories" else None
    forest = RandomForestClassifier(n_trees, random_state=0, categorical_features=nominal).fit(X, y)
    among_many = forest.apply(X)
    for n_rows in (1, 2, 7, 8, 9):
        np.testing.assert_array_equal(forest.apply(X[:n_rows]), among_many[:n_rows])


@EVERY_RULE
def test_opinions_made_in_blocks_are_the_same_bits(rule, monkeypatch):
    forest, X, _, _ = fitted(3)
    evidence, weights = forest.evidence(X), weights_for(rule)
    whole = evidence.combine(rule, weights=weights)
    monkeypatch.setattr(hedgerow.forest.fold, "FINISHED_ROWS", 50)
    assert_same_bits(replace(evidence, n_threads=2).combine(rule, weights=weights), whole)


def test_opinions_of_several_rules_are_made_in_blocks_too(monkeypatch):
    forest, X, _, _ = fitted(3)
    asked = [("average", 1.0), ("vote", 2.0)]
    monkeypatch.setattr(hedgerow.forest.fold, "FINISHED_ROWS", 50)
    for (rule, caution), opinion in zip(asked, forest.evidence(X).combine_each(asked), strict=True):
        assert_same_opinion(opinion, forest.evidence(X).combine(rule, caution=caution))


@EVERY_RULE
def test_states_kept_from_the_last_call_change_nothing(rule):
    forest, X, _, _ = fitted(3)
    evidence, weights = replace(forest.evidence(X), cache=Cache()), weights_for(rule)
    first = evidence.combine(rule, weights=weights)
    assert_same_bits(evidence.combine(rule, weights=weights), first)


@ONE_OF_EACH_MERGE
def test_states_kept_under_another_setting_are_not_used(rule):
    forest, X, _, _ = fitted(3)
    shared = Cache()
    for options in ({"caution": 0.5}, {"caution": 3.0}, {"caution": 3.0, "prior": [0.2, 0.3, 0.5]}):
        for asked in (rule, Laplace(), Laplace(alpha=0.1), Eva(), rule):
            told = {name: value for name, value in options.items() if name != "prior" or asked.uses_prior}
            kept = replace(forest.evidence(X), cache=shared).combine(asked, **told)
            fresh = replace(forest.evidence(X), cache=Cache()).combine(asked, **told)
            assert_same_bits(kept, fresh)


@pytest.mark.parametrize("n_rows", [3, 200])
@pytest.mark.parametrize("n_classes", [2, 3, 9])
def test_uncertainty_is_the_same_fold(n_classes, n_rows):
    forest = fitted(n_classes)[0]
    evidence = forest.evidence(draw_rows(200, n_classes, seed=9)[0][:n_rows])
    split, setting = Uncertainty(), Setting.of(n_classes)
    states = split.lift(evidence.counts.reshape(-1, n_classes), setting).reshape(n_rows, N_TREES, -1)
    expected = split.finish(merge_states(states, split.merge), setting)
    for name, value in vars(evidence.uncertainty()).items():
        np.testing.assert_allclose(value, getattr(expected, name), rtol=1e-12, atol=1e-12, err_msg=name)


# ---- out of the bag ----------------------------------------------------------------------


@pytest.mark.parametrize("weighting", ["none", "classes", "rows"])
@pytest.mark.parametrize("leaf_counts", SENSES)
@pytest.mark.parametrize("n_classes", [2, 9])
def test_out_of_bag_counts_are_those_of_the_other_rows_in_the_leaf(n_classes, leaf_counts, weighting):
    forest, X, y, weights = fitted(n_classes, weighting, leaf_counts)
    counts, seen = out_of_bag_counts(forest, X, y, weights)
    evidence = forest.oob_evidence_
    np.testing.assert_array_equal(evidence.tree_mask, seen)
    np.testing.assert_allclose(evidence.counts, counts * seen[:, :, None], rtol=1e-9, atol=1e-9)


OUT_OF_BAG = [
    (2, "all", "none"),
    (2, "distinct", "none"),
    (3, "oob", "none"),
    (3, "all", "classes"),
    (9, "all", "none"),
    (9, "inbag", "none"),
]


@pytest.mark.parametrize(("n_classes", "leaf_counts", "weighting"), OUT_OF_BAG)
@EVERY_RULE
def test_out_of_bag_opinion_is_that_of_the_other_trees_and_the_other_rows(rule, n_classes, leaf_counts, weighting):
    forest, counts, seen = slowly(n_classes, leaf_counts, weighting)
    evidence, given = forest.oob_evidence_, weights_for(rule)
    expected = combine_seen(counts, seen, rule, weights=given, prior=prior_for(rule, evidence.prior), caution=1.5)
    assert_same_opinion(evidence.combine(rule, caution=1.5, weights=given), expected)


@pytest.mark.parametrize("weighting", ["none", "classes", "rows"])
@pytest.mark.parametrize("leaf_counts", SENSES)
@pytest.mark.parametrize("n_classes", [2, 9])
def test_the_mean_out_of_bag_is_that_of_the_shares_in_leaves_without_the_row(n_classes, leaf_counts, weighting):
    forest, X, y, weights = fitted(n_classes, weighting, leaf_counts)
    counts, seen = out_of_bag_counts(forest, X, y, weights)
    expected = combine_seen(counts, seen, "average").probability
    expected[~seen.any(axis=1)] = np.nan
    evidence, rows = forest.oob_evidence_, np.arange(len(y))
    labels, bags = predictor_of(forest).oob_rows().target.labels, evidence.oob_mask.bags
    found = forest.forest_.oob_probability(evidence.codes, rows, labels, bags)
    # a row weighs what rows of its class weigh on average in the leaf, up to rounding of the weights
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9)
    some = rows[5::7]
    part = np.ascontiguousarray(evidence.codes[:, some])
    np.testing.assert_array_equal(forest.forest_.oob_probability(part, some, labels[some], bags, 3), found[some])


@pytest.mark.parametrize("leaf_counts", ["all", "inbag"])
@ONE_OF_EACH_MERGE
def test_out_of_bag_groups_give_the_same(rule, leaf_counts, monkeypatch):
    forest = fitted(9, "none", leaf_counts)[0]
    whole = replace(forest.oob_evidence_, cache=Cache()).combine(rule)
    monkeypatch.setattr(hedgerow.forest.fold, "GROUP_BYTES", {"all": 100_000, "inbag": 5_000}[leaf_counts])
    monkeypatch.setattr(hedgerow.forest.fold, "LIFTED_LEAVES", 7)
    monkeypatch.setattr(hedgerow.forest.cache, "BUDGET", 0)
    calls = count_kernel_calls(monkeypatch)
    assert_same_opinion(replace(forest.oob_evidence_, cache=Cache()).combine(rule), whole)
    assert len(calls) > 1 or rule.merge == "stack"


@pytest.mark.parametrize("weighting", ["none", "rows"])
@ONE_OF_EACH_MERGE
def test_cells_of_many_classes_are_lifted_row_by_row_with_the_same_bits(rule, weighting, monkeypatch):
    forest = fitted(9, weighting, n_rows=60)[0]
    weights = weights_for(rule)
    whole = replace(forest.oob_evidence_, cache=None).combine(rule, weights=weights)
    monkeypatch.setattr(hedgerow.forest.fold, "GROUP_BYTES", 1_000)
    calls = count_kernel_calls(monkeypatch)
    assert_same_bits(replace(forest.oob_evidence_, cache=None).combine(rule, weights=weights), whole)
    assert calls == []


def test_memory_of_out_of_bag_evidence_does_not_grow_with_cells_times_classes(monkeypatch):
    rng = np.random.default_rng(18)
    X, y = rng.normal(size=(3000, 2)), rng.integers(0, 1500, 3000)
    evidence = RandomForestClassifier(2, random_state=0).fit(X, y).oob_evidence_
    monkeypatch.setattr(hedgerow.forest.fold, "GROUP_BYTES", 1 << 20)
    asked, how = (evidence.forest, evidence.codes, Votes(), Setting.of(1500)), {"oob_mask": evidence.oob_mask}
    peak, answer = peak_of(lambda: hedgerow.forest.fold.fold(*asked, **how)), 3000 * 1500 * 8
    assert peak < 1.5 * answer  # the cells of one tree and all classes are as large as the answer


@pytest.mark.parametrize("rule", ["average", "dempster", "median"])
def test_out_of_bag_and_ordinary_evidence_do_not_share_states(rule):
    forest, X, _, _ = fitted(3)
    fresh = replace(forest.oob_evidence_, cache=Cache()).combine(rule)
    forest.evidence(X).combine(rule)
    assert_same_bits(forest.oob_evidence_.combine(rule), fresh)
    plain = replace(forest.evidence(X), cache=Cache()).combine(rule)
    assert_same_bits(forest.evidence(X).combine(rule), plain)


@cache
def two_trees() -> tuple[Any, np.ndarray]:
    """-> a forest of two trees, and which of its rows are in both bags."""
    X, y = draw_rows(60, 3, seed=11)
    forest = RandomForestClassifier(2, random_state=0).fit(X, y)
    return forest, (multiplicities(forest, len(y)) > 0).all(axis=1)


@EVERY_RULE
def test_a_row_in_every_bag_gets_a_vacuous_opinion(rule):
    forest, unseen = two_trees()
    assert unseen.any()
    weights = np.ones(2) if rule.needs_weights else None
    opinion = forest.oob_evidence_.combine(rule, weights=weights)[unseen]
    np.testing.assert_allclose(opinion.lower, 0.0)
    np.testing.assert_allclose(opinion.upper, 1.0)
    np.testing.assert_allclose(opinion.probability.sum(axis=1), 1.0)
    np.testing.assert_allclose(opinion.vacuity, 1.0)
    np.testing.assert_allclose(opinion.conflict, 0.0)
    assert opinion.chosen is None or opinion.chosen.all()


def test_a_bag_of_another_size_is_found_again():
    X, y = draw_rows(80, 3, seed=12)
    forest = RandomForestClassifier(N_TREES, max_samples=0.3, random_state=0).fit(X, y)
    np.testing.assert_array_equal(forest.oob_evidence_.tree_mask, multiplicities(forest, 80, mean=0.3) == 0)


@pytest.mark.parametrize("changed", [{"max_samples": 0.2}, {"leaf_counts": "inbag"}, {"bootstrap": False}])
def test_a_warm_start_with_other_bags_gives_no_out_of_bag_evidence(changed):
    X, y = draw_rows(120, 3, seed=13)
    forest = RandomForestClassifier(5, warm_start=True, random_state=0).fit(X, y)
    forest.set_params(n_estimators=N_TREES, **changed).fit(X, y)
    with pytest.raises(AttributeError, match="oob_evidence_ requires"):
        _ = forest.oob_evidence_
    if "bootstrap" not in changed:
        with pytest.raises(ValueError, match="Out-of-bag metrics in a warm start require"):
            forest.set_params(oob_score=True, n_estimators=N_TREES + 1).fit(X, y)


def test_a_warm_start_on_other_rows_gives_no_out_of_bag_evidence():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(400, 3)), np.arange(400) % 20
    forest = RandomForestClassifier(5, warm_start=True, random_state=0).fit(X, y)
    with pytest.raises(AttributeError, match="oob_evidence_ requires"):
        _ = forest.set_params(n_estimators=8).fit(X[::-1].copy(), y).oob_evidence_


def test_a_warm_start_on_the_same_rows_keeps_out_of_bag_evidence():
    X, y = draw_rows(120, 3, seed=13)
    stepwise = RandomForestClassifier(5, warm_start=True, random_state=0).fit(X, y)
    stepwise.set_params(n_estimators=N_TREES).fit(X, y)
    at_once = RandomForestClassifier(N_TREES, random_state=0).fit(X, y)
    np.testing.assert_array_equal(stepwise.oob_evidence_.counts, at_once.oob_evidence_.counts)


def test_a_first_fit_need_not_know_that_a_warm_start_will_follow():
    X, y = draw_rows(120, 3, seed=13)
    later = {"warm_start": True, "n_estimators": N_TREES, "oob_score": True}
    stepwise = RandomForestClassifier(5, random_state=0).fit(X, y).set_params(**later).fit(X, y)
    at_once = RandomForestClassifier(N_TREES, random_state=0, oob_score=True).fit(X, y)
    assert stepwise.oob_score_ == at_once.oob_score_
    np.testing.assert_array_equal(stepwise.oob_evidence_.counts, at_once.oob_evidence_.counts)
    other = RandomForestClassifier(5, random_state=0).fit(X, y).set_params(**later)
    with pytest.raises(ValueError, match="Out-of-bag metrics in a warm start require"):
        other.fit(X[::-1].copy(), y)


def test_a_warm_start_on_all_rows_knows_those_that_came_later():
    X, y = draw_rows(120, 3, seed=13)
    begun = RandomForestClassifier(5, warm_start=True, random_state=0).fit(X[:90], y[:90]).partial_fit(X[90:], y[90:])
    seen = begun.oob_evidence_.tree_mask
    begun.set_params(n_estimators=8, oob_score=True).fit(X, y)
    np.testing.assert_array_equal(begun.oob_evidence_.tree_mask[:, :5], seen)


# ---- memory ------------------------------------------------------------------------------


def peak_of(work: Any) -> int:
    """-> the most bytes held at once by arrays made during the work."""
    tracemalloc.start()
    try:
        work()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@cache
def wide() -> Any:
    """-> a forest of 200 trees, fitted on 300 rows, and 20,000 samples."""
    X, y = draw_rows(300, 3, seed=14)
    return RandomForestClassifier(200, random_state=0).fit(X, y), draw_rows(20_000, 3, seed=15)[0]


@pytest.mark.parametrize("rule", ["average", "dempster", "cautious", "eva", "belief", "interval_conjunction"])
def test_memory_of_a_fold_does_not_grow_with_rows_times_trees(rule):
    forest, X = wide()
    evidence = forest.evidence(X)
    assert peak_of(lambda: evidence.combine(rule)) < 20_000 * 200 * 3 * 8 / 8


def test_memory_of_predicted_sets_does_not_grow_with_rows_times_trees():
    forest, X = wide()
    assert peak_of(lambda: forest.predict_set(X)) < 20_000 * 200 * 3 * 8 / 8


def test_memory_of_few_rows_does_not_grow_with_rows_times_trees_times_classes(monkeypatch):
    X, y = draw_rows(900, 300, seed=17)
    forest = RandomForestClassifier(40, random_state=0).fit(X, y)
    monkeypatch.setattr(hedgerow.forest.fold, "GROUP_BYTES", 1 << 20)
    evidence = replace(forest.evidence(X[:80]), cache=None)
    assert forest.forest_.leaf_start[-1] > 4 * 80 * 40  # only the leaves reached are lifted
    expected = replace(forest.evidence(X[:1]), cache=None).combine("average")
    assert_same_bits(evidence.combine("average")[:1], expected)
    assert peak_of(lambda: evidence.combine("average")) < 80 * 40 * 300 * 8


@pytest.mark.parametrize("n_classes", [3, 50])
def test_distinct_rows_are_distinct_and_lead_back(n_classes, monkeypatch):
    rng = np.random.default_rng(0)
    counts = rng.poisson(0.1, size=(2000, n_classes)) * rng.choice([1.0, 0.3, 1e-300], size=(2000, 1))
    found, where = hedgerow.forest.reducers.distinct_rows(counts)
    np.testing.assert_array_equal(found[where], counts)
    assert len(found) == len({tuple(row) for row in counts.tolist()})
    monkeypatch.setattr(hedgerow.forest.reducers, "_fingerprints", lambda rows: np.zeros(len(rows), dtype=np.uint64))
    np.testing.assert_array_equal(
        hedgerow.forest.reducers.distinct_rows(counts)[0][hedgerow.forest.reducers.distinct_rows(counts)[1]], counts
    )


def test_rules_that_stack_take_the_rows_in_blocks(monkeypatch):
    forest, X = wide()
    monkeypatch.setattr(hedgerow.forest.fold, "GROUP_BYTES", 1 << 20)
    evidence = forest.evidence(X[:2000])
    assert peak_of(lambda: evidence.combine("median")) < 2000 * 200 * 3 * 8 / 2


def test_learning_tree_weights_makes_no_larger_array_than_it_says(monkeypatch):
    X, y = draw_rows(4000, 3, seed=16)
    forest = RandomForestClassifier(100, max_depth=4, random_state=0).fit(X, y)
    monkeypatch.setattr("hedgerow.inference.evidence.LEARNING_CELLS", 30_000)
    evidence = forest.oob_evidence_
    assert peak_of(lambda: evidence.learn_weights(y)) < 4000 * 100 * 3 * 8 / 2
