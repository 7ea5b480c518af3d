"""Sutton-Charani, Destercke and Denœux 2012: trees from belief functions."""

from __future__ import annotations

from collections.abc import Sequence

from hedgerow.study.experiments.frame import Experiment
from hedgerow.study.experiments.sutton_2012 import protocol
from hedgerow.study.experiments.sutton_2012.paper import PAPER
from hedgerow.study.experiments.sutton_2012.summary import report


def _sets(quick: bool) -> Sequence[str]:
    """Return all ten sets, which are small."""
    return list(PAPER["sets"].values())


EXPERIMENT = Experiment(
    name="sutton-2012",
    title=PAPER["title"],
    sets=_sets,
    plan=protocol.plan,
    work=protocol.work,
    report=report,
)
