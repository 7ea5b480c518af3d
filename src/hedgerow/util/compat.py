"""Features that older versions of scikit-learn lack, each with the version that ends the gap.

When the lowest version in ``pyproject.toml`` reaches the one of a gap, delete the gap here.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import sklearn
from sklearn.utils.validation import validate_data

#: The version of scikit-learn, major and minor.
SKLEARN = tuple(int(part) for part in sklearn.__version__.split(".")[:2])


def available_names(estimator: Any, names: Iterable[str]) -> list[str]:
    """Return the names that an estimator has, for `dir`.

    Until scikit-learn 1.8: ``dir`` also lists attributes that raise, such as methods hidden by `available_if`.
    """
    return [name for name in names if hasattr(estimator, name)] if SKLEARN < (1, 8) else list(names)


def check_features(estimator: Any, X: Any, names: Sequence[str] | None, shape: tuple[int, int]) -> None:
    """Compare the columns of a later table with those of the fit, with scikit-learn's own errors and warnings.

    Until scikit-learn 1.9: it does not see the column names of polars and other data frames without
    ``__dataframe__``, and lets wrong columns pass. A stand-in shows it the names.
    """
    if SKLEARN < (1, 9) and names is not None:
        X = _Columns(names, shape)
    validate_data(estimator, X, reset=False, skip_check_array=True)


def sklearn_callbacks() -> Any:
    """scikit-learn's callbacks, imported when first used: they import a terminal library, which takes 100 ms.

    Until scikit-learn 1.9: there are none.
    """
    if SKLEARN < (1, 9):
        raise ImportError(
            f"scikit-learn must be 1.9 or later for callbacks, got {sklearn.__version__}. "
            "Upgrade with pip install -U scikit-learn."
        )
    from sklearn import callback

    return callback


class _Columns:
    """The names and the shape of a table, in the form that scikit-learn reads before 1.9."""

    def __init__(self, names: Sequence[str], shape: tuple[int, int]) -> None:
        self._names, self.shape = names, shape

    def __dataframe__(self) -> _Columns:
        return self

    def column_names(self) -> Sequence[str]:
        return self._names
