"""Tools: forty packages around scikit-learn -> whether each works with our forests, or the documented reason.

python -m benchmarks.tools [shap mapie ...] [--install]

A tool is a function of a few lines that uses the package as its own manual does, and checks what comes out. A package
that is not installed is a row that says so; ``--install`` installs it with pip first. A tool that fails makes the
command fail. `REASONS` are the tools that cannot work, or only in another way, and why. `QUICK` runs in the tests.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import os
import subprocess
import sys
import tempfile
import traceback
import warnings
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.datasets import load_breast_cancer, load_diabetes
from sklearn.model_selection import train_test_split

import hedgerow

#: Tools of which the tests ask every time; their packages are in the extra "test".
QUICK = ("joblib", "onnxruntime", "pandas", "polars", "pyarrow", "quantile-forest", "scikit-learn", "shap", "treelite")
#: Why a tool does not work, or which way to go.
REASONS = {
    "forestci": "It would draw other bags: pass `forest.to_sklearn()`, and `inbag=` made from `estimators_samples_`.",
    "treeinterpreter": "It reads only scikit-learn's classes: pass `forest.to_sklearn()`.",
    "m2cgen": "It writes only scikit-learn's classes as code: pass `forest.to_sklearn()`.",
    "skl2onnx": "It converts only classes it knows: pass `forest.to_sklearn()`, or use `hedgerow.to_onnx`.",
    "dtreeviz": "It draws only trees it knows: pass `tree.to_sklearn()`.",
    "yellowbrick": "It asks for an attribute that scikit-learn 1.9 no longer has: pass `force_model=True`.",
    "eli5": "It explains only scikit-learn's classes: pass `forest.to_sklearn()`.",
    "skops": "Our types must be named as trusted; `hedgerow.save` needs no trust.",
}


@cache
def cases() -> tuple[Any, ...]:
    """Half of the breast cancer table to train on, the other half to ask about: X, X_new, y, y_new."""
    X, y = load_breast_cancer(return_X_y=True)
    return tuple(train_test_split(X[:, :10], y, test_size=0.5, random_state=0, stratify=y))


@cache
def numbers() -> tuple[Any, ...]:
    """The same for the diabetes table, whose target is a number."""
    return tuple(train_test_split(*load_diabetes(return_X_y=True), test_size=0.5, random_state=0))


def forest(**parameters: Any) -> Any:
    """A small classifier that is not fitted."""
    return hedgerow.RandomForestClassifier(20, random_state=0, **parameters)


def fitted(**parameters: Any) -> Any:
    """The same, fitted."""
    X, _, y, _ = cases()
    return forest(**parameters).fit(X, y)


def regressor() -> Any:
    """A small regressor, fitted."""
    X, _, y, _ = numbers()
    return hedgerow.RandomForestRegressor(20, random_state=0).fit(X, y)


TOOLS: dict[str, Callable[[], None]] = {}


def tool(package: str) -> Callable[[Callable[[], None]], Callable[[], None]]:
    """Enter a function as the test of a package, by its name on PyPI."""

    def enter(function: Callable[[], None]) -> Callable[[], None]:
        TOOLS[package] = function
        return function

    return enter


# ---- tables, files, threads -------------------------------------------------------------------------


@tool("pandas")
def _pandas() -> None:
    X, X_new, y, y_new = cases()
    table = pd.DataFrame(X, columns=[f"c{number}" for number in range(10)])
    model = forest().fit(table, pd.Series(y))
    assert model.score(pd.DataFrame(X_new, columns=table.columns), y_new) > 0.85
    assert list(model.feature_names_in_) == list(table)


@tool("polars")
def _polars() -> None:
    import polars as pl

    X, X_new, y, y_new = cases()
    names = [f"c{number}" for number in range(10)]
    assert forest().fit(pl.DataFrame(X, schema=names), pl.Series(y)).score(pl.DataFrame(X_new, names), y_new) > 0.85


@tool("pyarrow")
def _pyarrow() -> None:
    import pyarrow as pa

    X, _, y, _ = cases()
    table = pa.table({f"c{number}": column for number, column in enumerate(X.T)})
    assert forest().fit(table, y).score(table, y) > 0.95


@tool("torch")
def _torch() -> None:
    """With array API dispatch on, which needs a variable of the environment before SciPy is imported."""
    code = """if True:
        import numpy, sklearn, torch, hedgerow
        sklearn.set_config(array_api_dispatch=True)
        X = torch.rand(200, 3)
        forest = hedgerow.RandomForestClassifier(10, random_state=0).fit(X, (X[:, 0] > 0.5).int())
        assert forest.score(X, (X[:, 0] > 0.5).int()) > 0.95
    """
    subprocess.run([sys.executable, "-c", code], env={**os.environ, "SCIPY_ARRAY_API": "1"}, check=True)


@tool("joblib")
def _joblib() -> None:
    import joblib

    model, X_new = fitted(), cases()[1]
    with tempfile.TemporaryDirectory() as folder:
        joblib.dump(model, Path(folder) / "model")
        loaded = joblib.load(Path(folder) / "model")
    np.testing.assert_array_equal(loaded.predict_proba(X_new), model.predict_proba(X_new))


@tool("skops")
def _skops() -> None:
    import skops.io

    data = skops.io.dumps(model := fitted())
    loaded = skops.io.loads(data, trusted=skops.io.get_untrusted_types(data=data))
    np.testing.assert_array_equal(loaded.predict_proba(cases()[1]), model.predict_proba(cases()[1]))


@tool("dask")
def _dask() -> None:
    import dask.array as da

    X, X_new, y, y_new = cases()
    model = hedgerow.dask.RandomForestClassifier(5, random_state=0).fit(
        da.from_array(X, chunks=100), da.from_array(y, chunks=100)
    )
    assert (np.asarray(model.predict(X_new)) == y_new).mean() > 0.85


@tool("mlflow")
def _mlflow() -> None:
    import mlflow.sklearn

    model, X_new = fitted(), cases()[1]
    with tempfile.TemporaryDirectory() as folder:
        mlflow.sklearn.save_model(model, f"{folder}/model", serialization_format="cloudpickle")
        loaded = mlflow.sklearn.load_model(f"{folder}/model")
    np.testing.assert_array_equal(loaded.predict(X_new), model.predict(X_new))


# ---- other programs ---------------------------------------------------------------------------------


@tool("onnxruntime")
def _onnxruntime() -> None:
    import onnxruntime

    model, X_new = fitted(), cases()[1]
    session = onnxruntime.InferenceSession(hedgerow.to_onnx(model).SerializeToString())
    np.testing.assert_allclose(session.run(["probability"], {"X": X_new})[0], model.predict_proba(X_new), atol=1e-12)


@tool("treelite")
def _treelite() -> None:
    import treelite

    model, X_new = fitted(calibration=None), cases()[1]
    found = treelite.gtil.predict(hedgerow.to_treelite(model), X_new)[:, 0]
    np.testing.assert_allclose(found, model.predict_proba(X_new), atol=1e-12)


@tool("skl2onnx")
def _skl2onnx() -> None:
    import onnxruntime
    from skl2onnx import to_onnx

    model, X_new = fitted(calibration=None), cases()[1].astype(np.float32)
    graph = to_onnx(model.to_sklearn(), X_new[:1], options={"zipmap": False})
    found = onnxruntime.InferenceSession(graph.SerializeToString()).run(None, {"X": X_new})[1]
    assert np.quantile(np.abs(found - model.predict_proba(X_new)).max(axis=1), 0.95) < 1e-5  # it rounds thresholds


@tool("m2cgen")
def _m2cgen() -> None:
    import m2cgen

    model, X_new = fitted(calibration=None), cases()[1].astype(np.float32).astype(float)
    program: dict[str, Any] = {}
    exec(m2cgen.export_to_python(model.to_sklearn()), program)
    np.testing.assert_allclose(
        [program["score"](row) for row in X_new[:20]], model.predict_proba(X_new[:20]), atol=1e-9
    )


# ---- explanations and pictures ----------------------------------------------------------------------


@tool("shap")
def _shap() -> None:
    import shap

    model, X_new = fitted(calibration=None), cases()[1][:20]
    theirs = shap.TreeExplainer(model.to_sklearn()).shap_values(X_new)
    np.testing.assert_allclose(theirs, hedgerow.explain.shap_values(model, X_new).values, atol=1e-6)


@tool("shapiq")
def _shapiq() -> None:
    import shapiq

    values = shapiq.TreeExplainer(fitted(calibration=None).to_sklearn(), max_order=1, index="SV", class_index=1)
    assert values.explain(cases()[1][0]).values.size


@tool("treeinterpreter")
def _treeinterpreter() -> None:
    from treeinterpreter import treeinterpreter

    model, X_new = fitted(calibration=None), cases()[1][:20]
    prediction, bias, parts = treeinterpreter.predict(model.to_sklearn(), X_new)
    np.testing.assert_allclose(bias + parts.sum(axis=1), model.predict_proba(X_new), atol=1e-6)
    np.testing.assert_allclose(prediction, model.predict_proba(X_new), atol=1e-6)


@tool("eli5")
def _eli5() -> None:
    import eli5

    assert "x7" in eli5.format_as_text(eli5.explain_weights(fitted(calibration=None).to_sklearn()))


@tool("dtreeviz")
def _dtreeviz() -> None:
    import dtreeviz

    X, _, y, _ = cases()
    tree = hedgerow.DecisionTreeClassifier(max_depth=3, random_state=0).fit(X, y).to_sklearn()
    drawn = dtreeviz.model(tree, X, y, feature_names=[f"c{number}" for number in range(10)], target_name="y")
    assert "x" in drawn.explain_prediction_path(X[0]) or drawn is not None


@tool("yellowbrick")
def _yellowbrick() -> None:
    import matplotlib

    matplotlib.use("Agg")
    from yellowbrick.classifier import ROCAUC

    X, X_new, y, y_new = cases()
    picture = ROCAUC(forest(), binary=True, force_model=True)
    picture.fit(X, y)
    assert picture.score(X_new, y_new) > 0.85


@tool("scikit-learn")
def _sklearn_displays() -> None:
    import matplotlib

    matplotlib.use("Agg")
    from sklearn.inspection import DecisionBoundaryDisplay, PartialDependenceDisplay

    X, _, y, _ = cases()
    PartialDependenceDisplay.from_estimator(fitted(), X, [0])
    DecisionBoundaryDisplay.from_estimator(forest().fit(X[:, :2], y), X[:, :2], response_method="predict_proba")


@tool("pdpbox")
def _pdpbox() -> None:
    from pdpbox import pdp

    X, _, y, _ = cases()
    table = pd.DataFrame(X, columns=[f"c{number}" for number in range(10)])
    shown = pdp.PDPIsolate(forest().fit(table, y), table, list(table), "c0", "c0", n_classes=2)
    assert len(shown.results) > 0


@tool("PyALE")
def _pyale() -> None:
    from PyALE import ale

    table = pd.DataFrame(numbers()[0], columns=[f"c{number}" for number in range(10)])
    model = hedgerow.RandomForestRegressor(20, random_state=0).fit(table, numbers()[2])
    assert len(ale(X=table, model=model, feature=["c2"], plot=False, include_CI=False)) > 1


@tool("interpret")
def _interpret() -> None:
    from interpret.blackbox import MorrisSensitivity

    assert MorrisSensitivity(fitted().predict_proba, cases()[0]).explain_global().data()


@tool("dice-ml")
def _dice() -> None:
    import dice_ml

    X, X_new, y, _ = cases()
    names = [f"c{number}" for number in range(10)]
    table = pd.DataFrame(X, columns=names)
    data = dice_ml.Data(dataframe=table.assign(y=y), continuous_features=names, outcome_name="y")
    model = dice_ml.Model(model=forest().fit(table, y), backend="sklearn")
    found = dice_ml.Dice(data, model, method="random").generate_counterfactuals(
        pd.DataFrame(X_new[:1], columns=names), total_CFs=1, desired_class="opposite", random_seed=0, verbose=False
    )
    assert len(found.cf_examples_list) == 1


@tool("fairlearn")
def _fairlearn() -> None:
    from fairlearn.metrics import MetricFrame
    from sklearn.metrics import accuracy_score

    X_new, y_new = cases()[1], cases()[3]
    frame = MetricFrame(
        metrics=accuracy_score, y_true=y_new, y_pred=fitted().predict(X_new), sensitive_features=X_new[:, 0] > 14
    )
    assert len(frame.by_group) == 2
    from fairlearn.reductions import DemographicParity, ExponentiatedGradient

    X, _, y, _ = cases()
    fair = ExponentiatedGradient(forest(), DemographicParity(), max_iter=2).fit(X, y, sensitive_features=X[:, 0] > 14)
    assert len(fair.predict(X_new)) == len(X_new)


@tool("explainerdashboard")
def _explainerdashboard() -> None:
    from explainerdashboard import ClassifierExplainer

    X, _, y, _ = cases()
    table = pd.DataFrame(X, columns=[f"c{number}" for number in range(10)])
    explainer = ClassifierExplainer(
        forest().fit(table, y), table[:20], pd.Series(y[:20]), shap="kernel", X_background=table[:5]
    )
    assert explainer.metrics()["accuracy"] > 0.8


@tool("skore")
def _skore() -> None:
    from skore import EstimatorReport

    X, X_new, y, y_new = cases()
    report = EstimatorReport(forest(), X_train=X, y_train=y, X_test=X_new, y_test=y_new, pos_label=1)
    assert report.metrics.accuracy() > 0.85


@tool("model-diagnostics")
def _model_diagnostics() -> None:
    from model_diagnostics.calibration import compute_bias

    X_new, y_new = cases()[1], cases()[3]
    assert len(compute_bias(y_obs=y_new, y_pred=fitted().predict_proba(X_new)[:, 1])) >= 1


# ---- doubt ------------------------------------------------------------------------------------------


@tool("mapie")
def _mapie() -> None:
    from mapie.classification import SplitConformalClassifier

    X, X_new, y, y_new = cases()
    sets = (
        SplitConformalClassifier(forest(), confidence_level=0.9, prefit=False)
        .fit(X, y)
        .conformalize(X_new[:140], y_new[:140])
    )
    _, found = sets.predict_set(X_new[140:])
    assert found[np.arange(len(found)), y_new[140:], 0].mean() > 0.8


@tool("crepes")
def _crepes() -> None:
    from crepes import WrapRegressor
    from crepes.extras import DifficultyEstimator

    _, X_new, _, y_new = numbers()
    model = regressor()
    difficulty = DifficultyEstimator()
    difficulty.fit(X_new[:100], learner=model, scaler=True)
    wrapped = WrapRegressor(model)
    wrapped.calibrate(X_new[:100], y_new[:100], de=difficulty)
    intervals = wrapped.predict_int(X_new[100:], confidence=0.9)
    assert ((intervals[:, 0] <= y_new[100:]) & (y_new[100:] <= intervals[:, 1])).mean() > 0.75


@tool("venn-abers")
def _venn_abers() -> None:
    from venn_abers import VennAbersCalibrator

    X, X_new, y, _ = cases()
    calibrator = VennAbersCalibrator(estimator=forest(), inductive=True, cal_size=0.3, random_state=0)
    calibrator.fit(X, y)
    assert calibrator.predict_proba(X_new).shape == (len(X_new), 2)


@tool("quantile-forest")
def _quantile_forest() -> None:
    """Both are asked for the same quantiles, and both must keep about their level."""
    from quantile_forest import RandomForestQuantileRegressor

    X, X_new, y, y_new = numbers()
    theirs = RandomForestQuantileRegressor(100, random_state=0).fit(X, y).predict(X_new, quantiles=[0.9])
    ours = hedgerow.RandomForestRegressor(100, random_state=0).fit(X, y).predict_quantiles(X_new, [0.9])[:, 0]
    assert abs((y_new <= ours).mean() - (y_new <= np.ravel(theirs)).mean()) < 0.1


@tool("forestci")
def _forestci() -> None:
    import forestci

    X, X_new, _, _ = numbers()
    model = regressor()
    bags = np.column_stack([np.bincount(rows, minlength=len(X)) for rows in model.estimators_samples_])
    variance = forestci.random_forest_error(model.to_sklearn(), X.shape, X_new, inbag=bags)
    assert variance.shape == (len(X_new),)
    refused = ""
    try:
        forestci.random_forest_error(model.to_sklearn(), X.shape, X_new)  # it would make up bags
    except ValueError as error:
        refused = str(error)
    assert "estimators_samples_ of the hedgerow forest has the bags" in refused


@tool("cleanlab")
def _cleanlab() -> None:
    from cleanlab.classification import CleanLearning

    X, _, y, _ = cases()
    found = CleanLearning(forest(), cv_n_folds=3).find_label_issues(X, y)
    assert len(found) == len(y)


@tool("netcal")
def _netcal() -> None:
    from netcal.metrics import ECE

    X_new, y_new = cases()[1], cases()[3]
    assert ECE(10).measure(fitted().predict_proba(X_new)[:, 1], y_new) < 0.15


@tool("puncc")
def _puncc() -> None:
    from deel.puncc.api.prediction import BasePredictor
    from deel.puncc.regression import SplitCP

    X, X_new, y, y_new = numbers()
    split = SplitCP(BasePredictor(hedgerow.RandomForestRegressor(20, random_state=0)))
    split.fit(X_fit=X, y_fit=y, X_calib=X_new[:100], y_calib=y_new[:100])
    _, low, high = split.predict(X_new[100:], alpha=0.1)
    assert ((low <= y_new[100:]) & (y_new[100:] <= high)).mean() > 0.75


# ---- learning with others ---------------------------------------------------------------------------


@tool("imbalanced-learn")
def _imbalanced() -> None:
    from imblearn.over_sampling import SMOTE
    from imblearn.pipeline import make_pipeline

    X, X_new, y, y_new = cases()
    assert make_pipeline(SMOTE(random_state=0), forest()).fit(X, y).score(X_new, y_new) > 0.85


@tool("optuna")
def _optuna() -> None:
    import optuna

    X, X_new, y, y_new = cases()
    optuna.logging.disable_default_handler()
    study = optuna.create_study(direction="maximize")
    study.optimize(
        lambda trial: forest(max_depth=trial.suggest_int("d", 1, 8)).fit(X, y).score(X_new, y_new), n_trials=3
    )
    assert study.best_value > 0.8


@tool("Boruta")
def _boruta() -> None:
    from boruta import BorutaPy

    X, _, y, _ = cases()
    chosen = BorutaPy(hedgerow.RandomForestClassifier(20, random_state=0), n_estimators=20, max_iter=5, random_state=0)
    assert chosen.fit(X, y).support_.shape == (10,)


@tool("mlxtend")
def _mlxtend() -> None:
    from mlxtend.feature_selection import SequentialFeatureSelector

    X, _, y, _ = cases()
    assert len(SequentialFeatureSelector(forest(), k_features=2, cv=2).fit(X[:, :4], y).k_feature_idx_) == 2


@tool("feature-engine")
def _feature_engine() -> None:
    from feature_engine.selection import RecursiveFeatureElimination

    X, _, y, _ = cases()
    table = pd.DataFrame(X[:, :4], columns=list("abcd"))
    assert RecursiveFeatureElimination(forest(), cv=2).fit(table, y).transform(table).shape[1] <= 4


@tool("category_encoders")
def _category_encoders() -> None:
    from category_encoders import TargetEncoder
    from sklearn.pipeline import make_pipeline

    X, _, y, _ = cases()
    table = pd.DataFrame({"word": np.where(X[:, 0] > 14, "large", "small"), "size": X[:, 0]})
    assert make_pipeline(TargetEncoder(), forest()).fit(table, y).score(table, y) > 0.85


@tool("skrub")
def _skrub() -> None:
    from skrub import tabular_pipeline

    X, _, y, _ = cases()
    table = pd.DataFrame({"word": np.where(X[:, 0] > 14, "large", "small"), "size": X[:, 0]})
    assert tabular_pipeline(forest()).fit(table, y).score(table, y) > 0.85


@tool("hyperopt")
def _hyperopt() -> None:
    from hyperopt import fmin, hp, tpe

    X, X_new, y, y_new = cases()
    best = fmin(
        lambda depth: -forest(max_depth=int(depth)).fit(X, y).score(X_new, y_new),
        hp.quniform("depth", 1, 8, 1), algo=tpe.suggest, max_evals=3, show_progressbar=False,
    )  # fmt: skip
    assert "depth" in best


@tool("flaml")
def _flaml() -> None:
    from flaml import tune

    X, X_new, y, y_new = cases()
    found = tune.run(
        lambda config: {"score": forest(max_depth=config["depth"]).fit(X, y).score(X_new, y_new)},
        config={"depth": tune.randint(1, 8)}, metric="score", mode="max", num_samples=3, verbose=0,
    )  # fmt: skip
    assert found.best_result["score"] > 0.8


@tool("econml")
def _econml() -> None:
    from econml.dml import LinearDML

    X, _, y, _ = numbers()
    treated = (X[:, 1] > 0).astype(int)
    model = LinearDML(
        model_y=hedgerow.RandomForestRegressor(20), model_t=forest(), discrete_treatment=True, random_state=0
    )
    assert model.fit(y, treated, X=X[:, 2:4], W=X[:, 4:]).effect(X[:, 2:4]).shape == (len(X),)


@tool("ngboost")
def _ngboost() -> None:
    from ngboost import NGBRegressor

    X, X_new, y, y_new = numbers()
    model = NGBRegressor(
        Base=hedgerow.DecisionTreeRegressor(max_depth=3), n_estimators=50, verbose=False, random_state=0
    )
    assert model.fit(X, y).score(X_new, y_new) < 10  # a loss


# ---- running them -----------------------------------------------------------------------------------


def main(arguments: list[str] | None = None) -> int:
    """Run the tools and print a row for each; 1 if one of them fails."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.tools", description=__doc__.split("\n")[0])
    parser.add_argument("tools", nargs="*", help="names of packages; all if none is given")
    parser.add_argument("--install", action="store_true", help="install packages that are missing")
    options = parser.parse_args(arguments)
    print("| tool | version | |\n|---|---|---|")
    outcomes = [run(name, install=options.install) for name in options.tools or TOOLS]
    counted = {outcome: outcomes.count(outcome) for outcome in ("works", "not installed", "fails")}
    print(", ".join(f"{number} {outcome}" for outcome, number in counted.items()))
    return 1 if counted["fails"] else 0


def run(name: str, *, install: bool = False) -> str:
    """Run one tool and print its row -> "works", "not installed" or "fails"."""
    if install and version_of(name) is None:
        subprocess.run([sys.executable, "-m", "pip", "install", "-q", name], check=False)
    outcome, note = "works", REASONS.get(name, "")
    if version_of(name) is None:
        outcome = "not installed"
    else:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                TOOLS[name]()
        except Exception as error:
            outcome, note = "fails", f"{type(error).__name__}: {str(error).splitlines()[:1]}"
            traceback.print_exc()
    print(f"| {name} | {version_of(name) or '–'} | {outcome}{': ' + note if note else ''} |", flush=True)
    return outcome


def version_of(package: str) -> str | None:
    """The version of an installed package."""
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


if __name__ == "__main__":
    sys.exit(main())
