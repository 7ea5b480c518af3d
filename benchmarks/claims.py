"""Claims of the README and of ``docs/explanation/comparison.md`` about other libraries, tried on the installed ones.

python -m benchmarks.claims

Each line is a claim, and "yes" or "NO" as the library itself shows it. The command fails if a claim is wrong: correct
the pages then. The evidence for claims about hedgerow is listed in ``docs/explanation/comparison.md``.
"""

from __future__ import annotations

import importlib.util
import sys
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_diabetes
from sklearn.ensemble import HistGradientBoostingRegressor, RandomForestClassifier, RandomForestRegressor
from sklearn.utils.estimator_checks import check_estimator

X, y = load_breast_cancer(return_X_y=True)
U, v = load_diabetes(return_X_y=True)
#: Names of methods by which bounds, sets and evidence would be asked for.
DOUBT = ("bound", "interval", "set_valued", "predict_set", "evidence", "epistemic", "novelty")


def main() -> int:
    """Ask every library, print a line for each claim."""
    wrong = 0
    for (package, claim), ask in CLAIMS.items():
        if importlib.util.find_spec(package) is None:
            print(f"not installed  {package}: {claim}")
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = bool(ask())
        wrong += not found
        print(f"{'yes' if found else 'NO':<14} {package}: {claim}", flush=True)
    return 1 if wrong else 0


def lightgbm_forest(**more: Any) -> Any:
    """A random forest of LightGBM."""
    import lightgbm

    forest = {"boosting_type": "rf", "bagging_freq": 1, "bagging_fraction": 0.632, "n_estimators": 20}
    return lightgbm.LGBMClassifier(**forest, random_state=0, verbose=-1, **more)


def xgboost_forest(**more: Any) -> Any:
    """A random forest of XGBoost."""
    import xgboost

    return xgboost.XGBRFClassifier(n_estimators=20, random_state=0, **more)


def same_on_threads(make: Callable[..., Any]) -> bool:
    """Whether one thread and two give the same probabilities, bit for bit."""
    one, two = (make(n_jobs=n).fit(X, y).predict_proba(X) for n in (1, 2))
    return bool((one == two).all())


def nearly_same_on_threads(make: Callable[..., Any]) -> bool:
    """Whether one thread and two give the same trees; scikit-learn adds their answers in any order."""
    one, two = (make(n_jobs=n).fit(X, y) for n in (1, 2))
    return all((a.tree_.threshold == b.tree_.threshold).all() for a, b in zip(one, two, strict=True))


def nothing_of(model: Any) -> bool:
    """Whether no public method is about bounds, sets or evidence."""
    return not [name for name in dir(model) if not name.startswith("_") and any(word in name for word in DOUBT)]


def failed_checks(model: Any) -> int:
    """How many of scikit-learn's estimator checks a model fails."""
    outcomes = check_estimator(clone(model), on_fail=None, on_skip=None)
    return sum(each["status"] == "failed" for each in outcomes)


def _lightgbm_checks() -> int:
    """How many checks LightGBM's usual model fails; its forests refuse the smallest tables."""
    import lightgbm

    return failed_checks(lightgbm.LGBMClassifier(n_estimators=5, verbose=-1))


def _lightgbm_quantile() -> bool:
    import lightgbm

    model = lightgbm.LGBMRegressor(objective="quantile", alpha=0.9, n_estimators=50, verbose=-1).fit(U, v)
    return 0.8 < (v <= model.predict(U)).mean() <= 1


def _xgboost_quantile() -> bool:
    import xgboost

    model = xgboost.XGBRegressor(objective="reg:quantileerror", quantile_alpha=0.9, n_estimators=50).fit(U, v)
    return 0.8 < (v <= model.predict(U)).mean() <= 1


def _lightgbm_refit() -> bool:
    booster = lightgbm_forest().fit(X, y).booster_
    again = booster.refit(X[:100], y[:100], decay_rate=0.5)
    return bool((again.predict(X, pred_leaf=True) == booster.predict(X, pred_leaf=True)).all())


def _lightgbm_text() -> bool:
    """Whether text is refused, and a column of the category type taken."""
    import pandas as pd

    words = pd.DataFrame({"word": np.where(X[:, 0] > 14, "large", "small")})
    taken = lightgbm_forest().fit(words.astype("category"), y).score(words.astype("category"), y) > 0.7
    try:
        lightgbm_forest().fit(words.astype(object), y)
    except ValueError:
        return taken
    return False


def _ydf(**more: Any) -> Any:
    import pandas as pd
    import ydf

    ydf.verbose(0)
    table = pd.DataFrame({"word": np.where(X[:, 0] > 14, "large", "small"), "size": X[:, 1], "y": y})
    return ydf.RandomForestLearner(label="y", num_trees=20, **more).train(table).predict(table)


def _catboost_virtual() -> bool:
    import catboost

    model = catboost.CatBoostClassifier(iterations=100, posterior_sampling=True, verbose=False, random_seed=0)
    found = model.fit(X, y).virtual_ensembles_predict(
        X[:5], prediction_type="TotalUncertainty", virtual_ensembles_count=5
    )
    return found.shape == (5, 2)


def _catboost_quantiles() -> bool:
    import catboost

    model = catboost.CatBoostRegressor(iterations=100, loss_function="Quantile:alpha=0.9", verbose=False).fit(U, v)
    return 0.8 < (v <= model.predict(U)).mean() <= 1


def _catboost_nothing() -> bool:
    import catboost

    return nothing_of(catboost.CatBoostClassifier())


def _sklearn_quantiles() -> bool:
    model = HistGradientBoostingRegressor(loss="quantile", quantile=0.9, random_state=0).fit(U, v)
    return 0.8 < (v <= model.predict(U)).mean() <= 1


def _mapie_bounds() -> bool:
    """Whether Venn–Abers returns two probabilities for each row, the lower one first."""
    from mapie.calibration import VennAbersCalibrator

    model = VennAbersCalibrator(RandomForestClassifier(20, random_state=0), inductive=True, random_state=0).fit(X, y)
    low, high = np.asarray(model.predict_proba(X[:50], p0_p1_output=True)[1]).reshape(-1, 2).T
    return bool((low <= high).all() and (low < high).any())


def _mapie_intervals() -> bool:
    from mapie.regression import SplitConformalRegressor

    model = RandomForestRegressor(20, random_state=0).fit(U[::2], v[::2])
    intervals = SplitConformalRegressor(model, confidence_level=0.9, prefit=True).conformalize(U[1::4], v[1::4])
    low, high = intervals.predict_interval(U[3::4])[1][:, :, 0].T
    return bool(((low <= v[3::4]) & (v[3::4] <= high)).mean() > 0.8)


def _mapie_sets() -> bool:
    """Whether sets come from a model and rows that it was not fitted to."""
    from mapie.classification import SplitConformalClassifier

    model = RandomForestClassifier(20, random_state=0).fit(X[::2], y[::2])
    sets = SplitConformalClassifier(model, confidence_level=0.9, prefit=True).conformalize(X[1::4], y[1::4])
    found = sets.predict_set(X[3::4])[1][:, :, 0]
    return bool(found[np.arange(len(found)), y[3::4]].mean() > 0.8)


def _crepes_outside() -> bool:
    """Whether crepes calibrates a forest of scikit-learn on its out-of-bag rows."""
    from crepes import WrapClassifier

    wrapped = WrapClassifier(RandomForestClassifier(50, oob_score=True, random_state=0))
    wrapped.fit(X[::2], y[::2])
    wrapped.calibrate(X[::2], y[::2], oob=True)
    p_values = wrapped.predict_p(X[1::2])[np.arange(len(X[1::2])), y[1::2]]
    return bool((p_values > 0.1).mean() > 0.8)


def _quantile_forest() -> bool:
    """Whether quantile-forest has five interpolations, ranks and out-of-bag quantiles."""
    from quantile_forest import RandomForestQuantileRegressor

    model = RandomForestQuantileRegressor(50, max_samples_leaf=None, random_state=0).fit(U, v)
    ways = ("linear", "lower", "higher", "midpoint", "nearest")
    found = [model.predict(U, quantiles=[0.9], interpolation=way, oob_score=True) for way in ways]
    ranks = model.quantile_ranks(U, v, oob_score=True)
    return all(0.8 < (v <= np.ravel(each)).mean() < 1 for each in found) and bool(0.3 < ranks.mean() < 0.7)


def _quantile_forest_classes() -> bool:
    import quantile_forest

    return not [name for name in dir(quantile_forest) if "Classifier" in name]


CLAIMS: dict[tuple[str, str], Callable[[], bool]] = {
    ("sklearn", "the same trees for any number of threads"): lambda: nearly_same_on_threads(
        lambda **more: RandomForestClassifier(20, random_state=0, **more)
    ),
    ("sklearn", "no bounds, sets or evidence"): lambda: nothing_of(RandomForestClassifier()),
    ("sklearn", "quantiles of boosting"): _sklearn_quantiles,
    ("lightgbm", "the same model for any number of threads"): lambda: same_on_threads(lightgbm_forest),
    ("lightgbm", "no bounds, sets or evidence"): lambda: nothing_of(lightgbm_forest()),
    ("lightgbm", "quantiles"): _lightgbm_quantile,
    ("lightgbm", "leaf values refitted on other rows, with the same trees"): _lightgbm_refit,
    ("lightgbm", "categories by their type, not text"): _lightgbm_text,
    ("lightgbm", "trains on Dask"): lambda: importlib.util.find_spec("lightgbm.dask") is not None,
    ("lightgbm", "passes all but two of scikit-learn's estimator checks"): lambda: _lightgbm_checks() <= 2,
    ("xgboost", "the same model for any number of threads"): lambda: same_on_threads(xgboost_forest),
    ("xgboost", "no bounds, sets or evidence"): lambda: nothing_of(xgboost_forest()),
    ("xgboost", "quantiles"): _xgboost_quantile,
    ("xgboost", "trains on Dask"): lambda: importlib.util.find_spec("xgboost.dask") is not None,
    ("xgboost", "fails some of scikit-learn's estimator checks"): lambda: failed_checks(xgboost_forest()) > 0,
    ("ydf", "the same model for any number of threads"): lambda: bool(
        (_ydf(num_threads=1) == _ydf(num_threads=2)).all()
    ),
    ("ydf", "text without encoding"): lambda: bool(((_ydf() > 0.5) == y).mean() > 0.85),
    ("ydf", "two ways to combine trees"): lambda: bool(
        (_ydf(winner_take_all=True) != _ydf(winner_take_all=False)).any()
    ),
    ("catboost", "virtual ensembles: knowledge and data uncertainty"): _catboost_virtual,
    ("catboost", "no bounds, sets or evidence"): _catboost_nothing,
    ("catboost", "quantiles"): _catboost_quantiles,
    ("mapie", "lower and upper probabilities by Venn-Abers"): _mapie_bounds,
    ("mapie", "intervals for regression"): _mapie_intervals,
    ("mapie", "sets with a guarantee, from rows that are set aside"): _mapie_sets,
    ("crepes", "sets with a guarantee, also from out-of-bag rows"): _crepes_outside,
    ("quantile_forest", "quantiles and ranks, also out of bag, with five interpolations"): _quantile_forest,
    ("quantile_forest", "nothing for classes"): _quantile_forest_classes,
}


if __name__ == "__main__":
    sys.exit(main())
