"""Sound files: every file that loads is a model that answers; what no fit could have written is refused."""

from __future__ import annotations

import inspect
import io
from collections.abc import Callable
from random import Random
from typing import Any

import numpy as np
import pytest
from tests.reference.ask import is_refusal, questions
from tests.reference.attack import Attack
from tests.reference.craft import CHANGES, Parts, put_together, settle, taken_apart
from tests.reference.models import EVERY_MODEL, MODELS, N_LISTED, labels, numbers, saved

import hedgerow
from hedgerow import _core
from hedgerow.rules import Belief, CdmAve
from hedgerow.storage import state
from hedgerow.storage import state as novelty
from hedgerow.storage.values import estimator_named, text_to_arrays


def parts_of(name: str) -> Parts:
    """A model of `tests.reference.models`, saved and taken apart."""
    return taken_apart(saved(name))


def loaded(parts: Parts) -> Any:
    """What `load` makes of a file."""
    return hedgerow.load(io.BytesIO(put_together(parts)))


def filled(name: str, value: Any) -> Callable[[Parts], None]:
    """All cells of an array are this."""
    return lambda parts: parts.arrays[name].fill(value)


def with_trees_of_hulls(n_trees: int) -> Callable[[Parts], None]:
    """So many trees have hulls, with the features of the first one."""

    def change(parts: Parts) -> None:
        parts.arrays["hulls.features"] = np.repeat(parts.arrays["hulls.features"][:1], n_trees, axis=0)

    return change


def with_cell(name: str, at: int, value: Any) -> Callable[[Parts], None]:
    """A cell of an array is this."""
    return lambda parts: parts.arrays[name].reshape(-1).__setitem__(at, value)


def with_parameter(name: str, value: Any) -> Callable[[Parts], None]:
    """A parameter is this."""
    return lambda parts: parts.model["parameters"].__setitem__(name, value)


def with_groups(groups: Any) -> Callable[[Parts], None]:
    """The decision of the model promises something to these groups."""
    return lambda parts: parts.model["parameters"]["decision"]["parameters"].__setitem__("groups", groups)


def with_names(*names: str) -> Callable[[Parts], None]:
    """The columns are called like this."""
    return lambda parts: parts.arrays.update(text_to_arrays("table.names", names))


def with_classes(word: str, values: list[Any]) -> Callable[[Parts], None]:
    """The classes are these."""

    def change(parts: Parts) -> None:
        parts.model["classes"] = word
        parts.arrays["classes"] = np.array(values, dtype=word)

    return change


def with_payload_of_a_split(parts: Parts) -> None:
    parts.arrays["forest.payload"][0] = 7


def with_list(change: Callable[[np.ndarray, int], int]) -> Callable[[Parts], None]:
    """A list of two or three categories is another: `change` writes its four codes -> the code of the node."""

    def changed(parts: Parts) -> None:
        nodes, words = parts.arrays["forest.nodes"], parts.arrays["forest.set_words"]
        n_first = parts.arrays["forest.node_start"][1]  # the first tree, whose words come first
        listed = [i for i, bits in enumerate(nodes[:n_first].tolist()) if bits >> 33 & 3 == 1 and bits & 0x8000]
        at = next(i for i in listed if int(nodes[i]) & 0x3FFF in (2, 3))
        first, bits = int(parts.arrays["forest.payload"][at]), int(nodes[at])
        nodes[at] = bits & ~0xFFFF | change(words[first : first + 1].view(np.uint16), bits & 0xFFFF)

    return changed


def with_shared_lists(parts: Parts) -> None:
    """All subsets of a tree are the same list, in the same word."""
    nodes, n_trees = parts.arrays["forest.nodes"], len(parts.arrays["forest.set_start"]) - 1
    subset = (nodes >> np.uint64(33)) & np.uint64(3) == 1
    nodes[subset] = nodes[subset] & ~np.uint64(0xFFFF) | np.uint64(0x8004)
    parts.arrays["forest.payload"][subset] = 0
    parts.arrays["forest.set_words"] = np.tile(np.arange(4, dtype=np.uint16).view(np.uint64), n_trees)
    parts.arrays["forest.set_start"] = np.arange(n_trees + 1)


def with_words_elsewhere(parts: Parts) -> None:
    """All subsets have their words where there are none."""
    subset = (parts.arrays["forest.nodes"] >> np.uint64(33)) & np.uint64(3) == 1
    parts.arrays["forest.payload"][subset] = 10**6


def _listing(*codes: int) -> Callable[[np.ndarray, int], int]:
    """A list of these four codes, in a node that is as it was."""

    def change(listed: np.ndarray, form: int) -> int:
        listed[:] = codes
        return form

    return change


def without(name: str) -> Callable[[Parts], None]:
    """The fit does not say this."""
    return lambda parts: parts.model["fitted"].pop(name)


def with_map(name: str, value: Any) -> Callable[[Parts], None]:
    """A number of the map of probabilities is this."""
    return lambda parts: parts.model["fitted"]["calibration_"].__setitem__(name, value)


def with_origin(place: int, value: Any) -> Callable[[Parts], None]:
    """A number of the first origin is this."""
    return lambda parts: parts.model["fitted"]["origins"][0].__setitem__(place, value)


def rule(name: str, **parameters: Any) -> dict[str, Any]:
    return {"rule": name, "parameters": parameters}


@pytest.mark.parametrize(
    ("name", "change", "said"),
    [
        # Parameters are checked by the table that fits read.
        ("forest", with_parameter("caution", True), "caution must be a number >= 0"),
        ("number-tree", with_parameter("caution", True), "caution must be a number >= 0"),
        ("forest", with_parameter("n_estimators", -3), "n_estimators must be an int >= 1"),
        ("forest", with_parameter("max_depth", []), "max_depth must be an int >= 1 or None"),
        ("survival", with_parameter("max_features", 1.7e308), "max_features must be"),
        ("outputs", lambda parts: parts.model["outputs"][1]["fitted"].pop("novelty"), "must share table, trees, bags"),
        ("forest", with_parameter("random_state", -1), "random_state must be an int from 0"),
        ("forest", with_parameter("class_weight", "light"), "class_weight must be one of"),
        ("number-tree", with_parameter("leaf_rows", [0, 0]), "leaf_rows must be True or False"),
        ("embedding", with_parameter("sparse_output", "yes"), "sparse_output must be True or False"),
        # What was to be learned on training rows must have been learned.
        ("forest", with_parameter("caution", "auto"), "caution must be a number in a model without training rows"),
        ("learned", without("caution_"), "."),
        ("learned", without("learned_with"), "."),
        ("learned", with_parameter("caution", 77.0), "requires training rows to learn tree weights"),
        ("forest", with_parameter("rule", rule("belief", weights="learned")), "requires training rows to learn tree"),
        # Rules and decisions are tried, however many classes there are.
        (
            "forty",
            with_parameter("rule", rule("cdm_ave", utility=[1.0, 0.5])),
            "utility must be 40 finite non-negative numbers",
        ),
        ("forty", with_parameter("rule", rule("laplace", alpha=-1.0)), "alpha must be finite and non-negative"),
        ("forest", with_parameter("rule", rule("generalised_mixture", theta="mode")), "theta must be one of"),
        (
            "forty",
            with_parameter("decision", {"decision": "Maximality", "parameters": {"utility": [[1.0, 0.0]]}}),
            r"utility must have the shape \(actions, 40\)",
        ),
        (
            "actions",
            with_parameter("decision", {"decision": "Hurwicz", "parameters": {"optimism": 3.0}}),
            r"optimism must lie in \[0, 1\]",
        ),
        ("learned", with_groups([]), "groups must be the name or index of one of the"),
        ("learned", with_groups("other"), "groups must be the name or index of one of the"),
        # Leaves hold what rows can have put there.
        ("weighted", filled("forest.weights", 1e307), "weights must be 0, or between"),
        ("weighted", filled("forest.weights", 5e-324), "weights must be 0, or between"),
        ("weighted", filled("forest.weights", 0.0), "must have rows with positive weight"),
        ("number-forest", filled("forest.weights", 0.0), "must have rows with positive weight"),
        ("number-forest", filled("forest.weights", 1e308), "weights must be 0, or between"),
        ("number-tree", filled("forest.values", 1e308), r"must lie within ±1e\+150"),
        ("number-tree", filled("forest.values", 1e9), "'values': must lie between"),
        ("number-extra", filled("forest.means", -1e9), "'means': must lie between"),
        ("number-tree", filled("forest.variances", 1e308), "variances must lie between 0 and"),
        ("number-tree", filled("range", np.nan), "range must lie within"),
        ("number-tree", filled("range", 1e200), "range must lie within"),
        ("number-poisson", with_cell("range", 0, -1.0), "y must be >= 0"),
        ("number-forest", filled("residuals", 1e300), "residuals must lie within"),
        ("number-forest", filled("residuals.scaled", 1e9), "'residuals.scaled': must be ascending, within ±370"),
        ("number-forest", filled("residuals.scaled", np.nan), "'residuals.scaled': must be ascending"),
        ("number-forest", filled("rows.weights", 1e-300), "positive weights"),
        ("number-forest", with_cell("rows.values", 0, -1e9), "'rows.values': must lie between"),
        ("number-later", filled("later.mean", 1e200), "means must lie within"),
        ("number-later", filled("later.weight", 1e200), "weights of leaves must be from"),
        ("calibrated", filled("calibration_mix", -1e308), r"values must lie within ±1e\+06"),
        ("calibrated", filled("calibration_offsets", np.nan), r"values must lie within ±1e\+06"),
        ("calibrated", with_map("slope", 1e308), "slope must"),
        ("calibrated", with_map("gain", -1.0), "gain must"),
        ("calibrated", with_map("mixes", 1), "mixes must be true or false"),
        ("learned", filled("tree_weights", 1e308), "'tree_weights': must sum to one"),
        ("learned", filled("tree_weights", 5e-324), "'tree_weights': must sum to one"),
        ("learned", filled("tree_weights", 0.0), "'tree_weights': must sum to one"),
        ("learned", filled("oob_decision_function", 7.0), "must have probabilities that sum to one"),
        ("calibrated", filled("oob_decision_function", np.inf), "must have probabilities that sum to one"),
        ("calibrated", filled("oob_decision_function", np.nan), "must have probabilities that sum to one"),
        ("outputs", with_cell("0.oob_decision_function", 0, -5.0), "must have probabilities that sum to one"),
        ("strangers", filled("hulls.spread", np.inf), "finite spreads"),
        ("strangers", with_trees_of_hulls(0), "must not be empty"),
        ("strangers", with_trees_of_hulls(1000), "'hulls.features' must have at most"),
        ("strangers", with_trees_of_hulls(1), "array 'hulls.marks' must have shape"),
        ("forest", with_origin(8, 5e-324), "weight_unit of an origin"),
        ("forest", filled("origins.class_rows", 1e300), "'origins.class_rows' must be"),
        ("tree", with_payload_of_a_split, "must point to nothing unless it is a leaf or a subset, got 7"),
        # Lists of categories are as a fit writes them.
        ("listed", with_list(_listing(5, 4, 4, 4)), "must list categories of its feature, each once, in ascending"),
        ("listed", with_list(_listing(4, 4, 4, 4)), "must list categories of its feature, each once, in ascending"),
        ("listed", with_list(_listing(4, N_LISTED, N_LISTED, N_LISTED)), "must list categories of its feature"),
        ("listed", with_list(_listing(4, 5, 6, 0)), "must list categories of its feature, .* repeat only the last"),
        ("listed", with_list(lambda listed, form: form & 0x3FFF), "must list categories only if that takes at most"),
        ("listed", with_list(lambda listed, form: 0x8000 | 12), "must list categories only if that takes at most"),
        ("listed", with_list(lambda listed, form: 0xFFFF), "must list categories only if that takes at most"),
        ("listed", with_words_elsewhere, "must send a subset of a nominal feature's categories left"),
        ("listed", with_shared_lists, "must list categories in words of its own, got those of another node"),
        ("extra", with_shared_lists, "must list categories only if that takes at most a quarter"),
        # Columns and classes are what a table and labels can have.
        ("forest", with_names("a", "b", "a", "c", "d"), "column names must be unique"),
        ("forest", with_cell("table.kind", 0, 2), "column types must match their categories, got 'text'"),
        ("forest", with_cell("table.kind", 1, 0), "column types must match their categories, got 'number'"),
        ("tree", filled("bins.centers", np.nan), "'bins.centers' must not have NaN"),
        ("tree", with_classes("float64", [0.0, 0.5, 1.0]), "numeric classes must be 64-bit integers"),
        ("tree", with_classes("float64", [0.0, 1.0, np.inf]), "numeric classes must be 64-bit integers"),
    ],
)
def test_what_no_fit_could_have_written_is_refused(name: str, change: Callable[[Parts], None], said: str) -> None:
    parts = parts_of(name)
    change(parts)
    settle(parts)
    with pytest.raises(hedgerow.ModelFileError, match=said):
        loaded(parts)


@pytest.mark.parametrize("estimator", ["PairwiseTreesClassifier", "UnsupervisedForest", "RandomTreesEmbedding"])
def test_estimators_of_one_output_do_not_have_several(estimator: str) -> None:
    parts = parts_of("outputs")
    parts.model["estimator"] = estimator
    with pytest.raises(hedgerow.ModelFileError, match="must be of one output, got several"):
        loaded(parts)


@pytest.mark.parametrize("name", ["outputs", "outputs-framed", "number-outputs"])
def test_what_outputs_share_is_read_and_checked_once(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    parts, called, nodes_checked = parts_of(name), [], []
    parts.model["outputs"] *= 20  # of arrays that all share, none is written more than once
    n_outputs = len(parts.model["outputs"])
    for held in [held for held in parts.arrays if held.partition(".")[0].isdigit()]:
        number, _, rest = held.partition(".")
        own = {f"{k}.{rest}": parts.arrays[held] for k in range(int(number), n_outputs, n_outputs // 20)}
        parts.arrays.update(own)
    for module, read in ((state, "schema_from_arrays"), (state, "bins_from_arrays"), (novelty, "_leaf_ranges_from")):
        real = getattr(module, read)
        monkeypatch.setattr(module, read, lambda *given, real=real, read=read: (called.append(read), real(*given))[1])
    check = _core.check_forest
    monkeypatch.setattr(
        _core, "check_forest", lambda **given: (nodes_checked.append(given["borrowed"] is None), check(**given))[1]
    )
    assert len(loaded(parts).outputs_) == n_outputs
    assert len(called) == len({*called})
    assert nodes_checked == [True] + [False] * (len(nodes_checked) - 1)


def test_a_file_of_more_rows_than_its_trees_have_counted_is_refused() -> None:
    parts = parts_of("extra")
    parts.model["bag"].update(n_rows=2**31 - 1, leaf_counts="inbag")
    with pytest.raises(hedgerow.ModelFileError, match="bags must be of the rows of all origins, got 2,147,"):
        loaded(parts)


def test_outputs_with_a_table_of_their_own_are_refused() -> None:
    parts = parts_of("outputs")
    kinds = parts.arrays.pop("table.kind")
    parts.arrays.update({f"{k}.table.kind": kinds for k in range(len(parts.model["outputs"]))})
    with pytest.raises(hedgerow.ModelFileError, match="must share table, trees, bags and novelty"):
        loaded(parts)


def test_leaves_of_later_outputs_are_checked_too() -> None:
    parts = parts_of("outputs")
    last = len(parts.model["outputs"]) - 1
    with_cell(f"{last}.forest.counts", 0, 1_000)(parts)
    with pytest.raises(hedgerow.ModelFileError, match="counts must add up to the rows of each tree"):
        loaded(parts)


def test_a_report_escapes_halves_of_surrogate_pairs() -> None:
    parts = parts_of("forest")
    parts.arrays.update(text_to_arrays("classes", ("no", "perhaps", "\ud800")))
    page = dict(questions(loaded(parts)))["report"]()
    assert "\\ud800" in page.encode().decode()


@pytest.mark.parametrize("name", EVERY_MODEL)
def test_a_loaded_model_answers_every_question_or_refuses_in_known_words(name: str) -> None:
    refused = {}
    for question, ask in questions(loaded(parts_of(name))):
        try:
            if question.split()[0] not in hedgerow.plot.__all__:
                ask()
        except Exception as reason:
            refused[question] = reason
    assert [(question, reason) for question, reason in refused.items() if not is_refusal(question, reason)] == []
    assert not {"predict_set", "score"} & {*refused}


#: Methods that are asked along with others, and what is only told to scikit-learn; attributes find themselves.
ALONG = {"predict_bounds", "predict_log_proba", "get_params", "get_n_leaves", "set_output"}
TOLD = {"get_metadata_routing", "set_callbacks"}


@pytest.mark.parametrize("name", list(EVERY_MODEL))
def test_every_public_method_is_a_question(name: str) -> None:
    model = loaded(parts_of(name))
    asked = {question.split()[0] for question, _ in questions(model)}
    methods = {name for name, _ in inspect.getmembers(type(model), inspect.isroutine) if not name.startswith("_")}
    assert {name for name in methods - ALONG - TOLD - asked if not name.endswith(("_request", "_"))} == set()


def test_every_public_function_is_a_question() -> None:
    asked = {question.split()[0] for name in EVERY_MODEL for question, _ in questions(loaded(parts_of(name)))}
    functions = {*hedgerow.explain.__all__, *hedgerow.structure.__all__, *hedgerow.plot.__all__}
    about_tables = {"correlated_groups", "correct_pvalues", "drop_column_importance", "ProximityImputer"}
    results = {"Explanation", "Importance", "ImportanceTest", "PermutationImportance", "ShapValues", "SplitCounts"}
    results |= {"RegressionExplanation", "SurvivalExplanation", "Summary"}
    assert functions - about_tables - results - asked == set()


@pytest.fixture(scope="module")
def attack() -> Attack:
    return Attack()


@pytest.mark.parametrize("block", range(6))
def test_a_crafted_file_is_refused_or_answers(attack: Attack, block: int) -> None:
    outcomes = [attack.outcome(number, attack.file(number)) for number in range(50 * block, 50 * (block + 1))]
    assert [wrong for outcome in outcomes for wrong in outcome.wrong] == []
    assert {outcome.what for outcome in outcomes} >= {"refused", "loaded"}


@pytest.mark.parametrize("change", dict.fromkeys(CHANGES), ids=lambda change: change.__name__)
def test_every_change_changes_files(attack: Attack, change: Any) -> None:
    changed = 0
    for number, data in enumerate(attack.files):
        parts, others, chance = taken_apart(data), [taken_apart(attack.files[number - 1])], Random(number)
        try:
            change(parts, others, chance)
        except (LookupError, ValueError):  # this model has nothing of the kind
            continue
        changed += put_together(parts) != data
    assert changed > 3


def test_parameters_that_only_another_fit_reads_may_have_been_set_to_none() -> None:
    fitted = MODELS["forest"]()
    fitted.model.set_params(oob_score=None, criterion=None, n_estimators=None)
    file = io.BytesIO()
    hedgerow.save(fitted.model, file)
    again = hedgerow.load(io.BytesIO(file.getvalue()))
    assert np.array_equal(again.predict_proba(fitted.asked), fitted.model.predict_proba(fitted.asked))


@pytest.mark.parametrize(
    ("parameters", "said"),
    [
        ({"caution": "auto"}, "caution must be a number in a model without training rows"),
        ({"rule": Belief(weights="learned")}, "requires training rows to learn tree weights"),
        ({"rule": CdmAve(utility=[1.0])}, "utility must be 2 finite non-negative numbers"),
        ({"n_estimators": -1}, "n_estimators must be an int >= 1"),
    ],
)
def test_what_would_not_load_is_not_saved(parameters: dict[str, Any], said: str) -> None:
    X = numbers(0, 60)
    model = hedgerow.ExtraTreesClassifier(2, random_state=0).fit(X, labels(X, 2)).set_params(**parameters)
    with pytest.raises(ValueError, match=said):
        hedgerow.save(model, io.BytesIO())


def test_a_file_of_many_actions_loads_in_time_linear_in_their_number() -> None:
    parts = parts_of("actions")
    parts.arrays["parameters.0"] = np.random.default_rng(0).random((200_000, 3))
    utility = {"array": "parameters.0", "dtype": "float64"}
    parts.model["parameters"]["decision"] = {"decision": "EAdmissibility", "parameters": {"utility": utility}}
    assert loaded(parts).decision.utility.shape == (200_000, 3)  # comparing all pairs would take hours


@pytest.mark.parametrize("kind", [hedgerow.RandomForestClassifier, hedgerow.RandomForestRegressor])
@pytest.mark.parametrize("several", [False, True])
@pytest.mark.filterwarnings("ignore:Some inputs do not have OOB scores")
def test_a_score_without_rows_is_nan_and_can_be_saved(kind, several):
    """Every row is in the bags of all trees."""
    X, y = np.arange(6.0)[:, None], np.array([0, 1, 0, 1, 0, 1])
    model = kind(2, oob_score=True, max_samples=8.0, random_state=0).fit(X, np.stack([y, y], axis=1) if several else y)
    file = io.BytesIO()
    hedgerow.save(model, file)
    again = hedgerow.load(io.BytesIO(file.getvalue()))
    assert np.isnan(model.oob_score_)
    assert np.isnan(again.oob_score_)
    assert np.array_equal(again.predict(X), model.predict(X))


def test_outputs_have_answers_about_the_same_rows():
    X, y = np.arange(60.0)[:, None], np.arange(60.0)
    model = hedgerow.RandomForestRegressor(4, oob_score=True, random_state=0).fit(X, np.stack([y, y * y], axis=1))
    file = io.BytesIO()
    hedgerow.save(model, file)
    parts = taken_apart(file.getvalue())
    parts.arrays["1.oob_prediction"] = parts.arrays["1.oob_prediction"][:-1].copy()
    with pytest.raises(hedgerow.ModelFileError, match="numbers of out-of-bag predictions must agree"):
        hedgerow.load(io.BytesIO(put_together(parts)))


@pytest.mark.parametrize(
    ("name", "tree"),
    [
        ("forest", "DecisionTreeClassifier"),
        ("number-forest", "DecisionTreeRegressor"),
        ("survival", "SurvivalTree"),
        ("number-outputs", "DecisionTreeRegressor"),
    ],
)
def test_a_file_of_several_trees_is_no_tree(name: str, tree: str) -> None:
    parts, known = parts_of(name), estimator_named(tree)().get_params()
    parts.model["estimator"] = tree
    for output in parts.model.get("outputs", [parts.model]):
        output["parameters"] = {key: value for key, value in output["parameters"].items() if key in known}
    with pytest.raises(hedgerow.ModelFileError, match=f"a {tree} must have one tree, got"):
        loaded(parts)
