"""Tables and words that nobody should write: an answer or one sentence, with advice that helps; never a traceback."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest

from hedgerow.cli import exit_codes as outcome


def lines(labels, third=None):
    """A table of 40 rows with a number, a category, a third column and a target."""
    draw = np.random.default_rng(0)
    numbers, third = draw.normal(size=40), third or [str(row % 7) for row in range(40)]
    rows = [f"{x:.3f},{'abc'[i % 3]},{third[i]},{labels(i, x)}" for i, x in enumerate(numbers)]
    return "\n".join(["x,c,k,y", *rows]) + "\n"


def sides(row, x):
    return "yes" if x > 0 else "no"


@pytest.fixture
def model(run, write, tmp_path):
    """A model of a table with the columns x, c and k."""
    path = tmp_path / "m.hedge"
    assert run("fit", write(lines(sides), "train.csv"), "--target", "y", "--trees", "5", "-o", path).exit_code == 0
    return path


@pytest.mark.parametrize("words", [("fit", "--folds", "3", "-o", "m.hedge"), ("fit", "-o", "m.hedge"), ("compare",)])
@pytest.mark.parametrize(
    ("number", "said"),
    [("1e400", "Target 'y' must be finite, got infinite"), ("1e300", "y must lie within ±1e+150")],
)
def test_targets_too_large_are_refused(run, write, tmp_path, monkeypatch, words, number, said):
    monkeypatch.chdir(tmp_path)
    table = write(lines(lambda row, x: number if row % 5 == 0 else row))
    result = run(words[0], table, "--target", "y", "--regression", "--trees", "5", *words[1:])
    assert result.exit_code == 3, result.stderr
    assert said in " ".join(result.stderr.split())
    assert not (tmp_path / "m.hedge").exists()


def test_infinite_values_are_learned_without_a_word_of_numpy(run, write, tmp_path):
    table = write(lines(sides, ["inf" if row % 2 else "-1e400" for row in range(40)]))
    result = run("fit", table, "--target", "y", "--trees", "5", "-o", tmp_path / "m.hedge")
    assert result.exit_code == 0
    assert [line for line in result.stderr.splitlines() if "warning" in line and "alone predicts" not in line] == []


def test_a_learner_that_does_not_take_a_table_is_left_out(run, write):
    table = write(lines(sides, ["inf" if row % 2 else "1" for row in range(40)]))
    result = run("compare", table, "--target", "y", "--folds", "2", "--trees", "5", "--json")
    assert result.exit_code == 0, result.stderr
    assert "note: scikit-learn forest omitted, because it does not support this table" in result.stderr
    found = json.loads(result.stdout)["models"]
    assert "hedgerow" in found
    assert "scikit-learn forest" not in found


def test_a_column_of_numbers_and_text_is_called_both(run, write, tmp_path):
    table = write(lines(sides, [str(row) if row % 2 else "abc" for row in range(40)]))
    result = run("fit", table, "--target", "y", "-o", tmp_path / "m.hedge")
    said = " ".join(result.stderr.split())
    assert result.exit_code == 3
    assert "must be numeric or categorical, got both, such as '1' and 'abc'" in said
    assert "--decimal" not in said
    assert "--nominal" in said


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a title\n" + lines(sides), "Is there a title above the header, or another delimiter"),
        (lines(sides).replace(",", ":"), "Is there a title above the header"),
        (lines(sides).split("\n", 1)[1], "Does the file have a header?"),
    ],
)
def test_a_header_without_the_target_is_doubted(run, write, tmp_path, text, said):
    result = run("fit", write(text), "--target", "y", "-o", tmp_path / "m.hedge")
    assert result.exit_code == 3
    assert said in " ".join(result.stderr.split())


@pytest.mark.parametrize(
    ("header", "said"),
    [
        ("X,C,K", "Rename columns, such as 'X' to 'x'."),
        ("x,c,other", "--allow-missing-columns treats them as missing."),
        ("one,two,three", "Is it the right table?"),
    ],
)
def test_advice_about_absent_columns_helps(run, write, model, header, said):
    result = run("predict", model, write(f"{header}\n1,a,2\n"))
    assert result.exit_code == 3
    assert " ".join(result.stderr.split()).endswith(said)


def test_learn_takes_the_option_that_its_error_advises(run, write, model, tmp_path):
    table, page = write("x,c\n" + "".join(f"{row / 9},a\n" for row in range(-9, 9)), "new.csv"), tmp_path / "r.html"
    assert run("report", model, table, "--allow-missing-columns", "--seconds", "0", "-o", page).exit_code == 0
    data = json.loads(re.search(r'id="data">(.*?)</script>', page.read_text(encoding="utf-8"), re.S)[1])
    one = {"row": 3, "answer": 1, "unsure": False, "note": ""}
    held = {"format": "hedgerow answers", "version": 1, **data["marks"], "answers": [one]}
    words = ("learn", model, write(json.dumps(held), "a.json"), table, "-o", tmp_path / "2.hedge")
    refused = run(*words)
    assert (refused.exit_code, "--allow-missing-columns" in refused.stderr) == (3, True)
    assert run(*words, "--allow-missing-columns").exit_code == 0


def test_answers_must_be_a_file_that_exists(run, write, model, tmp_path):
    words = (write(lines(sides)), "-o", tmp_path / "2.hedge")
    result = run("learn", model, tmp_path / "nothing.json", *words)
    assert result.exit_code == 2
    assert "answers must be an existing file" in " ".join(result.stderr.split())
    result = run("learn", model, write(b"\xff\xfe\x00", "a.json"), *words)
    assert result.exit_code == 3
    assert "not text" in " ".join(result.stderr.split())


@pytest.mark.parametrize("words", [("explain", "--row", "1"), ("report", "-o", "r.html")])
def test_an_immutable_column_must_be_a_feature(run, write, model, tmp_path, monkeypatch, words):
    monkeypatch.chdir(tmp_path)
    result = run(words[0], model, write(lines(sides)), *words[1:], "--immutable", "height")
    assert result.exit_code == 2
    assert "--immutable must name features of the model (x, c, k), got 'height'" in " ".join(result.stderr.split())


def test_a_lack_of_memory_is_said_in_words(capsys):
    def command():
        raise MemoryError("std::bad_alloc")

    assert outcome.run(command) == outcome.FAILURE
    assert "Not enough memory. Use fewer trees" in " ".join(capsys.readouterr().err.split())
