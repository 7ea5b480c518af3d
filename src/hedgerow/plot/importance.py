"""Bar charts of feature importances."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np

from hedgerow.inference.fitted import fitted_of
from hedgerow.plot.canvas import ACCENT, INK, Display, Floats, calm, cut

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Attributes of importances and their spread in objects of hedgerow and scikit-learn.
_MEANS, _SPREADS = ("importances_mean", "mean"), ("importances_std", "deviation")


class ImportanceDisplay(Display):
    """Feature importances with error bars, the largest on top.

    Parameters
    ----------
    importance : float64 (p,)
        One importance per feature.
    error : float64 (p,), default=None
        Half the length of the error bars.
    names : list of str
        Names of the features.
    text : str
        Label of the axis.
    most : int
        Largest number of features to plot.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
        Axes and figure of the plot.

    Examples
    --------
    >>> display = ImportanceDisplay.from_predictions([0.2, 0.8], [0.1, 0.1], names=["age", "dose"])
    >>> [label.get_text() for label in display.ax_.get_yticklabels()]
    ['dose', 'age']
    """

    def __init__(self, importance: Floats, error: Floats | None, names: list[str], text: str, most: int) -> None:
        self.importance, self.error, self.names, self.text, self.most = importance, error, names, text, most

    @classmethod
    def from_estimator(cls, forest: Any, *, most: int = 20, ax: Axes | None = None) -> Self:
        """Plot the decrease of impurity, plus and minus two standard errors.

        It is biased towards features with many values; use `from_predictions` for importances without this bias, such
        as permutation importances.

        Parameters
        ----------
        forest : fitted estimator of hedgerow
            Its trees are used.
        most : int, default=20
            Largest number of features to plot.
        ax : matplotlib Axes, default=None
            Axes to draw on; None creates a figure.

        Returns
        -------
        ImportanceDisplay
        """
        first = forest.trees_[0]
        each = fitted_of(forest).importances()
        names = [first.name_of(feature) for feature in range(forest.n_features_in_)]
        error = 2 * each.std(axis=0, ddof=1) / np.sqrt(len(each)) if len(each) > 1 else None
        return cls(
            each.mean(axis=0), error, names, "share of the decrease in impurity, ± 2 standard errors", most
        ).plot(ax)

    @classmethod
    def from_predictions(
        cls,
        importance: Any,
        error: Any = None,
        *,
        names: Any = None,
        text: str = "importance",
        most: int = 20,
        ax: Axes | None = None,
    ) -> Self:
        """Plot existing importances.

        Parameters
        ----------
        importance : array-like of shape (n_features,), or object
            Importances, or the result of an importance function of hedgerow or scikit-learn, which has its own error:
            two standard errors over the trees if there is one importance per tree, else one standard deviation over the
            repeats.
        error : array-like of shape (n_features,), default=None
            Half the length of each error bar.
        names : array-like of shape (n_features,), default=None
            Names of the features.
        text : str, default="importance"
            Label of the axis.
        most : int, default=20
            Largest number of features to plot.
        ax : matplotlib Axes, default=None
            Axes to draw on; None creates a figure.

        Returns
        -------
        ImportanceDisplay
        """
        if not isinstance(importance, np.ndarray | list | tuple):
            error = _spread(importance) if error is None else error
            importance = _first(importance, _MEANS, importance)
        means = np.asarray(importance, dtype=np.float64)
        spread = None if error is None else np.asarray(error, dtype=np.float64)
        if means.ndim != 1 or (spread is not None and spread.shape != means.shape):
            got = means.shape if spread is None else (means.shape, spread.shape)
            raise ValueError(f"importance and error must have the shape (n_features,), got {got}.")
        called = [f"x[{feature}]" for feature in range(len(means))] if names is None else list(names)
        if len(called) != len(means):
            raise ValueError(f"names must have {len(means)} names, one per feature, got {len(called)}.")
        return cls(means, spread, called, text, most).plot(ax)

    def _size(self) -> tuple[float, float]:
        return 6.4, 1.0 + 0.28 * min(self.most, len(self.importance))

    def _draw(self, ax: Axes) -> None:
        order = np.argsort(-self.importance, kind="stable")[: self.most]
        y = np.arange(len(order))
        ax.barh(y, self.importance[order], height=0.62, color=ACCENT, alpha=0.85)
        if self.error is not None:
            ax.errorbar(
                self.importance[order], y, xerr=self.error[order], fmt="none", ecolor=INK, elinewidth=1, capsize=2.5
            )
        ax.axvline(0, color=INK, linewidth=0.8)
        ax.set_yticks(y, [cut(self.names[feature]) for feature in order])
        ax.set_ylim(len(order) - 0.4, -0.6)
        ax.tick_params(axis="y", length=0)
        ax.set_xlabel(self.text)
        calm(ax, grid="x")
        ax.spines["left"].set_visible(False)


def _spread(importance: Any) -> Any:
    """Return half the length of the error bars, or None."""
    spread = _first(importance, _SPREADS)
    each = getattr(importance, "per_tree", None)
    return spread if each is None else 2 * spread / np.sqrt(len(each))


def _first(value: object, names: tuple[str, ...], otherwise: Any = None) -> Any:
    """Return the first of these attributes that the object has."""
    return next((getattr(value, name) for name in names if hasattr(value, name)), otherwise)
