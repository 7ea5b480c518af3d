"""What commands print and write: no formulas in CSV unless asked for, nothing but text on a terminal."""

from __future__ import annotations

import csv
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import hedgerow
from hedgerow.cli.app import app
from hedgerow.cli.exit_codes import enter, run
from hedgerow.cli.output import FORMULA

# ---- formulas ------------------------------------------------------------------------------------

FORMULAS = [
    "=1+1",
    "\ufeff=1+1",
    "\u200b@SUM(A1)",
    "+cmd|' /C calc'!A0",
    "-2+3",
    "@SUM(A1)",
    "\t=1",
    "\r=1",
    "＝1",
    "-",
    "--1",
    "-1_0",
    "-a|b",
    "=",
    "+",
]
NUMBERS = ["-5", "+3.2", "-1e-5", "-.5", "+7.", "-inf", "-5|+7", "plain", "1=1", "'quoted", "a-b", ""]


@pytest.fixture
def asked(run, write, tmp_path):
    """Cells -> how they come back from ``hedgerow predict --keep``, as strings by column."""
    table = write("x,y\n1,u\n2,v\n3,u\n4,v\n")
    model = tmp_path / "m.hedge"
    assert run("fit", table, "--target", "y", "--trees", "2", "-o", model).exit_code == 0

    def ask(cells, *options, name="cell"):
        path = tmp_path / "cells.csv"
        with path.open("w", newline="") as file:
            csv.writer(file, quoting=csv.QUOTE_ALL).writerows([[name, "x"], *([cell, 1] for cell in cells)])
        told = run("predict", model, path, "--keep", name.strip(), "-o", tmp_path / "out.csv", *options)
        assert told.exit_code == 0, told.stderr
        with (tmp_path / "out.csv").open(newline="") as file:
            rows = list(csv.reader(file))
        return rows[0][0], [row[0] for row in rows[1:]], told.stderr

    return ask


def test_text_that_begins_like_a_formula_gets_an_apostrophe(asked):
    _, cells, said = asked([*FORMULAS, *NUMBERS])
    assert cells == [*(f"'{cell}" for cell in FORMULAS), *NUMBERS]
    assert f"{len(FORMULAS)} cells like a formula" in said


def test_raw_writes_cells_as_they_are(asked):
    name, cells, said = asked([*FORMULAS, *NUMBERS], "--raw", name="=name")
    assert (name, cells) == ("=name", [*FORMULAS, *NUMBERS])
    assert "formula" not in said


def test_names_of_columns_are_guarded_too(asked):
    assert asked(["1"], name="=name")[0] == "'=name"


def test_labels_and_sets_are_guarded_and_numbers_are_not(run, write, tmp_path):
    model, out = tmp_path / "m.hedge", tmp_path / "out.csv"
    for labels, wanted in ((("=a", "@b"), {"'=a", "'@b", "'=a|@b"}), (("-1", "1"), {"-1", "1", "-1|1"})):
        table = write("x,y\n" + "".join(f"{i % 7},{labels[i % 2]}\n" for i in range(40)))
        assert run("fit", table, "--target", "y", "--trees", "9", "-o", model).exit_code == 0
        assert run("predict", model, table, "--caution", "50", "-o", out).exit_code == 0
        with out.open(newline="") as file:
            rows = list(csv.DictReader(file))
        found = {row["label"] for row in rows} | {row["set"] for row in rows}
        assert found <= wanted
        assert any("|" in cell for cell in found)
        lines = run("predict", model, table, "--json").stdout.splitlines()
        assert str(json.loads(lines[0])["label"]) in labels  # JSON is for programs


def test_every_sign_of_a_formula_is_covered(asked):
    cells = [f"{sign}x" for sign in sorted(FORMULA)]
    assert asked(cells)[1] == [f"'{cell}" for cell in cells]


def test_a_label_of_many_digits_is_text(run, write, tmp_path):
    table = write("x,y\n" + "".join(f"{i},{'9' * (4999 + i % 2)}\n" for i in range(8)))
    assert run("fit", table, "--target", "y", "--trees", "2", "-o", tmp_path / "m.hedge").exit_code == 0


# ---- terminals -----------------------------------------------------------------------------------

#: Sets a title, clears the screen, colours, deletes, goes back, turns the direction, rings.
ODD = "\x1b]0owned\x07\x1b[2J\x9b31m\x7f\x08\u202egpj.exe\u2066"
#: What may control a terminal, except the ends of lines.
CONTROL = re.compile(r"[\x00-\x09\x0b\x0c\x0e-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069]")

SCRIPT = """
import json, sys
from hedgerow.cli.app import app
from hedgerow.cli.exit_codes import enter
for words in json.load(open(sys.argv[1])):
    print("::", enter(app, words), flush=True)
"""


def on_terminal(calls, tmp_path) -> str:
    """Run the words of commands one after the other, all streams on a terminal -> what it was sent."""
    pty = pytest.importorskip("pty", reason="terminals are tested where Python has pseudo-terminals")
    (tmp_path / "calls.json").write_text(json.dumps(calls))
    ours, theirs = pty.openpty()
    environment = os.environ | {
        "PYTHONPATH": str(Path(hedgerow.__file__).parents[1]),
        "TERM": "dumb",
        "NO_COLOR": "1",
        "COLUMNS": "200",
    }
    process = subprocess.Popen(
        [sys.executable, "-c", SCRIPT, str(tmp_path / "calls.json")], stdout=theirs, stderr=theirs, env=environment
    )
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
    process.wait(timeout=60)
    os.close(ours)
    return said.decode()


def test_names_of_any_origin_control_no_terminal(write, run, tmp_path):
    rows = "".join(f"{i % 5},c{ODD}{i % 3},{ODD}{'uv'[i % 2]}\n" for i in range(60))
    table = write(f"n{ODD},c{ODD},y{ODD}\n{rows}", f"t{ODD}.csv")
    model = tmp_path / f"m{ODD}.hedge"
    assert run("fit", table, "--target", f"y{ODD}", "--trees", "5", "-o", model).exit_code == 0
    bad, target = write("no model at all", f"b{ODD}"), f"y{ODD}"
    other = write(f"n{ODD},c{ODD},y{ODD},more{ODD}\n1,new{ODD},{ODD}w,1\n", f"o{ODD}.csv")
    wide = write(f"n{ODD},y{ODD}\n1,2,{ODD}\n", f"w{ODD}.csv")
    asked = [
        ["fit", table, "--target", target, "--trees", "3", "-o", model],
        ["fit", table, "--target", target, "--trees", "3", "-o", model, "--json"],
        ["fit", table, "--target", f"no{ODD}", "-o", model],
        ["fit", table, "--target", target, "-o", bad],
        ["fit", wide, "--target", target, "-o", model],
        ["fit", f"none{ODD}", "--target", target, "-o", model],
        ["fit", table, "--target", target, "-o", model, "--rule", ODD],
        ["predict", model, table, "--keep-all", "--caution", "50", "--prefix", "p"],
        ["predict", model, table, "--keep-all", "--prefix", "p", "--json"],
        ["predict", model, other],
        ["predict", model, wide],
        ["evaluate", model, table, "--target", target],
        ["evaluate", model, table, "--target", target, "--json"],
        ["evaluate", model, other, "--target", target],
        ["explain", model, table, "--caution", "50"],
        ["explain", model, table, "--row", "1", "--train", table, "--target", target, "--id", f"c{ODD}"],
        ["explain", model, table, "--row", "1", "--train", table, "--target", target],
        ["explain", model, table, "--row", "1", "--json"],
        ["explain", model, table, "--row", "1", "--wanted", ODD],
        ["report", model, table, "-o", "-", "--title", ODD, "--seconds", "0"],
        ["report", model, table, "-o", tmp_path / f"{ODD}.html", "--json", "--seconds", "0"],
        ["inspect", model],
        ["inspect", model, "--json"],
        ["verify", model],
        ["verify", model, "--json"],
        ["verify", bad],
        ["verify", bad, "--json"],
        ["reproduce", ODD],
        ["reproduce", "zhang-2021", "--out", tmp_path / ODD, "--data", tmp_path / f"no{ODD}"],
        [ODD],
        ["fit", f"--{ODD}"],
        ["fit", table, table, "--target", target, "-o", model],
        ["verify", model, ODD],
        ["predict", model, table, "--trees", ODD],
        ["fit", table, "--target", target, "-o", model, "--trees", ODD],
        ["fit", table, "--target", target, "-o", model, "--model", ODD],
    ]
    said = on_terminal([[str(word) for word in words] for words in asked], tmp_path)
    codes = [int(found) for found in re.findall(r":: (\d+)", said)]
    assert len(codes) == len(asked), said[-3000:]
    assert codes.count(0) >= 15
    assert CONTROL.findall(said.replace("\r\n", "\n")) == []
    assert "\\x1b]0owned\\x07" in said


def test_json_says_what_was_there_without_control_characters(write, run, tmp_path):
    table = write(f"n{ODD},y\n" + "".join(f"{i},{'ab'[i % 2]}{ODD}\n" for i in range(8)))
    fitted = run("fit", table, "--target", "y", "--trees", "2", "-o", tmp_path / "m.hedge", "--json")
    assert not CONTROL.search(fitted.stdout)
    assert [each["label"] for each in json.loads(fitted.stdout)["classes"]] == [f"a{ODD}", f"b{ODD}"]
    line = run("predict", tmp_path / "m.hedge", table, "--json").stdout.splitlines()[0]
    assert not CONTROL.search(line)
    assert set(json.loads(line)["lower"]) == {f"a{ODD}", f"b{ODD}"}


def test_in_files_and_pipes_data_stay_as_they_are(write, run, tmp_path):
    table = write("n,y\n" + "".join(f"{i},{'ab'[i % 2]}{ODD}\n" for i in range(8)))
    assert run("fit", table, "--target", "y", "--trees", "2", "-o", tmp_path / "m.hedge").exit_code == 0
    assert f"a{ODD}" in run("predict", tmp_path / "m.hedge", table).stdout
    assert run("predict", tmp_path / "m.hedge", table, "-o", tmp_path / "out.csv").exit_code == 0
    assert f"a{ODD}" in (tmp_path / "out.csv").read_text()


def test_warnings_are_sentences_without_control_characters(capsys):
    import warnings

    assert run(lambda: warnings.warn(f"odd {ODD}", stacklevel=1)) == 0
    said = capsys.readouterr().err
    assert said.startswith("warning: odd \\x1b]0owned")
    assert not CONTROL.search(said)


def test_a_failure_nobody_foresaw_is_printable_too(capsys, monkeypatch):
    def fail(*words, **how):
        raise RuntimeError(ODD)

    assert enter(fail, []) == 1
    said = capsys.readouterr().err
    assert "RuntimeError: \\x1b]0owned" in said
    assert not CONTROL.search(said)


def test_help_and_version_end_well(capsys):
    assert enter(app, ["--version"]) == 0
    assert enter(app, ["fit", "--help"]) == 0
    assert enter(app, ["fit"]) == 2
    assert "Missing" in capsys.readouterr().err


def test_a_name_that_is_not_utf8_is_written_with_escapes(run, write, patients, model, tmp_path):
    page = tmp_path / "page.html"
    done = run("report", model, patients / "test.csv", "--title", "odd \udcff", "--seconds", "0", "-o", page)
    assert done.exit_code == 0, done.stderr
    assert "odd \\udcff" in page.read_text()
