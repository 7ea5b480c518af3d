"""Experiments of papers, compared with their published results.

Each paper is a folder named by author and year. It has the published numbers (``paper.json``, with table and section),
the protocol on top of the public API (``protocol.py``), the report on the results (``summary.py``), and the generated
verdict with its plots (``README.md``). All papers share:

=============  ============================================================================================
`frame`        units of work, run in parallel and saved one by one
`report`       tables, plots and sentences for terminal, Markdown and JSON; ranks, tests and stars
=============  ============================================================================================
"""

from __future__ import annotations

from importlib import import_module

from hedgerow.study.experiments.frame import Experiment

#: Modules of experiments by paper; a new paper is one line here and one folder.
PAPERS = {
    "zhang-2021": "hedgerow.study.experiments.zhang_2021",
    "busch-2021": "hedgerow.study.experiments.busch_2021",
    "sutton-2012": "hedgerow.study.experiments.sutton_2012",
    "lectures": "hedgerow.study.experiments.lectures",
}
#: Extensions of a paper: questions that it leaves to future work.
STUDIES = {("busch-2021", "forests"): "hedgerow.study.experiments.forests"}


def find_experiment(paper: str, study: str | None = None) -> Experiment:
    """Return the experiment of a paper, or of an extension of it.

    Examples
    --------
    >>> find_experiment("zhang-2021").name
    'zhang-2021'
    >>> find_experiment("busch-2021", "forests").name
    'busch-2021-forests'
    """
    if paper not in PAPERS:
        raise ValueError(f"paper must be one of {', '.join(PAPERS)}, got {paper!r}.")
    if study is not None and (paper, study) not in STUDIES:
        known = [f"{of} {name}" for of, name in STUDIES]
        raise ValueError(f"study must be one of {', '.join(known)}, got {study!r} of {paper}.")
    module = PAPERS[paper] if study is None else STUDIES[paper, study]
    experiment: Experiment = import_module(module).EXPERIMENT
    return experiment
