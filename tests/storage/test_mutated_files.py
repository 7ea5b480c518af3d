"""Mutated files: whatever happens to a model file, it is refused in one way, or it is a model."""

from __future__ import annotations

import io
import tracemalloc
import warnings
from random import Random
from typing import Any

import numpy as np
import pytest
from tests.reference.models import MODELS
from tests.reference.mutate import BLOATED, MUTATIONS, mutated
from tests.reference.validate import is_sound

import hedgerow
from hedgerow.errors import ModelFileError
from hedgerow.forest.forest import Forest
from hedgerow.inference.fitted import fitted_of
from hedgerow.storage.state import tree_rows


@pytest.fixture(scope="module")
def files() -> list[tuple[bytes, Any]]:
    """The bytes of every model, and rows to ask it about."""
    found = []
    for make in MODELS.values():
        fitted, file = make(), io.BytesIO()
        hedgerow.save(fitted.model, file)
        found.append((file.getvalue(), fitted.asked))
    return found


@pytest.mark.parametrize("block", range(10))
def test_a_mutated_file_is_refused_or_is_a_model(files: list[tuple[bytes, Any]], block: int) -> None:
    others, refused = [data for data, _ in files], 0
    for number in range(60 * block, 60 * (block + 1)):
        chance = Random(number)
        data, asked = chance.choice(files)
        try:
            model = hedgerow.load(io.BytesIO(mutated(data, others, chance)))
        except ModelFileError:
            refused += 1
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                assert np.allclose(model.predict_proba(asked).sum(axis=1), 1, rtol=0, atol=1e-9)
                model.predict_set(asked)
            except (ValueError, AttributeError):  # its columns have other names now, or its caution was never chosen
                pass
    assert refused > 30


@pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda mutation: mutation.__name__)
def test_every_mutation_changes_files(files: list[tuple[bytes, Any]], mutation: Any) -> None:
    others = [data for data, _ in files]
    assert sum(mutation(others[0], others, Random(number)) != others[0] for number in range(20)) > 10


@pytest.mark.parametrize("number", range(len(BLOATED)))
def test_no_header_takes_more_memory_than_twice_the_file_and_64_megabytes(number: int) -> None:
    tracemalloc.start()
    with pytest.raises(ModelFileError):
        hedgerow.load(io.BytesIO(BLOATED[number]))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 2 * len(BLOATED[number]) + (64 << 20)


def changed(forest: Forest, chance: Random) -> Forest:
    """A forest with one or two cells of its arrays changed; where trees, leaves and words begin stays."""
    names = ["nodes"] * 4 + ["payload"] * 2 + ["depth", "counts", "entry_class", "entry_start", "weights"]
    for name in chance.choices([name for name in names if getattr(forest, name) is not None], k=chance.choice([1, 2])):
        cells = getattr(forest, name).copy()
        inner = range(1, len(cells) - 1) if name == "entry_start" else range(len(cells))
        at = chance.choice(inner)
        if name == "nodes":
            shift, width = chance.choice([(36, 28), (36, 28), (16, 17), (33, 2), (35, 1), (0, 16)])
            near = int(cells[at]) >> shift & (1 << width) - 1
            value = chance.choice([0, 1, 2, near ^ 1, near + 1, near + 2, (1 << width) - 1]) & (1 << width) - 1
            cells[at] = int(cells[at]) & ~(((1 << width) - 1) << shift) | value << shift
        elif name == "weights":
            cells[at] = chance.choice([np.nan, np.inf, -1.0, 0.0, 1e308])
        else:
            cells[at] = chance.choice([0, 1, int(cells[at]) + 1, max(0, int(cells[at]) - 1), int(cells[at - 1])])
        forest = Forest.from_arrays(forest.n_classes, {**forest.arrays(), name: cells})
    return forest


@pytest.mark.parametrize("name", MODELS)
def test_the_core_refuses_what_its_twin_refuses(name: str) -> None:
    model = MODELS[name]().model
    forest, bins = model.forest_, fitted_of(model).bins
    assert is_sound(forest, bins)
    verdicts = []
    for number in range(150):
        other = changed(forest, Random(number))
        try:
            tree_rows(other, bins)
            verdicts.append(True)
        except ModelFileError:
            verdicts.append(False)
        assert verdicts[-1] == is_sound(other, bins), number
    assert 0 < sum(verdicts) < 150
