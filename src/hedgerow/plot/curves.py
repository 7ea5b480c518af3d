"""Curves of error by coverage, and of the effect of caution."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from hedgerow import metrics
from hedgerow.explain.question import chosen_classes
from hedgerow.export.svg import colour_of
from hedgerow.inference.predictor import predictor_of
from hedgerow.metrics import RiskCoverageCurve, risk_coverage_curve
from hedgerow.plot.canvas import ACCENT, INK, OPEN, SOFT, Display, Floats, calm, class_names, percent_axis

#: The default cautions of a path.
CAUTIONS = tuple(np.linspace(0, 10, 41).tolist())


class RiskCoverageDisplay(Display):
    """Error on the rows that are answered against the share of rows that are answered, the surest first.

    Parameters
    ----------
    curve : RiskCoverageCurve
        Result of `hedgerow.metrics.risk_coverage_curve`.
    name : str, default=None
        Name in the legend.
    point : (float, float), default=None
        Coverage and risk of the model's own decisions, on rows for which its set has one class.

    Attributes
    ----------
    line_ : matplotlib Line2D
        The curve.
    ax_, figure_ : matplotlib Axes and Figure
        Where it was drawn.

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
        cls, forest: Any, X: Any, y: Any, *, confidence: str = "lower", name: str | None = None, ax: Any = None
    ) -> Self:
        """Draw the curve of a forest's labels, and a point for its own decisions.

        Parameters
        ----------
        forest : fitted classifier of hedgerow
            Its rule, caution and decision are used.
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
            Rows it has not been trained on.
        y : array-like of shape (n_samples,)
            Their classes.
        confidence : {"lower", "probability"}, default="lower"
            The confidence of an answer: the lower bound of the label's probability, or the probability.
        name : str, default=None
            Name in the legend.
        ax : matplotlib Axes, default=None
            Where to draw; None makes a new figure.

        Returns
        -------
        RiskCoverageDisplay
        """
        if confidence not in ("lower", "probability"):
            raise ValueError(f"confidence must be 'lower' or 'probability', got {confidence!r}; choose one of them")
        predictor = predictor_of(forest)
        opinion = predictor.opinion(predictor.read(X))
        best = opinion.probability.argmax(axis=1)
        sure = getattr(opinion, confidence)[np.arange(len(best)), best]
        alone = predictor.decide(opinion).sum(axis=1) == 1
        right = forest.classes_[best] == np.asarray(y)
        point = (float(alone.mean()), float(np.mean(~right[alone]))) if alone.any() else None
        curve = risk_coverage_curve(y, forest.classes_[best], sure)
        return cls(curve, name or type(forest).__name__, point).plot(ax)

    @classmethod
    def from_predictions(
        cls, y: Any, predicted: Any, confidence: Any, *, name: str | None = None, ax: Any = None
    ) -> Self:
        """Draw the curve of labels you already have.

        Parameters
        ----------
        y, predicted, confidence : array-like of shape (n_samples,)
            As in `hedgerow.metrics.risk_coverage_curve`.
        name : str, default=None
            Name in the legend.
        ax : matplotlib Axes, default=None
            Where to draw; None makes a new figure.

        Returns
        -------
        RiskCoverageDisplay
        """
        return cls(risk_coverage_curve(y, predicted, confidence), name, None).plot(ax)

    def _draw(self, ax: Any) -> None:
        (self.line_,) = ax.step(self.curve.coverage, self.curve.risk, where="post", linewidth=1.8, label=self.name)
        if self.point is not None:
            colour = self.line_.get_color()
            ax.plot(
                *self.point, "o", color=colour, markersize=8, markeredgecolor="white", label="rows it decides itself"
            )
        ax.set_xlabel("share of rows answered, the surest first")
        ax.set_ylabel("share of these that are wrong")
        ax.set_xlim(0, 1.01)
        ax.set_ylim(bottom=0)
        percent_axis(ax.xaxis)
        percent_axis(ax.yaxis)
        calm(ax, grid="y")
        if self.name is not None:
            ax.legend(frameon=False, loc="upper left")


class CautionPathDisplay(Display):
    """What more caution does: to many rows with known classes, or to the bounds of one row.

    Parameters
    ----------
    cautions : float64 (m,)
        The cautions tried.
    lines : dict of str to float64 (m,)
        For many rows: share decided, share right among these, u65.
    bands : dict of str to float64 (m, 2)
        For one row: bounds of each class.
    caution : float, default=None
        The model's own caution, marked by a line.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
        Where it was drawn.

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
        cls, forest: Any, X: Any, y: Any = None, *, cautions: Sequence[float] = CAUTIONS, ax: Any = None
    ) -> Self:
        """Draw the path of a forest; no tree is grown again.

        Parameters
        ----------
        forest : fitted classifier of hedgerow
            Its rule and decision are used.
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
            Rows it has not been trained on, or one row.
        y : array-like of shape (n_samples,), default=None
            Their classes; None for the bounds of one row.
        cautions : sequence of float
            The cautions to try.
        ax : matplotlib Axes, default=None
            Where to draw; None makes a new figure.

        Returns
        -------
        CautionPathDisplay
        """
        predictor = predictor_of(forest)
        if not predictor.combines_leaves:
            raise TypeError(f"forest must be a classification tree or forest, got {type(forest).__name__}")
        evidence, rule = predictor.evidence(predictor.read(X).codes), predictor.rule
        if y is None and evidence.n_samples != 1:
            raise ValueError(f"X must be one row if y is not given, got {evidence.n_samples}; pass y, or X[:1]")
        opinions = evidence.combine_each([(rule, float(caution)) for caution in cautions])
        at, names = np.asarray(cautions, dtype=np.float64), class_names(forest.classes_, len(forest.classes_))
        if y is None:
            bounds = np.stack([np.stack([opinion.lower[0], opinion.upper[0]], axis=1) for opinion in opinions])
            bands = {name: bounds[:, k] for k, name in enumerate(names)}
            return cls(at, {}, bands, predictor.caution).plot(ax)
        sets = [chosen_classes(predictor, opinion) for opinion in opinions]
        known = {"y": np.asarray(y), "classes": forest.classes_}
        lines = {
            "decided": [metrics.determinacy(sets=each, **known) for each in sets],
            "right where decided": [metrics.single_set_accuracy(sets=each, **known, otherwise=np.nan) for each in sets],
            "u65": [metrics.u65(sets=each, **known) for each in sets],
        }
        return cls(at, {name: np.asarray(line) for name, line in lines.items()}, {}, predictor.caution).plot(ax)

    @classmethod
    def from_predictions(
        cls,
        cautions: Any,
        *,
        lines: dict[str, Any] | None = None,
        bands: dict[str, Any] | None = None,
        caution: float | None = None,
        ax: Any = None,
    ) -> Self:
        """Draw figures you already have.

        Parameters
        ----------
        cautions : array-like of shape (m,)
            The cautions tried.
        lines : dict of str to array-like of shape (m,), default=None
            Figures of many rows, by name.
        bands : dict of str to array-like of shape (m, 2), default=None
            Bounds of one row, by class.
        caution : float, default=None
            A caution to mark.
        ax : matplotlib Axes, default=None
            Where to draw; None makes a new figure.

        Returns
        -------
        CautionPathDisplay
        """
        drawn = [
            {name: np.asarray(values, dtype=np.float64) for name, values in (each or {}).items()}
            for each in (lines, bands)
        ]
        return cls(np.asarray(cautions, dtype=np.float64), drawn[0], drawn[1], caution).plot(ax)

    def _draw(self, ax: Any) -> None:
        styles = ((OPEN, "-"), (ACCENT, "--"), (INK, "-."), (SOFT, ":"))
        for number, (name, line) in enumerate(self.lines.items()):
            colour, style = styles[number % len(styles)]
            ax.plot(self.cautions, line, color=colour, linestyle=style, linewidth=1.8, label=name)
        for k, (name, band) in enumerate(self.bands.items()):
            ax.fill_between(self.cautions, band[:, 0], band[:, 1], color=colour_of(k), alpha=0.22, linewidth=0)
            ax.plot(self.cautions, band, color=colour_of(k), linewidth=1.5, label=[name, "_"])
        if self.caution is not None:
            ax.axvline(self.caution, color=SOFT, linewidth=1, linestyle=(0, (2, 3)), zorder=0)
            note = f"the model’s {self.caution:g}"
            ax.annotate(note, (self.caution, 0), (4, 4), "data", "offset points", color=SOFT, fontsize="small")
            ax.texts[-1].xycoords = ("data", "axes fraction")
        ax.set_xlabel("caution")
        ax.set_ylabel("probability" if self.bands else "share of rows, and u65")
        ax.set_xlim(self.cautions.min(), self.cautions.max())
        if self.bands:
            ax.set_ylim(0, 1)
        percent_axis(ax.yaxis)
        calm(ax, grid="y")
        ax.legend(frameon=False, loc="lower left", bbox_to_anchor=(0, 1), ncols=4, borderaxespad=0.2)
