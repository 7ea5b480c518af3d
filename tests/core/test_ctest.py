"""The tests of the core in C++, which CMake builds and CTest runs; see tests/core/CMakeLists.txt."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def test_the_core_runs_clean_under_sanitizers(tmp_path: Path) -> None:
    run_ctest(tmp_path, label="sanitized", target="drive_core", n_tests=2)


def test_trees_are_the_same_without_vectors_or_with_short_ones_and_without_wide_integers(tmp_path: Path) -> None:
    run_ctest(tmp_path, label="portable", target="print_forests", n_tests=1)


def run_ctest(build: Path, *, label: str, target: str, n_tests: int) -> None:
    """Configure in a folder, build one target, and run the tests that have a label."""
    compiler = shutil.which(os.environ.get("CXX", "c++"))
    if compiler is None or shutil.which("cmake") is None:
        pytest.skip("no C++ compiler or no CMake")
    if not (ROOT / "src" / "core").is_dir():
        pytest.skip("the sources of the core are not beside the tests")
    options = ["-DHEDGEROW_BUILD_PYTHON=OFF", "-DHEDGEROW_BUILD_TESTS=ON", f"-DCMAKE_CXX_COMPILER={compiler}"]
    generator = ["-G", "Ninja"] if shutil.which("ninja") else []
    run(["cmake", "-S", str(ROOT), "-B", str(build), *generator, *options])
    if "Total Tests: 0" in run(["ctest", "-N", "-L", label], cwd=build):
        pytest.skip("the compiler has no sanitizer runtime")
    run(["cmake", "--build", str(build), "--parallel", "--target", target])
    printed = run(["ctest", "-L", label, "--parallel", "2", "--output-on-failure"], cwd=build)
    assert re.search(rf"100% tests passed.* out of {n_tests}\b", printed)


def run(command: list[str], cwd: Path = ROOT) -> str:
    """Run a command that must succeed, and return what it prints."""
    done = subprocess.run(command, cwd=cwd, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    assert done.returncode == 0, done.stdout[-4000:]
    return done.stdout
