"""Combination rules: the leaf counts of all trees become one opinion.

A rule has a name, parameters, ``lift``, ``merge`` and ``finish`` (see `Rule`).
"""

from hedgerow.rules.base import Merge, Rule, Setting, all_rules, merge_states, register, resolve_rule, rule_names
from hedgerow.rules.calibrated import Calibrated
from hedgerow.rules.conflict import DuboisPrade, Lns, Pcr6
from hedgerow.rules.credal import CredalTrees, ImpreciseWeights
from hedgerow.rules.dominance import Belief, DominanceVote, Mva
from hedgerow.rules.evidence import Cautious, Dempster, Eva
from hedgerow.rules.interval import IntervalAverage, IntervalConjunction, IntervalDisjunction
from hedgerow.rules.mean import (
    Average,
    ConfidenceBounds,
    EpistemicWeighted,
    Laplace,
    Mean,
    Plausibility,
    Pool,
    Vote,
    WeightedAverage,
)
from hedgerow.rules.order import GeneralisedMixture, Median, SignedMaximum, Stacked
from hedgerow.rules.sets import CdmAve, CdmVote, Cr, Ndc
from hedgerow.rules.uncertainty import Uncertainty, UncertaintyParts

__all__ = [
    "Average",
    "Belief",
    "Calibrated",
    "Cautious",
    "CdmAve",
    "CdmVote",
    "ConfidenceBounds",
    "Cr",
    "CredalTrees",
    "Dempster",
    "DominanceVote",
    "DuboisPrade",
    "EpistemicWeighted",
    "Eva",
    "GeneralisedMixture",
    "ImpreciseWeights",
    "IntervalAverage",
    "IntervalConjunction",
    "IntervalDisjunction",
    "Laplace",
    "Lns",
    "Mean",
    "Median",
    "Merge",
    "Mva",
    "Ndc",
    "Pcr6",
    "Plausibility",
    "Pool",
    "Rule",
    "Setting",
    "SignedMaximum",
    "Stacked",
    "Uncertainty",
    "UncertaintyParts",
    "Vote",
    "WeightedAverage",
    "all_rules",
    "merge_states",
    "register",
    "resolve_rule",
    "rule_names",
]
