"""Peers: one small adapter per forest, all asked for the same forest.

The same forest means: full depth, sqrt(features) drawn per node, bootstrap (or 63.2 % of the rows without
replacement where a library has no bootstrap, which leaves as many distinct rows), one row per leaf allowed.
`python -m benchmarks.peers` shows that each does so: versions, leaves per tree, whether intelex ran its own.
"""

from __future__ import annotations

import importlib
import importlib.metadata
import logging
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
DISTINCT = 1.0 - math.exp(-1.0)
"""Share of distinct rows in a bootstrap sample."""


class Forest(Protocol):
    """What a benchmark asks of a forest."""

    def fit(self, X: Array, y: Array) -> object: ...
    def predict_proba(self, X: Array) -> Array: ...
    def nbytes(self) -> int | None: ...
    def leaves(self, X: Array) -> float: ...


@dataclass(frozen=True)
class Peer:
    """A forest by name: its package, how it is made (trees, threads, seed), what to know when reading it."""

    name: str
    title: str
    package: str
    make: Callable[[int, int, int], Forest]
    ours: bool = False
    note: str = ""

    @property
    def version(self) -> str:
        """The installed version; raises PackageNotFoundError where there is none."""
        return importlib.metadata.version(self.package)


class NotInstalledError(Exception):
    """The peer cannot be imported here; it becomes a row that says so."""


def missing(peer: Peer) -> str | None:
    """Why a peer cannot be used here, or None: it is installed (its import is tried by its own worker)."""
    try:
        return None if peer.version else "not installed"
    except importlib.metadata.PackageNotFoundError:
        return "not installed"


def estimator(name: str) -> Any:
    """The estimator class of a forest that has scikit-learn's parameters."""
    kind: Any = PEERS[name].make
    return getattr(_module(kind.module), kind.estimator)


class _Scikit:
    """Any estimator with scikit-learn's parameters."""

    module: ClassVar[str]
    estimator: ClassVar[str]
    options: ClassVar[dict[str, Any]] = {}

    def __init__(self, trees: int, threads: int, seed: int) -> None:
        kind = getattr(_module(self.module), self.estimator)
        self.model = kind(
            n_estimators=trees,
            max_depth=None,
            min_samples_leaf=1,
            max_features="sqrt",
            bootstrap=True,
            n_jobs=threads,
            random_state=seed,
            **self.options,
        )

    def fit(self, X: Array, y: Array) -> object:
        return self.model.fit(X, y)

    def predict_proba(self, X: Array) -> Array:
        return self.model.predict_proba(X)

    def nbytes(self) -> int | None:
        """Node array and value array of every tree."""
        states = (tree.tree_.__getstate__() for tree in self.model.estimators_)
        return sum(state["nodes"].nbytes + state["values"].nbytes for state in states)

    def leaves(self, X: Array) -> float:
        """Distinct leaves that the fitted rows reach: every leaf, since none is empty."""
        return float(np.mean([len(np.unique(column)) for column in np.asarray(self.model.apply(X)).T]))


class ScikitForest(_Scikit):
    """scikit-learn's random forest."""

    module, estimator = "sklearn.ensemble", "RandomForestClassifier"


class ScikitExtra(_Scikit):
    """scikit-learn's extremely randomised trees, with bootstrap like the others (which makes them faster)."""

    module, estimator = "sklearn.ensemble", "ExtraTreesClassifier"


class Intelex(_Scikit):
    """scikit-learn-intelex, imported from sklearnex.ensemble; scikit-learn itself stays unpatched."""

    module, estimator = "sklearnex.ensemble", "RandomForestClassifier"

    def fit(self, X: Array, y: Array) -> object:
        self.model.fit(X, y)
        if not hasattr(self.model, "_onedal_estimator"):
            raise RuntimeError("intelex fell back to scikit-learn: the row would measure scikit-learn twice")
        return self.model

    def nbytes(self) -> int | None:
        """Unknown: its trees live in oneDAL; `estimators_` is a copy made for scikit-learn."""
        return None


class Hedgerow(_Scikit):
    """hedgerow's random forest, without the map of probabilities that its peers do not learn either."""

    module, estimator = "hedgerow", "RandomForestClassifier"
    options: ClassVar[dict[str, Any]] = {"calibration": None}

    def nbytes(self) -> int | None:
        return int(self.model.forest_.nbytes)


class HedgerowExtra(Hedgerow):
    """hedgerow's extremely randomised trees."""

    estimator = "ExtraTreesClassifier"


class LightGBM:
    """LightGBM, boosting=rf. It stops at 131,072 leaves a tree, and averages log-odds rather than shares."""

    def __init__(self, trees: int, threads: int, seed: int) -> None:
        self.lightgbm = _module("lightgbm")
        self.trees, self.threads, self.seed = trees, threads, seed

    def fit(self, X: Array, y: Array) -> object:
        classes = int(y.max()) + 1
        several = {"objective": "multiclass", "num_class": classes}
        params = {
            "boosting": "rf",
            "num_leaves": max(2, min(int(len(X) * DISTINCT) + 1, 131_072)),
            "max_depth": -1,
            "min_data_in_leaf": 1,
            "min_data_in_bin": 1,
            "min_sum_hessian_in_leaf": 0.0,
            "bagging_fraction": DISTINCT,
            "bagging_freq": 1,
            "feature_fraction_bynode": _sqrt_share(X),
            # Without a bound the histograms of all leaves are kept: 13 GB at 5k x 1000.
            "histogram_pool_size": 512,
            "num_threads": self.threads,
            "seed": self.seed,
            "verbose": -1,
        } | (several if classes > 2 else {"objective": "binary"})
        self.model = self.lightgbm.train(params, self.lightgbm.Dataset(X, y, params=params), self.trees)
        return self.model

    def predict_proba(self, X: Array) -> Array:
        return _both_classes(self.model.predict(X, num_threads=self.threads))

    def nbytes(self) -> int | None:
        """Its text form."""
        return len(self.model.model_to_string())

    def leaves(self, X: Array) -> float:
        """Mean over trees; with more than two classes a tree is one of the K of a round."""
        lines = self.model.model_to_string().splitlines()
        return float(np.mean([int(line[11:]) for line in lines if line.startswith("num_leaves=")]))


class XGBoost:
    """XGBoost, one round of parallel trees. It averages log-odds, and grows one tree per class beyond two."""

    def __init__(self, trees: int, threads: int, seed: int) -> None:
        self.xgboost = _module("xgboost")
        self.trees, self.threads, self.seed = trees, threads, seed

    def fit(self, X: Array, y: Array) -> object:
        classes = int(y.max()) + 1
        several = {"objective": "multi:softprob", "num_class": classes}
        params = {
            "num_parallel_tree": self.trees,
            "tree_method": "hist",
            "grow_policy": "lossguide",
            "max_depth": 0,
            "max_leaves": 0,
            "min_child_weight": 0.0,
            "reg_lambda": 0.0,
            "learning_rate": 1.0,
            "subsample": DISTINCT,
            "colsample_bynode": _sqrt_share(X),
            # 16 bytes a bin and 256 bins a feature: about 1 GB of kept histograms at most.
            "max_cached_hist_node": max(16, 2**30 // (X.shape[1] * 256 * 16)),
            "nthread": self.threads,
            "seed": self.seed,
        } | (several if classes > 2 else {"objective": "binary:logistic"})
        columns = self.xgboost.QuantileDMatrix(X, y, nthread=self.threads)
        self.model = self.xgboost.train(params, columns, 1)
        return self.model

    def predict_proba(self, X: Array) -> Array:
        return _both_classes(self.model.inplace_predict(X))

    def nbytes(self) -> int | None:
        """Its binary JSON form."""
        return len(self.model.save_raw())

    def leaves(self, X: Array) -> float:
        return float(np.mean([text.count("leaf=") for text in self.model.get_dump()]))


class Ydf:
    """YDF (Yggdrasil) random forest: bootstrap, sqrt features, leaves keep shares (no winner-take-all)."""

    def __init__(self, trees: int, threads: int, seed: int) -> None:
        self.ydf = _module("ydf")
        self.ydf.verbose(0)
        self.trees, self.threads, self.seed = trees, threads, seed

    def fit(self, X: Array, y: Array) -> object:
        learner = self.ydf.RandomForestLearner(
            label="y",
            task=self.ydf.Task.CLASSIFICATION,
            num_trees=self.trees,
            max_depth=-1,
            min_examples=1,
            # Its own default rounds the root up, the others round it down.
            num_candidate_attributes=math.isqrt(X.shape[1]),
            winner_take_all=False,
            compute_oob_performances=False,
            bootstrap_training_dataset=True,
            num_threads=self.threads,
            random_seed=self.seed,
        )
        self.model = learner.train({"X": X, "y": y})
        self.order = np.argsort([int(label) for label in self.model.label_classes()])
        return self.model

    def predict_proba(self, X: Array) -> Array:
        found = _both_classes(self.model.predict({"X": X}, num_threads=self.threads))
        return found[:, self.order]

    def nbytes(self) -> int | None:
        """Its serialised form."""
        return len(self.model.serialize())

    def leaves(self, X: Array) -> float:
        return (self.model.num_nodes() / self.trees + 1.0) / 2.0


LOG_ODDS = "averages log-odds: its log-loss is not comparable"
PEERS: dict[str, Peer] = {
    peer.name: peer
    for peer in (
        Peer("hedgerow", "hedgerow RandomForest", "hedgerow", Hedgerow, ours=True),
        Peer("hedgerow-et", "hedgerow ExtraTrees", "hedgerow", HedgerowExtra, ours=True),
        Peer("intelex", "scikit-learn-intelex RF", "scikit-learn-intelex", Intelex),
        Peer("sklearn", "scikit-learn RandomForest", "scikit-learn", ScikitForest),
        Peer("sklearn-et", "scikit-learn ExtraTrees", "scikit-learn", ScikitExtra, note="with bootstrap"),
        Peer("ydf", "YDF RandomForest", "ydf", Ydf),
        Peer("xgboost", "XGBoost rf", "xgboost", XGBoost, note=LOG_ODDS),
        Peer("lightgbm", "LightGBM rf", "lightgbm", LightGBM, note=f"{LOG_ODDS}; 131,072 leaves a tree at most"),
    )
}


def _module(name: str) -> Any:
    """Import a peer's module; an import that fails for whatever reason means it is not installed here."""
    try:
        return importlib.import_module(name)
    except (ImportError, OSError) as reason:
        raise NotInstalledError(f"not importable: {reason}") from reason


def _sqrt_share(X: Array) -> float:
    """The share of features a node draws: floor(sqrt p) of p, nudged up so that no library rounds it down."""
    p = X.shape[1]
    return min(1.0, (math.isqrt(p) + 0.01) / p)


def _both_classes(found: Array) -> Array:
    """(n,) probability of the second class -> (n, 2); (n, K) stays."""
    return found if found.ndim == 2 else np.column_stack([1.0 - found, found])


def _accelerated(peer: Peer, X: Array, y: Array) -> str:
    """What intelex's own log says of a fit and a predict."""
    records: list[str] = []

    class _Keep(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            records.append(record.getMessage())

    log, keep = logging.getLogger("sklearnex"), _Keep()
    level = log.level
    log.addHandler(keep)
    log.setLevel(logging.INFO)
    try:
        peer.make(5, 2, 0).fit(X, y)
    finally:
        log.removeHandler(keep)
        log.setLevel(level)
    said = [text for text in records if "RandomForestClassifier.fit" in text]
    return "; ".join(text.split("fit: ")[-1] for text in said) or "its log says nothing"


def main() -> None:
    """Print what each installed peer really grows on 10,000 rows."""
    from rich.console import Console
    from rich.table import Table

    from benchmarks.data import Shape, synthetic

    split = synthetic(Shape(10_000, 20))
    grid = Table("forest", "version", "leaves a tree", "accuracy", "accuracy on its own rows", "note")
    for peer in PEERS.values():
        if reason := missing(peer):
            grid.add_row(peer.title, reason)
            continue
        try:
            forest = peer.make(10, 2, 0)
        except NotInstalledError as reason:
            grid.add_row(peer.title, peer.version, str(reason)[:60])
            continue
        forest.fit(split.X, split.y)
        fresh = np.mean(forest.predict_proba(split.X_fresh).argmax(axis=1) == split.y_fresh)
        own = np.mean(forest.predict_proba(split.X).argmax(axis=1) == split.y)
        note = _accelerated(peer, split.X, split.y) if peer.name == "intelex" else peer.note
        grid.add_row(peer.title, peer.version, f"{forest.leaves(split.X):.0f}", f"{fresh:.3f}", f"{own:.3f}", note)
    Console(width=None if Console().is_terminal else 150).print(grid)


if __name__ == "__main__":
    main()
