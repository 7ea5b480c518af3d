"""The public names: each is listed once, has one address, and is imported when it is first used."""

from __future__ import annotations

import copy
import inspect
import pickle
import subprocess
import sys
from collections import defaultdict
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from tests.reference.decide import PlainOpinion

import hedgerow

OPINION = PlainOpinion(*(np.array([row]) for row in ([0.6, 0.1], [0.9, 0.4], [0.8, 0.2])))
MODULES = sorted(name for name in dir(hedgerow) if name != "dask" and inspect.ismodule(getattr(hedgerow, name)))


def test_the_public_modules_are_these() -> None:
    assert MODULES == [
        "belief",
        "criteria",
        "datasets",
        "decisions",
        "explain",
        "labels",
        "metrics",
        "plot",
        "rules",
        "structure",
        "theory",
    ]


def test_every_public_name_is_there_and_star_brings_all_but_dask() -> None:
    names: dict[str, object] = {}
    exec("from hedgerow import *", names)
    assert set(hedgerow.__all__) == {*dir(hedgerow)} - {"dask"}
    assert set(hedgerow.__all__) <= set(names)
    assert "dask" not in names


@pytest.mark.parametrize("module", MODULES)
def test_every_name_of_a_public_module_is_there(module: str) -> None:
    listed = getattr(hedgerow, module).__all__
    assert sorted(set(listed), key=listed.index) == listed
    assert all(hasattr(getattr(hedgerow, module), name) for name in listed)


def test_a_public_name_has_one_address() -> None:
    addresses: dict[int, list[str]] = defaultdict(list)
    for name in hedgerow.__all__:
        addresses[id(getattr(hedgerow, name))].append(f"hedgerow.{name}")
    for module in MODULES:
        for name in getattr(hedgerow, module).__all__:
            addresses[id(getattr(getattr(hedgerow, module), name))].append(f"hedgerow.{module}.{name}")
    assert [each for each in addresses.values() if len(each) > 1] == []


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="nothing"):
        _ = hedgerow.nothing
    with pytest.raises(ImportError, match="nothing"):
        exec("from hedgerow import nothing")


def run(program: str) -> str:
    """What a program prints in a process of its own."""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    return done.stdout.strip()


def test_the_package_imports_neither_numpy_nor_scikit_learn() -> None:
    program = "import sys, hedgerow; print(*sorted({'numpy', 'scipy', 'sklearn'} & sys.modules.keys()))"
    assert run(program) == ""


def test_a_star_needs_neither_dask_nor_matplotlib() -> None:
    """Packages that are not always there."""
    absent = "import sys; sys.modules.update(dict.fromkeys(['dask', 'distributed', 'matplotlib', 'onnx', 'treelite']))"
    assert run(f"{absent}\nfrom hedgerow import *\nprint(plot.__name__)") == "hedgerow.plot"


def test_type_checkers_and_wheels_have_the_stub() -> None:
    package = Path(str(hedgerow.__file__)).parent
    assert (package / "__init__.pyi").is_file()
    assert (package / "py.typed").is_file()


# ---- decide --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "first", ["import hedgerow", "import hedgerow.decisions", "from hedgerow.decisions import Dominance"]
)
def test_decide_is_a_function_whatever_was_imported_first(first: str) -> None:
    program = f"{first}\nimport hedgerow, inspect\nprint(inspect.isfunction(hedgerow.decide))"
    assert run(program) == "True"


def test_decisions_are_an_ordinary_module() -> None:
    assert type(hedgerow.decisions) is ModuleType
    assert not callable(hedgerow.decisions)
    assert "e_admissibility     `EAdmissibility`" in str(hedgerow.decisions.__doc__)


def test_decide_is_pickled_and_copied_by_name() -> None:
    for twin in (pickle.loads(pickle.dumps(hedgerow.decide)), copy.deepcopy(hedgerow.decide)):
        assert twin is hedgerow.decide


def test_functions_that_mention_the_package_or_decide_travel_to_workers() -> None:
    cloudpickle = pytest.importorskip("cloudpickle")
    decide = hedgerow.decide
    functions: list[Any] = [lambda opinion: hedgerow.decide(opinion), lambda opinion: decide(opinion)]
    for function in functions:
        twin = pickle.loads(cloudpickle.dumps(function))
        assert twin(OPINION).tolist() == [[True, False]]
