"""Claims of the pages: figures equal the results file, defaults equal the code, generated pages are current."""

from __future__ import annotations

import re
from collections.abc import Callable
from inspect import signature
from typing import Any, get_args, get_type_hints

import numpy as np
import pytest
from tests.whole.test_docs import DOCS, script
from tests.whole.test_words import written_pages

import hedgerow
from hedgerow.cli import exit_codes
from hedgerow.cli.app import COMMANDS
from hedgerow.cli.options import EvaluateOptions, FitOptions
from hedgerow.criteria import BeliefVariance
from hedgerow.decisions import Coverage, Risk, all_decisions, resolve_decision
from hedgerow.rules import rule_names

ROOT = DOCS.parent
ESTIMATORS = [
    getattr(hedgerow, name)
    for name in hedgerow.__all__
    if name.endswith(("Classifier", "Regressor", "Forest", "SurvivalTrees", "SurvivalTree"))
]


def default(parameter: str, *kinds: Any) -> Any:
    """Return the one default of a parameter in all classes that have it, or in some."""
    found = {repr(signature(kind).parameters[parameter].default) for kind in kinds or having(parameter)}
    assert len(found) == 1, found
    return signature((kinds or having(parameter))[0]).parameters[parameter].default


def having(parameter: str) -> list[Any]:
    """Return the estimators that have a parameter."""
    return [kind for kind in ESTIMATORS if parameter in signature(kind).parameters]


FOREST, EXTRA = hedgerow.RandomForestClassifier, hedgerow.ExtraTreesClassifier
INTERVAL, MIXED = hedgerow.RandomForestRegressor.predict_interval, hedgerow.MixedForestClassifier
SURVIVAL = (hedgerow.RandomSurvivalForest, hedgerow.ExtraSurvivalTrees)

PREDICTING = {kind for kind in ESTIMATORS if hasattr(kind, "predict")}

#: Claims about defaults: the page, the words, and whether the code agrees.
DEFAULTS: tuple[tuple[str, str, Callable[[], bool]], ...] = (
    ("how-to/choose", "keep the defaults: `average`, caution 1, and `\"auto\"`",
     lambda: (default("rule"), default("caution"), default("decision", FOREST)) == ("average", 1.0, "auto")),
    ("how-to/choose", "three kinds of trees in one forest, 300 by default",
     lambda: default("n_estimators", MIXED, hedgerow.MixedForestRegressor) == 300),
    ("how-to/command-line", "with the same defaults (the seed is 0",
     lambda: (FitOptions.rule, float(FitOptions.caution), FitOptions.decision, FitOptions.max_bins, FitOptions.seed)
     == (default("rule"), default("caution"), default("decision", FOREST), default("max_bins"), 0)),
    ("how-to/command-line", "by default the rarer one", lambda: EvaluateOptions.positive is None),
    ("how-to/command-line", "(0.9 by default", lambda: default("coverage", INTERVAL) == 0.9),
    ("how-to/explain", "by default 0.9", lambda: default("coverage", INTERVAL) == 0.9),
    ("how-to/explain", "`cases=5`", lambda: default("cases", FOREST.explain) == 5),
    ("how-to/explain", "`time_limit=None`", lambda: default("time_limit", FOREST.explain) is None),
    ("how-to/explain", "`shap=None`", lambda: default("shap", FOREST.explain) is None),
    ("how-to/export", "| calibrated (the default) | yes |", lambda: default("calibration") == "oob"),
    ("how-to/from-scikit-learn", "`ExtraTrees…`, whose default is `bootstrap=False`",
     lambda: default("bootstrap", EXTRA, hedgerow.ExtraTreesRegressor) is False),
    ("how-to/groups", "| `\"distinct\"` (default with groups) |", lambda: counts_with_groups("all", "distinct")),
    ("how-to/groups", "It is not the default, because `predict_set` loses",
     lambda: default("leaf_counts") == "all" and not counts_with_groups("all", "groups")),
    ("how-to/importance", "with the default `leaf_counts=\"all\"`", lambda: default("leaf_counts") == "all"),
    ("how-to/novelty", "`novelty=None` is the default", lambda: default("novelty") is None),
    ("how-to/novelty", "`\"shares\"`, the default of every classifier and regressor",
     lambda: default("unseen") == "shares" and set(having("unseen")) >= PREDICTING),
    ("how-to/survival", "`min_samples_leaf` is 3 by default for forests, because they pool larger nodes anyway, and 15",
     lambda: default("min_samples_leaf", *SURVIVAL) == 3 and hedgerow.SurvivalTree().min_samples_leaf == 15),
    ("how-to/uncertain-labels", "`label_rounds`, 5 by default", lambda: default("label_rounds") == 5),
    ("how-to/report", "`max_cases=1000`", lambda: default("max_cases", FOREST.report) == 1000),
    ("how-to/report", "`time_limit=5`", lambda: default("time_limit", FOREST.report) == 5),
    ("how-to/updating", "`min_rows=20`", lambda: default("min_rows", FOREST.drift) == 20),
    ("how-to/updating", "suggest(X, n=10)", lambda: default("n", FOREST.suggest) == 10),
    ("how-to/coverage-and-risk", "`Risk(error=0.05, confidence=0.95)`",
     lambda: (Risk().error, Risk().confidence) == (0.05, 0.95)),
    ("how-to/coverage-and-risk", "approximate on out-of-bag rows, the default", lambda: calibrates_out_of_bag()),
    ("how-to/coverage-and-risk", "On out-of-bag rows, the default", lambda: calibrates_out_of_bag()),
    ("how-to/index", "`decision=\"coverage\"` (95%)", lambda: resolve_decision("coverage").target == 0.95),
    ("how-to/regression", "The default *s* = 0.03", lambda: BeliefVariance().caution == 0.03),
    ("how-to/regression", "the same with a proof",
     lambda: scales_intervals()),
    ("explanation/bootstrap", "The default here, a Poisson draw for each row",
     lambda: default("bootstrap", FOREST) is True and len(set(bag_sizes())) > 1),
    ("explanation/calibration", "correct this by default (`calibration=\"oob\"`)",
     lambda: default("calibration") == "oob" and set(having("calibration")) == {EXTRA, FOREST, MIXED, *SURVIVAL}),
    ("explanation/comparison", "| by default |", lambda: default("unseen") == "shares"),
    ("explanation/guarantees", "`calibration=\"oob\"`, the default of forests with a bootstrap",
     lambda: default("calibration") == "oob"),
    ("explanation/guarantees", "On out-of-bag rows, the default, it is approximate", lambda: calibrates_out_of_bag()),
    ("explanation/guarantees", "Scaled intervals of regressors, the default",
     lambda: scales_intervals()),
    ("explanation/index", "By default a leaf counts all training rows", lambda: default("leaf_counts") == "all"),
    ("explanation/index", "The default averages", lambda: default("rule") == "average"),
    ("explanation/index", "The default drops a class if the upper bound of this class is below",
     lambda: default("decision", FOREST) == "auto"),
    ("explanation/sources", "the default draws each row by itself (Poisson)", lambda: len(set(bag_sizes())) > 1),
)  # fmt: skip
#: Paragraphs with the word "default" that claim nothing about hedgerow's parameters.
NOT_CLAIMS = (
    "with its defaults is tied",
    "peers have their defaults",
    "compared with their defaults",
    "MAPIE's control of precision, default",
    "The default is cautious",
    "with their default parameters",
    "| argument | default | meaning |",  # tests/cluster
    "gathered (the default, where a thread's memory allows it)",  # tests/cluster
    "files of 35 models, by default a hundred thousand",  # tests/storage
    "all defaults. Both are made from the classes",
    "`predict_proba` under the default rule needs no states",
    "with a default in the base class",
    "255 bins, the default (near an end",
    "In `costs.csv`, a default that was accepted",
)


def calibrates_out_of_bag() -> bool:
    """Return whether a forest calibrates its decision without other rows."""
    draws = np.random.default_rng(0)
    X = draws.normal(size=(100, 2))
    forest = FOREST(10, decision=Coverage(0.9), random_state=0).fit(X, (X[:, 0] > 0).astype(int))
    return bool(forest.predict_set(X[:5]).any())


def counts_with_groups(one: str, other: str) -> bool:
    """Return whether two values of `leaf_counts` give the same bounds to rows that belong together."""
    X = np.random.default_rng(0).normal(size=(120, 3))
    forests = [FOREST(20, leaf_counts=each, random_state=0) for each in (one, other)]
    bounds = [forest.fit(X, X[:, 0] > 0, groups=np.arange(120) // 3).predict_bounds(X[:5]) for forest in forests]
    return bool(np.array_equal(*bounds))


def scales_intervals() -> bool:
    """Return whether a regressor returns scaled intervals unless another method is named."""
    X = np.random.default_rng(0).normal(size=(100, 2))
    forest = hedgerow.RandomForestRegressor(10, random_state=0).fit(X, X[:, 0])
    same: bool = np.array_equal(forest.predict_interval(X[:5]), forest.predict_interval(X[:5], method="scaled"))
    return same


def bag_sizes() -> list[int]:
    """Return the number of draws in the bags of a few trees."""
    X = np.arange(50.0)[:, None]
    return [len(rows) for rows in FOREST(5, random_state=0).fit(X, X[:, 0] > 20).estimators_samples_]


def rules_like_average() -> set[str]:
    """Return the rules with the probabilities and bounds of `average`; only their prediction sets differ."""
    random = np.random.default_rng(0)
    table = np.concatenate([random.integers([0, 1, 0], 7, size=(99, 6, 3)), random.integers(8, 10, size=(99, 6, 3))])
    opinions = {name: hedgerow.combine(table, name, caution=1.0) for name in rule_names()}
    like = {
        name
        for name, opinion in opinions.items()
        if np.allclose(opinion.probability, opinions["average"].probability)
        and np.allclose(opinion.lower, opinions["average"].lower)
        and np.allclose(opinion.upper, opinions["average"].upper)
    }
    return like - {"average"}


def words_of(page: str) -> str:
    """Return the words of a page, with single spaces."""
    return " ".join((DOCS / f"{page}.md").read_text(encoding="utf-8").split())


@pytest.mark.parametrize(("page", "words", "is_true"), DEFAULTS, ids=lambda each: each if isinstance(each, str) else "")
def test_the_code_has_the_default_that_the_page_claims(page: str, words: str, is_true: Callable[[], bool]) -> None:
    assert words in words_of(page)
    assert is_true()


def test_every_claim_about_a_default_is_tested() -> None:
    made = ("reference/cli.md", "reference/index.md", "reference/changelog.md")
    untested = []
    for path in written_pages():
        page = path.relative_to(DOCS).as_posix()
        if page in made:
            continue
        prose = without_fences(path.read_text(encoding="utf-8"))
        known = [words for where, words, _ in DEFAULTS if f"{where}.md" == page]
        for paragraph in re.split(r"\n\n|\n(?=[*|\d])", prose):
            flat = " ".join(paragraph.split())
            if re.search(r"\b[Dd]efaults?\b", flat) and not any(words in flat for words in (*known, *NOT_CLAIMS)):
                untested.append(f"{page}: {flat[:120]}")
    assert not untested, "add these to DEFAULTS:\n" + "\n".join(untested)


def without_fences(page: str) -> str:
    """Return a page without its fenced blocks."""
    return re.sub(r"^```.*?^```[^\n]*$", "", page, flags=re.MULTILINE | re.DOTALL)


def test_pages_count_rules_and_decisions() -> None:
    decisions = {repr(decision): type(decision).__module__ for decision in all_decisions().values()}
    single = sum(module.endswith(".single") for module in decisions.values())
    table, readme = words_of("explanation/comparison"), words_of("../README")
    assert f"{len(decisions) - single} set-valued decision rules; {single} more return one class" in table
    assert f"{len(rule_names())}, changed without refitting; {len(rules_like_average())} of them differ from" in table
    assert f"{len(rule_names())}, from averaging to" in readme
    assert len(decisions) - single == 11
    assert "eleven set-valued decision rules" in readme
    assert f"{len(rule_names()) - 1} other [rules]" in words_of("explanation/index")


def test_the_page_of_the_command_line_names_every_model() -> None:
    page = words_of("how-to/command-line")
    models = get_args(get_args(get_type_hints(FitOptions, include_extras=True)["model"])[0])
    sentence = re.search(r"`--model` is ([^;]*);", page)
    assert sentence is not None
    assert set(re.findall(r"`([^`]+)`", sentence[1])) == set(models)


def test_the_benchmarks_page_has_the_figures_of_the_results() -> None:
    module = script("results")
    assert module.PAGE.read_text(encoding="utf-8") == module.page(), "run python docs/results.py"


def test_every_result_has_a_date_and_a_command_or_a_note() -> None:
    for section, found in script("results").load().items():
        assert re.fullmatch(r"\d{4}-\d\d-\d\d", found["date"]), section
        assert found["command"] or found["note"], section
        assert found["figures"], section


def test_pages_quote_the_figures_of_the_results() -> None:
    module = script("results")
    quoted = [(page, module.render(words)) for page, some in module.QUOTES.items() for words in some]
    assert [(page, words) for page, words in quoted if words not in words_of(page)] == []


def test_every_figure_with_an_error_is_a_quote() -> None:
    module = script("results")
    for path in [ROOT / "README.md", *written_pages()]:
        page = "../README" if path.name == "README.md" else path.relative_to(DOCS).with_suffix("").as_posix()
        if page in ("explanation/benchmarks", "reference/changelog", "contributing/core"):
            continue
        found = re.findall(r"\d\.\d+ ± \d\.\d+", path.read_text(encoding="utf-8"))
        known = " ".join(module.render(words) for words in module.QUOTES.get(page, ()))
        assert [figure for figure in found if figure not in known] == [], page


def test_a_changed_figure_is_noticed() -> None:
    module = script("results")
    results = module.load()
    results["probabilities"]["figures"]["forest"]["log-loss"]["value"] = -0.9
    words = module.render(module.QUOTES["../README"][2], results)
    assert "0.900 ± 0.014" in words
    assert words not in words_of("../README")


def test_the_reference_of_the_command_line_is_complete_and_current() -> None:
    module = script("cli")
    page = module.PAGE.read_text(encoding="utf-8")
    assert page == module.page(), "run python docs/cli.py"
    for name, options, _ in COMMANDS:
        section = page.split(f"\n## {name}\n")[1].split("\n## ")[0] + page.split("## Options about tables")[1]
        spelled = [spelling for word in module.words_of(options) for spelling in word.spellings or (word.value,)]
        assert [each for each in spelled if f"`{each}`" not in section] == []


def test_every_exit_code_is_in_the_reference() -> None:
    codes = {name for name, value in vars(exit_codes).items() if name.isupper() and type(value) is int}
    assert codes == set(script("cli").EXIT_CODES)


def test_the_reference_of_estimators_is_current() -> None:
    pytest.importorskip("onnx")
    pytest.importorskip("treelite")
    module = script("estimators")
    page = (DOCS / "reference" / "index.md").read_text(encoding="utf-8")
    assert page.split(module.BEGIN)[1].split(module.END)[0] == module.page(), "run python docs/estimators.py"
    named = {name for columns in (module.CLASSIFIERS, module.OTHERS) for names in columns.values() for name in names}
    assert named == {kind.__name__ for kind in ESTIMATORS} | {"RandomTreesEmbedding"}


def test_pages_link_to_pages_that_exist() -> None:
    made = re.compile(r"(reference/(api|methods)|tutorials/examples)/")
    broken = []
    for path in [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md", *written_pages()]:
        for link in re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", path.read_text(encoding="utf-8")):
            target = (path.parent / link).resolve()
            if "://" not in link and not target.exists() and not made.search(target.as_posix()):
                broken.append(f"{path.relative_to(ROOT)}: {link}")
    assert not broken, "\n".join(broken)


def test_files_that_pages_name_exist() -> None:
    roots = [ROOT, ROOT / "src", ROOT / "src" / "hedgerow", ROOT / "src" / "core"]
    tops = {path.name for root in roots for path in root.iterdir() if path.is_dir()}
    missing = []
    for path in [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *written_pages()]:
        for name in set(re.findall(r"`(\w+(?:/[\w.]+)+)/?`", path.read_text(encoding="utf-8"))):
            known = [root / (name + ending) for root in roots for ending in ("", ".py", ".hpp")]
            known += [root / (name.rpartition(".")[0] + ".py") for root in roots]  # a class of a module
            if name.split("/")[0] in tops - {"build"} and not any(each.exists() for each in known):
                missing.append(f"{path.relative_to(ROOT)}: {name}")
    assert not missing, "\n".join(missing)


def test_every_page_belongs_to_a_section() -> None:
    sections = {"tutorials", "how-to", "explanation", "reference", "contributing"}
    assert {path.relative_to(DOCS).parts[0] for path in written_pages()} == sections | {"index.md"}
    assert all((DOCS / section / "index.md").exists() for section in sections)


def test_the_root_of_the_site_is_the_readme_in_short() -> None:
    first = (ROOT / "README.md").read_text(encoding="utf-8").split("![")[0]
    assert (DOCS / "index.md").read_text(encoding="utf-8").startswith(first)


@pytest.mark.parametrize(
    ("page", "section"), [("explanation/guarantees", "Guaranteed and tested"), ("reference/model-files", "Guarantees")]
)
def test_every_guarantee_names_tests_that_exist(page: str, section: str) -> None:
    text = (DOCS / f"{page}.md").read_text(encoding="utf-8").partition(f"\n## {section}\n")[2].partition("\n## ")[0]
    tested = dict(re.findall(r"^\| ([A-Z][^|]+) \| (.+) \|$", text, re.M))
    assert [*tested] == [words.rstrip(".") for words in re.findall(r"^\* \*\*(.+?)\*\*", text, re.M)]
    for tests in tested.values():
        named = re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", tests)
        assert named
        for file, test in named:
            assert f"def {test}(" in (ROOT / file).read_text(encoding="utf-8"), test
