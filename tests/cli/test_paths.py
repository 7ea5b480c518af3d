"""A command never destroys what it reads, and replaces files of another kind only with --force."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from dataclasses import fields
from pathlib import Path
from typing import get_args, get_type_hints

import pytest

import hedgerow
from hedgerow.cli.app import COMMANDS
from hedgerow.cli.files.paths import check_folder, check_out
from hedgerow.cli.options import inputs_of

COMMAND = [sys.executable, "-c", "from hedgerow.cli.app import main; main()"]

#: The words of every command that writes a file, without the file: what it reads, by name, in {}.
WRITERS = {
    "fit": (["fit", "{data}", "--target", "diagnosis", "--trees", "2", "--seed", "3", "-o"], ["data"]),
    "predict": (["predict", "{model}", "{data}", "-o"], ["model", "data"]),
    "predict --json": (["predict", "{model}", "{data}", "--json", "-o"], ["model", "data"]),
    "explain": (["explain", "{model}", "{data}", "--train", "{train}", "--html"], ["model", "data", "train"]),
    "report": (["report", "{model}", "{data}", "--train", "{train}", "-o"], ["model", "data", "train"]),
}
#: Those that read still other files, or several.
READERS = WRITERS | {
    "predict --costs": (["predict", "{model}", "{train}", "{data}", "--costs", "{costs}", "-o"], ["train", "costs"]),
    "tune": (
        ["tune", "{train}", "{data}", "--target", "diagnosis", "--by", "cost", "--costs", "{costs}", "-o"],
        ["data", "costs"],
    ),
    "learn": (["learn", "{model}", "{answers}", "{train}", "{data}", "-o"], ["model", "answers", "train", "data"]),
    "report --labels": (["report", "{model}", "{data}", "--labels", "{labels}", "-o"], ["labels"]),
    "monitor": (["monitor", "{model}", "{data}", "--reference", "{train}", "--html"], ["model", "data", "train"]),
}
CASES = [(command, name) for command, (_, names) in READERS.items() for name in names]


@pytest.fixture
def files(model, patients, tmp_path):
    """A folder of one's own with a model, a table and a training table -> {name: path}."""
    held = {"model": tmp_path / "m.hedge", "data": tmp_path / "test.csv", "train": tmp_path / "train.csv"}
    for path, source in zip(held.values(), (model, patients / "test.csv", patients / "train.csv"), strict=True):
        shutil.copy(source, path)
    for name in ("answers", "costs", "labels"):
        held[name] = tmp_path / f"{name}.csv"
        held[name].write_text(f"{name}\n")
    return held


def words_of(command: str, files: dict[str, Path]) -> list[str]:
    return [word.format_map(files) for word in READERS[command][0]]


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


# ---- what a command reads ------------------------------------------------------------------------


@pytest.mark.parametrize("force", [False, True])
@pytest.mark.parametrize(("command", "name"), CASES)
def test_no_command_writes_to_what_it_reads(command, name, force, files, tmp_path, run):
    before = contents(tmp_path)
    refused = run(*words_of(command, files), files[name], *(["--force"] if force else []))
    assert refused.exit_code == 2
    assert "The output would overwrite the input" in refused.stderr
    assert contents(tmp_path) == before


@pytest.mark.parametrize("alias", ["relative", "dots", "link", "link to the folder", "hard link"])
@pytest.mark.parametrize(("command", "name"), CASES)
def test_no_other_name_of_an_input_is_written_to(command, name, alias, files, tmp_path, run, monkeypatch):
    monkeypatch.chdir(tmp_path)
    path, other = files[name], tmp_path / "other"
    if alias == "relative":
        other = Path(path.name)
    elif alias == "dots":
        other = Path(f"../{tmp_path.name}/./{path.name}")
    elif alias == "link":
        other.symlink_to(path)
    elif alias == "link to the folder":
        other.symlink_to(tmp_path)
        other = other / path.name
    else:
        os.link(path, other)
    before = contents(tmp_path)
    refused = run(*words_of(command, files), other)
    assert refused.exit_code == 2
    assert "The output would overwrite the input" in refused.stderr
    assert contents(tmp_path) == before


def run_in_shell(words: list[str], **streams) -> subprocess.CompletedProcess[bytes]:
    environment = os.environ | {"PYTHONPATH": str(Path(hedgerow.__file__).parents[1])}
    return subprocess.run([*COMMAND, *words], env=environment, stderr=subprocess.PIPE, check=False, **streams)


def test_standard_input_is_an_input_too(files, tmp_path):
    before = contents(tmp_path)
    with files["data"].open("rb") as table:
        told = run_in_shell(["fit", "-", "--target", "diagnosis", "-o", str(files["data"])], stdin=table)
    assert told.returncode == 2
    assert b"is standard input" in told.stderr
    assert contents(tmp_path) == before


@pytest.mark.parametrize(("words", "name"), [("predict {model} {data}", "data"), ("verify {model}", "model")])
def test_standard_output_does_not_go_into_what_is_read(words, name, files, tmp_path):
    before = contents(tmp_path)
    with files[name].open("ab") as end:
        told = run_in_shell(words.format_map(files).split(), stdout=end)
    assert told.returncode == 2
    assert b"The output would overwrite the input: standard output" in told.stderr
    assert contents(tmp_path) == before


def test_a_checkpoint_neither_holds_the_table_nor_receives_the_model(files, tmp_path, run):
    fit = ["fit", files["data"], "--target", "diagnosis", "--trees", "2"]
    kept = tmp_path / "kept"
    assert run(*fit, "--checkpoint", kept, "-o", kept).exit_code == 2
    assert not kept.exists()
    refused = run(*fit, "--checkpoint", tmp_path, "-o", tmp_path.parent / "new.hedge")
    assert refused.exit_code == 2
    assert "The output would overwrite the input: --checkpoint" in refused.stderr
    made = run(*fit, "--checkpoint", kept, "-o", tmp_path / "new.hedge")
    assert made.exit_code == 0, made.stderr
    before = contents(kept)
    refused = run(*fit, "--checkpoint", kept, "-o", kept / "checkpoint.json", "--force")
    assert refused.exit_code == 2
    assert "--out must not be within an input folder" in refused.stderr
    assert contents(kept) == before


def test_a_folder_of_something_else_is_no_checkpoint_and_nothing_is_read_first(tmp_path, run):
    (tmp_path / "thesis.tex").write_text("precious")
    words = ["fit", tmp_path.parent / "not there.csv", "--target", "y", "-o", tmp_path.parent / "m.hedge"]
    refused = run(*words, "--checkpoint", tmp_path)
    assert refused.exit_code == 2
    assert "--checkpoint must be a new or empty folder" in refused.stderr


def test_folders_of_parquet_files_are_inputs(tmp_path, run):
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    folder = tmp_path / "parts"
    folder.mkdir()
    pandas.DataFrame({"x": range(40), "y": ["a", "b"] * 20}).to_parquet(folder / "0.parquet")
    before = contents(folder)
    for data in (folder, f"file://{folder}"):
        refused = run("fit", data, "--target", "y", "--dask", "local", "-o", folder / "m.hedge")
        assert refused.exit_code == 2
        assert "must not be within an input folder" in refused.stderr
    refused = run(
        "fit", folder / "*.parquet", "--target", "y", "--dask", "local", "-o", folder / "0.parquet", "--force"
    )
    assert "The output would overwrite the input" in refused.stderr
    model = tmp_path / "m.hedge"
    hedgerow.save(hedgerow.RandomForestClassifier(2).fit([[1], [2]], ["a", "b"]), model)
    refused = run("predict", model, folder, "--dask", "local", "-o", folder / "answers")
    assert "must not be within an input folder" in refused.stderr
    assert contents(folder) == before
    assert not (folder / "answers").exists()


def test_addresses_are_compared_too():
    with pytest.raises(Exception, match="must not be within an input folder"):
        check_folder("s3://bucket/table/answers", ["s3://bucket/table/"], "--out")
    with pytest.raises(Exception, match="The output would overwrite the input"):
        check_folder("s3://bucket/table", ["s3://bucket/table/"], "--out")
    check_folder("s3://bucket/table2", ["s3://bucket/table"], "--out")


@pytest.mark.parametrize(
    "address",
    [
        "local://{}/t.csv",
        "simplecache::file://{}/t.csv",
        "filecache::local://{}/t.csv",
        "zip://a.csv::simplecache::file://{}/t.csv",
        "dir://t.csv::file://{}",
    ],
)
def test_an_address_of_a_local_file_is_an_input(address, tmp_path):
    (tmp_path / "t.csv").write_text("x\n")
    with pytest.raises(Exception, match=r"would overwrite the input|must not be within an input folder"):
        check_out(str(tmp_path / "t.csv"), "a CSV table", [address.format(tmp_path)], force=True)


@pytest.mark.parametrize("address", ["file://~/t[1].csv", "local://~/t[1].csv", "simplecache::file://~/t[1].csv"])
def test_an_address_is_resolved_as_fsspec_opens_it(address, tmp_path, monkeypatch):
    fsspec = pytest.importorskip("fsspec")
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "t[1].csv").write_text("x\n")
    with fsspec.open(address, "rb") as file:
        assert file.read() == b"x\n"
    with pytest.raises(Exception, match="would overwrite the input"):
        check_out(str(tmp_path / "t[1].csv"), "a CSV table", [address], force=True)


def test_standard_output_does_not_go_to_an_address_that_is_read(files, tmp_path):
    pytest.importorskip("fsspec")
    before = contents(tmp_path)
    with files["data"].open("ab") as end:
        told = run_in_shell(["predict", str(files["model"]), f"file://{files['data']}"], stdout=end)
    assert told.returncode == 2
    assert b"The output would overwrite the input: standard output" in told.stderr
    assert contents(tmp_path) == before


@pytest.mark.parametrize(("name", "options"), [(name, options) for name, options, _ in COMMANDS])
def test_every_option_that_names_a_file_is_an_input_or_an_output(name, options):
    given = {}
    for field in fields(options):
        declared = get_args(get_type_hints(options, include_extras=True)[field.name])
        several = declared and declared[0] == tuple[str, ...]
        given[field.name] = (f"file of {field.name}",) if several else f"file of {field.name}"
    reads = {"model", "data", "answers", "train", "costs", "labels", "reference"} & given.keys()
    if name == "reproduce":
        reads = set()  # its folders are checked by `check_study`
    elif name in ("fit", "tune"):
        reads -= {"model"}  # a type
    assert set(inputs_of(options(**given))) == {f"file of {each}" for each in reads}


def test_monitor_replaces_its_own_page(files, tmp_path, run):
    words = ["monitor", files["model"], files["data"], "--html", tmp_path / "page.html"]
    assert run(*words).exit_code in (0, 5)
    assert run(*words).exit_code in (0, 5)


def test_reproduce_leaves_data_and_pages_of_others_alone(tmp_path, run):
    (tmp_path / "README.md").write_text("# My thesis\n")
    refused = run("reproduce", "zhang-2021", "--out", tmp_path)
    assert refused.exit_code == 2
    assert "--out would overwrite README.md" in " ".join(refused.stderr.split())
    refused = run("reproduce", "zhang-2021", "--out", tmp_path / "out", "--data", tmp_path)
    assert refused.exit_code == 2
    assert "must not be within an input folder" in " ".join(refused.stderr.split())
    assert [path.name for path in tmp_path.iterdir()] == ["README.md"]


# ---- what is there already -----------------------------------------------------------------------


@pytest.mark.parametrize("command", WRITERS)
def test_a_file_of_another_kind_is_replaced_only_with_force(command, files, tmp_path, run):
    notes = tmp_path / "notes.md"
    notes.write_text("# Notes\n\nprecious\n")
    words = [*words_of(command, files), notes]
    refused = run(*words)
    assert refused.exit_code == 2
    assert "which is another file, not" in refused.stderr
    assert notes.read_text() == "# Notes\n\nprecious\n"
    assert run(*words, "--force").exit_code == 0
    written = notes.read_bytes()
    assert b"precious" not in written
    assert run(*words).exit_code == 0  # an earlier output of the same kind, whatever its name


@pytest.mark.parametrize("command", WRITERS)
def test_an_empty_file_and_a_device_may_be_written_to(command, files, tmp_path, run):
    empty = tmp_path / "empty"
    empty.touch()
    assert run(*words_of(command, files), empty).exit_code == 0
    assert empty.stat().st_size > 0
    assert run(*words_of(command, files), "/dev/null").exit_code == 0
    assert not Path("/dev/null").is_file()


def test_every_kind_is_known_by_what_it_is(files, tmp_path, run):
    outputs = {
        "fit": "a model",
        "predict": "a CSV table",
        "predict --json": "JSON lines",
        "report": "a hedgerow page",
    }
    for command in outputs:
        assert run(*words_of(command, files), tmp_path / f"of {command}").exit_code == 0
    for command, kind in outputs.items():
        for other in outputs.keys() - {command}:
            refused = run(*words_of(other, files), tmp_path / f"of {command}")
            assert refused.exit_code == 2, (command, other)
            assert f"which is {kind}, not" in " ".join(refused.stderr.split())


def test_demo_does_not_replace_a_notebook_that_somebody_has_changed(tmp_path, run):
    notebook = tmp_path / "thesis.ipynb"
    notebook.write_text("{}")
    refused = run("demo", "--notebook", "-o", tmp_path / "thesis.html")
    assert refused.exit_code == 2
    assert "--notebook would overwrite an edited notebook" in refused.stderr
    assert contents(tmp_path) == {"thesis.ipynb": b"{}"}


def test_a_table_keeps_its_name(files, tmp_path, run):
    table = tmp_path / "table.csv"
    table.write_text("a,b\n1,2\n")
    assert run(*words_of("fit", files), table).exit_code == 2
    assert run(*words_of("report", files), table).exit_code == 2
    assert table.read_text() == "a,b\n1,2\n"
    assert run(*words_of("predict", files), table).exit_code == 0


def test_a_text_about_models_is_no_model(tmp_path):
    text = tmp_path / "text"
    text.write_text('It says "hedgerow-model" here.')
    with pytest.raises(Exception, match="which is another file"):
        check_out(str(text), "a model", [])
