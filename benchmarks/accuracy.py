"""Accuracy: real tables and paired folds -> differences of accuracy and log-loss to scikit-learn's forests.

python -m benchmarks.accuracy [--data DIR] [--sets NAME ...] [--repeats 5] [--encode ordinal] [--json FILE]
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from benchmarks import show
from benchmarks.data import DataNotFoundError, folder_or_none, table
from benchmarks.measure import log_loss, quiet
from benchmarks.peers import PEERS, estimator, missing

if TYPE_CHECKING:
    import pandas as pd

SETS = (
    "breast-tissue", "hepatitis", "sonar", "glass", "breast-cancer-ljubljana", "heart-statlog", "ionosphere",
    "dermatology", "congressional-voting", "breast-cancer-wdbc", "ilpd", "soybean", "credit-australian",
    "breast-cancer-wisconsin", "pima-diabetes", "vehicle-silhouettes", "vowel", "tic-tac-toe",
    "credit-german", "wine-quality-red", "car", "digits", "cardiotocography", "segment", "splice", "spambase",
    "phoneme", "pendigits", "magic-telescope", "letter",
)  # fmt: skip
PAIRS = {"random forest": ("hedgerow", "sklearn"), "extra trees": ("hedgerow-et", "sklearn-et")}
FOLDS = 5
ROWS = 25_000
"""Rows of a set times repeats stay below this, so that large sets are repeated less often."""


@dataclass(frozen=True)
class Difference:
    """Ours minus theirs on one set: means over the folds, and their standard errors."""

    set: str
    rows: int
    features: int
    nominal: int
    missing: bool
    classes: int
    folds: int
    accuracy: float
    accuracy_gap: float
    accuracy_error: float
    loss: float
    loss_gap: float
    loss_error: float


def main(arguments: list[str] | None = None) -> int:
    """Compare on every set, print a table and a verdict per pair; 1 where a forest raised an error."""
    options = _options(arguments)
    place = folder_or_none(options.data)
    if place is None:
        return 0
    pairs = _pairs(options)
    for title, names in pairs.items():
        if absent := [PEERS[name].title for name in names if missing(PEERS[name])]:
            print(f"{title} skipped: {', '.join(absent)} not installed (try --null)")
    usable = {title: names for title, names in pairs.items() if not any(missing(PEERS[n]) for n in names)}
    found, errors = _compare(usable, place, options)
    for title in usable:
        _print(title, found[title], options)
    for line in errors:
        print(line)
    if options.json:
        record = {title: [asdict(one) for one in rows] for title, rows in found.items()}
        Path(options.json).write_text(json.dumps(record, indent=1) + "\n")
    return int(bool(errors))


def compare(
    pair: tuple[str, str], X: pd.DataFrame, y: NDArray[Any], name: str, options: argparse.Namespace
) -> Difference:
    """Both forests on the same folds of one set."""
    classes, codes = np.unique(y, return_inverse=True)
    repeats = max(1, min(options.repeats, ROWS // len(y)))
    right, loss = [], []
    for number, (fit, test) in enumerate(_folds(codes, repeats)):
        rights, losses = zip(
            *(
                _scores(_made(which, options, seed), X, codes, fit, test, len(classes), options.trees)
                for which, seed in zip(pair, _seeds(pair, number), strict=True)
            ),
            strict=True,
        )
        right.append(rights)
        loss.append(losses)
    accuracy, accuracy_gap, accuracy_error = _paired(np.array(right))
    loss_mean, loss_gap, loss_error = _paired(np.array(loss))
    return Difference(
        set=name,
        rows=len(y),
        features=X.shape[1],
        nominal=len(_nominal(X)),
        missing=bool(X.isna().any(axis=None)),
        classes=len(classes),
        folds=len(right),
        accuracy=accuracy,
        accuracy_gap=accuracy_gap,
        accuracy_error=accuracy_error,
        loss=loss_mean,
        loss_gap=loss_gap,
        loss_error=loss_error,
    )


def overall(gaps: list[float]) -> tuple[float, float]:
    """Mean over the sets and its standard error.

    >>> overall([1.0, 3.0])
    (2.0, 1.0)
    """
    values = np.asarray(gaps)
    error = values.std(ddof=1) / np.sqrt(len(values)) if len(values) > 1 else np.nan
    return float(values.mean()), float(error)


def _compare(
    pairs: dict[str, tuple[str, str]], place: Path, options: argparse.Namespace
) -> tuple[dict[str, list[Difference]], list[str]]:
    """All pairs on all sets; what could not be read or fitted becomes a line instead of a row."""
    found: dict[str, list[Difference]] = {title: [] for title in pairs}
    errors: list[str] = []
    for name in options.sets or SETS:
        try:
            X, y = table(name, place)
        except DataNotFoundError as reason:
            print(f"{name} skipped: {reason}")
            continue
        for title, pair in pairs.items():
            start = time.monotonic()
            try:
                found[title].append(compare(pair, X, y, name, options))
            except Exception as reason:
                errors.append(f"error: {title} on {name}: {type(reason).__name__}: {reason}")
            show.progress(f"{name}, {title}: {time.monotonic() - start:.1f} s")
    return found, errors


def _scores(
    model: Any,
    X: pd.DataFrame,
    y: NDArray[np.int64],
    fit: NDArray[np.int64],
    test: NDArray[np.int64],
    classes: int,
    trees: int,
) -> tuple[float, float]:
    """Fit on one part, and the accuracy and log-loss on the other; shares clipped at half a tree's vote."""
    quiet()
    model.fit(X.iloc[fit], y[fit])
    share = np.zeros((len(test), classes))
    share[:, np.asarray(model.classes_, dtype=np.int64)] = model.predict_proba(X.iloc[test])
    right = float(np.mean(share.argmax(axis=1) == y[test]))
    return right, float(log_loss(share, y[test], 0.5 / trees).mean())


def _paired(scores: NDArray[np.float64]) -> tuple[float, float, float]:
    """(folds, 2) -> the second's mean, the mean difference, and its standard error.

    Folds share their training rows, so the variance is that of Nadeau and Bengio (2003): 1/J + test/train.
    """
    gap = scores[:, 0] - scores[:, 1]
    error = np.sqrt(gap.var(ddof=1) * (1.0 / len(gap) + 1.0 / (FOLDS - 1)))
    return float(scores[:, 1].mean()), float(gap.mean()), float(error)


def _made(which: str, options: argparse.Namespace, seed: int) -> Any:
    """A forest with its own defaults: ours takes the table as it is, scikit-learn's gets it encoded."""
    model = estimator(which)(n_estimators=options.trees, n_jobs=options.threads, random_state=seed)
    return model if PEERS[which].ours else _encoded(model, options.encode)


def _encoded(model: Any, encode: str) -> Any:
    """Nominal columns -> numbers -> the model, as a pipeline."""
    from sklearn.compose import ColumnTransformer
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder

    one_hot = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
    ordinal = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1, encoded_missing_value=np.nan)
    chosen = one_hot if encode == "onehot" else ordinal
    columns = ColumnTransformer([("nominal", chosen, _nominal)], remainder="passthrough")
    return make_pipeline(columns, model)


def _nominal(X: pd.DataFrame) -> list[str]:
    """Names of the columns with categorical dtype."""
    return list(X.select_dtypes("category").columns)


def _folds(y: NDArray[np.int64], repeats: int) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """Stratified folds, repeated, the same for every forest."""
    from sklearn.model_selection import RepeatedStratifiedKFold

    yield from RepeatedStratifiedKFold(n_splits=FOLDS, n_repeats=repeats, random_state=0).split(y, y)


def _seeds(pair: tuple[str, str], number: int) -> tuple[int, int]:
    """The same seed for both, but two seeds where a forest meets itself."""
    return (number, number + 10_000) if pair[0] == pair[1] else (number, number)


def _pairs(options: argparse.Namespace) -> dict[str, tuple[str, str]]:
    """Ours and theirs; with --null theirs and theirs again."""
    if options.null:
        return {f"{title}, scikit-learn against itself": (b, b) for title, (_, b) in PAIRS.items()}
    return PAIRS


def _print(title: str, found: list[Difference], options: argparse.Namespace) -> None:
    """One table and one verdict for a pair."""
    out = show.console()
    grid = show.ruled(f"{title}: ours minus scikit-learn's ({options.trees} trees, nominal columns {options.encode})")
    for column in ("set", "rows", "features", "nominal", "missing", "classes", "folds"):
        grid.add_column(column, justify="left" if column == "set" else "right")
    for column in ("accuracy", "difference ± se", "log-loss", "difference ± se"):
        grid.add_column(column, justify="right")
    for one in found:
        about = (one.rows, one.features, one.nominal, "yes" if one.missing else "", one.classes, one.folds)
        accuracy = (f"{one.accuracy:.4f}", f"{one.accuracy_gap:+.4f} ± {one.accuracy_error:.4f}")
        loss = (f"{one.loss:.4f}", f"{one.loss_gap:+.4f} ± {one.loss_error:.4f}")
        grid.add_row(one.set, *map(str, about), *accuracy, *loss)
    out.print(grid)
    if found:
        out.print(_verdict(title, found, options.trees), soft_wrap=True)


def _verdict(title: str, found: list[Difference], trees: int) -> str:
    """The overall differences, and whether they are no worse than their standard errors."""
    accuracy, accuracy_error = overall([one.accuracy_gap for one in found])
    loss, loss_error = overall([one.loss_gap for one in found])
    right, near = accuracy >= -accuracy_error, loss <= loss_error
    return (
        f"{title}, {len(found)} sets: accuracy {accuracy:+.4f} ± {accuracy_error:.4f} {show.verdict(right)}, "
        f"log-loss {loss:+.4f} ± {loss_error:.4f} {show.verdict(near)} (not worse than its standard error "
        f"over sets; shares of both clipped at {0.5 / trees:g} and rescaled before the log)"
    )


def _options(arguments: list[str] | None) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.accuracy", description=__doc__.splitlines()[0])
    parser.add_argument("--data", metavar="DIR", help="folder of data sets (else HEDGEROW_DATA, else ../shared/data)")
    parser.add_argument("--sets", nargs="+", metavar="NAME", help=f"of the folder (else {len(SETS)} of them)")
    parser.add_argument("--repeats", type=int, default=5, help=f"of {FOLDS}-fold cross-validation; fewer on large sets")
    parser.add_argument("--trees", type=int, default=100)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--encode", choices=("onehot", "ordinal"), default="onehot", help="for scikit-learn")
    parser.add_argument(
        "--null", action="store_true", help="scikit-learn against itself: what no difference looks like"
    )
    parser.add_argument("--json", metavar="FILE", help="write all differences to a file")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main())
