"""Gaps of older versions of scikit-learn: the same behaviour with each of them."""

from __future__ import annotations

import numpy as np
import pytest

from hedgerow import DecisionTreeClassifier
from hedgerow.util import compat

X = np.arange(12.0).reshape(6, 2)
y = [0, 0, 0, 1, 1, 1]


def frame(container: str, names: list[str]):
    package = pytest.importorskip(container)
    columns = dict(zip(names, X.T, strict=True))
    return package.table(columns) if container == "pyarrow" else package.DataFrame(columns)


@pytest.mark.parametrize("container", ["pandas", "polars", "pyarrow"])
def test_wrong_column_names_are_refused_with_scikit_learns_error(container):
    tree = DecisionTreeClassifier(random_state=0).fit(frame(container, ["a", "b"]), y)
    with pytest.raises(ValueError, match="The feature names should match those that were passed during fit"):
        tree.predict(frame(container, ["a", "c"]))


@pytest.mark.parametrize("container", ["pandas", "polars", "pyarrow"])
def test_names_that_only_one_table_has_are_warned_of(container):
    named, plain = DecisionTreeClassifier().fit(frame(container, ["a", "b"]), y), DecisionTreeClassifier().fit(X, y)
    with pytest.warns(UserWarning, match="X does not have valid feature names, but DecisionTreeClassifier was fitted"):
        named.predict(X)
    with pytest.warns(UserWarning, match="X has feature names, but DecisionTreeClassifier was fitted without"):
        plain.predict(frame(container, ["a", "b"]))


@pytest.mark.skipif(compat.SKLEARN >= (1, 9), reason="scikit-learn has callbacks")
def test_callbacks_need_a_scikit_learn_that_has_them():
    with pytest.raises(ImportError, match=r"scikit-learn must be 1\.9 or later for callbacks, got 1\."):
        DecisionTreeClassifier().set_callbacks()
