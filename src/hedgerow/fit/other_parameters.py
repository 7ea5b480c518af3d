"""Other parameters: rows of the table of parameters that differ from estimator to estimator, as in a regression."""

from __future__ import annotations

import numpy as np

from hedgerow.fit.fields import Parameter
from hedgerow.fit.settings import (
    FRIEDMAN_MSE,
    NO_BAGS_TO_SCORE,
    NUMBER_CRITERIA,
    is_real,
    is_word,
    must,
    number_criterion,
    warn_of_friedman,
)

#: A caution without "auto".
PLAIN_CAUTION = Parameter(
    kind="float",
    about="How many unseen rows each leaf keeps in reserve for `predict_bounds`.",
    check=must("a number >= 0", lambda value: is_real(value, 0)),
    on_fitted=True,
)
#: What differs in a regression.
NUMBER_CRITERION = Parameter(
    kind='{"squared_error", "absolute_error", "poisson"}',
    about="What a split should reduce: the squared error, the absolute error (leaves predict medians, and growing is"
    ' log n times slower), or the Poisson deviance of targets >= 0. scikit-learn\'s "friedman_mse" is the squared'
    " error under another name.",
    check=must(f"one of {', '.join(NUMBER_CRITERIA)}", lambda value: is_word(value, *NUMBER_CRITERIA, FRIEDMAN_MSE)),
    settle=lambda value, size: number_criterion(value),
    when_made=warn_of_friedman,
)
NUMBER_SIGNS = Parameter(
    kind="array-like of int of shape (n_features,), dict or None",
    about="1 if the prediction may only rise with a feature, -1 if it may only fall, otherwise 0; a dict maps feature"
    " names to these.",
)
NUMBER_SCORE = Parameter(
    kind="bool or callable",
    about="Whether to judge the forest on out-of-bag rows: True by R², a callable by ``metric(y, prediction)``.",
    check=must("True, False or a callable", lambda value: isinstance(value, bool | np.bool_) or callable(value)),
    needs_bags=bool,
    needs_rows=bool,
    instead="False",
    without_bags=NO_BAGS_TO_SCORE,
)
