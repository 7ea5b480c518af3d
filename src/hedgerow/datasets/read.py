"""Features and labels of data sets."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from hedgerow.datasets.fetch import find_dataset
from hedgerow.datasets.registry import DatasetError, DatasetInfo, describe_dataset

if TYPE_CHECKING:
    import pyarrow


@dataclass(frozen=True, eq=False)
class Dataset:
    """Features, labels and metadata of a data set.

    Attributes
    ----------
    X : pyarrow.Table (n, p)
        Numbers, and categories as dictionary columns; missing values are null. Every estimator accepts such a table.
    y : ndarray (n,)
        Labels as text, or numbers for regression.
    info : DatasetInfo
    """

    X: pyarrow.Table
    y: NDArray[Any]
    info: DatasetInfo

    def as_floats(self) -> NDArray[np.float64]:
        """Return features (n, p) as floats; raise if a column is categorical."""
        if self.info.nominal:
            raise DatasetError(
                f"{self.info.name}: as_floats requires numeric columns, got {self.info.nominal[0]!r}. Use X."
            )
        columns = [column.to_numpy().astype(np.float64) for column in self.X.itercolumns()]
        return np.ascontiguousarray(np.stack(columns, axis=1))

    def is_positive(self) -> NDArray[np.int64]:
        """Return 1 for rows of the positive class of a binary data set, else 0, (n,)."""
        return np.asarray(self.y == self.info.positive, dtype=np.int64)


def load_dataset(name: str, *, data: str | Path | None = None, download: bool = True) -> Dataset:
    """Load a data set.

    Parameters
    ----------
    name : str
        One of `known_datasets`.
    data : path, default=None
        Folder of prepared files. By default the folder in the environment variable ``HEDGEROW_DATA``, then the cache.
    download : bool, default=True
        Whether to download a data set that is in none of these folders.

    Returns
    -------
    Dataset
    """
    info = describe_dataset(name)
    table = _read(find_dataset(name, data=data, download=download), info)
    labels = table.column("target").to_numpy(zero_copy_only=False)
    X = table.drop_columns("target")
    label_type = np.str_ if info.task == "classification" else np.float64
    dataset = Dataset(X, labels.astype(label_type), info)
    _check(dataset)
    return dataset


def take_rows(X: Any, chosen: NDArray[np.int64]) -> Any:
    """Take rows of an array or of an Arrow table.

    Parameters
    ----------
    X : ndarray or pyarrow.Table (n, p)
    chosen : (m,) int
        Row numbers.

    Returns
    -------
    ndarray or pyarrow.Table (m, p), as X

    Examples
    --------
    >>> take_rows(np.eye(3), np.array([2, 0]))
    array([[0., 0., 1.],
           [1., 0., 0.]])
    """
    return X[chosen] if isinstance(X, np.ndarray) else X.take(chosen)


def _read(path: Path, info: DatasetInfo) -> pyarrow.Table:
    """Read a prepared file as a table with typed columns and its target."""
    try:
        import pyarrow as pa
        from pyarrow import csv, parquet
    except ImportError:
        raise DatasetError("data sets require pyarrow. Install it with pip install pyarrow.") from None
    text = {*info.nominal, "target"} if info.task == "classification" else set(info.nominal)
    if path.suffix == ".parquet":
        table = parquet.read_table(path)
    else:
        options = csv.ConvertOptions(
            column_types=dict.fromkeys(text, pa.string()), null_values=[""], strings_can_be_null=True
        )
        table = csv.read_csv(path, convert_options=options)
    columns = []
    for column_name in table.column_names:
        column = table.column(column_name)
        if column_name in info.nominal:
            column = column.cast(pa.string()).dictionary_encode().combine_chunks()
        elif column_name == "target" and info.task == "classification":
            column = column.cast(pa.string())
        else:
            column = column.cast(pa.float64())
        columns.append(column)
    return pa.table(columns, names=table.column_names)


def _check(dataset: Dataset) -> None:
    """Raise if a table does not match the registry."""
    info = dataset.info
    shape = (dataset.X.num_rows, dataset.X.num_columns)
    if shape != (info.rows, info.features):
        raise DatasetError(
            f"{info.name}: expected {info.rows} rows and {info.features} features, got {shape}. Delete the file."
        )
    if info.task == "classification":
        labels, counts = np.unique(dataset.y, return_counts=True)
        found = dict(zip(labels.tolist(), counts.tolist(), strict=True))
        if found != info.classes:
            raise DatasetError(f"{info.name}: expected classes {info.classes}, got {found}. Delete the file.")
