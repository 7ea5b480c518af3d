"""The house: the page about the architecture, the folder and the contracts of imports say the same."""

from __future__ import annotations

import ast
import re
import tomllib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import hedgerow

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "src" / "hedgerow"
#: Entries of the package that are not a layer.
FILES = {"__init__.py", "__init__.pyi", "__main__.py", "_core.pyi", "_version.py", "py.typed"}
MOST_ENTRIES = 32
MOST_CLASSES_ABOVE = 4
#: Questions whether an object has an attribute, outside the experiments; nearly all are asked of foreign objects.
MOST_HASATTR, MOST_GETATTR = 15, 20
#: Places outside `target` that ask whether a model predicts classes, numbers, rows or several of these; besides
#: `explain/presenters`, the door through which every command asks it.
MOST_TESTS_OF_KIND = 5
_KINDS = r"(?:Class|Number|Several)Answers|About\w+|Moments|Counts|\w+Target|Estimate|Trees(?:Classifier|Regressor)"
TESTS_OF_KIND = re.compile(
    rf"^(?!\s*assert).*(?:isinstance\(.*\b(?:{_KINDS})\b|\bkind (?:==|!=) \"(?:classes|numbers|several)\")",
    re.MULTILINE,
)
#: Files that name a parameter of trees: its row, the classes that take it, and where it is used.
MOST_FILES_OF_A_PARAMETER = 12
#: Numbers and shifts that take the bits of a node apart: 16 of the code, 17 of the feature, then flags and the child.
NODE_BITS = re.compile(r"0x1?FFFF\b|(?:<<|>>) (?:np\.uint64\()?3[3-6]\b")
#: The module that knows the bits of a node.
NODES = "forest/nodes.py"

#: scikit-learn's own name for what its callbacks are told by, and the rows of the parameters of a class.
USE_PRIVATES = {
    "fit/run.py": {"_init_callback_context"},
    "params/checks.py": {"_parameters"},
    "params/table.py": {"_parameters"},
}

#: What the classes of estimators tell the other layers (`TreeEstimator`, `BaseTrees`).
INTERFACE = {
    "_incremental",
    "_keeps_training_rows",
    "_leaf_names",
    "_predictor",
    "_single_tree",
    "_task",
    "_tree_shape",
}

PUBLIC_NAMES = (ROOT / "tests" / "golden" / "public_names.txt").read_text().split()
ESTIMATORS = [name for name in PUBLIC_NAMES if name.endswith(("Classifier", "Regressor", "Forest", "Embedding"))]


# ---- the flow ------------------------------------------------------------------------------------


def test_the_table_lists_the_layers_in_the_order_of_the_contract() -> None:
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    flow = next(each for each in contracts if each["name"] == "The flow points one way")
    layers = [layer.removeprefix("hedgerow.") for each in reversed(flow["layers"]) for layer in each.split(" | ")]
    assert layers_of_page() == layers


def test_every_entry_of_the_package_is_a_layer() -> None:
    assert all((SOURCE / layer).is_dir() or (SOURCE / f"{layer}.py").is_file() for layer in layers_of_page())
    assert {path.name for path in entries() if path.stem not in layers_of_page()} == FILES


def test_the_package_has_few_entries() -> None:
    assert len(entries()) <= MOST_ENTRIES


def test_no_module_only_passes_on_the_names_of_another() -> None:
    """One address for each public name."""
    assert [name for name, text in modules().items() if re.search(r"^from \S+ import \*", text, re.MULTILINE)] == []


# ---- the estimators --------------------------------------------------------------------------------


def test_the_public_names_are_the_same() -> None:
    assert sorted(hedgerow.__all__) == sorted(PUBLIC_NAMES)


def test_a_forest_stands_on_few_classes() -> None:
    above = [each for each in hedgerow.RandomForestClassifier.__mro__[1:] if each.__module__.startswith("hedgerow.")]
    assert len(above) <= MOST_CLASSES_ABOVE


@pytest.mark.parametrize("name", ESTIMATORS)
def test_a_fit_sets_one_attribute(name: str) -> None:
    model: Any = getattr(hedgerow, name)(random_state=0)
    if "oob_score" in model.get_params() and model.bootstrap:
        model.set_params(oob_score=True)
    before = set(vars(model))
    X = np.random.default_rng(0).normal(size=(40, 3))
    y = (X[:, 0] > 0).astype(int)
    model.fit(X, np.column_stack([X[:, 1] ** 2, y]) if "Survival" in name else y)
    assert set(vars(model)) - before == {"_fitted"}
    assert before == set(model.get_params(deep=False))


# ---- the modules -----------------------------------------------------------------------------------


@pytest.mark.parametrize(("asked", "most"), [(r"\bhasattr\(", MOST_HASATTR), (r"\bgetattr\([^,]+, \"", MOST_GETATTR)])
def test_few_objects_are_asked_what_they_have(asked: str, most: int) -> None:
    found = [name for name, text in modules().items() if "experiments/" not in name for _ in re.findall(asked, text)]
    assert len(found) <= most, found


def test_few_places_ask_what_is_predicted() -> None:
    elsewhere = {name: text for name, text in modules().items() if not name.startswith(("target/", "study/"))}
    found = [(name, match) for name, text in elsewhere.items() for match in TESTS_OF_KIND.findall(text)]
    assert 0 < len(found) <= MOST_TESTS_OF_KIND, found


def test_few_files_name_a_parameter() -> None:
    found = [name for name, text in modules().items() if "max_leaf_nodes" in text]
    assert 0 < len(found) <= MOST_FILES_OF_A_PARAMETER, found


def test_one_module_knows_the_bits_of_a_node() -> None:
    assert {name for name, text in modules().items() if NODE_BITS.search(text)} == {NODES}


def test_other_layers_use_no_private_attributes_of_estimators() -> None:
    """Except for `inference/fitted`, which publishes a fit."""
    privates = {name for path, text in modules().items() if path.startswith("estimators/") for name in defined(text)}
    privates -= INTERFACE
    assert "_framed" in privates
    elsewhere = {
        path: privates & used(text)
        for path, text in modules().items()
        if not path.startswith("estimators/") and path != "inference/fitted.py"
    }
    assert {path: names for path, names in elsewhere.items() if names} == USE_PRIVATES


# ---- what is looked at -----------------------------------------------------------------------------


def layers_of_page() -> list[str]:
    """The first cells of the flow table, from top to bottom."""
    page = (ROOT / "docs" / "contributing" / "architecture.md").read_text(encoding="utf-8")
    table = page.split("| layer |")[1].split("\n\n")[0]
    return re.findall(r"^\| `(\w+)` \|", table, flags=re.MULTILINE)


def entries() -> list[Path]:
    """What lies in the folder of the package, without what is compiled."""
    compiled = ("__pycache__", ".so", ".pyd")
    return sorted(path for path in SOURCE.iterdir() if not path.name.endswith(compiled))


def modules() -> dict[str, str]:
    """Path within the package -> text, of all modules."""
    return {path.relative_to(SOURCE).as_posix(): path.read_text(encoding="utf-8") for path in SOURCE.rglob("*.py")}


def defined(text: str) -> set[str]:
    """The private attributes and methods that the classes of a module define."""
    names = {"_fitted"}
    for body in (each.body for each in ast.walk(ast.parse(text)) if isinstance(each, ast.ClassDef)):
        for each in body:
            if isinstance(each, ast.FunctionDef):
                names.add(each.name)
            targets = each.targets if isinstance(each, ast.Assign) else [getattr(each, "target", None)]
            names |= {target.id for target in targets if isinstance(target, ast.Name)}
    return {name for name in names if name.startswith("_") and not name.startswith("__")}


def used(text: str) -> set[str]:
    """The private attributes that a module asks of something other than `self`."""
    return set(re.findall(r"(?<!\bself)\.(_[a-z]\w*)", text))
