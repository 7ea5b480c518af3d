"""Doubt: real tables and the same folds for all -> is it any good? One table for each question, and a verdict.

python -m benchmarks.doubt [--question probabilities errors sets strangers intervals groups stopping distributions
                                      trees]
                           [--quick] [--half choose|report|all] [--models NAME ...] [--sets NAME ...]
                           [--json FILE [--resume]]

A question is a `Study` of its own module: `doubt_probabilities` (probabilities, errors), `doubt_sets`,
`doubt_intervals`, `doubt_numbers` (stopping), `doubt_distributions`, `doubt_trees`; strangers are those of
`benchmarks.strangers`, and groups those of `benchmarks.groups`. What they share is in `doubt_kit`.
"""

from __future__ import annotations

import argparse
import json
import logging
import sys
import time
from dataclasses import asdict
from pathlib import Path
from typing import Any

from benchmarks import (
    doubt_distributions,
    doubt_intervals,
    doubt_numbers,
    doubt_probabilities,
    doubt_sets,
    doubt_trees,
    groups,
    show,
    strangers,
)
from benchmarks.data import folder_or_none
from benchmarks.doubt_kit import Found, Study, chosen_sets, examine, figures, print_table, sentences
from benchmarks.measure import quiet
from benchmarks.record import record

STUDIES: tuple[Study, ...] = (
    doubt_probabilities.STUDY,
    doubt_sets.STUDY,
    doubt_intervals.STUDY,
    doubt_numbers.STUDY,
    doubt_distributions.STUDY,
    doubt_trees.STUDY,
)
#: Studies whose means the pages quote, by section; all of their questions must be asked.
RECORDED = {
    "probabilities": doubt_probabilities.STUDY,
    "intervals": doubt_intervals.STUDY,
    "distributions": doubt_distributions.STUDY,
    "mixed forests": doubt_trees.STUDY,
}
STRANGERS, GROUPS = "strangers", "groups"
QUESTIONS = (*(question for study in STUDIES for question in study.tables), STRANGERS, GROUPS)
QUICK_STRANGERS = ("glass", "ecoli", "wine", "balance-scale")


def main(arguments: list[str] | None = None) -> int:
    """Ask all questions, print a table for each and the verdict; 1 where a model raised an error."""
    options = _options(arguments)
    quiet()
    logging.disable(logging.INFO)  # MAPIE says at every fold that quantiles cross
    place = folder_or_none(options.data)
    if place is None:
        return 0
    errors: list[str] = []
    verdict: list[str] = []
    kept: dict[str, Any] = {}
    for study in STUDIES:
        verdict += _asked(study, place, options, errors, kept)
    if STRANGERS in options.question:
        verdict += _asked_of_strangers(place, options, kept)
    if GROUPS in options.question:
        verdict += _asked_of_groups(place, options, kept)
    for line in dict.fromkeys(errors):
        print(line)
    if verdict:
        print(f"\nVerdict: {'; '.join(verdict)}.")
    return int(any(line.startswith("error") for line in errors))


def _asked(study: Study, place: Path, options: Any, errors: list[str], kept: dict[str, Any]) -> list[str]:
    """One study: its tables, printed -> what they say."""
    tables = study.asked(options.question)
    found, names = [], chosen_sets(study, place, options) if tables else []
    before = _found_before(tables[0].title, options) if tables else {}
    for name in names:
        start = time.monotonic()
        found.append(examine(study, tables, name, place, options, errors, before.get(name)))
        show.progress(f"{name}: {time.monotonic() - start:.1f} s")
        before.pop(name, None)
        kept[tables[0].title] = [asdict(one) for one in (*found, *before.values())]
        _keep(kept, options)
    if not found:
        return []
    for table in tables:
        print_table(table, found, options.trees)
    section = next((name for name, kept_of in RECORDED.items() if kept_of is study), None)
    if options.record and section and tables == study.asked(list(study.tables)):
        record(section, figures(tables, found), "benchmarks.doubt", sys.argv[1:])
    return [sentence for table in tables for sentence in sentences(table, found)]


def _asked_of_strangers(place: Path, options: Any, kept: dict[str, Any]) -> list[str]:
    """Unseen classes, levels of p-values, and what is caught -> what they say."""
    names = options.sets or (QUICK_STRANGERS if options.quick else None)
    found = strangers.ask(["--data", str(place), *(["--sets", *names] if names else [])])
    kept[STRANGERS] = [asdict(one) for one in found]
    _keep(kept, options)
    return strangers.sentences(found)


def _asked_of_groups(place: Path, options: Any, kept: dict[str, Any]) -> list[str]:
    """Guarantees for groups that were left out, with and without groups -> what they say."""
    trees = 20 if options.quick else options.trees
    kept[GROUPS] = groups.ask(["--data", str(place), "--draws", str(40 * options.repeats), "--trees", str(trees)])
    _keep(kept, options)
    return groups.sentences(kept[GROUPS])


def _found_before(title: str, options: Any) -> dict[str, Found]:
    """What an earlier run has written to the file that was asked for, by set; nothing without ``--resume``."""
    if not (options.resume and options.json and Path(options.json).exists()):
        return {}
    return {one["set"]: Found(**one) for one in json.loads(Path(options.json).read_text()).get(title, [])}


def _keep(kept: dict[str, Any], options: Any) -> None:
    """Write what has been found so far to the file that was asked for."""
    if options.json:
        Path(options.json).write_text(json.dumps(kept, indent=1) + "\n")


def _options(arguments: list[str] | None) -> argparse.Namespace:
    """The command line."""
    models = list(dict.fromkeys(name for study in STUDIES for name in study.models))
    parser = argparse.ArgumentParser(prog="python -m benchmarks.doubt", description=__doc__.splitlines()[0])
    parser.add_argument("--question", nargs="+", choices=QUESTIONS, default=list(QUESTIONS), help="by default all")
    parser.add_argument("--data", metavar="DIR", help="folder of data sets (else HEDGEROW_DATA, else ../shared/data)")
    parser.add_argument("--half", choices=("choose", "report", "all"), default="report", help="of the sets")
    parser.add_argument("--sets", nargs="+", metavar="NAME", help="these instead")
    parser.add_argument("--models", nargs="+", metavar="NAME", choices=models, help="these, and the reference")
    parser.add_argument("--rows", type=int, default=60_000, help="leave out larger sets")
    parser.add_argument("--most-rows", type=int, default=50_000, help="of a set, evenly spread")
    parser.add_argument("--repeats", type=int, default=4, help="of three-fold cross-validation; fewer on large sets")
    parser.add_argument("--folds", type=int, help="at most so many, however many repeats have")
    parser.add_argument("--trees", type=int, default=100)
    parser.add_argument("--quick", action="store_true", help="few small sets, few models: two minutes")
    parser.add_argument("--json", metavar="FILE", help="write all scores to a file, set by set")
    parser.add_argument("--resume", action="store_true", help="keep the scores that the file of --json has already")
    parser.add_argument("--record", action="store_true", help="write means to docs/results.json, for the pages")
    options = parser.parse_args(arguments)
    if options.quick:
        options.repeats = 1
    return options


if __name__ == "__main__":
    sys.exit(main())
