"""u65 of every rule and caution, by data set, counting sense and repetition.

Each fold grows one forest; every rule and every caution then combines the same leaves.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow import Opinion, RandomForestClassifier, decide
from hedgerow.datasets import load_dataset, take_rows
from hedgerow.metrics import determinacy, u65, u80
from hedgerow.rules import Average, Belief, CdmAve, CdmVote, Cr, IntervalAverage, Mva, Ndc, Rule
from hedgerow.study.experiments.frame import Arguments, Result, Unit
from hedgerow.study.experiments.zhang_2021 import twin

Bools = NDArray[np.bool_]


class StrictBelief(Belief):
    """`Belief`, except that a leaf with a lower bound of exactly 1/2 is undecided."""

    strict = True


TREES, FOLDS, REPETITIONS = 100, 10, 50
CAUTIONS = (1.0, 3.0, 5.0)
RULES: dict[str, Rule] = {
    "mass1": Belief("equal"),
    "mass2": Belief("size"),
    "mass3": Belief("precision"),
    "baseline": IntervalAverage(),
}
SENSES = ("all", "inbag", "distinct", "oob")
SKIPPED = "constant features skipped, as hedgerow does by default"
TWIN = "scikit-learn's forests, sets by the printed formulas"
#: Growth parameters: constant features are counted as in scikit-learn, which the authors used.
USUAL: dict[str, Any] = {"constant_features": "count"}
#: Details that the paper leaves open, one changed at a time; tried with the counts "all".
VARIANTS: dict[str, dict[str, Any]] = {
    "folds stratified": {"stratified": True},
    "entropy": {"criterion": "entropy"},
    "log2 features per split": {"max_features": "log2"},
    "a third of the features per split": {"max_features": 1 / 3},
    SKIPPED: {"constant_features": "skip"},
}
#: The same for decisions, which need no other forests.
DECIDED: dict[str, dict[str, bool]] = {
    "a leaf at exactly 1/2 stays undecided": {"strict_leaf": True},
    "belief of exactly 1/2 decides": {"half_decides": True},
}
#: Sets for multiclass rules, none of them in the paper.
MULTICLASS = (
    "balance-scale", "breast-tissue", "cardiotocography", "dermatology", "digits", "ecoli", "glass", "iris",
    "mfeat-zernike", "segment", "vehicle-silhouettes", "vowel", "wine", "wine-quality-red", "yeast",
)  # fmt: skip
NOISES = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5)
MANY: dict[str, Rule] = {
    "AVE": Average(),
    "MVA": Mva(),
    "CDM-Ave": CdmAve(),
    "CDM-Vote": CdmVote(),
    "NDC": Ndc(),
    "CR": Cr(0.05),
}
#: Decisions tried under noise on averaged evidence; the last two are calibrated out of bag, on noisy labels.
DECISIONS = (
    "dominance", "maximality", "e_admissibility", "maximin", "maximax", "hurwicz", "pignistic", "expected_utility",
    "u65", "u80", "f1", "top_probability", "coverage", "risk",
)  # fmt: skip
#: Repetitions in full and in a quick run, and how many share a file.
RUNS = {
    "tables": (REPETITIONS, 5, 5), "senses": (20, 5, 5), "variant": (10, 0, 5), "twin": (10, 0, 5), "beyond": (2, 0, 1),
    "noise": (1, 1, 1),
}  # fmt: skip
#: Larger sets are excluded from the twin, which is slow.
TWIN_ROWS = 2_000
QUICK_NOISES = (0.0, 0.3)
QUICK_MULTICLASS = ("glass", "iris", "vehicle-silhouettes", "wine")
BEYOND = ("learned weights", "mass1, caution auto", "mass3, caution auto", "baseline, caution auto")


def plan(sets: Sequence[str], quick: bool, paper_sets: Sequence[str], rows: dict[str, int]) -> list[Unit]:
    """Return the units: tables for every counting sense, variants and additions."""
    units = []
    for name in sets:
        size = rows[name] ** 1.1
        if name in paper_sets:
            for sense in SENSES:
                kind = "tables" if sense == SENSES[0] else "senses"
                units += _blocks(kind, name, size, quick, sense=sense, **USUAL)
            for variant in VARIANTS:
                units += _blocks("variant", name, size, quick, variant=variant, **USUAL)
            if rows[name] <= TWIN_ROWS:
                units += _blocks("twin", name, 8 * size, quick)
            units += _blocks("beyond", name, 8 * size, quick, **USUAL)
        else:
            for noise in QUICK_NOISES if quick else NOISES:
                units += _blocks("noise", name, 3 * size, quick, noise=noise, **USUAL)
    return units


def work(arguments: Arguments, data: Path | None) -> Result:
    """Run a unit, in a process of its own."""
    given = dict(arguments)
    kind, name, repetitions = given.pop("kind"), given.pop("set"), range(*given.pop("repetitions"))
    dataset = load_dataset(name, data=data)
    if kind == "noise":
        X = dataset.X if dataset.info.nominal else dataset.as_floats()
        return many_classes(X, dataset.y, repetitions, **given)
    X, y = dataset.as_floats(), dataset.is_positive()
    if kind == "twin":
        return twin.tables(X, y, {one: list(folds(y, one, stratified=False)) for one in repetitions})
    if kind == "beyond":
        return beyond(X, y, repetitions, **given)
    if kind == "variant":
        changed = VARIANTS[given.pop("variant")]
        return tables(X, y, repetitions, "all", **{**given, **changed})
    return tables(X, y, repetitions, **given)


def tables(
    X: NDArray[np.float64],
    y: NDArray[np.int64],
    repetitions: Sequence[int],
    sense: str,
    *,
    stratified: bool = False,
    decided: bool = False,
    **options: Any,
) -> Result:
    """Return mean u65 over folds for each repetition, caution and rule.

    With `decided`, also those of the other decisions, by name.
    """
    ways: dict[str, dict[str, bool]] = {"u65": {}} | (DECIDED if decided else {})
    found: dict[str, list[Any]] = {name: [] for name in ways}
    for repetition in repetitions:
        scores: dict[str, list[Any]] = {name: [] for name in ways}
        for number, (fit, test) in enumerate(folds(y, repetition, stratified)):
            forest = RandomForestClassifier(
                TREES, calibration=None, leaf_counts=sense, random_state=FOLDS * repetition + number, **options
            )
            evidence = forest.fit(X[fit], y[fit]).evidence(X[test])
            for name, way in ways.items():
                scores[name].append([u65(y[test], sets) for sets in sets_of(evidence, **way)])
        for name in ways:
            found[name].append(np.mean(scores[name], axis=0).reshape(len(CAUTIONS), len(RULES)).tolist())
    return {"u65": found.pop("u65")} | ({"decided": found} if decided else {})


def sets_of(evidence: Any, *, strict_leaf: bool = False, half_decides: bool = False) -> list[Bools]:
    """Return the prediction sets under each caution and rule."""
    rules = [
        StrictBelief(rule.weights) if strict_leaf and isinstance(rule, Belief) else rule for rule in RULES.values()
    ]
    opinions = evidence.combine_each([(rule, caution) for caution in CAUTIONS for rule in rules])
    return [_with_halves(opinion) if half_decides else decide(opinion) for opinion in opinions]


def beyond(X: NDArray[np.float64], y: NDArray[np.int64], repetitions: Sequence[int], **options: Any) -> Result:
    """Return u65 per repetition of learned weights and cautions chosen out of bag."""
    found, chosen_cautions = [], []
    for repetition in repetitions:
        scores = []
        for number, (fit, test) in enumerate(folds(y, repetition, stratified=False)):
            seed = FOLDS * repetition + number
            forest = RandomForestClassifier(TREES, calibration=None, random_state=seed, **options).fit(X[fit], y[fit])
            row = []
            for caution in CAUTIONS:
                forest.set_params(rule=Belief("learned"), caution=caution)
                row.append(u65(y[test], forest.predict_set(X[test])))
            for rule in (Belief("equal"), Belief("precision"), Average()):
                forest.set_params(rule=rule).tune("u65")
                row.append(u65(y[test], forest.predict_set(X[test])))
                chosen_cautions.append(forest.caution)
            scores.append(row)
        found.append(np.mean(scores, axis=0).tolist())
    return {"u65": found, "cautions": np.reshape(chosen_cautions, (-1, 3)).mean(axis=0).tolist()}


def many_classes(
    X: Any,
    y: NDArray[np.str_],
    repetitions: Sequence[int],
    noise: float,
    decisions: Sequence[str] = (),
    **options: Any,
) -> Result:
    """Return scores of multiclass rules and decisions under label noise."""
    found, decided = [], []
    for repetition in repetitions:
        scores, by_decision = [], []
        for number, (fit, test) in enumerate(folds(y, repetition, stratified=True)):
            noisy = with_noise(y[fit], noise, np.random.default_rng([repetition, number]))
            seed = FOLDS * repetition + number
            forest = RandomForestClassifier(TREES, calibration=None, random_state=seed, **options)
            forest.fit(take_rows(X, fit), noisy)
            evidence = forest.evidence(take_rows(X, test))
            opinions = evidence.combine_each([(rule, 1.0) for rule in MANY.values()])
            precise = forest.classes_[opinions[0].probability.argmax(axis=1)] == y[test]
            rows = [_evaluated(y[test], decide(opinion, "rule"), forest.classes_) for opinion in opinions]
            scores.append([[float(precise.mean())] * 3, *rows])
            sets = [_sets_under(forest, name, take_rows(X, test)) for name in decisions]
            by_decision.append([_evaluated(y[test], chosen, forest.classes_) for chosen in sets])
        found.append(np.mean(scores, axis=0).tolist())
        decided.append(np.mean(by_decision, axis=0).tolist())
    return {"scores": found} | ({"decisions": decided} if decisions else {})


def folds(y: NDArray[Any], repetition: int, stratified: bool) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """Yield rows to fit and rows to test, ten times."""
    from sklearn.model_selection import KFold, StratifiedKFold

    kind = StratifiedKFold if stratified else KFold
    with _few_rows_of_a_class_allowed():
        yield from kind(FOLDS, shuffle=True, random_state=repetition).split(np.zeros(len(y)), y)


def with_noise(y: NDArray[np.str_], share: float, rng: np.random.Generator) -> NDArray[np.str_]:
    """Replace a share of classes (n,) by another class, drawn uniformly.

    Examples
    --------
    >>> y = np.array(["a", "b"] * 50)
    >>> int((with_noise(y, 0.3, np.random.default_rng(0)) != y).sum())
    30
    """
    classes, numbers = np.unique(y, return_inverse=True)
    wrong = rng.choice(len(y), size=round(share * len(y)), replace=False)
    numbers[wrong] = (numbers[wrong] + rng.integers(1, len(classes), size=len(wrong))) % len(classes)
    return classes[numbers]


def _sets_under(forest: RandomForestClassifier, decision: str, X: Any) -> Bools:
    """Return prediction sets; uncontrollable risk leaves all rows undecided."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="No threshold limits")
        sets: Bools = forest.set_params(decision=decision).predict_set(X)
    return sets


def _evaluated(y: NDArray[np.str_], sets: Bools, classes: NDArray[np.str_]) -> list[float]:
    """Return u65, u80 and determinacy of sets (n, K)."""
    return [u65(y, sets, classes=classes), u80(y, sets, classes=classes), determinacy(y, sets, classes=classes)]


def _with_halves(opinion: Opinion) -> Bools:
    """Return dominance of two classes, with a belief of exactly one half decided."""
    sets: Bools = decide(opinion).copy()
    exactly = (opinion.lower[:, 1] == 0.5) & sets.all(axis=1)
    sets[exactly, 0] = False
    return sets


def _blocks(kind: str, name: str, size: float, quick: bool, **also: Any) -> list[Unit]:
    """Return one unit per block of repetitions."""
    in_full, in_brief, block = RUNS[kind]
    repetitions = in_brief if quick else in_full
    named = [str(value) for name, value in also.items() if name not in USUAL]
    label = "-".join(value.replace(" ", "_").replace("/", "_of_") for value in named)
    units = []
    for start in range(0, repetitions, block):
        stop = min(start + block, repetitions)
        key = "-".join(part for part in (kind, name, label, f"{start:02d}") if part)
        arguments = {"kind": kind, "set": name, "repetitions": [start, stop], **also}
        if also.get("sense") == "all":
            arguments["decided"] = stop <= RUNS["variant"][0]  # as often as other variants
        if kind == "noise":
            arguments["decisions"] = list(DECISIONS)
        units.append(Unit(key, arguments, cost=size * (stop - start)))
    return units


class _few_rows_of_a_class_allowed:
    """Silence scikit-learn's warning about classes with fewer rows than folds."""

    def __enter__(self) -> None:
        self._caught = warnings.catch_warnings()
        self._caught.__enter__()
        warnings.filterwarnings("ignore", message="The least populated class")

    def __exit__(self, *reason: object) -> None:
        self._caught.__exit__(None, None, None)
