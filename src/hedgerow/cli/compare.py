"""`hedgerow compare`: held-out metrics of hedgerow and other libraries."""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

import hedgerow
from hedgerow.cli.console import grid, note, show, write_json
from hedgerow.cli.exit_codes import DataError
from hedgerow.cli.files.sheet import Array
from hedgerow.cli.files.source import read_sheet
from hedgerow.cli.files.views import labelled_rows
from hedgerow.cli.fit import features_of, groups_of
from hedgerow.cli.holdout import columns_of, held_out, refitted
from hedgerow.cli.models import require_target
from hedgerow.cli.options import CompareOptions
from hedgerow.explain.presenters import presenter_for
from hedgerow.inference.predictor import predictor_of
from hedgerow.metrics.tally import add_tallies, tally_numbers
from hedgerow.table import Factors, NamedColumns
from hedgerow.tasks.classification.evaluation import mean_log_loss
from hedgerow.util.runtime import thread_count
from hedgerow.util.text import number_of, score, share

if TYPE_CHECKING:
    from hedgerow.estimators.supervised import SupervisedTrees

OURS = "hedgerow"


class OtherModel(Protocol):
    """An estimator of another library."""

    def fit(self, X: Array, y: Array) -> object: ...
    def predict(self, X: Array) -> Array: ...
    def predict_proba(self, X: Array) -> Array: ...


def compare(options: CompareOptions) -> None:
    """Cross-validate all installed libraries and print their metrics."""
    presenter = presenter_for(options)
    comparison = _COMPARISONS[presenter.suffix]
    sheet = read_sheet(options.data, options)
    target = require_target(sheet, presenter, options)
    if options.skip_unlabelled:
        sheet = labelled_rows(sheet, target[0])
    names = features_of(sheet, options)
    y = presenter.read_y(sheet, target)
    if presenter.has_classes and len(np.unique(y)) < 2:
        raise DataError(f"Target {options.target!r} must have at least two classes, got one. Was the table filtered?")
    table = columns_of(sheet, names, options.nominal)
    groups = groups_of(sheet, options)
    how: dict[str, Any] = {"folds": options.folds, "test_split": None, "seed": options.seed}
    parts = held_out(y, **how, by_class=presenter.has_classes, groups=groups)
    found = {OURS: _of_hedgerow(comparison, table, y, parts, options, groups)}
    matrix, is_nominal = _matrix(table)
    for name, model in _others(comparison, options, is_nominal).items():
        try:
            with threadpool_limits(thread_count(options.jobs)):  # HistGradientBoosting has no n_jobs
                found[name] = _of_other(comparison, model, matrix, y, parts)
        except Exception as reason:  # other libraries raise errors of any type for tables that they do not support
            note(f"note: {name} omitted, because it does not support this table: {str(reason).strip().splitlines()[0]}")
    if options.as_json:
        write_json({"rows": len(y), "folds": options.folds, "models": found})
        return
    title = f"{number_of(len(y), 'row')}, {options.folds}-fold cross-validation"
    rows = [[name, *comparison.cells(each), f"{each['seconds']:.2f}"] for name, each in found.items()]
    show(grid(title, ["", *comparison.heads, "seconds"], rows))


class _ClassifierComparison:
    """Comparison of classifiers."""

    suffix = "Classifier"
    lightgbm, xgboost = "LGBMClassifier", "XGBClassifier"
    heads = ("accuracy", "log-loss", "undecided", "right when decided")

    def evaluate(
        self, models: Iterator[tuple[SupervisedTrees, Array]], table: NamedColumns, y: Array
    ) -> dict[str, Any]:
        """Return metrics of all rows, from forests with their held-out rows."""
        found = [(predictor_of(model).evaluate(table.some(rows), y[rows]), len(rows)) for model, rows in models]
        loss = sum(each.log_loss() * n_rows for each, n_rows in found) / len(y)
        return {**add_tallies([each.tally for each, _ in found]).figures(), "log_loss": loss}

    def target(self, y: Array) -> Array:
        """Return class numbers (n,), which other libraries require."""
        return np.unique(y, return_inverse=True)[1]

    def predictions(self, model: OtherModel, matrix: Array) -> Array:
        """Return the probabilities (n, K) of another model."""
        return np.asarray(model.predict_proba(matrix))

    def figures(self, y: Array, predictions: Array) -> dict[str, Any]:
        """Return the metrics of probabilities (n, K)."""
        numbers = self.target(y)
        loss = mean_log_loss(predictions / predictions.sum(axis=1, keepdims=True), numbers)
        right = predictions.argmax(axis=1) == numbers
        return {"rows": len(y), "accuracy": float(right.mean()), "log_loss": loss}

    def cells(self, found: dict[str, Any]) -> list[str]:
        """Format metrics in the order of `heads`."""
        undecided = share(1 - found["determinacy"]) if "determinacy" in found else "–"
        decided = share(found.get("single_set_accuracy"))
        return [share(found["accuracy"]), score(found["log_loss"]), undecided, decided]


class _RegressorComparison:
    """Comparison of regressors."""

    suffix = "Regressor"
    lightgbm, xgboost = "LGBMRegressor", "XGBRegressor"
    heads = ("RMSE", "MAE", "coverage of 90% intervals")

    def evaluate(
        self, models: Iterator[tuple[SupervisedTrees, Array]], table: NamedColumns, y: Array
    ) -> dict[str, Any]:
        """Return metrics of all rows, from forests with their held-out rows."""
        tallies = [predictor_of(model).evaluate(table.some(rows), y[rows]).tally for model, rows in models]
        figures: dict[str, Any] = add_tallies(tallies).figures()
        return figures

    def target(self, y: Array) -> Array:
        """Return y unchanged."""
        return y

    def predictions(self, model: OtherModel, matrix: Array) -> Array:
        """Return the predictions (n, 1) of another model."""
        return np.asarray(model.predict(matrix))[:, None]

    def figures(self, y: Array, predictions: Array) -> dict[str, Any]:
        """Return the metrics of predictions (n, 1)."""
        return tally_numbers(y, predictions[:, 0]).figures()

    def cells(self, found: dict[str, Any]) -> list[str]:
        """Format metrics in the order of `heads`."""
        errors = [found["root_mean_squared_error"], found["mean_absolute_error"]]
        return [*(f"{each:.6g}" for each in errors), share(found.get("coverage"))]


_Comparison = _ClassifierComparison | _RegressorComparison
#: Comparisons by suffix of the estimator.
_COMPARISONS: dict[str, _Comparison] = {each.suffix: each for each in (_ClassifierComparison(), _RegressorComparison())}


def _of_hedgerow(
    comparison: _Comparison,
    table: NamedColumns,
    y: Array,
    parts: list[NDArray[np.bool_]],
    options: CompareOptions,
    groups: Array | None,
) -> dict[str, Any]:
    """Cross-validate hedgerow's forest and return its metrics."""
    made = getattr(hedgerow, f"RandomForest{comparison.suffix}")
    given = {"n_estimators": options.trees, "random_state": options.seed, "n_jobs": options.jobs}
    start = time.perf_counter()
    figures = comparison.evaluate(refitted(lambda: made(**given), table, y, parts, groups), table, y)
    return figures | {"seconds": round(time.perf_counter() - start, 3)}


def _of_other(
    comparison: _Comparison, model: OtherModel, matrix: Array, y: Array, parts: list[NDArray[np.bool_]]
) -> dict[str, Any]:
    """Cross-validate another model and return its metrics."""
    from sklearn.base import clone

    target, found = comparison.target(y), []
    start = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for part in parts:
            fitted = clone(model).fit(matrix[~part], target[~part])
            found.append(comparison.predictions(fitted, matrix[part]))
    seconds = round(time.perf_counter() - start, 3)
    predictions = np.empty((len(y), found[0].shape[1]))
    for part, each in zip(parts, found, strict=True):
        predictions[part] = each
    return comparison.figures(y, predictions) | {"seconds": seconds}


def _matrix(table: NamedColumns) -> tuple[NDArray[np.float64], list[bool]]:
    """Return a table as numbers (n, p), and which columns are category indices."""
    columns = [
        np.where(column.codes < 0, np.nan, column.codes)
        if isinstance(column, Factors)
        else column[:].astype(np.float64)
        for column in table.listed
    ]
    return np.column_stack(columns), [isinstance(column, Factors) for column in table.listed]


def _others(comparison: _Comparison, options: CompareOptions, nominal: list[bool]) -> dict[str, OtherModel]:
    """Return the models of other installed libraries by name, with their defaults."""
    from sklearn import ensemble

    forest: dict[str, Any] = {"n_estimators": options.trees, "random_state": options.seed, "n_jobs": options.jobs}
    categories = nominal if any(nominal) else None
    found = {
        "scikit-learn forest": getattr(ensemble, f"RandomForest{comparison.suffix}")(**forest),
        "scikit-learn boosting": getattr(ensemble, f"HistGradientBoosting{comparison.suffix}")(
            random_state=options.seed, categorical_features=categories
        ),
    }
    given: dict[str, Any] = {"random_state": options.seed, "n_jobs": options.jobs}
    if find_spec("lightgbm"):
        import lightgbm

        found["LightGBM"] = getattr(lightgbm, comparison.lightgbm)(verbosity=-1, **given)
    if find_spec("xgboost"):
        import xgboost

        found["XGBoost"] = getattr(xgboost, comparison.xgboost)(verbosity=0, **given)
    return found
