"""Explanations and importances of features.

=============================  =========================================================================================
`describe`                     summary of the data, trees, uncertainty and features of a model
`explain`                      explanations of single predictions, with counterfactuals
`shap_values`                  Shapley values
`oob_permutation_importance`   loss of trees on their out-of-bag rows when a feature is permuted
`permutation_importance`       loss of the forest on any rows, as scikit-learn measures it
`drop_column_importance`       fall of the out-of-bag score of a forest grown without the feature
`debiased_importance`          decrease of impurity on out-of-bag rows, zero for an uninformative feature
`first_use_depth`              depth of the first split on a feature
`split_counts`                 numbers of splits on a feature, anywhere and at the root
`correlated_groups`            groups of features to permute together
`importance_test`              p-values of importances, from forests grown under the null hypothesis
`correct_pvalues`              correction of p-values for their number
=============================  =========================================================================================

The parts of an explanation have a module each: `sources` (of uncertainty), `remedies` (confirmed cases, caution,
measurement), `change` (counterfactuals, searched in the `space` of leaf bounding boxes), `cases` (nearest training
rows, leaf rules), `shap`. All start from a `question`. `classification` and `regression` join them; `explanation`,
`words`, `text` and `html` present the result. `presenters` contains the parts that depend on the prediction type.
"""

from hedgerow.explain.explanation import Explanation
from hedgerow.explain.importance import (
    Importance,
    PermutationImportance,
    SplitCounts,
    correlated_groups,
    debiased_importance,
    drop_column_importance,
    first_use_depth,
    oob_permutation_importance,
    permutation_importance,
    split_counts,
)
from hedgerow.explain.pvalues import ImportanceTest, correct_pvalues, importance_test
from hedgerow.explain.regression import RegressionExplanation
from hedgerow.explain.shap import ShapValues, shap_values
from hedgerow.explain.summary import Summary, describe
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
    "drop_column_importance",
    "explain",
    "first_use_depth",
    "importance_test",
    "oob_permutation_importance",
    "permutation_importance",
    "shap_values",
    "split_counts",
]
