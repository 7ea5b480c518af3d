"""Explain: a fitted forest -> what its features add to a prediction, and why a sample is indeterminate.

=============================  =========================================================================================
`describe`                     a fitted model -> one page about its data, trees, doubt and features
`explain`                      a forest and samples -> why each answer is as it is, and what would settle it
`shap_values`                  a forest and samples -> what each feature adds to the answers
`oob_permutation_importance`   what trees lose on the rows outside their bags when a feature is permuted
`permutation_importance`       what the forest loses on any rows, as scikit-learn measures it
`debiased_importance`          decrease of impurity on the rows outside the bags: zero for a useless feature
`first_use_depth`              depth of the first split on a feature
`split_counts`                 how often trees split on a feature, and begin with it
`correlated_groups`            features that should be permuted together
`importance_test`              p-values of importances, from forests grown where the null hypothesis is true
`correct_pvalues`              p-values -> p-values corrected for their number
=============================  =========================================================================================

An explanation has several parts, one file each: `doubt` (by cause), `settle` (confirmed cases, caution, measurement),
`change` (the smallest change of features, searched in the `space` of the leaves' boxes), `cases` (nearest training
rows, leaf rules), `shap`. All start from a `question`; `why` joins them; `explanation`, `words`, `text` and `html`
present the result. The explanation of a number is an `estimate`.
"""

from hedgerow.explain.explanation import Explanation
from hedgerow.explain.importance import (
    Importance,
    PermutationImportance,
    correlated_groups,
    debiased_importance,
    first_use_depth,
    oob_permutation_importance,
    permutation_importance,
)
from hedgerow.explain.pvalues import ImportanceTest, correct_pvalues, importance_test
from hedgerow.explain.regression import RegressionExplanation
from hedgerow.explain.shap import ShapValues, shap_values
from hedgerow.explain.summary import Summary, describe
from hedgerow.explain.usage import SplitCounts, split_counts
from hedgerow.explain.why import explain

__all__ = [
    "Explanation",
    "Importance",
    "ImportanceTest",
    "PermutationImportance",
    "RegressionExplanation",
    "ShapValues",
    "SplitCounts",
    "Summary",
    "correct_pvalues",
    "correlated_groups",
    "debiased_importance",
    "describe",
    "explain",
    "first_use_depth",
    "importance_test",
    "oob_permutation_importance",
    "permutation_importance",
    "shap_values",
    "split_counts",
]
