"""Summaries of model files, without reading their trees."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, BinaryIO

from hedgerow.errors import ModelFileError
from hedgerow.storage.container import FileContents, read_file
from hedgerow.storage.model import errors_naming, header_from, one_exception
from hedgerow.storage.outputs import checked_outputs, output_of
from hedgerow.storage.parameters import Decoder
from hedgerow.storage.tables import schema_from_arrays
from hedgerow.storage.values import Array, labels_from_arrays
from hedgerow.table import Schema
from hedgerow.util.disk import Path_


@dataclass(frozen=True)
class ModelFile:
    """Summary of a model file.

    Attributes
    ----------
    estimator : str
        Class of the model.
    format_version, hedgerow_version : str
        Version of the format, and of the hedgerow that wrote the file.
    schema : Schema
        Columns of the training table, with their categories.
    classes : ndarray (K,) or None
        Labels; None for a regressor.
    parameters : dict
        Parameters of the estimator; those that the file lacks have their defaults.
    caution : float
        Caution in use; if the parameter is "auto", the chosen one.
    n_rows : int or None
        Number of training rows; None if trees were grown on different ones.
    n_trees, n_nodes, n_leaves, n_bytes : int
        Size of the model. The bytes are those of the arrays.
    n_outputs : int
        Columns of y. Classes and caution of a multi-output model are those of the first.
    n_groups : int
        Number of groups of training rows; 0 without groups.
    """

    estimator: str
    format_version: str
    hedgerow_version: str
    schema: Schema
    classes: Array | None
    parameters: dict[str, Any]
    caution: float | None
    n_rows: int | None
    n_trees: int
    n_nodes: int
    n_leaves: int
    n_bytes: int
    n_outputs: int = 1
    n_groups: int = 0


def describe_file(path: Path_ | BinaryIO) -> ModelFile:
    """Read a summary of a model file; the time does not depend on its size.

    The summary is checked as in `hedgerow.load`; the trees are not.

    Parameters
    ----------
    path : str, path or open binary file
        File written by `hedgerow.save`.

    Returns
    -------
    ModelFile

    Raises
    ------
    ModelFileError
        If the file is not a model, is corrupt, or has a newer major version of the format.

    Examples
    --------
    >>> import io
    >>> import hedgerow
    >>> file = io.BytesIO()
    >>> hedgerow.save(hedgerow.RandomForestClassifier(3, random_state=0).fit([[1.0], [2.0]], ["a", "b"]), file)
    >>> _ = file.seek(0)
    >>> about = describe_file(file)
    >>> about.estimator, about.n_trees, about.classes.tolist(), about.schema
    ('RandomForestClassifier', 3, ['a', 'b'], Schema(1 features, 0 nominal, from array))
    """
    with errors_naming(path):
        contents = read_file(path)
        with one_exception():
            return _described(contents)


def _described(contents: FileContents) -> ModelFile:
    """Return the summary of the contents of a file."""
    kind, given, _ = header_from(contents.metadata)
    arrays, n_outputs = dict(contents.arrays), 1
    if "outputs" in given:
        n_outputs = len(checked_outputs(given))
        given, arrays = output_of(given, arrays, 0)
    classes = labels_from_arrays("classes", given["classes"], arrays) if "classes" in given else None
    decoder = Decoder(arrays, 1 if classes is None else len(classes))
    parameters = decoder.estimator(given["parameters"], kind).get_params(deep=False)
    bag, fitted = given["bag"], given.get("fitted", {})
    starts = [_last(arrays, f"forest.{each}_start") for each in ("node", "leaf")]
    caution = parameters.get("caution")
    if isinstance(caution, str):
        caution = fitted.get("caution_")
    return ModelFile(
        estimator=kind.__name__,
        format_version=contents.metadata["format_version"],
        hedgerow_version=contents.metadata.get("hedgerow_version", "unknown"),
        schema=schema_from_arrays(given["table"], arrays),
        classes=classes,
        parameters=parameters,
        caution=caution if isinstance(caution, int | float) else None,
        n_rows=bag.get("n_rows") if isinstance(bag, dict) else None,
        n_groups=bag.get("n_groups", 0) if isinstance(bag, dict) else 0,
        n_trees=len(contents.arrays["forest.node_start"]) - 1,
        n_nodes=starts[0],
        n_leaves=starts[1],
        n_bytes=sum(array.nbytes for array in contents.arrays.values()),
        n_outputs=n_outputs,
    )


def _last(arrays: dict[str, Array], name: str) -> int:
    """Return the last entry of an array of starts, the total number."""
    array = arrays.get(name)
    if array is None or array.ndim != 1 or array.dtype.kind not in "iu" or not len(array):
        raise ModelFileError(f"missing or malformed array {name!r}.")
    return int(array[-1])
