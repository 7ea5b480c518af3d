"""Estimators: dask collections -> forests, the same as one machine grows; and what they predict, lazily."""

from __future__ import annotations

from typing import Any, Self

import hedgerow.estimators as local
from hedgerow.cluster.forest import grow_on_cluster
from hedgerow.cluster.lazy import LazyEvidence, lazily
from hedgerow.cluster.limits import Limits, limits_for
from hedgerow.cluster.partitions import Partitions, is_dask, open_parquet, partitions_from
from hedgerow.cluster.progress import progress_on_cluster
from hedgerow.cluster.run import PATIENCE, Runner, client_for
from hedgerow.cluster.training import read_on_cluster
from hedgerow.decide import resolve_decision
from hedgerow.estimators.regression import TreesRegressor
from hedgerow.fit.parameters import check_opinion, check_switches, most_trees

_LAZY = (
    "predict",
    "predict_proba",
    "predict_log_proba",
    "predict_set",
    "predict_bounds",
    "predict_uncertainty",
    "predict_mass",
    "predict_interval",
    "predict_quantiles",
    "apply",
)


class OnDask:
    """What a forest can do with dask collections; with anything else it does what the ordinary one does."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None, **cluster: Any) -> Self:
        """Grow the trees where the rows are.

        The forest is the one that the ordinary estimator would grow from all rows on one machine, bit for bit, however
        they are partitioned.

        Parameters
        ----------
        X : dask array or data frame of shape (n_samples, n_features)
            Anything else is fitted as by the ordinary estimator.
        y, sample_weight : dask array or series of shape (n_samples,)
            With the partitions of X.
        client : distributed.Client or str, default=None
            Who runs the tasks, or the address of a scheduler; None is the current client or, without any, a local
            cluster for the time of the fit.
        gather_bytes : int, default=None
            Nodes, and tables, of at most this size are gathered to one task. A worker needs several times as much for
            each of its threads; None is an eighth of what a thread of the smallest worker may use beside libraries, or
            64 MiB where workers have no limit.
        sum_bytes : int, default=None
            What the sums of one batch of nodes may take here and in each task; None is a sixteenth of what such a
            thread may use, at most 64 MiB.
        patience : float, default=30
            Seconds without any worker after which to give up.

        Returns
        -------
        self

        Raises
        ------
        ClusterError
            When no worker is left, or a partition cannot be read or computed; it is named.
        """
        if not is_dask(X):
            return super().fit(X, y, sample_weight, **cluster)  # type: ignore[misc, no-any-return]
        return self.fit_partitions(partitions_from(X, y, sample_weight), **cluster)

    def fit_parquet(
        self,
        path: Any,
        target: str,
        *,
        weight: str | None = None,
        options: dict[str, Any] | None = None,
        **cluster: Any,
    ) -> Self:
        """Grow the trees from Parquet files, which workers read where they are.

        Parameters
        ----------
        path : str or list of str
            Files, a folder or a pattern, on any file system that fsspec knows.
        target : str
            The column to be predicted; all other columns are features.
        weight : str, default=None
            The column of sample weights.
        options : dict, default=None
            Further options of ``dask.dataframe.read_parquet``, such as ``columns``.
        **cluster
            ``client``, ``gather_bytes``, ``sum_bytes`` and ``patience`` as in `fit`.

        Returns
        -------
        self
        """
        return self.fit_partitions(open_parquet(path, target, weight, **(options or {})), **cluster)

    def evidence(self, X: Any) -> Any:
        """The leaves the samples reach, to be combined under any rule; of a dask collection, lazily.

        Parameters
        ----------
        X : dask array or data frame of shape (n_samples, n_features)
            Anything else is answered as by the ordinary estimator.

        Returns
        -------
        LazyEvidence or Evidence
        """
        return LazyEvidence(self.to_local(), X) if is_dask(X) else self.to_local().evidence(X)

    def to_local(self) -> Any:
        """The ordinary estimator with the same parameters and the same trees."""
        kind: Any = _ordinary(type(self))
        made = kind.__new__(kind)
        made.__dict__.update(self.__dict__)
        return made

    def fit_partitions(
        self,
        partitions: Partitions,
        *,
        client: Any = None,
        gather_bytes: int | None = None,
        sum_bytes: int | None = None,
        patience: float = PATIENCE,
    ) -> Self:
        """Check, read, encode, grow, remember: what `fit` and `fit_parquet` do with the partitions they have found."""
        regression = isinstance(self, TreesRegressor)
        self._refuse_what_needs_the_rows()
        if regression:
            self._check_parameters()  # type: ignore[attr-defined]
        else:
            check_switches(self)
            check_opinion(self)
        n_trees = 1 if getattr(self, "_one_tree", False) else most_trees(self.n_estimators)  # type: ignore[attr-defined]
        with (
            client_for(client) as found,
            progress_on_cluster(getattr(self, "verbose", 0), n_trees) as show,
            Runner(found, patience) as run,
        ):
            show(0, f"reading {len(partitions)} partitions")
            training = read_on_cluster(run, self, partitions, regression=regression)
            usual = limits_for(run.workers())
            limits = Limits(
                usual.gather_bytes if gather_bytes is None else gather_bytes,
                usual.sum_bytes if sum_bytes is None else sum_bytes,
                usual.piece_bytes,
            )
            table = (training.plan, training.parts, training.part_rows)
            forest = grow_on_cluster(run, *table, n_trees, limits, show)
        forest = self._prune(forest, training.bins, training)  # type: ignore[attr-defined]
        judged: dict[str, Any] = {}
        if getattr(self, "_can_be_added_to", regression):
            judged["_origins"] = (training.origin(forest.n_trees, 0),)
        self._remember(training, training.bins, forest, judged)  # type: ignore[attr-defined]
        return self

    def _refuse_what_needs_the_rows(self) -> None:
        """Refuse parameters that are settled by looking at training rows once more, which are not here."""
        words = {
            "n_estimators": "auto",
            "max_features": "oob",
            "caution": "auto",
        }
        for name, word in words.items():
            if isinstance(value := getattr(self, name, None), str) and value == word:
                raise ValueError(
                    f"{name} must be given on Dask, got {word!r}: the rows that would decide it are not here"
                )
        for name in ("oob_score", "warm_start", "leaf_rows"):
            if getattr(self, name, False):
                raise ValueError(
                    f"{name} must be False on Dask, got {getattr(self, name)!r}: it needs the training rows"
                )
        criterion = getattr(self, "criterion", None)
        if getattr(criterion, "is_settled", True) is False:
            raise ValueError(f"criterion must leave nothing open on Dask, got {criterion!r}; give it numbers")
        decision = getattr(self, "decision", None)
        if decision is not None and resolve_decision(decision).needs_calibration:
            raise ValueError(f"decision must need no calibration on Dask, got {decision!r}: it needs the training rows")
        if getattr(getattr(self, "_rule", None), "needs_weights", False):
            raise ValueError("rule must need no tree weights on Dask: they are learned from the training rows")


def _lazy_method(name: str) -> Any:
    def method(self: Any, X: Any, *args: Any, **options: Any) -> Any:
        ordinary = getattr(super(_kind_on_dask(type(self)), self), name)
        return lazily(self.to_local(), name, X, *args, **options) if is_dask(X) else ordinary(X, *args, **options)

    method.__name__ = name
    return method


def _on_dask(kind: type) -> Any:
    """An ordinary estimator -> the same on Dask."""
    methods = {name: _lazy_method(name) for name in _LAZY if hasattr(kind, name)}
    for name, method in methods.items():
        method.__doc__ = getattr(kind, name).__doc__
        method.__qualname__ = f"{kind.__name__}.{name}"
    told = (
        f"`hedgerow.{kind.__name__}` on Dask: the same parameters, the same forest.\n\n    See that class, and `fit`."
    )
    contents = {"__doc__": told, "__module__": "hedgerow.dask", "_is_on_dask": True, **methods}
    return type(kind.__name__, (OnDask, kind), contents)


def _ordinary(kind: type) -> type:
    """A class on Dask, or derived from one -> the ordinary class."""
    found = _kind_on_dask(kind)
    return found.__mro__[found.__mro__.index(OnDask) + 1]


def _kind_on_dask(kind: type) -> type:
    return next(each for each in kind.__mro__ if "_is_on_dask" in each.__dict__)


DecisionTreeClassifier = _on_dask(local.DecisionTreeClassifier)
RandomForestClassifier = _on_dask(local.RandomForestClassifier)
ExtraTreesClassifier = _on_dask(local.ExtraTreesClassifier)
RandomDecisionTreesClassifier = _on_dask(local.RandomDecisionTreesClassifier)
DecisionTreeRegressor = _on_dask(local.DecisionTreeRegressor)
RandomForestRegressor = _on_dask(local.RandomForestRegressor)
ExtraTreesRegressor = _on_dask(local.ExtraTreesRegressor)
