"""Data sets are found, recognised, downloaded when they must be, and refused when they are not themselves."""

from __future__ import annotations

import hashlib
import json
import shutil
import threading
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import numpy as np
import pytest

from hedgerow import RandomForestClassifier
from hedgerow.datasets import (
    DatasetError,
    DatasetInfo,
    cache_folder,
    describe_dataset,
    find_dataset,
    known_datasets,
    load_dataset,
)
from hedgerow.datasets.fetch import fetch_dataset, read_arff, sha256_of

pytest.importorskip("pyarrow", reason="reading data sets needs pyarrow")

ARFF = """% a comment
@RELATION small
@ATTRIBUTE id NUMERIC
@ATTRIBUTE 'length in cm' REAL
@attribute colour {red, 'dark blue'}
@attribute Class {1,2}
@DATA
1, 2.5, red, 1
2, ?, 'dark blue', 2
3, 1e-3, ?, 2
"""
SMALL = DatasetInfo(
    "small", "small.csv.gz", "0" * 64, "classification", 3, 2, 2, {"no": 1, "yes": 2}, "yes", ("colour",), 7
)


class Server(BaseHTTPRequestHandler):
    """Answers as OpenML does, for one data set."""

    content = ARFF.encode()
    told_md5 = hashlib.md5(ARFF.encode()).hexdigest()

    def do_GET(self):
        address = f"http://127.0.0.1:{self.server.server_port}"
        description = {
            "url": f"{address}/file.arff",
            "md5_checksum": self.told_md5,
            "default_target_attribute": "Class",
            "row_id_attribute": "id",
        }
        body = self.content if self.path == "/file.arff" else json.dumps({"data_set_description": description}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *words):
        pass


@pytest.fixture
def openml():
    server = HTTPServer(("127.0.0.1", 0), Server)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def empty_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("HEDGEROW_DATA", raising=False)
    return tmp_path / "cache" / "hedgerow"


def test_every_small_set_of_the_folder_is_the_one_in_the_registry(data_folder):
    small = [name for name in known_datasets() if describe_dataset(name).rows < 3000]
    assert len(small) > 40
    for name in small:
        dataset = load_dataset(name, data=data_folder)
        assert sum(column.null_count for column in dataset.X.itercolumns()) == dataset.info.missing


def test_a_loaded_set_goes_into_a_forest_as_it_is(data_folder):
    dataset = load_dataset("congressional-voting", data=data_folder)
    forest = RandomForestClassifier(10, random_state=0).fit(dataset.X, dataset.y)
    assert forest.score(dataset.X, dataset.y) > 0.95
    assert dataset.is_positive().sum() == dataset.info.classes["republican"]


def test_a_changed_file_is_refused(data_folder, tmp_path):
    shutil.copy(data_folder / "iris.csv.gz", tmp_path / "iris.csv.gz")
    content = bytearray((tmp_path / "iris.csv.gz").read_bytes())
    content[100] ^= 1
    (tmp_path / "iris.csv.gz").unlink()
    (tmp_path / "iris.csv.gz").write_bytes(content)
    with pytest.raises(DatasetError, match="checksum"):
        load_dataset("iris", data=tmp_path)


def test_the_named_folder_comes_before_the_environment_and_that_before_the_cache(data_folder, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    folders = [tmp_path / "named", tmp_path / "environment", cache_folder()]
    for folder in folders:
        folder.mkdir(parents=True)
        shutil.copy(data_folder / "iris.csv.gz", folder)
    monkeypatch.setenv("HEDGEROW_DATA", str(folders[1]))
    assert find_dataset("iris", data=folders[0]).parent == folders[0]
    assert find_dataset("iris").parent == folders[1]
    monkeypatch.delenv("HEDGEROW_DATA")
    assert find_dataset("iris").parent == folders[2]


def test_what_is_nowhere_and_cannot_be_reached_is_told_in_one_sentence(empty_cache):
    with pytest.raises(DatasetError, match=r"Go online, or put small.csv.gz into --data DIR") as told:
        fetch_dataset(SMALL, empty_cache, openml="http://127.0.0.1:9")
    assert "\n" not in str(told.value)
    with pytest.raises(DatasetError, match=r"Put it into one of these folders. No download is known"):
        find_dataset("covtype", download=True)  # there is no download of this copy
    with pytest.raises(DatasetError, match="name must be a known data set"):
        load_dataset("sonnar")


def test_a_download_is_prepared_checked_and_kept(openml, empty_cache):
    path = fetch_dataset(SMALL, empty_cache, openml=openml)
    assert path == empty_cache / "small.csv.gz"
    assert path.with_name("small.csv.gz.sha256").read_text().strip() == sha256_of(path)
    from hedgerow.datasets.read import _read

    table = _read(path, SMALL)
    assert table.column_names == ["length in cm", "colour", "target"]
    assert table.column("length in cm").to_pylist() == [2.5, None, 0.001]
    assert table.column("colour").to_pylist() == ["red", "dark blue", None]
    assert table.column("target").to_pylist() == ["no", "yes", "yes"]  # numbered classes are known by their sizes
    assert [file.name for file in sorted(empty_cache.iterdir())] == ["small.csv.gz", "small.csv.gz.sha256"]


def test_a_damaged_download_is_refused(openml, empty_cache, monkeypatch):
    monkeypatch.setattr(Server, "content", ARFF.replace("2.5", "3.5").encode())
    with pytest.raises(DatasetError, match="damaged download"):
        fetch_dataset(SMALL, empty_cache, openml=openml)
    assert not empty_cache.exists()


@pytest.mark.parametrize("wrong", [{"rows": 4}, {"features": 3}, {"classes": {"no": 0, "yes": 3}}])
def test_another_version_is_refused(openml, empty_cache, wrong):
    with pytest.raises(DatasetError, match="another version"):
        fetch_dataset(replace(SMALL, **wrong), empty_cache, openml=openml)


def test_sparse_rows_leave_out_zeros_and_first_categories():
    text = [
        "@attribute a numeric",
        "@attribute b {-1, 1}",
        "@attribute c numeric",
        "@data",
        "{0 2.5, 1 1}",
        "{}",
        "{2 ?}",
    ]
    assert list(read_arff(text).rows) == [["2.5", "1", "0"], ["0", "-1", "0"], ["0", "-1", None]]


def test_numbers_come_without_copying_names(data_folder):
    X = load_dataset("sonar", data=data_folder).as_floats()
    assert X.shape == (208, 60)
    assert X.dtype == np.float64
    with pytest.raises(DatasetError, match="as_floats requires numeric columns"):
        load_dataset("tic-tac-toe", data=data_folder).as_floats()


def test_the_registry_holds_no_path_of_a_machine():
    for name in known_datasets():
        info = describe_dataset(name)
        assert Path(info.file).name == info.file
        assert len(info.sha256) == 64
        assert info.url is None or info.url.startswith("https://")
        assert info.task == "regression" or sum(info.classes.values()) == info.rows
