"""Cluster: a table on many machines -> the forest that one machine would grow from it, bit for bit.

==============  =======================================================================================
`estimators`    an estimator, partitions and an engine -> the estimator, fitted
`training`      partitions -> parts, codes and targets on the workers; `describe` finds schema and cuts,
                `rows` reads a partition, and `target`, `classes` and `numbers` read what is predicted
`forest`        parts -> the forest; `part` is codes as they are read, `piece` computes what some parts
                add, and `top` asks all pieces for what the core must know to split the tops of trees
`engine`        what a cluster must be able to do; `limits` says how much is put in one place
`dask_engine`   an engine for Dask; `partitions` reads dask collections and Parquet files, `lazy` predicts
                for them; `hedgerow.dask` offers them to users
==============  =======================================================================================

Only the modules of the last row import Dask. Another kind of cluster needs another engine, in one file.
"""
