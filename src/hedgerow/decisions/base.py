"""Base classes of decision rules, checks of opinions, and probability intervals."""

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

from hedgerow.rules.base import OnPage, Rule

Floats = NDArray[np.float64]
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


class Decision(BaseEstimator):
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


# ---- Credal sets of probability intervals, and expectations over them ------------------------------------------------


#: Two numbers closer than this are a tie: bounds are sums of thousands of rounded terms.
TIE = 1e-12

#: Sums of bounds that miss 1 by no more than this are rounded (from float32, for instance).
ROUNDING = 1e-6


def reachable(lower: ArrayLike, upper: ArrayLike) -> tuple[Floats, Floats]:
    """Tighten probability intervals until some distribution attains every bound.

    ``l_k <- max(l_k, 1 - sum of the other u)`` and ``u_k <- min(u_k, 1 - sum of the other l)``; one pass is enough. The
    set of distributions between the bounds does not change. Bounds that are reachable to within 1e-12 are returned
    unchanged, so that rounding breaks no tie. If all rows are, the arrays themselves are returned.

    Parameters
    ----------
    lower, upper : array-like (..., K)
        Lower and upper probability of each class.

    Returns
    -------
    lower, upper : float64 arrays (..., K)
        Reachable bounds.

    Raises
    ------
    ValueError
        If no distribution lies between the bounds.

    Examples
    --------
    >>> lower, upper = reachable([[0.5, 0.0, 0.0]], [[1.0, 0.9, 0.1]])
    >>> lower.tolist(), upper.tolist()
    ([[0.5, 0.0, 0.0]], [[1.0, 0.5, 0.1]])
    """
    if _is_reachable_row(lower, upper):
        return lower, upper  # type: ignore[return-value]
    return tightened(*_checked_bounds(lower, upper))


def tightened(low: Floats, high: Floats) -> tuple[Floats, Floats]:
    """Tighten as `reachable` does, for checked bounds."""
    room, excess = _room_and_excess(low, high)
    width = high - low
    # a bound is not reachable if the interval is wider than the other classes can give or take
    if not (width > np.minimum(room, excess) + TIE).any():
        return low, high
    tight_low = np.where(width > excess + TIE, np.minimum(high - excess, high), low)
    tight_high = np.where(width > room + TIE, np.maximum(low + room, low), high)
    return np.minimum(tight_low, tight_high), tight_high


def _is_reachable_row(lower: Any, upper: Any) -> bool:
    """Return whether bounds (1, K) are surely reachable, in a tenth of NumPy's time."""
    arrays = type(lower) is np.ndarray and type(upper) is np.ndarray and lower.dtype.char == upper.dtype.char == "d"
    if not arrays or lower.ndim != 2 or len(lower) != 1 or lower.shape != upper.shape:
        return False
    low, high = lower[0].tolist(), upper[0].tolist()
    given, most = sum(low), sum(high)
    if given > 1.0 + TIE / 4 or most < 1.0 - TIE / 4:
        return False
    room = min(1.0 - given, most - 1.0) + TIE / 2
    return all(0.0 <= a <= b <= 1.0 and b - a <= room for a, b in zip(low, high, strict=True))


def pignistic_from_bounds(lower: ArrayLike, upper: ArrayLike) -> Floats:
    """Return the distribution that divides all intervals in the same ratio.

    The unassigned mass is shared in proportion to the widths of the intervals.

    This is the pignistic probability for two classes, for imprecise Dirichlet leaves and their averages, and for any
    mass on single classes and the frame. For other intervals it is Cuzzolin's intersection probability, the only
    distribution that divides every interval in the same ratio.

    Parameters
    ----------
    lower, upper : array-like (..., K)
        Reachable bounds (see `reachable`).

    Returns
    -------
    float64 array (..., K)
        Distribution between the bounds.

    Examples
    --------
    >>> pignistic_from_bounds([0.6, 0.2], [0.8, 0.4]).round(3).tolist()
    [0.7, 0.3]
    """
    return shared_out(*_checked_bounds(lower, upper))


def shared_out(low: Floats, high: Floats) -> Floats:
    """Divide intervals as `pignistic_from_bounds` does, for checked bounds."""
    width = high - low
    room = _room(low, high)
    spread = width.sum(axis=-1, keepdims=True)
    shared: Floats = low + width * (room / np.where(spread > 0, spread, 1.0))
    return shared


def lower_expectation(utility: ArrayLike, lower: ArrayLike, upper: ArrayLike) -> Floats:
    """Return the smallest expected utility of each action between the bounds.

    Parameters
    ----------
    utility : array-like (A, K)
        Utility of each action if each class is true.
    lower, upper : array-like (n, K)
        Reachable bounds (see `reachable`).

    Returns
    -------
    float64 array (n, A)

    Examples
    --------
    >>> lower_expectation([[1, 0], [0, 1]], [[0.6, 0.2]], [[0.8, 0.4]]).tolist()
    [[0.6, 0.2]]
    """
    low, high = _checked_bounds(lower, upper)
    actions = np.asarray(utility, dtype=np.float64)
    # a dot product per row, because a BLAS product can give equal rows different last bits
    smallest = [np.einsum("nk,k->n", _worst_distribution(action, low, high), action) for action in actions]
    return np.stack(smallest, axis=1)


def upper_expectation(utility: ArrayLike, lower: ArrayLike, upper: ArrayLike) -> Floats:
    """Return the largest expected utility of each action between the bounds.

    Parameters
    ----------
    utility : array-like (A, K)
        Utility of each action if each class is true.
    lower, upper : array-like (n, K)
        Reachable bounds (see `reachable`).

    Returns
    -------
    float64 array (n, A)

    Examples
    --------
    >>> upper_expectation([[1, 0], [0, 1]], [[0.6, 0.2]], [[0.8, 0.4]]).round(3).tolist()
    [[0.8, 0.4]]
    """
    return -lower_expectation(-np.asarray(utility, dtype=np.float64), lower, upper)


def best_distribution(action: Floats, lower: Floats, upper: Floats) -> Floats:
    """Return the distribution (n, K) of the largest expected utility."""
    return _worst_distribution(-action, lower, upper)


def _worst_distribution(action: Floats, lower: Floats, upper: Floats) -> Floats:
    """Return the distribution (n, K) of the smallest expected utility."""
    order = np.argsort(action, kind="stable")
    width = (upper - lower)[:, order]
    room = _room(lower, upper)
    before = np.zeros_like(width)
    np.cumsum(width[:, :-1], axis=1, out=before[:, 1:])
    worst = lower.copy()
    worst[:, order] += np.clip(room - before, 0.0, width)
    return worst


def _room(lower: Floats, upper: Floats) -> Floats:
    """Return 1 minus the sum of lower bounds, at most the total width."""
    return _room_and_excess(lower, upper)[0]


def _room_and_excess(lower: Floats, upper: Floats) -> tuple[Floats, Floats]:
    """Return the same, and the sum of upper bounds minus 1, at most the total width."""
    low, high = _sum(lower), _sum(upper)
    whole = np.minimum(np.maximum(low, 1.0), high)  # np.clip takes three times as long for a row
    return whole - low, high - whole


def _sum(values: Floats) -> Floats:
    """Sum over classes; for few classes several times as fast as ``sum(axis=-1)``."""
    total: Floats = np.einsum("...k->...", values)[..., None]
    return total


def _checked_bounds(lower: ArrayLike, upper: ArrayLike) -> tuple[Floats, Floats]:
    """Return bounds as float64; raise if no distribution lies between them."""
    low, high = np.asarray(lower, dtype=np.float64), np.asarray(upper, dtype=np.float64)
    if low.shape != high.shape or low.ndim == 0 or low.shape[-1] == 0:
        raise ValueError(
            f"lower and upper must have the same shape (..., K) with K >= 1, got {low.shape} and {high.shape}."
        )
    if low.size and not _surely_bounds(low, high):
        _refuse_rows(~(np.isfinite(low) & np.isfinite(high)), "lower and upper must be finite", low, high)
        outside = (low < -ROUNDING) | (high > 1 + ROUNDING) | (low > high + ROUNDING)
        _refuse_rows(outside, "bounds must satisfy 0 <= lower <= upper <= 1", low, high)
        low = np.clip(low, 0.0, 1.0)
        high = np.maximum(low, np.clip(high, 0.0, 1.0))
    empty = (_sum(low) > 1 + ROUNDING) | (_sum(high) < 1 - ROUNDING)
    reason = "lower bounds must sum to at most 1 and upper bounds to at least 1"
    _refuse_rows(empty, reason, low, high)
    return low, high


def _surely_bounds(lower: Floats, upper: Floats) -> bool:
    """Return whether 0 <= lower <= upper <= 1 everywhere; False with a NaN."""
    return bool(lower.min() >= 0 and upper.max() <= 1 and (lower <= upper).all())


def _refuse_rows(bad: NDArray[np.bool_], constraint: str, lower: Floats, upper: Floats) -> None:
    """Raise with the first row that violates the constraint, if there is one."""
    if not bad.any():
        return
    row = tuple(int(position[0]) for position in np.nonzero(bad.any(axis=-1, keepdims=True)))[:-1]
    raise ValueError(
        f"{constraint}, got lower {lower[row].tolist()} and upper {upper[row].tolist()} in row "
        f"{row[0] if len(row) == 1 else row}. Combine contradicting sources with a rule that reports conflict."
    )


# ---- Columns of class labels -----------------------------------------------------------------------------------------


def columns_of_rows(
    y: ArrayLike, rows: NDArray[Any], classes: ArrayLike | None = None
) -> tuple[NDArray[np.intp], NDArray[np.generic]]:
    """Find the columns of n labels; raise if there are more or fewer labels."""
    columns, order = columns_from_labels(y, rows.shape[1], classes)
    if len(columns) != len(rows):
        raise ValueError(f"y must have one label for each of the {len(rows)} rows, got {len(columns)}.")
    return columns, order


def columns_from_labels(
    y: ArrayLike, n_columns: int, classes: ArrayLike | None = None
) -> tuple[NDArray[np.intp], NDArray[np.generic]]:
    """Find the column of each label.

    Parameters
    ----------
    y : array-like (n,)
        Class labels.
    n_columns : int
        Number of columns of the matrix that the labels belong to.
    classes : array-like (n_columns,) or None
        Class of each column. None means the sorted distinct labels of ``y``.

    Returns
    -------
    columns : int array (n,)
        Position of each label in ``classes``.
    classes : array (n_columns,)
        Class of each column.

    Examples
    --------
    >>> columns, classes = columns_from_labels(["no", "yes", "no"], 2)
    >>> columns.tolist(), classes.tolist()
    ([0, 1, 0], ['no', 'yes'])
    """
    labels = np.asarray(y)
    if labels.ndim != 1:
        raise ValueError(f"y must have the shape (n,), got {labels.shape}. Pass y.ravel().")
    distinct, position = np.unique(labels, return_inverse=True)
    order = distinct if classes is None else np.asarray(classes)
    if len(order) != n_columns:
        got = f"{len(order)} distinct labels in y" if classes is None else f"{len(order)} classes"
        raise ValueError(
            f"classes must have one entry for each of the {n_columns} columns, got {got}. "
            "Pass classes=estimator.classes_."
        )
    lookup = {label: column for column, label in enumerate(order.tolist())}
    if len(lookup) != n_columns:
        raise ValueError(f"classes must be distinct, got {order.tolist()}. Pass classes=estimator.classes_.")
    unknown = [label for label in distinct.tolist() if label not in lookup]
    if unknown:
        raise ValueError(
            f"y must have labels among the classes {order.tolist()[:10]}, got {unknown[:10]}. "
            "Drop those rows, or pass the classes of the estimator."
        )
    found = np.array([lookup[label] for label in distinct.tolist()], dtype=np.intp)
    return found[position], order
