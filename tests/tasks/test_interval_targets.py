"""Targets that are intervals: masses, bounds and intervals that hold for every value inside."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.model_selection import cross_val_predict

import hedgerow
from hedgerow import DecisionTreeRegressor, ExtraTreesRegressor, RandomForestClassifier, RandomForestRegressor
from hedgerow.inference.fitted import fitted_of
from hedgerow.labels import IntervalTargets, from_intervals

Floats = NDArray[np.float64]


def table(n_rows: int = 120, seed: int = 0) -> tuple[Floats, Floats, IntervalTargets]:
    """Rows, true targets, and intervals that contain them; every third target is known."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, size=(n_rows, 3))
    y = 3 * X[:, 0] + rng.normal(size=n_rows)
    below, above = rng.uniform(0, 2, size=(2, n_rows)) * (np.arange(n_rows) % 3 > 0)
    return X, y, from_intervals(y - below, y + above)


X, TRUE, Y = table()
OPTIONS: dict[str, Any] = {"min_samples_leaf": 3, "caution": 1.5, "random_state": 0}
FOREST = RandomForestRegressor(12, **OPTIONS).fit(X, Y)
LEAVES = FOREST.apply(X)
TIMES = [fitted_of(FOREST).rows.bags.times(tree) for tree in range(12)]  # type: ignore[union-attr]


def rows_of(row: int) -> list[NDArray[np.int64]]:
    """The training rows in the leaf of each tree, one by one."""
    return [np.repeat(np.flatnonzero(at == at[row]), t[at == at[row]]) for at, t in zip(LEAVES.T, TIMES, strict=True)]


def expected_bounds(row: int) -> Floats:
    found = []
    for rows in rows_of(row):
        n = len(rows)
        found.append(
            [
                (Y.low[rows].sum() + 1.5 * Y.low.min()) / (n + 1.5),
                (Y.high[rows].sum() + 1.5 * Y.high.max()) / (n + 1.5),
            ]
        )
    return np.mean(found, axis=0)


@pytest.mark.parametrize("row", [0, 17, 63, 119])
def test_masses_of_the_intervals(row: int) -> None:
    """m([l_i, u_i]) = 1 / (n + s) and m([a, b]) = s / (n + s): bounds of the mean, belief and plausibility."""
    assert FOREST.predict_bounds(X[row][None])[0] == pytest.approx(expected_bounds(row))
    low, high = -0.5, 1.7
    belief, plausible = [], []
    for rows in rows_of(row):
        ends = [*zip(Y.low[rows], Y.high[rows], strict=True)]
        belief.append(sum(low <= a and b <= high for a, b in ends) / (len(ends) + 1.5))
        plausible.append((sum(a <= high and low <= b for a, b in ends) + 1.5) / (len(ends) + 1.5))
    assert FOREST.predict_belief(X[row][None], (low, high))[0] == pytest.approx([np.mean(belief), np.mean(plausible)])


def test_bounds_hold_for_every_value_inside() -> None:
    """With the same splits, the prediction for any values in the intervals lies within the bounds without caution."""
    bounds = FOREST.set_params(caution=0).predict_bounds(X)
    FOREST.set_params(caution=1.5)
    rng = np.random.default_rng(3)
    for _ in range(20):
        drawn = rng.uniform(Y.low, Y.high)
        means = np.mean([[drawn[rows].mean() for rows in rows_of(row)] for row in range(0, 120, 10)], axis=1)
        assert (bounds[::10, 0] - 1e-9 <= means).all()
        assert (means <= bounds[::10, 1] + 1e-9).all()


def test_predictions_are_those_of_the_midpoints() -> None:
    middles = RandomForestRegressor(12, **OPTIONS).fit(X, Y.middle)
    assert FOREST.predict(X).tolist() == middles.predict(X).tolist()


@pytest.mark.parametrize("kind", [DecisionTreeRegressor, RandomForestRegressor])
def test_certain_targets_give_the_same_bits(kind: Any, tmp_path: Any) -> None:
    plain, known = (kind(**OPTIONS).fit(X, y) for y in (TRUE, from_intervals(TRUE, TRUE)))
    for name, model in (("plain", plain), ("known", known)):
        hedgerow.save(model, tmp_path / name)
    assert (tmp_path / "plain").read_bytes() == (tmp_path / "known").read_bytes()
    assert plain.predict_bounds(X).tolist() == known.predict_bounds(X).tolist()
    assert plain.predict_belief(X, (0, 1)).tolist() == known.predict_belief(X, (0, 1)).tolist()
    assert fitted_of(known).forest.halves is None


@pytest.mark.parametrize("method", ["scaled", "jackknife+"])
def test_intervals_cover_whole_targets(method: str) -> None:
    """Over 30 tables, at least the requested share of intervals [l, u] lies within the predicted ones."""
    found = []
    for seed in range(30):
        X, _, y = table(100, seed)
        fresh, _, later = table(300, 1000 + seed)
        ends = RandomForestRegressor(60, min_samples_leaf=3, random_state=seed).fit(X, y)
        ends = ends.predict_interval(fresh, 0.8, method=method)
        found.append(((ends[:, 0] <= later.low) & (later.high <= ends[:, 1])).mean())
    assert np.mean(found) > 0.8 - 3 * np.std(found, ddof=1) / np.sqrt(30)
    assert np.mean(found) < 0.92


def test_wider_intervals_widen_bounds() -> None:
    wider = from_intervals(Y.low - 1, Y.high + 1)
    bounds, wide = (RandomForestRegressor(12, **OPTIONS).fit(X, y).predict_bounds(X) for y in (Y, wider))
    assert (wide[:, 0] < bounds[:, 0]).all()
    assert (wide[:, 1] > bounds[:, 1]).all()


def test_files_keep_the_intervals(tmp_path: Any) -> None:
    forest = RandomForestRegressor(12, leaf_rows=True, **OPTIONS).fit(X, Y)
    hedgerow.save(forest, tmp_path / "m.hedge")
    loaded = hedgerow.load(tmp_path / "m.hedge")
    for ask in (
        lambda model: model.predict_bounds(X),
        lambda model: model.predict_belief(X, (0, 1)),
        lambda model: model.predict_interval(X),
    ):
        assert ask(loaded).tolist() == ask(forest).tolist()
    assert np.mean([tree.predict_bounds(X) for tree in loaded.estimators_], axis=0) == pytest.approx(
        loaded.predict_bounds(X)
    )


def test_weights_belief_and_merging() -> None:
    weights = np.random.default_rng(1).integers(1, 4, 120).astype(float)
    tree = DecisionTreeRegressor(max_depth=1, caution=0).fit(X, Y, weights)
    at = tree.apply(X) == tree.apply(X[:1])
    expected = [np.average(end[at], weights=weights[at]) for end in (Y.low, Y.high)]
    assert tree.predict_bounds(X[:1])[0] == pytest.approx(expected)
    belief = ExtraTreesRegressor(5, criterion="belief", random_state=0).fit(X, Y)
    assert belief.criterion_.low == Y.low.min()
    pruned = DecisionTreeRegressor(caution=0, ccp_alpha=1e9).fit(X, Y)
    assert pruned.predict_bounds(X[:1])[0] == pytest.approx([Y.low.mean(), Y.high.mean()])


def test_scikit_learn_indexes_them() -> None:
    found = cross_val_predict(DecisionTreeRegressor(max_depth=2), X, Y, cv=3)
    assert found.shape == (120,)
    assert Y[3] == (Y.low[3], Y.high[3])
    assert len(Y[[]]) == 0
    assert list(Y[:2]) == [Y[0], Y[1]]
    assert repr(Y) == "IntervalTargets(120 rows, 40 certain)"


def test_what_does_not_support_them() -> None:
    with pytest.raises(ValueError, match="criterion must be 'squared_error' or 'belief'"):
        DecisionTreeRegressor(criterion="absolute_error").fit(X, Y)
    for ask in (
        lambda: FOREST.predict_quantiles(X),
        lambda: FOREST.predict_distribution(X),
        lambda: FOREST.quantile_ranks(X, TRUE),
    ):
        with pytest.raises(ValueError, match="requires targets that are numbers"):
            ask()
    with pytest.raises(ValueError, match="partial_fit does not support"):
        RandomForestRegressor(3).fit(X, Y).partial_fit(X, TRUE)
    with pytest.raises(ValueError, match="Use a regressor"):
        RandomForestClassifier(3).fit(X, Y)
    with pytest.raises(ValueError, match="low must be at most high"):
        from_intervals([1.0], [0.0])
    with pytest.raises(ValueError, match="same shape"):
        from_intervals([1.0], [0.0, 1.0])
