"""Lazy predictions for dask collections."""

from __future__ import annotations

from typing import Any

import numpy as np
from dask.delayed import delayed
from numpy.typing import NDArray

from hedgerow.cluster.limits import rows_from
from hedgerow.cluster.partitions import has_index, partitions_from
from hedgerow.fit.distributed import FAN_IN
from hedgerow.inference.predictor import predictor_of
from hedgerow.metrics.tally import add_tallies

#: Names of methods of the evidence of a model, not of the model itself.
_LEAVES, _COMBINE = "evidence.leaves", "evidence.combine"


def lazily(model: Any, method: str, X: Any, /, *args: Any, **options: Any) -> Any:
    """Apply a method of a fitted estimator to each partition of a dask collection.

    Parameters
    ----------
    model : fitted estimator
        Any fitted estimator of hedgerow; it need not have been fitted on Dask.
    method : str
        Name of a method, such as "predict_proba".
    X : dask array or data frame of shape (n_samples, n_features)
        Samples.
    *args, **options
        Other arguments of the method, also one named ``method``.

    Returns
    -------
    dask array, data frame or series
        A lazy result. For a data frame, it keeps the index and has one column per class or named result. Other results
        of several arrays, such as labels and sets with ``return_set=True``, are a tuple. Compute all of them in one
        ``dask.compute`` to read the samples once.

    Examples
    --------
    >>> import dask.array as da
    >>> from sklearn.datasets import load_iris
    >>> from hedgerow import RandomForestClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> forest = RandomForestClassifier(10, random_state=0).fit(X, y)
    >>> probability = lazily(forest, "predict_proba", da.from_array(X, chunks=(40, 4)))
    >>> probability
    dask.array<_of_block, shape=(150, 3), dtype=float64, chunksize=(40, 3), chunktype=numpy.ndarray>
    >>> bool((probability.compute() == forest.predict_proba(X)).all())
    True
    """
    summary = _Fields(model, method, args, tuple(sorted(options.items())))
    if has_index(X):
        return _frames(X, summary)
    X = X.rechunk({1: -1}) if X.numblocks[1] > 1 else X
    row = np.zeros((1, X.shape[1]), dtype=X.dtype if X.dtype.kind in "fiub" else np.float64)
    example = summary(row)
    if isinstance(example, tuple):
        parts = _blocks_of_parts(X, summary, [np.asarray(part) for part in example])
        return type(example)(*parts) if _has_names(example) else tuple(parts)
    return _blocks(X, summary, np.asarray(example))


class LazyEvidence:
    """Lazy evidence of the leaves that the rows of a dask collection reach.

    Parameters
    ----------
    model, X
        As in `lazily`.
    """

    def __init__(self, model: Any, X: Any) -> None:
        self.model, self.X = model, X

    @property
    def leaves(self) -> Any:
        """Number of the leaf reached within each tree, of shape (n, T)."""
        return lazily(self.model, _LEAVES, self.X)

    def combine(self, rule: Any = None, *, caution: float | None = None, prior: Any = None, weights: Any = None) -> Any:
        """Combine the evidence by a rule.

        Parameters
        ----------
        rule, caution, prior, weights
            As in ``forest.evidence(X).combine``.

        Returns
        -------
        dask array of shape (n, K, 3), or data frame of 3 K columns
            Lower probability, probability and upper probability of each class.
        """
        return lazily(self.model, _COMBINE, self.X, rule, caution=caution, prior=prior, weights=weights)


def evaluate(model: Any, X: Any, y: Any, *, coverage: float | None = None) -> Any:
    """Evaluate a model on a labelled dask collection.

    Parameters
    ----------
    model : fitted classifier or regressor
        Any fitted classifier or regressor of hedgerow; it need not have been fitted on Dask.
    X, y : dask array or data frame of shape (n_samples, n_features), dask array or series of shape (n_samples,)
        Samples and their classes or targets, with the same partitions.
    coverage : float or None, default=None
        Target coverage of the intervals of a regressor; None means 0.9.

    Returns
    -------
    Delayed
        ``.compute()`` returns the metrics of ``hedgerow evaluate`` as a dict. They are those of all rows together, not
        means over partitions.
    """
    model = model.to_local() if hasattr(model, "to_local") else model
    summary = delayed(model, pure=False)
    tallies = [delayed(_evaluate)(summary, coverage, *given) for given in partitions_from(X, y).each]
    while len(tallies) > 1:
        tallies = [delayed(add_tallies)(tallies[i : i + FAN_IN]) for i in range(0, len(tallies), FAN_IN)]
    return delayed(_figures)(tallies[0])


def _evaluate(model: Any, coverage: float | None, *given: Any) -> Any:
    """Return the tally of a partition; None if it has no rows."""
    rows = rows_from(*given)
    return predictor_of(model).tally(rows.X, rows.y, coverage) if len(rows.X) else None


def _figures(tally: Any) -> dict[str, Any]:
    if tally is None:
        raise ValueError("Found array with 0 sample(s) while a minimum of 1 is required")
    figures: dict[str, Any] = tally.figures()
    return figures


class _Fields:
    """A method of a model with its arguments, to be called on samples.

    The model is sent to each worker once.
    """

    def __init__(self, model: Any, method: str, args: tuple[Any, ...], options: tuple[tuple[str, Any], ...]) -> None:
        self.model, self.method, self.args, self.options = model, method, args, options

    def __call__(self, X: Any) -> Any:
        if self.method == _LEAVES:
            return self.model.evidence(X).leaves
        if self.method == _COMBINE:
            opinion = self.model.evidence(X).combine(*self.args, **dict(self.options))
            return np.stack([opinion.lower, opinion.probability, opinion.upper], axis=2)
        return getattr(self.model, self.method)(X, *self.args, **dict(self.options))


def _blocks(X: Any, summary: _Fields, example: NDArray[np.generic]) -> Any:
    """Return the lazy results for a dask array.

    The example is the result for one row.
    """
    rest = example.shape[1:]
    return X.map_blocks(
        _of_block,
        summary,
        example[:0],
        dtype=example.dtype,
        chunks=(X.chunks[0], *((size,) for size in rest)),
        new_axis=list(range(2, 1 + len(rest))) or None,
        drop_axis=None if rest else 1,
        meta=example[:0],
    )


def _of_block(X: NDArray[np.generic], summary: _Fields, nothing: NDArray[np.generic]) -> NDArray[np.generic]:
    """Return the result for a block of samples."""
    return np.asarray(summary(X)) if len(X) else nothing


def _blocks_of_parts(X: Any, summary: _Fields, examples: list[NDArray[np.generic]]) -> list[Any]:
    """Return a dask array for each part of a result.

    All parts of a block are computed once.
    """
    nothing = [example[:0] for example in examples]
    chunks = X.chunks[0]
    whole = X.map_blocks(
        _parts_of_block, summary, nothing, dtype=object, chunks=(chunks,), drop_axis=1, meta=np.empty(0, dtype=object)
    )
    return [
        whole.map_blocks(
            _part,
            number,
            dtype=example.dtype,
            chunks=(chunks, *((size,) for size in example.shape[1:])),
            new_axis=list(range(1, example.ndim)) or None,
            meta=example[:0],
        )
        for number, example in enumerate(examples)
    ]


def _parts_of_block(
    X: NDArray[np.generic], summary: _Fields, nothing: list[NDArray[np.generic]]
) -> list[NDArray[np.generic]]:
    """Return the parts of the result for a block of samples."""
    return [np.asarray(part) for part in summary(X)] if len(X) else nothing


def _part(parts: list[NDArray[np.generic]], number: int) -> NDArray[np.generic]:
    return parts[number]


def _frames(X: Any, summary: _Fields) -> Any:
    """Return a lazy data frame or series of results.

    Return a tuple of them if the result has parts.
    """
    row = _row_without_values(X._meta)
    tables = _tables(summary(row), summary, row.index)
    whole = X.map_partitions(_of_frame, summary, meta=_of_nothing(X._meta, summary))
    if not isinstance(tables, list):
        return whole
    ends = np.cumsum([1 if table.ndim == 1 else table.shape[1] for table in tables]).tolist()
    parts = []
    for table, last in zip(tables, ends, strict=True):
        if table.ndim == 1:
            parts.append(whole[last - 1].rename(table.name))
        else:
            places = range(last - table.shape[1], last)
            parts.append(whole[list(places)].rename(columns=dict(zip(places, table.columns, strict=True))))
    return tuple(parts)


def _of_frame(X: Any, summary: _Fields) -> Any:
    """Return the results for a partition with its index.

    Parts are in numbered columns.
    """
    import pandas as pd

    if len(X) == 0:
        return _of_nothing(X, summary)
    tables = _tables(summary(X), summary, X.index)
    return pd.concat(tables, axis=1, ignore_index=True) if isinstance(tables, list) else tables


def _tables(result: Any, summary: _Fields, index: Any) -> Any:
    """Convert a result to a data frame or series.

    Return a list of them if it has parts without names.
    """
    import pandas as pd

    if _has_names(result):
        return pd.DataFrame(dict(zip(result._fields, result, strict=True)), index=index)
    if isinstance(result, tuple):
        return [_tables(part, summary, index) for part in result]
    result = np.asarray(result)
    if result.ndim == 1:
        return pd.Series(result, index=index, name=summary.method.removeprefix("predict_"))
    return pd.DataFrame(result.reshape(len(result), -1), index=index, columns=_columns(summary, result))


def _has_names(result: Any) -> bool:
    """Return whether a result has named parts."""
    return isinstance(result, tuple) and hasattr(result, "_fields")


def _columns(summary: _Fields, result: NDArray[np.generic]) -> list[str]:
    """Return names for the columns of a result."""
    classes = [str(label) for label in getattr(summary.model, "classes_", [])]
    width = int(np.prod(result.shape[1:]))
    if result.ndim == 3 and len(classes) == result.shape[1]:
        sides = ("lower", "upper") if result.shape[2] == 2 else ("lower", "probability", "upper")
        return [f"{label} {side}" for label in classes for side in sides]
    if result.ndim == 2 and len(classes) == width and summary.method not in ("apply", _LEAVES):
        return classes
    if summary.method == "predict_bounds" and width == 2:
        return ["lower", "upper"]
    return [str(i) for i in range(width)]


def _of_nothing(X: Any, summary: _Fields) -> Any:
    """Return an empty result for an empty partition.

    Its columns are those of the result for a row of missing values.
    """
    result = _of_frame(_row_without_values(X), summary).iloc[:0]
    result.index = X.index
    return result


def _row_without_values(X: Any) -> Any:
    """Return a data frame with the columns of another and one row of missing values."""
    import pandas as pd

    return pd.DataFrame({name: pd.Series([None], dtype=object) for name in X.columns})
