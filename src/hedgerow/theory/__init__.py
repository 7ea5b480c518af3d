"""Theory: the error of one learner -> the error of many combined; formulas to call and to plot.

Also what theory says of a forest (`strength_of`), of an estimator on many training tables (`bias_and_variance`), and of
scores on many data sets (`compare_methods`).
"""

from hedgerow.theory.averages import averaged_error, averaged_variance, mean_error
from hedgerow.theory.bags import inclusion_probability
from hedgerow.theory.juries import condorcet, plurality
from hedgerow.theory.plots import (
    plot_averaged_error,
    plot_condorcet,
    plot_critical_difference,
    plot_inclusion,
    plot_plurality,
)
from hedgerow.theory.ranks import Comparison, compare_methods
from hedgerow.theory.strength import Strength, strength_of
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
