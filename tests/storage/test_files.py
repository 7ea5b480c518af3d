"""Model files: what is saved is loaded, bit for bit; what is no model is refused in one way."""

from __future__ import annotations

import io
import json
import os
import pickle
import subprocess
import sys
from copy import copy
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.ensemble import RandomForestClassifier as Peer
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from tests.reference.models import MODELS, Fitted, frame, labels, numbers, tampered

import hedgerow
from hedgerow import (
    DecisionTreeClassifier,
    ExtraTreesClassifier,
    HedgerowError,
    ModelFileError,
    RandomDecisionTreesClassifier,
    RandomForestClassifier,
)
from hedgerow.decisions import Coverage, Dominance, UtilitySet, all_decisions
from hedgerow.estimators.trees import BaseTrees
from hedgerow.export import export_svg
from hedgerow.inference.fitted import fitted_of
from hedgerow.rules import all_rules
from hedgerow.storage import describe_file
from hedgerow.storage.values import estimator_named, public_estimators

QUESTIONS = ("predict", "predict_proba", "predict_bounds", "predict_set", "predict_uncertainty", "apply")


def saved(model: Any) -> bytes:
    """The bytes `save` writes."""
    file = io.BytesIO()
    hedgerow.save(model, file)
    return file.getvalue()


def loaded(data: bytes) -> Any:
    """The model `load` makes of bytes."""
    return hedgerow.load(io.BytesIO(data))


def same_answers(one: Any, other: Any, asked: Any) -> None:
    """Every question has the same answer, bit for bit."""
    for question in (question for question in QUESTIONS if hasattr(one, question)):
        first, second = getattr(one, question)(asked), getattr(other, question)(asked)
        assert all(np.array_equal(a, b) for a, b in zip(np.atleast_1d(first), np.atleast_1d(second), strict=True)), (
            question
        )
    assert one.predict(asked).dtype == other.predict(asked).dtype


@pytest.fixture(scope="module", params=MODELS)
def fitted(request: pytest.FixtureRequest) -> Fitted:
    return MODELS[request.param]()


@pytest.fixture(scope="module")
def small() -> Fitted:
    return MODELS["extra"]()


# ---- what is saved is loaded ------------------------------------------------------------------------------------


@pytest.mark.parametrize("memory_map", [True, False])
def test_a_loaded_model_answers_bit_for_bit_as_the_saved_one(fitted: Fitted, memory_map: bool, tmp_path: Path) -> None:
    path = tmp_path / "model.hedge"
    hedgerow.save(fitted.model, path)
    again = hedgerow.load(str(path), memory_map=memory_map)
    same_answers(fitted.model, again, fitted.asked)
    assert type(again) is type(fitted.model)
    assert repr(again) == repr(fitted.model)
    assert fitted_of(again).schema == fitted_of(fitted.model).schema
    assert np.array_equal(again.feature_importances_, fitted.model.feature_importances_)


def test_a_loaded_model_has_every_attribute_a_pickled_one_has(fitted: Fitted) -> None:
    again, unpickled = loaded(saved(fitted.model)), pickle.loads(pickle.dumps(fitted.model))
    assert set(vars(again)) == set(vars(unpickled))
    one, other = fitted_of(again), fitted_of(unpickled)
    assert (one.seed, one.fingerprint, one.origins) == (other.seed, other.fingerprint, other.origins)
    assert np.array_equal(one.info.prior, other.info.prior)
    for name in (
        "n_classes_",
        "n_features_in_",
        "classes_",
        "feature_names_in_",
        "oob_decision_function_",
        "tree_weights_",
        "oob_score_",
        "caution_",
    ):
        assert np.array_equal(getattr(again, name, None), getattr(unpickled, name, None)), name


def test_saving_twice_gives_the_same_bytes(fitted: Fitted) -> None:
    assert saved(fitted.model) == saved(loaded(saved(fitted.model)))


@pytest.mark.parametrize(
    "classes",
    [
        np.array(["a", "bb", "żółw"]),
        np.array(["a", "bb", "c"], dtype="U30"),
        np.array(["", "x\0y", "\ue000"], dtype=object),
        np.array([-3, 0, 7], dtype=np.int8),
        np.array([0, 1, 2**64 - 1], dtype=np.uint64),
        np.array([-1.0, 0.0, 8.0], dtype=np.float32),
        np.array([0.0, 1.0, 2.0]),
        np.array([False, True]),
    ],
    ids=lambda classes: str(classes.dtype),
)
def test_classes_of_every_type_come_back(classes: NDArray[Any]) -> None:
    X = numbers(0, 60)
    model = DecisionTreeClassifier().fit(X, classes[labels(X, len(classes))])
    again = loaded(saved(model))
    assert again.classes_.dtype == model.classes_.dtype
    assert again.predict(X).tolist() == model.predict(X).tolist()


def test_a_file_from_before_half_surrogate_pairs_were_refused_still_loads() -> None:
    X, classes = numbers(0, 60), np.array(["", "x", "\ue000"], dtype=object)
    data = saved(DecisionTreeClassifier().fit(X, classes[labels(X, 3)]))
    half = "\ud800".encode(errors="surrogatepass")
    again = loaded(data.replace("\ue000".encode(), half))
    assert again.classes_.tolist() == ["", "x", "\ud800"]
    assert set(again.predict(X).tolist()) == {"", "x", "\ud800"}
    assert "\\ud800" in export_svg(again)
    for said in (again.predict_frame(X), again.set_output(transform="polars").predict_frame(X)):
        assert set(said["label"]) == {"", "x", r"\ud800"}
        assert r"lower_\ud800" in said.columns


@pytest.mark.parametrize("rule", list(all_rules()), ids=repr)
def test_every_rule_comes_back(rule: Any, small: Fitted) -> None:
    model = loaded(saved(small.model)).set_params(rule=rule)
    if rule.needs_weights:
        model = RandomForestClassifier(3, random_state=0, rule=rule).fit(numbers(0, 60), labels(numbers(0, 60), 2))
    again = loaded(saved(model))
    assert repr(again.rule) == repr(rule)
    assert np.array_equal(again.predict_bounds(small.asked), model.predict_bounds(small.asked))


@pytest.mark.parametrize(
    "decision", [*all_decisions(), Dominance([[1.0, 0.0], [0.0, 2.0]]), UtilitySet(np.array([1, 0.6]))]
)
def test_every_decision_comes_back(decision: Any) -> None:
    X = numbers(0, 60)
    model = RandomForestClassifier(3, random_state=0).fit(X, labels(X, 2)).set_params(decision=decision)
    again = loaded(saved(model))
    assert np.array_equal(again.predict_set(X), model.predict_set(X))


def test_parameters_come_back_as_they_were() -> None:
    given = {
        "class_weight": {"no": 1.0, "yes": 2.5},
        "monotonic_cst": np.array([1, 0, 0, -1]),
        "categorical_features": None,
        "max_features": 0.5,
        "random_state": 2**32 - 1,
        "max_samples": 30,
    }
    X = numbers(0, 60)
    model = RandomForestClassifier(2, **given).fit(X, np.array(["no", "yes"])[labels(X, 2)])
    again = loaded(saved(model)).get_params()
    assert all(np.array_equal(again[name], value) for name, value in model.get_params().items())
    assert again["monotonic_cst"].dtype == given["monotonic_cst"].dtype


@pytest.mark.parametrize(
    "name", [name for name in public_estimators() if "n_jobs" in estimator_named(name)().get_params()]
)
def test_the_file_is_the_same_on_any_number_of_threads(name: str) -> None:
    X = numbers(0, 60)
    y = X[:, 0] > 0 if name.endswith("Classifier") else np.nan_to_num(X[:, 0])
    if "Survival" in name:
        y = np.column_stack([np.abs(y), y > 0])
    models = [estimator_named(name)(8, random_state=0, n_jobs=n_jobs).fit(X, y) for n_jobs in (None, 1, 2, 10**6)]
    assert len({saved(model) for model in models}) == 1
    assert loaded(saved(models[2])).n_jobs is None


@pytest.mark.parametrize(("stored", "read"), [(None, None), (1, 1), (-1, -1), (1024, joblib.cpu_count())])
def test_the_threads_of_an_older_file_are_no_more_than_the_machine_has(stored: Any, read: Any, small: Fitted) -> None:
    older = tampered(saved(small.model), lambda metadata, model: model["parameters"].update(n_jobs=stored))
    assert loaded(older).n_jobs == read
    assert describe_file(io.BytesIO(older)).parameters["n_jobs"] == read


@pytest.mark.parametrize("reason", [MemoryError(), RuntimeError("no thread"), RecursionError("too deep")])
def test_what_runs_out_while_a_file_is_read_is_the_same_one_exception(
    reason: Exception, small: Fitted, monkeypatch: pytest.MonkeyPatch
) -> None:
    def run_out(*_: Any, **__: Any) -> Any:
        raise reason

    data = saved(small.model)
    monkeypatch.setattr("hedgerow.storage.state.counted_rows", run_out)
    with pytest.raises(ModelFileError) as refused:
        loaded(data)
    assert str(refused.value).endswith(str(reason) or "not enough memory to load.")


def test_a_file_that_memory_does_not_hold_is_the_same_one_exception() -> None:
    class Endless(io.BytesIO):
        def read(self, size: int | None = -1) -> bytes:
            raise MemoryError

    with pytest.raises(ModelFileError, match="not enough memory"):
        hedgerow.load(Endless())


def test_what_the_training_rows_must_teach_is_learned_before_saving() -> None:
    X = numbers(0, 60)
    model = RandomForestClassifier(5, random_state=0).fit(X, labels(X, 2))
    model.set_params(caution="auto", decision=Coverage(0.7), rule="eva")
    again = loaded(saved(model))
    assert again.caution_ == model.caution_
    assert np.array_equal(again.predict_set(X), model.predict_set(X))
    with pytest.raises(AttributeError, match="oob_evidence_ requires out-of-bag rows"):
        _ = again.oob_evidence_


def test_thresholds_of_groups_are_saved_and_damaged_ones_refused() -> None:
    X = np.column_stack([numbers(0, 90), np.arange(90) % 2])
    y, column = labels(X, 2), X.shape[1] - 1
    model = RandomForestClassifier(9, random_state=0, decision=Coverage(0.7, groups=column)).fit(X, y)
    again = loaded(saved(model))
    assert np.array_equal(again.predict_set(X), model.predict_set(X))
    by_hand = Coverage(0.7, groups=column).calibrate(model.evidence(X).combine(), y)
    model.set_params(decision=by_hand)
    again = loaded(saved(model))
    assert again.decision.groups_ == ["0.0", "1.0"]
    assert np.array_equal(again.predict_set(X), model.predict_set(X))
    for name, value in (
        ("group_threshold_", by_hand.group_threshold_[:1]),
        ("groups_", [1.0, 2.0]),
        ("group_rows_", by_hand.group_rows_[0]),
    ):
        damaged = copy(by_hand)
        setattr(damaged, name, value)
        with pytest.raises((ModelFileError, ValueError)):
            loaded(saved(model.set_params(decision=damaged)))


def test_a_warm_start_goes_on_from_a_file() -> None:
    X = numbers(0, 60)
    y = labels(X, 3)
    settings = {"random_state": 0, "warm_start": True}
    again = loaded(saved(RandomForestClassifier(3, **settings).fit(X, y))).set_params(n_estimators=6, oob_score=True)
    whole = RandomForestClassifier(6, oob_score=True, **settings).fit(X, y)
    assert np.array_equal(again.fit(X, y).predict_proba(X), whole.predict_proba(X))
    assert again.oob_score_ == whole.oob_score_
    mixed = again.set_params(n_estimators=7, oob_score=False).fit(X[:50], y[:50])
    assert np.array_equal(loaded(saved(mixed)).predict_proba(X), mixed.predict_proba(X))


def test_infinite_and_extreme_values_are_thresholds_that_can_be_saved() -> None:
    lowest = -np.finfo(float).max
    X = np.array([[-np.inf], [lowest], [0.0], [-lowest], [np.inf], [np.nan]] * 4)
    model = DecisionTreeClassifier().fit(X, np.arange(24) % 6)
    assert np.array_equal(loaded(saved(model)).predict_proba(X), model.predict_proba(X))


@pytest.mark.parametrize("container", ["polars", "pyarrow"])
def test_a_model_of_one_kind_of_frame_reads_another_after_loading(container: str) -> None:
    table = frame(0, 60)
    other = pytest.importorskip(container)
    converted = other.from_pandas(table) if container == "polars" else other.Table.from_pandas(table)
    model = ExtraTreesClassifier(3, random_state=0).fit(converted, labels(numbers(0, 60), 2))
    again = loaded(saved(model))
    assert np.array_equal(again.predict_proba(table), model.predict_proba(converted))


def test_pickle_and_joblib_keep_a_loaded_model(tmp_path: Path, small: Fitted) -> None:
    hedgerow.save(small.model, tmp_path / "model.hedge")
    again = hedgerow.load(tmp_path / "model.hedge")
    joblib.dump(again, tmp_path / "model.joblib")
    for kept in (pickle.loads(pickle.dumps(again)), joblib.load(tmp_path / "model.joblib")):
        same_answers(small.model, kept, small.asked)
    assert not clone(again).__dict__.keys() & {"forest_", "classes_"}


# ---- the file ---------------------------------------------------------------------------------------------------


def test_other_readers_of_safetensors_read_our_files(fitted: Fitted, tmp_path: Path) -> None:
    safetensors = pytest.importorskip("safetensors")
    hedgerow.save(fitted.model, tmp_path / "model.hedge")
    with safetensors.safe_open(tmp_path / "model.hedge", framework="numpy") as file:
        assert file.metadata()["format"] == "hedgerow-model"
        assert np.array_equal(file.get_tensor("forest.nodes"), fitted.model.forest_.nodes)
        assert np.array_equal(file.get_tensor("forest.counts"), fitted.model.forest_.counts)


def test_we_read_what_others_have_written_of_our_arrays(fitted: Fitted) -> None:
    peer = pytest.importorskip("safetensors.numpy")
    data = saved(fitted.model)
    metadata = json.loads(data[8 : 8 + int.from_bytes(data[:8], "little")])["__metadata__"]
    same_answers(fitted.model, loaded(peer.save(peer.load(data), metadata)), fitted.asked)


def test_trees_are_mapped_not_copied(small: Fitted, tmp_path: Path) -> None:
    hedgerow.save(small.model, tmp_path / "model.hedge")
    nodes = hedgerow.load(tmp_path / "model.hedge").forest_.nodes
    assert not nodes.flags.owndata
    assert not nodes.flags.writeable
    assert (
        str(tmp_path / "model.hedge") in Path("/proc/self/maps").read_text()
        if os.path.exists("/proc/self/maps")
        else True
    )


def test_a_reader_keeps_its_model_while_a_new_one_is_saved_in_its_place(tmp_path: Path) -> None:
    X, path = numbers(0, 60), tmp_path / "model.hedge"
    old = DecisionTreeClassifier(random_state=0).fit(X, labels(X, 2))
    hedgerow.save(old, path)
    reader, expected = hedgerow.load(path), old.predict_proba(X)
    hedgerow.save(RandomForestClassifier(2, random_state=0).fit(X, labels(X, 5)), path)
    assert np.array_equal(reader.predict_proba(X), expected)
    assert hedgerow.load(path).n_classes_ == 5
    hedgerow.save(reader, path)
    assert np.array_equal(hedgerow.load(path).predict_proba(X), expected)


def test_a_save_that_fails_leaves_the_old_file_and_no_other(small: Fitted, tmp_path: Path, monkeypatch: Any) -> None:
    path = tmp_path / "model.hedge"
    path.write_bytes(b"old")

    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match=r"No space left on device: '.*model\.hedge'$"):
        hedgerow.save(small.model, path)
    assert [each.name for each in tmp_path.iterdir()] == ["model.hedge"]
    assert path.read_bytes() == b"old"


def test_a_link_keeps_pointing_to_the_model(small: Fitted, tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    link, target = tmp_path / "link.hedge", tmp_path / "there" / "model.hedge"
    link.symlink_to(target)
    hedgerow.save(small.model, link)
    assert link.is_symlink()
    assert target.is_file()


def test_loading_imports_and_runs_nothing_that_is_not_ours(small: Fitted, tmp_path: Path) -> None:
    hedgerow.save(small.model, tmp_path / "model.hedge")
    code = (
        "import sys, hedgerow\n"
        "load, _ = hedgerow.load, hedgerow.__version__\n"  # names are imported when first used
        "def refuse(event, args):\n"
        "    if event in ('import', 'exec', 'compile', 'pickle.find_class', 'subprocess.Popen', 'os.system'):\n"
        "        raise SystemExit(f'{event} {args[0]}')\n"
        "sys.addaudithook(refuse)\n"
        "load(sys.argv[1])\n"
    )
    ran = subprocess.run(
        [sys.executable, "-c", code, tmp_path / "model.hedge"], capture_output=True, text=True, check=False
    )
    assert ran.returncode == 0, ran.stderr[-2000:]


def test_the_table_of_estimators_knows_every_public_one() -> None:
    public = [getattr(hedgerow, name) for name in hedgerow.__all__]
    estimators = {each for each in public if isinstance(each, type) and issubclass(each, BaseTrees)}
    assert estimators == {estimator_named(name) for name in public_estimators()}
    assert all(estimator_named(name).__name__ == name for name in public_estimators())


# ---- what cannot be saved ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "model",
    [
        Peer(),
        make_pipeline(StandardScaler(), DecisionTreeClassifier()),
        "model",
        type("Mine", (DecisionTreeClassifier,), {})(),
    ],
)
def test_only_our_estimators_are_saved(model: Any, tmp_path: Path) -> None:
    with pytest.raises(TypeError, match=r"model must be one of .*joblib"):
        hedgerow.save(model, tmp_path / "model.hedge")
    assert not list(tmp_path.iterdir())


def test_a_model_must_be_fitted_to_be_saved(tmp_path: Path) -> None:
    with pytest.raises(NotFittedError):
        hedgerow.save(RandomDecisionTreesClassifier(), tmp_path / "model.hedge")


class Unregistered(Dominance):
    """A decision of a user's own."""


@pytest.mark.parametrize(
    "parameters",
    [
        {"random_state": np.random.RandomState(0)},
        {"oob_score": lambda y, p: 1.0},
        {"decision": UtilitySet(lambda size: 1 / size)},
        {"decision": Unregistered()},
        {"rule": "no such rule"},
        {"caution": -1.0},
        {"class_weight": {str(number): 1.0 for number in range(100_000)}},
    ],
    ids=lambda parameters: next(iter(parameters)),
)
def test_a_parameter_that_is_no_data_is_named(parameters: dict[str, Any], tmp_path: Path) -> None:
    X = numbers(0, 60)
    model = RandomForestClassifier(2).fit(X, labels(X, 2)).set_params(**parameters)
    with pytest.raises(ValueError, match=f"{next(iter(parameters))}|parameters must fit"):
        hedgerow.save(model, tmp_path / "model.hedge")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("path", [None, 3, ["model.hedge"]])
def test_a_path_must_be_one(path: Any, small: Fitted) -> None:
    with pytest.raises(TypeError, match="path must be a str"):
        hedgerow.save(small.model, path)
    with pytest.raises(TypeError, match="path must be a str"):
        hedgerow.load(path)


# ---- what is no model -------------------------------------------------------------------------------------------


def test_a_file_open_as_text_is_refused(small: Fitted) -> None:
    with pytest.raises(TypeError, match="Use mode 'rb'"):
        hedgerow.load(io.StringIO("{}"))  # type: ignore[arg-type]


def test_one_exception_for_every_file_that_is_no_model() -> None:
    assert issubclass(ModelFileError, HedgerowError)
    assert issubclass(ModelFileError, ValueError)
    for data in (b"", b"PK\3\4" + bytes(100), pickle.dumps({}), b"\xff" * 100, (16).to_bytes(8, "little") + b"{" * 16):
        with pytest.raises(ModelFileError):
            loaded(data)


def test_a_file_that_cannot_be_opened_is_an_error_of_the_system(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        hedgerow.load(tmp_path / "nowhere.hedge")
    with pytest.raises(IsADirectoryError):
        hedgerow.load(tmp_path)
    (tmp_path / "empty.hedge").touch()
    with pytest.raises(ModelFileError, match="truncated"):
        hedgerow.load(tmp_path / "empty.hedge")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
def test_a_pipe_is_refused_and_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(ModelFileError, match="regular file"):
        hedgerow.load(tmp_path / "pipe")


def test_a_newer_major_version_is_refused_with_a_sentence(small: Fitted) -> None:
    def newer(metadata: dict[str, str], model: dict[str, Any]) -> None:
        metadata |= {"format_version": "3.0", "hedgerow_version": "9.1"}

    with pytest.raises(
        ModelFileError, match=r"format_version must be at most 2 .* got 3\.0, written by hedgerow 9\.1\. Upgrade"
    ):
        loaded(tampered(saved(small.model), newer))


def test_a_newer_minor_version_is_read_and_its_additions_are_ignored(small: Fitted) -> None:
    def newer(metadata: dict[str, str], model: dict[str, Any]) -> None:
        metadata["format_version"] = "1.7"
        model["comment"] = "grown on a Tuesday"

    same_answers(small.model, loaded(tampered(saved(small.model), newer)), small.asked)
    with pytest.raises(ModelFileError, match="comment"):
        loaded(tampered(saved(small.model), lambda metadata, model: model.update(comment="grown on a Tuesday")))


@pytest.mark.parametrize(
    ("key", "value", "said"),
    [
        ("estimator", "sklearn.ensemble.RandomForestClassifier", "estimator"),
        ("estimator", "__import__('os').system('true')", "estimator"),
        ("classes", "U99999999", "width of text"),
        ("seed", -1, "seed"),
        ("bag", {"rows": None, "n_rows": 59, "bag_mean": 0.0, "leaf_counts": "all"}, "59 training rows"),
        ("parameters", {"rule": {"rule": "os.system", "parameters": {}}}, "rule must be one of"),
        ("parameters", {"rule": {"rule": "laplace", "parameters": {"alpha": -1.0}}}, "alpha"),
        ("parameters", {"decision": {"decision": "Popen", "parameters": {}}}, "decision must be one of"),
        ("parameters", {"forest_": 1}, "parameters of ExtraTreesClassifier"),
        ("parameters", {"caution": {"float": "nan"}}, "caution"),
        ("parameters", {"caution": None}, "caution"),
        ("parameters", {"n_jobs": 100_000}, "n_jobs"),
        ("parameters", {"max_depth": {"object": "x"}}, "unknown parameter object"),
    ],
)
def test_nothing_in_the_header_is_taken_on_trust(key: str, value: Any, said: str, small: Fitted) -> None:
    data = saved(MODELS["forest"]().model if key == "classes" else small.model)
    with pytest.raises(ModelFileError, match=said):
        loaded(tampered(data, lambda metadata, model: model.update({key: value})))


def test_deep_wide_and_repeated_json_is_refused() -> None:
    for text in (
        b"[" * 100_000,
        b'{"a":' * 20_000,
        b'{"a":1,"a":2}',
        b'{"a":NaN}',
        b'{"a":' + b"9" * 5000 + b"}",
        b"\xff{}",
    ):
        text += b" " * (-len(text) % 8)
        with pytest.raises(ModelFileError):
            loaded(len(text).to_bytes(8, "little") + text)
    with pytest.raises(ModelFileError, match="at most 1,048,576"):
        loaded((1 << 21).to_bytes(8, "little") + b"{}" + b" " * (1 << 21))


@pytest.mark.parametrize(
    ("place", "said"),
    [
        ({"dtype": "U8", "shape": [8], "data_offsets": [8, 16]}, "must begin at byte 0"),
        ({"dtype": "U8", "shape": [2**63], "data_offsets": [0, 8]}, "bytes of its shape"),
        ({"dtype": "U8", "shape": [8], "data_offsets": [0, 8.0]}, "malformed entry"),
        ({"dtype": "U8", "shape": [-8], "data_offsets": [0, 8]}, "malformed entry"),
        ({"dtype": "U8", "shape": [True], "data_offsets": [0, 1]}, "malformed entry"),
        ({"dtype": "BF16", "shape": [4], "data_offsets": [0, 8]}, "dtype"),
        ({"dtype": "U8", "shape": [4], "data_offsets": [0, 4]}, "too long"),
        ({"dtype": "U8", "shape": [0, 2**62], "data_offsets": [0, 0]}, "must not be empty"),
        ({"dtype": "U8", "shape": [8]}, "data_offsets"),
    ],
)
def test_arrays_must_fill_the_file_end_to_end(place: dict[str, Any], said: str) -> None:
    text = json.dumps({"a": place}).encode()
    text += b" " * (-len(text) % 8)
    with pytest.raises(ModelFileError, match=said):
        loaded(len(text).to_bytes(8, "little") + text + bytes(8))
