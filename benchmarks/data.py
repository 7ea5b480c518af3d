"""Data: a shape and a seed -> synthetic mixed columns, or a name -> a real table of the data folder."""

from __future__ import annotations

import csv
import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    import pandas as pd

INFORMATIVE = 10
"""How many columns, at most, the synthetic label depends on."""


class DataNotFoundError(Exception):
    """The folder of real data sets, or one of its files, is not where it should be."""


@dataclass(frozen=True)
class Shape:
    """How large a synthetic table is, and how many trees are grown on it."""

    rows: int
    features: int
    classes: int = 2
    trees: int = 100

    @property
    def name(self) -> str:
        """``10kx20``, or ``1Mx30k7`` where there are more than two classes."""
        return f"{_short(self.rows)}x{self.features}" + (f"k{self.classes}" if self.classes > 2 else "")

    @property
    def fresh(self) -> int:
        """Rows to predict: as many as were fitted, between 10,000 and 100,000."""
        return min(max(self.rows, 10_000), 100_000)


@dataclass(frozen=True)
class Split:
    """Rows to fit, and fresh rows of the same source to predict."""

    X: NDArray[np.floating]
    y: NDArray[np.int64]
    X_fresh: NDArray[np.floating]
    y_fresh: NDArray[np.int64]


def synthetic(shape: Shape, seed: int = 0, dtype: str = "float32") -> Split:
    """Mixed columns and a noisy label of ``shape.classes`` classes that depends on some of them.

    >>> split = synthetic(Shape(50, 5))
    >>> split.X.shape, split.X_fresh.shape, sorted(set(split.y.tolist()))
    ((50, 5), (10000, 5), [0, 1])
    """
    rng = np.random.default_rng([seed, shape.rows, shape.features, shape.classes])
    n = shape.rows + shape.fresh
    X = np.empty((n, shape.features), dtype=dtype)
    for j in range(shape.features):
        X[:, j] = _column(rng, j, n)
    y = _label(rng, X[:, : min(INFORMATIVE, shape.features)], shape.classes)
    y[: shape.classes] = np.arange(shape.classes)
    fit, fresh = slice(None, shape.rows), slice(shape.rows, None)
    return Split(np.ascontiguousarray(X[fit]), y[fit].copy(), np.ascontiguousarray(X[fresh]), y[fresh].copy())


def save(split: Split, folder: Path) -> None:
    """Write the four arrays of a split into a folder, where workers read them."""
    for name in ("X", "y", "X_fresh", "y_fresh"):
        np.save(folder / f"{name}.npy", getattr(split, name))


def read(folder: Path) -> Split:
    """Read the four arrays of a split from a folder into memory."""
    return Split(*(np.load(folder / f"{name}.npy") for name in ("X", "y", "X_fresh", "y_fresh")))


def folder(given: str | None = None) -> Path:
    """The folder of real data sets: the one given, else HEDGEROW_DATA, else ../shared/data of the project."""
    beside = Path(__file__).resolve().parents[2] / "shared" / "data"
    place = Path(given or os.environ.get("HEDGEROW_DATA") or beside)
    if not (place / "schema.json").is_file():
        raise DataNotFoundError(
            f"the data folder must hold schema.json, got {os.path.relpath(place)}; "
            "name it with --data DIR or in the environment variable HEDGEROW_DATA"
        )
    return place


def folder_or_none(given: str | None = None) -> Path | None:
    """The folder of real data sets; if it is not there, a line says that the run is skipped, and why."""
    try:
        return folder(given)
    except DataNotFoundError as reason:
        print(f"skipped: {reason}")
        return None


def table(name: str, place: Path) -> tuple[pd.DataFrame, NDArray[np.str_]]:
    """One real set: a frame whose nominal columns have categorical dtype, and the labels as strings."""
    import pandas as pd

    schema = json.loads((place / "schema.json").read_text())
    if name not in schema or not (place / schema[name]["file"]).is_file():
        raise DataNotFoundError(f"the set must be one of the data folder, got {name!r}")
    about = schema[name]
    path, nominal = place / about["file"], list(about["nominal"])
    if path.suffix == ".parquet":
        frame = pd.read_parquet(path)
    else:
        kinds = dict.fromkeys([*nominal, "target"], str)
        frame = pd.read_csv(path, dtype=kinds, keep_default_na=False, na_values=[""])
    y = frame.pop("target").astype(str).to_numpy(dtype=np.str_)
    return frame.astype(dict.fromkeys(nominal, "category")), y


def manifest(place: Path) -> dict[str, dict[str, str]]:
    """What the data folder's manifest says of each set, by name."""
    with (place / "datasets.csv").open(newline="", encoding="utf-8") as lines:
        return {row["name"]: row for row in csv.DictReader(lines)}


def _short(n: int) -> str:
    """1000000 -> 1M, 10000 -> 10k, 500 -> 500."""
    for size, letter in ((1_000_000, "M"), (1_000, "k")):
        if n >= size and n % size == 0:
            return f"{n // size}{letter}"
    return str(n)


def _column(rng: np.random.Generator, j: int, n: int) -> NDArray[np.floating]:
    """One column of the kind its place asks for: continuous, log-normal, integer, five-level, binary."""
    kind = j % 5
    if kind == 0:
        return rng.standard_normal(n)
    if kind == 1:
        return rng.lognormal(0.0, 1.0, n)
    if kind == 2:
        return rng.integers(0, 100, n).astype(np.float64)
    if kind == 3:
        return rng.choice(5, size=n, p=(0.4, 0.25, 0.2, 0.1, 0.05)).astype(np.float64)
    return (rng.random(n) < 0.3).astype(np.float64)


def _label(rng: np.random.Generator, X: NDArray[np.floating], classes: int) -> NDArray[np.int64]:
    """(n, p) -> (n,): the class of largest score; a score is effects, two interactions and Gumbel noise."""
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    p = Z.shape[1]
    best = np.full(len(Z), -np.inf, dtype=np.float32)
    y = np.zeros(len(Z), dtype=np.int64)
    for k in range(classes):
        effects = rng.normal(0.0, 0.8, p)
        bumps = rng.normal(0.0, 0.8, p)
        score = Z @ effects + np.sin(2.0 * Z) @ bumps
        for _ in range(2):
            a, b = rng.choice(p, 2, replace=p < 2)
            score += rng.normal(0.0, 0.8) * Z[:, a] * Z[:, b]
        score += 0.8 * rng.gumbel(size=len(Z))
        y[score > best] = k
        best = np.maximum(best, score)
    return y
