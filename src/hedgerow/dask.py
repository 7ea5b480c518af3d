"""On Dask: estimators that take dask collections -> the forests that one machine grows, and lazy predictions.

========================  =======================================================================
forests and trees         the names of `hedgerow`, with `fit` on dask collections and `fit_parquet`
`lazily`                  any fitted model, a method and a dask collection -> lazy results
`evaluate`                any fitted model and a dask collection -> how good its answers are
========================  =======================================================================
"""

from __future__ import annotations

from typing import Any, Self

try:
    import dask as _dask  # noqa: F401
    import distributed as _distributed  # noqa: F401
except ImportError as error:  # pragma: no cover
    raise ImportError(
        "hedgerow.dask needs dask and distributed; install them with: pip install 'hedgerow[dask]'"
    ) from error

import hedgerow.estimators as local
from hedgerow.cluster.dask_engine import PATIENCE, DaskEngine, client_for
from hedgerow.cluster.estimators import fit_on_cluster
from hedgerow.cluster.lazy import LazyEvidence, evaluate, lazily
from hedgerow.cluster.partitions import Partitions, for_each_partition, is_dask, open_parquet, partitions_from
from hedgerow.errors import ClusterError

__all__ = [
    "ClusterError",
    "DecisionTreeClassifier",
    "DecisionTreeRegressor",
    "ExtraTreesClassifier",
    "ExtraTreesRegressor",
    "LazyEvidence",
    "RandomDecisionTreesClassifier",
    "RandomForestClassifier",
    "RandomForestRegressor",
    "client_for",
    "evaluate",
    "for_each_partition",
    "lazily",
    "open_parquet",
]

_LAZY = (
    "predict",
    "predict_proba",
    "predict_log_proba",
    "predict_confidence",
    "predict_set",
    "predict_bounds",
    "predict_uncertainty",
    "predict_mass",
    "predict_interval",
    "predict_quantiles",
    "apply",
)


class OnDask:
    """The methods of a forest for dask collections; with other input they do what those of the ordinary forest do."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None, **cluster: Any) -> Self:
        """Fit to a dask collection; the rows stay on the workers.

        The forest is the same, bit for bit, as the ordinary estimator would grow from all rows on one machine. It does
        not depend on how the rows are partitioned.

        Parameters
        ----------
        X : dask array or data frame of shape (n_samples, n_features)
            The training table. If it is not a dask collection, the ordinary estimator is fitted.
        y, sample_weight : dask array or series of shape (n_samples,)
            Targets and weights, with the same partitions as X.
        client : distributed.Client or str, default=None
            The client that runs the tasks, or the address of a scheduler. None means the current client, or a local
            cluster for the time of the fit if there is no client.
        gather_bytes : int, default=None
            Nodes and tables of at most this size are gathered in one task. A worker needs several times as much memory
            for each of its threads. None means an eighth of the memory that a thread of the smallest worker may use,
            apart from libraries, or 64 MiB if the memory of workers is not limited. Nodes below that are gathered
            together, up to 16 MiB or this size.
        sum_bytes : int, default=None
            Largest size of the sums of one batch of nodes, in this process and in each task. None means a sixteenth of
            the memory that a thread of the smallest worker may use, at most 64 MiB.
        patience : float, default=30
            Give up after this many seconds without any worker.

        Returns
        -------
        self

        Raises
        ------
        ClusterError
            If no worker is left, or if a partition cannot be read or computed; the message names the partition.
        """
        if not is_dask(X):
            return super().fit(X, y, sample_weight, **cluster)  # type: ignore[misc, no-any-return]
        if cluster.pop("groups", None) is not None:
            raise ValueError("fit does not support groups for dask collections. Fit in memory, or without groups.")
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
        """Fit to Parquet files, which the workers read themselves.

        Parameters
        ----------
        path : str or list of str
            Files, a folder or a pattern, on any file system that fsspec supports.
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
        """The leaves that samples reach; any rule can combine them. For a dask collection nothing is computed yet.

        Parameters
        ----------
        X : dask array or data frame of shape (n_samples, n_features)
            Samples. If they are not a dask collection, the result is that of the ordinary estimator.

        Returns
        -------
        LazyEvidence or Evidence
        """
        return LazyEvidence(self.to_local(), X) if is_dask(X) else self.to_local().evidence(X)

    def to_local(self) -> Any:
        """The ordinary estimator with the same parameters and the same trees."""
        kind: Any = _ordinary(type(self))
        made = kind.__new__(kind)
        for name, value in vars(self).items():
            setattr(made, name, value)
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
        """Fit to partitions, which `fit` and `fit_parquet` have found; the other parameters are those of `fit`."""
        limits = {"gather_bytes": gather_bytes, "sum_bytes": sum_bytes}
        fit_on_cluster(self, partitions.each, DaskEngine(client, patience), **limits)
        return self


def _lazy_method(name: str) -> Any:
    def method(self: Any, X: Any, *args: Any, **options: Any) -> Any:
        ordinary = getattr(super(_class_on_dask(type(self)), self), name)
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
    found = _class_on_dask(kind)
    return found.__mro__[found.__mro__.index(OnDask) + 1]


def _class_on_dask(kind: type) -> type:
    return next(each for each in kind.__mro__ if "_is_on_dask" in each.__dict__)


DecisionTreeClassifier = _on_dask(local.DecisionTreeClassifier)
RandomForestClassifier = _on_dask(local.RandomForestClassifier)
ExtraTreesClassifier = _on_dask(local.ExtraTreesClassifier)
RandomDecisionTreesClassifier = _on_dask(local.RandomDecisionTreesClassifier)
DecisionTreeRegressor = _on_dask(local.DecisionTreeRegressor)
RandomForestRegressor = _on_dask(local.RandomForestRegressor)
ExtraTreesRegressor = _on_dask(local.ExtraTreesRegressor)
