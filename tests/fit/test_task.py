"""A prediction type that stands in this file alone: times that may be censored, counted in the cells of leaves."""

from __future__ import annotations

import io
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Self

import numpy as np
import pytest

import hedgerow
from hedgerow import estimators
from hedgerow.cluster.estimators import checked_target
from hedgerow.errors import ModelFileError
from hedgerow.estimators.supervised import SupervisedTrees
from hedgerow.fit.incremental import merge, partial_fit
from hedgerow.fit.run import FitRun, fit
from hedgerow.fit.task import SupervisedTask
from hedgerow.forest.target import ReadTarget, TargetInfo
from hedgerow.inference.fitted import Fitted, Learned, fitted_of, publish, update_fitted
from hedgerow.inference.oob import Trace
from hedgerow.inference.predictor import Predictor
from hedgerow.params.table import Params, rows_of
from hedgerow.rules import Average, Setting
from hedgerow.storage.model import describe_file
from hedgerow.storage.parameters import Decoder, Encoder
from hedgerow.storage.state import learned_from_contents, learned_to_contents, state_from_contents, state_to_contents
from hedgerow.storage.values import Arrays, Once, take
from hedgerow.tasks.classification.target import ClassificationTarget, make_labels

#: Times are counted in these intervals, for events and for censored rows: cell 2 * interval + event.
CUTS = np.array([1.0, 2.0, 4.0])


@dataclass(frozen=True, eq=False)
class CellInfo(TargetInfo):
    """The longest time."""

    longest: float = 0.0

    def joined(self, other: Any, class_rows: Any) -> CellInfo:
        return replace(self, longest=max(self.longest, other.longest))


@dataclass(frozen=True, eq=False)
class CellTarget(ClassificationTarget):
    """Cells as classes, and the times."""

    times: Any = None

    @property
    def info(self) -> Any:
        return CellInfo(self.classes, float(self.times.max()))

    def concat(self, later: Any) -> CellTarget:
        both = super().concat(later)
        return CellTarget(both.classes, both.core, both.weights, times=np.concatenate([self.times, later.times]))


class CurvePredictor(Predictor):
    """Kaplan–Meier curves of the mean cell shares of leaves."""

    def curves(self, X: Any) -> Any:
        codes = self.read(X).codes
        shares = self.forest.probability(codes, self.threads(codes.shape[1])).reshape(codes.shape[1], -1, 2)
        at_risk = shares[:, ::-1].sum(axis=2).cumsum(axis=1)[:, ::-1]
        hazard = np.divide(shares[:, :, 1], at_risk, out=np.zeros_like(at_risk), where=at_risk > 0)
        return np.cumprod(1 - hazard, axis=1)

    def evaluate_oob(self, metric: Any) -> Fitted:
        fitted = self.fitted
        if fitted.oob_rows is None:
            return fitted
        trace = Trace(fitted.oob_rows, Average(), Setting.of(len(fitted.info.names), 0.0))
        trace.extend(fitted.forest)
        return replace(fitted, figures=replace(fitted.figures, oob_score=1 - trace.errors[-1]))


class Survival(SupervisedTask):
    """y has two columns: the time, and whether the event happened then."""

    name = "survival"
    file_keys = frozenset({"parameters", "table", "seed", "bag", "fitted"})

    def read_y(
        self, model: Any, y: Any, sample_weight: Any, n_rows: int, before: Fitted | None = None, classes: Any = None
    ) -> ReadTarget:
        times, events = np.asarray(y, dtype=np.float64).T
        assert len(times) == n_rows
        cells, names = 2 * np.searchsorted(CUTS, times) + (events > 0), np.arange(2 * len(CUTS) + 2)
        return ReadTarget(CellTarget(names, make_labels(cells, len(names), None), times=times), None)

    def oob_trace(self, run: FitRun) -> Trace:
        return Trace(run.rows, Average(), Setting.of(len(run.rows.target.classes), 0.0))

    def predictor(self, fitted: Fitted, params: Params, estimator: type) -> CurvePredictor:
        return CurvePredictor(fitted, params, estimator)

    def dump(self, model: Any) -> tuple[dict[str, Any], Arrays]:
        encoder, fitted = Encoder(), fitted_of(model)
        state, arrays = state_to_contents(fitted)
        known, of_known = learned_to_contents(fitted)
        arrays |= of_known | {"longest": np.array([fitted.info.longest])}  # type: ignore[attr-defined]
        return {"parameters": encoder.parameters(model), **state, "fitted": known}, arrays | encoder.arrays

    def load(self, estimator: type, given: dict[str, Any], arrays: Arrays, once: Once | None = None) -> Any:
        names = np.arange(2 * len(CUTS) + 2)
        model = Decoder(arrays, len(names)).estimator(given["parameters"], estimator)
        state = state_from_contents(given, arrays, len(names), once)
        learned = Learned()
        origins, forest = learned_from_contents(learned, state, given["fitted"], arrays, once)
        info = CellInfo(names, float(take(arrays, "longest", np.float64, length=1)[0]))
        grown = (state.schema, state.bins, info, forest, "gini", state.seed, state.fingerprint)
        return publish(model, Fitted(*grown, origins=origins, learned=learned))


class SurvivalForest(SupervisedTrees):
    """A forest whose leaves are curves."""

    _task = Survival()
    _parameters = rows_of("n_estimators", "max_depth", "bootstrap", "warm_start", "random_state")
    min_samples_split, min_samples_leaf, categorical_features, max_bins = 2, 1, None, "auto"
    caution, splitter = 1.0, "best"

    def __init__(
        self, n_estimators: Any = 20, *, max_depth: Any = 4, bootstrap: Any = True, warm_start: Any = False,
        random_state: Any = None,
    ) -> None:  # fmt: skip
        self.n_estimators = n_estimators
        self.max_depth = max_depth
        self.bootstrap = bootstrap
        self.warm_start = warm_start
        self.random_state = random_state

    def fit(self, X: Any, y: Any, checkpoint: Any = None) -> Self:
        return publish(self, fit(self, X, y, checkpoint=checkpoint))

    def partial_fit(self, X: Any, y: Any) -> Self:
        return update_fitted(self, lambda before: partial_fit(self, X, y, None, None, before))

    def predict_curves(self, X: Any) -> Any:
        return self._predictor().curves(X)


def rows(n: int = 300, seed: int = 0) -> tuple[Any, Any]:
    """Times that depend on the first feature; a third of the rows are censored earlier."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    times, ends = rng.exponential(np.exp(X[:, 0])), rng.exponential(3.0, n)
    return X, np.column_stack([np.minimum(times, ends), times <= ends])


@pytest.fixture
def public(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(estimators, "SurvivalForest", SurvivalForest, raising=False)


def test_two_columns_are_one_target_of_a_type_that_reads_them_itself() -> None:
    X, y = rows()
    model = SurvivalForest(random_state=0).fit(X, y)
    curves = model.predict_curves(np.array([[-2.0, 0, 0], [2.0, 0, 0]]))
    assert curves.shape == (2, 4)
    assert (np.diff(curves, axis=1) <= 0).all()
    assert (curves[0] < curves[1]).all()
    assert model.n_outputs_ == 1
    assert 0 < model.oob_score_ < 1


def test_trees_are_added_as_if_all_had_been_grown_at_once(tmp_path: Path) -> None:
    X, y = rows()
    whole = SurvivalForest(12, random_state=0).fit(X, y)
    warm = SurvivalForest(5, warm_start=True, random_state=0).fit(X, y)
    warm.n_estimators = 12
    more = SurvivalForest(5, random_state=0).fit(X, y).grow_more(7)
    kept = SurvivalForest(5, random_state=0).fit(X, y, checkpoint=tmp_path / "trees")
    again = SurvivalForest(12, random_state=0).fit(X, y, checkpoint=tmp_path / "trees")
    for other in (warm.fit(X, y), more, again):
        assert np.array_equal(other.predict_curves(X), whole.predict_curves(X))
    assert kept.forest_.n_trees == 5


def test_the_number_of_trees_and_of_features_follow_the_out_of_bag_error() -> None:
    X, y = rows(150)
    model = SurvivalForest("auto", random_state=0)
    model.max_features = "oob"
    model.fit(X, y)
    assert 1 < model.forest_.n_trees <= 1000
    assert set(model.max_features_errors_) == {1, 2, 3}


def test_rows_are_added_and_forests_merged() -> None:
    X, y = rows()
    late = np.array([[50.0, 1.0]])
    model = SurvivalForest(random_state=0).fit(X, y).partial_fit(X[:1], late)
    assert fitted_of(model).info.longest == 50.0  # type: ignore[attr-defined]
    assert fitted_of(model).origins[0].n_rows == 301
    both = merge(model, SurvivalForest(5, random_state=1).fit(*rows(seed=1)))
    assert both.forest_.n_trees == 25
    assert fitted_of(both).info.longest == 50.0  # type: ignore[attr-defined]


@pytest.mark.usefixtures("public")
def test_a_file_holds_the_model() -> None:
    X, y = rows()
    model, file = SurvivalForest(random_state=0).fit(X, y), io.BytesIO()
    hedgerow.save(model, file)
    assert describe_file(io.BytesIO(file.getvalue())).estimator == "SurvivalForest"
    loaded = hedgerow.load(io.BytesIO(file.getvalue()))
    assert np.array_equal(loaded.predict_curves(X), model.predict_curves(X))
    assert np.array_equal(loaded.predict_novelty(X), model.predict_novelty(X))
    again = io.BytesIO()
    hedgerow.save(loaded, again)
    assert again.getvalue() == file.getvalue()


def test_a_file_cannot_name_an_estimator_that_is_not_public() -> None:
    model = SurvivalForest(random_state=0).fit(*rows())
    with pytest.raises(TypeError, match="model must be one of"):
        hedgerow.save(model, io.BytesIO())


def test_a_file_of_several_outputs_needs_a_type_that_has_several(public: None, monkeypatch: pytest.MonkeyPatch) -> None:
    forest, file = hedgerow.RandomForestRegressor(3, random_state=0), io.BytesIO()
    hedgerow.save(forest.fit(rows()[0], rows()[1]), file)
    monkeypatch.setattr(estimators, "RandomForestRegressor", SurvivalForest)
    with pytest.raises(ModelFileError, match="must be of one output, got several"):
        hedgerow.load(io.BytesIO(file.getvalue()))


def test_a_type_without_a_distributed_target_is_fitted_on_one_machine() -> None:
    with pytest.raises(TypeError, match="SurvivalForest does not support clusters"):
        checked_target(SurvivalForest())
