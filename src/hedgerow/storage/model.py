"""`save` and `load`."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, BinaryIO

from sklearn.utils.validation import check_is_fitted

from hedgerow.errors import ModelFileError
from hedgerow.forest.nodes import MOST_WITH_BITS
from hedgerow.inference.fitted import Fitted, fitted_of
from hedgerow.inference.leakage import keep_row_sketch
from hedgerow.inference.novelty import keep_novelty
from hedgerow.params.table import TreeEstimator
from hedgerow.storage.container import FileContents, dump_json, parse_object, read_file, too_large, write_file
from hedgerow.storage.values import public_estimators
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
