"""Rows that belong together on the command line."""

from __future__ import annotations

import json
import re

import numpy as np
import pandas as pd
import pytest
from tests.cli.test_back import answers_from, one

from hedgerow import load
from hedgerow.explain import describe
from hedgerow.inference.fitted import fitted_of
from hedgerow.util.runtime import one_of_each


@pytest.fixture
def visits() -> pd.DataFrame:
    """Four visits of each of 60 patients."""
    random = np.random.default_rng(0)
    patient = np.repeat(np.arange(60), 4)
    own = random.normal(size=(60, 3))
    table = pd.DataFrame(own[patient] + 0.05 * random.normal(size=(240, 3)), columns=list("abc"))
    return table.assign(patient=[f"p{k}" for k in patient], y=np.where(own[patient, 0] > 0, "ill", "well"))


def test_groups_are_suggested_and_used(visits, run, write, tmp_path):
    table, out = write(visits.to_csv(index=False), "visits.csv"), tmp_path / "m.hedge"
    words = ["fit", table, "--target", "y", "-o", out, "--trees", 20]
    asked = run(*words)
    assert "Rows do not seem to be independent" in " ".join(asked.stderr.split())
    assert "Pass --groups 'patient'" in " ".join(asked.stderr.split())
    assert "independent" not in run(*words, "--groups", "patient", "--force").stderr


def test_a_text_with_repeats_is_suggested_as_groups(run, write, tmp_path):
    random = np.random.default_rng(0)
    frame = pd.DataFrame({"a": random.normal(size=60), "who": [f"p{k}" for k in random.integers(0, 50, 60)], "y": 1})
    frame["y"] = np.where(frame["a"] > 0, "ill", "well")
    asked = run("fit", write(frame.to_csv(index=False), "t.csv"), "--target", "y", "-o", tmp_path / "m.hedge")
    assert "such as patients, pass --groups 'who'" in " ".join(asked.stderr.split())


def test_evaluate_and_monitor_use_one_row_of_each_group(visits, run, write, tmp_path):
    model, table = tmp_path / "m.hedge", write(visits.to_csv(index=False), "visits.csv")
    run("fit", table, "--target", "y", "--groups", "patient", "-o", model, "--trees", 20)
    alone_in = write(visits.iloc[one_of_each(np.repeat(np.arange(60), 4))].to_csv(index=False), "one.csv")
    for command in (["evaluate", model, "DATA", "--target", "y"], ["monitor", model, "DATA"]):
        asked, alone = (
            run(*[data if word == "DATA" else word for word in command], "--groups", "patient", "--json")
            for data in (table, alone_in)
        )
        assert "Using one random row of each of 60 groups" in " ".join(asked.stderr.split())
        assert json.loads(asked.stdout) == json.loads(alone.stdout)
        assert "one random row of each" not in alone.stderr
        assert "pass --groups" not in asked.stderr
        without = run(*[table if word == "DATA" else word for word in command])
        assert "visits.csv belong together too, pass --groups COLUMN" in " ".join(without.stderr.split())
    assert run("evaluate", model, table, "--target", "y", "--groups", "nobody").exit_code == 3


def test_the_report_counts_groups(visits, run, write, tmp_path):
    model, table = tmp_path / "m.hedge", write(visits.to_csv(index=False), "visits.csv")
    run("fit", table, "--target", "y", "--groups", "patient", "-o", model, "--trees", 20)
    assert re.search("training rows +240 in 60 groups", run("inspect", model).stdout)
    assert json.loads(run("inspect", model, "--json").stdout)["training_groups"] == 60
    assert dict(describe(load(model)).facts)["trained on"].startswith("240 rows in 60 groups, ")
    page = tmp_path / "page.html"
    words = ["report", model, table, "--target", "y", "-o", page, "--groups", "patient"]
    asked = run(*words, "--json")
    assert "240 rows in 60 groups" in " ".join(asked.stderr.split())
    assert json.loads(asked.stdout)["groups"] == 60
    assert "240 rows in 60 groups" in page.read_text(encoding="utf-8")


def test_answers_about_rows_of_groups_are_counted(visits, run, write, tmp_path):
    model, table, page = tmp_path / "m.hedge", write(visits.to_csv(index=False), "visits.csv"), tmp_path / "page.html"
    run("fit", table, "--target", "y", "--groups", "patient", "-o", model, "--trees", 20)
    run("report", model, table, "--target", "y", "--groups", "patient", "--seconds", 0, "-o", page)
    held = write(json.dumps(answers_from(page, lambda data: [one(row, 1) for row in range(8)])), "a.json")
    words = ["learn", model, held, table, "-o", tmp_path / "2.hedge"]
    refused = run(*words)
    assert refused.exit_code == 2
    assert "was fitted with groups of rows. Pass --groups COLUMN" in " ".join(refused.stderr.split())
    assert run(*words, "--groups", "patient").exit_code == 0
    expected = load(model).partial_fit(visits[list("abc")][:8], ["well"] * 8, groups=visits["patient"][:8])
    found = load(tmp_path / "2.hedge").evidence(visits[list("abc")]).counts
    np.testing.assert_array_equal(found, expected.evidence(visits[list("abc")]).counts)
    alone = load(model).partial_fit(visits[list("abc")][:8], ["well"] * 8, groups=None)
    assert (found != alone.evidence(visits[list("abc")]).counts).any()


@pytest.mark.parametrize("command", ["fit", "tune"])
def test_commands_that_fit_count_groups(command, visits, run, write, tmp_path):
    table, out = write(visits.to_csv(index=False), "visits.csv"), tmp_path / "m.hedge"
    words = [command, table, "--target", "y", "--groups", "patient", "-o", out, "--trees", 20, "--seed", 3, "--json"]
    told = json.loads(run(*words, *(["--test-split", "0.25"] if command == "fit" else [])).stdout)
    assert (told["rows"], told["groups"]) == (240, 60)
    assert load(out).feature_names_in_.tolist() == list("abc")
    assert fitted_of(load(out)).origins[0].n_groups == 60


def test_compare_keeps_groups_together(visits, run, write):
    visits["y"] = np.where(np.random.default_rng(1).random(60)[np.repeat(np.arange(60), 4)] > 0.5, "ill", "well")
    table = write(visits.to_csv(index=False), "visits.csv")
    words = ["compare", table, "--target", "y", "--trees", 30, "--json"]
    together = json.loads(run(*words, "--groups", "patient").stdout)
    apart = json.loads(run(*words, "--drop", "patient").stdout)
    # Labels are random for each patient: only her other visits can predict them.
    for name, figures in apart["models"].items():
        assert together["models"][name]["accuracy"] < 0.7 < 0.8 < figures["accuracy"], name
