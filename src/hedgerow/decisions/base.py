"""Decision: a checked opinion -> a boolean matrix; what every decision shares."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from numbers import Real
from types import MappingProxyType
from typing import Any, ClassVar, Protocol, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError

from hedgerow.decisions.intervals import TIE, Floats, reachable
from hedgerow.rules.base import Rule

Bools = NDArray[np.bool_]


class OpinionLike(Protocol):
    """What a decision needs of an opinion: three arrays of shape (n, K).

    If an opinion also has ``chosen``, bool (n, K) or None, these are the sets that the rule itself has chosen.
    """

    @property
    def lower(self) -> Any: ...
    @property
    def upper(self) -> Any: ...
    @property
    def probability(self) -> Any: ...


class Decision(BaseEstimator):  # type: ignore[misc]  # scikit-learn has no annotations
    """An opinion -> the classes that remain.

    A decision is a small object with parameters and one method. ``__init__`` must do nothing but store the parameters,
    so that ``get_params``, ``set_params``, ``clone`` and ``decision__...`` in a grid search work. The method is `pick`,
    which gets an opinion whose parts are checked when they are read, or `choose`, which must do its own checks. To add
    a decision, derive from this class; the object can then be passed to a forest or to `hedgerow.decide`. Model
    files and the command line also need a name, which `hedgerow.decisions.register` gives it.

    Attributes
    ----------
    needs_calibration : bool
        Whether ``calibrate(opinion, y)`` has to be called before `choose`.
    learned_fields : mapping of str to type
        What `calibrate` learns, and its type in a model file: bool, int, float, a NumPy type for one number per class,
        a list of one NumPy type for a row of such numbers per group, or ``[str]`` for the names of the groups.
    groups : str, int or None
        The column whose values are groups, if the decision makes its promise for each of them. The forest then fills
        ``opinion.groups``.
    page : str or None
        The name of the function in the report's ``arithmetic.js`` that chooses the same classes. With None the report
        does not offer the decision. A subclass does not inherit this attribute: it must set it again if it chooses the
        same.
    """

    needs_calibration: ClassVar[bool] = False
    learned_fields: ClassVar[Mapping[str, Any]] = MappingProxyType({})
    groups: str | int | None = None
    page: ClassVar[str | None] = None

    def __init_subclass__(cls, **options: Any) -> None:
        """Reset `page` unless the subclass sets it: its arithmetic may differ."""
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
            f"a decision must define pick or choose, got neither in {type(self).__name__}; see Decision"
        )

    def calibrate(self, opinion: Any, y: ArrayLike, *, classes: ArrayLike | None = None) -> Self:
        """Opinion (n, K), labels (n,), class of each column (K,) -> the decision itself, after it has learned."""
        raise NotImplementedError(
            f"a decision must define calibrate to be calibrated, got none in {type(self).__name__}; see Decision"
        )

    def check_ready(self) -> None:
        """Refuse to decide before everything has been learned."""
        if not self.is_ready:
            raise NotFittedError(
                f"{type(self).__name__} must be calibrated before it decides, got no threshold; call "
                "calibrate(opinion, y) on out-of-bag evidence or on rows set aside"
            )

    @property
    def is_ready(self) -> bool:
        """Whether `choose` can be called: there is nothing to learn, or it has been learned."""
        return not self.needs_calibration or any(name.endswith("_") for name in vars(self))

    @property
    def has_actions(self) -> bool:
        """Whether actions are chosen instead of classes, because a utility matrix is set."""
        return False

    @property
    def onnx(self) -> bool:
        """Whether `hedgerow.to_onnx` can translate `pick` so that it finds the same sets."""
        return type(self).choose is Decision.choose and not self.has_actions

    @property
    def by_bounds(self) -> bool:
        """Whether exactly those classes are dropped whose upper bound is below the largest lower bound."""
        return False

    @property
    def follows_dominance(self) -> bool:
        """Whether a single class remains exactly if its lower bound is above all other upper bounds."""
        return self.by_bounds

    def under(self, rule: Rule) -> Decision:
        """A rule -> the decision that is made about its opinions: this one, or the one it falls back to."""
        return self

    def on_page(self) -> tuple[str, dict[str, Any]] | None:
        """-> the name of the decision in the report's script and its options there; None if the script lacks it."""
        return None if self.page is None else (self.page, self.get_params())


class ActionDecision(Decision):
    """A decision that can choose among actions, given what each action is worth if each class is true.

    Parameters
    ----------
    utility : array-like (A, K) or None
        What each action is worth if each class is true. None means one action per class, worth 1 if that class is true.
    """

    def __init__(self, utility: ArrayLike | None = None) -> None:
        self.utility = utility

    @property
    def has_actions(self) -> bool:
        """Whether there is a utility matrix."""
        return self.utility is not None

    def on_page(self) -> tuple[str, dict[str, Any]] | None:
        """The script has no actions."""
        known = super().on_page()
        if known is None or self.has_actions:
            return None
        return known[0], {name: value for name, value in known[1].items() if name != "utility"}


class Checked:
    """An opinion whose parts are checked when they are first read; bounds are also made reachable.

    Parameters
    ----------
    opinion : opinion
        An opinion about n rows and K classes.
    """

    def __init__(self, opinion: OpinionLike) -> None:
        self._opinion: Any = opinion
        self._bounds: tuple[Floats, Floats] | None = None

    @property
    def bounds(self) -> tuple[Floats, Floats]:
        """Reachable lower and upper, (n, K) each."""
        if self._bounds is None:
            lower, upper = reachable(self._opinion.lower, self._opinion.upper)
            if lower.ndim != 2:
                raise ValueError(
                    f"opinion.lower must have shape (n, K), got {lower.shape}; give one row as lower[None]"
                )
            self._bounds = lower, upper
        return self._bounds

    @cached_property
    def probability(self) -> Floats:
        """(n, K)."""
        return checked_probability(self._opinion.probability)

    @property
    def log_odds(self) -> Any:
        """(n, K), or None if the opinion has no log-odds."""
        return getattr(self._opinion, "log_odds", None)

    @property
    def groups(self) -> Any:
        """(n,), or None if the opinion has no groups."""
        return getattr(self._opinion, "groups", None)

    @property
    def chosen(self) -> Bools | None:
        """(n, K): the sets that the rule itself has chosen, or None."""
        chosen: Any = getattr(self._opinion, "chosen", None)
        if chosen is None:
            return None
        sets = np.array(chosen, dtype=bool)
        if sets.ndim != 2 or not sets.any(axis=1).all():
            raise ValueError(
                f"opinion.chosen must be a bool matrix (n, K) with a class in every row, got shape "
                f"{sets.shape}; a rule that rules out no class must keep all of them"
            )
        return sets


def check_share(name: str, share: Any, advice: str) -> None:
    """Refuse what is not a number strictly between 0 and 1."""
    if not (isinstance(share, Real) and 0 < float(share) < 1):
        raise ValueError(f"{name} must lie strictly between 0 and 1, got {share!r}; {advice}")


def probability_and_log_odds(opinion: Any) -> tuple[Floats, Floats | None]:
    """An opinion, or probabilities (n, K) alone -> probabilities (n, K), and log-odds (n, K) if it has any."""
    return checked_probability(getattr(opinion, "probability", opinion)), Checked(opinion).log_odds


def checked_probability(probability: ArrayLike) -> Floats:
    """(n, K) -> the same as float64; refused unless it is a matrix of finite numbers."""
    values = np.asarray(probability, dtype=np.float64)
    if values.ndim != 2 or values.shape[1] == 0:
        raise ValueError(
            f"probability must have shape (n, K) with K >= 1, got {values.shape}; give one row as probability[None]"
        )
    if not np.isfinite(values).all():
        row = int(np.nonzero(~np.isfinite(values).all(axis=1))[0][0])
        raise ValueError(
            f"probability must be finite, got {values[row].tolist()} in row {row}; leave out rows without an opinion"
        )
    return values


def checked_utility(utility: ArrayLike, n_classes: int) -> Floats:
    """Array-like (A, K) -> float64 (A, K); refused unless it has one column per class."""
    matrix = np.asarray(utility, dtype=np.float64)
    if matrix.ndim != 2 or matrix.shape[1] != n_classes or matrix.shape[0] == 0:
        raise ValueError(
            f"utility must have shape (actions, {n_classes}), one column per class, got {matrix.shape}; "
            "utility[a, k] is what action a is worth if k is the true class (pass a cost matrix as -cost)"
        )
    if not np.isfinite(matrix).all():
        raise ValueError(f"utility must be finite, got {matrix.tolist()}; use a large number in place of infinity")
    return matrix


def tie_of(utility: Floats) -> float:
    """(A, K) -> the difference of expected utilities that still counts as a tie."""
    largest = float(np.abs(utility).max())
    return TIE * largest
