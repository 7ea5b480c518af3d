"""The warning of rows that are too alike to be independent."""

from __future__ import annotations

import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris, load_wine
from tests.fit.test_row_groups import patients

from hedgerow import DependentRowsWarning, RandomForestClassifier, RandomForestRegressor, RandomSurvivalForest
from hedgerow.fit.groups import BLOCKS, likeness, n_copies
from hedgerow.table import read_training_table
from hedgerow.table.binned import bins_and_codes


def binned(X):
    """A table -> its codes and which columns are nominal."""
    bins, codes = bins_and_codes(read_training_table(X), max_bins="auto", n_threads=1)
    return codes, bins.nominal


def repeats(X):
    """Whether the rows of a table raise the warning, each table alone."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        RandomForestClassifier(1, random_state=0).fit(X, np.arange(len(X)) % 2)
    return [each.message for each in caught if each.category is DependentRowsWarning]


@pytest.mark.parametrize("sizes", [2, 4, 8, 16, None])
@pytest.mark.parametrize("seed", range(5))
def test_groups_of_rows_are_found(sizes, seed):
    (warning,) = repeats(patients(150, seed, sizes)[0])
    assert "sampled rows have neighbours much nearer than independent rows would have" in warning.findings[0]
    assert not repeats(patients(150, seed, 1)[0])


@pytest.mark.parametrize("seed", range(5))
def test_copies_are_found_and_counted(seed):
    once, random = patients(500, seed, 1)[0], np.random.default_rng(seed)
    (warning,) = repeats(np.concatenate([once, once[:50]]))
    assert warning.findings[1] == "100 of 550 rows equal another row in every column"
    assert repeats(np.tile(once, (3, 1)))
    assert repeats(np.tile(once, (3, 1)) + 0.05 * random.normal(size=(1500, 6)))
    shuffled = random.permutation(1000)
    assert repeats((np.tile(once, (2, 1)) + 0.1 * random.normal(size=(1000, 6)))[shuffled])


@pytest.mark.parametrize("n", [60, 300, 5000])
@pytest.mark.parametrize("p", [1, 3, 30])
@pytest.mark.parametrize("kind", ["normal", "heavy", "digits", "binary", "clusters", "mixed"])
def test_independent_rows_raise_no_warning(n, p, kind):
    random = np.random.default_rng(n + p)
    X = random.normal(size=(n, p))
    if kind == "heavy":
        X = random.standard_cauchy(size=(n, p))
    elif kind == "digits":
        X = random.integers(0, 10, (n, p)) ** 2
    elif kind == "binary":
        X = random.random((n, p)) < 0.1
    elif kind == "clusters":
        X = X + 20 * random.integers(0, 3, (n, 1))
    elif kind == "mixed":
        X[:, ::2] = random.integers(0, 3, (n, len(X[0, ::2])))
        X[random.random((n, p)) < 0.2] = np.nan
    assert not repeats(X)


def test_gaps_of_independent_rows_have_mean_one():
    found = [likeness(*binned(np.random.default_rng(seed).random((1000, 4)))).mean_gaps for seed in range(10)]
    np.testing.assert_allclose(np.mean(found, axis=0), 1, atol=0.15)
    assert len(found[0]) == len(BLOCKS) - 1


@pytest.mark.parametrize("load", [load_iris, load_wine, load_breast_cancer, load_diabetes])
def test_real_tables_raise_no_warning(load):
    assert not repeats(load().data)


def test_equal_rows_of_categories_are_no_surprise():
    random = np.random.default_rng(0)
    X = pd.DataFrame({f"c{j}": random.choice(list("abcde"), 2000) for j in range(4)})
    assert n_copies(binned(X)[0]) > 1500
    assert not repeats(X)


@pytest.mark.parametrize("name", ["id", "patient", "Patient_ID", "subjectId", "customer number"])
def test_identifiers_with_repeats_are_named(name):
    random = np.random.default_rng(0)
    X = pd.DataFrame({"a": random.normal(size=400), name: random.integers(0, 80, 400)})
    (warning,) = repeats(X)
    assert warning.column == name
    assert f"pass groups={name!r} to fit" in str(warning)
    assert not repeats(X.rename(columns={name: "width"}))
    names = X[name].map(lambda number: f"n{number}")
    assert repeats(X[["a"]].assign(width=names.astype("category")))
    assert not repeats(X.assign(**{name: np.arange(400)})), "every row has its own"


@pytest.mark.parametrize(("n_rows", "times"), [(60_000, 2), (60_000, 1), (60_000, 300)])
def test_values_of_an_identifier_are_counted_before_binning(n_rows, times):
    """A numeric column has at most 255 bins in a large table."""
    X = pd.DataFrame({"a": np.random.default_rng(0).normal(size=n_rows), "patient_id": np.arange(n_rows) // times})
    found = repeats(X)
    assert len(found) == (times == 2)
    for warning in found:
        assert "column 'patient_id' has 30,000 values in 60,000 rows" in str(warning)


def test_only_a_fit_that_says_nothing_of_groups_warns():
    X, y, patient = patients(150, 0, 4)
    for model in (RandomForestClassifier(2), RandomForestRegressor(2)):
        with pytest.warns(DependentRowsWarning, match="pass their groups to fit") as caught:
            clone(model).fit(X, y)
        assert [each.filename for each in caught] == [__file__]
        with warnings.catch_warnings():
            warnings.simplefilter("error", DependentRowsWarning)
            clone(model).fit(X, y, groups=None)
            clone(model).fit(X, y, groups=patient)
            clone(model).set_params(bootstrap=False).fit(X, y)
            clone(model).fit(X, y, groups=None).grow_more(2)
    with pytest.warns(DependentRowsWarning):
        RandomSurvivalForest(2).fit(X, (np.ones(len(X), dtype=bool), np.exp(X[:, 0])))
    with pytest.warns(DependentRowsWarning):
        RandomForestClassifier(2).partial_fit(X, y, classes=[0, 1])


def test_the_warning_can_be_pickled():
    warning = DependentRowsWarning(["some rows are equal"], "patient")
    again = pickle.loads(pickle.dumps(warning))
    assert str(again) == str(warning)
    assert (again.findings, again.column) == (warning.findings, "patient")
