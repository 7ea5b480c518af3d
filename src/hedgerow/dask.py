"""A door to `hedgerow.cluster.on_dask`."""

from hedgerow.cluster.on_dask import *  # noqa: F403
from hedgerow.cluster.on_dask import __all__ as __all__
