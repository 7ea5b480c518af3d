"""Explain: a fitted forest -> what its features add to a prediction, and why a sample is indeterminate.

=================================  ==================================================================
`explain`                          a forest and samples -> why each is what it is, and what would settle it
`shap_values`                      a forest and samples -> what each feature adds to what it says of them
=================================  ==================================================================

An explanation is made of parts, one file each: `doubt` (by cause), `settle` (confirmed cases, caution, measurement),
`change` (the smallest change of features), `cases` (nearest training rows, leaf rules), `shap`. `question` is what they
start from, `why` puts them together, `explanation`, `words`, `text` and `html` say it.
"""

from hedgerow.explain.explanation import Explanation
from hedgerow.explain.shap import ShapValues, shap_values
from hedgerow.explain.why import explain

__all__ = ["Explanation", "ShapValues", "explain", "shap_values"]
