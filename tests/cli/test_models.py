"""``hedgerow inspect`` and ``verify``: a model file -> what it says, and whether it is sound."""

from __future__ import annotations

import io
import json
from contextlib import suppress
from pathlib import Path
from random import Random

import numpy as np
import pytest
from tests.reference.mutate import mutated

import hedgerow
from hedgerow.errors import ModelFileError
from hedgerow.inference.fitted import fitted_of
from hedgerow.storage import describe_file

GOLDEN = sorted((Path(__file__).parents[1] / "golden").glob("*/*.hedge"))


@pytest.mark.parametrize("path", GOLDEN, ids=lambda path: path.stem)
def test_a_description_is_what_loading_finds(path):
    info, model = describe_file(path), hedgerow.load(path)
    assert info.estimator == type(model).__name__
    assert info.schema == fitted_of(model).schema
    assert np.array_equal(info.classes, getattr(model, "classes_", None))
    assert (info.n_trees, info.n_nodes) == (model.forest_.n_trees, len(model.forest_.nodes))
    assert info.n_leaves == model.forest_.leaf_start[-1]
    assert info.caution == (getattr(model, "caution_", None) or getattr(model, "caution", None))
    assert repr(info.parameters) == repr(model.get_params(deep=False))


def test_inspect_prints_schema_classes_parameters_sizes_and_versions(run, model):
    said = json.loads(run("inspect", model, "--json").stdout)
    assert set(said) == {
        *("estimator", "hedgerow_version", "format_version", "classes", "features", "parameters", "caution"),
        *("training_rows", "outputs", "trees", "nodes", "leaves", "bytes"),
    }
    assert said["classes"] == ["benign", "malignant"]
    assert said["features"][-1] == {"name": "site", "kind": "text", "categories": ["left", "right"]}
    assert (said["trees"], said["training_rows"], said["format_version"]) == (30, 300, "1.0")
    table = run("inspect", model).stdout
    for word in ("RandomForestClassifier", "mean_radius", "left, right", "30 trees", "format 1.0", "max_features"):
        assert word in table


@pytest.mark.parametrize("path", GOLDEN, ids=lambda path: path.stem)
def test_every_golden_file_is_inspected_and_sound(run, path):
    assert json.loads(run("inspect", path, "--json").stdout)["trees"] >= 1
    assert run("inspect", path).exit_code == 0
    assert json.loads(run("verify", path, "--json").stdout) == {"model": str(path), "sound": True, "reason": None}


def test_inspect_does_not_read_the_trees_and_verify_does(run, model, tmp_path):
    data = bytearray(model.read_bytes())
    header = json.loads(data[8 : 8 + int.from_bytes(data[:8], "little")])
    begin = 8 + int.from_bytes(data[:8], "little") + header["forest.nodes"]["data_offsets"][0]
    data[begin : begin + 8] = b"\xff" * 8
    (tmp_path / "bad.hedge").write_bytes(data)
    assert run("inspect", tmp_path / "bad.hedge").exit_code == 0
    assert run("verify", tmp_path / "bad.hedge").exit_code == 4


@pytest.mark.parametrize("command", ["inspect", "verify", "predict", "evaluate"])
@pytest.mark.parametrize("damage", ["cut", "text", "pickle", "empty"])
def test_a_corrupt_model_is_exit_code_4_with_the_reason(run, patients, model, write, command, damage):
    data = {"cut": model.read_bytes()[:5000], "text": b"a,b\n1,2\n" * 9, "pickle": b"\x80\x04]" * 30, "empty": b""}
    words = {"predict": [patients / "test.csv"], "evaluate": [patients / "test.csv", "--target", "diagnosis"]}
    result = run(command, write(data[damage], "bad.hedge"), *words.get(command, []))
    assert result.exit_code == 4
    assert result.stderr.startswith("error: ")
    assert result.stdout == ""


def test_a_mutated_file_is_described_or_refused_in_one_way():
    others = [path.read_bytes() for path in GOLDEN]
    described = 0
    for number in range(300):
        chance = Random(number)
        given = mutated(chance.choice(others), others, chance)
        try:
            info = describe_file(io.BytesIO(given))
        except ModelFileError:
            continue
        described += 1
        with suppress(ModelFileError):  # a description does not look into the trees
            model = hedgerow.load(io.BytesIO(given))
            assert (info.estimator, info.n_trees) == (type(model).__name__, model.forest_.n_trees)
    assert 30 < described < 270


def test_verify_says_why_in_json_too(run, model, write):
    result = run("verify", write(model.read_bytes()[:5000], "bad.hedge"), "--json")
    said = json.loads(result.stdout)
    assert (result.exit_code, said["sound"]) == (4, False)
    assert "truncated" in said["reason"]


def test_verify_says_what_was_checked(run, model):
    result = run("verify", model)
    assert (result.exit_code, "sound" in result.stdout, "30 trees" in result.stdout) == (0, True, True)


def test_a_model_that_is_not_there_is_a_usage_error(run, tmp_path):
    assert run("verify", tmp_path / "none.hedge").exit_code == 2


def test_a_hostile_name_cannot_command_the_terminal(run, write, tmp_path):
    labels = ("d", "c\x1b]0;owned\x07")
    text = "a\x1b[2J,[bold]b,y\n" + "".join(f"{i},{i},{labels[i % 2]}\n" for i in range(10))
    run("fit", write(text), "--target", "y", "-o", tmp_path / "m.hedge")
    result = run("inspect", tmp_path / "m.hedge")
    assert "\x1b" not in result.stdout
    assert "[bold]b" in result.stdout
