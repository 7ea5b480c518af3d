"""The core without Python, under AddressSanitizer and UndefinedBehaviorSanitizer."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "tests" / "core" / "drive_core.cpp"
# Sanitizers see as much without optimisation, and the compiler is done in a third of the time.
# AddressSanitizer catches null pointers; with these checks of the other one the compiler takes 1.6 times as long.
CHECKS = ["-fsanitize=address,undefined", "-fno-sanitize=null,alignment,object-size,vptr,pointer-overflow"]
FLAGS = ["-std=c++20", "-O0", "-g1", "-pthread", *CHECKS, "-fno-sanitize-recover=all"]
#: What the driver is told to grow and read.
VARIANTS = {"bytes and Gini": "bytes", "words and entropy": "words"}


@pytest.fixture(scope="module")
def compiler(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A C++ compiler whose sanitizers run here."""
    found = shutil.which(os.environ.get("CXX", "c++"))
    if found is None:
        pytest.skip("no C++ compiler; set CXX to one")
    if not (ROOT / "src" / "core").is_dir():
        pytest.skip("the sources of the core are not beside the tests")
    folder = tmp_path_factory.mktemp("trial")
    source, program = folder / "trial.cpp", folder / "trial"
    source.write_text("int main() { return 0; }\n")
    compiled = subprocess.run([found, *FLAGS, str(source), "-o", str(program)], capture_output=True, check=False)
    if compiled.returncode != 0 or subprocess.run([str(program)], capture_output=True, check=False).returncode != 0:
        pytest.skip("the compiler has no sanitizer runtime")
    return found


@pytest.fixture(scope="module")
def program(compiler: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The driver, compiled."""
    made = tmp_path_factory.mktemp("driver") / "drive"
    command = [compiler, *FLAGS, f"-I{ROOT / 'src'}", str(SOURCE), "-o", str(made)]
    done = subprocess.run(command, stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    return made


@pytest.mark.parametrize("variant", VARIANTS)
def test_the_core_runs_clean_under_sanitizers(program: Path, variant: str) -> None:
    ran = subprocess.run(
        [str(program), VARIANTS[variant]],
        capture_output=True,
        text=True,
        check=False,
        timeout=900,  # a guard against a hang, not a measure of speed
        env={**os.environ, "UBSAN_OPTIONS": "print_stacktrace=1"},
    )
    assert ran.returncode == 0, (ran.stdout + ran.stderr)[:4000]
    assert ran.stdout.endswith(f"driven {VARIANTS[variant]}\n")
