"""What tests of the command line share: the command itself, and small files as people have them."""

from __future__ import annotations

import csv

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer
from typer.testing import CliRunner

from hedgerow.cli.app import app


@pytest.fixture
def run():
    """Words -> what the command printed and its exit code; an exception that nobody caught is raised."""

    def invoke(*words, stdin=None):
        result = CliRunner().invoke(app, [str(word) for word in words], input=stdin)
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        return result

    return invoke


@pytest.fixture
def write(tmp_path):
    """Text or bytes -> the path of a file that holds them."""

    def make(text, name="table.csv"):
        path = tmp_path / name
        path.write_bytes(text.encode() if isinstance(text, str) else text)
        return path

    return make


@pytest.fixture(scope="session")
def patients(tmp_path_factory):
    """Folder with ``train.csv`` and ``test.csv``: an id, six numbers with gaps, a nominal column, the diagnosis."""
    folder = tmp_path_factory.mktemp("patients")
    data, draw = load_breast_cancer(), np.random.default_rng(0)
    order = draw.permutation(len(data.data))
    names = [name.replace(" ", "_") for name in data.feature_names[:6]]
    for file, rows in (("train.csv", order[:300]), ("test.csv", order[300:])):
        with open(folder / file, "w", newline="") as out:
            writer = csv.writer(out)
            writer.writerow(["patient", *names, "site", "diagnosis"])
            for row in rows:
                numbers = ["" if draw.random() < 0.02 else f"{value:g}" for value in data.data[row, :6]]
                label = data.target_names[data.target[row]]
                writer.writerow([f"P{row:03d}", *numbers, ["left", "right", "NA"][row % 3], label])
    return folder


@pytest.fixture(scope="session")
def model(patients):
    """A model file that ``hedgerow fit`` has written."""
    path = patients / "m.hedge"
    words = ["fit", str(patients / "train.csv"), "--target", "diagnosis", "--id", "patient", "-o", str(path)]
    assert CliRunner().invoke(app, [*words, "--trees", "30"]).exit_code == 0
    return path
