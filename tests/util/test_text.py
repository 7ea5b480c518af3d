"""Text of any origin can be shown, and what no file could hold is refused before a model learns it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hedgerow import PairwiseTreesClassifier, RandomForestClassifier, RandomForestRegressor, UnsupervisedForest
from hedgerow.labels import from_sets
from hedgerow.util.text import printable, printable_lines, require_text

HALF = "a\ud800b"
NUMBERS = np.arange(10.0)[:, None]
LABELS = ["u", "v"] * 5


def named(*names: str) -> pd.DataFrame:
    frame = pd.DataFrame(np.column_stack([NUMBERS] * len(names)))
    frame.columns = pd.Index(names, dtype=object)
    return frame


def of_text(*values: str) -> pd.DataFrame:
    return pd.DataFrame({"q": pd.Series(list(values) * 5, dtype=object)})


def of_categories(*values: str) -> pd.DataFrame:
    codes = list(range(len(values))) * 5
    return pd.DataFrame({"q": pd.Categorical.from_codes(codes, categories=pd.Index(values, dtype=object))})


@given(st.text(st.characters(exclude_categories=[]), max_size=40))
def test_what_is_printable_is_one_line_and_the_same_again(text: str) -> None:
    shown = printable(text)
    assert shown.isprintable()
    assert printable(shown) == shown
    assert (shown == text) == text.isprintable()
    assert len(printable_lines(text).split("\n")) == text.count("\n") + 1


def test_text_that_utf8_holds_is_fine() -> None:
    require_text(["", "é", "\U0001f333", "\x1b", 3, None], "names")


@pytest.mark.parametrize("model", [RandomForestClassifier(2), RandomForestRegressor(2), UnsupervisedForest(2)])
def test_half_a_surrogate_pair_is_no_name_of_a_column(model: Any) -> None:
    y = () if isinstance(model, UnsupervisedForest) else (np.arange(10) % 2,)
    with pytest.raises(ValueError, match=r"names of columns must be text that UTF-8 can encode, got 'a\\ud800b'"):
        model.fit(named(HALF, "c"), *y)
    assert not hasattr(model, "forest_")


@pytest.mark.parametrize(
    "X",
    [of_text(HALF, "c"), of_categories(HALF, "c"), np.array([[HALF], ["c"]] * 5, dtype=object)],
    ids=["text", "categories", "array"],
)
def test_half_a_surrogate_pair_is_no_category(X: Any) -> None:
    model = RandomForestClassifier(2, categorical_features=[0])
    with pytest.raises(ValueError, match=r"must be text that UTF-8 can encode, got 'a\\ud800b'"):
        model.fit(X, LABELS)


@pytest.mark.parametrize(
    "y",
    [
        [HALF, "v"] * 5,
        np.array([HALF, "v"] * 5),
        np.array([HALF, "v"] * 5, dtype=object),
        pd.Series([HALF, "v"] * 5, dtype=object),
        from_sets([[HALF], ["v", HALF]] * 5),
    ],
    ids=["list", "array", "objects", "series", "sets"],
)
def test_half_a_surrogate_pair_is_no_class(y: Any) -> None:
    with pytest.raises(ValueError, match=r"classes must be text that UTF-8 can encode, got 'a\\ud800b'"):
        RandomForestClassifier(2).fit(NUMBERS, y)


def test_half_a_surrogate_pair_is_no_class_of_pairs_or_of_later_rows() -> None:
    with pytest.raises(ValueError, match="classes must be text that UTF-8 can encode"):
        PairwiseTreesClassifier().fit(NUMBERS, [HALF, "v"] * 5)
    with pytest.raises(ValueError, match="classes must be text that UTF-8 can encode"):
        RandomForestClassifier(2).partial_fit(NUMBERS, LABELS, classes=["u", "v", HALF])
    with pytest.raises(ValueError, match="classes must be text that UTF-8 can encode"):
        RandomForestClassifier(2).fit(NUMBERS, LABELS).partial_fit(NUMBERS, LABELS, classes=["u", "v", HALF])


def test_in_later_tables_it_is_a_category_like_any_other_that_is_new() -> None:
    model = RandomForestClassifier(2, random_state=0).fit(of_text("b", "c"), LABELS)
    assert (model.predict(of_text(HALF, "c")) == model.predict(of_text("new", "c"))).all()
