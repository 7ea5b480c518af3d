"""Hashes of model files, predictions and command output.

``python -m benchmarks.bits > before.txt`` fits small models of every kind and prints one line per model and question:
the first 16 hexadecimal digits of a SHA-256. After a change that must not alter results, ``diff before.txt after.txt``
is empty. Only the stable part of the public interface is used, so that the same file runs on both versions.

``--write FOLDER`` also keeps the model files. ``--read FOLDER`` asks the same questions of the models in these files
instead of fitting them: files of an earlier version must load and return the same predictions.

A question that raises an error is printed with the type of the error. Text of errors is not compared.
"""

from __future__ import annotations

import argparse
import hashlib
import io
import json
import os
import re
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, fields, is_dataclass
from functools import cache
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse

import hedgerow

SEED = 7
TREES = 12


def main() -> None:
    """Print the hashes of all models and commands, sorted."""
    parser = argparse.ArgumentParser(description="Hashes of model files, predictions and command output.")
    parser.add_argument("--write", type=Path, metavar="FOLDER", help="keep the model files in this folder")
    parser.add_argument("--read", type=Path, metavar="FOLDER", help="load the model files of this folder, do not fit")
    parser.add_argument("--only", default="", metavar="TEXT", help="models whose names contain this text")
    given = parser.parse_args()
    if given.write:
        given.write.mkdir(parents=True, exist_ok=True)
    warnings.simplefilter("ignore")
    with ThreadPoolExecutor(1) as pool:  # commands are processes of their own, beside the models
        commands = pool.submit(command_lines if not given.read and given.only in "command" else list)
        chosen = [(name, make()) for name, make in MODELS.items() if given.only in name]
        lines = [line for name, case in chosen for line in model_lines(name, case, given.write, given.read)]
        print(*sorted(lines + commands.result()), sep="\n")


def model_lines(name: str, case: Case, write: Path | None, read: Path | None) -> list[str]:
    """Return a line with the hash of a model's file, and one for each question that the model can be asked."""
    file = f"{name.replace('/', '-')}.hedge"
    model = hedgerow.load(read / file) if read else case.fit()
    questions = {"file": lambda: saved(model), **questions_to(model, case.X)}
    if write:
        hedgerow.save(model, write / file)
    return [f"{name} {question} {answer(ask)}" for question, ask in questions.items()]


def answer(ask: Callable[[], Any]) -> str:
    """Return the hash of what a function returns, or the type of the error that it raises."""
    try:
        return digest(ask())
    except Exception as error:
        return f"raises {type(error).__name__}"


# ---- Questions ---------------------------------------------------------------------------------------------------

#: Methods of fitted models that take rows only.
METHODS = """
    apply decision_path embed predict predict_bounds predict_confidence predict_frame predict_interval predict_log_proba
    predict_mass predict_novelty predict_proba predict_quantiles predict_set predict_uncertainty predict_variance
    score_samples transform
"""

#: Attributes of fitted models that are arrays, numbers or lists of them.
ATTRIBUTES = """
    caution_ classes_ feature_importances_ label_shares_ max_features_ n_classes_ n_features_in_ n_outputs_
    oob_decision_function_ oob_prediction_ oob_score_ oob_trace_ tree_weights_
"""


#: Methods that also take tables with uncertain cells.
OF_UNCERTAIN_CELLS = "predict predict_proba predict_confidence predict_set predict_bounds predict_interval"


def questions_to(model: Any, X: Any) -> dict[str, Callable[[], Any]]:
    """Return the questions to ask a model about rows, by name."""
    methods = [name for name in METHODS.split() if hasattr(model, name)]
    attributes = [name for name in ATTRIBUTES.split() if hasattr(model, name)]
    few = [name for name in OF_UNCERTAIN_CELLS.split() if hasattr(model, name)]
    others = {name: ask for name, ask in OTHER_QUESTIONS.items() if hasattr(model, name.split("(")[0])}
    return {
        **{name: lambda name=name: getattr(model, name)(X) for name in methods},
        **{f"{name}(one row)": lambda name=name: getattr(model, name)(first_row(X)) for name in methods},
        **{f"{name}(uncertain cells)": lambda name=name: getattr(model, name)(uncertain_cells(X)) for name in few},
        **{name: lambda name=name: getattr(model, name) for name in attributes},
        **{name: lambda ask=ask: ask(model, X) for name, ask in others.items()},
    }


def first_row(X: Any) -> Any:
    """Return the first row of a table, as a table."""
    return X.iloc[:1] if isinstance(X, pd.DataFrame) else X[:1]


def uncertain_cells(X: Any) -> hedgerow.UncertainTable:
    """Return rows of which two cells are an interval and a distribution."""
    return hedgerow.UncertainTable(X, {(0, 0): (-1.0, 40.0), (2, 1): {(-1.0, 0.0): 0.25, (0.5, 1.0): 0.75}})


def explanations(model: Any, X: Any) -> list[str]:
    """Return the explanations of the first rows and the last one, as JSON."""
    rows = [0, 1, len(X) - 1]
    chosen = X.iloc[rows] if isinstance(X, pd.DataFrame) else X[rows]
    return [json.dumps(each.to_dict(), sort_keys=True, default=str) for each in model.explain(chosen)]


def saved(model: Any) -> tuple[dict[str, Any], bytes]:
    """Return the header of a model's file without the version of the package, and the bytes of its arrays."""
    file = io.BytesIO()
    hedgerow.save(model, file)
    content = file.getvalue()
    end = 8 + int.from_bytes(content[:8], "little")
    header = json.loads(content[8:end])
    header["__metadata__"].pop("hedgerow_version")
    return header, content[end:]


#: Questions with other arguments; each is asked if the model has the method with which its name begins.
OTHER_QUESTIONS: dict[str, Callable[[Any, Any], Any]] = {
    "evidence(belief)": lambda model, X: opinion_parts(model.evidence(X).combine("belief")),
    "evidence(maximin)": lambda model, X: hedgerow.decide(model.evidence(X).combine("average"), "maximin"),
    "explain": lambda model, X: explanations(model, X),
    "nearest_rows": lambda model, X: model.nearest_rows(X, 3),
    "predict(export_text)": lambda model, X: hedgerow.export_text(model.trees_[0]),
    "predict(shap_values)": lambda model, X: hedgerow.explain.shap_values(model, X[:2]).values,
    "predict_interval(jackknife+)": lambda model, X: model.predict_interval(X, method="jackknife+"),
    "predict_quantiles(scaled)": lambda model, X: model.predict_quantiles(X, method="scaled"),
    "suggest": lambda model, X: model.suggest(X, n=3),
}


def opinion_parts(opinion: Any) -> list[Any]:
    """Return the arrays of an opinion."""
    return [opinion.lower, opinion.upper, opinion.probability]


# ---- Hashes ------------------------------------------------------------------------------------------------------


def digest(value: Any) -> str:
    """Return 16 hexadecimal digits of the SHA-256 of a value."""
    state = hashlib.sha256()
    for part in parts_of(value):
        state.update(len(part).to_bytes(8, "little"))
        state.update(part)
    return state.hexdigest()[:16]


def parts_of(value: Any) -> Iterator[bytes]:
    """Yield the bytes of a value and of everything in it. Names of classes do not count, so that they may change."""
    if isinstance(value, np.ndarray) and value.dtype != object:
        yield f"{value.dtype.str} {value.shape}".encode()
        yield np.ascontiguousarray(value).tobytes()
    elif isinstance(value, pd.DataFrame):
        yield from parts_of({str(name): value[name].tolist() for name in value})
    elif sparse.issparse(value):
        yield from parts_of(value.toarray())
    elif isinstance(value, bytes):
        yield value
    elif isinstance(value, Mapping):
        yield from parts_of([[str(key), value[key]] for key in value])
    elif isinstance(value, set | frozenset):
        yield from parts_of(sorted(value, key=repr))
    elif isinstance(value, list | tuple) or (isinstance(value, np.ndarray) and value.shape):
        yield f"{len(value)} values".encode()
        for each in value:
            yield from parts_of(each)
    elif is_dataclass(value) and not isinstance(value, type):
        yield from parts_of([getattr(value, field.name) for field in fields(value)])
    elif value is None or isinstance(value, str | bool | int | float | np.generic):
        yield repr(value).encode()
    else:
        raise TypeError(f"a {type(value).__name__} has no bytes to compare")


# ---- Tables ------------------------------------------------------------------------------------------------------


@cache
def numbers() -> SimpleNamespace:
    """A numeric table: training rows, rows to ask about (some far outside, some with missing values), and targets."""
    rng = np.random.default_rng(SEED)
    X = rng.normal(size=(240, 5)).round(2)
    score = X[:, 0] + X[:, 1] * (X[:, 2] > 0) + rng.normal(scale=0.5, size=len(X))
    new = rng.normal(size=(24, 5)).round(2)
    new[20, 0], new[21, :2], new[22, 3], new[23] = 1e6, np.nan, -900.0, np.nan
    return SimpleNamespace(
        X=X,
        new=new,
        two=score > 0.3,
        three=np.digitize(score, [-0.6, 0.7]),
        number=score,
        count=np.floor(np.exp(score)),
        weight=rng.integers(1, 4, len(X)) / 2,
    )


@cache
def mixed() -> SimpleNamespace:
    """A data frame with categories, missing values and a group, and rows with categories that no training row has."""
    rng = np.random.default_rng(SEED + 1)

    def frame(n: int) -> pd.DataFrame:
        values = {"age": rng.integers(20, 80, n).astype(float), "dose": rng.normal(size=n).round(2)}
        names = {"site": rng.choice(["north", "south", "west"], n), "code": rng.choice(list("abcdefghij"), n)}
        return pd.DataFrame(values | names)

    X, new = frame(240), frame(24)
    score = (X["age"] - 50) / 20 + X["dose"] + (X["site"] == "west") + rng.normal(scale=0.5, size=len(X))
    X.loc[::11, "dose"] = np.nan
    X.loc[::13, "site"] = None
    new.loc[20, "site"], new.loc[21, "age"], new.loc[22, "code"], new.loc[23, "age"] = "east", 900.0, "z", np.nan
    return SimpleNamespace(X=X, new=new, label=np.where(score > 0.4, "ill", "well"), number=score.to_numpy())


def two_outputs(kind: str) -> tuple[Any, Any, Any]:
    """Training rows, a target of two columns, and rows to ask about."""
    data = numbers()
    columns = [data.two, data.three] if kind == "classes" else [data.number, data.count]
    return data.X, np.column_stack(columns), data.new


# ---- Models ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Case:
    """A function that fits a model, and the rows to ask it about."""

    fit: Callable[[], Any]
    X: Any


def model_of(name: str, *args: Any, **parameters: Any) -> Any:
    """Make an estimator with the seed of this benchmark; forests have few trees."""
    if ("Forest" in name or "Trees" in name) and not name.startswith("Pairwise"):
        parameters.setdefault("n_estimators", TREES)
    return getattr(hedgerow, name)(*args, random_state=SEED, **parameters)


def on_numbers(name: str, target: str, weighted: bool = False, **parameters: Any) -> Callable[[], Case]:
    """Fit an estimator to the numeric table."""

    def make() -> Case:
        data = numbers()
        weight = data.weight if weighted else None
        fit = lambda: model_of(name, **parameters).fit(data.X, getattr(data, target), weight)  # noqa: E731
        return Case(fit, data.new)

    return make


def on_mixed(name: str, target: str, **parameters: Any) -> Callable[[], Case]:
    """Fit an estimator to the data frame."""
    data = mixed()
    return lambda: Case(lambda: model_of(name, **parameters).fit(data.X, getattr(data, target)), data.new)


def on_outputs(name: str, kind: str, weighted: bool = False, **parameters: Any) -> Callable[[], Case]:
    """Fit an estimator to two outputs."""
    X, y, new = two_outputs(kind)
    weight = numbers().weight if weighted else None
    return lambda: Case(lambda: model_of(name, **parameters).fit(X, y, weight), new)


def unlabelled(name: str, **parameters: Any) -> Callable[[], Case]:
    """Fit an estimator without a target."""
    return lambda: Case(lambda: model_of(name, **parameters).fit(numbers().X), numbers().new)


def decision(name: str, *args: Any, **parameters: Any) -> Any:
    """Make a decision, from the module of this version that has them."""
    for module in ("hedgerow.decisions", "hedgerow.decide"):
        try:
            return getattr(import_module(module), name)(*args, **parameters)
        except ModuleNotFoundError:
            continue
    raise ImportError(f"no module has the decision {name}")


def uncertain_labels(make: str) -> Callable[[], Case]:
    """Fit a forest to labels of which every third is a set, or a plausibility of each class."""
    labels, data = import_module("hedgerow.labels"), numbers()
    if make == "sets":
        y = labels.from_sets([{c, (c + 1) % 3} if row % 3 == 0 else c for row, c in enumerate(data.three.tolist())])
    else:
        plausible = np.where(np.arange(3) == data.three[:, None], 1.0, 0.25 * (np.arange(240) % 3 == 0)[:, None])
        y = labels.from_plausibilities(plausible, classes=[0, 1, 2])
    return lambda: Case(lambda: model_of("RandomForestClassifier").fit(data.X, y), data.new)


def in_parts(name: str, target: str, **parameters: Any) -> Callable[[], Case]:
    """Fit an estimator to half of the rows, update it with the others, and grow a few more trees."""
    data = numbers()
    y = getattr(data, target)

    def fit() -> Any:
        model = model_of(name, **parameters).fit(data.X[:120], y[:120])
        return model.partial_fit(data.X[120:], y[120:]).grow_more(3)

    return lambda: Case(fit, data.new)


def warm(name: str, target: str) -> Callable[[], Case]:
    """Fit an estimator, and add trees in a warm start."""
    data = numbers()
    y = getattr(data, target)

    def fit() -> Any:
        model = model_of(name, warm_start=True, n_estimators=8).fit(data.X, y)
        return model.set_params(n_estimators=TREES).fit(data.X, y)

    return lambda: Case(fit, data.new)


def merged(name: str, target: str) -> Callable[[], Case]:
    """Merge two forests that were fitted to different rows."""
    data = numbers()
    y = getattr(data, target)

    def fit() -> Any:
        halves = (slice(0, 140), slice(100, 240))
        forests = [model_of(name, n_estimators=8).fit(data.X[half], y[half]) for half in halves]
        return hedgerow.merge(*forests)

    return lambda: Case(fit, data.new)


def tuned() -> Case:
    """Fit a forest, and choose its rule, caution and decision."""
    data = numbers()
    return Case(lambda: model_of("RandomForestClassifier").fit(data.X, data.three).tune("u65"), data.new)


def with_rule(rule: Any, how: Any = "auto", target: str = "three", **parameters: Any) -> Callable[[], Case]:
    """Fit a forest with a combination rule and a decision."""
    return on_numbers("RandomForestClassifier", target, rule=rule, decision=how, **parameters)


FOREST, NUMBERS = "RandomForestClassifier", "RandomForestRegressor"
MODELS: dict[str, Callable[[], Case]] = {
    "classes/tree": on_numbers("DecisionTreeClassifier", "three"),
    "classes/tree-pruned": on_numbers("DecisionTreeClassifier", "three", criterion="entropy", ccp_alpha=0.01),
    "classes/tree-leaves": on_numbers("DecisionTreeClassifier", "three", weighted=True, max_leaf_nodes=9),
    "classes/tree-belief": on_numbers("DecisionTreeClassifier", "three", criterion="belief", min_samples_leaf=3),
    "classes/extra-tree": on_numbers("ExtraTreeClassifier", "three"),
    "classes/forest": on_numbers(FOREST, "three", oob_score=True),
    "classes/forest-two": on_numbers(FOREST, "two", oob_score=True, weighted=True),
    "classes/forest-uncalibrated": on_numbers(FOREST, "three", calibration=None, leaf_counts="inbag"),
    "classes/forest-bootstrap": on_numbers(FOREST, "three", bootstrap="multinomial", max_samples=0.7),
    "classes/forest-whole": on_numbers(FOREST, "three", bootstrap=False, calibration=None, max_depth=4),
    "classes/forest-imprecise": on_numbers(FOREST, "three", criterion="imprecise", max_features="oob"),
    "classes/forest-auto-trees": on_numbers(FOREST, "two", n_estimators="auto"),
    "classes/forest-balanced": on_numbers(FOREST, "three", class_weight="balanced", oob_score=True),
    "classes/forest-weights": on_numbers(FOREST, "three", class_weight={0: 1, 1: 2, 2: 5}, weighted=True),
    "classes/forest-subsample": on_numbers(FOREST, "three", class_weight="balanced_subsample", leaf_counts="oob"),
    "classes/forest-features": on_numbers(FOREST, "three", feature_weights=[1, 2, 1, 0, 1], constant_features="count"),
    "classes/forest-monotone": on_numbers(FOREST, "two", monotonic_cst=[1, 0, 0, -1, 0]),
    "classes/extra-trees": on_numbers("ExtraTreesClassifier", "three"),
    "classes/extra-trees-bootstrap": on_numbers("ExtraTreesClassifier", "two", bootstrap=True, calibration="oob"),
    "classes/random-decision": on_numbers("RandomDecisionTreesClassifier", "three"),
    "classes/pairwise": on_numbers("PairwiseTreesClassifier", "three"),
    "classes/pairwise-mixed": on_mixed("PairwiseTreesClassifier", "label"),
    "classes/novelty": on_numbers(FOREST, "three", novelty=0.05),
    "classes/sets": uncertain_labels("sets"),
    "classes/plausibilities": uncertain_labels("plausibilities"),
    "classes/tuned": tuned,
    "classes/partial-fit": in_parts(FOREST, "three"),
    "classes/warm-start": warm(FOREST, "three"),
    "classes/merged": merged(FOREST, "three"),
    "mixed/forest": on_mixed(FOREST, "label", oob_score=True),
    "mixed/forest-novelty": on_mixed(FOREST, "label", novelty=0.01, immutable_features=["age"]),
    "mixed/forest-sum": on_mixed(FOREST, "label", unseen="sum"),
    "mixed/extra-larger": on_mixed("ExtraTreesClassifier", "label", unseen="larger"),
    "mixed/regression": on_mixed(NUMBERS, "number", oob_score=True),
    "mixed/regression-sum": on_mixed("ExtraTreesRegressor", "number", unseen="sum"),
    "rules/average-maximin": with_rule("average", "maximin"),
    "rules/average-caution": with_rule("average", caution="auto"),
    "rules/average-coverage": with_rule("average", decision("Coverage", 0.8)),
    "rules/average-risk": with_rule("average", decision("Risk", error=0.2, confidence=0.8)),
    "rules/belief-maximality": with_rule("belief", "maximality", caution=2.0),
    "rules/dempster-admissible": with_rule("dempster", "e_admissibility"),
    "rules/dubois-prade-pignistic": with_rule("dubois_prade", "pignistic"),
    "rules/eva-u65": with_rule("eva", "u65", target="two"),
    "rules/mva-chosen": with_rule("mva"),
    "rules/cdm-chosen": with_rule("cdm_ave", "rule", target="two"),
    "rules/pcr6-u80": with_rule("pcr6", "u80"),
    "rules/weighted-hurwicz": with_rule("weighted_average", "hurwicz"),
    "rules/intervals-top": with_rule("interval_average", "top_probability"),
    "rules/credal-trees": with_rule("credal_trees", "dominance"),
    "numbers/tree": on_numbers("DecisionTreeRegressor", "number", max_depth=4),
    "numbers/extra-tree": on_numbers("ExtraTreeRegressor", "number", weighted=True),
    "numbers/forest": on_numbers(NUMBERS, "number", oob_score=True),
    "numbers/forest-weighted": on_numbers(NUMBERS, "number", weighted=True, leaf_rows=True, oob_score=True),
    "numbers/forest-absolute": on_numbers(NUMBERS, "number", criterion="absolute_error"),
    "numbers/forest-poisson": on_numbers(NUMBERS, "count", criterion="poisson"),
    "numbers/forest-monotone": on_numbers(NUMBERS, "number", monotonic_cst=[1, 0, 0, -1, 0]),
    "numbers/extra-trees": on_numbers("ExtraTreesRegressor", "number"),
    "numbers/partial-fit": in_parts(NUMBERS, "number"),
    "numbers/warm-start": warm(NUMBERS, "number"),
    "numbers/merged": merged(NUMBERS, "number"),
    "outputs/classes": on_outputs(FOREST, "classes", oob_score=True),
    "outputs/classes-weighted": on_outputs("ExtraTreesClassifier", "classes", weighted=True),
    "outputs/class-tree": on_outputs("DecisionTreeClassifier", "classes"),
    "outputs/numbers": on_outputs(NUMBERS, "numbers", oob_score=True),
    "outputs/number-tree": on_outputs("DecisionTreeRegressor", "numbers"),
    "unsupervised/embedding": unlabelled("RandomTreesEmbedding"),
    "unsupervised/forest": unlabelled("UnsupervisedForest"),
}


# ---- Commands ----------------------------------------------------------------------------------------------------

#: Commands that run one after the other in a folder; each group has a folder of its own.
COMMANDS = {
    "classes": """
        fit train.csv --target state --drop amount -o model.hedge --trees 20
        fit train.csv --target state --drop amount -o model.hedge --trees 20 --folds 3 --json
        predict model.hedge new.csv
        predict model.hedge new.csv --json
        evaluate model.hedge test.csv --target state
        evaluate model.hedge test.csv --target state --by site --json
        explain model.hedge new.csv
        explain model.hedge new.csv --row 3
        explain model.hedge new.csv --row 3 --json
        inspect model.hedge
        inspect model.hedge --json
        verify model.hedge
        monitor model.hedge new.csv
        report model.hedge test.csv --target state -o report.html --cases all
    """,
    "numbers": """
        fit train.csv --target amount --drop state --regression -o model.hedge --trees 20
        fit train.csv --target amount --drop state --regression -o model.hedge --trees 20 --test-split 0.2 --json
        predict model.hedge new.csv
        predict model.hedge new.csv --json
        evaluate model.hedge test.csv --target amount
        evaluate model.hedge test.csv --target amount --json
        explain model.hedge new.csv --row 3
        explain model.hedge new.csv --row 3 --json
        inspect model.hedge
        inspect model.hedge --json
        report model.hedge test.csv --target amount -o report.html --cases all
    """,
    "others": """
        fit train.csv --target state --drop amount -o tree.hedge --model tree --rule belief --decision maximality
        fit train.csv --target state --drop amount -o extra.hedge --model extra --class-weight balanced --json
        tune train.csv --target state --drop amount -o tuned.hedge --trees 20 --json
        predict tree.hedge new.csv
        predict extra.hedge new.csv
        fit train.csv --target nothing -o none.hedge
        inspect outputs.hedge --json
        predict outputs.hedge new.csv
    """,
}


def command_lines() -> list[str]:
    """Return a line with the hash of the output of each command, and of each file that the commands write."""
    with tempfile.TemporaryDirectory() as folder:
        return [line for name in COMMANDS for line in group_lines(name, Path(folder) / name)]


def group_lines(name: str, folder: Path) -> list[str]:
    """Run the commands of a group in a folder, and return their lines."""
    folder.mkdir()
    write_tables(folder)
    lines = []
    for number, command in enumerate(COMMANDS[name].strip().splitlines()):
        code, output = run(command.split(), folder)
        label = f"command/{name}/{number:02} {'_'.join(command.split())}"
        lines += [f"{label} exit {code}", f"{label} {digest(output)}"]
    report = folder / "report.html"
    if report.exists():
        lines.append(f"command/{name} report.html {digest(steady(report.read_text(encoding='utf-8')))}")
    return lines


def write_tables(folder: Path) -> None:
    """Write tables to fit, to test and to predict, and a model of two outputs."""
    data = mixed()
    known = data.X.drop(columns="code").assign(amount=data.number.round(3), state=data.label)
    known[:180].to_csv(folder / "train.csv", index=False)
    known[180:].to_csv(folder / "test.csv", index=False)
    data.new.drop(columns="code").to_csv(folder / "new.csv", index=False)
    outputs = np.column_stack([data.label, data.X["age"] > 50])
    model = model_of("RandomForestClassifier").fit(data.X.drop(columns="code"), outputs)
    hedgerow.save(model, folder / "outputs.hedge")


def run(command: list[str], folder: Path) -> tuple[int, str]:
    """Run a command in a folder; return its exit code and what it printed, without times and versions."""
    package = str(Path(hedgerow.__file__).parents[1])
    environment = os.environ | {"PYTHONPATH": package, "COLUMNS": "120", "NO_COLOR": "1", "PYTHONHASHSEED": "0"}
    words = [sys.executable, "-m", "hedgerow", *command]
    done = subprocess.run(words, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    return done.returncode, steady(done.stdout + done.stderr)


def steady(text: str) -> str:
    """Return a text without times and versions, and without blanks at the end of lines."""
    text = re.sub(r"\bin \d+\.\d+ s\b", "in 0.00 s", text)
    text = re.sub(r'("\w*seconds\w*": ?)[\d.e-]+', r"\g<1>0", text)
    text = re.sub(r'(hedgerow |hedgerow_version": ?")\d[\w.+]*', r"\g<1>0", text)
    return "\n".join(line.rstrip() for line in text.splitlines())


if __name__ == "__main__":
    main()
