"""Estimators for Dask, bitwise identical to those of one machine.

========================  =======================================================================
forests and trees         the names of `hedgerow`, with `fit` on dask collections and `fit_parquet`
`lazily`                  lazy results of any method of a fitted model for a dask collection
`evaluate`                metrics of a fitted model on a labelled dask collection
========================  =======================================================================
"""

from __future__ import annotations

from typing import Any, Self

try:
    import dask as _dask  # noqa: F401
    import distributed as _distributed  # noqa: F401
except ImportError as error:  # pragma: no cover
    raise ImportError(
        "hedgerow.dask requires dask and distributed. Install them with pip install 'dask[dataframe]' distributed."
    ) from error

from numpy.typing import ArrayLike

import hedgerow.estimators as local
from hedgerow.cluster.dask_engine import PATIENCE, DaskEngine, client_for
from hedgerow.cluster.estimators import fit_on_cluster
from hedgerow.cluster.lazy import LazyEvidence, evaluate, lazily
from hedgerow.cluster.partitions import Partitions, for_each_partition, is_dask, open_parquet, partitions_from
from hedgerow.errors import ClusterError
from hedgerow.table.schema import TableLike, TargetLike

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
    """Mixin with methods for dask collections.

    Other input goes to the ordinary estimator.
    """

    def fit(self, X: TableLike, y: TargetLike, sample_weight: ArrayLike | None = None, **cluster: Any) -> Self:
        """Fit to a dask collection; the rows stay on the workers.

        The forest is bitwise identical to that of the ordinary estimator on one machine, for any partitioning of the
        rows.

        Parameters
        ----------
        X : dask array or data frame of shape (n_samples, n_features)
            The training table. If it is not a dask collection, the ordinary estimator is fitted.
        y, sample_weight : dask array or series of shape (n_samples,)
            Targets and weights, with the same partitions as X.
        groups : dask array or series of shape (n_samples,), str or None, optional
            Groups of rows that belong together, or the name of a column of X, as in the ordinary estimator; without
            groups, nothing looks for dependent rows. This process gathers the group of each row, four bytes per row.
        client : distributed.Client or str, default=None
            Client that runs the tasks, or the address of a scheduler. None means the current client, or without one a
            local cluster for the duration of the fit.
        gather_bytes : int, default=None
            Maximum size of nodes and tables that are gathered in one task. A worker needs several times as much memory
            per thread. None means an eighth of the memory of a thread of the smallest worker, apart from libraries, or
            64 MiB if the memory of workers is not limited. Smaller nodes are gathered together, up to 16 MiB or this
            size.
        sum_bytes : int, default=None
            Maximum size of the sums of one batch of nodes, in this process and in each task. None means a sixteenth of
            the memory of a thread of the smallest worker, at most 64 MiB.
        patience : float, default=30
            Seconds without any worker after which the fit gives up.

        Returns
        -------
        self

        Raises
        ------
        ClusterError
            If no worker is left, or if a partition cannot be read or computed; the message names the partition.
        ValueError
            If a parameter is invalid or would be chosen on training rows, or for multi-output y.
        """
        if not is_dask(X):
            return super().fit(X, y, sample_weight, **cluster)  # type: ignore[misc, no-any-return]
        groups = cluster.pop("groups", None)
        return self.fit_partitions(partitions_from(X, y, sample_weight, groups), **cluster)

    def fit_parquet(
        self,
        path: Any,
        target: str,
        *,
        weight: str | None = None,
        groups: str | None = None,
        options: dict[str, Any] | None = None,
        **cluster: Any,
    ) -> Self:
        """Fit to Parquet files, which the workers read.

        Parameters
        ----------
        path : str or list of str
            Files, a folder or a pattern, on any file system that fsspec supports.
        target : str
            Column of the target; all other columns are features.
        weight : str, default=None
            Column of sample weights.
        groups : str, default=None
            Column with group labels of rows that belong together.
        options : dict, default=None
            Options of ``dask.dataframe.read_parquet``, such as ``columns``.
        **cluster
            ``client``, ``gather_bytes``, ``sum_bytes`` and ``patience`` as in `fit`.

        Returns
        -------
        self
        """
        return self.fit_partitions(open_parquet(path, target, weight, groups=groups, **(options or {})), **cluster)

    def evidence(self, X: TableLike) -> Any:
        """Return the evidence of the leaves that samples reach, lazily for Dask.

        Parameters
        ----------
        X : dask array or data frame of shape (n_samples, n_features)
            Samples. For other containers, the result is that of the ordinary estimator.

        Returns
        -------
        LazyEvidence or Evidence
        """
        return LazyEvidence(self.to_local(), X) if is_dask(X) else self.to_local().evidence(X)

    def to_local(self) -> Any:
        """Return the ordinary estimator with the same parameters and trees."""
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
        """Fit to partitions of `open_parquet`; the other parameters are those of `fit`."""
        limits = {"gather_bytes": gather_bytes, "sum_bytes": sum_bytes}
        engine = DaskEngine(client, patience)
        fit_on_cluster(self, partitions.each, engine, grouped=partitions.grouped, **limits)
        return self


def _lazy_method(name: str) -> Any:
    def method(self: Any, X: TableLike, *args: Any, **options: Any) -> Any:
        ordinary = getattr(super(_class_on_dask(type(self)), self), name)
        return lazily(self.to_local(), name, X, *args, **options) if is_dask(X) else ordinary(X, *args, **options)

    method.__name__ = name
    return method


def _on_dask(kind: type) -> Any:
    """Return the Dask version of an ordinary estimator."""
    methods = {name: _lazy_method(name) for name in _LAZY if hasattr(kind, name)}
    for name, method in methods.items():
        method.__doc__ = getattr(kind, name).__doc__
        method.__qualname__ = f"{kind.__name__}.{name}"
    about = f"`hedgerow.{kind.__name__}` for Dask.\n\n    Parameters and forest are the same; see that class and `fit`."
    contents = {"__doc__": about, "__module__": "hedgerow.dask", "_is_on_dask": True, **methods}
    return type(kind.__name__, (OnDask, kind), contents)


def _ordinary(kind: type) -> type:
    """Return the ordinary class of a Dask class or its subclass."""
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
