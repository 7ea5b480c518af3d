"""Decision: an opinion, checked -> a boolean matrix; what every decision shares."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from types import MappingProxyType
from typing import Any, ClassVar, Protocol, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator

from hedgerow.belief.rules.base import Rule
from hedgerow.decide.intervals import TIE, Floats, reachable

Bools = NDArray[np.bool_]


class OpinionLike(Protocol):
    """What a decision reads of an opinion: three arrays of shape (n, K).

    Where an opinion also has ``chosen``, bool (n, K) or None, it is the set its rule has decided on itself.
    """

    @property
    def lower(self) -> Any: ...
    @property
    def upper(self) -> Any: ...
    @property
    def probability(self) -> Any: ...


class Decision(BaseEstimator):  # type: ignore[misc]  # scikit-learn has no annotations
    """From an opinion to the classes that remain.

    A decision is a small object: parameters set by ``__init__`` (so that ``get_params``, ``set_params``,
    ``clone`` and ``decision__...`` in a grid search work) and one method: `pick`, which is given an opinion that
    is checked as it is read, or `choose`, which checks for itself. To add one, derive from this class; no
    registration is needed to pass the object to a forest or to `hedgerow.decide.decide`. `hedgerow.decide.register`
    gives it a name, which model files and the command line need.

    Attributes
    ----------
    needs_calibration : bool
        Whether ``calibrate(opinion, y)`` has to be called before `choose`.
    learned_fields : mapping of str to type
        What `calibrate` learns, and its type in a model file: a NumPy type for one number per class, or bool.
    page : str or None
        The decision in the report's ``arithmetic.js`` that chooses the same; None leaves it out of the page. Not
        inherited: a subclass that still chooses the same says so again.
    """

    needs_calibration: ClassVar[bool] = False
    learned_fields: ClassVar[Mapping[str, Any]] = MappingProxyType({})
    page: ClassVar[str | None] = None

    def __init_subclass__(cls, **options: Any) -> None:
        """Drop the name of the page's arithmetic, unless the subclass says it again."""
        super().__init_subclass__(**options)
        cls.page = vars(cls).get("page")

    def choose(self, opinion: OpinionLike) -> Bools:
        """Opinion of n rows and K classes -> bool (n, K), at least one True in each row.

        With a utility matrix of A actions the result is (n, A).
        """
        return self.pick(Checked(opinion))

    def pick(self, opinion: Checked) -> Bools:
        """Checked opinion (n, K) -> bool (n, K), or (n, A) with a utility matrix."""
        raise NotImplementedError(
            f"a decision must define choose(opinion), got none in {type(self).__name__}; see Decision"
        )

    def calibrate(self, opinion: Any, y: ArrayLike, *, classes: ArrayLike | None = None) -> Self:
        """Opinion (n, K), labels (n,), class of each column (K,) -> itself, with what it has learned from them."""
        raise NotImplementedError(
            f"a decision must define calibrate to be calibrated, got none in {type(self).__name__}; see Decision"
        )

    @property
    def is_ready(self) -> bool:
        """Whether `choose` can be called: nothing has to be learned, or it has been."""
        return not self.needs_calibration or any(name.endswith("_") for name in vars(self))

    @property
    def has_actions(self) -> bool:
        """Whether a utility matrix is set, so that actions are chosen, not classes."""
        return False

    @property
    def onnx(self) -> bool:
        """Whether `hedgerow.to_onnx` can write `pick` down, and finds the same sets by it."""
        return type(self).choose is Decision.choose and not self.has_actions

    @property
    def by_bounds(self) -> bool:
        """Whether exactly the classes are dropped whose interval ends before the largest lower bound."""
        return False

    @property
    def follows_dominance(self) -> bool:
        """Whether one class remains exactly where its lower bound is above all other upper bounds."""
        return self.by_bounds

    def under(self, rule: Rule) -> Decision:
        """A rule -> what decides about its opinions: itself, or another decision that it stands for there."""
        return self

    def on_page(self) -> tuple[str, dict[str, Any]] | None:
        """-> the name of the decision in the report's page and its options there; None where the page has none."""
        return None if self.page is None else (self.page, self.get_params())


class ActionDecision(Decision):
    """A decision that can choose among actions, by what each is worth when each class is true.

    Parameters
    ----------
    utility : array-like (A, K) or None
        What each action is worth when each class is true. None: one action per class, worth 1 when right.
    """

    def __init__(self, utility: ArrayLike | None = None) -> None:
        self.utility = utility

    @property
    def has_actions(self) -> bool:
        """Whether there is a utility matrix."""
        return self.utility is not None

    def on_page(self) -> tuple[str, dict[str, Any]] | None:
        """The page knows no actions."""
        known = super().on_page()
        if known is None or self.has_actions:
            return None
        return known[0], {name: value for name, value in known[1].items() if name != "utility"}


class Checked:
    """An opinion whose parts are checked when they are first read, and its bounds made reachable.

    Parameters
    ----------
    opinion : opinion
        What is known about n rows and K classes.
    """

    def __init__(self, opinion: OpinionLike) -> None:
        self._opinion: Any = opinion

    @cached_property
    def bounds(self) -> tuple[Floats, Floats]:
        """Reachable lower and upper, (n, K) each."""
        lower, upper = reachable(self._opinion.lower, self._opinion.upper)
        if lower.ndim != 2:
            raise ValueError(f"opinion.lower must have shape (n, K), got {lower.shape}; give one row as lower[None]")
        return lower, upper

    @cached_property
    def probability(self) -> Floats:
        """(n, K)."""
        return checked_probability(self._opinion.probability)

    @property
    def log_odds(self) -> Any:
        """(n, K), or None where the opinion has none."""
        return getattr(self._opinion, "log_odds", None)

    @property
    def chosen(self) -> Bools | None:
        """(n, K): the sets the rule has decided on itself, or None."""
        chosen: Any = getattr(self._opinion, "chosen", None)
        if chosen is None:
            return None
        sets = np.array(chosen, dtype=bool)
        if sets.ndim != 2 or not sets.any(axis=1).all():
            raise ValueError(
                f"opinion.chosen must be a bool matrix (n, K) with a class in every row, got shape "
                f"{sets.shape}; a rule that can rule out nothing must keep every class"
            )
        return sets


def checked_probability(probability: ArrayLike) -> Floats:
    """(n, K) -> the same as float64, refused when it is not finite or not a matrix."""
    values = np.asarray(probability, dtype=np.float64)
    if values.ndim != 2 or values.shape[1] == 0:
        raise ValueError(
            f"probability must have shape (n, K) with K >= 1, got {values.shape}; give one row as probability[None]"
        )
    if not np.isfinite(values).all():
        row = int(np.nonzero(~np.isfinite(values).all(axis=1))[0][0])
        raise ValueError(
            f"probability must be finite, got {values[row].tolist()} in row {row}; leave out rows "
            "nobody has an opinion on"
        )
    return values


def checked_utility(utility: ArrayLike, n_classes: int) -> Floats:
    """Array-like (A, K) -> float64 (A, K), refused when its columns are not the classes."""
    matrix = np.asarray(utility, dtype=np.float64)
    if matrix.ndim != 2 or matrix.shape[1] != n_classes or matrix.shape[0] == 0:
        raise ValueError(
            f"utility must have shape (actions, {n_classes}), one column per class, got {matrix.shape}; "
            "utility[a, k] is what action a is worth when k is the true class (a cost matrix is -utility)"
        )
    if not np.isfinite(matrix).all():
        raise ValueError(f"utility must be finite, got {matrix.tolist()}; use a large number in place of infinity")
    return matrix


def tie_of(utility: Floats) -> float:
    """(A, K) -> the difference of expected utilities that still counts as a tie."""
    largest = float(np.abs(utility).max())
    return TIE * largest
