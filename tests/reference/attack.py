"""Attack: a number -> a model file that was damaged or crafted, and what becomes of it and of everybody who asks it."""

from __future__ import annotations

import contextlib
import io
import time
import traceback
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache
from random import Random
from typing import Any

import matplotlib as mpl
from matplotlib import pyplot
from sklearn.base import BaseEstimator
from sklearn.utils._repr_html import fitted_attributes, params
from tests.reference.ask import CENTRAL, is_refusal, questions
from tests.reference.craft import crafted
from tests.reference.models import EVERY_MODEL, saved
from tests.reference.mutate import mutated

import hedgerow
from hedgerow.storage import describe_file

mpl.use("Agg")
# What scikit-learn reads from docstrings and signatures, again and again, does not depend on the file: 8 ms.
fitted_attributes.get_docstring = params.get_docstring = lru_cache(maxsize=None)(params.get_docstring)
BaseEstimator._get_param_names = classmethod(lru_cache(maxsize=None)(BaseEstimator._get_param_names.__func__))

#: Seconds of computing that a question may take.
MOST_SECONDS = 1.0


@dataclass
class Outcome:
    """What became of one file: whether it is a model, what went wrong, and what took too long."""

    what: str
    slowest: tuple[float, str] = (0.0, "nothing")
    wrong: list[str] = field(default_factory=list)
    slow: list[str] = field(default_factory=list)


class Attack:
    """Sound files of every kind, and others that are made of them, each by its number."""

    def __init__(self, seed: int = 0) -> None:
        self.seed, self.names = seed, list(EVERY_MODEL)
        self.files = [saved(name) for name in self.names]

    def file(self, number: int) -> bytes:
        """One file in six is damaged anywhere, the others are crafted."""
        chance = Random(self.seed * 1_000_003 + number)
        data = chance.choice(self.files)
        return mutated(data, self.files, chance) if number % 6 == 0 else crafted(data, self.files, chance)

    def outcome(self, number: int, data: bytes, *, turns: int = 1) -> Outcome:
        """Load a file, and ask whatever loads: the central questions, and those whose turn it is of the others."""
        if data in self.files:
            return Outcome("as it was")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return _asked(data, Random(number).randrange(1 << 30), turns)


def _asked(data: bytes, turn: int, turns: int) -> Outcome:
    """A file, and a number that says which rules, pictures and other questions are tried -> what becomes of it."""
    found = Outcome("refused")
    _try(found, "describe_file", lambda: describe_file(io.BytesIO(data)), _is_refused_file)
    model = _try(found, "load", lambda: hedgerow.load(io.BytesIO(data)), _is_refused_file)
    if model is None:
        return found
    found.what = "loaded"
    for place, (name, ask) in enumerate(questions(model, turn=turn)):
        if name in CENTRAL or (turn + place) % turns == 0:
            _try(found, name, ask, is_refusal)
    pyplot.close("all")
    return found


def _try(found: Outcome, name: str, ask: Callable[[], Any], may_be: Callable[[str, BaseException], bool]) -> Any:
    """Ask, and write down how long it took and what went wrong; None where it was refused."""
    start, answer = time.perf_counter(), None
    try:
        answer = ask()
    except Exception as reason:
        if not may_be(name, reason):
            last = traceback.extract_tb(reason.__traceback__)[-1]
            where = f"{last.filename.rpartition('/')[2]}:{last.lineno}"
            found.wrong.append(f"{name}: {type(reason).__name__} at {where}: {str(reason)[:200]}")
    took = time.perf_counter() - start
    if took > MOST_SECONDS:  # the machine may have been busy
        took = _seconds_of_computing(ask)
    found.slowest = max(found.slowest, (took, name))
    if took > MOST_SECONDS:
        found.slow.append(f"{name}: {took:.1f} s")
    return answer


def _seconds_of_computing(ask: Callable[[], Any]) -> float:
    """Ask once more; asking the system for the processor's time costs more than many a question."""
    start = time.process_time()
    with contextlib.suppress(Exception):
        ask()
    return time.process_time() - start


def _is_refused_file(question: str, reason: BaseException) -> bool:
    return type(reason) is hedgerow.ModelFileError
