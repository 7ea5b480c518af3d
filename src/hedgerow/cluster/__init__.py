"""Fits on a cluster: the forest that one machine would grow, bit for bit.

==============  =======================================================================================
`estimators`    fit of an estimator to partitions
`training`      partitions → parts, codes and targets on the workers
`forest`        parts → the forest; `part` has the rows of a partition, `piece` computes the contributions
                of some parts, and `top` grows the tops of trees from the sums over all pieces
`limits`        limits of memory; `memory` returns freed memory of workers
`dask_engine`   the engine for Dask; `partitions` reads dask collections and Parquet files, `lazy` predicts
                for them; `hedgerow.dask` has the public estimators
==============  =======================================================================================

The task of an estimator defines its target (`Task.distributed`), and `hedgerow.fit.distributed` the interface of
clusters. Only the modules of the last row import Dask. Another type of cluster needs another engine, in one file.
"""
