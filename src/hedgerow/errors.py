"""Exceptions of hedgerow, all in one hierarchy.

Wrong arguments raise Python's own ``ValueError`` and ``TypeError``, and an estimator that has not been fitted raises
scikit-learn's ``NotFittedError``, because callers expect these. Errors specific to hedgerow derive from
`HedgerowError`::

    HedgerowError
    ├── CheckpointError (also a ValueError)   a folder has no trees, damaged trees, or trees of another fit
    ├── ClusterError (also a RuntimeError)    a cluster has lost its workers, or cannot read or compute a partition
    ├── ModelFileError (also a ValueError)    a file is not a model, is damaged, or has an unsupported version
    └── SparseTargetError (also a ValueError and a TypeError)   y is a sparse matrix

`DependentRowsWarning` is a ``UserWarning``.
"""

from __future__ import annotations

from collections.abc import Sequence


class HedgerowError(Exception):
    """Base class of errors specific to hedgerow."""


class CheckpointError(HedgerowError, ValueError):
    """A checkpoint folder has no trees, damaged trees, or trees of another fit."""


class ModelFileError(HedgerowError, ValueError):
    """A file is not a hedgerow model, is damaged, or has an unsupported version.

    Examples
    --------
    >>> import io
    >>> import hedgerow
    >>> try:
    ...     hedgerow.load(io.BytesIO(b"no model"))
    ... except hedgerow.ModelFileError as error:
    ...     print(error)
    model file: truncated, expected at least 16 bytes, found 8.
    """


class SparseTargetError(HedgerowError, ValueError, TypeError):
    """y is a sparse matrix; a ValueError and a TypeError, as in scikit-learn."""


class ClusterError(HedgerowError, RuntimeError):
    """A cluster has no worker left, or cannot read or compute a partition."""


class DependentRowsWarning(UserWarning):
    """Training rows are too alike to be independent, and `fit` was not given their groups.

    Pass ``groups`` to `fit`; ``groups=None`` says that rows are independent.

    Parameters
    ----------
    findings : sequence of str
        The reasons for the warning.
    column : str or None
        A column that seems to hold the groups.

    Examples
    --------
    >>> import warnings
    >>> import numpy as np
    >>> import hedgerow
    >>> X = np.random.default_rng(0).normal(size=(100, 5)).repeat(3, axis=0)
    >>> with warnings.catch_warnings(record=True, action="always") as caught:
    ...     forest = hedgerow.RandomForestClassifier(10).fit(X, X[:, 0] > 0)
    >>> print(caught[0].message.findings[1])
    300 of 300 rows equal another row in every column
    """

    def __init__(self, findings: Sequence[str], column: str | None = None) -> None:
        self.findings = tuple(findings)
        self.column = column
        super().__init__(self.findings, column)

    def __str__(self) -> str:
        given = "their groups" if self.column is None else f"groups={self.column!r}"
        return (
            f"Rows do not seem to be independent: {'; '.join(self.findings)}. If some belong together, such as the"
            f" visits of a patient, out-of-bag results, calibration and guarantees are too optimistic: pass {given} to"
            " fit. If all are independent, pass groups=None."
        )
