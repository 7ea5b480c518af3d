"""Claims of the paper, tested on the results."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from hedgerow.study.experiments.busch_2021.protocol import COLUMNS, LEAF_SIZES, PAPER
from hedgerow.study.experiments.busch_2021.scores import EVEN, NINE, UNEVEN, Floats, ScorePlace, Scores

SMALL, LARGE = (0, 1), (4, 5)  # positions of the leaf sizes 1, 2 ("very small") and 8, 32 ("large")
FIVE = ("Probability", "Laplace", "Plausibility", "Confidence Bounds", "EVA")
Clouds = dict[str, dict[int, tuple[Floats, Floats]]]


@dataclass(frozen=True)
class CheckedClaim:
    """A claim, whether it holds here, and the numbers.

    ``held`` is True, False, "tie" (it holds if near ties count as the best), or None (not testable here).
    """

    words: str
    section: str
    held: bool | str | None
    numbers: str


def check_claims(scores: Scores, clouds: Clouds) -> list[CheckedClaim]:
    """Return all claims of the paper, in its order."""
    checked = []
    for claim in PAPER["claims"]:
        held, numbers = CHECKS[claim["id"]](scores, clouds)
        words = claim["words"] + (f" (read as: {claim['reading']})" if "reading" in claim else "")
        checked.append(CheckedClaim(words, claim["section"], held, numbers))
    return checked


Verdict = tuple[bool | str | None, str]


def _near(s: Scores, _: Clouds) -> Verdict:
    methods = ("Laplace", "Plausibility", "Confidence Bounds", "Voting", "Pooling")
    gap = 100 * (s.of("accuracy", methods) - s.of("accuracy", ("Probability",))).mean(axis=(0, 1))
    shown = ", ".join(f"{name} {value:+.2f}" for name, value in zip(methods, gap, strict=True))
    return int((np.abs(gap) <= 1).sum()) >= 3, f"mean accuracy against probability, points: {shown}"


def _eva_accuracy(s: Scores, _: Clouds) -> Verdict:
    place = s.best_or_tied("accuracy", NINE, "EVA")
    return _among(place, slice(2, None), 3), f"best mean accuracy rank of the nine at leaf sizes {_places(place)}"


def _belief_auc(s: Scores, _: Clouds) -> Verdict:
    ranks = s.ranks_by_leaf("auc", NINE)
    probability = ranks[:, NINE.index("Probability")]
    worse = [ranks[:, NINE.index(name)] > probability for name in ("Dempster", "Cautious")]
    shown = "; ".join(f"{n} {_row(ranks[:, NINE.index(n)])}" for n in ("Dempster", "Cautious", "Probability"))
    return bool(all(one.sum() >= 4 for one in worse)), f"mean AUC ranks of nine, by leaf size: {shown}"


def _dempster_accuracy(s: Scores, _: Clouds) -> Verdict:
    others = [name for name in NINE if name != "EVA"]
    place = s.best_or_tied("accuracy", others, "Dempster")
    return _among(place, slice(2, None), 3), f"best mean accuracy rank of all but EVA at leaf sizes {_places(place)}"


def _laplace(s: Scores, _: Clouds) -> Verdict:
    won = s.wins("auc", "Laplace", "Probability")
    return bool((won < len(s.sets) / 2).all()), f"Laplace wins on {_row(won)} of {len(s.sets)} sets, by leaf size"


def _plausibility(s: Scores, _: Clouds) -> Verdict:
    won = s.wins("auc", "Plausibility", "Probability")
    small, large = won[list(SMALL)].mean(), won[list(LARGE)].mean()
    return bool(large < small), f"plausibility wins on {_row(won)} of {len(s.sets)} sets, by leaf size"


def _bounds(s: Scores, _: Clouds) -> Verdict:
    place = s.best_or_tied("auc", FIVE[:4], "Confidence Bounds")
    return _among(place, slice(3, None), 2), f"best mean AUC rank of the four averages at leaf sizes {_places(place)}"


def _probability_small(s: Scores, _: Clouds) -> Verdict:
    ranks = s.ranks_by_leaf("auc", FIVE)[0]
    shown = ", ".join(f"{name} {rank:.2f}" for name, rank in zip(FIVE, ranks, strict=True))
    return _among(s.best_or_tied("auc", FIVE, "Probability"), slice(1), 1), f"mean AUC ranks at leaf size 1: {shown}"


def _eva_overtakes(s: Scores, _: Clouds) -> Verdict:
    won = s.wins("auc", "EVA", "Probability")
    return bool((won[2:] > len(s.sets) / 2).all()), f"EVA wins on {_row(won)} of {len(s.sets)} sets, by leaf size"


def _airlines(s: Scores, _: Clouds) -> Verdict:
    if "airlines" not in s.sets:
        return None, "airlines was not available"
    pair = 100 * s.of("accuracy", ("EVA", "Probability"))[s.sets.index("airlines")]
    return bool(
        (pair[:, 0] < pair[:, 1]).sum() >= 4
    ), f"accuracy EVA {_row(pair[:, 0])}, probability {_row(pair[:, 1])}"


def _webdata(s: Scores, clouds: Clouds) -> Verdict:
    points = clouds.get("webdata", {})
    if not points:
        return None, "webdata was not available"
    sizes = list(points)
    names = ("Probability", "Plausibility", "Confidence Bounds", "Pooling", s.eva)
    peaks = {name: sizes[int(np.argmax([points[size][1][COLUMNS.index(name)] for size in sizes]))] for name in names}
    shown = ", ".join(f"{name} {size}" for name, size in peaks.items())
    return peaks[s.eva] > max(peaks[name] for name in names[:4]), f"leaf size of the highest accuracy: {shown}"


def _between(s: Scores, _: Clouds) -> Verdict:
    ranks = s.ranks("accuracy").mean(axis=0)
    inside = [name for name, rank in zip(NINE, ranks, strict=False) if ranks[9] < rank < ranks[10]]
    shown = f"forest {ranks[9]:.1f}, nine {ranks[:9].min():.1f} to {ranks[:9].max():.1f}, tree {ranks[10]:.1f}"
    return len(inside) >= 8, f"mean accuracy ranks of 66: {shown}; {len(inside)} of nine between"


def _imbalanced_forest(s: Scores, _: Clouds) -> Verdict:
    place = s.best_or_tied("accuracy", (*NINE, "Random Forest"), "Random Forest", UNEVEN)
    numbers = f"best mean accuracy rank at leaf sizes {_places(place)}, {_many(s, UNEVEN)}"
    return _among(place, slice(None), 4), numbers


def _balanced_forest(s: Scores, _: Clouds) -> Verdict:
    means = 100 * s.of("accuracy", (*NINE, "Random Forest"), EVEN).mean(axis=0)
    gap = means[:, 9] - means[:, :9].max(axis=1)
    return bool(np.mean(gap) <= 1), f"mean accuracy of the forest minus the best combination, points: {_row(gap)}"


def _voting(s: Scores, _: Clouds) -> Verdict:
    ranks = s.ranks_by_leaf("accuracy", NINE)
    gap = ranks[:, NINE.index("Voting")] - ranks[:, NINE.index("Probability")]
    return bool(gap[0] < gap[2:].min() > 0), f"mean accuracy rank of nine, voting minus probability: {_row(gap)}"


def _pooling(s: Scores, _: Clouds) -> Verdict:
    pair = s.of("accuracy", ("Pooling", "Probability")).mean(axis=1)
    better = [name for name, (pool, average) in zip(s.sets, pair, strict=True) if pool > average]
    few = 0 < len(better) < len(s.sets) / 2
    return few and ("airlines" in better or "airlines" not in s.sets), (
        f"more accurate than probability on {len(better)} of {len(s.sets)} sets: {', '.join(better)}"
    )


def _dempster_balanced(s: Scores, _: Clouds) -> Verdict:
    ranks = s.ranks_by_leaf("accuracy", which=EVEN)
    dempster, eva, forest = ranks[:, NINE.index("Dempster")], ranks[:, NINE.index("EVA")], ranks[:, 9]
    shown = f"Dempster {_row(dempster)}, EVA {_row(eva)}, forest {_row(forest)}"
    return bool((dempster <= np.maximum(eva, forest)).sum() >= 4), f"mean accuracy ranks, {_many(s, EVEN)}: {shown}"


def _cautious(s: Scores, _: Clouds) -> Verdict:
    last = s.ranks_by_leaf("accuracy", NINE).argmax(axis=1) == NINE.index("Cautious")
    return bool(last.sum() >= 4), f"worst mean accuracy rank of the nine at leaf sizes {_sizes(last)}"


def _bounds_small(s: Scores, _: Clouds) -> Verdict:
    won = s.wins("auc", "Confidence Bounds", "Probability")
    return bool(won[list(SMALL)].mean() < len(s.sets) / 2), (
        f"confidence bounds win on {_row(won)} of {len(s.sets)} sets, by leaf size (AUC)"
    )


def _eva_imbalanced_rank(s: Scores, _: Clouds) -> Verdict:
    place = s.best_or_tied("accuracy", NINE, "EVA", UNEVEN)
    uneven, even = (s.ranks_by_leaf("accuracy", NINE, which)[:, NINE.index("EVA")] for which in (UNEVEN, EVEN))
    return _among(place, slice(LARGE[0], None), len(LARGE)), (
        f"mean accuracy rank of EVA among the nine: imbalanced {_row(uneven)}, balanced {_row(even)}; on"
        f" {_many(s, UNEVEN)} the best at leaf sizes {_places(place)}"
    )


def _eva_imbalanced_gain(s: Scores, _: Clouds) -> Verdict:
    gains = []
    for which in (UNEVEN, EVEN):
        pair = 100 * s.of("accuracy", ("EVA", "Probability"), which).mean(axis=0)
        gains.append(pair[:, 0] - pair[:, 1])
    large = list(LARGE)
    return bool(gains[0][large].mean() > gains[1][large].mean()), (
        f"accuracy of EVA minus probability, points: imbalanced {_row(gains[0])}, balanced {_row(gains[1])}"
    )


CHECKS: dict[str, Callable[[Scores, Clouds], Verdict]] = {
    "around": _near,
    "eva-accuracy": _eva_accuracy,
    "belief-auc": _belief_auc,
    "dempster-accuracy": _dempster_accuracy,
    "laplace": _laplace,
    "plausibility": _plausibility,
    "bounds": _bounds,
    "probability-small": _probability_small,
    "eva-overtakes": _eva_overtakes,
    "airlines": _airlines,
    "webdata": _webdata,
    "between": _between,
    "imbalanced-forest": _imbalanced_forest,
    "balanced-forest": _balanced_forest,
    "voting": _voting,
    "pooling": _pooling,
    "dempster-balanced": _dempster_balanced,
    "cautious": _cautious,
    "bounds-small": _bounds_small,
    "eva-imbalanced-gain": _eva_imbalanced_gain,
    "eva-imbalanced-rank": _eva_imbalanced_rank,
}


def _row(values: Floats) -> str:
    """Format values by leaf size."""
    return " ".join(f"{value:.1f}".removesuffix(".0") for value in values)


def _sizes(where: np.ndarray[tuple[int, ...], np.dtype[np.bool_]]) -> str:
    """List the leaf sizes where a condition is true."""
    return ", ".join(str(size) for size, there in zip(LEAF_SIZES, where, strict=True) if there) or "none"


def _places(place: ScorePlace) -> str:
    """List the leaf sizes where a method is the best or ties with the best."""
    return _sizes(place.best) + (f" (tied with the best at {_sizes(place.tied)})" if place.tied.any() else "")


def _among(place: ScorePlace, sizes: slice, least: int) -> bool | str:
    """Test whether a method is best at enough leaf sizes; "tie" with near ties."""
    if place.best[sizes].sum() >= least:
        return True
    return "tie" if (place.best | place.tied)[sizes].sum() >= least else False


def _many(s: Scores, which: str) -> str:
    """Return the number of balanced or imbalanced sets, in words."""
    return f"{sum(s.kind(name) == which for name in s.sets)} {which} sets"
