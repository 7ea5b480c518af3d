"""`fit(checkpoint=folder)`: interrupted and resumed fits equal uninterrupted ones."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
import tracemalloc
from io import BytesIO
from pathlib import Path
from random import Random
from typing import Any
from zipfile import ZipFile

import numpy as np
import pytest
from numpy.lib.format import write_array_header_1_0
from sklearn.base import clone
from sklearn.datasets import make_classification
from tests.reference.later import same_forest
from tests.reference.mutate import odd_cell

import hedgerow
from hedgerow import (
    CheckpointError,
    ExtraTreesClassifier,
    PairwiseTreesClassifier,
    RandomDecisionTreesClassifier,
    RandomForestClassifier,
    RandomForestRegressor,
)
from hedgerow.criteria import BeliefGain
from hedgerow.fit import checkpoint as module

random = np.random.default_rng(0)
X = random.normal(size=(150, 4))
LABELS = (X[:, 0] > 0).astype(int) + (X[:, 1] > 0.5)


@pytest.fixture(autouse=True)
def _written_after_every_tree(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "SECONDS", 0.0)


def parts(folder: Path) -> list[Path]:
    return sorted(folder.glob("trees-*.npz"))


FIT = """
import sys
from sklearn.datasets import make_classification
from hedgerow import RandomForestClassifier
from hedgerow.fit import checkpoint

checkpoint.SECONDS = 0.0
X, y = make_classification(2000, 10, random_state=0)
RandomForestClassifier(40, random_state=5, oob_score=True).fit(X, y, checkpoint=sys.argv[1])
"""


def test_a_fit_that_was_killed_goes_on_and_ends_as_if_it_had_not_been(tmp_path: Path) -> None:
    folder = tmp_path / "kept"
    path = os.pathsep.join([str(Path(hedgerow.__file__).parents[1]), *sys.path])
    run = subprocess.Popen([sys.executable, "-c", FIT, folder], env=os.environ | {"PYTHONPATH": path})
    while run.poll() is None and len(parts(folder)) < 3:
        time.sleep(0.002)
    run.send_signal(signal.SIGKILL)
    assert run.wait() == -signal.SIGKILL, "it was done before it could be killed"
    kept = {part: part.stat().st_mtime_ns for part in parts(folder)}
    assert 3 <= len(kept) < 40
    table = make_classification(2000, 10, random_state=0)
    resumed, whole = (RandomForestClassifier(40, random_state=5, oob_score=True) for _ in range(2))
    resumed.fit(*table, checkpoint=folder)
    whole.fit(*table)
    assert same_forest(resumed.forest_, whole.forest_)
    assert resumed.oob_score_ == whole.oob_score_
    assert all(part.stat().st_mtime_ns == when for part, when in kept.items())  # not grown again
    assert not list(folder.glob(".*"))


@pytest.mark.parametrize(
    "model",
    [
        RandomForestClassifier(6, ccp_alpha=0.02, class_weight="balanced_subsample"),
        RandomForestClassifier("auto", max_features="oob"),
        RandomForestClassifier(6, criterion=BeliefGain(lam="auto")),
        ExtraTreesClassifier(6),
        RandomDecisionTreesClassifier(6),
        RandomForestRegressor(6, criterion="absolute_error"),
    ],
    ids=str,
)
@pytest.mark.parametrize("lost", [0, 1, 3])
def test_whatever_trees_are_lost_the_forest_is_the_same(model: Any, lost: int, tmp_path: Path) -> None:
    whole = clone(model).set_params(random_state=1).fit(X, LABELS)
    kept = clone(model).set_params(random_state=1, n_jobs=2).fit(X, LABELS, checkpoint=tmp_path)
    for part in parts(tmp_path)[:lost]:
        part.unlink()
    resumed = clone(model).set_params(random_state=1).fit(X, LABELS, checkpoint=tmp_path)
    assert same_forest(kept.forest_, whole.forest_)
    assert same_forest(resumed.forest_, whole.forest_)


def test_more_trees_go_on_from_fewer(tmp_path: Path) -> None:
    RandomForestClassifier(4, random_state=0).fit(X, LABELS, checkpoint=tmp_path)
    more = RandomForestClassifier(7, random_state=0, rule="vote", n_jobs=2).fit(X, LABELS, checkpoint=tmp_path)
    fewer = RandomForestClassifier(2, random_state=0).fit(X, LABELS, checkpoint=tmp_path)
    assert same_forest(more.forest_, RandomForestClassifier(7, random_state=0).fit(X, LABELS).forest_)
    assert same_forest(fewer.forest_, RandomForestClassifier(2, random_state=0).fit(X, LABELS).forest_)


def test_without_a_random_state_the_seed_is_that_of_the_folder(tmp_path: Path) -> None:
    first = RandomForestClassifier(3).fit(X, LABELS, checkpoint=tmp_path)
    parts(tmp_path)[1].unlink()
    assert same_forest(RandomForestClassifier(3).fit(X, LABELS, checkpoint=tmp_path).forest_, first.forest_)


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"parameters": {"max_depth": 3}}, "max_depth"),
        ({"parameters": {"criterion": "entropy", "min_samples_leaf": 2}}, "criterion, min_samples_leaf"),
        ({"parameters": {"ccp_alpha": 0.1}}, "ccp_alpha"),
        ({"parameters": {"random_state": 1}}, "seed"),
        ({"X": X + 1}, "table"),
        ({"X": X[:, ::-1]}, "table"),
        ({"y": 2 - LABELS}, "labels or weights"),
        ({"sample_weight": np.arange(150) + 1.0}, "labels or weights"),
        ({"kind": ExtraTreesClassifier}, "estimator"),
    ],
    ids=str,
)
def test_a_checkpoint_of_another_fit_is_refused(change: dict[str, Any], named: str, tmp_path: Path) -> None:
    RandomForestClassifier(2, random_state=0).fit(X, LABELS, checkpoint=tmp_path)
    before = {path: path.read_bytes() for path in tmp_path.iterdir()}
    parameters = {"random_state": 0} | change.get("parameters", {})
    model = change.get("kind", RandomForestClassifier)(2, **parameters)
    given = [change.get("X", X), change.get("y", LABELS), change.get("sample_weight")]
    with pytest.raises(CheckpointError, match=rf"must be of the same fit, got different .*{named}.*\. Fit with"):
        model.fit(*given, checkpoint=tmp_path)
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == before
    assert not hasattr(model, "forest_")


def test_files_that_are_none_of_ours_are_left_alone(tmp_path: Path) -> None:
    (tmp_path / ".DS_Store").write_bytes(b"left by a system that showed the folder")
    whole = RandomForestClassifier(6, random_state=0).fit(X, LABELS, checkpoint=tmp_path)
    for name in ("trees-0000000-0000002 (copy).npz", "trees-one-two.npz", "trees-1-2-3.npz"):
        (tmp_path / name).write_bytes(b"no trees")
    again = RandomForestClassifier(6, random_state=0).fit(X, LABELS, checkpoint=tmp_path)
    assert same_forest(again.forest_, whole.forest_)
    assert (tmp_path / "trees-one-two.npz").read_bytes() == b"no trees"


def test_a_folder_of_something_else_is_refused(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("precious")
    with pytest.raises(CheckpointError, match="must be a new or empty folder"):
        RandomForestClassifier(2).fit(X, LABELS, checkpoint=tmp_path)
    with pytest.raises(CheckpointError, match="must be a new or empty folder"):
        RandomForestClassifier(2).fit(X, LABELS, checkpoint=tmp_path / "thesis.tex")
    with pytest.raises(ValueError, match="checkpoint must be None for pairwise trees"):
        PairwiseTreesClassifier().fit(X, LABELS, checkpoint=tmp_path / "new")


@pytest.mark.parametrize("damage", ["cut", "changed", "other"])
def test_damaged_trees_are_refused_by_name(damage: str, tmp_path: Path) -> None:
    RandomForestClassifier(3, random_state=0).fit(X, LABELS, checkpoint=tmp_path)
    part = parts(tmp_path)[1]
    data = bytearray(part.read_bytes())
    if damage == "cut":
        del data[len(data) // 2 :]
    elif damage == "changed":
        data[len(data) // 3] ^= 0xFF
    else:
        data = bytearray(b"no trees at all")
    part.write_bytes(data)
    with pytest.raises(CheckpointError, match=rf"{part.name}: damaged checkpoint \(.*\)\. Delete the file"):
        RandomForestClassifier(3, random_state=0).fit(X, LABELS, checkpoint=tmp_path)
    part.unlink()
    again = RandomForestClassifier(3, random_state=0).fit(X, LABELS, checkpoint=tmp_path)
    assert same_forest(again.forest_, RandomForestClassifier(3, random_state=0).fit(X, LABELS).forest_)


def written(path: Path, arrays: dict[str, Any]) -> None:
    with path.open("wb") as file:
        np.savez(file, **arrays)


def tampered(arrays: dict[str, Any], others: list[dict[str, Any]], chance: Random) -> dict[str, Any]:
    """The arrays of a piece, one of them with other cells, of another length, type, shape or fit, or gone."""
    name = chance.choice(list(arrays))
    array = np.atleast_1d(arrays[name]).copy()
    how = chance.randrange(8)
    if how < 3 and len(array):
        array[chance.choice([0, -1, chance.randrange(len(array))])] = odd_cell(array, chance)
    elif how == 3:
        array = array[: chance.choice([0, 1, len(array) - 1])]
    elif how == 4:
        array = np.concatenate([array, array[-chance.choice([1, 2, 8]) :]])
    elif how == 5:
        array = chance.choice([array.astype(np.float32), array.astype(">i8"), array[None], array.astype("U3")])
    elif how == 6:
        array = chance.choice(others).get(name, array)
    else:
        return {each: held for each, held in arrays.items() if each != name}
    return arrays | {name: array[0] if array.shape == (1,) and name == "n_classes" else array}


PIECES = {
    "classes": (RandomForestClassifier(2, max_depth=4, random_state=0), LABELS),
    "many": (RandomForestClassifier(2, max_depth=4, random_state=0), np.arange(150) % 11),
    "numbers": (RandomForestRegressor(2, max_depth=4, random_state=0, criterion="absolute_error"), X[:, 0]),
}


@pytest.fixture(scope="module")
def pieces(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[Path, dict[str, Any]]]:
    """For each kind of fit its folder, and the arrays of its first piece."""
    found = {}
    for name, (model, y) in PIECES.items():
        folder = tmp_path_factory.mktemp(name)
        model.fit(X, y, checkpoint=folder)
        with np.load(parts(folder)[0]) as held:
            found[name] = folder, dict(held)
    return found


@pytest.mark.parametrize("name", PIECES)
def test_a_tampered_piece_is_refused_or_is_a_forest(name: str, pieces: dict[str, Any]) -> None:
    (model, y), (folder, arrays) = PIECES[name], pieces[name]
    others, part, refused = [held for _, held in pieces.values()], parts(folder)[0], 0
    for number in range(60):
        written(part, tampered(arrays, others, Random(number)))
        again = clone(model)
        try:
            again.fit(X, y, checkpoint=folder)
        except CheckpointError:
            refused += 1
        else:
            assert np.isfinite(again.predict(X)).all()
            assert again.forest_.n_trees == 2
    written(part, arrays)
    assert 30 < refused < 60


@pytest.mark.parametrize("name", PIECES)
@pytest.mark.parametrize("start", ["node_start", "leaf_start", "set_start"])
def test_no_piece_leads_outside_its_arrays(name: str, start: str, pieces: dict[str, Any]) -> None:
    (model, y), (folder, arrays) = PIECES[name], pieces[name]
    part = parts(folder)[0]
    written(part, arrays | {start: arrays[start] + 2**40})
    with pytest.raises(CheckpointError, match=rf"{part.name}: damaged checkpoint \({start} must ascend"):
        clone(model).fit(X, y, checkpoint=folder)
    written(part, arrays)


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"values": np.zeros(3)}, "values must have [0-9]+ values, got 3"),
        ({"variances": np.zeros(3, np.float32)}, "variances must be a one-dimensional array of float64"),
        ({"counts": np.ones(3, np.uint32)}, "values must have 3 values"),
        ({"n_classes": np.int64(0)}, "n_classes must be 1 in a regression, got 0"),
    ],
    ids=["length", "type", "leaves", "classes"],
)
def test_moments_are_checked_too(changed: dict[str, Any], said: str, pieces: dict[str, Any]) -> None:
    (model, y), (folder, arrays) = PIECES["numbers"], pieces["numbers"]
    written(parts(folder)[0], arrays | changed)
    with pytest.raises(CheckpointError, match=said):
        clone(model).fit(X, y, checkpoint=folder)
    written(parts(folder)[0], arrays)


def test_an_empty_piece_is_refused_by_name(tmp_path: Path) -> None:
    RandomForestClassifier(2, random_state=0).fit(X, LABELS, checkpoint=tmp_path)
    parts(tmp_path)[0].write_bytes(b"")
    with pytest.raises(CheckpointError, match=rf"{parts(tmp_path)[0].name}: damaged checkpoint"):
        RandomForestClassifier(2, random_state=0).fit(X, LABELS, checkpoint=tmp_path)


@pytest.mark.parametrize("name", PIECES)
@pytest.mark.parametrize("times", [0, 2])
def test_trees_that_have_counted_other_rows_are_refused(name: str, times: int, pieces: dict[str, Any]) -> None:
    (model, y), (folder, arrays) = PIECES[name], pieces[name]
    part = parts(folder)[0]
    written(part, arrays | {"counts": arrays["counts"] * np.uint32(times)})
    said = "tree 0 must have counted [0-9]+ rows, got" if times or name == "classes" else ""  # else refused before
    with pytest.raises(CheckpointError, match=rf"{part}: damaged checkpoint \({said}"):
        clone(model).fit(X, y, checkpoint=folder)
    written(part, arrays)


def bomb(path: Path, arrays: dict[str, Any]) -> None:
    """A small archive whose arrays are large."""
    np.savez_compressed(path.with_suffix(""), **arrays | {"counts": np.zeros(1 << 26, np.uint32)})


def boast(path: Path, arrays: dict[str, Any]) -> None:
    """An array that says it has more cells than the file has bytes."""
    written(path, {name: array for name, array in arrays.items() if name != "counts"})
    header = BytesIO()
    write_array_header_1_0(header, {"descr": "<u4", "fortran_order": False, "shape": (1 << 26,)})
    with ZipFile(path, "a") as archive:
        archive.writestr("counts.npy", header.getvalue())


@pytest.mark.parametrize("made", [bomb, boast])
def test_no_piece_takes_more_memory_than_its_file(made: Any, pieces: dict[str, Any]) -> None:
    (model, y), (folder, arrays) = PIECES["classes"], pieces["classes"]
    part = parts(folder)[0]
    made(part, arrays)
    assert part.stat().st_size < 1 << 19
    tracemalloc.start()
    try:
        with pytest.raises(CheckpointError, match=rf"{part}: damaged checkpoint"):
            clone(model).fit(X, y, checkpoint=folder)
        assert tracemalloc.get_traced_memory()[1] < 1 << 24
    finally:
        tracemalloc.stop()
        written(part, arrays)


@pytest.mark.parametrize(
    "text",
    [
        "[" * 100_000,
        '{"seed": ' + "[" * 100_000 + "]" * 100_000 + "}",
        '{"seed": ' + "9" * 10_000 + "}",
        '{"seed": ' + "9" * 4_000 + "}",
        '{"seed": -1}',
        '{"format": NaN}',
        "[]",
        "{}",
        '{"a": 1}' + " " * 2_000_000,
        "\udcff",
    ],
    ids=range(10),
)
@pytest.mark.parametrize("random_state", [0, None])
def test_whatever_describes_a_fit_is_refused_in_one_way(text: str, random_state: int | None, tmp_path: Path) -> None:
    (tmp_path / "checkpoint.json").write_bytes(text.encode(errors="surrogateescape"))
    with pytest.raises(CheckpointError, match=f"(checkpoint ')?{tmp_path}"):
        RandomForestClassifier(2, random_state=random_state).fit(X, LABELS, checkpoint=tmp_path)


def test_nothing_is_made_before_there_is_something_to_keep(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="max_depth must be"):
        RandomForestClassifier(2, max_depth=-1).fit(X, LABELS, checkpoint=tmp_path / "new")
    assert not (tmp_path / "new").exists()


def test_the_command_line_goes_on_too(tmp_path: Path) -> None:
    from typer.testing import CliRunner

    from hedgerow.cli.app import app

    rows = "\n".join(",".join(map(str, [*row, label])) for row, label in zip(X.tolist(), LABELS, strict=True))
    (tmp_path / "data.csv").write_text(f"a,b,c,d,y\n{rows}\n")
    call = ["fit", str(tmp_path / "data.csv"), "--target", "y", "--trees", "4", "--checkpoint", str(tmp_path / "kept")]
    models = [tmp_path / name for name in ("one.hedge", "two.hedge", "three.hedge")]
    assert CliRunner().invoke(app, [*call, "--out", str(models[0])]).exit_code == 0
    parts(tmp_path / "kept")[0].unlink()
    assert CliRunner().invoke(app, [*call, "--out", str(models[1])]).exit_code == 0
    assert models[0].read_bytes() == models[1].read_bytes()
    refused = CliRunner().invoke(app, [*call, "--seed", "1", "--out", str(models[2])])
    assert refused.exit_code == 2
    assert "must be of the same fit, got different seed" in " ".join(refused.stderr.split())
