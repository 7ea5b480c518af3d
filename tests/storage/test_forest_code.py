"""Code of forests: programs in Python, C and JavaScript, run on 1,000 rows, answer as the forest does."""

from __future__ import annotations

import ctypes
import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from tests.reference.models import frame, numbers

from hedgerow import (
    DecisionTreeClassifier,
    MixedForestClassifier,
    PairwiseTreesClassifier,
    RandomDecisionTreesClassifier,
    RandomForestClassifier,
    RandomForestRegressor,
)
from hedgerow.export import export_code
from hedgerow.inference.fitted import fitted_of
from hedgerow.inference.predictor import predictor_of

COMPILER = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
NODE = shutil.which("node")
ROWS = 1000
NAMES = ("probability", "bounds", "set", "predict")


def _plain() -> tuple[Any, Any]:
    X = numbers(0, 150)
    y = np.array(["a", "b", "c"])[np.nan_to_num(X[:, 2]).astype(int) % 3]
    return RandomForestClassifier(8, max_depth=5, random_state=0, unseen="larger").fit(X, y), numbers(1, ROWS)


def _uncalibrated() -> tuple[Any, Any]:
    model, asked = _plain()
    return model.set_params(calibration=None, caution=2.5), asked


def _nominal() -> tuple[Any, Any]:
    X = frame(0, 150)
    y = (X["height"].fillna(0) > 0) ^ X["old"]
    return RandomForestClassifier(8, max_depth=6, random_state=0, unseen="larger").fit(X, y), frame(3, ROWS)


def _each_category() -> tuple[Any, Any]:
    X = frame(0, 150).assign(number=pd.Categorical(np.arange(150) % 4))
    model = RandomDecisionTreesClassifier(6, max_depth=4, random_state=0, unseen="larger")
    return model.fit(X, np.arange(150) % 3), frame(3, ROWS).assign(number=pd.Categorical(np.arange(ROWS) % 4))


def _empty_leaves() -> tuple[Any, Any]:
    X = numbers(0, 60)
    model = RandomForestClassifier(3, leaf_counts="oob", calibration=None, random_state=0, unseen="larger")
    return model.fit(X, np.arange(60) % 2), numbers(1, ROWS)


def _mixed() -> tuple[Any, Any]:
    X = frame(0, 150)
    y = np.array(["a", "b", "c"])[np.arange(150) % 3]
    return MixedForestClassifier(7, max_depth=5, random_state=0, unseen="larger").fit(X, y), frame(3, ROWS)


def _regressor() -> tuple[Any, Any]:
    X = frame(0, 150)
    y = X["height"].fillna(0) + X["old"]
    model = RandomForestRegressor(8, max_depth=5, random_state=0, unseen="larger", caution=2.0)
    return model.fit(X, y), frame(3, ROWS)


CLASSIFIERS = {
    "plain": _plain, "uncalibrated": _uncalibrated, "nominal": _nominal, "each category": _each_category,
    "empty leaves": _empty_leaves, "mixed": _mixed,
}  # fmt: skip
MODELS = {**CLASSIFIERS, "regressor": _regressor}


def rows_of(X: Any) -> list[list[Any]]:
    """A table as lists of Python values, None for missing."""
    table = pd.DataFrame(X).astype(object)
    return table.where(table.notna(), None).to_numpy().tolist()


def _python(model: Any, asked: Any, folder: Path) -> dict[str, Any]:
    program: dict[str, Any] = {}
    exec(export_code(model, name="oak"), program)
    names = [name for name in (*NAMES, "out_of_support") if f"oak_{name}" in program]
    return {name: [program[f"oak_{name}"](row) for row in rows_of(asked)] for name in names}


def _javascript(model: Any, asked: Any, folder: Path) -> dict[str, Any]:
    if NODE is None:
        pytest.skip("no node on the path")
    (folder / "oak.js").write_text(export_code(model, language="javascript", name="oak"), encoding="utf-8")
    (folder / "rows.json").write_text(json.dumps(rows_of(asked), default=lambda value: value.item()))
    ask = (
        "const oak = require('./oak.js'), rows = JSON.parse(require('fs').readFileSync('rows.json')), said = {};"
        "for (const name of Object.keys(oak)) said[name.slice(4)] = rows.map((row) => oak[name](row));"
        "console.log(JSON.stringify(said));"
    )
    told = subprocess.run([NODE, "-e", ask], cwd=folder, check=True, capture_output=True, text=True)
    return json.loads(told.stdout)


def _c(model: Any, asked: Any, folder: Path) -> dict[str, Any]:
    if COMPILER is None:
        pytest.skip("no C compiler on the path")
    (folder / "oak.c").write_text(export_code(model, language="c", name="oak"), encoding="utf-8")
    flags = ["-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic", "-O1", "-shared", "-fPIC"]
    subprocess.run([COMPILER, *flags, "-o", "oak.so", "oak.c", "-lm"], cwd=folder, check=True)
    oak, rows = ctypes.CDLL(str(folder / "oak.so")), _doubles(asked, model)
    if not hasattr(model, "classes_"):
        oak.oak_predict.restype = ctypes.c_double
        pairs = [_filled(oak.oak_bounds, row, 1, 2) for row in rows]
        return {
            "predict": [oak.oak_predict(row) for row in rows],
            "bounds": [[a[0], b[0]] for a, b in pairs],
            "out_of_support": [bool(oak.oak_out_of_support(row)) for row in rows],
        }
    k, classes = len(model.classes_), model.classes_
    sets = [_filled(oak.oak_set, row, k, 1, ctypes.c_int)[0] for row in rows]
    return {
        "probability": [_filled(oak.oak_probability, row, k, 1)[0] for row in rows],
        "bounds": [list(zip(*_filled(oak.oak_bounds, row, k, 2), strict=True)) for row in rows],
        "set": [classes[np.array(chosen, dtype=bool)].tolist() for chosen in sets],
        "predict": [classes[oak.oak_predict(row)].item() for row in rows],
        "out_of_support": [bool(oak.oak_out_of_support(row)) for row in rows],
    }


def _filled(function: Any, row: Any, size: int, how_many: int, kind: Any = ctypes.c_double) -> list[list[Any]]:
    """A function of C, a row -> the arrays that it fills."""
    arrays = [(kind * size)() for _ in range(how_many)]
    function(row, *arrays)
    return [list(array) for array in arrays]


def _doubles(X: Any, model: Any) -> list[Any]:
    """A table as the C program wants it: text as its place in the list of categories, NaN for missing."""
    columns = []
    for known, column in zip(fitted_of(model).schema.categories, np.array(rows_of(X), dtype=object).T, strict=True):
        text = known is not None and known.dtype == object
        place = {value: float(i) for i, value in enumerate(known.tolist())} if text else {}
        columns.append([np.nan if v is None else place.get(v, -1.0) if text else float(v) for v in column])
    return [(ctypes.c_double * len(row))(*row) for row in zip(*columns, strict=True)]


@pytest.mark.parametrize("run", [_python, _c, _javascript], ids=["python", "c", "javascript"])
@pytest.mark.parametrize("name", list(MODELS))
def test_a_program_answers_as_the_forest(name: str, run: Any, tmp_path: Path) -> None:
    model, asked = MODELS[name]()
    said = run(model, asked, tmp_path)
    np.testing.assert_allclose(said["bounds"], model.predict_bounds(asked), rtol=0, atol=1e-12)
    if name == "regressor":
        np.testing.assert_allclose(said["predict"], model.predict(asked), rtol=1e-12)
        assert said.keys() == {"predict", "bounds", "out_of_support"}
        return
    np.testing.assert_allclose(said["probability"], model.predict_proba(asked), rtol=0, atol=1e-12)
    assert said["set"] == [model.classes_[chosen].tolist() for chosen in model.predict_set(asked)]
    sure = np.ptp(np.sort(model.predict_proba(asked), axis=1)[:, -2:], axis=1) > 1e-9  # rounding decides ties
    assert sure.sum() > ROWS / 2
    assert np.array(said["predict"], dtype=object)[sure].tolist() == model.predict(asked)[sure].tolist()


def odd_rows() -> pd.DataFrame:
    """Rows with far numbers, new categories and unexpected missing values, besides ordinary ones."""
    X = frame(3, 60).assign(w=np.linspace(-1, 1, 60))
    X.loc[0:4, "w"] = 1e9
    X.loc[5:9, "height"] = -1e9
    X.loc[10:14, "tree"] = "a new one"
    X.loc[15:19, "w"] = np.nan
    X["ring"] = X["ring"].astype(object)
    X.loc[20:24, "ring"] = "elm"
    X.loc[25:27, ["w", "height", "ring"]] = [1e9, -1e9, "elm"]
    return X


@pytest.mark.parametrize("run", [_python, _c, _javascript], ids=["python", "c", "javascript"])
@pytest.mark.parametrize("kind", [RandomForestClassifier, RandomForestRegressor])
def test_a_program_flags_rows_out_of_support_and_never_decides_them(kind: Any, run: Any, tmp_path: Path) -> None:
    X = frame(0, 150).assign(w=np.linspace(-1, 1, 150))
    target = X["height"].fillna(0) + X["old"] + X["w"]
    model = kind(20, random_state=0).fit(X, target if kind is RandomForestRegressor else target > 0.5)
    asked = odd_rows()
    said = run(model, asked, tmp_path)
    known = predictor_of(model).read(asked).unseen
    flagged = np.isin(np.arange(len(asked)), known.rows)
    assert 10 < flagged.sum() < 40
    assert said["out_of_support"] == flagged.tolist()
    bounds, ours = np.array(said["bounds"]), model.predict_bounds(asked)
    np.testing.assert_allclose(bounds[~flagged], ours[~flagged], atol=1e-12)
    assert (bounds[..., 0] <= ours[..., 0] + 1e-12).all()
    assert (bounds[..., 1] >= ours[..., 1] - 1e-12).all()
    if kind is RandomForestClassifier:
        sets = [model.classes_[chosen].tolist() for chosen in model.predict_set(asked)]
        assert all(set(mine) <= set(theirs) for mine, theirs in zip(sets, said["set"], strict=True))
        assert [mine == theirs for mine, theirs in zip(sets, said["set"], strict=True)].count(False) <= flagged.sum()


def test_programs_have_a_map_and_sets_of_several_sizes() -> None:
    """So that the test above sees them."""
    model, asked = _plain()
    assert "'weights'" in export_code(model)
    assert "MAP = None" in export_code(_uncalibrated()[0])
    assert len(set(model.predict_set(asked).sum(axis=1))) > 1
    assert (np.asarray(_empty_leaves()[0].evidence(numbers(1, 50)).counts).sum(axis=2) == 0).any()
    assert any(tree.is_multiway.any() for tree in _each_category()[0].trees_)


def test_a_tree_is_written_in_javascript_as_a_forest_of_one() -> None:
    X = numbers(0, 80)
    model = DecisionTreeClassifier(max_depth=2, random_state=0).fit(X, np.arange(80) % 2)
    assert "forest of 1 trees" in export_code(model, language="javascript")
    with pytest.raises(ValueError, match="must be 'python' or 'c' for a Tree"):
        export_code(model.tree_, language="javascript")


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"rule": "vote"}, "rule must be 'average'"),
        ({"decision": "u65"}, "decision must be 'dominance'"),
        ({"novelty": 0.05}, "novelty must be None"),
    ],
)
def test_what_code_cannot_say_is_refused_in_plain_words(changed: dict[str, Any], words: str) -> None:
    with pytest.raises(NotImplementedError, match=words):
        export_code(_plain()[0].set_params(**changed))


def test_forests_of_pairs_are_refused() -> None:
    with pytest.raises(NotImplementedError, match="does not support PairwiseTreesClassifier"):
        export_code(PairwiseTreesClassifier().fit(numbers(0, 60), np.arange(60) % 3))


def test_no_name_ends_the_script_of_a_page() -> None:
    names = ["</script><script>alert(1)</script>", "<!--"]
    X = pd.DataFrame({names[0]: np.arange(8.0), names[1]: pd.Series(names * 4, dtype=object)})
    model = RandomForestClassifier(2, random_state=0).fit(X, np.array(names, dtype=object)[[0, 0, 0, 0, 1, 1, 1, 1]])
    program = export_code(model, language="javascript")
    assert "<" not in program.split("function")[0]
    told = re.search(r"const tree_CLASSES = (.*);", program)
    assert told is not None
    assert json.loads(told[1]) == sorted(names)
