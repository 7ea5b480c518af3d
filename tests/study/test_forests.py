"""Which rules help ordinary forests and small ensembles: scores by hand, choices on other sets, a report."""

import numpy as np
import pytest
from sklearn.metrics import accuracy_score
from tests.reference.fold import prior_for
from typer.testing import CliRunner

from hedgerow import RandomForestClassifier, combine
from hedgerow.cli.app import app
from hedgerow.datasets import describe_dataset
from hedgerow.study.experiments import STUDIES, find_experiment
from hedgerow.study.experiments.busch_2021.protocol import halves
from hedgerow.study.experiments.forests import protocol as forests
from hedgerow.study.experiments.forests.summary import Ensembles, collect, report
from hedgerow.study.experiments.frame import Results


def test_every_study_belongs_to_a_paper_and_a_full_run_takes_over_a_quick_one():
    for paper, study in STUDIES:
        experiment = find_experiment(paper, study)
        assert experiment.name == f"{paper}-{study}"
        quick, full = (experiment.plan(list(experiment.sets(quick)), quick) for quick in (True, False))
        keys = {unit.key: unit.arguments for unit in full}
        assert len(keys) == len(full)
        assert all(keys.get(unit.key) == unit.arguments for unit in quick)


def test_the_sets_have_at_most_2400_rows():
    assert max(describe_dataset(name).rows for name in forests.SETS) <= 2400
    assert set(forests.QUICK_SETS) <= set(forests.SETS)


def test_scores_are_those_of_the_definition():
    rng = np.random.default_rng(0)
    probability, y = rng.dirichlet(np.ones(3), size=50), rng.integers(0, 4, 50)  # class 3 is not among the classes
    accuracy, brier = forests.scored(probability, np.arange(3), y)
    assert accuracy == accuracy_score(y, probability.argmax(axis=1))
    padded = np.column_stack([probability, np.zeros(50)])
    by_hand = np.mean([sum((p[k] - (k == own)) ** 2 for k in range(4)) for p, own in zip(padded, y, strict=True)])
    assert brier == pytest.approx(by_hand)


def test_a_rule_is_judged_on_the_leaves_that_the_forest_reaches():
    """Every cell of the result is what `combine` says of the counts of the forest."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(120, 3))
    y = (X[:, 0] + rng.normal(size=120) > 0).astype(int)
    fit, test = halves(120, 0)
    accuracy, brier = forests.evaluate_split(X, y, fit, test, "forest", 8)
    assert accuracy.shape == brier.shape == (len(forests.SIZES), len(forests.RULES))
    told = {"min_samples_leaf": 8, "min_samples_split": 16, "random_state": 0, "calibration": None}
    counts = RandomForestClassifier(forests.SIZES[1], **told).fit(X[fit], y[fit]).evidence(X[test]).counts
    for column, rule in enumerate(forests.RULES.values()):
        said = combine(counts, rule, caution=0.0, prior=prior_for(rule, np.bincount(y[fit]) / len(fit))).probability
        assert accuracy[1, column] == pytest.approx(np.mean(said.argmax(axis=1) == y[test]))
        assert brier[1, column] == pytest.approx(2 * np.mean((said[:, 1] - y[test]) ** 2))


def test_the_sets_that_choose_a_rule_do_not_judge_it():
    accuracy = np.zeros((4, 1, 3))
    accuracy[::2, 0, 1] = 0.1  # the first rule is good where it is chosen, and bad elsewhere
    accuracy[1::2, 0, 1] = [-0.1, -0.3]
    ensembles = Ensembles("forest", 1, ("a", "b", "c", "d"), (10,), ("average", "one", "two"), accuracy, accuracy)
    [(size, rule, mean, error)] = ensembles.chosen()
    assert (size, rule) == (10, "one")
    assert (mean, error) == (pytest.approx(-20), pytest.approx(10))


def test_from_units_to_report(tmp_path):
    rng = np.random.default_rng(2)
    done = []
    for unit in forests.plan(forests.QUICK_SETS, True):
        shape = (len(forests.SIZES), len(forests.RULES))
        done.append((unit.arguments, {name: rng.uniform(size=shape).tolist() for name in ("accuracy", "brier")}))
    results = Results(tuple(done), {}, True)
    assert [each.accuracy.shape[0] for each in collect(results)] == [len(forests.QUICK_SETS)] * 4
    report(results).write(tmp_path)
    page = (tmp_path / "README.md").read_text(encoding="utf-8")
    assert all(f"| {name} |" in page for name in forests.RULES if name != "average")
    assert len(list((tmp_path / "figures").iterdir())) == 2


def test_a_study_that_is_not_there_is_refused_in_one_sentence(tmp_path):
    told = CliRunner().invoke(app, ["reproduce", "zhang-2021", "--study", "forests", "--out", str(tmp_path / "out")])
    assert told.exit_code == 2
    assert "study must be one of busch-2021 forests" in " ".join(told.stderr.split())
