"""Busch and others 2021: combining random decision trees."""

from __future__ import annotations

from collections.abc import Sequence

from hedgerow.datasets import describe_dataset
from hedgerow.study.experiments.busch_2021 import protocol
from hedgerow.study.experiments.busch_2021.protocol import PAPER
from hedgerow.study.experiments.busch_2021.summary import report
from hedgerow.study.experiments.frame import Experiment


def _sets(quick: bool) -> Sequence[str]:
    """Return the available sets of Table 1; in a quick run only the smaller ones."""
    names = PAPER["files"].values()
    return [name for name in names if not quick or describe_dataset(name).rows <= protocol.QUICK_ROWS]


EXPERIMENT = Experiment(
    name="busch-2021",
    title=PAPER["title"],
    sets=_sets,
    plan=protocol.plan,
    work=protocol.work,
    report=report,
)
