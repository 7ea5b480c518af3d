"""Lectures on bagging and random forests: bias, variance and instability."""

from __future__ import annotations

from collections.abc import Sequence

from hedgerow.study.experiments.frame import Experiment
from hedgerow.study.experiments.lectures import protocol
from hedgerow.study.experiments.lectures.summary import TITLE, report


def _sets(quick: bool) -> Sequence[str]:
    """Return real sets for classification and regression; in a quick run two of each."""
    return protocol.QUICK_SETS if quick else (*protocol.CLASSES, *protocol.NUMBERS)


EXPERIMENT = Experiment(name="lectures", title=TITLE, sets=_sets, plan=protocol.plan, work=protocol.work, report=report)
