"""Decision rules: opinions become prediction sets.

==================  =====================================================================================
name                object: prediction set
==================  =====================================================================================
dominance           `Dominance`: classes whose upper probability is not below any other lower probability
maximality          `Maximality`: classes that no other class beats under every distribution
e_admissibility     `EAdmissibility`: classes that are optimal under some distribution
maximin             `Maximin`: the class of the largest lower probability
maximax             `Maximax`: the class of the largest upper probability
hurwicz             `Hurwicz`: the class of the largest weighted mean of the two
pignistic           `Pignistic`: the class of the largest pignistic probability
expected_utility    `ExpectedUtility`: the most probable class
u65, u80, f1        `UtilitySet`: the set of the largest expected utility
top_probability     `TopProbability`: the fewest classes that together are probable enough
coverage            `Coverage`: as many classes as the target coverage requires
risk                `Risk`: one class where errors are rare enough, else all classes
screening           `Screening`: one class ruled in or out where errors of each kind are rare enough, else all classes
auto, rule          `RuleChoice`: the set that the combination rule has chosen, else dominance
==================  =====================================================================================

The first eight accept a matrix ``utility`` (actions x classes). Bounds are made reachable first. Every row
keeps at least one class. Decision rules that return sets keep ties; those that return one class break them, as
their docstrings describe.

Apply one with `hedgerow.decide`: ``hedgerow.decide(opinion, "maximin")``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from hedgerow.decisions.base import (
    Bools,
    Decision,
    OpinionLike,
    columns_from_labels,
    lower_expectation,
    pignistic_from_bounds,
    reachable,
    upper_expectation,
)
from hedgerow.decisions.coverage import Coverage, rows_needed
from hedgerow.decisions.credal import Dominance, EAdmissibility, Maximality
from hedgerow.decisions.risk import Risk
from hedgerow.decisions.screening import Screening
from hedgerow.decisions.sets import RuleChoice, TopProbability, UtilitySet
from hedgerow.decisions.single import ExpectedUtility, Hurwicz, Maximax, Maximin, Pignistic
from hedgerow.rules.base import Rule
from hedgerow.rules.utility import f_beta_utility, quadratic_utility

__all__ = [
    "Coverage",
    "Decision",
    "Dominance",
    "EAdmissibility",
    "ExpectedUtility",
    "Hurwicz",
    "Maximality",
    "Maximax",
    "Maximin",
    "OpinionLike",
    "Pignistic",
    "Risk",
    "RuleChoice",
    "Screening",
    "TopProbability",
    "UtilitySet",
    "all_decisions",
    "columns_from_labels",
    "decision_in_force",
    "f_beta_utility",
    "lower_expectation",
    "pignistic_from_bounds",
    "quadratic_utility",
    "reachable",
    "register",
    "resolve_decision",
    "rows_needed",
    "upper_expectation",
]


def decide(opinion: OpinionLike, decision: str | Decision = "auto") -> Bools:
    """Return prediction sets by a decision rule.

    Parameters
    ----------
    opinion : object with ``lower``, ``upper`` and ``probability``, (n, K) each
        Opinion about n rows, for instance ``hedgerow.combine(counts, rule)``.
    decision : str or Decision
        Name from the table in `hedgerow.decisions`, or a decision object with its own parameters. "auto" takes the
        sets of a rule that chooses sets itself (`mva`, `cdm_ave` …), and interval dominance otherwise.

    Returns
    -------
    bool array (n, K)
        True for classes in the set, at least one per row. With a utility matrix of A actions, (n, A).

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> opinion = SimpleNamespace(lower=[[0.6, 0.1], [0.4, 0.3]], upper=[[0.9, 0.4], [0.7, 0.6]],
    ...                           probability=[[0.8, 0.2], [0.6, 0.4]])
    >>> decide(opinion).tolist()
    [[True, False], [True, True]]
    >>> decide(opinion, Maximin()).tolist()
    [[True, False], [True, False]]
    """
    return resolve_decision(decision).choose(opinion)


# ---- Registry of decision rules --------------------------------------------------------------------------------------


D = TypeVar("D", bound=type[Decision])

_DECISIONS: dict[str, Callable[[], Decision]] = {
    "auto": RuleChoice,
    "dominance": Dominance,
    "maximality": Maximality,
    "e_admissibility": EAdmissibility,
    "maximin": Maximin,
    "maximax": Maximax,
    "hurwicz": Hurwicz,
    "pignistic": Pignistic,
    "expected_utility": ExpectedUtility,
    "u65": lambda: UtilitySet("u65"),
    "u80": lambda: UtilitySet("u80"),
    "f1": lambda: UtilitySet("f_beta", beta=1.0),
    "top_probability": TopProbability,
    "coverage": Coverage,
    "risk": Risk,
    "screening": Screening,
    "rule": RuleChoice,
}


def register(name: str) -> Callable[[D], D]:
    """Register a decision under a name.

    Parameters
    ----------
    name : str
        Name for users, model files and the command line.

    Returns
    -------
    callable
        A class decorator.

    Examples
    --------
    >>> register("hurwicz")(Hurwicz) is Hurwicz
    True
    """

    def enter(decision: D) -> D:
        taken = _DECISIONS.get(name)
        if taken is not None and taken is not decision:
            raise ValueError(f"name must not be registered yet, got {name!r}.")
        _DECISIONS[name] = decision
        return decision

    return enter


def resolve_decision(decision: str | Decision) -> Decision:
    """Return the decision with this name; a decision is returned unchanged.

    Parameters
    ----------
    decision : str or Decision
        Name of a decision with default parameters, or a decision object.

    Examples
    --------
    >>> resolve_decision("hurwicz")
    Hurwicz()
    """
    if isinstance(decision, Decision):
        return decision
    if isinstance(decision, str) and decision in _DECISIONS:
        return _DECISIONS[decision]()
    names = ", ".join(repr(name) for name in _DECISIONS)
    if isinstance(decision, type) and issubclass(decision, Decision):
        raise TypeError(
            f"decision must be a name or an object, got the class {decision.__name__}. Pass {decision.__name__}()."
        )
    if not isinstance(decision, str):
        raise TypeError(f"decision must be a name or a Decision object, got {decision!r}. Names: {names}.")
    raise ValueError(f"decision must be one of {names}, got {decision!r}. Or pass a Decision object.")


def decision_in_force(decision: str | Decision, rule: Rule) -> str:
    """Return the name of the decision under a rule, or the repr of an object.

    Examples
    --------
    >>> from hedgerow.rules import Average, CdmAve
    >>> decision_in_force("auto", Average()), decision_in_force("auto", CdmAve())
    ('dominance', 'rule')
    """
    if decision == "auto":
        return "rule" if rule.chooses else "dominance"
    return decision if isinstance(decision, str) else repr(decision)


def all_decisions() -> dict[str, Decision]:
    """Return every named decision with default parameters.

    Those with ``needs_calibration`` must be calibrated before they can decide.

    Examples
    --------
    >>> sorted(all_decisions())[:3]
    ['auto', 'coverage', 'dominance']
    """
    return {name: make() for name, make in _DECISIONS.items()}
