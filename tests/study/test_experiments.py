"""The papers' experiments: numbers are theirs, protocols are what they say, runs resume, reports are complete."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer
from typer.testing import CliRunner

from hedgerow import DecisionTreeClassifier, combine, decide
from hedgerow.belief import mass_from_counts
from hedgerow.cli.app import app
from hedgerow.datasets import describe_dataset
from hedgerow.decisions import all_decisions
from hedgerow.metrics import u65
from hedgerow.study.experiments import PAPERS, find_experiment
from hedgerow.study.experiments.busch_2021 import claims as busch_claims
from hedgerow.study.experiments.busch_2021 import protocol as busch
from hedgerow.study.experiments.busch_2021.scores import NINE, Scores
from hedgerow.study.experiments.frame import Experiment, Results, Unit, reproduce
from hedgerow.study.experiments.report import Figure, ReportTable, StudyReport, pairwise_wins, stars
from hedgerow.study.experiments.sutton_2012 import protocol as sutton
from hedgerow.study.experiments.sutton_2012 import verdict as sutton_verdict
from hedgerow.study.experiments.sutton_2012.paper import PAPER as SUTTON
from hedgerow.study.experiments.sutton_2012.paper import is_attainable
from hedgerow.study.experiments.sutton_2012.paper import printed as printed_errors
from hedgerow.study.experiments.sutton_2012.protocol import gini_trees
from hedgerow.study.experiments.sutton_2012.scores import Rates, rates_of
from hedgerow.study.experiments.sutton_2012.summary import fewest_tests
from hedgerow.study.experiments.zhang_2021 import protocol as zhang
from hedgerow.study.experiments.zhang_2021 import twin
from hedgerow.study.experiments.zhang_2021.paper import GOAL, PAPER, TITLES, Ours, collect, printed, printed_stars
from hedgerow.study.experiments.zhang_2021.verdict import deviations
from hedgerow.theory.ranks import mean_ranks

pytest.importorskip("matplotlib", reason="figures need matplotlib")


@pytest.fixture(scope="module")
def cancer():
    bunch = load_breast_cancer()
    return bunch.data, bunch.target


# ---- the frame ------------------------------------------------------------------------------------------------------


def _square(arguments, data):
    with (Path(arguments["log"])).open("a") as log:
        log.write(f"{arguments['number']}\n")
    if arguments["number"] == arguments.get("stop_at"):
        raise KeyboardInterrupt
    return {"square": arguments["number"] ** 2}


def _report_squares(results):
    rows = [[str(arguments["number"]), f"**{result['square']}**"] for arguments, result in results.done]
    figure = Figure("squares", "A figure", lambda canvas: canvas.subplots().plot([1, 2]), (2, 2))
    return StudyReport(
        "Squares", "Nobody.", "squares", ["All is well [indeed]."], [ReportTable("T", ("n", "n²"), rows), figure]
    )


def _squares(log, how_many=6, **also):
    arguments = [{"number": number, "log": str(log), **also} for number in range(how_many)]
    units = [Unit(f"n{number}", one, cost=how_many - number) for number, one in enumerate(arguments)]
    return Experiment("squares", "Squares", lambda quick: (), lambda sets, quick: units, _square, _report_squares)


def test_an_interrupted_run_goes_on_where_it_stopped(tmp_path):
    log, out = tmp_path / "log", tmp_path / "out"
    with pytest.raises(KeyboardInterrupt):
        reproduce(_squares(log, stop_at=3), out, jobs=1, progress=False)
    assert log.read_text().split() == ["0", "1", "2", "3"]
    assert len(list((out / "units").iterdir())) == 3
    for path in (out / "units").iterdir():  # what the first run was told must be what the second is told
        path.write_text(path.read_text().replace(', "stop_at": 3', ""))
    reproduce(_squares(log), out, jobs=1, progress=False)
    assert log.read_text().split() == ["0", "1", "2", "3", "3", "4", "5"]
    reproduce(_squares(log), out, jobs=1, progress=False)
    assert len(log.read_text().split()) == 7


def test_a_result_of_other_arguments_is_not_taken_over(tmp_path):
    log, out = tmp_path / "log", tmp_path / "out"
    reproduce(_squares(log, how_many=2), out, jobs=1, progress=False)
    reproduce(_squares(log, how_many=2, trees=7), out, jobs=1, progress=False)
    assert len(log.read_text().split()) == 4


def test_processes_give_the_results_one_process_gives(tmp_path):
    one = reproduce(_squares(tmp_path / "a"), tmp_path / "one", jobs=1, progress=False)
    two = reproduce(_squares(tmp_path / "b"), tmp_path / "two", jobs=2, progress=False)
    assert one.as_json() == two.as_json()


def test_a_report_is_written_as_page_figures_and_numbers(tmp_path):
    report = reproduce(_squares(tmp_path / "log"), tmp_path / "out", jobs=1, progress=False)
    page = (tmp_path / "out" / "README.md").read_text()
    assert "| 5 | **25** |" in page
    assert "![A figure](figures/squares.svg)" in page
    assert (tmp_path / "out" / "figures" / "squares.svg").stat().st_size > 0
    assert json.loads((tmp_path / "out" / "report.json").read_text()) == report.as_json()


def test_the_same_numbers_draw_the_same_bytes(tmp_path):
    for name in ("one", "two"):
        reproduce(_squares(tmp_path / "log"), tmp_path / name, jobs=1, progress=False)
    one, two = ((tmp_path / name / "figures" / "squares.svg").read_bytes() for name in ("one", "two"))
    assert one == two


# ---- the command ----------------------------------------------------------------------------------------------------


def test_the_command_line_starts_without_the_heavy_libraries():
    heavy = "('sklearn', 'scipy', 'numpy', 'joblib')"
    code = f"import sys, hedgerow.cli.app; print([m for m in {heavy} if m in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout.strip() == "[]"


def test_mistakes_in_the_call_are_told_in_one_sentence(tmp_path):
    def refusal(paper, *words):
        told = CliRunner().invoke(app, ["reproduce", paper, "--quick", "--out", str(tmp_path / "out"), *words])
        assert told.exit_code == 2
        return told.stderr

    assert "paper must be one of zhang-2021" in refusal("zhang-2020")
    assert "no such folder" in refusal("zhang-2021", "--data", str(tmp_path / "nowhere"))


def test_every_paper_has_its_folder():
    for paper in PAPERS:
        experiment = find_experiment(paper)
        assert experiment.name == paper
        quick, full = (experiment.plan(list(experiment.sets(quick)), quick) for quick in (True, False))
        keys = {unit.key: unit.arguments for unit in full}
        assert len(keys) == len(full)
        assert all(keys.get(unit.key) == unit.arguments for unit in quick)  # a full run takes over a quick one


# ---- zhang-2021 -----------------------------------------------------------------------------------------------------


def test_the_papers_tables_have_96_cells_and_their_best_carries_the_stars():
    assert printed().size == 96
    assert ((printed() > 70) & (printed() < 100)).all()
    assert {len(mark) for mark in printed_stars().ravel()} == {0, 1, 2, 3}


def test_b_cancer_comes_out_as_printed(cancer):
    found = zhang.tables(*cancer, range(2), "all")
    done = (({"kind": "tables", "set": PAPER["sets"]["B-cancer"], "sense": "all"}, found),)
    ours = collect(Results(done, {}, True), "all", kind="tables", sense="all")
    position = TITLES.index("B-cancer")
    assert ours.cells == 12
    assert np.abs(ours.gap[position]).max() <= GOAL


def test_what_the_paper_leaves_open_is_really_changed(cancer):
    usual = zhang.tables(*cancer, range(1), "all", decided=True)
    decided = usual.pop("decided")
    assert decided.keys() == zhang.DECIDED.keys()
    assert all(found != usual["u65"] for found in decided.values())
    coarse = np.round(cancer[0] / cancer[0].std(axis=0)), cancer[1]  # so that features are constant in small nodes
    usual = zhang.tables(*coarse, range(1), "all", **zhang.USUAL)
    for name, changed in zhang.VARIANTS.items():
        assert zhang.tables(*coarse, range(1), "all", **{**zhang.USUAL, **changed}) != usual, name


def test_the_twins_formulas_are_the_rules():
    counts = np.random.default_rng(0).integers([0, 1], [6, 7], (300, 15, 2))
    y = np.random.default_rng(1).integers(0, 2, 300)
    for caution, found in zip(zhang.CAUTIONS, twin.scores_of(counts, y), strict=True):
        sets = [decide(combine(counts, rule, caution=caution)) for rule in zhang.RULES.values()]
        assert found == pytest.approx([u65(y, each) for each in sets], abs=1e-12)


def test_a_deviation_is_explained_a_misprint_or_unexplained():
    wine, mass2 = TITLES.index("Wine"), 1
    mean = printed().copy()
    mean[wine, :, mass2] = 79.5, 79.7, 79.8  # printed: 79.46, 79.06, 79.71
    best, also, exact, noisy = (
        Ours(name, 2, m, np.ones_like(m), tuple(np.stack([each - error, each + error]) for each in m))
        for name, m, error in (
            ("all", mean, 0.0),
            (zhang.TWIN, mean, 0.0),
            ("exact", printed(), 0.0),
            ("noisy", printed(), 9.0),
        )
    )
    assert [one.cause for one in deviations(best, [best])] == ["unexplained"]
    assert [one.cause for one in deviations(best, [best, also])] == ["probably a misprint"]
    assert [one.cause for one in deviations(best, [best, also, exact])] == ["explained"]
    assert [one.cause for one in deviations(best, [best, noisy])] == ["unexplained"]  # inside, perhaps by chance


def test_an_alternative_explains_an_error_rate_by_a_paired_difference_beyond_noise():
    cell = next(cell for cell in printed_errors(3) if (cell.title, cell.column) == ("Balance scale", "combination"))
    usual, near = cell.percent - 10, np.full((8, 4), cell.percent) + np.arange(4) - 1.5
    results = Results((), {}, False)
    for shift, cause in ((np.zeros((8, 1)), "Explained"), (100.0 * (np.arange(8)[:, None] - 3.5), "Unexplained")):
        rates = Rates(np.full((8, 4), usual) + np.arange(4) + shift, 1.0)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(sutton_verdict, "alternatives", lambda *_, near=near: {"other": Rates(near, 1.0)})
            assert f"**{cause}**" in sutton_verdict._remark_on_deviations(results, cell, rates)


def test_noise_replaces_labels_by_others():
    y = np.repeat(["a", "b", "c"], 100)
    for share in zhang.NOISES:
        noisy = zhang.with_noise(y, share, np.random.default_rng(0))
        assert (noisy != y).sum() == round(share * 300)
        assert set(noisy) == {"a", "b", "c"}


def test_many_classes_may_have_nominal_columns():
    pa = pytest.importorskip("pyarrow")
    rng = np.random.default_rng(0)
    y = np.array(["a", "b", "c"])[rng.integers(0, 3, 120)]
    X = pa.table({"colour": pa.array(y).dictionary_encode(), "noise": rng.normal(size=120)})
    found = zhang.many_classes(X, y, range(1), noise=0.0, decisions=zhang.DECISIONS)
    scores, decided = np.array(found["scores"]), np.array(found["decisions"])
    assert scores.shape == (1, 1 + len(zhang.MANY), 3)
    assert scores[0, 0, 0] == 1.0
    assert decided.shape == (1, len(zhang.DECISIONS), 3)
    assert decided[0, zhang.DECISIONS.index("pignistic")].tolist() == [1.0, 1.0, 1.0]


def test_every_decision_is_tried_under_noise():
    """A new decision must be entered in the table; "auto" and "rule" are what the rules of many classes do.

    "screening" is about one class, which the noise does not single out.
    """
    assert set(zhang.DECISIONS) == set(all_decisions()) - {"auto", "rule", "screening"}


def test_every_kind_of_unit_of_a_full_run_can_be_worked(data_folder, monkeypatch):
    """One repetition of the first unit of each kind and variant, on a small set, with few trees."""
    monkeypatch.setattr(zhang, "TREES", 4)
    monkeypatch.setattr(twin, "TREES", 4)
    rows = {name: describe_dataset(name).rows for name in ("heart-cleveland-kaggle", "iris")}
    units = zhang.plan(list(rows), False, ["heart-cleveland-kaggle"], rows)
    seen = {}
    for unit in units:
        told = {name: str(value) for name, value in unit.arguments.items() if name in ("kind", "variant")}
        seen.setdefault(tuple(told.values()), unit)
    assert {kind for kind, *_ in seen} == set(zhang.RUNS)
    for unit in seen.values():
        assert zhang.work({**unit.arguments, "repetitions": [0, 1]}, data_folder)


def test_the_papers_numbers_fit_counts_of_all_rows_better_than_counts_out_of_bag(data_folder):
    name = PAPER["sets"]["Pima"]
    done = []
    for sense in ("all", "oob"):
        arguments = {"kind": "tables", "set": name, "repetitions": [0, 1], "sense": sense}
        done.append((arguments, zhang.work(arguments, data_folder)))
    results = Results(tuple(done), {}, True)
    near, far = (collect(results, sense, kind="tables", sense=sense) for sense in ("all", "oob"))
    assert near.deviation < 0.5 * far.deviation


# ---- busch-2021 -----------------------------------------------------------------------------------------------------


def test_our_copies_have_the_shapes_of_table_1():
    for title, name in busch.PAPER["files"].items():
        info = describe_dataset(name)
        instances, features, ratio = busch.PAPER["table_1"]["rows"][title]
        assert (info.rows, info.features) == (instances, features)
        assert round(info.classes[info.positive] / info.rows, 2) == ratio


def test_leaves_of_one_row_leave_averages_votes_and_pools_alike(cancer):
    X, y = cancer
    half = busch.evaluate_split(X, y, *busch.halves(len(y), 0), leaf=1, seed=0)
    accuracy, auc = (dict(zip(busch.COLUMNS, half[measure], strict=True)) for measure in ("accuracy", "auc"))
    assert accuracy["Probability"] == accuracy["Voting"] == accuracy["Pooling"] == accuracy["Dempster"]
    assert auc["Probability"] == auc["Voting"] == auc["Pooling"]
    # nearly every row finds a leaf of each class, and the cautious rule counts neither twice: it cannot rank
    assert auc["Cautious"] < auc["Single Tree"] < min(auc["Probability"], auc["Random Forest"])


@pytest.mark.parametrize("leaf", [2, 32])
def test_a_prior_moves_evas_threshold_and_never_its_ranking(cancer, leaf):
    X, y = cancer
    half = busch.evaluate_split(X, y, *busch.halves(len(y), 0), leaf=leaf, seed=0)
    accuracy, auc = (dict(zip(busch.COLUMNS, half[measure], strict=True)) for measure in ("accuracy", "auc"))
    assert auc["EVA"] == auc[busch.PROGRAM] == auc["EVA, no prior"]
    assert accuracy["Dempster"] == accuracy[busch.BY_RATIO]
    if leaf == 32:  # where trees contradict each other both masses vanish, and with them their difference
        assert auc["Dempster"] < auc[busch.BY_RATIO]


def _scores(better: str) -> Scores:
    """Scores in which one method beats all others by a point everywhere, and the rest fall in the order of columns."""
    sets = tuple(busch.PAPER["files"])
    table = np.tile(0.9 - 0.001 * np.arange(len(busch.COLUMNS)), (len(sets), len(busch.LEAF_SIZES), 1))
    table[:, :, busch.COLUMNS.index(better)] += 0.03
    return Scores(sets, table, table)


def test_claims_follow_the_scores():
    ids = [claim["id"] for claim in busch.PAPER["claims"]]
    by_name = {}
    for better in NINE:
        checked = busch_claims.check_claims(_scores(better), {})
        assert set(ids) == set(busch_claims.CHECKS)
        by_name[better] = {name: claim.held for name, claim in zip(ids, checked, strict=True)}
    assert by_name["EVA"]["eva-accuracy"] is True
    assert by_name["EVA"]["airlines"] is False
    assert by_name["Probability"]["eva-accuracy"] is False
    assert by_name["Probability"]["laplace"] is True
    assert by_name["Laplace"]["laplace"] is False
    assert by_name["Dempster"]["belief-auc"] is False
    assert by_name["Dempster"]["dempster-accuracy"] is True
    assert by_name["Probability"]["webdata"] is None  # its cloud is not there
    assert by_name["EVA"]["eva-imbalanced-rank"] is True
    assert by_name["Probability"]["eva-imbalanced-rank"] is False


def test_a_method_that_is_behind_by_less_than_the_standard_error_ties():
    sets = tuple(busch.PAPER["files"])
    table = np.tile(0.5 - 0.001 * np.arange(len(busch.COLUMNS)), (len(sets), len(busch.LEAF_SIZES), 1))
    eva, probability = busch.COLUMNS.index("EVA"), busch.COLUMNS.index("Probability")
    table[:10, :, eva], table[10:, :, probability] = 0.9, 0.9  # EVA is first on 10 of 19 sets
    table[10:, :, eva], table[:10, :, probability] = 0.8, 0.8
    near = Scores(sets, table, table).best_or_tied("accuracy", NINE, "Probability")
    assert not near.best.any()
    assert near.tied.all()
    table[10:16, :, eva] = 0.95  # on 16 of 19
    far = Scores(sets, table, table).best_or_tied("accuracy", NINE, "Probability")
    assert not far.best.any()
    assert not far.tied.any()


def test_auc_is_that_of_scikit_learn():
    from sklearn.metrics import roc_auc_score

    rng = np.random.default_rng(0)
    score, y = rng.integers(0, 20, 500) / 20, rng.integers(0, 2, 500)
    assert busch.auc(score, y) == pytest.approx(roc_auc_score(y, score), abs=1e-12)


def test_one_small_set_runs_from_the_file_to_the_report(data_folder, tmp_path):
    experiment = replace(find_experiment("busch-2021"), sets=lambda quick: ("sonar", "ionosphere", "climate-crashes"))
    report = reproduce(experiment, tmp_path, data=data_folder, quick=True, jobs=1, progress=False)
    assert len(list((tmp_path / "figures").iterdir())) == 6
    assert report.data["sets"] == ["sonar", "ionosphere", "climate"]
    auc = np.array(report.data["auc"])[:, :5]  # up to leaves of eight rows
    assert (auc[:, :, busch.COLUMNS.index("Random Forest")] > auc[:, :, busch.COLUMNS.index("Single Tree")]).all()


# ---- sutton-2012 ----------------------------------------------------------------------------------------------------


def test_only_four_test_sets_allow_every_printed_decimal_and_none_the_misprinted_one():
    assert fewest_tests() == sutton.QUARTERS == 4
    for title, (_, _, learned, tested) in SUTTON["table_2"]["rows"].items():
        info = describe_dataset(SUTTON["sets"][title])
        y = np.zeros(info.rows, dtype=np.int64)
        assert {(len(fit), len(test)) for fit, test in sutton.quarters(y, 0)} == {(learned, tested)}
        for cell in printed_errors(3):
            if cell.title == title:
                assert is_attainable(cell.percent, 4 * tested) != cell.misprinted


@pytest.mark.parametrize("stratified", [False, True])
def test_quarters_are_drawn_apart_and_keep_the_classes_when_asked(stratified):
    y = np.repeat([0, 1, 2], [50, 30, 22])
    pairs = list(sutton.quarters(y, 3, stratified))
    assert all(sorted([*fit, *test]) == list(range(102)) for fit, test in pairs)
    tests = [test for _, test in pairs]
    assert 50 < len(set(np.concatenate(tests))) < 90  # disjoint quarters would have 100 rows
    uneven = np.ptp([np.bincount(y[test], minlength=3) for test in tests], axis=0).max()
    assert (uneven <= 2) == stratified


@pytest.mark.parametrize("threshold", [0.0, 0.004, 0.02, 0.1])
def test_tops_of_one_tree_are_the_trees_grown_with_a_threshold(cancer, threshold):
    X, y = cancer
    seen = np.arange(0, len(y), 2)
    guessed, leaves = gini_trees([threshold], 10)(X[seen], y[seen], X[seen])  # between seen rows, cuts may differ

    def grown(rows):  # the definition: split while the best split of this node gains more than the threshold
        stump = DecisionTreeClassifier(min_samples_leaf=10, max_depth=1, random_state=0).fit(X[rows], y[rows])
        counts = stump.tree_.counts
        impurity = 1 - ((counts / counts.sum(axis=1, keepdims=True)) ** 2).sum(axis=1)
        if len(counts) == 1 or impurity[0] - counts.sum(axis=1)[1:] @ impurity[1:] / len(rows) <= threshold:
            return lambda points: np.full(len(points), np.bincount(y[rows]).argmax()), 1
        left = stump.apply(X[rows]) == 1
        (low, n_low), (high, n_high) = grown(rows[left]), grown(rows[~left])
        return lambda p: np.where(stump.apply(p) == 1, low(p), high(p)) if len(p) else np.zeros(0), n_low + n_high

    guess, n_leaves = grown(seen)
    assert leaves.tolist() == [n_leaves]
    assert (guessed[0] == guess(X[seen])).all()


@pytest.mark.parametrize(("model", "caution"), [("idm", 0.5), ("idm", 5.0), ("multinomial", 1.0)])
def test_in_a_leaf_belief_plausibility_and_pignistic_probability_choose_the_most_frequent_class(model, caution):
    counts = np.random.default_rng(0).permuted(
        np.tile([0.0, 3.0, 11.0], (50, 1)) + [[0], [1], [7], [20], [400]] * 10, axis=1
    )
    mass = mass_from_counts(counts, model=model, caution=caution)
    members = (np.arange(8)[:, None] >> np.arange(3)) & 1
    size = members.sum(axis=1, keepdims=True)
    for shares in (members * (size == 1), members, members / np.maximum(size, 1)):
        assert ((mass @ shares).argmax(axis=1) == counts.argmax(axis=1)).all()


def test_the_choice_follows_inner_errors_the_grid_and_the_rule_for_ties():
    n = len(sutton.LAMS)
    inner, outer = [9] * n, list(range(n))
    inner[2] = 1  # 0.05, which is not in our grid
    inner[5] = inner[8] = 3
    result = {"inner": [[inner] * 4], "outer": [[outer] * 4], "leaves": [[outer] * 4], "rows": 100}
    results = Results((({"kind": "table", "set": "iris", "way": "IDM"}, result),), {}, True)
    assert rates_of(results, "iris", "IDM").mean == 8
    assert rates_of(results, "iris", "IDM", smaller=True).mean == 5
    assert rates_of(results, "iris", "IDM", grid=sutton.LAMS).mean == 2
    assert rates_of(results, "wine", "IDM") is None


def test_a_repetition_scatters_as_four_draws_do():
    quarters = np.random.default_rng(0).normal(20, 3, (4000, 4))
    few, many = (Rates(rows, 5.0) for rows in (quarters[:2], quarters))
    assert many.scatter == pytest.approx(many.rates.std(ddof=1), rel=0.03)  # the mean of four draws, directly
    assert few.scatter == pytest.approx(quarters[:2].std(ddof=1) / 2)  # the same estimator in a quick run


def test_iris_runs_from_the_file_to_the_report(data_folder, tmp_path):
    found = find_experiment("sutton-2012")

    def plan(sets, quick):  # one repetition of all but the pairs
        units = [unit for unit in found.plan(sets, quick) if "combination" not in unit.key and "-00" in unit.key]
        return [replace(unit, arguments={**unit.arguments, "repetitions": [0, 1]}) for unit in units]

    experiment = replace(found, sets=lambda quick: ("iris", "breast-tissue"), plan=plan)
    report = reproduce(experiment, tmp_path, data=data_folder, quick=True, jobs=1, progress=False)
    assert (tmp_path / "figures" / "figure_1.svg").exists()
    cells = {cell["column"]: cell for cell in report.data["table_3"]}
    assert [cell["misprint"] for cell in cells.values()] == [False, False, True]
    assert max(cell["ours"] for cell in cells.values()) < 10  # so far from 21.3
    assert "misprint" in (tmp_path / "README.md").read_text()


# ---- statistics -----------------------------------------------------------------------------------------------------


def test_ranks_wins_and_stars_are_those_of_their_definitions():
    scores = np.random.default_rng(0).normal(size=(19, 5)) + np.array([0, 0, 0, 0, 2.0])
    wins, p_values = pairwise_wins(scores)
    off = ~np.eye(5, dtype=bool)
    assert (wins + wins.T)[off].tolist() == [19.0] * 20
    assert (p_values == p_values.T).all()
    assert p_values[4, 0] < 0.05 < p_values[0, 1]
    assert mean_ranks(scores).sum() == pytest.approx(15)
    assert [stars(p) for p in (0.05, 0.049, 0.0099, 0.00099)] == ["", "*", "**", "***"]
