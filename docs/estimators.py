"""The reference page of estimators: methods that each supports, and defaults.

Both tables are made from the classes: each method is called on a small fitted model of each class, and defaults are
those of the constructors. ``python docs/estimators.py`` writes them into ``reference/index.md``; a test compares them.
"""

from __future__ import annotations

import inspect
import tempfile
import warnings
from collections.abc import Callable, Mapping
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np

import hedgerow
from hedgerow.explain import shap_values

PAGE = Path(__file__).parent / "reference" / "index.md"
#: The lines around the tables.
BEGIN, END = "<!-- estimators: written by docs/estimators.py -->\n", "<!-- end -->\n"

#: Columns of the two tables: their heads, and the classes that share a column.
CLASSIFIERS: Mapping[str, tuple[str, ...]] = {
    "random forest": ("RandomForestClassifier",),
    "extra trees": ("ExtraTreesClassifier",),
    "mixed forest": ("MixedForestClassifier",),
    "single trees": ("DecisionTreeClassifier", "ExtraTreeClassifier"),
    "random decision trees": ("RandomDecisionTreesClassifier",),
    "pairwise trees": ("PairwiseTreesClassifier",),
}
OTHERS: Mapping[str, tuple[str, ...]] = {
    "random forest": ("RandomForestRegressor",),
    "extra trees": ("ExtraTreesRegressor",),
    "mixed forest": ("MixedForestRegressor",),
    "single trees": ("DecisionTreeRegressor", "ExtraTreeRegressor"),
    "survival forests": ("RandomSurvivalForest", "ExtraSurvivalTrees"),
    "survival tree": ("SurvivalTree",),
    "random trees embedding": ("RandomTreesEmbedding",),
    "unsupervised forest": ("UnsupervisedForest",),
}

_draws = np.random.default_rng(0)
X = _draws.normal(size=(120, 4))
NUMBERS = X[:, 0] + _draws.normal(size=120)
CLASSES = np.where(NUMBERS > 0, "ill", "well")
TIMES = np.column_stack([_draws.exponential(np.exp(X[:, 0])), _draws.random(120) < 0.7])
GROUPS = np.arange(120) // 3


def target_of(model: Any) -> Any:
    """Return y of the class of a model: classes, numbers, times, or None."""
    name = type(model).__name__
    kinds = {"Classifier": CLASSES, "Regressor": NUMBERS, "Survival": TIMES}
    return next((y for kind, y in kinds.items() if kind in name), None)


def fit(model: Any, y: Any = None, **more: Any) -> Any:
    """Fit a model to the table, and to its own targets unless others are given."""
    y = target_of(model) if y is None else y
    return model.fit(X, **more) if y is None else model.fit(X, y, **more)


def refit(model: Any, y: Any = None, **more: Any) -> Any:
    """Fit a model of the same class and parameters."""
    return fit(type(model)(**model.get_params()), y, **more)


def two_columns(model: Any) -> Any:
    """Fit a model to its targets twice, as two outputs."""
    y = target_of(model)
    if y is None or y.ndim > 1:
        raise ValueError("y must have one column")
    return refit(model, np.column_stack([y, y]))


def some_labels(model: Any) -> Any:
    """Fit a classifier to sets of possible classes."""
    if target_of(model) is not CLASSES:
        raise ValueError("sets are classes")
    return refit(model, [{"ill"}, {"ill", "well"}] * 60)


def calibrated(model: Any) -> Any:
    """Return the calibrator of a model, if it has one."""
    if model.calibration_.why:
        raise ValueError(model.calibration_.why)
    return model.calibration_


def saved(model: Any) -> Any:
    """Save a model and load it again."""
    with tempfile.TemporaryDirectory() as folder:
        hedgerow.save(model, Path(folder) / "model.hedge")
        return hedgerow.load(Path(folder) / "model.hedge")


def checkpointed(model: Any) -> Any:
    """Fit a model with checkpoints."""
    with tempfile.TemporaryDirectory() as folder:
        return refit(model, checkpoint=folder)


#: Rows of the tables: what is tried on a fitted model.
TRIES: Mapping[str, Callable[[Any], Any]] = {
    "`predict`": lambda model: model.predict(X[:3]),
    "`predict_proba`, `predict_confidence`": lambda model: (
        model.predict_proba(X[:3]),
        model.predict_confidence(X[:3]),
    ),
    "`predict_set`": lambda model: model.predict_set(X[:3]),
    "`predict_bounds`": lambda model: model.predict_bounds(X[:3]),
    "`predict_uncertainty`": lambda model: model.predict_uncertainty(X[:3]),
    "`predict_mass`": lambda model: model.predict_mass(X[:3]),
    "`predict_belief`": lambda model: model.predict_belief(X[:3], (0.2, 0.9)),
    "`predict_interval`": lambda model: model.predict_interval(X[:3]),
    "`predict_fuzzy_numbers`": lambda model: model.predict_fuzzy_numbers(X[:3]),
    "`predict_quantiles`, `quantile_ranks`, `predict_distribution`": lambda model: (
        model.predict_quantiles(X[:3], [0.5]),
        model.predict_distribution(X[:3], method="leaves"),
        model.quantile_ranks(X[:3], NUMBERS[:3]),
    ),
    "`predict_survival_function`, `predict_cumulative_incidence`, `predict_rmst`, `predict_quantile`": lambda model: (
        model.predict_survival_function(X[:3]),
        model.predict_cumulative_incidence(X[:3]),
        model.predict_rmst(X[:3]),
        model.predict_quantile(X[:3]),
    ),
    "`predict_lower`": lambda model: model.predict_lower(X[:3]),
    "`score_samples`, `transform`": lambda model: (model.score_samples(X[:3]), model.transform(X[:3])),
    "`predict_novelty`": lambda model: model.predict_novelty(X[:3]),
    "`predict_variance`": lambda model: model.predict_variance(X[:3]),
    "`predict_frame`": lambda model: model.predict_frame(X[:3]),
    "`oob_score=True`": lambda model: refit(model.set_params(oob_score=True)).oob_score_,
    "calibrated probabilities": calibrated,
    "`tune`": lambda model: model.tune(metric="u65"),
    "`explain`": lambda model: model.explain(X[:1]),
    "`report`": lambda model: model.report(X[:9], target_of(model)[:9]),
    "`shap_values`": lambda model: shap_values(model, X[:3]),
    "`feature_importances_`": lambda model: model.feature_importances_,
    "`proximity`, `embed`": lambda model: (model.proximity(X[:3]), model.embed(X[:3])),
    "`partial_fit`": lambda model: model.partial_fit(X[:5], target_of(model)[:5]),
    "`grow_more`": lambda model: model.grow_more(2),
    "`merge`": lambda model: hedgerow.merge(model, model),
    "`drift`": lambda model: model.drift(X[:50] + 0.1, reference=X[50:]),
    "`suggest`": lambda model: model.suggest(X, 3),
    "`fit(…, groups=…)`": lambda model: refit(model, groups=GROUPS),
    "`fit(…, checkpoint=…)`": checkpointed,
    "multi-output y": two_columns,
    "uncertain labels": some_labels,
    "`save`, `load`": saved,
    "`to_onnx`": hedgerow.to_onnx,
    "`to_treelite`": hedgerow.to_treelite,
    "`to_sklearn`": hedgerow.to_sklearn,
    "`export_code`": lambda model: hedgerow.export_code(model),
}


def page() -> str:
    """Return the two tables of methods and the table of defaults."""
    return f"""## Classifiers

{methods(CLASSIFIERS)}

## Regressors and others

{methods(OTHERS)}

## Defaults

{defaults()}
"""


def methods(columns: Mapping[str, tuple[str, ...]]) -> str:
    """Return the capability table of the classes of each column, without empty rows."""
    rows = []
    for head, call in TRIES.items():
        cells = [_cell({supported(name, call) for name in names}, head) for names in columns.values()]
        if any(cells):
            rows.append([head, *cells])
    return _table(["", *columns], rows)


def supported(name: str, call: Callable[[Any], Any]) -> str:
    """Return ``"yes"``, ``"bootstrap"`` if only a model with a bootstrap supports a call, or ``""``."""
    kind = getattr(hedgerow, name)
    parameters = inspect.signature(kind).parameters
    few = {"n_estimators": 6} if "n_estimators" in parameters else {}
    settings = [("yes", few)] + ([("bootstrap", few | {"bootstrap": True})] if "bootstrap" in parameters else [])
    for answer, setting in settings:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = fit(kind(**setting, random_state=0))
            try:
                call(model)
            except (AttributeError, NotImplementedError, TypeError, ValueError):
                continue
        return answer
    return ""


def defaults() -> str:
    """Return the table of all parameters, their defaults, and the classes that have them."""
    names = [name for columns in (CLASSIFIERS, OTHERS) for group in columns.values() for name in group]
    found: dict[str, dict[str, str]] = {}
    for name in names:
        for parameter, value in inspect.signature(getattr(hedgerow, name)).parameters.items():
            found.setdefault(parameter, {})[name] = f"`{value.default!r}`".replace("'", '"')
    return _table(["parameter", "default"], [[f"`{name}`", _by_value(where)] for name, where in sorted(found.items())])


def _by_value(where: dict[str, str]) -> str:
    """Class -> default, as words: the most frequent default first, then the classes that have another."""
    ordered = sorted(where, key=lambda name: (-list(where.values()).count(where[name]), where[name]))
    values = [(value, list(names)) for value, names in groupby(ordered, key=lambda name: where[name])]
    first, *others = values
    return "; ".join([first[0], *(f"{value} of {', '.join(names)}" for value, names in others)])


def _cell(answers: set[str], head: str) -> str:
    """Return the answer of all classes of a column."""
    if len(answers) > 1:
        raise ValueError(f"classes that share a column must agree, got {sorted(answers)} for {head}")
    return answers.pop()


def _table(heads: list[str], rows: list[list[str]]) -> str:
    """Return a table in Markdown."""
    lines = [heads, ["---"] * len(heads), *rows]
    return "\n".join(f"| {' | '.join(line)} |".replace("|  |", "| |").replace("|  |", "| |") for line in lines)


def write(path: Path) -> None:
    """Replace the tables in the page."""
    before, rest = path.read_text(encoding="utf-8").split(BEGIN)
    path.write_text(f"{before}{BEGIN}{page()}{END}{rest.split(END)[1]}", encoding="utf-8")


if __name__ == "__main__":
    write(PAGE)
