"""Datasets: the name of a public data set -> its table, from a folder, from the cache, or downloaded.

=====================  =====================================================================================
`load_dataset`         name -> `Dataset`: features, labels, and facts about the data set
`find_dataset`         name -> its file, downloaded if necessary
`known_datasets`       all names
`describe_dataset`     name -> `DatasetInfo`: checksum, shape, classes, kinds of columns, origin
`take_rows`            some rows of an array or of an Arrow table
`cache_folder`         the folder for downloads
=====================  =====================================================================================

The package contains no data; `registry.json` has what is needed to find and check them.
"""

from hedgerow.datasets.files import cache_folder, find_dataset
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
