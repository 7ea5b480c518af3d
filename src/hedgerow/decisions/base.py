"""Base classes of decision rules, and checks of opinions."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from numbers import Real
from types import MappingProxyType
from typing import Any, ClassVar, Protocol, Self, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError

from hedgerow.decisions.intervals import TIE, Floats, reachable
from hedgerow.rules.base import OnPage, Rule

Bools = NDArray[np.bool_]
Utility: TypeAlias = ArrayLike | Mapping[str, ArrayLike]


class OpinionLike(Protocol):
    """Opinion as decision rules use it: three arrays of shape (n, K).

    It may also have ``chosen``, bool (n, K) or None: sets that the combination rule itself has chosen.
    """

    @property
    def lower(self) -> ArrayLike: ...
    @property
    def upper(self) -> ArrayLike: ...
    @property
    def probability(self) -> ArrayLike: ...


class Decision(BaseEstimator):  # type: ignore[misc]  # scikit-learn has no annotations
    """Base class of decision rules, which turn opinions into prediction sets.

    A decision is an object with parameters and one method. ``__init__`` must only store the parameters, so that
    ``get_params``, ``set_params``, ``clone`` and ``decision__...`` in a grid search work. The method is `pick`, which
    gets an opinion whose parts are checked on first access, or `choose`, which must do its own checks. To add a
    decision, derive from this class; the object can then be passed to a forest or to `hedgerow.decide`. Model files and
    the command line also need a name: decorate the class with `hedgerow.decisions.register`.

    Attributes
    ----------
    needs_calibration : bool
        Whether ``calibrate(opinion, y)`` must be called before `choose`.
    learned_fields : mapping of str to type
        Attributes that `calibrate` sets, and their types in a model file: bool, int, float, a NumPy type for one number
        per class, a list of one NumPy type for a row of such numbers per group, or ``[str]`` for the names of the
        groups.
    groups : str, int or None
        Column whose values are groups, if the decision has a guarantee per group. The forest then fills
        ``opinion.groups``.
    page : str or None
        Function in the report's ``arithmetic.js`` that chooses the same classes. With None the report does not offer
        the decision. A subclass does not inherit this attribute: it must set it again if it chooses the same.
    """

    needs_calibration: ClassVar[bool] = False
    learned_fields: ClassVar[Mapping[str, Any]] = MappingProxyType({})
    groups: str | int | None = None
    page: ClassVar[str | None] = None

    def __init_subclass__(cls, **options: object) -> None:
        """Reset `page` unless the subclass sets it: its arithmetic may differ."""
        super().__init_subclass__(**options)
        cls.page = vars(cls).get("page")

    def choose(self, opinion: OpinionLike) -> Bools:
        """Return prediction sets, bool (n, K), with at least one class per row.

        With a utility matrix of A actions the result is (n, A).
        """
        return self.pick(Checked(opinion))

    def pick(self, opinion: Checked) -> Bools:
        """Return prediction sets, bool (n, K), or (n, A) with a utility matrix."""
        raise NotImplementedError(f"{type(self).__name__} must define pick or choose. See hedgerow.decisions.Decision.")

    def calibrate(self, opinion: OpinionLike | ArrayLike, y: ArrayLike, *, classes: ArrayLike | None = None) -> Self:
        """Learn from an opinion (n, K) and labels (n,), and return the decision itself."""
        raise NotImplementedError(f"{type(self).__name__} does not define calibrate. See hedgerow.decisions.Decision.")

    def check_ready(self) -> None:
        """Raise unless the decision has been calibrated, if it needs to."""
        if not self.is_ready:
            raise NotFittedError(
                f"{type(self).__name__} requires calibration. Call calibrate(opinion, y) with out-of-bag or held-out "
                "rows."
            )

    @property
    def is_ready(self) -> bool:
        """True if `choose` can be called: no calibration is needed, or it is done."""
        return not self.needs_calibration or any(name.endswith("_") for name in vars(self))

    @property
    def has_actions(self) -> bool:
        """True if actions are chosen instead of classes, because a utility matrix is set."""
        return False

    @property
    def actions(self) -> list[str]:
        """Names of the actions if a utility matrix is set; empty without."""
        return []

    @property
    def onnx(self) -> bool:
        """True if `hedgerow.to_onnx` can translate `pick` exactly."""
        return type(self).choose is Decision.choose and not self.has_actions

    @property
    def by_bounds(self) -> bool:
        """True if the sets are exactly those of interval dominance."""
        return False

    @property
    def follows_dominance(self) -> bool:
        """True if rows are decided exactly if interval dominance decides them."""
        return self.by_bounds

    def under(self, rule: Rule) -> Decision:
        """Return the decision for opinions of a rule: this one, or its fallback."""
        return self

    def on_page(self) -> OnPage:
        """Return the decision's name and options in the report's script, or None."""
        return None if self.page is None else (self.page, self.get_params())


class ActionDecision(Decision):
    """Base class of decisions that can choose among actions by a utility matrix.

    Parameters
    ----------
    utility : mapping of str to array-like (K,), array-like (A, K) or None
        Utility of each action if each class is true; a mapping names the actions. None means one action per class, of
        utility 1 if that class is true.
    """

    def __init__(self, utility: Utility | None = None) -> None:
        self.utility = utility

    @property
    def has_actions(self) -> bool:
        """True with a utility matrix."""
        return self.utility is not None

    @property
    def actions(self) -> list[str]:
        """Names of the actions; their numbers if the utility matrix has none."""
        if isinstance(self.utility, Mapping):
            return [str(name) for name in self.utility]
        return [] if self.utility is None else [str(number) for number in range(len(np.asarray(self.utility)))]

    def on_page(self) -> OnPage:
        """Return None with actions, which the script lacks."""
        known = super().on_page()
        if known is None or self.has_actions:
            return None
        return known[0], {name: value for name, value in known[1].items() if name != "utility"}


class Checked:
    """Opinion whose parts are checked on first access, with reachable bounds.

    Parameters
    ----------
    opinion : opinion
        Opinion about n rows and K classes.
    """

    def __init__(self, opinion: object) -> None:
        self._opinion: Any = opinion
        self._bounds: tuple[Floats, Floats] | None = None

    @property
    def bounds(self) -> tuple[Floats, Floats]:
        """Reachable lower and upper probabilities, (n, K) each."""
        if self._bounds is None:
            lower, upper = reachable(self._opinion.lower, self._opinion.upper)
            if lower.ndim != 2:
                raise ValueError(f"opinion.lower must have the shape (n, K), got {lower.shape}. Use lower[None].")
            self._bounds = lower, upper
        return self._bounds

    @cached_property
    def probability(self) -> Floats:
        """Probabilities (n, K)."""
        return checked_probability(self._opinion.probability)

    @property
    def log_odds(self) -> Floats | None:
        """Log-odds (n, K), or None if the opinion has none."""
        log_odds: Floats | None = getattr(self._opinion, "log_odds", None)
        return log_odds

    @property
    def groups(self) -> NDArray[np.str_] | None:
        """Groups (n,), or None if the opinion has none."""
        groups: NDArray[np.str_] | None = getattr(self._opinion, "groups", None)
        return groups

    @property
    def chosen(self) -> Bools | None:
        """Sets (n, K) that the combination rule itself has chosen, or None."""
        chosen: ArrayLike | None = getattr(self._opinion, "chosen", None)
        if chosen is None:
            return None
        sets = np.array(chosen, dtype=bool)
        if sets.ndim != 2 or not sets.any(axis=1).all():
            raise ValueError(
                f"opinion.chosen must be a bool matrix (n, K) with at least one class per row, got shape {sets.shape}. "
                "A rule that excludes no class must keep all of them."
            )
        return sets


def check_share(name: str, share: object, hint: str) -> None:
    """Raise unless a value is a number strictly between 0 and 1."""
    if not (isinstance(share, Real) and 0 < float(share) < 1):
        raise ValueError(f"{name} must lie strictly between 0 and 1, got {share!r}. {hint}")


def probability_and_log_odds(opinion: Any) -> tuple[Floats, Floats | None]:
    """Return probabilities of an opinion or array, and its log-odds or None."""
    return checked_probability(getattr(opinion, "probability", opinion)), Checked(opinion).log_odds


def ordering_scores(probability: Floats, log_odds: Floats | None, by_log_odds: bool) -> Floats:
    """Return probabilities (n, K), or log-odds if a calibration had them.

    The order is the same, and log-odds still differ where added evidence rounds probabilities to 0 and 1.
    """
    if not by_log_odds:
        return probability
    logarithms: Floats = np.log(np.maximum(probability, 1e-300)) if log_odds is None else log_odds
    return logarithms


def groups_of_rows(decision: Decision, opinion: OpinionLike | ArrayLike | Checked, n_rows: int) -> NDArray[np.str_]:
    """Return the group (n,) of each row of an opinion, as text."""
    groups = Checked(opinion).groups
    if groups is None or np.shape(groups) != (n_rows,):
        raise ValueError(
            f"opinion.groups must have the shape ({n_rows},) for {decision!r}, got"
            f" {None if groups is None else np.shape(groups)}. Use the opinion of a forest with this decision."
        )
    return np.asarray(groups).astype(np.str_)


def checked_probability(probability: ArrayLike) -> Floats:
    """Return probabilities as float64; raise unless they are a finite matrix."""
    values = np.asarray(probability, dtype=np.float64)
    if values.ndim != 2 or values.shape[1] == 0:
        raise ValueError(
            f"probability must have the shape (n, K) with K >= 1, got {values.shape}. Pass a row as probability[None]."
        )
    if not np.isfinite(values).all():
        row = int(np.nonzero(~np.isfinite(values).all(axis=1))[0][0])
        raise ValueError(
            f"probability must be finite, got {values[row].tolist()} in row {row}. Drop rows without an opinion."
        )
    return values


def checked_utility(utility: Utility, n_classes: int) -> Floats:
    """Return the utility matrix (A, K) as float64; raise unless it fits the classes."""
    given = list(utility.values()) if isinstance(utility, Mapping) else utility
    matrix = np.asarray(given, dtype=np.float64)
    if matrix.ndim != 2 or matrix.shape[1] != n_classes or matrix.shape[0] == 0:
        raise ValueError(
            f"utility must have the shape (actions, {n_classes}), one column per class, got {matrix.shape}. "
            "utility[a, k] is the utility of action a if k is the true class; costs (classes, actions) are -costs.T."
        )
    if not np.isfinite(matrix).all():
        raise ValueError(f"utility must be finite, got {matrix.tolist()}. Use a large number in place of infinity.")
    return matrix


def tie_of(utility: Floats) -> float:
    """Return the largest difference of expected utilities that is a tie."""
    largest = float(np.abs(utility).max())
    return TIE * largest
