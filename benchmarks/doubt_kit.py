"""The kit of `benchmarks.doubt`: a study and real tables -> scores, tables, and sentences for the verdict."""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks import show
from benchmarks.accuracy import overall
from benchmarks.data import manifest, table
from benchmarks.record import with_error

Rows = NDArray[np.int64]

FOLDS, ROWS = 3, 4_000
"""Folds; rows of a set times repeats stay below the second."""


class NotInstalledError(Exception):
    """A peer that is not there."""


class NotSuitedError(Exception):
    """A set that a model does not answer, because of what the model is."""


@dataclass(frozen=True)
class Measure:
    """One column: what a model said of some rows, and the truth -> a number; and how models are compared by it.

    ``how`` is "difference" or "ratio", to the reference, or "level", the number itself.
    """

    title: str
    of: Callable[[Any, NDArray[Any]], float]
    how: str = "difference"
    larger: bool = False
    scale: float = 1.0

    def gap(self, one: float, other: float) -> float:
        """Difference, or logarithm of the ratio, negative where the first is better; the number itself for a level."""
        if self.how == "level":
            return one
        if self.how == "ratio":
            return float(np.log((one + 1e-4) / (other + 1e-4)))
        return self.scale * (other - one if self.larger else one - other)

    def shown(self, gap: float) -> str:
        """A gap as people read it."""
        if self.how == "level":
            return f"{gap:.3f}"
        if self.how == "ratio":
            return f"× {np.exp(gap):.3f}"
        return f"{-gap if self.larger else gap:+.4f}" if self.scale == 1 else f"{-gap if self.larger else gap:+.2f}"

    def with_error(self, mean: float, error: float) -> str:
        """A mean and its standard error."""
        digits = 3 if self.how != "difference" or self.scale == 1 else 2
        return f"{self.shown(mean)} ± {error:.{digits}f}"


@dataclass(frozen=True)
class Table:
    """One table: its columns, the models in its lines, the one they are compared with, and ours."""

    title: str
    measures: tuple[Measure, ...]
    models: tuple[str, ...]
    reference: str
    ours: tuple[str, ...]


@dataclass(frozen=True)
class Study:
    """Questions that the same fits answer.

    Parameters
    ----------
    tables : dict
        The tables of each question, by its name.
    models : dict
        Trees, seed -> a model, by name.
    ask : callable
        Model, X, y, rows to fit, rows to ask about -> what the model says of the latter.
    halves : callable
        The data folder -> the names of the sets to choose on ("choose"), to report on ("report"), and of all.
    truth : callable
        The target as the data folder has it -> class numbers or numbers.
    quick_sets, quick_models : sequences of str
        What ``--quick`` asks.
    """

    tables: dict[str, tuple[Table, ...]]
    models: dict[str, Callable[[int, int], Any]]
    ask: Callable[[Any, Any, NDArray[Any], Rows, Rows], Any]
    halves: Callable[[Path], dict[str, list[str]]]
    truth: Callable[[NDArray[Any]], NDArray[Any]]
    quick_sets: Sequence[str]
    quick_models: Sequence[str]

    def asked(self, questions: Sequence[str]) -> list[Table]:
        """The tables of some questions."""
        return [one for question, tables in self.tables.items() if question in questions for one in tables]


@dataclass
class Found:
    """What the models did on one set: for each measure by title, for each model, the mean over folds."""

    set: str
    rows: int
    classes: int
    folds: int
    scores: dict[str, dict[str, float]] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)
    trees: int = 100

    def is_like(self, other: Found) -> bool:
        """Whether the scores of both can stand in one table: the same rows, folds and trees."""
        return (self.set, self.rows, self.folds, self.trees) == (other.set, other.rows, other.folds, other.trees)


def examine(
    study: Study,
    tables: list[Table],
    name: str,
    place: Path,
    options: Any,
    errors: list[str],
    before: Found | None = None,
) -> Found:
    """All models of some tables on the same folds of one set, except those that a run before has scored."""
    X, y = table(name, place)
    some = np.linspace(0, len(y) - 1, min(len(y), options.most_rows)).astype(np.int64)
    X, y = X.iloc[some], study.truth(y[some])
    measures = list(dict.fromkeys(measure for one in tables for measure in one.measures))
    folds = list(_folds(y, max(1, min(options.repeats, ROWS // len(y)))))[: options.folds]
    classes = int(y.max()) + 1 if y.dtype.kind == "i" else 0
    found = Found(name, len(y), classes, len(folds), {}, {}, options.trees)
    if before is not None and found.is_like(before):
        found = before
    for measure in measures:
        found.scores.setdefault(measure.title, {})
    for model in wanted(study, tables, options):
        if model in found.seconds:
            continue
        scores, start = [], time.monotonic()
        try:
            for seed, (fit, test) in enumerate(folds):
                said = study.ask(study.models[model](options.trees, seed), X, y, fit, test)
                asked = {measure for one in tables if model in one.models for measure in one.measures}
                scores.append([measure.of(said, y[test]) if measure in asked else np.nan for measure in measures])
        except NotInstalledError as reason:
            errors.append(f"left out: {reason}")
            continue
        except NotSuitedError as reason:
            errors.append(f"left out: {model} on {name}: {reason}")
            continue
        except Exception as reason:
            errors.append(f"error: {model} on {name}: {type(reason).__name__}: {reason}")
            continue
        found.seconds[model] = time.monotonic() - start
        for measure, column in zip(measures, np.transpose(scores), strict=True):
            if not np.isnan(column).all():
                found.scores[measure.title][model] = float(np.nanmean(column))
    return found


def wanted(study: Study, tables: list[Table], options: Any) -> list[str]:
    """The models that are asked for: named, else quick ones or all; always ours and the reference of each table."""
    named = [*(options.models or ()), *(one.reference for one in tables)]
    asked = named if options.models else study.quick_models if options.quick else study.models
    lines = {model for one in tables for model in one.models}
    return [name for name in study.models if name in lines and (name in asked or name in named)]


def chosen_sets(study: Study, place: Path, options: argparse.Namespace) -> list[str]:
    """The sets that are asked for, small ones first."""
    about = manifest(place)
    halves = study.halves(place)
    if options.sets:
        names = [name for name in options.sets if name in halves["all"]]
    else:
        names = list(study.quick_sets if options.quick else halves[options.half])
    return sorted((n for n in names if int(about[n]["rows"]) <= options.rows), key=lambda n: int(about[n]["rows"]))


def print_table(asked: Table, found: list[Found], trees: int) -> None:
    """A line for each model, paired with the reference over sets; levels are not paired."""
    title = f"{asked.title}: beside {asked.reference}, {len(found)} sets, {trees} trees"
    grid = show.ruled(f"{title} (mean ± standard error over sets; sets that are better; worst)")
    grid.add_column("model")
    for measure in asked.measures:
        for column in (measure.title,) if measure.how == "level" else (measure.title, "better", "worst"):
            grid.add_column(column, justify="right")
    for model in asked.models:
        cells = [cell for measure in asked.measures for cell in _cells(measure, model, asked.reference, found)]
        if any(cells):
            grid.add_row(model, *cells)
    show.console().print(grid)


def sentences(asked: Table, found: list[Found]) -> list[str]:
    """What a table says of our first model: beside the reference, beside the nearest peer, and levels."""
    ours, said = asked.ours[0], []
    peers = [model for model in asked.models if model not in asked.ours]
    first = asked.measures[0]
    gaps = {peer: _gaps(first, ours, peer, found) for peer in peers}
    gaps = {peer: gap for peer, gap in gaps.items() if gap}
    if gaps and first.how != "level":
        nearest = max(gaps, key=lambda peer: float(np.mean(gaps[peer])))
        for peer in dict.fromkeys(name for name in (asked.reference, nearest) if name in gaps):
            shown = first.with_error(*overall(gaps[peer]))
            better = f"better on {sum(gap < 0 for gap in gaps[peer])} of {len(gaps[peer])} sets"
            which = " (the nearest peer)" if peer == nearest and len(gaps) > 1 else ""
            said.append(f"{first.title} of {ours} beside {peer}{which} {shown}, {better}")
    for measure in asked.measures:
        levels = [one.scores[measure.title][ours] for one in found if ours in one.scores[measure.title]]
        if measure.how == "level" and levels:
            said.append(f"{measure.title} of {ours} {measure.with_error(*overall(levels))}")
    return said


def figures(tables: list[Table], found: list[Found]) -> dict[str, Any]:
    """The tables as plain data: each model beside the reference, and our first model beside each peer."""
    told: dict[str, Any] = {"sets": len(found)}
    for asked in tables:
        for measure in asked.measures:
            for model in asked.models:
                one, other = (
                    (model, asked.reference) if measure.how == "level" or model != asked.reference else ("", "")
                )
                told.setdefault(model, {}).update(_told(measure, one, other, found))
        for peer in (model for model in asked.models if model not in asked.ours):
            pair = told.setdefault(f"{asked.ours[0]}, compared with {peer}", {})
            pair.update(_told(asked.measures[0], asked.ours[0], peer, found))
    return {name: each for name, each in told.items() if each}


def imported(name: str) -> Any:
    """A module by name; `NotInstalledError` if it is not there."""
    try:
        return import_module(name)
    except ImportError as reason:
        raise NotInstalledError(f"{name.partition('.')[0]} is not installed") from reason


def every_other(names: list[str]) -> dict[str, list[str]]:
    """Names -> every other one to choose on, the rest to report on."""
    names = sorted(names)
    return {"choose": names[0::2], "report": names[1::2], "all": names}


def classes_of(y: NDArray[Any]) -> Rows:
    """Labels -> class numbers."""
    return np.unique(y, return_inverse=True)[1].astype(np.int64)


def _folds(y: NDArray[Any], repeats: int) -> Iterator[tuple[Rows, Rows]]:
    from sklearn.model_selection import RepeatedKFold, RepeatedStratifiedKFold

    kind = RepeatedStratifiedKFold if y.dtype.kind == "i" else RepeatedKFold
    yield from kind(n_splits=FOLDS, n_repeats=repeats, random_state=0).split(y, y)


def _cells(measure: Measure, model: str, reference: str, found: list[Found]) -> list[str]:
    """Mean difference, sets that are better, and the worst set; of a level its mean."""
    if measure.how == "level" or model == reference:
        levels = [one.scores[measure.title][model] for one in found if model in one.scores[measure.title]]
        if measure.how == "level":
            return [measure.with_error(*overall(levels))] if levels else [""]
        return [f"{measure.scale * float(np.mean(levels)):.4g}" if levels else "", "", ""]
    both = [one for one in found if {model, reference} <= one.scores[measure.title].keys()]
    gaps = _gaps(measure, model, reference, found)
    if not gaps:
        return ["", "", ""]
    worst = int(np.argmax(gaps))
    better = f"{sum(gap < 0 for gap in gaps)} of {len(gaps)}"
    return [measure.with_error(*overall(gaps)), better, f"{measure.shown(gaps[worst])} {both[worst].set}"]


def _told(measure: Measure, one: str, other: str, found: list[Found]) -> dict[str, Any]:
    """A measure of one model beside another, by its title; nothing if a set has not both."""
    if measure.how == "level":
        levels = [each.scores[measure.title][one] for each in found if one in each.scores[measure.title]]
        return {measure.title: with_error(levels)} if levels else {}
    gaps = _gaps(measure, one, other, found)
    if not gaps:
        return {}
    mean, error = overall(gaps)
    if measure.how == "ratio":
        mean, error = float(np.exp(mean)), float(np.exp(mean) * error)
    elif measure.larger:
        mean = -mean
    better = sum(gap < 0 for gap in gaps)
    return {measure.title: {"value": mean, "error": error, "sets": len(gaps), "better": better}}


def _gaps(measure: Measure, one: str, other: str, found: list[Found]) -> list[float]:
    """The gap between two models on every set that both have answered."""
    scores = [each.scores[measure.title] for each in found]
    return [measure.gap(score[one], score[other]) for score in scores if {one, other} <= score.keys()]
