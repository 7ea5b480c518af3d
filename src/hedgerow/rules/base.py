"""Rule: leaf counts -> state -> opinion; what every rule shares."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator

from hedgerow.belief.opinion import Opinion

Floats = NDArray[np.float64]
Merge = Literal["add", "max", "both", "stack"]


@dataclass(frozen=True, eq=False)
class Setting:
    """What a rule must know besides the counts. Make one with `Setting.of`, which checks the values.

    Attributes
    ----------
    n_classes : int
        Number of classes K.
    caution : float
        How many unseen rows each leaf keeps in reserve.
    prior : float64 (K,)
        Class probabilities before any evidence; they sum to 1.

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
        """K, caution, prior (K,) or None for a uniform one -> setting, with values checked and prior normalised."""
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
    """The counts of the leaves that a sample reaches -> an opinion about the sample.

    A rule is two pure functions and the name of the fold between them. To add one, derive from this class, set `name`
    and `merge`, write `lift` and `finish`, and decorate the class with `hedgerow.rules.register`; the tests of
    the laws then include it. ``__init__`` must do nothing but store the parameters, so that ``get_params``,
    ``set_params``, ``clone`` and ``rule__alpha`` in a grid search work.

    Attributes
    ----------
    name : str
        The short name under which `resolve_rule` finds the rule.
    merge : {"add", "max", "both", "stack"}
        How the states of leaves become the state of a sample. ``"add"`` and ``"max"`` act on each column.
        ``"both"`` does both and puts the results side by side, ``[max | add]``, (n, 2S).
        ``"stack"`` is not a fold: `finish` receives the states of all trees, (n, T, S).
    even : bool
        Whether the intervals of all classes are equally wide.
    scale_free : bool
        Whether the opinion stays the same if all counts and the caution are doubled.
    smooth : bool
        Whether a small change of the counts gives a small change of the probabilities. It does not under votes.
    skips_empty : bool
        Whether leaves without rows are left out of the sums "probability" and "log_odds" (see `adds_up`).
    chooses : bool
        Whether the rule is a decision by itself: its opinions have ``chosen``.
    calibrates : bool
        Whether ``calibration="oob"`` may map its probabilities. Set it to False if these depend on caution, because
        bounds around mapped ones would not get wider with more caution, or if they are products over trees, most of
        which are nearly 0 or 1. Rules with `chooses` are never mapped.
    onnx : bool
        Whether `finish`, or `finish_plainly`, uses only NumPy functions that `hedgerow.to_onnx` can translate.
    by_class : int
        The number of blocks, of one column for each class, with which a state begins. The other columns belong to no
        class. The columns of a class depend on its own count and on the counts of the others, not on which classes
        these are. So with many classes, leaves that hold the same numbers of rows are lifted once. 0 means that nothing
        is known of the columns. A subclass with its own `lift` or ``shares`` does not inherit this attribute.
    plain_mean : bool
        Whether probabilities are the mean of the class shares of the leaves, which the core computes from the counts
        directly. A subclass does not inherit this attribute: it must set it again if it computes the same.
    page : str or None
        The name of the function in the report's ``arithmetic.js`` that computes the same opinion. With None the report
        has no sliders for the rule. A subclass does not inherit this attribute.

    Notes
    -----
    States can be folded in any order and over any subset of trees if they follow two conventions. First, a state holds
    everything that `finish` needs: if it needs the number of leaves, a column of the state counts them. Second, a row
    of zeros is the state of no leaf at all (so states of ``"max"`` and ``"both"`` are never negative); in a stack, a
    row of zeros marks a tree that does not take part.
    """

    name: ClassVar[str]
    merge: ClassVar[Merge]
    even: ClassVar[bool] = False
    scale_free: ClassVar[bool] = False
    smooth: ClassVar[bool] = True
    skips_empty: ClassVar[bool] = False
    chooses: ClassVar[bool] = False
    calibrates: ClassVar[bool] = True
    onnx: ClassVar[bool] = True
    by_class: ClassVar[int] = 0
    plain_mean: ClassVar[bool] = False
    page: ClassVar[str | None] = None

    def __init_subclass__(cls, **options: Any) -> None:
        """Reset `plain_mean`, `page` and `by_class` unless the subclass sets them: its arithmetic may differ."""
        super().__init_subclass__(**options)
        if "by_class" not in vars(cls) and not {"lift", "shares"}.isdisjoint(vars(cls)):
            cls.by_class = 0
        cls.plain_mean = vars(cls).get("plain_mean", False)
        cls.page = vars(cls).get("page")

    def lift(self, counts: Floats, setting: Setting) -> Floats:
        """Counts (m, K) of leaves -> their states (m, S); a row of zeros is an empty leaf."""
        raise NotImplementedError(f"a rule must define lift, got none in {type(self).__name__}; see Rule")

    def finish(self, state: Floats, setting: Setting) -> Opinion:
        """Merged states (n, S) -> opinion of n samples."""
        raise NotImplementedError(f"a rule must define finish, got none in {type(self).__name__}; see Rule")

    def finish_plainly(self, state: Floats, setting: Setting) -> Opinion:
        """The same as `finish`, in functions that `hedgerow.to_onnx` can translate, if those of `finish` are others."""
        return self.finish(state, setting)

    def width(self, setting: Setting) -> int:
        """Setting -> S, the number of columns of a state."""
        return int(self.lift(np.zeros((1, setting.n_classes)), setting).shape[1])

    def class_blocks(self, setting: Setting) -> tuple[int, ...]:
        """Setting -> the first column of each block of K columns in a state; nothing if `by_class` is 0."""
        return tuple(block * setting.n_classes for block in range(self.by_class))

    def key(self) -> Hashable:
        """A key for what the states of leaves depend on besides counts and setting: the rule and its parameters."""
        return type(self), repr(sorted(vars(self).items()))

    @property
    def laws(self) -> frozenset[str]:
        """The laws this rule obeys in addition to those of all rules; tests check them.

        ``"precise"``: at caution 0, and without empty or tied leaves, lower = probability = upper.
        ``"widens"``: more caution never makes an interval narrower. ``"accumulates"``: an empty leaf changes nothing.
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

    @property
    def steady(self) -> bool:
        """Whether new trees leave a sample's opinion unchanged unless they judge it; False is always safe."""
        return self.merge in ("max", "both")

    @property
    def adds_up(self) -> tuple[str, ...]:
        """The parts of an opinion that are sums over trees.

        They are some of "probability", "lower", "upper", "width" (upper - lower) and "log_odds". `parts` must return
        all of them except "width". Shapley values, smallest changes and exports to scikit-learn and treelite use them.
        """
        return ()

    def parts(self, state: Floats, setting: Setting) -> dict[str, Floats]:
        """States of leaves (m, S) -> what each leaf adds to the sums that `adds_up` lists, (m, K) each.

        The sums over trees are divided by the number of trees, or by the sum of their weights. "log_odds" are
        log-scores instead, which are not divided; a term that all classes share does not matter.
        """
        raise NotImplementedError(f"a rule that adds up must define parts, got none in {type(self).__name__}; see Rule")

    def prior_term(self, setting: Setting) -> Floats:
        """Setting -> the log-scores (K,) before any leaf has added to them, for a rule whose log-odds add up."""
        return np.zeros(setting.n_classes)

    def on_page(self) -> tuple[str, dict[str, Any]] | None:
        """-> the name of the rule in the report's script and its options there; None if the script does not have it."""
        return None if self.page is None else (self.page, self.get_params())


def merge_states(states: Floats, merge: Merge) -> Floats:
    """States of T leaves (n, T, S) -> merged states: (n, S), (n, 2S) for "both", unchanged for "stack".

    Parameters
    ----------
    states : float64 (n, T, S)
    merge : {"add", "mean", "max", "both", "stack"}

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
    if merge in ("add", "mean"):
        return added if merge == "add" else added / states.shape[1]
    largest: Floats = states.max(axis=1, initial=0.0)
    return largest if merge == "max" else np.hstack([largest, added])


def one_of(value: str | bool | None, allowed: tuple[str | bool | None, ...], subject: str) -> None:
    """Refuse a value that is not one of those allowed."""
    if value not in allowed:
        raise ValueError(f"{subject} must be one of {allowed}, got {value!r}; choose one of these")
