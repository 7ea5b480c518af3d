"""Rows that belong together on the command line."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

from hedgerow.util.blocks import one_of_each


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
    one = write(visits.iloc[one_of_each(np.repeat(np.arange(60), 4))].to_csv(index=False), "one.csv")
    for command in (["evaluate", model, "DATA", "--target", "y"], ["monitor", model, "DATA"]):
        asked, alone = (
            run(*[data if word == "DATA" else word for word in command], "--groups", "patient", "--json")
            for data in (table, one)
        )
        assert "Using one random row of each of 60 groups" in " ".join(asked.stderr.split())
        assert json.loads(asked.stdout) == json.loads(alone.stdout)
        assert "one random row of each" not in alone.stderr
    assert run("evaluate", model, table, "--target", "y", "--groups", "nobody").exit_code == 3


def test_the_report_counts_groups(visits, run, write, tmp_path):
    model, table = tmp_path / "m.hedge", write(visits.to_csv(index=False), "visits.csv")
    run("fit", table, "--target", "y", "--groups", "patient", "-o", model, "--trees", 20)
    page = tmp_path / "page.html"
    words = ["report", model, table, "--target", "y", "-o", page, "--groups", "patient"]
    asked = run(*words, "--json")
    assert "240 rows in 60 groups" in " ".join(asked.stderr.split())
    assert json.loads(asked.stdout)["groups"] == 60
    assert "240 rows in 60 groups" in page.read_text(encoding="utf-8")
