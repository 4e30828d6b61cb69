"""Finds the functions of a test file, by node ids, and those that read their own ids."""

import ast
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from agentbench.python_source.python_syntax import name_of
from agentbench.python_source.scopes import FunctionNode

_BLOCKS = (ast.If, ast.Try, ast.ExceptHandler, ast.With, ast.For)
_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
_VARIABLE = "PYTEST_CURRENT_TEST"
_ATTRIBUTES = frozenset({"nodeid", "callspec"})
_SNAPSHOT_FIXTURES = ("snapshot", "_regression")
"""The suffixes of fixtures that compare with a file named after the test."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundFunction:
    """A function at the top level of a file or of a class."""

    name: str  # as in a node id: `TestX::test_y`
    node: FunctionNode
    is_method: bool

    @property
    def looks_like_a_test(self) -> bool:
        """Whether pytest would take a function for a test by its name."""
        return self.node.name.startswith("test") or self.node.name.endswith("_test")


@dataclass(frozen=True, slots=True, kw_only=True)
class SelectedFunction:
    """A function with its selected tests."""

    function: FoundFunction | None  # `None` if the file does not define it
    cases: tuple[str | None, ...]  # the bracketed parts of node ids; `None` stands for all
    tests: tuple[str, ...]  # the node ids of the tests


@dataclass(frozen=True, slots=True, kw_only=True)
class FunctionsOfFile:
    """All functions of a file, and the base classes that provide some."""

    functions: Mapping[str, FoundFunction]
    classes: Mapping[str, ast.ClassDef]

    def find(self, name: str, visited: frozenset[str] = frozenset()) -> FoundFunction | None:
        """The function that a node id names, also in a base class; skips classes already seen."""
        if name in self.functions or name in visited:
            return self.functions.get(name)
        owner, _, method = name.rpartition("::")
        bases = self.classes[owner].bases if owner in self.classes else []
        found = (self.find(f"{name_of(base)}::{method}", visited | {name}) for base in bases)
        return next((one for one in found if one is not None), None)

    def select(self, tests: Iterable[str]) -> dict[str, SelectedFunction]:
        """Node ids by their deciding function; ids of unknown functions by their name."""
        grouped: dict[str, list[str]] = {}
        for test in sorted(tests):
            name, _ = split_id(test)
            function = self.find(name)
            grouped.setdefault(name if function is None else function.name, []).append(test)
        return {
            name: SelectedFunction(
                function=self.functions.get(name),
                cases=tuple(split_id(test)[1] for test in found),
                tests=tuple(found),
            )
            for name, found in grouped.items()
        }


def split_id(test: str) -> tuple[str, str | None]:
    """The function in a node id, and its bracketed part, if any."""
    _, _, inner = test.partition("::")
    name, bracket, case = inner.partition("[")
    return name, case.removesuffix("]") if bracket else None


def functions_of(tree: ast.Module) -> FunctionsOfFile:
    """All functions that a file defines outside of functions."""
    functions: dict[str, FoundFunction] = {}
    classes: dict[str, ast.ClassDef] = {}
    for name, node in _definitions(tree.body, ""):
        if isinstance(node, ast.ClassDef):
            classes[name] = node
        else:
            functions[name] = FoundFunction(name=name, node=node, is_method="::" in name)
    return FunctionsOfFile(functions=functions, classes=classes)


def _definitions(
    body: Iterable[ast.AST], prefix: str
) -> Iterator[tuple[str, FunctionNode | ast.ClassDef]]:
    for node in body:
        if isinstance(node, _DEFINITIONS):
            yield prefix + node.name, node
        if isinstance(node, ast.ClassDef):
            yield from _definitions(node.body, f"{prefix}{node.name}::")
        elif isinstance(node, _BLOCKS):
            yield from _definitions(list(ast.iter_child_nodes(node)), prefix)


@dataclass(frozen=True, slots=True, kw_only=True)
class DefinitionIndex:
    """The functions of a file whose names have no other meaning in it."""

    functions: FunctionsOfFile
    again: frozenset[str]  # names that are bound in another way or in unknown places
    used: frozenset[str]  # names that are read, so that their functions may have another name, too
    bases: frozenset[str]  # top-level classes of the file with a unique name

    def is_sure(self, name: str) -> bool:
        """Whether pytest certainly uses the file's function of this name."""
        parts = name.split("::")
        return not self.again.intersection(parts) and parts[-1] not in self.used

    def find(self, name: str) -> str | None:
        """The name of the function that a node id's name certainly means."""
        visited: set[str] = set()
        while name not in visited and self.is_sure(name):
            if name in self.functions.functions:
                return name
            visited.add(name)
            owner, _, method = name.rpartition("::")
            found = self.functions.classes.get(owner)
            match found.bases if found is not None else []:
                case [ast.Name(id=base)] if base in self.bases:
                    name = f"{base}::{method}"
                case _:
                    return None
        return None


def definition_index(tree: ast.Module, functions: FunctionsOfFile) -> DefinitionIndex:
    """The index of a file's functions and of the names that make their identity uncertain."""
    known = Counter(name.rpartition("::")[2] for name in (*functions.functions, *functions.classes))
    defined: Counter[str] = Counter()
    bound: set[str] = set()
    used: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, _DEFINITIONS):
            defined[node.name] += 1
        match node:
            case ast.Name(id=name, ctx=context) | ast.Attribute(attr=name, ctx=context):
                (used if isinstance(context, ast.Load) else bound).add(name)
            case ast.alias(name=name, asname=asname):
                bound.add(asname or name.rpartition(".")[2])
            case ast.Global(names=names):
                bound.update(names)
            case _:
                pass
    again = {name for name, count in defined.items() if count > known[name]}
    return DefinitionIndex(
        functions=functions,
        again=frozenset(again | bound),
        used=frozenset(used),
        bases=frozenset(name for name in functions.classes if known[name] == 1),
    )


def readers_of_own_ids(tree: ast.Module, functions: Iterable[FoundFunction]) -> set[str]:
    """The test functions whose outcome may depend on their ids; all if other code reads ids."""
    tests = [function for function in functions if function.looks_like_a_test]
    looks = {function.name: _id_accesses(function.node) for function in tests}
    if _id_accesses(tree) > sum(looks.values()):
        return set(looks)
    return {one.name for one in tests if looks[one.name] or _uses_snapshots(one.node)}


def _id_accesses(root: ast.AST) -> int:
    return sum(_is_id_access(node) for node in ast.walk(root))


def _is_id_access(node: ast.AST) -> bool:
    match node:
        case ast.Constant(value=str() as text):
            return _VARIABLE in text
        case ast.Attribute(attr="node", value=value):
            return name_of(value) in ("request", "_request")
        case ast.Attribute(attr=name):
            return name in _ATTRIBUTES
        case _:
            return False


def _uses_snapshots(function: FunctionNode) -> bool:
    arguments = function.args
    names = [argument.arg for argument in (*arguments.args, *arguments.kwonlyargs)]
    return any(name.endswith(_SNAPSHOT_FIXTURES) for name in names)


def is_test(name: str) -> bool:
    """Whether a name, as in a node id, is that of a test function."""
    return name.rpartition("::")[2].startswith("test")


def called_by(name: str, functions: Mapping[str, FoundFunction]) -> set[str]:
    """A function of a file with the helpers and fixtures that it uses, also indirectly."""
    by_name: dict[str, list[str]] = {}
    for known, function in functions.items():
        by_name.setdefault(function.node.name, []).append(known)
    found: set[str] = set()
    waiting = [name]
    while waiting:
        owner = waiting.pop()
        if owner in found:
            continue
        found.add(owner)
        for node in ast.walk(functions[owner].node):
            called = name_of(node) if isinstance(node, ast.Name | ast.Attribute) else ""
            called = node.arg if isinstance(node, ast.arg) else called  # a fixture
            waiting += [one for one in by_name.get(called, []) if not is_test(one)]
    return found
