"""Exports: fitted models of every kind -> how far other programs are from what hedgerow answers, or "refused".

python -m benchmarks.exports [--rows 1000] [--trees 30] [--reasons]

Each cell is the largest difference to `predict_proba` (or `predict`), and to `predict_bounds` where the program has
bounds, over rows that were not trained on. For decisions it is the number of rows whose sets differ. "refused" is an
error that says why; ``--reasons`` prints it. A star marks a difference of which a warning tells. Programs without sets
have "–".
"""

from __future__ import annotations

import argparse
import io
import sys
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd

import hedgerow
from hedgerow.decisions import Coverage, Risk

#: Decisions with their usual parameters; those that need rows to be calibrated learn on out-of-bag rows.
DECISIONS = {
    **{name: name for name in ("dominance", "maximality", "e_admissibility", "maximin", "maximax", "hurwicz")},
    **{name: name for name in ("pignistic", "expected_utility", "u65", "u80", "f1", "top_probability")},
    "Coverage(0.9)": Coverage(0.9),
    'Coverage(0.9, score="aps")': Coverage(0.9, score="aps"),
    "Risk(0.2, 0.9)": Risk(0.2, 0.9),
}
PROGRAMS = ("ONNX", "treelite", "scikit-learn", "Python code", "model file")


def main(arguments: list[str] | None = None) -> int:
    """Fit, export, compare, print a table."""
    options = _options(arguments)
    reasons: dict[str, None] = {}
    print("| | " + " | ".join(PROGRAMS) + " |\n|---|" + "---|" * len(PROGRAMS))
    for name, model, rows, only_sets in models(options.rows, options.trees):
        cells = [_cell(name, program, model, rows, only_sets, reasons) for program in PROGRAMS]
        print(f"| {name} | " + " | ".join(cells) + " |", flush=True)
    if options.reasons:
        print(*(f"* {reason}" for reason in reasons), sep="\n")
    return 0


def models(n_rows: int, n_trees: int) -> Any:
    """-> (what it is, a fitted model, rows it has not seen, whether only its sets are compared), one by one."""
    X, table, y, numbers = _data(n_rows)
    first, later = slice(None, n_rows), slice(n_rows, None)
    forest, plain = hedgerow.RandomForestClassifier, {"random_state": 0, "calibration": None}

    def fit(model: Any, rows: Any = X, target: Any = y) -> Any:
        return model.fit(rows[first], target[first])

    yield "classifier", fit(forest(n_trees, **plain)), X[later], False
    yield "single tree", fit(hedgerow.DecisionTreeClassifier(max_depth=8, random_state=0)), X[later], False
    yield "extra trees", fit(hedgerow.ExtraTreesClassifier(n_trees, **plain)), X[later], False
    yield "text and categories", fit(forest(n_trees, **plain), table), table[later], False
    yield "calibrated (the default)", fit(forest(n_trees, random_state=0)), X[later], False
    yield '`rule="dempster"`', fit(forest(n_trees, rule="dempster", **plain)), X[later], False
    yield '`rule="cdm_vote"`', fit(forest(n_trees, rule="cdm_vote", **plain)), X[later], False
    yield "`novelty=0.01`", fit(forest(n_trees, novelty=0.01, **plain)), X[later], False
    yield "pairwise trees", fit(hedgerow.PairwiseTreesClassifier(random_state=0)), X[later], False
    several = np.column_stack([y, y == "red"])
    yield "one of several outputs", fit(forest(n_trees, **plain), X, several).outputs_[0], X[later], False
    yield "regressor", fit(hedgerow.RandomForestRegressor(n_trees, random_state=0), X, numbers), X[later], False
    tree = hedgerow.DecisionTreeRegressor(max_depth=8, random_state=0)
    yield "single tree of numbers", fit(tree, X, numbers), X[later], False
    many = hedgerow.RandomForestRegressor(n_trees, random_state=0)
    yield "regressor, text and categories", fit(many, table, numbers), table[later], False
    mapped = fit(forest(n_trees, random_state=0))
    for name, decision in DECISIONS.items():
        yield f"sets: `{name}`", mapped.set_params(decision=decision), X[later], True


def _data(n_rows: int) -> tuple[Any, Any, Any, Any]:
    """Training rows, then as many others -> numbers, the same as a table with text, labels, targets."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2 * n_rows, 5))
    X[rng.random(X.shape) < 0.05] = np.nan
    seen = np.nan_to_num(X)
    score = seen[:, 0] + seen[:, 1] * seen[:, 2] + rng.normal(scale=0.5, size=len(X))
    y = np.array(["blue", "green", "red"])[np.digitize(score, [-0.5, 0.5])]
    table = pd.DataFrame(X, columns=[f"n{number}" for number in range(5)])
    table["word"] = np.array(["low", "mid", "high"])[np.digitize(seen[:, 3], [-0.5, 0.5])]
    table["code"] = pd.Categorical(rng.integers(1, 5, len(X)))
    return X, table, y, score


def _cell(name: str, program: str, model: Any, rows: Any, only_sets: bool, reasons: dict[str, None]) -> str:
    """How far a program is from the model, as text."""
    ask = _SETS.get(program) if only_sets else _ANSWERS[program]
    if ask is None:
        return "–"
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        try:
            found = ask(model, rows)
        except (NotImplementedError, ValueError, TypeError) as error:
            reasons[f"{name}, {program}: {error}"] = None
            return "refused"
    if only_sets:
        return f"{int((found != model.predict_set(rows)).any(axis=1).sum())} rows"
    own = _own(model, rows)
    difference = max(float(np.abs(found[what] - own[what]).max()) for what in found)
    return f"{difference:.0e}" + ("\\*" if any("map" in str(each.message) for each in told) else "")


def _own(model: Any, rows: Any) -> dict[str, Any]:
    """What the model answers itself."""
    if "predict_proba" not in dir(model):
        bounds = model.predict_bounds(rows)
        return {"mean": model.predict(rows), "lower": bounds[:, 0], "upper": bounds[:, 1]}
    bounds = model.predict_bounds(rows)
    return {"mean": model.predict_proba(rows), "lower": bounds[:, :, 0], "upper": bounds[:, :, 1]}


# ---- what each program answers ----------------------------------------------------------------------


def _onnx(model: Any, rows: Any) -> dict[str, Any]:
    """The outputs of onnxruntime."""
    import onnxruntime

    graph = hedgerow.to_onnx(model)
    session = onnxruntime.InferenceSession(graph.SerializeToString())
    inputs = {"X": np.asarray(rows)} if [each.name for each in session.get_inputs()] == ["X"] else _columns(rows)
    return dict(zip([each.name for each in session.get_outputs()], session.run(None, inputs), strict=True))


def _columns(table: pd.DataFrame) -> dict[str, Any]:
    """A table -> one array (n, 1) for each column, text as strings and everything else as doubles."""
    texts = {name: pd.api.types.is_object_dtype(table[name]) or table[name].dtype == "str" for name in table}
    return {name: table[[name]].to_numpy(dtype=object if texts[name] else np.float64) for name in table}


def _onnx_answers(model: Any, rows: Any) -> dict[str, Any]:
    found = _onnx(model, rows)
    mean = found["probability"] if "probability" in found else found["prediction"]
    return {"mean": mean, "lower": found["lower"], "upper": found["upper"]}


def _treelite(model: Any, rows: Any) -> dict[str, Any]:
    """The answers of treelite's interpreter; categories are passed as places."""
    import treelite

    exported = hedgerow.to_treelite(model, bounds=True)
    if isinstance(rows, pd.DataFrame):
        places = {"word": pd.Categorical(rows["word"], categories=["high", "low", "mid"]).codes}
        rows = rows.assign(**places, code=rows["code"].cat.codes).to_numpy(dtype=np.float64)
    found = treelite.gtil.predict(exported, np.ascontiguousarray(rows))
    if "predict_proba" not in dir(model):
        found = found[:, :, 0]
    return {"mean": found[:, 0], "lower": found[:, 1], "upper": found[:, 2]}


def _sklearn(model: Any, rows: Any) -> dict[str, Any]:
    theirs = model.to_sklearn()
    return {"mean": theirs.predict_proba(rows) if "predict_proba" in dir(theirs) else theirs.predict(rows)}


def _code(model: Any, rows: Any) -> dict[str, Any]:
    """The answers of the program of a single tree."""
    program: dict[str, Any] = {}
    exec(hedgerow.export_code(model), program)
    ask = program["tree_probability"] if "predict_proba" in dir(model) else program["tree_predict"]
    return {"mean": np.array([ask(row) for row in np.asarray(rows).tolist()])}


def _loaded(model: Any) -> Any:
    file = io.BytesIO()
    hedgerow.save(model, file)
    return hedgerow.load(io.BytesIO(file.getvalue()))


def _file_answers(model: Any, rows: Any) -> dict[str, Any]:
    return _own(_loaded(model), rows)


_ANSWERS: dict[str, Callable[[Any, Any], dict[str, Any]]] = {
    "ONNX": _onnx_answers,
    "treelite": _treelite,
    "scikit-learn": _sklearn,
    "Python code": _code,
    "model file": _file_answers,
}
_SETS: dict[str, Callable[[Any, Any], Any]] = {
    "ONNX": lambda model, rows: _onnx(model, rows)["set"],
    "model file": lambda model, rows: _loaded(model).predict_set(rows),
}


def _options(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.exports", description=__doc__.split("\n")[0])
    parser.add_argument("--rows", type=int, default=1000, help="rows to train on, and others to ask about")
    parser.add_argument("--trees", type=int, default=30)
    parser.add_argument("--reasons", action="store_true", help="also print why exports are refused")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main())
