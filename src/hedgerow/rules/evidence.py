"""Rules that add weights of evidence, or take their maximum."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from hedgerow.belief.leaf import largest_rival, leaf_vacuity
from hedgerow.belief.opinion import Opinion, opinion_from_bounds, opinion_from_lower
from hedgerow.belief.plausibility import preference
from hedgerow.rules.base import Floats, Merge, OnPage, Rule, Setting, one_of, register
from hedgerow.util.runtime import computed

FAINT = 1e-250  # sums below this may have lost digits
MOST_LOG = 700.0  # exp of more does not fit into a double


@register(lambda: Dempster(normalised=False), lambda: Dempster(prior="log"), lambda: Dempster(dependence=0.5))
class Dempster(Rule):
    """Dempster's rule on one mass per leaf.

    The winner gets its degree of preference, the frame the rest.

    For such masses the rule adds weights of evidence -log(1 - s). ``lower`` and ``upper`` are belief and plausibility.
    With caution, the belief in a class counts its own evidence discounted by n/(n + caution), and the evidence of its
    rivals in full. ``probability`` is pignistic, ``conflict`` is the mass on the empty set, ``log_odds`` is the
    normalised log-plausibility (log Q- - log Q+ for two classes). ``score`` is the unnormalised m(+) - m(-) of Busch et
    al. (2021), or the unnormalised masses m(k) for more than two classes.

    Parameters
    ----------
    normalised : bool, default True
        Whether to normalise. False keeps the conflict as mass that any class may have, which widens the intervals.
    prior : {None, "log"}, default None
        None ignores the prior. With "log" it is one more source, a mass on single classes: its logarithm is added to
        the weights of evidence, which gives ``probability`` and ``log_odds``. Bounds are then those of the leaves
        alone, as far as they contain this probability. The prior itself is a parameter of `combine`; for a forest it is
        the class shares.
    dependence : float in [0, 1), default 0.0
        Dependence between trees: evidence for the same class is combined by Frank's t-norm, from the product at 0,
        which is Dempster's rule, towards the minimum at 1, which is the rule `Cautious` (Denœux, 2008).

    Examples
    --------
    >>> from hedgerow import combine
    >>> combine([[[0, 1], [0, 1]]], Dempster(), caution=0.0).lower.round(6)
    array([[0.      , 0.888889]])
    >>> combine([[[0, 1], [0, 1]]], Dempster(dependence=0.9), caution=0.0).lower.round(6)
    array([[0.      , 0.833129]])
    >>> combine([[[0, 1], [0, 1]]], Dempster(prior="log"), prior=[9, 1]).probability.round(6)  # odds of 9, times 1/9
    array([[0.5, 0.5]])
    """

    name: ClassVar[str] = "dempster"
    calibrates = False  # most shares are below the floor of a calibrator, which would make them equal
    merge: ClassVar[Merge] = "add"
    by_class = 2
    page = "dempster"

    def __init__(self, normalised: bool = True, prior: str | None = None, dependence: float = 0.0) -> None:
        self.normalised = normalised
        self.prior = prior
        self.dependence = dependence

    @computed
    def even(self) -> bool:
        """Without a prior, all intervals are as wide as the mass of the frame."""
        return self.prior is None

    def lift(self, counts: Floats, setting: Setting) -> Floats:
        """Return [weights of evidence (K), discounted weights (K)] of leaves."""
        one_of(self.prior, (None, "log"), "prior")
        one_of(self.normalised, (True, False), "normalised")
        if not 0 <= self.dependence < 1:
            raise ValueError(f"dependence must lie in [0, 1), got {self.dependence!r}. For 1, use rule='cautious'.")
        leaf = preference(counts)
        held_back = leaf_vacuity(counts, setting.caution)
        left = np.where(held_back > 0, held_back + (1.0 - held_back) * np.exp(-leaf.weight), 1.0)
        state = np.zeros((len(counts), 2 * setting.n_classes))
        rows = np.arange(len(counts))
        state[rows, leaf.winner] = leaf.weight
        state[rows, setting.n_classes + leaf.winner] = np.where(held_back > 0, -np.log(left), leaf.weight)
        return state if self.dependence == 0 else frank_sum(state, self.dependence)

    def finish(self, state: Floats, setting: Setting) -> Opinion:
        """Return the opinion of merged weights (n, 2K)."""
        state = state if self.dependence == 0 else weight_from_frank(state, self.dependence)
        weight, discounted = state[:, : setting.n_classes], state[:, setting.n_classes :]
        singles, _, empty = masses_from_weights(weight)
        probability = pignistic_from_weights(weight)
        lower = lower_beliefs(weight, np.minimum(discounted, weight), self.normalised)
        opinion = opinion_from_lower(
            probability,
            lower,
            empty,
            log_odds=_log_normalised(weight),
            score=singles[:, 1] - singles[:, 0] if setting.n_classes == 2 else singles,
        )
        return opinion if self.prior is None else self._with_prior(opinion, weight, setting)

    def _with_prior(self, opinion: Opinion, weight: Floats, setting: Setting) -> Opinion:
        """Return the opinion with the prior as one more source."""
        logs = weight + self.prior_term(setting)
        log_odds = _log_normalised(logs)
        probability = _normalised(np.exp(log_odds))
        masses = np.exp(logs - weight.sum(axis=1, keepdims=True))
        return opinion_from_bounds(
            probability,
            np.minimum(opinion.lower, probability),
            np.maximum(opinion.upper, probability),
            opinion.conflict,
            log_odds=log_odds,
            score=masses[:, 1] - masses[:, 0] if setting.n_classes == 2 else masses,
        )

    @property
    def uses_prior(self) -> bool:
        """True if the prior is one more source."""
        return self.prior is not None

    def prior_term(self, setting: Setting) -> Floats:
        """Return the log-scores (K,) without any leaf."""
        return np.zeros(setting.n_classes) if self.prior is None else np.log(setting.prior)

    def on_page(self) -> OnPage:
        """Return None with a prior or dependence, which the script lacks."""
        plain = self.page is not None and self.prior is None and self.dependence == 0
        return (str(self.page), {"normalised": self.normalised}) if plain else None

    @property
    def laws(self) -> frozenset[str]:
        """Not precise: at caution 0 the combined mass is not a point."""
        return frozenset({"widens", "accumulates"})

    @property
    def adds_up(self) -> tuple[str, ...]:
        """The weights of evidence, unless only the largest counts."""
        return ("log_odds",) if self.merge == "add" and self.dependence == 0 else ()

    def parts(self, state: Floats, setting: Setting) -> dict[str, Floats]:
        """Return the weights of evidence (m, K) of leaves."""
        return {"log_odds": state[:, : setting.n_classes]}


@register(lambda: Cautious(normalised=False))
class Cautious(Dempster):
    """Denœux's cautious rule: only the largest weight of evidence counts.

    It takes the masses of `Dempster`.

    Repeated evidence changes nothing. Two-class score: max s+ - max s-, which is m(+) - m(-).

    Parameters
    ----------
    normalised : bool, default True
    prior : {None, "log"}, default None
        As in `Dempster`.

    Examples
    --------
    >>> from hedgerow import combine
    >>> combine([[[0, 1], [0, 1]]], Cautious(), caution=0.0).lower.round(6)
    array([[0.      , 0.666667]])
    """

    name: ClassVar[str] = "cautious"
    merge: ClassVar[Merge] = "max"
    page = "cautious"

    def __init__(self, normalised: bool = True, prior: str | None = None) -> None:
        super().__init__(normalised, prior)


@register(
    lambda: Eva(prior="authors"),
    lambda: Eva(prior=None),
    lambda: Eva(smoothing=1.0),
    lambda: Eva(reliability=True),
    lambda: Eva(score="difference"),
)
class Eva(Rule):
    """EVA: the product of the smoothed shares of all leaves, relative to the prior.

    The upper probability of a class results if the pseudo-count of every leaf goes to the class itself, the lower one
    if it goes to its strongest rival. ``conflict`` is one minus the affinity of the distributions of the leaves (the
    sum over classes of their geometric mean).

    Parameters
    ----------
    prior : {"log", "authors", None}, default "log"
        Use of the prior. "log" is the published formula. "authors" subtracts (T - 1) P(y) without the logarithm, as the
        authors' program does. None ignores the prior. The prior itself is a parameter of `combine`.
    smoothing : float, default 0.1
        Pseudo-count added to every count of every non-empty leaf.
    reliability : bool, default False
        Whether to multiply the evidence of a leaf, the logarithm of its share divided by the prior, by 1 - u_e, where
        u_e is its epistemic uncertainty (`hedgerow.belief.preference`).
    score : {"log_odds", "difference"}, default "log_odds"
        ``score`` of the opinion. "difference" is printed in Busch et al. (2021), P(+) prod P(+|w)/P(+) minus the same
        of the other class, or the product of each class for more than two. Both have the same sign, but over many trees
        the difference underflows and no longer ranks samples.

    Examples
    --------
    >>> from hedgerow import combine
    >>> suspects = [[[1, 1, 1, 0, 0], [0, 0, 1, 1, 1]]]
    >>> combine(suspects, Eva(smoothing=1e-9)).probability.round(6)
    array([[0., 0., 1., 0., 0.]])
    """

    name: ClassVar[str] = "eva"
    calibrates = False  # most shares are below the floor of a calibrator, which would make them equal
    merge: ClassVar[Merge] = "add"
    by_class = 2
    skips_empty = True
    page = "eva"

    def __init__(
        self,
        prior: str | None = "log",
        smoothing: float = 0.1,
        reliability: bool = False,
        score: str = "log_odds",
    ) -> None:
        self.prior = prior
        self.smoothing = smoothing
        self.reliability = reliability
        self.score = score

    def lift(self, counts: Floats, setting: Setting) -> Floats:
        """Return [log-shares (K), raised log-shares (K), log-total, 1] of leaves.

        Logarithms are relative to a count of zero: the entry of a class without rows in the leaf is 0.
        """
        if not (np.isfinite(self.smoothing) and self.smoothing > 0):
            raise ValueError(f"smoothing must be a finite positive number, got {self.smoothing!r}. 0.1 is usual.")
        one_of(self.prior, ("log", "authors", None), "prior")
        one_of(self.reliability, (True, False), "reliability")
        one_of(self.score, ("log_odds", "difference"), "score")
        total = counts.sum(axis=1, keepdims=True)
        filled = total > 0
        share = _log_of(np.log1p, counts, self.smoothing)
        raised = _log_of(np.log1p, counts, self.smoothing + setting.caution)
        log_total = _log_of(lambda ratio: np.log(ratio + setting.n_classes), total, self.smoothing)
        state = np.hstack([share, raised, np.where(filled, log_total, 0.0), filled])
        return state * -np.expm1(preference(counts).log_epistemic)[:, None] if self.reliability else state

    def finish(self, state: Floats, setting: Setting) -> Opinion:
        """Return the opinion of merged states (n, 2K + 2)."""
        k, leaves = setting.n_classes, state[:, -1:]
        correction = (leaves - 1.0) * self.prior_term(setting)
        plain = np.where(leaves > 0, state[:, :k] - correction, 0.0)
        lift_of_zero = _log_of(np.log1p, np.float64(setting.caution), self.smoothing)
        raised = state[:, k : 2 * k] + leaves * lift_of_zero - correction
        raised = np.where(leaves > 0, np.maximum(raised, plain), 0.0)
        log_odds = _log_normalised(plain)
        lower, upper = _raised_bounds(plain, raised)
        shares = np.exp((state[:, :k] - state[:, -2:-1]) / np.where(leaves > 0, leaves, 1.0))
        return opinion_from_bounds(
            _normalised(np.exp(log_odds)),
            np.where(leaves > 0, lower, 0.0),
            np.where(leaves > 0, upper, 1.0),
            np.where(leaves[:, 0] > 0, 1.0 - shares.sum(axis=1), 0.0),
            log_odds=log_odds,
            score=self._ranks(plain, log_odds, state[:, -2:-1]),
        )

    def _ranks(self, plain: Floats, log_odds: Floats, log_total: Floats) -> Floats:
        """Return the score (n,) of two classes or (n, K), of log-scores before and after division by `log_total`."""
        if self.score == "log_odds":
            return plain[:, 1] - plain[:, 0] if plain.shape[1] == 2 else log_odds
        logs = plain - log_total
        return _difference_of_exp(logs) if plain.shape[1] == 2 else np.exp(np.minimum(logs, MOST_LOG))

    @property
    def uses_prior(self) -> bool:
        """True if leaves are relative to the prior."""
        return self.prior is not None

    def prior_term(self, setting: Setting) -> Floats:
        """Return the log-scores (K,) of no leaf, which later leaves subtract."""
        if self.prior == "authors":
            return setting.prior
        return np.log(setting.prior) if self.prior == "log" else np.zeros(setting.n_classes)

    @property
    def adds_up(self) -> tuple[str, ...]:
        """The log-odds, because the rule is a product."""
        return ("log_odds",)

    def parts(self, state: Floats, setting: Setting) -> dict[str, Floats]:
        """Return the log-scores (m, K) of leaves relative to the prior."""
        reliable = state[:, -1:] if self.reliability else 1.0
        return {"log_odds": state[:, : setting.n_classes] - reliable * self.prior_term(setting)}

    def on_page(self) -> OnPage:
        """Return options: the script calls this rule's `prior` `correction`."""
        known = None if self.reliability else super().on_page()
        return known and (known[0], {"correction": self.prior, "smoothing": self.smoothing})

    @property
    def laws(self) -> frozenset[str]:
        """An empty leaf changes nothing."""
        return frozenset({"precise", "widens", "accumulates"})


def frank_sum(weight: Floats, dependence: float) -> Floats:
    """Transform weights of evidence to terms whose sum is Frank's t-norm.

    The terms are -log((s^x - 1)/(s - 1)), with x = exp(-weight) and s = 1 - dependence. A weight of 0 becomes 0.

    Examples
    --------
    >>> frank_sum(np.array([0.0, 1.0]), 0.5).round(4)
    array([0.    , 0.7982])
    """
    base = np.log1p(-dependence)
    share = np.exp(-weight)
    # where x is too small for a double, s^x - 1 is x log s
    logs = np.where(weight < 30, np.log(-np.expm1(base * np.maximum(share, 1e-14))), np.log(-base) - weight)
    return np.where(weight > 0, np.maximum(np.log(-np.expm1(base)) - logs, 0.0), 0.0)


def weight_from_frank(added: Floats, dependence: float) -> Floats:
    """Return the weights of evidence of sums of `frank_sum`.

    Examples
    --------
    >>> weight_from_frank(frank_sum(np.array([0.0, 1.0, 900.0]), 0.5), 0.5).round(9)
    array([  0.,   1., 900.])
    """
    base = np.log1p(-dependence)
    near = np.log1p(np.exp(-np.minimum(added, 30)) * np.expm1(base)) / base
    far = added - np.log(np.expm1(base) / base)
    weight: Floats = np.where(added < 30, -np.log(near), far)
    return np.where(added > 0, np.maximum(weight, 0.0), 0.0)


def masses_from_weights(weight: Floats) -> tuple[Floats, Floats, Floats]:
    """Return unnormalised masses of the classes, the frame and the empty set.

    Parameters
    ----------
    weight : float64 (n, K)
        -log(1 - s) of the (combined) support s of each class, >= 0.

    Returns
    -------
    singles : float64 (n, K)
    frame, empty : float64 (n,)

    Examples
    --------
    >>> s = np.array([[0.98, 0.8]])                  # cautious rule on 0.8, 0.8 and -0.98
    >>> singles, frame, empty = masses_from_weights(-np.log1p(-s))
    >>> singles.round(6), frame.round(6), empty.round(6)
    (array([[0.196, 0.016]]), array([0.004]), array([0.784]))
    """
    total = weight.sum(axis=1, keepdims=True)
    singles: Floats = -np.expm1(-weight) * np.exp(weight - total)
    frame: Floats = np.exp(-total[:, 0])
    return singles, frame, np.clip(1.0 - singles.sum(axis=1) - frame, 0.0, 1.0)


def pignistic_from_weights(weight: Floats) -> Floats:
    """Return pignistic probabilities (n, K) of the normalised mass.

    Examples
    --------
    >>> pignistic_from_weights(np.log([[1.0, 3.0]]))
    array([[0.16666667, 0.83333333]])
    """
    n_classes = weight.shape[1]
    logs = weight + np.log1p(-(1.0 - 1.0 / n_classes) * np.exp(-weight))
    return _normalised(np.exp(logs - logs.max(axis=1, keepdims=True)))


def log_sum_of_others(logs: Floats) -> Floats:
    """Return the log of the sum of exp over the other columns, without subtraction."""
    nothing = np.full((len(logs), 1), -np.inf)
    before = np.hstack([nothing, np.logaddexp.accumulate(logs[:, :-1], axis=1)])
    after = np.hstack([np.logaddexp.accumulate(logs[:, :0:-1], axis=1)[:, ::-1], nothing])
    others: Floats = np.logaddexp(before, after)
    return others


def lower_beliefs(weight: Floats, discounted: Floats, normalised: bool) -> Floats:
    """Return beliefs (n, K), with own weights discounted and rivals' in full."""
    if not normalised:
        rivals = weight.sum(axis=1, keepdims=True) - weight
        held: Floats = -np.expm1(-discounted) * np.exp(-rivals)
        return held
    top = weight.max(axis=1, keepdims=True)  # subtracted first, because exp of a sum over 1e4 trees overflows
    scale = np.exp(discounted - top)
    room = scale + sum_of_others(-np.expm1(-weight) * np.exp(weight - top))
    lower: Floats = -np.expm1(-discounted) * scale / np.maximum(room, FAINT)
    faint = (room < FAINT).any(axis=1)
    if faint.any():
        lower[faint] = _faint_lower_beliefs(weight[faint], discounted[faint], top[faint])
    return lower


def _faint_lower_beliefs(weight: Floats, discounted: Floats, top: Floats) -> Floats:
    """Do the same in logarithms, more slowly, for rows where all classes underflow."""
    own = _log_lost(discounted) + (discounted - top)
    room = np.logaddexp(discounted - top, log_sum_of_others(_log_lost(weight) + (weight - top)))
    lower: Floats = np.exp(own - room)
    return lower


def sum_of_others(values: Floats) -> Floats:
    """Sum over the other columns, without subtraction."""
    others = np.zeros_like(values)
    others[:, 1:] = np.cumsum(values[:, :-1], axis=1)
    others[:, :-1] += np.cumsum(values[:, :0:-1], axis=1)[:, ::-1]
    return others


def _difference_of_exp(logs: Floats) -> Floats:
    """Return exp of the second column minus exp of the first, which may be too large for a double: then about 1e304."""
    lead = logs[:, 1] - logs[:, 0]
    apart = np.where(lead == 0, 1.0, -np.expm1(-np.abs(lead)))
    size = np.exp(np.minimum(logs.max(axis=1) + np.log(apart), MOST_LOG))
    return np.where(lead > 0, size, np.where(lead < 0, -size, 0.0))


def _raised_bounds(plain: Floats, raised: Floats) -> tuple[Floats, Floats]:
    """Return lower and upper probabilities (n, K) of plain and raised log-scores."""
    top = plain.max(axis=1, keepdims=True)
    step, plain, raised = raised - plain, plain - top, raised - top
    total = np.log(np.exp(plain).sum(axis=1, keepdims=True))
    gain = raised + _log_lost(step)
    worst = largest_rival(gain) if plain.shape[1] > 1 else np.full_like(plain, -np.inf)
    lower: Floats = np.exp(plain - np.logaddexp(total, worst))
    upper: Floats = np.exp(raised - np.logaddexp(total, gain))
    return lower, upper


def _log_of(log: Any, part: Any, unit: float) -> Any:
    """Return a logarithm of part / unit, also if the ratio overflows."""
    with np.errstate(over="ignore"):
        ratio = part / unit
    logs = log(ratio)
    if np.isfinite(logs).all():
        return logs
    return np.where(np.isinf(ratio), np.log(np.where(part > 0, part, 1.0)) - np.log(unit), logs)


def _log_lost(x: Floats) -> Floats:
    """Return log(exp(x) - 1) - x of x >= 0; -inf at 0."""
    positive = x > 0
    safe = np.where(positive, x, 1.0)
    return np.where(positive, np.log(-np.expm1(-safe)), -np.inf)


def _log_normalised(logs: Floats) -> Floats:
    """Normalise logarithms: exp of a row sums to 1."""
    shifted = logs - logs.max(axis=1, keepdims=True)
    normalised: Floats = shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True))
    return normalised


def _normalised(shares: Floats) -> Floats:
    """Normalise rows of positive sum."""
    rows: Floats = shares / shares.sum(axis=1, keepdims=True)
    return rows
