"""Dask: tables that lie on many machines -> the forests that one machine would grow from them, bit for bit.

========================  =======================================================================
forests and trees         the names of `hedgerow`, with `fit` on dask collections and `fit_parquet`
`lazily`                  any fitted model, a method and a dask collection -> its results, lazily
`evaluate`                any classifier and a dask collection -> how good its labels and sets are
========================  =======================================================================

One file per stage: `partitions` (collections -> partitions), `describe` (what partitions hold -> schema and cuts),
`training` (-> codes and labels on the workers), `part` (what one partition adds), `top` (-> the tops of trees),
`forest` (-> what lies below, gathered), `assemble` (-> trees, node for node), `run` (tasks, and their failures),
`limits` (memory -> what is put in one place), `sizes` (what travels -> its bytes).
"""

from __future__ import annotations

try:
    import dask as _dask  # noqa: F401
    import distributed as _distributed  # noqa: F401
except ImportError as error:  # pragma: no cover
    raise ImportError(
        "hedgerow.dask needs dask and distributed; install them with: pip install 'hedgerow[dask]'"
    ) from error

from hedgerow.cluster import sizes as _sizes  # noqa: F401
from hedgerow.cluster.estimators import (
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    RandomDecisionTreesClassifier,
    RandomForestClassifier,
    RandomForestRegressor,
)
from hedgerow.cluster.lazy import LazyEvidence, evaluate, lazily
from hedgerow.cluster.partitions import for_each_partition, open_parquet
from hedgerow.cluster.run import client_for
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
