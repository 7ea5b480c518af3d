"""Metrics, curves, tables and scorers of prediction sets, and metrics of survival.

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
from hedgerow.metrics.survival import (
    DCalibration,
    DynamicAUC,
    d_calibration,
    dynamic_auc,
    harrell_c,
    integrated_brier,
    survival_brier,
    uno_c,
)
from hedgerow.metrics.tally import RegressionTally, SetTally, tally_numbers, tally_sets
from hedgerow.metrics.uncertain import MetricBounds, accuracy_bounds, evidential_error, utility_bounds

__all__ = [
    "AccuracyRejectionCurve",
    "DCalibration",
    "DynamicAUC",
    "MetricBounds",
    "RegressionTally",
    "RiskCoverageCurve",
    "SetConfusion",
    "SetScorer",
    "SetTally",
    "abstention_accuracy",
    "accuracy_bounds",
    "accuracy_rejection_curve",
    "area_under_accuracy_rejection",
    "confusion_matrix_with_sets",
    "coverage",
    "crps",
    "d_calibration",
    "determinacy",
    "discounted_accuracy",
    "discounted_accuracy_scorer",
    "dynamic_auc",
    "evidential_error",
    "f_beta_of_sets",
    "harrell_c",
    "integrated_brier",
    "mean_set_size",
    "mic",
    "risk_coverage_curve",
    "scorer",
    "set_accuracy",
    "set_cost",
    "single_set_accuracy",
    "survival_brier",
    "tally_numbers",
    "tally_sets",
    "u65",
    "u65_scorer",
    "u80",
    "u80_scorer",
    "uno_c",
    "utility",
    "utility_bounds",
]
