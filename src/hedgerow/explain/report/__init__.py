"""Report: a fitted forest, rows and their classes -> one page that can be e-mailed.

=============  ==============================================================================================
`figures`      a forest, rows and labels -> summary, metrics, what the undecided cases have in common
`places`       rows and which of them are undecided -> a few rules in plain words
`cases`        a forest and some rows -> the evidence of their leaves, packed so that a page can fold it again
`why`          undecided rows -> the explanations of `forest.explain`
`page`         all of these -> one HTML file that contains its style and script
=============  ==============================================================================================

The page's style, script and template are files in ``assets/``. ``arithmetic.js`` computes rules and decisions in the
browser; the tests compare it with the library.
"""

from __future__ import annotations

from hedgerow.explain.report.page import Report, make_report

__all__ = ["Report", "make_report"]
