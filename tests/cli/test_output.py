"""CSV: what is written is what Python's own reader reads, whatever cells hold and however many rows there are."""

from __future__ import annotations

import csv
import io

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from hedgerow.cli import output
from hedgerow.tasks.regression.evaluation import RegressionColumns


class _Cells:
    """Columns to keep, as `Kept` has them."""

    def __init__(self, *columns: list[object]) -> None:
        self._columns = list(columns)
        self.names = tuple(f"kept {i}" for i in range(len(columns)))

    def columns(self) -> list[list[object]]:
        return self._columns


@given(
    cells=st.lists(st.text(st.sampled_from('a,;"\n\r\t =|é')) | st.integers() | st.booleans() | st.none(), min_size=1),
    delimiter=st.sampled_from(",\t"),
)
def test_cells_come_back_as_their_text(cells, delimiter):
    file = io.StringIO(newline="")
    answers = RegressionColumns({"prediction": np.arange(len(cells)) / 8})
    output._write_csv(file, answers, _Cells(cells), "its ", True, delimiter)
    header, *rows = csv.reader(io.StringIO(file.getvalue(), newline=""), delimiter=delimiter, strict=True)
    assert header == ["kept 0", "its prediction"]
    assert rows == [["" if cell is None else str(cell), str(i / 8)] for i, cell in enumerate(cells)]


def test_cells_that_are_equal_keep_their_own_text():
    cells: list[object] = [1, True, 1.0, 0.0, -0.0, [1], {"a": None}]
    file = io.StringIO(newline="")
    output._write_csv(file, RegressionColumns({"p": np.zeros(7)}), _Cells(cells), "", False, ",")
    assert [row[0] for row in csv.reader(io.StringIO(file.getvalue()))][1:] == list(map(str, cells))


def test_numbers_of_large_blocks_read_as_those_of_small_ones():
    rng = np.random.default_rng(0)
    special = [0, 1, -1, -0.0, 1e-6, 4e-7, -2.5e-5, 99999.5, 3]
    numbers = np.concatenate([special, rng.random(5000), rng.random(2500) * 1e-4, rng.normal(size=3000) * 1e5])
    numbers = numbers[: output._BLOCK]
    together, apart = output._rounded(numbers), [output._rounded(numbers[i : i + 1])[0] for i in range(len(numbers))]
    assert together == apart
    assert list(map(float, together)) == np.round(numbers, output.DECIMALS).tolist()
    assert together[:9] == ["0.0", "1.0", "-1.0", "-0.0", "0.000001", "0.0", "-0.000025", "99999.5", "3.0"]


def test_huge_and_missing_numbers_are_written_whatever_the_others_are():
    numbers = np.full(output._BLOCK, 0.25)
    numbers[:4] = np.nan, np.inf, -1e300, 1e15
    assert output._rounded(numbers)[:5] == ["nan", "inf", "-1e+300", "1000000000000000.0", "0.25"]
