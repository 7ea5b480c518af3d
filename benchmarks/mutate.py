"""Mutate: a hundred thousand damaged and crafted model files -> whether any crashes, hangs, or is a model that fails.

python -m benchmarks.mutate [--count 100000] [--first 0] [--seed 0] [--turns 1] [--workers 2] [--memory 1024]
                            [--only NUMBER]

One file in six is damaged anywhere; the others are changed by someone who knows the format, with everything that
follows from other parts computed again (`tests/reference/craft.py`). Each is loaded in a worker process. Every model
that loads is asked everything that is public (`tests/reference/ask.py`); other rules and decisions, and the languages
of programs, take turns. With `--turns 8` it is asked for its answers and bounds, and each other question is asked of
one model in eight.
A failure is a worker that dies, a question that takes more than a second of computing, more memory than `--memory` MB
beyond what a worker needs to begin with, more than 64 MB beyond twice the file in `load` (measured of one file in
eight), another exception of `load` than ModelFileError, and one of a question that is not among the
documented ones. Failures are named by the number of the file: --only repeats one.
"""

from __future__ import annotations

import argparse
import contextlib
import gc
import multiprocessing
import os
import queue
import re
import sys
import tempfile
import time
import traceback
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.reference.attack import Attack

import hedgerow
from benchmarks.measure import reset_peak, status

#: Files that are handed to a worker at once, and seconds after which it is taken to hang: a machine may be busy.
CHUNK, PATIENCE = 100, 300.0
#: Bytes that loading may take beyond twice the file.
MOST_BYTES = 64 << 20
#: The memory of loading is measured of one file in so many: for that it is loaded once more.
MEASURED_EVERY = 8


@dataclass
class Found:
    """What became of some files."""

    outcomes: Counter[str] = field(default_factory=Counter)
    slowest: tuple[float, str, int] = (0.0, "nothing", -1)
    largest: tuple[int, int] = (0, -1)
    """Bytes that loading took beyond twice the file, and which file."""
    failures: list[tuple[int, str]] = field(default_factory=list)
    seconds: float = 0.0
    """Of computing."""

    def add(self, other: Found) -> None:
        """Take in what was found elsewhere."""
        self.outcomes += other.outcomes
        self.slowest, self.largest = max(self.slowest, other.slowest), max(self.largest, other.largest)
        self.failures += other.failures
        self.seconds += other.seconds


def main(arguments: list[str] | None = None) -> int:
    """Mutate, load, ask, count; 1 when anything failed."""
    options = _options(arguments)
    if options.only is not None:
        attack = Attack(options.seed)
        print(attack.outcome(options.only, attack.file(options.only)))
        return 0
    os.environ |= {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}  # threads that wait for work cost more than it
    start, crew = time.monotonic(), _Crew(options)
    total = crew.run(range(options.first, options.first + options.count))
    _print(total, options.count, crew.n_replaced, time.monotonic() - start)
    return 1 if total.failures else 0


class _Crew:
    """Worker processes, which are replaced when they die or hang."""

    def __init__(self, options: argparse.Namespace) -> None:
        self._context = multiprocessing.get_context("spawn")
        self._jobs, self._answers = self._context.Queue(), self._context.Queue()
        self._options, self.n_replaced = options, 0

    def run(self, numbers: range) -> Found:
        """Numbers of files -> what became of them."""
        chunks = [numbers[first : first + CHUNK] for first in range(0, len(numbers), CHUNK)]
        for chunk in chunks:
            self._jobs.put(chunk)
        workers = [self._worker() for _ in range(self._options.workers)]
        total, n_done = Found(), 0
        while n_done < len(numbers):
            try:
                n_files, found = self._answers.get(timeout=0.5)
                n_done += n_files
                total.add(found)
            except queue.Empty:
                for place, worker in enumerate(workers):
                    if reason := worker.trouble():
                        n_done += 1
                        total.failures.append((worker.at.value, reason))
                        workers[place] = self._replaced(worker)
        for worker in workers:
            worker.process.kill()
            worker.process.join()
        return total

    def _replaced(self, worker: _Worker) -> _Worker:
        """Another worker; what the one before had not reported is done again, but for the file it was at."""
        self.n_replaced += 1
        at = worker.at.value
        for rest in (range(worker.first.value, at), range(at + 1, worker.last.value)):
            if len(rest):
                self._jobs.put(rest)
        return self._worker()

    def _worker(self) -> _Worker:
        return _Worker(self._context, self._options, self._jobs, self._answers)


class _Worker:
    """A process, the numbers it was given, the one it is at, and since when."""

    def __init__(self, context: Any, options: argparse.Namespace, jobs: Any, answers: Any) -> None:
        self.first, self.last, self.at = (context.Value("q", -1) for _ in range(3))
        self.since = context.Value("d", 0.0)
        told = (options.seed, options.turns, options.memory, jobs, answers, self.first, self.last, self.at, self.since)
        self.process = context.Process(target=_work, args=told, daemon=True)
        self.process.start()

    def trouble(self) -> str | None:
        """Why this worker has to be replaced, None while it works."""
        if not self.process.is_alive():
            return f"the process died with exit code {self.process.exitcode}"
        if self.since.value and time.time() - self.since.value > PATIENCE:
            self.process.kill()
            return f"hangs for {PATIENCE:g} s"
        return None


def _work(
    seed: int, turns: int, memory: int, jobs: Any, answers: Any, first: Any, last: Any, at: Any, since: Any
) -> None:
    """A worker's life: ranges of numbers in, what was found out."""
    attack, path = Attack(seed), Path(tempfile.mkdtemp()) / "attack.hedge"
    attack.outcome(0, attack.file(0))  # what is made once is made
    gc.freeze()  # and never garbage, so it is not looked through again and again
    if memory:
        _limit_memory(memory)
    while True:
        numbers, found, start = jobs.get(), Found(), time.process_time()
        first.value, last.value = numbers.start, numbers.stop
        for number in numbers:
            at.value, since.value = number, time.time()
            data = attack.file(number)
            try:
                outcome = attack.outcome(number, data, turns=turns)
            except BaseException:
                found.failures.append((number, traceback.format_exc(limit=-3)))
                continue
            found.outcomes[outcome.what] += 1
            found.slowest = max(found.slowest, (*outcome.slowest, number))
            found.failures += [(number, reason) for reason in outcome.wrong + outcome.slow]
            beyond = 0 if number % MEASURED_EVERY else _beyond(data, path)
            found.largest = max(found.largest, (beyond, number))
            if beyond > MOST_BYTES:
                found.failures.append((number, f"load: {beyond >> 20} MB beyond twice the file"))
        since.value, found.seconds = 0.0, time.process_time() - start
        answers.put((len(numbers), found))


def _beyond(data: bytes, path: Path) -> int:
    """A file -> bytes that loading it takes at most, beyond twice its size; 0 where the system does not tell."""
    path.write_bytes(data)
    known, before = reset_peak(), status("VmRSS") or 0
    with contextlib.suppress(hedgerow.ModelFileError):
        hedgerow.load(path)
    return max((status("VmHWM") or 0) - before - 2 * len(data), 0) if known else 0


def _limit_memory(megabytes: int) -> None:
    """From now on, at most so much more memory."""
    import resource

    now = status("VmSize") or 0
    resource.setrlimit(resource.RLIMIT_AS, (now + (megabytes << 20),) * 2)


def _print(found: Found, count: int, n_replaced: int, took: float) -> None:
    """The counts, the extremes, and every kind of failure with the numbers of some files."""
    each = f"{1e3 * found.seconds / max(count, 1):.1f} ms of computing a file"
    print(f"{count:,} files in {took:.0f} s, {each}; workers that died or hung: {n_replaced}")
    for outcome, how_many in found.outcomes.most_common():
        print(f"  {how_many:>9,}  {outcome}")
    seconds, name, number = found.slowest
    print(f"slowest: {seconds:.3f} s for {name} (number {number})")
    print(
        f"memory of load beyond twice the file: at most {found.largest[0] / 2**20:.1f} MB (number {found.largest[1]})"
    )
    alike = defaultdict(list)
    for number, reason in found.failures:
        alike[re.sub(r"\d[\d.e+-]*", "#", reason)[:300]].append(number)
    print(f"failures: {len(found.failures)}, of {len(alike)} kinds")
    for reason, numbers in sorted(alike.items(), key=lambda item: -len(item[1])):
        print(f"  {len(numbers)} times, numbers {numbers[:4]}: {reason}")


def _options(arguments: list[str] | None) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.mutate", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--count", type=int, default=100_000)
    parser.add_argument("--first", type=int, default=0, help="number of the first file")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--turns", type=int, default=1, help="each question is asked of one model in so many")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument(
        "--memory", type=int, default=1024, help="MB that questions may take; 0 for any (sanitizers need it)"
    )
    parser.add_argument("--only", type=int, help="repeat one file and say what becomes of it")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main())
