"""Bagging: a bootstrapped forest -> the errors, the number of trees and the variance its bags give for free."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow.belief import Setting
from hedgerow.estimators.opinions import OpinionMixin
from hedgerow.fit.parameters import TO_BE_CHOSEN
from hedgerow.forest.forest import Forest, join_forests
from hedgerow.forest.grow import grow_forest
from hedgerow.forest.rows import Bags, Judges
from hedgerow.judge.evidence import require_certain
from hedgerow.judge.oob import AnyTrace, BootstrapErrors, Trace, bootstrap_errors, ensemble_error, is_flat, stages
from hedgerow.judge.variance import VarianceOf, forest_variance
from hedgerow.table.bins import Bins, Codes

#: Trees of each forest that ``max_features="oob"`` tries.
PILOT_TREES = 50


class ChoosingMixin(ABC):
    """What out-of-bag rows decide during a fit: how many trees, and how many features a split looks at."""

    def _watch(self, training: Any, codes: Codes, n_threads: int) -> Callable[[Forest], bool] | None:
        """With ``n_estimators="auto"``: a forest so far -> whether its out-of-bag error no longer falls."""
        if not isinstance(self.n_estimators, str):
            return None
        trace = self._trace_of(training, codes)

        def enough(forest: Forest) -> bool:
            trace.extend(forest, codes, n_threads)
            return is_flat(trace.errors, trace.standard_error)

        return enough

    def _choose_features(
        self, training: Any, bins: Bins, codes: Codes, keeps: bool, n_threads: int
    ) -> tuple[Any, dict[str, Any]]:
        """With ``max_features="oob"``: the number whose forest of a few trees errs least; of a tie, the smallest.

        All are grown in the same bags. A warm start keeps the number it has.
        """
        if training.settings.max_features != TO_BE_CHOSEN:
            return training, {}
        chosen: dict[str, Any] = {}
        if keeps and hasattr(self, "max_features_"):
            chosen = {"max_features_": self.max_features_, "max_features_errors_": self.max_features_errors_}
        else:
            errors = {}
            for number in feature_numbers(codes.shape[0]):
                settings = replace(training.settings, max_features=number)
                pilot = grow_forest(codes, bins, training.labels, settings, n_trees=PILOT_TREES, n_threads=n_threads)
                errors[number] = self._pilot_error(pilot, training, codes, n_threads)
            best = min(errors, key=lambda number: errors[number])
            chosen = {"max_features_": best, "max_features_errors_": errors}
        settings = replace(training.settings, max_features=chosen["max_features_"])
        return replace(training, settings=settings), chosen

    @abstractmethod
    def _trace_of(self, training: Any, codes: Codes) -> AnyTrace:
        """What follows the out-of-bag error while trees grow."""

    def _pilot_error(self, pilot: Forest, training: Any, codes: Codes, n_threads: int) -> float:
        """A forest of a few trees -> its out-of-bag error."""
        trace = self._trace_of(training, codes)
        trace.extend(pilot, codes, n_threads)
        return trace.errors[-1]

    max_features_: int
    max_features_errors_: dict[int, float]
    n_estimators: Any


class BaggingMixin(ChoosingMixin, OpinionMixin):
    """What a bootstrapped forest knows about itself without another table."""

    @property
    def oob_errors_(self) -> BootstrapErrors:
        """How often the forest and its trees are wrong about training rows they have and have not seen.

        ``out_of_bag`` (Err*, averaged for each row over trees), ``resubstitution``, ``err632``, ``err632plus``, and
        ``ensemble``, the out-of-bag error of the forest as a whole.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from hedgerow import RandomForestClassifier
        >>> forest = RandomForestClassifier(random_state=0).fit(*load_iris(return_X_y=True))
        >>> errors = forest.oob_errors_
        >>> errors.resubstitution < errors.err632 < errors.out_of_bag
        True
        """
        bagged = self._require_bagged()
        threads = self._reading_threads(len(bagged.labels))
        ensemble = ensemble_error(
            self.forest_,
            bagged.codes,
            self._rule,
            self._oob_setting(),
            bagged.labels,
            bagged.judges,
            tree_weights=self._tree_weights(self._rule, self._caution),
            n_threads=threads,
        )
        return bootstrap_errors(self.forest_, bagged.codes, bagged.labels, bagged.judges, ensemble, threads)

    @property
    def oob_trace_(self) -> NDArray[np.float64]:
        """(n_trees,): out-of-bag error of the forest after each tree, under its rule; the last is that of the forest.

        Computed in one pass when first asked for. Rules that learn tree weights weigh all trees alike here.
        """
        key = (repr(self._rule), self._caution)
        if getattr(self, "_traced", (None,))[0] != key:
            bagged = self._require_bagged()
            trace = Trace(self._rule, self._oob_setting(), bagged.labels, bagged.judges)
            trace.extend(self.forest_, bagged.codes, self._reading_threads(len(bagged.labels)))
            self._traced = (key, np.array(trace.errors))
        return self._traced[1].copy()

    def predict_variance(self, X: Any) -> VarianceOf:
        """How much the probabilities (rule "average") would differ with another training table of the same kind.

        At each sample the variance of a forest of B trees is ρσ² + (1 − ρ)σ²/B, with σ² the variance of one tree and ρ
        the correlation of two. Both are estimated by leaving out one training row after the other: the trees that have
        not seen it are a forest without it. Such a jackknife errs on the side of too much variance.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        VarianceOf
            ``forest``, ``tree`` (σ²), ``correlation`` (ρ) and ``limit`` (ρσ²), (n_samples, n_classes) each. Have about
            as many trees as training rows, or more, for estimates that are not noise.
        """
        bagged = self._require_bagged()
        codes = self._codes(X)
        bags = Bags(bagged.seed, bagged.bag_mean, len(bagged.labels), leaf_counts=self._bag[3])
        n_threads = self._reading_threads(codes.shape[1])
        return forest_variance(self.forest_, codes, bagged.codes, bagged.labels, bags, n_threads)

    # ---- stages of fit ------------------------------------------------------------

    def _trace_of(self, training: Any, codes: Codes) -> Trace:
        return Trace(self._rule, self._setting_of(training), training.numbers, self._judges_of(training, codes))

    def _pilot_error(self, pilot: Forest, training: Any, codes: Codes, n_threads: int) -> float:
        setting, outside = self._setting_of(training), self._judges_of(training, codes)
        labels = training.numbers
        return ensemble_error(pilot, codes, self._rule, setting, labels, outside, n_threads=n_threads)

    def _judges_of(self, training: Any, codes: Codes) -> Judges:
        """How to find the trees that may judge a row, where some row can be judged."""
        outside: Judges = training.bagged(codes).judges
        require_certain(outside.certain)
        return outside

    def _setting_of(self, training: Any) -> Setting:
        """What rules must know, before the fit has chosen a caution."""
        caution = 1.0 if isinstance(self.caution, str) else float(self.caution)
        return Setting.of(len(training.classes), caution, training.prior)

    def _oob_setting(self) -> Setting:
        """What rules must know of a fitted forest."""
        return Setting.of(self.forest_.n_classes, self._caution, self._prior)

    _bag: Any
    _traced: tuple[object, NDArray[np.float64]]
    _reading_threads: Any


def feature_numbers(n_features: int) -> list[int]:
    """How many of p features to try: 1, √p and its half and double, a third, a half and all of them."""
    root = n_features**0.5
    numbers = {1, root / 2, root, 2 * root, n_features / 3, n_features / 2, n_features}
    return sorted({min(n_features, max(1, round(number))) for number in numbers})


def grow_until_flat(
    grow: Callable[..., Forest], enough: Callable[[Forest], bool], progress: Callable[[int], bool] | None
) -> Forest:
    """Grow stage by stage until it is enough, or as many trees as there may be."""
    forest: Forest | None = None
    for first, last in stages():
        grown = grow(first_tree=first, n_trees=last - first, progress=_from(first, progress))
        forest = join_forests(forest, grown) if forest else grown
        if enough(forest):
            break
    assert forest is not None
    return forest


def _from(first: int, progress: Callable[[int], bool] | None) -> Callable[[int], bool] | None:
    """Progress of a stage -> progress of the whole."""
    return None if progress is None else lambda done: progress(first + done)
