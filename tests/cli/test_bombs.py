"""Bombs: small files that ask for much memory, and files of answers that are none, end in one clear sentence."""

from __future__ import annotations

import bz2
import gzip
import io
import json
import lzma
import shutil
import sys
import zipfile

import numpy as np
import pandas as pd
import pytest

import hedgerow
from hedgerow.cli.exit_codes import DataError
from hedgerow.cli.files import compression as packed
from hedgerow.cli.files import excel as workbook
from hedgerow.cli.files.compression import unpacked
from hedgerow.cli.files.excel import csv_from_excel
from hedgerow.cli.files.paths import check_out
from hedgerow.explain.report.answers_file import model_mark, read_answers, table_mark
from hedgerow.explain.report.figures import columns_of
from hedgerow.inference.fitted import fitted_of
from hedgerow.inference.predictor import predictor_of

pytest.importorskip("python_calamine")

CELL = '<c r="{}"><v>1</v></c>'
NUMBER = '<table:table-cell office:value-type="float" office:value="1"{}/>'
EMPTY = "<table:table-cell{}/>"


def archive(**files: str | bytes) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as made:
        for name, text in files.items():
            made.writestr(name, text)
    return file.getvalue()


def xlsx(*rows: str, encoding: str = "utf-8", sheet: str = "sheet1.xml") -> bytes:
    """Cells as XML -> a spreadsheet."""
    main = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
    relations = "http://schemas.openxmlformats.org/package/2006/relationships"
    kinds = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
    page = f'<?xml version="1.0" encoding="{encoding}"?><worksheet xmlns="{main}"><sheetData>'
    page += "".join(f'<row r="{at}">{row}</row>' for at, row in enumerate(rows, 1)) + "</sheetData></worksheet>"
    files = {
        "[Content_Types].xml": '<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"/>',
        "_rels/.rels": f'<Relationships xmlns="{relations}"><Relationship Id="a" Type="{kinds}/officeDocument"'
        ' Target="xl/workbook.xml"/></Relationships>',
        "xl/workbook.xml": f'<workbook xmlns="{main}" xmlns:r="{kinds}"><sheets><sheet name="s" sheetId="1" r:id="a"/>'
        "</sheets></workbook>",
        "xl/_rels/workbook.xml.rels": f'<Relationships xmlns="{relations}"><Relationship Id="a"'
        f' Type="{kinds}/worksheet" Target="worksheets/{sheet}"/></Relationships>',
        f"xl/worksheets/{sheet}": page.encode(encoding),
    }
    return archive(**files)


def ods(*rows: tuple[str, str]) -> bytes:
    """The attributes and the cells of rows -> a spreadsheet."""
    names = "urn:oasis:names:tc:opendocument:xmlns"
    spaces = " ".join(f'xmlns:{name}="{names}:{name}:1.0"' for name in ("office", "table", "text", "manifest"))
    told = "".join(f"<table:table-row{more}>{cells}</table:table-row>" for more, cells in rows)
    page = (
        f'<office:document-content {spaces}><office:body><office:spreadsheet><table:table table:name="s">{told}'
        "</table:table></office:spreadsheet></office:body></office:document-content>"
    )
    kind = "application/vnd.oasis.opendocument.spreadsheet"
    return archive(**{"mimetype": kind, "META-INF/manifest.xml": f"<manifest:manifest {spaces}/>", "content.xml": page})


def times(which: str, number: int) -> str:
    return f' table:number-{which}-repeated="{number}"'


@pytest.mark.parametrize(
    "book",
    [
        xlsx(CELL.format("A1"), CELL.format("XFD1048576")),
        xlsx(CELL.format("A1048576"), CELL.format("XFD1")),
        xlsx(CELL.format("A1"), "<c r='XFD9999'><v>1</v></c>"),
        xlsx(CELL.format("A1"), CELL.format("ZZZZ4294967295")),
        xlsx(CELL.format("A1"), CELL.format("XFD1048576"), encoding="utf-16"),
        ods((times("rows", 1048576), NUMBER.format(times("columns", 16384)))),
    ],
)
def test_a_spreadsheet_with_few_cells_far_apart_is_refused(book: bytes) -> None:
    with pytest.raises(DataError, match=r"cells too far apart \(.* cell positions"):
        csv_from_excel(book)


@pytest.mark.parametrize(
    ("book", "lines"),
    [
        (xlsx(CELL.format("A1") + CELL.format("B1"), CELL.format("A2")), 2),
        (xlsx(CELL.format("XFD1"), CELL.format("A60")), 60),
        (ods(("", NUMBER.format("")), (times("rows", 1048575), EMPTY.format(times("columns", 16384)))), 1),
        (ods((times("rows", 1000), NUMBER.format(times("columns", 3)))), 1000),
    ],
)
def test_other_spreadsheets_are_read(book: bytes, lines: int) -> None:
    assert csv_from_excel(book).count(b"\n") == lines


def renamed(book: bytes) -> bytes:
    """Return an .ods file with another prefix for the namespace of tables."""
    with zipfile.ZipFile(io.BytesIO(book)) as held:
        files = {name: held.read(name) for name in held.namelist()}
    files["content.xml"] = files["content.xml"].replace(b"table:", b"t:").replace(b"xmlns:table=", b"xmlns:t=")
    return archive(**files)


@pytest.mark.skipif(sys.platform == "win32", reason="no limit on the memory of a process")
def test_a_spreadsheet_that_takes_too_much_memory_ends_its_reader_only(monkeypatch) -> None:
    monkeypatch.setattr(workbook, "MEMORY", 200 << 20)
    book = renamed(ods((times("rows", 100_000), NUMBER.format(times("columns", 100)))))
    with pytest.raises(DataError, match=r"damaged, or takes more than 2.. MB of memory"):
        csv_from_excel(book)


def test_a_reader_that_crashes_is_an_error_of_one_sentence(monkeypatch) -> None:
    monkeypatch.setattr(workbook.sys, "executable", shutil.which("false"))
    with pytest.raises(DataError, match="the spreadsheet is damaged"):
        csv_from_excel(xlsx(CELL.format("A1")))


def test_a_binary_workbook_is_refused() -> None:
    with pytest.raises(DataError, match=r"must be .xlsx, .ods or .xls, got .xlsb"):
        csv_from_excel(xlsx(CELL.format("A1"), sheet="sheet1.bin"))


@pytest.mark.parametrize("pack", [gzip.compress, bz2.compress, lzma.compress, lambda data: archive(table=data)])
def test_what_was_packed_may_be_a_hundred_times_as_large(pack, monkeypatch) -> None:
    monkeypatch.setattr(packed, "ALWAYS_BYTES", 1 << 16)
    monkeypatch.setattr(packed, "_PIECE", 1 << 10)
    assert unpacked(pack(bytes(1 << 16))) == bytes(1 << 16)
    with pytest.raises(DataError, match="MB when decompressed"):
        unpacked(pack(bytes(10 << 20)))


def test_a_spreadsheet_may_be_a_hundred_times_as_large(monkeypatch) -> None:
    monkeypatch.setattr(packed, "ALWAYS_BYTES", 1 << 16)
    with pytest.raises(DataError, match="MB when decompressed"):
        csv_from_excel(xlsx(CELL.format("A1"), "<c/>" * (1 << 18)))


def test_cells_are_found_wherever_a_piece_ends(monkeypatch) -> None:
    whole = CELL.format("A1") + CELL.format("XFD1048576")
    for at in range(len(whole)):
        parts = iter([whole[:at].encode(), whole[at:].encode()])
        assert workbook._places(parts, repeats=False)[0] == 16384 * 1048576


def test_an_archive_that_is_to_be_replaced_is_not_unpacked(tmp_path) -> None:
    old = archive(**{"xl/workbook.xml": b'<sheet name="answers"' + bytes(8 << 20)})
    for name, data in (
        ("whole.xlsx", old),
        ("cut.xlsx", old[: len(old) // 2]),
        ("odd.xlsx", b"PK\x03\x04" + bytes(99)),
    ):
        (tmp_path / name).write_bytes(data)
        with pytest.raises(Exception, match=r"--out would overwrite .*, not a model"):
            check_out(str(tmp_path / name), "a model", [])


def told(**changes: object) -> str:
    held = {
        "format": "hedgerow answers",
        "version": 1,
        "model": "m",
        "table": "t",
        "answers": [{"row": 3, "answer": 0}],
    }
    return json.dumps(held | changes)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "not JSON"),
        ("[" * 200_000 + "]" * 200_000, "not JSON"),
        (told()[:-1] + ',"z":' + "[" * 100_000 + "]" * 100_000 + "}", "not JSON"),
        ("[]", "format is unknown"),
        (told(version="v" * 100_000), "version must be 1, got 'vvvv.{,40}'"),
        (told(first=0.5), "invalid number of the first row"),
        (told(first=None), "invalid number of the first row"),
        (told(first=True), "invalid number of the first row"),
        (told(first=-(2**70)), "invalid number of the first row"),
        (told(first=-(10**4299)), "invalid number of the first row"),
        (told(answers=[{"row": 2**63, "answer": 0}]), "invalid row 9223372036854775808"),
        (told(answers=5), "no list of answers"),
        (told(answers={"row": 1}), "no list of answers"),
        (told(answers=[5]), "no list of answers"),
        (told(answers=[{"row": 1}] * 2 + [{"row": 0, "answer": "yes"}]), "invalid answer 'yes'"),
        (told(answers=[{"row": 0, "answer": True}]), "invalid answer True"),
        (told(answers=[{"row": 0, "answer": float("nan")}]), "invalid answer nan"),
        (told(answers=[{"row": 0, "answer": 10**400}]), "invalid answer 1000"),
        (told(answers=[{"row": 0, "answer": -1e200}]), "invalid answer -1e[+]200"),
        (told(answers=[{"row": True, "answer": 0}]), "invalid row True"),
        (told(answers=[{"row": 0.0, "answer": 0}]), "invalid row 0.0"),
        (told(answers=[{"row": 10**200, "answer": 0}]), "invalid row 1000"),
        (told(answers=[{"answer": 0}]), "invalid row None"),
        (told(first=1, answers=[{"row": 0, "answer": 0}]), "invalid row 0"),
        (told(first=1, answers=[{"row": 2, "answer": 0}, {"row": 2, "answer": 1}]), "two answers for row 2"),
    ],
)
def test_a_file_of_answers_is_one_or_is_refused_in_plain_words(text: str, said: str) -> None:
    with pytest.raises(ValueError, match=said) as refused:
        read_answers(text)
    assert len(str(refused.value)) < 200


def test_a_file_of_answers_counts_rows_from_its_first() -> None:
    held = read_answers(told(first=1, answers=[{"row": 2, "answer": 0}, {"row": 2, "answer": None}]))
    assert [(each.row, each.answer) for each in held.answers] == [(1, 0), (1, None)]


def test_tune_does_not_replace_the_table_of_costs(run, write, patients) -> None:
    costs = write("truth,benign,malignant,look again\nbenign,0,1,.2\nmalignant,5,0,.2\n", "costs.csv")
    words = ("tune", patients / "train.csv", "--target", "diagnosis", "--by", "cost", "--costs", costs)
    result = run(*words, "-o", costs, "--force")
    assert result.exit_code == 2
    assert "The output would overwrite the input" in " ".join(result.output.split())


@pytest.mark.parametrize(
    ("parameters", "answer", "said"),
    [
        ({}, 9e149, "y must be of the same order of magnitude as the first targets"),
        ({"criterion": "poisson"}, -2.0, "y must be >= 0"),
    ],
)
def test_answers_that_a_model_cannot_count_are_refused_in_words(run, write, tmp_path, parameters, answer, said) -> None:
    X = pd.DataFrame({"a": np.arange(40.0), "b": np.arange(40.0) % 7})
    model = hedgerow.RandomForestRegressor(3, random_state=0, **parameters).fit(X, X["a"])
    hedgerow.save(model, tmp_path / "m.hedge")
    table = write(X.head(5).to_csv(index=False))
    marks = {
        "model": model_mark(fitted_of(model)),
        "table": table_mark(columns_of(predictor_of(model).read(X.head(5)))),
    }
    answers = write(told(**marks, answers=[{"row": 3, "answer": answer}]), "a.json")
    result = run("learn", tmp_path / "m.hedge", answers, table, "-o", tmp_path / "2.hedge")
    assert result.exit_code == 3
    assert said in " ".join(result.stderr.split())
    assert not (tmp_path / "2.hedge").exists()


def test_no_control_character_of_a_name_reaches_the_table_of_groups(run, write, tmp_path) -> None:
    odd = "g\x1b[31m\u202e"
    table = write(
        f"x,{odd},y\n" + "".join(f"{row},{'ab'[row % 2]},{['no', 'yes'][row % 3 > 1]}\n" for row in range(30))
    )
    assert run("fit", table, "--target", "y", "--trees", "2", "-o", tmp_path / "m.hedge").exit_code == 0
    shown = run("evaluate", tmp_path / "m.hedge", table, "--target", "y", "--by", odd).output
    assert "By g\\x1b[31m\\u202e" in shown
    assert shown.replace("\n", "").isprintable()


def test_a_set_in_a_spreadsheet_is_written_as_in_csv(run, write, model, patients, tmp_path) -> None:
    openpyxl = pytest.importorskip("openpyxl")
    words = ("predict", model, patients / "test.csv", "--caution", "4", "-o")
    for name in ("a.xlsx", "a.csv"):
        assert run(*words, tmp_path / name).exit_code == 0
    rows = list(openpyxl.load_workbook(tmp_path / "a.xlsx").active.values)
    plain = pd.read_csv(tmp_path / "a.csv")
    at = rows[0].index("set")
    assert [row[at] for row in rows[1:]] == plain["set"].tolist()
    assert plain["set"].str.contains("|", regex=False).any()


def test_no_text_in_a_spreadsheet_is_a_formula(tmp_path) -> None:
    openpyxl = pytest.importorskip("openpyxl")
    workbook.write_excel({"=a": ["=1+1", "x"], "@b": ["-1", "+1"]}, tmp_path / "a.xlsx")
    cells = [cell for row in openpyxl.load_workbook(tmp_path / "a.xlsx").active.iter_rows() for cell in row]
    assert [cell.value for cell in cells] == ["=a", "@b", "=1+1", "-1", "x", "+1"]
    assert {cell.data_type for cell in cells} == {"s"}
