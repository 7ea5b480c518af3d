"""Command line, a module for each command.

=================  =====================================================================================
`app`              the list of commands, and how options become parameters for typer
`options`          the options of each command
`fit`, `tune`      model files, and out-of-bag and held-out metrics
`compare`          held-out metrics of hedgerow and of other libraries
`predict`          predictions of each row
`evaluate`         metrics on a table with true targets
`explain`          explanations of single rows
`report`           one HTML page with metrics and the most uncertain rows
`feedback`         `hedgerow suggest` and `hedgerow learn`
`monitor`          drift, novel and undecided rows in new tables
`inspect`          `hedgerow inspect` and `hedgerow verify`
`demo`             an example
`reproduce`        experiments of papers
`cluster`          `fit`, `predict` and `evaluate` on Dask
=================  =====================================================================================

They share `files` (tables of all formats), `match` (the columns of a table that a model expects), `models` (model
files, and the options that they support), `evaluation` (groups and cost tables), `holdout`, `output` (predictions as
files), `console` (messages and tables) and `exit_codes`. Presenters (`hedgerow.explain.presenters`) have everything
that depends on the prediction type, as plain data.
"""
