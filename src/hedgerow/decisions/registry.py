"""Registry of decision rules."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from hedgerow.decisions.base import Decision
from hedgerow.decisions.coverage import Coverage
from hedgerow.decisions.credal import Dominance, EAdmissibility, Maximality
from hedgerow.decisions.risk import Risk
from hedgerow.decisions.screening import Screening
from hedgerow.decisions.sets import RuleChoice, TopProbability, UtilitySet
from hedgerow.decisions.single import ExpectedUtility, Hurwicz, Maximax, Maximin, Pignistic
from hedgerow.rules.base import Rule

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
