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
VARIANTS = {"bytes and Gini": [], "words and entropy": ["-DDRIVE_WIDE"]}


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
def programs(compiler: str, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Both variants of the driver, compiled side by side."""
    folder = tmp_path_factory.mktemp("driver")
    made = {name: folder / f"drive_{number}" for number, name in enumerate(VARIANTS)}
    running = [
        subprocess.Popen(
            [compiler, *FLAGS, *VARIANTS[name], f"-I{ROOT / 'src'}", str(SOURCE), "-o", str(program)],
            stderr=subprocess.PIPE,
            text=True,
        )
        for name, program in made.items()
    ]
    errors = [process.communicate()[1] for process in running]
    assert [process.returncode for process in running] == [0, 0], "\n".join(errors)[-3000:]
    return made


@pytest.mark.parametrize("variant", VARIANTS)
def test_the_core_runs_clean_under_sanitizers(programs: dict[str, Path], variant: str) -> None:
    ran = subprocess.run(
        [str(programs[variant])],
        capture_output=True,
        text=True,
        check=False,
        timeout=900,  # a guard against a hang, not a measure of speed
        env={**os.environ, "UBSAN_OPTIONS": "print_stacktrace=1"},
    )
    assert ran.returncode == 0, (ran.stdout + ran.stderr)[:4000]
    assert ran.stdout.endswith("driven\n")
