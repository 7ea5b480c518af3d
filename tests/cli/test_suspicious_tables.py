"""Suspicious tables: units, clock times, grouped numbers, identifiers, leaks and rare classes are read or reported."""

from __future__ import annotations

import io

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import hedgerow
from hedgerow.cli.files.values import days_of, groups_thousands, with_unit
from hedgerow.errors import ModelFileError
from hedgerow.inference.notices import share_explained

#: Numbers and labels of 300 rows.
N_ROWS = 300
SIZE = np.random.default_rng(0).normal(size=N_ROWS).round(3).tolist()
LABEL = ["big" if size + noise > 0 else "small" for size, noise in zip(SIZE, [0.4, -0.4] * (N_ROWS // 2), strict=True)]


def csv(**columns):
    """Return a table of a size, some columns and a label."""
    rows = [[str(size), *(cells[row] for cells in columns.values()), LABEL[row]] for row, size in enumerate(SIZE)]
    return "\n".join(",".join(row) for row in [["size", *columns, "label"], *rows]) + "\n"


@pytest.fixture
def fitted(run, write, tmp_path):
    """A table -> the result of `hedgerow fit`, and the model file."""

    def fit(text, *options, target="label"):
        model = tmp_path / "m.hedge"
        return run("fit", write(text), "--target", target, "--trees", 5, "-o", model, "--force", *options), model

    return fit


@pytest.mark.parametrize(
    ("cells", "unit", "numbers"),
    [
        (["1.5 kg", "20kg"], "kg", [1.5, 20]),
        (["€ 5", "€20.5", "-€3"], "€", [5, 20.5, -3]),
        (["5 %", "6%"], "%", [5, 6]),
        (["120 mg/dl", "7.5 mg/dl"], "mg/dl", [120, 7.5]),
        (["8:30", "1:15 pm", "12:00 am", "23:59:60"][:3], "h:mm", [8.5, 13.25, 0]),
    ],
)
def test_a_unit_that_all_cells_share_is_dropped(cells, unit, numbers):
    assert with_unit(cells) == (unit, numbers)


@pytest.mark.parametrize(
    "cells", [["1 kg", "2 g"], ["1", "2"], ["a", "b"], ["1e5", "2e5"], ["25:00"], ["13:00 pm"], []]
)
def test_other_cells_have_no_unit(cells):
    assert with_unit(cells) is None


@given(
    st.lists(st.floats(-1e6, 1e6).map(lambda number: round(number, 3)), min_size=1), st.sampled_from(["kg", "%", "m²"])
)
def test_numbers_keep_their_value_whatever_their_unit(numbers, unit):
    found = with_unit([f"{number:.3f} {unit}" for number in numbers])
    assert found == (unit, numbers)


def test_english_dates_are_dates():
    texts = ["Jan 05, 2025 03:04 PM", "5 January 2025", "5. Jan. 2025", "2025-01-05 15:04", "Jan 32, 2025"]
    days = days_of(texts)
    assert days[:4] == pytest.approx([20093 + (15 + 4 / 60) / 24, 20093, 20093, 20093 + (15 + 4 / 60) / 24])
    assert np.isnan(days[4])


@pytest.mark.parametrize(
    ("cells", "found"),
    [
        (["893", "1.097"], ("893", "1.097")),
        (["893", "1.5"], None),  # decimals
        (["893", "0.097"], None),
        (["1", "1.097"], None),  # a short number is as likely a decimal without its zeros
        (["1093", "1.097"], None),
        (["1.097", "2.345"], None),  # measured to three digits
    ],
)
def test_points_between_thousands_are_noticed(cells, found):
    assert groups_thousands(cells) == found


def test_a_model_keeps_the_unit_of_a_column(fitted, run, write):
    kilograms = csv(weight=[f"{60 + row} kg" for row in range(N_ROWS)])
    result, model = fitted(kilograms)
    assert "note: Column 'weight': dropped the unit 'kg'." in result.stderr
    assert "features                 2: 2 numeric" in result.stdout
    same = run("predict", model, write(kilograms))
    bare = run("predict", model, write(kilograms.replace(" kg", "")))
    assert same.exit_code == 0
    assert same.stdout == bare.stdout
    other = run("predict", model, write(kilograms.replace(" kg", " g")))
    assert other.exit_code == 3
    assert "Column 'weight' must have the unit 'kg', as in training, got 'g'. Convert the column." in other.stderr


def test_units_of_a_file_are_text():
    forest = hedgerow.RandomForestClassifier(2).fit([[0.0], [1.0]], [0, 1])
    forest._fitted.learned.put("reading", None, {"units": {"a": 3}})
    file = io.BytesIO()
    hedgerow.save(forest, file)
    with pytest.raises(ModelFileError, match="malformed 'reading'"):
        hedgerow.load(io.BytesIO(file.getvalue()))


def test_one_option_reads_numbers_with_points_between_thousands(fitted):
    cells = [f"{1 + row % 9}.{row % 60:03}" if row % 2 else str(100 + row % 60) for row in range(N_ROWS)]
    text = csv(salary=cells).replace("\n", ";\n").replace(",", ";").replace(";\n", "\n")
    result, _ = fitted(text.replace(".", ",", 0), "--drop", "size")
    assert "warning: Column 'salary' has " in result.stderr
    assert "If points separate thousands, add --thousands ." in result.stderr
    found, model = fitted(text, "--drop", "size", "--thousands", ".")
    assert found.exit_code == 0
    assert hedgerow.load(model)._fitted.codebook.range_of(0) == (100.0, 9059.0)


def test_a_text_of_its_own_in_every_row_is_no_feature(fitted):
    result, _ = fitted(csv(name=[f"Ms {row * 7919:x}y" for row in range(N_ROWS)]))
    assert "Ignored column with another text in every row: name. --nominal keeps such a column." in result.stderr
    assert "features                 1: 1 numeric" in result.stdout
    kept, _ = fitted(csv(name=[f"Ms {row * 7919:x}y" for row in range(N_ROWS)]), "--nominal", "name")
    assert "features                 2: 1 numeric, 1 categorical" in kept.stdout


@pytest.mark.parametrize("kind", ["copy", "number", "group"])
def test_a_column_that_gives_the_target_away_is_named(fitted, kind):
    cells = {
        "copy": [label[0] for label in LABEL],
        "number": [f"{(label == 'big') * 5 + row / 100:.2f}" for row, label in enumerate(LABEL)],
        "group": [f"{label[0]}{row % 2}" for row, label in enumerate(LABEL)],
    }[kind]
    result, _ = fitted(csv(outcome=cells))
    assert "warning: Column 'outcome' alone predicts the target almost perfectly." in result.stderr
    assert "'size' alone" not in result.stderr


def test_a_copy_of_a_continuous_target_is_named(fitted):
    result, _ = fitted(csv(copy=[str(2 * size) for size in SIZE]), "--regression", "--drop", "label", target="size")
    assert "warning: Column 'copy' alone predicts the target almost perfectly." in result.stderr


@pytest.mark.parametrize("has_classes", [True, False])
@pytest.mark.parametrize("nominal", [True, False])
def test_a_column_of_noise_explains_nothing_however_many_values_it_has(nominal, has_classes):
    random = np.random.default_rng(0)
    y = random.integers(0, 2, 400) if has_classes else random.normal(size=400)
    for n_values in (2, 40, 400):
        codes = np.arange(400) % n_values
        assert share_explained(codes, y, nominal=nominal, has_classes=has_classes) < 0.3


def test_empty_columns_at_the_right_are_ignored(fitted, run, write):
    wide = csv().replace("label\n", "label,,\n").replace("big\n", "big,,\n").replace("small\n", "small,,\n")
    result, model = fitted(wide)
    assert "features                 1: 1 numeric" in result.stdout
    assert run("predict", model, write(wide)).stdout == run("predict", model, write(csv())).stdout


def test_column_names_may_be_separated_by_commas(fitted, run, write):
    table = csv(a=["1"] * N_ROWS, **{"b, c": ["2"] * N_ROWS}).replace("b, c", '"b, c"')
    result, model = fitted(table, "--drop", "size,a")
    assert "features                 1: 1 numeric" in result.stdout
    result, model = fitted(table, "--drop", "b, c", "--drop", "a")
    assert "features                 1: 1 numeric" in result.stdout
    found = run("predict", model, write(table), "--keep", "a,label", "--prefix", "its ")
    assert found.stdout.startswith("a,label,its label")


def test_a_short_option_asks_for_help(run):
    assert run("-h").stdout == run("--help").stdout
    assert run("fit", "-h").stdout == run("fit", "--help").stdout


def test_a_class_of_a_row_or_two_is_named(fitted):
    result, _ = fitted(csv() + "61.5,Totals\n")
    assert "warning: 'Totals' of target 'label': fewer than 3 rows. Is it a class?" in result.stderr


def test_many_novel_rows_are_said_by_predict_and_evaluate(fitted, run, write):
    _, model = fitted(csv())
    grams = csv().replace("\n", "\n1000", N_ROWS).replace("1000-", "-1000").rstrip("\n") + "\n"
    for command in ("predict", "evaluate"):
        more = ("--target", "label") if command == "evaluate" else ()
        assert "rows are novel (p ≤ 0.01)" in run(command, model, write(grams), *more).stderr
        assert "novel" not in run(command, model, write(csv()), *more).stderr


def test_the_page_says_first_what_makes_it_questionable(run, write, fitted, tmp_path):
    cells = np.random.default_rng(1).normal(size=(2, N_ROWS)).round(3).astype(str).tolist()
    table = csv(a=cells[0], b=cells[1])
    _, model = fitted(table, "--trees", 30)
    page = tmp_path / "page.html"
    run("report", model, write(table), "--target", "label", "-o", page)
    text, notice = page.read_text(), "The model was trained on these rows, so the metrics are optimistic."
    assert 0 < text.index(notice) < text.index('class="lead"')
    other = csv(a=[str(100 + row) for row in range(N_ROWS)], b=cells[0])
    run("report", model, write(other), "--target", "label", "-o", page, "--force")
    assert "300 of 300 values lie outside the training range" in page.read_text()
    assert notice not in page.read_text()
