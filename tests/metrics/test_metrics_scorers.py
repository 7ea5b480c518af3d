"""Scorers inside scikit-learn: cross-validation, searches, pipelines, and all of them nested."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from sklearn import config_context
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.datasets import make_blobs
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_score, cross_validate
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler

from hedgerow import metrics
from hedgerow.metrics.scorers import SCORERS


class NearCentres(ClassifierMixin, BaseEstimator):
    """Keeps every class whose centre is at most ``reach`` times as far away as the nearest one."""

    def __init__(self, reach: float = 1.5, pair: bool = True) -> None:
        self.reach = reach
        self.pair = pair

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        self.centres_ = np.stack([X[y == label].mean(axis=0) for label in self.classes_])
        return self

    def predict(self, X, return_set=False):
        distance = self._distance(X)
        labels = self.classes_[distance.argmin(axis=1)]
        if not return_set:
            return labels
        sets = distance <= self.reach * distance.min(axis=1, keepdims=True)
        return (labels, sets) if self.pair else sets

    def predict_proba(self, X):
        closeness = np.exp(-self._distance(X))
        return closeness / closeness.sum(axis=1, keepdims=True)

    def _distance(self, X):
        return np.linalg.norm(X[:, None] - self.centres_, axis=2)


@pytest.fixture(scope="module")
def data():
    X, y = make_blobs(150, centers=3, cluster_std=3.0, random_state=0)
    return X, np.array(["wolf", "ant", "bee"])[y]


def test_a_score_is_the_metric_of_the_sets(data):
    X, y = data
    model = NearCentres().fit(X, y)
    _, sets = model.predict(X, return_set=True)
    for name in ("u65", "u80", "discounted_accuracy", "coverage", "determinacy", "set_accuracy"):
        assert metrics.scorer(name)(model, X, y) == getattr(metrics, name)(y, sets)
    assert metrics.scorer("neg_mean_set_size")(model, X, y) == -metrics.mean_set_size(y, sets)
    assert metrics.scorer("utility", z=0.9)(model, X, y) == metrics.utility(y, sets, z=0.9)
    assert metrics.scorer("f_beta_of_sets", beta=2)(model, X, y) == metrics.f_beta_of_sets(y, sets, beta=2)


def test_the_scorer_of_rejection_uses_the_largest_probability(data):
    X, y = data
    model = NearCentres().fit(X, y)
    sure = model.predict_proba(X).max(axis=1)
    area = metrics.area_under_accuracy_rejection(y, model.predict(X), sure)
    assert metrics.scorer("area_under_accuracy_rejection")(model, X, y) == area


def test_sets_may_come_alone_or_after_the_labels(data):
    X, y = data
    pair, alone = NearCentres(pair=True).fit(X, y), NearCentres(pair=False).fit(X, y)
    assert metrics.u65_scorer(pair, X, y) == metrics.u65_scorer(alone, X, y)


def test_folds_may_lack_a_class_in_the_rows_that_are_scored(data):
    X, y = data
    model = NearCentres().fit(X, y)
    ants = y == "ant"
    _, sets = model.predict(X[ants], return_set=True)
    expected = metrics.u65(y[ants], sets, classes=model.classes_)
    assert metrics.u65_scorer(model, X[ants], y[ants]) == expected


def test_weights_reach_the_metric(data):
    X, y = data
    model, weight = NearCentres().fit(X, y), np.arange(150)
    _, sets = model.predict(X, return_set=True)
    expected = metrics.u65(y, sets, sample_weight=weight)
    assert metrics.u65_scorer(model, X, y, sample_weight=weight) == expected
    assert expected != metrics.u65_scorer(model, X, y)


@pytest.mark.parametrize("name", SCORERS)
@pytest.mark.parametrize("model", [NearCentres(), make_pipeline(StandardScaler(), NearCentres())])
def test_every_scorer_gives_finite_scores_in_cross_validation(name, model, data):
    scores = cross_val_score(model, *data, scoring=metrics.scorer(name), cv=3, error_score="raise")
    assert np.isfinite(scores).all()


@pytest.mark.parametrize("reach", [1.0, 1e9])
@pytest.mark.parametrize("name", SCORERS)
def test_every_scorer_gives_numbers_where_nothing_or_everything_is_open(name, reach, data):
    X, y = data
    assert np.isfinite(metrics.scorer(name)(NearCentres(reach).fit(X, y), X, y))


def test_what_has_no_value_scores_as_documented(data):
    X, y = data
    open_all, decided = NearCentres(1e9).fit(X, y), NearCentres(1.0).fit(X, y)
    assert metrics.scorer("single_set_accuracy")(open_all, X, y) == 0.0
    assert metrics.scorer("single_set_accuracy", otherwise=0.5)(open_all, X, y) == 0.5
    assert metrics.scorer("set_accuracy")(decided, X, y) == 1.0
    assert metrics.scorer("neg_mean_set_size")(decided, X, y) == -1.0


def by_hand(data, reach, price) -> float:
    """The mean score of a pipeline over three folds, written out."""
    from sklearn.model_selection import StratifiedKFold

    X, y = data
    scores = []
    for train, test in StratifiedKFold(3).split(X, y):
        scaler = StandardScaler().fit(X[train])
        model = NearCentres(reach).fit(scaler.transform(X[train]), y[train])
        _, sets = model.predict(scaler.transform(X[test]), return_set=True)
        scores.append(metrics.utility(y[test], sets, z=price, classes=model.classes_))
    return float(np.mean(scores))


def test_a_search_over_a_pipeline_finds_what_a_loop_finds(data):
    pipeline = Pipeline([("scale", StandardScaler()), ("model", NearCentres())])
    grid = {"model__reach": [1.0, 1.3, 2.0, 50.0]}
    search = GridSearchCV(pipeline, grid, scoring=metrics.u80_scorer, cv=3, error_score="raise")
    search.fit(*data)
    expected = [by_hand(data, reach, 0.8) for reach in grid["model__reach"]]
    np.testing.assert_allclose(search.cv_results_["mean_test_score"], expected, atol=1e-14)
    assert search.best_index_ == int(np.argmax(expected))
    assert len(set(expected)) == 4


def test_several_scorers_can_judge_at_once(data):
    scoring = {"u65": metrics.u65_scorer, "open": metrics.scorer("determinacy"), "accuracy": "accuracy"}
    search = GridSearchCV(NearCentres(), {"reach": [1.0, 2.0]}, scoring=scoring, refit="u65", cv=3)
    results = search.fit(*data).cv_results_
    assert results["mean_test_open"][0] == 1.0 > results["mean_test_open"][1]
    np.testing.assert_allclose(results["mean_test_u65"][0], results["mean_test_accuracy"][0], atol=1e-14)
    assert set(cross_validate(NearCentres(), *data, scoring=scoring, cv=3)) >= {"test_u65", "test_accuracy"}


def test_a_search_is_asked_through_its_best_estimator(data):
    X, y = data
    pipeline = make_pipeline(StandardScaler(), NearCentres())
    grid = {"nearcentres__reach": [1.0, 1.5]}
    search = GridSearchCV(pipeline, grid, scoring=metrics.u65_scorer, cv=3).fit(X, y)
    assert search.score(X, y) == metrics.u65_scorer(search.best_estimator_, X, y)
    assert metrics.u65_scorer(search, X, y) == metrics.u65_scorer(search.best_estimator_, X, y)
    nested = cross_val_score(search, X, y, scoring=metrics.u65_scorer, cv=3, error_score="raise")
    assert np.isfinite(nested).all()


@pytest.mark.parametrize(
    "model", [make_pipeline(StandardScaler(), NearCentres()), make_pipeline(NearCentres()), NearCentres()]
)
def test_metadata_routing_changes_nothing(model, data):
    plain = cross_val_score(model, *data, scoring=metrics.u65_scorer, cv=3, error_score="raise")
    with config_context(enable_metadata_routing=True):
        routed = cross_val_score(model, *data, scoring=metrics.u65_scorer, cv=3, error_score="raise")
        several = cross_validate(model, *data, scoring={"u65": metrics.u65_scorer}, cv=3, error_score="raise")
    assert routed.tolist() == plain.tolist() == several["test_u65"].tolist()


@pytest.mark.parametrize("name", SCORERS)
def test_scorers_survive_pickle(name, data):
    X, y = data
    model, scorer = NearCentres().fit(X, y), metrics.scorer(name)
    again = pickle.loads(pickle.dumps(scorer))
    assert again(model, X, y) == scorer(model, X, y)
    assert repr(again) == f"scorer({name!r})"


def test_an_unknown_scorer_is_answered_with_the_names():
    with pytest.raises(ValueError, match=r"must be one of 'u65', .*got 'u66'"):
        metrics.scorer("u66")


def test_an_estimator_without_sets_is_told_what_is_missing(data):
    X, y = data
    for model in (LogisticRegression(), make_pipeline(StandardScaler(), LogisticRegression())):
        with pytest.raises(TypeError, match=r"must accept predict\(X, return_set=True\), got"):
            metrics.u65_scorer(model.fit(X, y), X, y)


def test_other_type_errors_are_passed_on(data):
    X, y = data

    class Broken(NearCentres):
        def predict(self, X, return_set=False):
            raise TypeError("something else is wrong")

    with pytest.raises(TypeError, match=r"^something else is wrong$"):
        metrics.u65_scorer(Broken().fit(X, y), X, y)
