"""Zhang, Quost and Masson 2021: cautious random forests."""

from __future__ import annotations

from collections.abc import Sequence

from hedgerow.datasets import describe_dataset
from hedgerow.study.experiments.frame import Experiment, Unit
from hedgerow.study.experiments.zhang_2021 import protocol
from hedgerow.study.experiments.zhang_2021.paper import PAPER
from hedgerow.study.experiments.zhang_2021.summary import report

PAPER_SETS = tuple(PAPER["sets"].values())


def _sets(quick: bool) -> Sequence[str]:
    """Return the eight sets of the paper, and additional sets of many classes."""
    return (*PAPER_SETS, *(protocol.QUICK_MULTICLASS if quick else protocol.MULTICLASS))


def _plan(sets: Sequence[str], quick: bool) -> list[Unit]:
    """Return the units of the available sets."""
    return protocol.plan(sets, quick, PAPER_SETS, {name: describe_dataset(name).rows for name in sets})


EXPERIMENT = Experiment(
    name="zhang-2021",
    title=PAPER["title"],
    sets=_sets,
    plan=_plan,
    work=protocol.work,
    report=report,
)
