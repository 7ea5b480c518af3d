"""The report of survival forests in a real browser: curves and bounds are Python's at every time and caution."""

from __future__ import annotations

import copy

import numpy as np
import pandas as pd
import pytest

from hedgerow import RandomForestClassifier, RandomForestRegressor, RandomSurvivalForest
from hedgerow.explain.report import make_report
from hedgerow.metrics import harrell_c

HOSTILE = "</script><script>window.hacked = 1</script>"


def patients(n: int = 260) -> tuple[pd.DataFrame, np.ndarray]:
    """Age, dose and a ward with a hostile name; times end earlier for old patients, and some are censored."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"age": rng.uniform(20, 90, n).round(), "dose": rng.integers(0, 4, n).astype(float)})
    X["ward"] = pd.Categorical(np.where(rng.random(n) < 0.4, HOSTILE, "south"))
    X.loc[::11, "dose"] = np.nan
    life, ends = rng.exponential(40_000 / X.age), rng.uniform(100, 1500, n)
    return X, np.column_stack([np.ceil(np.minimum(life, ends)), life <= ends])


@pytest.fixture(scope="module")
def followed():
    X, y = patients()
    return RandomSurvivalForest(20, random_state=0).fit(X[:180], y[:180]), X[180:], y[180:]


@pytest.fixture(scope="module")
def report(followed):
    forest, X, y = followed
    return forest.report(X, y, time=365.0, names=[f"P{number:02}" for number in range(len(X))])


def test_bounds_and_sets_are_those_of_python_at_every_time_and_caution(open_page, report, followed):
    forest, X, _ = followed
    page = open_page(report)
    times, cautions = page.evaluate("[window.hedgerow.data.times, window.hedgerow.data.cautions]")
    for place, step in ((1, 0), (len(times) - 1, len(cautions) - 1), (len(times) // 2, 3)):
        page.evaluate(f"window.hedgerow.set({place}, {step})")
        settle(page)
        asked = copy.copy(forest).set_params(caution=cautions[step])
        shown = page.evaluate(
            "window.hedgerow.data.survival && Array.from({length: 80}, (_, i) =>"
            " [window.hedgerow.lower(i), window.hedgerow.upper(i), window.hedgerow.survival(i)])"
        )
        bounds, curve = asked.predict_bounds(X, times[place])[:, 0], asked.predict_survival_function(X, times[place])
        np.testing.assert_allclose(shown, np.column_stack([bounds, curve]), rtol=0, atol=1e-9)
        undecided = int(asked.predict_set(X, times[place]).all(axis=1).sum())
        assert page.locator('[data-count="open"]').inner_text() == str(undecided)
        told = [each.sentence for each in asked.explain(X, time=times[place], shap=False, cases=0)]
        verdicts = page.evaluate("Array.from({length: 80}, (_, i) => window.hedgerow.verdict(i))")
        assert all(sentence.startswith(verdict) for sentence, verdict in zip(told, verdicts, strict=True))


def test_a_case_shows_its_curve_its_evidence_and_hostile_text_as_text(open_page, report, followed):
    forest, X, y = followed
    page = open_page(report, width=375)
    assert page.evaluate("document.documentElement.scrollWidth") == 375
    page.locator('#filter input[value="all"]').evaluate("(input) => input.click()")
    page.locator("#list tbody tr").first.click()
    row = int(page.locator("#case h3").inner_text()[1:])
    why = forest.explain(X[row : row + 1], time=365.0)[0]
    text = page.locator("#case").inner_text()
    assert ("event at" if y[row, 1] else "censored at") + f" {y[row, 0]:g}" in text.replace("\u00a0", " ")
    assert f"bounds {why.lower:.1%} to {why.upper:.1%}" in text
    assert page.locator("#case path.line").count() == 1
    assert "Feature contributions to survival at time 365" in text
    assert page.evaluate("window.hacked === undefined")


def test_sliders_move_by_keys_and_reset(open_page, report):
    page = open_page(report)
    before = page.locator("#case .verdict").inner_text()
    assert "365" in before
    for slider in ("horizon", "caution"):
        page.focus(f"#{slider}")
        for _ in range(3):
            page.keyboard.press("ArrowRight")
    settle(page)
    assert float(page.locator("#horizon-words").inner_text().replace(",", "")) > 365
    assert page.locator("#caution-words").inner_text() == "8"
    page.click("#reset")
    settle(page)
    assert (page.locator("#horizon-words").inner_text(), page.locator("#caution-words").inner_text()) == ("365", "1")
    page.locator("#list tbody tr").first.click()
    assert page.locator("#case .verdict").inner_text() == before


def settle(page):
    """Wait until the page has drawn what was asked."""
    page.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")


def test_figures_are_those_of_the_methods(report, followed):
    forest, X, y = followed
    assert report.figures["rows"] == 80
    assert report.figures["indeterminate"] == int(forest.predict_set(X, 365.0).all(axis=1).sum())
    assert report.figures["concordance"] == pytest.approx(harrell_c(y, forest.predict(X)))
    for words in ("Brier score over time", "Rows at risk", "Survival at time 365", "Survival by risk group"):
        assert words in report.html


def test_a_report_without_times_has_curves_only(followed):
    forest, X, _ = followed
    found = forest.report(X)
    assert "Brier score over time" not in found.html
    assert "concordance" not in found.figures
    assert found.figures["time"] == forest.event_times_[len(forest.event_times_) // 2]


def test_readable_names_and_groups(followed):
    forest, X, y = followed
    found = make_report(
        forest, X, y, labels={"ward": {HOSTILE: "north", "": "station"}}, by={"ward": X.ward.astype(str)}, max_cases=10
    )
    assert set(found.figures["by"]["ward"]) == {HOSTILE, "south"}
    assert "station" in found.html
    assert '"nRows":80' in found.html


def test_arguments_of_other_types_raise(followed):
    forest, X, y = followed
    for name, value in (("coverage", 0.9), ("immutable", ["age"])):
        with pytest.raises(ValueError, match=f"{name} must be None for a survival model"):
            forest.report(X, **{name: value})
    with pytest.raises(ValueError, match="times must be at most"):
        forest.report(X, time=1e9)
    numbers = X[["age"]]
    for other in (RandomForestRegressor(2), RandomForestClassifier(2)):
        with pytest.raises(ValueError, match="time must be None for a"):
            other.fit(numbers, y[:, 1]).report(numbers, time=365.0)
