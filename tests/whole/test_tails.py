"""Tails: forests of long tables see what is rare, and `max_bins` chooses how finely columns are cut."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import hedgerow
from hedgerow import RandomForestClassifier, RandomForestRegressor
from hedgerow.inference.fitted import fitted_of

Floats = NDArray[np.float64]


def heavy(n_rows: int, seed: int) -> tuple[Floats, Floats]:
    """Six columns, three of them with heavy tails, and their sum."""
    X = np.random.default_rng(seed).normal(size=(n_rows, 6))
    X[:, :3] = np.exp(1.5 * X[:, :3])
    return X, X.sum(axis=1)


@pytest.mark.parametrize("max_bins", ["auto", 1000])
@pytest.mark.parametrize("quantile", [0.99, 0.998, 0.002])
def test_a_class_in_the_tail_of_a_column_is_found(quantile: float, max_bins: Any) -> None:
    X = np.random.default_rng(3).normal(size=(60_000, 5))
    cut = np.quantile(X[:, 2], quantile)
    y = X[:, 2] < cut if quantile < 0.5 else X[:, 2] > cut
    forest = RandomForestClassifier(20, max_bins=max_bins, random_state=0).fit(X[:20_000], y[:20_000])
    found, truth = forest.predict(X[20_000:]), y[20_000:]
    # 255 bins of equal size find half of them, or less, with as many false alarms.
    assert (found & truth).sum() >= 0.94 * truth.sum()
    assert (found & ~truth).sum() <= 0.04 * truth.sum()


def test_more_rows_do_not_make_a_regression_on_heavy_tails_worse() -> None:
    X, y = heavy(20_000, 0)
    fresh = heavy(10_000, 1)
    few = RandomForestRegressor(10, random_state=0).fit(X[:4_096], y[:4_096]).score(*fresh)
    binned, exact = (RandomForestRegressor(10, max_bins=m, random_state=0).fit(X, y).score(*fresh) for m in (255, None))
    assert binned > few
    assert binned > exact - 0.005  # bins of equal size lose 0.1 and more


def test_the_number_of_bins_is_what_was_asked_for() -> None:
    X, y = heavy(6_000, 0)
    for max_bins, n_bins in (("auto", 255), (255, 255), (300, 300), (5_000, 5_000), (None, 6_000)):
        forest = RandomForestRegressor(2, max_bins=max_bins, random_state=0).fit(X, y)
        assert fitted_of(forest).bins.n_bins.max() == n_bins
        assert np.array_equal(hedgerow.load(io.BytesIO(saved(forest))).predict(X), forest.predict(X))


def test_a_short_table_is_exact_unless_fewer_bins_are_asked_for() -> None:
    X, y = heavy(4_096, 0)
    auto, exact, few = (RandomForestRegressor(2, max_bins=m, random_state=0).fit(X, y) for m in ("auto", None, 255))
    assert auto.forest_.arrays()["nodes"].tobytes() == exact.forest_.arrays()["nodes"].tobytes()
    assert fitted_of(few).bins.n_bins.max() == 255


def test_forests_with_other_bins_merge_and_answer_as_before() -> None:
    X, y = heavy(5_000, 0)
    parts = [RandomForestRegressor(3, max_bins=m, random_state=s).fit(X, y) for s, m in enumerate((255, 2_000))]
    both = hedgerow.merge(*parts)
    np.testing.assert_allclose(both.predict(X), np.mean([part.predict(X) for part in parts], axis=0))


@pytest.mark.parametrize("max_bins", [0, 254, 65_536, 300.0, "all", True])
def test_other_numbers_of_bins_are_refused(max_bins: Any) -> None:
    with pytest.raises(ValueError, match="max_bins must be an int from 255 to 65535, 'auto' or None, got"):
        RandomForestClassifier(2, max_bins=max_bins).fit([[0.0], [1.0]], [0, 1])


def saved(model: Any) -> bytes:
    """A model file, in memory."""
    buffer = io.BytesIO()
    hedgerow.save(model, buffer)
    return buffer.getvalue()
