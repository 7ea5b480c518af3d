"""Registry of combination rules."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from difflib import get_close_matches
from typing import TypeVar

from hedgerow.rules.base import Rule

R = TypeVar("R", bound=type[Rule])

_RULES: dict[str, tuple[type[Rule], tuple[Callable[[], Rule], ...]]] = {}


def register(*notable: Callable[[], Rule]) -> Callable[[R], R]:
    """Register a rule under its name.

    Parameters
    ----------
    *notable : callable () -> Rule
        Functions that return the rule with other parameters, for the tests.

    Returns
    -------
    callable
        A class decorator.

    Examples
    --------
    >>> from hedgerow.rules import Average
    >>> resolve_rule("average").__class__ is Average
    True
    """

    def enter(rule: R) -> R:
        taken = _RULES.get(rule.name)
        if taken is not None and taken[0].__qualname__ != rule.__qualname__:
            raise ValueError(f"name must not be registered yet, got {rule.name!r}, the name of {taken[0]}.")
        _RULES[rule.name] = (rule, notable)
        return rule

    return enter


def resolve_rule(rule: str | Rule) -> Rule:
    """Return the rule with this name; a rule is returned unchanged.

    Parameters
    ----------
    rule : str or Rule

    Returns
    -------
    Rule

    Examples
    --------
    >>> resolve_rule("eva")
    Eva()
    """
    if isinstance(rule, Rule):
        return rule
    if isinstance(rule, str) and rule in _RULES:
        return _RULES[rule][0]()
    near = [name for name in sorted(_RULES) if name.startswith(str(rule))] or get_close_matches(str(rule), _RULES, n=1)
    hint = f"Did you mean {near[0]!r}?" if rule and near else "See hedgerow.rules."
    raise ValueError(f"rule must be a Rule or one of {', '.join(sorted(_RULES))}, got {rule!r}. {hint}")


def rule_names() -> tuple[str, ...]:
    """Return the names of all rules, in alphabetical order.

    Examples
    --------
    >>> "cautious" in rule_names()
    True
    """
    return tuple(sorted(_RULES))


def all_rules() -> Iterator[Rule]:
    """Yield every registered rule, with default and with notable parameters.

    Examples
    --------
    >>> {rule.name for rule in all_rules()} == set(rule_names())
    True
    """
    for rule, notable in _RULES.values():
        yield rule()
        for make in notable:
            yield make()
