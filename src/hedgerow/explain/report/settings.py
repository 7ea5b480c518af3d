"""Settings: a rule and a decision -> their names in the script of the report, if it has them."""

from __future__ import annotations

from typing import Any

from hedgerow.decisions import Decision
from hedgerow.explain.report.figures import plain_name
from hedgerow.rules import Rule


def page_rule(rule: Rule) -> dict[str, Any]:
    """A rule -> ``name`` in the script (None if the script does not have it), ``options`` and ``text``.

    Examples
    --------
    >>> from hedgerow.rules import Eva
    >>> page_rule(Eva())
    {'name': 'eva', 'options': {'correction': 'log', 'smoothing': 0.1}, 'text': 'Eva'}
    """
    name, options = rule.on_page() or (None, {})
    return {"name": name, "options": dict(sorted(options.items())), "text": plain_name(rule)}


def page_decision(decision: Decision) -> dict[str, Any]:
    """A decision -> ``name`` in the script (None if the script does not have it), ``options`` and ``text``.

    Examples
    --------
    >>> from hedgerow.decisions import Hurwicz
    >>> page_decision(Hurwicz(0.3))
    {'name': 'hurwicz', 'options': {'optimism': 0.3}, 'text': 'Hurwicz (optimism 0.3)'}
    """
    name, options = decision.on_page() or (None, {})
    return {"name": name, "options": options, "text": plain_name(decision)}
