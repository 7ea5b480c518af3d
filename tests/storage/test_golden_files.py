"""Golden files: a model of any format there ever was says what it said when it was saved."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tests.reference.golden import FOLDER, KEPT, answers, table_from_columns

import hedgerow
from hedgerow.storage.model import MAJOR, MINOR, describe_file
from hedgerow.storage.values import public_estimators

FILES = sorted(FOLDER.glob("*/*.hedge"))


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_an_old_file_says_what_it_said(path: Path) -> None:
    with np.load(path.with_suffix(".npz")) as kept:
        expected = dict(kept)
    found = answers(hedgerow.load(path), table_from_columns(expected))
    for question, answer in found.items():
        assert answer.dtype == expected[question].dtype, question
        if answer.dtype.kind == "f":  # another processor may round a sum another way
            np.testing.assert_allclose(answer, expected[question], rtol=1e-13, atol=1e-15, err_msg=question)
        else:
            assert np.array_equal(answer, expected[question]), question


def test_there_are_golden_files_of_every_format_and_of_every_estimator() -> None:
    assert f"{MAJOR}.{MINOR}" in KEPT
    for form, names in KEPT.items():
        assert {path.stem for path in (FOLDER / form).glob("*.hedge")} == set(names)
    assert {describe_file(path).format_version for path in FILES} == set(KEPT)
    assert {type(hedgerow.load(path)).__name__ for path in FILES} == set(public_estimators())


def test_a_model_is_written_in_the_lowest_format_that_can_hold_it(tmp_path: Path) -> None:
    for path in (FOLDER / form / f"{names[0]}.hedge" for form, names in KEPT.items()):
        hedgerow.save(hedgerow.load(path), tmp_path / path.name)
        assert describe_file(tmp_path / path.name).format_version == path.parent.name
