"""The page of the sources: every name it mentions exists, and every rule and criterion it mentions can be made."""

from __future__ import annotations

import ast
import re
from inspect import signature
from pathlib import Path

import pytest

import hedgerow
from hedgerow import belief, criteria, explain, metrics, rules, theory
from hedgerow.criteria import resolve_criterion
from hedgerow.decisions import all_decisions
from hedgerow.rules import resolve_rule, rule_names
from hedgerow.study.experiments import find_experiment

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "explanation" / "sources.md").read_text(encoding="utf-8")
CODE = sorted(set(re.findall(r"`([^`]+)`", PAGE)))
#: Where a bare name may live: the public rooms, and the estimators.
ROOMS = (hedgerow, belief, criteria, rules, theory, metrics, explain)
ESTIMATORS = [getattr(hedgerow, name) for name in hedgerow.__all__ if name.endswith(("Classifier", "Regressor"))]
PARAMETERS = {name for estimator in ESTIMATORS for name in signature(estimator).parameters}
RESOLVE = {"rule": resolve_rule, "criterion": resolve_criterion, "decision": lambda name: all_decisions()[name]}


def there_is(name: str) -> bool:
    """Whether a dotted or bare name is public."""
    first, *rest = name.split(".")
    if first in ("forest", "hedgerow") or not rest:
        return is_somewhere(rest[-1] if rest else first)
    home = getattr(hedgerow, first)
    for part in rest[:-1]:
        home = getattr(home, part)
    return rest[-1] in dir(home)


def is_somewhere(name: str) -> bool:
    """Whether a name is in a room, an attribute or a parameter of an estimator."""
    return name in PARAMETERS or any(name in dir(owner) for owner in (*ROOMS, *ESTIMATORS))


@pytest.mark.parametrize("code", CODE)
def test_what_the_page_mentions_exists(code: str) -> None:
    if code.startswith("hedgerow reproduce"):
        paper, *study = code.split()[2:]
        assert find_experiment(paper, study[-1] if study else None)
    elif code.endswith((".py", ".md")):
        assert (Path(__file__).parents[2] / code).exists()
    elif "=" in code and re.fullmatch(r"\w+=.+", code):
        name, value = code.split("=", 1)
        assert name in PARAMETERS
        check(name, value)
    elif code.startswith('"'):  # another value of the parameter before it in the same cell
        line = next(line for line in PAGE.splitlines() if f"`{code}`" in line)
        name = re.findall(r"`(\w+)=", line.split(f"`{code}`")[0])[-1]
        check(name, code)
    elif "(" in code:
        check_call(code)
    else:
        assert there_is(code), code


def check(name: str, value: str) -> None:
    """A value of a parameter: a rule or criterion that can be made, or a value that Python can read."""
    if name in RESOLVE and value.startswith('"'):
        assert RESOLVE[name](ast.literal_eval(value))
    elif "(" in value:
        check_call(value)
    elif value != "…":
        ast.literal_eval(value)


def check_call(code: str) -> None:
    """A call: its name exists; if it has no part left open, a rule or a criterion can be made by it."""
    name, told = code.split("(", 1)
    known = {room_name: getattr(room, room_name) for room in (rules, criteria) for room_name in dir(room)}
    if name.strip() in known and "…" not in told and ";" not in told:
        assert eval(code, {"__builtins__": {}}, known)  # the page is ours
    elif name:
        assert there_is(name), code
    else:  # ``("beta")``: the same call as the one before with another value
        ast.literal_eval(code)


ROWS = [line for line in PAGE.split("## Left out")[0].splitlines() if re.search(r"`tests/|^\| [^|]+ \|.*`", line)]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[2:40])
def test_every_row_names_a_test_that_mentions_it(row: str) -> None:
    *_, where, tests, _ = row.split("|")
    paths = [ROOT / path for path in re.findall(r"`(tests/[\w/]+\.py)`", tests)]
    assert paths
    text = "".join(path.read_text(encoding="utf-8") for path in paths)
    names = {name for code in re.findall(r"`([^`]+)`", where) for name in re.findall(r"[A-Za-z_]\w{2,}", code)}
    names |= {type(resolve_rule(name)).__name__ for name in names & set(rule_names())}
    names -= {"rule", "criterion", "forest", "hedgerow", "belief", "theory", "metrics", "reproduce"}
    assert not names or any(name in text for name in names), names


def test_nothing_is_waiting() -> None:
    assert "Not there yet" not in PAGE
