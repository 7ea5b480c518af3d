"""What holds for every decision, by name or as an object."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from sklearn.base import BaseEstimator, clone
from tests.reference.decide import PlainOpinion

from hedgerow import decide, decisions
from hedgerow.decisions import (
    Coverage,
    Decision,
    Dominance,
    EAdmissibility,
    Hurwicz,
    RuleChoice,
    UtilitySet,
    all_decisions,
    columns_from_labels,
    reachable,
    register,
    resolve_decision,
)
from hedgerow.rules import Average, Mva

NAMES_IN_ORDER = list(all_decisions())
NAMES = sorted(NAMES_IN_ORDER)


def random_opinion(n_rows: int, n_classes: int, seed: int = 0) -> PlainOpinion:
    """n, K -> an opinion without ties."""
    random = np.random.default_rng(seed)
    probability = random.dirichlet(np.ones(n_classes), size=n_rows)
    room = random.uniform(0, 0.3, size=(2, n_rows, n_classes))
    return PlainOpinion(probability * (1 - room[0]), probability + (1 - probability) * room[1], probability)


def ready(name: str, n_classes: int) -> Decision:
    """Name -> the decision, calibrated if it must be."""
    decision = resolve_decision(name)
    if decision.needs_calibration:
        opinion = random_opinion(200, n_classes, seed=9)
        decision.calibrate(opinion, opinion.probability.argmax(axis=1))
    return decision


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("n_classes", [1, 2, 3, 7])
def test_every_row_keeps_a_class(name, n_classes):
    chosen = decide(random_opinion(50, n_classes), ready(name, n_classes))
    assert chosen.shape == (50, n_classes)
    assert chosen.dtype == bool
    assert chosen.any(axis=1).all()


@pytest.mark.parametrize("name", NAMES)
def test_some_class_is_ruled_out_somewhere(name):
    assert not decide(random_opinion(200, 4), ready(name, 4)).all()


@pytest.mark.parametrize("name", NAMES)
def test_a_row_is_decided_whatever_its_neighbours(name):
    opinion, decision = random_opinion(60, 4), ready(name, 4)
    order = np.random.default_rng(1).permutation(60)[:37]
    some = PlainOpinion(opinion.lower[order], opinion.upper[order], opinion.probability[order])
    assert np.array_equal(decide(some, decision), decide(opinion, decision)[order])


@pytest.mark.parametrize("name", [name for name in NAMES if name != "screening"])  # it treats one class unlike others
def test_the_order_of_the_classes_does_not_matter(name):
    opinion, decision = random_opinion(60, 4), ready(name, 4)
    order = [2, 0, 3, 1]
    turned = PlainOpinion(opinion.lower[:, order], opinion.upper[:, order], opinion.probability[:, order])
    assert np.array_equal(decide(turned, decision), decide(opinion, decision)[:, order])


@pytest.mark.parametrize("name", NAMES)
def test_lists_and_read_only_arrays_are_as_good_as_arrays(name):
    opinion, decision = random_opinion(20, 3), ready(name, 3)
    expected = decide(opinion, decision)
    for part in (opinion.lower, opinion.upper, opinion.probability):
        part.setflags(write=False)
    assert np.array_equal(decide(opinion, decision), expected)
    lists = PlainOpinion(opinion.lower.tolist(), opinion.upper.tolist(), opinion.probability.tolist())
    assert np.array_equal(decide(lists, decision), expected)


@pytest.mark.parametrize("name", NAMES)
def test_no_rows_are_no_problem(name):
    assert decide(PlainOpinion(*[np.empty((0, 3))] * 3), ready(name, 3)).shape == (0, 3)


@pytest.mark.parametrize("name", NAMES)
def test_decisions_survive_pickle_with_what_they_learned(name):
    opinion, decision = random_opinion(30, 3), ready(name, 3)
    assert np.array_equal(decide(opinion, pickle.loads(pickle.dumps(decision))), decide(opinion, decision))


@pytest.mark.parametrize("name", NAMES)
def test_decisions_clone_and_list_their_parameters(name):
    decision = resolve_decision(name)
    assert isinstance(decision, Decision)
    assert clone(decision).get_params() == decision.get_params()


class Host(BaseEstimator):
    """Something with a decision, as a forest is."""

    def __init__(self, decision: str | Decision = "dominance") -> None:
        self.decision = decision


def test_parameters_are_reached_through_what_holds_the_decision():
    host = Host(decision=Hurwicz(0.2))
    assert host.get_params()["decision__optimism"] == 0.2
    assert clone(host).set_params(decision__optimism=0.9).decision.optimism == 0.9
    assert host.decision.optimism == 0.2


def test_a_utility_matrix_survives_clone_and_set_params():
    decision = clone(EAdmissibility(np.eye(2))).set_params(utility=[[1, 0], [0, 5]])
    assert decision.get_params()["utility"] == [[1, 0], [0, 5]]


def test_dominance_is_what_decides_unless_told():
    opinion = random_opinion(50, 3)
    assert np.array_equal(decide(opinion), Dominance().choose(opinion))


def test_names_of_utilities_are_the_utility_sets():
    opinion = random_opinion(50, 4)
    assert np.array_equal(decide(opinion, "u80"), UtilitySet("u80").choose(opinion))
    assert np.array_equal(decide(opinion, "f1"), UtilitySet("f_beta", beta=1).choose(opinion))
    assert not np.array_equal(decide(opinion, "u80"), decide(opinion, "u65"))


def test_objects_are_resolved_to_themselves_and_names_to_new_objects():
    decision = Coverage(0.8)
    assert resolve_decision(decision) is decision
    assert resolve_decision("coverage") is not resolve_decision("coverage")


def test_an_unknown_name_is_answered_with_the_names():
    with pytest.raises(ValueError, match="decision must be one of") as caught:
        resolve_decision("dominanse")
    assert all(repr(name) in str(caught.value) for name in NAMES)
    assert "got 'dominanse'" in str(caught.value)


def test_a_class_is_answered_with_how_to_make_an_object():
    with pytest.raises(TypeError, match=r"got the class Hurwicz. Pass Hurwicz\(\)"):
        resolve_decision(Hurwicz)


def test_anything_else_is_answered_with_the_names():
    with pytest.raises(TypeError, match=r"got 3. Names: .*'dominance'"):
        resolve_decision(3)


def test_a_decision_of_ones_own_needs_only_choose():
    class Everything(Decision):
        def choose(self, opinion):
            return np.ones(np.shape(opinion.lower), dtype=bool)

    assert decide(random_opinion(5, 3), Everything()).all()


def test_a_decision_without_choose_says_what_is_missing():
    class Nothing(Decision):
        pass

    with pytest.raises(NotImplementedError, match="Nothing must define pick or choose"):
        decide(random_opinion(5, 3), Nothing())


def test_a_decision_is_known_by_the_name_it_is_registered_under(monkeypatch):
    monkeypatch.setattr(decisions, "_DECISIONS", dict(decisions._DECISIONS))

    @register("everything")
    class Everything(Decision):
        def pick(self, opinion):
            return np.ones(opinion.probability.shape, dtype=bool)

    assert isinstance(resolve_decision("everything"), Everything)
    assert list(all_decisions()) == [*NAMES_IN_ORDER, "everything"]
    assert decide(random_opinion(5, 3), "everything").all()
    with pytest.raises(ValueError, match="name must not be registered yet, got 'hurwicz'"):
        register("hurwicz")(Everything)


# ---- what decisions say of themselves ----------------------------------------------------------------------------


def test_decisions_by_bounds_drop_the_classes_that_are_dominated_and_only_those():
    opinion = random_opinion(2000, 4)
    lower, upper = reachable(opinion.lower, opinion.upper)
    kept = upper >= lower.max(axis=1, keepdims=True)
    for name in set(NAMES) - {"auto", "rule"}:  # which are dominance here, and say so of a rule without sets
        decision = ready(name, 4)
        assert np.array_equal(decide(opinion, decision), kept) == decision.by_bounds, name


def test_decisions_that_follow_dominance_leave_one_class_where_bounds_do_and_only_there():
    opinion = random_opinion(2000, 4)
    lower, upper = reachable(opinion.lower, opinion.upper)
    others = np.where(np.eye(4, dtype=bool), -np.inf, upper[:, None, :]).max(axis=2)
    above = lower > others
    expected = np.where(above.any(axis=1), above.argmax(axis=1), -1)
    assert 0.1 < (expected >= 0).mean() < 0.9
    for name in NAMES:
        decision = ready(name, 4)
        chosen = decide(opinion, decision)
        alone = np.where(chosen.sum(axis=1) == 1, chosen.argmax(axis=1), -1)
        assert np.array_equal(alone, expected) == decision.under(Average()).follows_dominance, name


def test_actions_follow_nothing_and_are_on_no_page():
    for name, decision in all_decisions().items():
        assert not decision.has_actions
        if "utility" in decision.get_params() and name not in ("u65", "u80", "f1"):
            with_actions = clone(decision).set_params(utility=np.eye(3))
            assert with_actions.has_actions
            assert not with_actions.follows_dominance
            assert with_actions.on_page() is None
            assert not with_actions.onnx


def test_the_rules_choice_stands_for_dominance_where_the_rule_chooses_nothing():
    assert isinstance(RuleChoice().under(Average()), Dominance)
    own = RuleChoice()
    assert own.under(Mva()) is own
    assert own.on_page() is None
    kept = Hurwicz(0.3)
    assert kept.under(Average()) is kept.under(Mva()) is kept


def test_utility_sets_are_on_the_page_by_the_names_they_have():
    assert [UtilitySet(word).on_page() for word in ("u65", "u80", "f1", "f_beta")] == [
        (name, {}) for name in ("u65", "u80", "f1", "f1")
    ]
    assert UtilitySet("f_beta", beta=2.0).on_page() is None
    assert UtilitySet("u65", evidence="lower").on_page() is None
    assert UtilitySet([1, 0.5]).on_page() is None


def test_a_subclass_does_not_inherit_the_name_of_arithmetic_it_may_have_changed():
    class Bold(UtilitySet):
        pass

    class Half(Hurwicz):
        pass

    assert Hurwicz(0.3).on_page() == ("hurwicz", {"optimism": 0.3})
    assert Bold().on_page() is None
    assert Half().on_page() is None


def test_decisions_are_ready_as_soon_as_they_have_learned_what_they_must():
    for name in NAMES:
        fresh, learned = resolve_decision(name), ready(name, 3)
        assert fresh.is_ready == (not fresh.needs_calibration)
        assert learned.is_ready
        assert all(field in vars(learned) for field in learned.learned_fields)
        assert bool(learned.learned_fields) == learned.needs_calibration


def test_a_decision_that_cannot_learn_says_so():
    with pytest.raises(NotImplementedError, match="Hurwicz does not define calibrate"):
        Hurwicz().calibrate(random_opinion(5, 3), np.arange(5) % 3)


@pytest.mark.parametrize(
    ("y", "n_columns", "classes", "words"),
    [
        ([[0], [1]], 2, None, r"shape \(n,\), got \(2, 1\). Pass y.ravel"),
        ([0, 1, 1], 3, None, r"each of the 3 columns, got 2 distinct labels in y. Pass classes="),
        ([0, 1, 1], 3, [0, 1], r"each of the 3 columns, got 2 classes"),
        ([0, 2], 2, [0, 1], r"among the classes \[0, 1\], got \[2\]"),
        (["1", "0"], 2, [0, 1], r"among the classes \[0, 1\], got \['0', '1'\]"),
        ([0, 1], 2, [0, 0], r"classes must be distinct"),
    ],
)
def test_labels_that_are_no_columns_are_refused(y, n_columns, classes, words):
    with pytest.raises(ValueError, match=words):
        columns_from_labels(y, n_columns, classes)


def test_labels_find_their_columns_in_any_order_of_the_classes():
    columns, classes = columns_from_labels(["b", "a", "c", "a"], 3, ["c", "a", "b"])
    assert columns.tolist() == [2, 1, 0, 1]
    assert classes.tolist() == ["c", "a", "b"]
