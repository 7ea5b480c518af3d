"""scikit-learn's own checks, and life inside its tools."""

from __future__ import annotations

from sklearn.utils.estimator_checks import parametrize_with_checks

import hedgerow

RESAMPLED = "a bootstrap draws rows, so a weight of two and a row that occurs twice are not the same draw"

AMOUNT = "the mass a leaf gives depends on how many rows it holds, and a row is one row whatever it weighs"

EXPECTED = {
    "check_sample_weight_equivalence_on_dense_data": RESAMPLED,
    "check_sample_weight_equivalence_on_sparse_data": RESAMPLED,
}


def _failures(estimator: object) -> dict[str, str]:
    if isinstance(estimator, hedgerow.PairwiseTreesClassifier):
        return dict.fromkeys(EXPECTED, AMOUNT)
    return EXPECTED if getattr(estimator, "bootstrap", False) else {}


@parametrize_with_checks(
    [
        hedgerow.DecisionTreeClassifier(),
        hedgerow.RandomForestClassifier(n_estimators=5),
        hedgerow.RandomForestClassifier(n_estimators=5, bootstrap=False),
        hedgerow.ExtraTreesClassifier(n_estimators=5),
        hedgerow.RandomDecisionTreesClassifier(n_estimators=30),
        hedgerow.PairwiseTreesClassifier(),
        hedgerow.DecisionTreeRegressor(),
        hedgerow.DecisionTreeRegressor(criterion="absolute_error"),
        hedgerow.RandomForestRegressor(n_estimators=5),
        hedgerow.RandomForestRegressor(n_estimators=5, bootstrap=False),
        hedgerow.ExtraTreesRegressor(n_estimators=5),
    ],
    expected_failed_checks=_failures,
)
def test_estimator_passes_scikit_learns_check(estimator, check):
    check(estimator)
