"""Incremental updates: later rows, more trees, and merging."""

from __future__ import annotations

import zlib
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone

from hedgerow.fit.groups import (
    NOT_GIVEN,
    GroupsLike,
    LaterGroups,
    read_groups,
    read_later_groups,
    settings_for_groups,
    split_groups,
)
from hedgerow.fit.run import FitRun, evaluate_oob, finish, fit, task_of
from hedgerow.fit.task import SupervisedTask
from hedgerow.forest.add import add_rows, adopt_borrowed, count_groups
from hedgerow.forest.forest import Forest
from hedgerow.forest.grow import Fingerprint, GrowthParams, TrainingRows
from hedgerow.forest.join import Side, merge_forests
from hedgerow.forest.rows import NO_GRID, Groups, Provenance, ProvenanceGrid, drawn_once
from hedgerow.forest.target import TargetInfo, among_classes, columns_of
from hedgerow.inference.fitted import Fitted, Learned, fitted_of, publish
from hedgerow.inference.predictor import Predictor, current_predictor, predictor_of
from hedgerow.params.checks import MAX_ROWS, check_parameters, require_count
from hedgerow.params.table import TreeEstimator
from hedgerow.table import read_table
from hedgerow.table.bins import Codes, encode
from hedgerow.table.schema import TableLike, TargetLike
from hedgerow.util.runtime import reading_threads, thread_count

Floats = NDArray[np.float64]


def partial_fit(
    model: TreeEstimator,
    X: TableLike,
    y: TargetLike | None,
    sample_weight: ArrayLike | None,
    classes: Any,
    before: Fitted | None,
    *,
    groups: GroupsLike = NOT_GIVEN,
) -> Fitted:
    """Return a fit with the evidence of new rows in its leaves; the first call fits."""
    if before is None:
        task = task_of(model, multi_output=columns_of(y) is not None)
        return fit(model, X, y, sample_weight, groups=groups, classes=task.first_classes(classes))
    check_parameters(model)
    task = task_of(model, multi_output=bool(before.outputs))
    before = with_origins(before)
    X, groups = split_groups(X, groups)
    codes = _read_more(model, before, X)
    target, kept = task.read_more_y(model, y, sample_weight, codes.shape[1], before, classes)
    later = read_later_groups(groups, codes.shape[1], kept, before)
    codes = codes if kept is None else np.ascontiguousarray(codes[:, kept])
    if before.origins[0].n_rows + target.n_rows >= MAX_ROWS:
        raise ValueError(f"the forest must have fewer than 2**31 rows in total, got {target.n_rows} more.")
    wide = with_classes(before, target.info.names)
    after = _added(wide, codes, target, later, reading_threads(model.n_jobs, target.n_rows))
    if after.rows is not None and (model.oob_score or model.leaf_rows):
        return evaluate_oob(task, model, after)
    return after


def grow_more(
    model: TreeEstimator,
    n: Any,
    X: TableLike | None,
    y: TargetLike | None,
    sample_weight: ArrayLike | None,
    groups: GroupsLike,
    before: Fitted | None,
) -> Fitted:
    """Return a fit with `n` more trees, grown on all rows so far."""
    before = with_origins(fitted_of(model) if before is None else before)
    n_more = require_count("n", n)
    if model._single_tree or before.fingerprint is None or not _of_one_table(before.origins):
        raise ValueError(
            "grow_more requires a forest whose trees have counted the same rows: not a single tree, merged, or"
            " warm-started on other rows. Fit another forest and use hedgerow.merge."
        )
    task = task_of(model, multi_output=bool(before.outputs))
    rows = before.rows if X is None else _rows_again(model, task, before, X, y, sample_weight, groups)
    if rows is None:
        raise ValueError("grow_more requires X and y for a forest that was unpickled or loaded. Pass all rows so far.")
    settings = _settings_again(model, task, before, rows.target, rows.bags.groups)
    n_trees = before.forest.n_trees + n_more
    run = task.prepare(FitRun(model, rows, before.schema, before.bins, settings, None, before, (X, y), task, n_trees))
    counted = before.origins[-1].class_rows
    if X is not None and not np.allclose(run.rows.target.class_rows, counted):
        found = tuple(np.asarray(run.rows.target.class_rows).tolist())
        raise ValueError(f"y must have the labels so far, {counted[:10]} rows per class, got {found[:10]}.")
    settings, first = run.settings, before.origins[0]
    if settings.bag_mean * first.bag_mean > 0:  # max_samples was resolved for the first table
        settings = replace(settings, bag_mean=first.bag_mean)
    same = before.fingerprint[2:] == (settings.bag_mean, settings.leaf_counts, rows.n_groups)
    fingerprint = before.fingerprint if same else None
    return finish(replace(run, rows=run.rows.under(settings), settings=settings, fingerprint=fingerprint))


def with_classes(fitted: Fitted, names: NDArray[np.generic]) -> Fitted:
    """Return a fit with more classes.

    The calibrator and the calibrated decision, which lack the new classes, are dropped.
    """
    if len(names) == len(fitted.info.names):
        return fitted
    places = among_classes(fitted.info.names, names)
    forest = fitted.forest.add_classes(places, len(names))
    origins = tuple(provenance_with_classes(origin, places, len(names)) for origin in fitted.origins)
    info = fitted.info.with_names(names, rows_of(origins))
    return replace(
        fitted, forest=forest, origins=origins, info=info, learned=fitted.learned.without("decision", "calibration")
    )


def provenance_with_classes(origin: Provenance, places: NDArray[np.intp], n_classes: int) -> Provenance:
    """Return a provenance with more classes: class k becomes ``places[k]``."""
    rows = np.zeros(n_classes)
    rows[places] = origin.class_rows
    return replace(origin, class_rows=tuple(rows.tolist()))


def rows_of(origins: tuple[Provenance, ...]) -> Floats:
    """Return the number of rows of each class that the trees have counted, (K,)."""
    return np.asarray(np.sum([origin.class_rows for origin in origins], axis=0))


def with_origins(fitted: Fitted) -> Fitted:
    """Return a fit with the provenance of its trees.

    Older files lack it, but usually it can be inferred.
    """
    if fitted.origins:
        return fitted
    forest, bag = fitted.forest, fitted.fingerprint
    if bag is None or forest.weights is not None:
        raise ValueError(
            "partial_fit, grow_more and merge do not support a forest from an older file that was weighted or"
            " warm-started on other rows. Fit again."
        )
    rows, extremes = fitted.info.counted(bag.n_rows)
    grid = NO_GRID if extremes is None else ProvenanceGrid.of(*extremes)
    counted = (bag.bag_mean, bag.leaf_counts, bag.n_rows, bag.n_rows, rows)
    return replace(fitted, origins=(Provenance(forest.n_trees, 0, fitted.seed, *counted, grid=grid),))


# ---- stages of partial_fit ------------------------------------------------------------------------


def _read_more(model: TreeEstimator, before: Fitted, X: TableLike) -> Codes:
    """Read later rows as codes (p, m), of all features if the forest keeps its rows."""
    predictor = current_predictor(Predictor, model, before)
    return predictor.read(X, all_features=before.rows is not None).codes


def _added(before: Fitted, codes: Codes, target: Any, later: LaterGroups | None, n_threads: int) -> Fitted:
    """Return the fit after rows have been counted."""
    labels = np.zeros(target.n_rows, dtype=np.uint16) if target.labels is None else target.labels
    after = tuple(origin.after(labels, later.n_new if later else 0) for origin in before.origins)
    fingerprint = _fingerprint_after(before, after, codes, target, later)
    rows = None
    if before.rows is not None and before.rows.target.known is None:
        rows = before.rows.concat(codes, target, later.of_all if later else None)
    forest = _with_rows(before, codes, target, later, rows, n_threads)
    rows = rows if fingerprint is not None else None
    return replace(
        before,
        forest=forest,
        origins=after,
        info=before.info.joined(target.info, rows_of(after)),
        fingerprint=fingerprint,
        rows=rows,
        figures=replace(before.figures, oob_score=None, oob_predictions=None),
        # With the training rows, everything is learned again; otherwise earlier choices are kept.
        learned=Learned()
        if rows is not None
        else before.learned.without("trace", "residuals", "leaf_rows", "impurities", "ancestor_moments"),
    )


def _with_rows(
    before: Fitted,
    codes: Codes,
    target: Any,
    later: LaterGroups | None,
    rows: TrainingRows | None,
    n_threads: int,
) -> Forest:
    """Return the forest after rows have been counted; leaves of groups are counted again on all `rows`."""
    if later is None or all(origin.leaf_counts != "groups" for origin in before.origins):
        groups = None if later is None else later.of_row
        return add_rows(before.forest, before.origins, codes, target.truth, target.weights, n_threads, groups)
    if rows is None:
        raise ValueError(
            "partial_fit with leaf_counts='groups' requires the training rows, which a loaded, unpickled or merged"
            " forest has not kept. Fit all rows together."
        )
    return count_groups(adopt_borrowed(before.forest, codes, n_threads), rows, 0, n_threads)


def _fingerprint_after(
    before: Fitted, origins: tuple[Provenance, ...], codes: Codes, target: Any, later: LaterGroups | None
) -> Fingerprint | None:
    """Return the fingerprint of rows and bags after these rows have been counted."""
    if before.fingerprint is None or not all(drawn_once(origin) for origin in origins):
        return None
    rows = before.fingerprint.rows
    if rows is not None:
        labels = zlib.crc32(np.ascontiguousarray(target.identity).data, rows[0])
        if later is not None:
            labels = zlib.crc32(later.of_row.data, labels)
        rows = (labels, zlib.crc32(np.ascontiguousarray(codes).data, rows[1]))
    return before.fingerprint._replace(rows=rows, n_rows=origins[-1].n_rows, n_groups=origins[-1].n_groups)


# ---- stages of grow_more ----------------------------------------------------------------------------


def _of_one_table(origins: tuple[Provenance, ...]) -> bool:
    """Return whether all trees have counted the same rows, with consecutive bags."""
    first, there = origins[0], 0
    for origin in origins:
        same = (origin.seed, origin.n_rows, origin.class_rows) == (first.seed, first.n_rows, first.class_rows)
        if not same or origin.first_tree != there:
            return False
        there += origin.n_trees
    return True


def _rows_again(
    model: TreeEstimator,
    task: SupervisedTask,
    before: Fitted,
    X: TableLike,
    y: TargetLike | None,
    sample_weight: ArrayLike | None,
    groups: GroupsLike,
) -> TrainingRows:
    """Read all rows so far, passed again by the user."""
    X, groups = split_groups(X, groups)
    table = read_table(X, before.schema)
    target, kept = task.read_y(model, y, sample_weight, table.n_rows, before, before.info.names)
    row_groups = read_groups(groups, table.n_rows, kept)
    settings = _settings_again(model, task, before, target, row_groups)
    all_codes = encode(table, before.bins, n_threads=thread_count(model.n_jobs))
    rows = TrainingRows.of(all_codes, kept, target, settings, row_groups)
    n_rows, n_groups = before.origins[-1].n_rows, before.origins[-1].n_groups
    if rows.n_rows != n_rows:
        raise ValueError(f"X must have the {n_rows} rows so far, got {rows.n_rows}.")
    if rows.n_groups != n_groups:
        had = f"the {n_groups} groups so far" if n_groups else "None, as in the fit"
        raise ValueError(f"groups must be {had}, got {rows.n_groups or 'none'}.")
    return rows


def _settings_again(
    model: TreeEstimator, task: SupervisedTask, before: Fitted, target: Any, groups: Groups | None
) -> GrowthParams:
    """Return the growth parameters of more trees, with the seed of the first ones."""
    settings = replace(task.growth(model, target, before.schema), seed=before.seed)
    return settings_for_groups(settings, model, target, groups)


_Model = TypeVar("_Model")


def merge(first: _Model, second: _Model, *others: _Model) -> _Model:
    """Merge forests with the same columns into one forest with all trees.

    Trees keep their splits and their order. The new forest has the bin edges, classes and categories of all forests; in
    the trees of a forest without a category, the category counts as missing. Merging is associative, and `partial_fit`
    before or after merging gives the same result. The trees were grown on different rows, so the merged forest has no
    out-of-bag metrics, and does not support `grow_more`.

    Parameters
    ----------
    first, second, *others : fitted forests of the same class
        Forests, which are not changed. Their columns must have the same names and types.

    Returns
    -------
    forest
        It has the parameters of the first forest, except that ``n_estimators`` is the number of all trees.

    Raises
    ------
    TypeError
        If the models are not forests of one class.
    ValueError
        If their columns, classes or parameters do not match.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from hedgerow import RandomForestClassifier, merge
    >>> X, y = load_iris(return_X_y=True)
    >>> here = RandomForestClassifier(10, random_state=0).fit(X[::2], y[::2])
    >>> there = RandomForestClassifier(20, random_state=1).fit(X[1::2], y[1::2])
    >>> both = merge(here, there)
    >>> both.n_estimators, both.score(X, y) > 0.95
    (30, True)
    """
    if others:
        return merge(merge(first, second), *others)
    _check_alike(first, second)
    here, there = (with_origins(fitted_of(model)) for model in (first, second))
    names, places = _all_names(here.info, there.info)
    left, right = (
        Side(each.forest, each.bins, each.schema, place) for each, place in zip((here, there), places, strict=True)
    )
    forest, bins, schema = merge_forests(left, right, len(names))
    origins = tuple(
        provenance_with_classes(origin, place, len(names))
        for each, place in zip((here, there), places, strict=True)
        for origin in each.origins
    )
    merged: Any = clone(first)
    merged.n_estimators = forest.n_trees
    learned = Learned()
    if isinstance(merged.caution, str):  # the merged forest has no rows to choose on, so the first choice is kept
        learned.put("caution", None, predictor_of(first).caution)
    return publish(  # type: ignore[no-any-return]
        merged,
        Fitted(
            schema=schema,
            bins=bins,
            info=here.info.joined(replace(there.info, names=names), rows_of(origins)),
            forest=forest,
            criterion=here.criterion,
            seed=here.seed,
            fingerprint=None,
            origins=origins,
            learned=learned,
        ),
    )


def _check_alike(first: Any, second: Any) -> None:
    """Raise an error for models that cannot be merged."""
    for model in (first, second):
        if not isinstance(model, TreeEstimator) or not model._incremental or model._single_tree:
            raise TypeError(f"forests to be merged must be forests of hedgerow, got {type(model).__name__}.")
        predictor_of(model, "forests to be merged must be")
    if type(first) is not type(second):
        raise TypeError(
            f"forests to be merged must be of one class, got {type(first).__name__} and {type(second).__name__}."
        )
    for name in first._task.merge_params:
        pair = [model.get_params(deep=False).get(name) for model in (first, second)]
        if repr(pair[0]) != repr(pair[1]):
            raise ValueError(f"{name} must be the same in forests to be merged, got {pair[0]!r} and {pair[1]!r}.")


def _all_names(
    first: TargetInfo, second: TargetInfo
) -> tuple[NDArray[np.generic], tuple[NDArray[np.intp], NDArray[np.intp]]]:
    """Return the class names of both forests, and the positions of each among them."""
    kinds = [{type(name) for name in info.names.tolist()} for info in (first, second)]
    if (str in kinds[0]) != (str in kinds[1]):
        raise ValueError(
            f"classes must have the same type in forests to be merged, got {first.names[:5].tolist()} and"
            f" {second.names[:5].tolist()}."
        )
    names = np.unique(np.concatenate([first.names, second.names]))
    return names, (among_classes(first.names, names), among_classes(second.names, names))
