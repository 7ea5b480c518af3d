"""Life inside scikit-learn: pipelines, searches, calibration, routing, saving, and what an import costs."""

from __future__ import annotations

import ast
import copy
import io
import os
import pickle
import subprocess
import sys
from pathlib import Path

import joblib
import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import ColumnTransformer, make_column_transformer
from sklearn.ensemble import VotingClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.inspection import permutation_importance
from sklearn.metrics import accuracy_score, make_scorer
from sklearn.model_selection import GridSearchCV, cross_val_predict, cross_val_score, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, OrdinalEncoder, StandardScaler

import hedgerow
from hedgerow import (
    DecisionTreeClassifier,
    ExtraTreesClassifier,
    RandomDecisionTreesClassifier,
    RandomForestClassifier,
    RandomForestRegressor,
    metrics,
)
from hedgerow.decisions import Coverage, UtilitySet
from hedgerow.rules import Belief, Eva, Laplace
from hedgerow.util import compat

SOURCE = Path(hedgerow.__file__).resolve().parent
ESTIMATORS = [
    DecisionTreeClassifier(random_state=0),
    RandomForestClassifier(10, random_state=0),
    ExtraTreesClassifier(10, random_state=0),
    RandomDecisionTreesClassifier(10, random_state=0),
]
EVERY_ESTIMATOR = pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda estimator: type(estimator).__name__)


def clouds(n_rows: int = 200, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, n_rows)
    return rng.normal(scale=1.2, size=(n_rows, 3)) + np.eye(3)[y] * 2, np.array(["ash", "birch", "cedar"])[y]


def garden(n_rows: int = 200) -> tuple[pd.DataFrame, np.ndarray]:
    X, y = clouds(n_rows)
    rng = np.random.default_rng(1)
    table = pd.DataFrame(X, columns=["height", "width", "age"])
    table["soil"] = np.where(rng.random(n_rows) < 0.7, np.char.add("soil of ", y), "sand")
    table["soil"] = table["soil"].astype("category")
    table.loc[rng.random(n_rows) < 0.1, "age"] = np.nan
    return table, y


# ---- pipelines ---------------------------------------------------------------------------


@EVERY_ESTIMATOR
def test_a_pipeline_passes_return_set_on(estimator):
    X, y = clouds()
    pipeline = make_pipeline(StandardScaler(), clone(estimator)).fit(X, y)
    labels, sets = pipeline.predict(X, return_set=True)
    direct = clone(estimator).fit(StandardScaler().fit_transform(X), y)
    np.testing.assert_array_equal(labels, direct.predict(StandardScaler().fit_transform(X)))
    np.testing.assert_array_equal(sets, direct.predict_set(StandardScaler().fit_transform(X)))
    np.testing.assert_array_equal(labels, pipeline.predict(X))
    assert metrics.u65(y, sets) == pytest.approx(metrics.scorer("u65")(pipeline, X, y))


def test_parameters_reach_the_rule_through_a_pipeline():
    X, y = clouds()
    pipeline = make_pipeline(StandardScaler(), RandomForestClassifier(10, rule=Eva(), random_state=0)).fit(X, y)
    before = pipeline.predict_proba(X)
    pipeline.set_params(randomforestclassifier__rule__prior=None, randomforestclassifier__rule__smoothing=5.0)
    assert pipeline.get_params()["randomforestclassifier__rule__smoothing"] == 5.0
    assert np.abs(pipeline.predict_proba(X) - before).max() > 0.01


def test_a_column_transformer_may_stand_in_front():
    table, y = garden()
    columns = make_column_transformer((OneHotEncoder(), ["soil"]), (StandardScaler(), ["height", "width", "age"]))
    pipeline = make_pipeline(columns, RandomForestClassifier(20, oob_score=True, random_state=0)).fit(table, y)
    assert pipeline[-1].oob_score_ > 0.7
    assert pipeline.predict(table, return_set=True)[1].shape == (200, 3)


def test_names_and_categories_pass_through_set_output():
    table, y = garden()
    columns = ColumnTransformer(
        [("codes", OrdinalEncoder(), ["soil"]), ("rest", "passthrough", ["height", "age"])],
        verbose_feature_names_out=False,
    )
    forest = RandomForestClassifier(10, categorical_features=["soil"], random_state=0)
    pipeline = make_pipeline(columns, forest).set_output(transform="pandas").fit(table, y)
    assert pipeline[-1].feature_names_in_.tolist() == ["soil", "height", "age"]
    assert pipeline.score(table, y) > 0.8
    renamed = pipeline[:-1].transform(table).rename(columns={"age": "years"})
    with pytest.raises(ValueError, match="years"):
        pipeline[-1].predict(renamed)


def test_a_data_frame_keeps_its_kinds_through_a_pipeline():
    table, y = garden()
    passing = FunctionTransformer(feature_names_out="one-to-one")
    pipeline = make_pipeline(passing, RandomForestClassifier(10, random_state=0)).fit(table, y)
    np.testing.assert_array_equal(
        pipeline.predict_proba(table), RandomForestClassifier(10, random_state=0).fit(table, y).predict_proba(table)
    )


# ---- searches and scores -----------------------------------------------------------------


def test_a_grid_search_finds_a_caution_by_u65():
    X, y = clouds()
    forest = RandomForestClassifier(10, random_state=0)
    search = GridSearchCV(forest, {"caution": [0.0, 1.0, 4.0]}, scoring=metrics.scorer("u65"), cv=3).fit(X, y)
    scores = search.cv_results_["mean_test_score"]
    assert len(set(scores)) == 3
    assert search.best_params_["caution"] == [0.0, 1.0, 4.0][int(np.argmax(scores))]
    assert search.score(X, y) == pytest.approx(metrics.u65(y, search.best_estimator_.predict_set(X)))


def test_a_grid_search_reaches_rules_decisions_and_their_parameters_in_a_pipeline():
    X, y = clouds()
    pipeline = make_pipeline(StandardScaler(), RandomForestClassifier(10, random_state=0))
    step = "randomforestclassifier__"
    grid = [
        {f"{step}rule": [Laplace()], f"{step}rule__alpha": [0.1, 5.0]},
        {f"{step}rule": ["eva", "average"], f"{step}decision": [UtilitySet("u65"), "dominance"]},
    ]
    search = GridSearchCV(pipeline, grid, scoring=metrics.scorer("u65"), cv=2, error_score="raise").fit(X, y)
    assert len(search.cv_results_["params"]) == 6
    assert np.ptp(search.cv_results_["mean_test_score"]) > 0
    assert search.best_estimator_.predict(X, return_set=True)[1].any(axis=1).all()


def test_cross_validation_scores_sets():
    X, y = clouds()
    forest = RandomForestClassifier(10, caution="auto", decision=Coverage(0.9), random_state=0)
    scores = cross_val_score(forest, X, y, scoring=metrics.scorer("coverage"), cv=3)
    assert scores.shape == (3,)
    assert (scores > 0.75).all()


def test_cross_validation_takes_several_scorers():
    X, y = clouds()
    scoring = {"u65": metrics.scorer("u65"), "determinacy": metrics.scorer("determinacy"), "accuracy": "accuracy"}
    result = cross_validate(DecisionTreeClassifier(random_state=0), X, y, scoring=scoring, cv=3)
    lone = cross_val_score(DecisionTreeClassifier(random_state=0), X, y, cv=3)
    np.testing.assert_array_equal(result["test_accuracy"], lone)
    assert ((result["test_u65"] > 0) & (result["test_u65"] <= 1)).all()


def test_cross_val_predict_gives_distributions():
    X, y = clouds()
    probability = cross_val_predict(RandomForestClassifier(10, random_state=0), X, y, method="predict_proba", cv=3)
    np.testing.assert_allclose(probability.sum(axis=1), 1.0)
    assert np.mean(np.unique(y)[probability.argmax(axis=1)] == y) > 0.6


@EVERY_ESTIMATOR
def test_probabilities_can_be_calibrated(estimator):
    X, y = clouds()
    calibrated = CalibratedClassifierCV(clone(estimator), cv=2).fit(X, y)
    np.testing.assert_allclose(calibrated.predict_proba(X).sum(axis=1), 1.0)
    assert calibrated.score(X, y) > 0.6


def test_a_frozen_forest_is_calibrated_as_it_is():
    X, y = clouds()
    forest = RandomForestClassifier(10, random_state=0).fit(*clouds(seed=5))
    trees = forest.forest_
    calibrated = CalibratedClassifierCV(FrozenEstimator(forest), method="isotonic").fit(X, y)
    assert calibrated.calibrated_classifiers_[0].estimator.estimator.forest_ is trees
    frozen = FrozenEstimator(forest).fit(X, y)
    np.testing.assert_array_equal(frozen.predict_set(X), forest.predict_set(X))
    assert clone(frozen).predict(X, return_set=True)[1].shape == (200, 3)


def test_forests_vote():
    X, y = clouds()
    members = [(type(estimator).__name__, clone(estimator)) for estimator in ESTIMATORS]
    soft = VotingClassifier(members, voting="soft").fit(X, y)
    expected = np.mean([clone(estimator).fit(X, y).predict_proba(X) for estimator in ESTIMATORS], axis=0)
    np.testing.assert_allclose(soft.predict_proba(X), expected)
    hard = VotingClassifier(members, voting="hard").fit(X, y)
    assert hard.score(X, y) > 0.9


def test_permutation_importance_finds_the_feature_that_matters():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 3))
    y = (X[:, 1] > 0).astype(int)
    forest = RandomForestClassifier(10, random_state=0).fit(X, y)
    found = permutation_importance(forest, X, y, scoring=metrics.scorer("u65"), n_repeats=3, random_state=0)
    assert found.importances_mean.argmax() == 1
    assert found.importances_mean[1] > 5 * abs(found.importances_mean[[0, 2]]).max()


def test_a_decision_boundary_can_be_drawn():
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    from matplotlib import pyplot
    from sklearn.inspection import DecisionBoundaryDisplay

    X, y = clouds()
    forest = RandomForestClassifier(5, random_state=0).fit(X[:, :2], y)
    try:
        drawn = DecisionBoundaryDisplay.from_estimator(forest, X[:, :2], grid_resolution=20, response_method="predict")
        expected = forest.predict(np.column_stack([drawn.xx0.ravel(), drawn.xx1.ravel()]))
        np.testing.assert_array_equal(forest.classes_[drawn.response.ravel().astype(int)], expected)
    finally:
        pyplot.close("all")


# ---- copies, and parameters that change after fit ----------------------------------------


@pytest.mark.parametrize("duplicate", [copy.copy, copy.deepcopy])
def test_a_copy_in_memory_knows_what_its_original_knows(duplicate):
    X, y = clouds()
    forest = RandomForestClassifier(10, random_state=0).fit(X, y)
    sets = forest.predict_set(X)
    copied = duplicate(forest).set_params(caution="auto")
    np.testing.assert_array_equal(copied.predict_bounds(X), forest.set_params(caution="auto").predict_bounds(X))
    np.testing.assert_array_equal(copied.oob_trace_, forest.oob_trace_)
    np.testing.assert_array_equal(copied.set_params(caution=1.0).predict_set(X), sets)
    numbers = RandomForestRegressor(10, random_state=0).fit(X, X[:, 0])
    copied = duplicate(numbers)
    np.testing.assert_array_equal(copied.predict_quantiles(X), numbers.predict_quantiles(X))
    copied.fit(X, -X[:, 0])
    assert numbers.score(X, X[:, 0]) > 0.8


@pytest.mark.parametrize("n_jobs", [0, 1.5, "all", True])
def test_threads_that_are_none_are_refused_after_fit_too(n_jobs):
    X, y = clouds()
    for model in (RandomForestClassifier(3, random_state=0).fit(X, y), RandomForestRegressor(3).fit(X, X[:, 0])):
        with pytest.raises(ValueError, match="n_jobs must be None or a non-zero integer"):
            model.set_params(n_jobs=n_jobs).predict(X[:2])


@pytest.mark.parametrize("caution", [-1, None, "high", True, np.nan])
def test_a_caution_that_is_none_is_refused_after_fit_as_in_fit(caution):
    X, y = clouds()
    forest = RandomForestClassifier(3, random_state=0).fit(X, y).set_params(caution=caution)
    for ask in (lambda: forest.fit(X, y), lambda: forest.predict_bounds(X)):
        with pytest.raises(ValueError, match=r"caution must be a number >= 0 or 'auto', got"):
            ask()


# ---- metadata routing --------------------------------------------------------------------


def test_sample_weights_are_routed_through_a_pipeline_and_a_search():
    X, y = clouds()
    weights = np.where(y == "ash", 8.0, 1.0)
    with sklearn.config_context(enable_metadata_routing=True):
        forest = RandomForestClassifier(10, random_state=0).set_fit_request(sample_weight=True)
        forest.set_score_request(sample_weight=True)
        pipeline = make_pipeline(StandardScaler().set_fit_request(sample_weight=False), forest)
        pipeline.fit(X, y, sample_weight=weights)
        direct = RandomForestClassifier(10, random_state=0)
        direct.fit(StandardScaler().fit_transform(X), y, sample_weight=weights)
        scaled = StandardScaler().fit_transform(X)
        np.testing.assert_array_equal(pipeline.predict_proba(X), direct.predict_proba(scaled))
        assert not np.array_equal(pipeline.predict_proba(X), clone(pipeline).fit(X, y).predict_proba(X))
        # Before 1.8, scikit-learn's searches do not see what the score of a pipeline requests.
        scorer = make_scorer(accuracy_score).set_score_request(sample_weight=True)
        scoring = None if compat.SKLEARN >= (1, 8) else scorer
        search = GridSearchCV(pipeline, {"randomforestclassifier__caution": [0.0, 1.0]}, cv=2, scoring=scoring)
        search.fit(X, y, sample_weight=weights)
        np.testing.assert_array_equal(search.best_estimator_.predict_proba(X), direct.predict_proba(scaled))


def test_return_set_is_routed_where_it_is_requested():
    X, y = clouds()
    with sklearn.config_context(enable_metadata_routing=True):
        forest = RandomForestClassifier(10, random_state=0).set_predict_request(return_set=True)
        pipeline = make_pipeline(StandardScaler(), forest).fit(X, y)
        assert pipeline.predict(X, return_set=True)[1].shape == (200, 3)


def test_weights_that_nobody_requested_are_refused():
    X, y = clouds()
    with sklearn.config_context(enable_metadata_routing=True):
        pipeline = make_pipeline(StandardScaler(), RandomForestClassifier(2))
        with pytest.raises((TypeError, ValueError), match="sample_weight"):
            pipeline.fit(X, y, sample_weight=np.ones(200))


# ---- cloned and saved --------------------------------------------------------------------


@EVERY_ESTIMATOR
def test_a_clone_of_a_fitted_estimator_grows_the_same_trees(estimator):
    X, y = clouds()
    fitted = clone(estimator).set_params(rule=Laplace(alpha=0.3), decision=UtilitySet("u80")).fit(X, y)
    again = clone(fitted)
    assert not hasattr(again, "forest_")
    assert again.rule is not fitted.rule
    np.testing.assert_array_equal(again.fit(X, y).predict_proba(X), fitted.predict_proba(X))


@pytest.mark.parametrize("rule", ["average", Belief(weights="size"), Eva(prior="authors")], ids=repr)
@EVERY_ESTIMATOR
def test_pickle_and_joblib_keep_every_answer(estimator, rule, tmp_path):
    table, y = garden()
    fitted = clone(estimator).set_params(rule=rule).fit(table, y)
    joblib.dump(fitted, tmp_path / "model.joblib", compress=3)
    for again in (pickle.loads(pickle.dumps(fitted)), joblib.load(tmp_path / "model.joblib")):
        np.testing.assert_array_equal(again.predict_proba(table), fitted.predict_proba(table))
        np.testing.assert_array_equal(again.predict_set(table), fitted.predict_set(table))
        np.testing.assert_array_equal(again.predict_bounds(table), fitted.predict_bounds(table))
        np.testing.assert_array_equal(again.apply(table), fitted.apply(table))


def test_a_model_mapped_from_disk_predicts(tmp_path):
    X, y = clouds()
    fitted = RandomForestClassifier(10, random_state=0).fit(X, y)
    joblib.dump(fitted, tmp_path / "model.joblib")
    mapped = joblib.load(tmp_path / "model.joblib", mmap_mode="r")
    assert isinstance(mapped.forest_.counts, np.memmap)
    np.testing.assert_array_equal(mapped.predict_proba(X), fitted.predict_proba(X))
    np.testing.assert_array_equal(mapped.predict_set(X), fitted.predict_set(X))


# ---- callbacks ---------------------------------------------------------------------------


def test_scikit_learns_progress_bar_comes_to_its_end():
    callback = pytest.importorskip("sklearn.callback", reason="callbacks came with scikit-learn 1.9")
    pytest.importorskip("rich")
    program = (
        "import numpy as np; from sklearn.callback import ProgressBar; from hedgerow import RandomForestClassifier;"
        "X = np.random.default_rng(0).normal(size=(100, 3)); y = (X[:, 0] > 0).astype(int);"
        "forest = RandomForestClassifier(20, random_state=0).set_callbacks(ProgressBar()).fit(X, y);"
        "plain = RandomForestClassifier(20, random_state=0).fit(X, y);"
        "assert (forest.predict_proba(X) == plain.predict_proba(X)).all() and forest.forest_.n_trees == 20"
    )
    assert hasattr(callback, "ProgressBar")
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    assert "100%" in done.stdout + done.stderr


def test_verbose_is_silent_where_there_is_no_terminal(monkeypatch):
    quiet = io.StringIO()
    monkeypatch.setattr(sys, "stderr", quiet)
    RandomForestClassifier(3, verbose=1).fit(*clouds(50))
    assert quiet.getvalue() == ""


# ---- imports -----------------------------------------------------------------------------


def modules_after(program: str) -> set[str]:
    """Modules that a fresh interpreter holds after a program."""
    told = subprocess.run(
        [sys.executable, "-c", f"{program}\nimport sys\nprint(*sys.modules)"],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(SOURCE.parent), os.environ.get("PYTHONPATH", "")])},
    )
    return set(told.stdout.split())


@pytest.fixture(scope="module")
def added() -> set[str]:
    """Modules that hedgerow loads on top of scikit-learn."""
    before = modules_after("import sklearn.base, sklearn.pipeline, sklearn.utils.validation")
    return modules_after("from hedgerow import RandomForestClassifier") - before  # names are imported when first used


@pytest.mark.parametrize(
    "name", ["pandas", "polars", "pyarrow", "matplotlib", "rich", "typer", "sklearn.ensemble", "sklearn.linear_model"]
)
def test_importing_hedgerow_does_not_import(name, added):
    assert "hedgerow._core" in added
    assert not {module for module in added if module == name or module.startswith(f"{name}.")}


def test_importing_hedgerow_adds_few_modules_of_others(added):
    others = {module.partition(".")[0] for module in added} - {"hedgerow"} - set(sys.stdlib_module_names)
    assert others <= {"sklearn", "scipy", "numpy", "joblib", "narwhals", "nanobind", "lazy_loader"}


def private_imports(path: Path) -> list[str]:
    """Imports of scikit-learn's private modules or names, and of names it never promised, in a file."""
    found = []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        else:
            continue
        found += [
            name
            for name in names
            if name.split(".")[0] == "sklearn" and any(part.startswith("_") for part in name.split("."))
        ]
    return found


def test_no_file_imports_anything_private_of_scikit_learn():
    files = sorted(SOURCE.rglob("*.py"))
    assert len(files) > 20
    assert {path.name: private_imports(path) for path in files if private_imports(path)} == {}


def test_the_scan_for_private_imports_finds_them(tmp_path):
    guilty = tmp_path / "guilty.py"
    guilty.write_text("import sklearn.utils._param_validation\nfrom sklearn.ensemble import _forest\nimport sklearn")
    assert private_imports(guilty) == ["sklearn.utils._param_validation", "sklearn.ensemble._forest"]


def test_n_jobs_is_what_joblib_says_and_holds_inside_other_processes():
    from hedgerow.util.runtime import thread_count

    assert thread_count(None) == 1
    assert thread_count(3) == 3
    assert thread_count(-1) == joblib.cpu_count()
    with joblib.parallel_config(n_jobs=2):
        assert thread_count(None) == 2
    assert joblib.Parallel(n_jobs=2)(joblib.delayed(thread_count)(n) for n in (None, 2)) == [1, 2]
