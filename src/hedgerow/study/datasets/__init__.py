"""Datasets: the name of a public data set -> its table, found in a folder, in the cache, or downloaded.

=====================  =====================================================================================
`load_dataset`         name -> `Dataset`: features, labels, and what is known of the set
`find_dataset`         name -> the file it lies in, downloaded if need be
`known_datasets`       the names
`describe_dataset`     name -> `About`: checksum, shape, classes, kinds of columns, where it comes from
`take_rows`            some rows of a table of either kind
`cache_folder`         where downloads are kept
=====================  =====================================================================================

No data are part of the package; `registry.json` holds what is needed to recognise them.
"""

from hedgerow.study.datasets.files import cache_folder, find_dataset
from hedgerow.study.datasets.read import Dataset, load_dataset, take_rows
from hedgerow.study.datasets.registry import About, DatasetError, UnreachableError, describe_dataset, known_datasets

__all__ = [
    "About",
    "Dataset",
    "DatasetError",
    "UnreachableError",
    "cache_folder",
    "describe_dataset",
    "find_dataset",
    "known_datasets",
    "load_dataset",
    "take_rows",
]
