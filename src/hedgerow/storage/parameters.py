"""Parameters of estimators, rules and decisions as JSON and arrays.

Names in a file are looked up only in tables of hedgerow. None, booleans, text, lists and numbers are plain JSON;
everything else is an object whose key names its type::

    {"float": "inf"}                                       numbers that JSON does not have
    {"tuple": [...]}, {"dict": [[key, value], ...]}        Python's containers
    {"array": "parameters.0", "dtype": "float64"}          a NumPy array, one of the file's
    {"rule": "eva", "parameters": {"prior": "log"}}        a rule by its short name
    {"criterion": "belief", "parameters": {"lam": 0.5}}    a criterion by its short name
    {"decision": "Coverage", "parameters": {...}}          a decision by its class; "fitted" if it is calibrated
"""

from __future__ import annotations

import math
import reprlib
from typing import Any, TypeAlias

import numpy as np
from joblib import cpu_count
from numpy.typing import NDArray

from hedgerow.criteria import CRITERIA, BeliefVariance, Criterion
from hedgerow.decisions import Decision, all_decisions
from hedgerow.errors import ModelFileError
from hedgerow.params.table import TreeEstimator
from hedgerow.rules import Rule, resolve_rule, rule_names
from hedgerow.storage.values import Arrays, as_bool, take

Json: TypeAlias = Any

_ARRAY_TYPES = ("float64", "float32", "int64", "int32", "int16", "int8", "uint64", "uint32", "uint16", "uint8", "bool")
_ODD_FLOATS = {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}
_DEEPEST = 20
#: Maximum number of threads that a file or a command may request.
MAX_THREADS = 1024
#: Parameters that do not affect results: omitted, so that files are equal on all machines.
_UNSAVED = frozenset({"n_jobs"})


class Encoder:
    """Encoder of Python values as JSON; their arrays are collected in ``arrays``."""

    def __init__(self) -> None:
        self.arrays: Arrays = {}

    def encode(self, value: Any, where: str) -> Json:
        """Return the JSON of a value; `where` names it in errors."""
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
        if isinstance(value, range) or hasattr(value, "__array__"):  # such as a pandas column
            return self.encode(np.asarray(value), where)
        if isinstance(value, Rule):
            return self._rule(value, where)
        if isinstance(value, Criterion):
            return self._criterion(value, where)
        if isinstance(value, Decision):
            return self._decision(value, where)
        raise _not_data(where, value)

    def parameters(self, estimator: TreeEstimator, where: str = "") -> dict[str, Json]:
        """Return the JSON of the parameters of an estimator, without `n_jobs`."""
        own = estimator.get_params(deep=False)
        return {name: self.encode(value, f"{where}{name}") for name, value in own.items() if name not in _UNSAVED}

    def _integer(self, value: int, where: str) -> Json:
        if not -(2**63) <= value < 2**64:
            raise ValueError(f"{where} must fit 64 bits to be saved, got {value}.")
        return value

    def _array(self, value: NDArray[np.generic], where: str) -> Json:
        if value.dtype.kind in "UO" and value.ndim == 1:
            return self.encode(value.tolist(), where)  # such as column names
        if value.dtype.name not in _ARRAY_TYPES or value.ndim not in (1, 2) or value.size == 0:
            raise _not_data(where, value)
        name = f"parameters.{len(self.arrays)}"
        self.arrays[name] = value.view(np.uint8) if value.dtype.kind == "b" else value
        return {"array": name, "dtype": value.dtype.name}

    def _rule(self, rule: Rule, where: str) -> Json:
        name = next((name for name in rule_names() if type(resolve_rule(name)) is type(rule)), None)
        if name is None:
            raise ValueError(
                f"{where} must be a registered rule to be saved, got {rule!r}. See hedgerow.rules.register."
            )
        return {"rule": name, "parameters": self.parameters(rule, f"{where}__")}

    def _criterion(self, criterion: Criterion, where: str) -> Json:
        known = _criteria()
        name = next((name for name, kind in known.items() if kind is type(criterion)), None)
        if name is None:
            raise ValueError(f"{where} must be one of {', '.join(known)} to be saved, got {criterion!r}.")
        return {"criterion": name, "parameters": self.parameters(criterion, f"{where}__")}

    def _decision(self, decision: Decision, where: str) -> Json:
        name, known = type(decision).__name__, _decision_classes()
        if known.get(name) is not type(decision):
            raise ValueError(f"{where} must be one of {', '.join(known)} to be saved, got {decision!r}.")
        encoded = {"decision": name, "parameters": self.parameters(decision, f"{where}__")}
        if decision.learned_fields and decision.is_ready:
            learned = {each: getattr(decision, each) for each in decision.learned_fields}
            encoded["fitted"] = {each: self.encode(value, f"{where}.{each}") for each, value in learned.items()}
        return encoded


class Decoder:
    """Decoder of JSON and arrays; accepts only the output of `Encoder`."""

    def __init__(self, arrays: Arrays, n_classes: int) -> None:
        self._arrays, self._n_classes = arrays, n_classes

    def decode(self, value: Json, depth: int = 0) -> Any:
        """Return the value of JSON."""
        if depth > _DEEPEST:
            raise ModelFileError(f"parameters must be nested at most {_DEEPEST} deep.")
        if value is None or isinstance(value, str | bool | float):
            return value
        if isinstance(value, int):
            if not -(2**63) <= value < 2**64:
                raise ModelFileError(f"integers must fit 64 bits, got one of {value.bit_length()} bits.")
            return value
        if isinstance(value, list):
            return [self.decode(item, depth + 1) for item in value]
        if isinstance(value, dict):
            return self._tagged(value, depth + 1)
        raise ModelFileError(f"parameters must be JSON, got {type(value).__name__}.")

    def estimator(self, given: Json, kind: type) -> Any:
        """Return an unfitted estimator with the parameters."""
        parameters = self.parameters(given, kind)
        if "n_jobs" in parameters:  # written by earlier versions
            parameters["n_jobs"] = _checked_threads(parameters["n_jobs"])
        return kind(**parameters)

    def parameters(self, given: Json, kind: type[TreeEstimator], depth: int = 0) -> dict[str, Any]:
        """Decode the parameters of a class; raise an error for unknown names."""
        known = set(kind._get_param_names())
        if not isinstance(given, dict) or not given.keys() <= known:
            unknown = sorted(given.keys() - known) if isinstance(given, dict) else given
            raise ModelFileError(
                f"parameters of {kind.__name__} must be among {', '.join(sorted(known))}, got {reprlib.repr(unknown)}."
            )
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
        raise ModelFileError(f"unknown parameter object with keys {str(list(value))[:80]}.")

    def _dict(self, pairs: list[Json], depth: int) -> dict[Any, Any]:
        if not all(isinstance(pair, list) and len(pair) == 2 for pair in pairs):
            raise ModelFileError(f"a dict of parameters must be pairs, got {reprlib.repr(pairs)}.")
        keys = [self.decode(key, depth) for key, _ in pairs]
        if not all(isinstance(key, str | int | float) for key in keys):
            raise ModelFileError(f"keys of a dict of parameters must be text or numbers, got {reprlib.repr(keys)}.")
        return dict(zip(keys, (self.decode(held, depth) for _, held in pairs), strict=True))

    def _array(self, name: str, word: str) -> NDArray[np.generic]:
        if not name.startswith("parameters.") or name not in self._arrays or word not in _ARRAY_TYPES:
            raise ModelFileError(f"missing or malformed parameter array {name[:40]!r}.")
        array = take(self._arrays, name, np.uint8 if word == "bool" else word, shape=(None,) * self._arrays[name].ndim)
        return as_bool(name, array) if word == "bool" else array.copy()

    def _rule(self, name: str, given: Json, depth: int) -> Rule:
        if name not in rule_names():
            raise ModelFileError(f"rule must be one of {', '.join(rule_names())}, got {name[:40]!r}. Is it registered?")
        kind = type(resolve_rule(name))
        return kind(**self.parameters(given, kind, depth))

    def _criterion(self, name: str, given: Json, depth: int) -> Criterion:
        known = _criteria()
        kind = known.get(name)
        if kind is None:
            raise ModelFileError(f"criterion must be one of {', '.join(known)}, got {name[:40]!r}.")
        criterion = kind(**self.parameters(given, kind, depth))
        try:
            criterion.check()
        except (TypeError, ValueError) as error:
            raise ModelFileError(f"invalid parameters of a criterion: {error}") from None
        return criterion

    def _decision(self, name: str, given: Json, fitted: Json, depth: int) -> Decision:
        known = _decision_classes()
        if name not in known:
            raise ModelFileError(f"decision must be one of {', '.join(known)}, got {name[:40]!r}.")
        decision = known[name](**self.parameters(given, known[name], depth))
        if fitted is not None:
            self._learned(decision, fitted, depth)
        return decision

    def _learned(self, decision: Decision, fitted: Json, depth: int) -> None:
        """Set the learned fields of a decision, each of its declared type."""
        learned = decision.learned_fields
        if not isinstance(fitted, dict) or not learned or fitted.keys() != learned.keys():
            raise ModelFileError(f"learned fields must be {', '.join(learned)}, got {reprlib.repr(fitted)}.")
        for each, dtype in learned.items():
            value = self.decode(fitted[each], depth)
            if not self._is_sound(value, dtype):
                raise ModelFileError(f"malformed learned field {each!r} ({reprlib.repr(value)}).")
            setattr(decision, each, value)

    def _is_sound(self, value: Any, dtype: Any) -> bool:
        """Test a learned value: a number, numbers (K,) or (G, K), or group names."""
        if dtype in (bool, int, float):
            return type(value) is dtype and value == value
        if dtype == [str]:
            return isinstance(value, list) and all(isinstance(name, str) for name in value)
        by_group = isinstance(dtype, list)
        if not (isinstance(value, np.ndarray) and value.dtype == (dtype[0] if by_group else dtype)):
            return False
        return value.ndim == 1 + by_group and value.shape[-1] == self._n_classes and not np.isnan(value).any()


def _checked_threads(n_jobs: Any) -> int | None:
    """Validate ``n_jobs`` of a file, and limit it to the number of cores."""
    if n_jobs is None:
        return None
    if type(n_jobs) is not int or n_jobs == 0 or abs(n_jobs) > MAX_THREADS:
        raise ModelFileError(
            f"n_jobs must be None or an int from -{MAX_THREADS} to {MAX_THREADS}, not 0, got {str(n_jobs)[:40]}."
        )
    return min(n_jobs, int(cpu_count()))


def _criteria() -> dict[str, type[Criterion]]:
    """Return the classes of all criteria by their names in files; "belief" is that of classes."""
    return CRITERIA | {"belief_variance": BeliefVariance}


def _decision_classes() -> dict[str, type[Decision]]:
    """Return the classes of all registered decisions by name."""
    return {type(decision).__name__: type(decision) for decision in all_decisions().values()}


def _not_data(where: str, value: Any) -> ValueError:
    """Return the error for a parameter that is not data, such as a function."""
    got = f"{str(value)[:60]!r} ({type(value).__name__})"
    return ValueError(
        f"{where} must be plain data, a rule or a decision to be saved, got {got}. Use another value, or"
        f" set_params({where.split('.')[0]}=None) if it only matters for another fit."
    )
