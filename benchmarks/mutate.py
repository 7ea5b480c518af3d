"""Mutate: a hundred thousand damaged model files -> whether any crashes, hangs, or takes memory it should not.

python -m benchmarks.mutate [--count 100000] [--seed 0] [--workers 2] [--only NUMBER]

Each file is mutated by its own number and loaded in a worker process; where it loads, the model is asked about rows. A
worker that dies, a file that takes longer than a second or memory beyond twice its size plus 64 MB, and any exception
but ModelFileError are failures, named by number: --only repeats one.
"""

from __future__ import annotations

import argparse
import io
import multiprocessing
import sys
import tempfile
import time
import traceback
import warnings
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
from tests.reference.models import MODELS
from tests.reference.mutate import mutated

import hedgerow
from benchmarks.measure import reset_peak, status

MOST_SECONDS, MOST_BYTES = 1.0, 64 << 20
CHUNK = 500


@dataclass
class Found:
    """What became of some files."""

    outcomes: Counter[str] = field(default_factory=Counter)
    slowest: tuple[float, int] = (0.0, -1)
    largest: tuple[int, int] = (0, -1)
    """Bytes beyond twice the file, and which file."""
    failures: list[tuple[int, str]] = field(default_factory=list)

    def add(self, other: Found) -> None:
        """Take in what was found elsewhere."""
        self.outcomes += other.outcomes
        self.slowest, self.largest = max(self.slowest, other.slowest), max(self.largest, other.largest)
        self.failures += other.failures


def main(arguments: list[str] | None = None) -> int:
    """Mutate, load, count; 1 when anything failed."""
    options = _options(arguments)
    if options.only is not None:
        print(Trial(options.seed).try_out(options.only))
        return 0
    start, total = time.monotonic(), Found()
    context = multiprocessing.get_context("spawn")
    jobs, answers = context.Queue(), context.Queue()
    for first in range(0, options.count, CHUNK):
        jobs.put(range(first, min(first + CHUNK, options.count)))
    crew = [_Worker(context, options.seed, jobs, answers) for _ in range(options.workers)]
    done = 0
    while done < options.count:
        try:
            chunk, found = answers.get(timeout=0.5)
            done += chunk
            total.add(found)
        except Exception:  # nothing yet: look whether somebody died or is stuck
            for place, worker in enumerate(crew):
                if reason := worker.trouble():
                    total.failures.append((worker.at.value, reason))
                    done += CHUNK  # the rest of its chunk is not looked at: the run has failed anyway
                    crew[place] = _Worker(context, options.seed, jobs, answers)
    for worker in crew:
        worker.process.kill()
        worker.process.join()
    _print(total, options.count, time.monotonic() - start)
    return 1 if total.failures else 0


class Trial:
    """Sound files of every kind, and what a mutated one does."""

    def __init__(self, seed: int) -> None:
        self.seed, self.asked, self.files = seed, [], []
        for make in MODELS.values():
            fitted, file = make(), io.BytesIO()
            hedgerow.save(fitted.model, file)
            self.asked.append(fitted.asked)
            self.files.append(file.getvalue())
        self.path = Path(tempfile.mkdtemp()) / "mutated.hedge"

    def mutate(self, number: int) -> tuple[bytes, Any]:
        """File number `number`, and rows for it."""
        chance = Random(self.seed * 1_000_003 + number)
        which = chance.randrange(len(self.files))
        return mutated(self.files[which], self.files, chance), self.asked[which]

    def try_out(self, number: int) -> tuple[str, float, int]:
        """-> what became of the file, seconds, bytes beyond twice the file."""
        data, asked = self.mutate(number)
        self.path.write_bytes(data)
        known = reset_peak()
        before, start = status("VmRSS") or 0, time.perf_counter()
        outcome = self._load_and_ask(asked)
        took = time.perf_counter() - start
        peak = (status("VmHWM") or 0) - before if known else 0
        return ("as it was" if data in self.files else outcome), took, peak - 2 * len(data)

    def _load_and_ask(self, asked: Any) -> str:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                model = hedgerow.load(self.path)
            except hedgerow.ModelFileError as reason:
                return "refused" if reason.__cause__ is None else "refused in the words of a parameter"
            try:
                probability = model.predict_proba(asked)
                model.predict_bounds(asked)
                model.predict_set(asked)
            except (ValueError, AttributeError):  # other columns, or caution="auto" without a choice
                return "loaded, refuses these rows"
            if not (np.abs(probability.sum(axis=1) - 1) < 1e-9).all():
                raise AssertionError("shares do not add up to one")
            return "loaded"


def _work(seed: int, jobs: Any, answers: Any, at: Any, since: Any) -> None:
    """A worker's life: ranges of numbers in, what was found out."""
    trial = Trial(seed)
    trial.try_out(0)  # what is made once is made
    while True:
        numbers, found = jobs.get(), Found()
        for number in numbers:
            at.value, since.value = number, time.time()
            try:
                outcome, took, beyond = trial.try_out(number)
            except BaseException:
                found.failures.append((number, traceback.format_exc(limit=-3)))
                continue
            found.outcomes[outcome] += 1
            found.slowest, found.largest = max(found.slowest, (took, number)), max(found.largest, (beyond, number))
            if took > MOST_SECONDS or beyond > MOST_BYTES:
                found.failures.append(
                    (number, f"{outcome}: {took:.2f} s, {beyond / 2**20:.1f} MB beyond twice the file")
                )
        since.value = 0.0
        answers.put((len(numbers), found))


class _Worker:
    """A process, the number it is at, and since when."""

    def __init__(self, context: Any, seed: int, jobs: Any, answers: Any) -> None:
        self.at, self.since = context.Value("q", -1), context.Value("d", 0.0)
        self.process = context.Process(target=_work, args=(seed, jobs, answers, self.at, self.since), daemon=True)
        self.process.start()

    def trouble(self) -> str | None:
        """Why this worker has to be replaced, None while it works."""
        if not self.process.is_alive():
            return f"the process died with exit code {self.process.exitcode}"
        if self.since.value and time.time() - self.since.value > 20 * MOST_SECONDS:
            self.process.kill()
            return "hangs"
        return None


def _print(found: Found, count: int, took: float) -> None:
    """The counts, the extremes and every failure."""
    print(f"{count:,} mutated files of {len(MODELS)} models in {took:.0f} s")
    for outcome, how_many in found.outcomes.most_common():
        print(f"  {how_many:>9,}  {outcome}")
    (seconds, slowest), (beyond, largest) = found.slowest, found.largest
    print(f"slowest: {seconds:.3f} s (number {slowest}), target {MOST_SECONDS:g} s")
    print(f"memory beyond twice the file: at most {beyond / 2**20:.2f} MB (number {largest}), target 64 MB")
    print(f"failures: {len(found.failures)}")
    for number, reason in found.failures[:20]:
        print(f"  number {number}: {reason}")


def _options(arguments: list[str] | None) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.mutate", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--count", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--only", type=int, help="repeat one file and say what becomes of it")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main())
