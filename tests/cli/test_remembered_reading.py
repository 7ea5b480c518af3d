"""A table is read as the training table was, unless options say otherwise."""

from __future__ import annotations

import json

import numpy as np
import pytest
from typer.testing import CliRunner

import hedgerow
from hedgerow.cli.app import app
from hedgerow.errors import ModelFileError

GERMAN = ("--decimal", ",", "--thousands", ".")


def table(path, n_rows, seed, *, dates=False, factor=1):
    """Write a table with German numbers: a salary of four digits, a score, a date and a class."""
    random = np.random.default_rng(seed)
    salary, score = random.integers(1000, 9999, n_rows), random.normal(size=n_rows)
    label = np.where(salary + 3000 * score > 5500, "yes", "no")
    lines = ["name;salary;score;day;label"]
    for row in range(n_rows):
        number = f"{factor * salary[row]:,}".replace(",", ".")
        day = f"{1 + row % 28:02}.{1 + row % 12:02}.2024" if dates else "x"
        lines.append(
            f"P{row};{number};{score[row]:.3f};{day};{label[row]}".replace(
                f"{score[row]:.3f}", f"{score[row]:.3f}".replace(".", ",")
            )
        )
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.fixture(scope="module")
def german(tmp_path_factory):
    folder = tmp_path_factory.mktemp("german")
    train = table(folder / "train.csv", 300, 0)
    words = ["fit", train, "--target", "label", "--id", "name", *GERMAN, "--missing", "x", "--trees", 30]
    assert CliRunner().invoke(app, [*map(str, words), "-o", str(folder / "m.hedge")]).exit_code == 0
    return folder, table(folder / "new.csv", 100, 1)


def test_every_command_reads_the_next_table_alike(run, german):
    folder, new = german
    expected = run("predict", folder / "m.hedge", new, *GERMAN, "--missing", "x", "-o", folder / "given.csv")
    assert "as in training" not in expected.stderr
    found = run("predict", folder / "m.hedge", new, "-o", folder / "known.csv")
    assert "note: Reading the table as in training: --decimal , --thousands . --missing x" in found.stderr
    assert (folder / "known.csv").read_bytes() == (folder / "given.csv").read_bytes()
    figures = [
        json.loads(run("evaluate", folder / "m.hedge", new, "--target", "label", "--json", *given).stdout)
        for given in ((), (*GERMAN, "--missing", "x"))
    ]
    assert figures[0] == figures[1]
    for command in (("explain", "--row", 1), ("suggest",), ("report", "-o", folder / "page.html", "--force")):
        assert "--thousands ." in run(command[0], folder / "m.hedge", new, *command[1:]).stderr


def test_options_override_what_the_model_remembers(run, german):
    folder, new = german
    english = folder / "english.csv"
    english.write_text(new.read_text().replace(".", "").replace(",", "."))
    found = run("predict", folder / "m.hedge", english, "--decimal", ".", "--thousands", ",")
    assert "--decimal" not in found.stderr
    assert found.stdout == run("predict", folder / "m.hedge", new).stdout


def test_costs_are_read_in_the_same_notation(run, german):
    folder, new = german
    costs = folder / "costs.csv"
    costs.write_text("truth;yes;no\nyes;0;1.000,5\nno;2,5;0\n")
    assert run("predict", folder / "m.hedge", new, "--costs", costs).stdout.startswith("action,")


def test_dates_stay_dates(run, tmp_path):
    train, new = table(tmp_path / "a.csv", 200, 0, dates=True), table(tmp_path / "b.csv", 50, 1, dates=True)
    run(
        "fit", train, "--target", "label", "--id", "name", *GERMAN, "--dates", "--day-first", "-o", tmp_path / "m.hedge"
    )
    found = run("predict", tmp_path / "m.hedge", new)
    assert "--dates --day-first" in found.stderr
    assert found.exit_code == 0


def test_a_column_in_another_unit_is_reported(run, german, tmp_path):
    folder, new = german
    found = run("predict", folder / "m.hedge", table(tmp_path / "kg.csv", 100, 1, factor=1000))
    assert "Column 'salary': 100 of 100 values lie outside the training range" in found.stderr
    assert "outside the training range" not in run("predict", folder / "m.hedge", new).stderr


def test_a_table_in_memory_leaves_no_trace(tmp_path):
    X, y = np.random.default_rng(0).normal(size=(60, 2)), np.arange(60) % 2
    model = hedgerow.RandomForestClassifier(5, random_state=0).fit(X, y)
    hedgerow.save(model, tmp_path / "m.hedge")
    assert b'"reading"' not in (tmp_path / "m.hedge").read_bytes()


@pytest.mark.parametrize("bad", [[], {"decimal": 1}, {"shell": "rm"}, {"missing": [1]}])
def test_a_malformed_entry_is_rejected(bad):
    from hedgerow.inference.fitted import Learned
    from hedgerow.storage.state import reading_from_contents

    with pytest.raises(ModelFileError, match="malformed 'reading'"):
        reading_from_contents(Learned(), {"reading": bad})
