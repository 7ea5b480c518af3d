"""Costs in Python: actions and what they cost -> the same figures as from a file."""

from __future__ import annotations

import numpy as np
import pytest

from hedgerow.tasks.classification.costs import Costs

CLASSES = np.array(["ill", "well"], dtype=object)


def test_actions_are_matched_with_classes_and_with_looking_again():
    costs = Costs.of({" Well": [9, 0], "look  again": [1, 1], "ill": [0, 2]}, CLASSES)
    sets = np.array([[True, False], [False, True], [True, True]])
    assert [costs.actions[each] for each in costs.of_sets(sets)] == ["ill", " Well", "look  again"]
    probability = np.array([[0.05, 0.95], [0.3, 0.7], [0.9, 0.1]])
    assert [costs.actions[each] for each in costs.cheapest(probability)] == [" Well", "look  again", "ill"]


def test_a_data_frame_of_costs_is_read_by_column():
    pandas = pytest.importorskip("pandas")
    costs = Costs.of(pandas.DataFrame({"go": [1.0, 2.0], "stay": [3.0, 4.0]}, index=CLASSES), CLASSES)
    np.testing.assert_array_equal(costs.table, [[1, 3], [2, 4]])
    assert costs.of_sets(np.array([[True, False]])) is None


@pytest.mark.parametrize("given", [{"go": [1.0]}, {"go": [1.0, np.nan]}, {}])
def test_costs_that_lack_a_class_are_refused(given):
    with pytest.raises(ValueError, match="costs must have"):
        Costs.of(given, CLASSES)
