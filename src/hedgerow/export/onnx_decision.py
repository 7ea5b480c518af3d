"""Decisions in ONNX."""

from __future__ import annotations

from functools import cached_property
from typing import Any

from hedgerow.belief.opinion import Opinion
from hedgerow.decisions import Decision
from hedgerow.decisions.base import Checked
from hedgerow.decisions.intervals import tightened
from hedgerow.export.recorder import NotExpressible


def chosen_by(decision: Decision, opinion: Opinion) -> Any:
    """A decision, an opinion of recorded arrays (n, K) -> bool (n, K), recorded."""
    if decision.has_actions:
        raise NotExpressible("has a utility matrix; decide on the exported bounds instead")
    if not decision.onnx:
        raise NotExpressible("has no counterpart there; use a decision of hedgerow.decisions")
    return decision.pick(_Unchecked(opinion))


class _Unchecked(Checked):
    """A recorded opinion, whose values are not known yet and cannot be checked."""

    @cached_property
    def bounds(self) -> Any:
        """Reachable lower and upper, (n, K) each."""
        return tightened(self._opinion.lower, self._opinion.upper)

    @cached_property
    def probability(self) -> Any:
        """(n, K)."""
        return self._opinion.probability

    @property
    def chosen(self) -> Any:
        """(n, K), or None."""
        return self._opinion.chosen
