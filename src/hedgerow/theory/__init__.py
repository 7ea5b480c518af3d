"""Ensemble theory: the error of many combined learners, as formulas and plots.

Also `strength_of` for forests, `bias_and_variance` for estimators on many training tables, and `compare_methods` for
scores on many data sets.
"""

from hedgerow.theory.averages import (
    Strength,
    averaged_error,
    averaged_variance,
    inclusion_probability,
    mean_error,
    strength_of,
)
from hedgerow.theory.juries import condorcet, plurality
from hedgerow.theory.plots import (
    plot_averaged_error,
    plot_condorcet,
    plot_critical_difference,
    plot_inclusion,
    plot_plurality,
)
from hedgerow.theory.ranks import Comparison, compare_methods
from hedgerow.theory.tables import BiasVariance, bias_and_variance

__all__ = [
    "BiasVariance",
    "Comparison",
    "Strength",
    "averaged_error",
    "averaged_variance",
    "bias_and_variance",
    "compare_methods",
    "condorcet",
    "inclusion_probability",
    "mean_error",
    "plot_averaged_error",
    "plot_condorcet",
    "plot_critical_difference",
    "plot_inclusion",
    "plot_plurality",
    "plurality",
    "strength_of",
]
