"""The documentation: every method has its page, every example that needs another package runs."""

from __future__ import annotations

import importlib.util
import re
import runpy
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import hedgerow
from hedgerow import RandomForestClassifier
from hedgerow.criteria import CRITERIA
from hedgerow.decisions import all_decisions
from hedgerow.rules import rule_names

DOCS = Path(__file__).resolve().parents[2] / "docs"
EXAMPLES = sorted((DOCS / "gallery").glob("plot_*.py"))
#: Packages an example needs beyond those of the tests.
NEEDS = {"plot_4_onnx": "onnxruntime", "plot_5_shap": "shap", "plot_6_mapie": "mapie"}
#: Pages whose blocks of Python run one after the other, and the package they need.
PAGES = {
    "../README": None,
    "index": None,
    "explanation/bootstrap": None,
    "how-to/choose": None,
    "how-to/coverage-and-risk": None,
    "how-to/explain": None,
    "how-to/export": "onnxruntime",
    "how-to/from-quantile-forest": None,
    "how-to/from-scikit-learn": None,
    "how-to/groups": None,
    "how-to/importance": None,
    "how-to/novelty": None,
    "how-to/regression": None,
    "how-to/report": "matplotlib",
    "how-to/survival": None,
    "how-to/updating": None,
    "how-to/uncertain-inputs": None,
    "how-to/uncertain-labels": None,
    "reference/model-files": None,
    "tutorials/survival": None,
}


def methods() -> ModuleType:
    """The module that writes the pages of rules and decisions."""
    return script("methods")


def script(name: str) -> ModuleType:
    """A module of the documentation."""
    spec = importlib.util.spec_from_file_location(f"docs_{name}", DOCS / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # where dataclasses look for it
    spec.loader.exec_module(module)
    return module


def test_every_header_of_the_core_has_its_line() -> None:
    rows = [line for line in (DOCS / "contributing" / "core.md").read_text().splitlines() if line.startswith("| `")]
    named = [name for row in rows for name in re.findall(r"`(\w+/\w+\.hpp)`", row)]
    core = DOCS.parent / "src" / "core"
    there = sorted(path.relative_to(core).as_posix() for path in core.rglob("*.hpp"))
    assert sorted(named) == there


def test_the_reference_lists_every_public_name() -> None:
    """As ``python docs/api.py`` writes it."""
    pytest.importorskip("dask")
    pytest.importorskip("distributed")
    page = (DOCS / "reference" / "api.rst").read_text(encoding="utf-8")
    assert page == script("api").page()
    listed, module = {"hedgerow.__version__"}, ""
    for line in page.splitlines():
        if line.startswith(".. currentmodule:: "):
            module = line.split()[-1]
        elif re.fullmatch(r"   \w+", line):
            listed.add(f"{module}.{line.strip()}")
    things = {f"hedgerow.{name}": getattr(hedgerow, name) for name in dir(hedgerow)}
    modules = {name: thing for name, thing in things.items() if isinstance(thing, ModuleType)}
    inside = {f"{module}.{name}" for module, thing in modules.items() for name in thing.__all__}
    assert listed == (things.keys() - modules.keys()) | inside


def test_every_rule_has_a_page_with_its_code(tmp_path: Path) -> None:
    methods().write_pages(tmp_path)
    assert {page.stem for page in tmp_path.glob("*.md")} == {*rule_names(), "decisions", "index"}
    for name in rule_names():
        page = (tmp_path / f"{name}.md").read_text()
        assert "```{math}" in page
        assert "def lift(self" in page
        assert "def finish(self" in page


def test_every_decision_is_told_of(tmp_path: Path) -> None:
    module = methods()
    module.write_pages(tmp_path)
    page = (tmp_path / "decisions.md").read_text()
    assert all(f'decision="{name}"' in page for name in all_decisions())
    del module.DECISIONS["hurwicz"]
    with pytest.raises(ValueError, match=r"docs/methods.py must describe .*'hurwicz'"):
        module.write_pages(tmp_path)


def test_the_tables_of_what_each_can_do_are_what_the_classes_say() -> None:
    module = methods()
    printed = (DOCS / "reference" / "capabilities.md").read_text().split(module.BEGIN)[1].split(module.END)[0]
    assert printed == module.abilities(), "run python docs/methods.py"
    assert all(f"| `{name}` |" in printed for name in (*rule_names(), *all_decisions(), *CRITERIA))


@pytest.mark.parametrize("example", [path for path in EXAMPLES if path.stem in NEEDS], ids=lambda path: path.stem)
def test_the_example_with_another_package_runs(
    example: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    package = NEEDS[example.stem]
    pytest.importorskip(package, reason=f"needs {package}: pip install 'hedgerow[docs]'")
    monkeypatch.setenv("MPLBACKEND", "Agg")
    monkeypatch.setattr(sys, "argv", [str(example)])
    runpy.run_path(str(example))
    said = capsys.readouterr().out
    if package == "onnxruntime":
        assert said.count("True") == 3
    elif package == "shap":
        assert "largest difference: 0.0" in said
    else:
        kept = [float(number) for number in re.findall(r"truth in the set (\d\.\d+)", said)]
        assert len(kept) == 2
        assert min(kept) > 0.9


@pytest.mark.parametrize("page", PAGES)
def test_the_code_of_the_page_runs_as_printed(
    page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    if (package := PAGES[page]) is not None:
        pytest.importorskip(package, reason=f"needs {package}: pip install 'hedgerow[docs]'")
    monkeypatch.setenv("MPLBACKEND", "Agg")
    monkeypatch.chdir(tmp_path)
    text = (DOCS / f"{page}.md").read_text(encoding="utf-8")
    blocks = re.findall(r"^```python\n(.*?)^```(?:\n\n```text\n(.*?)^```)?", text, flags=re.DOTALL | re.MULTILINE)
    assert blocks
    names = what_readers_have()
    for block, output in blocks:
        capsys.readouterr()
        exec(compile(block, f"{page}.md", "exec"), names)
        if output:
            assert capsys.readouterr().out.split() == output.split()


def what_readers_have() -> dict[str, Any]:
    """The names that pages take for granted: two classes, four features, and a forest."""
    draws = np.random.default_rng(0)
    X = draws.normal(size=(120, 4))
    y = np.where(X[:, 0] + draws.normal(size=120) > 0, "ill", "well")
    forest = RandomForestClassifier(20, random_state=0).fit(X, y)
    X_new, y_new = X[:20] + 0.1, y[:20]
    names = {"X": X, "y": y, "X_new": X_new, "y_new": y_new, "x": X[:, 0], "forest": forest, "np": np, "Path": Path}
    return names | {
        "X_train": X,
        "X_test": X_new,
        "y_test": y_new,
        "X_aside": X_new,
        "y_aside": y_new,
        "hedgerow": hedgerow,
    }


def test_the_readme_is_short() -> None:
    assert len((DOCS.parent / "README.md").read_text(encoding="utf-8")) <= 6000


def test_every_row_of_the_comparisons_has_its_evidence() -> None:
    readme = (DOCS.parent / "README.md").read_text(encoding="utf-8")
    page, evidence = (DOCS / "explanation" / "comparison.md").read_text(encoding="utf-8").split("## Evidence")
    begins = ((readme, "| | scikit-learn |"), (page, "| | scikit-learn |"), (page, "| | has | lacks |"))
    tables = [text[text.index(begin) :].split("\n\n")[0].splitlines()[2:] for text, begin in begins]
    assert [len(table) > 4 for table in tables] == [True, True, True]
    rows = [row.split("|")[1].strip() for table in tables for row in table]
    assert [row for row in rows if f"| {row} |" not in evidence] == []
    named = re.findall(r"`(tests/[\w/.]+)`", evidence)
    assert named
    assert [path for path in named if not (DOCS.parent / path).exists()] == []
