"""Belief: counts -> opinion; works on any array of counts, without trees."""

from hedgerow.belief.combine import combine
from hedgerow.belief.leaf import (
    class_shares,
    confidence_scores,
    confidence_shares,
    entropy,
    idm_bounds,
    laplace_shares,
    reserve,
    undominated,
    vote_shares,
)
from hedgerow.belief.learn import learn_tree_weights
from hedgerow.belief.opinion import Opinion, concatenate
from hedgerow.belief.plausibility import Preference, plausibility_degrees, preference
from hedgerow.belief.rules import (
    Rule,
    Setting,
    Uncertainty,
    all_rules,
    merge_states,
    register,
    resolve_rule,
    rule_names,
)

__all__ = [
    "Opinion",
    "Preference",
    "Rule",
    "Setting",
    "Uncertainty",
    "all_rules",
    "class_shares",
    "combine",
    "concatenate",
    "confidence_scores",
    "confidence_shares",
    "entropy",
    "idm_bounds",
    "laplace_shares",
    "learn_tree_weights",
    "merge_states",
    "plausibility_degrees",
    "preference",
    "register",
    "reserve",
    "resolve_rule",
    "rule_names",
    "undominated",
    "vote_shares",
]
