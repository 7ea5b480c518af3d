"""Golden: model files as they were written once, and what they said -> whether they say it still.

python -m tests.reference.golden

writes the files of new formats into ``tests/golden/<format>/``, beside the rows they were asked about and the answers.
It does not write over a format that is there: files people have must stay readable, so a change that makes the tests of
these fail is a change of the format, and gets a number of its own.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from tests.reference.models import MODELS, NUMBER_MODELS, SURVIVAL_MODELS, UNLABELLED_MODELS

import hedgerow
from hedgerow.storage.model import describe_file

FOLDER = Path(__file__).resolve().parents[1] / "golden"
#: The models of each format; a model is written in the lowest that can hold it.
KEPT = {
    "1.0": (
        "tree",
        "extra-tree",
        "forest",
        "extra",
        "mixed",
        "random",
        "many",
        "learned",
        "pairs",
        "number-tree",
        "number-extra-tree",
        "number-forest",
        "number-extra",
        "number-mixed",
        "embedding",
        "unsupervised",
        "survival",
        "survival-extra",
        "survival-tree",
    ),
    "2.0": ("listed",),
}
MISSING = "(missing)"


def answers(model: Any, asked: Any) -> dict[str, np.ndarray[Any, Any]]:
    """What a model says of the rows."""
    if hasattr(model, "score_samples"):
        return {"score_samples": model.score_samples(asked), "apply": model.apply(asked)}
    if not hasattr(model, "classes_"):
        return number_answers(model, asked)
    return {
        "predict": model.predict(asked),
        "predict_proba": model.predict_proba(asked),
        "predict_bounds": model.predict_bounds(asked),
        "predict_set": model.predict_set(asked),
        "apply": model.apply(asked),
    }


def number_answers(model: Any, asked: Any) -> dict[str, np.ndarray[Any, Any]]:
    """What a regressor says of the rows; intervals and quantiles where it can."""
    questions = ["predict", "predict_bounds", "apply"]
    if hasattr(model, "event_times_"):
        questions += ["predict_survival_function"]
    else:
        questions += ["predict_interval"] * getattr(model, "bootstrap", False) + ["predict_quantiles"] * model.leaf_rows
    return {question: getattr(model, question)(asked) for question in questions}


def columns_from_table(asked: Any) -> dict[str, np.ndarray[Any, Any]]:
    """An array or a frame -> arrays that need no pickle."""
    if isinstance(asked, np.ndarray):
        return {"array": asked}
    columns = {f"column {name}": asked[name] for name in asked}
    return {
        name: column.to_numpy()
        if column.dtype.kind in "fb"
        else column.astype(object).fillna(MISSING).to_numpy().astype(str)
        for name, column in columns.items()
    }


def table_from_columns(kept: dict[str, np.ndarray[Any, Any]]) -> Any:
    """The inverse of `columns_from_table`; categories come back as text."""
    if "array" in kept:
        return kept["array"]
    found = {name[7:]: values for name, values in kept.items() if name.startswith("column ")}
    text = {name: np.where(values == MISSING, None, values.astype(object)) for name, values in found.items()}
    return pd.DataFrame({name: text[name] if values.dtype.kind == "U" else values for name, values in found.items()})


def main() -> int:
    """Write the golden files of formats that have none."""
    new = [form for form in KEPT if not (FOLDER / form).exists()]
    if not new:
        print(f"{FOLDER} must lack a format of {', '.join(KEPT)}; a new format needs a new number", file=sys.stderr)
        return 1
    for form in new:
        (FOLDER / form).mkdir(parents=True)
        for name in KEPT[form]:
            write(name, FOLDER / form)
            assert describe_file(FOLDER / form / f"{name}.hedge").format_version == form
    return 0


def write(name: str, folder: Path) -> None:
    """One golden file, and what it said."""
    model, asked = (MODELS | NUMBER_MODELS | UNLABELLED_MODELS | SURVIVAL_MODELS)[name]()
    hedgerow.save(model, folder / f"{name}.hedge")
    np.savez_compressed(folder / f"{name}.npz", **columns_from_table(asked), **answers(model, asked))


if __name__ == "__main__":
    sys.exit(main())
