"""`hedgerow fit`, `predict` and `evaluate` with `--dask`."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import fields, replace
from io import BytesIO
from typing import TYPE_CHECKING, Any, TypeVar

from hedgerow.cli.console import collected_notes, facts, note, say_once, show, write_json
from hedgerow.cli.exit_codes import DataError, UsageError
from hedgerow.cli.files.arrow import require_pyarrow, sheet_from_table, write_parquet
from hedgerow.cli.files.paths import STREAM, check_folder
from hedgerow.cli.files.sheet import Sheet
from hedgerow.cli.fit import check_output, estimator_for, feature_counts, feature_words, save_model
from hedgerow.cli.models import model_for, presenter_of, undecided_words
from hedgerow.cli.options import EvaluateOptions, FitOptions, IntervalOptions, PredictOptions, ReadOptions
from hedgerow.cli.output import Kept, columns_of
from hedgerow.cli.predict import Tally, predictions_of, show_tally, tally_of
from hedgerow.errors import ClusterError
from hedgerow.inference.fitted import fitted_of
from hedgerow.inference.predictor import predictor_of
from hedgerow.metrics.tally import add_tallies
from hedgerow.util.disk import write_whole
from hedgerow.util.text import listed, number_of

if TYPE_CHECKING:
    from types import ModuleType

    from rich.table import Table

    from hedgerow.estimators.supervised import SupervisedTrees

Chosen = TypeVar("Chosen", bound=IntervalOptions)
Result = TypeVar("Result")
#: A function of the sheet of a partition, its number, the model and the options.
PartitionFunction = Callable[[Sheet, int, "SupervisedTrees", Chosen], Result]

#: Address of a cluster on this machine that ends with the command.
LOCAL = "local"


def fit_on_cluster(options: FitOptions) -> None:
    """Fit a model to Parquet files, which workers read, and save it."""
    check_output(options)
    _require_parquet(options.data)
    if options.checkpoint is not None:
        raise UsageError(
            f"--dask does not support --checkpoint, got {options.checkpoint!r}. Dask repeats lost work itself."
        )
    _refuse_reading(options)
    from hedgerow import dask as on_dask

    estimator = _on_dask(estimator_for(options), on_dask)
    left_out = [name for name in (options.id, *options.drop) if name is not None]
    start = time.perf_counter()
    try:
        partitions = on_dask.open_parquet(list(options.data), options.target, groups=options.groups, drop=left_out)
        if options.nominal:
            estimator.set_params(categorical_features=partitions.nominal_with(options.nominal))
        estimator.fit_partitions(partitions, client=_client(options.dask))
    except ValueError as reason:
        raise DataError(str(reason)) from None
    model = estimator.to_local().set_params(verbose=0)
    report = _report(model, len(partitions)) | {"seconds": round(time.perf_counter() - start, 3), "model": options.out}
    save_model(model, options.out)
    if options.as_json:
        write_json(report)
    else:
        show(_facts(report), stderr=options.out == STREAM)


def predict_on_cluster(options: PredictOptions) -> None:
    """Predict Parquet files and write one Parquet file per partition to a folder."""
    _require_parquet(options.data)
    if options.out is None or options.as_json:
        got = "--json" if options.as_json else "standard output"
        raise UsageError(f"--out must be a folder for Parquet files with --dask, got {got}. Use -o FOLDER.")
    _refuse_reading(options)
    _require_new_folder(options.out)
    check_folder(options.out, [options.model, *options.data], "--out")
    model = model_for(options)
    trimmed = replace(options, out=options.out.rstrip("/"))
    counts = [each for each in _of_each_partition(_answer, model, trimmed) if each is not None]
    rows, undecided = (sum(each) for each in zip(*counts, strict=True)) if counts else (0, 0)
    summary = f"{number_of(rows, 'row')} in {number_of(len(counts), 'file')}"
    note(summary + undecided_words(presenter_of(model), undecided))


def evaluate_on_cluster(options: EvaluateOptions) -> None:
    """Evaluate a model on Parquet files and print the metrics."""
    _require_parquet(options.data)
    _refuse_reading(options)
    model = model_for(options)
    tally = add_tallies(_of_each_partition(_tally, model, options))
    if tally is None:
        raise DataError(f"{listed(options.data)}: no rows.")
    show_tally(model, tally, options)


def _of_each_partition(
    function: PartitionFunction[Chosen, Result], model: SupervisedTrees, options: Chosen
) -> list[Result | None]:
    """Apply ``function(sheet, number, model, options)`` to each nonempty partition."""
    from hedgerow import dask as on_dask

    try:
        with on_dask.client_for(_client(options.dask)) as client:
            results = on_dask.for_each_partition(client, list(options.data), _of_sheet, function, model, options)
    except ClusterError as error:
        if isinstance(error.__cause__, DataError):  # the same error about the table as without a cluster
            raise error.__cause__ from None
        raise
    except ValueError as reason:
        raise DataError(str(reason)) from None
    say_once(sentence for _, sentences in results for sentence in sentences)
    return [result for result, _ in results]


def _of_sheet(
    frame: Any, number: int, function: PartitionFunction[Chosen, Result], model: SupervisedTrees, options: Chosen
) -> tuple[Result | None, list[str]]:
    """Apply a function to a partition on a worker; return its result and messages."""
    pyarrow = require_pyarrow()
    if len(frame) == 0:
        return None, []
    sheet = sheet_from_table(pyarrow.Table.from_pandas(frame, preserve_index=False), options)
    try:
        with collected_notes() as sentences:
            return function(sheet, number, model, options), sentences
    except DataError as error:
        raise DataError(f"partition {number}: {error}", error.lines) from None


def _answer(sheet: Sheet, number: int, model: SupervisedTrees, options: PredictOptions) -> tuple[int, int]:
    """Write predictions of a partition; return its number of rows and undecided rows."""
    from fsspec.core import url_to_fs
    from fsspec.implementations.local import LocalFileSystem

    answers, kept = predictions_of(model, sheet, options)
    packed = BytesIO()
    write_parquet(columns_of(answers, Kept(sheet, kept), options.prefix), packed)
    files, folder = url_to_fs(options.out)
    files.makedirs(folder, exist_ok=True)
    path = f"{folder}/part-{number:05d}.parquet"
    if isinstance(files, LocalFileSystem):
        write_whole(path, packed.getvalue())
    else:
        files.pipe_file(path, packed.getvalue())
    return sheet.n_rows, answers.n_undecided


def _tally(sheet: Sheet, number: int, model: SupervisedTrees, options: EvaluateOptions) -> Tally:
    return tally_of(model, sheet, options)


def _on_dask(estimator: SupervisedTrees, on_dask: ModuleType) -> Any:
    """Return the same estimator for Dask, which has no out-of-bag score."""
    made = getattr(on_dask, type(estimator).__name__)(**estimator.get_params(deep=False))
    return made.set_params(oob_score=False) if made.oob_score else made


def _client(address: str | None) -> str | None:
    return None if address == LOCAL else address


def _require_parquet(paths: tuple[str, ...]) -> None:
    """Raise `UsageError` for standard input, which workers cannot read."""
    if STREAM in paths:
        raise UsageError("DATA must be Parquet files with --dask, got standard input.")


def _refuse_reading(options: ReadOptions) -> None:
    """Raise `UsageError` for options about reading, because Parquet files have types."""
    for field in fields(ReadOptions):
        value = getattr(options, field.name)
        if value != field.default and field.name != "exact_text":
            option = "--" + field.name.replace("_", "-")
            got = repr(value[0]) if isinstance(value, tuple) else repr(value)
            raise UsageError(
                f"--dask does not support {option}, got {got}. Parquet files have types and missing values."
            )


def _require_new_folder(out: str) -> None:
    """Raise `UsageError` for a folder with files, to keep predictions separate."""
    from fsspec.core import url_to_fs

    files, path = url_to_fs(out)
    if not files.exists(path):
        return
    if not files.isdir(path):
        raise UsageError(f"--out must be a folder with --dask, got the file {out!r}.")
    if files.ls(path, detail=False):
        raise UsageError(f"--out must be a new or empty folder with --dask, got {out!r}.")


def _report(model: SupervisedTrees, n_partitions: int) -> dict[str, Any]:
    """Return the JSON report of a fit."""
    fitted, classes = fitted_of(model), predictor_of(model).classes.tolist()
    return {
        "rows": fitted.fingerprint.n_rows if fitted.fingerprint else None,
        "partitions": n_partitions,
        "features": feature_counts(fitted.schema.nominal),
        "estimator": type(model).__name__,
        "trees": model.forest_.n_trees,
        **({"classes": classes} if classes else {}),
    }


def _facts(report: dict[str, Any]) -> Table:
    """Format the report of a fit."""
    rows = [
        ("rows", f"{report['rows']:,} in {number_of(report['partitions'], 'partition')}"),
        ("features", feature_words(report["features"])),
    ]
    if "classes" in report:
        rows.append(("classes", f"{len(report['classes']):,}: {listed(map(str, report['classes']))}"))
    made = f"{report['estimator']}, {number_of(report['trees'], 'tree')} in {report['seconds']:.2f} s"
    return facts([*rows, ("model", made), ("saved to", report["model"])])
