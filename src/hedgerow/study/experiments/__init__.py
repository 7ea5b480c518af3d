"""Experiments: the name of a paper -> its tables and figures beside ours.

Each paper is a folder named by author and year. It holds the paper's figures (``paper.json``, with table and section),
the protocol on top of the public API (``protocol.py``), the report on the results (``summary.py``), and the generated
verdict with its figures (``README.md``). All papers share:

=============  ============================================================================================
`frame`        units of work -> results, in parallel, each saved as soon as it is done
`report`       tables, figures and sentences -> terminal, Markdown, JSON
`statistics`   scores of methods -> ranks, tests, stars
=============  ============================================================================================
"""

from __future__ import annotations

from importlib import import_module

from hedgerow.study.experiments.frame import Experiment

#: A paper's name -> the module of its experiment; a new paper is one line here and one folder.
PAPERS = {
    "zhang-2021": "hedgerow.study.experiments.zhang_2021",
    "busch-2021": "hedgerow.study.experiments.busch_2021",
    "sutton-2012": "hedgerow.study.experiments.sutton_2012",
    "lectures": "hedgerow.study.experiments.lectures",
}
#: Further studies of a paper: questions that it leaves open.
STUDIES = {("busch-2021", "forests"): "hedgerow.study.experiments.forests"}


def find_experiment(paper: str, study: str | None = None) -> Experiment:
    """A paper's name, perhaps a further study of it -> its experiment.

    Examples
    --------
    >>> find_experiment("zhang-2021").name
    'zhang-2021'
    >>> find_experiment("busch-2021", "forests").name
    'busch-2021-forests'
    """
    if paper not in PAPERS:
        raise ValueError(f"paper must be one of {', '.join(PAPERS)}, got {paper!r}; choose one of these")
    if study is not None and (paper, study) not in STUDIES:
        known = [f"{of} {name}" for of, name in STUDIES]
        raise ValueError(f"study must be one of those there are ({', '.join(known)}), got {study!r} of {paper}")
    module = PAPERS[paper] if study is None else STUDIES[paper, study]
    experiment: Experiment = import_module(module).EXPERIMENT
    return experiment
