"""Leaf evidence of samples, and out-of-bag trials of rules and decisions."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from inspect import signature
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from hedgerow.belief import learn_tree_weights, mass_from_counts
from hedgerow.belief.leaf import bounds_with_gaps, idm_bounds
from hedgerow.belief.masses.counts import idm_focal_mass, mass_from_focal
from hedgerow.belief.opinion import Opinion
from hedgerow.belief.plausibility import PairwisePreference, completed_preference, pairwise_preference
from hedgerow.decisions import Decision, decide, resolve_decision
from hedgerow.forest.cache import Cache
from hedgerow.forest.fold import Result, fold, fold_rows
from hedgerow.forest.forest import Forest
from hedgerow.forest.reducers import ProbabilityReducer, Reducer, RuleStack, distinct_rows, group_by_merge
from hedgerow.forest.rows import OobMask, spread_evenly
from hedgerow.inference.oob import CrossCalibration, calibration_obstacle
from hedgerow.metrics.scorers import scorer
from hedgerow.rules import Rule, Setting, Uncertainty, UncertaintyParts, resolve_rule
from hedgerow.rules.base import one_of
from hedgerow.rules.combine import check_prior, checked_weights
from hedgerow.rules.mean import leaf_weights
from hedgerow.rules.uncertainty import UncertaintyOfTrees
from hedgerow.table.bins import Codes
from hedgerow.table.schema import TableLike

Floats = NDArray[np.float64]

#: The values that ``caution="auto"`` tries.
CAUTIONS = (0.0, 0.25, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 5.0)
#: Maximum of rows × trees × classes when tree weights are learned.
LEARNING_CELLS = 20_000_000


class PredictionUncertainty(NamedTuple):
    """Uncertainty of n samples by source, (n,) each.

    ``total`` is the entropy of the mean distribution, in bits: the sum of ``aleatoric``, the mean entropy of the
    leaves, and ``epistemic``, the rest. Entropies are uncalibrated. ``conflict`` and ``vacuity`` are those of the
    combination rule. ``relative_aleatoric`` and ``relative_epistemic`` are the means over trees of the uncertainties by
    relative likelihood, u_a and u_e.
    """

    total: Floats
    aleatoric: Floats
    epistemic: Floats
    conflict: Floats
    vacuity: Floats
    relative_aleatoric: Floats
    relative_epistemic: Floats


class CredalUncertainty(NamedTuple):
    """Uncertainty of n samples as sets of distributions, in bits, (n,) each.

    ``total`` is the largest entropy of a distribution between the bounds, ``aleatoric`` the smallest, ``epistemic``
    their difference, and ``hartley`` the generalised Hartley measure (Abellán, Klir and Moral, 2006). The others are
    the same for the finite set of the trees' class shares (Shaker and Hüllermeier, 2021).
    """

    total: Floats
    aleatoric: Floats
    epistemic: Floats
    hartley: Floats
    tree_total: Floats
    tree_aleatoric: Floats
    tree_epistemic: Floats
    tree_hartley: Floats


@dataclass(frozen=True, eq=False, repr=False)
class Evidence:
    """Evidence of the leaves that samples reach, for any combination rule.

    ``forest.evidence(X)`` returns it. ``forest.oob_evidence_`` is that of the training rows: only trees for which a row
    is out-of-bag count, without its own count.

    Parameters
    ----------
    forest, codes : Forest, (p, n) codes
        The trees and the samples.
    rule, caution : Rule, float
        Defaults of `combine`.
    prior : (K,) float64
        Class shares of the training rows.
    oob_mask : OobMask or None
        The trees for which each row is out-of-bag; None means all trees.
    groups : text (n,) or None
        Groups of the samples, which become those of opinions.
    """

    forest: Forest
    codes: Codes
    rule: Rule
    caution: float
    prior: Floats
    oob_mask: OobMask | None = None
    n_threads: int = 1
    cache: Cache = field(default_factory=Cache)
    groups: NDArray[np.str_] | None = None

    @property
    def n_samples(self) -> int:
        """Number of samples n."""
        return int(self.codes.shape[1])

    @property
    def leaves(self) -> NDArray[np.int32]:
        """Number of the leaf reached within each tree, of shape (n, T)."""
        return self.forest.leaves(self.codes, self.n_threads)

    @property
    def tree_mask(self) -> NDArray[np.bool_]:
        """Mask of the trees that count for each sample, of shape (n, T).

        In out-of-bag evidence, these are the trees for which the sample is out-of-bag.
        """
        if self.oob_mask is None:
            return np.ones((self.n_samples, self.forest.n_trees), dtype=bool)
        return self.oob_mask.table(self.forest.n_trees)

    @property
    def counts(self) -> Floats:
        """Class counts of the leaves reached, of shape (n, T, K).

        Out-of-bag evidence excludes the row itself, and is zero for trees for which it is not out-of-bag. The array can
        be large; `combine` does not need it.
        """
        return self._counts() if self.oob_mask is None else self._counts() * self.tree_mask[:, :, None]

    def combine(
        self,
        rule: str | Rule | None = None,
        *,
        caution: float | None = None,
        prior: Any = None,
        weights: Any = None,
    ) -> Opinion:
        """Combine the evidence by a rule, in the time of one prediction.

        Parameters
        ----------
        rule : str or Rule, default=None
            Combination rule or its name (see `hedgerow.rules`); None means the rule of the forest.
        caution : float, default=None
            Pseudo-count s of the imprecise Dirichlet model; None means the caution of the forest.
        prior : array-like of shape (K,), default=None
            Prior class probabilities, for a rule that uses them; None means the class shares of the training rows.
        weights : array-like of shape (T,), default=None
            Tree weights, for a rule that accepts them.

        Returns
        -------
        Opinion
        """
        chosen = self.rule if rule is None else resolve_rule(rule)
        weights = checked_weights(weights, chosen, self.forest.n_trees)
        check_prior(prior, chosen)
        opinion = self._fold(chosen, self._setting(caution, prior), chosen.key(), weights)
        return opinion if self.groups is None else replace(opinion, groups=self.groups)

    def combine_rows(self, weights: Floats | None = None) -> Callable[[NDArray[np.int64]], Opinion]:
        """Return a function from row numbers (m,) to their out-of-bag opinion."""
        assert self.oob_mask is not None
        how = (self.rule, self._setting(None, None), self.oob_mask, weights, self.n_threads)
        return fold_rows(self.forest, self.codes, *how)

    def probability(self) -> Floats:
        """Return the probabilities (n, K) alone, bitwise identical to those of `combine`."""
        return self._fold(ProbabilityReducer(self.rule), self._setting(None, None), self.rule.key())

    def combine_each(self, pairs: Sequence[tuple[str | Rule, float]]) -> list[Opinion]:
        """Combine the evidence by several rules and cautions.

        Trees are read once for all rules with the same `merge`.

        Parameters
        ----------
        pairs : sequence of (str or Rule, float)
            Rules, each with its caution.

        Returns
        -------
        list of Opinion
            The results of `combine`, in the order of `pairs`.
        """
        rules = [resolve_rule(rule) for rule, _ in pairs]
        for rule in rules:
            checked_weights(None, rule, self.forest.n_trees)
        settings = [self._setting(caution, None) for _, caution in pairs]
        opinions: dict[int, Opinion] = {}
        for group in group_by_merge(rules):
            if len(group) == 1 or any(rules[position].views is not None for position in group):
                opinions |= {each: self.combine(rules[each], caution=settings[each].caution) for each in group}
                continue
            found = fold(
                self.forest,
                self.codes,
                RuleStack([(rules[position], settings[position]) for position in group]),
                settings[group[0]],
                oob_mask=self.oob_mask,
                n_threads=self.n_threads,
            )
            found = [replace(opinion, groups=self.groups) for opinion in found]
            opinions.update(zip(group, found, strict=True))
        return [opinions[position] for position in range(len(rules))]

    def mass(
        self, model: str = "idm", *, caution: float | None = None, alpha: float = 0.05, ordinal: bool = False
    ) -> Floats:
        """Return the mean over trees of the mass functions of the leaves.

        Parameters
        ----------
        model, alpha, ordinal
            As in `hedgerow.belief.mass_from_counts`.
        caution : float, default=None
            Pseudo-count s of the imprecise Dirichlet model; None means the caution of the forest.

        Returns
        -------
        mass : float64 (n, 2^K)
            The index of a set is its bit mask. The mass is vacuous if no tree counts for the sample. If training labels
            were uncertain, sets have the masses that the labels gave them.

        Raises
        ------
        ValueError
            If there are more than 16 classes, or if training labels were uncertain and the model is "multinomial".
        """
        amount = self.caution if caution is None else caution
        mass_from_counts(np.zeros((1, self.forest.n_classes)), model, caution=amount, alpha=alpha)  # for its checks
        if self.forest.evidence.masses is not None:
            if model == "multinomial":
                raise ValueError(
                    "model must be 'idm' or 'dabt' for a forest fitted to uncertain labels, got 'multinomial', whose"
                    " confidence intervals need certain labels."
                )
            return self._mean_label_mass(amount if model == "idm" else 1.0)
        if model in ("idm", "dabt"):  # only K + 1 sets have mass, not 2^K
            focal = self._mean_mass(lambda counts: idm_focal_mass(counts, amount if model == "idm" else 1.0))
            return mass_from_focal(focal)
        return self._mean_mass(
            lambda counts: mass_from_counts(counts, model, caution=amount, alpha=alpha, ordinal=ordinal)
        )

    def belief_between(
        self, interval: Any, *, weights: str = "equal", caution: float | None = None
    ) -> NDArray[np.float64]:
        """Return belief and plausibility that the probability of each class lies in an interval.

        Each leaf is a random interval from n_k / (n + s) to (n_k + s) / (n + s), wider if labels are uncertain. Belief
        is the weight of the trees whose intervals lie within the given one, plausibility of those whose intervals meet
        it (equations 2 and 3 of Zhang, Quost and Masson, 2021).

        Parameters
        ----------
        interval : (float, float)
            Ends, which belong to the interval.
        weights : {"equal", "size", "precision"}, default="equal"
            Weights of the trees, as in the rule `Belief`.
        caution : float, default=None
            Pseudo-count s; None means the caution of the forest.

        Returns
        -------
        bounds : float64 (n, K, 2)
        """
        low, high = checked_interval(interval)
        one_of(weights, ("equal", "size", "precision"), "weights")
        amount, k = self.caution if caution is None else caution, self.forest.n_classes

        def lift(counts: Floats) -> Floats:
            lower, upper = _bounds_of_leaves(counts, amount, k)
            heavy = np.ones(len(counts)) if weights == "equal" else leaf_weights(counts[:, :k], weights, amount)
            within, meets = (lower >= low) & (upper <= high), (upper >= low) & (lower <= high)
            return np.column_stack([heavy[:, None] * within, heavy[:, None] * meets, heavy])

        found = replace(self, forest=self.forest.widened)._mean_mass(lift)
        total = found[:, -1:]
        vacuous = np.repeat([float(low <= 0 and high >= 1), float(high >= 0 and low <= 1)], k)
        share = np.where(total > 0, found[:, :-1] / np.where(total > 0, total, 1.0), vacuous)
        return np.stack([share[:, :k], share[:, k:]], axis=2)

    def _mean_mass(self, mass_of: Callable[[Floats], Floats]) -> Floats:
        """Return the mean over trees, (n, S), of the masses of leaves.

        `mass_of` turns counts (m, K) into masses (m, S); in a wide forest, counts with label gaps (m, 3K).
        """
        leaves, mask = self.leaves, self.tree_mask
        own = None if self.oob_mask is None else self.oob_mask.own
        blank = mass_of(np.zeros((1, self.forest.evidence.width)))
        total = np.zeros((self.n_samples, blank.shape[1]))
        for tree in range(self.forest.n_trees):
            rows = np.flatnonzero(mask[:, tree])
            counts = self._counts_in(tree, leaves[rows, tree], None if own is None else own[rows])
            distinct, where = distinct_rows(counts)
            total[rows] += mass_of(distinct)[where]
        unseen = self.forest.unseen_rows(self.codes) if self.oob_mask is None else ()
        if len(unseen):
            counts = self.forest.mixed_evidence(self.codes[:, unseen], self.n_threads)
            total[unseen] = sum(mass_of(counts[:, tree]) for tree in range(self.forest.n_trees))
        number = mask.sum(axis=1)[:, None]
        return np.where(number > 0, total / np.maximum(number, 1), blank)

    def _mean_label_mass(self, caution: float) -> Floats:
        """Return the mean over trees of the masses of leaves with uncertain labels, (n, 2^K)."""
        forest, mask, leaves = self.forest, self.tree_mask, self.leaves
        unseen = forest.unseen_rows(self.codes) if self.oob_mask is None else np.empty(0, dtype=np.intp)
        masses = forest.evidence.masses
        assert masses is not None
        total, vacuous = np.zeros((self.n_samples, len(masses.sets))), np.zeros(self.n_samples)
        for tree in range(forest.n_trees):
            rows = np.flatnonzero(mask[:, tree])
            shares, n_rows = self._mass_shares(rows, leaves[rows, tree] + forest.leaf_start[tree])
            room = n_rows + caution
            known = np.divide(n_rows, room, out=np.zeros_like(room), where=room > 0)
            total[rows] += shares * known[:, None]
            vacuous[rows] += 1.0 - known
        if len(unseen):
            codes = np.ascontiguousarray(self.codes[:, unseen])
            n_rows = forest.mixed_counts(codes, self.n_threads).sum(axis=2)
            room = n_rows + caution
            known = np.divide(n_rows, room, out=np.zeros_like(room), where=room > 0)
            total[unseen] = (forest.mixed_masses(codes, self.n_threads) * known[:, :, None]).sum(axis=1)
            vacuous[unseen] = (1.0 - known).sum(axis=1)
        number = mask.sum(axis=1)
        held = np.zeros((self.n_samples, 1 << forest.n_classes))
        for column, bits in enumerate((masses.sets @ (1 << np.arange(forest.n_classes))).tolist()):
            held[:, bits] += total[:, column]
        held[:, -1] += np.where(number > 0, vacuous, 1.0)
        return np.asarray(held / np.maximum(number, 1)[:, None])

    def _mass_shares(self, rows: NDArray[np.intp], leaves: NDArray[Any]) -> tuple[Floats, Floats]:
        """Return the shares (m, F) of sets in leaves (m,), and the rows of leaves (m,), without the samples' own."""
        evidence = self.forest.evidence
        assert evidence.masses is not None
        held, n_rows = evidence.masses.table(leaves).toarray(), evidence.rows[leaves].astype(np.float64)
        own = None if self.oob_mask is None else self.oob_mask.own_masses
        if own is not None:
            taken = own.take(rows)
            place = evidence.masses.places_of(taken.sets)
            np.subtract.at(held, (taken.row, place[taken.which]), taken.mass)
            held[held < 1e-9 * held.sum(axis=1, keepdims=True)] = 0.0  # rounding errors
            n_rows = np.maximum(n_rows - 1.0, 0.0)
        whole = held.sum(axis=1, keepdims=True)
        shares = np.divide(held, whole, out=np.zeros_like(held), where=whole > 0)
        return shares, np.where(whole[:, 0] > 0, n_rows, 0.0)

    def uncertainty(self) -> UncertaintyParts:
        """Return entropies and uncertainties by relative likelihood, (n,) each."""
        return self._fold(Uncertainty(), self._setting(None, None), Uncertainty)

    def preference(self) -> PairwisePreference:
        """Return the mean over trees of the preferences between pairs of classes.

        Returns
        -------
        PairwisePreference
            ``strict``, ``indifferent`` and ``incomparable``, (n, K, K) each; ``belief.partial_order(strict)`` orders
            the classes. Pairs are incomparable if no tree counts for the sample.
        """
        n_classes = self.forest.n_classes

        def degrees(counts: Floats) -> Floats:
            found = pairwise_preference(counts)
            return np.concatenate([found.strict, found.incomparable], axis=1).reshape(len(counts), -1)

        both = self._mean_mass(degrees).reshape(self.n_samples, 2, n_classes, n_classes)
        return completed_preference(both[:, 0], both[:, 1])

    def uncertainty_of_trees(self) -> Floats:
        """Return the largest and smallest entropy of a tree, and the Hartley measure of all, (n, 3)."""
        return self._fold(UncertaintyOfTrees(), self._setting(None, None), UncertaintyOfTrees)

    def learn_weights(
        self, labels: NDArray[np.integer[Any]], caution: float | None = None, rule: Rule | None = None
    ) -> Floats:
        """Learn tree weights (T,) of a rule from class numbers (n,).

        At most `LEARNING_CELLS` counts are in memory.
        """
        how = (self.rule if rule is None else rule).weight_learning
        n_trees, n_classes = self.forest.n_trees, self.forest.n_classes
        most = min(self.n_samples, max(1, LEARNING_CELLS // (n_trees * n_classes)))
        known = np.flatnonzero(self.known)
        rows = known[spread_evenly(len(known), most)]
        mask = self.tree_mask[rows]
        wide = replace(self, forest=self.forest.widened)
        counts = wide._counts(rows) * mask[:, :, None]
        amount = self.caution if caution is None else caution
        flat = counts.reshape(-1, counts.shape[2])
        lower, upper = _bounds_of_leaves(flat, amount, n_classes)
        shape = (*counts.shape[:2], n_classes)
        return learn_tree_weights(lower.reshape(shape), upper.reshape(shape), labels[rows], seen=mask, **how)

    @property
    def is_covered(self) -> NDArray[np.bool_]:
        """Mask (n,) of samples for which a tree counts.

        A training row can be in every bag.
        """
        if self.oob_mask is None:
            return np.ones(self.n_samples, dtype=bool)
        return np.asarray(self.oob_mask.number(self.forest.n_trees) > 0)

    @property
    def known(self) -> NDArray[np.bool_]:
        """Mask (n,) of samples by which learning and metrics judge."""
        return np.ones(self.n_samples, dtype=bool) if self.oob_mask is None else self.oob_mask.certain

    def certain(self, target: Any) -> Evidence:
        """Return out-of-bag evidence that learns on rows of certain class only, given their target."""
        return self if self.oob_mask is None else replace(self, oob_mask=replace(self.oob_mask, known=target.known))

    def as_forest(self) -> Evidence:
        """Return out-of-bag evidence with sums scaled up to the whole forest."""
        return self if self.oob_mask is None else replace(self, oob_mask=replace(self.oob_mask, as_forest=True))

    def _fold(self, what: Reducer[Result], setting: Setting, key: Hashable, weights: Floats | None = None) -> Result:
        """Reduce the leaves; their states are cached under the key."""
        how: dict[str, Any] = {"oob_mask": self.oob_mask, "cache": self.cache, "n_threads": self.n_threads}
        return fold(self.forest, self.codes, what, setting, weights=weights, key=key, **how)

    def _setting(self, caution: float | None, prior: Any) -> Setting:
        amount = self.caution if caution is None else caution
        if prior is None and isinstance(amount, float):
            return _setting_of(self.forest.n_classes, amount, self.prior.tobytes())
        return Setting.of(self.forest.n_classes, amount, prior)

    def _counts(self, rows: NDArray[np.int64] | slice = slice(None)) -> Floats:
        """Return the counts (n, T, K) of leaves reached, without the samples' own."""
        codes = np.ascontiguousarray(self.codes[:, rows])
        if self.oob_mask is None:
            return self.forest.counts_reached(codes, self.n_threads)
        leaves = self.forest.leaves(codes, self.n_threads)
        if self.oob_mask.own is None:
            return self.forest.evidence_at(leaves)
        own = self.oob_mask.own[rows]
        trees = range(self.forest.n_trees)
        return np.stack([self._counts_in(tree, leaves[:, tree], own) for tree in trees], axis=1)

    def _counts_in(self, tree: int, leaves: NDArray[Any], own: NDArray[Any] | None) -> Floats:
        """Return the counts (n, K) of leaves of one tree, without the samples' own."""
        at, held = leaves + self.forest.leaf_start[tree], self.forest.evidence
        return np.asarray(held.read(at) if own is None else held.read_without(at, own))

    def __repr__(self) -> str:
        kind = "" if self.oob_mask is None else "out-of-bag, "
        return f"Evidence({kind}{self.n_samples} samples, {self.forest.n_trees} trees, {self.forest.n_classes} classes)"


def _bounds_of_leaves(table: Floats, caution: float, n_classes: int) -> tuple[Floats, Floats]:
    """Return lower and upper probabilities (m, K) of counts (m, K), or of counts with label gaps (m, 3K)."""
    if table.shape[1] == n_classes:
        return idm_bounds(table, caution)
    counts, below, above = np.hsplit(table, 3)
    return bounds_with_gaps(counts, below, above, caution)


@lru_cache(maxsize=64)
def _setting_of(n_classes: int, caution: float, prior: bytes) -> Setting:
    """Return the setting of a forest.

    Cached, because its checks take as long as reading the leaves of a row.
    """
    return Setting.of(n_classes, caution, np.frombuffer(prior))


@dataclass(frozen=True)
class FixedPredictions:
    """Precomputed predictions as an estimator, for scikit-learn's scorers."""

    classes_: NDArray[np.generic]
    probability: Floats
    sets: NDArray[np.bool_]

    def predict(self, X: TableLike | None, return_set: bool = False) -> Any:
        """Return the labels, and with `return_set` also the sets."""
        labels = self.classes_[self.probability.argmax(axis=1)]
        return (labels, self.sets) if return_set else labels

    def predict_proba(self, X: TableLike | None) -> Floats:
        """Return the probabilities, (n, K)."""
        return self.probability


class JudgedRows(NamedTuple):
    """Rows (m,) by which opinions are evaluated, and their class numbers (m,).

    If classes are expected shares, a row occurs once for each possible class, and `shares` (m,) has their shares.
    """

    rows: NDArray[np.intp]
    labels: NDArray[np.integer[Any]]
    shares: Floats | None = None

    @classmethod
    def of(cls, target: Any, mask: NDArray[np.bool_], *, only_certain: bool = False) -> JudgedRows:
        """Return the rows of a mask (n,), with certain classes or with expected shares."""
        if target.expected is None or only_certain:
            rows = np.flatnonzero(mask if target.known is None else mask & target.known)
            return cls(rows, target.labels[rows])
        at, labels = np.nonzero((target.expected > 0) & mask[:, None])
        return cls(at, labels, target.expected[at, labels])

    def weights(self, of_rows: NDArray[Any] | None) -> NDArray[Any] | None:
        """Return weights (m,), given those of all rows (n,) or None."""
        given = None if of_rows is None else of_rows[self.rows]
        return given if self.shares is None else self.shares * (1.0 if given is None else given)

    def groups(self, of_rows: NDArray[Any] | None) -> NDArray[Any] | None:
        """Return groups (m,), given those of all rows (n,) or None."""
        if of_rows is not None:
            return np.asarray(of_rows[self.rows])
        return None if self.shares is None else self.rows


def score_sets(
    metric: Any, classes: NDArray[np.generic], judged: JudgedRows, opinion: Opinion, sets: NDArray[np.bool_]
) -> float:
    """Score opinions and prediction sets about judged rows by a metric.

    It is a name of `scorer`, "accuracy", or a callable of (y, sets).
    """
    y = classes[judged.labels]
    if callable(metric):
        require_labels(judged)
        return float(metric(y, sets))
    predictions = FixedPredictions(classes, opinion.probability, sets)
    if metric == "accuracy":
        return float(np.average(predictions.predict(None) == y, weights=judged.shares))
    return scorer(metric)(predictions, None, y, sample_weight=judged.shares)


def require_labels(judged: JudgedRows) -> None:
    """Raise ValueError if classes are expected shares, which a function of labels cannot read."""
    if judged.shares is not None:
        raise ValueError(
            "A metric must be a name if most labels are uncertain, got a function. Use 'accuracy', 'u65' or another"
            " name of hedgerow.metrics.scorer, which are weighted by expected class shares."
        )


def calibrated(
    decision: str | Decision,
    opinion: Opinion | None,
    labels: NDArray[np.generic],
    classes: NDArray[np.generic],
    clusters: NDArray[Any] | None = None,
) -> Decision:
    """Return a decision rule, calibrated on out-of-bag opinions if necessary.

    `labels` (n,) are among the `classes` (K,); `clusters` (n,) are the groups of rows that belong together.
    """
    resolved = resolve_decision(decision)
    if resolved.is_ready:
        return resolved
    if opinion is None:
        raise ValueError(
            f"decision={resolved!r} requires out-of-bag evidence. Fit with bootstrap=True, or pass a calibrated"
            " decision rule."
        )
    copy: Decision = clone(resolved)
    given: dict[str, Any] = {"classes": classes}
    if clusters is not None:
        if "clusters" not in signature(copy.calibrate).parameters:
            raise ValueError(
                f"{type(copy).__name__} does not support groups of rows. Give its calibrate a parameter clusters."
            )
        given["clusters"] = clusters
    return copy.calibrate(opinion, labels, **given)


@dataclass(frozen=True)
class Trial:
    """Out-of-bag opinions and prediction sets of a rule, a caution and a decision, about some rows."""

    judged: JudgedRows
    opinion: Opinion
    sets: NDArray[np.bool_]
    decision: Decision
    weights: Floats | None


def try_out(
    evidence: Evidence,
    target: Any,
    rule: Rule,
    caution: float,
    decision: str | Decision,
    *,
    classes: NDArray[Any] | None = None,
    calibrator: CrossCalibration | None = None,
    clusters: NDArray[Any] | None = None,
) -> Trial:
    """Try a rule, a caution and a decision on out-of-bag rows.

    `target` is that of the rows, `classes` are the names of classes (K,). A `calibrator` calibrates the opinion of each
    row on other rows. `clusters` (n,) are the groups of rows that belong together. Tree weights and decisions are
    learned on rows of certain class only.
    """
    only_certain = not resolve_decision(decision).is_ready
    if only_certain or rule.needs_weights:
        require_certain(evidence.known if target.known is None else target.known)
    require_certain(evidence.known)
    weights = evidence.certain(target).learn_weights(target.labels, caution, rule) if rule.needs_weights else None
    judged = JudgedRows.of(target, evidence.is_covered, only_certain=only_certain)
    opinion = evidence.as_forest().combine(rule, caution=caution, weights=weights)
    opinion = opinion if len(judged.rows) == len(opinion) and judged.shares is None else opinion[judged.rows]
    if calibrator is not None and not calibration_obstacle(rule):
        known = judged.weights(target.sure_weights), judged.groups(clusters)
        opinion = calibrator(opinion, judged.labels, *known, rule.views)
    names = np.arange(opinion.n_classes) if classes is None else classes
    used_clusters = None if clusters is None else clusters[judged.rows]
    ready = calibrated(decision, opinion, names[judged.labels], names, used_clusters)
    return Trial(judged, opinion, decide(opinion, ready), ready, weights)


def require_certain(known: NDArray[np.bool_]) -> None:
    """Raise ValueError unless some rows (n,) have a certain class."""
    if not known.any():
        raise ValueError(
            "Learned tree weights and calibrated decisions require rows of certain class. Use a rule and a decision"
            " that learn nothing out of bag."
        )


def checked_interval(interval: Any) -> tuple[float, float]:
    """Return the ends of an interval, checked; they may be infinite."""
    try:
        low, high = (float(end) for end in interval)
    except (TypeError, ValueError):
        low = high = np.nan
    if not low <= high:
        raise ValueError(f"interval must be two ascending numbers, got {interval!r}.")
    return low, high


def checked_caution(caution: Any, constraint: str = "a number >= 0 or 'auto'") -> float:
    """Return a caution; raise ValueError unless it is a number >= 0."""
    number = isinstance(caution, int | float | np.number) and not isinstance(caution, bool)
    if not (number and np.isfinite(caution) and caution >= 0):
        raise ValueError(f"caution must be {constraint}, got {caution!r}.")
    return float(caution)


def choose_caution(tried: Callable[[float, Any], Trial], classes: NDArray[np.generic], decision: Any) -> float:
    """Return the caution of `CAUTIONS` with the best u65, the smallest of a tie.

    `tried` makes the trials.
    """
    scores = []
    for caution in CAUTIONS:
        trial = tried(caution, decision)
        scores.append(score_sets("u65", classes, trial.judged, trial.opinion, trial.sets))
    return CAUTIONS[int(np.argmax(scores))]
