"""Describe: a model file -> a summary; the header and the table of columns are read, the trees are not."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, BinaryIO

from hedgerow.errors import ModelFileError
from hedgerow.storage.container import FileContents, read_file
from hedgerow.storage.model import header_from, one_exception
from hedgerow.storage.outputs import checked_outputs, output_of
from hedgerow.storage.parameters import Decoder
from hedgerow.storage.tables import schema_from_arrays
from hedgerow.storage.values import Array, labels_from_arrays
from hedgerow.table import Schema
from hedgerow.util.disk import Path_


@dataclass(frozen=True)
class ModelFile:
    """A summary of a model file.

    Attributes
    ----------
    estimator : str
        The class of the model.
    format_version, hedgerow_version : str
        Version of the format, and of the hedgerow that wrote the file.
    schema : Schema
        The columns of the training table, with their categories.
    classes : ndarray (K,) or None
        The labels; None for a regressor.
    parameters : dict
        Those of the estimator; parameters that the file does not have are at their defaults.
    caution : float
        The caution in use; if the parameter is "auto", the one that was chosen.
    n_rows : int or None
        Training rows; None if trees were grown on different ones.
    n_trees, n_nodes, n_leaves, n_bytes : int
        The size of the model. The bytes are those of the arrays.
    n_outputs : int
        Columns of y. If there are several, classes and caution are those of the first.
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


def describe_file(path: Path_ | BinaryIO) -> ModelFile:
    """Read a summary of a model file, without its trees; a large file takes no longer than a small one.

    The summary has been checked, as in `hedgerow.load`; the trees have not.

    Parameters
    ----------
    path : str, path or open binary file
        A file that `hedgerow.save` has written.

    Returns
    -------
    ModelFile

    Raises
    ------
    ModelFileError
        If the file is not a model, is damaged, or has a newer major version of the format.

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
    contents = read_file(path)
    with one_exception():
        return _described(contents)


def _described(contents: FileContents) -> ModelFile:
    """Text and arrays -> the summary."""
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
        n_trees=len(contents.arrays["forest.node_start"]) - 1,
        n_nodes=starts[0],
        n_leaves=starts[1],
        n_bytes=sum(array.nbytes for array in contents.arrays.values()),
        n_outputs=n_outputs,
    )


def _last(arrays: dict[str, Array], name: str) -> int:
    """The last entry of an array of starts: the total number."""
    array = arrays.get(name)
    if array is None or array.ndim != 1 or array.dtype.kind not in "iu" or not len(array):
        raise ModelFileError(f"a model file must have an array {name!r} of whole numbers, got none")
    return int(array[-1])
