"""Reports: one self-contained HTML file.

==============  ===================================================================================
`page`          `make_report` and `Report`: one HTML file with its style and script
`request`       arguments of a report, and the parts of a page
`figures`       metrics, costs and breakdowns by group; facts about models and features
`places`        rules that describe where undecided rows concentrate
`cases`         leaf counts of single rows, from which the page computes opinions
`why`           explanations short enough for a page
`values`        feature values of single rows, with the usual values in training
`plots`         small plots
`answers_file`  answers saved from the page
==============  ===================================================================================

The parts of a page that depend on the prediction type come from its presenter. Style, scripts and templates are files
in ``assets/``: ``kit.js`` is shared, ``arithmetic.js`` computes rules and decisions, ``uncertainty.js`` explanations.
The tests compare both with the library.
"""

from __future__ import annotations

from hedgerow.explain.report.page import Report, make_report

__all__ = ["Report", "make_report"]
