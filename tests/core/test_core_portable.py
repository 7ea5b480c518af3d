"""The core as compilers without vectors and 128-bit integers see it, and as processors with short vectors run it."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "tests" / "core" / "print_forests.cpp"
FLAGS = ["-std=c++20", "-O0", "-ffp-contract=off", "-pthread", f"-I{ROOT / 'src'}"]


def test_trees_are_the_same_without_vectors_or_with_short_ones_and_without_wide_integers(tmp_path: Path) -> None:
    compiler = shutil.which(os.environ.get("CXX", "c++"))
    if compiler is None:
        pytest.skip("no C++ compiler; set CXX to one")
    if not (ROOT / "src" / "core").is_dir():
        pytest.skip("the sources of the core are not beside the tests")
    variants = {"native": [], "narrow": ["-DHEDGEROW_NARROW"], "portable": ["-DHEDGEROW_PORTABLE"]}
    programs = {str(tmp_path / name): flags for name, flags in variants.items()}
    running = [
        subprocess.Popen([compiler, *FLAGS, *flags, str(SOURCE), "-o", program], stderr=subprocess.PIPE, text=True)
        for program, flags in programs.items()
    ]
    errors = [process.communicate()[1] for process in running]
    assert [process.returncode for process in running] == [0, 0, 0], "\n".join(errors)[-3000:]
    native, *others = (subprocess.run([program], capture_output=True, check=True).stdout for program in programs)
    assert native.count(b"\n") == 5 * 6 * 3 + 8
    assert [other == native for other in others] == [True, True]
