"""Describe: a model file -> what it says of itself; header and table are read, trees are not."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, BinaryIO

from hedgerow.errors import ModelFileError
from hedgerow.exchange.files.container import Contents, Path_, read_file
from hedgerow.exchange.files.model import header_from, one_exception
from hedgerow.exchange.files.parameters import Decoder
from hedgerow.exchange.files.tables import schema_from_arrays
from hedgerow.exchange.files.values import Array, labels_from_arrays
from hedgerow.exchange.named import estimator_named
from hedgerow.table import Schema


@dataclass(frozen=True)
class ModelFile:
    """What a model file says of itself.

    Attributes
    ----------
    estimator : str
        The class of the model.
    format_version, hedgerow_version : str
        Of the file, and of the hedgerow that wrote it.
    schema : Schema
        The columns of the training table, with their categories.
    classes : ndarray (K,) or None
        The labels; None for a regressor.
    parameters : dict
        Those of the estimator; what the file does not say has the value it has by default.
    caution : float
        The caution in force, also where the parameter is "auto".
    n_rows : int or None
        Training rows; None where trees were grown on different ones.
    n_trees, n_nodes, n_leaves, n_bytes : int
        How large it is. The bytes are those of the arrays.
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


def describe_file(path: Path_ | BinaryIO) -> ModelFile:
    """Read what a model file says of itself, without its trees: a large file takes no longer than a small one.

    What is returned has been checked, as in `hedgerow.load`; that the trees are sound has not.

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
        When the file is no model, is damaged, or is of a newer major version of the format.

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


def _described(contents: Contents) -> ModelFile:
    """Text and arrays -> what they say."""
    name, given, _ = header_from(contents.metadata)
    arrays = dict(contents.arrays)
    classes = labels_from_arrays("classes", given["classes"], arrays) if "classes" in given else None
    decoder, kind = Decoder(arrays, 1 if classes is None else len(classes)), estimator_named(name)
    parameters = kind(**decoder.parameters(given["parameters"], kind)).get_params(deep=False)
    bag, fitted = given["bag"], given.get("fitted", {})
    starts = [_last(arrays, f"forest.{each}_start") for each in ("node", "leaf")]
    caution = parameters.get("caution")
    if isinstance(caution, str):
        caution = fitted.get("caution_")
    return ModelFile(
        estimator=name,
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
    )


def _last(arrays: dict[str, Array], name: str) -> int:
    """The last number of an array: where all that it counts ends."""
    array = arrays.get(name)
    if array is None or array.ndim != 1 or array.dtype.kind not in "iu" or not len(array):
        raise ModelFileError(f"a model file must have the array {name!r} of whole numbers, got none")
    return int(array[-1])
