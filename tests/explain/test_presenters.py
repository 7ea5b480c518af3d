"""A presenter has what people see of a prediction type, as plain data; a new type adds one line to the registry."""

from __future__ import annotations

import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import pytest

from hedgerow import PairwiseTreesClassifier, RandomForestClassifier, RandomForestRegressor, UnsupervisedForest, explain
from hedgerow.cli.models import target_columns
from hedgerow.explain.presenters import PRESENTERS, explainer_of, presenter_for, presenter_of
from hedgerow.explain.presenters.base import Lines, Presenter
from hedgerow.explain.presenters.classification import ClassificationPresenter, PairwisePresenter
from hedgerow.explain.presenters.regression import RegressionPresenter
from hedgerow.explain.report import make_report
from hedgerow.table import NamedColumns

X = np.random.default_rng(0).normal(size=(60, 2))
LABELS = np.where(X[:, 0] + X[:, 1] ** 2 > 0.5, "ill", "well")
MODELS = {
    "classes": lambda: RandomForestClassifier(5, random_state=0).fit(X, LABELS),
    "pairs": lambda: PairwiseTreesClassifier(random_state=0).fit(X, LABELS),
    "numbers": lambda: RandomForestRegressor(5, random_state=0, oob_score=True).fit(X, X[:, 0]),
}


def table() -> NamedColumns:
    return NamedColumns(None, [X[:, 0], X[:, 1]], set())


def test_every_type_has_a_presenter() -> None:
    found = {name: type(presenter_of(make())) for name, make in MODELS.items()}
    assert found == {"classes": ClassificationPresenter, "pairs": PairwisePresenter, "numbers": RegressionPresenter}
    assert set(PRESENTERS) >= set(found)


@pytest.mark.parametrize("name", ["classes", "numbers"])
def test_presenters_return_texts_and_tables_of_text(name: str) -> None:
    model = MODELS[name]()
    presenter = presenter_of(model)
    y = LABELS if name == "classes" else X[:, 0]
    summary = presenter.summary(model, y)
    evaluated = presenter.evaluate(model, table(), y, None)
    figures = presenter.figures(evaluated.tally, evaluated=evaluated)
    rows = presenter.explainer.uncertain_rows(model, table())
    assert set(rows.tolist()) <= set(range(len(X)))
    overview = presenter.explainer.overview(model.explain(X[:3], time_limit=0))
    facts = [
        summary.target,
        *summary.scores,
        *figures.scores,
        *(fact for part in figures.tables for fact in cells(part)),
    ]
    assert min(len(summary.scores), len(figures.scores)) > 0
    assert all(type(cell) is str for fact in (*facts, *cells(overview)) for cell in fact)


def cells(part: list[tuple[str, str]] | Lines) -> list[tuple[str, ...]]:
    return part if isinstance(part, list) else [(part.title, *part.heads), *map(tuple, part.rows)]


def test_an_option_of_fit_chooses_the_presenter(monkeypatch: pytest.MonkeyPatch) -> None:
    assert isinstance(presenter_for(SimpleNamespace(regression=True)), RegressionPresenter)
    assert isinstance(presenter_for(SimpleNamespace(regression=False)), ClassificationPresenter)
    monkeypatch.setattr(RegressionPresenter, "option", "event")  # as a type would whose target has two columns
    monkeypatch.setattr(RegressionPresenter, "target_options", ("target", "event"))
    options = SimpleNamespace(regression=True, target="days", event="died")
    assert target_columns(presenter_for(options), options) == ("days", "died")
    options.event = None
    assert isinstance(presenter_for(options), ClassificationPresenter)
    assert target_columns(RegressionPresenter(), options) == ()


def test_types_without_explanations_are_refused() -> None:
    pairs, alike = MODELS["pairs"](), UnsupervisedForest(3, random_state=0).fit(X)
    for model in (pairs, alike):
        with pytest.raises(TypeError, match=r"report does not support|must predict classes or numbers"):
            make_report(model, X)
        with pytest.raises(TypeError, match=r"explain does not support|must predict classes or numbers"):
            explain.explain(model, X)
    assert explainer_of(MODELS["numbers"]()) is RegressionPresenter.explainer
    with pytest.raises(TypeError, match="must predict classes or numbers, got a UnsupervisedForest"):
        presenter_of(alike)


def test_presenters_need_no_command_line() -> None:
    code = (
        "import sys, hedgerow.explain.presenters;"
        "print([name for name in sys.modules if name.startswith(('typer', 'hedgerow.cli'))])"
    )
    found = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert found.stdout.strip() == "[]"


def test_a_type_implements_few_methods() -> None:
    assert len(Presenter.__abstractmethods__) <= 6
