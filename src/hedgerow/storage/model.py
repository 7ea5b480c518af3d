"""`save`, `load` and `describe_file`."""

from __future__ import annotations

import os
import re
import reprlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, BinaryIO, TypeAlias

import numpy as np
from sklearn.utils.validation import check_is_fitted

from hedgerow.errors import ModelFileError
from hedgerow.forest.nodes import MOST_WITH_BITS
from hedgerow.inference.fitted import Fitted, fitted_of
from hedgerow.inference.leakage import keep_row_sketch
from hedgerow.inference.novelty import keep_novelty
from hedgerow.params.table import TreeEstimator
from hedgerow.storage.container import FileContents, dump_json, parse_object, read_file, too_large, write_file
from hedgerow.storage.parameters import Decoder
from hedgerow.storage.tables import schema_from_arrays
from hedgerow.storage.values import Arrays, labels_from_arrays, public_estimators
from hedgerow.table import Schema
from hedgerow.table.schema import Array
from hedgerow.util.disk import Path_

#: Newest format. A higher minor number adds data that older versions can ignore, a higher major number data that they
#: cannot: 2 adds splits that list their categories. Models are written in the lowest major version that supports them.
MAJOR, MINOR = 2, 0
FORMAT = "hedgerow-model"


def save(model: Any, path: Path_ | BinaryIO) -> None:
    """Save a fitted estimator to a file that contains only data, no code.

    The file is renamed into place when complete, which does not disturb readers of an older file at the same path.
    Results that the current parameters need from the training rows (caution, tree weights, calibration) are computed
    first. The rows themselves are not saved, so a loaded model has no ``oob_evidence_`` and no ``tune``.

    Parameters
    ----------
    model : fitted estimator of hedgerow
        Its parameters must be data, registered rules, or decisions of hedgerow.
    path : str, path or open binary file
        File to write, with any suffix; ``.hedge`` is usual.

    Raises
    ------
    TypeError
        If the model is not an estimator of hedgerow.
    ValueError
        If a parameter is not data, such as a function or a random generator.

    See Also
    --------
    load

    Examples
    --------
    >>> import io
    >>> import hedgerow
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> forest = hedgerow.RandomForestClassifier(10, random_state=0).fit(X, y)
    >>> file = io.BytesIO()
    >>> hedgerow.save(forest, file)
    >>> _ = file.seek(0)
    >>> (hedgerow.load(file).predict_bounds(X) == forest.predict_bounds(X)).all()
    np.True_
    """
    from hedgerow import __version__

    _check_path(path, "write")
    if hasattr(model, "to_local"):  # fitted on a cluster: save the ordinary estimator
        model = model.to_local()
    name, known = type(model).__name__, public_estimators()
    if known.get(name) is not type(model):
        raise TypeError(
            f"model must be one of {', '.join(known)}, got {type(model).__module__}.{type(model).__qualname__}."
            " Save the hedgerow estimator inside it, or save the whole object with joblib."
        )
    check_is_fitted(model)
    keep_novelty(fitted_of(model))
    keep_row_sketch(fitted_of(model))
    contents, arrays = task_of(type(model), multi_output=bool(fitted_of(model).outputs)).dump(model)
    metadata = {
        "format": FORMAT,
        "format_version": f"{_major_for(fitted_of(model))}.{MINOR}",
        "hedgerow_version": __version__,
        "model": dump_json({"estimator": name, **contents}),
    }
    write_file(path, FileContents(metadata, arrays))


def load(path: Path_ | BinaryIO, *, memory_map: bool = True) -> Any:
    """Load a fitted estimator from a file, which is validated and never executed.

    Parameters
    ----------
    path : str, path or open binary file
        File written by `save`.
    memory_map : bool, default=True
        Whether to memory-map the trees, which is faster and shares them between processes. Use False to read a copy,
        if others may write to the file while the model is in use.

    Returns
    -------
    estimator
        Its predictions are bitwise identical to those of the saved estimator.

    Raises
    ------
    ModelFileError
        If the file is not a model, is corrupt, does not fit into memory, or has a newer major version of the format.
    OSError
        If the file cannot be opened.

    See Also
    --------
    save
    """
    _check_path(path, "read")
    with errors_naming(path):
        contents = read_file(path, memory_map=memory_map)
        with one_exception():
            return _model_from(contents)


@contextmanager
def errors_naming(path: Path_ | BinaryIO) -> Iterator[None]:
    """Put the path of a file before the message of a `ModelFileError`."""
    try:
        yield
    except ModelFileError as error:
        name = os.fspath(path) if isinstance(path, str | os.PathLike) else "model file"
        error.args = (f"{name}: {error}",)
        raise


@contextmanager
def one_exception() -> Iterator[None]:
    """Convert errors of rules, decisions and estimators to `ModelFileError`."""
    try:
        yield
    except ModelFileError:
        raise
    except MemoryError as reason:
        raise too_large() from reason
    except (ArithmeticError, AttributeError, LookupError, RuntimeError, TypeError, ValueError) as reason:
        raise ModelFileError(f"invalid model. {reason}") from reason


def _major_for(fitted: Fitted) -> int:
    """Return the lowest major version of the format that supports a model."""
    n_categories = fitted.bins.n_bins[fitted.bins.nominal > 0].max(initial=0)
    return 2 if n_categories > MOST_WITH_BITS and fitted.forest.structure.has_lists else 1


def _check_path(path: Any, method: str) -> None:
    """Raise `TypeError` for anything but a path or a file with this method."""
    if not (isinstance(path, str | os.PathLike) or hasattr(path, method)):
        raise TypeError(f"path must be a str, a path or an open binary file, got {type(path).__name__}.")


def _model_from(contents: FileContents) -> Any:
    """Return the estimator of the contents of a file."""
    kind, given, newer = header_from(contents.metadata)
    arrays = dict(contents.arrays)
    model = task_of(kind, multi_output="outputs" in given).load(kind, given, arrays)
    if arrays and not newer:
        raise ModelFileError(f"unexpected arrays {str(sorted(arrays))[:200]}.")
    n_trees = fitted_of(model).forest.n_trees
    if kind._single_tree and n_trees != 1:
        raise ModelFileError(f"a {kind.__name__} must have one tree, got {n_trees}.")
    return model


def header_from(metadata: dict[str, str]) -> tuple[Any, dict[str, Any], bool]:
    """Return the estimator class, its JSON, and whether the minor version is newer."""
    newer = _check_version(metadata)
    given = parse_object(metadata.get("model", ""))
    name, known = given.pop("estimator", None), public_estimators()
    if not isinstance(name, str) or name not in known:
        raise ModelFileError(f"estimator must be one of {', '.join(known)}, got {str(name)[:60]!r}.")
    task = task_of(known[name], multi_output="outputs" in given)
    if "outputs" in given and task is known[name]._task:
        raise ModelFileError(f"{name} must be of one output, got several.")
    keys = task.file_keys
    if not given.keys() >= keys or (given.keys() > keys and not newer):
        raise ModelFileError(f"entries of {name} must be {', '.join(sorted(keys))}, got {str(sorted(given))[:200]}.")
    return known[name], given, newer


def task_of(estimator: type[TreeEstimator], *, multi_output: bool) -> Any:
    """Return the task of an estimator class, for one output or several."""
    return estimator._task.for_outputs() if multi_output else estimator._task


def _check_version(metadata: dict[str, str]) -> bool:
    """Return whether the file has a newer minor version, whose additions are ignored."""
    from hedgerow import __version__

    if metadata.get("format") != FORMAT:
        raise ModelFileError(f"not a model file (format {metadata.get('format', 'none')[:40]!r}, expected {FORMAT!r}).")
    found = re.fullmatch(r"([0-9]{1,4})\.([0-9]{1,4})", metadata.get("format_version", ""))
    if found is None:
        raise ModelFileError(
            f"format_version must be two numbers, got {metadata.get('format_version', 'none')[:40]!r}."
        )
    major, minor = int(found[1]), int(found[2])
    if major > MAJOR:
        raise ModelFileError(
            f"format_version must be at most {MAJOR} for hedgerow {__version__}, got {major}.{minor}, written by"
            f" hedgerow {metadata.get('hedgerow_version', 'of unknown version')[:40]}. Upgrade hedgerow."
        )
    if major < 1:
        raise ModelFileError(f"format_version must be at least 1, got {major}.{minor}.")
    return minor > MINOR


# ---- Multi-output model files, with shared arrays stored once --------------------------------------------------------


Json: TypeAlias = Any

#: Maximum number of outputs in a file.
MAX_OUTPUTS = 10_000


def join_outputs(each: Iterable[tuple[dict[str, Json], Arrays]]) -> tuple[list[dict[str, Json]], Arrays]:
    """Join the outputs; arrays that differ get the number of the output as prefix."""
    outputs = list(each)
    first, others = outputs[0][1], [arrays for _, arrays in outputs[1:]]
    shared = {name: array for name, array in first.items() if all(_same(array, more.get(name)) for more in others)}
    arrays = dict(shared)
    for number, (_, own) in enumerate(outputs):
        arrays |= {f"{number}.{name}": array for name, array in own.items() if name not in shared}
    return [contents for contents, _ in outputs], arrays


def split_outputs(given: dict[str, Json], arrays: Arrays) -> Iterator[tuple[dict[str, Json], Arrays]]:
    """Yield the JSON and arrays of each output, validated.

    The consumer must remove the arrays that it uses; they are then removed from `arrays` too.
    """
    parts = _parts(arrays)
    shared = parts.pop("", {})
    for number, contents in enumerate(checked_outputs(given)):
        held = _joined(number, parts.get(str(number), {}), shared)
        yield contents, held
        if held.keys() - shared.keys():
            others = sorted(held.keys() - shared.keys())
            raise ModelFileError(f"unexpected arrays of output {number}: {str(others)[:200]}.")
        for name in parts.get(str(number), ()):
            del arrays[f"{number}.{name}"]
        if number == 0:  # shared arrays that the first output does not use are not used by any
            shared = {name: array for name, array in shared.items() if name not in held}
    for name in shared:
        del arrays[name]


def checked_outputs(given: dict[str, Json]) -> list[dict[str, Json]]:
    """Validate the JSON of a multi-output model and return that of each output."""
    outputs: list[dict[str, Json]] = given["outputs"]
    known = isinstance(outputs, list) and 2 <= len(outputs) <= MAX_OUTPUTS
    if not known or not all(isinstance(contents, dict) for contents in outputs):
        raise ModelFileError(f"outputs must be a list of 2 to {MAX_OUTPUTS:,} objects, got {reprlib.repr(outputs)}.")
    return outputs


def output_of(given: dict[str, Json], arrays: Arrays, number: int) -> tuple[dict[str, Json], Arrays]:
    """Return the JSON and arrays of one output of a multi-output model."""
    parts = _parts(arrays)
    return checked_outputs(given)[number], _joined(number, parts.get(str(number), {}), parts.get("", {}))


def _parts(arrays: Arrays) -> dict[str, Arrays]:
    """Return the arrays of each output by its number, and the shared ones under ""."""
    parts: dict[str, Arrays] = {}
    for name, array in arrays.items():
        number, _, rest = name.partition(".")
        parts.setdefault(number if number.isdigit() else "", {})[rest if number.isdigit() else name] = array
    return parts


def _joined(number: int, own: Arrays, shared: Arrays) -> Arrays:
    """Return the arrays of an output, with the shared ones."""
    if own.keys() & shared.keys():
        both = sorted(own.keys() & shared.keys())
        raise ModelFileError(f"output {number} repeats shared arrays {str(both)[:200]}.")
    return own | shared


def _same(one: Any, other: Any) -> bool:
    """Test whether two arrays are bitwise identical."""
    return (
        other is not None
        and one.dtype == other.dtype
        and one.shape == other.shape
        and bool(
            np.array_equal(
                one.view(np.uint8) if one.dtype.kind == "f" else one,
                other.view(np.uint8) if other.dtype.kind == "f" else other,
            )
        )
    )


# ---- Summaries of model files, without reading their trees -----------------------------------------------------------


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
