"""Data frames for results, of the library and index of the input."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import narwhals.stable.v2 as nw
from sklearn import get_config

#: Outputs of scikit-learn's `set_output`.
OUTPUTS = ("default", "pandas", "polars")


def requested_output(estimator: Any) -> str:
    """Return the output that `set_output` or scikit-learn's configuration requests."""
    own = vars(estimator).get("_sklearn_output_config", {})
    return str(own["transform"] if "transform" in own else get_config()["transform_output"])


def frame_like(X: Any, columns: Mapping[str, Any], output: str = "default") -> Any:
    """Return columns (n,) as a frame; by default polars if X is, otherwise pandas.

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
        raise ImportError(f"{output} output requires {output}. Run pip install {output}.") from None
    index = nw.maybe_get_index(given) if known else None
    if index is not None and output == "pandas":
        made.index = index
    return made


def index_names(X: Any) -> list[str] | None:
    """Return the row names of a pandas frame, unless they are just row numbers.

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
