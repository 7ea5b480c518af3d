"""Size, typing and vocabulary of a source tree.

``python -m benchmarks.house`` prints one row per measure for a checkout, so that two versions can be compared. The
sources are read with `ast` and `tokenize`; only the trace of `fit` and `predict_set` imports the package.

Definitions
-----------
code lines
    Lines with a token other than a comment, outside docstrings. C++ is counted without comments and blank lines.
invented dunders
    Identifiers ``__x__`` that neither Python, NumPy, Arrow nor scikit-learn define. Uses include those in comments.
``__dict__`` writes
    Assignments to ``x.__dict__[…]``, and calls of ``update`` and ``setdefault`` on it. Deletions do not count.
caches
    Classes named ``*Cache``, descriptors (classes with ``__get__``) that write into a ``__dict__``, and attributes with
    a constant name that are kept there (``x.__dict__["_shares"] = …``). ``functools.cached_property`` and caches of
    pure functions (``functools.lru_cache``) do not count.
class names defined twice
    Public names (without a leading underscore) of classes that are defined more than once.
identifiers with retired words
    Distinct (module, name) pairs of modules, classes, functions, parameters and attributes, split at underscores and
    capitals, of which a part is in `RETIRED`.
modules run
    Modules of which a function runs in one `fit` with out-of-bag scores, and in the second `predict_set` of the same
    model; another forest has warmed up imports. The longest chain is the deepest call stack, counted in modules:
    calls inside a module do not lengthen it, a return to an earlier module does.
"""

from __future__ import annotations

import argparse
import ast
import io
import json
import os
import re
import subprocess
import sys
import tokenize
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]

#: A module with fewer lines than this is small.
SMALL = 60

#: Words of the private vocabulary that the terms of the field replace.
RETIRED = """
    about answers around asked begun blurred carried carry declare foldable honest hull hulls judge judged
    judgement judges kind later mapped marks meaning narrow newcomers notation now outcome outside packed plus recoded
    recognise said settle settled settles several some spelling strange strangeness stranger strangers talk told typed
    watch workbook worlds
"""

#: Dunders that are not special methods of built-in types, but defined by Python, NumPy, Arrow or scikit-learn.
DEFINED_ELSEWHERE = """
    __all__ __annotations__ __array__ __array_function__ __array_interface__ __array_namespace__ __array_priority__
    __array_ufunc__ __array_wrap__ __arrow_c_array__ __arrow_c_schema__ __arrow_c_stream__ __bases__ __builtins__
    __cause__ __closure__ __code__ __context__ __copy__ __dataclass_fields__ __dataframe__ __deepcopy__ __defaults__
    __file__ __fspath__ __func__ __future__ __getattr__ __getnewargs__ __getnewargs_ex__ __globals__ __import__
    __kwdefaults__ __loader__ __main__ __match_args__ __metadata__ __missing__ __mro__ __notes__ __package__
    __path__ __post_init__ __prepare__ __qualname__ __reduce__ __reduce_ex__ __reversed__ __self__ __set_name__
    __setstate__ __signature__ __sklearn_clone__ __sklearn_is_fitted__ __sklearn_tags__ __slots__ __spec__
    __subclasses__ __suppress_context__ __traceback__ __type_params__ __version__ __weakref__ __wrapped__
"""

TRACE = """
import json, sys
from itertools import groupby
from sklearn.datasets import load_iris
from hedgerow import RandomForestClassifier

X, y = load_iris(return_X_y=True)
stack, modules, longest = [], set(), 0


def trace(frame, event, argument):
    global longest
    if event == "call":
        name = frame.f_globals.get("__name__") or ""
        is_function = frame.f_code.co_flags & 1  # bodies of modules and classes are not optimised
        stack.append(name if name.startswith("hedgerow") and is_function else None)
        if stack[-1]:
            modules.add(name)
            longest = max(longest, sum(1 for _ in groupby(filter(None, stack))))
    elif event == "return" and stack:
        stack.pop()


def traced(function, *arguments):
    global longest
    stack.clear(), modules.clear()
    longest = 0
    sys.setprofile(trace)
    function(*arguments)
    sys.setprofile(None)
    return [len(modules), longest]


RandomForestClassifier(10, oob_score=True, random_state=0).fit(X, y).predict_set(X)
model = RandomForestClassifier(10, oob_score=True, random_state=1)
fit = traced(model.fit, X, y)
model.predict_set(X)
print(json.dumps({"fit": fit, "predict_set": traced(model.predict_set, X)}))
"""


def main() -> None:
    """Print the measures of a checkout, or the files that commits touched."""
    parser = argparse.ArgumentParser(description="Size, typing and vocabulary of a source tree.")
    parser.add_argument(
        "--tree", type=Path, default=ROOT, help="checkout to measure; the trace needs its compiled core"
    )
    parser.add_argument("--commit", action="append", default=[], help="also count the sources a commit touched")
    parser.add_argument("--list", action="store_true", help="also list dunders, double class names and retired words")
    given = parser.parse_args()
    sources = read_sources(given.tree)
    rows = measures(sources) + trace_measures(given.tree)
    rows += [commit_measure(given.tree, commit) for commit in given.commit]
    print("| measure | value |\n|---|---|")
    for name, value in rows:
        print(f"| {name} | {value} |")
    if given.list:
        print_lists(sources)


def measures(sources: list[Source]) -> list[tuple[str, str]]:
    """Return the rows of the table that need no running code."""
    modules = [source for source in sources if source.path.suffix == ".py"]
    small = sum(source.text.count("\n") < SMALL for source in modules)
    dunders = invented_dunders(modules)
    writes = [write for module in modules for write in dict_writes(module.tree)]
    retired = retired_identifiers(modules)
    return [
        (f"modules / under {SMALL} lines", f"{len(modules)} / {small}"),
        ("code lines, Python", f"{sum(python_lines(module) for module in modules):,}"),
        ("code lines, C++", f"{sum(cpp_lines(source.text) for source in sources if source.path.suffix != '.py'):,}"),
        ("lines with `Any`", f"{sum(lines_with_any(module) for module in modules):,}"),
        ("`type: ignore`", str(sum(module.text.count("type: ignore") for module in modules))),
        ("getattr, hasattr, setattr", str(reflective_calls(modules))),
        ("invented dunders (uses)", f"{len(dunders)} ({dunders.total()})"),
        ("caches / `__dict__` writes", f"{len(caches(modules))} / {len(writes)}"),
        ("class names defined twice", str(len(repeated_classes(modules)))),
        ("identifiers with retired words", str(len(retired))),
        ("methods a type implements for the CLI", cli_methods(modules)),
    ]


def trace_measures(tree: Path) -> list[tuple[str, str]]:
    """Return the row of modules that run in `fit` and `predict_set`, in a process that imports the checkout."""
    environment = os.environ | {"PYTHONPATH": str(tree / "src")}
    done = subprocess.run([sys.executable, "-c", TRACE], env=environment, capture_output=True, text=True, check=False)
    name = "modules run (longest chain): fit / predict_set"
    if done.returncode:
        return [(name, f"not measured: {done.stderr.strip().splitlines()[-1]}")]
    found = json.loads(done.stdout)
    return [(name, " / ".join(f"{runs} ({chain})" for runs, chain in (found["fit"], found["predict_set"])))]


def commit_measure(tree: Path, commit: str) -> tuple[str, str]:
    """Count new and edited files below ``src`` of a commit, and the lines added to edited ones."""
    command = ["git", "-C", str(tree), "diff-tree", "--root", "--no-commit-id", "-r", "-M"]
    status = subprocess.check_output([*command, "--name-status", commit, "--", "src"], text=True)
    numbers = subprocess.check_output([*command, "--numstat", "-z", commit, "--", "src"], text=True)
    kinds = [line.split("\t")[0][0] for line in status.splitlines()]
    added = [entry.split("\t")[0] for entry in numbers.split("\0") if entry.count("\t") == 2]
    edited = sum(int(lines) for kind, lines in zip(kinds, added, strict=True) if kind != "A" and lines != "-")
    new = kinds.count("A")
    return (f"files touched by {commit}", f"{new} new + {len(kinds) - new} edited ({edited} lines)")


def print_lists(sources: list[Source]) -> None:
    """Print the names behind the counts."""
    modules = [source for source in sources if source.path.suffix == ".py"]
    print("\ninvented dunders:", ", ".join(f"{name} {uses}" for name, uses in invented_dunders(modules).most_common()))
    print("\ncaches:", ", ".join(caches(modules)))
    print("\nclass names defined twice:", ", ".join(repeated_classes(modules)))
    print("\nidentifiers with retired words:")
    for module, name in sorted(retired_identifiers(modules)):
        print(f"  {module}: {name}")


# ---- Sources -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Source:
    """A file of the package or of its core; ``name`` is relative to ``src``."""

    path: Path
    name: str

    @cached_property
    def text(self) -> str:
        """The text of the file."""
        return self.path.read_text(encoding="utf-8")

    @cached_property
    def tree(self) -> ast.Module:
        """The syntax tree of a Python module."""
        return ast.parse(self.text)

    @cached_property
    def tokens(self) -> list[tokenize.TokenInfo]:
        """The tokens of a Python module."""
        return list(tokenize.generate_tokens(io.StringIO(self.text).readline))


def read_sources(tree: Path) -> list[Source]:
    """Find the Python modules of the package and the C++ files of its core."""
    base = tree / "src"
    found = [*(base / "hedgerow").rglob("*.py"), *base.rglob("*.[ch]pp")]
    return [Source(path, path.relative_to(base).as_posix()) for path in sorted(found)]


def python_lines(module: Source) -> int:
    """Count lines with code of a module."""
    empty = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER}
    lines: set[int] = set()
    for token in module.tokens:
        if token.type not in empty:
            lines.update(range(token.start[0], token.end[0] + 1))
    return len(lines.difference(*(range(text.lineno, (text.end_lineno or 0) + 1) for text in docstrings(module.tree))))


def docstrings(tree: ast.Module) -> Iterator[ast.expr]:
    """Yield the docstrings of a module, its classes and its functions."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) and node.body:
            first = node.body[0]
            if (
                isinstance(first, ast.Expr)
                and isinstance(first.value, ast.Constant)
                and isinstance(first.value.value, str)
            ):
                yield first.value


def cpp_lines(text: str) -> int:
    """Count lines with code of a C++ file."""
    code = re.sub(r"/\*.*?\*/", lambda found: "\n" * found[0].count("\n"), text, flags=re.DOTALL)
    return sum(bool(re.sub(r"//.*", "", line).strip()) for line in code.splitlines())


def lines_with_any(module: Source) -> int:
    """Count lines of code in which the name `Any` occurs."""
    return len({token.start[0] for token in module.tokens if token.type == tokenize.NAME and token.string == "Any"})


# ---- Idioms ------------------------------------------------------------------------------------------------------


def reflective_calls(modules: Iterable[Source]) -> int:
    """Count calls of `getattr`, `hasattr` and `setattr`."""
    return sum(
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id in ("getattr", "hasattr", "setattr")
        for module in modules
        for node in ast.walk(module.tree)
    )


def invented_dunders(modules: list[Source]) -> Counter[str]:
    """Return the invented dunders that are identifiers somewhere, with their number of uses in the text."""
    known = set(DEFINED_ELSEWHERE.split()).union(*(dir(kind) for kind in well_known_types()))
    invented = {
        token.string
        for module in modules
        for token in module.tokens
        if token.type == tokenize.NAME and re.fullmatch(r"__\w+__", token.string) and token.string not in known
    }
    uses = Counter(name for module in modules for name in re.findall(r"\b__[a-zA-Z_]+?__\b", module.text))
    return Counter({name: uses[name] for name in invented})


def well_known_types() -> tuple[object, ...]:
    """Return objects whose attributes include the special methods of Python's data model."""
    from collections import abc

    protocols = [getattr(abc, name) for name in abc.__all__]
    return (
        type,
        object,
        int,
        float,
        complex,
        str,
        bytes,
        list,
        dict,
        set,
        property,
        BaseException,
        io.StringIO,
        main,
        *protocols,
    )


def dict_writes(tree: ast.AST) -> Iterator[ast.expr]:
    """Yield writes into a ``__dict__``: targets of assignments, and calls of ``update`` and ``setdefault``."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store) and is_dict(node.value):
            yield node
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and is_dict(node.func.value):
            yield from [node] * (node.func.attr in ("update", "setdefault"))


def is_dict(node: ast.expr) -> bool:
    """Whether an expression reads the attribute ``__dict__``."""
    return isinstance(node, ast.Attribute) and node.attr == "__dict__"


def caches(modules: Iterable[Source]) -> list[str]:
    """Return the caches: classes, and attributes remembered in a ``__dict__``, each with its module."""
    found = set()
    for module in modules:
        for node in ast.walk(module.tree):
            if isinstance(node, ast.ClassDef) and is_cache_class(node):
                found.add(f"{module.name}:{node.name}")
        for write in dict_writes(module.tree):
            if name := constant_key(write):
                found.add(f"{module.name}:{name}")
    return sorted(found)


def is_cache_class(node: ast.ClassDef) -> bool:
    """Whether a class is named ``*Cache``, or is a descriptor that keeps values in a ``__dict__``."""
    methods = {each.name for each in node.body if isinstance(each, ast.FunctionDef)}
    return node.name.endswith("Cache") or ("__get__" in methods and any(dict_writes(node)))


def constant_key(write: ast.expr) -> str | None:
    """Return the name of an attribute that is written under a constant key of a ``__dict__``."""
    keys = [write.slice] if isinstance(write, ast.Subscript) else write.args[:1] if isinstance(write, ast.Call) else []
    names = [key.value for key in keys if isinstance(key, ast.Constant) and isinstance(key.value, str)]
    return names[0] if names else None


# ---- Names -------------------------------------------------------------------------------------------------------


def repeated_classes(modules: Iterable[Source]) -> list[str]:
    """Return the public class names that are defined more than once."""
    count = Counter(node.name for module in modules for node in ast.walk(module.tree) if isinstance(node, ast.ClassDef))
    return sorted(name for name, times in count.items() if times > 1 and not name.startswith("_"))


def retired_identifiers(modules: Iterable[Source]) -> set[tuple[str, str]]:
    """Return the (module, name) pairs that contain a retired word."""
    retired = set(RETIRED.split())
    named = ((module.name, name) for module in modules for name in defined_names(module))
    return {(module, name) for module, name in named if retired.intersection(words_of(name))}


def words_of(name: str) -> list[str]:
    """Split an identifier at underscores and capitals, in lower case."""
    return [word.lower() for word in re.findall(r"[A-Z]?[a-z0-9]+|[A-Z]+(?![a-z])", name)]


def defined_names(module: Source) -> Iterator[str]:
    """Yield the names that a module defines: its own, classes, functions, parameters and attributes."""
    yield module.path.stem
    for node in ast.walk(module.tree):
        if isinstance(node, ast.ClassDef):
            yield node.name
            yield from class_attributes(node)
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node.name
        elif isinstance(node, ast.arg):
            yield node.arg
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            yield node.attr


def class_attributes(node: ast.ClassDef) -> Iterator[str]:
    """Yield the names that are assigned or annotated in the body of a class."""
    for statement in node.body:
        targets = statement.targets if isinstance(statement, ast.Assign) else [getattr(statement, "target", None)]
        yield from (target.id for target in targets if isinstance(target, ast.Name))


def cli_methods(modules: Iterable[Source]) -> str:
    """Count the abstract methods of ``Presenter`` or ``Kind``; those without a default, if it is a protocol."""
    classes = [node for module in modules for node in ast.walk(module.tree) if isinstance(node, ast.ClassDef)]
    named = [node for name in ("Presenter", "Kind") for node in classes if node.name == name]
    counts = [sum(is_required(statement, node) for statement in node.body) for node in named]
    return str(next((count for count in counts if count), "no class Presenter or Kind"))


def is_required(statement: ast.stmt, owner: ast.ClassDef) -> bool:
    """Whether a statement of a class body is a method that every subclass has to write."""
    if not isinstance(statement, ast.FunctionDef):
        return False
    abstract = any(ast.unparse(each).endswith("abstractmethod") for each in statement.decorator_list)
    protocol = any(ast.unparse(base).split("[")[0].endswith("Protocol") for base in owner.bases)
    empty = len(statement.body) == 1 or ast.unparse(statement.body[-1]) == "..."
    return abstract or (protocol and empty)


if __name__ == "__main__":
    main()
