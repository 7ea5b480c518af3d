"""Output: columns by name, and the table they are about -> a data frame of the same library, with the same index."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import narwhals.stable.v2 as nw
from sklearn import get_config

#: The outputs that scikit-learn's `set_output` knows.
OUTPUTS = ("default", "pandas", "polars")


def requested_output(estimator: Any) -> str:
    """An estimator -> the output that `set_output` or scikit-learn's configuration asks for."""
    own = vars(estimator).get("_sklearn_output_config", {})
    return str(own["transform"] if "transform" in own else get_config()["transform_output"])


def frame_like(X: Any, columns: Mapping[str, Any], output: str = "default") -> Any:
    """Columns (n,) by name -> a frame of pandas or polars, as asked; by default polars if X is, otherwise pandas.

    Examples
    --------
    >>> import pandas as pd
    >>> frame_like(pd.DataFrame({"age": [61, 48]}, index=["Ann", "Bob"]), {"label": ["ill", "well"]})
        label
    Ann   ill
    Bob  well
    """
    given = nw.from_native(X, eager_only=True, pass_through=True)
    known = isinstance(given, nw.DataFrame)
    if output == "default":
        output = "polars" if known and given.implementation.is_polars() else "pandas"
    try:
        made = nw.from_dict(dict(columns), backend=output).to_native()  # type: ignore[arg-type]
    except ImportError:
        raise ImportError(
            f"{output} must be installed for data frames of {output}, got none; pip install {output}"
        ) from None
    index = nw.maybe_get_index(given) if known else None
    if index is not None and output == "pandas":
        made.index = index
    return made


def index_names(X: Any) -> list[str] | None:
    """A table -> the names of its rows, if it is a pandas frame whose index is more than their numbers; else None.

    Examples
    --------
    >>> import pandas as pd
    >>> index_names(pd.DataFrame({"age": [61, 48]}, index=["Ann", "Bob"])), index_names(pd.DataFrame({"age": [61]}))
    (['Ann', 'Bob'], None)
    """
    given = nw.from_native(X, eager_only=True, pass_through=True)
    index = nw.maybe_get_index(given) if isinstance(given, nw.DataFrame) else None
    names = None if index is None else index.tolist()
    return None if names is None or names == list(range(len(names))) else [str(name) for name in names]
