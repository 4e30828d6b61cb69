"""Finds tests that a class inherits from a class in another file, to seal that file as well."""

import ast
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import PurePosixPath

from agentbench.errors import InputError
from agentbench.integrity.languages import decoded
from agentbench.python_source.functions import FunctionsOfFile, functions_of
from agentbench.python_source.source_text import parse_source
from agentbench.scoring.evidence import NodeId

_OF_CLASS = 2  # names in the id of a test of a class
ReadFile = Callable[[str], bytes | None]
"""Returns the content of a test file by its path; None if the task has no such file."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Inheritance:
    """The tests that classes inherit from other files."""

    files: Mapping[str, bytes] = field(default_factory=dict)  # the files that have these functions
    origins: Mapping[NodeId, NodeId] = field(default_factory=dict)
    """For each of these tests, the id that it would have in the file and class of its function."""


def inherited_tests(tests: Iterable[NodeId], read: ReadFile) -> Inheritance:
    """The tests of `tests` whose functions are in another file."""
    finder = _Finder(read=read)
    files: dict[str, bytes] = {}
    origins: dict[NodeId, NodeId] = {}
    for test in tests:
        path, bracket, case = test.partition("[")
        file, *owners = path.split("::")
        found = finder.find(file, owners[0], owners[-1]) if len(owners) == _OF_CLASS else None
        if found is None or found[0] == file:
            continue
        content = read(found[0])
        if content is not None:
            files[found[0]] = content
            origins[test] = NodeId(f"{'::'.join(found)}{bracket}{case}")
    return Inheritance(files=files, origins=origins)


@dataclass(slots=True, kw_only=True)
class _Finder:
    read: ReadFile
    _parsed: dict[str, tuple[ast.Module, FunctionsOfFile] | None] = field(default_factory=dict)

    def find(
        self, file: str, owner: str, method: str, visited: frozenset[tuple[str, str]] = frozenset()
    ) -> tuple[str, str, str] | None:
        """The file, the class and the name of the function that a class has or inherits."""
        if file not in self._parsed:
            try:
                tree = parse_source(decoded(self.read(file), file)[0], file).tree
                self._parsed[file] = tree, functions_of(tree)
            except InputError:
                self._parsed[file] = None
        parsed = self._parsed[file]
        if parsed is None or (file, owner) in visited:
            return None
        tree, functions = parsed
        if f"{owner}::{method}" in functions.functions:
            return file, owner, method
        visited |= {(file, owner)}
        for base in functions.classes[owner].bases if owner in functions.classes else ():
            for place, name in _places(file, tree, functions, base):
                found = self.find(place, name, method, visited)
                if found is not None:
                    return found
        return None


# The files that may define a base class, and the name of the class in each.
def _places(
    file: str, tree: ast.Module, functions: FunctionsOfFile, base: ast.expr
) -> Iterator[tuple[str, str]]:
    match base:
        case ast.Name(id=name) if name in functions.classes:
            yield file, name
        case ast.Name(id=name):
            for statement, original in _imports(tree, name):
                for place in _paths(file, statement.level, statement.module or ""):
                    yield place, original
        case ast.Attribute(value=ast.Name(id=module), attr=name):
            for statement, original in _imports(tree, module):
                inner = ".".join(filter(None, [statement.module, original]))
                for place in _paths(file, statement.level, inner):
                    yield place, name
        case _:
            pass


def _imports(tree: ast.Module, name: str) -> Iterator[tuple[ast.ImportFrom, str]]:
    for statement in tree.body:
        if isinstance(statement, ast.ImportFrom):
            for alias in statement.names:
                if (alias.asname or alias.name) == name:
                    yield statement, alias.name


# The possible paths of an imported module; any folder above the file may be on `sys.path`.
def _paths(file: str, level: int, module: str) -> Iterator[str]:
    folders = list(PurePosixPath(file).parents)
    for folder in folders[level - 1 : level] if level else folders:
        path = folder.joinpath(*filter(None, module.split(".")))
        yield from (f"{path}.py", f"{path}/__init__.py")
