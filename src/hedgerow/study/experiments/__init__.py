"""Experiments: the name of a paper -> its tables and figures, ours beside theirs.

Each paper is a folder named by author and year. It holds the paper's numbers (``paper.json``, with table and section),
the protocol on top of the public API (``protocol.py``), what is made of the results (``summary.py``), and the
generated verdict with its figures (``README.md``). What they share is here:

=============  ============================================================================================
`frame`        units of work -> results, in parallel, each kept as soon as it is there
`report`       tables, figures and sentences -> terminal, Markdown, JSON
`statistics`   scores of methods -> ranks, tests, stars
=============  ============================================================================================
"""

from __future__ import annotations

from importlib import import_module

from hedgerow.study.experiments.frame import Experiment

#: A paper's name -> the module that describes its experiment; a new paper is one line and one folder.
PAPERS = {
    "zhang-2021": "hedgerow.study.experiments.zhang_2021",
    "busch-2021": "hedgerow.study.experiments.busch_2021",
    "sutton-2012": "hedgerow.study.experiments.sutton_2012",
}


def find_experiment(paper: str) -> Experiment:
    """A paper's name -> its experiment.

    Examples
    --------
    >>> find_experiment("zhang-2021").name
    'zhang-2021'
    """
    if paper not in PAPERS:
        raise ValueError(f"paper must be one of {', '.join(PAPERS)}, got {paper!r}; choose one of these")
    experiment: Experiment = import_module(PAPERS[paper]).EXPERIMENT
    return experiment
