"""Bags of exactly so many rows: drawn again from the key, known out of bag, stored in files, refused in parts."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import chisquare
from tests.reference.draws import Bag

import hedgerow
from hedgerow import DecisionTreeClassifier, RandomForestClassifier, RandomForestRegressor, _core
from hedgerow.forest.rows import Bags, OobMask, Provenance, drawn_once
from hedgerow.inference.fitted import fitted_of
from hedgerow.params.resolve import resolve_settings


def table(n_rows: int = 150) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_rows, 4))
    return X, (X[:, 0] + 0.5 * rng.normal(size=n_rows) > 0).astype(int)


def forest(kind: Any = RandomForestClassifier, n_trees: int = 12, **given: Any) -> Any:
    return kind(n_trees, bootstrap="multinomial", random_state=3, **given)


@pytest.mark.parametrize("mean", [-1.0, -0.3, -8.0])
@pytest.mark.parametrize("n_rows", [1, 2, 30, 257])
def test_a_bag_holds_exactly_so_many_rows_as_its_twin(n_rows: int, mean: float) -> None:
    times = _core.bag(11, 4, n_rows, mean)
    assert times.tolist() == Bag(11, 4, n_rows, mean).multiplicities()
    assert times.sum() == max(1, round(-mean * n_rows))
    np.testing.assert_array_equal(_core.bag(11, 4, n_rows, mean, n_rows // 2, n_rows), times[n_rows // 2 :])


def test_rows_are_drawn_with_equal_chances() -> None:
    """Over many trees: every row equally often, and as often not at all as (1 - 1/n)^n says."""
    bags = Bags(5, -1.0, 40)
    drawn = np.stack([bags.times(tree) for tree in range(3000)])
    assert chisquare(drawn.sum(axis=0)).pvalue > 1e-3
    assert (drawn == 0).mean() == pytest.approx((1 - 1 / 40) ** 40, abs=0.005)
    assert bags.average == 1.0
    assert bags.exact
    assert not Bags(5, 1.0, 40).exact


def test_later_rows_have_poisson_draws_and_bags_cannot_be_continued() -> None:
    bags = Bags(5, -1.0, 40)
    assert 250 < bags.times(0, 40, 340).sum() < 350
    rows = np.array([3, 39, 30_000])
    expected = np.stack([bags.times(tree, 0, 30_001)[rows] == 0 for tree in range(3)], axis=1)
    np.testing.assert_array_equal(bags.oob_each(3, rows), expected)
    grown = Provenance(3, 0, 5, -1.0, "all", 40, 40, (20.0, 20.0))
    assert drawn_once(grown)
    assert not drawn_once(grown.after(np.zeros(2, dtype=np.int64)))


@pytest.mark.parametrize("max_samples", [None, 60, 0.5, 2.0])
def test_samples_of_trees_have_the_size_that_was_asked_for(max_samples: Any) -> None:
    X, y = table()
    sizes = {None: 150, 60: 60, 0.5: 75, 2.0: 300}
    for kind, target in ((RandomForestClassifier, y), (RandomForestRegressor, X[:, 0])):
        model = forest(kind, n_trees=4, max_samples=max_samples).fit(X, target)
        assert {len(each) for each in model.estimators_samples_} == {sizes[max_samples]}


def test_a_tree_is_that_of_its_bag() -> None:
    X, y = table()
    model = forest(n_trees=2, leaf_counts="inbag", max_features=None, calibration=None).fit(X, y)
    alone = DecisionTreeClassifier(random_state=0)
    for member, rows in zip(model.estimators_, model.estimators_samples_, strict=True):
        alone.fit(X[rows], y[rows])
        np.testing.assert_array_equal(member.predict(X[rows]), alone.predict(X[rows]))
        assert member.tree_.n_leaves == pytest.approx(alone.tree_.n_leaves, abs=2)


def test_out_of_bag_knows_the_bags_again() -> None:
    X, y = table()
    model = forest(oob_score=True, leaf_counts="inbag", calibration=None).fit(X, y)
    outside = np.stack([~np.isin(np.arange(150), rows) for rows in model.estimators_samples_], axis=1)
    rows = fitted_of(model).rows
    assert rows is not None
    np.testing.assert_array_equal(OobMask(rows.bags).table(12), outside)
    votes = np.stack([member.predict_proba(X)[:, 1] for member in model.estimators_], axis=1)
    judged = outside.any(axis=1)
    expected = np.where(outside, votes, 0).sum(axis=1)[judged] / outside.sum(axis=1)[judged]
    np.testing.assert_allclose(model.oob_decision_function_[judged, 1], expected, atol=1e-12)


def test_threads_and_the_number_of_trees_change_nothing() -> None:
    X, y = table()
    one, two = (forest(n_jobs=jobs).fit(X, y) for jobs in (1, 2))
    np.testing.assert_array_equal(one.predict_proba(X), two.predict_proba(X))
    few = forest(n_trees=5).fit(X, y)
    np.testing.assert_array_equal(few.forest_.nodes, one.forest_.nodes[: len(few.forest_.nodes)])
    other = RandomForestClassifier(12, random_state=3).fit(X, y)
    assert not np.array_equal(one.predict_proba(X), other.predict_proba(X))


def test_a_file_keeps_how_bags_were_drawn(tmp_path: Path) -> None:
    X, y = table()
    model = forest().fit(X, y)
    hedgerow.save(model, tmp_path / "model.hedgerow")
    again = hedgerow.load(tmp_path / "model.hedgerow")
    assert again.bootstrap == "multinomial"
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
    np.testing.assert_array_equal(again.predict_novelty(X), model.predict_novelty(X))
    for each in (model, again):
        each.partial_fit(X[:20] + 0.1, y[:20])
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))


def test_what_needs_bags_works() -> None:
    X, y = table()
    model = forest(n_trees=30, oob_score=True).fit(X, y)
    assert model.oob_score_ > 0.7
    assert np.isfinite(model.predict_variance(X)).all()
    assert hedgerow.explain.oob_permutation_importance(model).mean.argmax() == 0
    assert model.proximity(X[:5]).shape[0] == 5
    assert model.to_sklearn().bootstrap is True
    numbers = forest(RandomForestRegressor, n_trees=30).fit(X, X[:, 0])
    assert (numbers.predict_interval(X)[:, 0] <= numbers.predict(X)).all()
    assert np.isfinite(numbers.predict_variance(X).forest).all()


def test_another_word_is_refused() -> None:
    X, y = table()
    with pytest.raises(ValueError, match="bootstrap must be True, False or 'multinomial', got 'poisson'"):
        RandomForestClassifier(bootstrap="poisson").fit(X, y)


def test_parts_of_a_table_cannot_draw_it() -> None:
    settings = resolve_settings(forest(), 150, 4, None, 2)
    assert settings.bag_mean == -1.0
    assert settings.needs_all_rows == (
        "bootstrap must be True or False",
        "got 'multinomial': its draws depend on all rows",
    )
    assert replace(settings, bag_mean=1.0).needs_all_rows is None
