"""Figures of the README and of these pages, drawn from data that scikit-learn ships.

``python docs/pictures.py [FOLDER]`` draws them; a test draws them again and compares (`differs`).
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from pathlib import Path

import matplotlib

matplotlib.use("agg")

import numpy as np
from matplotlib import pyplot
from PIL import Image
from sklearn.datasets import load_breast_cancer, load_iris, load_wine

from hedgerow import DecisionTreeClassifier, RandomForestClassifier, plot

IMAGES = Path(__file__).parent / "images"
#: Sizes of the same picture may differ by this share, because fonts do.
SAME_SIZE = 0.05
#: Test rows of `draw_abstention`, by position.
FIVE_PATIENTS = (56, 205, 47, 114, 189)


def draw_displays(folder: Path) -> None:
    """Six displays side by side, and a tree."""
    forest, X, y = patients()
    undecided = np.flatnonzero(forest.predict_set(X).sum(axis=1) > 1)
    _, axes = pyplot.subplots(2, 3, figsize=(17, 9.6), layout="constrained")
    few = X.iloc[[*undecided[:3], 0, 1]]
    plot.IntervalDisplay.from_estimator(forest, few, ax=axes[0, 0])
    plot.LeafEvidenceDisplay.from_estimator(forest, X.iloc[undecided[:1]], ax=axes[0, 1])
    plot.CautionPathDisplay.from_estimator(forest, X, y, ax=axes[0, 2])
    plot.ImportanceDisplay.from_estimator(forest, most=12, ax=axes[1, 0])
    plot.ProximityMapDisplay.from_estimator(forest, X, y, ax=axes[1, 1])
    wine = load_wine()
    noisy = wine.data + 0.8 * wine.data.std(axis=0) * np.random.default_rng(0).normal(size=wine.data.shape)
    other = RandomForestClassifier(100, caution=2, min_samples_leaf=3, random_state=0).fit(noisy[::2], wine.target[::2])
    plot.TernaryDisplay.from_estimator(other, noisy[1::4][:25], ax=axes[1, 2])
    axes[0, 0].figure.savefig(folder / "plots.png", dpi=65)
    iris = load_iris(as_frame=True)
    tree = DecisionTreeClassifier(max_depth=3, random_state=0).fit(iris.data, iris.target_names[iris.target])
    plot.TreeDisplay.from_estimator(tree, caution=1.0).figure_.savefig(folder / "tree.png", dpi=60)


def draw_abstention(folder: Path) -> None:
    """Save the figure of the README: intervals of five patients, and error against the share decided."""
    forest, X, y = halves()
    malignant = list(forest.classes_).index("malignant")
    bounds, sure = forest.predict_bounds(X)[:, malignant], forest.predict_proba(X)
    figure, (left, right) = pyplot.subplots(1, 2, figsize=(8, 3), width_ratios=(3, 2), layout="constrained")
    for place, row in enumerate(FIVE_PATIENTS):
        lower, upper = bounds[row]
        undecided = lower <= 0.5 <= upper
        colour = "#d55e00" if undecided else "#0072b2"
        left.plot([lower, upper], [place, place], color=colour, linewidth=9, solid_capstyle="butt")
        left.plot(sure[row, malignant], place, "|", color="white", markersize=9, markeredgewidth=2)
        words = "undecided" if undecided else forest.classes_[sure[row].argmax()]
        left.annotate(words, (upper, place), (8, 0), textcoords="offset points", va="center", color=colour)
    left.axvline(0.5, color="grey", linewidth=1, linestyle="--")
    left.set(xlim=(0, 1.15), ylim=(4.6, -0.6), xticks=(0, 0.25, 0.5, 0.75, 1), yticks=range(5))
    left.set_yticklabels([f"patient {X.index[row]}" for row in FIVE_PATIENTS])
    left.set_xlabel("lower and upper probability of malignant")
    wrong = forest.predict(X)[order := np.argsort(-sure.max(axis=1), kind="stable")] != y[order]
    decided = np.arange(1, len(y) + 1) / len(y)
    right.plot(100 * decided, 100 * np.cumsum(wrong) / np.arange(1, len(y) + 1), color="#0072b2")
    right.set(xlim=(70, 100.5), ylim=(0, None), xlabel="rows decided, surest first (%)", ylabel="wrong labels (%)")
    for axes in (left, right):
        axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(folder / "abstention.png", dpi=100)


def draw_report(folder: Path, chromium: str) -> None:
    """The report of the same forest, as a browser shows it."""
    from playwright.sync_api import sync_playwright

    forest, X, y = patients()
    with tempfile.TemporaryDirectory() as made, sync_playwright() as driver:
        page_file = forest.report(X, y, time_limit=60).save(Path(made) / "report.html")
        browser = driver.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--disable-gpu"])
        page = browser.new_page(viewport={"width": 1180, "height": 1500}, device_scale_factor=0.75)
        page.goto(page_file.as_uri())
        page.screenshot(path=folder / "report.png")
        browser.close()
    Image.open(folder / "report.png").quantize(96).save(folder / "report.png", optimize=True)


def patients() -> tuple[RandomForestClassifier, object, np.ndarray]:
    """A forest on half of the breast-cancer data, and the other half."""
    data = load_breast_cancer(as_frame=True)
    y = np.asarray(data.target_names)[data.target]
    forest = RandomForestClassifier(100, caution=2, max_features=3, random_state=0).fit(data.data[::2], y[::2])
    return forest, data.data[1::2].reset_index(drop=True), y[1::2]


def halves() -> tuple[RandomForestClassifier, object, np.ndarray]:
    """Fit the forest of the README, and return it with the rows it was not fitted to."""
    data = load_breast_cancer(as_frame=True)
    y = np.asarray(data.target_names)[data.target]
    return RandomForestClassifier(random_state=0).fit(data.data[:300], y[:300]), data.data[300:], y[300:]


def differs(one: Path, other: Path) -> float:
    """Two pictures -> how much they differ, 0 to 1, after fonts and edges have been blurred; 1 if their sizes do."""
    first, second = (Image.open(each).convert("L") for each in (one, other))
    if any(abs(a - b) > SAME_SIZE * a for a, b in zip(first.size, second.size, strict=True)):
        return 1.0
    small = [np.asarray(each.resize((64, 64), Image.Resampling.BOX), dtype=float) for each in (first, second)]
    return float(np.abs(small[0] - small[1]).mean() / 255)


if __name__ == "__main__":
    folder = Path(sys.argv[1]) if sys.argv[1:] else IMAGES
    folder.mkdir(exist_ok=True)
    draw_displays(folder)
    draw_abstention(folder)
    if found := shutil.which("chromium"):
        draw_report(folder, found)
    else:
        print("no Chromium: the picture of the report stays as it is")
