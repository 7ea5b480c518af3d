"""Compare: a table with a target -> how hedgerow and other learners do on rows they have not seen."""

from __future__ import annotations

import time
import warnings
from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

import hedgerow
from hedgerow.commands.fit import features_of
from hedgerow.commands.honest import columns_of, held_out, refitted
from hedgerow.commands.kinds import kind_for
from hedgerow.commands.options.compare import CompareOptions
from hedgerow.commands.outcome import DataError
from hedgerow.commands.sheet import Array
from hedgerow.commands.source import read_sheet
from hedgerow.commands.talk import grid, number_of, score, share, show, write_json
from hedgerow.commands.views import labelled_rows
from hedgerow.forest.threads import thread_count
from hedgerow.judge.judgement import judge_classes, judge_numbers, mean_log_loss
from hedgerow.metrics.tally import add_tallies, tally_numbers
from hedgerow.table import Factors, NamedColumns

OURS = "hedgerow"


def compare(options: CompareOptions) -> None:
    """Read, hold out, fit, judge, report."""
    sheet = read_sheet(options.data, options)
    sheet.require(options.target, "--target")
    if options.skip_unlabelled:
        sheet = labelled_rows(sheet, options.target)
    names = features_of(sheet, options)
    y = kind_for(options.regression).read_target(sheet, options.target)
    if not options.regression and len(np.unique(y)) < 2:
        raise DataError(f"target {options.target!r} must have two classes or more, got one; was the table filtered?")
    table = columns_of(sheet, names, options.nominal)
    by_class = not options.regression
    parts = held_out(y, folds=options.folds, test_split=None, seed=options.seed, by_class=by_class)
    found = {OURS: _of_hedgerow(table, y, parts, options)}
    matrix, is_nominal = _matrix(table)
    for name, model in _others(options, is_nominal).items():
        with threadpool_limits(thread_count(options.jobs)):  # scikit-learn's boosting has no other way
            found[name] = _of_other(model, matrix, y, parts, regression=options.regression)
    if options.as_json:
        write_json({"rows": len(y), "folds": options.folds, "models": found})
        return
    show(_shown(found, options, len(y)))


def _of_hedgerow(
    table: NamedColumns, y: Array, parts: list[NDArray[np.bool_]], options: CompareOptions
) -> dict[str, Any]:
    """The figures of a forest of hedgerow, all folds together."""
    kind = "RandomForestRegressor" if options.regression else "RandomForestClassifier"
    made = getattr(hedgerow, kind)
    given = {"n_estimators": options.trees, "random_state": options.seed, "n_jobs": options.jobs}
    tallies: list[Any] = []
    loss, start = 0.0, time.perf_counter()
    for model, rows in refitted(lambda: made(**given), table, y, parts):
        held = table.some(rows)
        if options.regression:
            tallies.append(judge_numbers(model, held, y[rows], None).tally)
        else:
            judged = judge_classes(model, held, y[rows])
            tallies.append(judged.tally)
            loss += judged.log_loss() * len(rows)
    figures: dict[str, Any] = add_tallies(tallies).figures()
    if not options.regression:
        figures["log_loss"] = loss / len(y)
    return figures | {"seconds": round(time.perf_counter() - start, 3)}


def _of_other(
    model: Any, matrix: Array, y: Array, parts: list[NDArray[np.bool_]], *, regression: bool
) -> dict[str, Any]:
    """The figures of another learner, which knows classes by number."""
    from sklearn.base import clone

    classes, numbers = np.unique(y, return_inverse=True)
    target = y if regression else numbers
    answers = np.zeros((len(y), 1 if regression else len(classes)))
    start = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for part in parts:
            fitted = clone(model).fit(matrix[~part], target[~part])
            answers[part] = fitted.predict(matrix[part])[:, None] if regression else fitted.predict_proba(matrix[part])
    seconds = round(time.perf_counter() - start, 3)
    if regression:
        return tally_numbers(y, answers[:, 0]).figures() | {"seconds": seconds}
    right = answers.argmax(axis=1) == numbers
    loss = mean_log_loss(answers / answers.sum(axis=1, keepdims=True), numbers)
    return {"rows": len(y), "accuracy": float(right.mean()), "log_loss": loss, "seconds": seconds}


def _matrix(table: NamedColumns) -> tuple[NDArray[np.float64], list[bool]]:
    """A table -> numbers (n, p), categories by number, NaN where missing; and which columns are categories."""
    columns = [
        np.where(column.codes < 0, np.nan, column.codes) if isinstance(column, Factors) else column.astype(np.float64)
        for column in table.listed
    ]
    return np.column_stack(columns), [isinstance(column, Factors) for column in table.listed]


def _others(options: CompareOptions, nominal: list[bool]) -> dict[str, Any]:
    """What is installed besides hedgerow, by name, each with its own defaults."""
    from sklearn import ensemble

    numbers = options.regression
    trees = ensemble.RandomForestRegressor if numbers else ensemble.RandomForestClassifier
    boosted = ensemble.HistGradientBoostingRegressor if numbers else ensemble.HistGradientBoostingClassifier
    forest: dict[str, Any] = {"n_estimators": options.trees, "random_state": options.seed, "n_jobs": options.jobs}
    found = {
        "scikit-learn forest": trees(**forest),
        "scikit-learn boosting": boosted(
            random_state=options.seed, categorical_features=nominal if any(nominal) else None
        ),
    }
    given: dict[str, Any] = {"random_state": options.seed, "n_jobs": options.jobs}
    if find_spec("lightgbm"):
        import lightgbm

        found["LightGBM"] = (lightgbm.LGBMRegressor if numbers else lightgbm.LGBMClassifier)(verbosity=-1, **given)
    if find_spec("xgboost"):
        import xgboost

        found["XGBoost"] = (xgboost.XGBRegressor if numbers else xgboost.XGBClassifier)(verbosity=0, **given)
    return found


def _shown(found: dict[str, dict[str, Any]], options: CompareOptions, n_rows: int) -> Any:
    """Figures -> the table people read."""
    title = f"{number_of(n_rows, 'row')}, {options.folds} folds: every row is judged by models that have not seen it"
    if options.regression:
        heads = ["RMSE", "MAE", "in its 90 % interval", "seconds"]
        rows = [
            [
                name,
                f"{each['root_mean_squared_error']:.6g}",
                f"{each['mean_absolute_error']:.6g}",
                share(each.get("coverage")),
                f"{each['seconds']:.2f}",
            ]
            for name, each in found.items()
        ]
        return grid(title, ["", *heads], rows)
    heads = ["accuracy", "log-loss", "left open", "right where decided", "seconds"]
    rows = [
        [
            name,
            share(each["accuracy"]),
            score(each["log_loss"]),
            share(1 - each["determinacy"]) if "determinacy" in each else "–",
            share(each.get("single_set_accuracy")),
            f"{each['seconds']:.2f}",
        ]
        for name, each in found.items()
    ]
    return grid(title, ["", *heads], rows)
