"""Parameters: the parameters of an estimator, with rules and decisions <-> JSON and arrays.

Names from a file are looked up only in our own tables. None, booleans, text, lists and numbers are plain JSON;
everything else is an object with a key that says what it is::

    {"float": "inf"}                                       numbers that JSON does not have
    {"tuple": [...]}, {"dict": [[key, value], ...]}        Python's containers
    {"array": "parameters.0", "dtype": "float64"}          a NumPy array, one of the file's
    {"rule": "eva", "parameters": {"prior": "log"}}        a rule by its short name
    {"criterion": "belief", "parameters": {"lam": 0.5}}    a criterion by its short name
    {"decision": "Coverage", "parameters": {...}}          a decision by its class; "fitted" if it is calibrated
"""

from __future__ import annotations

import math
from typing import Any, TypeAlias

import numpy as np
from joblib import cpu_count
from numpy.typing import NDArray

from hedgerow.criteria import CRITERIA, Criterion
from hedgerow.decisions import Decision, all_decisions
from hedgerow.errors import ModelFileError
from hedgerow.rules import Rule, resolve_rule, rule_names
from hedgerow.storage.values import Arrays, as_bool, take

Json: TypeAlias = Any

_ARRAY_TYPES = ("float64", "float32", "int64", "int32", "int16", "int8", "uint64", "uint32", "uint16", "uint8", "bool")
_ODD_FLOATS = {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}
_DEEPEST = 20
#: Most threads that a file or a command may ask for.
MAX_THREADS = 1024
#: How the work is done and not what comes out: a file does not hold it, so that it is the same on every machine.
_UNSAVED = frozenset({"n_jobs"})


class Encoder:
    """Python values -> JSON; the arrays among them are collected in ``arrays``."""

    def __init__(self) -> None:
        self.arrays: Arrays = {}

    def encode(self, value: Any, where: str) -> Json:
        """Value -> JSON; `where` is its name in an error."""
        if value is None or isinstance(value, bool):
            return value
        if isinstance(value, np.bool_):
            return bool(value)
        if isinstance(value, str):
            return str(value)
        if isinstance(value, int | np.integer):
            return self._integer(int(value), where)
        if isinstance(value, float | np.floating):
            number = float(value)
            return number if math.isfinite(number) else {"float": str(number)}
        if isinstance(value, list):
            return [self.encode(item, where) for item in value]
        if isinstance(value, tuple):
            return {"tuple": [self.encode(item, where) for item in value]}
        if isinstance(value, dict):
            return {"dict": [[self.encode(key, where), self.encode(held, where)] for key, held in value.items()]}
        if isinstance(value, np.ndarray):
            return self._array(value, where)
        if isinstance(value, range) or hasattr(value, "__array__"):  # a pandas column, say
            return self.encode(np.asarray(value), where)
        if isinstance(value, Rule):
            return self._rule(value, where)
        if isinstance(value, Criterion):
            return self._criterion(value, where)
        if isinstance(value, Decision):
            return self._decision(value, where)
        raise _not_data(where, value)

    def parameters(self, estimator: Any, where: str = "") -> dict[str, Json]:
        """An object with scikit-learn's ``get_params`` -> JSON of its own parameters, but for the number of threads."""
        own = estimator.get_params(deep=False)
        return {name: self.encode(value, f"{where}{name}") for name, value in own.items() if name not in _UNSAVED}

    def _integer(self, value: int, where: str) -> Json:
        if not -(2**63) <= value < 2**64:
            raise ValueError(f"{where} must fit 64 bits to be saved, got {value}; set a smaller number")
        return value

    def _array(self, value: NDArray[Any], where: str) -> Json:
        if value.dtype.kind in "UO" and value.ndim == 1:
            return self.encode(value.tolist(), where)  # names of columns, for example
        if value.dtype.name not in _ARRAY_TYPES or value.ndim not in (1, 2) or value.size == 0:
            raise _not_data(where, value)
        name = f"parameters.{len(self.arrays)}"
        self.arrays[name] = value.view(np.uint8) if value.dtype.kind == "b" else value
        return {"array": name, "dtype": value.dtype.name}

    def _rule(self, rule: Rule, where: str) -> Json:
        name = next((name for name in rule_names() if type(resolve_rule(name)) is type(rule)), None)
        if name is None:
            raise ValueError(
                f"{where} must be a registered rule to be saved, got {rule!r}; see hedgerow.rules.register"
            )
        return {"rule": name, "parameters": self.parameters(rule, f"{where}__")}

    def _criterion(self, criterion: Criterion, where: str) -> Json:
        name = next((name for name, kind in CRITERIA.items() if kind is type(criterion)), None)
        if name is None:
            raise ValueError(f"{where} must be one of {', '.join(CRITERIA)} to be saved, got {criterion!r}; use these")
        return {"criterion": name, "parameters": self.parameters(criterion, f"{where}__")}

    def _decision(self, decision: Decision, where: str) -> Json:
        name, known = type(decision).__name__, _decision_classes()
        if known.get(name) is not type(decision):
            raise ValueError(f"{where} must be one of {', '.join(known)} to be saved, got {decision!r}; use these")
        encoded = {"decision": name, "parameters": self.parameters(decision, f"{where}__")}
        if decision.learned_fields and decision.is_ready:
            learned = {each: getattr(decision, each) for each in decision.learned_fields}
            encoded["fitted"] = {each: self.encode(value, f"{where}.{each}") for each, value in learned.items()}
        return encoded


class Decoder:
    """JSON and the arrays of a file -> Python values; anything that `Encoder` does not write is refused."""

    def __init__(self, arrays: Arrays, n_classes: int) -> None:
        self._arrays, self._n_classes = arrays, n_classes

    def decode(self, value: Json, depth: int = 0) -> Any:
        """JSON -> value."""
        if depth > _DEEPEST:
            raise ModelFileError(f"parameters must be nested at most {_DEEPEST} deep, got a deeper one")
        if value is None or isinstance(value, str | bool | float):
            return value
        if isinstance(value, int):
            if not -(2**63) <= value < 2**64:
                raise ModelFileError(f"whole numbers must fit 64 bits, got one of {value.bit_length()}")
            return value
        if isinstance(value, list):
            return [self.decode(item, depth + 1) for item in value]
        if isinstance(value, dict):
            return self._tagged(value, depth + 1)
        raise ModelFileError(f"parameters must be JSON, got {type(value).__name__}")

    def estimator(self, given: Json, kind: type) -> Any:
        """JSON of an estimator's parameters -> the estimator, not fitted."""
        parameters = self.parameters(given, kind)
        if "n_jobs" in parameters:  # of a file that an earlier hedgerow has written
            parameters["n_jobs"] = _checked_threads(parameters["n_jobs"])
        return kind(**parameters)

    def parameters(self, given: Json, kind: type, depth: int = 0) -> dict[str, Any]:
        """JSON of an object's parameters -> dict; names that the class does not have are refused."""
        known = set(kind._get_param_names())  # type: ignore[attr-defined]
        if not isinstance(given, dict) or not given.keys() <= known:
            raise ModelFileError(f"parameters of {kind.__name__} must be among {', '.join(sorted(known))}, got others")
        return {name: self.decode(value, depth + 1) for name, value in given.items()}

    def _tagged(self, value: dict[str, Json], depth: int) -> Any:
        match value:
            case {"float": str(word), **rest} if not rest and word in _ODD_FLOATS:
                return _ODD_FLOATS[word]
            case {"tuple": list(items), **rest} if not rest:
                return tuple(self.decode(item, depth) for item in items)
            case {"dict": list(pairs), **rest} if not rest:
                return self._dict(pairs, depth)
            case {"array": str(name), "dtype": str(word), **rest} if not rest:
                return self._array(name, word)
            case {"rule": str(name), "parameters": dict(given), **rest} if not rest:
                return self._rule(name, given, depth)
            case {"criterion": str(name), "parameters": dict(given), **rest} if not rest:
                return self._criterion(name, given, depth)
            case {"decision": str(name), "parameters": dict(given), **rest} if rest.keys() <= {"fitted"}:
                return self._decision(name, given, rest.get("fitted"), depth)
        raise ModelFileError(f"a parameter must be written by hedgerow.save, got one with {str(list(value))[:80]}")

    def _dict(self, pairs: list[Json], depth: int) -> dict[Any, Any]:
        if not all(isinstance(pair, list) and len(pair) == 2 for pair in pairs):
            raise ModelFileError("a dict among parameters must be pairs of keys and values, got something else")
        keys = [self.decode(key, depth) for key, _ in pairs]
        if not all(isinstance(key, str | int | float) for key in keys):
            raise ModelFileError("keys of a dict among parameters must be text or numbers, got others")
        return dict(zip(keys, (self.decode(held, depth) for _, held in pairs), strict=True))

    def _array(self, name: str, word: str) -> NDArray[Any]:
        if not name.startswith("parameters.") or name not in self._arrays or word not in _ARRAY_TYPES:
            raise ModelFileError(f"an array among parameters must be in the file, got {name[:40]!r}")
        array = take(self._arrays, name, np.uint8 if word == "bool" else word, shape=(None,) * self._arrays[name].ndim)
        return as_bool(name, array) if word == "bool" else array.copy()

    def _rule(self, name: str, given: Json, depth: int) -> Rule:
        if name not in rule_names():
            raise ModelFileError(
                f"rule must be one of {', '.join(rule_names())}, got {name[:40]!r}; is it registered here?"
            )
        kind = type(resolve_rule(name))
        return kind(**self.parameters(given, kind, depth))

    def _criterion(self, name: str, given: Json, depth: int) -> Criterion:
        kind = CRITERIA.get(name)
        if kind is None:
            raise ModelFileError(f"criterion must be one of {', '.join(CRITERIA)}, got {name[:40]!r}")
        criterion = kind(**self.parameters(given, kind, depth))
        try:
            criterion.check()
        except (TypeError, ValueError) as error:
            raise ModelFileError(f"a criterion's parameters must be in range: {error}") from None
        return criterion

    def _decision(self, name: str, given: Json, fitted: Json, depth: int) -> Decision:
        known = _decision_classes()
        if name not in known:
            raise ModelFileError(f"decision must be one of {', '.join(known)}, got {name[:40]!r}")
        decision = known[name](**self.parameters(given, known[name], depth))
        if fitted is not None:
            self._learned(decision, fitted, depth)
        return decision

    def _learned(self, decision: Decision, fitted: Json, depth: int) -> None:
        """Set the fields that a decision has learned, each of the type that the decision declares."""
        learned = decision.learned_fields
        if not isinstance(fitted, dict) or not learned or fitted.keys() != learned.keys():
            raise ModelFileError(f"a calibrated decision must have learned {', '.join(learned)}, got something else")
        for each, dtype in learned.items():
            value = self.decode(fitted[each], depth)
            if not self._is_sound(value, dtype):
                raise ModelFileError(
                    f"{each} of a calibrated decision must be of the kind that it learns, got something else"
                )
            setattr(decision, each, value)

    def _is_sound(self, value: Any, dtype: Any) -> bool:
        """Whether a learned value has its type: a number, numbers (K,) or (G, K), or names of groups."""
        if dtype in (bool, int, float):
            return type(value) is dtype and value == value
        if dtype == [str]:
            return isinstance(value, list) and all(isinstance(name, str) for name in value)
        by_group = isinstance(dtype, list)
        if not (isinstance(value, np.ndarray) and value.dtype == (dtype[0] if by_group else dtype)):
            return False
        return value.ndim == 1 + by_group and value.shape[-1] == self._n_classes and not np.isnan(value).any()


def _checked_threads(n_jobs: Any) -> int | None:
    """``n_jobs`` of a file, no more than the machine has cores; refused if no machine has so many."""
    if n_jobs is None:
        return None
    if type(n_jobs) is not int or n_jobs == 0 or abs(n_jobs) > MAX_THREADS:
        raise ModelFileError(
            f"n_jobs must be None or an int from -{MAX_THREADS} to {MAX_THREADS}, not 0, got {str(n_jobs)[:40]}"
        )
    return min(n_jobs, int(cpu_count()))


def _decision_classes() -> dict[str, type[Decision]]:
    """{name of the class: class} of every registered decision."""
    return {type(decision).__name__: type(decision) for decision in all_decisions().values()}


def _not_data(where: str, value: Any) -> ValueError:
    """The error for a parameter that is not data, such as code."""
    got = f"{str(value)[:60]!r} ({type(value).__name__})"
    return ValueError(
        f"{where} must be plain data, a rule or a decision to be saved, got {got}; set it to another value, such as"
        f" set_params({where.split('.')[0]}=None) if it only matters for another fit"
    )
