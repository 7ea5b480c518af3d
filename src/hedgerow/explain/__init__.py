"""Explain: a fitted forest -> what its features add to a prediction, and which of them matter.

=================================  ==================================================================
`shap_values`                      a forest and samples -> what each feature adds to what it says of them
=================================  ==================================================================
"""

from hedgerow.explain.shap import ShapValues, shap_values

__all__ = ["ShapValues", "shap_values"]
