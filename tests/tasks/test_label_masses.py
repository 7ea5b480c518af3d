"""Leaves keep the masses of uncertain labels: bounds, sets and masses say what is not known."""

from __future__ import annotations

import io
import itertools
import pickle
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.datasets import load_iris

import hedgerow
from hedgerow import DecisionTreeClassifier, PairwiseTreesClassifier, RandomForestClassifier
from hedgerow.belief import belief_from_mass, plausibility_from_mass, total_uncertainty
from hedgerow.belief.leaf import idm_bounds, undominated, undominated_with_gaps
from hedgerow.criteria import BeliefGain
from hedgerow.export import export_code, to_onnx, to_sklearn
from hedgerow.inference.fitted import fitted_of
from hedgerow.labels import UncertainLabels, from_masses, from_plausibilities, from_sets
from hedgerow.metrics import accuracy_bounds, evidential_error, u65, u80, utility_bounds
from hedgerow.rules import Average, Setting, all_rules, merge_states
from hedgerow.tasks.classification.distributed import DistributedClasses
from hedgerow.tasks.classification.target import SoftLabels, own_weights
from hedgerow.tasks.classification.task import expected_shares

X, Y = load_iris(return_X_y=True)
RULES = [rule for rule in all_rules() if not rule.needs_weights]
FEW = from_sets([{"a"}] * 2 + [{"a", "b"}] * 100)  # the table of the issue
BLANK = np.zeros((102, 1))


def blurred(share: float, seed: int = 0) -> UncertainLabels:
    """Iris labels of which a share holds one or two other classes as well."""
    rng = np.random.default_rng(seed)
    sets = []
    for label in Y.tolist():
        others = [k for k in range(3) if k != label]
        extra = rng.choice(others, rng.integers(1, 3), replace=False).tolist() if rng.random() < share else []
        sets.append({label, *extra})
    return from_sets(sets)


def mixed(seed: int = 0) -> UncertainLabels:
    """Iris labels with random masses on three random sets that hold the class."""
    rng = np.random.default_rng(seed)
    masses = np.zeros((len(Y), 8))
    for row, label in enumerate(Y.tolist()):
        holding = [bits for bits in range(1, 8) if bits >> label & 1]
        masses[row, rng.choice(holding, 3)] += 1.0
        masses[row, rng.integers(1, 8)] += 0.5
    return from_masses(masses / masses.sum(axis=1, keepdims=True))


# ---- what is known, and what is not --------------------------------------------------------------------------


@pytest.mark.parametrize(
    "model",
    [
        DecisionTreeClassifier(random_state=0),
        RandomForestClassifier(7, bootstrap=False, random_state=0),
        RandomForestClassifier(7, bootstrap=False, rule="pool", random_state=0),
        RandomForestClassifier(7, bootstrap=False, rule="interval_average", random_state=0),
        RandomForestClassifier(7, bootstrap=False, rule="interval_conjunction", random_state=0),
    ],
    ids=lambda model: getattr(model, "rule", "average"),
)
def test_two_rows_of_a_and_a_hundred_of_a_or_b_leave_b_possible(model):
    model = clone(model).fit(BLANK, FEW)
    bounds = model.predict_bounds(BLANK[:1])[0]
    np.testing.assert_allclose(bounds, [[2 / 103, 1.0], [0.0, 101 / 103]], rtol=1e-12)  # Utkin (2005), s = 1
    assert model.predict_set(BLANK[:1]).tolist() == [[True, True]]
    np.testing.assert_allclose(model.predict_mass(BLANK[:1])[0], [0, 2 / 103, 0, 101 / 103], rtol=1e-12)


def test_uncertain_labels_are_vacuity_and_epistemic_uncertainty():
    found = DecisionTreeClassifier().fit(BLANK, FEW).predict_uncertainty(BLANK[:1])
    assert found.vacuity[0] == pytest.approx(101 / 103)
    assert found.aleatoric[0] == 0.0
    assert found.epistemic[0] == found.total[0] > 0.9


@pytest.mark.parametrize("rule", RULES, ids=str)
def test_labels_of_any_class_are_no_evidence(rule):
    labels = from_sets([None] * 30, classes=["a", "b", "c"])
    model = RandomForestClassifier(5, rule=rule, random_state=0, calibration=None).fit(X[::5], labels)
    np.testing.assert_array_equal(model.predict_bounds(X[:3]), np.tile([0.0, 1.0], (3, 3, 1)))
    assert model.predict_set(X[:3]).all()


def test_a_fifty_fifty_chance_is_not_ignorance():
    chance, ignorance = [0, 0.5, 0.5, 0], [0, 0, 0, 1]
    bounds = [
        DecisionTreeClassifier().fit(BLANK[:99], from_masses([each] * 99)).predict_bounds(BLANK[:1])[0, 0]
        for each in (chance, ignorance)
    ]
    np.testing.assert_allclose(bounds[0], [49.5 / 100, 50.5 / 100])
    np.testing.assert_allclose(bounds[1], [0.0, 1.0])


def test_masses_are_shared_out_inside_their_sets_only():
    labels = from_masses([[0, 0.2, 0.3, 0.1, 0, 0, 0.4, 0]])  # {0}, {1}, {0, 1}, {1, 2}
    shares = expected_shares(labels, np.array([[0.5, 0.25, 0.25]]))
    np.testing.assert_allclose(shares[0], [0.2 + 0.1 * 2 / 3, 0.3 + 0.1 / 3 + 0.2, 0.2])


# ---- brute force ---------------------------------------------------------------------------------------------


def mass_by_hand(model: Any, labels: UncertainLabels, row: NDArray[Any], caution: float) -> NDArray[np.float64]:
    """The mean over trees of c(A)/(n + s), from the labels of the training rows in the row's leaf."""
    n_classes, total = len(labels.classes), 0.0
    for tree in range(len(model.trees_)):
        inside = model.evidence(X).leaves[:, tree] == model.evidence(row).leaves[0, tree]
        rows = fitted_of(model).rows  # None for a single tree, which has no bag
        times = None if rows is None else rows.bags.counted(tree, 0, len(X))
        mass, n_rows = np.zeros(1 << n_classes), 0.0
        for at in np.flatnonzero(inside):
            count = 1.0 if times is None else float(times[at])
            entries = slice(labels.focal.start[at], labels.focal.start[at + 1])
            for which, part in zip(labels.focal.which[entries], labels.focal.mass[entries], strict=True):
                bits = int((labels.focal.sets[which] * (1 << np.arange(n_classes))).sum())
                mass[bits] += count * part
            n_rows += count
        mass[-1] += caution
        total = total + mass / (n_rows + caution)
    return np.asarray(total) / len(model.trees_)


@pytest.mark.parametrize("labels", [blurred(0.5), mixed()], ids=["sets", "masses"])
@pytest.mark.parametrize(
    "model",
    [
        DecisionTreeClassifier(max_depth=3, random_state=1),
        RandomForestClassifier(4, max_depth=3, calibration=None, leaf_counts="all", random_state=1),
        RandomForestClassifier(4, max_depth=3, calibration=None, leaf_counts="inbag", random_state=1),
        RandomForestClassifier(4, max_depth=3, calibration=None, leaf_counts="oob", random_state=1),
    ],
    ids=["tree", "all", "inbag", "oob"],
)
def test_masses_and_bounds_are_those_of_the_rows_in_the_leaves(model, labels):
    model = clone(model).set_params(caution=2.0).fit(X, labels)
    singles = 1 << np.arange(3)
    for row in X[::29]:
        expected = mass_by_hand(model, labels, row[None], caution=2.0)
        np.testing.assert_allclose(model.predict_mass(row[None])[0], expected, atol=1e-9)
        lower, upper = belief_from_mass(expected)[singles], plausibility_from_mass(expected)[singles]
        bounds = model.predict_bounds(row[None])[0]
        np.testing.assert_allclose(bounds, np.column_stack([lower, upper]), atol=2e-6)  # shares are rounded to 2^-20
        probability = model.predict_proba(row[None])[0]
        assert (bounds[:, 0] <= probability).all()
        assert (probability <= bounds[:, 1]).all()


def test_bounds_and_dominance_of_a_leaf_are_those_of_all_ways_to_share_out_its_labels():
    sets = [{0}, {0, 1}, {0, 1}, {1, 2}, {2}, {0, 1, 2}]
    counts = np.full((1, 3), 2.0)
    below, above = counts - [[1.0, 0.0, 1.0]], np.array([[4.0, 4.0, 3.0]]) - counts
    every = [np.bincount(each, minlength=3) for each in itertools.product(*map(sorted, sets))]
    for caution in (0.0, 0.5, 1.0, 2.0):
        lower, upper = idm_bounds(np.array(every, dtype=float), caution)
        np.testing.assert_allclose(((counts - below) / (6 + caution))[0], lower.min(axis=0))
        np.testing.assert_allclose(((counts + above + caution) / (6 + caution))[0], upper.max(axis=0))
        kept = undominated_with_gaps(counts, below, above, caution)[0]
        widest = [
            not any(all(own[a] >= own[k] + caution + (caution == 0) for own in every) for a in range(3) if a != k)
            for k in range(3)
        ]
        assert kept.tolist() == widest


@given(st.lists(st.integers(0, 6), min_size=2, max_size=4), st.sampled_from([0.0, 0.5, 1.0, 2.0]), st.booleans())
def test_dominance_without_gaps_is_that_of_counts(counts, caution, strict):
    table, none = np.array([counts], dtype=float), np.zeros((1, len(counts)))
    expected = undominated(table, caution, strict=strict)
    np.testing.assert_array_equal(undominated_with_gaps(table, none, none, caution, strict=strict), expected)


@given(st.lists(st.lists(st.floats(0, 1), min_size=3, max_size=3), min_size=1, max_size=5), st.integers(0, 99))
def test_shares_are_a_completion_of_the_masses_that_leaves_keep(values, seed):
    contour = np.array(values) + 1e-3
    labels = from_plausibilities(contour / contour.max())
    shares = np.random.default_rng(seed).dirichlet([0.3, 0.3, 0.3], len(labels)) * (labels.contour > 0)
    shares /= shares.sum(axis=1, keepdims=True)
    soft = SoftLabels(labels, None, None)
    own = own_weights(soft.spread(shares), len(labels))
    masses = soft.weigh_masses(own, shares)
    np.testing.assert_allclose(np.bincount(masses.row, weights=masses.mass), own.sum(axis=1))
    for inside in itertools.product([False, True], repeat=3):
        part = (masses.sets[masses.which] <= np.array(inside)).all(axis=1)
        belief = np.bincount(masses.row, weights=masses.mass * part, minlength=len(labels))
        assert (belief <= own[:, list(inside)].sum(axis=1) + 1e-9).all()


# ---- laws of every rule --------------------------------------------------------------------------------------


@st.composite
def leaves(draw):
    """Counts, gaps below and above of the leaves of one sample, (T, K) each, and larger gaps."""
    n_trees, n_classes = draw(st.integers(1, 4)), draw(st.integers(2, 4))
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    counts = rng.integers(0, 8, (n_trees, n_classes)).astype(float)
    rest = counts.sum(axis=1, keepdims=True) - counts
    less = rng.random((2, *counts.shape)) * rng.choice([0.0, 1.0], counts.shape)
    more = less + (1 - less) * rng.random(less.shape)
    return (counts, counts * less[0], rest * less[1]), (counts, counts * more[0], rest * more[1])


def opinion_of(rule: Any, evidence: Any, caution: float = 1.0) -> Any:
    """The opinion of a rule about one sample, from counts with gaps."""
    setting, wide = Setting.of(evidence[0].shape[1], caution), rule.with_gaps()
    return wide.finish(merge_states(wide.lift(np.hstack(evidence), setting)[None], wide.merge), setting)


@pytest.mark.parametrize("rule", RULES, ids=repr)
@settings(max_examples=8)
@given(both=leaves())
def test_more_ignorance_widens_bounds_around_the_probability(rule, both):
    small, large = (opinion_of(rule, each) for each in both)
    for opinion in (small, large):
        assert (opinion.lower <= opinion.probability).all()
        assert (opinion.probability <= opinion.upper).all()
    if rule.lift_gaps(*(each[:1] for each in both[0]), Setting.of(both[0][0].shape[1])) is None:
        np.testing.assert_array_equal(small.probability, large.probability)
    if rule.name != "interval_conjunction":  # wider intervals can end a contradiction
        assert (large.lower <= small.lower + 1e-12).all()
        assert (small.upper <= large.upper + 1e-12).all()


@pytest.mark.parametrize("rule", RULES, ids=repr)
@settings(max_examples=5)
@given(both=leaves())
def test_without_gaps_and_in_any_order_of_trees_opinions_are_the_same(rule, both):
    counts, below, above = both[0]
    setting = Setting.of(counts.shape[1], 1.0)
    plain = rule.finish(merge_states(rule.lift(counts, setting)[None], rule.merge), setting)
    found = opinion_of(rule, (counts, 0 * below, 0 * above))
    for name in ("lower", "upper", "probability", "vacuity", "conflict"):
        np.testing.assert_array_equal(getattr(found, name), getattr(plain, name))
    turned = opinion_of(rule, (counts[::-1], below[::-1], above[::-1]))
    np.testing.assert_allclose(turned.lower, opinion_of(rule, both[0]).lower, atol=1e-9)
    np.testing.assert_allclose(turned.upper, opinion_of(rule, both[0]).upper, atol=1e-9)


def test_bounds_of_averages_are_means_over_leaves():
    counts, below, above = (
        np.array([[2.0, 3.0], [4.0, 0.0]]),
        np.array([[1.0, 3.0], [2.0, 0.0]]),
        np.array([[2.0, 1], [0, 1]]),
    )
    opinion = opinion_of(Average(), (counts, below, above))
    np.testing.assert_allclose(opinion.lower[0], [(1 / 6 + 2 / 5) / 2, 0.0])
    np.testing.assert_allclose(opinion.upper[0], [1.0 * (5 / 6 + 1) / 2, (5 / 6 + 2 / 5) / 2])


# ---- everything that a model does ----------------------------------------------------------------------------

FOREST = RandomForestClassifier(8, random_state=2).fit(X, blurred(0.5))


def test_calibration_keeps_the_ratios_of_bounds_to_probabilities():
    plain = clone(FOREST).set_params(calibration=None).fit(X, blurred(0.5))
    assert FOREST.calibration_.why == ""
    lower, upper = np.moveaxis(plain.predict_bounds(X), 2, 0)
    old, new = plain.predict_proba(X), FOREST.predict_proba(X)
    found = FOREST.predict_bounds(X)
    inner = (old > 0) & (old < 1)
    np.testing.assert_allclose(found[:, :, 0][inner], (lower / np.where(inner, old, 1) * new)[inner], atol=1e-9)
    ratio = (1 - upper) / np.where(inner, 1 - old, 1)
    np.testing.assert_allclose(found[:, :, 1][inner], (1 - ratio * (1 - new))[inner], atol=1e-9)
    assert (found[:, :, 0] <= new).all()
    assert (new <= found[:, :, 1]).all()
    np.testing.assert_allclose(FOREST.predict_uncertainty(X).vacuity, 1 - found[:, :, 0].sum(axis=1), atol=1e-12)


@pytest.mark.parametrize("rule", ["average", "belief", "dempster", "median", "cautious"])
def test_one_row_many_rows_files_and_pickles_agree(rule):
    model = clone(FOREST).set_params(rule=rule).fit(X, blurred(0.5))
    bounds, mass = model.predict_bounds(X), model.predict_mass(X[:9])
    alone = np.concatenate([model.predict_bounds(row[None]) for row in X[:9]])
    np.testing.assert_array_equal(alone, bounds[:9])
    file = io.BytesIO()
    hedgerow.save(model, file)
    file.seek(0)
    for other in (hedgerow.load(file), pickle.loads(pickle.dumps(model))):
        np.testing.assert_array_equal(other.predict_bounds(X), bounds)
        np.testing.assert_array_equal(other.predict_mass(X[:9]), mass)


def test_certain_labels_keep_no_masses():
    model = RandomForestClassifier(3, random_state=0).fit(X, from_sets([{label} for label in Y.tolist()]))
    assert model.forest_.evidence.masses is None
    assert not any(name.startswith("mass") for name in model.forest_.arrays())


def test_merging_and_later_rows_keep_masses_and_add_certain_ones():
    certain = RandomForestClassifier(8, calibration=None, random_state=5).fit(X, Y)
    uncertain = clone(FOREST).set_params(calibration=None).fit(X, blurred(0.5))
    for merged in (hedgerow.merge(certain, uncertain), hedgerow.merge(uncertain, certain)):
        mean = (certain.predict_bounds(X) + uncertain.predict_bounds(X)) / 2
        np.testing.assert_allclose(merged.predict_bounds(X), mean, atol=1e-9)
        mean = (certain.predict_mass(X) + uncertain.predict_mass(X)) / 2
        np.testing.assert_allclose(merged.predict_mass(X), mean, atol=1e-9)
    before = uncertain.predict_bounds(X)
    uncertain.partial_fit(np.tile(X[:1], (50, 1)), np.repeat(Y[:1], 50))
    after = uncertain.predict_bounds(X[:1])[0, Y[0]]
    assert after[0] > before[0, Y[0], 0]
    masses = uncertain.forest_.evidence.masses
    np.testing.assert_allclose(masses.read()[2], uncertain.forest_.evidence.amount, rtol=1e-9)


def test_cut_branches_have_the_masses_of_their_leaves():
    labels = blurred(0.5)
    tree = DecisionTreeClassifier(ccp_alpha=1.0, random_state=0).fit(X, labels)
    assert tree.tree_.n_leaves == 1
    belief, plausible = labels.belief.sum(axis=0), labels.plausibility.sum(axis=0)
    expected = np.column_stack([belief / 151, (plausible + 1) / 151])
    np.testing.assert_allclose(tree.predict_bounds(X[:1])[0], expected, atol=1e-5)


@pytest.mark.parametrize("leaf_counts", ["all", "oob"])
def test_out_of_bag_masses_leave_the_row_out(leaf_counts):
    model = RandomForestClassifier(6, calibration=None, leaf_counts=leaf_counts, max_depth=3, random_state=1)
    labels = blurred(0.5)
    model.fit(X, labels)
    evidence, bags = model.oob_evidence_, fitted_of(model).rows.bags
    opinion, mass = evidence.combine(), evidence.mass()
    singles = 1 << np.arange(3)
    for row in np.flatnonzero(evidence.is_covered)[::31]:
        total, trees = np.zeros(8), np.flatnonzero(evidence.tree_mask[row])
        for tree in trees:
            inside = evidence.leaves[:, tree] == evidence.leaves[row, tree]
            times = np.ones(150) if leaf_counts == "all" else bags.counted(tree, 0, 150).astype(float)
            times[row] = 0
            rows = np.flatnonzero(inside & (times > 0))
            for at in rows.tolist():
                total[sum(1 << k for k in labels[at])] += 1 / (len(rows) + 1)
            total[-1] += 1 / (len(rows) + 1)
        np.testing.assert_allclose(mass[row], total / len(trees), atol=1e-9)
        np.testing.assert_allclose(opinion.lower[row], belief_from_mass(total / len(trees))[singles], atol=2e-6)
        np.testing.assert_allclose(opinion.upper[row], plausibility_from_mass(total / len(trees))[singles], atol=2e-6)


def test_out_of_support_rows_have_mixed_masses():
    model = RandomForestClassifier(6, calibration=None, random_state=1).fit(X, blurred(0.5))
    row = X[:1].copy()
    row[0, 2] = np.nan  # missing, as in no training row
    bounds, probability = model.predict_bounds(row)[0], model.predict_proba(row)[0]
    assert (bounds[:, 0] <= probability).all()
    assert (probability <= bounds[:, 1]).all()
    np.testing.assert_allclose(model.predict_mass(row).sum(), 1.0)
    assert model.predict_uncertainty(row).vacuity[0] > 0


def test_explanations_count_uncertain_rows_as_too_few():
    tree = DecisionTreeClassifier().fit(BLANK, FEW)
    found = tree.explain(BLANK[:1])[0]
    assert found.set == ["a", "b"]
    few = next(cause for cause in found.uncertainty if cause.cause == "few")
    assert few.amount == pytest.approx(101 / 103)
    assert "98% of uncertain class" in few.text


def test_contributions_of_bounds_add_up():
    model = RandomForestClassifier(6, calibration=None, random_state=1).fit(X, blurred(0.5))
    for what, column in (("lower", 0), ("upper", 1)):
        found = hedgerow.explain.shap_values(model, X[:5], what=what)
        expected = model.predict_bounds(X[:5])[:, :, column]
        np.testing.assert_allclose(found.base + found.values.sum(axis=1), expected, atol=1e-9)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: PairwiseTreesClassifier().fit(X, blurred(0.5)), "pairwise trees do not support uncertain labels"),
        (lambda: DistributedClasses(None).read([{0, 1}, 1], 2), "Fit uncertain labels in one process"),
        (lambda: u65([{0, 1}], [[True, False]]), "Use utility_bounds or accuracy_bounds"),
        (lambda: to_onnx(FOREST), "does not support classifiers fitted to uncertain labels"),
        (lambda: export_code(FOREST), "does not support classifiers fitted to uncertain labels"),
        (lambda: FOREST.predict_mass(X, model="multinomial"), "need certain labels"),
        (lambda: hedgerow.explain.shap_values(FOREST, X[:1], what="width"), "Set calibration=None to explain bounds"),
        (lambda: hedgerow.explain.shap_values(FOREST, X[:1], what="vacuity"), "fitted to uncertain labels"),
    ],
)
def test_whatever_cannot_be_done_says_why(call, words):
    with pytest.raises((ValueError, NotImplementedError), match=words):
        call()


def test_probabilities_of_uncertain_labels_are_exported():
    model = RandomForestClassifier(4, calibration=None, random_state=1).fit(X, blurred(0.5))
    np.testing.assert_allclose(to_sklearn(model).predict_proba(X), model.predict_proba(X), atol=1e-12)


# ---- metrics -------------------------------------------------------------------------------------------------


def test_metrics_of_sets_are_the_extremes_over_all_completions():
    told = [{"a"}, {"a", "b"}, {"b", "c"}, {"a", "b", "c"}]
    predicted = ["a", "b", "a", "c"]
    sets = np.array([[1, 0, 0], [0, 1, 0], [1, 1, 0], [0, 1, 1]], dtype=bool)
    every = list(itertools.product(*map(sorted, told)))
    right = [np.mean(np.array(each) == predicted) for each in every]
    assert accuracy_bounds(told, predicted) == pytest.approx((min(right), max(right)))
    for metric, z in ((u65, 0.65), (u80, 0.80)):
        found = [metric(each, sets, classes=["a", "b", "c"]) for each in every]
        assert utility_bounds(told, sets, z=z) == pytest.approx((min(found), max(found)))
    weight = [1, 2, 0, 1]
    found = [u65(each, sets, classes=["a", "b", "c"], sample_weight=weight) for each in every]
    assert utility_bounds(told, sets, sample_weight=weight) == pytest.approx((min(found), max(found)))


def test_metrics_of_certain_labels_are_the_ordinary_ones():
    predicted = np.where(np.arange(150) % 7 == 0, (Y + 1) % 3, Y)
    accuracy, sets = float((predicted == Y).mean()), predicted[:, None] == np.arange(3)
    assert accuracy_bounds(Y, predicted) == pytest.approx((accuracy, accuracy))
    assert utility_bounds(Y, sets) == pytest.approx((u65(Y, sets), u65(Y, sets)))
    assert evidential_error(Y, predicted) == pytest.approx(1 - accuracy, abs=1e-12)


def test_metrics_of_masses_by_hand():
    labels = from_masses([[0, 0.5, 0.2, 0.3], [0, 0.0, 0.6, 0.4]], classes=["a", "b"])
    assert accuracy_bounds(labels, ["a", "a"]) == pytest.approx((0.25, (0.8 + 0.4) / 2))
    assert utility_bounds(labels, [[True, True], [True, False]]) == pytest.approx(((0.65 + 0) / 2, (0.65 + 0.4) / 2))
    assert utility_bounds(labels, [[True, True], [False, True]], classes=["b", "a"]) == pytest.approx((0.325, 0.525))


@given(st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1)), min_size=1, max_size=12))
def test_evidential_error_maximises_the_likelihood_of_the_labels(pairs):
    contour = np.array([[max(a, 1e-6), b] if a >= b else [a, max(b, 1e-6)] for a, b in pairs])
    labels = from_plausibilities(contour / contour.max())
    found = evidential_error(labels, [0] * len(pairs))
    grid = np.append(np.linspace(0, 1, 2001), found)[:, None]
    plausible = labels.contour  # the same as pl(right) and the largest pl of another class
    with np.errstate(divide="ignore"):
        logs = np.log((1 - grid) * plausible[:, 0] + grid * plausible[:, 1]).sum(axis=1)
    assert logs[-1] >= logs.max() - 1e-9
    assert 0 <= found <= 1


def test_evidential_error_ignores_labels_that_say_nothing():
    assert evidential_error([{0, 1}] * 5, [0] * 5) == 0.0
    told = [{0}] * 3 + [{1}] + [{0, 1}] * 20
    assert evidential_error(told, [0] * 24) == pytest.approx(0.25)


# ---- growing on masses ---------------------------------------------------------------------------------------


def total_by_subsets(amounts: Any, sets: Any, lam: float, caution: float) -> float:
    """U of the extended imprecise Dirichlet mass, over all 2^K sets."""
    n_classes = sets.shape[1]
    mass = np.zeros(1 << n_classes)
    np.add.at(mass, sets @ (1 << np.arange(n_classes)), amounts)
    mass[-1] += caution
    return float(total_uncertainty(mass / mass.sum(), lam))


@given(st.integers(2, 4), st.sampled_from([0.2, 0.5, 1.0]), st.sampled_from([0.5, 1.0, 2.0]), st.integers(0, 999))
def test_uncertainty_of_sets_is_that_of_the_whole_mass(n_classes, lam, caution, seed):
    rng = np.random.default_rng(seed)
    sets = np.array(list(itertools.product([False, True], repeat=n_classes)))[1:]
    amounts = rng.integers(0, 5, (3, len(sets))) * rng.random(len(sets))
    found = BeliefGain(lam, caution=caution).impurity_of_sets(amounts, sets)
    expected = [total_by_subsets(each, sets.astype(int), lam, caution) for each in amounts]
    np.testing.assert_allclose(found, expected, atol=1e-12)
    singles = np.eye(n_classes, dtype=bool)
    counts = amounts[:, :n_classes]
    np.testing.assert_allclose(
        BeliefGain(lam, caution=caution).impurity_of_sets(counts, singles),
        BeliefGain(lam, caution=caution).impurity(counts),
    )


def test_uncertainty_of_sets_by_hand():
    # Two rows {a}, two rows {a, b}, s = 1: m({a}) = .4, m({a, b}) = .6, BetP(a) = .7; U = .5 · .6 - .5 · .4 log2 .7
    found = BeliefGain(0.5).impurity_of_sets(np.array([[2.0, 2.0]]), np.array([[True, False], [True, True]]))
    np.testing.assert_allclose(found, [0.3 - 0.2 * np.log2(0.7)])


@pytest.mark.parametrize("labels", [blurred(0.6), mixed()], ids=["sets", "masses"])
@pytest.mark.parametrize("lam", [0.3, 0.7])
def test_belief_trees_split_where_the_uncertainty_of_the_masses_falls_most(labels, lam):
    criterion = BeliefGain(lam)
    tree = DecisionTreeClassifier(criterion=criterion, max_depth=1, random_state=0).fit(X, labels)
    focal = labels.focal
    amounts = np.zeros((len(X), len(focal.sets)))
    amounts[focal.row, focal.which] = focal.mass

    def lost(rows):
        return rows.sum() * criterion.impurity_of_sets(amounts[rows].sum(axis=0)[None], focal.sets)[0]

    sides = {(k, cut): X[:, k] <= cut for k in range(X.shape[1]) for cut in np.unique(X[:, k])[:-1]}
    best = min(lost(side) + lost(~side) for side in sides.values())
    leaf = tree.evidence(X).leaves[:, 0]
    assert tree.tree_.n_leaves == 2
    assert lost(leaf == 0) + lost(leaf == 1) == pytest.approx(best, rel=1e-6)
    assert best < lost(np.ones(len(X), dtype=bool))
    belief = np.array([labels.belief[leaf == each].sum(axis=0) for each in (0, 1)])
    expected = belief[leaf] / (np.bincount(leaf)[leaf, None] + 1)
    np.testing.assert_allclose(tree.predict_bounds(X)[:, :, 0], expected, atol=2e-6)


def test_belief_trees_do_not_split_ignorance():
    ignorant = from_sets([None] * len(X), classes=[0, 1, 2])
    assert DecisionTreeClassifier(criterion="belief").fit(X, ignorant).tree_.n_leaves == 1
    chance = from_masses([[0, 0.5, 0.5, 0]] * len(X))
    assert DecisionTreeClassifier(criterion="belief").fit(X, chance).tree_.n_leaves == 1


@pytest.mark.parametrize("leaf_counts", ["all", "inbag", "distinct", "oob"])
def test_belief_forests_count_the_same_rows_as_others(leaf_counts):
    how = {"leaf_counts": leaf_counts, "calibration": None, "random_state": 3, "max_depth": 1}
    model = RandomForestClassifier(4, criterion=BeliefGain(1.0), **how).fit(X, mixed())
    evidence, rows = model.forest_.evidence, fitted_of(model).rows
    leaves = model.evidence(X).leaves
    for tree in range(4):
        times = rows.bags.counted(tree, 0, len(X))
        times = np.ones(len(X)) if times is None else times
        held = evidence.between(*model.forest_.leaf_start[tree : tree + 2])
        np.testing.assert_array_equal(held.rows, np.bincount(leaves[:, tree], times, minlength=held.n_leaves))
        np.testing.assert_allclose(held.masses.read()[2], held.amount, rtol=1e-6)


def test_criteria_that_read_masses_prune_by_them():
    model = DecisionTreeClassifier(criterion=BeliefGain(0.7), random_state=0).fit(X, mixed())
    alphas = model.cost_complexity_pruning_path(X, mixed()).ccp_alphas
    assert len(alphas) > 1
    cut = DecisionTreeClassifier(criterion=BeliefGain(0.7), ccp_alpha=alphas[-1] * 1.01, random_state=0)
    assert cut.fit(X, mixed()).tree_.n_leaves == 1


def test_criteria_that_read_masses_take_no_monotonic_constraints():
    model = DecisionTreeClassifier(criterion="belief", monotonic_cst=[1, 0, 0, 0])
    with pytest.raises(ValueError, match="monotonic_cst does not support uncertain labels"):
        model.fit(X[:100], from_sets([{0}] * 50 + [{0, 1}] * 50))
