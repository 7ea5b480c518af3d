"""Bars of feature importances."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from hedgerow.inference.fitted import fitted_of
from hedgerow.plot.canvas import ACCENT, INK, Display, Floats, calm, cut

#: Names under which objects of hedgerow and scikit-learn keep importances and their spread.
_MEANS, _SPREADS = ("importances_mean", "mean"), ("importances_std", "deviation")


class ImportanceDisplay(Display):
    """Importance of features, the largest on top, with error bars.

    Parameters
    ----------
    importance : float64 (p,)
        One number per feature.
    error : float64 (p,), default=None
        Half the length of its error bar.
    names : list of str
        Names of the features.
    said : str
        Label of the axis.
    most : int
        How many features are drawn.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
        Where it was drawn.

    Examples
    --------
    >>> display = ImportanceDisplay.from_predictions([0.2, 0.8], [0.1, 0.1], names=["age", "dose"])
    >>> [label.get_text() for label in display.ax_.get_yticklabels()]
    ['dose', 'age']
    """

    def __init__(self, importance: Floats, error: Floats | None, names: list[str], text: str, most: int) -> None:
        self.importance, self.error, self.names, self.text, self.most = importance, error, names, text, most

    @classmethod
    def from_estimator(cls, forest: Any, *, most: int = 20, ax: Any = None) -> Self:
        """Draw the decrease of impurity: the mean over the trees, plus and minus two standard errors.

        Features with many values look more important than they are; `from_predictions` can draw importances without
        this bias, such as those by permutation.

        Parameters
        ----------
        forest : fitted estimator of hedgerow
            The trees.
        most : int, default=20
            How many features to draw.
        ax : matplotlib Axes, default=None
            Where to draw; None makes a new figure.

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
        ax: Any = None,
    ) -> Self:
        """Draw importances you already have.

        Parameters
        ----------
        importance : array-like of shape (n_features,), or object
            Numbers, or the result of an importance function of hedgerow or scikit-learn, which brings its own error:
            two standard errors over the trees if each tree has its own figure, else one standard deviation over the
            repeats.
        error : array-like of shape (n_features,), default=None
            Half the length of each error bar.
        names : array-like of shape (n_features,), default=None
            Names of the features.
        said : str, default="importance"
            Label of the axis.
        most : int, default=20
            How many features to draw.
        ax : matplotlib Axes, default=None
            Where to draw; None makes a new figure.

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
            raise ValueError(
                f"importance and error must have one number per feature, got shapes {got}; pass 1-D arrays"
            )
        called = [f"x[{feature}]" for feature in range(len(means))] if names is None else list(names)
        if len(called) != len(means):
            raise ValueError(f"names must name the {len(means)} features, got {len(called)}; give a name for each")
        return cls(means, spread, called, text, most).plot(ax)

    def _size(self) -> tuple[float, float]:
        return 6.4, 1.0 + 0.28 * min(self.most, len(self.importance))

    def _draw(self, ax: Any) -> None:
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
    """An object with importances -> half the length of their error bars, or None."""
    spread = _first(importance, _SPREADS)
    each = getattr(importance, "per_tree", None)
    return spread if each is None else 2 * spread / np.sqrt(len(each))


def _first(value: Any, names: tuple[str, ...], otherwise: Any = None) -> Any:
    """The first of these attributes that the object has."""
    return next((getattr(value, name) for name in names if hasattr(value, name)), otherwise)
