"""Displays draw what the forest says: numbers are read back from the pictures."""

from __future__ import annotations

import itertools
import sys

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_iris

import hedgerow
from hedgerow import DecisionTreeClassifier, RandomForestClassifier, RandomSurvivalForest, metrics, plot
from hedgerow.decisions import reachable
from hedgerow.explain import Importance
from hedgerow.plot.proximity import classical_scaling
from hedgerow.plot.ternary import credal_polygon


@pytest.fixture(scope="module")
def cancer():
    X, y = load_breast_cancer(return_X_y=True)
    forest = RandomForestClassifier(30, caution=2.0, random_state=0).fit(X[::2], y[::2])
    return forest, X[1::2], y[1::2]


@pytest.fixture(scope="module")
def iris():
    X, y = load_iris(return_X_y=True)
    return RandomForestClassifier(30, caution=2.0, random_state=0).fit(X[::2], y[::2]), X[1::2], y[1::2]


def drawn_by(cancer):
    """Every display, drawn on given axes by both ways."""
    forest, X, y = cancer
    opinion = forest.evidence(X[:4]).combine()
    labels = forest.predict(X)
    three = np.full((2, 3), 0.2), np.full((2, 3), 0.6)
    counts = forest.evidence(X[:1]).counts[0]
    yield lambda ax: plot.IntervalDisplay.from_estimator(forest, X[:4], ax=ax)
    yield lambda ax: plot.IntervalDisplay.from_predictions(opinion.lower, opinion.upper, ax=ax)
    yield lambda ax: plot.TernaryDisplay.from_predictions(*three, ax=ax)
    yield lambda ax: plot.RiskCoverageDisplay.from_estimator(forest, X, y, ax=ax)
    yield lambda ax: plot.RiskCoverageDisplay.from_predictions(y, labels, np.ones(len(y)), ax=ax)
    yield lambda ax: plot.CautionPathDisplay.from_estimator(forest, X, y, cautions=[0, 1, 2], ax=ax)
    yield lambda ax: plot.CautionPathDisplay.from_estimator(forest, X[:1], cautions=[0, 1, 2], ax=ax)
    yield lambda ax: plot.CautionPathDisplay.from_predictions([0, 1], bands={"a": [[0, 1], [0.2, 0.8]]}, ax=ax)
    yield lambda ax: plot.LeafEvidenceDisplay.from_estimator(forest, X[:1], ax=ax)
    yield lambda ax: plot.LeafEvidenceDisplay.from_predictions(counts, ax=ax)
    yield lambda ax: plot.LeafEvidenceDisplay.from_predictions(counts[:1], ax=ax)
    yield lambda ax: plot.ImportanceDisplay.from_estimator(forest, ax=ax)
    yield lambda ax: plot.ImportanceDisplay.from_predictions([1.0, 2.0], ax=ax)
    yield lambda ax: plot.ProximityMapDisplay.from_estimator(forest, X[:60], y[:60], ax=ax)
    yield lambda ax: plot.ProximityMapDisplay.from_predictions(np.eye(3), ax=ax)
    survival = RandomSurvivalForest(5, random_state=0).fit(X, np.column_stack([X[:, 0], y]))
    yield lambda ax: plot.SurvivalDisplay.from_estimator(survival, X[:3], ax=ax)
    yield lambda ax: plot.SurvivalDisplay.from_predictions([0, 1], [[1.0, 0.5]], ax=ax)
    yield lambda ax: plot.TreeDisplay.from_estimator(forest, max_depth=2, ax=ax)
    yield lambda ax: plot.TreeDisplay.from_predictions(forest.trees_[1], max_depth=1, ax=ax)


def test_displays_draw_on_given_axes_or_make_their_own(cancer):
    from matplotlib import pyplot

    for make in drawn_by(cancer):
        _, ax = pyplot.subplots()
        before = set(pyplot.get_fignums())
        display = make(ax)
        assert display.ax_ is ax
        assert display.figure_ is ax.figure
        assert set(pyplot.get_fignums()) == before
        again = display.plot()
        assert again is display
        assert display.ax_ is not ax
        display.figure_.canvas.draw()
        pyplot.close("all")


def test_every_display_is_drawn_in_these_tests(cancer):
    assert {type(make(None)).__name__ for make in drawn_by(cancer)} == set(plot.__all__)


def test_without_matplotlib_the_error_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(ImportError, match="pip install matplotlib"):
        plot.ImportanceDisplay.from_predictions([1.0])


def test_bars_are_the_bounds_and_pale_where_ruled_out(cancer):
    forest, X, _ = cancer
    display = plot.IntervalDisplay.from_estimator(forest, X[:5], names=list("abcde"))
    bars = [bar for bar in display.ax_.patches if bar.get_height() > 0.5]
    found = np.array([[bar.get_x(), bar.get_x() + bar.get_width()] for bar in bars]).reshape(5, 2, 2)
    np.testing.assert_allclose(found, forest.predict_bounds(X[:5]), rtol=0, atol=1e-12)
    pale = np.array([bar.get_alpha() < 1 for bar in bars]).reshape(5, 2)
    assert (pale == ~forest.predict_set(X[:5])).all()
    assert [label.get_text() for label in display.ax_.get_yticklabels()] == list("abcde")


@pytest.mark.parametrize("seed", range(5))
def test_credal_polygon_holds_exactly_the_distributions_between_the_bounds(seed):
    draw = np.random.default_rng(seed)
    middle = draw.dirichlet([2, 2, 2])
    lower, upper = reachable(middle - draw.uniform(0, middle), np.minimum(middle + draw.uniform(0, 0.4, 3), 1))
    corners = credal_polygon(lower, upper)
    np.testing.assert_allclose(corners.sum(axis=1), 1, atol=1e-8)
    assert ((corners >= lower - 1e-8) & (corners <= upper + 1e-8)).all()
    points = draw.dirichlet([1, 1, 1], 2000)
    inside = ((points >= lower) & (points <= upper)).all(axis=1)
    flat, edges = points[:, :2], corners[:, :2]
    turns = [
        np.sign((b[0] - a[0]) * (flat[:, 1] - a[1]) - (b[1] - a[1]) * (flat[:, 0] - a[0]))
        for a, b in itertools.pairwise([*edges, edges[0]])
    ]
    same_side = np.abs(np.sum(turns, axis=0)) == len(edges)
    assert (same_side == inside).mean() > 0.998  # points on an edge may fall on either side by rounding


def test_risk_curve_is_that_of_the_metrics_and_its_point_that_of_the_sets(cancer):
    forest, X, y = cancer
    display = plot.RiskCoverageDisplay.from_estimator(forest, X, y, confidence="probability")
    probability = forest.predict_proba(X)
    curve = metrics.risk_coverage_curve(y, forest.predict(X), probability.max(axis=1))
    np.testing.assert_array_equal(display.line_.get_ydata(), curve.risk)
    sets = forest.predict_set(X)
    accuracy = metrics.single_set_accuracy(y, sets)
    assert display.point == pytest.approx((metrics.determinacy(y, sets), 1 - accuracy))


def test_caution_path_is_what_refitting_nothing_gives(cancer):
    forest, X, y = cancer
    display = plot.CautionPathDisplay.from_estimator(forest, X, y, cautions=[0.0, 2.0, 7.0])
    for number, caution in enumerate((0.0, 2.0, 7.0)):
        sets = hedgerow.decide(forest.evidence(X).combine(caution=caution))
        assert display.lines["u65"][number] == pytest.approx(metrics.u65(y, sets))
        assert display.lines["decided"][number] == pytest.approx(metrics.determinacy(y, sets))
    one = plot.CautionPathDisplay.from_estimator(forest, X[:1], cautions=[0.0, 2.0])
    np.testing.assert_allclose(one.bands["1"][1], forest.predict_bounds(X[:1])[0, 1])


def test_leaf_lines_are_the_intervals_of_the_trees(cancer):
    forest, X, _ = cancer
    display = plot.LeafEvidenceDisplay.from_estimator(forest, X[:1], of=1)
    counts = forest.evidence(X[:1]).counts[0]
    lengths = sorted(segment[1, 0] - segment[0, 0] for segment in display.ax_.collections[0].get_segments())
    np.testing.assert_allclose(lengths, sorted(2.0 / (counts.sum(axis=1) + 2.0)), atol=1e-12)
    assert "probability of 1" in display.ax_.get_xlabel()


def test_survival_curves_and_bands_are_those_of_the_forest(cancer):
    _, X, y = cancer
    forest = RandomSurvivalForest(5, random_state=0).fit(X, np.column_stack([X[:, 0], y]))
    display = plot.SurvivalDisplay.from_estimator(forest, X[:2], names=["a", "b"])
    curves, bounds = forest.predict_survival_function(X[:2]), forest.predict_bounds(X[:2])
    for row, (line, band) in enumerate(zip(display.ax_.lines, display.ax_.collections, strict=True)):
        np.testing.assert_array_equal(line.get_xdata()[1:], forest.event_times_)
        np.testing.assert_array_equal(line.get_ydata()[1:], curves[row])
        assert line.get_drawstyle() == "steps-post"
        heights = band.get_paths()[0].vertices[:, 1]
        assert set(bounds[row].ravel()) <= set(heights.tolist())
    assert [text.get_text() for text in display.ax_.get_legend().get_texts()] == ["a", "b"]


def test_importances_take_the_error_of_what_they_are_given(cancer):
    from sklearn.inspection import permutation_importance

    forest, X, y = cancer
    found = permutation_importance(forest, X[:80], y[:80], n_repeats=2, random_state=0)
    display = plot.ImportanceDisplay.from_predictions(found, most=5)
    np.testing.assert_array_equal(display.importance, found.importances_mean)
    np.testing.assert_array_equal(display.error, found.importances_std)
    widths = [bar.get_width() for bar in display.ax_.patches]
    assert widths == sorted(found.importances_mean, reverse=True)[:5]
    trees = Importance(np.array([[1.0, 2.0], [3.0, 2.0], [2.0, 2.0], [2.0, 2.0]]))
    own = plot.ImportanceDisplay.from_predictions(trees)
    assert own.importance.tolist() == [2.0, 2.0]
    np.testing.assert_allclose(own.error, [np.sqrt(2 / 3), 0.0])
    drawn = plot.ImportanceDisplay.from_estimator(forest)
    np.testing.assert_allclose(drawn.importance / drawn.importance.sum(), forest.feature_importances_, atol=1e-12)


def test_map_of_points_in_a_plane_keeps_their_distances():
    points = np.random.default_rng(0).normal(size=(30, 2))
    squared = ((points[:, None] - points[None]) ** 2).sum(axis=2)
    places, kept = classical_scaling(squared)
    np.testing.assert_allclose(((places[:, None] - places[None]) ** 2).sum(axis=2), squared, atol=1e-9)
    assert kept == pytest.approx(1.0)


def test_boxes_of_a_tree_do_not_overlap_and_hold_their_words(iris):
    _, X, y = iris
    names = ["setosa", "versicolor", "virginica"]
    tree = DecisionTreeClassifier(random_state=0).fit(X, np.array(names)[y])
    display = plot.TreeDisplay.from_estimator(tree, max_depth=None, caution=1.0)
    display.figure_.canvas.draw()
    boxes = list(display.boxes_.values())
    for a, b in itertools.combinations(boxes, 2):
        apart = abs(a.x - b.x) >= (a.width + b.width) / 2 or a.y + a.height <= b.y or b.y + b.height <= a.y
        assert apart
    letters = [
        patch for patch in display.ax_.patches if type(patch).__name__ == "PathPatch" and patch.get_zorder() == 4
    ]
    to_data = display.ax_.transData.inverted()
    for patch in letters:
        (left, _), (right, _) = to_data.transform(patch.get_window_extent().get_points())
        assert any(box.x - box.width / 2 - 1 <= left and right <= box.x + box.width / 2 + 1 for box in boxes)


@pytest.mark.parametrize("name", ["ImportanceDisplay", "IntervalDisplay"])
def test_labels_do_not_overlap(cancer, name):
    forest, X, _ = cancer
    display = (
        plot.ImportanceDisplay.from_estimator(forest)
        if name == "ImportanceDisplay"
        else plot.IntervalDisplay.from_estimator(
            forest, X[:12], names=[f"patient {row} $x$ of the ward" for row in range(12)]
        )
    )
    display.figure_.canvas.draw()
    spans = sorted((box.y0, box.y1) for box in (label.get_window_extent() for label in display.ax_.get_yticklabels()))
    assert all(above[0] >= below[1] for below, above in itertools.pairwise(spans))


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (lambda f, X, y: plot.TernaryDisplay.from_estimator(f, X[:2]), "lower and upper must have three classes"),
        (lambda f, X, y: plot.LeafEvidenceDisplay.from_estimator(f, X[:2]), "X must have one row, got 2"),
        (
            lambda f, X, y: plot.LeafEvidenceDisplay.from_estimator(f, X[:1], of=7),
            "of must be one of the classes \\[.*\\], got 7",
        ),
        (
            lambda f, X, y: plot.CautionPathDisplay.from_estimator(f, X[:3]),
            "X must have one row if y is not given, got 3",
        ),
        (lambda f, X, y: plot.RiskCoverageDisplay.from_estimator(f, X, y, confidence="much"), "confidence must be"),
        (
            lambda f, X, y: plot.IntervalDisplay.from_predictions([[0, 1]], [[1]]),
            "lower and upper must have the same shape",
        ),
        (
            lambda f, X, y: plot.IntervalDisplay.from_predictions([[0, 1]], [[1, 1]], classes=["a"]),
            "classes must have 2 names",
        ),
        (
            lambda f, X, y: plot.ImportanceDisplay.from_predictions([1.0], names=["a", "b"]),
            "names must have 1 names, one per feature",
        ),
        (lambda f, X, y: plot.SurvivalDisplay.from_predictions([1, 0], [[1, 1]]), "times must be a list of ascending"),
        (lambda f, X, y: plot.SurvivalDisplay.from_predictions([0, 1], [[1]]), "survival must have shape"),
        (lambda f, X, y: plot.SurvivalDisplay.from_predictions([0], [[1]], [[1]]), "must both be given"),
        (lambda f, X, y: plot.ProximityMapDisplay.from_predictions([[1, 0]]), "proximity must be a square table"),
    ],
)
def test_what_cannot_be_drawn_is_refused(cancer, wrong, message):
    with pytest.raises(ValueError, match=message):
        wrong(*cancer)
