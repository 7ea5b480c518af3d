"""scikit-learn's own tests of its forests and trees, with our classes in their place.

Every test that fails is in ``tests/golden/sklearn_failures.txt``, with the reason. A new failure, and a test on the
list that passes, make this test fail. The tests are those of the installed scikit-learn. One list serves all supported
versions: a test that a version does not have is not run.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
import sklearn
import sklearn.ensemble
import sklearn.tree

ROOT = Path(__file__).resolve().parents[2]
LIST = ROOT / "tests" / "golden" / "sklearn_failures.txt"
FILES = {
    "forest": Path(sklearn.ensemble.__file__).parent / "tests" / "test_forest.py",
    "tree": Path(sklearn.tree.__file__).parent / "tests" / "test_tree.py",
}


@pytest.mark.parametrize("which", FILES)
def test_only_listed_tests_of_scikit_learn_fail(which: str, tmp_path: Path) -> None:
    listed = read_list()
    if not FILES[which].is_file():
        pytest.skip("scikit-learn is installed without its tests")
    passed, failed = run_tests(FILES[which], tmp_path)
    assert {name for name in failed if name not in listed} == set()
    assert {name for name in passed if name in listed} == set()
    page = (ROOT / "docs" / "how-to" / "from-scikit-learn.md").read_text(encoding="utf-8")
    if f"scikit-learn {sklearn.__version__}," in page:  # of the version that the page names
        assert f"{len(passed)} of {len(passed) + len(failed)}" in page


def test_every_listed_failure_has_a_reason() -> None:
    assert [name for name, reason in read_list().items() if len(reason.split()) < 3] == []


def read_list() -> dict[str, str]:
    """Test -> the reason why it fails. A reason stands above its tests."""
    reason, found = "", {}
    for line in LIST.read_text(encoding="utf-8").splitlines():
        if line.startswith("# "):
            reason = line[2:]
        elif line:
            found[line] = reason
    return found


def run_tests(file: Path, folder: Path) -> tuple[set[str], set[str]]:
    """A file of tests -> the names of those that pass and of those that fail."""
    # Nobody reads why a test fails, so no assertion is rewritten to say it; nor does any test need other plugins.
    options = ["-q", "-rA", "--tb=no", "--assert=plain", "-p", "no:cacheprovider", "-p", "tests.reference.as_sklearn"]
    path = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
    plain = {"PYTEST_ADDOPTS": "", "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "SKLEARN_TESTS_GLOBAL_RANDOM_SEED": "42"}
    environment = {**os.environ, "PYTHONPATH": path, **plain}
    command = [sys.executable, "-W", "ignore", "-m", "pytest", *options, "--rootdir", str(folder), str(file)]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    outcomes: dict[str, set[str]] = {"PASSED": set(), "FAILED": set(), "ERROR": set()}
    for line in done.stdout.splitlines():
        outcome, _, rest = line.partition(" ")
        if outcome in outcomes:
            outcomes[outcome].add(rest.split(" - ")[0].rpartition("::")[2])
    assert outcomes["PASSED"], done.stdout[-2000:] + done.stderr[-2000:]
    return outcomes["PASSED"], outcomes["FAILED"] | outcomes["ERROR"]
