"""Public data sets, from a folder, from the cache, or downloaded.

=====================  =====================================================================================
`load_dataset`         `Dataset` with features, labels and metadata
`find_dataset`         file of a data set, downloaded if necessary
`known_datasets`       names of all data sets
`describe_dataset`     `DatasetInfo` with checksum, shape, classes, types of columns and origin
`take_rows`            some rows of an array or of an Arrow table
`cache_folder`         folder for downloads
=====================  =====================================================================================

The package contains no data; `registry.json` has the information to find and check them.
"""

from hedgerow.datasets.fetch import cache_folder, find_dataset
from hedgerow.datasets.read import Dataset, load_dataset, take_rows
from hedgerow.datasets.registry import DatasetError, DatasetInfo, UnreachableError, describe_dataset, known_datasets

__all__ = [
    "Dataset",
    "DatasetError",
    "DatasetInfo",
    "UnreachableError",
    "cache_folder",
    "describe_dataset",
    "find_dataset",
    "known_datasets",
    "load_dataset",
    "take_rows",
]
