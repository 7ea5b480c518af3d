"""Later, numbers: a fitted regressor and rows that arrive later -> the regressor with their evidence."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.metaestimators import available_if

from hedgerow.estimators.later import NO_OLD_ROWS, LaterMixin, leaves_are_sums
from hedgerow.estimators.trees import MIXED, Earlier, Seen
from hedgerow.fit.parameters import thread_count
from hedgerow.fit.progress import with_callbacks
from hedgerow.forest.add import add_rows
from hedgerow.forest.forest import Forest
from hedgerow.forest.rows import Origin
from hedgerow.table.bins import Bins, Codes
from hedgerow.target.classes import read_weights
from hedgerow.target.numbers import numbers_on_grid, read_targets

Floats = NDArray[np.float64]


class LaterRegressor(LaterMixin):
    """What forests of numbers do with rows that arrive later."""

    criterion_: str
    _range: tuple[float, float]

    @available_if(leaves_are_sums)  # type: ignore[untyped-decorator]
    @with_callbacks
    def partial_fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Add the evidence of new rows to the leaves that exist; no tree changes its splits.

        Means and variances of the leaves become those of all rows seen. It does not matter in how many parts rows
        come. Later rows are numbered after the earlier ones and have their draw in every tree's bag like those: a leaf
        counts a row as often as the bag holds it, and out-of-bag predictions, intervals and quantiles are those of all
        rows seen. A forest that has not been fitted is fitted to these rows.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
            New rows, with the columns of the first ones. Categories that are new count as missing.
        y : array-like of shape (n_samples,)
            Their targets.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights, as in `fit`.

        Returns
        -------
        self

        Examples
        --------
        >>> import numpy as np
        >>> from hedgerow import DecisionTreeRegressor
        >>> tree = DecisionTreeRegressor(max_depth=1).fit([[0], [1]], [0.0, 1.0])
        >>> tree.partial_fit([[1], [1]], [2.0, 3.0]).predict([[0], [1]])
        array([0., 2.])
        """
        if not hasattr(self, "forest_"):
            self.fit(X, y, sample_weight)
            return self
        self._check_parameters()
        n_threads = thread_count(getattr(self, "n_jobs", None))
        codes = self._read_later(X, n_threads)
        values = read_targets(y, codes.shape[1], self.criterion_)
        weights = read_weights(sample_weight, codes.shape[1])
        if weights is not None and (weights == 0).any():
            kept = np.flatnonzero(weights)
            codes, values, weights = np.ascontiguousarray(codes[:, kept]), values[kept], weights[kept]
        origins = self._known_origins()
        forest = add_rows(self.forest_, origins, codes, values, weights, n_threads)
        nought = np.zeros(len(values), dtype=np.uint16)
        after = tuple(origin.after(nought) for origin in origins)
        self._remember_later(*self._known_later(forest, after, codes, values, weights))
        return self

    def _known_later(
        self,
        forest: Forest,
        origins: tuple[Origin, ...],
        codes: Codes,
        y: Floats,
        weights: Floats | None,
    ) -> tuple[dict[str, Any], set[str]]:
        """What the estimator knows after these rows, by name, and what it must forget; nothing of it changes yet."""
        bag = self._bag_after(origins, codes, y)
        seen: Seen | None = getattr(self, "_seen", None)
        trained: Any = getattr(self, "_trained", None)
        known: dict[str, Any] = {"forest_": forest, "_origins": origins, "_bag": bag}
        known["_range"] = (min(self._range[0], float(y.min())), max(self._range[1], float(y.max())))
        stale = {"oob_score_", "oob_prediction_", "_residuals", "_leaf_rows", "_seen", "_trained", "_traced"}
        if bag == MIXED:
            return known, stale
        if trained is not None:
            known["_trained"] = _with_numbers(trained, codes, y, weights, origins[0].weight_scale)
        if seen is None:
            return known, stale
        seen = known["_seen"] = _seen_with_numbers(seen, bag, codes, y, weights)
        if getattr(self, "oob_score", False) or self.leaf_rows:
            n_threads = thread_count(getattr(self, "n_jobs", None))
            known |= self._judge_out_of_bag(forest, seen.all_codes, seen.codes, seen.training, n_threads)
        return known, stale

    def _read_again(self, X: Any, y: Any, sample_weight: Any, earlier: Earlier) -> Any:
        """All rows seen."""
        return self._read_training(X, y, sample_weight, earlier)

    def _adapted(self, training: Any, settings: Any) -> Any:
        """Leaves of a regression hold the rows of their bags."""
        return replace(settings, leaf_counts="inbag")

    def _with_shares(self, training: Any, bins: Bins, codes: Codes, n_threads: int) -> Any:
        """Targets are certain."""
        return training

    def _bagged_rows(self) -> tuple[Codes, NDArray[Any], int, float]:
        """The training rows, their targets, and how their bags were drawn."""
        trained: Any = getattr(self, "_trained", None)
        if trained is None or trained.bag_mean == 0:
            raise ValueError(NO_OLD_ROWS)
        return trained.codes, trained.y, trained.seed, trained.bag_mean

    def _classes_with(self, y: Any) -> None:
        """Numbers have none."""

    def _labels_of(self, y: Any, n_rows: int, classes: None) -> Floats:
        """Targets."""
        return read_targets(y, n_rows, "squared_error")

    fit: Any
    leaf_rows: bool
    _check_parameters: Any
    _judge_out_of_bag: Any
    _trained: Any


def _with_numbers(trained: Any, codes: Codes, y: Floats, weights: Floats | None, scale: float) -> Any:
    """The training table of a regressor, and the rows that have come."""
    heavy, relative = None, (np.ones(len(y)) if weights is None else weights) / scale
    if trained.weights is not None or (relative != 1).any():
        before = np.ones(len(trained.y)) if trained.weights is None else trained.weights
        heavy = np.concatenate([before, relative])
    together = np.concatenate([trained.codes, codes], axis=1)
    return replace(trained, codes=together, y=np.concatenate([trained.y, y]), weights=heavy)


def _seen_with_numbers(seen: Seen, bag: object, codes: Codes, y: Floats, weights: Floats | None) -> Seen:
    """The rows a forest has kept, and those that have come."""
    training = seen.training
    values = np.concatenate([training.labels.values, y])
    heavy = None
    if weights is not None or training.weights is not None:
        before = np.ones(len(values) - len(y)) if training.weights is None else training.weights
        heavy = np.concatenate([before, np.ones(len(y)) if weights is None else weights])
    all_codes, kept = seen.all_codes, training.kept
    if kept is not None:
        kept = np.concatenate([kept, all_codes.shape[1] + np.arange(len(y))]).astype(np.uint32)
    whole = np.concatenate([seen.codes, codes], axis=1)
    everything = whole if kept is None else np.concatenate([all_codes, codes], axis=1)
    labels = numbers_on_grid(values, heavy, centred=training.settings.criterion != "poisson")
    settled = replace(training, y=np.concatenate([training.y, y]), labels=labels, weights=heavy, kept=kept, bag=bag)
    return Seen(settled, whole, everything)
