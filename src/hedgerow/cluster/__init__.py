"""Cluster: a table that lies on many machines -> the forest that one machine would grow from it, bit for bit.

==============  =======================================================================================
`estimators`    an estimator, partitions and an engine -> the estimator, fitted
`training`      partitions -> parts, codes and targets on the workers; `describe` finds schema and cuts,
                `rows` what a partition holds, and `target`, `classes` and `numbers` what is predicted
`forest`        parts -> the forest; `part` is what one part adds, and `top` asks all parts what the
                core must know to split the tops of trees
`engine`        what a cluster must be able to do; `limits` is how much it puts in one place
`dask_engine`   a Dask cluster that does it; `partitions` reads dask collections and Parquet files,
                `lazy` predicts for them, and `on_dask` is all that `hedgerow.dask` offers
==============  =======================================================================================

Only the modules of the last row import Dask. Another cluster is another engine, in one file.
"""
