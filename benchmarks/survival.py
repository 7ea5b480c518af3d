"""Survival: forests on real sets with published folds, beside published scores and peers; `--speed` times fits."""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

import hedgerow
from benchmarks.accuracy import overall
from benchmarks.data import folder_or_none
from hedgerow.decisions import Risk
from hedgerow.metrics import d_calibration, harrell_c

if TYPE_CHECKING:
    import pandas as pd

Floats = NDArray[np.float64]
#: Published learners, under their names in the table of scores.
PUBLISHED = {"KM": "Kaplan-Meier", "CPH": "Cox", "RAN": "ranger", "RFSRC": "rfsrc", "CIF": "cforest", "ORSF": "aorsf"}
#: The integrated Brier score ends where more than this share of the test rows are gone.
LAST_SHARE = 0.8
SHAPES = ((5_000, 20), (50_000, 20))


class Rows(NamedTuple):
    """Part of a set: features, times and events."""

    X: Any
    times: Floats
    events: NDArray[np.bool_]

    @property
    def y(self) -> tuple[Floats, NDArray[np.bool_]]:
        """Times and events."""
        return self.times, self.events

    def take(self, rows: NDArray[Any]) -> Rows:
        """Return some rows."""
        return Rows(self.X.iloc[rows], self.times[rows], self.events[rows])


class Prediction(NamedTuple):
    """Risks (n,), and survival at times (n, t) as a function of the times."""

    risk: Floats
    survival: Callable[[Floats], Floats]


Learner = Callable[[Rows, Rows], Prediction]


def main() -> None:
    """Print a line for each set, and means over sets."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", help="folder of real sets, whose subfolder survival is read")
    parser.add_argument("--sets", nargs="+", help="names; all right-censored sets without this")
    parser.add_argument("--half", choices=["choose", "report"], help="every other set")
    parser.add_argument("--most-rows", type=int, default=15_000)
    parser.add_argument("--iterations", type=int, default=3, help="folds of each set")
    parser.add_argument("--trees", type=int, default=100)
    parser.add_argument("--peers", nargs="*", default=[], choices=["scikit-survival", "comprisk"])
    parser.add_argument("--settings", nargs="*", default=[""], help="of our forest, as name=value,name=value")
    parser.add_argument("--speed", action="store_true", help="time fits and predictions instead")
    parser.add_argument("--coverage", type=int, metavar="DRAWS", help="simulate the coverage of lower bounds instead")
    parser.add_argument("--risk", type=int, metavar="DRAWS", help="simulate how often Risk at a horizon holds instead")
    parser.add_argument("--shapes", nargs="*", default=[f"{n}x{p}" for n, p in SHAPES])
    parser.add_argument("--leaf", type=int, default=15, help="of the timed fits")
    given = parser.parse_args()
    if given.speed:
        speed(given.shapes, given.trees, given.leaf, given.peers)
    elif given.coverage:
        coverage(given.coverage, given.trees)
    elif given.risk:
        low_risk(given.risk, given.trees)
    elif (place := folder_or_none(given.data)) is not None:
        quality(place / "survival", given)


# ---- quality -------------------------------------------------------------------------------------


def quality(place: Path, given: argparse.Namespace) -> None:
    """Compare integrated Brier scores and concordance, paired over sets."""
    import pandas as pd

    manifest, folds = pd.read_csv(place / "manifest.csv"), pd.read_parquet(place / "folds.parquet")
    known = published(pd.read_parquet(place / "published.parquet"), given.iterations)
    learners: dict[str, Learner] = {f"hedgerow {words}".strip(): ours(words, given.trees) for words in given.settings}
    learners |= {name: PEERS[name](given.trees) for name in given.peers}
    found: dict[str, dict[str, list[float]]] = {}
    for name in sets_of(manifest, given):
        whole = read(place / f"{name}.parquet")
        scores = known.get(name, {}) | {
            label: mean_scores(learner, whole, folds[folds.set == name], given.iterations)
            for label, learner in learners.items()
        }
        found[name] = scores
        print(name, *(f"{label} {of[0]:.4f} {of[1]:.4f}" for label, of in scores.items()), sep="  ", flush=True)
        for label in learners:
            print(f"    {label}: p of D-calibration {scores[label][2]:.3f}, {scores[label][3]:.1f} s", flush=True)
    summary(found, next(iter(learners)))


def sets_of(manifest: pd.DataFrame, given: argparse.Namespace) -> Iterator[str]:
    """Yield the names of the sets of a run; the halves take turns."""
    right = manifest[manifest.kind == "right"]
    for position, about in enumerate(right.itertuples()):
        half = "choose" if position % 2 == 0 else "report"
        wanted = about.name in given.sets if given.sets else about.rows <= given.most_rows
        if wanted and given.half in (None, half):
            yield str(about.name)


def read(path: Path) -> Rows:
    """Read a set."""
    import pandas as pd

    frame = pd.read_parquet(path)
    return Rows(frame.drop(columns=["time", "event"]), frame.time.to_numpy(float), frame.event.to_numpy() == 1)


def mean_scores(learner: Learner, whole: Rows, folds: pd.DataFrame, iterations: int) -> list[float]:
    """Return integrated Brier score, concordance, p-value of D-calibration and seconds, means over folds."""
    each = []
    for iteration in range(1, iterations + 1):
        fold = folds[folds.iteration == iteration]
        train, test = (whole.take(fold.row[fold.role == role].to_numpy()) for role in ("train", "test"))
        began = time.perf_counter()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            predicted = learner(train, test)
            curves, at = predicted.survival(grid := times_of(test.times)), np.unique(test.times)
            at_own = predicted.survival(at)[np.arange(len(test.times)), np.searchsorted(at, test.times)]
        p_value = d_calibration(test.y, np.clip(at_own, 0, 1)).p_value
        scores = isbs(train, test, curves, grid), harrell_c(test.y, predicted.risk), p_value
        each.append([*scores, time.perf_counter() - began])
    return [float(value) for value in np.mean(each, axis=0)]


def times_of(times: Floats) -> Floats:
    """Return the distinct test times, up to the first at which more than 80% of the rows are gone."""
    distinct = np.unique(times)
    gone = np.searchsorted(np.sort(times), distinct, side="left") / len(times)
    last = np.flatnonzero(gone > LAST_SHARE)
    return distinct[: last[0] + 1] if len(last) else distinct


def isbs(train: Rows, test: Rows, curves: Floats, grid: Floats) -> float:
    """Return the integrated Brier score as the published benchmark computes it.

    The censoring distribution is that of the training rows, with censorings as events and all rows at risk.
    """
    distinct, number = np.unique(train.times, return_inverse=True)
    at_risk = np.bincount(number)[::-1].cumsum()[::-1]
    remaining = np.cumprod(1 - np.bincount(number, ~train.events) / at_risk)

    def weight(times: Floats, least: float) -> Floats:
        place = np.searchsorted(distinct, times, side="right") - 1
        found = np.where(place >= 0, remaining[np.maximum(place, 0)], np.nan)
        return np.where(np.isnan(found), np.nan, np.maximum(found, least))

    of_dead = np.nan_to_num(weight(test.times, 1e-3), nan=1.0)[:, None]
    of_alive = weight(grid, 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        late = np.where(np.isnan(of_alive), 0.0, (1 - curves) ** 2 / of_alive)
        losses = np.where(test.times[:, None] > grid, late, np.where(test.events[:, None], curves**2 / of_dead, 0.0))
    scores = np.nanmean(np.where(np.isfinite(losses), losses, np.nan), axis=0)
    return float(np.trapezoid(scores, grid) / (grid[-1] - grid[0])) if len(grid) > 1 else float(scores[0])


def published(scores: pd.DataFrame, iterations: int) -> dict[str, dict[str, list[float]]]:
    """Return the published scores of the same folds by set and learner."""
    rows = scores[scores.iteration.between(1, iterations) & scores.learner.isin(list(PUBLISHED))]
    found: dict[str, dict[str, list[float]]] = {}
    for (name, learner), group in rows.groupby(["set", "learner"], observed=True):
        both = []
        for measure in ("isbs", "harrell_c"):
            tuned = group[(group.measure == measure) & group.tuned_on.astype(str).str.contains(measure)]
            both.append(float(tuned.value.mean()))
        found.setdefault(str(name), {})[PUBLISHED[str(learner)]] = both
    return found


def summary(found: dict[str, dict[str, list[float]]], first: str) -> None:
    """Print means over sets that a learner shares with the first of ours, and paired differences with errors."""
    print(f"\n{'learner':<44} sets   ISBS      C    ISBS and C of it minus those of {first}")
    for label in dict.fromkeys(label for scores in found.values() for label in scores):
        both = [(scores[label], scores[first]) for scores in found.values() if label in scores]
        means = np.mean([own[:2] for own, _ in both], axis=0)
        pairs = [overall([own[k] - base[k] for own, base in both]) for k in range(2)]
        words = "  ".join(f"{mean:+.4f} ± {error:.4f}" for mean, error in pairs)
        print(f"{label:<44} {len(both):>4} {means[0]:.4f} {means[1]:.4f}    {words}")


# ---- learners ------------------------------------------------------------------------------------


def ours(words: str, n_trees: int) -> Learner:
    """Return our forest with settings such as ``min_samples_leaf=3,estimator=ExtraSurvivalTrees``."""
    settings: dict[str, Any] = dict(word.split("=") for word in words.split(",") if word)
    estimator = settings.pop("estimator", "RandomSurvivalForest")
    given = {name: _value(value) for name, value in settings.items()}

    def learn(train: Rows, test: Rows) -> Prediction:
        model = getattr(hedgerow, estimator)(n_trees, random_state=0, **given).fit(train.X, train.y, groups=None)
        last = model.event_times_[-1]

        def survival(times: Floats) -> Floats:
            values: Floats = model.predict_survival_function(test.X, np.minimum(times, last))
            return values

        return Prediction(model.predict(test.X), survival)

    return learn


def scikit_survival(n_trees: int) -> Learner:
    """Return scikit-survival's forest, on one-hot columns."""
    from sksurv.ensemble import RandomSurvivalForest
    from sksurv.util import Surv

    def learn(train: Rows, test: Rows) -> Prediction:
        X, fresh = one_hot(train.X, test.X)
        model = RandomSurvivalForest(n_trees, min_samples_leaf=15, max_features="sqrt", random_state=0, n_jobs=2)
        model.fit(X, Surv.from_arrays(train.events, train.times))
        curves = model.predict_survival_function(fresh, return_array=True)
        return Prediction(model.predict(fresh), stepwise(model.unique_times_, curves))

    return learn


def comprisk(n_trees: int) -> Learner:
    """Return comprisk's forest, on one-hot columns."""
    import comprisk as package

    def learn(train: Rows, test: Rows) -> Prediction:
        X, fresh = one_hot(train.X, test.X)
        model = package.CompetingRiskForest(n_estimators=n_trees, min_samples_leaf=15, random_state=0, n_jobs=2)
        model.fit(X, train.times, train.events.astype(int))
        cumulative = np.asarray(model.predict_cif(fresh))[:, 0]
        curves = 1 - cumulative
        return Prediction(-curves.sum(axis=1), stepwise(np.asarray(model.unique_times_), curves))

    return learn


PEERS: dict[str, Callable[[int], Learner]] = {"scikit-survival": scikit_survival, "comprisk": comprisk}


def one_hot(X: pd.DataFrame, fresh: pd.DataFrame) -> tuple[Floats, Floats]:
    """Return both tables with nominal columns one-hot and missing numbers at the median."""
    import pandas as pd

    both = pd.get_dummies(pd.concat([X, fresh]), drop_first=True, dtype=float)
    filled = both.fillna(both.iloc[: len(X)].median()).to_numpy(float)
    return filled[: len(X)], filled[len(X) :]


def stepwise(grid: Floats, curves: Floats) -> Callable[[Floats], Floats]:
    """Return curves (n, J) on a grid as a function of times; 1 before the grid."""
    padded = np.column_stack([np.ones(len(curves)), curves])
    return lambda times: padded[:, np.searchsorted(grid, times, side="right")]


def _value(word: str) -> Any:
    """Read a setting: a number, None, True, False or a word."""
    known = {"None": None, "True": True, "False": False}
    if word in known:
        return known[word]
    try:
        return int(word)
    except ValueError:
        pass
    try:
        return float(word)
    except ValueError:
        return word


# ---- coverage ------------------------------------------------------------------------------------


def coverage(n_draws: int, n_trees: int, n_rows: int = 500) -> None:
    """Print how many of 2,000 new times exceed their 90% lower bound, before censoring, and the largest bound's use."""
    print("censoring                        coverage of 0.9      bound as a share of the true 10% quantile")
    for name, censor in CENSORING.items():
        each = []
        for draw in range(n_draws):
            rng = np.random.default_rng(draw)
            X, fresh = rng.normal(size=(n_rows, 5)), rng.normal(size=(2000, 5))
            scale, fresh_scale = (np.exp(X[:, 0]) for X in (X, fresh))
            times, ends, later = rng.exponential(scale), censor(rng, X), rng.exponential(fresh_scale)
            model = hedgerow.RandomSurvivalForest(n_trees, random_state=draw)
            bound = model.fit(X, (np.minimum(times, ends), times <= ends), groups=None).predict_lower(fresh, 0.9)
            true = -np.log(0.9) * fresh_scale
            each.append(
                [(later >= bound).mean(), float(np.median(np.minimum(bound, 1e9) / true)), (times <= ends).mean()]
            )
        covered, size, seen = np.array(each).T
        error = covered.std(ddof=1) / np.sqrt(n_draws)
        print(
            f"{name:<24} {1 - seen.mean():>6.0%} {covered.mean():>9.4f} ± {error:.4f} {size.mean():>12.2f}", flush=True
        )


def low_risk(n_draws: int, n_trees: int, n_rows: int = 1000) -> None:
    """Print how often at most 20% of the rows called low risk, before censoring, have the event until the horizon."""
    print("censoring                  until the horizon    kept    rows called low risk, and their risk")
    horizon, risk = 0.3, Risk(0.2, 0.95)
    for name, censor in CENSORING.items():
        each = []
        for draw in range(n_draws):
            rng = np.random.default_rng(draw)
            X, fresh = rng.normal(size=(n_rows, 5)), rng.normal(size=(20_000, 5))
            times, ends = rng.exponential(np.exp(X[:, 0])), censor(rng, X)
            model = hedgerow.RandomSurvivalForest(n_trees, random_state=draw)
            model.fit(X, (np.minimum(times, ends), times <= ends), groups=None)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", UserWarning)  # of no low risk
                called = ~model.predict_set(fresh, horizon, decision=risk)[:, 0]
            true = 1 - np.exp(-horizon / np.exp(fresh[:, 0]))
            error = float(true[called].mean()) if called.any() else 0.0
            each.append([error <= risk.error, called.mean(), error, (ends < np.minimum(times, horizon)).mean()])
        kept, called_share, error, censored = np.mean(each, axis=0)
        print(f"{name:<26} {censored:>12.0%} {kept:>14.3f} {called_share:>14.2f} {error:>14.3f}", flush=True)


def _none(rng: np.random.Generator, X: Floats) -> Floats:
    return np.full(len(X), np.inf)


def _independent(rng: np.random.Generator, X: Floats) -> Floats:
    return rng.exponential(1.5, len(X))


def _end_of_study(rng: np.random.Generator, X: Floats) -> Floats:
    return rng.uniform(0.5, 2.0, len(X))


def _other_feature(rng: np.random.Generator, X: Floats) -> Floats:
    return np.asarray(rng.exponential(1.5 * np.exp(X[:, 1])))


def _same_feature(rng: np.random.Generator, X: Floats) -> Floats:
    return np.asarray(rng.exponential(1.5 * np.exp(-X[:, 0])))


CENSORING: dict[str, Callable[[np.random.Generator, Floats], Floats]] = {
    "none": _none,
    "independent": _independent,
    "end of study": _end_of_study,
    "by another feature": _other_feature,
    "by the same feature": _same_feature,
}


# ---- speed ---------------------------------------------------------------------------------------


def speed(shapes: Sequence[str], n_trees: int, leaf: int, peers: Sequence[str]) -> None:
    """Time fits, and curves of 1,000 rows; CPU and wall seconds."""
    print("shape        learner                fit CPU  (wall)    curves of 1,000 rows")
    for shape in shapes:
        n_rows, n_features = (int(part) for part in shape.split("x"))
        X, times, events = simulated(n_rows, n_features)
        makers = {"hedgerow": _time_ours} | {name: TIMED[name] for name in peers}
        for name, timed in makers.items():
            fit_cpu, fit_wall, predicting = timed(X, times, events, n_trees, leaf)
            print(f"{shape:<12} {name:<20} {fit_cpu:>9.2f} {fit_wall:>8.2f} {predicting:>14.2f}", flush=True)


def simulated(n_rows: int, n_features: int) -> tuple[Floats, Floats, NDArray[np.bool_]]:
    """Return features, times and events; two features set the hazard, and half of the times are censored."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_rows, n_features))
    times = rng.exponential(np.exp(X[:, 0] - 0.5 * X[:, 1] * X[:, 2]))
    ends = rng.exponential(np.exp(0.3 * X[:, 3]))
    return X, np.minimum(times, ends), times <= ends


def _clocked(work: Callable[[], Any]) -> tuple[float, float, Any]:
    """Return CPU seconds, wall seconds and result."""
    cpu, wall = time.process_time(), time.perf_counter()
    done = work()
    return time.process_time() - cpu, time.perf_counter() - wall, done


def _time_ours(X: Floats, times: Floats, events: Any, n_trees: int, leaf: int) -> tuple[float, float, float]:
    model = hedgerow.RandomSurvivalForest(n_trees, min_samples_leaf=leaf, random_state=0, n_jobs=2)
    cpu, wall, _ = _clocked(lambda: model.fit(X, (times, events), groups=None))
    return cpu, wall, _clocked(lambda: model.predict_survival_function(X[:1000]))[0]


def _time_scikit_survival(X: Floats, times: Floats, events: Any, n_trees: int, leaf: int) -> tuple[float, float, float]:
    from sksurv.ensemble import RandomSurvivalForest
    from sksurv.util import Surv

    model = RandomSurvivalForest(n_trees, min_samples_leaf=leaf, max_features="sqrt", random_state=0, n_jobs=2)
    cpu, wall, _ = _clocked(lambda: model.fit(X, Surv.from_arrays(events, times)))
    return cpu, wall, _clocked(lambda: model.predict_survival_function(X[:1000], return_array=True))[0]


def _time_comprisk(X: Floats, times: Floats, events: Any, n_trees: int, leaf: int) -> tuple[float, float, float]:
    import comprisk as package

    def make(trees: int) -> Any:
        return package.CompetingRiskForest(n_estimators=trees, min_samples_leaf=leaf, random_state=0, n_jobs=2)

    make(2).fit(X[:500], times[:500], events[:500].astype(int)).predict_cif(X[:10])  # compiles
    model = make(n_trees)
    cpu, wall, _ = _clocked(lambda: model.fit(X, times, events.astype(int)))
    return cpu, wall, _clocked(lambda: model.predict_cif(X[:1000]))[0]


TIMED: dict[str, Callable[[Floats, Floats, Any, int, int], tuple[float, float, float]]] = {
    "scikit-survival": _time_scikit_survival,
    "comprisk": _time_comprisk,
}


if __name__ == "__main__":
    main()
