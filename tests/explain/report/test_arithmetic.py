"""The page's arithmetic is the library's: every rule and decision, in a real browser."""

from __future__ import annotations

import copy
import json

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_digits, load_wine

import hedgerow
from hedgerow import DecisionTreeClassifier, ExtraTreesClassifier, RandomDecisionTreesClassifier, RandomForestClassifier
from hedgerow import rules as known
from hedgerow.decisions import Hurwicz, TopProbability, all_decisions

#: What the library is asked; every rule with a name there must also be on the page, in every notable parametrisation.
RULES = [
    *(rule for rule in known.all_rules() if rule.on_page() is not None),
    known.Laplace(alpha=0.25),
    known.Eva(prior=None, smoothing=1.0),
]
DECISIONS = {name: each.on_page()[0] for name, each in all_decisions().items() if each.on_page() is not None}
CAUTIONS = (0.0, 0.35, 1.0, 6.5)

ASK = """([asked, decisions]) => {
  const {data, evidence, combiner, decide} = window.hedgerow;
  const numbers = Array.from({length: data.sets.length}, (_, number) => number);
  return JSON.stringify(asked.map(([name, options, caution]) => {
    const combine = combiner(evidence, name, {...options, caution, prior: data.prior});
    const opinions = numbers.map(combine);
    return {
      lower: opinions.map((each) => each.lower),
      upper: opinions.map((each) => each.upper),
      probability: opinions.map((each) => each.probability),
      conflict: opinions.map((each) => each.conflict),
      sets: decisions.map((decision) => opinions.map((each) => decide(each, decision))),
    };
  }));
}"""


def _models():
    """What a forest can be made of: two and many classes, weights, single trees, trees with empty leaves."""
    X, y = load_breast_cancer(return_X_y=True)
    yield "two classes", RandomForestClassifier(25, random_state=0).fit(X[:150], y[:150]), X[150:210]
    weights = np.linspace(0.2, 3, 150)
    weighted = RandomForestClassifier(10, class_weight="balanced", min_samples_leaf=3, random_state=0)
    yield "weighted rows", weighted.fit(X[:150], y[:150], sample_weight=weights), X[150:180]
    yield "one tree", DecisionTreeClassifier(max_depth=3, random_state=0).fit(X[:150], y[:150]), X[150:180]
    X, y = load_wine(return_X_y=True)
    yield "three classes", ExtraTreesClassifier(20, min_samples_leaf=2, random_state=0).fit(X[::2], y[::2]), X[1::2]
    coarse = np.round(X[:, :4])
    empty = RandomDecisionTreesClassifier(15, max_depth=4, categorical_features=[0, 3], random_state=0)
    yield "borrowed leaves", empty.fit(coarse[::2], y[::2]), coarse[1::4]
    X, y = load_digits(return_X_y=True)
    yield "ten classes", RandomForestClassifier(12, random_state=0).fit(X[:300], y[:300]), X[300:340]


@pytest.fixture(scope="module")
def models():
    """Name -> a fitted model and rows."""
    return {name: (forest, X) for name, forest, X in _models()}


KINDS = ("two classes", "weighted rows", "one tree", "three classes", "borrowed leaves", "ten classes")


@pytest.mark.parametrize("which", KINDS)
def test_page_and_library_agree_to_nine_digits_and_on_every_set(open_page, models, which):
    forest, X = models[which]
    page = open_page(forest.report(X, time_limit=0))
    evidence = forest.evidence(X)
    asked = [(rule, *rule.on_page(), caution) for rule in RULES for caution in CAUTIONS]
    answers = json.loads(page.evaluate(ASK, [[each[1:] for each in asked], list(DECISIONS.values())]))
    for (rule, _, _, caution), said in zip(asked, answers, strict=True):
        opinion = evidence.combine(rule, caution=caution)
        for part in ("lower", "upper", "probability", "conflict"):
            np.testing.assert_allclose(said[part], getattr(opinion, part), rtol=0, atol=1e-9, err_msg=f"{rule} {part}")
        for decision, sets in zip(DECISIONS, said["sets"], strict=True):
            expected = hedgerow.decide(opinion, decision)
            assert equal_but_for_ties(np.array(sets), expected, opinion.probability), (rule, caution, decision)


@pytest.mark.parametrize(
    ("data", "rule"),
    [
        (load_breast_cancer, "average"),
        (load_wine, "vote"),
        (load_wine, "pool"),
        (load_digits, known.Laplace(alpha=0.25)),
    ],
)
def test_page_maps_the_probabilities_of_a_calibrated_forest(open_page, data, rule):
    X, y = data(return_X_y=True)
    forest = RandomForestClassifier(20, rule=rule, calibration="oob", random_state=0).fit(X[::2], y[::2])
    assert not forest.calibration_.why
    later = X[1::2][:40]
    page = open_page(forest.report(later, time_limit=0))
    assert "calibrated" in page.locator("#note").inner_text()
    own = page.evaluate("window.hedgerow.data.settings.rule")
    asked = [(own["name"], own["options"], caution) for caution in CAUTIONS]
    answers = json.loads(page.evaluate(ASK, [asked, list(DECISIONS.values())]))
    for caution, said in zip(CAUTIONS, answers, strict=True):
        opinion = forest.evidence(later).combine(caution=caution)
        for part in ("lower", "upper", "probability", "conflict"):
            np.testing.assert_allclose(said[part], getattr(opinion, part), rtol=0, atol=1e-9, err_msg=part)
        for decision, sets in zip(DECISIONS, said["sets"], strict=True):
            expected = hedgerow.decide(opinion, decision)
            assert equal_but_for_ties(np.array(sets), expected, opinion.probability), (caution, decision)


def equal_but_for_ties(sets, expected, probability):
    """Whether sets are the same, or hold as many classes of the same probabilities where some differ by rounding."""
    inside = [np.sort(np.where(each, probability, 2.0), axis=1) for each in (sets, expected)]
    return (sets.sum(axis=1) == expected.sum(axis=1)).all() and np.abs(inside[0] - inside[1]).max() < 1e-12


def test_every_rule_and_decision_of_the_page_is_compared(open_page, models):
    forest, X = models["two classes"]
    page = open_page(forest.report(X, time_limit=0))
    assert set(page.evaluate("window.hedgerow.rules")) == {rule.page for rule in RULES}
    assert set(page.evaluate("window.hedgerow.decisions")) == set(DECISIONS.values())
    assert {rule.name for rule in RULES} == {
        *("average", "interval_average", "laplace", "plausibility", "vote", "pool", "belief", "mva", "dempster"),
        *("cautious", "eva"),
    }
    assert set(all_decisions()) - set(DECISIONS) == {"auto", "coverage", "risk", "rule", "screening"}


@pytest.mark.parametrize(
    ("rule", "decision"),
    [
        (known.Eva(prior=None, smoothing=0.5), "dominance"),
        (known.Laplace(alpha=0.1), TopProbability(epsilon=0.3)),
        (known.Belief(weights="size"), "maximality"),
        (known.Dempster(normalised=False), Hurwicz(optimism=0.9)),
        ("interval_average", "e_admissibility"),
        ("cautious", "rule"),
    ],
)
def test_page_opens_with_the_models_own_sets(open_page, models, rule, decision):
    forest, X = models["three classes"]
    forest = copy.copy(forest).set_params(rule=rule, caution=1.7, decision=decision)
    page = open_page(forest.report(X, time_limit=0))
    said = page.locator("#tally").inner_text()
    sets = forest.predict_set(X)
    assert page.locator("#note").is_hidden()
    assert f"undecided\n{int((sets.sum(axis=1) > 1).sum())}\n" in said
