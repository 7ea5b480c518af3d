"""Errors: what can go wrong -> the exceptions hedgerow raises, all in one tree.

Wrong arguments raise Python's own ``ValueError`` and ``TypeError``, and an estimator that has not been fitted
scikit-learn's ``NotFittedError``, because that is what their callers look for. What is peculiar to hedgerow derives
from `HedgerowError`::

    HedgerowError
    ├── CheckpointError (also a ValueError)   a folder holds no trees, damaged ones, or those of another fit
    ├── ClusterError (also a RuntimeError)    a cluster has lost its workers, or cannot read or compute a partition
    └── ModelFileError (also a ValueError)    a file is no model, is damaged, or is of a version that cannot be read
"""

from __future__ import annotations


class HedgerowError(Exception):
    """Whatever is peculiar to hedgerow."""


class CheckpointError(HedgerowError, ValueError):
    """A folder cannot be gone on with: it holds no trees, damaged ones, or those of other data or parameters."""


class ModelFileError(HedgerowError, ValueError):
    """A file is no hedgerow model, is damaged, or is of a version that this hedgerow cannot read.

    Examples
    --------
    >>> import io
    >>> import hedgerow
    >>> try:
    ...     hedgerow.load(io.BytesIO(b"no model"))
    ... except hedgerow.ModelFileError as error:
    ...     print(error)
    a model file must have a header of 8 bytes or more, got a file of 8 bytes; was it cut off?
    """


class ClusterError(HedgerowError, RuntimeError):
    """A fit on a cluster cannot go on: no worker is left, or one of the partitions cannot be read or computed."""
