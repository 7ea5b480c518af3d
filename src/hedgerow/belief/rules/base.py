"""Rule: leaf counts -> state -> opinion; what every rule shares."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator

from hedgerow.belief.opinion import Opinion

Floats = NDArray[np.float64]
Merge = Literal["add", "max", "both", "stack"]


@dataclass(frozen=True, eq=False)
class Setting:
    """What a rule must know besides the counts. Build it with `Setting.of`, which checks its parts.

    Attributes
    ----------
    n_classes : int
        Number of classes K.
    caution : float
        How many unseen rows each leaf keeps in reserve.
    prior : float64 (K,)
        Class probabilities before any leaf is looked at; they sum to 1.

    Examples
    --------
    >>> Setting.of(2, prior=[3, 1]).prior
    array([0.75, 0.25])
    """

    n_classes: int
    caution: float
    prior: Floats

    @classmethod
    def of(cls, n_classes: int, caution: float = 1.0, prior: ArrayLike | None = None) -> Setting:
        """K, caution, prior (K,) or None for a uniform one -> setting, checked and normalised."""
        if n_classes < 1:
            raise ValueError(f"n_classes must be at least 1, got {n_classes}; count every class of the target")
        if not (np.isfinite(caution) and caution >= 0):
            raise ValueError(
                f"caution must be a finite number >= 0, got {caution!r}; 0 is the precise forest, 1 to 5 are usual"
            )
        weights = np.ones(n_classes) if prior is None else np.asarray(prior, dtype=np.float64)
        if weights.shape != (n_classes,) or not (np.isfinite(weights) & (weights > 0)).all():
            raise ValueError(
                f"prior must be {n_classes} positive finite numbers, one per class, got {prior!r}; "
                "leave it out for a uniform prior"
            )
        return cls(int(n_classes), float(caution), weights / weights.sum())


class Rule(BaseEstimator):  # type: ignore[misc]  # scikit-learn has no annotations
    """From the counts of the leaves a sample reaches to an opinion about it.

    A rule is two pure functions and the name of the fold between them. Derive from this class, set `name` and
    `merge`, write `lift` and `finish`, and decorate the class with `hedgerow.belief.rules.register`;
    the law tests then find it by themselves. Parameters are set by ``__init__`` alone, so that
    ``get_params``, ``set_params``, ``clone`` and ``rule__alpha`` in a grid search work.

    Attributes
    ----------
    name : str
        The short name `resolve_rule` knows.
    merge : {"add", "max", "both", "stack"}
        How states of leaves become the state of a sample. ``"add"`` and ``"max"`` act on each column;
        ``"both"`` folds the same table twice and hands on ``[max | add]`` side by side, (n, 2S);
        ``"stack"`` is not a fold: `finish` receives the states of all trees, (n, T, S).

    Notes
    -----
    Two habits keep states foldable in any order and over any subset of trees. A state is self-sufficient:
    where `finish` needs the number of leaves, a column of the state counts them. And a row of zeros is the
    state of no leaf at all (states of ``"max"`` and ``"both"`` are never negative); in stacks a row of zeros
    marks a tree that does not take part.
    """

    name: ClassVar[str]
    merge: ClassVar[Merge]
    #: Whether an opinion does not depend on how many trees it is made of, so that a tree changes only rows it judges.
    steady: ClassVar[bool] = False

    def lift(self, counts: Floats, setting: Setting) -> Floats:
        """Counts (m, K) -> states (m, S), one row per leaf; zero rows are empty leaves."""
        raise NotImplementedError(f"a rule must define lift, got none in {type(self).__name__}; see Rule")

    def finish(self, state: Floats, setting: Setting) -> Opinion:
        """Merged states (n, S) -> opinion of n samples."""
        raise NotImplementedError(f"a rule must define finish, got none in {type(self).__name__}; see Rule")

    def width(self, setting: Setting) -> int:
        """Setting -> S, the number of columns `lift` makes."""
        return int(self.lift(np.zeros((1, setting.n_classes)), setting).shape[1])

    @property
    def laws(self) -> frozenset[str]:
        """The laws the rule obeys besides those all rules obey; the law tests read them.

        ``"precise"``: at caution 0, with no empty and no tied leaf, lower = probability = upper.
        ``"widens"``: intervals are nested as caution grows. ``"accumulates"``: an empty leaf changes nothing.
        """
        return frozenset({"precise", "widens"})

    @property
    def weighable(self) -> bool:
        """Whether tree weights may multiply the states."""
        return self.merge == "add"

    @property
    def needs_weights(self) -> bool:
        """Whether tree weights must be given."""
        return False


def merge_states(states: Floats, merge: Merge) -> Floats:
    """States of T leaves (n, T, S) -> merged states: (n, S), (n, 2S) for "both", unchanged for "stack".

    Parameters
    ----------
    states : float64 (n, T, S)
    merge : {"add", "max", "both", "stack"}

    Returns
    -------
    float64

    Examples
    --------
    >>> merge_states(np.array([[[1.0], [2.0]]]), "both")
    array([[2., 3.]])
    """
    if merge == "stack":
        return states
    added: Floats = states.sum(axis=1)
    if merge == "add":
        return added
    largest: Floats = states.max(axis=1, initial=0.0)
    return largest if merge == "max" else np.hstack([largest, added])


def one_of(value: str | None, allowed: tuple[str | None, ...], subject: str) -> None:
    """Refuse a value that is not among those allowed."""
    if value not in allowed:
        raise ValueError(f"{subject} must be one of {allowed}, got {value!r}; choose one of these")
