"""Plots, as Display classes of scikit-learn.

=======================  ====================================================================================
`IntervalDisplay`        lower and upper probability of each class, for some rows
`TernaryDisplay`         the possible distributions over three classes
`RiskCoverageDisplay`    error against the share of rows answered
`CautionPathDisplay`     what more caution does, to many rows or to one
`LeafEvidenceDisplay`    the leaves one row reaches: share and interval of each tree
`ImportanceDisplay`      importance of features, with error bars
`ProximityMapDisplay`    a map where rows that share leaves are close
`TreeDisplay`            one tree, with the evidence in its leaves
=======================  ====================================================================================

Each has ``from_estimator``, ``from_predictions`` and ``plot(ax=None)``, which sets ``ax_`` and ``figure_``. They need
matplotlib (``pip install 'hedgerow[plot]'``), which is imported when something is drawn.
"""

from __future__ import annotations

from hedgerow.plot.curves import CautionPathDisplay, RiskCoverageDisplay
from hedgerow.plot.importance import ImportanceDisplay
from hedgerow.plot.intervals import IntervalDisplay
from hedgerow.plot.leaves import LeafEvidenceDisplay
from hedgerow.plot.proximity import ProximityMapDisplay
from hedgerow.plot.ternary import TernaryDisplay
from hedgerow.plot.trees import TreeDisplay

__all__ = [
    "CautionPathDisplay",
    "ImportanceDisplay",
    "IntervalDisplay",
    "LeafEvidenceDisplay",
    "ProximityMapDisplay",
    "RiskCoverageDisplay",
    "TernaryDisplay",
    "TreeDisplay",
]
