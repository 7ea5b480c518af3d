"""Combination rules in forests and small ensembles: future work of busch-2021."""

from __future__ import annotations

from hedgerow.study.experiments.forests.protocol import QUICK_SETS, SETS, plan, work
from hedgerow.study.experiments.forests.summary import report
from hedgerow.study.experiments.frame import Experiment

EXPERIMENT = Experiment(
    name="busch-2021-forests",
    title="Which rules help ordinary forests and small ensembles",
    sets=lambda quick: QUICK_SETS if quick else SETS,
    plan=plan,
    work=work,
    report=report,
)
