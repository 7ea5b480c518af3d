"""Errors: what can go wrong -> the exceptions hedgerow raises, all in one tree.

Wrong arguments raise Python's own ``ValueError`` and ``TypeError``, and an estimator that has not been fitted raises
scikit-learn's ``NotFittedError``, because callers expect these. Errors that only hedgerow has derive from
`HedgerowError`::

    HedgerowError
    ├── CheckpointError (also a ValueError)   a folder has no trees, damaged trees, or trees of another fit
    ├── ClusterError (also a RuntimeError)    a cluster has lost its workers, or cannot read or compute a partition
    ├── ModelFileError (also a ValueError)    a file is not a model, is damaged, or its version cannot be read
    └── SparseTargetError (also a ValueError and a TypeError)   y is a sparse matrix
"""

from __future__ import annotations


class HedgerowError(Exception):
    """Base of the errors that only hedgerow has."""


class CheckpointError(HedgerowError, ValueError):
    """A fit cannot continue from a folder: it has no trees, damaged trees, or trees of other data or parameters."""


class ModelFileError(HedgerowError, ValueError):
    """A file is not a hedgerow model, is damaged, or has a version that this hedgerow cannot read.

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


class SparseTargetError(HedgerowError, ValueError, TypeError):
    """y is a sparse matrix. scikit-learn's forests raise a ValueError for it, its trees a TypeError."""


class ClusterError(HedgerowError, RuntimeError):
    """A fit on a cluster cannot continue: no worker is left, or a partition cannot be read or computed."""
