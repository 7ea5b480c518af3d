"""Report: a fitted forest, rows and their classes -> one page that can be e-mailed.

==============  ===============================================================================================
`page`          a model, rows and labels or targets -> one HTML file that contains its style and script
`class_page`    a classifier and rows -> the parts of its page
`number_page`   a regressor and rows -> the parts of its page
`figures`       a classifier, rows and labels -> summary, metrics, what the undecided cases have in common
`places`        rows and which of them are doubtful -> a few rules in plain words
`cases`         a forest and some rows -> the evidence of their leaves, packed so that a page can fold it again
`why`           undecided rows -> the explanations of `forest.explain`
`values`        rows -> their values, beside what is usual in training
`plots`         predictions and targets -> small pictures
`readable`      a model and names for its codes -> the same model with names that people know
==============  ===============================================================================================

The page's style, scripts and templates are files in ``assets/``: ``kit.js`` is shared; ``arithmetic.js`` computes rules
and decisions, ``doubt.js`` explanations; the tests compare both with the library.
"""

from __future__ import annotations

from hedgerow.explain.report.page import Report, make_report

__all__ = ["Report", "make_report"]
