"""Cluster: a table on many machines -> the forest that one machine would grow from it, bit for bit.

==============  =======================================================================================
`estimators`    an estimator, partitions and an engine -> the estimator, fitted
`training`      partitions -> parts, codes and targets on the workers
`forest`        parts -> the forest; `part` is codes as they are read, `piece` computes what some parts
                add, and `top` asks all pieces for what the core must know to split the tops of trees
`limits`        how many bytes are put in one place; `memory`, that of workers
`dask_engine`   an engine for Dask; `partitions` reads dask collections and Parquet files, `lazy` predicts
                for them; `hedgerow.dask` offers them to users
==============  =======================================================================================

What is predicted is known to the task (`Task.distributed`), what a cluster can do to `hedgerow.fit.engine`. Only the
modules of the last row import Dask. Another kind of cluster needs another engine, in one file.
"""
