"""Metrics, curves, tables and scorers of prediction sets.

Metrics of sets have the signature ``metric(y, sets, *, classes=None, sample_weight=None)``, with labels ``y`` (n,) and
prediction sets ``sets``, bool (n, K); ``classes`` names the columns. They never return NaN: a mean over decided (or
undecided) rows is ``otherwise`` (None by default) if there are no such rows.
"""

from __future__ import annotations

from hedgerow.metrics.confusion import SetConfusion, confusion_matrix_with_sets
from hedgerow.metrics.curves import (
    AccuracyRejectionCurve,
    RiskCoverageCurve,
    accuracy_rejection_curve,
    area_under_accuracy_rejection,
    risk_coverage_curve,
)
from hedgerow.metrics.distributions import crps
from hedgerow.metrics.scorers import (
    SetScorer,
    discounted_accuracy_scorer,
    scorer,
    u65_scorer,
    u80_scorer,
)
from hedgerow.metrics.sets import (
    abstention_accuracy,
    coverage,
    determinacy,
    discounted_accuracy,
    f_beta_of_sets,
    mean_set_size,
    mic,
    set_accuracy,
    set_cost,
    single_set_accuracy,
    u65,
    u80,
    utility,
)
from hedgerow.metrics.tally import RegressionTally, SetTally, tally_numbers, tally_sets

__all__ = [
    "AccuracyRejectionCurve",
    "RegressionTally",
    "RiskCoverageCurve",
    "SetConfusion",
    "SetScorer",
    "SetTally",
    "abstention_accuracy",
    "accuracy_rejection_curve",
    "area_under_accuracy_rejection",
    "confusion_matrix_with_sets",
    "coverage",
    "crps",
    "determinacy",
    "discounted_accuracy",
    "discounted_accuracy_scorer",
    "f_beta_of_sets",
    "mean_set_size",
    "mic",
    "risk_coverage_curve",
    "scorer",
    "set_accuracy",
    "set_cost",
    "single_set_accuracy",
    "tally_numbers",
    "tally_sets",
    "u65",
    "u65_scorer",
    "u80",
    "u80_scorer",
    "utility",
]
