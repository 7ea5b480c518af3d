"""The command as a process: what it loads, what a terminal sees, what a pipe sees."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

import hedgerow

pty = pytest.importorskip("pty", reason="terminals are tested where Python has pseudo-terminals")

COMMAND = [sys.executable, "-c", "from hedgerow.cli.app import main; main()"]


def environment(**more):
    """This process's, with the package that is tested, and nothing that forces or forbids colours."""
    kept = {name: value for name, value in os.environ.items() if name not in ("NO_COLOR", "FORCE_COLOR", "COLUMNS")}
    return kept | {"PYTHONPATH": str(Path(hedgerow.__file__).parents[1]), "TERM": "xterm-256color"} | more


def on_terminal(*words, **more):
    """Run with standard error on a terminal and standard output in a pipe -> (stdout, stderr)."""
    ours, theirs = pty.openpty()
    command = [*COMMAND, *map(str, words)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=theirs, env=environment(**more))
    os.close(theirs)
    said = b""
    while True:
        try:
            part = os.read(ours, 65536)
        except OSError:  # the other side is closed
            break
        if not part:
            break
        said += part
    out = process.stdout.read()
    process.wait(timeout=60)
    os.close(ours)
    return out.decode(), said.decode()


def test_help_waits_for_no_heavy_library():
    script = (
        "import sys, json\nfrom hedgerow.cli.app import main\nsys.argv = ['hedgerow', 'fit', '--help']\n"
        "try:\n    main()\nexcept SystemExit:\n    print(json.dumps(sorted(sys.modules)), file=sys.stderr)"
    )
    result = subprocess.run([sys.executable, "-c", script], capture_output=True, env=environment(), check=True)
    loaded = json.loads(result.stderr)
    assert b"--target" in result.stdout
    assert not {"numpy", "scipy", "sklearn", "joblib", "narwhals", "pandas", "pyarrow"} & set(loaded)


def test_every_command_helps_and_bare_words_are_usage_errors(run):
    for name in ("demo", "fit", "predict", "evaluate", "inspect", "verify", "reproduce"):
        assert run(name, "--help").exit_code == 0
    assert run("nonsense").exit_code == 2
    assert run("fit").exit_code == 2
    assert run("--version").stdout.strip() == hedgerow.__version__


def test_a_bar_is_shown_on_a_terminal_only(patients, tmp_path):
    words = ["fit", patients / "train.csv", "--target", "diagnosis", "--id", "patient", "--trees", 200]
    out, said = on_terminal(*words, "-o", tmp_path / "m.hedge", "--json")
    assert "trees" in said
    assert "200/200" in said
    assert json.loads(out)["trees"] == 200
    command = [*COMMAND, *map(str, words), "-o", str(tmp_path / "m.hedge"), "--json"]
    piped = subprocess.run(command, capture_output=True, env=environment(), check=True)
    assert piped.stderr == b""


def test_no_color_takes_the_colours_away(tmp_path):
    words = ["verify", tmp_path / "none.hedge"]
    assert "\x1b[1;31merror:" in on_terminal(*words)[1]
    plain = on_terminal(*words, NO_COLOR="1")[1]
    assert "error:" in plain
    assert "31m" not in plain


def test_who_has_read_enough_may_leave(patients, model):
    command = [*COMMAND, "predict", str(model), "-", "--keep-all"]
    header, *rows = (patients / "test.csv").read_bytes().splitlines(keepends=True)
    process = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment()
    )
    process.stdout.close()
    process.stdin.write(header + b"".join(rows) * 20)
    process.stdin.close()
    said = process.stderr.read()
    assert process.wait(timeout=60) == 0
    assert b"Traceback" not in said
    assert b"BrokenPipe" not in said


def test_who_has_read_enough_of_a_table_may_leave_too(model):
    command = [*COMMAND, "inspect", str(model)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment()) as process:
        process.stdout.close()
        said = process.stderr.read()
        assert (process.wait(timeout=60), said) == (0, b"")


def test_parquet_without_pyarrow_says_what_to_install(tmp_path):
    (tmp_path / "t.parquet").write_bytes(b"PAR1....PAR1")
    script = "import sys; sys.modules['pyarrow'] = None; from hedgerow.cli.app import main; main()"
    words = ["fit", str(tmp_path / "t.parquet"), "--target", "y", "-o", str(tmp_path / "m.hedge")]
    result = subprocess.run([sys.executable, "-c", script, *words], capture_output=True, env=environment(), check=False)
    assert result.returncode == 1
    assert b"pip install pyarrow" in result.stderr


def test_csv_needs_no_data_frame_library(patients, tmp_path):
    script = (
        "import sys\nfor name in ('pandas', 'polars', 'pyarrow'): sys.modules[name] = None\n"
        "from hedgerow.cli.app import main; main()"
    )
    words = ["fit", str(patients / "train.csv"), "--target", "diagnosis", "-o", str(tmp_path / "m.hedge")]
    result = subprocess.run([sys.executable, "-c", script, *words], capture_output=True, env=environment(), check=False)
    assert result.returncode == 0, result.stderr.decode()


def test_demo_prints_its_figures_as_json(run):
    start = time.perf_counter()
    said = json.loads(run("demo", "--json").stdout)
    assert said["rows"] == 285
    assert said["wrong_and_determinate"] <= said["wrong"]
    assert said["seconds"] <= time.perf_counter() - start


def test_demo_writes_a_report_and_a_notebook_that_runs(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    said = run("demo", "--notebook")
    assert said.exit_code == 0
    assert (tmp_path / "hedgerow-demo.html").resolve().as_uri() in said.stdout
    assert "worst perimeter" in (tmp_path / "hedgerow-demo.html").read_text(encoding="utf-8")
    held = json.loads((tmp_path / "hedgerow-demo.ipynb").read_text(encoding="utf-8"))
    names = {}
    for cell in held["cells"]:
        if cell["cell_type"] == "code":
            exec("".join(cell["source"]), names)
    assert 0 < names["undecided"].sum() < 40


@pytest.mark.parametrize("encoding", ["ascii", "iso8859-1", "utf-8"])
def test_standard_streams_may_have_any_encoding(encoding, model, patients, tmp_path):
    commands = [
        ["fit", patients / "train.csv", "--target", "diagnosis", "--trees", "3", "-o", tmp_path / "m.hedge"],
        ["inspect", model],
        ["evaluate", model, patients / "test.csv", "--target", "diagnosis"],
        ["explain", model, patients / "test.csv"],
        ["suggest", model, patients / "test.csv", "-n", "3"],
        ["evaluate", model, patients / "test.csv", "--target", "diagnosis", "--json"],
    ]
    for words in commands:
        done = subprocess.run(
            [*COMMAND, *map(str, words)],
            capture_output=True,
            env=environment(PYTHONIOENCODING=encoding, PYTHONUTF8="0"),
        )
        assert done.returncode == 0, done.stderr
        assert done.stdout
    json.loads(done.stdout)


def test_characters_that_an_encoding_lacks_have_a_plain_form(tmp_path):
    script = (
        "from hedgerow.cli.console import note, print_everything\nprint_everything()\n"
        "print('0.5 ± 0.1 … \N{SNOWMAN}'); note('p ≤ 0.05')"
    )
    command = [sys.executable, "-c", script]
    done = subprocess.run(command, capture_output=True, env=environment(PYTHONIOENCODING="ascii", PYTHONUTF8="0"))
    assert done.stdout.split() == b"0.5 +/- 0.1 ... \\u2603".split()
    assert done.stderr.split() == b"p <= 0.05".split()
