"""Plots of risk against coverage, and of the effect of caution."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Self

import numpy as np
from numpy.typing import ArrayLike

from hedgerow import metrics
from hedgerow.export.svg import colour_of
from hedgerow.inference.predictor import predictor_of
from hedgerow.metrics import RiskCoverageCurve, risk_coverage_curve
from hedgerow.plot.canvas import ACCENT, INK, OPEN, SOFT, Classifier, Display, Floats, calm, class_names, percent_axis

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Default cautions of a path.
CAUTIONS = tuple(np.linspace(0, 10, 41).tolist())


class RiskCoverageDisplay(Display):
    """Error against the share of decided rows, most confident rows first.

    Parameters
    ----------
    curve : RiskCoverageCurve
        Result of `hedgerow.metrics.risk_coverage_curve`.
    name : str, default=None
        Name in the legend.
    point : (float, float), default=None
        Coverage and risk of the model's own decisions, on rows whose prediction set has one class.

    Attributes
    ----------
    line_ : matplotlib Line2D
        The curve.
    ax_, figure_ : matplotlib Axes and Figure
        Axes and figure of the plot.

    Examples
    --------
    >>> display = RiskCoverageDisplay.from_predictions([0, 1, 1, 0], [0, 1, 0, 0], [0.9, 0.8, 0.6, 0.7])
    >>> display.curve.risk.tolist()
    [0.0, 0.0, 0.0, 0.25]
    """

    def __init__(self, curve: RiskCoverageCurve, name: str | None, point: tuple[float, float] | None) -> None:
        self.curve, self.name, self.point = curve, name, point

    @classmethod
    def from_estimator(
        cls,
        forest: Classifier,
        X: object,
        y: ArrayLike,
        *,
        confidence: str = "lower",
        name: str | None = None,
        ax: Axes | None = None,
    ) -> Self:
        """Plot the curve of a forest's labels, and a point for its own decisions.

        Parameters
        ----------
        forest : fitted classifier of hedgerow
            Its rule, caution and decision are used.
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
            Rows not used for fitting.
        y : array-like of shape (n_samples,)
            Their classes.
        confidence : {"lower", "probability"}, default="lower"
            Confidence of a label: its lower probability, or its probability.
        name : str, default=None
            Name in the legend.
        ax : matplotlib Axes, default=None
            Axes to draw on; None creates a figure.

        Returns
        -------
        RiskCoverageDisplay
        """
        if confidence not in ("lower", "probability"):
            raise ValueError(f"confidence must be 'lower' or 'probability', got {confidence!r}.")
        predictor = predictor_of(forest)
        opinion = predictor.opinion(predictor.read(X))
        best = opinion.probability.argmax(axis=1)
        level = (opinion.lower if confidence == "lower" else opinion.probability)[np.arange(len(best)), best]
        alone = predictor.class_sets(opinion).sum(axis=1) == 1
        right = forest.classes_[best] == np.asarray(y)
        point = (float(alone.mean()), float(np.mean(~right[alone]))) if alone.any() else None
        curve = risk_coverage_curve(y, forest.classes_[best], level)
        return cls(curve, name or type(forest).__name__, point).plot(ax)

    @classmethod
    def from_predictions(
        cls,
        y: ArrayLike,
        predicted: ArrayLike,
        confidence: ArrayLike,
        *,
        name: str | None = None,
        ax: Axes | None = None,
    ) -> Self:
        """Plot the curve of existing labels.

        Parameters
        ----------
        y, predicted, confidence : array-like of shape (n_samples,)
            As in `hedgerow.metrics.risk_coverage_curve`.
        name : str, default=None
            Name in the legend.
        ax : matplotlib Axes, default=None
            Axes to draw on; None creates a figure.

        Returns
        -------
        RiskCoverageDisplay
        """
        return cls(risk_coverage_curve(y, predicted, confidence), name, None).plot(ax)

    def _draw(self, ax: Axes) -> None:
        (self.line_,) = ax.step(self.curve.coverage, self.curve.risk, where="post", linewidth=1.8, label=self.name)
        if self.point is not None:
            colour = self.line_.get_color()
            ax.plot(
                *self.point, "o", color=colour, markersize=8, markeredgecolor="white", label="the model's decisions"
            )
        ax.set_xlabel("decided rows, most confident first")
        ax.set_ylabel("errors among decided rows")
        ax.set_xlim(0, 1.01)
        ax.set_ylim(bottom=0)
        percent_axis(ax.xaxis)
        percent_axis(ax.yaxis)
        calm(ax, grid="y")
        if self.name is not None:
            ax.legend(frameon=False, loc="upper left")


class CautionPathDisplay(Display):
    """Effect of caution on many rows, or on the intervals of one row.

    Parameters
    ----------
    cautions : float64 (m,)
        Cautions.
    lines : dict of str to float64 (m,)
        For many rows: share of decided rows, accuracy of these, u65.
    bands : dict of str to float64 (m, 2)
        For one row: lower and upper probability of each class.
    caution : float, default=None
        The model's own caution, marked by a line.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
        Axes and figure of the plot.

    Examples
    --------
    >>> display = CautionPathDisplay.from_predictions([0, 1, 2], lines={"decided": [1.0, 0.9, 0.7]})
    >>> display.ax_.get_xlabel()
    'caution'
    """

    def __init__(
        self, cautions: Floats, lines: dict[str, Floats], bands: dict[str, Floats], caution: float | None
    ) -> None:
        self.cautions, self.lines, self.bands, self.caution = cautions, lines, bands, caution

    @classmethod
    def from_estimator(
        cls,
        forest: Classifier,
        X: object,
        y: ArrayLike | None = None,
        *,
        cautions: Sequence[float] = CAUTIONS,
        ax: Axes | None = None,
    ) -> Self:
        """Plot the path of a forest, without growing trees again.

        Parameters
        ----------
        forest : fitted classifier of hedgerow
            Its rule and decision are used.
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
            Rows not used for fitting, or one row.
        y : array-like of shape (n_samples,), default=None
            Their classes; None plots the intervals of one row.
        cautions : sequence of float
            Cautions to evaluate.
        ax : matplotlib Axes, default=None
            Axes to draw on; None creates a figure.

        Returns
        -------
        CautionPathDisplay
        """
        predictor = predictor_of(forest)
        if not predictor.combines_leaves:
            raise TypeError(f"forest must be a classification tree or forest, got {type(forest).__name__}.")
        evidence, rule = predictor.evidence(predictor.read(X).codes), predictor.rule
        if y is None and evidence.n_samples != 1:
            raise ValueError(f"X must have one row if y is not given, got {evidence.n_samples}. Pass y, or X[:1].")
        opinions = evidence.combine_each([(rule, float(caution)) for caution in cautions])
        at, names = np.asarray(cautions, dtype=np.float64), class_names(forest.classes_, len(forest.classes_))
        if y is None:
            bounds = np.stack([np.stack([opinion.lower[0], opinion.upper[0]], axis=1) for opinion in opinions])
            bands = {name: bounds[:, k] for k, name in enumerate(names)}
            return cls(at, {}, bands, predictor.caution).plot(ax)
        sets = [predictor.class_sets(opinion) for opinion in opinions]
        known = {"y": np.asarray(y), "classes": forest.classes_}
        lines = {
            "decided": [metrics.determinacy(sets=each, **known) for each in sets],
            "accuracy of decided": [metrics.single_set_accuracy(sets=each, **known, otherwise=np.nan) for each in sets],
            "u65": [metrics.u65(sets=each, **known) for each in sets],
        }
        return cls(at, {name: np.asarray(line) for name, line in lines.items()}, {}, predictor.caution).plot(ax)

    @classmethod
    def from_predictions(
        cls,
        cautions: ArrayLike,
        *,
        lines: dict[str, ArrayLike] | None = None,
        bands: dict[str, ArrayLike] | None = None,
        caution: float | None = None,
        ax: Axes | None = None,
    ) -> Self:
        """Plot existing results.

        Parameters
        ----------
        cautions : array-like of shape (m,)
            Cautions.
        lines : dict of str to array-like of shape (m,), default=None
            Results of many rows, by name.
        bands : dict of str to array-like of shape (m, 2), default=None
            Lower and upper probabilities of one row, by class.
        caution : float, default=None
            Caution to mark.
        ax : matplotlib Axes, default=None
            Axes to draw on; None creates a figure.

        Returns
        -------
        CautionPathDisplay
        """
        drawn = [
            {name: np.asarray(values, dtype=np.float64) for name, values in (each or {}).items()}
            for each in (lines, bands)
        ]
        return cls(np.asarray(cautions, dtype=np.float64), drawn[0], drawn[1], caution).plot(ax)

    def _draw(self, ax: Axes) -> None:
        styles = ((OPEN, "-"), (ACCENT, "--"), (INK, "-."), (SOFT, ":"))
        for number, (name, line) in enumerate(self.lines.items()):
            colour, style = styles[number % len(styles)]
            ax.plot(self.cautions, line, color=colour, linestyle=style, linewidth=1.8, label=name)
        for k, (name, band) in enumerate(self.bands.items()):
            ax.fill_between(self.cautions, band[:, 0], band[:, 1], color=colour_of(k), alpha=0.22, linewidth=0)
            ax.plot(self.cautions, band, color=colour_of(k), linewidth=1.5, label=[name, "_"])
        if self.caution is not None:
            ax.axvline(self.caution, color=SOFT, linewidth=1, linestyle=(0, (2, 3)), zorder=0)
            note = f"model: {self.caution:g}"
            at = ("data", "axes fraction")
            ax.annotate(note, (self.caution, 0), (4, 4), at, "offset points", color=SOFT, fontsize="small")
        ax.set_xlabel("caution")
        ax.set_ylabel("probability" if self.bands else "share of rows, u65")
        ax.set_xlim(self.cautions.min(), self.cautions.max())
        if self.bands:
            ax.set_ylim(0, 1)
        percent_axis(ax.yaxis)
        calm(ax, grid="y")
        ax.legend(frameon=False, loc="lower left", bbox_to_anchor=(0, 1), ncols=4, borderaxespad=0.2)
