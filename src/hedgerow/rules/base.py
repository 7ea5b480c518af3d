"""Base class of combination rules, and their registry."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any, ClassVar, Literal, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator

from hedgerow.belief.calibrate import Views
from hedgerow.belief.opinion import Opinion

Floats = NDArray[np.float64]
Merge = Literal["add", "max", "both", "stack"]
#: Name of a function in the report's script and its options, or None if the script lacks it.
OnPage = tuple[str, dict[str, Any]] | None


@dataclass(frozen=True, eq=False)
class Setting:
    """Parameters of a forest that rules use.

    Create it with `Setting.of`, which checks the values.

    Attributes
    ----------
    n_classes : int
        Number of classes K.
    caution : float
        Pseudo-count *s* of the imprecise Dirichlet model.
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
        """Check values, and normalise the prior (K,), uniform by default."""
        if n_classes < 1:
            raise ValueError(f"n_classes must be at least 1, got {n_classes}.")
        if not (np.isfinite(caution) and caution >= 0):
            raise ValueError(f"caution must be finite and non-negative, got {caution!r}. 0 collapses the intervals.")
        weights = np.ones(n_classes) if prior is None else np.asarray(prior, dtype=np.float64)
        if weights.shape != (n_classes,) or not (np.isfinite(weights) & (weights > 0)).all():
            raise ValueError(
                f"prior must be {n_classes} positive finite numbers, one per class, got {prior!r}. "
                "Omit it for a uniform prior."
            )
        return cls(int(n_classes), float(caution), weights / weights.sum())


class Rule(BaseEstimator):
    """Base class of rules, which combine the leaf counts of a sample.

    A rule is two pure functions and the name of the fold between them. To add one, derive from this class, set `name`
    and `merge`, write `lift` and `finish`, and decorate the class with `hedgerow.rules.register`. The tests of the laws
    then include it. ``__init__`` must only store the parameters, so that ``get_params``, ``set_params``, ``clone`` and
    ``rule__alpha`` in a grid search work.

    Attributes
    ----------
    name : str
        Short name of the rule, for `resolve_rule`.
    merge : {"add", "max", "both", "stack"}
        Fold of the states of leaves to the state of a sample. ``"add"`` and ``"max"`` act on each column.
        ``"both"`` does both and concatenates the results, ``[max | add]``, (n, 2S).
        ``"stack"`` is not a fold: `finish` receives the states of all trees, (n, T, S).
    even : bool
        Whether the intervals of all classes are equally wide.
    scale_free : bool
        Whether the opinion does not change if all counts and the caution are doubled.
    smooth : bool
        Whether a small change of the counts gives a small change of the probabilities. Votes do not.
    skips_empty : bool
        Whether the sums "probability" and "log_odds" omit leaves without rows (see `adds_up`).
    chooses : bool
        Whether the rule is a decision by itself: its opinions have ``chosen``.
    calibrates : bool
        Whether ``calibration="oob"`` may calibrate its probabilities. Set it to False if these depend on caution,
        because calibrated intervals would not widen with more caution, or if they are products over trees, most of
        which are nearly 0 or 1. Rules with `chooses` are never calibrated.
    onnx : bool
        Whether `finish`, or `finish_plainly`, uses only NumPy functions that `hedgerow.to_onnx` can translate.
    by_class : int
        Number of blocks, of one column per class, at the start of a state. The other columns belong to no class. The
        columns of a class must depend on its own count and on the multiset of the other counts only. With many classes,
        leaves of equal counts are then lifted once. 0 makes no assumption about the columns. A subclass with its own
        `lift` or ``shares`` does not inherit this attribute.
    exact_gaps : bool
        Whether bounds are the mean of the imprecise Dirichlet intervals of leaves, so that those of uncertain labels
        add up over trees. A subclass does not inherit this attribute.
    plain_mean : bool
        Whether probabilities are the mean of the class shares of the leaves, which the core computes directly from the
        counts. A subclass does not inherit this attribute: it must set it again if it computes the same.
    page : str or None
        Function in the report's ``arithmetic.js`` that computes the same opinion. With None the report has no sliders
        for the rule. A subclass does not inherit this attribute.

    Notes
    -----
    States can be folded in any order and over any subset of trees if they follow two conventions. First, a state
    contains everything that `finish` needs: if it needs the number of leaves, a column of the state counts them.
    Second, a row of zeros is the state of no leaf at all (so states of ``"max"`` and ``"both"`` are never negative). In
    a stack, a row of zeros marks an unused tree.
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
    exact_gaps: ClassVar[bool] = False
    plain_mean: ClassVar[bool] = False
    page: ClassVar[str | None] = None
    #: Views of a forest whose probabilities follow the merged states; None for none.
    views: Views | None = None

    def __init_subclass__(cls, **options: object) -> None:
        """Reset `exact_gaps`, `plain_mean`, `page` and `by_class` unless the subclass sets them.

        Its arithmetic may differ.
        """
        super().__init_subclass__(**options)
        if "by_class" not in vars(cls) and not {"lift", "shares"}.isdisjoint(vars(cls)):
            cls.by_class = 0
        cls.exact_gaps = vars(cls).get("exact_gaps", False)
        cls.plain_mean = vars(cls).get("plain_mean", False)
        cls.page = vars(cls).get("page")

    def lift(self, counts: Floats, setting: Setting) -> Floats:
        """Return states (m, S) of leaves; a row of counts (m, K) may be all zeros."""
        raise NotImplementedError(f"{type(self).__name__} must define lift. See hedgerow.rules.Rule.")

    def finish(self, state: Floats, setting: Setting) -> Opinion:
        """Return the opinion about n samples from merged states (n, S)."""
        raise NotImplementedError(f"{type(self).__name__} must define finish. See hedgerow.rules.Rule.")

    def finish_plainly(self, state: Floats, setting: Setting) -> Opinion:
        """Do the same as `finish`, in functions that `hedgerow.to_onnx` can translate."""
        return self.finish(state, setting)

    def lift_gaps(self, counts: Floats, below: Floats, above: Floats, setting: Setting) -> Floats | None:
        """Return states (m, S) of leaves with uncertain labels; None if `finish` alone cannot use the gaps.

        If these labels are shared out otherwise, the count of a class can fall by `below` or rise by `above`, (m, K)
        each. With None, the bounds of the rule are widened in proportion (`hedgerow.rules.calibrated`).
        """
        return None

    def gap_weights(self, counts: Floats, setting: Setting) -> Floats:
        """Return the weights (m,) of the counts of leaves in the widening of bounds for uncertain labels."""
        total: Floats = counts.sum(axis=1) + setting.caution
        return np.divide(1.0, total, out=np.zeros_like(total), where=total > 0)

    def with_gaps(self) -> Rule:
        """Return the rule on counts (m, K) with the gaps of uncertain labels next to them, (m, 3K)."""
        from hedgerow.rules.calibrated import WithGaps  # a rule itself

        return WithGaps(self)

    def width(self, setting: Setting) -> int:
        """Return S, the number of columns of a state."""
        return int(self.lift(np.zeros((1, setting.n_classes)), setting).shape[1])

    def class_blocks(self, setting: Setting) -> tuple[int, ...]:
        """Return the first column of each block of K columns in a state."""
        return tuple(block * setting.n_classes for block in range(self.by_class))

    def key(self) -> Hashable:
        """Return a hashable key of the rule and its parameters, for caching states."""
        return type(self), repr(sorted(vars(self).items()))

    @property
    def laws(self) -> frozenset[str]:
        """Laws of this rule in addition to those of all rules; tests check them.

        ``"precise"``: at caution 0, and without empty or tied leaves, lower = probability = upper.
        ``"widens"``: more caution never makes an interval narrower. ``"accumulates"``: an empty leaf changes nothing.
        """
        return frozenset({"precise", "widens"})

    @property
    def weighable(self) -> bool:
        """True if tree weights can multiply the states."""
        return self.merge == "add"

    @property
    def needs_weights(self) -> bool:
        """True if tree weights are required."""
        return bool(self.weight_learning)

    @property
    def weight_learning(self) -> dict[str, Any]:
        """Options of `hedgerow.belief.learn_tree_weights`; empty if no weights are learned."""
        return {}

    @property
    def steady(self) -> bool:
        """True if opinions ignore trees that skip a sample; False is always safe."""
        return self.merge in ("max", "both")

    @property
    def adds_up(self) -> tuple[str, ...]:
        """Parts of an opinion that are sums over trees.

        They are among "probability", "lower", "upper", "width" (upper - lower) and "log_odds". `parts` must return all
        of them except "width". Shapley values, counterfactuals and exports to scikit-learn and treelite use them.
        """
        return ()

    def parts(self, state: Floats, setting: Setting) -> dict[str, Floats]:
        """Return the contributions (m, K) of leaves to the sums in `adds_up`.

        The sums over trees are divided by the number of trees, or by the sum of their weights. "log_odds" are
        log-scores instead, which are not divided; a term common to all classes does not matter.
        """
        raise NotImplementedError(f"{type(self).__name__} has adds_up and must define parts. See hedgerow.rules.Rule.")

    @property
    def uses_prior(self) -> bool:
        """True if `finish` reads ``setting.prior``; a prior passed to `combine` is an error for other rules."""
        return False

    def prior_term(self, setting: Setting) -> Floats:
        """Return the log-scores (K,) without any leaf, for a rule whose log-odds add up."""
        return np.zeros(setting.n_classes)

    def on_page(self) -> OnPage:
        """Return the rule's name in the report's script and its options there, or None."""
        return None if self.page is None else (self.page, self.get_params())


def merge_states(states: Floats, merge: Merge) -> Floats:
    """Merge the states (n, T, S) of T leaves.

    The result is (n, S), (n, 2S) for "both", or unchanged for "stack".

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
    """Raise if a value is not one of those allowed."""
    if value not in allowed:
        raise ValueError(f"{subject} must be one of {allowed}, got {value!r}.")


# ---- Registry of combination rules -----------------------------------------------------------------------------------


R = TypeVar("R", bound=type[Rule])

_RULES: dict[str, tuple[type[Rule], tuple[Callable[[], Rule], ...]]] = {}


def register(*notable: Callable[[], Rule]) -> Callable[[R], R]:
    """Register a rule under its name.

    Parameters
    ----------
    *notable : callable () -> Rule
        Functions that return the rule with other parameters, for the tests.

    Returns
    -------
    callable
        A class decorator.

    Examples
    --------
    >>> from hedgerow.rules import Average
    >>> resolve_rule("average").__class__ is Average
    True
    """

    def enter(rule: R) -> R:
        taken = _RULES.get(rule.name)
        if taken is not None and taken[0].__qualname__ != rule.__qualname__:
            raise ValueError(f"name must not be registered yet, got {rule.name!r}, the name of {taken[0]}.")
        _RULES[rule.name] = (rule, notable)
        return rule

    return enter


def resolve_rule(rule: str | Rule) -> Rule:
    """Return the rule with this name; a rule is returned unchanged.

    Parameters
    ----------
    rule : str or Rule

    Returns
    -------
    Rule

    Examples
    --------
    >>> resolve_rule("eva")
    Eva()
    """
    if isinstance(rule, Rule):
        return rule
    if isinstance(rule, str) and rule in _RULES:
        return _RULES[rule][0]()
    near = [name for name in sorted(_RULES) if name.startswith(str(rule))] or get_close_matches(str(rule), _RULES, n=1)
    hint = f"Did you mean {near[0]!r}?" if rule and near else "See hedgerow.rules."
    raise ValueError(f"rule must be a Rule or one of {', '.join(sorted(_RULES))}, got {rule!r}. {hint}")


def rule_names() -> tuple[str, ...]:
    """Return the names of all rules, in alphabetical order.

    Examples
    --------
    >>> "cautious" in rule_names()
    True
    """
    return tuple(sorted(_RULES))


def all_rules() -> Iterator[Rule]:
    """Yield every registered rule, with default and with notable parameters.

    Examples
    --------
    >>> {rule.name for rule in all_rules()} == set(rule_names())
    True
    """
    for rule, notable in _RULES.values():
        yield rule()
        for make in notable:
            yield make()
