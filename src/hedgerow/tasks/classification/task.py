"""Classification task: choice of criterion parameters, and refinement of uncertain labels."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from hedgerow.criteria import Criterion
from hedgerow.fit.run import FitRun
from hedgerow.fit.task import SupervisedTask
from hedgerow.forest.fold import fold
from hedgerow.forest.forest import Forest
from hedgerow.forest.grow import GrowthParams, TrainingRows, grow_forest
from hedgerow.forest.rows import Bags, Entries, Groups, OobMask
from hedgerow.forest.target import ReadTarget
from hedgerow.inference.evidence import require_certain
from hedgerow.inference.fitted import Fitted
from hedgerow.inference.oob import Trace, ensemble_error
from hedgerow.labels import UncertainLabels, read_labels
from hedgerow.params.resolve import most_trees, resolve_max_features
from hedgerow.params.table import Params
from hedgerow.rules import Average, Setting, resolve_rule
from hedgerow.storage.values import Arrays, Once
from hedgerow.table.bins import Bins, Codes
from hedgerow.tasks.classification.predictor import ClassificationPredictor
from hedgerow.tasks.classification.storage import KEYS, classifier_from_contents, classifier_to_contents
from hedgerow.tasks.classification.target import (
    ClassificationTarget,
    ClassLabels,
    SoftLabels,
    declared_classes,
    first_classes,
    make_labels,
    read_class_target,
    read_classes,
    weigh_rows,
)
from hedgerow.tasks.multi_output import MultiOutput

if TYPE_CHECKING:
    from hedgerow.tasks.classification.distributed import DistributedClasses


Floats = NDArray[np.float64]


class Classification(SupervisedTask):
    """Classification with certain or uncertain labels."""

    name = "classification"
    file_keys = KEYS
    reads_cells = True

    def read_y(
        self, model: Any, y: Any, sample_weight: Any, n_rows: int, before: Fitted | None = None, classes: Any = None
    ) -> ReadTarget:
        """Read labels and weights of rows with positive weight."""
        if model.warm_start and isinstance(model.class_weight, str):
            warnings.warn(
                f'class_weight preset "{model.class_weight}" is not recommended for warm_start: each fit computes its'
                " own weights. Compute them once with sklearn.utils.class_weight.compute_class_weight, and pass them.",
                stacklevel=2,
            )
        read = read_class_target(y, sample_weight, n_rows, class_weight=model.class_weight, declared=classes)
        return _with_same_classes(read, before)

    def with_entries(self, rows: TrainingRows, entries: Entries) -> TrainingRows:
        """Return training rows of which some have uncertain cells."""
        return replace(rows, entries=entries, target=rows.target.with_uncertain_cells(entries.certain))

    def first_classes(self, classes: Any) -> NDArray[Any]:
        """Return the classes declared in the first call of `partial_fit`."""
        return first_classes(classes)

    def read_more_y(
        self, model: Any, y: Any, sample_weight: Any, n_rows: int, before: Fitted, classes: Any = None
    ) -> ReadTarget:
        """Read labels of later rows; they must be known or declared classes."""
        if isinstance(model.class_weight, str):
            raise ValueError(
                f"class_weight must be None or a dict for partial_fit, got {model.class_weight!r}. Balanced weights"
                " depend on all rows."
            )
        if read_labels(y) is not None:
            raise ValueError("partial_fit does not support uncertain labels. Fit all rows together.")
        known = declared_classes(before.info.names, classes)
        return read_class_target(y, sample_weight, n_rows, class_weight=model.class_weight, declared=known)

    def weigh_column(self, y: Any, weights: Any, n_rows: int, class_weight: Any) -> Any:
        """Multiply row weights by the class weights of one output."""
        values = np.asarray(y)
        if values.dtype.kind == "f" and np.isfinite(values).all() and (values != np.floor(values)).any():
            raise ValueError(
                "y must have labels in each column of a multi-output target, got fractions. For plausibilities and"
                " masses, pass hedgerow.labels.from_plausibilities(y) or from_masses(y)."
            )
        classes, labels = read_classes(y, n_rows)
        return weigh_rows(labels, classes, weights, class_weight)

    def read_column(self, model: Any, y: Any, weights: Any, n_rows: int, before: Fitted | None) -> ReadTarget:
        """Read the labels of one output; weights include class weights."""
        return _with_same_classes(read_class_target(y, weights, n_rows), before)

    def for_outputs(self) -> SupervisedTask:
        """Return the task for multi-output y."""
        return MultiOutput(self)

    def prepare(self, run: FitRun) -> FitRun:
        """Refine uncertain labels, and resolve the criterion."""
        return self._with_criterion(_with_shares(run))

    def tables(self, rows: TrainingRows) -> Iterable[tuple[Codes, ClassLabels]]:
        """Return the codes (p, n) and labels on which trees are grown, per table."""
        return [(rows.codes, rows.target.for_core())]

    def oob_trace(self, run: FitRun) -> Trace:
        """Return a trace of the out-of-bag error under the rule."""
        rows = run.rows
        require_certain(rows.oob_mask.certain)
        return Trace(rows, *_rule_of(run))

    def oob_error(self, forest: Forest, run: FitRun) -> float:
        """Return the out-of-bag error rate."""
        rows = run.rows
        require_certain(rows.oob_mask.certain)
        return ensemble_error(forest, rows, *_rule_of(run), n_threads=run.n_threads)

    def predictor(self, fitted: Fitted, params: Params, estimator: type) -> ClassificationPredictor:
        """Return the predictor of classes."""
        return ClassificationPredictor(fitted, params, estimator)

    def dump(self, model: Any) -> tuple[dict[str, Any], Arrays]:
        """Return the JSON and arrays of a fitted classifier."""
        return classifier_to_contents(model)

    def load(self, estimator: type, given: dict[str, Any], arrays: Arrays, once: Once | None = None) -> Any:
        """Read a fitted classifier from JSON and arrays."""
        return classifier_from_contents(estimator, given, arrays, once, shape=self.tree_shape)

    def tree_shape(self, estimator: type, n_classes: int) -> tuple[int, int | None]:
        """Return the number of classes per leaf, and of trees (None means any)."""
        return n_classes, None

    def distributed(self, model: Any) -> DistributedClasses | None:
        """Return the target on a cluster; imported late because only clusters need it."""
        from hedgerow.tasks.classification.distributed import DistributedClasses

        return DistributedClasses(model.class_weight)

    def _with_criterion(self, run: FitRun) -> FitRun:
        """Resolve the criterion; a warm start keeps the earlier choice."""
        settings, rows = run.settings, run.rows
        if settings.criterion.is_resolved:
            return run
        if run.before:
            return replace(run, settings=replace(settings, criterion=run.before.criterion))
        n_trees = most_trees(run.model) if self.one_table else 1
        n_features = settings.max_features or resolve_max_features("sqrt", rows.codes.shape[0])  # 0: not resolved yet
        tried = replace(settings, max_features=n_features)
        groups = rows.bags.groups if self.one_table else None
        criterion = choose_lam(self.tables(rows), run.bins, tried, n_trees, run.n_threads, groups)
        return replace(run, settings=replace(settings, criterion=criterion))


def _with_shares(run: FitRun) -> FitRun:
    """Return the fit with expected class shares in place of uncertain labels."""
    rows = run.rows
    if rows.entries is not None:
        return _with_entries(run, rows.entries)
    if rows.target.known is None:
        return run
    settings = settings_for_shares(run.settings, rows.n_rows)
    if settings.criterion.reads_masses and any(settings.monotonic or ()):
        raise ValueError(
            "monotonic_cst does not support uncertain labels under a criterion of their masses, because sets of classes"
            " have no order. Use another criterion."
        )
    if rows.target.shares is None:
        rounds = run.model.label_rounds
        shares = refine(rows.target.soft, rows.codes, run.bins, settings, rounds, run.n_threads, rows.bags.groups)
        rows = replace(rows, target=rows.target.with_shares(shares))
    figures = replace(run.figures, label_shares=rows.target.shares)
    return replace(run, rows=rows, settings=settings, figures=figures)


def _with_entries(run: FitRun, entries: Entries) -> FitRun:
    """Return the fit with refined weights of the entries of rows with uncertain cells."""
    rows, settings = run.rows, settings_for_shares(run.settings, run.rows.n_rows, divided=True)
    how = (run.bins, settings, run.model.label_rounds, run.n_threads, rows.bags.groups)
    return replace(run, rows=replace(rows, entries=refine_entries(entries, rows.target, *how)), settings=settings)


def _with_same_classes(read: ReadTarget, before: Fitted | None) -> ReadTarget:
    """Return the target; raise if a warm start has other classes."""
    if before is not None and not np.array_equal(read.target.classes, before.info.names):
        found = read.target.classes[:10]
        raise ValueError(f"y must have the classes of the first fit in a warm start, got {found}.")
    return read


def _rule_of(run: FitRun) -> tuple[Any, Setting]:
    """Return the rule and its setting before caution is resolved."""
    model, target = run.model, run.rows.target
    caution = 1.0 if isinstance(model.caution, str) else float(model.caution)
    return resolve_rule(model.rule), Setting.of(len(target.classes), caution, target.info.prior)


# ---- Choice of a criterion parameter by cross-validation -------------------------------------------------------------


N_FOLDS = 5
MOST_TREES = 10
"""Number of trees for each candidate, which is enough to rank them."""


def choose_lam(
    tables: Iterable[tuple[Codes, ClassLabels]],
    bins: Bins,
    settings: GrowthParams,
    n_trees: int,
    n_threads: int = 1,
    groups: Groups | None = None,
) -> Criterion:
    """Return the criterion with the ``lam`` that classifies most held-out rows.

    Each table has codes (p, n) and labels. A ``size_cost`` times the number of leaves is subtracted from the number of
    correct rows. All candidates use the same folds, and ties go to the largest ``lam``, which grows larger trees. If
    every table has fewer rows than folds, the middle candidate is chosen. `groups` are kept together in folds and are
    supported for a single table only.
    """
    candidates: list[Criterion] = settings.criterion.candidates()
    worth = [_worth(codes, bins, labels, settings, n_trees, n_threads, groups) for codes, labels in tables]
    judged = [each for each in worth if each is not None]
    if not judged:
        return candidates[len(candidates) // 2]
    return candidates[len(candidates) - 1 - int(np.sum(judged, axis=0)[::-1].argmax())]


def _worth(
    codes: Codes,
    bins: Bins,
    labels: ClassLabels,
    settings: GrowthParams,
    n_trees: int,
    n_threads: int,
    groups: Groups | None,
) -> NDArray[np.float64] | None:
    """Count correct held-out rows of each candidate, less the cost of leaves.

    Returns None if there are too few rows.
    """
    candidates = settings.criterion.candidates()
    numbers = _first_numbers(labels)
    n_folds = min(N_FOLDS, int(np.bincount(numbers).max())) if len(numbers) else 0
    if n_folds < 2:
        return None
    worth = np.zeros(len(candidates))
    fold_of = _folds(numbers, n_folds, settings.seed)
    if groups is not None:  # a group is in the fold of its first row
        fold_of = fold_of[np.unique(groups.of_row, return_index=True)[1]][groups.of_row]
    for held in range(n_folds):
        train, test = np.flatnonzero(fold_of != held), np.flatnonzero(fold_of == held)
        together = None if groups is None else Groups.of(groups.of_row[train])
        held_in, held_out = np.ascontiguousarray(codes[:, train]), np.ascontiguousarray(codes[:, test])
        for number, criterion in enumerate(candidates):
            forest = grow_forest(
                held_in,
                bins,
                labels.take(train),
                replace(settings, criterion=criterion),
                n_trees=min(n_trees, MOST_TREES),
                n_threads=n_threads,
                groups=together,
            )
            guessed = forest.probability(held_out, n_threads).argmax(axis=1)
            worth[number] += (guessed == numbers[test]).sum()
            worth[number] -= settings.criterion.size_cost * forest.evidence.n_leaves / (n_folds * forest.n_trees)
    return worth


def _first_numbers(labels: ClassLabels) -> NDArray[np.uint16]:
    """Return the class of each row, (n,); the most probable one for uncertain labels."""
    if labels.rows is None:
        return labels.numbers
    return labels.numbers[np.flatnonzero(np.diff(labels.rows, prepend=-1))]


def _folds(numbers: NDArray[np.uint16], n_folds: int, seed: int) -> NDArray[np.int64]:
    """Deal shuffled rows to folds class by class, (n,)."""
    shuffled = np.random.default_rng(seed).permutation(len(numbers))
    by_class = shuffled[np.argsort(numbers[shuffled], kind="stable")]
    folds = np.empty(len(numbers), dtype=np.int64)
    folds[by_class] = np.arange(len(numbers)) % n_folds
    return folds


# ---- Refinement of uncertain labels by expectation maximisation with trees -------------------------------------------
#
# The M-step grows trees on expected class shares. In the E-step, the share of a class becomes its plausibility, given
# by the label, times its out-of-bag probability. If labels are masses, the mass of each set is shared out among its
# classes in proportion to their out-of-bag probabilities.


#: Number of trees per round.
TREES = 50
#: Stop when the shares of rows with uncertain labels change by less than this on average.
CHANGE = 0.01
#: Uniform share of the probabilities of trees, which keeps classes without rows in the leaves possible.
DOUBT = 0.01


def refine(
    soft: SoftLabels,
    codes: Codes,
    bins: Bins,
    settings: GrowthParams,
    rounds: int,
    n_threads: int = 1,
    groups: Groups | None = None,
) -> Floats:
    """Return expected class shares (n, K) after at most `rounds` rounds.

    Certain labels stay certain. Probabilities are out of bag even if the estimator has no bootstrap, because a tree
    grown on a row would only repeat its label. Class weights are ignored: they carry no information about the class of
    a row. If the criterion has an unresolved parameter, the rounds use the middle candidate.
    """
    shares = soft.labels.shares
    unsure = ~soft.labels.certain
    bag_mean = settings.bag_mean or 1.0
    candidates = settings.criterion.candidates()
    oob_mask = replace(settings, bag_mean=bag_mean, leaf_counts="inbag", criterion=candidates[len(candidates) // 2])
    outside = OobMask(Bags(settings.seed, bag_mean, codes.shape[1], groups=groups))
    for _ in range(rounds):
        labels = soft.spread(shares, by_class=False)
        forest = grow_forest(codes, bins, labels, oob_mask, n_trees=TREES, n_threads=n_threads, groups=groups)
        setting = Setting.of(labels.n_classes, 0.0)
        seen = fold(forest, codes, Average(), setting, oob_mask=outside, n_threads=n_threads).probability
        expected = expected_shares(soft.labels, (1 - DOUBT) * seen + DOUBT / labels.n_classes)
        change = np.abs(expected - shares)[unsure].sum(axis=1).mean() / 2
        shares = expected
        if change < CHANGE:
            break
    return shares


def refine_entries(
    entries: Entries,
    target: ClassificationTarget,
    bins: Bins,
    settings: GrowthParams,
    rounds: int,
    n_threads: int = 1,
    groups: Groups | None = None,
) -> Entries:
    """Return the entries of rows with uncertain cells with weights refined by at most `rounds` rounds.

    In each, the weight of an entry becomes its share times the out-of-bag probability of the row's class there. Groups
    keep their weights.
    """
    units, labels = entries.units(groups), target.labels[entries.row].astype(np.intp)
    bag_mean, candidates = settings.bag_mean or 1.0, settings.criterion.candidates()
    oob_mask = replace(settings, bag_mean=bag_mean, leaf_counts="inbag", criterion=candidates[len(candidates) // 2])
    outside = OobMask(Bags(settings.seed, bag_mean, len(entries.row), groups=units))
    unsure, every, found = ~entries.certain[entries.row], np.arange(len(entries.row)), entries
    for _ in range(rounds):
        held = make_labels(labels, len(target.classes), found.weight)
        forest = grow_forest(entries.codes, bins, held, oob_mask, n_trees=TREES, n_threads=n_threads, groups=units)
        setting = Setting.of(held.n_classes, 0.0)
        seen = fold(forest, entries.codes, Average(), setting, oob_mask=outside, n_threads=n_threads).probability
        expected = entries.refined((1 - DOUBT) * seen[every, labels] + DOUBT / held.n_classes)
        change = np.abs(expected.weight - found.weight)[unsure].sum() / (~entries.certain).sum() / 2
        found = expected
        if change < CHANGE:
            break
    return found


def expected_shares(labels: UncertainLabels, probability: Floats) -> Floats:
    """Return the expected class shares (n, K) of labels, given positive probabilities of classes, (n, K).

    Examples
    --------
    >>> from hedgerow.labels import from_masses
    >>> chance, ignorance = [0, 0.5, 0.5, 0], [0, 0, 0, 1]
    >>> expected_shares(from_masses([chance, ignorance]), np.array([[0.75, 0.25], [0.75, 0.25]]))
    array([[0.5 , 0.5 ],
           [0.75, 0.25]])
    """
    if labels.masses is None:
        expected = labels.contour * probability
        shares: Floats = expected / expected.sum(axis=1, keepdims=True)
        return shares
    masses = labels.masses
    row, members = masses.row, masses.sets[masses.which]
    expected = members * probability[row]
    expected *= (masses.mass / expected.sum(axis=1))[:, None]
    cells = (row[:, None] * expected.shape[1] + np.arange(expected.shape[1])).ravel()
    summed = np.bincount(cells, weights=expected.ravel(), minlength=probability.size).astype(np.float64)
    return summed.reshape(probability.shape)


def settings_for_shares(settings: GrowthParams, n_rows: int, *, divided: bool = False) -> GrowthParams:
    """Replace limits on rows by limits on weights, because rows are split.

    The limit is half a row lower, so that rounding never rules out a split that leaves exactly the minimum. If the
    values of a row are `divided`, a leaf could otherwise have a small part of one row.
    """
    if settings.min_samples_leaf <= 1 and not divided:
        return settings
    least = (settings.min_samples_leaf - 0.5) / n_rows
    return replace(settings, min_samples_leaf=1, min_weight_fraction_leaf=max(settings.min_weight_fraction_leaf, least))
