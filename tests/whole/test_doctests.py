"""Every example in a docstring does what it says."""

from __future__ import annotations

import doctest
import importlib
import pkgutil

import pytest

import hedgerow

MODULES = sorted(module.name for module in pkgutil.walk_packages(hedgerow.__path__, "hedgerow."))


@pytest.mark.parametrize("name", MODULES)
def test_examples_of_module_run_as_printed(name):
    module = importlib.import_module(name)
    failed, _ = doctest.testmod(module, optionflags=doctest.NORMALIZE_WHITESPACE)
    assert failed == 0
