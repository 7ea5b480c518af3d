"""One page about a model: its figures are those of the model, and no name can break out of it."""

from __future__ import annotations

import io

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_diabetes, load_iris

import hedgerow
from hedgerow.explain import describe

X, y = load_iris(return_X_y=True)
U, v = load_diabetes(return_X_y=True)


def test_figures_are_those_of_the_forest_and_of_rows_outside_its_bags():
    forest = hedgerow.RandomForestClassifier(15, calibration=None, oob_score=True, random_state=0).fit(X, y)
    info = describe(forest)
    facts = dict(info.facts)
    opinion = forest.oob_evidence_.as_forest().combine()
    sets = hedgerow.decide(opinion, "dominance")
    single = sets.sum(axis=1) == 1
    assert facts["out of bag"].startswith(f"{single.mean():.1%} of rows decided, ")
    assert f"{sets[single, y[single]].mean():.1%} of them correctly" in facts["out of bag"]
    assert facts["out of bag"].endswith(f"coverage of sets {sets[np.arange(150), y].mean():.1%}")
    assert facts["out-of-bag score"] == f"{forest.oob_score_:.3f}"
    leaves = np.mean([tree.n_leaves for tree in forest.trees_])
    assert facts["trees"].startswith(f"15, with {leaves:.0f} leaves")
    named = {f"x[{number}]": share for number, share in enumerate(forest.feature_importances_)}
    assert dict(info.importances) == pytest.approx(named)
    assert list(dict(info.importances).values()) == sorted(named.values(), reverse=True)


MODELS = {
    "regressor": lambda: hedgerow.RandomForestRegressor(3, random_state=0).fit(U, v),
    "tree": lambda: hedgerow.DecisionTreeClassifier(random_state=0).fit(X, y),
    "embedding": lambda: hedgerow.RandomTreesEmbedding(3, random_state=0).fit(X),
    "unsupervised": lambda: hedgerow.UnsupervisedForest(3, random_state=0).fit(X),
    "pairs": lambda: hedgerow.PairwiseTreesClassifier(random_state=0).fit(X, y),
    "uncertain": lambda: hedgerow.RandomForestClassifier(3, random_state=0).fit(
        X, hedgerow.labels.from_plausibilities(np.maximum(np.eye(3)[y], 0.5))
    ),
}


@pytest.mark.parametrize("kind", MODELS)
def test_every_model_has_a_page_also_after_loading(kind):
    model, file = MODELS[kind](), io.BytesIO()
    info = describe(model)
    rows = {"regressor": "442 rows, 10", "pairs": "unknown number of rows, 4"}.get(
        kind, "150 rows, 4"
    )  # a pair has its own rows
    assert info.facts[0] == ("trained on", f"{rows} features")
    assert all(name in info.to_text() for name, _ in info.facts)
    hedgerow.save(model, file)
    loaded = describe(hedgerow.load(io.BytesIO(file.getvalue())))
    assert dict(loaded.importances) == pytest.approx(dict(info.importances))


def test_names_that_no_terminal_can_show_are_written_in_escapes():
    table = pd.DataFrame(X, columns=["a\x1b[31m", "b\u202e", "c", "d"])
    text = describe(hedgerow.RandomForestClassifier(3, random_state=0).fit(table, y)).to_text()
    assert "a\\x1b[31m" in text
    assert "b\\u202e" in text
    assert "\x1b" not in text


def test_a_notebook_shows_the_page_once_the_model_is_fitted_and_names_are_escaped():
    table = pd.DataFrame(X, columns=["<script>alert(1)</script>", "b", "c", "d"])
    forest = hedgerow.RandomForestClassifier(3, random_state=0)
    assert "hedgerow-about" not in forest._repr_mimebundle_()["text/html"]
    shown = forest.fit(table, np.array(["<b>", "x", "y"])[y])._repr_mimebundle_()["text/html"]
    page = shown[shown.index("hedgerow-about") :]
    assert "&lt;script&gt;" in page
    assert "<script>" not in page
    assert "&lt;b&gt;" in page
    several = hedgerow.RandomForestClassifier(3, random_state=0).fit(X, np.column_stack([y, y > 0]))
    assert "hedgerow-about" not in several._repr_mimebundle_()["text/html"]
