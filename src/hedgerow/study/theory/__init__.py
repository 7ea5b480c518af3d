"""Theory: the error of one learner -> the error of many combined; formulas to call and to plot."""

from hedgerow.study.theory.averages import averaged_error, averaged_variance, mean_error
from hedgerow.study.theory.bags import inclusion_probability
from hedgerow.study.theory.juries import condorcet, plurality
from hedgerow.study.theory.plots import plot_averaged_error, plot_condorcet, plot_inclusion, plot_plurality

__all__ = [
    "averaged_error",
    "averaged_variance",
    "condorcet",
    "inclusion_probability",
    "mean_error",
    "plot_averaged_error",
    "plot_condorcet",
    "plot_inclusion",
    "plot_plurality",
    "plurality",
]
