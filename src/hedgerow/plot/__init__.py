"""Plots, as display classes in the style of scikit-learn.

=======================  ====================================================================================
`IntervalDisplay`        lower and upper probability of each class, for some rows
`TernaryDisplay`         credal sets of three classes
`RiskCoverageDisplay`    error against the share of decided rows
`CautionPathDisplay`     effect of caution on many rows or on one
`LeafEvidenceDisplay`    share and interval of each leaf that a row reaches
`ImportanceDisplay`      feature importances with error bars
`ProximityMapDisplay`    map of rows, close if they share leaves
`SurvivalDisplay`        survival curves with their bounds
`TreeDisplay`            one tree, with the evidence in its leaves
=======================  ====================================================================================

Each has ``from_estimator``, ``from_predictions`` and ``plot(ax=None)``, which sets ``ax_`` and ``figure_``. They
require matplotlib (``pip install matplotlib``), which is imported on the first plot.
"""

from __future__ import annotations

from hedgerow.plot.curves import CautionPathDisplay, RiskCoverageDisplay
from hedgerow.plot.importance import ImportanceDisplay
from hedgerow.plot.intervals import IntervalDisplay
from hedgerow.plot.proximity import ProximityMapDisplay
from hedgerow.plot.survival import SurvivalDisplay
from hedgerow.plot.ternary import TernaryDisplay
from hedgerow.plot.trees import LeafEvidenceDisplay, TreeDisplay

__all__ = [
    "CautionPathDisplay",
    "ImportanceDisplay",
    "IntervalDisplay",
    "LeafEvidenceDisplay",
    "ProximityMapDisplay",
    "RiskCoverageDisplay",
    "SurvivalDisplay",
    "TernaryDisplay",
    "TreeDisplay",
]
