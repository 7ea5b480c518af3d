"""Threads: one asks while another fits, several add rows at once: every answer is that of one model, no row is lost."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from tests.reference.models import tampered

import hedgerow
from hedgerow import ExtraTreesRegressor, RandomForestClassifier, RandomForestRegressor

#: How often the model is fitted again while others ask it; more by hand, to look for what is rare.
REFITS = int(os.environ.get("HEDGEROW_REFITS", "100"))


def small() -> tuple[pd.DataFrame, np.ndarray]:
    random = np.random.default_rng(0)
    X = pd.DataFrame({"a": random.normal(size=30), "b": pd.Categorical(random.choice(list("xy"), 30))})
    return X, (X["a"] > 0).to_numpy().astype(int)


def large() -> tuple[pd.DataFrame, np.ndarray]:
    """Other columns, other categories and other classes."""
    random = np.random.default_rng(1)
    X = pd.DataFrame(random.normal(size=(40, 5)), columns=list("cdefg"))
    X["h"] = pd.Categorical(random.choice([f"level {i}" for i in range(90)], 40))
    return X, random.choice(np.array(["one", "two", "three"]), 40)


QUESTIONS: list[Callable[[Any, Any], Any]] = [
    lambda model, X: model.predict_proba(X),
    lambda model, X: model.predict_set(X).astype(float),
    lambda model, X: model.predict_bounds(X),
]


def test_every_answer_during_a_refit_is_that_of_one_of_the_two_models() -> None:
    tables = [small(), large()]
    model = RandomForestClassifier(3, random_state=0, n_jobs=1)
    right = [[ask(model.fit(X, y), X) for ask in QUESTIONS] for X, y in tables]
    wrong: list[str] = []
    n_answers = [0, 0]
    done = threading.Event()

    def ask_again(which: int) -> None:
        X, number = tables[which][0], 0
        while not done.is_set():
            number += 1
            try:
                answer = QUESTIONS[number % 3](model, X)
            except ValueError as refused:  # the other model does not know these columns
                if "feature" not in str(refused) and "column" not in str(refused):
                    wrong.append(str(refused))
                continue
            n_answers[which] += 1
            if not np.array_equal(answer, right[which][number % 3]):
                wrong.append(f"question {number % 3} of table {which} was answered by neither model")

    askers = [threading.Thread(target=ask_again, args=(which,)) for which in (0, 1, 0)]
    for asker in askers:
        asker.start()
    try:
        for number in range(REFITS):
            model.fit(*tables[number % 2])
    finally:
        done.set()
        for asker in askers:
            asker.join()
    assert wrong == []
    assert min(n_answers) > 0


@pytest.mark.parametrize("kind", [RandomForestClassifier, RandomForestRegressor, ExtraTreesRegressor])
def test_threads_that_add_rows_at_once_lose_none(kind: Any) -> None:
    random = np.random.default_rng(2)
    X, y = random.normal(size=(400, 3)), random.integers(0, 2, 400)
    classes = {"classes": [0, 1]} if kind is RandomForestClassifier else {}
    model = kind(3, random_state=0)
    start = threading.Barrier(4)

    def add(first: int) -> None:
        start.wait()
        for row in range(first, 400, 40):
            model.partial_fit(X[row : row + 10], y[row : row + 10], **classes)

    adders = [threading.Thread(target=add, args=(first,)) for first in (0, 10, 20, 30)]
    for adder in adders:
        adder.start()
    for adder in adders:
        adder.join()
    per_tree = [tree.counts[0].sum() for tree in model.trees_]
    if kind is RandomForestRegressor:  # leaves count rows as often as the bag holds them
        assert model.grow_more(1).forest_.n_trees == 4
        assert model.oob_trace_.shape == (4,)
    else:
        assert per_tree == [400, 400, 400]


def test_what_is_learned_on_bags_is_learned_once_however_many_ask() -> None:
    X, y = small()
    model = RandomForestClassifier(20, random_state=0, caution="auto").fit(X, y)
    model.set_params(rule="belief")
    found: list[float] = []
    askers = [threading.Thread(target=lambda: found.append(model.predict_bounds(X).sum())) for _ in range(4)]
    for asker in askers:
        asker.start()
    for asker in askers:
        asker.join()
    assert len(found) == 4
    assert len(set(found)) == 1


# ---- threads that cannot start ----------------------------------------------------------------------------------

#: A process to which the system gives a thread or two fits, answers and loads with many.
UNDER_A_LIMIT = """
import hashlib, io, os, resource, sys, threading
import numpy as np
import hedgerow
from hedgerow import RandomForestClassifier, RandomForestRegressor, load
X = np.random.default_rng(0).normal(size=(3000, 6))
data = open(sys.argv[2], "rb").read()
for model in (RandomForestClassifier(2).fit(X, X[:, 0] > 0), load(io.BytesIO(data))):
    model.predict_proba(X)  # what is imported when first used, another user may not read
    model.set_params(oob_score=True).fit(X, X[:, 0] > 0).predict_frame(X)
    model.set_params(rule="eva").predict_set(X)
regressor = RandomForestRegressor(8).fit(X, X[:, 0])
regressor.predict_interval(X)
hedgerow.save(regressor, io.BytesIO())
if sys.argv[1] == "memory":
    pages = int(open("/proc/self/statm").read().split()[0])
    most = pages * resource.getpagesize() + (400 << 20)
    resource.setrlimit(resource.RLIMIT_AS, (most, most))
else:
    if os.getuid() == 0:  # whom no such limit binds
        os.setuid(65534)
    resource.setrlimit(resource.RLIMIT_NPROC, (3, 3))
may_end, waiting = threading.Event(), [threading.Thread(target=lambda: may_end.wait()) for _ in range(7)]
try:
    for thread in waiting:
        thread.start()
except RuntimeError:
    print("limited")
may_end.set()
for thread in waiting:
    if thread.ident is not None:
        thread.join()
fitted = RandomForestClassifier(64, random_state=0, n_jobs=8).fit(X, X[:, 0] > X[:, 1])
for model in (fitted, load(io.BytesIO(data)).set_params(n_jobs=8)):
    print(hashlib.sha256(model.predict_proba(X).tobytes()).hexdigest())
many = np.tile(X, (8, 1))
fitted.set_params(oob_score=True).fit(X, X[:, 0] > X[:, 1]).predict_frame(many)
fitted.set_params(rule="eva").predict_set(many)
regressor.set_params(n_jobs=8).predict(many)
regressor.predict_interval(many)
hedgerow.save(regressor, io.BytesIO())
"""


def few_large_stacks() -> None:
    """256 MB for each thread of a process, so that few fit."""
    import resource

    resource.setrlimit(resource.RLIMIT_STACK, (256 << 20, resource.getrlimit(resource.RLIMIT_STACK)[1]))


@pytest.mark.skipif(sys.platform != "linux", reason="limits bind threads on Linux only")
@pytest.mark.parametrize("limit", ["memory", "processes"])
def test_those_that_start_do_the_work_of_those_that_cannot(limit: str, tmp_path: Path) -> None:
    X = np.random.default_rng(0).normal(size=(3000, 6))
    model, file = RandomForestClassifier(64, random_state=0).fit(X, X[:, 0] > X[:, 1]), tmp_path / "model.hedge"
    hedgerow.save(model, file)
    older = tampered(file.read_bytes(), lambda metadata, model: model["parameters"].update(n_jobs=1024))
    file.write_bytes(older)
    done = subprocess.run(
        [sys.executable, "-c", UNDER_A_LIMIT, limit, str(file)],
        capture_output=True,
        text=True,
        preexec_fn=few_large_stacks,
        env={**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"},
    )
    assert done.returncode == 0, done.stderr
    answer = hashlib.sha256(model.predict_proba(X).tobytes()).hexdigest()
    assert done.stdout.split() == ["limited", answer, answer]
