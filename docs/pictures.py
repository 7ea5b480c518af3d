"""Figures of the README and of these pages, drawn from data that scikit-learn ships.

``python docs/pictures.py [FOLDER]`` draws them; a test draws them again and compares (`differs`).
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("agg")

import numpy as np
from matplotlib import pyplot
from PIL import Image
from sklearn.datasets import load_breast_cancer, load_iris, load_wine, make_friedman1

sys.path.insert(0, str(Path(__file__).parent))
import results

from hedgerow import DecisionTreeClassifier, DecisionTreeRegressor, RandomForestClassifier, plot
from hedgerow.criteria import BeliefVariance

IMAGES = Path(__file__).parent / "images"
#: Sizes of the same picture may differ by this share, because fonts do.
SAME_SIZE = 0.05
#: Colours of hedgerow, of peers, and of a second figure of hedgerow.
OURS, PEER, SECOND = "#0072b2", "#8c8c8c", "#56b4e9"
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


def draw_trees(folder: Path) -> None:
    """Save the chart of the README: log-loss of mixed and random forests, compared with scikit-learn's forest."""
    found = results.load()["mixed forests"]["figures"]
    named = {
        **{f"mixed forest, {number}": f"hedgerow, mixed forest, {number} trees" for number in (600, 300, 100, 50)},
        **{f"forest, {number}": f"hedgerow, random forest, {number} trees" for number in (300, 100)},
        "sklearn, 300": "scikit-learn, random forest, 300 trees",
    }
    figure, axes = pyplot.subplots(figsize=(8, 2.6), layout="constrained")
    losses = [found[name]["log-loss"] for name in named]
    colours = [OURS if "mixed" in title else SECOND if "hedgerow" in title else PEER for title in named.values()]
    dots(axes, list(named.values()), losses, colours)
    axes.axvline(0, color="black", linewidth=1, linestyle="--")
    axes.set_xlabel(
        "log-loss minus that of scikit-learn's forest of 100 trees, ± 1 SE over sets (left is better)", x=0.35
    )
    figure.savefig(folder / "trees.png", dpi=100)
    pyplot.close(figure)


def draw_log_loss(folder: Path) -> None:
    """Save the chart of log-loss of forests and boosting, compared with scikit-learn's forest."""
    found = results.load()["probabilities"]["figures"]
    named = {
        "extra trees": "hedgerow, extra trees with a bootstrap",
        "forest": "hedgerow, random forest",
        "CatBoost": "CatBoost",
        "sklearn isotonic": "scikit-learn, isotonic calibration",
        "LightGBM": "LightGBM",
        "sklearn boosting": "HistGradientBoosting",
    }
    figure, axes = pyplot.subplots(figsize=(8, 2.4), layout="constrained")
    losses = [found[name]["log-loss"] for name in named]
    colours = [OURS if "hedgerow" in title else PEER for title in named.values()]
    dots(axes, list(named.values()), losses, colours)
    axes.axvline(0, color="black", linewidth=1, linestyle="--")
    axes.set_xlabel("log-loss minus that of scikit-learn's forest, ± 1 SE over sets (left is better)", x=0.35)
    figure.savefig(folder / "log-loss.png", dpi=100)
    pyplot.close(figure)


def draw_intervals(folder: Path) -> None:
    """Save interval scores and coverages of regression intervals."""
    found = results.load()["intervals"]["figures"]
    peers = {"quantile-forest": "quantile-forest", "MAPIE CQR": "MAPIE, CQR", "crepes": "crepes, out of bag"}
    figure, (left, right) = pyplot.subplots(1, 2, figsize=(8, 2.2), layout="constrained")
    dots(
        left,
        list(peers.values()),
        [found[f"forest, compared with {name}"]["interval score"] for name in peers],
        [PEER] * 3,
    )
    left.axvline(1, color="black", linewidth=1, linestyle="--")
    left.set(xlabel="interval score, hedgerow ÷ peer")
    names = {"forest": "hedgerow"} | peers
    dots(right, list(names.values()), [found[name]["coverage"] for name in names], [OURS, PEER, PEER, PEER])
    right.axvline(0.9, color="black", linewidth=1, linestyle="--")
    right.set(xlabel="coverage of 90% intervals")
    figure.savefig(folder / "intervals.png", dpi=100)
    pyplot.close(figure)


def draw_risk(folder: Path) -> None:
    """Save how often targets of risk control are met, and how many rows are decided."""
    found = results.load()["risk"]["figures"]
    named = {
        "Risk": "hedgerow, Risk",
        "MAPIE, the same probabilities": "MAPIE, default",
        "MAPIE in a fixed sequence, the same probabilities": "MAPIE, fixed sequence",
        "Risk, out of bag": "hedgerow, Risk out of bag",
    }
    figure, (left, right) = pyplot.subplots(1, 2, figsize=(8, 2.2), layout="constrained", sharey=True)
    colours = [OURS if "hedgerow" in title else PEER for title in named.values()]
    for axes, key in ((left, "kept"), (right, "decided")):
        shares = [{name: 100 * value for name, value in found[way][key].items()} for way in named]
        dots(axes, list(named.values()), shares, colours)
    left.axvline(95, color="black", linewidth=1, linestyle="--")
    left.set(xlabel="calibrations that meet the target (%); at least 95", xlim=(93, 101))
    right.set(xlabel="rows decided (%)", xlim=(60, 72))
    figure.savefig(folder / "risk.png", dpi=100)
    pyplot.close(figure)


def draw_novelty(folder: Path) -> None:
    """Save AUROC of rows of a class missing from training."""
    found = results.load()["novelty"]["figures"]
    named = {
        "hulls": "predict_novelty",
        "5 nearest neighbours": "5 nearest neighbours",
        "local outlier factor": "local outlier factor",
        "entropy of scikit-learn's forest": "entropy of scikit-learn's forest",
        "isolation forest": "isolation forest",
    }
    figure, axes = pyplot.subplots(figsize=(8, 2.8), layout="constrained")
    pairs = {"six sets not used for tuning": "others", "six sets used for tuning": "used for tuning"}
    series = {title: [found[key][name] for name in named] for title, key in pairs.items()}
    bars(axes, list(named.values()), series, (OURS, SECOND), "lower right")
    axes.set(xlabel="mean AUROC of rows of a class missing from training (0.5: chance)", xlim=(0.5, 0.9))
    figure.savefig(folder / "novelty.png", dpi=100)
    pyplot.close(figure)


def draw_unseen(folder: Path) -> None:
    """Save the error of decisions about rows with out-of-support values."""
    found = results.load()["unseen"]["figures"]
    named = {
        "as they are": "unchanged",
        "middling feature hidden": "middling feature hidden",
        "quarter hidden": "a quarter of the features hidden",
        "best feature hidden": "most important feature hidden",
        "best one far off": "most important number far off",
        "blank": "blank (default: none decided)",
    }
    figure, axes = pyplot.subplots(figsize=(8, 3.2), layout="constrained")
    policies = {'unseen="shares", the default': "shares", 'unseen="larger", as scikit-learn': "larger"}
    errors = {
        title: [100 * found[name][policy].get("error", 0) for name in named] for title, policy in policies.items()
    }
    bars(axes, list(named.values()), errors, (OURS, PEER), "upper right")
    axes.set(xlabel="wrong among decided rows (%)")
    figure.savefig(folder / "unseen.png", dpi=100)
    pyplot.close(figure)


def draw_leaves(folder: Path) -> None:
    """Save the leaves and errors of regression trees by the share of variance in their criterion."""
    rng = np.random.default_rng(0)
    noise = rng.uniform(size=(1200, 5)), rng.normal(size=1200)
    named = {"pure noise": noise, "Friedman's function": make_friedman1(1200, noise=1.0, random_state=0)}
    shares = np.linspace(0.05, 1, 20)
    figure, (left, right) = pyplot.subplots(1, 2, figsize=(8, 2.8), layout="constrained")
    for (title, (X, y)), colour in zip(named.items(), (PEER, OURS), strict=True):
        for caution, style in ((1.0, "--"), (0.03, "-")):
            trees = [
                DecisionTreeRegressor(criterion=BeliefVariance(lam, caution), random_state=0).fit(X[:200], y[:200])
                for lam in shares
            ]
            cart = DecisionTreeRegressor(random_state=0).fit(X[:200], y[:200])
            errors = [float(np.mean((tree.predict(X[200:]) - y[200:]) ** 2)) for tree in (*trees, cart)]
            left.plot(shares, [tree.get_n_leaves() for tree in trees], style, color=colour)
            named_line = f"{title}, s = {caution:g}"
            right.plot(shares, np.array(errors[:-1]) / errors[-1], style, color=colour, label=named_line)
    left.set(xlabel="share of variance (lam)", ylabel="leaves of 200 rows", yscale="log")
    right.axhline(1, color="black", linewidth=1, linestyle=":")
    right.set(xlabel="share of variance (lam)", ylabel="squared error ÷ CART's")
    right.legend(fontsize="small", loc="upper right")
    figure.savefig(folder / "leaves.png", dpi=100)
    pyplot.close(figure)


def dots(axes: Any, names: list[str], figures: list[dict[str, float]], colours: list[str]) -> None:
    """Draw a dot with its standard error in each line."""
    for place, (figure, colour) in enumerate(zip(figures, colours, strict=True)):
        error = figure.get("error")
        axes.errorbar(figure["value"], place, xerr=error, fmt="o", color=colour, capsize=3, markersize=6)
    axes.set(yticks=range(len(names)), ylim=(len(names) - 0.5, -0.5))
    axes.set_yticklabels(names)
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(axis="x", color="#e5e5e5")
    axes.set_axisbelow(True)


def bars(axes: Any, names: list[str], series: dict[str, list[float]], colours: tuple[str, ...], place: str) -> None:
    """Draw two bars in each line, with a legend."""
    for number, ((title, values), colour) in enumerate(zip(series.items(), colours, strict=True)):
        axes.barh(np.arange(len(names)) + (number - 0.5) * 0.38, values, height=0.36, color=colour, label=title)
    axes.set(yticks=range(len(names)), ylim=(len(names) - 0.5, -0.5))
    axes.set_yticklabels(names)
    axes.legend(frameon=False, loc=place, fontsize="small")
    axes.spines[["top", "right"]].set_visible(False)


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
    for draw in (draw_trees, draw_log_loss, draw_risk, draw_novelty, draw_unseen, draw_intervals, draw_leaves):
        draw(folder)
    if found := shutil.which("chromium"):
        draw_report(folder, found)
    else:
        print("no Chromium: the picture of the report stays as it is")
