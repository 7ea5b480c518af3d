"""Settings: a rule and a decision -> what the page calls them, where it can repeat them."""

from __future__ import annotations

from typing import Any

from hedgerow.belief import rules
from hedgerow.belief.rules import Rule
from hedgerow.decide import (
    Decision,
    Dominance,
    EAdmissibility,
    ExpectedUtility,
    Hurwicz,
    Maximality,
    Maximax,
    Maximin,
    Pignistic,
    RuleChoice,
    TopProbability,
    UtilitySet,
)

#: Rules whose opinion ``arithmetic.js`` can make, by their exact type; two of them share another's opinion.
_RULES: dict[type[Rule], str] = {
    rules.Average: "average",
    rules.IntervalAverage: "average",
    rules.Laplace: "laplace",
    rules.Plausibility: "plausibility",
    rules.Vote: "vote",
    rules.Pool: "pool",
    rules.Belief: "belief",
    rules.Mva: "belief",
    rules.Dempster: "dempster",
    rules.Cautious: "cautious",
    rules.Eva: "eva",
}
_DECISIONS: dict[type[Decision], str] = {
    Dominance: "dominance",
    Maximality: "maximality",
    EAdmissibility: "e_admissibility",
    Maximin: "maximin",
    Maximax: "maximax",
    Hurwicz: "hurwicz",
    Pignistic: "pignistic",
    ExpectedUtility: "expected_utility",
    TopProbability: "top_probability",
}
#: Rules that leave no sets of their own, so that "rule" means dominance.
_WITHOUT_SETS = frozenset(_RULES) - {rules.IntervalAverage, rules.Mva}


def page_rule(rule: Rule) -> dict[str, Any]:
    """A rule -> ``name`` (None where the page cannot repeat it), ``options`` and ``text``.

    Examples
    --------
    >>> page_rule(rules.resolve_rule("eva"))
    {'name': 'eva', 'options': {'correction': 'log', 'smoothing': 0.1}, 'text': 'Eva()'}
    """
    name = _RULES.get(type(rule))
    options = dict(rule.get_params()) if name else {}
    if options.get("weights") == "learned":
        name, options = None, {}
    if "prior" in options:  # the page's setting already has a prior: the class shares
        options["correction"] = options.pop("prior")
    return {"name": name, "options": dict(sorted(options.items())), "text": str(rule)}


def page_decision(decision: Decision, rule: Rule) -> dict[str, Any]:
    """A decision, and the rule it follows -> ``name`` (None where the page cannot repeat it), ``options``, ``text``.

    Examples
    --------
    >>> page_decision(Hurwicz(0.3), rules.resolve_rule("average"))
    {'name': 'hurwicz', 'options': {'optimism': 0.3}, 'text': 'Hurwicz(optimism=0.3)'}
    """
    name, options = _DECISIONS.get(type(decision)), dict(decision.get_params())
    if isinstance(decision, UtilitySet):
        name = _utility_name(decision)
        options = {}
    elif isinstance(decision, RuleChoice):
        name = "dominance" if type(rule) in _WITHOUT_SETS else None
    elif options.pop("utility", None) is not None:
        name = None
    return {"name": name, "options": options if name else {}, "text": str(decision)}


def _utility_name(decision: UtilitySet) -> str | None:
    """A set of the largest utility -> its name, where it is one of the three named ones."""
    if decision.evidence != "probability" or not isinstance(decision.utility, str):
        return None
    if decision.utility == "f_beta":
        return "f1" if decision.beta == 1.0 else None
    return decision.utility
