"""The public names: one table, and everything else that lists them says the same."""

from __future__ import annotations

import ast
import copy
import importlib.util
import inspect
import io
import pickle
import sys
from contextlib import redirect_stdout
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.reference.decide import PlainOpinion

import hedgerow

OPINION = PlainOpinion(*(np.array([row]) for row in ([0.6, 0.1], [0.9, 0.4], [0.8, 0.2])))


def told_to_type_checkers() -> dict[str, str]:
    """Name -> module, as the block says that only type checkers read."""
    tree = ast.parse(Path(str(hedgerow.__file__)).read_text(encoding="utf-8"))
    block = next(node for node in tree.body if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING")
    told = {}
    for node in block.body:
        if isinstance(node, ast.ImportFrom):
            for alias in node.names:
                assert alias.asname == alias.name, "without `as` a name is not passed on"
                told[alias.name] = str(node.module)
    return told


def test_type_checkers_are_told_of_the_same_names():
    homes = {name: home.removesuffix(".*") for name, home in hedgerow._HOME.items()}
    assert told_to_type_checkers() == homes | {"decide": "hedgerow.decide"}  # they know no module that can be called


def test_every_name_of_the_table_is_there_and_is_listed():
    for name, home in hedgerow._HOME.items():
        if home in ("hedgerow", "hedgerow.*"):
            assert getattr(hedgerow, name) is import_module(f"hedgerow.{name}")
        else:
            assert getattr(hedgerow, name) is getattr(import_module(home), name)
            assert importlib.util.find_spec(f"hedgerow.{name}") is None, (
                "a module of the same name would take its place"
            )
    assert {*hedgerow._HOME, "__version__"} == set(dir(hedgerow))
    assert hedgerow.__all__ == sorted(
        {"__version__", *(name for name, home in hedgerow._HOME.items() if not home.endswith("*"))}
    )


def test_a_star_brings_all_names_but_not_modules_that_need_other_packages():
    names: dict[str, object] = {}
    exec("from hedgerow import *", names)
    assert set(hedgerow.__all__) <= set(names)
    assert "dask" not in names


def test_a_name_that_is_not_there_is_an_attribute_error():
    with pytest.raises(AttributeError, match="module 'hedgerow' has no attribute 'nothing'"):
        _ = hedgerow.nothing


@pytest.fixture
def unimported():
    """Nothing of hedgerow has been imported but its core, which a process loads once; afterwards all is as before."""

    def ours():
        return {name: module for name, module in sys.modules.items() if name.partition(".")[0] == "hedgerow"}

    before = ours()
    for name in before.keys() - {"hedgerow._core"}:
        del sys.modules[name]
    yield
    for name in ours():
        del sys.modules[name]
    sys.modules.update(before)


@pytest.mark.parametrize(
    "first",
    [
        "import hedgerow",
        "import hedgerow.decide",
        "from hedgerow.decide import Dominance",
        "from hedgerow import decide",
    ],
)
def test_decide_is_a_package_and_a_function_whatever_was_imported_first(unimported, first):
    program = (
        f"{first}\nimport hedgerow, hedgerow.decide as folder\nfrom hedgerow import decide\n"
        "from hedgerow.decide import Dominance, decide as function\nfrom types import SimpleNamespace\n"
        "assert hedgerow.decide is folder is decide and callable(decide)\n"
        "opinion = SimpleNamespace(lower=[[0.6, 0.1]], upper=[[0.9, 0.4]], probability=[[0.8, 0.2]])\n"
        "for each in (hedgerow.decide, decide, function):\n"
        "    assert each(opinion).tolist() == each(opinion, decision=Dominance()).tolist() == [[True, False]]\n"
    )
    names: dict[str, Any] = {}
    exec(program, names)
    assert names["hedgerow"] is not hedgerow


def test_decide_tells_its_signature_and_helps():
    ours, function = inspect.signature(hedgerow.decide), inspect.signature(hedgerow.decide.decide)
    assert ours == function
    said = io.StringIO()
    with redirect_stdout(said):
        help(hedgerow.decide)
    assert "Choose the classes that remain." in said.getvalue()
    assert "e_admissibility     `EAdmissibility`" in said.getvalue()


def test_decide_is_pickled_and_copied_by_name():
    for twin in (pickle.loads(pickle.dumps(hedgerow.decide)), copy.deepcopy(hedgerow.decide)):
        assert twin is hedgerow.decide


def test_functions_that_mention_the_package_or_decide_travel_to_workers():
    cloudpickle = pytest.importorskip("cloudpickle")
    decide = hedgerow.decide
    for function in (lambda opinion: hedgerow.decide(opinion), lambda opinion: decide(opinion)):
        twin = pickle.loads(cloudpickle.dumps(function))
        assert twin(OPINION).tolist() == [[True, False]]
