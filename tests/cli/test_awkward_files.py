"""Files as people have them: each command answers with a result or with one clear line, and replaces nothing."""

from __future__ import annotations

import io

import pytest
from tests.cli.awkward import DATES, File, all_files, text

import hedgerow
from hedgerow.inference.fitted import fitted_of

pytest.importorskip("openpyxl")
pytest.importorskip("python_calamine")
pytest.importorskip("pyarrow")

FILES = {file.name: file for file in all_files()}
#: Files that are the plain table, in another form.
SAME = [name for name, file in FILES.items() if not file.error and name not in ("spellings.csv", "unlabelled.csv")]


def fit(run, path, out, *words):
    return run("fit", path, "--target", "finding", "-o", out, "--trees", "3", "--jobs", "1", *words)


@pytest.fixture(scope="module")
def standard(tmp_path_factory):
    """The model of the plain table, and its bytes."""
    from typer.testing import CliRunner

    from hedgerow.cli.app import app

    folder = tmp_path_factory.mktemp("standard")
    (folder / "plain.csv").write_bytes(FILES["plain.csv"].made)
    words = ["fit", folder / "plain.csv", "--target", "finding", "-o", folder / "m.hedge", "--trees", "3", "--dates"]
    assert CliRunner().invoke(app, [str(word) for word in [*words, "--jobs", "1"]]).exit_code == 0
    return folder / "m.hedge"


def use(run, command: str, model, path, file: File, out):
    words = [word for word in file.words if word != "--skip-unlabelled" or command == "evaluate"]
    asked = ["-o", out] if command == "predict" else ["--target", "finding"]
    return run(command, model, path, *words, *asked)


@pytest.mark.parametrize("name", [name for name, file in FILES.items() if not file.error])
def test_a_file_is_read_and_what_was_guessed_is_said(run, write, tmp_path, standard, name):
    file = FILES[name]
    path = write(file.made, name)
    made = fit(run, path, tmp_path / "m.hedge", *file.words)
    assert made.exit_code == 0, made.stderr
    assert file.said in made.stderr
    for command in ("predict", "evaluate"):
        used = use(run, command, standard, path, file, tmp_path / "out.csv")
        assert used.exit_code == 0, used.stderr
    assert path.read_bytes() == file.made


@pytest.mark.parametrize("name", SAME)
def test_the_same_table_gives_the_same_model_from_every_file(run, write, tmp_path, standard, name):
    file = FILES[name]
    fit(run, write(file.made, name), tmp_path / "m.hedge", *file.words)
    assert without_reading(tmp_path / "m.hedge") == without_reading(standard)


def without_reading(path):
    """A model file -> its bytes without the options about the file of the table, which it keeps."""
    model, file = hedgerow.load(path), io.BytesIO()
    fitted_of(model).learned.put("reading", None, {})
    hedgerow.save(model, file)
    return file.getvalue()


@pytest.mark.parametrize("name", [name for name, file in FILES.items() if file.error])
def test_a_file_is_refused_in_one_sentence_and_nothing_is_written(run, write, tmp_path, standard, name):
    file = FILES[name]
    path = write(file.made, name)
    before = sorted(tmp_path.iterdir())
    refused = fit(run, path, tmp_path / "m.hedge", *file.words)
    errors = [line for line in refused.stderr.splitlines() if line.startswith("error: ")]
    assert (refused.exit_code, len(errors)) == (3, 1)
    assert file.error in errors[0]
    if name not in ("holes.csv", "german_plain.csv", "dates.csv"):
        for command in ("predict", "evaluate"):
            assert use(run, command, standard, path, file, tmp_path / "out.csv").exit_code == 3
    assert sorted(tmp_path.iterdir()) == before
    assert path.read_bytes() == file.made


def test_a_header_that_looks_like_a_row_is_suspected(run, write, tmp_path):
    said = fit(run, write("5.1,3.5,0.2,a\n4.9,3.0,0.2,b\n"), tmp_path / "m.hedge").stderr
    assert "look like data (5.1, 3.5, 0.2, a). If the file has no header, add one." in said
    years = write("2019,2020,2021,finding\n1,2,3,a\n3,2,1,b\n", "years.csv")
    assert "look like data" not in fit(run, years, tmp_path / "m.hedge").stderr


def test_several_files_and_patterns_are_one_table(run, write, tmp_path, standard):
    header, *lines = text().splitlines(keepends=True)
    write("".join([header, *lines[:9]]), "part-1.csv")
    write("".join([header, *lines[9:]]), "part-2.csv")
    made = fit(run, tmp_path / "part-*.csv", tmp_path / "m.hedge", *DATES)
    assert made.exit_code == 0, made.stderr
    assert (tmp_path / "m.hedge").read_bytes() == standard.read_bytes()
    both = run("evaluate", standard, tmp_path / "part-1.csv", tmp_path / "part-2.csv", "--target", "finding", *DATES)
    assert "rows                 24" in both.stdout
    other = write("size,finding\n1,ill\n", "part-3.csv")
    refused = fit(run, tmp_path / "part-*.csv", tmp_path / "m2.hedge")
    assert refused.exit_code == 3
    assert f"{other}: lacks code, day, town" in " ".join(refused.stderr.split())
    assert run("predict", standard, tmp_path / "none-*.csv").exit_code == 2


def test_lines_of_several_files_are_named_with_the_file(run, write, tmp_path):
    write("a,y\n1,0\n2,1\n", "one.csv")
    write("a,y\n3,0\nfour,1\n5,0\n", "two.csv")
    refused = run("fit", tmp_path / "one.csv", tmp_path / "two.csv", "--target", "y", "-o", tmp_path / "m.hedge")
    assert f"{tmp_path / 'two.csv'}, line 3, column 'a': 'four'" in refused.stderr


def test_an_address_is_read_where_fsspec_is_installed(run, standard):
    fsspec = pytest.importorskip("fsspec")
    with fsspec.open("memory://patients/table.csv", "wb") as file:
        file.write(text().encode())
    words = ("--target", "finding", *DATES)
    assert run("evaluate", standard, "memory://patients/table.csv", *words).exit_code == 0
    gone = run("evaluate", standard, "memory://patients/none.csv", *words)
    assert (gone.exit_code, "memory://patients/none.csv: cannot be read" in gone.stderr) == (2, True)


def test_columns_that_are_not_there_count_as_missing_when_allowed(run, write, standard):
    table = write(text([[*row[:1], *row[2:]] for row in all_rows()], head=["size", "code", "day", "finding"]))
    refused = run("predict", standard, table, *DATES)
    assert refused.exit_code == 3
    assert "--allow-missing-columns treats them as missing" in " ".join(refused.stderr.split())
    allowed = run("predict", standard, table, *DATES, "--allow-missing-columns")
    assert allowed.exit_code == 0
    assert "treated as missing: town" in allowed.stderr
    blank = write(text([[row[0], "", *row[2:]] for row in all_rows()]), "blank.csv")
    assert allowed.stdout == run("predict", standard, blank, *DATES).stdout


def all_rows():
    from tests.cli.awkward import rows

    return rows()


@pytest.mark.parametrize("name", ["out.xlsx", "out.feather", "out.parquet", "out.jsonl", "out.tsv"])
def test_answers_are_written_as_the_file_is_named(run, tmp_path, standard, write, name):
    import pandas

    table = write(FILES["plain.csv"].made)
    out = tmp_path / name
    assert run("predict", standard, table, "--keep", "code", *DATES, "-o", out).exit_code == 0
    readers = {
        ".xlsx": lambda path: pandas.read_excel(path, dtype={"code": str}, engine="openpyxl"),
        ".feather": pandas.read_feather,
        ".parquet": pandas.read_parquet,
        ".jsonl": lambda path: pandas.read_json(path, lines=True, dtype={"code": str}),
        ".tsv": lambda path: pandas.read_csv(path, sep="\t", dtype={"code": str}),
    }
    found = readers[out.suffix](out)
    plain = run("predict", standard, table, "--keep", "code", *DATES).stdout.splitlines()
    assert found["code"].tolist() == [line.split(",")[0] for line in plain[1:]]
    assert found["label"].tolist() == [line.split(",")[1] for line in plain[1:]]
    assert run("predict", standard, table, *DATES, "-o", out).exit_code == 0  # an earlier answer may be replaced


@pytest.mark.parametrize("name", ["out.docx", "out.pdf", "out.html", "out.ods", "out.json"])
def test_answers_are_not_written_as_csv_under_the_name_of_something_else(run, tmp_path, standard, write, name):
    refused = run("predict", standard, write(FILES["plain.csv"].made), *DATES, "-o", tmp_path / name)
    assert refused.exit_code == 2
    assert "--out must be" in refused.stderr
    assert not (tmp_path / name).exists()


def test_a_spreadsheet_of_somebody_else_is_not_replaced(run, tmp_path, standard, write):
    book = write(FILES["book.xlsx"].made, "mine.xlsx")
    table = write(FILES["plain.csv"].made)
    assert run("predict", standard, table, *DATES, "-o", book).exit_code == 2
    assert run("predict", standard, table, *DATES, "-o", tmp_path / "out.ods").exit_code == 2
    assert book.read_bytes() == FILES["book.xlsx"].made


def test_identifiers_constant_and_empty_columns_are_named(run, write, tmp_path):
    lines = [f"{(7919 * i) % 120 + 10**18},{(37 * i) % 120},1,,{i % 5},{'ab'[i % 2]}" for i in range(120)]
    table = write("account,case,one,none,x,y\n" + "\n".join(lines) + "\n")
    said = " ".join(run("fit", table, "--target", "y", "-o", tmp_path / "m.hedge", "--trees", "2").stderr.split())
    assert "Column 'account' has integers of more than 15 digits" in said
    assert "Column 'case' has a different integer in every row" in said
    assert "Column without values: none" in said
    assert "Column with a constant value: one" in said
    assert "column 'x'" not in said


def test_the_spelling_of_a_model_is_found_again(run, write, tmp_path):
    train = write("a,kind,y\n" + "".join(f"{i},{['Red', 'red ', 'blue'][i % 3]},{i % 2}\n" for i in range(30)), "t.csv")
    for out, words in (("one", ()), ("two", ("--exact-text",))):
        assert run("fit", train, "--target", "y", "-o", tmp_path / out, "--trees", "3", *words).exit_code == 0
    assert "Red, blue" in run("inspect", tmp_path / "one").stdout
    assert "Red, blue, red" in run("inspect", tmp_path / "two").stdout
    new = write("a,kind\n1,RED\n", "new.csv")
    assert "categories that the training data lack" not in run("predict", tmp_path / "one", new).stderr
    assert "categories that the training data lack" in run("predict", tmp_path / "one", new, "--exact-text").stderr
    assert (
        "categories that the training data lack" in run("predict", tmp_path / "two", new).stderr
    )  # it could be either
