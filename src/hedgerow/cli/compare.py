"""`hedgerow compare` and `hedgerow tune`: other libraries, and other rules, cautions and decisions."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

import hedgerow
from hedgerow.cli.console import grid, note, show, write_json
from hedgerow.cli.evaluation import read_costs
from hedgerow.cli.exit_codes import DataError, UsageError
from hedgerow.cli.files.paths import STREAM
from hedgerow.cli.files.sheet import Array
from hedgerow.cli.files.source import read_sheet
from hedgerow.cli.files.views import labelled_rows
from hedgerow.cli.fit import features_of, fit, groups_of
from hedgerow.cli.match import (
    checked_caution,
    checked_decision,
    checked_rule,
    columns_of,
    held_out,
    refitted,
    with_columns,
)
from hedgerow.cli.models import require_target
from hedgerow.cli.options import CompareOptions, TuneOptions
from hedgerow.explain.presenters import presenter_for
from hedgerow.inference.evidence import CAUTIONS
from hedgerow.inference.predictor import predictor_of
from hedgerow.metrics import determinacy, single_set_accuracy
from hedgerow.metrics.tally import add_tallies, tally_numbers
from hedgerow.table import Factors, NamedColumns
from hedgerow.tasks.classification.evaluation import mean_log_loss
from hedgerow.util.runtime import thread_count
from hedgerow.util.text import number_of, score, share

if TYPE_CHECKING:
    from hedgerow.estimators.supervised import SupervisedTrees


#: Forests of hedgerow by name: the beginning of their classes, and how many trees they have for one of `--trees`.
OURS = {"hedgerow, mixed forest": ("MixedForest", 3), "hedgerow": ("RandomForest", 1)}


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
    options = with_columns(options, sheet.names)
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
    found = {name: _of_hedgerow(comparison, name, table, y, parts, options, groups) for name in OURS}
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
    lightgbm, xgboost, catboost = "LGBMClassifier", "XGBClassifier", "CatBoostClassifier"
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
    lightgbm, xgboost, catboost = "LGBMRegressor", "XGBRegressor", "CatBoostRegressor"
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
    name: str,
    table: NamedColumns,
    y: Array,
    parts: list[NDArray[np.bool_]],
    options: CompareOptions,
    groups: Array | None,
) -> dict[str, Any]:
    """Cross-validate a forest of hedgerow and return its metrics."""
    kind, factor = OURS[name]
    made = getattr(hedgerow, f"{kind}{comparison.suffix}")
    given = {"n_estimators": factor * options.trees, "random_state": options.seed, "n_jobs": options.jobs}
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
    if find_spec("catboost"):
        import catboost

        quiet = {"verbose": False, "allow_writing_files": False}
        threads = thread_count(options.jobs)
        found["CatBoost"] = getattr(catboost, comparison.catboost)(
            random_seed=options.seed, thread_count=threads, **quiet
        )
    return found


# ---- `hedgerow tune`: a model with the best rule, caution and decision out of bag ------------------------------------


#: Maximum number of settings shown.
MOST_SHOWN = 8


def tune(options: TuneOptions) -> None:
    """Fit a model, choose its settings out of bag, and save it."""
    if not presenter_for(options).has_classes or options.model in ("tree", "random-decision"):
        raise UsageError("hedgerow tune requires a classification forest. Remove --regression, or use --model forest.")
    if (options.by == "cost") != (options.costs is not None):
        raise UsageError("--by cost and --costs FILE require each other. Add the other one.")
    over = _settings(options)
    fit(options, lambda model: _tuned(model, options, over))


def _settings(options: TuneOptions) -> dict[str, list[Any]]:
    """Return the values to try of each parameter."""
    given = [] if options.caution in ("auto", TuneOptions.caution) else [options.caution]
    cautions = _listed(options.cautions) or given
    return {
        "rule": [checked_rule(name) for name in _listed(options.rules)] or [options.rule],
        "caution": [float(checked_caution(each, auto=False)) for each in cautions] or list(CAUTIONS),
        "decision": [name for name in _listed(options.decisions) if checked_decision(name)] or [options.decision],
    }


def _listed(text: str | None) -> list[str]:
    return [] if text is None else [each.strip() for each in text.split(",") if each.strip()]


def _tuned(model: SupervisedTrees, options: TuneOptions, over: dict[str, list[Any]]) -> dict[str, Any]:
    """Set the best setting of a fitted forest; return the results for JSON."""
    try:
        model.tune(_metric(model, options), over)
    except (AttributeError, ValueError) as reason:
        raise UsageError(f"Invalid combination of settings: {reason}") from None
    if not options.as_json:
        words = {"cost": "mean cost", "risk": f"decided, error <= {options.risk:g}"}
        what, sign = words.get(options.by, options.by), -1 if options.by == "cost" else 1
        rows = [
            [setting["rule"], f"{setting['caution']:g}", str(setting["decision"]), score(sign * value)]
            for value, setting in model.tuning_[:MOST_SHOWN]
        ]
        title = f"Best of {len(model.tuning_):,} settings, out of bag"
        show(grid(title, ["rule", "caution", "decision", what], rows, left=3), "", stderr=options.out == STREAM)
    return {"tuning": [{"score": value, **setting} for value, setting in model.tuning_]}


def _metric(model: SupervisedTrees, options: TuneOptions) -> str | Callable[[Array, Array], float]:
    """Return the metric: a name, or a function of true classes and sets to maximise."""
    classes = model.classes_
    if options.by == "cost":
        costs = read_costs(str(options.costs), classes, options)
        if costs.of_sets(np.ones((1, len(classes)), dtype=bool)) is None:
            raise UsageError("--by cost requires a column for each class and a column 'look again' in --costs.")

        def cheapness(y: Array, sets: Array) -> float:
            return -costs.mean(np.searchsorted(classes, y), costs.of_sets(sets))  # type: ignore[arg-type]

        return cheapness
    if options.by == "risk":

        def decided(y: Array, sets: Array) -> float:
            right = single_set_accuracy(y, sets, classes=classes)
            wrong = 0.0 if right is None else 1 - right
            return determinacy(y, sets, classes=classes) if wrong <= options.risk else -wrong

        return decided
    return options.by
