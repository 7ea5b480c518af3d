"""Several rules in one pass say what each says alone."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_iris

from hedgerow import RandomForestClassifier
from hedgerow.belief.rules import all_rules
from hedgerow.rules import Belief

ASKED = [(rule, caution) for rule in all_rules() if not rule.needs_weights for caution in (0.0, 1.5)]


@pytest.fixture(scope="module", params=[2, 3], ids=["two classes", "three classes"])
def forest(request):
    X, y = load_iris(return_X_y=True)
    kept = y >= 3 - request.param
    return RandomForestClassifier(20, random_state=0).fit(X[kept], y[kept]), X[kept]


def assert_same(one, other):
    for name in ("lower", "upper", "probability", "conflict", "log_odds", "score", "chosen"):
        left, right = getattr(one, name), getattr(other, name)
        assert (left is None) == (right is None)
        if left is not None:
            np.testing.assert_array_equal(left, right)


def test_opinions_in_one_pass_are_those_of_each_rule_alone(forest):
    model, X = forest
    evidence = model.evidence(X)
    for (rule, caution), opinion in zip(ASKED, evidence.combine_each(ASKED), strict=True):
        assert_same(opinion, evidence.combine(rule, caution=caution))


def test_out_of_bag_opinions_in_one_pass_are_those_of_each_rule_alone(forest):
    evidence = forest[0].oob_evidence_
    for (rule, caution), opinion in zip(ASKED, evidence.combine_each(ASKED), strict=True):
        assert_same(opinion, evidence.combine(rule, caution=caution))


def test_a_rule_that_needs_weights_is_refused_in_one_pass(forest):
    model, X = forest
    with pytest.raises(ValueError, match="weights must be given"):
        model.evidence(X).combine_each([(Belief("learned"), 1.0)])
