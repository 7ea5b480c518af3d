"""Rules: leaf counts -> state -> opinion.

A rule is a small object: a name, parameters, ``lift``, ``merge`` and ``finish`` (see `Rule`).
"""

from hedgerow.belief.rules.base import Merge, Rule, Setting, merge_states
from hedgerow.belief.rules.calibrated import Calibrated
from hedgerow.belief.rules.cdm_vote import CdmVote
from hedgerow.belief.rules.conflict import Lns, Pcr6
from hedgerow.belief.rules.credal import CredalTrees, ImpreciseWeights
from hedgerow.belief.rules.dominance import Belief, DominanceVote, Mva
from hedgerow.belief.rules.evidence import Cautious, Dempster, Eva
from hedgerow.belief.rules.interval import IntervalAverage, IntervalConjunction, IntervalDisjunction
from hedgerow.belief.rules.mean import (
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
from hedgerow.belief.rules.order import GeneralisedMixture, Median, SignedMaximum, Stacked
from hedgerow.belief.rules.registry import all_rules, register, resolve_rule, rule_names
from hedgerow.belief.rules.sets import CdmAve, Cr, Ndc
from hedgerow.belief.rules.uncertainty import Uncertainty, UncertaintyParts
from hedgerow.belief.rules.union import DuboisPrade

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
