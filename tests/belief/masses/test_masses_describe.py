"""Description: masses with the names of their classes."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from tests.belief.masses.strategies import masses
from tests.reference import masses as slow

from hedgerow import belief as hb

IRIS = ["setosa", "versicolor", "virginica"]


def test_a_mass_reads_as_sets_of_names():
    text = hb.describe_mass(hb.mass_from_counts([8, 1, 1], "multinomial"), IRIS)
    assert text.splitlines()[:3] == [
        "{setosa}                         0.4257",
        "{setosa, versicolor, virginica}  0.3643  everything",
        "{setosa, versicolor}             0.0829",
    ]
    assert len(text.splitlines()) == 7


def test_classes_without_names_are_numbered():
    assert hb.describe_mass([0.5, 0, 0.5, 0], digits=1) == "{}   0.5  conflict\n{1}  0.5"


@settings(max_examples=40, deadline=None, derandomize=True)
@given(m=masses(3))
def test_sets_and_back(m):
    mass = slow.to_array(m)
    sets = hb.sets_from_mass(mass, IRIS)
    assert list(sets.values()) == sorted(sets.values(), reverse=True)
    np.testing.assert_array_equal(hb.mass_from_sets(sets, IRIS), mass)


def test_a_set_may_be_a_class_a_tuple_or_a_frozenset():
    mass = hb.mass_from_sets(
        {"setosa": 0.5, frozenset({"setosa", "virginica"}): 0.25, (): 0.125, tuple(IRIS): 0.125}, IRIS
    )
    assert mass.tolist() == [0.125, 0.5, 0, 0, 0, 0.25, 0, 0.125]
    assert hb.mass_from_sets({1: 1.0}, [1, 2]).tolist() == [0, 1, 0, 0]


@pytest.mark.parametrize(
    ("attempt", "complaint"),
    [
        (lambda: hb.mass_from_sets({"rose": 1.0}, IRIS), "sets must consist of the classes .* got 'rose'"),
        (lambda: hb.mass_from_sets({("setosa", "rose"): 1.0}, IRIS), "got 'rose'"),
        (lambda: hb.mass_from_sets({7: 1.0}, [1, 2]), "got 7"),
        (lambda: hb.mass_from_sets({"setosa": 0.5}, IRIS), "mass must sum to 1"),
        (lambda: hb.mass_from_sets({"a": 1.0}, ["a", "a"]), "distinct names"),
        (lambda: hb.sets_from_mass([0, 0, 0, 1], IRIS), "classes must be 2 names, got 3"),
        (lambda: hb.describe_mass([[0, 0, 0, 1]]), "mass must be one mass function"),
    ],
)
def test_what_cannot_be_named_is_refused(attempt, complaint):
    with pytest.raises(ValueError, match=complaint):
        attempt()
